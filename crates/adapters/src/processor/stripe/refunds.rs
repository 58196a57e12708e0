//! Refunds of captured deposits.

use lessor_domain::checkout::Refusal;
use lessor_domain::money::Money;
use lessor_domain::ports::{Answer, Call, Doubt};
use serde::Serialize;

use super::client::Client;
use super::error::{CallError, done, settle};
use super::ids::{self, Ids};
use super::once::{self, Work};
use super::wire::{Metadata, Page, Refund, RefundStatus};
use super::{amount, catalog, deposits};

#[derive(Serialize)]
struct RefundParams<'a> {
    payment_intent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<i64>,
    metadata: Metadata,
}

#[derive(Serialize)]
struct RefundsOf<'a> {
    payment_intent: &'a str,
    limit: u8,
}

/// Pays a captured deposit back: `sum` of it, or what is left of it.
pub(super) async fn refund(
    client: &Client,
    call: &Call,
    payment_intent: &str,
    sum: Option<Money>,
) -> Result<Answer<()>, Doubt> {
    let units = match sum {
        None => None,
        Some(sum) => match amount::to_processor(sum) {
            Some(units) => Some(units),
            None => return Ok(Answer::Refused(catalog::unchargeable(sum))),
        },
    };
    // The refund carries the ids of the payment.
    let paid = match deposits::read(client, call.mode, payment_intent).await {
        Ok(intent) => intent,
        Err(CallError::Api(error)) if error.is_missing() => {
            return Ok(Answer::Refused(error.as_refusal()));
        }
        Err(error) => return Err(error.into()),
    };
    let params = RefundParams {
        payment_intent,
        amount: units,
        metadata: Ids::default()
            .work(&call.idempotency_key)
            .and_those_of(&paid.metadata)
            .metadata(),
    };
    let work = Work {
        call,
        key: &call.idempotency_key,
        path: &["refunds"],
        params: &params,
    };
    let find = || async {
        let query = RefundsOf {
            payment_intent,
            limit: 100,
        };
        let page: Page<Refund> = client.get(call.mode, &["refunds"], &query).await?;
        Ok(page.data.into_iter().find(|refund| {
            let metadata = refund.metadata.as_ref();
            metadata.is_some_and(|metadata| ids::is_of_work(metadata, &call.idempotency_key))
        }))
    };
    let made = match once::make(client, work, find).await {
        // All of it was to go back, and all of it is.
        Err(CallError::Api(error)) if sum.is_none() && error.is("charge_already_refunded") => {
            return Ok(Answer::Done(()));
        }
        other => done!(settle(other)?),
    };
    match made.status {
        Some(RefundStatus::Failed | RefundStatus::Canceled) => Ok(Answer::Refused(Refusal {
            code: made
                .failure_reason
                .unwrap_or_else(|| "refund_failed".to_owned()),
            message: "The refund failed.".to_owned(),
        })),
        Some(unknown @ RefundStatus::Unknown(_)) => Err(Doubt::failed(format!(
            "the refund of {payment_intent} is {}",
            unknown.as_str()
        ))),
        // One that is under way is the processor's to finish.
        Some(RefundStatus::Succeeded | RefundStatus::Pending | RefundStatus::RequiresAction)
        | None => Ok(Answer::Done(())),
    }
}
