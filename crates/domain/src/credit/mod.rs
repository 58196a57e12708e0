//! Credit: how an organization decides whom it leases to, and what was decided.

mod cover;
mod decision;
mod policy;
mod rules;

pub use cover::{Reliance, covering};
pub use decision::{
    AdverseReason, CreditDecision, DECISIONS_HOLD, MOST_REASONS, Qualification, QualificationSource,
};
pub use policy::{CreditKind, CreditPolicy};
pub use rules::{Applicant, CreditRules, Limit, RulesVerdict};
