//! Rules under test, with mocked ports: `cargo test -p lessor-domain --example mocked_ports --features mock,testing`
//!
//! The rules are an application's own. Whoever asks for a carrier is told by the number
//! first, and a shipment that the carrier reports delivered is not asked for again. And
//! a key is revoked in a transaction that is tried once more when it met another's. A
//! mock says what a port is expected to be asked and what it answers: a store that is
//! contended just once cannot be had otherwise. What follows from stored things is
//! better told by `testing::MemoryDatabase`, which stores them.

use lessor_domain::audit::Origin;
use lessor_domain::checkout::Tracking;
use lessor_domain::ids::ApiKeyPubId;
use lessor_domain::ports::{
    CarrierDetector, Database, Doubt, IdGenerator, Reach, ShipmentTracker, StoreError,
};
use lessor_domain::services::{Error, keys::revoke_key};
use lessor_domain::shipments::{CarrierError, CarrierReport, TrackingNumber, TrackingStatus};
use lessor_domain::time::Timestamp;

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

/// The first rule.
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
        Err(
            Doubt::Unreachable(_) | Doubt::Failed(_) | Doubt::Unconfigured(_) | Doubt::Busy { .. },
        ) => Answer::Stale(known),
    }
}

/// Carriers report in any order.
fn newest(reports: &[CarrierReport]) -> Option<TrackingStatus> {
    reports
        .iter()
        .max_by_key(|reported| reported.at)
        .map(|reported| reported.status)
}

/// The second rule.
async fn lock_out(
    database: &dyn Database,
    ids: &dyn IdGenerator,
    id: ApiKeyPubId,
    now: Timestamp,
) -> Result<(), Error> {
    match revoke(database, ids, id, now).await {
        Err(Error::Store(StoreError::Contended)) => revoke(database, ids, id, now).await,
        outcome => outcome,
    }
}

async fn revoke(
    database: &dyn Database,
    ids: &dyn IdGenerator,
    id: ApiKeyPubId,
    now: Timestamp,
) -> Result<(), Error> {
    let mut work = database.begin(Reach::Server).await?;
    revoke_key(work.as_mut(), ids, now, &Origin::cli("operator"), id).await?;
    Ok(work.commit().await?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use lessor_domain::ports::{
        MockCarrierDetector, MockDatabase, MockShipmentTracker, MockUnitOfWork,
    };
    use lessor_domain::shipments::Carrier;
    use lessor_domain::testing::Fixtures;

    // Nobody has the key: nothing is to be committed, and a commit would fail.
    let mut work = MockUnitOfWork::new();
    work.keys.expect_get().returning(|_| Ok(None));
    let mut database = MockDatabase::new();
    database.expect_begin(Ok(work));
    let make = Fixtures::default();
    match lock_out(&database, make.ids(), make.id(), make.tick()).await {
        Err(Error::NotFound { .. }) => {}
        other => return Err(format!("nobody has the key, so not {other:?}").into()),
    }

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
    use lessor_domain::ports::{
        KeyHolder, MockCarrierDetector, MockDatabase, MockShipmentTracker, MockUnitOfWork,
    };
    use lessor_domain::shipments::Carrier;
    use lessor_domain::testing::Fixtures;

    use super::*;

    fn number() -> TrackingNumber {
        TrackingNumber::parse("1Z410E7W0392751591").unwrap()
    }

    fn reported(hours: i64, status: TrackingStatus) -> CarrierReport {
        CarrierReport {
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
    /// A unit of work that finds the key and closes it, and whose commit answers this.
    fn closes(holder: &KeyHolder, commit: Result<(), StoreError>) -> MockUnitOfWork {
        let mut work = MockUnitOfWork::new();
        let found = holder.clone();
        work.keys.expect_get().return_once(move |_| Ok(Some(found)));
        work.keys
            .expect_close()
            .times(1)
            .returning(|_, _, _| Ok(()));
        work.audit.expect_append().times(1).returning(|_| Ok(()));
        work.expect_commit(commit);
        work
    }

    fn holder(make: &Fixtures) -> KeyHolder {
        let organization = make.organization().build();
        let user = make.customer(&organization).build();
        KeyHolder {
            key: make.api_key(&user).build(),
            organization_pub_id: organization.pub_id,
            user_pub_id: user.id,
            sandbox_writes_catalog: organization.lets_sandbox_write_catalog(),
        }
    }

    #[tokio::test]
    async fn contended_work_is_tried_once_more() {
        let make = Fixtures::default();
        let holder = holder(&make);
        let mut database = MockDatabase::new();
        database.expect_begin(Ok(closes(&holder, Err(StoreError::Contended))));
        database.expect_begin(Ok(closes(&holder, Ok(()))));
        lock_out(&database, make.ids(), holder.key.id, make.tick())
            .await
            .unwrap();
        assert_eq!(database.commits(), 1);
    }

    #[tokio::test]
    async fn and_only_once() {
        let make = Fixtures::default();
        let holder = holder(&make);
        let mut database = MockDatabase::new();
        for _ in 0..2 {
            database.expect_begin(Ok(closes(&holder, Err(StoreError::Contended))));
        }
        let outcome = lock_out(&database, make.ids(), holder.key.id, make.tick()).await;
        assert!(matches!(outcome, Err(Error::Store(StoreError::Contended))));
        assert_eq!(database.commits(), 0);
    }
}
