//! What has to be done after a move.

use crate::names::named_enum;

named_enum! {
    /// Work that is written down with the change that asks for it and carried out
    /// afterwards: at least once, in order for each subject. All but the last is a provider's, or asked of
    /// the organization.
    pub enum Effect {
        /// Make the product known to the processor.
        PushProduct = "pushProduct",
        /// Make the variant and its prices known to the processor.
        PushVariant = "pushVariant",
        /// Make the customer known to the processor.
        PushCustomer = "pushCustomer",
        /// Open an identity verification session.
        StartIdentityVerification = "startIdentityVerification",
        /// Ask the verifier what it decided.
        FetchIdentityResult = "fetchIdentityResult",
        /// Check the customer's credit.
        CheckCredit = "checkCredit",
        /// Authorize the deposit, to be captured later.
        AuthorizeDeposit = "authorizeDeposit",
        /// Authorize the deposit anew before the old authorization lapses.
        RenewDeposit = "renewDeposit",
        /// Ask the processor what became of the deposit's authorization.
        CheckDeposit = "checkDeposit",
        /// Let go of every authorization that the checkout has no use for, and pay back those that
        /// were captured meanwhile.
        VoidDeposit = "voidDeposit",
        /// Ask the processor what became of the customer's sessions on its own pages.
        CheckSessions = "checkSessions",
        /// Prepare the lease for signature.
        PrepareDocuments = "prepareDocuments",
        /// Ask the organization's signer to have the lease signed.
        RequestSignature = "requestSignature",
        /// Capture the authorized deposit.
        CaptureDeposit = "captureDeposit",
        /// Pay a captured deposit back.
        RefundDeposit = "refundDeposit",
        /// Start the recurring subscription: never a second one while one runs.
        CreateSubscription = "createSubscription",
        /// Ask the processor how the subscription stands, and what was paid.
        CheckSubscription = "checkSubscription",
        /// Pay the subscription's open invoices with the customer's method.
        PayInvoices = "payInvoices",
        /// End the recurring subscription.
        CancelSubscription = "cancelSubscription",
        /// Pay back what the subscription took for a lease that never was.
        RefundPayments = "refundPayments",
        /// Let those that wait for a variant go on.
        PromoteWaiting = "promoteWaiting",
    }
}

impl Effect {
    /// Whether it only lets go of what was made, asks, or tells how things are by now. Such work does
    /// not wait behind work of the same subject that was given up: nobody's money is kept because
    /// something else failed.
    #[must_use]
    pub const fn passes_dead(self) -> bool {
        self.only_asks()
            || matches!(
                self,
                Self::VoidDeposit
                    | Self::RefundDeposit
                    | Self::CancelSubscription
                    | Self::RefundPayments
                    | Self::PushProduct
                    | Self::PushVariant
                    | Self::PushCustomer
            )
    }

    /// Whether nothing of the same subject waits for it, however long nobody answers: what is signed
    /// elsewhere keeps no deposit from being renewed or released.
    #[must_use]
    pub const fn holds_nothing_up(self) -> bool {
        matches!(self, Self::RequestSignature)
    }

    /// Whether a system of the organization is asked, as events are delivered to one.
    #[must_use]
    pub const fn asks_organization(self) -> bool {
        matches!(self, Self::CheckCredit | Self::RequestSignature)
    }

    /// Whether it only asks how things are: it is never given up for want of an answer.
    #[must_use]
    pub const fn only_asks(self) -> bool {
        matches!(
            self,
            Self::FetchIdentityResult
                | Self::CheckDeposit
                | Self::CheckSessions
                | Self::CheckSubscription
        )
    }
}
