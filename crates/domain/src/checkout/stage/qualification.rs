//! The credit check.

use super::signature;
use crate::checkout::effect::Effect;
use crate::checkout::event::Event;
use crate::checkout::parts::AttentionReason;
use crate::checkout::rule::rules;
use crate::checkout::snapshot::Snapshot;
use crate::checkout::state::Lifecycle;
use crate::checkout::step::{Applied, Facts, Ruling, Step, Told};
use crate::customer::CreditStatus;
use crate::time::Timestamp;

rules! {
    CreditReopened by System {
        stay  QualificationPending;
        go    ShippingAddressPending..=CaptureFailed => QualificationPending;
        done  Created..=IdentityProcessing | OrderConfirmed..=QualificationFailed;
    }
    Qualified by Provider | System | Operator {
        go    QualificationPending => ShippingAddressPending;
        done  ShippingAddressPending..=QualificationFailed;
        never Created..=IdentityProcessing;
    }
    QualificationRefused by Provider | Operator {
        go    QualificationPending => QualificationFailed;
        done  ShippingAddressPending..=QualificationFailed;
        never Created..=IdentityProcessing;
    }
}

pub(super) fn known(checkout: &Snapshot, facts: &Facts) -> Option<Event> {
    (checkout.lifecycle() == Lifecycle::QualificationPending
        && facts.credit == CreditStatus::Passed)
        .then_some(Event::Qualified)
}

/// The check is asked for again, also where it was under way.
pub(in crate::checkout) fn reopened(checkout: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
    signature::undo(checkout);
    if step.from == Lifecycle::QualificationPending {
        checkout.lower(AttentionReason::QualificationRequired);
        step.ask(Effect::CheckCredit);
    }
    Ok(Told::News)
}

/// A check whose answer is known already is passed through, and not asked for again.
pub(super) fn arrived(_: &mut Snapshot, _: Timestamp, applied: &mut Applied) {
    applied.effects.push(Effect::CheckCredit);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::stage::tests::{DETAILS, Story, TO_DEPOSIT};

    #[test]
    fn credit_is_checked_unless_it_is_known() {
        for (credit, effects, state) in [
            (
                CreditStatus::Unknown,
                vec![Effect::CheckCredit],
                Lifecycle::QualificationPending,
            ),
            (
                CreditStatus::Passed,
                vec![],
                Lifecycle::ShippingAddressPending,
            ),
        ] {
            let mut story = Story::new();
            story.walk(&TO_DEPOSIT[..5], DETAILS);
            let facts = Facts {
                credit,
                ..Facts::NONE
            };
            let applied = story.try_event(Event::IdentityVerified, &facts).unwrap();
            assert_eq!(applied.effects, effects);
            assert_eq!(story.checkout.lifecycle(), state);
        }
    }
}
