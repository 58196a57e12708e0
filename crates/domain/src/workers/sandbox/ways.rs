//! Where a checkout can be moved from its state, and by what: each way is tried before it is offered.

use super::samples::{sample_address, sample_tracking, with_profile};
use crate::catalog::StockTaken;
use crate::checkout::{
    Actor, Checkout, Circumstances, Event, EventKind, Lifecycle, Refusal, arrows_from,
};
use crate::customer::{CreditStatus, Customer, IdentityStatus, Screening};
use crate::ports::UnitOfWork;
use crate::services::{Context, Error, checkouts, moving, waitlist};
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// Whether the checkout stands at the target, or beyond it.
pub(super) fn reached(state: Lifecycle, target: Lifecycle) -> bool {
    let is_beyond = || state.rank() > target.rank();
    state == target || state.rank().is_some() && target.rank().is_some() && is_beyond()
}

/// Whether the checkout can be played forward to the state.
///
/// # Errors
/// [`Error::Rule`] naming the states that are ahead.
pub(super) fn check_way(checkout: &Checkout, target: Lifecycle) -> Result<(), Error> {
    let state = checkout.lifecycle();
    let on_the_way =
        Lifecycle::HAPPY_PATH.contains(&target) || target == Lifecycle::PickupLocationPending;
    let ahead = match (state.rank(), target.rank()) {
        (Some(_), Some(_)) if target == Lifecycle::PickupLocationPending => {
            state.rank() < target.rank() || state == Lifecycle::ShippingAddressPending
        }
        (Some(here), Some(there)) => {
            here < there
                || here == there
                    && target == Lifecycle::OrderConfirmed
                    && state != Lifecycle::OrderConfirmed
        }
        _ => false,
    };
    if !on_the_way || !ahead {
        let ways: Vec<&str> = Lifecycle::HAPPY_PATH
            .iter()
            .filter(|there| state.rank().is_some() && there.rank() > state.rank())
            .map(|there| there.as_str())
            .collect();
        let ways = if ways.is_empty() {
            "no state".to_owned()
        } else {
            ways.join(", ")
        };
        return Err(Error::rule(format!(
            "{target} is not ahead of {state}; ahead: {ways}"
        )));
    }
    if checkout.term.is_none() && target.rank() > Lifecycle::LeaseReviewPending.rank() {
        return Err(Error::rule(
            "no lease term is chosen: set leaseTermId with PUT /v1/checkouts/{id} first",
        ));
    }
    Ok(())
}

/// One event that somebody brings about, with what is known of the customer then.
pub(super) struct Act {
    pub(super) event: Event,
    pub(super) actor: Actor,
    /// The customer as the event leaves them, where it says something of them.
    pub(super) customer: Option<Customer>,
}

impl Act {
    const fn new(event: Event, actor: Actor) -> Self {
        Self {
            event,
            actor,
            customer: None,
        }
    }

    /// The event is the verifier's or the credit checker's, whose finding is the customer's.
    fn found(event: Event, customer: &Customer, find: impl FnOnce(&mut Screening)) -> Self {
        let mut customer = customer.clone();
        find(&mut customer.screening);
        Self {
            customer: Some(customer),
            ..Self::new(event, Actor::Provider)
        }
    }

    /// Where the event would bring the checkout, past what its data lead through. None when it is
    /// refused.
    fn outcome(
        &self,
        checkout: &Checkout,
        customer: &Customer,
        credit: CreditStatus,
        now: Timestamp,
    ) -> Option<Lifecycle> {
        let mut tried = checkout.clone();
        let facts = moving::facts_of(self.customer.as_ref().unwrap_or(customer), credit);
        if matches!(self.event, Event::CaptureRefused { .. }) && tried.signed_at.is_none() {
            // Nothing is captured of what nobody signed: who plays the refusal signs first.
            let by = Circumstances::new(now, Actor::Customer);
            tried.apply(Event::DocumentsSigned, &by, &facts).ok()?;
        }
        let by = Circumstances::new(now, self.actor);
        tried.apply(self.event.clone(), &by, &facts).ok()?;
        Some(tried.lifecycle())
    }
}

/// How a checkout is moved to a state that follows.
pub(super) enum Way {
    /// By one event.
    Event(Box<Act>),
    /// A provider takes part: what it answers says where the checkout goes.
    Provider,
}

/// Whether a provider takes part in the event: what it makes is needed later.
const fn is_made_by_a_provider(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::IdentityStarted
            | EventKind::DepositAuthorized
            | EventKind::DepositAuthorizedWithoutStock
            | EventKind::PaymentMethodSaved
            | EventKind::DepositCaptured
            | EventKind::SubscriptionStarted
    )
}

/// Whether its units are there for the checkout.
async fn is_in_stock(uow: &mut dyn UnitOfWork, checkout: &Checkout) -> Result<bool, Error> {
    let variant = uow
        .variants()
        .get(checkout.organization_id, checkout.variant_id)
        .await?;
    Ok(variant.is_some_and(|variant| {
        let stock = variant.stock.of(checkout.mode);
        stock.covers(checkout.quantity())
    }))
}

/// Whether the checkout comes so far when the provider does its part.
async fn can_be_made(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    kind: EventKind,
) -> Result<bool, Error> {
    Ok(match kind {
        EventKind::DepositAuthorized => {
            is_in_stock(uow, checkout).await? && waitlist::is_next(uow, checkout).await?
        }
        // Goods that never left begin no lease.
        EventKind::SubscriptionStarted => checkout.shipment.shipped_at.is_some(),
        _ => true,
    })
}

/// The event by which the checkout may leave its state, with all that it says. None where what it
/// would have to say is not known, or a provider has to make it.
async fn played(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &Checkout,
    customer: &Customer,
    kind: EventKind,
) -> Result<Option<Act>, Error> {
    let refusal = || Refusal {
        code: "card_declined".to_owned(),
        message: "Declined, as a sandbox key asked for.".to_owned(),
    };
    let found = |event, find: fn(&mut Screening)| Act::found(event, customer, find);
    let by_customer = |event| Act::new(event, Actor::Customer);
    let by_provider = |event| Act::new(event, Actor::Provider);
    let by_system = |event| Act::new(event, Actor::System);
    Ok(Some(match kind {
        EventKind::Opened => by_customer(Event::Opened),
        EventKind::ProfileCompleted => Act {
            customer: Some(with_profile(uow, checkout, customer).await?),
            ..by_customer(Event::ProfileCompleted)
        },
        EventKind::IdentitySubmitted => Act {
            actor: Actor::Customer,
            ..found(Event::IdentitySubmitted, |it| {
                it.identity = IdentityStatus::Processing;
            })
        },
        EventKind::IdentityVerified => found(Event::IdentityVerified, |it| {
            it.identity = IdentityStatus::Verified;
        }),
        EventKind::IdentityRefused => found(Event::IdentityRefused, |it| {
            it.identity = IdentityStatus::Failed;
        }),
        // The session is over: what the verifier still says of it moves nothing.
        EventKind::IdentityAbandoned => found(Event::IdentityAbandoned, |it| {
            it.identity = IdentityStatus::None;
            it.verification_session_id = None;
        }),
        EventKind::Qualified => found(Event::Qualified, |it| it.credit = CreditStatus::Passed),
        EventKind::QualificationRefused => found(Event::QualificationRefused, |it| {
            it.credit = CreditStatus::Failed;
        }),
        EventKind::PickupChosen => by_customer(Event::PickupChosen),
        EventKind::ShippingChosen => by_customer(Event::ShippingChosen),
        EventKind::ShippingAddressGiven => {
            let own = customer.profile.address();
            let address = match checkout.served_address(own.as_ref()) {
                Some(address) => address.clone(),
                None => sample_address(uow, checkout, None).await?,
            };
            by_customer(Event::ShippingAddressGiven { address })
        }
        EventKind::PickupLocationGiven => {
            let locations = uow
                .pickup_locations()
                .list(checkout.organization_id)
                .await?;
            match locations.iter().find(|location| location.active) {
                Some(open) => by_customer(Event::PickupLocationGiven { location: open.id }),
                None => return Ok(None),
            }
        }
        EventKind::LeaseAccepted => by_customer(Event::LeaseAccepted),
        EventKind::DepositSubmitted => match checkouts::quote_of(uow, checkout).await? {
            Some(quote) => by_customer(Event::DepositSubmitted {
                quote,
                method: None,
                hosted: false,
            }),
            None => return Ok(None),
        },
        EventKind::DepositAbandoned => by_provider(Event::DepositAbandoned),
        EventKind::DepositRefused => by_provider(Event::DepositRefused { refusal: refusal() }),
        // Nothing is captured before the lease is there to be signed.
        EventKind::CaptureRefused if checkout.lease_document_id.is_none() => return Ok(None),
        EventKind::CaptureRefused => by_provider(Event::CaptureRefused { refusal: refusal() }),
        EventKind::AuthorizationLapsed => by_provider(Event::AuthorizationLapsed),
        EventKind::Fulfilled => Act::new(
            Event::Fulfilled {
                tracking: Some(sample_tracking()?),
                serial_numbers: BTreeMap::new(),
            },
            Actor::Operator,
        ),
        EventKind::Expired => by_system(Event::Expired),
        EventKind::AreaWidened => by_system(Event::AreaWidened),
        // A unit that is not there cannot be had.
        EventKind::StockFreed
            if checkout.lifecycle() == Lifecycle::WaitlistedAfterDeposit
                && !is_in_stock(uow, checkout).await? =>
        {
            return Ok(None);
        }
        EventKind::StockFreed => by_system(Event::StockFreed {
            stock: StockTaken::Untracked,
        }),
        kind => match kind.said_by_hand(ctx.now) {
            Some(event) => Act::new(event, Actor::Operator),
            None => return Ok(None),
        },
    }))
}

/// Where the checkout can be moved from where it stands, and how: every state that one event of
/// the table brings it to, past what its data lead through. One that stays is no move.
pub(super) async fn ways(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &Checkout,
) -> Result<BTreeMap<Lifecycle, Way>, Error> {
    let state = checkout.lifecycle();
    let customer = moving::customer_of(uow, checkout).await?;
    let credit = moving::credit_of(uow, checkout, &customer, ctx.now).await?;
    let mut ways = BTreeMap::new();
    for arrow in arrows_from(state).filter(|arrow| arrow.to != state) {
        if is_made_by_a_provider(arrow.event) {
            if can_be_made(uow, checkout, arrow.event).await? {
                ways.insert(arrow.to, Way::Provider);
            }
            continue;
        }
        // A profile that nobody can complete, for one, is no way.
        let event = match played(uow, ctx, checkout, &customer, arrow.event).await {
            Err(Error::Rule { .. }) | Ok(None) => continue,
            event => event?,
        };
        if let Some(event) = event
            && let Some(end) = event.outcome(checkout, &customer, credit, ctx.now)
            && end != state
        {
            ways.entry(end).or_insert(Way::Event(Box::new(event)));
        }
    }
    Ok(ways)
}

/// That the checkout cannot be moved there, and where it can.
pub(super) fn not_possible(
    checkout: &Checkout,
    target: Lifecycle,
    ways: &BTreeMap<Lifecycle, Way>,
) -> Error {
    let state = checkout.lifecycle();
    let mut next: Vec<&str> = ways
        .keys()
        .filter(|end| **end != target)
        .map(|end| end.as_str())
        .collect();
    next.sort_unstable();
    let next = match (next.is_empty(), state.is_ended()) {
        (true, true) => "none, it has ended".to_owned(),
        (true, false) => "none".to_owned(),
        (false, _) => next.join(", "),
    };
    Error::rule(format!(
        "the checkout is {state} and cannot be moved to {target}; possible now: {next}"
    ))
}
