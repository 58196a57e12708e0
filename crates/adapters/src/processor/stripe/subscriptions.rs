//! Subscriptions: one for each checkout, of exactly so many monthly payments.

use chrono::Months;
use lessor_domain::access::Mode;
use lessor_domain::checkout::Refusal;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::percentage::TermMonths;
use lessor_domain::ports::{self, Answer, Call, Doubt, SubscriptionRequest};
use lessor_domain::time::Timestamp;
use serde::Serialize;

use super::catalog::{self, Priced};
use super::client::Client;
use super::deposits::instant;
use super::error::{CallError, done, refusal, settle};
use super::ids::{self, Ids};
use super::once::{self, Work};
use super::wire::{
    Expandable, Invoice, InvoicePayment, Metadata, Page, Subscription, SubscriptionStatus,
};
use super::{customers, payment_methods};

/// A customer's subscriptions that are looked through, newest first.
const MOST_SUBSCRIPTIONS: usize = 1_000;

#[derive(Serialize)]
struct SubscriptionParams<'a> {
    customer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_payment_method: Option<&'a str>,
    items: [ItemParams<'a>; 1],
    description: &'a str,
    // The customer is not there when the goods are delivered.
    off_session: bool,
    // A first payment that fails leaves a subscription to look at, not an error.
    payment_behavior: &'static str,
    expand: [&'static str; 1],
    metadata: Metadata,
}

#[derive(Serialize)]
struct ItemParams<'a> {
    price: &'a str,
    quantity: u8,
}

#[derive(Serialize)]
struct EndParams {
    cancel_at: i64,
    proration_behavior: &'static str,
    expand: [&'static str; 1],
}

#[derive(Serialize)]
struct SubscriptionsOf<'a> {
    customer: &'a str,
    status: &'static str,
    limit: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    starting_after: Option<String>,
    expand: [&'static str; 1],
}

#[derive(Serialize)]
struct Search {
    query: String,
    limit: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<String>,
    expand: [&'static str; 1],
}

#[derive(Serialize)]
struct CancelParams {
    invoice_now: bool,
    prorate: bool,
}

#[derive(Serialize)]
struct PaymentsOf<'a> {
    invoice: &'a str,
    limit: u8,
    expand: [&'static str; 1],
}

/// Starts the checkout's subscription, or answers the one that it has.
///
/// Its end is set from the anchor that the processor answers, in a second request:
/// a subscription that lost it on the way gets it when it is found.
pub(super) async fn create(
    client: &Client,
    call: &Call,
    request: &SubscriptionRequest,
) -> Result<Answer<ports::Subscription>, Doubt> {
    let customer = done!(customers::id_of(client, call, &request.customer).await?);
    let find = || find(client, call.mode, &customer, request.checkout);
    let subscription = match find().await? {
        Some(found) => found,
        None => {
            let ids = Ids::default()
                .checkout(request.checkout)
                .organization(request.organization)
                .customer(request.customer.id);
            let priced = Priced {
                product: &request.variant_processor_id,
                name: &request.description,
                monthly: request.monthly,
                ids: ids.clone(),
            };
            let price = done!(catalog::price_for(client, call, priced).await?);
            let method = method_of(client, call.mode, &customer, request).await?;
            let params = SubscriptionParams {
                customer: &customer,
                default_payment_method: method.as_deref(),
                items: [ItemParams {
                    price: &price.id,
                    quantity: 1,
                }],
                description: &request.description,
                off_session: true,
                payment_behavior: "allow_incomplete",
                expand: ["latest_invoice"],
                metadata: ids.work(&call.idempotency_key).metadata(),
            };
            let work = Work {
                call,
                key: &call.idempotency_key,
                path: &["subscriptions"],
                params: &params,
            };
            match once::make(client, work, find).await {
                // Nothing that could pay was found, neither here nor there.
                Err(CallError::Api(error))
                    if method.is_none() && error.is_missing() && error.param.is_none() =>
                {
                    return Ok(Answer::Refused(payment_methods::none_named()));
                }
                other => done!(settle(other)?),
            }
        }
    };
    let subscription = match subscription.cancel_at {
        None if !has_ended(&subscription) => {
            done!(set_end(client, call, &subscription, request.months).await?)
        }
        _ => subscription,
    };
    Ok(Answer::Done(known(client, call.mode, &subscription).await?))
}

/// Ends the subscription at once, without a further payment.
pub(super) async fn cancel(client: &Client, call: &Call, id: &str) -> Result<Answer<()>, Doubt> {
    let params = CancelParams {
        invoice_now: false,
        prorate: false,
    };
    let path = ["subscriptions", id];
    let ended: Result<Subscription, _> = client.delete(call.mode, &path, &params).await;
    match ended {
        // One that has ended cannot be ended: the processor says that it is missing.
        Err(CallError::Api(error)) if matches!(error.status, 400 | 404) => {
            let known: Result<Subscription, _> = client.get(call.mode, &path, &()).await;
            match known {
                Ok(subscription) if has_ended(&subscription) => Ok(Answer::Done(())),
                Ok(_) => settle(Err(CallError::Api(error))),
                Err(CallError::Api(error)) if error.is_missing() => {
                    Ok(Answer::Refused(error.as_refusal()))
                }
                Err(error) => Err(error.into()),
            }
        }
        other => {
            done!(settle(other)?);
            Ok(Answer::Done(()))
        }
    }
}

/// The checkout's subscriptions, found by search, which may lag by a minute.
pub(super) async fn of_checkout(
    client: &Client,
    mode: Mode,
    checkout: CheckoutPubId,
) -> Result<Vec<ports::Subscription>, Doubt> {
    let mut all = Vec::new();
    let mut next = None;
    loop {
        let query = Search {
            query: ids::search_for_checkout(checkout),
            limit: 100,
            page: next,
            expand: ["data.latest_invoice"],
        };
        let page: Page<Subscription> = client
            .get(mode, &["subscriptions", "search"], &query)
            .await?;
        for subscription in &page.data {
            all.push(known(client, mode, subscription).await?);
        }
        next = page.next_page.filter(|_| page.has_more);
        if next.is_none() || all.len() >= MOST_SUBSCRIPTIONS {
            return Ok(all);
        }
    }
}

/// Why the invoice was not paid the last time.
pub(super) async fn payment_failure(
    client: &Client,
    mode: Mode,
    invoice: &str,
) -> Result<Option<Refusal>, CallError> {
    let query = PaymentsOf {
        invoice,
        limit: 100,
        expand: ["data.payment.payment_intent"],
    };
    let page: Page<InvoicePayment> = client.get(mode, &["invoice_payments"], &query).await?;
    let error = page.data.iter().find_map(|paid| {
        let intent = paid.payment.payment_intent.as_ref()?.object()?;
        intent.last_payment_error.as_ref()
    });
    Ok(error.map(|error| refusal(Some(error))))
}

/// The instant after the last of so many payments that begin at `anchor`: that many
/// months later, counted from the original day, so that a start on the 31st ends on
/// the last day of a shorter month and no day is lost on the way there.
///
/// It has to be exact: an end within a month makes the processor prorate.
#[must_use]
pub(super) fn end_of_term(anchor: Timestamp, months: TermMonths) -> Option<Timestamp> {
    anchor.checked_add_months(Months::new(u32::from(months.get())))
}

async fn set_end(
    client: &Client,
    call: &Call,
    subscription: &Subscription,
    months: TermMonths,
) -> Result<Answer<Subscription>, Doubt> {
    let anchor = instant(subscription.billing_cycle_anchor)?;
    let end = end_of_term(anchor, months)
        .ok_or_else(|| Doubt::failed(format!("{months} months after {anchor} is no time")))?;
    let params = EndParams {
        cancel_at: end.timestamp(),
        proration_behavior: "none",
        expand: ["latest_invoice"],
    };
    let path = ["subscriptions", subscription.id.as_str()];
    settle(once::set(client, call, &path, &params).await)
}

/// The checkout's subscription among the customer's: one that runs before one that
/// has ended.
async fn find(
    client: &Client,
    mode: Mode,
    customer: &str,
    checkout: CheckoutPubId,
) -> Result<Option<Subscription>, CallError> {
    let mut seen = 0;
    let mut starting_after = None;
    let mut ended = None;
    loop {
        let query = SubscriptionsOf {
            customer,
            status: "all",
            limit: 100,
            starting_after,
            expand: ["data.latest_invoice"],
        };
        let page: Page<Subscription> = client.get(mode, &["subscriptions"], &query).await?;
        seen += page.data.len();
        starting_after = page.data.last().map(|last| last.id.clone());
        for subscription in page.data {
            if !ids::is_of_checkout(&subscription.metadata, checkout) {
                continue;
            }
            if !has_ended(&subscription) {
                return Ok(Some(subscription));
            }
            ended.get_or_insert(subscription);
        }
        if !page.has_more || starting_after.is_none() || seen >= MOST_SUBSCRIPTIONS {
            return Ok(ended);
        }
    }
}

/// The subscription as the domain knows it.
async fn known(
    client: &Client,
    mode: Mode,
    subscription: &Subscription,
) -> Result<ports::Subscription, Doubt> {
    let invoice = subscription
        .latest_invoice
        .as_ref()
        .and_then(Expandable::object);
    let paid = first_payment_paid(&subscription.status, invoice);
    let failure = match invoice {
        Some(invoice) if !paid => payment_failure(client, mode, &invoice.id).await?,
        _ => None,
    };
    let start = subscription.start_date.unwrap_or(subscription.created);
    Ok(ports::Subscription {
        id: subscription.id.clone(),
        start: instant(start)?.date_naive(),
        first_invoice_id: invoice
            .filter(|invoice| invoice.is_first())
            .map(|invoice| invoice.id.clone()),
        first_payment_paid: paid,
        first_payment_failure: failure,
        ended: has_ended(subscription),
    })
}

/// A subscription leaves `incomplete` by its first payment; one that was cancelled
/// tells by the invoice that it started with.
fn first_payment_paid(status: &SubscriptionStatus, latest: Option<&Invoice>) -> bool {
    match status {
        SubscriptionStatus::Incomplete | SubscriptionStatus::IncompleteExpired => false,
        SubscriptionStatus::Canceled => latest
            .is_none_or(|invoice| !invoice.is_first() || invoice.status.as_deref() == Some("paid")),
        _ => true,
    }
}

fn has_ended(subscription: &Subscription) -> bool {
    matches!(
        subscription.status,
        SubscriptionStatus::Canceled | SubscriptionStatus::IncompleteExpired
    )
}

/// The method that pays: the one that was named, else the customer's last one. The
/// processor charges a subscription to nothing that is not the customer's.
async fn method_of(
    client: &Client,
    mode: Mode,
    customer: &str,
    request: &SubscriptionRequest,
) -> Result<Option<String>, CallError> {
    match &request.payment_method {
        Some(id) if !payment_methods::is_test_name(id) => Ok(Some(id.clone())),
        _ => {
            let method = payment_methods::last_used(client, mode, customer).await?;
            Ok(method.map(|method| method.id))
        }
    }
}
