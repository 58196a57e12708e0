//! Percentages, lease rates and the lease term: exact numbers within a range.

use std::fmt;
use std::str::FromStr;

use rust_decimal::Decimal;

use crate::exact::{Exact, ExactFault, write_shortest};

/// Why a text or a number is not a percentage or a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{subject} is a decimal number from 0 to {max} with at most {decimals} decimals{fault}")]
pub struct RateError {
    /// What was read, `a percentage`.
    pub subject: &'static str,
    /// The largest value allowed.
    pub max: u32,
    /// The decimals allowed.
    pub decimals: u32,
    /// What is wrong.
    pub fault: RateFault,
}

/// What is wrong with a percentage or a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateFault {
    /// Not a decimal number.
    NotADecimal,
    /// Below zero or above the largest value.
    OutOfRange,
    /// More decimals than allowed.
    TooManyDecimals,
}

impl fmt::Display for RateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotADecimal => "",
            Self::OutOfRange => ": this one is outside the range",
            Self::TooManyDecimals => ": this one has more decimals",
        })
    }
}

/// A decimal number from 0 to a maximum with a fixed number of decimals, kept as a count of its last decimal.
macro_rules! exact_rate {
    ($(#[$doc:meta])* $name:ident, $subject:literal, max $max:literal, decimals $decimals:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name {
            units: u32,
        }

        impl $name {
            /// Zero.
            pub const ZERO: Self = Self { units: 0 };
            /// The largest value.
            pub const MAX: Self = Self { units: $max * Self::SCALE };
            /// Decimals of the type.
            pub const DECIMALS: u32 = $decimals;
            /// Units in one: ten to the power of [`Self::DECIMALS`].
            pub const SCALE: u32 = 10_u32.pow($decimals);

            /// Takes a decimal within the range and the decimals of the type.
            ///
            /// # Errors
            /// [`RateError`] names the range and what is wrong.
            pub fn new(value: Decimal) -> Result<Self, RateError> {
                Self::from_exact(Ok(Exact::from(value)))
            }

            /// The value as a decimal without trailing zeros.
            #[must_use]
            pub fn as_decimal(self) -> Decimal {
                Decimal::new(i64::from(self.units), Self::DECIMALS).normalize()
            }

            /// Whether the value is zero.
            #[must_use]
            pub const fn is_zero(self) -> bool {
                self.units == 0
            }

            /// The value counted in its last decimal, [`Self::SCALE`] to one.
            pub const fn units(self) -> u32 {
                self.units
            }

            fn from_exact(value: Result<Exact, ExactFault>) -> Result<Self, RateError> {
                let error = |fault| RateError {
                    subject: $subject,
                    max: $max,
                    decimals: Self::DECIMALS,
                    fault,
                };
                let units = value.and_then(|value| value.units(Self::DECIMALS)).map_err(|fault| {
                    error(match fault {
                        ExactFault::Malformed => RateFault::NotADecimal,
                        ExactFault::Negative | ExactFault::TooLarge => RateFault::OutOfRange,
                        ExactFault::TooManyDecimals => RateFault::TooManyDecimals,
                    })
                })?;
                match u32::try_from(units) {
                    Ok(units) if units <= Self::MAX.units => Ok(Self { units }),
                    _ => Err(error(RateFault::OutOfRange)),
                }
            }
        }

        impl FromStr for $name {
            type Err = RateError;

            /// Reads a decimal string or the text of a JSON number, exactly.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::from_exact(Exact::parse(text))
            }
        }

        impl fmt::Display for $name {
            /// The decimal string without trailing zeros, `12.5`.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_shortest(f, self.units.into(), Self::DECIMALS)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($subject, " as a decimal string"))
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

exact_rate! {
    /// A percentage from 0 to 100 with at most 4 decimals, kept exact.
    ///
    /// ```
    /// use lessor_domain::percentage::{Percentage, RateError};
    ///
    /// let discount: Percentage = "12.50".parse()?;
    /// assert_eq!(discount.to_string(), "12.5");
    /// assert_eq!(
    ///     "100.01".parse::<Percentage>().unwrap_err().to_string(),
    ///     "a percentage is a decimal number from 0 to 100 with at most 4 decimals: this one is outside the range",
    /// );
    /// # Ok::<(), RateError>(())
    /// ```
    Percentage, "a percentage", max 100, decimals 4
}

exact_rate! {
    /// A money factor from 0 to 1 with at most 8 decimals: the rent charge of one month as a
    /// fraction of capitalized cost plus residual value. Times 2,400 it is about the annual rate
    /// in percent: 0.0025 is about 6 %.
    MoneyFactor, "a money factor", max 1, decimals 8
}

exact_rate! {
    /// A nominal annual rate in percent, from 0 to 100 with at most 6 decimals, charged monthly:
    /// a twelfth of it each month.
    AnnualRate, "an annual rate", max 100, decimals 6
}

/// The length of a lease: 1 to 120 months.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "u16", into = "u16"))]
pub struct TermMonths(u16);

impl TermMonths {
    /// The shortest term, one month.
    pub const MIN: Self = Self(1);
    /// The longest term, ten years.
    pub const MAX: Self = Self(120);

    /// Takes a number of months.
    ///
    /// # Errors
    /// [`TermError`] outside 1 to 120.
    pub fn new(months: u16) -> Result<Self, TermError> {
        match months {
            1..=120 => Ok(Self(months)),
            _ => Err(TermError),
        }
    }

    /// The number of months.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl TryFrom<u16> for TermMonths {
    type Error = TermError;

    fn try_from(months: u16) -> Result<Self, Self::Error> {
        Self::new(months)
    }
}

impl From<TermMonths> for u16 {
    fn from(term: TermMonths) -> Self {
        term.0
    }
}

impl FromStr for TermMonths {
    type Err = TermError;

    /// Reads digits only: `12`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(TermError);
        }
        Self::new(text.parse().map_err(|_| TermError)?)
    }
}

impl fmt::Display for TermMonths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number is not the length of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a lease term is a whole number of months from 1 to 120")]
pub struct TermError;
