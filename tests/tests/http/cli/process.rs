//! The process: how it stops, and what a kill leaves.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lessor_tests::server::PATIENCE;
use lessor_tests::{Folder, Server, answer, lessor, raw, run, text};
use rustix::process::Signal;
use serde_json::json;
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
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::TERM)
        .unwrap();
    assert!(demo.wait().unwrap().success());
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

/// Who uses the embedded database of another process ends when that does.
#[test]
fn a_second_server_ends_with_the_first_whose_database_it_uses() {
    let folder = Folder::new("second");
    let serving = || {
        let mut serve = lessor(BINARY, &folder);
        serve.args(["--json", "serve", "--listen", "127.0.0.1:0"]);
        let mut server = serve.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let mut output = BufReader::new(server.stdout.take().unwrap());
        output.read_line(&mut said).unwrap();
        assert!(said.contains("\"url\""), "{said}");
        server
    };
    let (mut first, mut second) = (serving(), serving());
    let pid = rustix::process::Pid::from_child(&first);
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    assert!(first.wait().unwrap().success());
    assert_eq!(second.wait().unwrap().code(), Some(1));
}

/// The embedded database and the server end together, and begin together again.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_acknowledged_is_lost_by_a_kill_under_load() {
    let server = Server::embedded(BINARY, "kill").await;
    let client = server.client().await;
    client.variant("BIKE", Some(1_000)).await;
    let killed = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (client, killed) = (client.clone(), Arc::clone(&killed));
            tokio::spawn(async move {
                let http = reqwest::Client::new();
                let mut acknowledged = Vec::new();
                for number in 0.. {
                    let email = format!("w{writer}-{number}@example.com");
                    let body = json!({ "sku": "BIKE", "selectedTermInMonths": 12, "customer": { "email": email } });
                    let sent = http
                        .post(format!("{}/v1/checkouts", client.url))
                        .bearer_auth(&client.key)
                        .header("content-type", "application/json")
                        .body(body.to_string())
                        .send()
                        .await;
                    let Ok(answer) = sent else { break };
                    let status = answer.status().as_u16();
                    let Ok(bytes) = answer.bytes().await else { break };
                    assert!(status == 200 || killed.load(Ordering::SeqCst), "{status}");
                    let made: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
                    acknowledged.push(text(&made["id"]));
                }
                acknowledged
            })
        })
        .collect();
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let listed = client.get("/v1/checkouts?limit=1").await;
        if listed.header("x-total-count").parse().unwrap_or(0) >= 40 {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "no load");
    }
    killed.store(true, Ordering::SeqCst);
    let server = server.kill_and_restart().await;
    let mut again = client.clone();
    again.url.clone_from(&server.url);
    let mut kept = 0;
    for writer in writers {
        for id in writer.await.unwrap_or_default() {
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
