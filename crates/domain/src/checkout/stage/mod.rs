//! The stages of a checkout. Each owns its events whole: their rows of the table, who may tell of
//! them, what is in their way, what they record, whom they ask for work, and the tests of all that.

pub(super) mod billing;
pub(super) mod deposit;
pub(super) mod ending;
pub(super) mod identity;
pub(super) mod opening;
pub(super) mod qualification;
pub(super) mod return_;
pub(super) mod shipment;
pub(super) mod signature;
pub(super) mod waitlist;

#[cfg(test)]
mod tests;

use super::event::Event;
use super::snapshot::Snapshot;
use super::state::Lifecycle;
use super::step::{Applied, Facts, Ruling, Step, Told};
use crate::time::Timestamp;

/// An event that says no more than its name: nothing but the state changes.
pub(super) const fn moves_only(_: &mut Snapshot, _: &mut Step<'_>) -> Ruling {
    Ok(Told::News)
}

/// The event of a step whose data are already there.
pub(super) fn known(checkout: &Snapshot, facts: &Facts) -> Option<Event> {
    opening::known(checkout, facts)
        .or_else(|| identity::known(checkout, facts))
        .or_else(|| qualification::known(checkout, facts))
        .or_else(|| deposit::known(checkout))
}

/// What standing in a state changes and asks for.
type Arrival = fn(&mut Snapshot, Timestamp, &mut Applied);

/// What standing in a state asks for, whichever event led there.
const ON_ARRIVAL: &[(Lifecycle, Arrival)] = &[
    (Lifecycle::QualificationPending, qualification::arrived),
    (Lifecycle::DocumentsPending, signature::arrived),
    (Lifecycle::OrderConfirmed, signature::order_confirmed),
    (Lifecycle::LeaseActive, billing::lease_active),
    (Lifecycle::ReturnPending, return_::arrived),
];

/// The checkout has moved and stands in its new state: what was passed through on the way there
/// asks for nothing.
pub(super) fn came_to_rest(checkout: &mut Snapshot, at: Timestamp, applied: &mut Applied) {
    for (state, arrived) in ON_ARRIVAL {
        if *state == checkout.lifecycle() {
            arrived(checkout, at, applied);
        }
    }
}
