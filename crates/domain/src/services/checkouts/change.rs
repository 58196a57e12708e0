//! What callers change in checkouts.

use async_trait::async_trait;

use super::lock_visible;
use crate::access::Permission;
use crate::audit::{AuditAction, Origin};
use crate::checkout::{
    Actor, Checkout, ChosenTerm, Circumstances, Event, EventKind, Facts, InsuranceStatus, Lifecycle,
};
use crate::ids::{CheckoutPubId, LeaseTermRef};
use crate::lease_term::{LeaseTerm, offered};
use crate::metadata::MetadataPatch;
use crate::ports::{IdGenerator, Scope, UnitOfWork};
use crate::services::audit::{self, Entry};
use crate::services::products::merge_metadata;
use crate::services::{Context, Error, UseCase, moving, qualifications};
use crate::text::Line;
use crate::time::Timestamp;

/// Chooses another lease term, before the deposit.
///
/// # Errors
/// [`Error`]: not found, the missing permission, a term that is not offered for the
/// variant, a deposit that is paid or under way, another running checkout of the
/// customer for the variant and that term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChooseTerm {
    /// Which one.
    pub id: CheckoutPubId,
    /// The term, by public id or number.
    pub term: LeaseTermRef,
}

#[async_trait]
impl UseCase for ChooseTerm {
    type Output = Checkout;

    fn permission(&self) -> Permission {
        Permission::CheckoutWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Checkout, Error> {
        let mut checkout = lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        set_term(uow, ctx.ids, ctx.now, ctx.origin, &mut checkout, self.term).await?;
        Ok(checkout)
    }
}

/// Changes what the caller keeps beside the checkout, in whatever state it is.
///
/// # Errors
/// [`Error`]: not found, the missing permission, more keys than a record keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotate {
    /// Which one.
    pub id: CheckoutPubId,
    /// What is to change.
    pub changes: MetadataPatch,
}

#[async_trait]
impl UseCase for Annotate {
    type Output = Checkout;

    fn permission(&self) -> Permission {
        Permission::CheckoutWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Checkout, Error> {
        let mut checkout = lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        let mut metadata = checkout.metadata.clone();
        merge_metadata(&mut metadata, self.changes)?;
        if metadata != checkout.metadata {
            let before = checkout.clone();
            checkout.annotate(metadata, ctx.now);
            uow.checkouts().update(&mut checkout).await?;
            let annotated = Entry::changed(AuditAction::CheckoutUpdated, &before, &checkout);
            audit::note(uow, ctx, annotated).await?;
        }
        Ok(checkout)
    }
}

/// Sets the lease term of the locked checkout, whoever chose it.
pub(crate) async fn set_term(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    checkout: &mut Checkout,
    term: LeaseTermRef,
) -> Result<(), Error> {
    let terms = uow.lease_terms().list(checkout.organization_id).await?;
    let wanted = |known: &&&LeaseTerm| match term {
        LeaseTermRef::Public(id) => known.id == id,
        LeaseTermRef::Number(number) => known.lease_term_id == number,
    };
    let offered = offered(&terms, checkout.product_id);
    let found = offered
        .iter()
        .find(wanted)
        .map(|term| ChosenTerm::from(*term))
        .ok_or_else(|| {
            let known = offered
                .iter()
                .map(|term| format!("{} ({} months)", term.id, term.card.term))
                .collect::<Vec<_>>()
                .join(", ");
            Error::invalid(
                "leaseTermId",
                format!("is not offered for this variant, which is offered for: {known}"),
            )
        })?;
    if checkout.term == Some(found) {
        return Ok(());
    }
    if !checkout.takes_a_term() {
        return Err(Error::rule(format!(
            "the lease term can be changed before the deposit only; the checkout is {}",
            checkout.lifecycle()
        )));
    }
    let scope = Scope {
        organization_id: checkout.organization_id,
        mode: checkout.mode,
    };
    let open = uow
        .checkouts()
        .find_open(
            scope,
            checkout.customer_id,
            checkout.variant_id,
            Some(found.id),
        )
        .await?;
    let order = checkout.external_order_id.as_ref();
    if open.is_some_and(|open| !open.admits_another(order)) {
        return Err(Error::taken(
            "leaseTermId",
            "is the term of another running checkout of the customer for this variant",
        ));
    }
    let before = checkout.clone();
    checkout
        .choose_term(found, now)
        .map_err(|obstacle| Error::rule(obstacle.to_string()))?;
    uow.checkouts().update(checkout).await?;
    let chosen = Entry::changed(AuditAction::CheckoutUpdated, &before, checkout);
    audit::record(uow, ids, now, origin, checkout.organization_id, chosen).await?;
    qualifications::of_the_new_amount(uow, ids, now, checkout).await
}

/// Moves the checkout to the state as an operator can; the same state again changes
/// nothing. Whatever else a sandbox key may do is the [sandbox](crate::workers::sandbox)'s.
///
/// # Errors
/// [`Error::Rule`] naming the states that are possible now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveCheckout {
    /// Which one.
    pub id: CheckoutPubId,
    /// The state to be in.
    pub target: Lifecycle,
}

#[async_trait]
impl UseCase for MoveCheckout {
    type Output = Checkout;

    fn permission(&self) -> Permission {
        Permission::CheckoutWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Checkout, Error> {
        let mut checkout = lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        if checkout.lifecycle() == self.target {
            return Ok(checkout);
        }
        let by = ctx.circumstances(Actor::Operator);
        let event = operator_event(&checkout, self.target, ctx.now).ok_or_else(|| {
            Error::rule(format!(
                "the checkout is {} and cannot be moved to {}: {}",
                checkout.lifecycle(),
                self.target,
                allowed_now(&checkout)
            ))
        })?;
        moving::apply(uow, ctx.ids, &mut checkout, event, &by).await?;
        Ok(checkout)
    }
}

/// What an operator can move the checkout to, for people.
fn allowed_now(checkout: &Checkout) -> String {
    let mut states: Vec<&str> = Lifecycle::ALL
        .iter()
        .filter(|target| operator_event(checkout, **target, checkout.updated_at).is_some())
        .map(|target| target.as_str())
        .collect();
    states.dedup();
    if states.is_empty() {
        "no other state is possible now".to_owned()
    } else {
        format!("possible now: {}", states.join(", "))
    }
}

/// The event by which an operator brings the checkout to the state.
///
/// `leaseActive` from `shipped` is a delivery that is confirmed by hand: the lease
/// becomes active when the subscription runs, as after a carrier's word. `shipped`
/// from `orderConfirmed` is the fulfillment, which has an endpoint of its own.
fn operator_event(checkout: &Checkout, target: Lifecycle, now: Timestamp) -> Option<Event> {
    let by_hand = |kind: EventKind| {
        let event = kind.said_by_hand(now)?;
        is_possible(checkout, event.clone(), now).then_some(event)
    };
    if target == Lifecycle::LeaseActive && checkout.lifecycle().is_under_way() {
        return by_hand(EventKind::Delivered);
    }
    let mut ways = checkout.ways_to(target, Actor::Operator);
    // A delivery leads on to the active lease.
    ways.find_map(|kind| {
        let is_delivery = kind == EventKind::Delivered;
        by_hand(kind).filter(|_| !is_delivery)
    })
}

/// Whether the checkout takes the operator's event in.
fn is_possible(checkout: &Checkout, event: Event, now: Timestamp) -> bool {
    let by = Circumstances::new(now, Actor::Operator);
    checkout.clone().apply(event, &by, &Facts::NONE).is_ok()
}

/// Calls the checkout off; again changes nothing.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`], [`Error::Rule`] when the goods are on
/// their way or the checkout has ended otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelCheckout {
    /// Which one.
    pub id: CheckoutPubId,
    /// Why, for the record.
    pub reason: Option<Line>,
}

#[async_trait]
impl UseCase for CancelCheckout {
    type Output = Checkout;

    fn permission(&self) -> Permission {
        Permission::CheckoutCancel
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Checkout, Error> {
        let mut checkout = lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        let by = Circumstances {
            reason: self.reason.clone(),
            ..ctx.circumstances(Actor::Operator)
        };
        moving::apply(
            uow,
            ctx.ids,
            &mut checkout,
            Event::Cancelled {
                reason: self.reason,
            },
            &by,
        )
        .await?;
        Ok(checkout)
    }
}

/// Lets the organization's insurer refuse or accept.
///
/// # Errors
/// [`Error::NotFound`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetInsurance {
    /// Which one.
    pub id: CheckoutPubId,
    /// What the insurer said.
    pub status: InsuranceStatus,
}

#[async_trait]
impl UseCase for SetInsurance {
    type Output = Checkout;

    fn permission(&self) -> Permission {
        Permission::CheckoutWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Checkout, Error> {
        let mut checkout = lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        let before = checkout.clone();
        if checkout.insure(self.status, ctx.now) {
            uow.checkouts().update(&mut checkout).await?;
            let insured = Entry::changed(AuditAction::CheckoutUpdated, &before, &checkout);
            audit::note(uow, ctx, insured).await?;
        }
        Ok(checkout)
    }
}
