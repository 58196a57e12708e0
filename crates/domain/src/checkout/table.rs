//! The one table of the lifecycle: (state, event) → what becomes of the state.
//!
//! Each stage tells the rows of its own events; here they are put together when
//! the crate is compiled. Every event has to say of every state what becomes of it, so that a new
//! state or event does not compile until it is decided everywhere.

use super::event::{Actor, Event, EventKind};
use super::rule::{Move, Rule, Span};
use super::stage;
use super::state::Lifecycle;
use crate::time::Timestamp;

const STATES: usize = Lifecycle::ALL.len();
const EVENTS: usize = EventKind::ALL.len();

/// The rows of every stage.
const STAGES: [&[Rule]; 10] = [
    stage::opening::RULES,
    stage::identity::RULES,
    stage::qualification::RULES,
    stage::deposit::RULES,
    stage::signature::RULES,
    stage::shipment::RULES,
    stage::billing::RULES,
    stage::return_::RULES,
    stage::waitlist::RULES,
    stage::ending::RULES,
];

static MOVES: [[Move; STATES]; EVENTS] = put_together();
static ACTORS: [&[Actor]; EVENTS] = actors();

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "runs when the crate is compiled: what is out of range does not compile"
)]
const fn put_together() -> [[Move; STATES]; EVENTS] {
    let mut table = [[Move::Refused; STATES]; EVENTS];
    let mut told = [[false; STATES]; EVENTS];
    let mut stage = 0;
    while stage < STAGES.len() {
        let mut rule = 0;
        while rule < STAGES[stage].len() {
            let Rule { event, lines, .. } = STAGES[stage][rule];
            let mut line = 0;
            while line < lines.len() {
                let (outcome, spans) = lines[line];
                let mut span = 0;
                while span < spans.len() {
                    let Span { first, last } = spans[span];
                    assert!(first as usize <= last as usize, "a range runs backwards");
                    let mut state = first as usize;
                    while state <= last as usize {
                        assert!(
                            !told[event as usize][state],
                            "an event tells of a state twice"
                        );
                        told[event as usize][state] = true;
                        table[event as usize][state] = outcome;
                        state += 1;
                    }
                    span += 1;
                }
                line += 1;
            }
            rule += 1;
        }
        stage += 1;
    }
    let mut event = 0;
    while event < EVENTS {
        let mut state = 0;
        while state < STATES {
            // The name of the event is the message: formatting is not possible here.
            assert!(told[event][state], "{}", EventKind::ALL[event].as_str());
            state += 1;
        }
        event += 1;
    }
    table
}

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "runs when the crate is compiled: what is out of range does not compile"
)]
const fn actors() -> [&'static [Actor]; EVENTS] {
    let mut actors: [&[Actor]; EVENTS] = [&[]; EVENTS];
    let mut stage = 0;
    while stage < STAGES.len() {
        let mut rule = 0;
        while rule < STAGES[stage].len() {
            actors[STAGES[stage][rule].event as usize] = STAGES[stage][rule].actors;
            rule += 1;
        }
        stage += 1;
    }
    actors
}

/// What the event does to a checkout in the state.
///
/// ```
/// use lessor_domain::checkout::{transition, EventKind, Lifecycle, Move};
///
/// assert_eq!(transition(Lifecycle::OrderConfirmed, EventKind::Fulfilled), Move::To(Lifecycle::Shipped));
/// assert_eq!(transition(Lifecycle::Shipped, EventKind::Fulfilled), Move::AlreadyApplied);
/// assert_eq!(transition(Lifecycle::Created, EventKind::Fulfilled), Move::Refused);
/// ```
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "the table has a place for every event and state"
)]
pub const fn transition(state: Lifecycle, event: EventKind) -> Move {
    MOVES[event as usize][state as usize]
}

impl EventKind {
    /// Who can make it happen.
    #[must_use]
    #[expect(
        clippy::indexing_slicing,
        reason = "the table has a place for every event"
    )]
    pub const fn actors(self) -> &'static [Actor] {
        ACTORS[self as usize]
    }

    /// Whether this actor can make it happen.
    #[must_use]
    pub fn is_open_to(self, actor: Actor) -> bool {
        self.actors().contains(&actor)
    }

    /// Whether the organization makes it happen by a decision that is recorded with its reasons, and in no
    /// other way.
    #[must_use]
    pub const fn is_decided_by_hand(self) -> bool {
        matches!(self, Self::Qualified | Self::QualificationRefused)
    }

    /// The event, as the organization tells of it without saying more than that it happened now.
    /// None for what is not its to tell, and for what has more to say.
    #[must_use]
    pub fn said_by_hand(self, at: Timestamp) -> Option<Event> {
        if !self.is_open_to(Actor::Operator) || self.is_decided_by_hand() {
            return None;
        }
        match self {
            Self::FulfillmentFailed => Some(Event::FulfillmentFailed { reason: None }),
            Self::Delivered => Some(Event::Delivered {
                at,
                signed_by: None,
            }),
            Self::ReturnInitiated => Some(Event::ReturnInitiated {
                reason: None,
                notes: None,
            }),
            Self::Cancelled => Some(Event::Cancelled { reason: None }),
            kind => kind.plain(),
        }
    }
}

/// One arrow of the lifecycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arrow {
    /// The state before.
    pub from: Lifecycle,
    /// What happens.
    pub event: EventKind,
    /// The state after; the same as before for an event that is only recorded.
    pub to: Lifecycle,
}

/// Every arrow of the table, in the order of its states and events.
pub fn arrows() -> impl Iterator<Item = Arrow> {
    Lifecycle::ALL.iter().copied().flat_map(arrows_from)
}

/// The arrows that leave the state.
pub fn arrows_from(from: Lifecycle) -> impl Iterator<Item = Arrow> {
    EventKind::ALL
        .iter()
        .copied()
        .filter_map(move |event| match transition(from, event) {
            Move::To(to) => Some(Arrow { from, event, to }),
            Move::Stay => Some(Arrow {
                from,
                event,
                to: from,
            }),
            Move::IfSame | Move::AlreadyApplied | Move::Refused => None,
        })
}

/// The moves out of the state that the actor can make, without those that stay.
pub fn moves_of(from: Lifecycle, actor: Actor) -> impl Iterator<Item = Arrow> {
    arrows_from(from).filter(move |arrow| arrow.to != from && arrow.event.is_open_to(actor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_states_stay() {
        for state in Lifecycle::ALL.iter().filter(|state| state.is_ended()) {
            // What comes late is recorded, and moves nothing.
            assert!(
                arrows_from(*state).all(|arrow| arrow.to == *state),
                "{state}"
            );
        }
    }

    #[test]
    fn a_replay_right_after_the_move_changes_nothing() {
        for arrow in arrows().filter(|arrow| arrow.to != arrow.from) {
            let again = transition(arrow.to, arrow.event);
            let is_known = matches!(again, Move::AlreadyApplied | Move::IfSame);
            // Where a later state records what comes late, the repetition is told by the record:
            // chance tries these in tests/lifecycle.
            let is_recorded = again == Move::Stay;
            assert!(is_known || is_recorded, "{arrow:?} again gives {again:?}");
        }
    }

    #[test]
    fn every_state_is_reached_and_every_open_state_can_end() {
        for state in Lifecycle::ALL
            .iter()
            .filter(|state| **state != Lifecycle::Created)
        {
            let initial = matches!(
                state,
                Lifecycle::WaitlistedAfterProfile | Lifecycle::WaitlistedLocation
            );
            assert!(
                initial || arrows().any(|arrow| arrow.to == *state && arrow.from != *state),
                "{state}"
            );
        }
        for start in Lifecycle::ALL {
            let mut seen = vec![*start];
            let mut next = 0;
            while let Some(state) = seen.get(next).copied() {
                next += 1;
                for arrow in arrows_from(state) {
                    if !seen.contains(&arrow.to) {
                        seen.push(arrow.to);
                    }
                }
            }
            assert!(seen.iter().any(|state| state.is_ended()), "{start}");
        }
    }

    #[test]
    fn the_happy_path_is_connected() {
        for (from, to) in Lifecycle::HAPPY_PATH
            .iter()
            .zip(Lifecycle::HAPPY_PATH.iter().skip(1))
        {
            assert!(
                arrows_from(*from).any(|arrow| arrow.to == *to),
                "{from} -> {to}"
            );
        }
    }

    #[test]
    fn cancel_is_open_from_everywhere_but_goods_under_way_and_ended() {
        for state in Lifecycle::ALL {
            let closed = matches!(
                state,
                Lifecycle::Shipped | Lifecycle::LeaseActive | Lifecycle::ReturnPending
            ) || state.is_ended();
            let allowed = matches!(transition(*state, EventKind::Cancelled), Move::To(_));
            assert_eq!(allowed, !closed, "{state}");
        }
    }

    #[test]
    fn operators_have_the_moves_that_they_are_promised() {
        let moves = |from| {
            moves_of(from, Actor::Operator)
                .map(|arrow| arrow.to)
                .collect::<Vec<_>>()
        };
        for promised in [
            Lifecycle::AddendumsPending,
            Lifecycle::Shipped,
            Lifecycle::FulfillmentException,
            Lifecycle::Cancelled,
        ] {
            assert!(moves(Lifecycle::OrderConfirmed).contains(&promised));
        }
        assert_eq!(moves(Lifecycle::LeaseActive), [Lifecycle::ReturnPending]);
        assert_eq!(
            moves(Lifecycle::ReturnPending),
            [Lifecycle::LeaseActive, Lifecycle::Returned]
        );
        assert_eq!(
            moves(Lifecycle::FulfillmentException),
            [
                Lifecycle::OrderConfirmed,
                Lifecycle::Shipped,
                Lifecycle::Shipped,
                Lifecycle::Cancelled
            ]
        );
        assert_eq!(
            moves(Lifecycle::DepositPending),
            [Lifecycle::Cancelled, Lifecycle::LeaseReviewPending]
        );
        assert_eq!(moves(Lifecycle::Created), [Lifecycle::Cancelled]);
    }
}
