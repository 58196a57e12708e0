//! What is held of the deposit, or taken.

use crate::time::Timestamp;

/// What is held on the customer's method until it is captured or let go.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Hold {
    /// The processor's id of the pre-authorization.
    pub payment_intent_id: String,
    /// When it ends unless captured.
    pub expires_at: Timestamp,
}

/// The deposit, and whatever is bought along.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        tag = "state",
        rename_all = "camelCase",
        rename_all_fields = "camelCase"
    )
)]
pub enum Deposit {
    /// Nothing is held: it was not submitted yet, was refused, or has lapsed.
    #[default]
    Open,
    /// Nothing is due, so that no processor is asked.
    Waived,
    /// It is held on the customer's method.
    Authorized {
        /// What is held.
        hold: Hold,
    },
    /// It is taken.
    Captured {
        /// What was held.
        hold: Hold,
        /// The processor's id of the invoice or charge.
        invoice_id: String,
        /// When it was taken.
        at: Timestamp,
    },
}

impl Deposit {
    /// From an authorization, which holds nothing when nothing is due.
    pub(in crate::checkout) fn authorized(hold: Option<Hold>) -> Self {
        hold.map_or(Self::Waived, |hold| Self::Authorized { hold })
    }

    /// What is or was held.
    #[must_use]
    pub const fn hold(&self) -> Option<&Hold> {
        match self {
            Self::Open | Self::Waived => None,
            Self::Authorized { hold } | Self::Captured { hold, .. } => Some(hold),
        }
    }

    /// What is held now: it lapses unless it is captured or let go.
    #[must_use]
    pub const fn open_hold(&self) -> Option<&Hold> {
        match self {
            Self::Authorized { hold } => Some(hold),
            Self::Open | Self::Waived | Self::Captured { .. } => None,
        }
    }

    /// The processor's id of the pre-authorization.
    #[must_use]
    pub fn payment_intent_id(&self) -> Option<&str> {
        self.hold().map(|hold| hold.payment_intent_id.as_str())
    }

    /// The processor's id of the captured deposit's invoice or charge.
    #[must_use]
    pub fn invoice_id(&self) -> Option<&str> {
        match self {
            Self::Captured { invoice_id, .. } => Some(invoice_id),
            Self::Open | Self::Waived | Self::Authorized { .. } => None,
        }
    }

    /// When it was captured.
    #[must_use]
    pub const fn captured_at(&self) -> Option<Timestamp> {
        match self {
            Self::Captured { at, .. } => Some(*at),
            Self::Open | Self::Waived | Self::Authorized { .. } => None,
        }
    }

    /// Whether the customer owes no deposit any more: it is taken, or nothing was due.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        matches!(self, Self::Waived | Self::Captured { .. })
    }
}
