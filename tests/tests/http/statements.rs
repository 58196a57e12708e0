//! The number of statements does not grow with the rows, and requests wait for few answers: counted on the line to the
//! database.

use std::collections::BTreeSet;
use std::time::Instant;

use lessor_tests::client::Client;
use lessor_tests::server::PATIENCE;
use lessor_tests::tap::{Carried, Tap};
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// How many rows the fuller shop has of each thing.
const MANY: usize = 100;

/// What is counted is what an answer takes that nobody remembers.
const ANEW: [(&str, &str); 2] = [
    ("cache-control", "no-cache"),
    ("content-type", "application/json"),
];

/// With what a remembered answer is asked about.
const EDITION: &str = "SELECT coalesce(sum(last_sequence) FILTER";

/// A request and what it carries.
type Request = (&'static str, String, Option<Value>);

/// But for what ends a transaction, and for what the server does meanwhile: it numbers events, and looks who follows
/// them.
fn of_requests(mut statements: Vec<Carried>) -> Vec<Carried> {
    const OF_EVENTS: [&str; 5] = [
        "WITH waiting",
        "event_feeds",
        "pg_notify",
        "NOTIFY",
        "FROM \"webhook_endpoints\"",
    ];
    statements.retain(|Carried { sql, .. }| {
        let is_of_events = OF_EVENTS.iter().any(|of_events| sql.contains(of_events));
        sql != "SELECT; COMMIT" && (!is_of_events || sql.starts_with(EDITION))
    });
    statements
}

fn sql_of(statements: Vec<Carried>) -> Vec<String> {
    statements.into_iter().map(|carried| carried.sql).collect()
}

/// How often somebody waited for an answer.
fn trips(statements: &[Carried]) -> usize {
    let trips: BTreeSet<u64> = statements.iter().map(|carried| carried.trip).collect();
    trips.len() + statements.iter().filter(|carried| carried.is_new).count()
}

/// The fewest statements that are carried out while a request is answered, and the rows of the answer.
/// What is prepared or looked up once, the key every few seconds, is in some of the answers and not in
/// all. Notes what is planned for every one.
async fn counted(
    tap: &Tap,
    client: &Client,
    (method, path, body): &Request,
    planned: &mut Vec<String>,
) -> (Vec<String>, usize) {
    let mut fewest: Option<Vec<String>> = None;
    let mut new: Option<Vec<String>> = None;
    let mut rows = 0;
    for _ in 0..5 {
        drop(tap.take());
        let sent = body.as_ref().map(|body| body.to_string().into_bytes());
        let answered = client.send(method, path, &ANEW, sent).await;
        answered.has(200);
        let statements = of_requests(tap.take_carried());
        let are_new = statements.iter().filter(|carried| carried.is_new);
        let are_new: Vec<String> = are_new.map(|carried| carried.sql.clone()).collect();
        if new.as_ref().is_none_or(|new| are_new.len() < new.len()) {
            new = Some(are_new);
        }
        let statements = sql_of(statements);
        if fewest
            .as_ref()
            .is_none_or(|fewest| statements.len() < fewest.len())
        {
            fewest = Some(statements);
        }
        let list = answered.body.get("results").unwrap_or(&answered.body);
        rows = list.as_array().map_or(1, Vec::len);
    }
    for again in new.unwrap_or_default() {
        planned.push(format!("{method} {path}: {again}"));
    }
    (fewest.unwrap_or_default(), rows)
}

/// A shop with so many products of one variant, a product with so many, so many checkouts with
/// purchase items, terms and categories.
async fn shop(server: &Server, many: usize) -> (Client, Vec<Request>) {
    let client = server.client().await;
    let values: Vec<String> = (0..many).map(|number| number.to_string()).collect();
    let wide = client
        .product(json!({ "options": [{ "name": "Size", "values": values }] }))
        .await;
    let mut variants = Vec::new();
    let mut products = Vec::new();
    for number in 0..many {
        let options = json!({ "options": [{ "name": "Size", "value": number.to_string() }] });
        let variant = client
            .variant_of(&wide, &format!("SKU-{number}"), options)
            .await;
        variants.push(text(&variant["id"]));
        let product = client.product(json!({})).await;
        client
            .variant_of(&product, &format!("ONE-{number}"), json!({}))
            .await;
        products.push(text(&product["id"]));
        let items = json!({ "purchaseItems": [{ "name": "Lock", "amount": 20, "quantity": 2 }] });
        let email = format!("c{number}@example.com");
        client
            .try_checkout(&format!("SKU-{number}"), &email, items)
            .await
            .ok();
        client
            .post(
                "/v1/product-categories",
                json!({ "name": format!("Category {number}") }),
            )
            .await
            .ok();
    }
    let requests = vec![
        ("GET", "/v1/products?limit=100".to_owned(), None),
        (
            "GET",
            "/v1/products?limit=100&sortBy=name&productType=leasable".to_owned(),
            None,
        ),
        (
            "GET",
            format!("/v1/products/{}/variants", text(&wide["id"])),
            None,
        ),
        (
            "GET",
            format!(
                "/v1/product-variants/bulk?productIds={}",
                products.join(",")
            ),
            None,
        ),
        (
            "POST",
            "/v1/product-variants/bulk/fetch".to_owned(),
            Some(json!({ "ids": variants })),
        ),
        ("GET", "/v1/checkouts?limit=100".to_owned(), None),
        (
            "GET",
            "/v1/checkouts?limit=100&lifecycles=created,leaseActive&sortBy=lifecycle".to_owned(),
            None,
        ),
        (
            "GET",
            "/v1/products?limit=100&q=Road&createdAfter=2020-01-01T00:00:00Z".to_owned(),
            None,
        ),
        ("GET", "/v1/customers?limit=100".to_owned(), None),
        ("GET", "/v1/audit?limit=100".to_owned(), None),
        ("GET", "/v1/lease-terms".to_owned(), None),
        ("GET", "/v1/product-categories?limit=100".to_owned(), None),
    ];
    (client, requests)
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_and_bulk_reads_take_as_many_statements_for_100_rows_as_for_one() {
    let (server, tap) = Server::tapped(BINARY, &["--no-worker"]).await;
    let (small, few) = shop(&server, 1).await;
    let (large, many) = shop(&server, MANY).await;
    let mut planned = Vec::new();
    for (one, all) in few.iter().zip(&many) {
        let (for_one, _) = counted(&tap, &small, one, &mut planned).await;
        let (for_all, rows) = counted(&tap, &large, all, &mut planned).await;
        let name = format!(
            "{} {}",
            one.0,
            one.1.split(['=', ',']).next().unwrap_or_default()
        );
        // A page that does not show how many the list has is counted, or it is asked whether that is known.
        let is_count = |sql: &&String| {
            sql.starts_with("SELECT count(*) FROM (") || sql.contains("FROM \"catalog_revisions\"")
        };
        let but_counts = |all: &[String]| all.iter().filter(|sql| !is_count(sql)).count();
        assert_eq!(
            but_counts(&for_one),
            but_counts(&for_all),
            "{name}: {for_one:#?} {for_all:#?}"
        );
        if !name.contains("lease-terms") {
            assert_eq!(rows, MANY, "{name}");
        }
        let most = match name.as_str() {
            name if name.contains("bulk") => 2,
            _ => 6,
        };
        assert!(
            !for_all.is_empty() && for_all.len() <= most,
            "{name}: {for_all:#?}"
        );
    }
    let none = Vec::<String>::new();
    assert_eq!(
        planned, none,
        "what was asked before is not read and planned again"
    );
}

/// The statements of the one of several requests, which do the same to something else each time, that waited least.
async fn fewest<F>(tap: &Tap, request: impl Fn(usize) -> F) -> Vec<Carried>
where
    F: Future<Output = Value>,
{
    let mut fewest: Option<Vec<Carried>> = None;
    for number in 0..5 {
        drop(tap.take());
        request(number).await;
        let statements = of_requests(tap.take_carried());
        if fewest
            .as_ref()
            .is_none_or(|fewest| trips(&statements) < trips(fewest))
        {
            fewest = Some(statements);
        }
    }
    fewest.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_waits_for_few_answers_of_the_database() {
    let (server, tap) = Server::tapped(BINARY, &["--no-worker"]).await;
    let client = &server.client().await;
    let product = client.product(json!({})).await;
    client.variant_of(&product, "ONE", json!({})).await;
    let mut made = Vec::new();
    for number in 0..5 {
        let email = format!("made{number}@example.com");
        made.push(text(&client.checkout("ONE", &email).await["id"]));
    }
    let path = |number: usize| {
        let id = made.get(number).map_or("", String::as_str);
        format!("/v1/checkouts/{id}")
    };
    let anew = async |path: String| client.send("GET", &path, &ANEW, None).await.ok();
    let got = fewest(&tap, |number| anew(path(number)));
    let got = got.await;
    assert!(trips(&got) <= 2, "GET checkout {got:#?}");
    // One whose price is its own needs nothing of the catalog.
    let email = "ordered@example.com";
    let ordered = client.checkout_at("ONE", email, "orderConfirmed").await;
    let ordered = format!("/v1/checkouts/{}", text(&ordered["id"]));
    let got = fewest(&tap, |_| anew(ordered.clone()));
    let got = got.await;
    assert!(trips(&got) <= 1, "GET checkout with its price {got:#?}");
    assert!(got.len() <= 2, "GET checkout with its price {got:#?}");
    // Of a customer who was not there.
    let posted = fewest(&tap, |number| async move {
        let email = format!("new{number}@example.com");
        client.checkout("ONE", &email).await
    });
    let posted = posted.await;
    assert!(trips(&posted) <= 9, "POST checkouts {posted:#?}");
    let put = fewest(&tap, |number| {
        let path = path(number);
        async move {
            let body = json!({ "lifecycle": "cancelled" });
            client.put(&path, body).await.ok()
        }
    });
    let put = put.await;
    assert!(trips(&put) <= 10, "PUT lifecycle {put:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn prices_that_are_known_are_answered_without_the_database() {
    let (server, tap) = Server::tapped(BINARY, &["--no-worker"]).await;
    let client = &server.client().await;
    let product = client.product(json!({})).await;
    let variant = client.variant_of(&product, "ONE", json!({})).await;
    let id = text(&variant["id"]);
    let summary = format!("/v1/product-variants/{id}/pricing-summary");
    let lowest = format!("/v1/product-variants/{id}/lowest");
    for path in [&summary, &lowest] {
        let mut fewest = usize::MAX;
        for _ in 0..8 {
            drop(tap.take());
            client.get(path).await.ok();
            let asked = of_requests(tap.take_carried());
            fewest = fewest.min(asked.len());
        }
        assert_eq!(fewest, 0, "GET {path}");
    }
    // What this process writes is shown at once.
    for price in ["1500.00", "1600.00", "1700.00"] {
        let path = format!("/v1/product-variants/{id}");
        client.put(&path, json!({ "price": price })).await.ok();
        for _ in 0..2 {
            let shown = client.get(&summary).await.ok();
            let msrp = &shown["pricing"]["12"]["msrp"];
            assert_eq!(msrp, &json!(price), "{shown}");
        }
    }
    // And what others write as soon as they say so.
    let other = server.beside(&["--no-worker"]).await;
    let path = format!("/v1/product-variants/{id}");
    for price in ["1800.00", "1900.00"] {
        let mut of_other = client.clone();
        of_other.url.clone_from(&other.url);
        of_other.put(&path, json!({ "price": price })).await.ok();
        until_shown(client, &summary, price).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_remembered_is_asked_about_with_one_statement() {
    let (server, tap) = Server::tapped(BINARY, &["--no-worker"]).await;
    let client = &server.client().await;
    let product = client.product(json!({})).await;
    client.variant_of(&product, "ONE", json!({})).await;
    let checkout = client.checkout("ONE", "ada@example.com").await;
    let checkout = format!("/v1/checkouts/{}", text(&checkout["id"]));
    for path in ["/v1/products", "/v1/checkouts", "/v1/customers", &checkout] {
        let begun = Instant::now();
        loop {
            drop(tap.take());
            client.get(path).await.ok();
            let asked = sql_of(of_requests(tap.take_carried()));
            if asked.len() == 1 && asked.iter().all(|sql| sql.starts_with(EDITION)) {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "GET {path}: {asked:#?}");
        }
    }
}

/// Waits until the summary shows the price.
async fn until_shown(client: &Client, summary: &str, price: &str) {
    let begun = Instant::now();
    while client.get(summary).await.ok()["pricing"]["12"]["msrp"] != json!(price) {
        assert!(begun.elapsed() < PATIENCE, "{price} is not shown");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn products_are_counted_again_when_the_catalog_has_changed() {
    let (server, tap) = Server::tapped(BINARY, &["--no-worker"]).await;
    let client = &server.client().await;
    let product = client.product(json!({})).await;
    let variant = client.variant_of(&product, "ONE", json!({})).await;
    client.product(json!({})).await;
    // A page that does not show how many there are.
    let list = "/v1/products?limit=1";
    let asked = async |client: &Client| {
        drop(tap.take());
        let total = client.get(list).await.ok()["total"].clone();
        let statements = sql_of(of_requests(tap.take_carried()));
        let is_count = |sql: &String| sql.starts_with("SELECT count(*) FROM (");
        (total, statements.iter().any(is_count))
    };
    assert_eq!(asked(client).await, (json!(2), true));
    assert_eq!(asked(client).await, (json!(2), false));
    // What nobody filters by is no change.
    let path = format!("/v1/product-variants/{}", text(&variant["id"]));
    let changes = json!({ "price": "1500.00", "inventoryQuantity": 7 });
    client.put(&path, changes).await.ok();
    assert_eq!(asked(client).await, (json!(2), false));
    client.product(json!({})).await;
    assert_eq!(asked(client).await, (json!(3), true));
    // Whoever changes it.
    let other = server.beside(&["--no-worker"]).await;
    let mut of_other = client.clone();
    of_other.url.clone_from(&other.url);
    let path = format!("/v1/products/{}", text(&product["id"]));
    of_other.delete(&path).await.ok();
    assert_eq!(asked(client).await, (json!(2), true));
    assert_eq!(asked(client).await, (json!(2), false));
}

/// Makes so many customers of Ada.
async fn copy_ada(server: &Server, times: u32) {
    server
        .query(&format!(
            "INSERT INTO customers (organization_id, id, mode, email, email_folded, identity, credit, created_at, updated_at, version) \
             SELECT organization_id, gen_random_uuid(), mode, n || email, n || email_folded, identity, credit, created_at, updated_at, 1 \
             FROM customers, generate_series(1, {times}) AS n WHERE email_folded = 'ada@example.com'"
        ))
        .await;
}

/// A list is counted with each page as long as it is short. Of one that is long a thousand records would be counted, for nothing
/// to be said of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_is_counted_once_in_a_while() {
    let (server, tap) = Server::tapped(BINARY, &["--no-worker"]).await;
    let client = &server.client().await;
    let product = client.product(json!({})).await;
    client.variant_of(&product, "ONE", json!({})).await;
    client.checkout("ONE", "ada@example.com").await;
    let asked = async |path: &str| {
        drop(tap.take());
        let page = client.send("GET", path, &ANEW, None).await;
        page.has(200);
        let statements = sql_of(of_requests(tap.take_carried()));
        let is_count = |sql: &String| sql.starts_with("SELECT count(*) FROM (");
        let is_counted = statements.iter().any(is_count);
        (page.header("x-total-count").to_owned(), is_counted)
    };
    let page = "/v1/customers?limit=1";
    // One is whose key it is.
    let counted = |count: &str| (count.to_owned(), true);
    assert_eq!(asked(page).await, counted("2"));
    copy_ada(&server, 998).await;
    assert_eq!(asked(page).await, counted("1000"));
    assert_eq!(asked(page).await, counted("1000"));
    client.checkout("ONE", "grace@example.com").await;
    let long = |is_counted| (String::new(), is_counted);
    assert_eq!(asked(page).await, long(true));
    assert_eq!(asked(page).await, long(false));
    let same = "/v1/customers?limit=2&offset=7";
    assert_eq!(asked(same).await, long(false));
    // Others are told by themselves.
    let one = "/v1/customers?limit=1&email=grace@example.com";
    assert_eq!(asked(one).await, (String::from("1"), false));
    assert_eq!(asked("/v1/checkouts?limit=1").await, counted("2"));
}
