//! The process: how it stops, and what a kill leaves.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lessor_adapters::testing::TestDatabase;
use lessor_tests::server::{PATIENCE, SERVER_KEY};
use lessor_tests::{Client, Folder, Server, answer, lessor, raw, run, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::BINARY;

#[test]
fn the_demo_ends_with_active_leases() {
    let folder = Folder::new("demo");
    let output = run(lessor(BINARY, &folder).args(["demo", "--exit"]));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("leaseActive"), "{said}");
}

/// The live one too, on the pages of the processor's double; and once more on the same data.
#[test]
fn the_demo_of_a_live_lease_ends_with_one() {
    let folder = Folder::new("demo-live");
    for _ in 0..2 {
        let mut demo = lessor(BINARY, &folder);
        demo.args(["demo", "--live-double", "--exit"]);
        let report = answer(&mut demo);
        assert_eq!(report["lease"]["lifecycle"], "leaseActive", "{report:#}");
        assert_eq!(report["lease"]["subscriptions"], 1, "{report:#}");
    }
    // The account ended with the double.
    let mut accounts = lessor(BINARY, &folder);
    accounts.args(["org", "processor", "show", "1"]);
    assert_eq!(answer(&mut accounts)["total"], 0);
}

/// What the demo leaves behind is a checkout that waits for whoever watches.
#[tokio::test(flavor = "multi_thread")]
async fn the_demo_ends_with_a_page_to_go_through() {
    let folder = Folder::new("demo-page");
    let mut demo = lessor(BINARY, &folder);
    demo.args(["demo", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped());
    let mut demo = demo.spawn().unwrap();
    let mut said = String::new();
    let lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    for line in lines {
        writeln!(said, "{}", line.unwrap()).unwrap();
        if said.contains("Ctrl-C") {
            break;
        }
    }
    let page = said
        .lines()
        .find_map(|line| line.trim().strip_prefix("checkout page"))
        .map(str::trim)
        .unwrap_or_else(|| panic!("{said}"));
    let answer = reqwest::get(page).await.unwrap();
    assert_eq!(answer.status(), 200);
    let shown = answer.text().await.unwrap();
    assert!(shown.contains("<form"), "{shown}");
    assert!(!shown.contains("lease is active"), "{shown}");
    // As it says itself.
    let stop = said.split("kill -TERM ").nth(1).unwrap();
    let pid: i32 = stop.trim().trim_end_matches('.').parse().unwrap();
    assert_eq!(u32::try_from(pid), Ok(demo.id()));
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    assert!(demo.wait().unwrap().success());
}

/// Whoever does not read the log stops nobody: a pipe is full long before the last of these.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_nobody_reads_stops_nothing() {
    let database = TestDatabase::create().await;
    let folder = Folder::new("unread-log");
    let mut serve = lessor(BINARY, &folder);
    serve
        .env("DATABASE_URL", database.url())
        .env("LESSOR_SERVER_SECRET", SERVER_KEY)
        .args(["--json", "serve", "--listen", "127.0.0.1:0"])
        .args(["--log-format", "json", "--address-rate-limit", "off"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut server = serve.spawn().unwrap();
    let mut line = String::new();
    let stdout = server.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let greeting: Value = serde_json::from_str(&line).unwrap();
    let nowhere = format!("{}/nowhere", text(&greeting["url"]));
    let client = reqwest::Client::builder()
        .timeout(PATIENCE)
        .build()
        .unwrap();
    for number in 0..1_000 {
        let answer = client.get(&nowhere).send().await;
        assert_eq!(answer.unwrap().status(), 404, "{number}");
    }
    kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
    assert!(server.wait().unwrap().success());
    let mut log = Vec::new();
    let mut stderr = server.stderr.take().unwrap();
    stderr.read_to_end(&mut log).unwrap();
    let written = String::from_utf8_lossy(&log)
        .matches("\"answered\"")
        .count();
    assert!((1..1_000).contains(&written), "{written} lines fit in");
}

/// A request whose body is still on its way when the process is told to stop is answered; the process
/// ends with 0 and takes no new ones.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_is_answered_before_the_end() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::start(BINARY, &[]).await;
        let client = server.client().await;
        let body = client.product_body().to_string();
        let request = raw::request("POST", "/v1/products", &client.key, &body);
        let (first, second) = request.split_at(request.len() - 10);
        let mut stream = raw::connect(&client.url).await;
        assert!(stream.write_all(first.as_bytes()).await.is_ok());
        // The head has arrived when another request that was sent later is answered.
        client.get("/v1/products").await.ok();
        let address = client.url.trim_start_matches("http://").to_owned();
        server.signal(signal);
        let deadline = std::time::Instant::now() + PATIENCE;
        while tokio::net::TcpStream::connect(&address).await.is_ok() {
            assert!(std::time::Instant::now() < deadline, "it still listens");
        }
        assert!(stream.write_all(second.as_bytes()).await.is_ok());
        let answer = raw::rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(server.wait(), Some(0), "{signal:?}");
    }
}

/// A proxy is told in time: the process says that it is not ready and answers as before for a while, each time with
/// the last answer of the connection, and operators are answered all along by their own listener.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_told_to_stop_answers_until_a_proxy_has_noticed() {
    let flags = ["--drain-delay", "2s", "--ops-listen", "127.0.0.1:0"];
    let mut server = Server::start(BINARY, &flags).await;
    let operators = server.operators.clone();
    let client = server.client().await;
    client.with_key("").get("/metrics").await.has(404);
    let ask = async |path: &str| reqwest::get(format!("{operators}{path}")).await.unwrap();
    assert_eq!(ask("/readyz").await.status(), 200);
    let metrics = ask("/metrics").await.text().await.unwrap();
    assert!(metrics.contains("http_requests_total"), "{metrics}");
    assert_eq!(ask("/v1/products").await.status(), 404);
    server.signal(Signal::TERM);
    let deadline = std::time::Instant::now() + PATIENCE;
    while ask("/readyz").await.status() != 503 {
        assert!(std::time::Instant::now() < deadline, "it is ready for ever");
    }
    let answer = client.get("/v1/products").await;
    assert_eq!(answer.header("connection"), "close");
    answer.ok();
    assert_eq!(ask("/healthz").await.status(), 200);
    assert_eq!(server.wait(), Some(0));
}

/// A server on the folder, which says where it serves.
fn serving(folder: &Folder) -> (Child, String) {
    let mut serve = lessor(BINARY, folder);
    serve.args(["--json", "serve", "--listen", "127.0.0.1:0"]);
    let mut server = serve.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    output.read_line(&mut said).unwrap();
    let said: Value = serde_json::from_str(&said).unwrap_or_default();
    let url = text(&said["url"]);
    assert!(!url.is_empty(), "{said}");
    (server, url)
}

/// Tells the process to stop, which it does in order.
fn stopped(mut server: Child) {
    let pid = Pid::from_child(&server);
    kill_process(pid, Signal::TERM).unwrap();
    assert!(server.wait().unwrap().success());
}

/// Who uses the embedded database of another process runs it once that has ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_takes_over_from_the_first_whose_database_it_uses() {
    let folder = Folder::new("second");
    let ((first, _), (second, url)) = (serving(&folder), serving(&folder));
    let mut create = lessor(BINARY, &folder);
    create.args(["org", "create", "--name", "Kept"]);
    let made = answer(&mut create);
    // The database is stopped before the process ends.
    stopped(first);
    ready(&url).await;
    let mut show = lessor(BINARY, &folder);
    show.args(["org", "show", made["publicId"].as_str().unwrap()]);
    assert_eq!(answer(&mut show)["name"], "Kept");
    stopped(second);
}

/// Waits until a server's database can be written to.
async fn ready(url: &str) {
    let deadline = std::time::Instant::now() + PATIENCE;
    let asked = format!("{url}/readyz");
    while reqwest::get(&asked).await.unwrap().status() != 200 {
        assert!(std::time::Instant::now() < deadline, "it is never ready");
    }
}

/// Begins a checkout: its status and its id, where the server answers.
async fn begin(http: &reqwest::Client, client: &Client, email: &str) -> Option<(u16, String)> {
    let body = json!({ "sku": "BIKE", "selectedTermInMonths": 12, "customer": { "email": email } });
    let sent = http
        .post(format!("{}/v1/checkouts", client.url))
        .bearer_auth(&client.key)
        .header("content-type", "application/json")
        .body(body.to_string())
        .send()
        .await;
    let answer = sent.ok()?;
    let status = answer.status().as_u16();
    let bytes = answer.bytes().await.ok()?;
    let made: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    Some((status, text(&made["id"])))
}

/// The embedded database dies and the process does not: requests are refused for a while, and nothing that was
/// acknowledged is lost.
#[tokio::test(flavor = "multi_thread")]
async fn the_death_of_the_embedded_database_is_survived() {
    let mut server = Server::embedded(BINARY, "revived").await;
    let client = server.client().await;
    client.variant("BIKE", Some(1_000)).await;
    let deadline = std::time::Instant::now() + 2 * PATIENCE;
    let (revived, begun) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let writers: Vec<_> = (0..2)
        .map(|writer| {
            let (client, revived, begun) =
                (client.clone(), Arc::clone(&revived), Arc::clone(&begun));
            tokio::spawn(async move {
                let http = reqwest::Client::new();
                let mut acknowledged = Vec::new();
                for number in 0.. {
                    assert!(std::time::Instant::now() < deadline, "nothing is taken");
                    let is_last = revived.load(Ordering::SeqCst);
                    let email = format!("w{writer}-{number}@example.com");
                    let (status, id) = begin(&http, &client, &email).await.unwrap();
                    match status {
                        200 => {
                            begun.fetch_add(1, Ordering::SeqCst);
                            acknowledged.push(id);
                        }
                        503 => continue,
                        other => panic!("{other}"),
                    }
                    if is_last {
                        break;
                    }
                }
                acknowledged
            })
        })
        .collect();
    while begun.load(Ordering::SeqCst) < 20 {
        assert!(std::time::Instant::now() < deadline, "no load");
        tokio::task::yield_now().await;
    }
    let killed = server.postmaster().unwrap();
    kill_process(killed, Signal::KILL).unwrap();
    while server.postmaster().is_none_or(|pid| pid == killed) {
        assert!(std::time::Instant::now() < deadline, "it stays dead");
        tokio::task::yield_now().await;
    }
    ready(&client.url).await;
    revived.store(true, Ordering::SeqCst);
    for writer in writers {
        for id in writer.await.unwrap() {
            let read = client.get(&format!("/v1/checkouts/{id}")).await;
            assert_eq!(read.status, 200, "{id} was acknowledged and is gone");
        }
    }
    let lease = client
        .checkout_at("BIKE", "after@example.com", "leaseActive")
        .await;
    assert_eq!(lease["recurringPaymentStatus"], "active");
    server.signal(Signal::TERM);
    assert_eq!(server.wait(), Some(0));
}

/// The embedded database and the server end together, and begin together again.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_acknowledged_is_lost_by_a_kill_under_load() {
    let server = Server::embedded(BINARY, "kill").await;
    let client = server.client().await;
    client.variant("BIKE", Some(1_000)).await;
    let (killed, begun) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (client, killed, begun) = (client.clone(), Arc::clone(&killed), Arc::clone(&begun));
            tokio::spawn(async move {
                let http = reqwest::Client::new();
                let mut acknowledged = Vec::new();
                for number in 0.. {
                    let is_last = killed.load(Ordering::SeqCst);
                    let email = format!("w{writer}-{number}@example.com");
                    let Some((status, id)) = begin(&http, &client, &email).await else {
                        break;
                    };
                    if status == 200 {
                        begun.fetch_add(1, Ordering::SeqCst);
                        acknowledged.push(id);
                    } else {
                        assert!(killed.load(Ordering::SeqCst), "{status}");
                    }
                    if is_last {
                        break;
                    }
                }
                acknowledged
            })
        })
        .collect();
    // Counted where the answers arrive: of what the database counts, the kill takes the last answers along.
    let deadline = std::time::Instant::now() + 2 * PATIENCE;
    while begun.load(Ordering::SeqCst) < 40 {
        assert!(std::time::Instant::now() < deadline, "no load");
        tokio::task::yield_now().await;
    }
    killed.store(true, Ordering::SeqCst);
    let server = server.kill_and_restart().await;
    let mut again = client.clone();
    again.url.clone_from(&server.url);
    let mut kept = 0;
    for writer in writers {
        for id in writer.await.unwrap() {
            let read = again.get(&format!("/v1/checkouts/{id}")).await;
            assert_eq!(read.status, 200, "{id} was acknowledged and is gone");
            kept += 1;
        }
    }
    assert!(kept >= 40, "{kept}");
    // It works on: the key, the stock, a new lease to its end.
    let lease = again
        .checkout_at("BIKE", "after@example.com", "leaseActive")
        .await;
    assert_eq!(lease["recurringPaymentStatus"], "active");
}
