//! Money: whole minor units of one currency, and the amounts that requests carry.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use rust_decimal::Decimal;

use crate::exact::{Exact, ExactFault, write_shortest, write_units};

/// Decimals of the currencies with the smallest minor unit; an [`Amount`] is kept in this unit.
const AMOUNT_DECIMALS: u32 = 4;
/// 999,999,999.99 in ten-thousandths.
const MAX_AMOUNT: i64 = 9_999_999_999_900;

/// A currency of ISO 4217 that has a minor unit (precious metals and test codes have none).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Currency {
    iso: iso_currency::Currency,
    digits: u8,
}

impl Currency {
    /// The United States dollar, the default of a new organization.
    pub const USD: Self = Self {
        iso: iso_currency::Currency::USD,
        digits: 2,
    };

    /// The upper-case code of three letters, `USD`.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.iso.code()
    }

    /// Decimals of a printed amount, 0 to 4: 2 for USD, 0 for JPY, 3 for KWD.
    #[must_use]
    pub const fn digits(self) -> u8 {
        self.digits
    }

    /// Whether a payment processor can charge its smallest unit. Of a currency with more than two
    /// decimals (BHD, JOD, KWD, OMR, TND and a few more) it takes steps of ten units at the least:
    /// a price to the unit could be quoted and never billed.
    #[must_use]
    pub const fn is_chargeable(self) -> bool {
        self.digits <= 2
    }

    /// Ten-thousandths, the unit of an [`Amount`], in one minor unit.
    fn ten_thousandths(self) -> i64 {
        10_i64.saturating_pow(AMOUNT_DECIMALS.saturating_sub(u32::from(self.digits)))
    }
}

impl FromStr for Currency {
    type Err = CurrencyError;

    /// Reads a code of ISO 4217 in any case.
    fn from_str(code: &str) -> Result<Self, Self::Err> {
        let iso =
            iso_currency::Currency::from_code(&code.to_ascii_uppercase()).ok_or(CurrencyError)?;
        match iso.exponent().and_then(|digits| u8::try_from(digits).ok()) {
            Some(digits @ 0..=4) => Ok(Self { iso, digits }),
            _ => Err(CurrencyError),
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// The text is not the code of a currency that amounts can be given in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a currency is a code of ISO 4217 with a minor unit, three letters such as USD")]
pub struct CurrencyError;

/// An amount of money as a request carries it, before its currency is known: 0 to 999,999,999.99, exact.
///
/// Read with [`FromStr`] from a decimal string or from the text of a JSON number; an exponent is
/// accepted (`1e2`), trailing zeros carry no value. [`Amount::in_currency`] makes it [`Money`].
///
/// ```
/// use lessor_domain::money::{Amount, AmountError, Currency};
///
/// let amount: Amount = "1299.00".parse()?;
/// assert_eq!(amount.in_currency(Currency::USD)?.minor(), 129_900);
/// assert_eq!("1e400".parse::<Amount>(), Err(AmountError::TooLarge));
/// # Ok::<(), AmountError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Amount {
    ten_thousandths: i64,
}

impl Amount {
    /// Takes a decimal that is not negative, at most 999,999,999.99, with at most 4 decimals.
    ///
    /// # Errors
    /// [`AmountError`] when it is outside of that.
    pub fn new(value: Decimal) -> Result<Self, AmountError> {
        Self::from_exact(Exact::from(value))
    }

    /// The amount as money of a currency.
    ///
    /// # Errors
    /// [`AmountError::TooManyDecimals`] when the currency has fewer decimals than the amount.
    pub fn in_currency(self, currency: Currency) -> Result<Money, AmountError> {
        let unit = currency.ten_thousandths();
        let too_many = AmountError::TooManyDecimals {
            allowed: u32::from(currency.digits()),
        };
        if self.ten_thousandths.checked_rem(unit) != Some(0) {
            return Err(too_many);
        }
        let minor = self.ten_thousandths.checked_div(unit).ok_or(too_many)?;
        Ok(Money::from_minor(minor, currency))
    }

    /// The amount as a decimal without trailing zeros.
    #[must_use]
    pub fn as_decimal(self) -> Decimal {
        Decimal::new(self.ten_thousandths, AMOUNT_DECIMALS).normalize()
    }

    fn from_exact(value: Exact) -> Result<Self, AmountError> {
        match value.units(AMOUNT_DECIMALS)?.try_into() {
            Ok(ten_thousandths @ 0..=MAX_AMOUNT) => Ok(Self { ten_thousandths }),
            _ => Err(AmountError::TooLarge),
        }
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_exact(Exact::parse(text)?)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shortest(f, self.ten_thousandths.unsigned_abs(), AMOUNT_DECIMALS)
    }
}

/// Why a text or a number is not an amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// The text is not a decimal number.
    #[error("an amount is a decimal number from 0 to 999999999.99, such as 1299.00")]
    NotADecimal,
    /// The amount is below zero.
    #[error("an amount is from 0 to 999999999.99, and cannot be negative")]
    Negative,
    /// The amount is above 999,999,999.99.
    #[error("an amount is from 0 to 999999999.99")]
    TooLarge,
    /// The amount has more decimals than its currency, or than any currency.
    #[error("an amount here has at most {allowed} decimals, and is from 0 to 999999999.99")]
    TooManyDecimals {
        /// Decimals that the currency has; 4, the most of any, while it is not known.
        allowed: u32,
    },
}

impl From<ExactFault> for AmountError {
    fn from(fault: ExactFault) -> Self {
        match fault {
            ExactFault::Malformed => Self::NotADecimal,
            ExactFault::Negative => Self::Negative,
            ExactFault::TooLarge => Self::TooLarge,
            ExactFault::TooManyDecimals => Self::TooManyDecimals {
                allowed: AMOUNT_DECIMALS,
            },
        }
    }
}

/// An exact amount of one currency, in its minor units (cents for USD). It may be negative: a
/// rent charge or a balance due is a difference of other figures.
///
/// Amounts of two currencies have no order: `partial_cmp` answers `None`.
///
/// ```
/// use lessor_domain::money::{Currency, Money, MoneyError};
///
/// let price = Money::from_minor(129_900, Currency::USD);
/// assert_eq!(price.to_string(), "1299.00");
/// assert_eq!(price.checked_mul(3)?.to_string(), "3897.00");
///
/// let yen = Money::from_minor(500, "JPY".parse().unwrap());
/// assert!(matches!(price.checked_add(yen), Err(MoneyError::CurrencyMismatch { .. })));
/// # Ok::<(), MoneyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Money {
    minor: i64,
    currency: Currency,
}

impl Money {
    /// An amount in minor units.
    #[must_use]
    #[inline]
    pub const fn from_minor(minor: i64, currency: Currency) -> Self {
        Self { minor, currency }
    }

    /// Nothing, in a currency.
    #[must_use]
    pub const fn zero(currency: Currency) -> Self {
        Self::from_minor(0, currency)
    }

    /// The largest amount that a request may carry in a currency: 999,999,999.99, without the
    /// decimals that the currency does not have.
    #[must_use]
    #[inline]
    pub fn largest_amount(currency: Currency) -> Self {
        let minor = MAX_AMOUNT.checked_div(currency.ten_thousandths());
        Self::from_minor(minor.unwrap_or(MAX_AMOUNT), currency)
    }

    /// Reads an amount that a request gave: 0 to 999,999,999.99, with the currency's decimals at most.
    ///
    /// # Errors
    /// [`AmountError`] names what is wrong and what is allowed.
    pub fn parse(text: &str, currency: Currency) -> Result<Self, AmountError> {
        text.parse::<Amount>()?.in_currency(currency)
    }

    /// Takes a decimal that a request gave, under the rules of [`Money::parse`].
    ///
    /// # Errors
    /// [`AmountError`] names what is wrong and what is allowed.
    pub fn from_amount(amount: Decimal, currency: Currency) -> Result<Self, AmountError> {
        Amount::new(amount)?.in_currency(currency)
    }

    /// The amount in minor units.
    #[must_use]
    #[inline]
    pub const fn minor(self) -> i64 {
        self.minor
    }

    #[must_use]
    #[inline]
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// Whether the amount is below zero.
    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.minor < 0
    }

    /// Whether the amount is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.minor == 0
    }

    /// The sum.
    ///
    /// # Errors
    /// [`MoneyError`] when the currencies differ or the sum does not fit.
    #[inline]
    pub fn checked_add(self, other: Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        self.with_minor(self.minor.checked_add(other.minor))
    }

    /// The difference.
    ///
    /// # Errors
    /// [`MoneyError`] when the currencies differ or the difference does not fit.
    #[inline]
    pub fn checked_sub(self, other: Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        self.with_minor(self.minor.checked_sub(other.minor))
    }

    /// The amount `times` over.
    ///
    /// # Errors
    /// [`MoneyError::Overflow`] when the product does not fit.
    #[inline]
    pub fn checked_mul(self, times: u32) -> Result<Self, MoneyError> {
        self.with_minor(self.minor.checked_mul(i64::from(times)))
    }

    /// The order of two amounts of one currency.
    ///
    /// # Errors
    /// [`MoneyError::CurrencyMismatch`] when the currencies differ.
    pub fn checked_cmp(self, other: Self) -> Result<Ordering, MoneyError> {
        self.same_currency(other)?;
        Ok(self.minor.cmp(&other.minor))
    }

    /// The smaller of two amounts of one currency.
    ///
    /// # Errors
    /// [`MoneyError::CurrencyMismatch`] when the currencies differ.
    #[inline]
    pub fn checked_min(self, other: Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        Ok(Self::from_minor(self.minor.min(other.minor), self.currency))
    }

    /// The larger of two amounts of one currency.
    ///
    /// # Errors
    /// [`MoneyError::CurrencyMismatch`] when the currencies differ.
    pub fn checked_max(self, other: Self) -> Result<Self, MoneyError> {
        self.same_currency(other)?;
        Ok(Self::from_minor(self.minor.max(other.minor), self.currency))
    }

    /// The sum of amounts in a currency; zero when there are none.
    ///
    /// # Errors
    /// [`MoneyError`] when a currency differs or the sum does not fit.
    pub fn sum(
        amounts: impl IntoIterator<Item = Self>,
        currency: Currency,
    ) -> Result<Self, MoneyError> {
        amounts
            .into_iter()
            .try_fold(Self::zero(currency), Self::checked_add)
    }

    /// The amount as a decimal with the currency's decimals.
    #[must_use]
    pub fn to_decimal(self) -> Decimal {
        Decimal::new(self.minor, u32::from(self.currency.digits()))
    }

    /// Refuses an amount of another currency.
    #[inline]
    pub(crate) fn same_currency(self, other: Self) -> Result<(), MoneyError> {
        if self.currency == other.currency {
            Ok(())
        } else {
            Err(MoneyError::CurrencyMismatch {
                left: self.currency,
                right: other.currency,
            })
        }
    }

    fn with_minor(self, minor: Option<i64>) -> Result<Self, MoneyError> {
        minor
            .map(|minor| Self::from_minor(minor, self.currency))
            .ok_or(MoneyError::Overflow)
    }
}

impl PartialOrd for Money {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.checked_cmp(*other).ok()
    }
}

impl fmt::Display for Money {
    /// The decimal string with the currency's digits, `1299.00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = u32::from(self.currency.digits());
        write_units(f, self.is_negative(), self.minor.unsigned_abs(), digits)
    }
}

impl fmt::Debug for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} {}", self.currency)
    }
}

/// Why two amounts could not be combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// The amounts are of two currencies.
    #[error("amounts of {left} and {right} cannot be combined")]
    CurrencyMismatch {
        /// Currency of the left operand.
        left: Currency,
        /// Currency of the right operand.
        right: Currency,
    },
    /// The result is beyond 64-bit minor units.
    #[error("the amount is beyond 9223372036854775807 minor units")]
    Overflow,
}

#[cfg(feature = "serde")]
mod wire {
    use std::fmt;

    use serde::de::{Error, Unexpected, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Amount, Currency};

    impl Serialize for Currency {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str(self.code())
        }
    }

    impl<'de> Deserialize<'de> for Currency {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Code;
            impl Visitor<'_> for Code {
                type Value = Currency;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a currency code of ISO 4217")
                }

                fn visit_str<E: Error>(self, code: &str) -> Result<Currency, E> {
                    code.parse().map_err(E::custom)
                }
            }
            deserializer.deserialize_str(Code)
        }
    }

    impl Serialize for Amount {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    impl<'de> Deserialize<'de> for Amount {
        /// Takes a decimal string or a whole number. A number with a fraction reaches a
        /// deserializer as a float and is refused: read its raw text with `FromStr` instead.
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Text;
            impl Visitor<'_> for Text {
                type Value = Amount;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a decimal string or a whole number from 0 to 999999999.99")
                }

                fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
                    text.parse().map_err(E::custom)
                }

                fn visit_u64<E: Error>(self, value: u64) -> Result<Amount, E> {
                    Amount::new(value.into()).map_err(E::custom)
                }

                fn visit_i64<E: Error>(self, value: i64) -> Result<Amount, E> {
                    match u64::try_from(value) {
                        Ok(value) => self.visit_u64(value),
                        Err(_) => Err(E::invalid_value(Unexpected::Signed(value), &self)),
                    }
                }
            }
            deserializer.deserialize_any(Text)
        }
    }
}
