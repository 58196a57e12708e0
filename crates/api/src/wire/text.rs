//! Texts of answers.

use std::borrow::Cow;

use chrono::SecondsFormat;
use lessor_domain::money::Money;
use lessor_domain::percentage::{AnnualRate, MoneyFactor, Percentage};
use lessor_domain::time::{Day, Timestamp};
use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::http::openapi::marked_inline;

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident($value:ty) { $($schema:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name($value);

        /// Written where it is to stand, without a text of its own.
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    $($schema)*
                    .extensions(Some(marked_inline()))
                    .into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
        }
    )*};
}

texts! {
    /// An amount of money with the digits of its currency, `"1299.00"`.
    MoneyText(Money) {
        .pattern(Some(r"^-?[0-9]+(\.[0-9]+)?$"))
        .examples([serde_json::json!("1299.00")])
    }
    /// A percentage or rate without trailing zeros, `"12.5"`.
    DecimalString(String) {
        .pattern(Some(r"^[0-9]+(\.[0-9]*[1-9])?$"))
        .examples([serde_json::json!("12.5")])
    }
    /// A time in UTC, to the millisecond, `"2026-11-20T09:14:00.000Z"`.
    DateTimeText(String) {
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .examples([serde_json::json!("2026-11-20T09:14:00.000Z")])
    }
    /// A day in UTC, `"2026-11-20"`.
    DateText(Day) {
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)))
        .examples([serde_json::json!("2026-11-20")])
    }
}

impl From<Money> for MoneyText {
    fn from(money: Money) -> Self {
        Self(money)
    }
}

impl From<Percentage> for DecimalString {
    fn from(percentage: Percentage) -> Self {
        Self(percentage.to_string())
    }
}

impl From<MoneyFactor> for DecimalString {
    fn from(factor: MoneyFactor) -> Self {
        Self(factor.to_string())
    }
}

impl From<AnnualRate> for DecimalString {
    fn from(rate: AnnualRate) -> Self {
        Self(rate.to_string())
    }
}

impl From<Timestamp> for DateTimeText {
    fn from(at: Timestamp) -> Self {
        Self(at.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl From<Day> for DateText {
    fn from(day: Day) -> Self {
        Self(day)
    }
}

#[cfg(test)]
mod tests {
    use lessor_domain::money::Currency;
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_look_as_documented() {
        let money = |minor, code: &str| {
            json!(MoneyText::from(Money::from_minor(
                minor,
                code.parse::<Currency>().unwrap()
            )))
        };
        assert_eq!(money(129_900, "USD"), "1299.00");
        assert_eq!(money(-5, "USD"), "-0.05");
        assert_eq!(money(1_299, "JPY"), "1299");
        assert_eq!(money(1_299, "KWD"), "1.299");
        let percentage =
            |text: &str| json!(DecimalString::from(text.parse::<Percentage>().unwrap()));
        assert_eq!(percentage("12.50"), "12.5");
        assert_eq!(percentage("0.000"), "0");
        assert_eq!(percentage("100"), "100");
        let at: Timestamp = "2026-11-20T10:14:00+01:00".parse().unwrap();
        assert_eq!(json!(DateTimeText::from(at)), "2026-11-20T09:14:00.000Z");
        assert_eq!(json!(DateText::from(at.date_naive())), "2026-11-20");
    }
}
