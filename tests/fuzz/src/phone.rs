//! Phone numbers, as people write them.

use lessor_adapters::dialing::PublishedPlans;
use lessor_domain::address::Country;
use lessor_domain::ports::DialingPlan as _;
use lessor_domain::text::Line;

/// Reads a number, at home in the United States and nowhere. What is read is digits, and the same each time.
pub fn run(data: &[u8]) -> bool {
    let text = std::str::from_utf8(data).ok();
    let Some(line) = text.and_then(|text| Line::parse(text).ok()) else {
        return false;
    };
    let [at_home, nowhere] = [Some(Country::US), None].map(|country| {
        let read = || {
            let number = PublishedPlans.read(country, &line);
            number.map(|number| (number.country_code, number.national))
        };
        let number = read();
        assert_eq!(number, read(), "{line}");
        if let Some((_, digits)) = &number {
            let is_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            assert!(is_digits, "{line}: {digits:?}");
        }
        number.is_some()
    });
    at_home || nowhere
}
