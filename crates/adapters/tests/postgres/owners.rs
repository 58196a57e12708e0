//! Every row has an owner: what the database itself keeps apart, whoever asks it, and how.

use std::collections::BTreeSet;

use lessor_adapters::testing::TestDatabase;
use lessor_domain::ports::{Database, NewPickupLocation, Reach, UnitOfWork};

use super::support::{Shop, pool, skipped_on_a_cluster};

/// The tables that are nobody's, and why.
const OWNERLESS: &[(&str, &str)] = &[
    ("organizations", "they are the owners"),
    ("api_keys", "looked up before it is known who calls"),
    ("inbox_messages", "kept before it is known whose they are"),
    (
        "unclaimed_tracking_events",
        "reported of shipments that nobody has yet",
    ),
    ("cursors", "how far the server's own walks have come"),
    ("lifecycle_states", "what the domain says of each state"),
    ("server_key", "the server's own"),
    ("__diesel_schema_migrations", "the migrations' own"),
];

/// What can be read of all organizations through each door.
const DOORS: &[(&str, &[&str])] = &[
    ("page", &["checkout_applications", "ended_checkout_links"]),
    (
        "message",
        &[
            "checkouts",
            "checkout_shipments",
            "customers",
            "jobs",
            "ledger_entries",
            "mails",
        ],
    ),
    (
        "errands",
        &[
            "checkouts",
            "checkout_applications",
            "checkout_billing",
            "checkout_deposits",
            "checkout_shipments",
            "deliveries",
            "events",
            "idempotency_answers",
            "jobs",
            "mails",
            "processor_accounts",
            "simulated_invoices",
            "simulated_payment_intents",
            "simulated_subscriptions",
            "unnumbered_events",
            "webhook_endpoint_health",
            "webhook_endpoints",
        ],
    ),
    (
        "survey",
        &[
            "api_key_uses",
            "checkouts",
            "jobs",
            "ledger_entries",
            "mails",
        ],
    ),
];

const OWN: &str = "(organization_id = \
    (NULLIF(current_setting('lessor.organization'::text, true), ''::text))::bigint)";

/// The tables of the application.
const TABLES: &str = "SELECT t.oid, t.relname FROM pg_class t \
    WHERE t.relnamespace = 'public'::regnamespace AND t.relkind IN ('r', 'p')";

fn ownerless() -> String {
    let names: Vec<String> = OWNERLESS
        .iter()
        .map(|(name, _)| format!("'{name}'"))
        .collect();
    names.join(", ")
}

/// The tables whose rows have owners, as a query.
fn owned() -> String {
    format!("{TABLES} AND t.relname NOT IN ({})", ownerless())
}

async fn names(test: &TestDatabase) -> Vec<String> {
    let mut names = test
        .query(&format!("SELECT t.relname FROM ({}) t", owned()))
        .await;
    names.sort();
    names
}

#[tokio::test]
async fn whatever_is_kept_is_an_organizations_or_nobodys_for_a_reason() {
    let test = TestDatabase::create().await;
    let all = test
        .query(&format!("SELECT t.relname FROM ({TABLES}) t"))
        .await;
    for (name, reason) in OWNERLESS {
        assert!(all.iter().any(|table| table == name), "{name}: {reason}");
    }
    let owned = owned();
    let without = format!(
        "SELECT t.relname FROM ({owned}) t WHERE NOT EXISTS ( \
            SELECT FROM pg_attribute a WHERE a.attrelid = t.oid \
            AND a.attname = 'organization_id' AND a.attnotnull \
            AND a.atttypid = 'bigint'::regtype)"
    );
    assert_eq!(test.query(&without).await, Vec::<String>::new());
    let unkeyed = format!(
        "SELECT t.relname FROM ({owned}) t WHERE NOT EXISTS ( \
            SELECT FROM pg_index i WHERE i.indrelid = t.oid AND i.indisprimary)"
    );
    assert_eq!(test.query(&unkeyed).await, Vec::<String>::new());
}

/// No row can point into another organization, and a key says nothing of another's rows.
#[tokio::test]
async fn keys_begin_with_the_organization() {
    let test = TestDatabase::create().await;
    let (owned, ownerless) = (owned(), ownerless());
    let keys = format!(
        "SELECT i.indexrelid::regclass::text AS name, a.attname AS first FROM pg_index i \
         JOIN ({owned}) t ON t.oid = i.indrelid \
         LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[0] \
         WHERE i.indisunique \
         UNION ALL SELECT c.conname, CASE f.attname WHEN 'organization_id' THEN a.attname END \
         FROM pg_constraint c JOIN ({owned}) t ON t.oid = c.conrelid \
         JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = c.conkey[1] \
         JOIN pg_attribute f ON f.attrelid = c.confrelid AND f.attnum = c.confkey[1] \
         WHERE c.contype = 'f' AND c.confrelid::regclass::text NOT IN ({ownerless})"
    );
    let count = test.query(&format!("SELECT name FROM ({keys}) key")).await;
    assert!(count.len() > 60, "{count:?}");
    let others =
        format!("SELECT name FROM ({keys}) key WHERE first IS DISTINCT FROM 'organization_id'");
    assert_eq!(test.query(&others).await, Vec::<String>::new());
}

#[tokio::test]
async fn row_security_is_forced_and_says_no_more_than_that() {
    let test = TestDatabase::create().await;
    let open = format!(
        "SELECT t.relname FROM ({}) t JOIN pg_class c ON c.oid = t.oid \
         WHERE NOT (c.relrowsecurity AND c.relforcerowsecurity)",
        owned()
    );
    assert_eq!(test.query(&open).await, Vec::<String>::new());
    let mut expected: BTreeSet<String> = names(&test)
        .await
        .iter()
        .map(|table| format!("{table} owner_only PERMISSIVE ALL {{public}} {OWN} {OWN}"))
        .collect();
    for (door, tables) in DOORS {
        expected.extend(tables.iter().map(|table| {
            format!(
                "{table} door_{door} PERMISSIVE SELECT {{public}} \
                 (current_setting('lessor.door'::text, true) = '{door}'::text) -"
            )
        }));
    }
    let there = test
        .query(
            "SELECT concat_ws(' ', tablename, policyname, permissive, cmd, roles, qual, \
             coalesce(with_check, '-')) FROM pg_policies WHERE schemaname = 'public'",
        )
        .await;
    let there = BTreeSet::from_iter(there);
    assert_eq!(
        there.symmetric_difference(&expected).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
}

#[tokio::test]
async fn the_application_may_do_what_it_does() {
    let test = TestDatabase::create().await;
    let role = "SELECT concat_ws(' ', rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb, \
        rolreplication) FROM pg_roles WHERE rolname = 'lessor_app'";
    // The nodes of a cluster call each other in its name.
    let logs_in = if lessor_adapters::testing::is_cluster() {
        "t"
    } else {
        "f"
    };
    assert_eq!(test.query(role).await, [format!("f f {logs_in} f f f")]);
    let owns = "SELECT relname FROM pg_class WHERE relowner = 'lessor_app'::regrole";
    assert_eq!(test.query(owns).await, Vec::<String>::new());
    let mut expected = BTreeSet::new();
    let all = test
        .query(&format!("SELECT t.relname FROM ({TABLES}) t"))
        .await;
    for table in &all {
        let granted: &[&str] = match table.as_str() {
            "lifecycle_states" | "__diesel_schema_migrations" => &["SELECT"],
            // Added to, and never taken back.
            "checkout_transitions" | "audit_events" | "agreement_events" | "agreement_terms" => {
                &["INSERT", "SELECT"]
            }
            // Laid among the others with their numbers, and forgotten once they are old.
            "unnumbered_events" | "events" => &["DELETE", "INSERT", "SELECT"],
            _ => &["DELETE", "INSERT", "SELECT", "UPDATE"],
        };
        expected.extend(granted.iter().map(|granted| format!("{table} {granted}")));
    }
    let there = test
        .query(
            "SELECT table_name || ' ' || privilege_type FROM information_schema.role_table_grants \
             WHERE grantee IN ('lessor_app', 'PUBLIC') AND table_schema = 'public' \
             AND table_name NOT LIKE 'citus_%'",
        )
        .await;
    let there = BTreeSet::from_iter(there);
    assert_eq!(
        there.symmetric_difference(&expected).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    let columns = test
        .query(
            "SELECT format('%s.%s %s', t.relname, a.attname, granted.privilege_type) \
             FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid, \
                aclexplode(a.attacl) AS granted \
             WHERE t.relnamespace = 'public'::regnamespace \
             AND (granted.grantee = 'lessor_app'::regrole OR granted.grantee = 0)",
        )
        .await;
    // What somebody wrote about a customer, and from where they signed, is taken away when they are erased.
    assert_eq!(
        BTreeSet::from_iter(columns),
        BTreeSet::from(
            [
                "agreement_events.address UPDATE",
                "agreement_events.user_agent UPDATE",
                "checkout_transitions.reason UPDATE",
            ]
            .map(ToOwned::to_owned)
        )
    );
}

/// A statement for each owned table that inserts a row of the organization 1, whatever it means.
async fn insertions(test: &TestDatabase) -> Vec<String> {
    let sql = format!(
        "SELECT format('INSERT INTO %I (%s) VALUES (%s)', t.relname, \
            string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum), \
            string_agg(CASE format_type(a.atttypid, NULL) \
                WHEN 'bigint' THEN '1' WHEN 'integer' THEN '1' WHEN 'smallint' THEN '1' \
                WHEN 'numeric' THEN '1' WHEN 'boolean' THEN 'false' WHEN 'text' THEN '''x''' \
                WHEN 'uuid' THEN 'gen_random_uuid()' WHEN 'json' THEN '''{{}}''' \
                WHEN 'jsonb' THEN '''{{}}''' \
                WHEN 'bytea' THEN '''x''' WHEN 'text[]' THEN '''{{}}''' WHEN 'date' THEN 'now()' \
                WHEN 'timestamp with time zone' THEN 'now()' END, ', ' ORDER BY a.attnum)) \
         FROM ({}) t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 \
         WHERE a.attname = 'organization_id' \
             OR a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' \
         GROUP BY t.relname ORDER BY t.relname",
        owned()
    );
    test.query(&sql).await
}

/// A row in each owned table, of the organization 1.
async fn filled() -> TestDatabase {
    let test = TestDatabase::create().await;
    test.execute(
        "do $$ declare named record; begin
            for named in select conrelid::regclass as of, conname from pg_constraint
                where connamespace = 'public'::regnamespace and contype = 'c'
            loop execute format('alter table %s drop constraint %I', named.of, named.conname); end loop;
        end $$",
    )
    .await;
    let mut script = "set session_replication_role = replica".to_owned();
    for insertion in insertions(&test).await {
        script = format!("{script}; {insertion}");
    }
    test.execute(&script).await;
    test
}

/// The owned tables of which whoever acts so sees rows.
async fn shown(test: &TestDatabase, acting: &str) -> Vec<String> {
    let counts: Vec<String> = names(test)
        .await
        .iter()
        .map(|table| format!("SELECT '{table}' AS name FROM {table}"))
        .collect();
    let sql = format!("{acting}{}", counts.join(" UNION "));
    let mut shown = test.query(&sql).await;
    shown.sort();
    shown
}

const AS_APPLICATION: &str = "SET ROLE lessor_app; ";

#[tokio::test]
async fn whoever_does_not_say_for_whom_sees_nothing() {
    if skipped_on_a_cluster("it takes constraints away on one server") {
        return;
    }
    let test = filled().await;
    let all = names(&test).await;
    assert!(all.len() > 30, "{all:?}");
    assert_eq!(shown(&test, "").await, all, "there is a row in each");
    for nobody in [
        "",
        "SET lessor.organization = ''; ",
        "SET lessor.organization = '2'; ",
        "SET lessor.door = ''; ",
        "SET lessor.door = 'cellar'; ",
    ] {
        let acting = format!("{AS_APPLICATION}{nobody}");
        assert_eq!(
            shown(&test, &acting).await,
            Vec::<String>::new(),
            "{nobody}"
        );
    }
    let acting = format!("{AS_APPLICATION}SET lessor.organization = '1'; ");
    assert_eq!(shown(&test, &acting).await, all);
}

#[tokio::test]
async fn nobody_writes_in_anothers_name() {
    if skipped_on_a_cluster("it takes constraints away on one server") {
        return;
    }
    let test = filled().await;
    for nobody in ["", "SET lessor.organization = '2'; "] {
        for insertion in insertions(&test).await {
            // Fails unless row security refuses it.
            let sql = format!(
                "{AS_APPLICATION}{nobody}do $$ begin
                    {insertion};
                    raise exception using errcode = 'raise_exception', message = 'accepted';
                exception when insufficient_privilege then
                    if sqlerrm not like 'new row violates row-level security%' then raise; end if;
                end $$"
            );
            test.execute(&sql).await;
        }
    }
}

#[tokio::test]
async fn a_door_shows_its_tables_and_lets_nothing_be_changed() {
    if skipped_on_a_cluster("it takes constraints away on one server") {
        return;
    }
    let test = filled().await;
    for (door, tables) in DOORS {
        let acting =
            format!("{AS_APPLICATION}SET lessor.organization = '2'; SET lessor.door = '{door}'; ");
        let mut expected: Vec<&str> = tables.to_vec();
        expected.sort_unstable();
        assert_eq!(shown(&test, &acting).await, expected, "{door}");
        for table in *tables {
            // Of events nothing may be written, and they are taken away by who says so.
            let is_of_events = ["events", "unnumbered_events"].contains(table);
            let mut changes = vec![format!("DELETE FROM {table} RETURNING 1")];
            if !is_of_events {
                changes.push(format!(
                    "UPDATE {table} SET organization_id = 2 RETURNING 1"
                ));
            }
            for change in changes {
                let sql = format!(
                    "{acting}SET lessor.purging = 'events'; SET lessor.numbering = 'events'; \
                     WITH changed AS ({change}) SELECT count(*) FROM changed"
                );
                assert_eq!(test.query(&sql).await, ["0"], "{door}: {change}");
            }
        }
    }
}

/// What is asked names the shop, whoever asks: so what is shown is row security's to say.
async fn shows(shop: &Shop, uow: &mut dyn UnitOfWork) -> bool {
    let shown = uow.pickup_locations().list(shop.organization.id).await;
    !shown.unwrap().is_empty()
}

/// On one connection, which whoever comes next has as the last one left it.
#[tokio::test]
async fn for_whom_a_transaction_works_ends_with_it() {
    let shop = Shop::open().await;
    let neighbour = shop.neighbour().await;
    let new = NewPickupLocation {
        organization_id: shop.organization.id,
        name: "Depot".parse().unwrap(),
        address: shop.make.address(),
    };
    shop.run(async |uow| uow.pickup_locations().insert(&new).await)
        .await
        .unwrap();
    let one = pool(&shop.test, |settings| settings.max_connections = 1);
    let ours = shop.reach();
    for (reach, is_ours) in [
        (Reach::Server, false),
        (ours, true),
        (Reach::Server, false),
        (neighbour.id.into(), false),
        (ours, true),
        (neighbour.id.into(), false),
    ] {
        let mut view = one.read(reach).await.unwrap();
        assert_eq!(
            shows(&shop, &mut *view).await,
            is_ours,
            "a view of {reach:?}"
        );
        drop(view);
        let mut work = one.begin(reach).await.unwrap();
        assert_eq!(shows(&shop, &mut *work).await, is_ours, "work of {reach:?}");
        work.commit().await.unwrap();
    }
    let mut view = one.read(Reach::Server).await.unwrap();
    view.enter(shop.organization.id).await.unwrap();
    assert!(shows(&shop, &mut *view).await);
    drop(view);
    let mut work = one.begin(Reach::Server).await.unwrap();
    assert!(
        !shows(&shop, &mut *work).await,
        "a view that was entered left nothing"
    );
    work.enter(shop.organization.id).await.unwrap();
    assert!(shows(&shop, &mut *work).await);
    work.enter(neighbour.id).await.unwrap();
    assert!(!shows(&shop, &mut *work).await);
    work.enter(shop.organization.id).await.unwrap();
    work.roll_back().await.unwrap();
    let mut work = one.begin(Reach::Server).await.unwrap();
    assert!(
        !shows(&shop, &mut *work).await,
        "work that was entered left nothing"
    );
    let status = one.pool_status();
    assert_eq!((status.open, status.max), (1, 1), "it was one connection");
}

/// A question that goes through a door leaves it shut, whatever came of it.
#[tokio::test]
async fn doors_are_open_for_one_question() {
    let shop = Shop::open().await;
    let neighbour = shop.neighbour().await;
    let customer = super::leasing::somebody(&shop).await;
    let variant = shop.variant(1).await;
    let checkout = shop.make.checkout(&customer, &variant).build();
    super::leasing::insert(shop.database(), &checkout).await;
    let one = pool(&shop.test, |settings| settings.max_connections = 1);
    for reach in [Reach::Server, neighbour.id.into()] {
        let mut work = one.begin(reach).await.unwrap();
        let owner = work.doors().owner_of_checkout(checkout.id).await.unwrap();
        assert_eq!(owner, Some(shop.organization.id));
        let scope = lessor_domain::ports::Scope::from(&checkout);
        let filter = lessor_domain::ports::CheckoutFilter::default();
        assert_eq!(
            work.checkouts()
                .count(scope, &filter, u64::MAX)
                .await
                .unwrap(),
            0,
            "{reach:?}"
        );
        work.commit().await.unwrap();
    }
}
