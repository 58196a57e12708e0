//! Events with the data that they need.

use chrono::TimeDelta;
use lessor_domain::checkout::{
    Checkout, Event, EventKind, Lifecycle, PaymentMethod, Refusal, StockTaken, Tracking,
};
use lessor_domain::fulfillment::{Carrier, TrackingNumber};
use lessor_domain::ids::PickupLocationId;
use lessor_domain::testing::Fixtures;
use lessor_domain::time::Timestamp;

/// What differs between two events of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Details {
    /// Whether goods are tracked, and stock is.
    pub(crate) tracked: bool,
    /// Whether the processor may use the deposit's method again.
    pub(crate) reusable: bool,
    /// Tells one answer of a provider from another.
    pub(crate) number: u32,
}

pub(crate) fn card() -> PaymentMethod {
    PaymentMethod {
        id: "pm_1".into(),
        kind: "card".into(),
        brand: None,
        last4: None,
        exp_month: None,
        exp_year: None,
    }
}

fn tracking() -> Tracking {
    Tracking {
        number: TrackingNumber::parse("1Z410E7W0392751591").unwrap(),
        carrier: Carrier::Ups,
    }
}

fn refusal() -> Refusal {
    Refusal {
        code: "card_declined".into(),
        message: "Your card was declined.".into(),
    }
}

/// An event of the kind, as it can happen to the checkout.
pub(crate) fn event(
    kind: EventKind,
    details: Details,
    checkout: &Checkout,
    make: &Fixtures,
    at: Timestamp,
) -> Event {
    let Details {
        tracked,
        reusable,
        number,
    } = details;
    let authorized = |stock| Event::DepositAuthorized {
        payment_intent_id: format!("pi_{number}"),
        expires_at: at + TimeDelta::days(7),
        method: reusable.then(card),
        stock,
    };
    let taken = if tracked {
        StockTaken::Taken
    } else {
        StockTaken::Untracked
    };
    match kind {
        EventKind::Opened => Event::Opened,
        EventKind::ProfileCompleted => Event::ProfileCompleted,
        EventKind::IdentityRequested => Event::IdentityRequested,
        EventKind::IdentityStarted => Event::IdentityStarted,
        EventKind::IdentitySubmitted => Event::IdentitySubmitted,
        EventKind::IdentityAbandoned => Event::IdentityAbandoned,
        EventKind::IdentityVerified => Event::IdentityVerified,
        EventKind::IdentityRefused => Event::IdentityRefused,
        EventKind::Qualified => Event::Qualified,
        EventKind::QualificationRefused => Event::QualificationRefused,
        EventKind::PickupChosen => Event::PickupChosen,
        EventKind::ShippingChosen => Event::ShippingChosen,
        EventKind::ShippingAddressGiven => Event::ShippingAddressGiven {
            address: make.address(),
        },
        EventKind::PickupLocationGiven => Event::PickupLocationGiven {
            location: PickupLocationId::new(1).unwrap(),
        },
        EventKind::LeaseAccepted => Event::LeaseAccepted,
        EventKind::DepositSubmitted => Event::DepositSubmitted {
            method: reusable.then(|| "pm_1".to_owned()),
        },
        EventKind::DepositAuthorized => authorized(taken),
        EventKind::DepositAuthorizedWithoutStock => authorized(StockTaken::NoneLeft),
        EventKind::DepositRefused => Event::DepositRefused(refusal()),
        EventKind::PaymentMethodSaved => Event::PaymentMethodSaved(card()),
        EventKind::DocumentsSigned => Event::DocumentsSigned,
        EventKind::DepositCaptured => Event::DepositCaptured {
            invoice_id: format!("in_{number}"),
            at,
        },
        EventKind::CaptureRefused => Event::CaptureRefused(refusal()),
        EventKind::CaptureRetried => Event::CaptureRetried,
        EventKind::AuthorizationLapsed => Event::AuthorizationLapsed,
        EventKind::AddendumsRequested => Event::AddendumsRequested,
        EventKind::AddendumsSigned => Event::AddendumsSigned,
        EventKind::Fulfilled => Event::Fulfilled {
            tracking: tracked.then(tracking),
        },
        EventKind::FulfillmentFailed => Event::FulfillmentFailed { reason: None },
        EventKind::OrderResumed => Event::OrderResumed,
        EventKind::ShipmentResumed => Event::ShipmentResumed,
        EventKind::Delivered => Event::Delivered {
            at,
            signed_by: reusable.then(|| "A. Lovelace".parse().unwrap()),
        },
        EventKind::SubscriptionStarted => Event::SubscriptionStarted {
            subscription_id: format!("sub_{number}"),
            start: at.date_naive(),
        },
        EventKind::ReturnInitiated => Event::ReturnInitiated {
            reason: reusable.then(|| "moving".parse().unwrap()),
            notes: None,
        },
        EventKind::TermEnded => Event::TermEnded,
        EventKind::ReturnCancelled => Event::ReturnCancelled,
        EventKind::ReturnCompleted => Event::ReturnCompleted,
        EventKind::StockFreed => Event::StockFreed {
            // Stock is taken for those alone that have a deposit.
            stock: if checkout.lifecycle() == Lifecycle::WaitlistedAfterDeposit {
                taken
            } else {
                StockTaken::Untracked
            },
        },
        EventKind::AreaWidened => Event::AreaWidened,
        EventKind::Cancelled => Event::Cancelled {
            reason: reusable.then(|| "too dear".parse().unwrap()),
        },
        EventKind::Expired => Event::Expired,
        EventKind::SteppedBackToProfile => Event::SteppedBackToProfile,
        EventKind::SteppedBackToAddress => Event::SteppedBackToAddress,
        EventKind::SteppedBackToPickup => Event::SteppedBackToPickup,
        EventKind::SteppedBackToReview => Event::SteppedBackToReview,
    }
}
