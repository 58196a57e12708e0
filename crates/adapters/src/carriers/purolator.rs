//! The numbers of Purolator, whom Lessor does not track: they have the length of FedEx
//! Express's, and one in ten passes FedEx's check digit.

use super::check_digits::passes_luhn;

/// Whether Purolator could have given the number: it begins with 0 to 5 and passes the
/// Luhn check.
pub(super) fn is_one(number: &[u8]) -> bool {
    number.len() == 12 && matches!(number.first(), Some(b'0'..=b'5')) && passes_luhn(number)
}
