//! The audit as it lies in the database: added to alone, and what is personal sealed.

use lessor_adapters::postgres::PgDatabase;
use lessor_domain::audit::{
    AuditAction, AuditActor, AuditArea, AuditChange, AuditEvent, AuditMembers, AuditViewer, Origin,
};
use lessor_domain::customer::Customer;
use lessor_domain::ids::ProductPubId;
use lessor_domain::ports::{AuditFilter, Database, Page, Start, StoreError};

use super::leasing::{RACERS, race, somebody, wide};
use super::support::{Shop, skipped_on_a_cluster, until_somebody_waits};

/// That a key named a product anew.
fn renamed(shop: &Shop) -> AuditEvent {
    let actor = AuditActor::Key {
        id: shop.make.id(),
        name: Some("Warehouse".parse().unwrap()),
    };
    let mut after = AuditMembers::new();
    after.set("name", "Cityrad");
    AuditEvent {
        id: shop.make.id(),
        organization_id: shop.organization.id,
        area: AuditArea::Catalog,
        at: shop.make.tick(),
        origin: Origin {
            actor,
            request_id: Some("req_1".to_owned()),
            address: Some("192.0.2.1".parse().unwrap()),
        },
        action: AuditAction::ProductUpdated,
        subject: shop.make.id::<ProductPubId>().into(),
        change: AuditChange::between(AuditMembers::new(), after),
        customer: None,
    }
}

/// That the customer told where they live.
fn moved_house(shop: &Shop, customer: &Customer) -> AuditEvent {
    let (mut before, mut after) = (AuditMembers::new(), AuditMembers::new());
    before.set("city", "Nirgendheim");
    after.set("city", "Irgendstadt");
    AuditEvent {
        area: customer.mode.into(),
        origin: Origin {
            address: Some("198.51.100.77".parse().unwrap()),
            ..Origin::customer(customer.id)
        },
        action: AuditAction::CustomerUpdated,
        subject: customer.id.into(),
        change: AuditChange::between(before, after),
        customer: Some(customer.id),
        ..renamed(shop)
    }
}

async fn append(database: PgDatabase, event: AuditEvent) -> Result<(), StoreError> {
    let mut work = database.begin(event.organization_id.into()).await?;
    work.audit().append(&[event]).await?;
    work.commit().await
}

async fn kept(shop: &Shop, event: AuditEvent) -> AuditEvent {
    append(shop.database().clone(), event.clone())
        .await
        .unwrap();
    event
}

/// What is read, oldest first.
async fn read(shop: &Shop) -> Result<Vec<AuditEvent>, StoreError> {
    let page = Page {
        start: Start::Offset(0),
        limit: 100,
    };
    let mut view = shop.view().await;
    let audit = view.audit();
    let (viewer, all) = (AuditViewer::Live, AuditFilter::default());
    let mut events = audit.list(shop.organization.id, viewer, &all, page).await?;
    events.reverse();
    Ok(events)
}

async fn keys(shop: &Shop) -> Vec<String> {
    let sql = "select encode(key, 'hex') from customer_keys";
    shop.test.query(sql).await
}

#[tokio::test]
async fn nobody_rewrites_what_was_done() {
    let shop = Shop::open().await;
    let customer = somebody(&shop).await;
    let events = [
        kept(&shop, renamed(&shop)).await,
        kept(&shop, moved_house(&shop, &customer)).await,
    ];
    for (acting, refusal) in [
        ("", "integrity_constraint_violation"),
        ("set role lessor_app; ", "insufficient_privilege"),
    ] {
        for change in [
            "update audit_events set action = ''key.revoked''",
            "update audit_events set address = null",
            "update audit_events set sealed = null",
            "delete from audit_events",
            "truncate audit_events",
        ] {
            // Fails unless the change is refused.
            let sql = format!(
                "{acting}do $$ begin
                    execute '{change}';
                    raise exception using errcode = 'raise_exception';
                exception when {refusal} then null;
                end $$"
            );
            shop.test.execute(&sql).await;
        }
    }
    assert_eq!(read(&shop).await.unwrap(), events);
}

#[tokio::test]
async fn what_is_personal_is_not_in_the_table() {
    let shop = Shop::open().await;
    let (ada, grace) = (somebody(&shop).await, somebody(&shop).await);
    let mut events = Vec::new();
    for customer in [&ada, &ada, &grace] {
        events.push(kept(&shop, moved_house(&shop, customer)).await);
    }
    events.push(kept(&shop, renamed(&shop)).await);
    let rows = shop
        .test
        .query(
            "select row_to_json(e)::text || coalesce(encode(e.sealed, 'escape'), '') \
             from audit_events e order by id",
        )
        .await;
    let lies_open = |row: &String| {
        ["Irgendstadt", "Nirgendheim", "198.51.100.77"]
            .iter()
            .any(|word| row.contains(word))
    };
    assert_eq!(rows.len(), 4);
    assert!(!rows.iter().any(lies_open), "{rows:?}");
    assert!(rows[3].contains("Cityrad") && rows[3].contains("192.0.2.1"));
    assert_eq!(keys(&shop).await.len(), 2, "a key for each customer");
    assert_eq!(read(&shop).await.unwrap(), events);

    let customer = ada.id.as_uuid();
    shop.test
        .execute(&format!(
            "delete from customer_keys where customer_id = '{customer}'"
        ))
        .await;
    let left: Vec<_> = events
        .into_iter()
        .map(|event| {
            if event.customer == Some(ada.id) {
                event.without_personal_data()
            } else {
                event
            }
        })
        .collect();
    assert_eq!(read(&shop).await.unwrap(), left);
}

#[tokio::test]
async fn events_without_anything_personal_make_no_key() {
    let shop = Shop::open().await;
    let customer = somebody(&shop).await;
    let nothing = AuditEvent {
        origin: Origin::cli("ada"),
        change: AuditChange::NONE,
        ..moved_house(&shop, &customer)
    };
    let nothing = kept(&shop, nothing).await;
    assert_eq!(keys(&shop).await, Vec::<String>::new());
    assert_eq!(read(&shop).await.unwrap(), [nothing]);
}

/// All of them seal with the same key, whoever made it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_customer_has_one_key() {
    let shop = Shop::open().await;
    let customer = somebody(&shop).await;
    let mut events: Vec<_> = (0..RACERS).map(|_| moved_house(&shop, &customer)).collect();
    for appended in race(&wide(&shop), events.clone(), append).await {
        appended.unwrap();
    }
    assert_eq!(keys(&shop).await.len(), 1);
    events.sort_by_key(|event| event.id);
    assert_eq!(read(&shop).await.unwrap(), events);
}

/// Whoever writes while the customer is being erased waits, and leaves nothing personal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_erased_gets_no_key_any_more() {
    let shop = Shop::open().await;
    let customer = somebody(&shop).await;
    let event = moved_house(&shop, &customer);
    let mut erasing = shop.begin().await;
    let mut customer = erasing
        .customers()
        .lock(customer.id)
        .await
        .unwrap()
        .unwrap();
    let appending = tokio::spawn(append(shop.database().clone(), event.clone()));
    until_somebody_waits(&shop.test).await;
    assert!(!appending.is_finished(), "it waits for the erasure");
    assert!(customer.forget_person(false, shop.make.tick()));
    erasing.customers().update(&mut customer).await.unwrap();
    erasing.commit().await.unwrap();
    appending.await.unwrap().unwrap();
    let late = kept(&shop, moved_house(&shop, &customer)).await;
    assert_eq!(keys(&shop).await, Vec::<String>::new());
    let left = [event, late].map(AuditEvent::without_personal_data);
    assert_eq!(read(&shop).await.unwrap(), left);
    let sealed = "select count(*) from audit_events where sealed is not null";
    assert_eq!(shop.test.query(sealed).await, ["0"]);
}

/// The database itself lets nothing personal lie open, whatever the code above does.
#[tokio::test]
async fn what_lies_open_is_nobodys() {
    let shop = Shop::open().await;
    let customer = somebody(&shop).await;
    let (organization, customer) = (shop.organization.id, customer.id.as_uuid());
    for (kind, address, before, after) in [
        ("key", "null", "'{}'", "null"),
        ("key", "null", "null", "'{\"city\": \"Irgendstadt\"}'"),
        ("customer", "'198.51.100.77'", "null", "null"),
    ] {
        let sql = format!(
            "do $$ begin
                insert into audit_events (organization_id, id, at, area, actor_kind, actor_id,
                    address, action, subject, customer_id, before, after)
                values ({organization}, gen_random_uuid(), now(), 'live', '{kind}', 'x', {address},
                    'customer.updated', 'x', '{customer}', {before}, {after});
                raise exception using errcode = 'raise_exception';
            exception when check_violation then
                if sqlerrm not like '%audit_events_person_is_sealed_check%' then raise; end if;
            end $$"
        );
        shop.test.execute(&sql).await;
    }
}

#[tokio::test]
async fn an_impossible_event_is_named_by_table_column_and_row() {
    if skipped_on_a_cluster("a trigger stands aside") {
        return;
    }
    for (column, value) in [
        ("area", "'moon'"),
        ("actor_kind", "'ghost'"),
        ("actor_id", "'ada'"),
        ("actor_name", "''"),
        ("address", "'somewhere'"),
        ("action", "'product.sung'"),
        ("subject", "''"),
        ("before", "'[]'"),
        ("after", "'{\"name\": 1}'"),
    ] {
        let shop = Shop::open().await;
        let event = kept(&shop, renamed(&shop)).await;
        let place = (column, event.id.as_uuid().to_string());
        assert_eq!(corrupted(&shop, column, value).await, place);
    }
    for value in ["sealed || 'x'", "'x' || sealed", "'x'"] {
        let shop = Shop::open().await;
        let customer = somebody(&shop).await;
        let event = kept(&shop, moved_house(&shop, &customer)).await;
        let place = ("sealed", event.id.as_uuid().to_string());
        assert_eq!(corrupted(&shop, "sealed", value).await, place);
    }
}

/// Where it is said to be wrong once the column holds the value.
async fn corrupted(shop: &Shop, column: &str, value: &str) -> (&'static str, String) {
    shop.test
        .execute(&format!(
            "alter table audit_events drop constraint if exists audit_events_{column}_check, \
                drop constraint audit_events_change_is_there_check, \
                disable trigger audit_events_append_only; \
             update audit_events set {column} = {value}"
        ))
        .await;
    match read(shop).await {
        Err(StoreError::Corrupt {
            table: "audit_events",
            column,
            row,
            ..
        }) => (column, row),
        other => panic!("{column} = {value}: {other:?}"),
    }
}

/// What is sealed of one event says nothing of another.
#[tokio::test]
async fn what_is_sealed_belongs_to_its_event() {
    if skipped_on_a_cluster("a trigger stands aside") {
        return;
    }
    let shop = Shop::open().await;
    let customer = somebody(&shop).await;
    for _ in 0..2 {
        kept(&shop, moved_house(&shop, &customer)).await;
    }
    shop.test
        .execute(
            "alter table audit_events disable trigger audit_events_append_only; \
             update audit_events as e set sealed = other.sealed \
                from audit_events as other where other.id <> e.id",
        )
        .await;
    let read = read(&shop).await;
    assert!(
        matches!(
            read,
            Err(StoreError::Corrupt {
                column: "sealed",
                ..
            })
        ),
        "{read:?}"
    );
}
