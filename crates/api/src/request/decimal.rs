//! Numbers of JSON as exact text.

use std::borrow::Cow;

/// The longest decimal number that is read, in characters.
pub(crate) const MAX_LENGTH: usize = 64;

/// The text of a JSON number without its exponent, exactly. `None` when that would be longer than
/// [`MAX_LENGTH`] characters.
pub(super) fn plain_decimal(number: &str) -> Option<Cow<'_, str>> {
    let Some((mantissa, exponent)) = number.split_once(['e', 'E']) else {
        return (number.len() <= MAX_LENGTH).then_some(Cow::Borrowed(number));
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.bytes().all(|b| b == b'0') {
        return Some(Cow::Borrowed("0"));
    }
    if digits.len() > MAX_LENGTH {
        return None;
    }
    // Where the point stands among the digits; negative is left of them.
    let limit = i64::try_from(MAX_LENGTH).ok()?;
    let point = i64::try_from(whole.len())
        .ok()?
        .checked_add(exponent.parse().ok()?)?;
    if !(-limit..=limit).contains(&point) {
        return None;
    }
    let plain = match usize::try_from(point) {
        Ok(point) if point >= digits.len() => format!("{sign}{digits:0<point$}"),
        Ok(0) | Err(_) => {
            let zeros = usize::try_from(-point).ok()?;
            format!("{sign}0.{}{digits}", "0".repeat(zeros))
        }
        Ok(point) => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
    };
    // A shifted point can leave zeros in front: 0.05e1 is 0.5, 0.5e1 is 5.
    let unsigned = plain.strip_prefix('-').unwrap_or(&plain);
    let trimmed = unsigned.trim_start_matches('0');
    let zero = if trimmed.starts_with('.') { "0" } else { "" };
    let plain = format!("{sign}{zero}{trimmed}");
    (plain.len() <= MAX_LENGTH).then_some(Cow::Owned(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_written_out_exactly() {
        for (number, plain) in [
            ("12.50", "12.50"),
            ("-0.1", "-0.1"),
            ("1e3", "1000"),
            ("1E+3", "1000"),
            ("1.5e3", "1500"),
            ("1.5e1", "15"),
            ("1.25e1", "12.5"),
            ("0.05e1", "0.5"),
            ("0.5e1", "5"),
            ("0.0005e2", "0.05"),
            ("2.5e-7", "0.00000025"),
            ("-25e-1", "-2.5"),
            ("25e-2", "0.25"),
            ("0e999999999999999999999", "0"),
            ("1500e-3", "1.500"),
        ] {
            assert_eq!(plain_decimal(number).as_deref(), Some(plain), "{number}");
        }
    }

    #[test]
    fn what_would_be_too_long_is_refused() {
        let digits = "9".repeat(65);
        for number in [
            "1e400",
            "1e-400",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "1e64",
            digits.as_str(),
        ] {
            assert_eq!(plain_decimal(number), None, "{number}");
        }
    }
}
