//! What a change is called: the one place that says so.

use std::collections::BTreeSet;

use crate::access::Mode;
use crate::catalog::{Inventory, Product, ProductStatus, ProductVariant};
use crate::checkout::{
    AttentionReason, Checkout, EventKind, InvoiceOutcome, Lifecycle, Transition,
};
use crate::customer::{Customer, IdentityStatus};
use crate::events::EventType;
use crate::ledger::{Entry, HoldState, RefundState, Thing};

/// Names that a change has, in the order in which they are told.
pub(super) type Names = BTreeSet<EventType>;

/// A row of the ledger that was written.
#[derive(Debug)]
pub(super) struct Booked {
    /// What was known of the same thing.
    pub(super) before: Option<Entry>,
    pub(super) after: Entry,
    /// Whether it is of the checkout's deposit, and not of a month.
    pub(super) is_of_deposit: bool,
}

/// What is to be said of a checkout, beside the record itself.
pub(super) struct CheckoutChange<'a> {
    pub(super) before: Option<&'a Checkout>,
    pub(super) after: &'a Checkout,
    /// Its moves, in their order.
    pub(super) moves: &'a [Transition],
    pub(super) booked: &'a [Booked],
}

impl CheckoutChange<'_> {
    /// The names that the change has of its own.
    pub(super) fn names(&self) -> Names {
        let Self { before, after, .. } = *self;
        let mut names: Names = self
            .moves
            .iter()
            .flat_map(|told| of_move(told, after))
            .copied()
            .collect();
        names.extend(self.booked.iter().filter_map(|row| of_row(row, after)));
        if before.is_none() {
            names.insert(EventType::CheckoutCreated);
            if after.lifecycle().is_waitlisted() {
                names.insert(EventType::CheckoutWaitlisted);
            }
        }
        let document = before.and_then(|before| before.lease_document_id.as_ref());
        if after.lease_document_id.is_some() && after.lease_document_id.as_ref() != document {
            names.insert(EventType::CheckoutDocumentsReady);
        }
        let is_raised =
            |reason| after.needs(reason) && before.is_none_or(|before| !before.needs(reason));
        if is_raised(AttentionReason::QualificationRequired) {
            names.insert(EventType::CheckoutQualificationRequired);
        }
        if is_raised(AttentionReason::Disputed) {
            names.insert(EventType::PaymentDisputed);
        }
        let needs_somebody = |checkout: &Checkout| checkout.progress().needs_attention();
        if needs_somebody(after) && !before.is_some_and(needs_somebody) {
            names.insert(EventType::CheckoutNeedsAttention);
        }
        names
    }
}

/// The names of a move. Those without a name change the checkout and nothing else.
fn of_move(told: &Transition, after: &Checkout) -> &'static [EventType] {
    use EventKind as Kind;
    use EventType as Type;

    // Nothing is authorized or taken where nothing is due.
    let is_due = after.deposit.hold().is_some();
    match told.event {
        Kind::Opened
        | Kind::ProfileCompleted
        | Kind::IdentityRequested
        | Kind::IdentityStarted
        | Kind::IdentitySubmitted
        | Kind::IdentityAbandoned
        // Who the customer is, is told of the customer.
        | Kind::IdentityVerified
        | Kind::IdentityRefused
        | Kind::PersonChanged
        | Kind::CreditReopened
        | Kind::PickupChosen
        | Kind::ShippingChosen
        | Kind::ShippingAddressGiven
        | Kind::PickupLocationGiven
        | Kind::LeaseAccepted
        | Kind::DepositSubmitted
        | Kind::DepositAbandoned
        | Kind::DepositResumed
        | Kind::PaymentMethodSaved
        | Kind::CaptureRetried
        | Kind::AddendumsRequested
        | Kind::AddendumsSigned
        | Kind::OrderResumed
        | Kind::ShipmentResumed
        | Kind::ReturnCancelled
        | Kind::SteppedBackToProfile
        | Kind::SteppedBackToAddress
        | Kind::SteppedBackToPickup
        | Kind::SteppedBackToReview => &[],
        Kind::AddressNotServed => &[Type::CheckoutWaitlisted],
        Kind::StockFreed | Kind::AreaWidened => &[Type::CheckoutPromoted],
        Kind::Qualified => &[Type::CheckoutQualified],
        Kind::QualificationRefused => &[Type::CheckoutDeclined],
        Kind::DepositAuthorized if is_due => &[Type::CheckoutDepositAuthorized],
        Kind::DepositAuthorized => &[],
        Kind::DepositAuthorizedWithoutStock if is_due => {
            &[Type::CheckoutWaitlisted, Type::CheckoutDepositAuthorized]
        }
        Kind::DepositAuthorizedWithoutStock => &[Type::CheckoutWaitlisted],
        Kind::DepositRefused | Kind::CaptureRefused => &[Type::CheckoutDepositFailed],
        Kind::AuthorizationLapsed => &[Type::CheckoutDepositReleased],
        Kind::DepositCaptured => match (is_due, told.to) {
            (true, Lifecycle::OrderConfirmed) => {
                &[Type::CheckoutDepositPaid, Type::CheckoutOrderConfirmed]
            }
            (true, _) => &[Type::CheckoutDepositPaid],
            (false, Lifecycle::OrderConfirmed) => &[Type::CheckoutOrderConfirmed],
            (false, _) => &[],
        },
        Kind::DocumentsSigned => &[Type::CheckoutDocumentsSigned],
        Kind::Fulfilled if after.shipment.tracking.is_some() => {
            &[Type::CheckoutFulfilled, Type::CheckoutShipped]
        }
        Kind::Fulfilled => &[Type::CheckoutFulfilled],
        Kind::FulfillmentFailed => &[Type::CheckoutFulfillmentException],
        Kind::Delivered => &[Type::CheckoutDelivered],
        // Another subscription of a lease that is active is no other lease.
        Kind::SubscriptionStarted if told.from == told.to => &[],
        Kind::SubscriptionStarted => &[Type::CheckoutCompleted],
        Kind::ReturnInitiated | Kind::TermEnded => &[Type::CheckoutReturnInitiated],
        Kind::ReturnCompleted => &[Type::CheckoutReturned],
        Kind::Cancelled => &[Type::CheckoutCancelled],
        Kind::Expired => &[Type::CheckoutExpired],
    }
}

/// The name of what became of something at the processor.
fn of_row(row: &Booked, checkout: &Checkout) -> Option<EventType> {
    let before = row.before.as_ref().map(|before| &before.thing);
    match &row.after.thing {
        Thing::Hold { state, .. } => {
            let was = match before {
                Some(Thing::Hold { state, .. }) => Some(*state),
                _ => None,
            };
            // One that another took over is let go, and the deposit is held still.
            let is_current = checkout.deposit.payment_intent_id() == Some(row.after.id.as_str());
            (*state == HoldState::Released && was != Some(HoldState::Released) && is_current)
                .then_some(EventType::CheckoutDepositReleased)
        }
        Thing::Invoice { outcome, .. } => {
            let was = match before {
                Some(Thing::Invoice { outcome, .. }) => Some(outcome),
                _ => None,
            };
            match (was, outcome) {
                (Some(InvoiceOutcome::Paid), InvoiceOutcome::Paid) => None,
                (_, InvoiceOutcome::Paid) => Some(EventType::PaymentSucceeded),
                (
                    Some(InvoiceOutcome::Failed { attempts: was, .. }),
                    InvoiceOutcome::Failed { attempts, .. },
                ) => (attempts > was).then_some(EventType::PaymentFailed),
                (_, InvoiceOutcome::Failed { .. }) => Some(EventType::PaymentFailed),
                (_, InvoiceOutcome::Open | InvoiceOutcome::Void) => None,
            }
        }
        Thing::Refund { state, .. } => {
            let was = match before {
                Some(Thing::Refund { state, .. }) => Some(*state),
                _ => None,
            };
            let is_news = *state == RefundState::Succeeded && was != Some(RefundState::Succeeded);
            is_news.then_some(if row.is_of_deposit {
                EventType::CheckoutDepositRefunded
            } else {
                EventType::PaymentRefunded
            })
        }
        Thing::Subscription { .. } | Thing::Session { .. } => None,
    }
}

/// What became of a product.
pub(super) fn of_product(before: Option<&Product>, after: Option<&Product>) -> EventType {
    match (before, after) {
        (_, None) => EventType::ProductDeleted,
        (None, Some(_)) => EventType::ProductCreated,
        (Some(before), Some(after)) if is_archived(before.status, after.status) => {
            EventType::ProductArchived
        }
        (Some(_), Some(_)) => EventType::ProductUpdated,
    }
}

fn is_archived(before: ProductStatus, after: ProductStatus) -> bool {
    before != ProductStatus::Archived && after == ProductStatus::Archived
}

/// What became of a variant, as the mode sees it.
pub(super) fn of_variant(
    before: Option<&ProductVariant>,
    after: Option<&ProductVariant>,
    mode: Mode,
) -> Names {
    let (Some(before), Some(after)) = (before, after) else {
        return Names::from([match after {
            None => EventType::ProductVariantDeleted,
            Some(_) => EventType::ProductVariantCreated,
        }]);
    };
    let mut names = Names::new();
    if is_archived(before.status, after.status) {
        names.insert(EventType::ProductVariantArchived);
    }
    let is_out = |variant: &ProductVariant| variant.stock.of(mode) == Inventory::Tracked(0);
    match (is_out(before), is_out(after)) {
        (false, true) => {
            names.insert(EventType::ProductVariantOutOfStock);
        }
        (true, false) => {
            names.insert(EventType::ProductVariantBackInStock);
        }
        (true, true) | (false, false) => {}
    }
    if names.is_empty() {
        names.insert(EventType::ProductVariantUpdated);
    }
    names
}

/// What became of a customer.
pub(super) fn of_customer(before: Option<&Customer>, after: &Customer) -> EventType {
    let Some(before) = before else {
        return EventType::CustomerCreated;
    };
    match (before.screening.identity, after.screening.identity) {
        (was, is) if was == is => EventType::CustomerUpdated,
        (_, IdentityStatus::Verified) => EventType::CustomerIdentityVerified,
        (_, IdentityStatus::Failed) => EventType::CustomerIdentityFailed,
        (_, IdentityStatus::None | IdentityStatus::Pending | IdentityStatus::Processing) => {
            EventType::CustomerUpdated
        }
    }
}

/// What became of a lease term.
pub(super) const fn of_term(is_new: bool, is_gone: bool) -> EventType {
    match (is_new, is_gone) {
        (_, true) => EventType::LeaseTermDeleted,
        (true, false) => EventType::LeaseTermCreated,
        (false, false) => EventType::LeaseTermUpdated,
    }
}
