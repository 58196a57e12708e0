//! What a decision covers beside the lease that it was made for.

use std::cmp::Ordering;

use uuid::Uuid;

use super::decision::{CreditDecision, Qualification};
use crate::ids::CheckoutPubId;
use crate::money::Money;
use crate::time::Timestamp;

/// A decision, and whether the checkout that it let go on came to nothing: then it uses nothing of
/// what was decided.
#[derive(Debug, Clone, Copy)]
pub struct Reliance<'a> {
    pub qualification: &'a Qualification,
    /// Whether the checkout has ended without a lease.
    pub is_over: bool,
}

/// The decision by which the checkout may go on without another, of what is known of its customer: one
/// that was made for itself and still [lets it go on](Qualification::lets_go_on), else the oldest of a
/// [source that holds for others](super::QualificationSource::holds_for_others) which still has room.
///
/// A decision has room while the amounts of all leases that rest on it, the checkout's included, come
/// to no more than what it was made for. One that was made for no amount has none, and a checkout
/// without an amount finds none. A checkout that was declined rests on no other's approval.
#[must_use]
pub fn covering<'a>(
    checkout: CheckoutPubId,
    amount: Option<Money>,
    known: &[Reliance<'a>],
    at: Timestamp,
) -> Option<&'a Qualification> {
    let own = known
        .iter()
        .map(|it| it.qualification)
        .filter(|it| it.checkout == checkout && it.counts())
        .max_by_key(|it| (it.decided_at, it.id));
    if let Some(own) = own {
        if own.decision == CreditDecision::Declined {
            return None;
        }
        if own.lets_go_on(at) && has_room(own, checkout, amount, known) {
            return Some(own);
        }
    }
    amount?;
    let mut others: Vec<&Qualification> = known
        .iter()
        .map(|it| it.qualification)
        .filter(|it| it.checkout != checkout && it.rests_on.is_none())
        .filter(|it| it.source.holds_for_others() && it.lets_go_on(at))
        .filter(|it| has_room(it, checkout, amount, known))
        .collect();
    others.sort_by_key(|it| (it.decided_at, it.id));
    others.first().copied()
}

/// The decision that this one comes down to.
fn root(qualification: &Qualification) -> Uuid {
    qualification.rests_on.unwrap_or(qualification.id)
}

/// Whether all that rests on the decision, the checkout included, is within what it was made for.
fn has_room(
    decision: &Qualification,
    checkout: CheckoutPubId,
    amount: Option<Money>,
    known: &[Reliance<'_>],
) -> bool {
    let root = root(decision);
    let made_for = known
        .iter()
        .find(|it| it.qualification.id == root)
        .and_then(|it| it.qualification.amount);
    let Some(limit) = made_for else {
        // Made before anybody knew how much it would be: it was made for its own checkout.
        return decision.checkout == checkout;
    };
    let Some(amount) = amount else { return false };
    let mut counted: Vec<CheckoutPubId> = vec![checkout];
    let mut sum = amount;
    for it in known {
        let other = it.qualification;
        let is_counted = counted.contains(&other.checkout);
        if is_counted || it.is_over || !other.counts() || self::root(other) != root {
            continue;
        }
        let Some(rests) = other.amount.and_then(|rests| sum.checked_add(rests).ok()) else {
            return false;
        };
        sum = rests;
        counted.push(other.checkout);
    }
    matches!(sum.checked_cmp(limit), Ok(Ordering::Less | Ordering::Equal))
}

#[cfg(test)]
#[expect(
    clippy::arithmetic_side_effects,
    reason = "amounts and days of tests are small"
)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::super::decision::QualificationSource;
    use super::*;
    use crate::ids::CustomerPubId;
    use crate::money::Currency;

    const DAY: Timestamp = DateTime::UNIX_EPOCH;

    fn id(number: u128) -> CheckoutPubId {
        CheckoutPubId::from_uuid(Uuid::from_u128(number))
    }

    const fn dollars(amount: i64) -> Option<Money> {
        Some(Money::from_minor(amount * 100, Currency::USD))
    }

    /// An approval of the organization for the checkout of this number, which is its own number too.
    fn approved(number: u128, amount: Option<Money>) -> Qualification {
        Qualification {
            id: Uuid::from_u128(number),
            checkout: id(number),
            customer: CustomerPubId::from_uuid(Uuid::from_u128(1)),
            decision: CreditDecision::Approved,
            source: QualificationSource::Organization,
            key: None,
            reasons: Vec::new(),
            reference: None,
            amount,
            rests_on: None,
            decided_at: DAY,
            expires_at: Some(DAY + TimeDelta::days(90)),
            ended_at: None,
        }
    }

    fn resting(number: u128, amount: Option<Money>, on: u128) -> Qualification {
        Qualification {
            rests_on: Some(Uuid::from_u128(on)),
            ..approved(number, amount)
        }
    }

    /// Which decision covers checkout 9 of 100 dollars, a day later.
    fn found(known: &[(Qualification, bool)]) -> Option<u128> {
        found_for(dollars(100), DAY + TimeDelta::days(1), known)
    }

    fn found_for(
        amount: Option<Money>,
        at: Timestamp,
        known: &[(Qualification, bool)],
    ) -> Option<u128> {
        let known: Vec<Reliance<'_>> = known
            .iter()
            .map(|(qualification, is_over)| Reliance {
                qualification,
                is_over: *is_over,
            })
            .collect();
        covering(id(9), amount, &known, at).map(|it| it.id.as_u128())
    }

    #[test]
    fn an_approval_covers_what_it_was_made_for() {
        // The lease that it was made for takes all of it.
        assert_eq!(found(&[(approved(1, dollars(100)), false)]), None);
        // Unless it came to nothing.
        assert_eq!(found(&[(approved(1, dollars(100)), true)]), Some(1));
        assert_eq!(found(&[(approved(1, dollars(99)), true)]), None);
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn all_leases_that_rest_on_it_count() {
        let (made, over) = (approved(1, dollars(200)), true);
        let rests = resting(2, dollars(100), 1);
        let more = resting(3, dollars(1), 1);
        assert_eq!(
            found(&[(made.clone(), over), (rests.clone(), false)]),
            Some(1)
        );
        assert_eq!(
            found(&[
                (made.clone(), over),
                (rests.clone(), false),
                (more.clone(), false)
            ]),
            None
        );
        assert_eq!(
            found(&[(made, over), (rests, true), (more, false)]),
            Some(1)
        );
    }

    #[test]
    fn a_decision_for_the_checkout_itself_covers_it() {
        assert_eq!(found(&[(approved(9, dollars(100)), false)]), Some(9));
        assert_eq!(found(&[(approved(9, None), false)]), Some(9));
        assert_eq!(found(&[(approved(9, dollars(99)), false)]), None);
        let by_rules = Qualification {
            source: QualificationSource::Rules,
            ..approved(9, dollars(100))
        };
        assert_eq!(found(&[(by_rules, false)]), Some(9));
        // It was declined since: another's approval is none for it.
        let declined = Qualification {
            id: Uuid::from_u128(10),
            decision: CreditDecision::Declined,
            expires_at: None,
            ..approved(9, dollars(100))
        };
        let before = approved(9, dollars(100));
        let other = approved(1, dollars(500));
        assert_eq!(
            found(&[(before, false), (declined, false), (other, true)]),
            None
        );
    }

    #[test]
    fn what_does_not_hold_covers_nothing() {
        let over = true;
        let made = || approved(1, dollars(500));
        let table = [
            Qualification {
                source: QualificationSource::None,
                ..made()
            },
            Qualification {
                source: QualificationSource::Simulated,
                ..made()
            },
            Qualification {
                source: QualificationSource::Rules,
                ..made()
            },
            Qualification {
                decision: CreditDecision::Declined,
                ..made()
            },
            Qualification {
                ended_at: Some(DAY),
                ..made()
            },
            Qualification {
                expires_at: Some(DAY + TimeDelta::days(1)),
                ..made()
            },
            Qualification {
                amount: None,
                ..made()
            },
            Qualification {
                amount: Some(Money::from_minor(1_000_000, "EUR".parse().unwrap())),
                ..made()
            },
        ];
        for made in table {
            assert_eq!(found(&[(made.clone(), over)]), None, "{made:?}");
        }
        let by_endpoint = Qualification {
            source: QualificationSource::Http,
            ..made()
        };
        assert_eq!(found(&[(by_endpoint, over)]), Some(1));
        // Nobody knows how much the lease comes to.
        assert_eq!(found_for(None, DAY, &[(made(), over)]), None);
    }
}
