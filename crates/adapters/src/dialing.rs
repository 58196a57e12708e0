//! Phone numbers, read by the published numbering plans of the world.

use lessor_domain::address::{Country, PhoneNumber};
use lessor_domain::ports::DialingPlan;
use lessor_domain::text::Line;

/// Reads phone numbers by the numbering plans that come with the program, and asks nobody.
///
/// ```
/// use lessor_adapters::dialing::PublishedPlans;
/// use lessor_domain::address::Country;
/// use lessor_domain::ports::DialingPlan;
/// use lessor_domain::text::Line;
///
/// let number = Line::parse("(415) 555-0100").ok().and_then(|text| PublishedPlans.read(Some(Country::US), &text));
/// assert_eq!(number.map(|number| (number.country_code, number.national)), Some((1, "4155550100".to_owned())));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct PublishedPlans;

impl DialingPlan for PublishedPlans {
    fn read(&self, country: Option<Country>, text: &Line) -> Option<PhoneNumber> {
        let region = country.and_then(|country| country.code().parse().ok());
        let number = phonenumber::parse(region, text.as_str()).ok()?;
        Some(PhoneNumber {
            country_code: number.code().value(),
            national: number.national().to_string(),
        })
    }
}
