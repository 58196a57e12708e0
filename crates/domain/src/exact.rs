//! Exact decimal text and the one rounding rule: no number of a lease ever passes through a float.

use std::fmt;

use rust_decimal::Decimal;

/// Digits before the decimal point beyond which no quantity of a lease is in range, whatever its type.
const MAX_INTEGER_DIGITS: i64 = 20;

/// The quotient `numerator / denominator` as a whole number, a half rounded away from zero.
///
/// This is the only rounding rule of the crate. It is applied once to each printed figure:
/// 2.5 becomes 3, −2.5 becomes −3, 2.49 becomes 2.
///
/// `None` when the denominator is zero or the quotient does not fit.
///
/// ```
/// use lessor_domain::exact::round_half_away_from_zero;
///
/// assert_eq!(round_half_away_from_zero(5, 2), Some(3));
/// assert_eq!(round_half_away_from_zero(-5, 2), Some(-3));
/// assert_eq!(round_half_away_from_zero(249, 100), Some(2));
/// assert_eq!(round_half_away_from_zero(1, 0), None);
/// ```
#[must_use]
#[inline]
pub fn round_half_away_from_zero(numerator: i128, denominator: i128) -> Option<i128> {
    let quotient = numerator.checked_div(denominator)?;
    let remainder = numerator.checked_rem(denominator)?;
    // |remainder| ≥ |denominator| − |remainder| is "at least a half" without doubling, which could overflow.
    let rest = denominator
        .unsigned_abs()
        .checked_sub(remainder.unsigned_abs())?;
    if remainder.unsigned_abs() < rest {
        return Some(quotient);
    }
    let away_from_zero = if numerator.is_negative() == denominator.is_negative() {
        1
    } else {
        -1
    };
    quotient.checked_add(away_from_zero)
}

/// Why a text or a decimal is not a quantity with a given number of decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExactFault {
    /// Not a decimal number as JSON writes them.
    Malformed,
    /// Below zero.
    Negative,
    /// Beyond every range.
    TooLarge,
    /// More decimals than the quantity may have.
    TooManyDecimals,
}

/// A decimal number read exactly: `coefficient × 10^exponent`, the coefficient without trailing zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exact {
    negative: bool,
    coefficient: u128,
    exponent: i64,
}

impl Exact {
    /// Reads a number in the grammar of JSON (RFC 8259, section 6): `0`, `12.50`, `-3`, `1e2`.
    pub(crate) fn parse(text: &str) -> Result<Self, ExactFault> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (integer, fraction) = match mantissa.split_once('.') {
            Some((integer, fraction)) if is_digits(fraction) => (integer, fraction),
            Some(_) => return Err(ExactFault::Malformed),
            None => (mantissa, ""),
        };
        if !is_digits(integer) || (integer.len() > 1 && integer.starts_with('0')) {
            return Err(ExactFault::Malformed);
        }

        let mut coefficient = Some(0_u128);
        let mut significant_digits = 0_i64;
        let mut zeros = 0_u32;
        for digit in integer
            .bytes()
            .chain(fraction.bytes())
            .map(|byte| byte.wrapping_sub(b'0'))
        {
            if digit == 0 {
                zeros = zeros.saturating_add(1);
                continue;
            }
            let shift = if significant_digits == 0 {
                1
            } else {
                zeros.saturating_add(1)
            };
            coefficient = coefficient
                .zip(10_u128.checked_pow(shift))
                .and_then(|(so_far, scale)| so_far.checked_mul(scale))
                .and_then(|so_far| so_far.checked_add(u128::from(digit)));
            significant_digits = significant_digits.saturating_add(i64::from(shift));
            zeros = 0;
        }
        let decimals = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        let exponent = exponent
            .saturating_sub(decimals)
            .saturating_add(i64::from(zeros));
        if significant_digits > 0
            && significant_digits.saturating_add(exponent) > MAX_INTEGER_DIGITS
        {
            return Err(if negative {
                ExactFault::Negative
            } else {
                ExactFault::TooLarge
            });
        }
        Ok(Self {
            negative: negative && significant_digits > 0,
            // With this few digits before the point, what does not fit has far too many behind it.
            coefficient: coefficient.ok_or(ExactFault::TooManyDecimals)?,
            exponent: if significant_digits == 0 { 0 } else { exponent },
        })
    }

    /// The number in units of `10^-decimals`, without rounding.
    pub(crate) fn units(self, decimals: u32) -> Result<u128, ExactFault> {
        if self.negative {
            return Err(ExactFault::Negative);
        }
        let shift = self.exponent.saturating_add(i64::from(decimals));
        if shift < 0 {
            return Err(ExactFault::TooManyDecimals);
        }
        u32::try_from(shift)
            .ok()
            .and_then(|shift| 10_u128.checked_pow(shift))
            .and_then(|scale| self.coefficient.checked_mul(scale))
            .ok_or(ExactFault::TooLarge)
    }
}

impl From<Decimal> for Exact {
    fn from(value: Decimal) -> Self {
        let normal = value.normalize();
        Self {
            negative: normal.is_sign_negative() && !normal.is_zero(),
            coefficient: normal.mantissa().unsigned_abs(),
            exponent: 0_i64.saturating_sub(i64::from(normal.scale())),
        }
    }
}

/// Writes a number of units of `10^-decimals`, at most 19 of them, as a decimal number with all of its decimals.
pub(crate) fn write_units(
    f: &mut fmt::Formatter<'_>,
    is_negative: bool,
    units: u64,
    decimals: u32,
) -> fmt::Result {
    /// The digits of the largest number, the point, and a zero in front of it.
    const LONGEST: usize = 22;
    let mut text = [b'0'; LONGEST];
    let (mut rest, mut written) = (units, 0_u32);
    let mut start = LONGEST;
    while rest > 0 || written <= decimals {
        if written == decimals && decimals > 0 {
            start = start.saturating_sub(1);
            put(&mut text, start, b'.');
        }
        start = start.saturating_sub(1);
        let digit = u8::try_from(rest % 10).unwrap_or_default();
        put(&mut text, start, b'0'.saturating_add(digit));
        rest /= 10;
        written = written.saturating_add(1);
    }
    let text = text.get(start..).unwrap_or_default();
    f.pad_integral(
        !is_negative,
        "",
        std::str::from_utf8(text).map_err(|_| fmt::Error)?,
    )
}

/// Writes a number of units of `10^-decimals` as a decimal number without trailing zeros.
pub(crate) fn write_shortest(
    f: &mut fmt::Formatter<'_>,
    mut units: u64,
    mut decimals: u32,
) -> fmt::Result {
    while decimals > 0 && units.is_multiple_of(10) {
        units /= 10;
        decimals = decimals.saturating_sub(1);
    }
    write_units(f, false, units, decimals)
}

fn put(text: &mut [u8], place: usize, byte: u8) {
    if let Some(slot) = text.get_mut(place) {
        *slot = byte;
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn parse_exponent(text: &str) -> Result<i64, ExactFault> {
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if !is_digits(digits) {
        return Err(ExactFault::Malformed);
    }
    // An exponent too long for an i64 is far out of range either way, as its largest value is.
    let magnitude = digits.parse().unwrap_or(i64::MAX);
    Ok(if negative {
        0_i64.saturating_sub(magnitude)
    } else {
        magnitude
    })
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use rust_decimal::Decimal;

    use super::{Exact, ExactFault, round_half_away_from_zero, write_shortest, write_units};

    fn units(text: &str, decimals: u32) -> Result<u128, ExactFault> {
        Exact::parse(text)?.units(decimals)
    }

    #[test]
    fn reads_json_numbers_exactly() {
        for (text, expected) in [
            ("0", 0),
            ("-0", 0),
            ("0.00", 0),
            ("0e999999999999999999999", 0),
            ("1", 10_000),
            ("12.5", 125_000),
            (
                "12.500000000000000000000000000000000000000000000000",
                125_000,
            ),
            ("0.0001", 1),
            ("1e2", 1_000_000),
            ("1E+2", 1_000_000),
            ("1200e-4", 1_200),
            (
                "100000000000000000000000000000000000000000000000e-47",
                10_000,
            ),
            ("99999999999999999999", 999_999_999_999_999_999_990_000),
        ] {
            assert_eq!(units(text, 4), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_not_a_json_number() {
        for text in [
            "", " ", "-", "+1", "1.", ".5", "01", "00", "1e", "1e+", "e5", "1_000", "1,5", "0x10",
            "NaN", "inf", "1 ", " 1", "1.2.3", "1e2e3", "--1", "1.-5", "١", "1e1.5", "½",
        ] {
            assert_eq!(units(text, 4), Err(ExactFault::Malformed), "{text:?}");
        }
    }

    #[test]
    fn says_what_is_wrong_with_a_number() {
        for (text, fault) in [
            ("-1", ExactFault::Negative),
            ("-1e400", ExactFault::Negative),
            ("-0.00001", ExactFault::Negative),
            ("1e400", ExactFault::TooLarge),
            ("100000000000000000000", ExactFault::TooLarge),
            ("1e99999999999999999999999", ExactFault::TooLarge),
            ("0.00001", ExactFault::TooManyDecimals),
            ("1e-400", ExactFault::TooManyDecimals),
            ("1e-99999999999999999999999", ExactFault::TooManyDecimals),
            (
                "1.0000000000000000000000000000000000000000000000001",
                ExactFault::TooManyDecimals,
            ),
        ] {
            assert_eq!(units(text, 4), Err(fault), "{text}");
        }
    }

    /// A number of units as these write it.
    struct Written(
        fn(&mut fmt::Formatter<'_>, i64, u32) -> fmt::Result,
        i64,
        u32,
    );

    impl fmt::Display for Written {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let Self(write, units, decimals) = *self;
            write(f, units, decimals)
        }
    }

    #[test]
    fn writes_what_a_decimal_writes() {
        let with_all = |f: &mut fmt::Formatter<'_>, units: i64, decimals| {
            write_units(f, units < 0, units.unsigned_abs(), decimals)
        };
        let shortest = |f: &mut fmt::Formatter<'_>, units: i64, decimals| {
            write_shortest(f, units.unsigned_abs(), decimals)
        };
        for units in [
            0,
            1,
            -1,
            9,
            10,
            99,
            100,
            -12_345,
            129_900,
            10_000_000,
            i64::MAX,
            i64::MIN,
        ] {
            for decimals in [0, 1, 2, 3, 4, 8, 18] {
                let decimal = Decimal::new(units, decimals);
                let written = Written(with_all, units, decimals);
                assert_eq!(written.to_string(), decimal.to_string());
                assert_eq!(format!("{written:>30}"), format!("{decimal:>30}"));
                assert_eq!(
                    Written(shortest, units, decimals).to_string(),
                    decimal.abs().normalize().to_string(),
                );
            }
        }
    }

    #[test]
    fn rounds_a_half_away_from_zero() {
        for (numerator, denominator, expected) in [
            (0, 7, 0),
            (3, 7, 0),
            (4, 7, 1),
            (-3, 7, 0),
            (-4, 7, -1),
            (1, 2, 1),
            (-1, 2, -1),
            (1, -2, -1),
            (-1, -2, 1),
            (7, 1, 7),
            (i128::MAX, 1, i128::MAX),
            (i128::MIN, 1, i128::MIN),
            (i128::MAX, i128::MAX, 1),
            (1, i128::MIN, 0),
        ] {
            assert_eq!(
                round_half_away_from_zero(numerator, denominator),
                Some(expected),
                "{numerator}/{denominator}"
            );
        }
        assert_eq!(round_half_away_from_zero(0, 0), None);
        assert_eq!(round_half_away_from_zero(i128::MIN, -1), None);
    }
}
