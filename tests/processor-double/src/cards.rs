//! The test cards, by the names that the processor's test mode has for them.

use serde_json::{Value, json};

use crate::error::ApiError;

/// Why a card is declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decline {
    /// Such as `card_declined`.
    pub code: &'static str,
    /// Such as `insufficient_funds`.
    pub decline_code: Option<&'static str>,
    /// What it says to people.
    pub message: &'static str,
}

impl Decline {
    /// No reason given.
    pub const GENERIC: Self = Self::because("generic_decline", "Your card was declined.");
    /// Not enough money.
    pub const INSUFFICIENT_FUNDS: Self =
        Self::because("insufficient_funds", "Your card has insufficient funds.");
    /// The card was lost.
    pub const LOST: Self = Self::because("lost_card", "Your card was declined.");
    /// The card was stolen.
    pub const STOLEN: Self = Self::because("stolen_card", "Your card was declined.");
    /// The card has expired.
    pub const EXPIRED: Self = Self::coded("expired_card", "Your card has expired.");
    /// The check code is wrong.
    pub const INCORRECT_CVC: Self =
        Self::coded("incorrect_cvc", "Your card's security code is incorrect.");
    /// The network could not say.
    pub const PROCESSING_ERROR: Self = Self::coded(
        "processing_error",
        "An error occurred while processing your card. Try again in a little bit.",
    );
    /// The bank wants the customer to authenticate, and they are not there.
    pub const AUTHENTICATION_REQUIRED: Self = Self {
        code: "authentication_required",
        decline_code: Some("authentication_required"),
        message: "Your card was declined. This transaction requires authentication.",
    };

    const fn because(decline_code: &'static str, message: &'static str) -> Self {
        Self {
            code: "card_declined",
            decline_code: Some(decline_code),
            message,
        }
    }

    const fn coded(code: &'static str, message: &'static str) -> Self {
        Self {
            code,
            decline_code: None,
            message,
        }
    }

    /// The decline of this name, as it is called over HTTP.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "generic_decline" => Self::GENERIC,
            "insufficient_funds" => Self::INSUFFICIENT_FUNDS,
            "lost_card" => Self::LOST,
            "stolen_card" => Self::STOLEN,
            "expired_card" => Self::EXPIRED,
            "incorrect_cvc" => Self::INCORRECT_CVC,
            "processing_error" => Self::PROCESSING_ERROR,
            "authentication_required" => Self::AUTHENTICATION_REQUIRED,
            _ => return None,
        })
    }

    pub(crate) fn error(self) -> ApiError {
        ApiError::card(self.code, self.decline_code, self.message)
    }

    /// The member `last_payment_error`.
    pub(crate) fn member(self) -> Value {
        self.error().members
    }
}

/// What becomes of a use of the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It works.
    Works,
    /// It is declined.
    Declined(Decline),
    /// It works once the customer has authenticated.
    Authenticate,
}

/// A card.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Card {
    pub(crate) brand: &'static str,
    pub(crate) last4: &'static str,
    /// When it is set up for later.
    pub(crate) setup: Use,
    /// When it is charged.
    pub(crate) charge: Use,
    /// Whether its holder contests what was charged.
    pub(crate) contested: bool,
}

const fn good(brand: &'static str, last4: &'static str) -> Card {
    Card {
        brand,
        last4,
        setup: Use::Works,
        charge: Use::Works,
        contested: false,
    }
}

const fn bad(last4: &'static str, decline: Decline) -> Card {
    Card {
        setup: Use::Declined(decline),
        charge: Use::Declined(decline),
        ..good("visa", last4)
    }
}

/// The card that the test mode has under this name.
pub(crate) fn named(name: &str) -> Option<Card> {
    Some(match name {
        "pm_card_visa" => good("visa", "4242"),
        "pm_card_visa_debit" => good("visa", "5556"),
        "pm_card_mastercard" => good("mastercard", "4444"),
        "pm_card_amex" => good("amex", "8431"),
        "pm_card_discover" => good("discover", "1117"),
        "pm_card_chargeDeclined" | "pm_card_visa_chargeDeclined" => bad("0002", Decline::GENERIC),
        "pm_card_chargeDeclinedInsufficientFunds"
        | "pm_card_visa_chargeDeclinedInsufficientFunds" => {
            bad("9995", Decline::INSUFFICIENT_FUNDS)
        }
        "pm_card_visa_chargeDeclinedLostCard" => bad("9987", Decline::LOST),
        "pm_card_visa_chargeDeclinedStolenCard" => bad("9979", Decline::STOLEN),
        "pm_card_chargeDeclinedExpiredCard" => bad("0069", Decline::EXPIRED),
        "pm_card_chargeDeclinedIncorrectCvc" => bad("0127", Decline::INCORRECT_CVC),
        "pm_card_chargeDeclinedProcessingError" => bad("0119", Decline::PROCESSING_ERROR),
        "pm_card_chargeCustomerFail" => Card {
            charge: Use::Declined(Decline::GENERIC),
            ..good("visa", "0341")
        },
        "pm_card_authenticationRequired" => Card {
            setup: Use::Authenticate,
            charge: Use::Authenticate,
            ..good("visa", "3184")
        },
        "pm_card_authenticationRequiredOnSetup" => Card {
            setup: Use::Authenticate,
            charge: Use::Authenticate,
            ..good("visa", "3155")
        },
        "pm_card_createDispute" => Card {
            contested: true,
            ..good("visa", "0259")
        },
        _ => return None,
    })
}

impl Card {
    /// The member `card` of a payment method.
    pub(crate) fn member(self) -> Value {
        json!({
            "brand": self.brand,
            "checks": { "address_line1_check": null, "address_postal_code_check": null, "cvc_check": "pass" },
            "country": "US",
            "display_brand": self.brand,
            "exp_month": 8,
            "exp_year": 2034,
            "fingerprint": format!("fp{}", self.last4),
            "funding": "credit",
            "generated_from": null,
            "last4": self.last4,
            "networks": { "available": [self.brand], "preferred": null },
            "three_d_secure_usage": { "supported": true },
            "wallet": null
        })
    }
}
