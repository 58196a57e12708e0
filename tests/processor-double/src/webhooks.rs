//! Messages to those who want to be told.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::events::Event;
use crate::signature;
use crate::state::Shared;

/// Where messages go, and how.
///
/// A message that is not answered with 2xx is sent again, as the processor does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Webhooks {
    /// The address.
    pub url: String,
    /// The secrets in force: each makes a signature.
    pub secrets: Vec<String>,
    /// How often each message is sent, at the same time.
    pub copies: u32,
    /// How long messages are gathered before they are sent, in milliseconds.
    pub delay_millis: u64,
    /// Gathered messages are sent in an order that this number decides.
    pub shuffle: Option<u64>,
    /// Of a hundred messages so many never come, whoever is there to take them.
    pub lost_percent: u32,
    /// How often a message is sent that is not taken.
    pub attempts: u32,
    /// The pause between, in milliseconds.
    pub retry_millis: u64,
    /// Whether signatures carry the time of the double's clock; else the system's,
    /// which receivers go by.
    pub double_time: bool,
}

impl Default for Webhooks {
    fn default() -> Self {
        Self {
            url: String::new(),
            secrets: Vec::new(),
            copies: 1,
            delay_millis: 0,
            shuffle: None,
            lost_percent: 0,
            attempts: 1_000,
            retry_millis: 200,
            double_time: false,
        }
    }
}

impl Webhooks {
    /// Each message once, as soon as it is there.
    #[must_use]
    pub fn to(url: &str, secret: &str) -> Self {
        Self {
            url: url.to_owned(),
            secrets: vec![secret.to_owned()],
            ..Self::default()
        }
    }
}

/// A message that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// The event's id.
    pub event: String,
    /// The status that was answered; none when nobody answered.
    pub status: Option<u16>,
}

type Http = Client<HttpConnector, Full<Bytes>>;

/// Sends what comes until the double ends.
pub(crate) async fn run(shared: Arc<Shared>, mut fresh: mpsc::UnboundedReceiver<Event>) {
    let http: Http = Client::builder(TokioExecutor::new()).build_http();
    while let Some(event) = fresh.recv().await {
        let Some(webhooks) = shared.lock().webhooks.clone() else {
            continue;
        };
        let mut batch = vec![event];
        if webhooks.delay_millis > 0 {
            tokio::time::sleep(Duration::from_millis(webhooks.delay_millis)).await;
        }
        while let Ok(event) = fresh.try_recv() {
            batch.push(event);
        }
        if let Some(seed) = webhooks.shuffle {
            shuffle(&mut batch, seed);
        }
        for event in batch {
            first(&http, &shared, &webhooks, &event).await;
        }
    }
}

/// Sends messages now, each once it was answered or not; those that were not taken come again.
///
/// "Stripe doesn't guarantee the delivery of events in the order that they're generated", nor
/// that a request is answered before its messages come.
pub(crate) async fn tell(shared: &Arc<Shared>, events: &[Event]) {
    let webhooks = shared.lock().webhooks.clone();
    let Some(webhooks) = webhooks.filter(|_| !events.is_empty()) else {
        return;
    };
    let http: Http = Client::builder(TokioExecutor::new()).build_http();
    let mut events = events.to_vec();
    if let Some(seed) = webhooks.shuffle {
        shuffle(&mut events, seed);
    }
    for event in &events {
        first(&http, shared, &webhooks, event).await;
    }
}

/// Sends a message the first time, in all its copies, unless it is lost.
async fn first(http: &Http, shared: &Arc<Shared>, webhooks: &Webhooks, event: &Event) {
    if is_lost(&event.id, webhooks.lost_percent) {
        return;
    }
    let sends = (0..webhooks.copies).map(|_| send(http, shared, webhooks, event));
    let taken = futures_util::future::join_all(sends).await;
    if !taken.contains(&true) {
        let (http, shared, event) = (http.clone(), Arc::clone(shared), event.clone());
        tokio::spawn(async move { again(&http, &shared, &event).await });
    }
}

/// Whether the message is one of those that never come: always the same for the same id.
fn is_lost(id: &str, percent: u32) -> bool {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish() % 100 < u64::from(percent)
}

/// Sends a message until it is taken.
async fn again(http: &Http, shared: &Shared, event: &Event) {
    let mut made = 1;
    loop {
        // Where it goes may change meanwhile: a server that starts anew listens elsewhere.
        let Some(webhooks) = shared.lock().webhooks.clone() else {
            return;
        };
        if made >= webhooks.attempts {
            return;
        }
        made += 1;
        tokio::time::sleep(Duration::from_millis(webhooks.retry_millis)).await;
        if send(http, shared, &webhooks, event).await {
            return;
        }
    }
}

async fn send(http: &Http, shared: &Shared, webhooks: &Webhooks, event: &Event) -> bool {
    let clock = if webhooks.double_time {
        shared.lock().clock
    } else {
        Clock::Running(chrono::TimeDelta::zero())
    };
    let secrets: Vec<_> = webhooks.secrets.iter().map(String::as_str).collect();
    let header = signature::sign(&event.body, &secrets, clock.now().timestamp());
    let status = post(http, &webhooks.url, &event.body, &header).await.ok();
    let taken = status.is_some_and(|status| (200..300).contains(&status));
    let mut state = shared.lock();
    state.deliveries.push(Delivery {
        event: event.id.clone(),
        status,
    });
    if taken {
        state.delivered(&event.id);
    }
    taken
}

async fn post(http: &Http, url: &str, body: &[u8], header: &str) -> io::Result<u16> {
    let request = Request::post(url)
        .header("content-type", "application/json; charset=utf-8")
        .header(
            "user-agent",
            "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
        )
        .header(signature::HEADER, header)
        .body(Full::new(Bytes::copy_from_slice(body)))
        .map_err(io::Error::other)?;
    let answered = tokio::time::timeout(Duration::from_secs(30), http.request(request))
        .await
        .map_err(io::Error::other)?
        .map_err(io::Error::other)?;
    Ok(answered.status().as_u16())
}

/// Sends messages now, in this order and each so often at the same time; answers the
/// statuses. For tests that deliver by themselves.
///
/// # Errors
/// When a message is not answered.
pub async fn deliver(
    url: &str,
    secrets: &[&str],
    at: i64,
    events: &[Event],
    copies: usize,
) -> io::Result<Vec<u16>> {
    let http: Http = Client::builder(TokioExecutor::new()).build_http();
    let mut statuses = Vec::new();
    for event in events {
        let header = signature::sign(&event.body, secrets, at);
        let sends = (0..copies).map(|_| post(&http, url, &event.body, &header));
        for status in futures_util::future::join_all(sends).await {
            statuses.push(status?);
        }
    }
    Ok(statuses)
}

/// Another order, always the same for the same number.
pub fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed | 1;
    for last in (1..items.len()).rev() {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let at = usize::try_from(state % (last as u64 + 1)).unwrap_or_default();
        items.swap(last, at);
    }
}
