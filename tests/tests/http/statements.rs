//! The number of statements does not grow with the rows: counted on the line to the database.

use lessor_tests::client::Client;
use lessor_tests::tap::Tap;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// How many rows the fuller shop has of each thing.
const MANY: usize = 100;

/// A request and what it carries.
type Request = (&'static str, String, Option<Value>);

/// But for what ends a transaction, and for what the server does meanwhile: it numbers events, and looks who follows
/// them.
fn of_requests(mut statements: Vec<String>) -> Vec<String> {
    const OF_EVENTS: [&str; 5] = [
        "WITH waiting",
        "event_feeds",
        "pg_notify",
        "NOTIFY",
        "FROM \"webhook_endpoints\"",
    ];
    statements.retain(|sql| {
        sql != "SELECT; COMMIT" && !OF_EVENTS.iter().any(|of_events| sql.contains(of_events))
    });
    statements
}

/// The fewest statements that are carried out while a request is answered, and the rows of the answer.
/// What is prepared or looked up once, the key every few seconds, is in some of the answers and not in
/// all.
async fn counted(
    tap: &Tap,
    client: &Client,
    (method, path, body): &Request,
) -> (Vec<String>, usize) {
    let mut fewest: Option<Vec<String>> = None;
    let mut rows = 0;
    for _ in 0..5 {
        drop(tap.take());
        let answered = match body {
            Some(body) => client.send_json(method, path, body.to_string()).await,
            None => client.send(method, path, &[], None).await,
        };
        answered.has(200);
        let statements = of_requests(tap.take());
        if fewest
            .as_ref()
            .is_none_or(|fewest| statements.len() < fewest.len())
        {
            fewest = Some(statements);
        }
        let list = answered.body.get("results").unwrap_or(&answered.body);
        rows = list.as_array().map_or(1, Vec::len);
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
    for (one, all) in few.iter().zip(&many) {
        let (for_one, _) = counted(&tap, &small, one).await;
        let (for_all, rows) = counted(&tap, &large, all).await;
        let name = format!(
            "{} {}",
            one.0,
            one.1.split(['=', ',']).next().unwrap_or_default()
        );
        // A page that does not show how many the list has is counted.
        let is_count = |sql: &&String| sql.starts_with("SELECT count(*) FROM (");
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
            // What was decided about their credit too.
            name if name.contains("checkouts") => 7,
            _ => 6,
        };
        assert!(
            !for_all.is_empty() && for_all.len() <= most,
            "{name}: {for_all:#?}"
        );
    }
}

/// The fewest statements of several requests that do the same to something else each time.
async fn fewest<F>(tap: &Tap, request: impl Fn(usize) -> F) -> Vec<String>
where
    F: Future<Output = Value>,
{
    let mut fewest: Option<Vec<String>> = None;
    for number in 0..5 {
        drop(tap.take());
        request(number).await;
        let statements = of_requests(tap.take());
        if fewest
            .as_ref()
            .is_none_or(|fewest| statements.len() < fewest.len())
        {
            fewest = Some(statements);
        }
    }
    fewest.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_takes_no_more_statements_than_it_took() {
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
    let got = fewest(&tap, |number| {
        let path = path(number);
        async move { client.get(&path).await.ok() }
    });
    let got = got.await;
    assert!(got.len() <= 5, "GET checkout {got:#?}");
    // Of a customer who was not there.
    let posted = fewest(&tap, |number| async move {
        let email = format!("new{number}@example.com");
        client.checkout("ONE", &email).await
    });
    let posted = posted.await;
    assert!(posted.len() <= 23, "POST checkouts {posted:#?}");
    let put = fewest(&tap, |number| {
        let path = path(number);
        async move {
            let body = json!({ "lifecycle": "cancelled" });
            client.put(&path, body).await.ok()
        }
    });
    let put = put.await;
    assert!(put.len() <= 34, "PUT lifecycle {put:#?}");
}
