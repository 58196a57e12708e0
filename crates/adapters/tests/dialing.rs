//! Phone numbers, read by the published plans, and by the one of the domain's tests, which reads
//! nothing that these do not read alike.

use lessor_adapters::dialing::PublishedPlans;
use lessor_domain::address::{Country, PhoneNumber};
use lessor_domain::ports::DialingPlan as _;
use lessor_domain::testing::{FakeDialingPlan, contract};
use lessor_domain::text::Line;
use proptest::prelude::*;

#[test]
fn the_contract() {
    contract::dialing(&PublishedPlans);
}

/// Ways of writing a number that the countries have, as the published plans read them.
#[test]
fn numbers_in_the_form_of_their_country() {
    for (country, text, country_code, national) in [
        ("US", "1 (415) 555-0100", 1, "4155550100"),
        ("GB", "020 7946 0958", 44, "2079460958"),
        ("DE", "0049 30 901820", 49, "30901820"),
        // The zero of an Italian number belongs to it.
        ("IT", "06 4549 3000", 39, "0645493000"),
        ("FR", "01 99 00 12 34", 33, "199001234"),
        ("JP", "03-5253-1111", 81, "352531111"),
    ] {
        let country: Country = country.parse().unwrap();
        let read = PublishedPlans.read(Some(country), &Line::parse(text).unwrap());
        let expected = PhoneNumber {
            country_code,
            national: national.to_owned(),
        };
        assert_eq!(read, Some(expected), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4096,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn the_fake_is_no_kinder(
        country in prop::sample::select(vec!["", "US", "CA", "DE", "FR", "GB", "JP"]),
        text in r"\+?(1|33|44|49|81)?[0-9 ()-]{7,14}[0-9x]",
    ) {
        let country = country.parse::<Country>().ok();
        let Ok(text) = Line::parse(&text) else {
            return Ok(());
        };
        let dialable = |number: &PhoneNumber| number.is_dialable();
        if let Some(number) = FakeDialingPlan.read(country, &text).filter(dialable) {
            prop_assert_eq!(
                PublishedPlans.read(country, &text).filter(dialable),
                Some(number)
            );
        }
    }
}
