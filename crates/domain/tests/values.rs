//! Money, percentages, rates and terms: what they accept, refuse and print.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where its own data is wrong"
)]

use std::cmp::Ordering;
use std::fmt::Debug;
use std::str::FromStr;

use lessor_domain::money::{Amount, AmountError, Currency, CurrencyError, Money, MoneyError};
use lessor_domain::percentage::{
    AnnualRate, MoneyFactor, Percentage, RateError, RateFault, TermError, TermMonths,
};
use proptest::prelude::*;
use rust_decimal::Decimal;

fn currency(code: &str) -> Currency {
    code.parse().unwrap()
}

#[test]
fn a_currency_is_read_in_any_case_and_printed_in_upper_case() {
    for (text, code, digits) in [
        ("usd", "USD", 2),
        ("USD", "USD", 2),
        ("Jpy", "JPY", 0),
        ("kwd", "KWD", 3),
        ("clf", "CLF", 4),
    ] {
        let currency = currency(text);
        assert_eq!(
            (currency.code(), currency.digits(), currency.to_string()),
            (code, digits, code.to_owned())
        );
        assert_eq!(format!("{currency:?}"), code);
    }
    assert_eq!(currency("USD"), Currency::USD);
    for text in ["", "US", "USDX", "ZZZ", "xau", "XXX", "U\u{130}D", "€"] {
        assert_eq!(text.parse::<Currency>(), Err(CurrencyError), "{text}");
    }
}

#[test]
fn an_amount_is_exact_and_within_its_range() {
    for (text, code, minor) in [
        ("0", "USD", 0),
        ("1299", "USD", 129_900),
        ("1299.00", "USD", 129_900),
        ("1299.000", "USD", 129_900),
        ("0.01", "USD", 1),
        ("1e2", "USD", 10_000),
        ("999999999.99", "USD", 99_999_999_999),
        ("999999999", "JPY", 999_999_999),
        ("1.234", "KWD", 1_234),
        ("999999999.9899", "CLF", 9_999_999_999_899),
        ("999999999.99", "CLF", 9_999_999_999_900),
    ] {
        let money = Money::parse(text, currency(code)).unwrap();
        assert_eq!((money.minor(), money.currency()), (minor, currency(code)));
    }
    for (text, code, error) in [
        ("-0.01", "USD", AmountError::Negative),
        ("1000000000", "USD", AmountError::TooLarge),
        ("999999999.991", "CLF", AmountError::TooLarge),
        ("1000000000", "JPY", AmountError::TooLarge),
        ("1e400", "USD", AmountError::TooLarge),
        ("0.001", "USD", AmountError::TooManyDecimals { allowed: 2 }),
        ("0.5", "JPY", AmountError::TooManyDecimals { allowed: 0 }),
        ("1.2345", "KWD", AmountError::TooManyDecimals { allowed: 3 }),
        (
            "0.00001",
            "USD",
            AmountError::TooManyDecimals { allowed: 4 },
        ),
        ("12,50", "USD", AmountError::NotADecimal),
        ("", "USD", AmountError::NotADecimal),
    ] {
        assert_eq!(Money::parse(text, currency(code)), Err(error), "{text}");
        assert!(error.to_string().contains("999999999.99"), "{error}");
    }
    assert_eq!(
        Money::from_amount(Decimal::new(12_345, 2), Currency::USD),
        Ok(Money::from_minor(12_345, Currency::USD))
    );
    assert_eq!(
        Money::from_amount(Decimal::NEGATIVE_ONE, Currency::USD),
        Err(AmountError::Negative)
    );
    assert_eq!("1.50".parse::<Amount>().unwrap().to_string(), "1.5");
    assert_eq!(
        Amount::new(Decimal::MAX),
        Err(AmountError::TooLarge),
        "28 digits are far beyond the range"
    );
}

#[test]
fn money_prints_the_decimals_of_its_currency() {
    for (minor, code, text) in [
        (129_900, "USD", "1299.00"),
        (5, "USD", "0.05"),
        (-5, "USD", "-0.05"),
        (500, "JPY", "500"),
        (1, "KWD", "0.001"),
        (i64::MIN, "USD", "-92233720368547758.08"),
    ] {
        assert_eq!(Money::from_minor(minor, currency(code)).to_string(), text);
    }
    assert_eq!(
        format!("{:?}", Money::from_minor(5, Currency::USD)),
        "0.05 USD"
    );
}

#[test]
fn money_of_two_currencies_does_not_mix() {
    let dollar = Money::from_minor(100, Currency::USD);
    let euro = Money::from_minor(100, currency("EUR"));
    let mismatch = MoneyError::CurrencyMismatch {
        left: Currency::USD,
        right: currency("EUR"),
    };
    assert_eq!(dollar.checked_add(euro), Err(mismatch));
    assert_eq!(dollar.checked_sub(euro), Err(mismatch));
    assert_eq!(dollar.checked_cmp(euro), Err(mismatch));
    assert_eq!(dollar.checked_min(euro), Err(mismatch));
    assert_eq!(dollar.checked_max(euro), Err(mismatch));
    assert_eq!(Money::sum([dollar, euro], Currency::USD), Err(mismatch));
    assert_eq!(dollar.partial_cmp(&euro), None);
    assert_ne!(dollar, euro);
}

#[test]
fn money_is_ordered_and_added_within_a_currency() {
    let usd = |minor| Money::from_minor(minor, Currency::USD);
    assert_eq!(usd(100).checked_cmp(usd(99)), Ok(Ordering::Greater));
    assert_eq!(usd(100).partial_cmp(&usd(101)), Some(Ordering::Less));
    assert_eq!(usd(100).checked_min(usd(99)), Ok(usd(99)));
    assert_eq!(usd(100).checked_max(usd(99)), Ok(usd(100)));
    assert_eq!(
        Money::sum([usd(1), usd(2), usd(-7)], Currency::USD),
        Ok(usd(-4))
    );
    assert_eq!(Money::sum([], Currency::USD), Ok(usd(0)));
    assert!(usd(-1).is_negative() && !usd(0).is_negative() && !usd(1).is_negative());
    assert!(usd(0).is_zero() && !usd(1).is_zero());
    assert_eq!(usd(i64::MAX).checked_add(usd(1)), Err(MoneyError::Overflow));
    assert_eq!(usd(i64::MIN).checked_sub(usd(1)), Err(MoneyError::Overflow));
    assert_eq!(usd(i64::MAX).checked_mul(2), Err(MoneyError::Overflow));
    assert_eq!(usd(-3).checked_mul(4), Ok(usd(-12)));
}

fn accepts<T: FromStr<Err = RateError> + ToString + PartialEq + Debug>(
    texts: &[(&str, &str)],
    new: fn(Decimal) -> Result<T, RateError>,
    as_decimal: fn(T) -> Decimal,
) {
    for (text, printed) in texts {
        let value: T = text.parse().unwrap();
        assert_eq!(value.to_string(), *printed);
        let decimal = as_decimal(value);
        assert_eq!(decimal.to_string(), *printed);
        assert_eq!(new(decimal), Ok(text.parse().unwrap()));
    }
}

fn refuses<T: FromStr<Err = RateError> + Debug>(texts: &[(&str, RateFault)], range: &str) {
    for (text, fault) in texts {
        let error = text.parse::<T>().unwrap_err();
        assert_eq!(error.fault, *fault, "{text}");
        assert!(error.to_string().contains(range), "{error}");
    }
}

#[test]
fn percentages_and_rates_are_exact_within_their_range() {
    use RateFault::{NotADecimal, OutOfRange, TooManyDecimals};

    accepts::<Percentage>(
        &[
            ("0", "0"),
            ("12.50", "12.5"),
            ("100", "100"),
            ("100.0000", "100"),
            ("0.0001", "0.0001"),
        ],
        Percentage::new,
        Percentage::as_decimal,
    );
    refuses::<Percentage>(
        &[
            ("100.0001", OutOfRange),
            ("-1", OutOfRange),
            ("1e30", OutOfRange),
            ("99999999999", OutOfRange),
            ("0.00001", TooManyDecimals),
            ("ten", NotADecimal),
        ],
        "from 0 to 100 with at most 4 decimals",
    );
    accepts::<MoneyFactor>(
        &[
            ("0", "0"),
            ("0.0025", "0.0025"),
            ("1", "1"),
            ("0.00000001", "0.00000001"),
        ],
        MoneyFactor::new,
        MoneyFactor::as_decimal,
    );
    refuses::<MoneyFactor>(
        &[
            ("1.00000001", OutOfRange),
            ("0.000000001", TooManyDecimals),
            ("1%", NotADecimal),
        ],
        "from 0 to 1 with at most 8 decimals",
    );
    accepts::<AnnualRate>(
        &[
            ("0", "0"),
            ("8.497200", "8.4972"),
            ("100", "100"),
            ("0.000001", "0.000001"),
        ],
        AnnualRate::new,
        AnnualRate::as_decimal,
    );
    refuses::<AnnualRate>(
        &[
            ("100.000001", OutOfRange),
            ("0.0000001", TooManyDecimals),
            ("", NotADecimal),
        ],
        "from 0 to 100 with at most 6 decimals",
    );
    assert!(Percentage::ZERO < Percentage::MAX && Percentage::ZERO.is_zero());
    assert!(!Percentage::MAX.is_zero());
    assert_eq!(Percentage::MAX.to_string(), "100");
    assert_eq!(MoneyFactor::MAX.to_string(), "1");
    assert_eq!(format!("{:?}", AnnualRate::MAX), "AnnualRate(100)");

    let message = |text: &str| text.parse::<AnnualRate>().unwrap_err().to_string();
    let range = "an annual rate is a decimal number from 0 to 100 with at most 6 decimals";
    assert_eq!(message("x"), range);
    assert_eq!(
        message("101"),
        format!("{range}: this one is outside the range")
    );
    assert_eq!(
        message("1.1234567"),
        format!("{range}: this one has more decimals")
    );
}

#[test]
fn a_term_is_1_to_120_months() {
    for (text, months) in [("1", 1), ("12", 12), ("120", 120), ("012", 12)] {
        let term: TermMonths = text.parse().unwrap();
        assert_eq!((term.get(), u16::from(term)), (months, months));
        assert_eq!(term.to_string(), months.to_string());
    }
    for text in ["", "0", "121", "-1", "+12", "12.0", "1e1", "70000", " 12"] {
        assert_eq!(text.parse::<TermMonths>(), Err(TermError), "{text:?}");
    }
    assert_eq!(TermMonths::try_from(0), Err(TermError));
    assert!(TermError.to_string().contains("1 to 120"));
    assert!(TermMonths::MIN < TermMonths::MAX);
}

proptest! {
    #[test]
    fn any_text_is_a_value_or_an_error(text in "\\PC*") {
        let _ = text.parse::<Amount>();
        let _ = text.parse::<Percentage>();
        let _ = text.parse::<TermMonths>();
        let _ = text.parse::<Currency>();
    }

    #[test]
    fn an_amount_survives_its_own_text(minor in 0_i64..=99_999_999_999) {
        let money = Money::from_minor(minor, Currency::USD);
        prop_assert_eq!(Money::parse(&money.to_string(), Currency::USD), Ok(money));
        prop_assert_eq!(Money::from_amount(money.to_decimal(), Currency::USD), Ok(money));
    }

    #[test]
    fn a_number_reads_as_the_decimal_library_reads_it(text in "[0-9]{1,3}(\\.[0-9]{1,5})?") {
        let read = text.parse::<Percentage>().ok().map(Percentage::as_decimal);
        let leading_zero = text.len() > 1 && text.starts_with('0') && !text.starts_with("0.");
        let expected = Decimal::from_str_exact(&text)
            .ok()
            .map(|value| value.normalize())
            .filter(|value| *value <= Decimal::ONE_HUNDRED && value.scale() <= 4 && !leading_zero);
        prop_assert_eq!(read, expected);
    }
}

#[cfg(feature = "serde")]
mod serde {
    use super::*;

    #[test]
    fn storage_and_wire_forms() {
        let money = Money::from_minor(129_900, Currency::USD);
        let json = serde_json::to_string(&money).unwrap();
        assert_eq!(json, r#"{"minor":129900,"currency":"USD"}"#);
        assert_eq!(serde_json::from_str::<Money>(&json).unwrap(), money);

        let percentage: Percentage = "12.5".parse().unwrap();
        assert_eq!(serde_json::to_string(&percentage).unwrap(), r#""12.5""#);
        assert_eq!(
            serde_json::from_str::<Percentage>(r#""12.50""#).unwrap(),
            percentage
        );
        for bad in [r#""101""#, "12.5", "null"] {
            assert!(serde_json::from_str::<Percentage>(bad).is_err(), "{bad}");
        }

        let amount: Amount = serde_json::from_str(r#""12.34""#).unwrap();
        assert_eq!(serde_json::to_string(&amount).unwrap(), r#""12.34""#);
        assert_eq!(
            serde_json::from_str::<Amount>("12").unwrap(),
            "12".parse().unwrap()
        );
        for bad in ["12.34", "-1", r#""-1""#, "1000000000"] {
            assert!(serde_json::from_str::<Amount>(bad).is_err(), "{bad}");
        }

        let term: TermMonths = serde_json::from_str("12").unwrap();
        assert_eq!(serde_json::to_string(&term).unwrap(), "12");
        assert!(serde_json::from_str::<TermMonths>("121").is_err());
        assert!(serde_json::from_str::<Currency>(r#""gold""#).is_err());
    }

    #[test]
    fn a_value_of_another_type_is_told_what_is_expected() {
        for (message, expected) in [
            (
                serde_json::from_str::<Currency>("1").unwrap_err(),
                "expected a currency code of ISO 4217",
            ),
            (
                serde_json::from_str::<Amount>("1.5").unwrap_err(),
                "expected a decimal string or a whole number from 0 to 999999999.99",
            ),
            (
                serde_json::from_str::<Percentage>("1").unwrap_err(),
                "expected a percentage as a decimal string",
            ),
        ] {
            assert!(message.to_string().contains(expected), "{message}");
        }
    }
}
