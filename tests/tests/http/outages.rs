//! A database that goes away for a while under requests, and what the log says of it.

use std::time::{Duration, Instant};

use futures::future::join_all;
use lessor_adapters::testing::TestDatabase;
use lessor_tests::server::PATIENCE;
use lessor_tests::tap::Tap;
use lessor_tests::{Begun, Folder, answer, lessor, raw, text};
use serde_json::{Value, json};

use crate::BINARY;

/// For how long it is away: whatever is done every few seconds is tried more than once.
const AWAY: Duration = Duration::from_secs(12);
/// As many at a time as there are connections, and more.
const AT_ONCE: usize = 24;

const BEGINS: &str = "service unavailable";
const ENDS: &str = "service available again";

/// The lines of a log that a person is to see: what is worse than told, and where the outage ends. Each request has
/// its own besides.
fn told(log: &str) -> Vec<String> {
    let lines = log.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        (
            text(&line["level"]),
            text(&line["message"]),
            line.to_string(),
        )
    });
    lines
        .filter(|(level, message, _)| level != "INFO" || message == ENDS)
        .map(|(level, message, line)| {
            if [BEGINS, ENDS].contains(&message.as_str()) {
                format!("{level} {message}")
            } else {
                line
            }
        })
        .collect()
}

/// An organization and a key of it, made by commands on the database.
fn shop(url: &str, folder: &Folder) -> (String, String) {
    let run = |arguments: &[&str]| {
        let mut command = lessor(BINARY, folder);
        answer(command.env("DATABASE_URL", url).args(arguments))
    };
    let organization = text(&run(&["org", "create", "--name", "Bikes"])["publicId"]);
    let create = ["key", "create", "--org", &organization, "--mode", "sandbox"];
    let key = run(&[&create[..], &["--permissions", "all"]].concat());
    (organization, text(&key["key"]))
}

async fn an_outage_is_two_lines(name: &str, goes: fn(&Tap)) {
    let database = TestDatabase::create().await;
    let tap = Tap::on(database.url()).await;
    let folder = Folder::new(name);
    let quiet = ["--log-format", "json"];
    let serve = ["serve", "--listen", "127.0.0.1:0", "--database-wait", "1s"];
    let mut server = Begun::on(
        BINARY,
        &tap.url,
        &folder,
        "serve",
        &[&serve[..], &quiet].concat(),
    );
    let url = text(&server.said()["url"]);
    assert!(!url.is_empty(), "{}", server.log());
    let listen = ["worker", "--ops-listen", "127.0.0.1:0"];
    let worker = [&listen[..], &quiet].concat();
    let mut worker = Begun::on(BINARY, &tap.url, &folder, "worker", &worker);
    assert_eq!(worker.said()["status"], "working", "{}", worker.log());

    let (organization, key) = shop(database.url(), &folder);
    let body = json!({
        "name": "Road bike", "description": "Light", "organizationId": organization, "price": "1299.00",
        "productSource": "manual", "productType": "leasable", "options": []
    });
    let requests = [
        raw::request("GET", "/v1/products", &key, ""),
        raw::request("POST", "/v1/products", &key, &body.to_string()),
        raw::request("GET", "/v1/lease-terms", &key, ""),
    ];
    let at_once = || {
        let each = requests.iter().cycle().take(AT_ONCE);
        join_all(each.map(|request| raw::exchange(&url, request.as_bytes())))
    };
    for answer in at_once().await {
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    let before = [told(&server.log()), told(&worker.log())];

    goes(&tap);
    let begun = Instant::now();
    let mut refused = 0;
    while begun.elapsed() < AWAY {
        for answer in at_once().await {
            assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
            assert!(answer.contains("\r\nretry-after: "), "{answer}");
            refused += 1;
        }
    }
    assert!(refused >= AT_ONCE, "{refused}");
    tap.thaw();

    // Somebody asks on, as somebody always does.
    let deadline = Instant::now() + PATIENCE;
    let processes = [(&server, &before[0]), (&worker, &before[1])];
    for (process, before) in processes {
        loop {
            let log = process.log();
            let lines = told(&log).split_off(before.len());
            if lines.last().is_some_and(|line| line.ends_with(ENDS)) {
                let wanted = [format!("ERROR {BEGINS}"), format!("INFO {ENDS}")];
                assert_eq!(lines, wanted, "{log}");
                break;
            }
            assert!(Instant::now() < deadline, "it does not end: {log}");
            drop(raw::exchange(&url, requests[0].as_bytes()).await);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    for answer in at_once().await {
        assert!(!answer.starts_with("HTTP/1.1 5"), "{answer}");
    }
    for mut process in [server, worker] {
        process.stop();
        let (status, log) = process.ended();
        assert_eq!(status, Some(0), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_goes_away_is_told_of_once_and_that_it_is_back() {
    an_outage_is_two_lines("away", Tap::away).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_hangs_is_told_of_once_and_that_it_answers() {
    an_outage_is_two_lines("hanging", Tap::freeze).await;
}
