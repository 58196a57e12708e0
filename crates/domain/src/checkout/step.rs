//! One step of a checkout: what it is told, what comes of it, and what may be in its way.

use super::effect::Effect;
use super::event::{Actor, EventKind};
use super::rule::Move;
use super::state::Lifecycle;
use crate::customer::{CreditStatus, IdentityStatus};
use crate::ids::{ApiKeyPubId, CheckoutItemPubId};
use crate::text::Line;
use crate::time::Timestamp;

/// When, by whom and why something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Circumstances {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// With which API key, where it took one.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub key: Option<ApiKeyPubId>,
    /// Why, where somebody said so.
    pub reason: Option<Line>,
}

impl Circumstances {
    /// Without a key and a reason.
    #[must_use]
    pub const fn new(at: Timestamp, actor: Actor) -> Self {
        Self {
            at,
            actor,
            key: None,
            reason: None,
        }
    }

    /// The same with this API key. The nil id is no key's: the command line acts by it.
    #[must_use]
    pub fn with_key(self, key: ApiKeyPubId) -> Self {
        Self {
            key: Some(key).filter(|key| !key.as_uuid().is_nil()),
            ..self
        }
    }
}

/// What is known of the customer: a step whose data are there is passed through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Facts {
    /// Name and address are complete.
    pub profile_complete: bool,
    /// The identity verification, in the checkout's mode.
    pub identity: IdentityStatus,
    /// The credit check, in the checkout's mode.
    pub credit: CreditStatus,
}

impl Facts {
    /// Nothing is known.
    pub const NONE: Self = Self {
        profile_complete: false,
        identity: IdentityStatus::None,
        credit: CreditStatus::Unknown,
    };
}

/// One step that a checkout made, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Transition {
    /// The state before.
    pub from: Lifecycle,
    /// What happened.
    pub event: EventKind,
    /// The state after; the same as before for an event that is only recorded.
    pub to: Lifecycle,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// With which API key, where it took one: also where the key's request alone made the checkout
    /// pass through the step.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub key: Option<ApiKeyPubId>,
    /// Why, where somebody said so.
    pub reason: Option<Line>,
}

/// Whether an event changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum Outcome {
    /// It did.
    Applied,
    /// It had been applied before, or came too late to matter.
    AlreadyApplied,
}

/// What came of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Applied {
    /// Whether anything changed.
    pub outcome: Outcome,
    /// The steps, in order: the event's own, then those that were passed through.
    pub transitions: Vec<Transition>,
    /// What is to be carried out, in order.
    pub effects: Vec<Effect>,
    /// Whether the units of stock that the checkout held go back, in the same
    /// transaction.
    pub releases_stock: bool,
}

impl Applied {
    pub(super) const fn new(outcome: Outcome) -> Self {
        Self {
            outcome,
            transitions: Vec::new(),
            effects: Vec::new(),
            releases_stock: false,
        }
    }
}

/// An event that is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event} is not possible while the checkout is {from}: {obstacle}")]
pub struct TransitionError {
    /// The state.
    pub from: Lifecycle,
    pub event: EventKind,
    /// What is in the way.
    #[source]
    pub obstacle: Obstacle,
}

/// What is in the way of an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// The checkout has ended.
    #[error("it has ended")]
    Ended,
    /// Nothing that the actor can do moves it now.
    #[error("it waits for {0}")]
    WaitsFor(EventKind),
    /// The actor can move it elsewhere.
    #[error("it can go to {} now", names(.0))]
    GoesElsewhere(Vec<Lifecycle>),
    /// The event is another's to tell.
    #[error("{actor} cannot tell of it, only {}", names(.open_to))]
    NotOpenTo {
        /// Who told of it.
        actor: Actor,
        /// Who can.
        open_to: &'static [Actor],
    },
    /// What is given differs from what was given before.
    #[error("it was given before, and differs; a step back leads to where it can be changed")]
    GivenOtherwise,
    /// No lease term is chosen.
    #[error("a lease term is to be chosen first")]
    NoTerm,
    /// The price is of another term than the chosen one.
    #[error("the price is of another term than the one that was chosen")]
    PriceOfAnotherTerm,
    /// The price is not that of as many as are leased.
    #[error("the price is not that of as many as are leased")]
    PriceOfAnotherQuantity,
    /// No price is frozen.
    #[error("its price is to be frozen first, which the submitted deposit does")]
    NoPrice,
    /// No deposit is authorized.
    #[error("no deposit is authorized")]
    NoDeposit,
    /// No method of recurring payments is known.
    #[error("a recurring payment method is needed first")]
    NoPaymentMethod,
    /// No subscription was asked for.
    #[error("no subscription was asked for: the goods are neither delivered nor shipped untracked")]
    NotRequested,
    /// The lease is not signed.
    #[error("the lease is to be signed first")]
    NotSigned,
    /// Stock was said to be taken, or left, where it cannot be.
    #[error("no stock is left for it")]
    NoStock,
    /// Stock is taken with the deposit.
    #[error("stock is taken with the deposit, not before")]
    StockBeforeDeposit,
    /// The lease is signed.
    #[error("the lease is signed, and the deposit about to be captured")]
    Signed,
    /// The goods are on their way.
    #[error("the goods are shipped: it can go back to shipped")]
    Shipped,
    /// The goods are not on their way.
    #[error("the goods are not shipped: it can go back to orderConfirmed")]
    NotShipped,
    /// The goods have arrived.
    #[error("the goods are delivered: they come back by a return")]
    Delivered,
    /// The item is not one of the checkout's.
    #[error("{0} is not an item of the checkout")]
    NotAnItem(CheckoutItemPubId),
    /// Two items are given one serial number.
    #[error("{0} is given the serial number of another item")]
    SerialNumberTwice(CheckoutItemPubId),
    /// The customer picks the goods up.
    #[error("the goods are picked up: it can go back to the pickup location")]
    PickedUp,
    /// The customer has the goods shipped.
    #[error("the goods are shipped to an address: it can go back to the address")]
    ShippedToAddress,
}

fn names<T: std::fmt::Display>(values: &[T]) -> String {
    values
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// What a stage makes of an event that the table lets through.
pub(super) enum Told {
    /// It is news, and recorded.
    News,
    /// It was recorded before, or overtaken by what was recorded since.
    Known,
}

/// What a stage makes of an event; an obstacle leaves the checkout as it was.
pub(super) type Ruling = Result<Told, Obstacle>;

/// An event that is being taken in.
pub(super) struct Step<'a> {
    /// Where the checkout stands.
    pub(super) from: Lifecycle,
    /// What the table says.
    pub(super) outcome: Move,
    /// When, by whom, why.
    pub(super) by: &'a Circumstances,
    /// What comes of it.
    pub(super) applied: &'a mut Applied,
}

impl Step<'_> {
    /// Asks somebody outside for work.
    pub(super) fn ask(&mut self, effect: Effect) {
        self.applied.effects.push(effect);
    }
}
