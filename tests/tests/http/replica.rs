//! Lists from a read replica: callers read what they wrote.

use std::time::{Duration, Instant};

use lessor_adapters::testing::{TestDatabase, is_cluster};
use lessor_tests::client::{Client, Reply};
use lessor_tests::process::{bare, run};
use lessor_tests::server::{PATIENCE, SERVER_KEY};
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

const CATEGORIES: &str = "/v1/product-categories";
/// The position that every replica has.
const ANY: &str = "0000000000000000";
/// How often somebody writes and reads at once.
const ROUNDS: usize = 200;
/// How long a list may take while the replica does not answer.
const LONGEST: Duration = Duration::from_secs(8);

/// Makes a category; answers the position of the write.
async fn write(client: &Client, name: &str) -> String {
    let made = client.post(CATEGORIES, json!({ "name": name })).await;
    position_of(&made)
}

/// The position that an answer tells.
#[track_caller]
fn position_of(answered: &Reply) -> String {
    answered.has(200);
    let position = answered.header("lessor-position");
    assert_eq!(position.len(), ANY.len(), "{position:?} of {answered}");
    assert!(position > ANY, "{answered}");
    position.to_owned()
}

/// The name of the newest category in a list that has to show what was done up to the position; none:
/// without one.
async fn newest(client: &Client, position: Option<&str>) -> String {
    let headers: Vec<_> = position
        .map(|it| ("lessor-position", it))
        .into_iter()
        .collect();
    let path = format!("{CATEGORIES}?limit=1");
    let listed = client.send("GET", &path, &headers, None).await;
    assert_eq!(
        listed.header("lessor-position"),
        "",
        "a list writes nothing"
    );
    text(&listed.ok()[0]["name"])
}

/// How many lists the replica was to answer, by what came of it.
async fn counted(client: &Client, result: &str) -> usize {
    let metrics = client.with_key("").get("/metrics").await;
    let told = String::from_utf8_lossy(&metrics.bytes).into_owned();
    let name = format!("lessor_replica_reads_total{{result=\"{result}\"}} ");
    let number = told.lines().find_map(|line| line.strip_prefix(&name));
    number.map_or(0, |number| number.parse().unwrap_or_default())
}

/// Lists until the replica has answered once more.
async fn until_it_answers(client: &Client) {
    let before = counted(client, "replica").await;
    let deadline = Instant::now() + PATIENCE;
    while counted(client, "replica").await == before {
        assert!(Instant::now() < deadline, "the replica answers no list");
        newest(client, Some(ANY)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_read_what_they_wrote() {
    let Some((mut server, _tap)) = Server::replicated(BINARY).await else {
        return;
    };
    let client = server.client().await;
    for number in 0..ROUNDS {
        let name = format!("Category {number}");
        let position = write(&client, &name).await;
        assert_eq!(newest(&client, Some(&position)).await, name, "{position}");
        assert_eq!(newest(&client, None).await, name);
    }
    let mut all = 0;
    for result in ["replica", "behind", "unavailable"] {
        all += counted(&client, result).await;
    }
    assert_eq!(all, ROUNDS, "a list without a position is the primary's");
    until_it_answers(&client).await;

    // Where it does not come on, those who know of more are answered by the primary.
    let seen = write(&client, "Seen").await;
    server.servers().caught_up().await;
    server.servers().pause().await;
    let position = write(&client, "Not seen yet").await;
    assert!(position > seen, "{position} after {seen}");
    let behind = counted(&client, "behind").await;
    assert_eq!(newest(&client, Some(&position)).await, "Not seen yet");
    assert_eq!(counted(&client, "behind").await, behind + 1);
    assert_eq!(newest(&client, None).await, "Not seen yet");
    for older in [ANY, &seen] {
        assert_eq!(newest(&client, Some(older)).await, "Seen", "the replica's");
    }
    // What it refuses may be there by now.
    let id = text(&client.get(CATEGORIES).await.ok()[0]["id"]);
    let after = format!("{CATEGORIES}?limit=1&startingAfter={id}");
    let headers = [("lessor-position", ANY)];
    let page = client.send("GET", &after, &headers, None).await.ok();
    assert_eq!(page[0]["name"], "Seen");
    server.servers().resume().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_to_a_change_tells_its_position() {
    let Some((mut server, _tap)) = Server::replicated(BINARY).await else {
        return;
    };
    let client = server.client().await;
    let mut last = write(&client, "First").await;
    let product = client.post("/v1/products", client.product_body()).await;
    let deleted = product.body.clone();
    let path = format!("/v1/products/{}", text(&deleted["id"]));
    client.variant("BIKE", None).await;
    let made = client
        .try_checkout("BIKE", "grace@example.com", json!({}))
        .await;
    let checkout = made.body.clone();
    let advanced = client.advance(&checkout, "orderConfirmed").await;
    let changes = json!({ "metadata": { "a": "b" } });
    let bulk = json!({ "updates": [{ "id": deleted["id"], "name": "Renamed" }] });
    for answered in [
        product,
        made,
        advanced,
        client.put(&path, changes).await,
        client.put("/v1/products/bulk", bulk).await,
        client.act(&checkout, "fulfill", json!({})).await,
        client.delete(&path).await,
    ] {
        let position = position_of(&answered);
        assert!(position > last, "{position} after {last}: {answered}");
        last = position;
    }
    // A list that is sent it shows what the last of them did.
    server.servers().caught_up().await;
    let headers = [("lessor-position", &*last)];
    let listed = client.send("GET", "/v1/products", &headers, None).await;
    let listed = text(&listed.ok()["results"][0]["id"]);
    assert_ne!(listed, text(&deleted["id"]));

    let body = json!({ "name": "Once" });
    let first = client.post_once(CATEGORIES, "once", &body).await;
    let again = client.post_once(CATEGORIES, "once", &body).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert!(position_of(&again) >= position_of(&first));
    // What only looks has none, nor has what is refused.
    for answered in [
        client.get(&path).await,
        client.post(CATEGORIES, json!({ "name": "Once" })).await,
        client.post(CATEGORIES, json!({})).await,
    ] {
        assert_eq!(answered.header("lessor-position"), "", "{answered}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_a_replica_that_is_gone() {
    let Some((mut server, tap)) = Server::replicated(BINARY).await else {
        return;
    };
    let client = server.client().await;
    let position = write(&client, "There").await;
    until_it_answers(&client).await;
    let unavailable = counted(&client, "unavailable").await;
    tap.freeze();
    for _ in 0..20 {
        let asked = Instant::now();
        assert_eq!(newest(&client, Some(&position)).await, "There");
        assert!(asked.elapsed() < LONGEST, "{:?}", asked.elapsed());
    }
    assert!(counted(&client, "unavailable").await > unavailable);
    tap.thaw();
    until_it_answers(&client).await;
    server.servers().end_replica();
    for number in 0..20 {
        let name = format!("Category {number}");
        let position = write(&client, &name).await;
        assert_eq!(newest(&client, Some(&position)).await, name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_position_is_refused_by_every_list() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    let of_product = format!("/v1/products/{}/variants", text(&product["id"]));
    let lists = [
        "/v1/products",
        &of_product,
        CATEGORIES,
        "/v1/lease-terms",
        "/v1/checkouts",
        "/v1/customers",
        "/v1/audit",
    ];
    assert_eq!(lists.len(), lists_that_take_it(&client), "each is asked");
    for path in lists {
        let documented = documents_the_header(&client, path);
        assert!(documented, "{path}");
        for bad in [
            "",
            "0",
            "0/16B3748",
            "00000000016B3748",
            "caf\u{e9}",
            &"0".repeat(17),
        ] {
            let refused = client
                .send("GET", path, &[("lessor-position", bad)], None)
                .await;
            refused.refused(400, "invalid_parameter", "Lessor-Position");
        }
        let twice = [("lessor-position", ANY), ("lessor-position", ANY)];
        let refused = client.send("GET", path, &twice, None).await;
        refused.refused(400, "invalid_parameter", "Lessor-Position");
        // Without a replica it is right, and changes nothing.
        let listed = client
            .send("GET", path, &[("lessor-position", ANY)], None)
            .await;
        assert_eq!(listed.header("lessor-position"), "");
        listed.has(200);
    }
    let made = client.post(CATEGORIES, json!({ "name": "A" })).await;
    assert_eq!(made.header("lessor-position"), "");
}

/// How many operations of the document take the header.
fn lists_that_take_it(client: &Client) -> usize {
    let paths = client.contract().document["paths"].as_object();
    let paths = paths.into_iter().flatten().map(|(path, _)| path);
    paths
        .filter(|path| documents_the_header(client, path))
        .count()
}

fn documents_the_header(client: &Client, path: &str) -> bool {
    let operation = client.contract().operation("GET", path);
    let parameters = operation.and_then(|(_, operation)| operation["parameters"].as_array());
    let is_header = |it: &Value| it["in"] == "header" && it["name"] == "Lessor-Position";
    parameters.is_some_and(|parameters| parameters.iter().any(is_header))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_replica_is_refused_at_the_start() {
    let database = TestDatabase::create().await;
    let refused_for = if is_cluster() {
        "spread over the nodes of a cluster"
    } else {
        "is no replica"
    };
    for (replica, word) in [
        (database.url(), refused_for),
        ("mysql://nobody@nowhere/nothing", "postgres://"),
    ] {
        let output = run(bare(BINARY)
            .env("DATABASE_URL", database.url())
            .env("LESSOR_REPLICA_URL", replica)
            .env("LESSOR_SERVER_SECRET", SERVER_KEY)
            .args(["serve", "--listen", "127.0.0.1:0"]));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("LESSOR_REPLICA_URL") && said.contains(word),
            "{said}"
        );
    }
}
