//! How a stage writes down what its events do to states.

use super::event::{Actor, EventKind};
use super::state::Lifecycle;

/// What an event does to a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Move {
    /// The checkout moves on.
    To(Lifecycle),
    /// The event counts and is recorded; the state stays.
    Stay,
    /// The event was applied before if it says what is recorded: nothing changes then. If it says
    /// something else it is refused.
    IfSame,
    /// The event was applied before, or came too late to matter: nothing changes.
    AlreadyApplied,
    /// The state does not allow it.
    Refused,
}

/// States from the first to the last, in the order of their declaration.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) first: Lifecycle,
    pub(super) last: Lifecycle,
}

/// What the table says of one event.
pub(super) struct Rule {
    pub(super) event: EventKind,
    pub(super) actors: &'static [Actor],
    pub(super) lines: &'static [(Move, &'static [Span])],
}

/// The rows of a stage's events. A line names states, singly or from `A..=B` in the order of
/// their declaration, and what becomes of them:
///
/// - `go A => B;` moves on to B;
/// - `stay A;` counts and is recorded, the state stays;
/// - `same A;` was applied before if it says the same again, and is refused if not;
/// - `done A;` was applied before or came too late: nothing changes;
/// - `never A;` is refused.
macro_rules! rules {
    ($(
        $event:ident by $($actor:ident)|+ {
            $($verb:ident $($first:ident $(..= $last:ident)?)|+ $(=> $to:ident)?;)*
        }
    )*) => {
        pub(in $crate::checkout) const RULES: &[$crate::checkout::rule::Rule] = &[$(
            $crate::checkout::rule::Rule {
                event: $crate::checkout::event::EventKind::$event,
                actors: &[$($crate::checkout::event::Actor::$actor),+],
                lines: &[$((
                    $crate::checkout::rule::rules!(@move $verb $($to)?),
                    &[$($crate::checkout::rule::rules!(@span $first $($last)?)),+],
                ),)*],
            },
        )*];
    };
    (@move go $to:ident) => { $crate::checkout::rule::Move::To($crate::checkout::state::Lifecycle::$to) };
    (@move stay) => { $crate::checkout::rule::Move::Stay };
    (@move same) => { $crate::checkout::rule::Move::IfSame };
    (@move done) => { $crate::checkout::rule::Move::AlreadyApplied };
    (@move never) => { $crate::checkout::rule::Move::Refused };
    (@span $first:ident) => { $crate::checkout::rule::rules!(@span $first $first) };
    (@span $first:ident $last:ident) => {
        $crate::checkout::rule::Span {
            first: $crate::checkout::state::Lifecycle::$first,
            last: $crate::checkout::state::Lifecycle::$last,
        }
    };
}
pub(super) use rules;
