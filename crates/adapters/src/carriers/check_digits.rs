//! The check digits that carriers end their numbers with.

pub(super) fn is_digits(number: &[u8]) -> bool {
    number.iter().all(u8::is_ascii_digit)
}

/// What a character counts in a check digit. Letters count by their place in the
/// code table, as UPS has it: A is 2, B is 3, and so on, modulo 10.
fn value(byte: u8) -> u32 {
    let code = u32::from(byte);
    if byte.is_ascii_digit() {
        code.saturating_sub(u32::from(b'0'))
    } else {
        code.saturating_sub(3).checked_rem(10).unwrap_or_default()
    }
}

/// The sum of the characters times the weights, which repeat from the last
/// character to the first.
fn weighted(number: &[u8], weights: &[u32]) -> u32 {
    number
        .iter()
        .rev()
        .zip(weights.iter().cycle())
        .map(|(byte, weight)| value(*byte).saturating_mul(*weight))
        .fold(0, u32::saturating_add)
}

/// Whether the last character is the digit that fills the weighted sum of the
/// others up to a multiple of ten.
pub(super) fn ends_in_mod10(number: &[u8], weights: &[u32]) -> bool {
    number.split_last().is_some_and(|(check, serial)| {
        check.is_ascii_digit()
            && weighted(serial, weights)
                .saturating_add(value(*check))
                .is_multiple_of(10)
    })
}

/// Whether the last digit is the weighted sum of the others modulo 11, ten
/// counting as zero.
pub(super) fn ends_in_mod11(number: &[u8]) -> bool {
    number.split_last().is_some_and(|(check, serial)| {
        let remainder = weighted(serial, &[1, 3, 7])
            .checked_rem(11)
            .unwrap_or_default();
        remainder.checked_rem(10) == Some(value(*check))
    })
}

/// Whether the digits pass the Luhn check.
pub(super) fn passes_luhn(number: &[u8]) -> bool {
    number
        .iter()
        .rev()
        .zip([1, 2].iter().cycle())
        .map(|(byte, weight)| {
            let product = value(*byte).saturating_mul(*weight);
            // The sum of the product's two digits.
            if product > 9 {
                product.saturating_sub(9)
            } else {
                product
            }
        })
        .fold(0, u32::saturating_add)
        .is_multiple_of(10)
}
