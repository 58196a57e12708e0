//! The credit check.

use crate::checkout::effect::Effect;
use crate::checkout::event::Event;
use crate::checkout::rule::rules;
use crate::checkout::snapshot::Snapshot;
use crate::checkout::state::Lifecycle;
use crate::checkout::step::{Applied, Facts};
use crate::customer::CreditStatus;
use crate::time::Timestamp;

rules! {
    Qualified by Provider | System {
        go    QualificationPending => ShippingAddressPending;
        done  ShippingAddressPending..=QualificationFailed;
        never Created..=IdentityProcessing;
    }
    QualificationRefused by Provider {
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
