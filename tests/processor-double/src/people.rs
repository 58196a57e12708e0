//! What people and banks do that nobody asked the processor for.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::{identity, refunds};
use crate::cards::{self, Decline, Occasion, Use};
use crate::pages::{self, Choice, Where};
use crate::state::State;
use crate::store::{World, number, text};
use crate::{disputes, intents, payments, terms};

/// The session is decided.
pub(crate) fn decide(
    state: &mut State,
    session: &str,
    status: &str,
    error: Option<&str>,
) -> Result<(), String> {
    identity::decide(holding(state, session)?, session, status, error);
    Ok(())
}

/// The authorization lapses now.
pub(crate) fn lapse(state: &mut State, intent: &str) -> Result<(), String> {
    intents::lapse(holding(state, intent)?, intent);
    Ok(())
}

/// The payment is contested, named by itself, by its charge or by the invoice that it paid;
/// answers the dispute's id.
pub(crate) fn contest(state: &mut State, id: &str) -> Result<String, String> {
    let world = holding(state, id)?;
    let known = world.any(id).cloned().unwrap_or_default();
    let charge = match text(&known, "object") {
        "charge" => id.to_owned(),
        "invoice" => {
            let payments = world.all("invoice_payment").iter();
            let mut paid = payments.filter(|paid| paid["invoice"] == id);
            let intent = paid
                .next()
                .map(|paid| text(&paid["payment"], "payment_intent"));
            let intent = intent.and_then(|intent| world.any(intent));
            intent
                .map_or("", |intent| text(intent, "latest_charge"))
                .to_owned()
        }
        _ => text(&known, "latest_charge").to_owned(),
    };
    let charge = world
        .find("charge", &charge)
        .filter(|charge| charge["captured"] == true)
        .ok_or_else(|| format!("nothing was taken by {id}"))?;
    // "Disputes and chargebacks aren't possible on credit card charges that are fully
    // refunded."
    if charge["refunded"] == true || charge["disputed"] == true {
        return Err(format!("{id} was paid back"));
    }
    Ok(disputes::open(world, text(&charge, "id")))
}

/// The dispute moves: `under_review`, `won`, `lost` and what else there is.
pub(crate) fn close(state: &mut State, dispute: &str, status: &str) -> Result<(), String> {
    disputes::decide(holding(state, dispute)?, dispute, status);
    Ok(())
}

/// "the bank returns the refunded amount to us […]. This process can take up to 30 days from the post
/// date", seconds.
const RETURNED_WITHIN: i64 = 30 * 86_400;

/// A refund that is under way succeeds, or one fails, for a reason.
pub(crate) fn settle(state: &mut State, refund: &str, failure: Option<&str>) -> Result<(), String> {
    let world = holding(state, refund)?;
    let known = world.find("refund", refund).unwrap_or_default();
    let status = text(&known, "status").to_owned();
    if failure.is_some() && number(&known, "created") + RETURNED_WITHIN < world.now {
        return Err(format!("{refund} was paid back too long ago to come back"));
    }
    let may = match failure {
        Some(_) => matches!(status.as_str(), "pending" | "requires_action" | "succeeded"),
        None => matches!(status.as_str(), "pending" | "requires_action"),
    };
    if !may {
        return Err(format!("{refund} is {status}"));
    }
    refunds::settle(world, refund, failure);
    Ok(())
}

/// A customer does something on a page.
pub(crate) fn visit(state: &mut State, session: &str, choice: &Choice) -> Result<Where, String> {
    pages::play(holding(state, session)?, session, choice)
}

/// A payment method of the card, nobody's yet; answers its id.
pub(crate) fn new_card(state: &mut State, live: bool, name: &str) -> Result<String, String> {
    let card = cards::named(name).ok_or_else(|| format!("{name} is no card"))?;
    let method = payments::new_method(state.world_mut(live), card);
    Ok(text(&method, "id").to_owned())
}

/// From now on charges of the method are declined, always or on an occasion, or not any more.
pub(crate) fn card(
    state: &mut State,
    method: &str,
    occasion: Option<Occasion>,
    decline: Option<Decline>,
) -> Result<(), String> {
    let card = holding(state, method)?
        .cards
        .get_mut(method)
        .ok_or_else(|| format!("{method} is no card"))?;
    let what = decline.map(|decline| match decline {
        Decline::AUTHENTICATION_REQUIRED => Use::Authenticate,
        other => Use::Declined(other),
    });
    match occasion {
        Some(Occasion::OffSession) => card.off_session = what,
        Some(Occasion::Hold) => card.hold = what,
        None => {
            card.charge = decline.map_or(Use::Works, Use::Declined);
            if decline.is_none() {
                (card.off_session, card.hold) = (None, None);
            }
        }
    }
    Ok(())
}

/// What a person does to a subscription, where the processor shows it to people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Deed {
    /// Has it cost another amount from the next period on.
    SetPrice {
        /// In minor units.
        unit_amount: i64,
    },
    /// Takes its end away: it bills for ever.
    RemoveEnd,
    /// Cancels it.
    Cancel,
    /// Has its invoices not collected: `keep_as_draft`, `mark_uncollectible` or `void`.
    PauseCollection {
        /// What becomes of them.
        behavior: String,
        /// When they are collected again, Unix seconds.
        #[serde(default)]
        resumes_at: Option<i64>,
    },
    /// Has them collected again.
    ResumeCollection,
    /// Pauses it: it makes no invoices.
    Pause,
    /// Lets it go on.
    Resume,
}

/// A person does something to a subscription.
pub(crate) fn do_to(state: &mut State, id: &str, deed: &Deed) -> Result<(), String> {
    let world = holding(state, id)?;
    let subscription = world
        .find("subscription", id)
        .ok_or_else(|| format!("{id} is no subscription"))?;
    let status = text(&subscription, "status").to_owned();
    if terms::has_ended(&subscription) || (status == "incomplete" && *deed != Deed::Cancel) {
        return Err(format!("{id} is {status}"));
    }
    match deed {
        Deed::SetPrice { unit_amount } => set_price(world, subscription, *unit_amount),
        Deed::RemoveEnd => {
            world.set(
                id,
                json!({ "cancel_at": null, "cancel_at_period_end": false }),
            );
        }
        Deed::Cancel => {
            terms::finish(world, id, Some("cancellation_requested"));
            return Ok(());
        }
        Deed::PauseCollection {
            behavior,
            resumes_at,
        } => terms::pause_collection(world, id, behavior, *resumes_at),
        Deed::ResumeCollection => {
            world.set(id, json!({ "pause_collection": null }));
        }
        Deed::Pause => {
            world.set(id, json!({ "status": "paused" }));
            // "Only applies when subscriptions enter status=paused, not when payment
            // collection is paused."
            world.emit_of("customer.subscription.paused", id);
        }
        Deed::Resume => {
            if status != "paused" {
                return Err(format!("{id} is {status}"));
            }
            world.set(id, json!({ "status": "active" }));
            // "Only applies when a status=paused subscription is resumed, not when payment
            // collection is resumed."
            world.emit_of("customer.subscription.resumed", id);
        }
    }
    // "Occurs whenever a subscription changes (e.g., switching from one plan to another, or
    // changing the status from trial to active)."
    world.emit_of("customer.subscription.updated", id);
    Ok(())
}

fn set_price(world: &mut World, mut subscription: Value, unit_amount: i64) {
    let items = subscription["items"]["data"].as_array_mut();
    for item in items.into_iter().flatten() {
        let id = world.new_id("price");
        let mut members = item["price"].clone();
        members["id"] = id.as_str().into();
        members["unit_amount"] = unit_amount.into();
        members["unit_amount_decimal"] = unit_amount.to_string().into();
        members["lookup_key"] = Value::Null;
        let price = world.make("price", &id, members);
        world.emit("price.created", &price);
        item["price"] = price;
    }
    world.put(&subscription);
}

fn holding<'a>(state: &'a mut State, id: &str) -> Result<&'a mut World, String> {
    state
        .world_of(id)
        .ok_or_else(|| format!("there is no {id}"))
}
