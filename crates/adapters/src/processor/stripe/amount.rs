//! Amounts in the processor's minor units, which differ from ISO 4217's for some
//! currencies (<https://docs.stripe.com/currencies>).

use lessor_domain::money::{Currency, Money};

/// Currencies without a minor unit that the processor counts in hundredths all
/// the same.
const HUNDREDTHS: &[&str] = &["ISK", "UGX"];
/// Currencies with a minor unit that the processor counts in whole units.
const WHOLE: &[&str] = &["MGA"];

/// The amount in the processor's units; nothing when it cannot be written in them.
///
/// Amounts of currencies with three decimals have to end in 0 there.
#[must_use]
pub(super) fn to_processor(money: Money) -> Option<i64> {
    let code = money.currency().code();
    if HUNDREDTHS.contains(&code) {
        money.minor().checked_mul(100)
    } else if WHOLE.contains(&code) {
        (money.minor() % 100 == 0).then_some(money.minor() / 100)
    } else if money.currency().digits() == 3 {
        (money.minor() % 10 == 0).then_some(money.minor())
    } else {
        Some(money.minor())
    }
}

/// The money that the processor's units of a currency are; nothing when they are
/// none of the currency's.
#[must_use]
pub(super) fn from_processor(units: i64, currency: &str) -> Option<Money> {
    let currency: Currency = currency.parse().ok()?;
    let minor = if HUNDREDTHS.contains(&currency.code()) {
        (units % 100 == 0).then_some(units / 100)?
    } else if WHOLE.contains(&currency.code()) {
        units.checked_mul(100)?
    } else {
        units
    };
    Some(Money::from_minor(minor, currency))
}

/// The currency as the processor writes it.
pub(super) fn code(currency: Currency) -> String {
    currency.code().to_ascii_lowercase()
}
