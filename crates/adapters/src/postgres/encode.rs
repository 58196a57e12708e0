//! From what the domain means to what columns hold.

use std::fmt::Display;

use bigdecimal::BigDecimal;
use lessor_domain::percentage::{AnnualRate, MoneyFactor, Percentage};

/// A text.
pub(super) fn text(value: &impl Display) -> String {
    value.to_string()
}

/// A text that may be missing.
pub(super) fn text_if<T: Display>(value: Option<&T>) -> Option<String> {
    value.map(T::to_string)
}

/// Texts.
pub(super) fn texts<T: Display>(values: &[T]) -> Vec<String> {
    values.iter().map(T::to_string).collect()
}

fn numeric(units: u32, decimals: u32) -> BigDecimal {
    BigDecimal::new(units.into(), decimals.into())
}

/// A percentage.
pub(super) fn percentage(value: Percentage) -> BigDecimal {
    numeric(value.units(), Percentage::DECIMALS)
}

/// A money factor.
pub(super) fn money_factor(value: MoneyFactor) -> BigDecimal {
    numeric(value.units(), MoneyFactor::DECIMALS)
}

/// An annual rate.
pub(super) fn annual_rate(value: AnnualRate) -> BigDecimal {
    numeric(value.units(), AnnualRate::DECIMALS)
}

#[cfg(test)]
mod tests {
    use crate::postgres::decode::Place;

    use super::*;

    #[test]
    fn rates_come_back_exactly() {
        let place = Place::new("lease_terms", &"1");
        for text in ["0", "12.5", "99.9999", "100"] {
            let value: Percentage = text.parse().unwrap();
            assert_eq!(
                place.rate::<Percentage>("x", &percentage(value)).unwrap(),
                value
            );
        }
        for text in ["0", "0.00000001", "0.0025", "1"] {
            let value: MoneyFactor = text.parse().unwrap();
            assert_eq!(
                place
                    .rate::<MoneyFactor>("x", &money_factor(value))
                    .unwrap(),
                value
            );
        }
        for text in ["0.000001", "7.9", "100"] {
            let value: AnnualRate = text.parse().unwrap();
            assert_eq!(
                place.rate::<AnnualRate>("x", &annual_rate(value)).unwrap(),
                value
            );
        }
    }

    #[test]
    fn what_does_not_parse_is_named() {
        let error = Place::new("products", &"7")
            .money(1, "???")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("products.currency of 7 holds what it must not"),
            "{error}"
        );
    }
}
