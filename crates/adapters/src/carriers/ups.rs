//! The numbers of UPS.

use super::check_digits::{ends_in_mod10, is_digits};

/// The first letters of waybill numbers.
const WAYBILL_LETTERS: &[u8] = b"AHJKTV";

pub(super) fn is_one(number: &[u8]) -> bool {
    match number {
        [b'1', b'Z', rest @ ..] if rest.len() == 16 => ends_in_mod10(rest, &[1, 2]),
        [letter, rest @ ..] if WAYBILL_LETTERS.contains(letter) && rest.len() == 10 => {
            is_digits(rest) && ends_in_mod10(rest, &[1, 2])
        }
        _ => false,
    }
}
