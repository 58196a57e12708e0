//! Carriers told by their numbers.

use crate::ports::CarrierDetector;
use crate::shipments::{Carrier, CarrierError, TrackingNumber};

/// The detector of carriers.
///
/// # Panics
/// With the clause that is broken.
pub fn carriers(detector: &dyn CarrierDetector) {
    let detect = |text: &str| match TrackingNumber::parse(text) {
        Ok(number) => detector.detect(&number),
        Err(error) => panic!("{text} {error}"),
    };
    for (text, carrier) in [
        ("1Z999AA10123456784", Carrier::Ups),
        ("1Z410E7W0392751591", Carrier::Ups),
        ("790535312317", Carrier::Fedex),
        ("1z 410e7w 03 9275159 1", Carrier::Ups),
        ("7905-3531-2317", Carrier::Fedex),
    ] {
        assert_eq!(
            detect(text),
            Ok(carrier),
            "carriers.detect: {text} is the carrier's, however it is written"
        );
    }
    assert_eq!(
        detect("287809468872"),
        Err(CarrierError::Ambiguous),
        "carriers.detect: a number that a carrier has given whom Lessor does not track is not FedEx's"
    );
    for text in ["PARCEL7", "0000", "TBA010000000000"] {
        assert_eq!(
            detect(text),
            Err(CarrierError::None),
            "carriers.detect: {text} has the form of no carrier's numbers"
        );
    }
}
