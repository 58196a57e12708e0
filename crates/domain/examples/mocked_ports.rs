//! A rule under test, with mocked ports: `cargo test -p lessor-domain --example mocked_ports --features mock`
//!
//! The rule is an application's own: whoever asks for a carrier is told by the number
//! first, and a shipment that the carrier reports delivered is not asked for again. A
//! mock says what a port is expected to be asked and what it answers; stores are
//! better not mocked but taken from `testing::MemoryDatabase`.

use lessor_domain::checkout::Tracking;
use lessor_domain::fulfillment::{CarrierError, Reported, TrackingNumber, TrackingStatus};
use lessor_domain::ports::{CarrierDetector, Doubt, ShipmentTracker};

/// What there is to tell of a shipment.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// Its newest status.
    Status(TrackingStatus),
    /// The carrier has nothing to report.
    NothingYet,
    /// Nobody knows whose number it is.
    UnknownCarrier(CarrierError),
    /// The carrier could not be asked: the last status that is known counts.
    Stale(Option<TrackingStatus>),
}

/// The rule.
async fn where_is(
    detector: &dyn CarrierDetector,
    tracker: &dyn ShipmentTracker,
    number: &TrackingNumber,
    known: Option<TrackingStatus>,
) -> Answer {
    if known == Some(TrackingStatus::Delivered) {
        return Answer::Status(TrackingStatus::Delivered);
    }
    let carrier = match detector.detect(number) {
        Ok(carrier) => carrier,
        Err(error) => return Answer::UnknownCarrier(error),
    };
    let tracking = Tracking {
        number: number.clone(),
        carrier,
    };
    match tracker.reports(&tracking).await {
        Ok(reports) => newest(&reports).map_or(Answer::NothingYet, Answer::Status),
        Err(Doubt::Unreachable(_) | Doubt::Failed(_) | Doubt::Unconfigured(_)) => {
            Answer::Stale(known)
        }
    }
}

/// Carriers report in any order.
fn newest(reports: &[Reported]) -> Option<TrackingStatus> {
    reports
        .iter()
        .max_by_key(|reported| reported.at)
        .map(|reported| reported.status)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use lessor_domain::fulfillment::Carrier;
    use lessor_domain::ports::{MockCarrierDetector, MockShipmentTracker};

    let mut silent = MockShipmentTracker::new();
    silent.expect_reports().returning(|_| Ok(Vec::new()));
    let mut ups = MockCarrierDetector::new();
    ups.expect_detect().return_const(Ok(Carrier::Ups));
    let number = TrackingNumber::parse("1Z 410E7W 03 9275 1591")?;
    match where_is(&ups, &silent, &number, None).await {
        Answer::NothingYet => Ok(()),
        other => Err(format!("a silent carrier has nothing to tell, not {other:?}").into()),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use lessor_domain::fulfillment::Carrier;
    use lessor_domain::ports::{MockCarrierDetector, MockShipmentTracker};
    use lessor_domain::time::Timestamp;

    use super::*;

    fn number() -> TrackingNumber {
        TrackingNumber::parse("1Z410E7W0392751591").unwrap()
    }

    fn reported(hours: i64, status: TrackingStatus) -> Reported {
        Reported {
            at: Timestamp::UNIX_EPOCH + TimeDelta::hours(hours),
            status,
            description: None,
            location: None,
            signed_by: None,
            estimated_delivery: None,
        }
    }

    fn detects(answer: Result<Carrier, CarrierError>) -> MockCarrierDetector {
        let mut detector = MockCarrierDetector::new();
        detector.expect_detect().return_const(answer);
        detector
    }

    #[tokio::test]
    async fn the_newest_report_counts_whatever_came_last() {
        let mut tracker = MockShipmentTracker::new();
        tracker
            .expect_reports()
            .withf(|tracking| tracking.carrier == Carrier::Fedex && tracking.number == number())
            .times(1)
            .returning(|_| {
                Ok(vec![
                    reported(9, TrackingStatus::OutForDelivery),
                    reported(2, TrackingStatus::PreTransit),
                ])
            });
        let answer = where_is(&detects(Ok(Carrier::Fedex)), &tracker, &number(), None).await;
        assert_eq!(answer, Answer::Status(TrackingStatus::OutForDelivery));
    }

    #[tokio::test]
    async fn nobody_is_asked_for_what_is_known() {
        // Neither mock expects a call: one would fail the test.
        let (detector, tracker) = (MockCarrierDetector::new(), MockShipmentTracker::new());
        let known = Some(TrackingStatus::Delivered);
        let answer = where_is(&detector, &tracker, &number(), known).await;
        assert_eq!(answer, Answer::Status(TrackingStatus::Delivered));
    }

    #[tokio::test]
    async fn a_number_of_nobody_is_not_asked_for() {
        let detector = detects(Err(CarrierError::Ambiguous));
        let answer = where_is(&detector, &MockShipmentTracker::new(), &number(), None).await;
        assert_eq!(answer, Answer::UnknownCarrier(CarrierError::Ambiguous));
    }

    #[tokio::test]
    async fn doubt_leaves_what_is_known() {
        let mut tracker = MockShipmentTracker::new();
        tracker
            .expect_reports()
            .returning(|_| Err(Doubt::unreachable("timed out")));
        let known = Some(TrackingStatus::InTransit);
        let answer = where_is(&detects(Ok(Carrier::Ups)), &tracker, &number(), known).await;
        assert_eq!(answer, Answer::Stale(known));
    }
}
