//! The numbers of FedEx.

use super::check_digits::{ends_in_mod10, ends_in_mod11, is_digits};

/// The container types of the SSCC-18 that Ground prints: carton, pallet, larger than a
/// pallet, internal.
const CONTAINER_TYPES: [[u8; 2]; 4] = [*b"00", *b"01", *b"02", *b"04"];

pub(super) fn is_one(number: &[u8]) -> bool {
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
