//! How fast endpoints are told of events: how many deliveries a second there are, and how late those are that dead
//! endpoints stand beside.
//! `cargo test --release -p lessor-tests --test http deliveries_cost -- --ignored --nocapture --test-threads 1`

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use lessor_tests::client::Client;
use lessor_tests::receiver::{Answer, Receiver};
use lessor_tests::{Server, text};
use serde_json::json;
use tokio::time::sleep;

use crate::BINARY;

const ENDPOINTS: &str = "/v1/webhook-endpoints";
/// The events that are replayed to be counted, and who writes them at a time.
const REPLAYED: usize = 5_000;
const WRITERS: usize = 8;
/// Organizations, and endpoints of each: so many are alive, so many answer nobody, so many refuse the connection.
const ORGANIZATIONS: usize = 200;
const ALIVE: usize = 5;
const SILENT: usize = 3;
const REFUSING: usize = 2;
/// How long events happen, and how long of each organization none does.
const SPAN: Duration = Duration::from_secs(40);
const PAUSE: Duration = Duration::from_secs(4);
/// Nothing came for so long: nothing comes any more.
const SILENCE: Duration = Duration::from_secs(30);

async fn server() -> Server {
    Server::start(BINARY, &["--allow-loopback-targets"]).await
}

async fn rename(client: &Client, id: &str, name: &str) {
    let path = format!("/v1/products/{id}");
    client.put(&path, json!({ "name": name })).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn so_many_a_second() {
    let server = server().await;
    let client = server.client().await;
    let writers = (0..WRITERS).map(|writer| {
        let client = &client;
        async move {
            let product = client.product(json!({})).await;
            for write in 1..REPLAYED / WRITERS {
                rename(client, &text(&product["id"]), &format!("{writer}-{write}")).await;
            }
        }
    });
    join_all(writers).await;
    for endpoints in [1, 8] {
        let receiver = Receiver::start([Answer::Raw(204, "", "")]).await;
        let mut made = Vec::new();
        for _ in 0..endpoints {
            let body = json!({ "url": receiver.url, "types": ["product.*"] });
            made.push(client.post(ENDPOINTS, body).await.ok());
        }
        let begun = Instant::now();
        let mut queued = 0;
        for endpoint in &made {
            let path = format!("{ENDPOINTS}/{}/replay", text(&endpoint["id"]));
            let from = json!({ "from": "2020-01-01T00:00:00Z" });
            queued += client.post(&path, from).await.ok()["queued"]
                .as_u64()
                .unwrap();
        }
        let replayed = begun.elapsed();
        let mut came = 0;
        while came < queued {
            receiver.next().await;
            came += 1;
        }
        let told = begun.elapsed();
        report(&format!(
            "{queued} deliveries to {endpoints} endpoints: {:.0} a second, their queueing of {:.1} s included",
            f64::from(u32::try_from(queued).unwrap()) / told.as_secs_f64(),
            replayed.as_secs_f64()
        ));
        for endpoint in &made {
            let path = format!("{ENDPOINTS}/{}", text(&endpoint["id"]));
            client.delete(&path).await.ok();
        }
    }
}

/// As many as may be replayed at once: they are queued in one transaction, and delivered from a queue.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn the_most_are_replayed_in_little_memory() {
    let server = server().await;
    let client = server.client().await;
    client.product(json!({})).await;
    let receiver = Receiver::start([Answer::Raw(204, "", "")]).await;
    let body = json!({ "url": receiver.url, "types": ["product.created"] });
    let endpoint = client.post(ENDPOINTS, body).await.ok();
    // As if it had happened often: to a thousand products, and to this one ten thousand times.
    server
        .query(
            "INSERT INTO events (organization_id, id, mode, sequence, event_type, subject_type, subject_id, \
             created_at, object) \
             SELECT organization_id, gen_random_uuid(), mode, n, event_type, subject_type, \
             CASE n % 10 WHEN 0 THEN subject_id ELSE md5((n % 1000)::text)::uuid END, \
             created_at, object FROM events, generate_series(11, 100009) n \
             WHERE mode = 'sandbox' AND event_type = 'product.created' RETURNING 1",
        )
        .await;
    server
        .query("UPDATE event_feeds SET last_sequence = 100009 WHERE mode = 'sandbox' RETURNING 1")
        .await;
    server.peak_memory();
    let rest = server.peak_memory();
    let begun = Instant::now();
    let path = format!("{ENDPOINTS}/{}/replay", text(&endpoint["id"]));
    let from = json!({ "from": "2020-01-01T00:00:00Z" });
    let queued = client.post(&path, from).await.ok()["queued"].clone();
    assert_eq!(queued, json!(100_000));
    let replayed = begun.elapsed();
    let queueing = server.peak_memory();
    for _ in 0..20_000 {
        receiver.next().await;
    }
    let delivering = server.peak_memory();
    report(&format!(
        "100000 events replayed in {:.1} s: {rest} KiB before, {queueing} KiB at most, {delivering} KiB at most while \
         20000 were delivered",
        replayed.as_secs_f64()
    ));
    let most = rest + 64 * 1024;
    assert!(queueing < most && delivering < most, "it takes memory");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn dead_ones_make_nobody_wait() {
    let server = server().await;
    let alive = Receiver::start([Answer::Raw(204, "", "")]).await;
    let silent = Receiver::start([Answer::Never]).await;
    let refusing = {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/", closed.local_addr().unwrap())
    };
    let mut shops = Vec::new();
    for _ in 0..ORGANIZATIONS {
        let client = server.client().await;
        let product = client.product(json!({})).await;
        for (count, url) in [
            (ALIVE, &alive.url),
            (SILENT, &silent.url),
            (REFUSING, &refusing),
        ] {
            for _ in 0..count {
                let body = json!({ "url": url, "types": ["product.*"] });
                client.post(ENDPOINTS, body).await.ok();
            }
        }
        shops.push((client, text(&product["id"])));
    }
    let committed: Mutex<BTreeMap<String, Instant>> = Mutex::default();
    let over = AtomicBool::new(false);
    let begun = Instant::now();
    let writers = join_all(shops.iter().enumerate().map(|(shop, (client, product))| {
        let committed = &committed;
        async move {
            // They do not all do it in the same moment.
            let share = u32::try_from(shop).unwrap() % 100;
            sleep(PAUSE * share / 100).await;
            for write in 0.. {
                if begun.elapsed() > SPAN {
                    break;
                }
                let name = format!("{shop}-{write}");
                rename(client, product, &name).await;
                committed.lock().unwrap().insert(name, Instant::now());
                sleep(PAUSE).await;
            }
        }
    }));
    let came = async {
        let mut came = Vec::new();
        let mut last = Instant::now();
        loop {
            let now = Instant::now();
            for received in alive.left().await {
                let name = text(&received.json()["data"]["object"]["name"]);
                came.push((name, received.id().to_owned(), now));
                last = now;
            }
            let expected = committed.lock().unwrap().len() * ALIVE;
            let all_came = over.load(Ordering::SeqCst) && came.len() >= expected;
            if all_came || last.elapsed() > SILENCE {
                break;
            }
            sleep(Duration::from_millis(2)).await;
        }
        came
    };
    let ((), came) = futures::join!(
        async {
            writers.await;
            over.store(true, Ordering::SeqCst);
        },
        came
    );
    let committed = committed.into_inner().unwrap();
    let events: BTreeSet<&str> = came.iter().map(|(_, id, _)| id.as_str()).collect();
    assert_eq!(events.len(), committed.len(), "each event came");
    assert_eq!(came.len(), committed.len() * ALIVE, "to each that is alive");
    let mut late: Vec<Duration> = came
        .iter()
        .map(|(name, _, at)| at.saturating_duration_since(committed[name]))
        .collect();
    late.sort();
    let at = |share: usize| late[(late.len() * share / 1_000).min(late.len() - 1)];
    report(&format!(
        "{} events, {} deliveries to those alive: median {:.0?}, p99 {:.0?}, the last {:.0?} after the answer",
        committed.len(),
        came.len(),
        at(500),
        at(990),
        at(1_000)
    ));
    assert!(at(990) <= Duration::from_secs(2), "p99 {:?}", at(990));
}

#[expect(clippy::print_stdout, reason = "what was measured, with --nocapture")]
fn report(what: &str) {
    println!("{what}");
}
