//! The one table of the lifecycle: (state, event) → what becomes of the state.

use super::{Actor, EventKind, Lifecycle};

/// What an event does to a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Move {
    /// The checkout moves on.
    To(Lifecycle),
    /// The event counts and is recorded; the state stays.
    Stay,
    /// The event was applied before, or came too late to matter: nothing changes.
    AlreadyApplied,
    /// The state does not allow it.
    Refused,
}

// Groups of states, in the order of the way. They stand in patterns, so that each
// event names every state and a new state breaks the build until it is decided.
macro_rules! opening {
    () => {
        Lifecycle::Created | Lifecycle::ProfilePending
    };
}
macro_rules! identifying {
    () => {
        Lifecycle::IdentityRequired | Lifecycle::IdentityVerifying | Lifecycle::IdentityProcessing
    };
}
macro_rules! choosing {
    () => {
        Lifecycle::ShippingAddressPending
            | Lifecycle::PickupLocationPending
            | Lifecycle::LeaseReviewPending
    };
}
macro_rules! depositing {
    () => {
        Lifecycle::DepositPending | Lifecycle::DepositProcessing | Lifecycle::DepositFailed
    };
}
macro_rules! signing {
    () => {
        Lifecycle::DocumentsPending | Lifecycle::CaptureFailed
    };
}
macro_rules! fulfilling {
    () => {
        Lifecycle::OrderConfirmed
            | Lifecycle::AddendumsPending
            | Lifecycle::Shipped
            | Lifecycle::FulfillmentException
    };
}
macro_rules! leased {
    () => {
        Lifecycle::LeaseActive | Lifecycle::ReturnPending
    };
}
macro_rules! waiting {
    () => {
        Lifecycle::WaitlistedAfterProfile
            | Lifecycle::WaitlistedAfterDeposit
            | Lifecycle::WaitlistedLocation
    };
}
macro_rules! ended {
    () => {
        Lifecycle::Returned
            | Lifecycle::Cancelled
            | Lifecycle::Expired
            | Lifecycle::IdentityFailed
            | Lifecycle::QualificationFailed
    };
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
pub const fn transition(state: Lifecycle, event: EventKind) -> Move {
    use EventKind as E;
    use Lifecycle as S;
    use Move::{AlreadyApplied, Refused, Stay, To};
    match event {
        E::Opened => match state {
            S::Created => To(S::ProfilePending),
            // Opening the page again, at any step, changes nothing.
            S::ProfilePending
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!() => AlreadyApplied,
            ended!() => Refused,
        },
        E::ProfileCompleted => match state {
            S::Created | S::ProfilePending => To(S::IdentityRequired),
            identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!() => AlreadyApplied,
            waiting!() | ended!() => Refused,
        },
        E::IdentityRequested => match state {
            S::IdentityRequired => Stay,
            S::IdentityVerifying
            | S::IdentityProcessing
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!() => AlreadyApplied,
            opening!() | waiting!() | ended!() => Refused,
        },
        E::IdentityStarted => match state {
            S::IdentityRequired => To(S::IdentityVerifying),
            S::IdentityVerifying
            | S::IdentityProcessing
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => AlreadyApplied,
            opening!() => Refused,
        },
        E::IdentitySubmitted => match state {
            S::IdentityVerifying => To(S::IdentityProcessing),
            S::IdentityProcessing
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => AlreadyApplied,
            opening!() | S::IdentityRequired => Refused,
        },
        E::IdentityAbandoned => match state {
            S::IdentityVerifying | S::IdentityProcessing => To(S::IdentityRequired),
            S::IdentityRequired
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => AlreadyApplied,
            opening!() => Refused,
        },
        E::IdentityVerified => match state {
            // From identityRequired when an earlier checkout had the customer verified;
            // from identityVerifying because a verifier may skip its "processing".
            S::IdentityRequired | S::IdentityVerifying | S::IdentityProcessing => {
                To(S::QualificationPending)
            }
            S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => AlreadyApplied,
            opening!() => Refused,
        },
        E::IdentityRefused => match state {
            S::IdentityVerifying | S::IdentityProcessing => To(S::IdentityFailed),
            // A refusal that arrives after a verification is an older session's.
            S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => AlreadyApplied,
            opening!() | S::IdentityRequired => Refused,
        },
        E::Qualified => match state {
            S::QualificationPending => To(S::ShippingAddressPending),
            choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => AlreadyApplied,
            opening!() | identifying!() => Refused,
        },
        E::QualificationRefused => match state {
            S::QualificationPending => To(S::QualificationFailed),
            choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => AlreadyApplied,
            opening!() | identifying!() => Refused,
        },
        E::PickupChosen => match state {
            S::ShippingAddressPending => To(S::PickupLocationPending),
            S::PickupLocationPending => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | S::LeaseReviewPending
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => Refused,
        },
        E::ShippingChosen => match state {
            S::PickupLocationPending => To(S::ShippingAddressPending),
            S::ShippingAddressPending => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | S::LeaseReviewPending
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => Refused,
        },
        E::ShippingAddressGiven => match state {
            S::ShippingAddressPending => To(S::LeaseReviewPending),
            opening!()
            | identifying!()
            | S::QualificationPending
            | S::PickupLocationPending
            | S::LeaseReviewPending
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => Refused,
        },
        E::PickupLocationGiven => match state {
            S::PickupLocationPending => To(S::LeaseReviewPending),
            opening!()
            | identifying!()
            | S::QualificationPending
            | S::ShippingAddressPending
            | S::LeaseReviewPending
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => Refused,
        },
        E::LeaseAccepted => match state {
            S::LeaseReviewPending => To(S::DepositPending),
            depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | S::ShippingAddressPending
            | S::PickupLocationPending
            | waiting!()
            | ended!() => Refused,
        },
        E::DepositSubmitted => match state {
            S::DepositPending | S::DepositFailed => To(S::DepositProcessing),
            S::DepositProcessing
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | S::WaitlistedAfterDeposit => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | S::WaitlistedAfterProfile
            | S::WaitlistedLocation
            | ended!() => Refused,
        },
        E::DepositAuthorized => match state {
            S::DepositProcessing => To(S::RecurringPaymentMethodPending),
            // Authorized after a cancel or expiry: the void that follows undoes it.
            S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | S::DepositPending
            | S::DepositFailed => Refused,
        },
        E::DepositAuthorizedWithoutStock => match state {
            S::DepositProcessing => To(S::WaitlistedAfterDeposit),
            S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | S::DepositPending
            | S::DepositFailed => Refused,
        },
        E::DepositRefused => match state {
            S::DepositProcessing => To(S::DepositFailed),
            S::DepositFailed
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | S::DepositPending => Refused,
        },
        E::PaymentMethodSaved => match state {
            S::RecurringPaymentMethodPending => To(S::DocumentsPending),
            signing!() | fulfilling!() | leased!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | waiting!()
            | ended!() => Refused,
        },
        E::DocumentsSigned => match state {
            // The state stays until the deposit is captured.
            S::DocumentsPending => Stay,
            S::CaptureFailed | fulfilling!() | leased!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | waiting!()
            | ended!() => Refused,
        },
        E::DepositCaptured => match state {
            S::DocumentsPending | S::CaptureFailed => To(S::OrderConfirmed),
            fulfilling!() | leased!() | ended!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | waiting!() => Refused,
        },
        E::CaptureRefused => match state {
            S::DocumentsPending => To(S::CaptureFailed),
            S::CaptureFailed => Stay,
            fulfilling!() | leased!() | ended!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | waiting!() => Refused,
        },
        E::CaptureRetried => match state {
            S::CaptureFailed => Stay,
            fulfilling!() | leased!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | S::DocumentsPending
            | waiting!()
            | ended!() => Refused,
        },
        E::AuthorizationLapsed => match state {
            S::RecurringPaymentMethodPending | S::DocumentsPending | S::CaptureFailed => {
                To(S::DepositPending)
            }
            // Keeps waiting, without a deposit.
            S::WaitlistedAfterDeposit => To(S::WaitlistedAfterProfile),
            depositing!()
            | fulfilling!()
            | leased!()
            | S::WaitlistedAfterProfile
            | S::WaitlistedLocation
            | ended!() => AlreadyApplied,
            opening!() | identifying!() | S::QualificationPending | choosing!() => Refused,
        },
        E::AddendumsRequested => match state {
            S::OrderConfirmed => To(S::AddendumsPending),
            S::AddendumsPending => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | S::Shipped
            | S::FulfillmentException
            | leased!()
            | waiting!()
            | ended!() => Refused,
        },
        E::AddendumsSigned => match state {
            S::AddendumsPending => To(S::OrderConfirmed),
            S::OrderConfirmed | S::Shipped | S::FulfillmentException | leased!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | waiting!()
            | ended!() => Refused,
        },
        E::Fulfilled => match state {
            S::OrderConfirmed => To(S::Shipped),
            S::Shipped | leased!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | S::AddendumsPending
            | S::FulfillmentException
            | waiting!()
            | ended!() => Refused,
        },
        E::FulfillmentFailed => match state {
            S::OrderConfirmed | S::Shipped => To(S::FulfillmentException),
            // A carrier that reports a failure after the delivery is too late.
            S::FulfillmentException | leased!() | ended!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | S::AddendumsPending
            | waiting!() => Refused,
        },
        E::OrderResumed => match state {
            S::FulfillmentException => To(S::OrderConfirmed),
            S::OrderConfirmed => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | S::AddendumsPending
            | S::Shipped
            | leased!()
            | waiting!()
            | ended!() => Refused,
        },
        E::ShipmentResumed => match state {
            S::FulfillmentException => To(S::Shipped),
            S::Shipped | leased!() | ended!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | S::OrderConfirmed
            | S::AddendumsPending
            | waiting!() => Refused,
        },
        E::Delivered => match state {
            // The state stays until the subscription runs: a lease is active only when it is billed.
            S::Shipped => Stay,
            S::FulfillmentException => To(S::Shipped),
            leased!() | ended!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | S::OrderConfirmed
            | S::AddendumsPending
            | waiting!() => Refused,
        },
        E::SubscriptionStarted => match state {
            S::Shipped | S::FulfillmentException => To(S::LeaseActive),
            leased!() | ended!() => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | S::OrderConfirmed
            | S::AddendumsPending
            | waiting!() => Refused,
        },
        E::ReturnInitiated => match state {
            S::LeaseActive => To(S::ReturnPending),
            S::ReturnPending => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | waiting!()
            | ended!() => Refused,
        },
        E::TermEnded => match state {
            S::LeaseActive => To(S::ReturnPending),
            S::ReturnPending | S::Returned => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | waiting!()
            | S::Cancelled
            | S::Expired
            | S::IdentityFailed
            | S::QualificationFailed => Refused,
        },
        E::ReturnCancelled => match state {
            S::ReturnPending => To(S::LeaseActive),
            S::LeaseActive => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | waiting!()
            | ended!() => Refused,
        },
        E::ReturnCompleted => match state {
            S::ReturnPending => To(S::Returned),
            S::Returned => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | S::LeaseActive
            | waiting!()
            | S::Cancelled
            | S::Expired
            | S::IdentityFailed
            | S::QualificationFailed => Refused,
        },
        E::StockFreed => match state {
            S::WaitlistedAfterProfile => To(S::IdentityRequired),
            S::WaitlistedAfterDeposit => To(S::RecurringPaymentMethodPending),
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | S::WaitlistedLocation
            | ended!() => Refused,
        },
        E::AreaWidened => match state {
            S::WaitlistedLocation => To(S::IdentityRequired),
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | S::WaitlistedAfterProfile
            | S::WaitlistedAfterDeposit
            | ended!() => Refused,
        },
        E::Cancelled => match state {
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | S::OrderConfirmed
            | S::AddendumsPending
            | S::FulfillmentException
            | waiting!() => To(S::Cancelled),
            S::Cancelled => AlreadyApplied,
            // Goods on their way or in use come back by a return.
            S::Shipped
            | leased!()
            | S::Returned
            | S::Expired
            | S::IdentityFailed
            | S::QualificationFailed => Refused,
        },
        E::Expired => match state {
            opening!()
            | identifying!()
            | S::QualificationPending
            | choosing!()
            | depositing!()
            | S::RecurringPaymentMethodPending
            | waiting!() => To(S::Expired),
            S::Expired => AlreadyApplied,
            signing!()
            | fulfilling!()
            | leased!()
            | S::Returned
            | S::Cancelled
            | S::IdentityFailed
            | S::QualificationFailed => Refused,
        },
        E::SteppedBackToProfile => match state {
            S::ShippingAddressPending | S::PickupLocationPending => To(S::ProfilePending),
            S::ProfilePending => AlreadyApplied,
            S::Created
            | identifying!()
            | S::QualificationPending
            | S::LeaseReviewPending
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => Refused,
        },
        E::SteppedBackToAddress => match state {
            S::LeaseReviewPending => To(S::ShippingAddressPending),
            S::ShippingAddressPending => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | S::PickupLocationPending
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => Refused,
        },
        E::SteppedBackToPickup => match state {
            S::LeaseReviewPending => To(S::PickupLocationPending),
            S::PickupLocationPending => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | S::ShippingAddressPending
            | depositing!()
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => Refused,
        },
        E::SteppedBackToReview => match state {
            S::DepositPending | S::DepositFailed => To(S::LeaseReviewPending),
            S::LeaseReviewPending => AlreadyApplied,
            opening!()
            | identifying!()
            | S::QualificationPending
            | S::ShippingAddressPending
            | S::PickupLocationPending
            | S::DepositProcessing
            | S::RecurringPaymentMethodPending
            | signing!()
            | fulfilling!()
            | leased!()
            | waiting!()
            | ended!() => Refused,
        },
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
            Move::AlreadyApplied | Move::Refused => None,
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
            assert_eq!(arrows_from(*state).count(), 0, "{state}");
        }
    }

    #[test]
    fn a_replay_right_after_the_move_changes_nothing_or_is_refused() {
        // What was applied is never applied a second time, except moves that only record.
        for arrow in arrows().filter(|arrow| arrow.to != arrow.from) {
            let again = transition(arrow.to, arrow.event);
            let resumes = matches!(again, Move::To(_));
            // StockFreed, SteppedBack… and AuthorizationLapsed lead to states with the same arrow.
            let chained = matches!(
                (arrow.from, arrow.event),
                (
                    Lifecycle::WaitlistedAfterDeposit,
                    EventKind::AuthorizationLapsed
                ) | (Lifecycle::FulfillmentException, EventKind::Delivered)
            );
            assert!(!resumes || chained, "{arrow:?} again gives {again:?}");
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
        assert_eq!(
            moves(Lifecycle::OrderConfirmed),
            [
                Lifecycle::AddendumsPending,
                Lifecycle::Shipped,
                Lifecycle::FulfillmentException,
                Lifecycle::Cancelled
            ]
        );
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
