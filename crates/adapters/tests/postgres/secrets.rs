//! Secrets of organizations: what the database holds of them, and what becomes of them in a rotation of the
//! server's key.

use lessor_adapters::postgres::{PgDatabase, Renewal, SecretKeys, sealed_columns};
use lessor_adapters::testing::TestDatabase;
use lessor_domain::access::Mode;
use lessor_domain::cause::chain;
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{Database as _, StoreError};
use lessor_domain::processor_account::ProcessorAccount;
use lessor_domain::secret::Secret;

use super::support::Shop;

const KEY: &str = "sk_live_hunter2hunter2";
const WEBHOOK: &str = "whsec_correct_horse";
const OTHER_WEBHOOK: &str = "whsec_battery_staple";

const OLD: [u8; SecretKeys::LENGTH] = [1; SecretKeys::LENGTH];
const NEW: [u8; SecretKeys::LENGTH] = [2; SecretKeys::LENGTH];

fn account(shop: &Shop, mode: Mode) -> ProcessorAccount {
    let secret = |text: &str| Secret::new(text.to_owned());
    let now = shop.make.tick();
    ProcessorAccount {
        organization_id: shop.organization.id,
        mode,
        key: secret(KEY),
        webhook_secrets: vec![secret(WEBHOOK), secret(OTHER_WEBHOOK)],
        created_at: now,
        updated_at: now,
        version: 1,
    }
}

async fn insert(database: &PgDatabase, account: &ProcessorAccount) -> Result<(), StoreError> {
    let mut uow = database.begin(account.organization_id.into()).await?;
    uow.processor_accounts()
        .insert(&mut account.clone())
        .await?;
    uow.commit().await
}

async fn get(
    database: &PgDatabase,
    organization: OrganizationId,
    mode: Mode,
) -> Result<Option<ProcessorAccount>, StoreError> {
    let mut view = database.read(organization.into()).await?;
    view.processor_accounts().get(organization, mode).await
}

/// Every row of every table, as text, with what its bytes are as letters.
async fn rows(test: &TestDatabase) -> Vec<String> {
    let tables = test
        .query(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace \
             AND relkind IN ('r', 'p') AND relname NOT LIKE 'citus_%'",
        )
        .await;
    let mut rows = Vec::new();
    for table in tables {
        rows.extend(
            test.query(&format!("SELECT kept::text FROM \"{table}\" AS kept"))
                .await,
        );
    }
    rows
}

/// Whether any row tells the word, be it as bytes, which are shown as hexadecimal digits.
fn tell(rows: &[String], word: &str) -> bool {
    let bytes: String = word.bytes().map(|byte| format!("{byte:02x}")).collect();
    rows.iter()
        .any(|row| row.contains(word) || row.contains(&bytes))
}

#[tokio::test]
async fn the_database_has_no_secret_that_can_be_read() {
    let shop = Shop::open().await;
    let kept = account(&shop, Mode::Live);
    insert(shop.test.database(), &kept).await.unwrap();
    let rows = rows(&shop.test).await;
    // What is looked for would be found.
    assert!(tell(&rows, "ter2"), "the last letters are shown");
    assert!(!tell(&rows, KEY));
    // No part that is longer than what is shown.
    for part in ["sk_live_", "hunter", WEBHOOK, "horse", "staple", "whsec"] {
        assert!(!tell(&rows, part), "{part}");
    }
    let read = get(shop.test.database(), shop.organization.id, Mode::Live);
    assert_eq!(read.await.unwrap(), Some(kept));
}

/// What is sealed for one row opens in no other: whoever can write to the table gets nobody's key used.
#[tokio::test]
async fn what_is_sealed_cannot_be_moved() {
    let shop = Shop::open().await;
    let database = shop.test.database();
    let organization = shop.organization.id;
    insert(database, &account(&shop, Mode::Live)).await.unwrap();
    let mut other = account(&shop, Mode::Sandbox);
    other.key = Secret::new("sk_test_of_the_sandbox".to_owned());
    insert(database, &other).await.unwrap();
    shop.test
        .query(
            "UPDATE processor_accounts AS sandbox SET sealed_key = live.sealed_key \
             FROM processor_accounts AS live \
             WHERE live.organization_id = sandbox.organization_id \
             AND live.mode = 'live' AND sandbox.mode = 'sandbox'",
        )
        .await;
    let refused = get(database, organization, Mode::Sandbox).await;
    assert!(
        matches!(refused, Err(StoreError::Internal(_))),
        "{refused:?}"
    );
    assert!(get(database, organization, Mode::Live).await.is_ok());
}

#[tokio::test]
async fn nothing_is_lost_in_the_three_steps_of_a_rotation() {
    let shop = Shop::open().await;
    let organization = shop.organization.id;
    let with = |keys: &[[u8; SecretKeys::LENGTH]]| {
        let keys = SecretKeys::new(keys.iter().copied());
        shop.test.database().sealing_with(keys)
    };
    let opens = async |database: &PgDatabase, wanted: &ProcessorAccount| {
        let read = get(database, organization, wanted.mode).await;
        assert_eq!(read.unwrap().as_ref(), Some(wanted));
    };
    let fails = async |database: &PgDatabase, mode: Mode| {
        let error = get(database, organization, mode).await.unwrap_err();
        let said = chain(&error).to_string();
        assert!(said.contains("LESSOR_SERVER_SECRET"), "{said}");
    };
    let live = account(&shop, Mode::Live);
    insert(&with(&[OLD]), &live).await.unwrap();

    // The first step: both are there, and nothing changes.
    let first = with(&[OLD, NEW]);
    opens(&first, &live).await;
    assert_eq!(first.renew_secrets().await.unwrap(), Renewal::default());
    opens(&with(&[OLD]), &live).await;
    let sandbox = account(&shop, Mode::Sandbox);
    insert(&first, &sandbox).await.unwrap();

    // The second: what was sealed under the old one opens, and is sealed anew.
    let second = with(&[NEW, OLD]);
    opens(&second, &live).await;
    fails(&with(&[NEW]), Mode::Live).await;
    let renewal = second.renew_secrets().await.unwrap();
    assert_eq!((renewal.renewed, renewal.unopened), (4, 0));
    assert_eq!(second.renew_secrets().await.unwrap(), Renewal::default());
    // Machines in the step before still have both.
    opens(&first, &live).await;

    // The third: the old one is gone.
    let third = with(&[NEW]);
    opens(&third, &live).await;
    opens(&third, &sandbox).await;
    fails(&with(&[OLD]), Mode::Live).await;
    // What no key opens is told of and left, and keeps nothing else from being sealed anew.
    let lost = with(&[[3; SecretKeys::LENGTH], OLD]);
    let renewal = lost.renew_secrets().await.unwrap();
    assert_eq!((renewal.renewed, renewal.unopened), (0, 4));
    opens(&third, &live).await;
}

/// A column that a rotation does not know is lost with the old key.
#[tokio::test]
async fn every_column_of_sealed_secrets_is_known_to_the_rotation() {
    let test = TestDatabase::create().await;
    let mut there = test
        .query(
            "SELECT t.relname || '.' || a.attname FROM pg_attribute a \
             JOIN pg_class t ON t.oid = a.attrelid \
             WHERE t.relnamespace = 'public'::regnamespace AND t.relkind IN ('r', 'p') \
             AND a.attname LIKE 'sealed\\_%' AND NOT a.attisdropped",
        )
        .await;
    there.sort();
    let mut known: Vec<String> = sealed_columns()
        .map(|(table, column)| format!("{table}.{column}"))
        .collect();
    known.sort();
    assert_eq!(there, known);
}

#[tokio::test]
async fn without_a_key_nothing_is_kept_and_what_is_shown_is_shown() {
    let shop = Shop::open().await;
    let database = shop.test.database().sealing_with(SecretKeys::none());
    let kept = account(&shop, Mode::Live);
    let refused = insert(&database, &kept).await.unwrap_err();
    let said = chain(&refused).to_string();
    assert!(said.contains("LESSOR_SERVER_SECRET"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
    insert(shop.test.database(), &kept).await.unwrap();
    let mut view = database.read(shop.organization.id.into()).await.unwrap();
    let listed = view.processor_accounts().list(shop.organization.id).await;
    assert_eq!(listed.unwrap(), [kept.record()]);
}

#[tokio::test]
async fn the_same_secret_is_never_sealed_to_the_same() {
    let shop = Shop::open().await;
    for mode in Mode::ALL {
        insert(shop.test.database(), &account(&shop, mode))
            .await
            .unwrap();
    }
    let sealed = shop
        .test
        .query("SELECT count(DISTINCT sealed_key)::text FROM processor_accounts")
        .await;
    assert_eq!(sealed, ["2"]);
}
