//! What has to be done after a move.

use crate::names::named_enum;

named_enum! {
    /// Work that is written down with the change that asks for it and carried out
    /// afterwards: at least once, in order for each subject. All but the last is a provider's.
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
        /// Let go of an authorized deposit.
        VoidDeposit = "voidDeposit",
        /// Prepare the lease for signature.
        PrepareDocuments = "prepareDocuments",
        /// Capture the authorized deposit.
        CaptureDeposit = "captureDeposit",
        /// Pay a captured deposit back.
        RefundDeposit = "refundDeposit",
        /// Start the recurring subscription: exactly one for each checkout.
        CreateSubscription = "createSubscription",
        /// End the recurring subscription.
        CancelSubscription = "cancelSubscription",
        /// Let those that wait for a variant go on.
        PromoteWaiting = "promoteWaiting",
    }
}
