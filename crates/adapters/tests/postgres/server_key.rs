//! The key that a database is under, by its fingerprint.

use futures_util::future::join_all;
use lessor_adapters::testing::TestDatabase;
use lessor_domain::ports::Clock;
use lessor_domain::testing::ManualClock;

const OLD: [u8; 32] = [1; 32];
const NEW: [u8; 32] = [2; 32];
const OTHER: [u8; 32] = [3; 32];

#[tokio::test]
async fn a_database_keeps_its_key_until_whoever_has_it_replaces_it() {
    let test = TestDatabase::create().await;
    let database = test.database();
    let clock = ManualClock::default();
    let made = clock.now();
    assert_eq!(database.server_key().await.unwrap(), None);
    let known = database
        .put_under_server_key(OLD, None, made)
        .await
        .unwrap();
    assert_eq!(
        (known.fingerprint, known.former, known.since),
        (OLD, None, made)
    );
    clock.advance(chrono::TimeDelta::days(1));
    for (key, replaced) in [
        // Again.
        (OLD, None),
        // Before the rotation.
        (OLD, Some(NEW)),
        // Somebody who has neither.
        (OTHER, None),
        (OTHER, Some(NEW)),
    ] {
        let decided = database.put_under_server_key(key, replaced, clock.now());
        assert_eq!(decided.await.unwrap(), known, "{key:?} {replaced:?}");
    }
    let rotated = database
        .put_under_server_key(NEW, Some(OLD), clock.now())
        .await
        .unwrap();
    assert_eq!(
        (rotated.fingerprint, rotated.former, rotated.since),
        (NEW, Some(OLD), clock.now())
    );
    for (key, replaced) in [(NEW, Some(OLD)), (NEW, None), (OLD, None)] {
        let decided = database.put_under_server_key(key, replaced, made);
        assert_eq!(decided.await.unwrap(), rotated, "{key:?} {replaced:?}");
    }
    assert_eq!(database.server_key().await.unwrap(), Some(rotated));
}

#[tokio::test]
async fn of_those_who_come_first_at_once_one_has_its_way() {
    let test = TestDatabase::create().await;
    let database = test.database();
    let now = ManualClock::default().now();
    let decided =
        join_all((0..8).map(|number| database.put_under_server_key([number; 32], None, now)));
    let decided: Vec<_> = decided.await.into_iter().map(Result::unwrap).collect();
    assert!(
        decided.iter().all(|known| *known == decided[0]),
        "{decided:?}"
    );
    let rotated = join_all((10..18).map(|number| {
        database.put_under_server_key([number; 32], Some(decided[0].fingerprint), now)
    }));
    let rotated: Vec<_> = rotated.await.into_iter().map(Result::unwrap).collect();
    assert!(
        rotated.iter().all(|known| *known == rotated[0]),
        "{rotated:?}"
    );
    assert_eq!(rotated[0].former, Some(decided[0].fingerprint));
}
