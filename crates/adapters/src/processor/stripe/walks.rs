//! Walks through the records of the whole account, a page at a time, and through its messages.
//!
//! Others may use the same account: what does not carry our ids is passed over. So is what cannot
//! be read; whoever misses it asks for it by its name and is told why.

use lessor_domain::access::Mode;
use lessor_domain::checkout::Invoice;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{self, Authorization, Subscription};
use lessor_domain::ports::{Doubt, InboxMessage, WalkPage};
use lessor_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::client::Client;
use super::deposits::instant;
use super::error::CallError;
use super::wire::{Identified, Page};
use super::wire_payments::{Dispute, PaymentIntent, Refund};
use super::{deposits, events, ids, invoices, lists, subscriptions, wire_billing};

/// Who messages are kept from, whether they are sent or fetched.
const SOURCE: &str = "processor";

/// The messages that matter, the twenty that the processor lets be named. Those that only hasten
/// what is under way, or tell of the same as another one does, are left out.
const KINDS: [&str; 20] = [
    "charge.dispute.closed",
    "charge.dispute.created",
    "customer.subscription.deleted",
    "customer.subscription.paused",
    "customer.subscription.resumed",
    "customer.subscription.updated",
    "identity.verification_session.canceled",
    "identity.verification_session.processing",
    "identity.verification_session.requires_input",
    "identity.verification_session.verified",
    "invoice.marked_uncollectible",
    "invoice.paid",
    "invoice.payment_failed",
    "invoice.voided",
    "payment_intent.amount_capturable_updated",
    "payment_intent.canceled",
    "payment_intent.succeeded",
    "refund.created",
    "refund.failed",
    "refund.updated",
];

#[derive(Serialize)]
struct AllSubscriptions {
    status: &'static str,
}

#[derive(Serialize)]
struct MadeSince {
    created: Since,
    expand: &'static [&'static str],
}

#[derive(Serialize)]
struct Since {
    gte: i64,
}

#[derive(Serialize)]
struct EventsAfter<'a> {
    ending_before: &'a str,
    limit: u8,
    types: [&'static str; 20],
}

#[derive(Serialize)]
struct EventsSince {
    created: Since,
    types: [&'static str; 20],
}

/// A message as the list has it: its body is what is sent.
#[derive(Deserialize)]
#[serde(transparent)]
struct Event(Box<RawValue>);

#[derive(Deserialize)]
struct EventId {
    id: String,
    created: i64,
}

/// All subscriptions, without their invoices.
pub(super) async fn subscriptions(
    client: &Client,
    mode: Mode,
    after: Option<String>,
) -> Result<WalkPage<Subscription>, Doubt> {
    let query = AllSubscriptions { status: "all" };
    let path = ["subscriptions"];
    let page: Page<wire_billing::Subscription> =
        lists::page(client, mode, &path, &query, after.as_deref()).await?;
    Ok(walked(&page, |subscription| {
        ids::ours(&subscription.metadata).checkout?;
        match subscriptions::known(subscription, Vec::new()) {
            Ok(known) => Some(known),
            Err(doubt) => passed_over(&subscription.id, &doubt.to_string()),
        }
    }))
}

/// The invoices of our subscriptions that were made since.
pub(super) async fn invoices(
    client: &Client,
    mode: Mode,
    since: Timestamp,
    after: Option<String>,
) -> Result<WalkPage<(CheckoutPubId, Invoice)>, Doubt> {
    let query = MadeSince {
        created: Since {
            gte: since.timestamp(),
        },
        expand: &invoices::EACH_WITH_PAYMENTS,
    };
    let page: Page<wire_billing::Invoice> =
        lists::page(client, mode, &["invoices"], &query, after.as_deref()).await?;
    Ok(walked(&page, |invoice| {
        let checkout = ids::ours(&invoice.metadata()).checkout?;
        match invoices::known(invoice, None) {
            Ok(known) => Some((checkout, known?)),
            Err(problem) => passed_over(&invoice.id, &problem),
        }
    }))
}

/// The deposits of our checkouts that were made since.
pub(super) async fn deposits(
    client: &Client,
    mode: Mode,
    since: Timestamp,
    after: Option<String>,
) -> Result<WalkPage<Authorization>, Doubt> {
    let query = MadeSince {
        created: Since {
            gte: since.timestamp(),
        },
        expand: &deposits::EACH_WITH_CHARGE,
    };
    let path = ["payment_intents"];
    let page: Page<PaymentIntent> =
        lists::page(client, mode, &path, &query, after.as_deref()).await?;
    Ok(walked(&page, |intent| {
        ids::ours(&intent.metadata).checkout?;
        match deposits::listed(intent) {
            Ok(known) => known,
            Err(problem) => passed_over(&intent.id, &problem),
        }
    }))
}

/// The refunds that were made since, whosever they are: they need not carry our ids.
pub(super) async fn refunds(
    client: &Client,
    mode: Mode,
    since: Timestamp,
    after: Option<String>,
) -> Result<WalkPage<ledger::Refund>, Doubt> {
    let query = MadeSince {
        created: Since {
            gte: since.timestamp(),
        },
        expand: &[],
    };
    let page: Page<Refund> =
        lists::page(client, mode, &["refunds"], &query, after.as_deref()).await?;
    Ok(walked(&page, |refund| {
        // One of a payment that is no intent is none of ours.
        refund.payment_intent.as_ref()?;
        let at = instant(refund.created).ok()?;
        match super::refunds::known(refund, at) {
            Ok(known) => Some(known),
            Err(problem) => passed_over(&refund.id, &problem),
        }
    }))
}

/// The disputes that began since, whosever they are: they carry none of our ids.
pub(super) async fn disputes(
    client: &Client,
    mode: Mode,
    since: Timestamp,
    after: Option<String>,
) -> Result<WalkPage<ledger::Dispute>, Doubt> {
    let query = MadeSince {
        created: Since {
            gte: since.timestamp(),
        },
        expand: &[],
    };
    let page: Page<Dispute> =
        lists::page(client, mode, &["disputes"], &query, after.as_deref()).await?;
    Ok(walked(&page, |dispute| {
        Some(ledger::Dispute {
            id: dispute.id.clone(),
            payment_intent_id: dispute.payment_intent.as_ref()?.id().to_owned(),
            is_settled: dispute.is_settled(),
        })
    }))
}

/// The messages after the one that is named, oldest first; without one, or when the processor
/// keeps that one no more, those since.
pub(super) async fn messages(
    client: &Client,
    mode: Mode,
    since: Timestamp,
    after: Option<String>,
) -> Result<WalkPage<InboxMessage>, Doubt> {
    let page = match &after {
        None => oldest(client, mode, since).await?,
        Some(after) => {
            let query = EventsAfter {
                ending_before: after,
                limit: 100,
                types: KINDS,
            };
            match client.get(mode, &["events"], &query).await {
                Err(CallError::Api(error)) if error.is_missing() => {
                    oldest(client, mode, since).await?
                }
                other => other?,
            }
        }
    };
    let mut items = Vec::with_capacity(page.data.len());
    // Pages are newest first, whichever way they are turned.
    for Event(body) in page.data.iter().rev() {
        let body = body.get().as_bytes();
        let head = events::parse_event_head(body).map_err(Doubt::failed)?;
        let EventId { created, .. } = serde_json::from_slice(body).map_err(Doubt::failed)?;
        items.push(InboxMessage {
            source: SOURCE.to_owned(),
            id: head.id,
            mode: head.mode,
            organization_id: None,
            body: body.to_vec(),
            // When it would have come.
            received_at: instant(created)?,
        });
    }
    let last = items.last().map(|message| message.id.clone());
    Ok(WalkPage {
        next: last.filter(|_| page.has_more),
        items,
    })
}

/// The page of the oldest messages since then. The list begins with the newest: its pages are
/// turned to the end. Whether there are more is told of newer ones.
async fn oldest(client: &Client, mode: Mode, since: Timestamp) -> Result<Page<Event>, Doubt> {
    let query = EventsSince {
        created: Since {
            gte: since.timestamp(),
        },
        types: KINDS,
    };
    let mut after: Option<String> = None;
    loop {
        let page: Page<Event> =
            lists::page(client, mode, &["events"], &query, after.as_deref()).await?;
        let last = page.data.last().filter(|_| page.has_more);
        let Some(Event(last)) = last else {
            return Ok(Page {
                has_more: after.is_some(),
                ..page
            });
        };
        let EventId { id, .. } = serde_json::from_str(last.get()).map_err(Doubt::failed)?;
        after = Some(id);
    }
}

fn walked<T: Identified, U>(page: &Page<T>, pick: impl Fn(&T) -> Option<U>) -> WalkPage<U> {
    let last = page.data.last().filter(|_| page.has_more);
    WalkPage {
        items: page.data.iter().filter_map(pick).collect(),
        next: last.map(|last| last.id().to_owned()),
    }
}

fn passed_over<T>(id: &str, problem: &str) -> Option<T> {
    tracing::warn!(id, problem, "a record of the processor is passed over");
    None
}
