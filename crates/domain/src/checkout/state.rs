//! The states of a checkout and their phases.

use crate::names::named_enum;

named_enum! {
    /// Where a checkout stands.
    pub enum Lifecycle {
        /// Made, not opened by the customer.
        Created = "created",
        /// The customer completes name and address.
        ProfilePending = "profilePending",
        /// The customer has to prove who they are.
        IdentityRequired = "identityRequired",
        /// A verification session is open.
        IdentityVerifying = "identityVerifying",
        /// The verifier decides.
        IdentityProcessing = "identityProcessing",
        /// The credit check runs.
        QualificationPending = "qualificationPending",
        /// The customer says where to ship.
        ShippingAddressPending = "shippingAddressPending",
        /// The customer says where to pick up.
        PickupLocationPending = "pickupLocationPending",
        /// The customer reads the terms of the lease.
        LeaseReviewPending = "leaseReviewPending",
        /// The deposit is to be authorized.
        DepositPending = "depositPending",
        /// The processor authorizes the deposit.
        DepositProcessing = "depositProcessing",
        /// The authorization was refused; the customer may try again.
        DepositFailed = "depositFailed",
        /// The customer names the method of the recurring payments.
        RecurringPaymentMethodPending = "recurringPaymentMethodPending",
        /// The lease is to be signed, then the deposit captured.
        DocumentsPending = "documentsPending",
        /// Signed, but the deposit could not be captured.
        CaptureFailed = "captureFailed",
        /// Signed and paid: the organization can ship.
        OrderConfirmed = "orderConfirmed",
        /// The customer has addendums to sign before goods are shipped.
        AddendumsPending = "addendumsPending",
        /// The goods are on their way.
        Shipped = "shipped",
        /// Something went wrong with the order or the shipment.
        FulfillmentException = "fulfillmentException",
        /// The lease runs.
        LeaseActive = "leaseActive",
        /// The goods are to come back.
        ReturnPending = "returnPending",
        /// The goods came back: the lease has ended.
        Returned = "returned",
        /// Waits for stock or for the product; nothing is paid.
        WaitlistedAfterProfile = "waitlistedAfterProfile",
        /// Waits for stock with an authorized deposit.
        WaitlistedAfterDeposit = "waitlistedAfterDeposit",
        /// Waits until the organization serves the address.
        WaitlistedLocation = "waitlistedLocation",
        /// Called off.
        Cancelled = "cancelled",
        /// Left untouched for too long.
        Expired = "expired",
        /// The verifier refused.
        IdentityFailed = "identityFailed",
        /// The credit check refused.
        QualificationFailed = "qualificationFailed",
    }
}

named_enum! {
    /// The part of the way that a state belongs to.
    pub enum Phase {
        /// Profile, identity, qualification, address, review.
        Application = "application",
        /// Deposit and payment method.
        Payment = "payment",
        /// Signature and capture.
        Documents = "documents",
        /// From the confirmed order to the shipped goods.
        Fulfillment = "fulfillment",
        /// The lease runs.
        Active = "active",
        /// The goods go back.
        Return = "return",
        /// Waiting for stock or service.
        Waitlist = "waitlist",
        /// Ended without a lease.
        Closed = "closed",
    }
}

impl Phase {
    /// The name for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Application => "Application",
            Self::Payment => "Payment",
            Self::Documents => "Documents",
            Self::Fulfillment => "Fulfillment",
            Self::Active => "Active lease",
            Self::Return => "Return",
            Self::Waitlist => "Waitlist",
            Self::Closed => "Closed",
        }
    }
}

impl Lifecycle {
    /// The phase of the state.
    #[must_use]
    pub const fn phase(self) -> Phase {
        match self {
            Self::Created
            | Self::ProfilePending
            | Self::IdentityRequired
            | Self::IdentityVerifying
            | Self::IdentityProcessing
            | Self::QualificationPending
            | Self::ShippingAddressPending
            | Self::PickupLocationPending
            | Self::LeaseReviewPending => Phase::Application,
            Self::DepositPending
            | Self::DepositProcessing
            | Self::DepositFailed
            | Self::RecurringPaymentMethodPending => Phase::Payment,
            Self::DocumentsPending | Self::CaptureFailed => Phase::Documents,
            Self::OrderConfirmed
            | Self::AddendumsPending
            | Self::Shipped
            | Self::FulfillmentException => Phase::Fulfillment,
            Self::LeaseActive => Phase::Active,
            Self::ReturnPending | Self::Returned => Phase::Return,
            Self::WaitlistedAfterProfile
            | Self::WaitlistedAfterDeposit
            | Self::WaitlistedLocation => Phase::Waitlist,
            Self::Cancelled | Self::Expired | Self::IdentityFailed | Self::QualificationFailed => {
                Phase::Closed
            }
        }
    }

    /// Whether the checkout has ended: no event moves it any more, and the same
    /// customer may start another for the same variant and term.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(
            self,
            Self::Returned
                | Self::Cancelled
                | Self::Expired
                | Self::IdentityFailed
                | Self::QualificationFailed
        )
    }

    /// Whether the checkout waits for stock or service.
    #[must_use]
    pub const fn is_waitlisted(self) -> bool {
        matches!(self.phase(), Phase::Waitlist)
    }

    /// Whether something was refused or went wrong.
    #[must_use]
    pub const fn is_failed(self) -> bool {
        matches!(
            self,
            Self::IdentityFailed
                | Self::QualificationFailed
                | Self::DepositFailed
                | Self::CaptureFailed
                | Self::FulfillmentException
        )
    }

    /// Whether the order was confirmed: from here on progress has milestones.
    #[must_use]
    pub const fn is_confirmed(self) -> bool {
        matches!(
            self.phase(),
            Phase::Fulfillment | Phase::Active | Phase::Return
        )
    }

    /// The states of a checkout that meets no obstacle, in order.
    pub const HAPPY_PATH: &'static [Self] = &[
        Self::Created,
        Self::ProfilePending,
        Self::IdentityRequired,
        Self::IdentityVerifying,
        Self::IdentityProcessing,
        Self::QualificationPending,
        Self::ShippingAddressPending,
        Self::LeaseReviewPending,
        Self::DepositPending,
        Self::DepositProcessing,
        Self::RecurringPaymentMethodPending,
        Self::DocumentsPending,
        Self::OrderConfirmed,
        Self::Shipped,
        Self::LeaseActive,
        Self::ReturnPending,
        Self::Returned,
    ];

    /// How far along the way the state is, for comparing two states: states aside
    /// share the place of the one that they are aside of. None for waiting and
    /// closed states, which are on no way.
    #[must_use]
    pub const fn rank(self) -> Option<u8> {
        Some(match self {
            Self::Created => 0,
            Self::ProfilePending => 1,
            Self::IdentityRequired => 2,
            Self::IdentityVerifying => 3,
            Self::IdentityProcessing => 4,
            Self::QualificationPending => 5,
            Self::ShippingAddressPending | Self::PickupLocationPending => 6,
            Self::LeaseReviewPending => 7,
            Self::DepositPending | Self::DepositFailed => 8,
            Self::DepositProcessing => 9,
            Self::RecurringPaymentMethodPending => 10,
            Self::DocumentsPending | Self::CaptureFailed => 11,
            Self::OrderConfirmed | Self::AddendumsPending | Self::FulfillmentException => 12,
            Self::Shipped => 13,
            Self::LeaseActive => 14,
            Self::ReturnPending => 15,
            Self::Returned => 16,
            Self::WaitlistedAfterProfile
            | Self::WaitlistedAfterDeposit
            | Self::WaitlistedLocation
            | Self::Cancelled
            | Self::Expired
            | Self::IdentityFailed
            | Self::QualificationFailed => return None,
        })
    }
}
