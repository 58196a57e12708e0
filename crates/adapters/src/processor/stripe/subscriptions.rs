//! Subscriptions: one at a time for each checkout, of exactly so many monthly payments.

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{self, SubscriptionState};
use lessor_domain::ports::{Attempt, Doubt, ProcessorCustomer, SubscriptionRequest, Verdict};
use lessor_domain::time::{Timestamp, add_months_at};
use serde::Serialize;

use super::catalog::{self, MONTHLY, RecurringParams};
use super::client::Client;
use super::deposits::instant;
use super::error::{CallError, done, settle};
use super::ids::{self, Ids};
use super::once::{self, Work};
use super::wire::{Metadata, SubscriptionStatus};
use super::wire_billing::Subscription;
use super::{amount, customers, invoices, lists, payment_methods};

/// Tries that are this close to each other ask for the same end, so that their requests are the
/// same under the key that they share.
const SAME_END: TimeDelta = TimeDelta::hours(1);
/// The longest description of a subscription that the processor takes.
const LONGEST_DESCRIPTION: usize = 500;
/// What invoices name when nobody said what is leased.
const NAMELESS: &str = "Lease";

#[derive(Serialize)]
struct SubscriptionParams<'a> {
    customer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_payment_method: Option<&'a str>,
    items: [ItemParams<'a>; 1],
    description: &'a str,
    cancel_at: i64,
    proration_behavior: &'static str,
    // The customer is not there when the goods are delivered.
    off_session: bool,
    // A first payment that fails leaves a subscription to look at, not an error.
    payment_behavior: &'static str,
    metadata: Metadata,
}

#[derive(Serialize)]
struct ItemParams<'a> {
    price_data: PriceParams<'a>,
    quantity: u32,
}

#[derive(Serialize)]
struct PriceParams<'a> {
    product: &'a str,
    currency: String,
    unit_amount: i64,
    recurring: RecurringParams,
}

#[derive(Serialize)]
struct EndParams {
    cancel_at: i64,
    proration_behavior: &'static str,
}

#[derive(Serialize)]
struct SubscriptionsOf<'a> {
    customer: &'a str,
    status: &'static str,
}

#[derive(Serialize)]
struct CancelParams {
    invoice_now: bool,
    prorate: bool,
}

/// Starts a subscription for the checkout, or answers the one that it has, or the one that this
/// work made.
///
/// Its end is given with it, so that nothing bills for ever whatever is lost on the way, and also
/// where the processor takes no change: of a subscription whose first payment failed. The exact
/// end counts from the anchor, which only the answer tells: a request of its own sets it where it
/// differs.
pub(super) async fn create(
    client: &Client,
    attempt: &Attempt,
    request: &SubscriptionRequest,
) -> Result<Verdict<ledger::Subscription>, Doubt> {
    let customer = done!(customers::id_of(client, attempt, &request.customer).await?);
    let find = || find(client, attempt, &customer, request.checkout);
    let subscription = match find().await? {
        Some(found) => found,
        None => {
            // One subscription with one item, whatever the number: its price is that of one.
            let each = request.quantity.each_of(request.monthly).ok_or_else(|| {
                let (all, number) = (request.monthly, request.quantity);
                Doubt::failed(format!("{all} a month is not {number} times an amount"))
            })?;
            let Some(units) = amount::to_processor(each) else {
                return Ok(Verdict::Refused(catalog::unchargeable(each)));
            };
            let name = Some(request.description.as_str()).filter(|name| !name.is_empty());
            let name = name.unwrap_or(NAMELESS);
            let ids = Ids::default()
                .checkout(request.checkout)
                .organization(request.organization)
                .customer(request.customer.id);
            let product = format!("lease_{}", request.checkout.as_uuid().simple());
            done!(catalog::make_lease_product(client, attempt, &product, name, ids.clone()).await?);
            let method = method_of(client, attempt.mode, &customer, request).await?;
            let short: String = name.chars().take(LONGEST_DESCRIPTION).collect();
            let params = SubscriptionParams {
                customer: &customer,
                default_payment_method: method.as_deref(),
                items: [ItemParams {
                    price_data: PriceParams {
                        product: &product,
                        currency: amount::code(request.monthly.currency()),
                        unit_amount: units,
                        recurring: MONTHLY,
                    },
                    quantity: request.quantity.get(),
                }],
                description: &short,
                cancel_at: end_of(beginning(attempt), request.payments)?.timestamp(),
                proration_behavior: "none",
                off_session: true,
                payment_behavior: "allow_incomplete",
                metadata: ids
                    .work(&attempt.idempotency_key)
                    .payments(request.payments)
                    .metadata(),
            };
            let work = Work {
                attempt,
                key: &attempt.idempotency_key,
                path: &["subscriptions"],
                params: &params,
            };
            match once::make(client, work, find).await {
                // Nothing that could pay was found, neither here nor there.
                Err(CallError::Api(error))
                    if method.is_none() && error.is_missing() && error.param.is_none() =>
                {
                    return Ok(Verdict::Refused(payment_methods::none_named()));
                }
                other => done!(settle(other)?),
            }
        }
    };
    let subscription = with_exact_end(client, attempt, subscription, request.payments).await?;
    let invoices = invoices::of(client, attempt.mode, &subscription.id).await?;
    Ok(Verdict::Done(known(&subscription, invoices)?))
}

/// The subscription as it stands, with all its invoices; none when there is no such.
pub(super) async fn read(
    client: &Client,
    mode: Mode,
    id: &str,
) -> Result<Option<ledger::Subscription>, Doubt> {
    match get(client, mode, id).await {
        Ok(subscription) => {
            let invoices = invoices::of(client, mode, id).await?;
            Ok(Some(known(&subscription, invoices)?))
        }
        Err(CallError::Api(error)) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn get(client: &Client, mode: Mode, id: &str) -> Result<Subscription, CallError> {
    client.get(mode, &["subscriptions", id], &()).await
}

/// Every subscription that was made for the checkout, with its invoices, newest first.
pub(super) async fn of_checkout(
    client: &Client,
    mode: Mode,
    customer: &ProcessorCustomer,
    checkout: CheckoutPubId,
) -> Result<Vec<ledger::Subscription>, Doubt> {
    // Whom the processor does not know it does not bill.
    let Some(customer) = &customer.processor_id else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for subscription in all_of(client, mode, customer, checkout).await? {
        let invoices = invoices::of(client, mode, &subscription.id).await?;
        found.push(known(&subscription, invoices)?);
    }
    Ok(found)
}

/// Has the subscription end at that instant, without a part of a month.
pub(super) async fn set_end(
    client: &Client,
    attempt: &Attempt,
    id: &str,
    ends_at: Timestamp,
) -> Result<Verdict<()>, Doubt> {
    done!(settle(put_end(client, attempt, id, ends_at).await)?);
    Ok(Verdict::Done(()))
}

/// Ends the subscription at once, without a further payment.
pub(super) async fn cancel(
    client: &Client,
    attempt: &Attempt,
    id: &str,
) -> Result<Verdict<()>, Doubt> {
    let params = CancelParams {
        invoice_now: false,
        prorate: false,
    };
    let path = ["subscriptions", id];
    let ended: Result<Subscription, _> = client.delete(attempt.mode, &path, &params).await;
    match ended {
        // One that has ended cannot be ended: the processor says that it is missing.
        Err(CallError::Api(error)) if matches!(error.status, 400 | 404) => {
            match get(client, attempt.mode, id).await {
                Ok(subscription) if has_ended(&subscription) => Ok(Verdict::Done(())),
                Ok(_) => settle(Err(CallError::Api(error))),
                Err(CallError::Api(error)) if error.is_missing() => {
                    Ok(Verdict::Refused(error.as_refusal()))
                }
                Err(error) => Err(error.into()),
            }
        }
        other => {
            done!(settle(other)?);
            Ok(Verdict::Done(()))
        }
    }
}

/// The subscription as the domain knows it, with these invoices.
///
/// # Errors
/// In doubt when it holds what is not known here: a status that is not known is no success.
pub(super) fn known(
    subscription: &Subscription,
    invoices: Vec<lessor_domain::checkout::Invoice>,
) -> Result<ledger::Subscription, Doubt> {
    let id = &subscription.id;
    let state = state_of(subscription)
        .ok_or_else(|| Doubt::failed(format!("{id} is {}", subscription.status.as_str())))?;
    let mut monthly: Option<lessor_domain::money::Money> = None;
    for item in &subscription.items.data {
        let each = item.price.unit_amount;
        let units = each.and_then(|each| each.checked_mul(item.quantity.unwrap_or(1)));
        let part = units.and_then(|units| amount::from_processor(units, &item.price.currency));
        monthly = match (monthly, part) {
            (None, part) => part,
            (Some(sum), Some(part)) => sum.checked_add(part).ok(),
            (Some(_), None) => None,
        };
        if monthly.is_none() {
            break;
        }
    }
    Ok(ledger::Subscription {
        id: id.clone(),
        checkout: ids::ours(&subscription.metadata).checkout,
        state,
        monthly: monthly.ok_or_else(|| Doubt::failed(format!("{id} takes no known amount")))?,
        anchor: instant(subscription.billing_cycle_anchor)?,
        ends_at: subscription.cancel_at.map(instant).transpose()?,
        invoices,
    })
}

/// How far the subscription is; none when its status is not known here.
pub(super) fn state_of(subscription: &Subscription) -> Option<SubscriptionState> {
    use SubscriptionStatus as Status;

    let is_paused = subscription.pause_collection.is_some();
    Some(match &subscription.status {
        Status::Canceled | Status::IncompleteExpired => SubscriptionState::Ended,
        Status::Incomplete => SubscriptionState::Incomplete,
        Status::Paused => SubscriptionState::Paused,
        // It goes on by its status, and nothing is collected all the same.
        Status::Trialing | Status::Active | Status::PastDue | Status::Unpaid if is_paused => {
            SubscriptionState::Paused
        }
        Status::Trialing | Status::Active => SubscriptionState::Active,
        Status::PastDue => SubscriptionState::PastDue,
        Status::Unpaid => SubscriptionState::Unpaid,
        Status::Unknown(_) => return None,
    })
}

pub(super) fn has_ended(subscription: &Subscription) -> bool {
    state_of(subscription) == Some(SubscriptionState::Ended)
}

/// When the work takes the subscription to begin, before the processor says it.
fn beginning(attempt: &Attempt) -> Timestamp {
    let (first, now) = (attempt.first_tried_at, attempt.now);
    let steps = (now - first).num_seconds() / SAME_END.num_seconds();
    let shift = TimeDelta::seconds(steps.saturating_mul(SAME_END.num_seconds()));
    first.checked_add_signed(shift).unwrap_or(now)
}

/// The instant after the last of so many payments that begin at `anchor`: that many
/// months later, counted from the original day, so that a start on the 31st ends on
/// the last day of a shorter month and no day is lost on the way there.
///
/// It has to be exact: an end within a month makes the processor prorate.
fn end_of(anchor: Timestamp, payments: u16) -> Result<Timestamp, Doubt> {
    add_months_at(anchor, u32::from(payments))
        .ok_or_else(|| Doubt::failed(format!("{payments} months after {anchor} is no time")))
}

/// The subscription with its exact end, which is set where another one stands.
async fn with_exact_end(
    client: &Client,
    attempt: &Attempt,
    subscription: Subscription,
    payments: u16,
) -> Result<Subscription, Doubt> {
    // Of one that was made before, not what is left to pay by now.
    let payments = ids::payments_of(&subscription.metadata).unwrap_or(payments);
    let end = end_of(instant(subscription.billing_cycle_anchor)?, payments)?;
    // The processor refuses every change of one whose first payment is not made.
    let is_fixed = matches!(
        state_of(&subscription),
        Some(SubscriptionState::Incomplete | SubscriptionState::Ended) | None
    );
    if is_fixed || subscription.cancel_at == Some(end.timestamp()) {
        return Ok(subscription);
    }
    match settle(put_end(client, attempt, &subscription.id, end).await)? {
        Verdict::Done(changed) => Ok(changed),
        // It is there and bills: that its end is not the right one shows in the answer.
        Verdict::Refused(refusal) => {
            tracing::warn!(
                id = subscription.id,
                code = refusal.code,
                message = refusal.message,
                "the exact end of a subscription is refused"
            );
            Ok(subscription)
        }
    }
}

async fn put_end(
    client: &Client,
    attempt: &Attempt,
    id: &str,
    ends_at: Timestamp,
) -> Result<Subscription, CallError> {
    let params = EndParams {
        cancel_at: ends_at.timestamp(),
        proration_behavior: "none",
    };
    once::set(client, attempt, &["subscriptions", id], &params).await
}

/// The subscription that the work is to answer instead of making one: the checkout's that has not
/// ended, or the one that this very work made, whatever became of it.
async fn find(
    client: &Client,
    attempt: &Attempt,
    customer: &str,
    checkout: CheckoutPubId,
) -> Result<Option<Subscription>, CallError> {
    let all = all_of(client, attempt.mode, customer, checkout).await?;
    let is_of_work =
        |known: &Subscription| ids::is_of_work(&known.metadata, &attempt.idempotency_key);
    let running = all.iter().position(|known| !has_ended(known));
    let found = running.or_else(|| all.iter().position(is_of_work));
    Ok(found.and_then(|at| all.into_iter().nth(at)))
}

/// The checkout's subscriptions among the customer's: the list shows what was just made, while the
/// processor's search may lag.
async fn all_of(
    client: &Client,
    mode: Mode,
    customer: &str,
    checkout: CheckoutPubId,
) -> Result<Vec<Subscription>, CallError> {
    let query = SubscriptionsOf {
        customer,
        status: "all",
    };
    let mut all: Vec<Subscription> = lists::all(client, mode, &["subscriptions"], &query).await?;
    all.retain(|known| ids::is_of_checkout(&known.metadata, checkout));
    Ok(all)
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
