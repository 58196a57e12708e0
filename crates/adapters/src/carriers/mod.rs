//! Which carrier a tracking number is of, told by the number alone.
//!
//! Structure decides first: length, letters and the prefix or application
//! identifier. Then the check digit, which alone filters only nine random numbers
//! in ten. Formats and check digits as they are published by the
//! [`tracking_number_data`](https://github.com/jkeen/tracking_number_data) project.

mod check_digits;
mod fedex;
mod purolator;
mod ups;

use lessor_domain::ports::CarrierDetector;
use lessor_domain::shipments::{Carrier, CarrierError, TrackingNumber};

/// Tells carriers by structure and check digit, and asks nobody.
///
/// ```
/// use lessor_adapters::carriers::FormatDetector;
/// use lessor_domain::shipments::{Carrier, CarrierError, TrackingNumber};
/// use lessor_domain::ports::CarrierDetector;
///
/// let carrier = |text| TrackingNumber::parse(text).map(|number| FormatDetector.detect(&number));
/// assert_eq!(carrier("1z 410e7w 03 9275159 1"), Ok(Ok(Carrier::Ups)));
/// assert_eq!(carrier("7905 3531 2317"), Ok(Ok(Carrier::Fedex)));
/// assert_eq!(carrier("7905 3531 2318"), Ok(Err(CarrierError::None)));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct FormatDetector;

impl CarrierDetector for FormatDetector {
    fn detect(&self, number: &TrackingNumber) -> Result<Carrier, CarrierError> {
        let number = number.as_str().as_bytes();
        if ups::is_one(number) {
            return Ok(Carrier::Ups);
        }
        if !fedex::is_one(number) {
            return Err(CarrierError::None);
        }
        if purolator::is_one(number) {
            return Err(CarrierError::Ambiguous);
        }
        Ok(Carrier::Fedex)
    }
}
