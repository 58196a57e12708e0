//! The proof of who the customer is.

use super::signature;
use crate::checkout::effect::Effect;
use crate::checkout::event::Event;
use crate::checkout::rule::rules;
use crate::checkout::snapshot::Snapshot;
use crate::checkout::state::Lifecycle;
use crate::checkout::step::{Facts, Ruling, Step, Told};
use crate::customer::IdentityStatus;

rules! {
    IdentityRequested by Customer {
        stay  IdentityRequired;
        done  IdentityVerifying..=ReturnPending;
        never Created..=ProfilePending | Returned..=QualificationFailed;
    }
    // A session is opened by the verifier at the customer's request.
    IdentityStarted by Provider {
        go    IdentityRequired => IdentityVerifying;
        done  IdentityVerifying..=QualificationFailed;
        never Created..=ProfilePending;
    }
    IdentitySubmitted by Provider | Customer {
        go    IdentityVerifying => IdentityProcessing;
        done  IdentityProcessing..=QualificationFailed;
        never Created..=IdentityRequired;
    }
    IdentityAbandoned by Provider {
        go    IdentityVerifying | IdentityProcessing => IdentityRequired;
        done  IdentityRequired | QualificationPending..=QualificationFailed;
        never Created..=ProfilePending;
    }
    IdentityVerified by Provider | System {
        // From identityRequired when an earlier checkout had the customer verified;
        // from identityVerifying because a verifier may skip its "processing".
        go    IdentityRequired..=IdentityProcessing => QualificationPending;
        done  QualificationPending..=QualificationFailed;
        never Created..=ProfilePending;
    }
    PersonChanged by System {
        stay  IdentityRequired;
        // An authorized deposit stays held: the checkout passes by it when it is checked again.
        go    IdentityVerifying..=CaptureFailed => IdentityRequired;
        // Whoever waits is checked when it is their turn.
        done  Created..=ProfilePending | OrderConfirmed..=QualificationFailed;
    }
    IdentityRefused by Provider {
        go    IdentityVerifying | IdentityProcessing => IdentityFailed;
        // A refusal that arrives after a verification is an older session's.
        done  QualificationPending..=QualificationFailed;
        never Created..=IdentityRequired;
    }
}

pub(super) fn known(checkout: &Snapshot, facts: &Facts) -> Option<Event> {
    (checkout.lifecycle() == Lifecycle::IdentityRequired
        && facts.identity == IdentityStatus::Verified)
        .then_some(Event::IdentityVerified)
}

/// A session is asked for once; another when that one was abandoned.
pub(in crate::checkout) fn requested(checkout: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
    if checkout.identity_requested_at.is_some() {
        return Ok(Told::Known);
    }
    checkout.identity_requested_at = Some(step.by.at);
    step.ask(Effect::StartIdentityVerification);
    Ok(Told::News)
}

pub(in crate::checkout) const fn started(checkout: &mut Snapshot, _: &mut Step<'_>) -> Ruling {
    checkout.identity_requested_at = None;
    Ok(Told::News)
}

pub(in crate::checkout) fn submitted(_: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
    step.ask(Effect::FetchIdentityResult);
    Ok(Told::News)
}

pub(in crate::checkout) const fn abandoned(checkout: &mut Snapshot, _: &mut Step<'_>) -> Ruling {
    checkout.identity_requested_at = None;
    Ok(Told::News)
}

pub(in crate::checkout) const fn verified(checkout: &mut Snapshot, _: &mut Step<'_>) -> Ruling {
    checkout.identity_requested_at = None;
    Ok(Told::News)
}

/// Nothing that was asked about the person before counts, and what they signed is another's.
pub(in crate::checkout) fn person_changed(checkout: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
    let was_asked = checkout.identity_requested_at.take().is_some();
    if step.from == Lifecycle::IdentityRequired && !was_asked {
        return Ok(Told::Known);
    }
    signature::undo(checkout);
    Ok(Told::News)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::event::EventKind;
    use crate::checkout::stage::tests::{DETAILS, Story, TO_DEPOSIT};
    use crate::checkout::step::Outcome;

    #[test]
    fn a_session_is_asked_for_once_and_again_when_it_was_abandoned() {
        let mut story = Story::new();
        let asked = story.walk(&TO_DEPOSIT[..3], DETAILS);
        assert_eq!(asked.effects, [Effect::StartIdentityVerification]);
        let again = story.tell(Event::IdentityRequested);
        assert_eq!(
            (again.outcome, again.effects),
            (Outcome::AlreadyApplied, vec![])
        );
        story.walk(
            &[EventKind::IdentityStarted, EventKind::IdentityAbandoned],
            DETAILS,
        );
        assert_eq!(story.checkout.lifecycle(), Lifecycle::IdentityRequired);
        let anew = story.tell(Event::IdentityRequested);
        assert_eq!(anew.effects, [Effect::StartIdentityVerification]);
    }

    #[test]
    fn documents_that_are_handed_in_are_asked_about() {
        let mut story = Story::new();
        let submitted = story.walk(&TO_DEPOSIT[..5], DETAILS);
        assert_eq!(submitted.effects, [Effect::FetchIdentityResult]);
    }

    #[test]
    fn who_is_verified_is_passed_through_and_a_late_refusal_counts_for_nothing() {
        let mut story = Story::new();
        let known = Facts {
            identity: IdentityStatus::Verified,
            ..Facts::NONE
        };
        story.walk(&TO_DEPOSIT[..1], DETAILS);
        let completed = story.try_event(Event::ProfileCompleted, &known).unwrap();
        assert_eq!(completed.effects, [Effect::CheckCredit]);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::QualificationPending);
        let late = story.tell(Event::IdentityRefused);
        assert_eq!(late.outcome, Outcome::AlreadyApplied);
    }

    #[test]
    fn a_refusal_ends_the_checkout() {
        let mut story = Story::new();
        story.walk(&TO_DEPOSIT[..5], DETAILS);
        story.tell(Event::IdentityRefused);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::IdentityFailed);
    }
}
