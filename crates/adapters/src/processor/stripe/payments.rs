//! Paying the open invoices of a subscription.

use lessor_domain::ledger::{self, SubscriptionState};
use lessor_domain::ports::{Attempt, Doubt, Verdict};
use serde::Serialize;

use super::client::Client;
use super::error::{CallError, done, settle};
use super::once::{self, Work, subkey};
use super::wire_billing::{Invoice, Subscription};
use super::{invoices, subscriptions};

#[derive(Serialize)]
struct PayParams<'a> {
    payment_method: &'a str,
    off_session: bool,
}

#[derive(Serialize)]
struct MethodParams<'a> {
    default_payment_method: &'a str,
}

/// Has the subscription pay with the method from now on, and pays its open invoices with it,
/// oldest first. The first that the bank declines ends it: the same card is not tried on the next.
pub(super) async fn pay(
    client: &Client,
    attempt: &Attempt,
    subscription: &str,
    method: &str,
) -> Result<Verdict<ledger::Subscription>, Doubt> {
    let standing = match subscriptions::get(client, attempt.mode, subscription).await {
        Err(CallError::Api(error)) if error.is_missing() => {
            return Ok(Verdict::Refused(error.as_refusal()));
        }
        other => other?,
    };
    // The processor changes the method of one whose first payment is made, and of no other.
    let is_incomplete = subscriptions::state_of(&standing) == Some(SubscriptionState::Incomplete);
    if !is_incomplete {
        done!(pay_with(client, attempt, &standing, method).await?);
    }
    for invoice in invoices::list(client, attempt.mode, subscription, Some("open")).await? {
        done!(pay_one(client, attempt, &invoice.id, method).await?);
    }
    if is_incomplete {
        let paid = subscriptions::get(client, attempt.mode, subscription).await?;
        done!(pay_with(client, attempt, &paid, method).await?);
    }
    match subscriptions::read(client, attempt.mode, subscription).await? {
        Some(paid) => Ok(Verdict::Done(paid)),
        None => Err(Doubt::failed(format!("{subscription} is gone"))),
    }
}

async fn pay_with(
    client: &Client,
    attempt: &Attempt,
    subscription: &Subscription,
    method: &str,
) -> Result<Verdict<()>, Doubt> {
    if subscriptions::has_ended(subscription) {
        return Ok(Verdict::Done(()));
    }
    let params = MethodParams {
        default_payment_method: method,
    };
    let path = ["subscriptions", subscription.id.as_str()];
    let set: Result<Subscription, _> = once::set(client, attempt, &path, &params).await;
    done!(settle(set)?);
    Ok(Verdict::Done(()))
}

async fn pay_one(
    client: &Client,
    attempt: &Attempt,
    invoice: &str,
    method: &str,
) -> Result<Verdict<()>, Doubt> {
    let read = async || -> Result<Invoice, CallError> {
        client.get(attempt.mode, &["invoices", invoice], &()).await
    };
    let is_settled = |invoice: &Invoice| invoice.status.as_deref() != Some("open");
    let find = || async { Ok(Some(read().await?).filter(is_settled)) };
    let params = PayParams {
        payment_method: method,
        off_session: true,
    };
    let work = Work {
        attempt,
        key: &subkey(&attempt.idempotency_key, invoice),
        path: &["invoices", invoice, "pay"],
        params: &params,
    };
    match once::make(client, work, find).await {
        // It was paid or called off meanwhile.
        Err(CallError::Api(error)) if error.status == 400 => match find().await? {
            Some(_) => Ok(Verdict::Done(())),
            None => settle(Err(CallError::Api(error))),
        },
        other => {
            done!(settle(other)?);
            Ok(Verdict::Done(()))
        }
    }
}
