//! The processor's messages: late, repeated, at the same time, in every order, and forged.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use futures::future::join_all;
use lessor_domain::checkout::{Checkout, Effect, Lifecycle, Snapshot};
use lessor_processor_double::{Decline, Event, SIGNATURE_HEADER, deliver, sign};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::world::{Setup, WEBHOOK_SECRET, World};

/// Every order of the items.
fn orders<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let Some((first, rest)) = items.split_first() else {
        return vec![Vec::new()];
    };
    orders(rest)
        .into_iter()
        .flat_map(|order| {
            (0..=order.len()).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, first.clone());
                longer
            })
        })
        .collect()
}

/// The events of these kinds, one of each in the order in which they happened.
fn of_kinds(bench: &Bench, kinds: &[&str]) -> Vec<Event> {
    let events = bench.double.events();
    let mut used = BTreeSet::new();
    kinds
        .iter()
        .map(|kind| {
            let found = events
                .iter()
                .find(|event| event.kind == *kind && !used.contains(&event.id))
                .unwrap_or_else(|| panic!("there is no {kind}"));
            used.insert(found.id.clone());
            found.clone()
        })
        .collect()
}

/// What is left of a checkout when one does not look at when and how often it was written.
fn essence(checkout: Checkout) -> Snapshot {
    let mut known = checkout.into_snapshot();
    known.version = 0;
    known.updated_at = known.created_at;
    known
}

/// A lease whose second payment failed, was made after all and is contested, whose third failed, and
/// which then ended.
async fn life(bench: &Bench) -> (lessor_domain::ids::CheckoutPubId, Bench) {
    let id = bench.order().await;
    bench.advance(id, Lifecycle::OrderConfirmed).await.unwrap();
    bench.fulfill(id, None).await;
    let before_billing = bench.fork();
    bench.settle(id).await;
    let active = bench.read(id).await;
    assert_eq!(active.lifecycle(), Lifecycle::LeaseActive);
    let method = active.recurring.method.as_ref().unwrap().id.clone();
    bench
        .double
        .decline(&method, Some(Decline::INSUFFICIENT_FUNDS))
        .unwrap();
    bench.wait(TimeDelta::days(32));
    bench.double.decline(&method, None).unwrap();
    bench.wait(TimeDelta::days(10));
    (id, before_billing)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_order_of_five_messages_ends_in_the_same_state() {
    let bench = Bench::new().await;
    let (id, before_billing) = life(&bench).await;
    let intent = bench
        .read(id)
        .await
        .deposit
        .payment_intent_id()
        .unwrap()
        .to_owned();
    let dispute = bench.double.dispute(&intent).unwrap();
    bench.double.close_dispute(&dispute, "won").unwrap();
    let subscription = bench
        .read(id)
        .await
        .recurring
        .billing
        .subscription_id()
        .unwrap()
        .to_owned();
    let lives = [
        vec![
            "payment_intent.succeeded",
            "customer.subscription.created",
            "invoice.paid",
            "invoice.payment_failed",
            "invoice.paid",
        ],
        vec![
            "invoice.paid",
            "invoice.payment_failed",
            "charge.dispute.created",
            "charge.dispute.closed",
            "customer.subscription.updated",
        ],
    ];
    for kinds in lives {
        let events = of_kinds(&bench, &kinds);
        let mut ends = Vec::new();
        for order in orders(&events) {
            // The subscription's own answer is known before, or comes after the messages.
            for answered in [true, false] {
                let bench = if answered {
                    bench.fork()
                } else {
                    before_billing.fork()
                };
                for event in &order {
                    bench.receive(event).await;
                    // Once more: it changes nothing.
                    bench.receive(event).await;
                }
                bench.settle(id).await;
                assert_eq!(bench.handle_kept().await, 0, "messages are left");
                // Some orders have the processor asked for more than the messages say.
                bench.ask_for(id, Effect::CheckSubscription).await;
                bench.settle(id).await;
                ends.push(essence(bench.read(id).await));
                bench.agree(id).await;
            }
        }
        assert_eq!(ends.len(), 240);
        let [first, ..] = &*ends else {
            panic!("no end")
        };
        assert_eq!(
            first.recurring.billing.subscription_id(),
            Some(subscription.as_str())
        );
        for end in &ends {
            assert_eq!(end.recurring, first.recurring);
            assert_eq!(end.lifecycle(), first.lifecycle());
            assert_eq!(end.deposit, first.deposit);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_times_at_the_same_time_counts_once() {
    let world = World::new(Setup::default()).await;
    let id = world.checkout("lessee").await;
    world.confirm(&id).await;
    world.fulfill(&id, None).await;
    world.until_state(&id, "leaseActive").await;
    world.until_told().await;
    let now = lessor_tests::now().timestamp();
    let url = format!("{}/webhooks/processor", world.url);
    let before = world.get(&format!("/v1/checkouts/{id}")).await;
    for event in world.double.events() {
        let statuses = deliver(&url, &[WEBHOOK_SECRET], now, &[event], 10)
            .await
            .unwrap();
        assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    }
    let mut after = world.get(&format!("/v1/checkouts/{id}")).await;
    after["updatedAt"] = before["updatedAt"].clone();
    assert_eq!(after, before);
    let cycles = world
        .database
        .query("SELECT paid_cycles::text || ' ' || failure_count::text FROM checkout_billing")
        .await;
    assert_eq!(cycles, ["1 0"]);
    let kept = world
        .database
        .query("SELECT count(*)::text FROM inbox_messages")
        .await;
    assert_eq!(kept, [world.double.events().len().to_string()]);
    world.assert_billed_once(&id);
    world.until_books_agree().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_messages_change_nothing() {
    let world = World::new(Setup::default()).await;
    let id = world.checkout("lessee").await;
    world.confirm(&id).await;
    world.until_told().await;
    let before = world.get(&format!("/v1/checkouts/{id}")).await;
    let genuine = world.double.events().pop().unwrap();
    let now = lessor_tests::now().timestamp();
    let forgeries: Vec<(Vec<u8>, String)> = (0..2_000_usize)
        .map(|n| forge(&genuine.body, now, n))
        .collect();
    for (chunk, some) in forgeries.chunks(50).enumerate() {
        let world = &world;
        let answers = join_all(some.iter().map(|(body, signature)| async move {
            world
                .client
                .post(format!("{}/webhooks/processor", world.url))
                .header("content-type", "application/json")
                .header(SIGNATURE_HEADER, signature)
                .body(body.clone())
                .send()
                .await
                .unwrap()
        }))
        .await;
        for (n, answer) in answers.into_iter().enumerate() {
            assert_eq!(answer.status().as_u16(), 401, "forgery {}", chunk * 50 + n);
            let body: Value = answer.json().await.unwrap();
            assert_eq!(body["error"]["code"], "unauthorized", "{body}");
        }
    }
    assert_eq!(world.get(&format!("/v1/checkouts/{id}")).await, before);
    let kept = world
        .database
        .query("SELECT count(*)::text FROM inbox_messages")
        .await;
    assert_eq!(kept, ["0"]);

    // The genuine one is taken; a signed one that nobody can read is refused and not kept.
    let url = format!("{}/webhooks/processor", world.url);
    assert_eq!(
        deliver(&url, &[WEBHOOK_SECRET], now, &[genuine], 1)
            .await
            .unwrap(),
        [200]
    );
    for nonsense in [
        "",
        "{",
        "[]",
        r#"{"id":"evt_1"}"#,
        r#"{"id":7,"livemode":false}"#,
    ] {
        let answer = world
            .client
            .post(&url)
            .header(
                SIGNATURE_HEADER,
                sign(nonsense.as_bytes(), &[WEBHOOK_SECRET], now),
            )
            .body(nonsense)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 400, "{nonsense}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["error"]["code"], "invalid_request", "{body}");
    }
    // One of a kind that nobody knows is kept, and means nothing.
    let unknown = json!({
        "id": "evt_of_tomorrow", "type": "planet.discovered", "created": now, "livemode": false,
        "data": { "object": { "object": "planet" } }
    })
    .to_string();
    let answer = world
        .client
        .post(&url)
        .header(
            SIGNATURE_HEADER,
            sign(unknown.as_bytes(), &[WEBHOOK_SECRET], now),
        )
        .body(unknown)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    world.until_books_agree().await;
}

/// A message that is not the processor's, each in another way.
fn forge(genuine: &[u8], now: i64, n: usize) -> (Vec<u8>, String) {
    let mut body = genuine.to_vec();
    let signed = sign(genuine, &[WEBHOOK_SECRET], now);
    let place = (n * 7_919) % body.len();
    match n % 8 {
        // One bit of the body.
        0 => {
            body[place] ^= 1 << (n % 7);
            (body, signed)
        }
        // Cut, longer.
        1 => {
            body.truncate(place);
            (body, signed)
        }
        2 => {
            body.push(b' ');
            (body, signed)
        }
        // Another secret.
        3 => {
            let secret = format!("{WEBHOOK_SECRET}{n}");
            let signed = sign(&body, &[&secret], now);
            (body, signed)
        }
        // Too old, from the future.
        4 => {
            let signed = sign(
                &body,
                &[WEBHOOK_SECRET],
                now - 302 - i64::try_from(n).unwrap(),
            );
            (body, signed)
        }
        5 => {
            let signed = sign(
                &body,
                &[WEBHOOK_SECRET],
                now + 310 + i64::try_from(n).unwrap(),
            );
            (body, signed)
        }
        // One digit of the signature; a time that was not signed.
        6 => {
            let digit = signed.find("v1=").unwrap() + 3 + n % 64;
            let mut digits = signed.into_bytes();
            digits[digit] = if digits[digit] == b'0' { b'1' } else { b'0' };
            (body, String::from_utf8(digits).unwrap())
        }
        _ => (
            body,
            signed.replacen(&now.to_string(), &(now + 1).to_string(), 1),
        ),
    }
}
