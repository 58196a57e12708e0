//! Waiting for stock, or for the organization to serve the address.

use crate::catalog::StockTaken;
use crate::checkout::rule::rules;
use crate::checkout::snapshot::Snapshot;
use crate::checkout::state::Lifecycle;
use crate::checkout::step::{Applied, Obstacle, Ruling, Step, Told};

rules! {
    StockFreed by System {
        go    WaitlistedAfterProfile => IdentityRequired;
        go    WaitlistedAfterDeposit => RecurringPaymentMethodPending;
        done  IdentityRequired..=ReturnPending;
        never Created..=ProfilePending | Returned | WaitlistedLocation..=QualificationFailed;
    }
    AreaWidened by System {
        go    WaitlistedLocation => IdentityRequired;
        done  IdentityRequired..=ReturnPending;
        never Created..=ProfilePending | Returned..=WaitlistedAfterDeposit
            | Cancelled..=QualificationFailed;
    }
}

pub(in crate::checkout) fn stock_freed(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    stock: StockTaken,
) -> Ruling {
    match (stock, step.from) {
        (StockTaken::NoneLeft, _) => return Err(Obstacle::NoStock),
        (StockTaken::Taken, Lifecycle::WaitlistedAfterProfile) => {
            return Err(Obstacle::StockBeforeDeposit);
        }
        (StockTaken::Taken | StockTaken::Untracked, _) => {}
    }
    // Whoever has a deposit has the units with it, counted or not; others take theirs with the deposit.
    checkout.holds_stock = step.from == Lifecycle::WaitlistedAfterDeposit;
    turn_begins(checkout, step)
}

/// Who waited could do nothing: the time that they have begins when it is their turn.
pub(in crate::checkout) const fn turn_begins(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
) -> Ruling {
    checkout.acted_at = step.by.at;
    Ok(Told::News)
}

/// Gives the held units back, if any are held.
pub(super) const fn release_stock(checkout: &mut Snapshot, applied: &mut Applied) {
    if checkout.holds_stock {
        checkout.holds_stock = false;
        applied.releases_stock = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::event::{Event, EventKind};
    use crate::checkout::parts::WaitlistReason;
    use crate::checkout::stage::tests::{DETAILS, Story, TO_CONFIRMATION, TO_DEPOSIT};
    use crate::checkout::step::Facts;

    #[test]
    fn those_who_wait_take_no_stock_before_their_deposit() {
        let mut story = Story::new();
        story.checkout = story
            .make
            .checkout(
                &story
                    .make
                    .customer(&story.make.organization().build())
                    .build(),
                &story
                    .make
                    .variant(
                        &story
                            .make
                            .product(&story.make.organization().build())
                            .build(),
                    )
                    .build(),
            )
            .at(Lifecycle::WaitlistedAfterProfile)
            .build();
        for stock in [StockTaken::Taken, StockTaken::NoneLeft] {
            let refused = story.try_event(Event::StockFreed { stock }, &Facts::NONE);
            assert!(refused.is_err(), "{stock}: {refused:?}");
        }
        story.tell(Event::StockFreed {
            stock: StockTaken::Untracked,
        });
        assert_eq!(story.checkout.lifecycle(), Lifecycle::IdentityRequired);
    }

    #[test]
    fn stock_that_is_freed_is_held_for_who_waits_with_a_deposit() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(&[EventKind::DepositAuthorizedWithoutStock], DETAILS);
        assert_eq!(
            story.checkout.waitlist.as_ref().map(|wait| wait.reason),
            Some(WaitlistReason::Inventory)
        );
        let before = story.checkout.clone();
        let none_left = Event::StockFreed {
            stock: StockTaken::NoneLeft,
        };
        let refused = story.try_event(none_left, &Facts::NONE).unwrap_err();
        assert!(refused.contains("no stock is left"), "{refused}");
        assert_eq!(story.checkout, before);
        story.tell(Event::StockFreed {
            stock: StockTaken::Taken,
        });
        assert!(story.checkout.holds_stock);
        assert_eq!(
            story.checkout.lifecycle(),
            Lifecycle::RecurringPaymentMethodPending
        );
    }

    #[test]
    fn who_waits_is_told_what_for_and_others_wait_for_nothing() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(&TO_CONFIRMATION[..1], DETAILS);
        assert_eq!(story.checkout.waitlist, None);
        story.tell(Event::AuthorizationLapsed);
        assert_eq!(story.checkout.waitlist, None);

        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(&[EventKind::DepositAuthorizedWithoutStock], DETAILS);
        story.tell(Event::AuthorizationLapsed);
        assert_eq!(
            story.checkout.waitlist.as_ref().map(|wait| wait.reason),
            Some(WaitlistReason::Inventory)
        );
    }
}
