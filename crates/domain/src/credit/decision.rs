//! What was decided about a customer's credit.

use chrono::TimeDelta;
use uuid::Uuid;

use crate::ids::{ApiKeyPubId, CheckoutPubId, CustomerPubId};
use crate::money::Money;
use crate::names::named_enum;
use crate::text::Line;
use crate::time::Timestamp;

/// How long an approval holds, unless whoever decides or the operator says otherwise.
pub const DECISIONS_HOLD: TimeDelta = TimeDelta::days(90);
/// How many reasons a refusal names at most, as 12 CFR 1002.9 has it in its commentary.
pub const MOST_REASONS: usize = 4;

named_enum! {
    /// Whether the organization leases to the customer.
    pub enum CreditDecision {
        /// It does.
        Approved = "approved",
        /// It does not.
        Declined = "declined",
    }
}

named_enum! {
    /// Why credit was refused: the reasons of the sample forms of 12 CFR 1002, appendix C.
    pub enum AdverseReason {
        CreditApplicationIncomplete = "creditApplicationIncomplete",
        InsufficientCreditReferences = "insufficientCreditReferences",
        UnacceptableCreditReferences = "unacceptableCreditReferences",
        UnableToVerifyCreditReferences = "unableToVerifyCreditReferences",
        TemporaryOrIrregularEmployment = "temporaryOrIrregularEmployment",
        UnableToVerifyEmployment = "unableToVerifyEmployment",
        LengthOfEmployment = "lengthOfEmployment",
        IncomeInsufficient = "incomeInsufficient",
        ExcessiveObligations = "excessiveObligations",
        UnableToVerifyIncome = "unableToVerifyIncome",
        LengthOfResidence = "lengthOfResidence",
        TemporaryResidence = "temporaryResidence",
        UnableToVerifyResidence = "unableToVerifyResidence",
        NoCreditFile = "noCreditFile",
        LimitedCreditExperience = "limitedCreditExperience",
        PoorPerformanceWithUs = "poorPerformanceWithUs",
        DelinquentObligations = "delinquentObligations",
        CollectionOrJudgment = "collectionOrJudgment",
        GarnishmentOrAttachment = "garnishmentOrAttachment",
        ForeclosureOrRepossession = "foreclosureOrRepossession",
        Bankruptcy = "bankruptcy",
        RecentInquiries = "recentInquiries",
        CollateralInsufficient = "collateralInsufficient",
        Other = "other",
    }
}

named_enum! {
    /// Who or what decided.
    pub enum QualificationSource {
        /// Somebody of the organization, or a system of it that answered later.
        Organization = "organization",
        /// The organization's endpoint, at once.
        Http = "http",
        /// The organization's own limits.
        Rules = "rules",
        /// Nobody: the organization carries the risk.
        None = "none",
        /// The simulated checker of the sandbox.
        Simulated = "simulated",
    }
}

impl QualificationSource {
    /// Whether a decision of this source holds for later leases too. Whatever decides by itself is
    /// asked every time.
    #[must_use]
    pub const fn holds_for_others(self) -> bool {
        match self {
            Self::Organization | Self::Http => true,
            Self::Rules | Self::None | Self::Simulated => false,
        }
    }
}

/// What was decided about a customer's credit, for one checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qualification {
    pub id: Uuid,
    /// The checkout that it was decided for.
    pub checkout: CheckoutPubId,
    /// Whose credit it is.
    pub customer: CustomerPubId,
    pub decision: CreditDecision,
    pub source: QualificationSource,
    /// The key of whoever decided, where one did.
    pub key: Option<ApiKeyPubId>,
    /// Why it was declined, at most [`MOST_REASONS`]; none of an approval.
    pub reasons: Vec<AdverseReason>,
    /// What the organization knows the decision by.
    pub reference: Option<Line>,
    /// What the lease comes to: all payments, and what is authorized at signing. None where no term
    /// was chosen.
    pub amount: Option<Money>,
    /// The decision that this one rests on, made for another checkout.
    pub rests_on: Option<Uuid>,
    pub decided_at: Timestamp,
    /// When an approval ceases to hold for leases that are not qualified by then.
    pub expires_at: Option<Timestamp>,
    /// When it ceased to count because the person that it was made of changed.
    pub ended_at: Option<Timestamp>,
}

impl Qualification {
    /// Whether it counts: the person is the one that it was made of.
    #[must_use]
    pub const fn counts(&self) -> bool {
        self.ended_at.is_none()
    }

    /// Whether the checkout that it was made for may go on by it at that time.
    #[must_use]
    pub fn lets_go_on(&self, at: Timestamp) -> bool {
        self.counts()
            && self.decision == CreditDecision::Approved
            && self.expires_at.is_none_or(|end| at < end)
    }
}
