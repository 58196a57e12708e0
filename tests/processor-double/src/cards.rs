//! The test cards, by the names that the processor's test mode has for them.

use serde_json::{Value, json};

use crate::error::ApiError;

/// Why a card is declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decline {
    /// Such as `card_declined`.
    pub code: &'static str,
    /// "For card errors resulting from a card issuer decline, a short string indicating the
    /// card issuer's reason for the decline if they provide one": such as
    /// `insufficient_funds`.
    pub decline_code: Option<&'static str>,
    /// "For card errors resulting from a card issuer decline, a short string indicating how to
    /// proceed with an error if they provide one": `try_again_later`, `do_not_try_again` or
    /// `confirm_card_data`.
    pub advice_code: Option<&'static str>,
    /// What it says to people.
    pub message: &'static str,
}

const LATER: Option<&str> = Some("try_again_later");
const NEVER: Option<&str> = Some("do_not_try_again");
const CONFIRM: Option<&str> = Some("confirm_card_data");
/// What is said of a card whose issuer does not want more to be said.
const DECLINED: &str = "Your card was declined.";

impl Decline {
    /// No reason given.
    pub const GENERIC: Self = Self::because("generic_decline", None, DECLINED);
    /// Not enough money: soft, tomorrow it may work.
    pub const INSUFFICIENT_FUNDS: Self = Self::because(
        "insufficient_funds",
        LATER,
        "Your card has insufficient funds.",
    );
    /// The issuer says no, and may say yes tomorrow.
    pub const DO_NOT_HONOR: Self = Self::because("do_not_honor", LATER, DECLINED);
    /// The issuer could not say now.
    pub const TRY_AGAIN_LATER: Self = Self::because("try_again_later", LATER, DECLINED);
    /// The card was lost: hard, it will never work again.
    pub const LOST: Self = Self::because("lost_card", NEVER, DECLINED);
    /// The card was stolen: hard.
    pub const STOLEN: Self = Self::because("stolen_card", NEVER, DECLINED);
    /// The card is to be taken away: hard.
    pub const PICKUP: Self = Self::because("pickup_card", NEVER, DECLINED);
    /// The holder told their bank to pay no more of these: hard.
    pub const REVOKED: Self = Self::because("revocation_of_authorization", NEVER, DECLINED);
    /// The card has expired.
    pub const EXPIRED: Self = Self::coded("expired_card", CONFIRM, "Your card has expired.");
    /// The check code is wrong.
    pub const INCORRECT_CVC: Self = Self::coded(
        "incorrect_cvc",
        CONFIRM,
        "Your card's security code is incorrect.",
    );
    /// The network could not say.
    pub const PROCESSING_ERROR: Self = Self::coded(
        "processing_error",
        LATER,
        "An error occurred while processing your card. Try again in a little bit.",
    );
    /// The bank wants the customer to authenticate, and they are not there.
    pub const AUTHENTICATION_REQUIRED: Self = Self {
        code: "authentication_required",
        decline_code: Some("authentication_required"),
        advice_code: None,
        message: "Your card was declined. This transaction requires authentication.",
    };
    /// The customer did not authenticate, or failed to.
    pub(crate) const NOT_AUTHENTICATED: Self = Self {
        code: "payment_intent_authentication_failure",
        decline_code: None,
        advice_code: None,
        message: "We are unable to authenticate your payment method. Please choose a different \
                  payment method and try again.",
    };

    const ALL: [Self; 12] = [
        Self::GENERIC,
        Self::INSUFFICIENT_FUNDS,
        Self::DO_NOT_HONOR,
        Self::TRY_AGAIN_LATER,
        Self::LOST,
        Self::STOLEN,
        Self::PICKUP,
        Self::REVOKED,
        Self::EXPIRED,
        Self::INCORRECT_CVC,
        Self::PROCESSING_ERROR,
        Self::AUTHENTICATION_REQUIRED,
    ];

    const fn because(
        decline_code: &'static str,
        advice_code: Option<&'static str>,
        message: &'static str,
    ) -> Self {
        Self {
            code: "card_declined",
            decline_code: Some(decline_code),
            advice_code,
            message,
        }
    }

    const fn coded(
        code: &'static str,
        advice_code: Option<&'static str>,
        message: &'static str,
    ) -> Self {
        Self {
            code,
            decline_code: None,
            advice_code,
            message,
        }
    }

    /// The decline of this name, as it is called over HTTP.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|decline| decline.decline_code.unwrap_or(decline.code) == name)
    }

    /// Whether the processor charges the card by itself no more: "Stripe doesn't retry
    /// payments for: Failures where the issuer provided a non-retryable decline code."
    #[must_use]
    pub fn is_hard(self) -> bool {
        self.decline_code.is_some_and(is_hard)
    }

    pub(crate) fn error(self) -> ApiError {
        let error = ApiError::card(self.code, self.decline_code, self.message);
        match self.advice_code {
            Some(advice) => error.with("advice_code", advice.into()),
            None => error,
        }
    }

    /// The member `last_payment_error`.
    pub(crate) fn member(self) -> Value {
        self.error().members
    }
}

/// Whether a decline with this `decline_code` is one for good.
pub(crate) fn is_hard(decline_code: &str) -> bool {
    matches!(
        decline_code,
        "authentication_required"
            | "highest_risk_level"
            | "incorrect_number"
            | "lost_card"
            | "pickup_card"
            | "revocation_of_all_authorizations"
            | "revocation_of_authorization"
            | "stolen_card"
            | "transaction_not_allowed"
    )
}

/// When a card is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Occasion {
    /// The customer is not there: renewals of holds and monthly payments.
    OffSession,
    /// Money is to be held, not taken.
    Hold,
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
    /// When it is charged while the customer is not there, if that makes a difference.
    pub(crate) off_session: Option<Use>,
    /// When money is held on it, if that makes a difference.
    pub(crate) hold: Option<Use>,
    /// Whether it works while the customer is not there once it was set up with them.
    pub(crate) learns: bool,
    /// Whether its holder contests what was charged.
    pub(crate) contested: bool,
}

const fn good(brand: &'static str, last4: &'static str) -> Card {
    Card {
        brand,
        last4,
        setup: Use::Works,
        charge: Use::Works,
        off_session: None,
        hold: None,
        learns: false,
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
            // "This card requires authentication for off-session payments unless you set it up for
            // future payments. After you set it up, off-session payments no longer require
            // authentication. However, on-session payments with this card always require
            // authentication."
            learns: true,
            ..good("visa", "3155")
        },
        // No name of the processor's: its banks do this to any card that works at first.
        "pm_card_authenticationRequiredOffSession" => Card {
            off_session: Some(Use::Authenticate),
            ..good("visa", "3220")
        },
        "pm_card_createDispute" => Card {
            contested: true,
            ..good("visa", "0259")
        },
        _ => return None,
    })
}

impl Card {
    /// What becomes of charging it on this occasion: what is true of all charges first.
    pub(crate) fn charged(self, off_session: bool, hold: bool) -> Use {
        let special = [
            self.hold.filter(|_| hold),
            self.off_session.filter(|_| off_session),
        ];
        match self.charge {
            Use::Works => special.into_iter().flatten().next().unwrap_or(Use::Works),
            Use::Authenticate if special.contains(&Some(Use::Works)) => Use::Works,
            other => other,
        }
    }

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
