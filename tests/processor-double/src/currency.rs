//! Which amounts of which currency can be charged.

use crate::error::ApiError;

/// "The API supports three-decimal currencies for the standard payment flows, including
/// Payment Intents, Refunds, and Disputes. However, to ensure compatibility with Stripe's
/// payments partners, these API calls require the least-significant (last) digit to be 0."
const THREE_DECIMALS: &[&str] = &["bhd", "jod", "kwd", "omr", "tnd"];

/// "Currency ISK has become effectively zero-decimal and charged amounts must be evenly
/// divisible by 100." The same holds of UGX: "To maintain backwards compatibility, you
/// must pass in amounts with two decimals."
const WHOLE_HUNDREDS: &[&str] = &["isk", "ugx"];

/// "The amount value supports up to eight digits (e.g., a value of 99999999 for a USD
/// charge of $999,999.99)."
const MOST: i64 = 99_999_999;

/// The least that is charged, by the table "Minimum and maximum charge amounts": "The
/// minimum amount is $0.50 US or equivalent in charge currency". What is not in the table
/// depends on the day's rates; there it is the smallest amount that can be written.
const LEAST: &[(&str, i64)] = &[
    ("aed", 200),
    ("aud", 50),
    ("bgn", 100),
    ("brl", 50),
    ("cad", 50),
    ("chf", 50),
    ("czk", 1_500),
    ("dkk", 250),
    ("eur", 50),
    ("gbp", 30),
    ("hkd", 400),
    ("huf", 17_500),
    ("inr", 50),
    ("jpy", 50),
    ("mxn", 1_000),
    ("myr", 200),
    ("nok", 300),
    ("nzd", 50),
    ("pln", 200),
    ("ron", 200),
    ("sek", 300),
    ("sgd", 50),
    ("thb", 1_000),
    ("usd", 50),
];

/// Whether the amount can be charged.
///
/// # Errors
/// Why it cannot.
pub(crate) fn chargeable(param: &str, amount: i64, currency: &str) -> Result<(), ApiError> {
    let least = LEAST
        .iter()
        .find(|(known, _)| *known == currency)
        .map_or(1, |(_, least)| *least);
    if amount < least {
        let message = format!("Amount must be at least {least} {currency}.");
        return Err(ApiError::parameter(
            Some("amount_too_small"),
            param,
            &message,
        ));
    }
    written(param, amount, currency)
}

/// Whether the amount can be written in the currency at all: it has not too many digits,
/// and ends as amounts of the currency do.
///
/// # Errors
/// Why it cannot.
pub(crate) fn written(param: &str, amount: i64, currency: &str) -> Result<(), ApiError> {
    if amount > MOST {
        let message = format!("Amount must be no more than {MOST}.");
        return Err(ApiError::parameter(
            Some("amount_too_large"),
            param,
            &message,
        ));
    }
    let (step, code) = if THREE_DECIMALS.contains(&currency) {
        (10, "invalid_charge_amount")
    } else if WHOLE_HUNDREDS.contains(&currency) {
        (100, "invalid_charge_amount_no_decimal_compatible")
    } else {
        (1, "")
    };
    if amount % step == 0 {
        return Ok(());
    }
    let message = format!(
        "Invalid amount. Amounts in {} must be evenly divisible by {step}.",
        currency.to_uppercase()
    );
    Err(ApiError::parameter(Some(code), param, &message))
}

/// "This value must be greater than or equal to 1": of amounts that are no amounts.
pub(crate) fn at_least_one(param: &str) -> ApiError {
    ApiError::parameter(
        Some("parameter_invalid_integer"),
        param,
        "This value must be greater than or equal to 1.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_a_least_a_most_and_a_last_digit() {
        for (amount, currency, code) in [
            (50, "usd", None),
            (49, "usd", Some("amount_too_small")),
            (29, "gbp", Some("amount_too_small")),
            (49, "jpy", Some("amount_too_small")),
            (99_999_999, "usd", None),
            (100_000_000, "usd", Some("amount_too_large")),
            (52_260, "kwd", None),
            (52_261, "kwd", Some("invalid_charge_amount")),
            (1_005, "tnd", Some("invalid_charge_amount")),
            (500, "isk", None),
            (
                550,
                "isk",
                Some("invalid_charge_amount_no_decimal_compatible"),
            ),
        ] {
            let refused = chargeable("amount", amount, currency).err();
            let said = refused
                .as_ref()
                .and_then(|error| error.members["code"].as_str());
            assert_eq!(said, code, "{amount} {currency}");
        }
    }
}
