//! Somebody follows the feed of events whatever breaks, and knows how far they are: they see each event
//! once and in order, and what they are told adds up to what there is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use lessor_tests::receiver::{Answer, Received, Receiver};
use serde_json::{Map, Value, json};

use crate::world::{World, until};

/// Which address a page has depends on which process told of it.
const OF_THE_PROCESS: &str = "checkoutUrl";

/// The address of what comes after the event.
fn after(last: Option<&Value>) -> String {
    let start = last.map(|last| format!("&startingAfter={}", last["id"].as_str().unwrap()));
    format!("/v1/events?limit=100{}", start.unwrap_or_default())
}

/// What comes after the event, to the end.
pub(crate) async fn rest(world: &World, last: Option<&Value>) -> Vec<Value> {
    let mut rest: Vec<Value> = Vec::new();
    loop {
        let page = world.get(&after(rest.last().or(last))).await;
        let page = page.as_array().unwrap();
        if page.is_empty() {
            return rest;
        }
        rest.extend(page.iter().cloned());
    }
}

/// Follows the feed until somebody says that all is over, and then to its end.
pub(crate) async fn followed(world: &World, over: &AtomicBool) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    loop {
        let was_over = over.load(Ordering::SeqCst);
        let mut path = after(events.last());
        if !was_over {
            path += "&wait=1";
        }
        let page = world.get(&path).await;
        let page = page.as_array().unwrap();
        if page.is_empty() && was_over {
            return events;
        }
        events.extend(page.iter().cloned());
    }
}

/// An endpoint that is told of everything, and takes it.
pub(crate) struct Listener {
    receiver: Receiver,
    endpoint: Value,
    /// What happened before it was there.
    before: u64,
}

impl Listener {
    pub(crate) async fn new(world: &World) -> Self {
        let receiver = Receiver::start([Answer::Raw(204, "", "")]).await;
        let body = json!({ "url": receiver.url });
        let endpoint = world
            .post_once("/v1/webhook-endpoints", "endpoint", &body)
            .await;
        let before = rest(world, None).await;
        let before = before.last().and_then(|event| event["sequence"].as_u64());
        Self {
            receiver,
            endpoint,
            before: before.unwrap_or(0),
        }
    }

    /// Checks that it was told of each of the events, which are all, at least once, as the feed shows it; and of
    /// those of a record first in their order, since it took them all.
    pub(crate) async fn check(self, world: &World, events: &[Value]) {
        let id = self.endpoint["id"].as_str().unwrap();
        let deliveries = format!("/v1/webhook-endpoints/{id}/deliveries?limit=1");
        let wanted: BTreeSet<&str> = events
            .iter()
            .filter(|event| event["sequence"].as_u64() > Some(self.before))
            .map(|event| event["id"].as_str().unwrap())
            .collect();
        let mut told: BTreeMap<String, Received> = BTreeMap::new();
        let mut last: BTreeMap<String, u64> = BTreeMap::new();
        until("the endpoint is told of every event", async || {
            for received in self.receiver.left().await {
                let event = received.json();
                let sequence = event["sequence"].as_u64().unwrap();
                if let Some(first) = told.get(received.id()) {
                    assert_eq!(first.body, received.body, "told again as before");
                    continue;
                }
                let subject = event["subject"]["id"].as_str().unwrap().to_owned();
                let before = last.insert(subject, sequence);
                assert!(before < Some(sequence), "overtook {before:?}: {event:#}");
                told.insert(received.id().to_owned(), received);
            }
            // Whoever asks goes through the server, as whoever waits is to.
            world.get(&deliveries).await;
            wanted.iter().all(|id| told.contains_key(*id)).then_some(())
        })
        .await;
        for event in events {
            if let Some(received) = told.get(event["id"].as_str().unwrap()) {
                assert_eq!(received.json(), *event, "as the feed shows it");
            }
        }
    }
}

fn members(record: &Value) -> Map<String, Value> {
    let mut members = record.as_object().cloned().unwrap_or_default();
    members.remove(OF_THE_PROCESS);
    members
}

/// Whether what is told of the change leads from the record before to that after it.
fn leads(before: &Map<String, Value>, event: &Value) -> bool {
    let now = members(&event["data"]["object"]);
    let previous = members(&event["data"]["previous"]);
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    names.into_iter().all(|name| match previous.get(name) {
        Some(old) => before.get(name) == Some(old),
        // What is not told of is as it was, or is new.
        None => before
            .get(name)
            .is_none_or(|old| now.get(name) == Some(old)),
    })
}

/// Checks that nothing is missing and nothing doubled: every event tells what the one before it of the same
/// record left, and the last tells what is there.
pub(crate) async fn check(world: &World, events: &[Value]) {
    let sequences: Vec<u64> = events
        .iter()
        .filter_map(|event| event["sequence"].as_u64())
        .collect();
    let expected: Vec<u64> = (1..).take(events.len()).collect();
    assert_eq!(sequences, expected, "each once, in order and without a gap");
    let mut records: BTreeMap<&str, (Map<String, Value>, BTreeSet<&str>)> = BTreeMap::new();
    for event in events {
        let subject = event["subject"]["id"].as_str().unwrap();
        let name = event["type"].as_str().unwrap();
        let now = members(&event["data"]["object"]);
        match records.get_mut(subject) {
            // Several names of one change.
            Some((before, names)) if *before == now => {
                let is_payment = name.starts_with("payment.");
                assert!(
                    names.insert(name) || is_payment,
                    "{name} is told twice: {event:#}"
                );
            }
            Some((before, names)) => {
                assert!(
                    leads(before, event),
                    "something before it was not told: {event:#}\nwas {before:#?}"
                );
                *before = now;
                *names = BTreeSet::from([name]);
            }
            None => {
                records.insert(subject, (now, BTreeSet::from([name])));
            }
        }
    }
    for (subject, (told, _)) in &records {
        let is = match subject.split_once('_').map(|(kind, _)| kind) {
            Some("chk") => world.get(&format!("/v1/checkouts/{subject}")).await,
            Some("usr") => world.get(&format!("/v1/customers/{subject}")).await,
            Some("prod") => world.get(&format!("/v1/products/{subject}")).await,
            Some("pvar") => world.get(&format!("/v1/product-variants/{subject}")).await,
            _ => continue,
        };
        assert_eq!(&members(&is), told, "{subject} is not as it was told last");
    }
}
