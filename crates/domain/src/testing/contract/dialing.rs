//! Phone numbers, read by a dialing plan.

use crate::address::{Country, PhoneNumber};
use crate::ports::DialingPlan;
use crate::text::Line;

/// The dialing plan.
///
/// # Panics
/// With the clause that is broken.
pub fn dialing(plan: &dyn DialingPlan) {
    let line = |text: &str| match Line::parse(text) {
        Ok(line) => line,
        Err(error) => panic!("{text} {error}"),
    };
    let country = |code: &str| match code.parse::<Country>() {
        Ok(country) => country,
        Err(error) => panic!("{code} {error}"),
    };
    let read = |place: &str, text: &str| {
        let place = (!place.is_empty()).then(|| country(place));
        plan.read(place, &line(text))
    };
    let dialable = |place: &str, text: &str| read(place, text).filter(PhoneNumber::is_dialable);
    for (place, text, country_code, national) in [
        ("US", "(415) 555-0100", 1, "4155550100"),
        ("US", "415 555 0100", 1, "4155550100"),
        ("CA", "613-555-0100", 1, "6135550100"),
        ("US", "+14155550100", 1, "4155550100"),
        ("", "+14155550100", 1, "4155550100"),
        ("US", "+44 20 7946 0958", 44, "2079460958"),
        ("GB", "20 7946 0958", 44, "2079460958"),
        ("FR", "+1 415 555 0100", 1, "4155550100"),
        ("", "+33 1 99 00 12 34", 33, "199001234"),
    ] {
        let expected = PhoneNumber {
            country_code,
            national: national.to_owned(),
        };
        assert_eq!(
            dialable(place, text),
            Some(expected),
            "dialing.read: {text} in {place:?} is a number of +{country_code}"
        );
    }
    for (place, text) in [
        ("", "415 555 0100"),
        ("US", "12"),
        ("US", "call me"),
        ("US", "+1415555010099999"),
        ("US", "555-0100"),
        ("GB", "+44 12"),
        ("", "+"),
        ("", "+999 123 456 789"),
    ] {
        assert_eq!(
            dialable(place, text),
            None,
            "dialing.read: {text} in {place:?} is nobody's number"
        );
    }
}
