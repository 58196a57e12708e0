//! Decisions about credit.

use chrono::TimeDelta;
use lessor_domain::credit::Qualification;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::services::qualifications::QualifyCheckout;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::request::{List, Plain};
use crate::wire::{AdverseReason, CreditDecision, DateTimeText, Line, QualificationSource, Time};

/// Why credit is refused.
type Reasons = List<AdverseReason, 4>;

/// Whether the organization leases to the customer.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = QualifyCheckout)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct QualifyCheckoutBody {
    /// What is decided.
    decision: CreditDecision,
    /// Why it is declined, each once: the customer is told.
    reasons: Option<Reasons>,
    /// What you know the decision by.
    reference: Option<Line>,
    /// When an approval ceases to hold for further leases; 90 days from now, unless the operator has
    /// set something else.
    expires_at: Option<Time>,
}

impl QualifyCheckoutBody {
    /// What the body asks of the checkout; an approval of which it says nothing else holds for so long.
    pub(super) fn command(self, id: CheckoutPubId, holds_for: TimeDelta) -> QualifyCheckout {
        let reasons = self.reasons.unwrap_or_default();
        QualifyCheckout {
            id,
            decision: self.decision.plain(),
            reasons: reasons.into_iter().map(Plain::plain).collect(),
            reference: self.reference.plain(),
            expires_at: self.expires_at.plain(),
            holds_for,
        }
    }
}

/// What was decided about the customer's credit.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Qualification)]
#[serde(rename_all = "camelCase")]
pub(super) struct QualificationRecord {
    /// What was decided.
    decision: CreditDecision,
    /// Why it was declined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<AdverseReason>,
    /// What the organization knows the decision by.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// When.
    decided_at: DateTimeText,
    /// When the approval ceases to hold for further leases.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<DateTimeText>,
    /// Who or what decided.
    source: QualificationSource,
}

impl From<&Qualification> for QualificationRecord {
    fn from(made: &Qualification) -> Self {
        Self {
            decision: made.decision.into(),
            reasons: made.reasons.iter().copied().map(Into::into).collect(),
            reference: made.reference.as_ref().map(ToString::to_string),
            decided_at: made.decided_at.into(),
            expires_at: made.expires_at.map(Into::into),
            source: made.source.into(),
        }
    }
}
