//! Which carrier a tracking number is of.
//!
//! Structure decides first: length, letters and the prefix or application
//! identifier. Then the check digit, which alone filters only nine random numbers
//! in ten. Formats and check digits as they are published by the
//! [`tracking_number_data`](https://github.com/jkeen/tracking_number_data) project.

use super::{Carrier, CarrierError, TrackingNumber};

/// The first letters of UPS waybill numbers.
const WAYBILL_LETTERS: &[u8] = b"AHJKTV";
/// The container types of the SSCC-18 that FedEx Ground prints: carton, pallet,
/// larger than a pallet, internal.
const CONTAINER_TYPES: [[u8; 2]; 4] = [*b"00", *b"01", *b"02", *b"04"];

/// The carrier of the number, by its structure and check digit.
///
/// ```
/// use lessor_domain::fulfillment::{Carrier, CarrierError, TrackingNumber, detect};
///
/// let carrier = |text| TrackingNumber::parse(text).map(|number| detect(&number));
/// assert_eq!(carrier("1z 410e7w 03 9275159 1"), Ok(Ok(Carrier::Ups)));
/// assert_eq!(carrier("7905 3531 2317"), Ok(Ok(Carrier::Fedex)));
/// assert_eq!(carrier("7905 3531 2318"), Ok(Err(CarrierError::None)));
/// ```
///
/// # Errors
/// [`CarrierError::None`] when the number has the form of none of our carriers;
/// [`CarrierError::Ambiguous`] when a carrier that Lessor does not track has the
/// same form and the number is good for both.
pub fn detect(number: &TrackingNumber) -> Result<Carrier, CarrierError> {
    let number = number.as_str().as_bytes();
    if is_ups(number) {
        return Ok(Carrier::Ups);
    }
    if !is_fedex(number) {
        return Err(CarrierError::None);
    }
    if is_purolator(number) {
        return Err(CarrierError::Ambiguous);
    }
    Ok(Carrier::Fedex)
}

fn is_ups(number: &[u8]) -> bool {
    match number {
        [b'1', b'Z', rest @ ..] if rest.len() == 16 => ends_in_mod10(rest, &[1, 2]),
        [letter, rest @ ..] if WAYBILL_LETTERS.contains(letter) && rest.len() == 10 => {
            is_digits(rest) && ends_in_mod10(rest, &[1, 2])
        }
        _ => false,
    }
}

fn is_fedex(number: &[u8]) -> bool {
    // Zeros pass every check digit and are nobody's number.
    if !is_digits(number) || number.iter().all(|byte| *byte == b'0') {
        return false;
    }
    match (number.len(), number) {
        // Express.
        (12, number) => ends_in_mod11(number),
        // Ground.
        (15, number) => ends_in_mod10(number, &[3, 1]),
        // Ground SSCC-18: the container type is not covered by the check digit.
        (18, [a, b, rest @ ..]) => {
            CONTAINER_TYPES.contains(&[*a, *b]) && ends_in_mod10(rest, &[3, 1])
        }
        // Ground 96: application identifier, 2 + 3 digits of service, then shipper and
        // package. Other numbers of this length begin with 91 to 95 and are the postal service's.
        (22, [b'9', b'6', _, _, _, _, _, rest @ ..]) => ends_in_mod10(rest, &[3, 1]),
        // Express ASTRA: the express number stands between the route and the form.
        (32, number) => number.get(16..28).is_some_and(ends_in_mod11),
        // Express and Ground GSN: an express number with two digits more, at the end. Those of
        // the postal service begin with 420.
        (34, [b'1', ..] | [b'9', b'6', ..]) => number.get(20..).is_some_and(ends_in_mod11),
        _ => false,
    }
}

/// Whether Purolator, whose numbers have the length of FedEx Express's, could have
/// given the number: it begins with 0 to 5 and passes the Luhn check.
fn is_purolator(number: &[u8]) -> bool {
    let luhn: u32 = number
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
        .fold(0, u32::saturating_add);
    number.len() == 12 && matches!(number.first(), Some(b'0'..=b'5')) && luhn.is_multiple_of(10)
}

fn is_digits(number: &[u8]) -> bool {
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
fn ends_in_mod10(number: &[u8], weights: &[u32]) -> bool {
    number.split_last().is_some_and(|(check, serial)| {
        check.is_ascii_digit()
            && weighted(serial, weights)
                .saturating_add(value(*check))
                .is_multiple_of(10)
    })
}

/// Whether the last digit is the weighted sum of the others modulo 11, ten
/// counting as zero.
fn ends_in_mod11(number: &[u8]) -> bool {
    number.split_last().is_some_and(|(check, serial)| {
        let remainder = weighted(serial, &[1, 3, 7])
            .checked_rem(11)
            .unwrap_or_default();
        remainder.checked_rem(10) == Some(value(*check))
    })
}
