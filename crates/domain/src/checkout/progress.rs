//! How far a checkout is, as people see it.

use super::parts::Attention;
use super::snapshot::Checkout;
use super::state::{Lifecycle, Phase};
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
    /// Why a person must look at it; nothing when nobody must.
    pub attention: Vec<Attention>,
    /// Whether the customer can go a step back.
    pub can_go_back: bool,
    /// From the confirmed order on.
    pub milestones: Option<Vec<Milestone>>,
}

impl Progress {
    /// Whether a person must look at it.
    #[must_use]
    pub const fn needs_attention(&self) -> bool {
        !self.attention.is_empty()
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
            percentage: reached.percentage(),
            total_steps: STEPS,
            is_waitlisted: state.is_waitlisted(),
            is_failed: state.is_failed(),
            is_terminal: state.is_ended(),
            attention: self.attention.clone(),
            can_go_back: state.goes_back(),
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
