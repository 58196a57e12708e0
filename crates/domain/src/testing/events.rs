//! Events with the data that they need.
#![expect(clippy::expect_used, reason = "values written down here are good")]

use std::collections::BTreeMap;

use chrono::TimeDelta;

use super::Fixtures;
use super::builders::{quoted, text};
use crate::catalog::StockTaken;
use crate::checkout::{
    Checkout, Deposit, Event, EventKind, Hold, Lifecycle, PaymentMethod, Refusal, Tracking,
};
use crate::ids::PickupLocationId;
use crate::money::{Currency, Money};
use crate::organization::NotServed;
use crate::pricing::Quote;
use crate::shipments::{Carrier, TrackingNumber};
use crate::time::Timestamp;

/// What differs between two events of a kind.
#[derive(Debug, Clone, Copy)]
pub struct Details {
    /// Whether goods are tracked, and stock is.
    pub tracked: bool,
    /// Whether the processor may use the deposit's method again.
    pub reusable: bool,
    /// Tells one answer of a provider from another. Nothing is due of every seventh deposit.
    pub number: u32,
}

/// A card that pays.
#[must_use]
pub fn card() -> PaymentMethod {
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
        number: TrackingNumber::parse("1Z410E7W0392751591").expect("a tracking number"),
        carrier: Carrier::Ups,
    }
}

/// The price that a checkout's deposit is submitted at; of 12 months where no term is chosen.
fn frozen_price(checkout: &Checkout) -> Quote {
    let price = Money::from_minor(129_900, Currency::USD);
    let one = quoted(price, checkout.term.map(|term| term.months));
    one.times(checkout.quantity())
        .expect("a price that is counted")
}

fn refusal() -> Refusal {
    Refusal {
        code: "card_declined".into(),
        message: "Your card was declined.".into(),
    }
}

/// An event of the kind, as it can happen to the checkout.
#[must_use]
pub fn event(
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
    let hold = || {
        let ends_at = at.checked_add_signed(TimeDelta::days(7)).unwrap_or(at);
        (!number.is_multiple_of(7)).then(|| Hold::new(format!("pi_{number}"), ends_at))
    };
    let method = || reusable.then(card);
    let taken = if tracked {
        StockTaken::Taken
    } else {
        StockTaken::Untracked
    };
    match kind {
        EventKind::ShippingAddressGiven => Event::ShippingAddressGiven {
            address: make.address(),
        },
        EventKind::AddressNotServed => Event::AddressNotServed {
            address: reusable.then(|| make.address()),
            code: NotServed::Zip,
        },
        EventKind::PickupLocationGiven => Event::PickupLocationGiven {
            location: PickupLocationId::new(1).expect("a positive number"),
        },
        EventKind::DepositSubmitted => Event::DepositSubmitted {
            quote: frozen_price(checkout),
            method: reusable.then(|| "pm_1".to_owned()),
            hosted: false,
        },
        EventKind::DepositAuthorized => Event::deposit_authorized(hold(), method(), taken),
        EventKind::DepositAuthorizedWithoutStock => {
            Event::deposit_authorized(hold(), method(), StockTaken::NoneLeft)
        }
        EventKind::DepositRefused => Event::DepositRefused { refusal: refusal() },
        EventKind::PaymentMethodSaved => Event::PaymentMethodSaved { method: card() },
        EventKind::DepositCaptured => Event::DepositCaptured {
            invoice_id: (checkout.deposit != Deposit::Waived).then(|| format!("in_{number}")),
            at,
        },
        EventKind::CaptureRefused => Event::CaptureRefused { refusal: refusal() },
        EventKind::Fulfilled => Event::Fulfilled {
            tracking: tracked.then(tracking),
            serial_numbers: BTreeMap::new(),
        },
        EventKind::FulfillmentFailed => Event::FulfillmentFailed { reason: None },
        EventKind::Delivered => Event::Delivered {
            at,
            signed_by: reusable.then(|| text("A. Lovelace")),
        },
        EventKind::SubscriptionStarted => Event::SubscriptionStarted {
            subscription_id: format!("sub_{number}"),
            start: at.date_naive(),
        },
        EventKind::ReturnInitiated => Event::ReturnInitiated {
            reason: reusable.then(|| text("moving")),
            notes: None,
        },
        EventKind::StockFreed => Event::StockFreed {
            // Stock is taken for those alone that have a deposit.
            stock: if checkout.lifecycle() == Lifecycle::WaitlistedAfterDeposit {
                taken
            } else {
                StockTaken::Untracked
            },
        },
        EventKind::Cancelled => Event::Cancelled {
            reason: reusable.then(|| text("too dear")),
        },
        plain => plain
            .plain()
            .expect("an event that says no more than its name"),
    }
}
