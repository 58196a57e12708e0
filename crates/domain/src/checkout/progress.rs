//! How far a checkout is, as people see it.

use super::{Checkout, Lifecycle, Phase};
use crate::names::named_enum;
use crate::time::Timestamp;

/// The steps that a customer sees: profile, identity, qualification, address,
/// review, deposit, payment method, documents, confirmation.
pub const STEPS: u8 = 9;

named_enum! {
    /// A milestone after the confirmation.
    pub enum MilestoneName {
        /// The order was confirmed.
        OrderConfirmed = "orderConfirmed",
        /// The goods were shipped.
        Shipped = "shipped",
        /// The goods were delivered.
        Delivered = "delivered",
        /// The lease became active.
        LeaseActive = "leaseActive",
        /// The return began.
        ReturnPending = "returnPending",
        /// The goods came back.
        Returned = "returned",
    }
}

impl MilestoneName {
    /// The name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::OrderConfirmed => "Order confirmed",
            Self::Shipped => "Shipped",
            Self::Delivered => "Delivered",
            Self::LeaseActive => "Lease active",
            Self::ReturnPending => "Return started",
            Self::Returned => "Returned",
        }
    }
}

/// A milestone and when it was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Milestone {
    /// Which.
    pub name: MilestoneName,
    /// When it was reached, if it was.
    pub completed_at: Option<Timestamp>,
}

/// How far a checkout is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Its state.
    pub lifecycle: Lifecycle,
    /// The state's phase.
    pub phase: Phase,
    /// 0 to 100; never falls along the happy path, 100 from the active lease on.
    pub percentage: u8,
    /// How many steps the customer sees in all.
    pub total_steps: u8,
    /// Whether it waits for stock or service.
    pub is_waitlisted: bool,
    /// Whether something was refused or went wrong.
    pub is_failed: bool,
    /// Whether it has ended.
    pub is_terminal: bool,
    /// Whether a person must act.
    pub needs_attention: bool,
    /// Whether the customer can go a step back.
    pub can_go_back: bool,
    /// From the confirmed order on.
    pub milestones: Option<Vec<Milestone>>,
}

const fn percentage(state: Lifecycle) -> u8 {
    match state {
        Lifecycle::Created => 0,
        Lifecycle::ProfilePending => 5,
        Lifecycle::IdentityRequired
        | Lifecycle::WaitlistedAfterProfile
        | Lifecycle::WaitlistedLocation => 12,
        Lifecycle::IdentityVerifying => 16,
        Lifecycle::IdentityProcessing | Lifecycle::IdentityFailed => 20,
        Lifecycle::QualificationPending | Lifecycle::QualificationFailed => 28,
        Lifecycle::ShippingAddressPending | Lifecycle::PickupLocationPending => 38,
        Lifecycle::LeaseReviewPending => 48,
        Lifecycle::DepositPending | Lifecycle::DepositFailed => 56,
        Lifecycle::DepositProcessing => 60,
        Lifecycle::WaitlistedAfterDeposit => 64,
        Lifecycle::RecurringPaymentMethodPending => 66,
        Lifecycle::DocumentsPending | Lifecycle::CaptureFailed => 76,
        Lifecycle::OrderConfirmed
        | Lifecycle::AddendumsPending
        | Lifecycle::FulfillmentException => 88,
        Lifecycle::Shipped => 94,
        Lifecycle::LeaseActive | Lifecycle::ReturnPending | Lifecycle::Returned => 100,
        // How far it had come is the caller's to add.
        Lifecycle::Cancelled | Lifecycle::Expired => 0,
    }
}

impl Checkout {
    /// How far the checkout is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let state = self.lifecycle();
        let reached = match (state, self.previous_lifecycle()) {
            (
                Lifecycle::Cancelled | Lifecycle::Expired | Lifecycle::FulfillmentException,
                Some(before),
            ) => before,
            _ => state,
        };
        Progress {
            lifecycle: state,
            phase: state.phase(),
            percentage: percentage(reached),
            total_steps: STEPS,
            is_waitlisted: state.is_waitlisted(),
            is_failed: state.is_failed(),
            is_terminal: state.is_ended(),
            needs_attention: matches!(
                state,
                Lifecycle::DepositFailed
                    | Lifecycle::CaptureFailed
                    | Lifecycle::FulfillmentException
                    | Lifecycle::AddendumsPending
            ) || self.has_failed_payments(),
            can_go_back: matches!(
                state,
                Lifecycle::ShippingAddressPending
                    | Lifecycle::PickupLocationPending
                    | Lifecycle::LeaseReviewPending
                    | Lifecycle::DepositPending
                    | Lifecycle::DepositFailed
            ),
            milestones: state.is_confirmed().then(|| self.reached_milestones()),
        }
    }

    fn reached_milestones(&self) -> Vec<Milestone> {
        let milestone = |name, completed_at| Milestone { name, completed_at };
        let mut milestones = vec![
            milestone(MilestoneName::OrderConfirmed, self.milestones.confirmed_at),
            milestone(MilestoneName::Shipped, self.shipment.shipped_at),
            milestone(MilestoneName::Delivered, self.shipment.delivered_at),
            milestone(MilestoneName::LeaseActive, self.milestones.active_at),
        ];
        if self.lifecycle().phase() == Phase::Return {
            milestones.push(milestone(
                MilestoneName::ReturnPending,
                self.return_.initiated_at,
            ));
            milestones.push(milestone(
                MilestoneName::Returned,
                self.return_.completed_at,
            ));
        }
        milestones
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentage_never_falls_along_the_happy_path() {
        let path: Vec<u8> = Lifecycle::HAPPY_PATH
            .iter()
            .map(|state| percentage(*state))
            .collect();
        assert!(path.is_sorted(), "{path:?}");
        assert_eq!(path.first(), Some(&0));
        assert_eq!(path.last(), Some(&100));
        assert_eq!(percentage(Lifecycle::LeaseActive), 100);
    }
}
