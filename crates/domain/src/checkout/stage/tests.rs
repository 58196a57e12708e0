//! Stories of one checkout, for the tests of the stages.

use chrono::TimeDelta;

use crate::checkout::event::{Actor, Event, EventKind};
use crate::checkout::snapshot::{Checkout, Snapshot};
use crate::checkout::state::Lifecycle;
use crate::checkout::step::{Applied, Circumstances, Facts};
pub(super) use crate::testing::{Details, card, event};
use crate::testing::{Fixtures, altered};

pub(super) const DETAILS: Details = Details {
    tracked: true,
    reusable: false,
    number: 1,
};

pub(super) const UNTRACKED: Details = Details {
    tracked: false,
    ..DETAILS
};

pub(super) struct Story {
    pub(super) make: Fixtures,
    pub(super) checkout: Checkout,
}

impl Story {
    pub(super) fn new() -> Self {
        Self::at(Lifecycle::Created)
    }

    pub(super) fn at(state: Lifecycle) -> Self {
        let make = Fixtures::default();
        let organization = make.organization().build();
        let customer = make.customer(&organization).build();
        let product = make.product(&organization).build();
        let variant = make.variant(&product).build();
        let term = make.lease_term(&organization).build();
        let checkout = make
            .checkout(&customer, &variant)
            .term(&term)
            .at(state)
            .build();
        Self { make, checkout }
    }

    /// Changes what no event does.
    pub(super) fn alter(&mut self, change: impl FnOnce(&mut Snapshot)) {
        self.checkout = altered(&self.checkout, change);
    }

    pub(super) fn try_event(&mut self, event: Event, facts: &Facts) -> Result<Applied, String> {
        let at = self.make.clock().advance(TimeDelta::minutes(1));
        let actor = event
            .kind()
            .actors()
            .first()
            .copied()
            .unwrap_or(Actor::System);
        self.checkout
            .apply(event, &Circumstances::new(at, actor), facts)
            .map_err(|error| error.to_string())
    }

    pub(super) fn tell(&mut self, event: Event) -> Applied {
        self.try_event(event, &Facts::NONE).unwrap()
    }

    /// An event of the kind, with the data that it needs.
    pub(super) fn event(&self, kind: EventKind, details: Details) -> Event {
        event(kind, details, &self.checkout, &self.make, self.make.tick())
    }

    /// Lets the events happen, with the data that they need.
    pub(super) fn walk(&mut self, kinds: &[EventKind], details: Details) -> Applied {
        let mut last = None;
        for kind in kinds {
            let event = self.event(*kind, details);
            last = Some(self.tell(event));
        }
        last.unwrap()
    }
}

pub(super) const TO_DEPOSIT: &[EventKind] = &[
    EventKind::Opened,
    EventKind::ProfileCompleted,
    EventKind::IdentityRequested,
    EventKind::IdentityStarted,
    EventKind::IdentitySubmitted,
    EventKind::IdentityVerified,
    EventKind::Qualified,
    EventKind::ShippingAddressGiven,
    EventKind::LeaseAccepted,
    EventKind::DepositSubmitted,
];

pub(super) const TO_CONFIRMATION: &[EventKind] = &[
    EventKind::DepositAuthorized,
    EventKind::PaymentMethodSaved,
    EventKind::DocumentsSigned,
    EventKind::DepositCaptured,
];
