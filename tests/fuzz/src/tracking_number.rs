//! Numbers of shipments, and the carriers that they tell.

use lessor_adapters::carriers::FormatDetector;
use lessor_domain::ports::CarrierDetector as _;
use lessor_domain::shipments::TrackingNumber;

/// Reads a tracking number; whether it tells a carrier. Neither case, spaces nor hyphens make another number of it.
pub fn run(data: &[u8]) -> bool {
    let text = std::str::from_utf8(data).ok();
    let Some(number) = text.and_then(|text| TrackingNumber::parse(text).ok()) else {
        return false;
    };
    let carrier = FormatDetector.detect(&number);
    let lower = number.as_str().to_ascii_lowercase();
    let spaced: String = lower.chars().flat_map(|letter| [letter, '-']).collect();
    let again = TrackingNumber::parse(&format!(" {spaced} "));
    assert_eq!(again.as_ref(), Ok(&number));
    assert_eq!(
        again.map(|again| FormatDetector.detect(&again)),
        Ok(carrier)
    );
    carrier.is_ok()
}
