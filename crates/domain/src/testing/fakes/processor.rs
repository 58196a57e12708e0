//! A payment processor.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use chrono::TimeDelta;

use super::script::{CallRecord, Script};
use crate::access::Mode;
use crate::checkout::{Invoice, InvoiceOutcome, PaymentMethod};
use crate::ids::CheckoutPubId;
use crate::ledger::{
    Authorization, HoldState, HostedSession, Refund, RefundState, SessionState, Subscription,
    SubscriptionState,
};
use crate::money::Money;
use crate::ports::{
    Attempt, Capture, DepositRequest, Doubt, PaymentProcessor, ProcessorCustomer, ProcessorProduct,
    ProcessorVariant, Scope, SessionRequest, SessionWanted, SubscriptionRequest, Verdict,
    VoidResult, WalkPage,
};
use crate::time::{Timestamp, add_months_at};

/// A payment processor.
#[derive(Debug, Default)]
pub struct FakeProcessor {
    /// Answers of [`PaymentProcessor::authorize_deposit`].
    pub deposits: Script<Authorization>,
    /// Answers of [`PaymentProcessor::capture_deposit`].
    pub captures: Script<Capture>,
    /// Answers of [`PaymentProcessor::void_deposit`].
    pub voids: Script<VoidResult>,
    /// Answers of [`PaymentProcessor::refund`].
    pub refunds: Script<Option<Refund>>,
    /// Answers of [`PaymentProcessor::payment_method`].
    pub methods: Script<PaymentMethod>,
    /// Answers of [`PaymentProcessor::create_subscription`].
    pub subscriptions: Script<Subscription>,
    /// Answers of [`PaymentProcessor::pay_invoices`].
    pub payments: Script<Subscription>,
    /// Answers of [`PaymentProcessor::cancel_subscription`].
    pub cancellations: Script<()>,
    /// Answers of [`PaymentProcessor::push_customer`].
    pub customers: Script<String>,
    /// Answers of [`PaymentProcessor::push_product`] and [`PaymentProcessor::push_variant`].
    pub catalog: Script<()>,
    /// Answers of [`PaymentProcessor::open_session`].
    pub sessions: Script<HostedSession>,
    /// Whether it has pages of its own.
    pub has_pages: AtomicBool,
    hosted: Mutex<HashMap<String, (SessionRequest, HostedSession)>>,
    calls: Mutex<Vec<CallRecord>>,
    started: Mutex<HashMap<CheckoutPubId, Subscription>>,
    held: Mutex<HashMap<String, Authorization>>,
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

/// A card that was left on its page.
fn given(session_id: &str) -> PaymentMethod {
    PaymentMethod {
        id: format!("pm_{session_id}"),
        ..card()
    }
}

impl FakeProcessor {
    /// The calls it got, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<CallRecord> {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Has the deposit stand so at the processor.
    pub fn becomes(&self, payment_intent_id: &str, state: HoldState) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = held.get_mut(payment_intent_id) {
            known.state = state;
        }
    }

    /// Has the checkout's subscription be changed at the processor.
    pub fn alter(&self, checkout: CheckoutPubId, change: impl FnOnce(&mut Subscription)) {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = started.get_mut(&checkout) {
            change(known);
        }
    }

    /// The sessions on its pages that the checkout's customer was sent to, in the order of their ids.
    #[must_use]
    pub fn sessions_of(&self, checkout: CheckoutPubId) -> Vec<HostedSession> {
        let hosted = self.hosted.lock().unwrap_or_else(PoisonError::into_inner);
        let of = hosted
            .values()
            .filter(|(request, _)| request.checkout == checkout);
        let mut found: Vec<HostedSession> = of.map(|(_, session)| session.clone()).collect();
        found.sort_by(|one, other| one.id.cmp(&other.id));
        found
    }

    /// The customer does what they were sent to the page for. False when it is not open.
    pub fn complete(&self, session_id: &str, at: Timestamp) -> bool {
        let mut hosted = self.hosted.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((request, session)) = hosted.get_mut(session_id) else {
            return false;
        };
        if session.state != SessionState::Open {
            return false;
        }
        session.state = SessionState::Completed;
        session.url = None;
        match &request.wanted {
            SessionWanted::Deposit { amount, .. } => {
                let authorization = Authorization {
                    payment_intent_id: format!("pi_{session_id}"),
                    checkout: Some(request.checkout),
                    amount: *amount,
                    state: HoldState::Held,
                    expires_at: at.checked_add_signed(TimeDelta::days(7)).unwrap_or(at),
                    charge_id: None,
                    method: Some(given(session_id)),
                };
                session.authorization = Some(authorization.clone());
                let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                held.insert(authorization.payment_intent_id.clone(), authorization);
            }
            SessionWanted::Method { .. } => session.method = Some(given(session_id)),
        }
        true
    }

    /// The session closes by itself.
    pub fn lapse(&self, session_id: &str) {
        let mut hosted = self.hosted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, session)) = hosted.get_mut(session_id)
            && session.state == SessionState::Open
        {
            session.state = SessionState::Expired;
            session.url = None;
        }
    }

    /// How often the method was called.
    fn made(&self, method: &str) -> usize {
        let calls = self.calls();
        calls
            .iter()
            .filter(|attempt| attempt.method == method)
            .count()
    }

    fn note(&self, method: &'static str, attempt: &Attempt) {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(CallRecord {
                method,
                idempotency_key: attempt.idempotency_key.clone(),
            });
    }
}

#[async_trait]
impl PaymentProcessor for FakeProcessor {
    async fn push_product(
        &self,
        attempt: &Attempt,
        _product: &ProcessorProduct,
    ) -> Result<Verdict<()>, Doubt> {
        self.note("push_product", attempt);
        self.catalog.answer(attempt, || ())
    }

    async fn push_variant(
        &self,
        attempt: &Attempt,
        _variant: &ProcessorVariant,
    ) -> Result<Verdict<()>, Doubt> {
        self.note("push_variant", attempt);
        self.catalog.answer(attempt, || ())
    }

    async fn push_customer(
        &self,
        attempt: &Attempt,
        customer: &ProcessorCustomer,
    ) -> Result<Verdict<String>, Doubt> {
        self.note("push_customer", attempt);
        self.customers.answer(attempt, || {
            format!("cus_{}", customer.id.as_uuid().simple())
        })
    }

    async fn authorize_deposit(
        &self,
        attempt: &Attempt,
        request: &DepositRequest,
    ) -> Result<Verdict<Authorization>, Doubt> {
        self.note("authorize_deposit", attempt);
        let is_renewal = request.off_session;
        let answer = self.deposits.answer(attempt, || {
            let id = request.checkout.as_uuid().simple();
            let count = self.made("authorize_deposit");
            Authorization {
                payment_intent_id: if is_renewal {
                    format!("pi_{id}_{count}")
                } else {
                    format!("pi_{id}")
                },
                checkout: Some(request.checkout),
                amount: request.amount,
                state: HoldState::Held,
                expires_at: attempt
                    .now
                    .checked_add_signed(TimeDelta::days(7))
                    .unwrap_or(attempt.now),
                charge_id: None,
                method: Some(card()),
            }
        });
        // It is held even when the answer was lost.
        if let Some(Verdict::Done(authorization)) = self.deposits.kept(attempt) {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.entry(authorization.payment_intent_id.clone())
                .or_insert(authorization);
        }
        answer
    }

    async fn capture_deposit(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
    ) -> Result<Verdict<Capture>, Doubt> {
        self.note("capture_deposit", attempt);
        let answer = self.captures.answer(attempt, || Capture {
            invoice_id: format!("in_{payment_intent_id}"),
            at: attempt.now,
        });
        if let Some(Verdict::Done(_)) = self.captures.kept(attempt) {
            self.becomes(payment_intent_id, HoldState::Captured);
        }
        answer
    }

    async fn void_deposit(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
    ) -> Result<Verdict<VoidResult>, Doubt> {
        self.note("void_deposit", attempt);
        let answer = self.voids.answer(attempt, || VoidResult::Voided);
        if let Some(Verdict::Done(VoidResult::Voided)) = self.voids.kept(attempt) {
            self.becomes(payment_intent_id, HoldState::Released);
        }
        answer
    }

    async fn deposit(
        &self,
        _scope: Scope,
        payment_intent_id: &str,
    ) -> Result<Option<Authorization>, Doubt> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(held.get(payment_intent_id).cloned())
    }

    async fn deposits_of(
        &self,
        _scope: Scope,
        _customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Authorization>, Doubt> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let of = held
            .values()
            .filter(|known| known.checkout == Some(checkout));
        Ok(of.cloned().collect())
    }

    async fn refund(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
        at_most: Money,
    ) -> Result<Verdict<Option<Refund>>, Doubt> {
        self.note("refund", attempt);
        self.refunds.answer(attempt, || {
            Some(Refund {
                id: format!("re_{payment_intent_id}_{}", at_most.minor()),
                payment_intent_id: payment_intent_id.to_owned(),
                amount: at_most,
                state: RefundState::Succeeded,
                failure: None,
                at: attempt.now,
            })
        })
    }

    async fn payment_method(
        &self,
        attempt: &Attempt,
        _customer: &ProcessorCustomer,
        id: Option<String>,
    ) -> Result<Verdict<PaymentMethod>, Doubt> {
        self.note("payment_method", attempt);
        self.methods.answer(attempt, || {
            let card = card();
            PaymentMethod {
                id: id.unwrap_or(card.id),
                ..card
            }
        })
    }

    async fn create_subscription(
        &self,
        attempt: &Attempt,
        request: &SubscriptionRequest,
    ) -> Result<Verdict<Subscription>, Doubt> {
        self.note("create_subscription", attempt);
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        // One at a time: whatever the key.
        if let Some(subscription) = started.get(&request.checkout)
            && !subscription.has_ended()
        {
            return Ok(Verdict::Done(subscription.clone()));
        }
        let id = request.checkout.as_uuid().simple();
        let answer = self.subscriptions.answer(attempt, || Subscription {
            id: format!("sub_{id}"),
            checkout: Some(request.checkout),
            state: SubscriptionState::Active,
            monthly: request.monthly,
            anchor: attempt.now,
            ends_at: add_months_at(attempt.now, u32::from(request.payments)),
            invoices: vec![Invoice {
                id: format!("in_{id}"),
                subscription_id: format!("sub_{id}"),
                payment_intent_id: Some(format!("pi_in_{id}")),
                amount: request.monthly,
                is_cycle: true,
                outcome: InvoiceOutcome::Paid,
                at: attempt.now,
            }],
        });
        // It runs even when the answer was lost.
        if let Some(Verdict::Done(subscription)) = self.subscriptions.kept(attempt) {
            started.insert(request.checkout, subscription);
        }
        answer
    }

    async fn subscription(
        &self,
        _scope: Scope,
        subscription_id: &str,
    ) -> Result<Option<Subscription>, Doubt> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let found = started.values().find(|known| known.id == subscription_id);
        Ok(found.cloned())
    }

    async fn subscriptions_of(
        &self,
        _scope: Scope,
        _customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Subscription>, Doubt> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(started.get(&checkout).cloned().into_iter().collect())
    }

    async fn set_end(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
        ends_at: Timestamp,
    ) -> Result<Verdict<()>, Doubt> {
        self.note("set_end", attempt);
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        for known in started.values_mut() {
            if known.id == subscription_id {
                known.ends_at = Some(ends_at);
            }
        }
        Ok(Verdict::Done(()))
    }

    async fn pay_invoices(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
        _method_id: &str,
    ) -> Result<Verdict<Subscription>, Doubt> {
        self.note("pay_invoices", attempt);
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = started
            .values_mut()
            .find(|known| known.id == subscription_id)
        else {
            return Err(Doubt::unreachable("no such subscription was made"));
        };
        let answer = self.payments.answer(attempt, || {
            let mut paid = known.clone();
            paid.state = SubscriptionState::Active;
            for invoice in &mut paid.invoices {
                invoice.outcome = InvoiceOutcome::Paid;
            }
            paid
        });
        if let Some(Verdict::Done(paid)) = self.payments.kept(attempt) {
            *known = paid;
        }
        answer
    }

    async fn cancel_subscription(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
    ) -> Result<Verdict<()>, Doubt> {
        self.note("cancel_subscription", attempt);
        let answer = self.cancellations.answer(attempt, || ());
        if matches!(self.cancellations.kept(attempt), Some(Verdict::Done(()))) {
            let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
            for subscription in started.values_mut() {
                if subscription.id == subscription_id {
                    subscription.state = SubscriptionState::Ended;
                }
            }
        }
        answer
    }

    async fn has_pages(&self, _scope: Scope) -> Result<bool, Doubt> {
        Ok(self.has_pages.load(Ordering::Relaxed))
    }

    async fn open_session(
        &self,
        attempt: &Attempt,
        request: &SessionRequest,
    ) -> Result<Verdict<HostedSession>, Doubt> {
        self.note("open_session", attempt);
        let answer = self.sessions.answer(attempt, || {
            let mut count = self.hosted.lock().map_or(0, |hosted| hosted.len());
            count = count.saturating_add(1);
            let id = format!("cs_{count}_{}", request.checkout.as_uuid().simple());
            HostedSession {
                url: Some(format!("https://pages.test/{id}")),
                id,
                state: SessionState::Open,
                authorization: None,
                method: None,
            }
        });
        // It is open even when the answer was lost.
        if let Some(Verdict::Done(session)) = self.sessions.kept(attempt) {
            let mut hosted = self.hosted.lock().unwrap_or_else(PoisonError::into_inner);
            hosted
                .entry(session.id.clone())
                .or_insert((request.clone(), session));
        }
        answer
    }

    async fn session(
        &self,
        _scope: Scope,
        session_id: &str,
    ) -> Result<Option<HostedSession>, Doubt> {
        let hosted = self.hosted.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(hosted.get(session_id).map(|(_, session)| session.clone()))
    }

    async fn expire_session(
        &self,
        attempt: &Attempt,
        session_id: &str,
    ) -> Result<Verdict<HostedSession>, Doubt> {
        self.note("expire_session", attempt);
        self.lapse(session_id);
        let hosted = self.hosted.lock().unwrap_or_else(PoisonError::into_inner);
        match hosted.get(session_id) {
            Some((_, session)) => Ok(Verdict::Done(session.clone())),
            None => Err(Doubt::unreachable("no such session was opened")),
        }
    }

    async fn walk_subscriptions(
        &self,
        _mode: Mode,
        _after: Option<String>,
    ) -> Result<WalkPage<Subscription>, Doubt> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(WalkPage {
            items: started.values().cloned().collect(),
            next: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::Clock;
    use crate::quantity::Quantity;
    use crate::testing::fakes::Reply;
    use crate::testing::{Fixtures, ManualClock, first_organization_id};

    fn attempt(key: &str) -> Attempt {
        let now = ManualClock::default().now();
        Attempt {
            organization_id: first_organization_id(),
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
        let first = processor.void_deposit(&attempt("a"), "pi_1").await;
        assert!(
            matches!(&first, Ok(Verdict::Refused(refusal)) if refusal.code == "charge_expired")
        );
        assert_eq!(processor.void_deposit(&attempt("a"), "pi_1").await, first);
        let lost = processor.void_deposit(&attempt("b"), "pi_1").await;
        assert!(matches!(lost, Err(Doubt::Unreachable(_))));
        let done = processor.void_deposit(&attempt("b"), "pi_1").await;
        assert_eq!(done, Ok(Verdict::Done(VoidResult::Voided)));
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
            description: "Road bike".to_owned(),
            monthly: Money::zero(organization.currency),
            quantity: Quantity::ONE,
            payments: 12,
        };
        let subscription = Subscription {
            id: "sub_1".to_owned(),
            checkout: Some(checkout),
            state: SubscriptionState::Active,
            monthly: request.monthly,
            anchor: attempt("a").now,
            ends_at: None,
            invoices: Vec::new(),
        };
        let processor = FakeProcessor::default();
        processor
            .subscriptions
            .then(Reply::Lost(subscription.clone()));
        let lost = processor.create_subscription(&attempt("a"), &request).await;
        assert!(matches!(lost, Err(Doubt::Unreachable(_))));
        let again = processor.create_subscription(&attempt("b"), &request).await;
        assert_eq!(again, Ok(Verdict::Done(subscription.clone())));
        let customer = &request.customer;
        let found = processor
            .subscriptions_of((&attempt("c")).into(), customer, checkout)
            .await;
        assert_eq!(found, Ok(vec![subscription]));
    }
}
