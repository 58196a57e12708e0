//! Behind PgBouncer, where the machine has one.

use std::time::Duration;

use lessor_adapters::postgres::{MigrateError, PgDatabase, PgSettings, Pooling, PoolingError};
use lessor_adapters::testing::pooler::{KNOWS_STATEMENTS, PgBouncer, Pooler};
use lessor_adapters::testing::{TestDatabase, secrets};
use lessor_domain::ports::{Database, Reach};
use lessor_domain::testing::contract;

fn database(pooler: &Pooler, pooling: Pooling) -> PgDatabase {
    let mut settings = PgSettings::new(pooler.url());
    settings.pooling = pooling;
    settings.max_connections = 6;
    settings.secrets = secrets();
    settings.lock_timeout = Duration::from_secs(4);
    PgDatabase::new(&settings).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_for_each_client_is_as_good_as_none_between() {
    let Some(program) = PgBouncer::find() else {
        return;
    };
    let test = TestDatabase::create().await;
    test.database().check_pooling().await.unwrap();
    let pooler = program.before(&test, "session", "").await;
    let database = database(&pooler, Pooling::Session);
    database.check_pooling().await.unwrap();
    assert_eq!(database.migrate(|_| {}).await.unwrap(), 0);
    contract::customers(&database).await;
    contract::jobs(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_handed_on_are_refused_by_name() {
    let Some(program) = PgBouncer::find() else {
        return;
    };
    let test = TestDatabase::create().await;
    let pooler = program.before(&test, "transaction", "").await;
    let refused = database(&pooler, Pooling::Session).check_pooling().await;
    // One that loses statements as well may do so while the second of the two clients is set up.
    let is_named = match &refused {
        Err(PoolingError::LosesStatements) => !program.knows_statements,
        refused => matches!(refused, Err(PoolingError::SharesSessions)),
    };
    assert!(is_named, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_that_loses_prepared_statements_is_refused_by_name() {
    let Some(program) = PgBouncer::find() else {
        return;
    };
    let test = TestDatabase::create().await;
    let forgetful = if program.knows_statements {
        "max_prepared_statements = 0"
    } else {
        ""
    };
    let pooler = program.before(&test, "transaction", forgetful).await;
    let refused = database(&pooler, Pooling::Transaction)
        .check_pooling()
        .await;
    assert!(
        matches!(refused, Err(PoolingError::LosesStatements)),
        "{refused:?}"
    );
}

/// Each transaction acts as whom it should, and keeps the limits, whichever session it has.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_handed_on_serve_where_it_was_said() {
    let Some(program) = PgBouncer::find_for_transactions() else {
        return;
    };
    let test = TestDatabase::create().await;
    let pooler = program.before(&test, "transaction", KNOWS_STATEMENTS).await;
    let database = database(&pooler, Pooling::Transaction);
    database.check_pooling().await.unwrap();
    assert_eq!(
        database.pending_migrations().await.unwrap(),
        Vec::<String>::new()
    );
    let refused = database.migrate(|_| {}).await;
    assert!(matches!(refused, Err(MigrateError::Pooled)), "{refused:?}");
    // Row security holds for a superuser's transactions too.
    test.execute(
        "CREATE TABLE acting (who text, lock_timeout text, plans text); GRANT ALL ON acting TO lessor_app; \
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO acting VALUES (current_user, current_setting('lock_timeout'), \
                 current_setting('plan_cache_mode')); RETURN NEW; END $$; \
         CREATE TRIGGER note AFTER INSERT ON cursors FOR EACH ROW EXECUTE FUNCTION note()",
    )
    .await;
    for walk in 0..20 {
        let mut work = database.begin(Reach::Server).await.unwrap();
        let walk = format!("walk {walk}");
        work.cursors()
            .set_position(&walk, "somewhere")
            .await
            .unwrap();
        work.commit().await.unwrap();
    }
    let acting = "SELECT DISTINCT who || ' ' || lock_timeout || ' ' || plans FROM acting";
    assert_eq!(
        test.query(acting).await,
        ["lessor_app 4s force_generic_plan"]
    );
    contract::owners(&database).await;
    contract::customers(&database).await;
    contract::checkouts(&database).await;
    contract::jobs(&database).await;
}
