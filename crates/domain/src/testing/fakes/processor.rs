//! A payment processor.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use chrono::TimeDelta;

use super::script::{Recorded, Script};
use crate::access::Mode;
use crate::checkout::{Invoice, InvoiceOutcome, PaymentMethod};
use crate::ids::CheckoutPubId;
use crate::ledger::{
    Authorization, HoldState, Refund, RefundState, Subscription, SubscriptionState,
};
use crate::money::Money;
use crate::ports::{
    Answer, Call, Capture, DepositRequest, Doubt, PaymentProcessor, ProcessorCustomer,
    ProcessorProduct, ProcessorVariant, SubscriptionRequest, Voided, Walked,
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
    pub voids: Script<Voided>,
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
    calls: Mutex<Vec<Recorded>>,
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

impl FakeProcessor {
    /// The calls it got, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Recorded> {
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

    /// How often the method was called.
    fn made(&self, method: &str) -> usize {
        let calls = self.calls();
        calls.iter().filter(|call| call.method == method).count()
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
        let is_renewal = request.off_session;
        let answer = self.deposits.answer(call, || {
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
                expires_at: call
                    .now
                    .checked_add_signed(TimeDelta::days(7))
                    .unwrap_or(call.now),
                charge_id: None,
                method: Some(card()),
            }
        });
        // It is held even when the answer was lost.
        if let Some(Answer::Done(authorization)) = self.deposits.kept(call) {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.entry(authorization.payment_intent_id.clone())
                .or_insert(authorization);
        }
        answer
    }

    async fn capture_deposit(
        &self,
        call: &Call,
        payment_intent_id: &str,
    ) -> Result<Answer<Capture>, Doubt> {
        self.note("capture_deposit", call);
        let answer = self.captures.answer(call, || Capture {
            invoice_id: format!("in_{payment_intent_id}"),
            at: call.now,
        });
        if let Some(Answer::Done(_)) = self.captures.kept(call) {
            self.becomes(payment_intent_id, HoldState::Captured);
        }
        answer
    }

    async fn void_deposit(
        &self,
        call: &Call,
        payment_intent_id: &str,
    ) -> Result<Answer<Voided>, Doubt> {
        self.note("void_deposit", call);
        let answer = self.voids.answer(call, || Voided::Voided);
        if let Some(Answer::Done(Voided::Voided)) = self.voids.kept(call) {
            self.becomes(payment_intent_id, HoldState::Released);
        }
        answer
    }

    async fn deposit(
        &self,
        _mode: Mode,
        payment_intent_id: &str,
    ) -> Result<Option<Authorization>, Doubt> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(held.get(payment_intent_id).cloned())
    }

    async fn deposits_of(
        &self,
        _mode: Mode,
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
        call: &Call,
        payment_intent_id: &str,
        at_most: Money,
    ) -> Result<Answer<Option<Refund>>, Doubt> {
        self.note("refund", call);
        self.refunds.answer(call, || {
            Some(Refund {
                id: format!("re_{payment_intent_id}_{}", at_most.minor()),
                payment_intent_id: payment_intent_id.to_owned(),
                amount: at_most,
                state: RefundState::Succeeded,
                failure: None,
                at: call.now,
            })
        })
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
        // One at a time: whatever the key.
        if let Some(subscription) = started.get(&request.checkout)
            && !subscription.has_ended()
        {
            return Ok(Answer::Done(subscription.clone()));
        }
        let id = request.checkout.as_uuid().simple();
        let answer = self.subscriptions.answer(call, || Subscription {
            id: format!("sub_{id}"),
            checkout: Some(request.checkout),
            state: SubscriptionState::Active,
            monthly: request.monthly,
            anchor: call.now,
            ends_at: add_months_at(call.now, u32::from(request.payments)),
            invoices: vec![Invoice {
                id: format!("in_{id}"),
                subscription_id: format!("sub_{id}"),
                payment_intent_id: Some(format!("pi_in_{id}")),
                amount: request.monthly,
                is_cycle: true,
                outcome: InvoiceOutcome::Paid,
                at: call.now,
            }],
        });
        // It runs even when the answer was lost.
        if let Some(Answer::Done(subscription)) = self.subscriptions.kept(call) {
            started.insert(request.checkout, subscription);
        }
        answer
    }

    async fn subscription(
        &self,
        _mode: Mode,
        subscription_id: &str,
    ) -> Result<Option<Subscription>, Doubt> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let found = started.values().find(|known| known.id == subscription_id);
        Ok(found.cloned())
    }

    async fn subscriptions_of(
        &self,
        _mode: Mode,
        _customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Subscription>, Doubt> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(started.get(&checkout).cloned().into_iter().collect())
    }

    async fn set_end(
        &self,
        call: &Call,
        subscription_id: &str,
        ends_at: Timestamp,
    ) -> Result<Answer<()>, Doubt> {
        self.note("set_end", call);
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        for known in started.values_mut() {
            if known.id == subscription_id {
                known.ends_at = Some(ends_at);
            }
        }
        Ok(Answer::Done(()))
    }

    async fn pay_invoices(
        &self,
        call: &Call,
        subscription_id: &str,
        _method_id: &str,
    ) -> Result<Answer<Subscription>, Doubt> {
        self.note("pay_invoices", call);
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = started
            .values_mut()
            .find(|known| known.id == subscription_id)
        else {
            return Err(Doubt::unreachable("no such subscription was made"));
        };
        let answer = self.payments.answer(call, || {
            let mut paid = known.clone();
            paid.state = SubscriptionState::Active;
            for invoice in &mut paid.invoices {
                invoice.outcome = InvoiceOutcome::Paid;
            }
            paid
        });
        if let Some(Answer::Done(paid)) = self.payments.kept(call) {
            *known = paid;
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
        if matches!(self.cancellations.kept(call), Some(Answer::Done(()))) {
            let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
            for subscription in started.values_mut() {
                if subscription.id == subscription_id {
                    subscription.state = SubscriptionState::Ended;
                }
            }
        }
        answer
    }

    async fn walk_subscriptions(
        &self,
        _mode: Mode,
        _after: Option<String>,
    ) -> Result<Walked<Subscription>, Doubt> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Walked {
            items: started.values().cloned().collect(),
            next: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::Clock;
    use crate::testing::fakes::Reply;
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
            description: "Road bike".to_owned(),
            monthly: Money::zero(organization.currency),
            payments: 12,
        };
        let subscription = Subscription {
            id: "sub_1".to_owned(),
            checkout: Some(checkout),
            state: SubscriptionState::Active,
            monthly: request.monthly,
            anchor: call("a").now,
            ends_at: None,
            invoices: Vec::new(),
        };
        let processor = FakeProcessor::default();
        processor
            .subscriptions
            .then(Reply::Lost(subscription.clone()));
        let lost = processor.create_subscription(&call("a"), &request).await;
        assert!(matches!(lost, Err(Doubt::Unreachable(_))));
        let again = processor.create_subscription(&call("b"), &request).await;
        assert_eq!(again, Ok(Answer::Done(subscription.clone())));
        let customer = &request.customer;
        let found = processor
            .subscriptions_of(Mode::Sandbox, customer, checkout)
            .await;
        assert_eq!(found, Ok(vec![subscription]));
    }
}
