//! What the mocks of a unit of work and of a database let a test see.

use std::sync::Arc;

use lessor_domain::access::{ApiKey, Permission};
use lessor_domain::audit::{AuditAction, Origin};
use lessor_domain::lease_term::LeaseTerm;
use lessor_domain::ports::{
    Database, IdGenerator, KeyHolder, MockDatabase, MockUnitOfWork, Page, Reach, Start, StoreError,
    UnitOfWork,
};
use lessor_domain::services::keys::revoke_key;
use lessor_domain::services::lease_terms::ListLeaseTerms;
use lessor_domain::services::{Error, UseCase as _};
use lessor_domain::testing::{Fixtures, context};

/// A key that may read lease terms, and a term.
fn records(make: &Fixtures) -> (KeyHolder, LeaseTerm) {
    let organization = make.organization().build();
    let user = make.customer(&organization).build();
    let key: ApiKey = make
        .api_key(&user)
        .permissions(&[Permission::LeaseTermRead])
        .build();
    let holder = KeyHolder {
        key,
        organization_pub_id: organization.pub_id,
        user_pub_id: user.id,
        sandbox_writes_catalog: organization.lets_sandbox_write_catalog(),
    };
    (holder, make.lease_term(&organization).build())
}

/// An application's own code: reads, then changes in a transaction of its own.
async fn revoke_if_there_are_terms(
    database: &dyn Database,
    ids: &dyn IdGenerator,
    holder: &KeyHolder,
) -> Result<(), Error> {
    let access = holder.access();
    let ctx = context(&access, holder.key.created_at, ids);
    let mut view = database.read(access.organization_id.into()).await?;
    let page = Page {
        start: Start::Offset(0),
        limit: 1,
    };
    let terms = ListLeaseTerms { page }.run(view.as_mut(), &ctx).await?;
    if terms.items.is_empty() {
        return Ok(());
    }
    let mut work = database.begin(Reach::Server).await?;
    revoke_key(work.as_mut(), ids, ctx.now, ctx.origin, holder.key.id).await?;
    Ok(work.commit().await?)
}

fn database(commit: Result<(), StoreError>) -> (MockDatabase, Fixtures, KeyHolder) {
    let make = Fixtures::default();
    let (holder, term) = records(&make);
    let mut view = MockUnitOfWork::new();
    view.lease_terms
        .expect_list()
        .return_once(|_| Ok(vec![term]));
    let mut work = MockUnitOfWork::new();
    let found = holder.clone();
    work.keys.expect_get().return_once(move |_| Ok(Some(found)));
    work.keys
        .expect_close()
        .withf(|_, revoked_at, _| revoked_at.is_some())
        .times(1)
        .returning(|_, _, _| Ok(()));
    work.audit
        .expect_append()
        .withf(|events| {
            let actions: Vec<_> = events.iter().map(|event| event.action).collect();
            actions == [AuditAction::KeyRevoked]
        })
        .times(1)
        .returning(|_| Ok(()));
    work.expect_commit(commit);
    let mut database = MockDatabase::new();
    database.expect_read(Ok(view));
    database.expect_begin(Ok(work));
    (database, make, holder)
}

#[tokio::test]
async fn use_cases_are_reached_through_a_database() {
    let (database, make, holder) = database(Ok(()));
    revoke_if_there_are_terms(&database, make.ids(), &holder)
        .await
        .unwrap();
    assert_eq!(database.commits(), 1);
}

#[tokio::test]
async fn a_commit_answers_what_was_prepared() {
    let (database, make, holder) = database(Err(StoreError::Contended));
    let outcome = revoke_if_there_are_terms(&database, make.ids(), &holder).await;
    assert!(matches!(outcome, Err(Error::Store(StoreError::Contended))));
    assert_eq!(database.commits(), 0);
}

#[tokio::test]
async fn a_database_may_refuse_to_begin() {
    let mut database = MockDatabase::new();
    database.expect_begin(Err(StoreError::unavailable("down")));
    assert!(matches!(
        database.begin(Reach::Server).await,
        Err(StoreError::Unavailable(_))
    ));
}

#[tokio::test]
async fn units_of_work_are_handed_out_in_their_order() {
    let mut database = MockDatabase::new();
    for _ in 0..2 {
        let mut unit = MockUnitOfWork::new();
        unit.expect_commit(Ok(()));
        database.expect_begin(Ok(unit));
    }
    database.expect_begin(Ok(MockUnitOfWork::new()));
    for _ in 0..2 {
        let unit = database.begin(Reach::Server).await.unwrap();
        unit.commit().await.unwrap();
    }
    // The third is given up, and none of it counts.
    drop(database.begin(Reach::Server).await.unwrap());
    assert_eq!(database.commits(), 2);
}

#[tokio::test]
#[should_panic(expected = "MockKeyStore::get")]
async fn a_forgotten_expectation_of_a_store_is_named() {
    let make = Fixtures::default();
    let (holder, _) = records(&make);
    let mut unit = MockUnitOfWork::new();
    let (now, origin) = (holder.key.created_at, Origin::SYSTEM);
    let _ = revoke_key(&mut unit, make.ids(), now, &origin, holder.key.id).await;
}

#[tokio::test]
#[should_panic(expected = "commit: not expected: say so with expect_commit")]
async fn a_commit_that_nobody_expected_fails() {
    let unit: Box<dyn UnitOfWork> = Box::new(MockUnitOfWork::new());
    let _ = unit.commit().await;
}

#[test]
#[should_panic(expected = "dropped without the commit that was expected")]
fn a_commit_that_is_missing_fails() {
    let mut unit = MockUnitOfWork::new();
    unit.expect_commit(Ok(()));
}

#[tokio::test]
#[should_panic(expected = "prepare a unit of work with expect_begin")]
async fn work_that_is_not_prepared_cannot_begin() {
    let _ = MockDatabase::new().begin(Reach::Server).await;
}

#[tokio::test]
#[should_panic(expected = "prepare a unit of work with expect_read")]
async fn a_view_that_is_not_prepared_cannot_be_read() {
    let mut database = MockDatabase::new();
    database.expect_begin(Err(StoreError::Contended));
    let _ = database.read(Reach::Server).await;
}

#[test]
#[should_panic(expected = "that expect_begin prepared was never begun")]
fn work_that_is_never_begun_fails() {
    let mut unit = MockUnitOfWork::new();
    unit.expect_commit(Ok(()));
    MockDatabase::new().expect_begin(Ok(unit));
}

#[test]
#[should_panic(expected = "that expect_read prepared was never read")]
fn a_view_that_is_never_read_fails() {
    MockDatabase::new().expect_read(Ok(MockUnitOfWork::new()));
}

/// A panic in a spawned task is caught there; the count tells nevertheless.
#[tokio::test]
async fn a_commit_that_is_missing_in_another_task_is_seen() {
    let mut unit = MockUnitOfWork::new();
    unit.expect_commit(Ok(()));
    let mut database = MockDatabase::new();
    database.expect_begin(Ok(unit));
    let database = Arc::new(database);
    let task = tokio::spawn({
        let database = Arc::clone(&database);
        async move { drop(database.begin(Reach::Server).await.unwrap()) }
    });
    assert!(task.await.unwrap_err().is_panic());
    assert_eq!(database.commits(), 0);
}
