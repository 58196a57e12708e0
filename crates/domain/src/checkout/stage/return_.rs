//! The way of the goods back, and the end of the lease.

use super::billing;
use crate::checkout::effect::Effect;
use crate::checkout::parts::Deposit;
use crate::checkout::rule::rules;
use crate::checkout::snapshot::Snapshot;
use crate::checkout::step::{Applied, Ruling, Step, Told};
use crate::text::{Line, Notes};
use crate::time::Timestamp;

rules! {
    ReturnInitiated by Operator {
        go    LeaseActive => ReturnPending;
        done  ReturnPending;
        never Created..=FulfillmentException | Returned..=QualificationFailed;
    }
    TermEnded by System {
        go    LeaseActive => ReturnPending;
        done  ReturnPending | Returned;
        never Created..=FulfillmentException | WaitlistedAfterProfile..=QualificationFailed;
    }
    ReturnCancelled by Operator {
        go    ReturnPending => LeaseActive;
        done  LeaseActive;
        never Created..=FulfillmentException | Returned..=QualificationFailed;
    }
    ReturnCompleted by Operator {
        go    ReturnPending => Returned;
        done  Returned;
        never Created..=LeaseActive | WaitlistedAfterProfile..=QualificationFailed;
    }
}

pub(super) const fn arrived(checkout: &mut Snapshot, at: Timestamp, _: &mut Applied) {
    checkout.return_.initiated_at = Some(at);
    checkout.return_.cancelled_at = None;
}

pub(in crate::checkout) fn initiated(
    checkout: &mut Snapshot,
    _: &mut Step<'_>,
    reason: Option<Line>,
    notes: Option<Notes>,
) -> Ruling {
    if reason.is_some() {
        checkout.return_.reason = reason;
    }
    if notes.is_some() {
        checkout.return_.notes = notes;
    }
    Ok(Told::News)
}

pub(in crate::checkout) const fn cancelled(checkout: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
    checkout.return_.cancelled_at = Some(step.by.at);
    Ok(Told::News)
}

pub(in crate::checkout) fn completed(checkout: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
    checkout.return_.completed_at = Some(step.by.at);
    billing::let_go(checkout, step);
    if matches!(checkout.deposit, Deposit::Captured { .. }) {
        step.ask(Effect::RefundDeposit);
    }
    Ok(Told::News)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::event::Event;
    use crate::checkout::stage::tests::{Story, card};
    use crate::checkout::state::Lifecycle;

    fn initiated(reason: Option<&str>) -> Event {
        Event::ReturnInitiated {
            reason: reason.map(|reason| reason.parse().unwrap()),
            notes: None,
        }
    }

    #[test]
    fn goods_that_are_back_end_the_billing_and_give_the_deposit_back() {
        let mut story = Story::at(Lifecycle::LeaseActive);
        assert_eq!(story.tell(initiated(Some("moving"))).effects, []);
        assert!(story.checkout.return_.initiated_at.is_some());
        let completed = story.tell(Event::ReturnCompleted);
        assert_eq!(
            completed.effects,
            [Effect::CancelSubscription, Effect::RefundDeposit]
        );
        assert!(
            !completed.releases_stock,
            "goods that are returned are not put back by themselves"
        );
        assert!(story.checkout.return_.completed_at.is_some());
    }

    #[test]
    fn a_deposit_of_nothing_is_not_paid_back() {
        let mut story = Story::at(Lifecycle::ReturnPending);
        story.alter(|it| {
            it.deposit = Deposit::Waived;
            it.recurring.method = Some(card());
        });
        let completed = story.tell(Event::ReturnCompleted);
        assert_eq!(completed.effects, [Effect::CancelSubscription]);
    }

    #[test]
    fn a_return_that_is_called_off_may_begin_again() {
        let mut story = Story::at(Lifecycle::LeaseActive);
        story.tell(initiated(Some("moving")));
        story.tell(Event::ReturnCancelled);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::LeaseActive);
        assert!(story.checkout.return_.cancelled_at.is_some());
        story.tell(initiated(None));
        let again = &story.checkout.return_;
        assert_eq!(again.cancelled_at, None);
        let reason = again.reason.as_ref().map(ToString::to_string);
        assert_eq!(reason.as_deref(), Some("moving"), "what was said stays");
    }

    #[test]
    fn a_term_that_has_ended_begins_the_return() {
        let mut story = Story::at(Lifecycle::LeaseActive);
        story.tell(Event::TermEnded);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::ReturnPending);
    }
}
