//! What is held of the deposit, or taken.

use chrono::TimeDelta;

use crate::time::Timestamp;

/// How often a hold of the deposit is taken over by a new one: who has not signed by then is asked
/// for the deposit again.
const MOST_RENEWALS: u8 = 2;
/// How often a bank is asked to renew one hold.
const MOST_REFUSALS: u8 = 2;
/// The pause before a bank that declined is asked a second time.
pub(in crate::checkout) const SECOND_THOUGHTS: TimeDelta = TimeDelta::hours(6);

/// What became of attempts to renew a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Renewals {
    /// How many holds it has taken over, one from the other.
    pub made: u8,
    /// How often the bank declined to renew this one.
    pub refused: u8,
    /// When it declined last.
    pub refused_at: Option<Timestamp>,
    /// Whether the bank said never to ask again.
    pub is_barred: bool,
}

/// What is held on the customer's method until it is captured or let go.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Hold {
    /// The processor's id of the pre-authorization.
    pub payment_intent_id: String,
    /// When it ends unless captured.
    pub expires_at: Timestamp,
    /// How often it was renewed, and refused to be.
    #[cfg_attr(feature = "serde", serde(default))]
    pub renewals: Renewals,
}

impl Hold {
    /// One that was never renewed.
    #[must_use]
    pub fn new(payment_intent_id: impl Into<String>, expires_at: Timestamp) -> Self {
        Self {
            payment_intent_id: payment_intent_id.into(),
            expires_at,
            renewals: Renewals::default(),
        }
    }

    /// Whether the bank may be asked to renew it at that time. Card networks charge for tries
    /// that cannot succeed, and block whoever makes many.
    #[must_use]
    pub fn is_renewable(&self, at: Timestamp) -> bool {
        let Renewals {
            made,
            refused,
            refused_at,
            is_barred,
        } = self.renewals;
        !is_barred
            && made < MOST_RENEWALS
            && refused < MOST_REFUSALS
            && self.expires_at > at
            && refused_at.is_none_or(|refused| at.signed_duration_since(refused) >= SECOND_THOUGHTS)
    }
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
