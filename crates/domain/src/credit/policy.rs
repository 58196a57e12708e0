//! How an organization decides.

use super::rules::CreditRules;
use crate::access::Mode;
use crate::endpoint::Endpoint;
use crate::names::named_enum;

named_enum! {
    /// The ways to decide.
    pub enum CreditKind {
        /// Somebody of the organization decides.
        Manual = "manual",
        /// A system of the organization is asked.
        Http = "http",
        /// Limits that the organization keeps here.
        Rules = "rules",
        /// Nobody decides: the organization carries the risk.
        None = "none",
        /// The checker of the sandbox, by the customer's e-mail address.
        Simulated = "simulated",
    }
}

/// How an organization decides in a mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreditPolicy {
    /// [`CreditKind::Manual`].
    Manual,
    /// [`CreditKind::Http`].
    Http(Endpoint),
    /// [`CreditKind::Rules`].
    Rules(CreditRules),
    /// [`CreditKind::None`].
    None,
    /// [`CreditKind::Simulated`].
    Simulated,
}

impl CreditPolicy {
    /// How an organization decides that has said nothing of it.
    #[must_use]
    pub const fn default_of(mode: Mode) -> Self {
        match mode {
            Mode::Live => Self::Manual,
            Mode::Sandbox => Self::Simulated,
        }
    }

    /// Which way it is.
    #[must_use]
    pub const fn kind(&self) -> CreditKind {
        match self {
            Self::Manual => CreditKind::Manual,
            Self::Http(_) => CreditKind::Http,
            Self::Rules(_) => CreditKind::Rules,
            Self::None => CreditKind::None,
            Self::Simulated => CreditKind::Simulated,
        }
    }
}
