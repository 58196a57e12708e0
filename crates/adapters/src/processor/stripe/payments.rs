//! Paying the open invoices of a subscription.

use lessor_domain::ledger::{self, SubscriptionState};
use lessor_domain::ports::{Answer, Call, Doubt};
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
    call: &Call,
    subscription: &str,
    method: &str,
) -> Result<Answer<ledger::Subscription>, Doubt> {
    let standing = match subscriptions::get(client, call.mode, subscription).await {
        Err(CallError::Api(error)) if error.is_missing() => {
            return Ok(Answer::Refused(error.as_refusal()));
        }
        other => other?,
    };
    // The processor changes the method of one whose first payment is made, and of no other.
    let is_incomplete = subscriptions::state_of(&standing) == Some(SubscriptionState::Incomplete);
    if !is_incomplete {
        done!(pay_with(client, call, &standing, method).await?);
    }
    for invoice in invoices::list(client, call.mode, subscription, Some("open")).await? {
        done!(pay_one(client, call, &invoice.id, method).await?);
    }
    if is_incomplete {
        let paid = subscriptions::get(client, call.mode, subscription).await?;
        done!(pay_with(client, call, &paid, method).await?);
    }
    match subscriptions::read(client, call.mode, subscription).await? {
        Some(paid) => Ok(Answer::Done(paid)),
        None => Err(Doubt::failed(format!("{subscription} is gone"))),
    }
}

async fn pay_with(
    client: &Client,
    call: &Call,
    subscription: &Subscription,
    method: &str,
) -> Result<Answer<()>, Doubt> {
    if subscriptions::has_ended(subscription) {
        return Ok(Answer::Done(()));
    }
    let params = MethodParams {
        default_payment_method: method,
    };
    let path = ["subscriptions", subscription.id.as_str()];
    let set: Result<Subscription, _> = once::set(client, call, &path, &params).await;
    done!(settle(set)?);
    Ok(Answer::Done(()))
}

async fn pay_one(
    client: &Client,
    call: &Call,
    invoice: &str,
    method: &str,
) -> Result<Answer<()>, Doubt> {
    let read = async || -> Result<Invoice, CallError> {
        client.get(call.mode, &["invoices", invoice], &()).await
    };
    let is_settled = |invoice: &Invoice| invoice.status.as_deref() != Some("open");
    let find = || async { Ok(Some(read().await?).filter(is_settled)) };
    let params = PayParams {
        payment_method: method,
        off_session: true,
    };
    let work = Work {
        call,
        key: &subkey(&call.idempotency_key, invoice),
        path: &["invoices", invoice, "pay"],
        params: &params,
    };
    match once::make(client, work, find).await {
        // It was paid or called off meanwhile.
        Err(CallError::Api(error)) if error.status == 400 => match find().await? {
            Some(_) => Ok(Answer::Done(())),
            None => settle(Err(CallError::Api(error))),
        },
        other => {
            done!(settle(other)?);
            Ok(Answer::Done(()))
        }
    }
}
