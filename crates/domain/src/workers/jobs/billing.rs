//! The monthly payments: a subscription made, asked about, paid, ended and paid back.

use chrono::TimeDelta;

use super::attempt::{must, part, processor_customer};
use super::deposits::{put, refused_or, sum};
use super::{Change, JobRunner, Setback};
use crate::checkout::{Checkout, InvoiceOutcome};
use crate::customer::Customer;
use crate::ledger::{Entry, Subscription, SubscriptionState, refunded_of};
use crate::money::Money;
use crate::ports::{Attempt, SubscriptionRequest, Verdict};
use crate::services::Error;
use crate::time::Timestamp;

/// An end that is this close to the exact one was given with the subscription, before its first
/// instant was known; one farther away is somebody's doing.
const ROUGHLY: TimeDelta = TimeDelta::days(1);

impl JobRunner {
    pub(super) async fn subscribe(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Change, Setback> {
        let (Some(quote), Some(_)) = (self.quote(checkout).await?, checkout.term) else {
            return Err(Setback::Failed(Error::rule(
                "the checkout has no lease term to bill",
            )));
        };
        let name = checkout
            .items
            .first()
            .map(|item| item.name.as_str().to_owned())
            .unwrap_or_default();
        let method = checkout.recurring.method.as_ref();
        let request = SubscriptionRequest {
            checkout: checkout.id,
            organization: self.organization_pub_id(checkout).await?,
            customer: self.known_customer(attempt, customer).await?,
            payment_method: method.map(|method| method.id.clone()),
            description: name,
            monthly: quote.total_monthly_payment,
            quantity: checkout.quantity(),
            payments: checkout.payments_left(),
        };
        let processor = &self.providers.of(checkout.mode).processor;
        let made = must(processor.create_subscription(attempt, &request).await?)?;
        Ok(Change::Subscribed(Box::new(made)))
    }

    /// What became of the subscription of a checkout that has ended meanwhile: it is looked for,
    /// never made. Something may still come of a request whose answer was lost.
    pub(super) async fn find_subscription(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Change, Setback> {
        let found = self.subscriptions(checkout, customer).await?;
        let rows: Vec<Entry> = found
            .iter()
            .flat_map(|found| rows_of(checkout, found, checkout.payments_left(), attempt))
            .collect();
        let since = attempt.now.signed_duration_since(checkout.updated_at);
        if rows.is_empty() && since < self.settled {
            return Err(Setback::NotYet(self.settled));
        }
        Ok(Change::Settled {
            rows,
            refused: None,
        })
    }

    async fn subscriptions(
        &self,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Vec<Subscription>, Setback> {
        let customer = processor_customer(customer);
        if customer.processor_id.is_none() {
            // Whom the processor does not know it does not bill.
            return Ok(Vec::new());
        }
        let processor = &self.providers.of(checkout.mode).processor;
        Ok(processor
            .subscriptions_of(checkout.into(), &customer, checkout.id)
            .await?)
    }

    /// Asks how the subscription stands. One that was made incomplete gets its exact end as soon
    /// as the processor takes it.
    pub(super) async fn check_subscription(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
    ) -> Result<Change, Setback> {
        let Some(id) = checkout.recurring.billing.subscription_id() else {
            return Ok(Change::Nothing);
        };
        let processor = &self.providers.of(checkout.mode).processor;
        let Some(mut known) = processor.subscription(checkout.into(), id).await? else {
            return Ok(Change::SubscriptionLost(id.to_owned()));
        };
        let row = {
            let mut view = self.database.read(checkout.organization_id.into()).await?;
            view.ledger().find(checkout.mode, id).await?
        };
        let exact = row.as_ref().and_then(Entry::last_instant);
        let is_open = matches!(
            known.state,
            SubscriptionState::Active | SubscriptionState::PastDue
        );
        // An end that somebody took away is given again: nothing bills for ever.
        let is_rough = |exact: Timestamp| {
            known
                .ends_at
                .is_none_or(|end| exact != end && exact.signed_duration_since(end).abs() < ROUGHLY)
        };
        if let Some(exact) = exact.filter(|exact| *exact > attempt.now)
            && is_open
            && is_rough(exact)
        {
            must(processor.set_end(&part(attempt, "end"), id, exact).await?)?;
            known.ends_at = Some(exact);
        }
        Ok(Change::Subscribed(Box::new(known)))
    }

    /// Pays what is open with the method that the customer named last. A decline is an answer.
    pub(super) async fn pay_invoices(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
    ) -> Result<Change, Setback> {
        let billing = &checkout.recurring.billing;
        let (Some(id), Some(method)) = (billing.subscription_id(), &checkout.recurring.method)
        else {
            return Ok(Change::Nothing);
        };
        let processor = &self.providers.of(checkout.mode).processor;
        match processor.pay_invoices(attempt, id, &method.id).await? {
            Verdict::Done(_) | Verdict::Refused(_) => {
                self.check_subscription(attempt, checkout).await
            }
        }
    }

    /// Ends every subscription of the checkout that has not ended.
    pub(super) async fn unsubscribe(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Change, Setback> {
        let processor = &self.providers.of(checkout.mode).processor;
        let mut rows = Vec::new();
        let mut refused = None;
        let found = self.subscriptions(checkout, customer).await?;
        for mut subscription in found {
            if !subscription.has_ended() {
                let attempt = part(attempt, &subscription.id);
                let answer = processor
                    .cancel_subscription(&attempt, &subscription.id)
                    .await?;
                if refused_or(answer, &mut refused).is_some() {
                    subscription.state = SubscriptionState::Ended;
                }
            }
            rows.extend(rows_of(
                checkout,
                &subscription,
                checkout.payments_left(),
                attempt,
            ));
        }
        Ok(Change::Settled { rows, refused })
    }

    /// Pays back what was taken for a lease that never was.
    pub(super) async fn refund_payments(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Change, Setback> {
        let processor = &self.providers.of(checkout.mode).processor;
        let mut rows = {
            let mut view = self.database.read(checkout.organization_id.into()).await?;
            view.ledger().of(checkout.id).await?
        };
        let mut refused = None;
        for subscription in self.subscriptions(checkout, customer).await? {
            for invoice in &subscription.invoices {
                put(&mut rows, Entry::of_invoice(checkout.id, invoice));
            }
        }
        for invoice in rows.clone().iter().filter_map(Entry::invoice) {
            let (Some(intent), InvoiceOutcome::Paid) =
                (&invoice.payment_intent_id, &invoice.outcome)
            else {
                continue;
            };
            let zero = Money::zero(invoice.amount.currency());
            let refunded = sum(refunded_of(intent, zero, &rows))?;
            let owed = sum(invoice.amount.checked_sub(refunded))?;
            if owed.is_zero() || owed.is_negative() {
                continue;
            }
            let attempt = part(attempt, intent);
            let answer = processor.refund(&attempt, intent, owed).await?;
            if let Some(Some(refund)) = refused_or(answer, &mut refused) {
                put(&mut rows, Entry::refund(checkout.id, &refund));
            }
        }
        Ok(Change::Settled { rows, refused })
    }
}

/// The rows of a subscription and its invoices.
fn rows_of(
    checkout: &Checkout,
    subscription: &Subscription,
    payments: u16,
    attempt: &Attempt,
) -> Vec<Entry> {
    let own = Entry::subscription(checkout.id, subscription, payments, attempt.now);
    let invoices = subscription.invoices.iter();
    let invoices = invoices.map(|invoice| Entry::of_invoice(checkout.id, invoice));
    std::iter::once(own).chain(invoices).collect()
}
