//! Carriers told by tracking numbers, against published numbers of every carrier.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops where its own data is wrong"
)]

use lessor_adapters::carriers::FormatDetector;
use lessor_domain::ports::CarrierDetector as _;
use lessor_domain::shipments::{Carrier, CarrierError, TrackingNumber};
use lessor_domain::testing::contract;
use proptest::prelude::*;
use serde_json::Value;

/// `(carrier, format, number)` of the published numbers, valid or invalid ones.
fn published(kind: &str) -> Vec<(String, String, String)> {
    let data: Value = serde_json::from_str(include_str!("published.json")).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut numbers = Vec::new();
    for format in data["formats"].as_array().unwrap() {
        for number in format[kind].as_array().unwrap() {
            numbers.push((
                text(&format["carrier"]),
                text(&format["format"]),
                text(number),
            ));
        }
    }
    numbers
}

fn carrier_of(text: &str) -> Result<Carrier, CarrierError> {
    FormatDetector.detect(&TrackingNumber::parse(text).unwrap())
}

#[test]
fn the_contract() {
    contract::carriers(&FormatDetector);
}

#[test]
fn published_numbers_of_ours_are_told_and_those_of_others_are_not() {
    let numbers = published("valid");
    assert!(numbers.len() > 80, "{}", numbers.len());
    for (carrier, format, number) in numbers {
        let found = carrier_of(&number);
        match carrier.parse::<Carrier>() {
            Ok(ours) => assert_eq!(found, Ok(ours), "{format} {number}"),
            Err(_) => assert!(found.is_err(), "{format} {number} is not {found:?}'s"),
        }
    }
}

#[test]
fn published_numbers_that_are_wrong_are_nobodys() {
    let numbers = published("invalid");
    assert!(numbers.len() > 40, "{}", numbers.len());
    for (_, format, number) in numbers {
        assert_eq!(
            carrier_of(&number),
            Err(CarrierError::None),
            "{format} {number}"
        );
    }
}

#[test]
fn a_number_that_another_carrier_may_have_given_is_ambiguous() {
    for purolator in ["287809468872", "320610804900"] {
        assert_eq!(
            carrier_of(purolator),
            Err(CarrierError::Ambiguous),
            "{purolator}"
        );
    }
    // Begins as Purolator's do, but fails Purolator's check digit.
    assert_eq!(carrier_of("477179081230"), Ok(Carrier::Fedex));
}

/// Where the part that a format's check digit covers begins and ends.
fn covered(format: &str, number: &str) -> std::ops::Range<usize> {
    match format {
        "UPS" => 2..18,
        "UPS Waybill" => 1..11,
        "FedEx Express (34)" | "FedEx Ground GSN" => 20..34,
        "FedEx ASTRA (32)" => 16..28,
        "FedEx Ground (SSCC-18)" => 2..18,
        "FedEx Ground 96 (22)" => 7..22,
        _ => 0..number.len(),
    }
}

#[test]
fn a_flipped_digit_is_mostly_refused() {
    let (mut flips, mut passed) = (0_u32, 0_u32);
    for (carrier, format, number) in published("valid") {
        if carrier.parse::<Carrier>().is_err() {
            continue;
        }
        let number = TrackingNumber::parse(&number).unwrap();
        for place in covered(&format, number.as_str()) {
            let old = number.as_str().as_bytes()[place];
            for new in (b'0'..=b'9').filter(|new| *new != old && old.is_ascii_digit()) {
                let mut flipped = number.as_str().as_bytes().to_vec();
                flipped[place] = new;
                flips += 1;
                passed += u32::from(carrier_of(std::str::from_utf8(&flipped).unwrap()).is_ok());
            }
        }
    }
    assert!(flips > 2_000, "{flips}");
    // Both schemes miss some: weight two maps 5 to 10, and modulo 11 is cut to one digit.
    assert!(
        passed * 25 < flips,
        "{passed} of {flips} flipped numbers passed"
    );
}

/// The check digit of UPS: weights one and two in turn, letters by their place in the code table,
/// written apart from the code under test, from left to right.
fn ups_check_digit(serial: &str) -> char {
    let sum: u32 = serial
        .chars()
        .enumerate()
        .map(|(place, letter)| {
            let value = letter
                .to_digit(10)
                .unwrap_or_else(|| (u32::from(letter) - 63) % 10);
            if place % 2 == 0 { value } else { 2 * value }
        })
        .sum();
    char::from_digit((10 - sum % 10) % 10, 10).unwrap()
}

/// The check digit of FedEx Express: weights 3, 1, 7 in turn from the left, modulo 11, ten as zero.
fn express_check_digit(serial: &str) -> char {
    let sum: u32 = serial
        .chars()
        .zip([3, 1, 7].into_iter().cycle())
        .map(|(digit, weight)| digit.to_digit(10).unwrap() * weight)
        .sum();
    char::from_digit(sum % 11 % 10, 10).unwrap()
}

/// The check digit of FedEx Ground: weights 3 and 1 in turn, 3 for the last before it.
fn ground_check_digit(serial: &str) -> char {
    let sum: u32 = serial
        .chars()
        .rev()
        .zip([3, 1].into_iter().cycle())
        .map(|(digit, weight)| digit.to_digit(10).unwrap() * weight)
        .sum();
    char::from_digit((10 - sum % 10) % 10, 10).unwrap()
}

/// A random number of ours with its right check digit, and where that check digit reaches.
fn random_number() -> impl Strategy<Value = (Carrier, String, std::ops::Range<usize>)> {
    let ups = "[0-9A-Z]{6}[0-9]{9}".prop_map(|serial| {
        let check = ups_check_digit(&serial);
        (Carrier::Ups, format!("1Z{serial}{check}"), 2..18)
    });
    // Begins where Purolator's numbers, which have the same length, do not.
    let express = "[6-9][0-9]{10}".prop_map(|serial| {
        let check = express_check_digit(&serial);
        (Carrier::Fedex, format!("{serial}{check}"), 0..12)
    });
    let ground = "[1-9][0-9]{13}".prop_map(|serial| {
        let check = ground_check_digit(&serial);
        (Carrier::Fedex, format!("{serial}{check}"), 0..15)
    });
    let ground_96 = ("[0-9]{5}", "[0-9]{14}").prop_map(|(service, serial)| {
        let check = ground_check_digit(&serial);
        (Carrier::Fedex, format!("96{service}{serial}{check}"), 7..22)
    });
    prop_oneof![ups, express, ground, ground_96]
}

/// The text with random spaces, hyphens and letter case.
fn written_anyhow(number: &str, whims: &[(u8, bool)]) -> String {
    number
        .chars()
        .zip(whims)
        .flat_map(|(letter, (gap, lower))| {
            let gap = match gap {
                0 => Some(' '),
                1 => Some('-'),
                _ => None,
            };
            let letter = if *lower {
                letter.to_ascii_lowercase()
            } else {
                letter
            };
            gap.into_iter().chain([letter])
        })
        .collect()
}

/// Of all typos of one digit that the check digit covers, at least nine in ten are nobody's: each
/// of the schemes misses a few (weight two maps 5 to 10, and modulo 11 is cut to one digit), and
/// a random number may miss more than another, so the typos of many are counted together.
#[test]
fn nine_of_ten_typos_in_random_numbers_are_refused() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut typos = std::collections::HashMap::new();
    for _ in 0..400 {
        let (_, number, covered) = random_number().new_tree(&mut runner).unwrap().current();
        let form = typos.entry(number.len()).or_insert((0_u32, 0_u32));
        for place in covered {
            let old = number.as_bytes()[place];
            for new in (b'0'..=b'9').filter(|new| *new != old && old.is_ascii_digit()) {
                let mut typo = number.clone().into_bytes();
                typo[place] = new;
                form.0 += 1;
                form.1 += u32::from(carrier_of(std::str::from_utf8(&typo).unwrap()).is_err());
            }
        }
    }
    assert_eq!(typos.len(), 4, "each form was tried");
    for (length, (tried, refused)) in typos {
        assert!(tried > 1_000, "{length}: {tried}");
        assert!(
            refused * 10 >= tried * 9,
            "{refused} of {tried} typos in numbers of {length} characters are refused"
        );
    }
}

/// A published number of ours, written as people write them.
fn written() -> impl Strategy<Value = (String, String)> {
    let ours: Vec<String> = published("valid")
        .into_iter()
        .filter(|(carrier, ..)| carrier.parse::<Carrier>().is_ok())
        .map(|(_, _, number)| number)
        .collect();
    (
        prop::sample::select(ours),
        prop::collection::vec((0_u8..4, any::<bool>()), 64),
    )
        .prop_map(|(number, whims)| {
            let number = TrackingNumber::parse(&number).unwrap().as_str().to_owned();
            let text = written_anyhow(&number, &whims);
            (number, text)
        })
}

proptest! {
    #[test]
    fn a_random_valid_number_is_told_however_it_is_written(
        (carrier, number, _) in random_number(),
        whims in prop::collection::vec((0_u8..4, any::<bool>()), 40),
    ) {
        prop_assert_eq!(carrier_of(&written_anyhow(&number, &whims)), Ok(carrier), "{}", number);
    }

    #[test]
    fn how_a_number_is_written_does_not_matter((number, text) in written()) {
        prop_assert_eq!(carrier_of(&text), carrier_of(&number));
        prop_assert!(carrier_of(&text).is_ok());
    }

    #[test]
    fn any_number_is_decided(text in "[0-9A-Za-z]{4,64}") {
        let found = carrier_of(&text);
        // No form of UPS is all digits, every form of FedEx is.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        prop_assert_ne!(found, Ok(if digits { Carrier::Ups } else { Carrier::Fedex }));
    }
}
