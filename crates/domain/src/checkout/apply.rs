//! How an event changes a checkout.

use super::event::{Actor, Event, EventKind, events};
use super::rule::Move;
use super::snapshot::{Checkout, Snapshot};
use super::stage::{
    self, billing, deposit, ending, identity, moves_only, opening, qualification, return_,
    shipment, signature, waitlist,
};
use super::state::Lifecycle;
use super::step::{
    Applied, Circumstances, Facts, Obstacle, Outcome, Ruling, Step, Told, Transition,
    TransitionError,
};
use super::table::{arrows_from, moves_of, transition};

/// Lets the stage of each event take it in.
macro_rules! dispatch {
    ($(
        $(#[$doc:meta])*
        $event:ident $({ $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })? = $name:literal => $takes_in:path;
    )*) => {
        fn take_in(event: Event, checkout: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
            match event {
                $(Event::$event $({ $($field),* })? => $takes_in(checkout, step $($(, $field)*)?),)*
            }
        }
    };
}

events!(dispatch);

impl Checkout {
    /// Applies the event: changes the checkout and tells what is to be done.
    ///
    /// A replayed or late event gives [`Outcome::AlreadyApplied`] and changes
    /// nothing, so that whatever delivers events at least once is safe.
    ///
    /// # Errors
    /// [`TransitionError`] when the event is not the actor's to tell, when the state
    /// does not allow it, or when it lacks something (no term chosen). The checkout
    /// is unchanged then.
    pub fn apply(
        &mut self,
        event: Event,
        by: &Circumstances,
        facts: &Facts,
    ) -> Result<Applied, TransitionError> {
        let from = self.lifecycle();
        let kind = event.kind();
        let refuse = |obstacle| TransitionError {
            from,
            event: kind,
            obstacle,
        };
        if !kind.is_open_to(by.actor) {
            return Err(refuse(Obstacle::NotOpenTo {
                actor: by.actor,
                open_to: kind.actors(),
            }));
        }
        match transition(from, kind) {
            Move::To(_) | Move::Stay | Move::IfSame => {}
            Move::AlreadyApplied => return Ok(Applied::new(Outcome::AlreadyApplied)),
            Move::Refused => return Err(refuse(in_the_way(from, by.actor))),
        }
        let mut applied = Applied::new(Outcome::Applied);
        if let Told::Known = self.step(event, by, &mut applied).map_err(refuse)? {
            return Ok(Applied::new(Outcome::AlreadyApplied));
        }
        if !is_step_back(kind) {
            // What is known already is the system's doing, whoever made the first step.
            let known = Circumstances {
                key: by.key,
                ..Circumstances::new(by.at, Actor::System)
            };
            while let Some(next) = stage::known(&self.0, facts) {
                match self.step(next, &known, &mut applied) {
                    Ok(Told::News) => {}
                    // A step that cannot be passed through is the customer's to make.
                    Ok(Told::Known) | Err(_) => break,
                }
            }
        }
        let to = self.lifecycle();
        if to != from {
            stage::came_to_rest(&mut self.0, by.at, &mut applied);
        }
        if by.actor == Actor::Customer {
            self.0.acted_at = by.at;
        }
        self.0.review(by.at);
        self.0.updated_at = by.at;
        Ok(applied)
    }

    /// The events that would bring the checkout to the state at once and that the
    /// actor can make happen.
    pub fn ways_to(&self, target: Lifecycle, actor: Actor) -> impl Iterator<Item = EventKind> + '_ {
        let from = self.lifecycle();
        moves_of(from, actor)
            .filter(move |arrow| arrow.to == target)
            .map(|arrow| arrow.event)
    }

    /// The event that takes the customer a step back from here.
    #[must_use]
    pub fn step_back(&self) -> Option<Event> {
        moves_of(self.lifecycle(), Actor::Customer)
            .map(|arrow| arrow.event)
            .find_map(|kind| match (kind, self.pickup_location_id) {
                (EventKind::SteppedBackToProfile, _) => Some(Event::SteppedBackToProfile),
                (EventKind::SteppedBackToAddress, None) => Some(Event::SteppedBackToAddress),
                (EventKind::SteppedBackToPickup, Some(_)) => Some(Event::SteppedBackToPickup),
                (EventKind::SteppedBackToReview, _) => Some(Event::SteppedBackToReview),
                _ => None,
            })
    }

    /// One step that the table lets through: data, effects, state.
    fn step(&mut self, event: Event, by: &Circumstances, applied: &mut Applied) -> Ruling {
        let from = self.lifecycle();
        let kind = event.kind();
        let outcome = transition(from, kind);
        let to = match outcome {
            Move::To(to) => to,
            Move::Stay | Move::IfSame => from,
            Move::AlreadyApplied | Move::Refused => return Ok(Told::Known),
        };
        let mut step = Step {
            from,
            outcome,
            by,
            applied,
        };
        if let Told::Known = take_in(event, &mut self.0, &mut step)? {
            return Ok(Told::Known);
        }
        if to != from {
            self.0.state.move_to(to);
        }
        applied.transitions.push(Transition {
            from,
            event: kind,
            to,
            at: by.at,
            actor: by.actor,
            key: by.key,
            reason: by.reason.clone(),
        });
        Ok(Told::News)
    }
}

/// What keeps the actor from an event that the state refuses.
fn in_the_way(from: Lifecycle, actor: Actor) -> Obstacle {
    if from.is_ended() {
        return Obstacle::Ended;
    }
    let mut ways: Vec<Lifecycle> = moves_of(from, actor)
        .filter(|arrow| !arrow.event.is_decided_by_hand())
        .map(|arrow| arrow.to)
        .collect();
    ways.dedup();
    if !ways.is_empty() {
        return Obstacle::GoesElsewhere(ways);
    }
    arrows_from(from)
        .find(|arrow| arrow.to != from)
        .map_or(Obstacle::Ended, |arrow| Obstacle::WaitsFor(arrow.event))
}

/// After these the customer wants to see the step that they went to, known or not.
const fn is_step_back(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::SteppedBackToProfile
            | EventKind::SteppedBackToAddress
            | EventKind::SteppedBackToPickup
            | EventKind::SteppedBackToReview
            | EventKind::PickupChosen
            | EventKind::ShippingChosen
    )
}
