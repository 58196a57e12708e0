//! Refunds of payments: of deposits that were captured, and of invoices.

use lessor_domain::checkout::Refusal;
use lessor_domain::ledger::{self, RefundState};
use lessor_domain::money::Money;
use lessor_domain::ports::{Attempt, Doubt, Verdict};
use lessor_domain::time::Timestamp;
use serde::Serialize;

use super::client::Client;
use super::deposits::instant;
use super::error::{CallError, settle};
use super::ids::{self, Ids};
use super::once::{self, Work};
use super::wire::{Metadata, RefundStatus};
use super::wire_payments::{PaymentIntent, Refund};
use super::{amount, catalog, deposits, lists};

#[derive(Serialize)]
struct RefundParams<'a> {
    payment_intent: &'a str,
    amount: i64,
    metadata: Metadata,
}

#[derive(Serialize)]
struct RefundsOf<'a> {
    payment_intent: &'a str,
}

/// What is known of a payment and of what was paid back of it.
struct Paid {
    intent: PaymentIntent,
    refunds: Vec<Refund>,
}

impl Paid {
    async fn read(client: &Client, attempt: &Attempt, intent: &str) -> Result<Self, CallError> {
        let query = RefundsOf {
            payment_intent: intent,
        };
        Ok(Self {
            intent: deposits::read(client, attempt.mode, intent).await?,
            refunds: lists::all(client, attempt.mode, &["refunds"], &query).await?,
        })
    }

    /// The refund that this work made.
    fn of_work(self, attempt: &Attempt) -> Option<Refund> {
        let mut refunds = self.refunds.into_iter();
        refunds.find(|refund| is_of(refund, attempt))
    }

    /// What was taken and not paid back, in the processor's units. A refund that is under way
    /// counts, one that came back does not.
    fn left(&self) -> i64 {
        let refunds = self.refunds.iter();
        refunds
            .filter(|refund| {
                !matches!(
                    refund.status,
                    Some(RefundStatus::Failed | RefundStatus::Canceled)
                )
            })
            .fold(self.intent.amount_received, |left, refund| {
                left.saturating_sub(refund.amount)
            })
    }
}

/// Pays back so much of a payment, or what is left of it. The processor refuses to pay back
/// nothing, and more than is left.
pub(super) async fn refund(
    client: &Client,
    attempt: &Attempt,
    payment_intent: &str,
    at_most: Money,
) -> Result<Verdict<Option<ledger::Refund>>, Doubt> {
    let Some(wanted) = amount::to_processor(at_most) else {
        return Ok(Verdict::Refused(catalog::unchargeable(at_most)));
    };
    let paid = match Paid::read(client, attempt, payment_intent).await {
        Ok(paid) => paid,
        Err(CallError::Api(error)) if error.is_missing() => {
            return Ok(Verdict::Refused(error.as_refusal()));
        }
        Err(error) => return Err(error.into()),
    };
    if amount::code(at_most.currency()) != paid.intent.currency {
        return Ok(Verdict::Refused(other_currency(at_most, &paid.intent)));
    }
    let left = paid.left();
    let ids = Ids::default()
        .work(&attempt.idempotency_key)
        .and_those_of(&paid.intent.metadata);
    if let Some(made) = paid.of_work(attempt) {
        return Ok(Verdict::Done(Some(doubtless(&made)?)));
    }
    let amount = wanted.min(left);
    if amount < 1 {
        return Ok(Verdict::Done(None));
    }
    let params = RefundParams {
        payment_intent,
        amount,
        metadata: ids.metadata(),
    };
    let work = Work {
        attempt,
        key: &attempt.idempotency_key,
        path: &["refunds"],
        params: &params,
    };
    let query = RefundsOf { payment_intent };
    let find = || {
        let is_ours = |refund: &Refund| is_of(refund, attempt);
        lists::first(client, attempt.mode, &["refunds"], &query, is_ours)
    };
    match once::make(client, work, find).await {
        Ok(made) => Ok(Verdict::Done(Some(doubtless(&made)?))),
        Err(CallError::Api(error)) if error.is("charge_already_refunded") => {
            Ok(Verdict::Done(None))
        }
        // Somebody else was faster: what is left is another sum the next time.
        Err(CallError::Api(error)) if error.refusal().is_some() => {
            let now = Paid::read(client, attempt, payment_intent).await?;
            if now.left() == left {
                return Ok(Verdict::Refused(error.as_refusal()));
            }
            Err(CallError::Api(error).into())
        }
        Err(error) => settle(Err(error)),
    }
}

fn is_of(refund: &Refund, attempt: &Attempt) -> bool {
    let metadata = refund.metadata.as_ref();
    metadata.is_some_and(|metadata| ids::is_of_work(metadata, &attempt.idempotency_key))
}

fn doubtless(refund: &Refund) -> Result<ledger::Refund, Doubt> {
    let at = instant(refund.created)?;
    known(refund, at).map_err(Doubt::failed)
}

/// The refund as the domain knows it, as it stood then; else what it holds that is not known here.
pub(super) fn known(refund: &Refund, at: Timestamp) -> Result<ledger::Refund, String> {
    let state = match &refund.status {
        Some(RefundStatus::Succeeded) => RefundState::Succeeded,
        Some(RefundStatus::Failed | RefundStatus::Canceled) => RefundState::Failed,
        Some(RefundStatus::Pending | RefundStatus::RequiresAction) | None => RefundState::Pending,
        Some(unknown @ RefundStatus::Unknown(_)) => {
            return Err(format!("the refund {} is {}", refund.id, unknown.as_str()));
        }
    };
    let (units, currency) = (refund.amount, refund.currency.as_str());
    let amount = amount::from_processor(units, currency)
        .ok_or_else(|| format!("the refund {} is of {units} {currency}", refund.id))?;
    let payment = refund.payment_intent.as_ref();
    let payment = payment.ok_or_else(|| format!("the refund {} is of no payment", refund.id))?;
    let cancelled = (refund.status == Some(RefundStatus::Canceled)).then(|| "canceled".to_owned());
    Ok(ledger::Refund {
        id: refund.id.clone(),
        payment_intent_id: payment.id().to_owned(),
        amount,
        state,
        failure: refund.failure_reason.clone().or(cancelled),
        at,
    })
}

fn other_currency(asked: Money, paid: &PaymentIntent) -> Refusal {
    Refusal {
        code: "invalid_amount".to_owned(),
        message: format!(
            "{asked} {} cannot be paid back of a payment in {}",
            asked.currency(),
            paid.currency.to_uppercase()
        ),
    }
}
