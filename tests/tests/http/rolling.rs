//! Servers that are replaced one by one behind a proxy.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lessor_tests::server::PATIENCE;
use lessor_tests::{Client, Server, text};
use rustix::process::Signal;
use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};

use crate::BINARY;

const SERVERS: usize = 3;
/// Somewhat more than the proxy needs to notice, as the manual has it.
const FLAGS: [&str; 6] = [
    "--no-worker",
    "--drain-delay",
    "3s",
    "--ops-listen",
    "127.0.0.1:0",
    "--no-migrate",
];
/// How often the proxy asks each server whether it is ready.
const ASKS: Duration = Duration::from_millis(100);
/// Clients, and how often each asks for something: a hundred times a second in all.
const CLIENTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(100);
/// Of so many requests of a client one is a write, and after so many it connects anew.
const WRITES: usize = 5;
const CONNECTS: usize = 4;
/// Requests that are answered between two restarts, and connections that whoever comes back is given.
const BETWEEN: usize = 100;
const TAKEN: usize = 3;

/// A server as the proxy sees it.
#[derive(Debug)]
struct Backend {
    address: String,
    is_ready: AtomicBool,
    taken: AtomicUsize,
}

impl Backend {
    /// Asks for as long as anybody knows the server.
    fn watched(server: &Server) -> Arc<Self> {
        let backend = Arc::new(Self {
            address: server.url.trim_start_matches("http://").to_owned(),
            is_ready: AtomicBool::new(false),
            taken: AtomicUsize::new(0),
        });
        let asked = format!("{}/readyz", server.operators);
        let known = Arc::downgrade(&backend);
        tokio::spawn(async move {
            let mut turns = interval(ASKS);
            turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                turns.tick().await;
                let said = reqwest::get(&asked).await;
                let is_ready = said.is_ok_and(|answer| answer.status() == 200);
                let Some(backend) = known.upgrade() else {
                    break;
                };
                backend.is_ready.store(is_ready, Ordering::SeqCst);
            }
        });
        backend
    }
}

/// Passes connections on to who is ready, in turn. Tries nothing twice: what fails is seen by the client.
#[derive(Debug, Default)]
struct Proxy {
    backends: Mutex<Vec<Arc<Backend>>>,
    next: AtomicUsize,
}

impl Proxy {
    /// Where it listens.
    async fn start(self: &Arc<Self>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let proxy = Arc::clone(self);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                // Nobody is ready: the client is left without an answer, and says so.
                let Some(backend) = proxy.choose() else {
                    continue;
                };
                tokio::spawn(async move {
                    if let Ok(mut server) = TcpStream::connect(&backend.address).await {
                        backend.taken.fetch_add(1, Ordering::SeqCst);
                        // Either side may end in its way.
                        let _ = copy_bidirectional(&mut client, &mut server).await;
                    }
                });
            }
        });
        url
    }

    fn choose(&self) -> Option<Arc<Backend>> {
        let backends = self.backends.lock().unwrap();
        let ready = backends
            .iter()
            .filter(|it| it.is_ready.load(Ordering::SeqCst));
        let ready: Vec<_> = ready.collect();
        let turn = self.next.fetch_add(1, Ordering::SeqCst);
        ready
            .get(turn % ready.len().max(1))
            .map(|it| Arc::clone(it))
    }

    fn set(&self, place: usize, backend: &Arc<Backend>) {
        let mut backends = self.backends.lock().unwrap();
        match backends.get_mut(place) {
            Some(known) => *known = Arc::clone(backend),
            None => backends.push(Arc::clone(backend)),
        }
    }
}

/// What was answered so far.
#[derive(Debug, Default)]
struct Answered {
    requests: AtomicUsize,
    begun: Mutex<Vec<String>>,
    is_over: AtomicBool,
    each: Notify,
}

/// Asks at a pace, each time the server that the proxy gives it. What is no good answer ends the test.
async fn ask(number: usize, client: Client, answered: Arc<Answered>) {
    let mut turns = interval(PAUSE);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known: Option<String> = None;
    for turn in number.. {
        if answered.is_over.load(Ordering::SeqCst) {
            break;
        }
        turns.tick().await;
        let mut headers = vec![("content-type", "application/json")];
        if turn.is_multiple_of(CONNECTS) {
            headers.push(("connection", "close"));
        }
        if turn.is_multiple_of(WRITES) {
            let email = format!("c{number}-{turn}@example.com");
            let body = json!({ "sku": "BIKE", "selectedTermInMonths": 12, "customer": { "email": email } });
            let body = body.to_string().into_bytes();
            let made = client.send("POST", "/v1/checkouts", &headers, Some(body));
            let id = text(&made.await.ok()["id"]);
            answered.begun.lock().unwrap().push(id.clone());
            known = Some(id);
        } else {
            let path = match &known {
                Some(id) => format!("/v1/checkouts/{id}"),
                None => "/v1/products".to_owned(),
            };
            client.send("GET", &path, &headers, None).await.ok();
        }
        answered.requests.fetch_add(1, Ordering::SeqCst);
        answered.each.notify_waiters();
    }
}

/// Waits until something is so, for as long as requests go on being answered.
async fn until(what: &str, answered: &Answered, is_so: impl Fn() -> bool) {
    let mut seen = (answered.requests.load(Ordering::SeqCst), Instant::now());
    while !is_so() {
        let each = answered.each.notified();
        let _ = tokio::time::timeout(ASKS, each).await;
        let requests = answered.requests.load(Ordering::SeqCst);
        if requests > seen.0 {
            seen = (requests, Instant::now());
        }
        assert!(seen.1.elapsed() < PATIENCE, "{what}: nothing goes on");
    }
}

/// Each of three is told to stop, ends, and another takes its place; a hundred requests a second, one in five a write,
/// are answered all along, and what was acknowledged is there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_are_replaced_one_by_one_and_no_request_fails() {
    let first = Server::start(BINARY, &FLAGS).await;
    let proxy = Arc::new(Proxy::default());
    let mut client = first.client().await;
    client.variant("BIKE", None).await;
    client.url = proxy.start().await;
    let mut servers = vec![first.beside(&FLAGS).await, first.beside(&FLAGS).await];
    // It brought the database, and is the first to go.
    servers.insert(0, first);
    let answered = Arc::new(Answered::default());
    for (place, server) in servers.iter().enumerate() {
        let backend = Backend::watched(server);
        proxy.set(place, &backend);
        until("ready", &answered, || {
            backend.is_ready.load(Ordering::SeqCst)
        })
        .await;
    }
    let begun = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            // Connections of its own.
            let client = client.apart();
            tokio::spawn(ask(number, client, Arc::clone(&answered)))
        })
        .collect();
    let passed = |since: usize| answered.requests.load(Ordering::SeqCst) >= since + BETWEEN;
    let mut replaced = Vec::new();
    for place in 0..SERVERS {
        let since = answered.requests.load(Ordering::SeqCst);
        until("load", &answered, || passed(since)).await;
        let failed = clients.iter().any(tokio::task::JoinHandle::is_finished);
        assert!(!failed, "a request failed before {place} was told to stop");
        servers[place].signal(Signal::TERM);
        assert_eq!(servers[place].wait(), Some(0));
        let another = servers[0].beside(&FLAGS).await;
        let backend = Backend::watched(&another);
        proxy.set(place, &backend);
        until("taken again", &answered, || {
            backend.taken.load(Ordering::SeqCst) >= TAKEN
        })
        .await;
        replaced.push(another);
    }
    let since = answered.requests.load(Ordering::SeqCst);
    until("load", &answered, || passed(since)).await;
    answered.is_over.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }
    let begun_by_all = answered.begun.lock().unwrap().clone();
    let acknowledged: HashSet<&String> = begun_by_all.iter().collect();
    assert_eq!(acknowledged.len(), begun_by_all.len());
    let listed = client.get("/v1/checkouts?limit=1").await;
    assert_eq!(
        listed.header("x-total-count"),
        acknowledged.len().to_string()
    );
    report(&format!(
        "{} requests, {} of them writes, in {:.1} s",
        answered.requests.load(Ordering::SeqCst),
        acknowledged.len(),
        begun.elapsed().as_secs_f64()
    ));
}

#[expect(clippy::print_stdout, reason = "what was measured, with --nocapture")]
fn report(what: &str) {
    println!("{what}");
}
