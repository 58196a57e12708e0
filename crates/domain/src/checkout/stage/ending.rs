//! Ends without a lease: called off, expired, refused.

use super::{billing, deposit, waitlist};
use crate::checkout::rule::rules;
use crate::checkout::snapshot::Snapshot;
use crate::checkout::step::{Obstacle, Ruling, Step, Told};
use crate::text::Line;

rules! {
    Cancelled by Customer | Operator {
        go    Created..=AddendumsPending | FulfillmentException
            | WaitlistedAfterProfile..=WaitlistedLocation => Cancelled;
        done  Cancelled;
        // Goods on their way or in use come back by a return.
        never Shipped | LeaseActive..=Returned | Expired..=QualificationFailed;
    }
    Expired by System {
        go    Created..=DocumentsPending
            | WaitlistedAfterProfile..=WaitlistedLocation => Expired;
        done  Expired;
        never CaptureFailed..=Returned | Cancelled | IdentityFailed..=QualificationFailed;
    }
}

pub(in crate::checkout) fn cancelled(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    reason: Option<Line>,
) -> Ruling {
    checkout.cancel_reason = reason.or_else(|| step.by.reason.clone());
    refused(checkout, step)
}

/// One that was left alone. Who has signed waits for the processor, not the other way round.
pub(in crate::checkout) fn expired(checkout: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
    if checkout.signed_at.is_some() {
        return Err(Obstacle::Signed);
    }
    refused(checkout, step)
}

/// Ends what is running.
pub(in crate::checkout) fn refused(checkout: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
    deposit::let_go(checkout, step);
    billing::undo(checkout, step);
    waitlist::release_stock(checkout, step.applied);
    Ok(Told::News)
}

#[cfg(test)]
mod tests {
    use crate::checkout::effect::Effect;
    use crate::checkout::event::{Actor, Event, EventKind};
    use crate::checkout::stage::tests::{DETAILS, Story, TO_CONFIRMATION, TO_DEPOSIT, UNTRACKED};
    use crate::checkout::state::Lifecycle;
    use crate::checkout::step::{Circumstances, Facts, Obstacle, Outcome};

    #[test]
    fn an_answer_after_the_cancel_changes_nothing_of_the_checkout() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        let cancelled = story.tell(Event::Cancelled { reason: None });
        assert_eq!(
            cancelled.effects,
            [Effect::VoidDeposit],
            "an authorization may be on its way"
        );
        let late = story.walk(&[EventKind::DepositAuthorized], DETAILS);
        assert_eq!(late.outcome, Outcome::AlreadyApplied);
        assert!(!story.checkout.needs_hold("pi_1"));
        assert!(
            !story.checkout.holds_stock,
            "a late authorization holds no stock"
        );
    }

    #[test]
    fn a_lease_that_never_was_is_paid_back() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, UNTRACKED);
        story.walk(TO_CONFIRMATION, UNTRACKED);
        story.walk(
            &[EventKind::Fulfilled, EventKind::FulfillmentFailed],
            UNTRACKED,
        );
        let cancelled = story.tell(Event::Cancelled { reason: None });
        assert_eq!(
            cancelled.effects,
            [
                Effect::RefundDeposit,
                Effect::CancelSubscription,
                Effect::RefundPayments
            ]
        );
        let late = story.walk(&[EventKind::SubscriptionStarted], UNTRACKED);
        assert_eq!(late.outcome, Outcome::AlreadyApplied);
    }

    #[test]
    fn who_has_signed_does_not_expire_and_who_has_not_does() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(&TO_CONFIRMATION[..2], DETAILS);
        let unsigned = story.checkout.clone();
        story.walk(&[EventKind::DocumentsSigned], DETAILS);
        let refused = story.try_event(Event::Expired, &Facts::NONE).unwrap_err();
        assert!(refused.contains("signed"), "{refused}");
        story.checkout = unsigned;
        let expired = story.tell(Event::Expired);
        assert_eq!(expired.effects, [Effect::VoidDeposit]);
        assert!(expired.releases_stock);
    }

    #[test]
    fn a_refusal_names_what_can_be_done_instead() {
        let mut story = Story::at(Lifecycle::LeaseActive);
        let refused = story.try_event(Event::ReturnCompleted, &Facts::NONE);
        assert_eq!(
            refused.unwrap_err(),
            "returnCompleted is not possible while the checkout is leaseActive: \
             it can go to returnPending now"
        );
        // Who has no move is told what is waited for.
        let by = Circumstances::new(story.make.tick(), Actor::Provider);
        let mut fresh = Story::new().checkout;
        let refused = fresh.apply(Event::Qualified, &by, &Facts::NONE);
        assert_eq!(
            refused.unwrap_err().obstacle,
            Obstacle::WaitsFor(EventKind::Opened)
        );
        let mut story = Story::new();
        story.tell(Event::Cancelled { reason: None });
        let refused = story.try_event(Event::Opened, &Facts::NONE).unwrap_err();
        assert!(refused.ends_with("it has ended"), "{refused}");
    }
}
