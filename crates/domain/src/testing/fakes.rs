//! Providers that answer as a test has them answer.
//!
//! Without a script everything succeeds. A scripted answer is given once, in order.
//! The contract of the ports holds: a call with a key that was answered before gets
//! the same answer again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use chrono::TimeDelta;

use crate::access::Mode;
use crate::checkout::{PaymentMethod, Refusal, Tracking};
use crate::fulfillment::{Carrier, CarrierError, Reported, TrackingNumber};
use crate::ids::CheckoutPubId;
use crate::money::Money;
use crate::ports::{
    Answer, Authorization, Call, Capture, CarrierDetector, CreditChecker, DepositRequest,
    DocumentSigner, Doubt, IdentityResult, IdentitySession, IdentityVerifier, LeaseDocument,
    PaymentProcessor, Person, ProcessorCustomer, ProcessorProduct, ProcessorVariant, ProviderSet,
    Providers, ShipmentTracker, Subscription, SubscriptionRequest, Voided,
};
use crate::pricing::Quote;

/// What a provider does when it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<T> {
    /// The work is done, with this answer.
    Done(T),
    /// The work is refused under this code.
    Refused(&'static str),
    /// The work is done, but the answer is lost on the way.
    Lost(T),
    /// Nothing is done, and nobody can tell.
    Unreachable,
}

/// A call that a provider got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The method.
    pub method: &'static str,
    /// The idempotency key.
    pub idempotency_key: String,
}

#[derive(Debug)]
struct Inner<T> {
    replies: VecDeque<Reply<T>>,
    kept: HashMap<String, Answer<T>>,
}

/// The answers of one method.
#[derive(Debug)]
pub struct Script<T> {
    inner: Mutex<Inner<T>>,
}

impl<T> Default for Script<T> {
    fn default() -> Self {
        Self {
            inner: Mutex::new(Inner {
                replies: VecDeque::new(),
                kept: HashMap::new(),
            }),
        }
    }
}

impl<T: Clone> Script<T> {
    /// Adds what to answer to a later call; each is used once, in order.
    pub fn then(&self, reply: Reply<T>) -> &Self {
        self.inner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replies
            .push_back(reply);
        self
    }

    /// What was answered to the call, whether the answer arrived or not.
    fn kept(&self, call: &Call) -> Option<Answer<T>> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.kept.get(&call.idempotency_key).cloned()
    }

    fn answer(&self, call: &Call, succeed: impl FnOnce() -> T) -> Result<Answer<T>, Doubt> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = inner.kept.get(&call.idempotency_key) {
            return Ok(kept.clone());
        }
        let (answer, doubt) = match inner.replies.pop_front() {
            None => (Answer::Done(succeed()), None),
            Some(Reply::Done(value)) => (Answer::Done(value), None),
            Some(Reply::Refused(code)) => (
                Answer::Refused(Refusal {
                    code: code.to_owned(),
                    message: format!("refused: {code}"),
                }),
                None,
            ),
            Some(Reply::Lost(value)) => (
                Answer::Done(value),
                Some(Doubt::unreachable("the answer was lost")),
            ),
            Some(Reply::Unreachable) => {
                return Err(Doubt::unreachable("scripted to be unreachable"));
            }
        };
        inner
            .kept
            .insert(call.idempotency_key.clone(), answer.clone());
        doubt.map_or(Ok(answer), Err)
    }
}

/// A payment processor.
#[derive(Debug, Default)]
pub struct FakeProcessor {
    /// Answers of [`PaymentProcessor::authorize_deposit`].
    pub deposits: Script<Authorization>,
    /// Answers of [`PaymentProcessor::capture_deposit`].
    pub captures: Script<Capture>,
    /// Answers of [`PaymentProcessor::void_deposit`].
    pub voids: Script<Voided>,
    /// Answers of [`PaymentProcessor::refund_deposit`].
    pub refunds: Script<()>,
    /// Answers of [`PaymentProcessor::payment_method`].
    pub methods: Script<PaymentMethod>,
    /// Answers of [`PaymentProcessor::create_subscription`].
    pub subscriptions: Script<Subscription>,
    /// Answers of [`PaymentProcessor::cancel_subscription`].
    pub cancellations: Script<()>,
    /// Answers of [`PaymentProcessor::push_customer`].
    pub customers: Script<String>,
    /// Answers of [`PaymentProcessor::push_product`] and [`PaymentProcessor::push_variant`].
    pub catalog: Script<()>,
    calls: Mutex<Vec<Recorded>>,
    started: Mutex<HashMap<CheckoutPubId, Subscription>>,
}

/// The card that a [`FakeProcessor`] knows.
fn card() -> PaymentMethod {
    PaymentMethod {
        id: "pm_fake".to_owned(),
        kind: "card".to_owned(),
        brand: Some("visa".to_owned()),
        last4: Some("4242".to_owned()),
        exp_month: Some(12),
        exp_year: Some(2030),
    }
}

impl FakeProcessor {
    /// The calls it got, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Recorded> {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn note(&self, method: &'static str, call: &Call) {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Recorded {
                method,
                idempotency_key: call.idempotency_key.clone(),
            });
    }
}

#[async_trait]
impl PaymentProcessor for FakeProcessor {
    async fn push_product(
        &self,
        call: &Call,
        _product: &ProcessorProduct,
    ) -> Result<Answer<()>, Doubt> {
        self.note("push_product", call);
        self.catalog.answer(call, || ())
    }

    async fn push_variant(
        &self,
        call: &Call,
        _variant: &ProcessorVariant,
    ) -> Result<Answer<()>, Doubt> {
        self.note("push_variant", call);
        self.catalog.answer(call, || ())
    }

    async fn push_customer(
        &self,
        call: &Call,
        customer: &ProcessorCustomer,
    ) -> Result<Answer<String>, Doubt> {
        self.note("push_customer", call);
        self.customers
            .answer(call, || format!("cus_{}", customer.id.as_uuid().simple()))
    }

    async fn authorize_deposit(
        &self,
        call: &Call,
        request: &DepositRequest,
    ) -> Result<Answer<Authorization>, Doubt> {
        self.note("authorize_deposit", call);
        self.deposits.answer(call, || Authorization {
            payment_intent_id: format!("pi_{}", request.checkout.as_uuid().simple()),
            expires_at: call
                .now
                .checked_add_signed(TimeDelta::days(7))
                .unwrap_or(call.now),
            method: Some(card()),
        })
    }

    async fn capture_deposit(
        &self,
        call: &Call,
        payment_intent_id: &str,
    ) -> Result<Answer<Capture>, Doubt> {
        self.note("capture_deposit", call);
        self.captures.answer(call, || Capture {
            invoice_id: format!("in_{payment_intent_id}"),
            at: call.now,
        })
    }

    async fn void_deposit(
        &self,
        call: &Call,
        _payment_intent_id: &str,
    ) -> Result<Answer<Voided>, Doubt> {
        self.note("void_deposit", call);
        self.voids.answer(call, || Voided::Voided)
    }

    async fn refund_deposit(
        &self,
        call: &Call,
        _payment_intent_id: &str,
        _amount: Option<Money>,
    ) -> Result<Answer<()>, Doubt> {
        self.note("refund_deposit", call);
        self.refunds.answer(call, || ())
    }

    async fn payment_method(
        &self,
        call: &Call,
        _customer: &ProcessorCustomer,
        id: Option<String>,
    ) -> Result<Answer<PaymentMethod>, Doubt> {
        self.note("payment_method", call);
        self.methods.answer(call, || {
            let card = card();
            PaymentMethod {
                id: id.unwrap_or(card.id),
                ..card
            }
        })
    }

    async fn create_subscription(
        &self,
        call: &Call,
        request: &SubscriptionRequest,
    ) -> Result<Answer<Subscription>, Doubt> {
        self.note("create_subscription", call);
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        // One for each checkout, ever: whatever the key.
        if let Some(subscription) = started.get(&request.checkout) {
            return Ok(Answer::Done(subscription.clone()));
        }
        let answer = self.subscriptions.answer(call, || Subscription {
            id: format!("sub_{}", request.checkout.as_uuid().simple()),
            start: call.now.date_naive(),
            first_invoice_id: Some(format!("in_{}", request.checkout.as_uuid().simple())),
            first_payment_paid: true,
            first_payment_failure: None,
            ended: false,
        });
        // It runs even when the answer was lost.
        if let Some(Answer::Done(subscription)) = self.subscriptions.kept(call) {
            started.insert(request.checkout, subscription);
        }
        answer
    }

    async fn cancel_subscription(
        &self,
        call: &Call,
        subscription_id: &str,
    ) -> Result<Answer<()>, Doubt> {
        self.note("cancel_subscription", call);
        let answer = self.cancellations.answer(call, || ());
        if matches!(answer, Ok(Answer::Done(()))) {
            let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
            for subscription in started.values_mut() {
                subscription.ended |= subscription.id == subscription_id;
            }
        }
        answer
    }

    async fn subscriptions_of(
        &self,
        _mode: Mode,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Subscription>, Doubt> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(started.get(&checkout).cloned().into_iter().collect())
    }
}

/// An identity verifier.
#[derive(Debug, Default)]
pub struct FakeIdentityVerifier {
    /// Answers of [`IdentityVerifier::start`].
    pub sessions: Script<IdentitySession>,
    results: Mutex<HashMap<String, IdentityResult>>,
}

impl FakeIdentityVerifier {
    /// Decides the session; one that is not decided is verified.
    pub fn decide(&self, session_id: &str, result: IdentityResult) {
        self.results
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(session_id.to_owned(), result);
    }
}

#[async_trait]
impl IdentityVerifier for FakeIdentityVerifier {
    async fn start(
        &self,
        call: &Call,
        checkout: CheckoutPubId,
        _person: &Person,
    ) -> Result<Answer<IdentitySession>, Doubt> {
        self.sessions.answer(call, || IdentitySession {
            id: format!("vs_{}", checkout.as_uuid().simple()),
            url: None,
        })
    }

    async fn result(&self, _mode: Mode, session_id: &str) -> Result<IdentityResult, Doubt> {
        let results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(results
            .get(session_id)
            .copied()
            .unwrap_or(IdentityResult::Verified))
    }
}

/// A credit checker.
#[derive(Debug, Default)]
pub struct FakeCreditChecker {
    /// Answers of [`CreditChecker::check`].
    pub checks: Script<()>,
}

#[async_trait]
impl CreditChecker for FakeCreditChecker {
    async fn check(
        &self,
        call: &Call,
        _person: &Person,
        _quote: Option<Quote>,
    ) -> Result<Answer<()>, Doubt> {
        self.checks.answer(call, || ())
    }
}

/// A document signer.
#[derive(Debug, Default)]
pub struct FakeSigner {
    /// Answers of [`DocumentSigner::prepare`].
    pub documents: Script<String>,
}

#[async_trait]
impl DocumentSigner for FakeSigner {
    async fn prepare(
        &self,
        call: &Call,
        document: &LeaseDocument,
    ) -> Result<Answer<String>, Doubt> {
        self.documents.answer(call, || {
            format!("doc_{}", document.checkout.as_uuid().simple())
        })
    }
}

/// Carriers that are asked where shipments are.
#[derive(Debug, Default)]
pub struct FakeShipmentTracker {
    reports: Mutex<HashMap<String, Vec<Reported>>>,
}

impl FakeShipmentTracker {
    /// Adds what the carrier reports of the shipment.
    pub fn report(&self, tracking: &Tracking, reported: Reported) {
        self.reports
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(tracking.number.as_str().to_owned())
            .or_default()
            .push(reported);
    }
}

#[async_trait]
impl ShipmentTracker for FakeShipmentTracker {
    async fn reports(&self, tracking: &Tracking) -> Result<Vec<Reported>, Doubt> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(reports
            .get(tracking.number.as_str())
            .cloned()
            .unwrap_or_default())
    }
}

/// Tells carriers by how their numbers begin, and knows no check digit: `1Z` is UPS. Of
/// twelve digits, those that begin with 6 to 9 are FedEx's, and the others may be of
/// somebody whom Lessor does not track. Whatever else is nobody's.
#[derive(Debug, Clone, Copy, Default)]
pub struct FakeCarrierDetector;

impl CarrierDetector for FakeCarrierDetector {
    fn detect(&self, number: &TrackingNumber) -> Result<Carrier, CarrierError> {
        let number = number.as_str().as_bytes();
        let is_express = number.len() == 12 && number.iter().all(u8::is_ascii_digit);
        match number {
            [b'1', b'Z', ..] => Ok(Carrier::Ups),
            [b'6'..=b'9', ..] if is_express => Ok(Carrier::Fedex),
            _ if is_express => Err(CarrierError::Ambiguous),
            _ => Err(CarrierError::None),
        }
    }
}

/// One of each provider, the same in both modes.
#[derive(Debug, Clone, Default)]
pub struct FakeProviders {
    /// The payment processor.
    pub processor: Arc<FakeProcessor>,
    /// The identity verifier.
    pub identity: Arc<FakeIdentityVerifier>,
    /// The credit checker.
    pub credit: Arc<FakeCreditChecker>,
    /// The document signer.
    pub signer: Arc<FakeSigner>,
    /// The carriers.
    pub tracker: Arc<FakeShipmentTracker>,
}

impl FakeProviders {
    /// The providers as the services take them.
    #[must_use]
    pub fn set(&self) -> ProviderSet {
        let providers = Providers {
            processor: Arc::<FakeProcessor>::clone(&self.processor),
            identity: Arc::<FakeIdentityVerifier>::clone(&self.identity),
            credit: Arc::<FakeCreditChecker>::clone(&self.credit),
            signer: Arc::<FakeSigner>::clone(&self.signer),
        };
        ProviderSet {
            live: providers.clone(),
            sandbox: providers,
            tracker: Some(Arc::<FakeShipmentTracker>::clone(&self.tracker)),
            carriers: Arc::new(FakeCarrierDetector),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::Clock;
    use crate::testing::{Fixtures, ManualClock};

    fn call(key: &str) -> Call {
        let now = ManualClock::default().now();
        Call {
            mode: Mode::Sandbox,
            idempotency_key: key.to_owned(),
            first_tried_at: now,
            now,
        }
    }

    #[tokio::test]
    async fn a_key_that_was_answered_gets_the_same_answer() {
        let processor = FakeProcessor::default();
        processor
            .voids
            .then(Reply::Refused("charge_expired"))
            .then(Reply::Unreachable);
        let first = processor.void_deposit(&call("a"), "pi_1").await;
        assert!(matches!(&first, Ok(Answer::Refused(refusal)) if refusal.code == "charge_expired"));
        assert_eq!(processor.void_deposit(&call("a"), "pi_1").await, first);
        let lost = processor.void_deposit(&call("b"), "pi_1").await;
        assert!(matches!(lost, Err(Doubt::Unreachable(_))));
        let done = processor.void_deposit(&call("b"), "pi_1").await;
        assert_eq!(done, Ok(Answer::Done(Voided::Voided)));
        assert_eq!(processor.calls().len(), 4);
    }

    #[tokio::test]
    async fn a_subscription_whose_answer_was_lost_runs_all_the_same() {
        let make = Fixtures::default();
        let organization = make.organization().build();
        let customer = make.customer(&organization).build();
        let checkout: CheckoutPubId = make.id();
        let request = SubscriptionRequest {
            checkout,
            organization: organization.pub_id,
            customer: ProcessorCustomer {
                id: customer.id,
                email: customer.email.to_string(),
                name: None,
                phone: None,
                processor_id: None,
            },
            payment_method: None,
            variant_processor_id: "pvar_1".to_owned(),
            description: "Road bike".to_owned(),
            monthly: Money::zero(organization.currency),
            months: make.lease_term(&organization).build().card.term,
        };
        let subscription = Subscription {
            id: "sub_1".to_owned(),
            start: call("a").now.date_naive(),
            first_invoice_id: None,
            first_payment_paid: true,
            first_payment_failure: None,
            ended: false,
        };
        let processor = FakeProcessor::default();
        processor
            .subscriptions
            .then(Reply::Lost(subscription.clone()));
        let lost = processor.create_subscription(&call("a"), &request).await;
        assert!(matches!(lost, Err(Doubt::Unreachable(_))));
        let again = processor.create_subscription(&call("b"), &request).await;
        assert_eq!(again, Ok(Answer::Done(subscription.clone())));
        let found = processor.subscriptions_of(Mode::Sandbox, checkout).await;
        assert_eq!(found, Ok(vec![subscription]));
    }
}
