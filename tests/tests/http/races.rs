//! Many clients at once: the database decides.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

const CLIENTS: usize = 32;

#[tokio::test(flavor = "multi_thread")]
async fn one_checkout_for_customer_variant_and_term() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let same = join_all((0..CLIENTS).map(|number| {
        // The address's case makes no other customer.
        let email = if number % 2 == 0 {
            "grace@example.com"
        } else {
            "Grace@Example.COM"
        };
        client.checkout("BIKE", email)
    }))
    .await;
    let ids: BTreeSet<String> = same.iter().map(|made| text(&made["id"])).collect();
    let customers: BTreeSet<String> = same.iter().map(|made| text(&made["customerId"])).collect();
    assert_eq!((ids.len(), customers.len()), (1, 1));
    // Another term is another checkout, and no term is one of its own.
    let mixed = join_all((0..CLIENTS).map(|number| {
        let term = [
            json!({ "selectedTermInMonths": 24 }),
            json!({ "selectedTermInMonths": null }),
        ][number % 2]
            .clone();
        client.try_checkout("BIKE", "ada@example.com", term)
    }))
    .await;
    let ids: BTreeSet<String> = mixed
        .into_iter()
        .map(|made| text(&made.ok()["id"]))
        .collect();
    assert_eq!(ids.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn advances_at_once_end_where_they_were_asked_to() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let advanced = join_all((0..8).map(|number| {
        let client = &client;
        async move {
            let email = format!("rider{number}@example.com");
            let id = text(&client.checkout("BIKE", &email).await["id"]);
            let path = format!("/v1/sandbox/checkouts/{id}/advance");
            let target = json!({ "to": "orderConfirmed" });
            // Those that come when it is there are refused; none leads beyond.
            join_all((0..4).map(|_| client.post(&path, target.clone()))).await;
            client.get(&format!("/v1/checkouts/{id}")).await.ok()
        }
    }))
    .await;
    for checkout in advanced {
        assert_eq!(checkout["lifecycle"], "orderConfirmed", "{checkout:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_winner_for_an_order_a_sku_an_external_id_and_a_name() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let orders = join_all((0..CLIENTS).map(|number| {
        let (client, email) = (&client, format!("order{number}@example.com"));
        async move {
            client
                .try_checkout("BIKE", &email, json!({ "externalOrderId": "o-1" }))
                .await
        }
    }))
    .await;
    let product = client.product(json!({})).await;
    let variants = join_all((0..CLIENTS).map(|number| {
        client.post("/v1/product-variants", json!({
            "productId": product["id"], "name": "n", "description": "d", "price": 1, "sku": "ONE", "options": [],
            "productImages": [], "productYear": 1990 + number
        }))
    }))
    .await;
    let products = join_all((0..CLIENTS).map(|_| {
        let mut body = client.product_body();
        body["externalId"] = json!("X-1");
        client.post("/v1/products", body)
    }))
    .await;
    let categories = join_all(
        (0..CLIENTS).map(|_| client.post("/v1/product-categories", json!({ "name": "Bikes" }))),
    )
    .await;
    let terms = join_all((0..CLIENTS).map(|_| {
        client.post(
            "/v1/lease-terms",
            json!({ "termInMonths": 60, "method": "moneyFactor", "moneyFactor": 0 }),
        )
    }))
    .await;
    for (param, answers) in [
        ("externalOrderId", orders),
        ("sku", variants),
        ("externalId", products),
        ("name", categories),
        ("termInMonths", terms),
    ] {
        let won = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(won, 1, "{param}: {answers:?}");
        for lost in answers.iter().filter(|answer| answer.status != 200) {
            lost.refused(400, "invalid_parameter", param);
        }
    }
    // One live variant for a combination of options, too.
    let twins = join_all((0..CLIENTS).map(|number| {
        client.post("/v1/product-variants", json!({
            "productId": product["id"], "name": "n", "description": "d", "price": 1, "sku": format!("T-{number}"),
            "options": [], "productImages": [], "productYear": 2077
        }))
    }))
    .await;
    assert_eq!(
        twins.iter().filter(|answer| answer.status == 200).count(),
        1,
        "{twins:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_unit_goes_to_one() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let variant = client.variant("BIKE", Some(1)).await;
    let made = join_all((0..CLIENTS).map(|number| {
        let (client, email) = (&client, format!("unit{number}@example.com"));
        async move { client.checkout("BIKE", &email).await }
    }))
    .await;
    let deposits = join_all(
        made.iter()
            .map(|made| client.advance(made, "recurringPaymentMethodPending")),
    )
    .await;
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    for deposit in deposits {
        *states.entry(text(&deposit.ok()["lifecycle"])).or_default() += 1;
    }
    let expected = [
        ("recurringPaymentMethodPending", 1),
        ("waitlistedAfterDeposit", CLIENTS - 1),
    ];
    assert_eq!(
        states,
        expected
            .map(|(state, count)| (state.to_owned(), count))
            .into()
    );
    let stock = client
        .get(&format!("/v1/product-variants/{variant}"))
        .await
        .ok();
    assert_eq!(stock["inventoryQuantity"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_racing_moves_wins_and_the_deposit_comes_back_once() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let variant = client.variant("BIKE", Some(5)).await;
    let ready = client
        .checkout_at("BIKE", "grace@example.com", "orderConfirmed")
        .await;
    let answers = join_all((0..CLIENTS).map(|number| {
        let (client, ready) = (&client, &ready);
        async move {
            match number % 2 {
                0 => client.act(ready, "cancel", json!({})).await,
                _ => client.act(ready, "fulfill", json!({})).await,
            }
        }
    }))
    .await;
    let now = client.reread(&ready).await;
    let cancelled = now["lifecycle"] == "cancelled";
    assert!(
        cancelled || now["lifecycle"] == "leaseActive" || now["lifecycle"] == "shipped",
        "{now}"
    );
    for (number, answer) in answers.iter().enumerate() {
        let wanted_cancel = number % 2 == 0;
        match answer.status {
            200 => assert_eq!(wanted_cancel, cancelled, "{}", answer.body),
            _ => {
                answer.refused(400, "invalid_request", "");
            }
        }
    }
    let stock = client
        .get(&format!("/v1/product-variants/{variant}"))
        .await
        .ok();
    let left = if cancelled { 5 } else { 4 };
    assert_eq!(stock["inventoryQuantity"], left, "the unit came back once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_is_made_once_however_often_it_is_fulfilled() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let ready = client
        .checkout_at("BIKE", "grace@example.com", "orderConfirmed")
        .await;
    let answers: Vec<Value> =
        join_all((0..CLIENTS).map(|_| client.act(&ready, "fulfill", json!({}))))
            .await
            .into_iter()
            .map(lessor_tests::Reply::ok)
            .collect();
    let lease = client.act(&ready, "fulfill", json!({})).await.ok();
    assert_eq!(lease["lifecycle"], "leaseActive");
    let ids: BTreeSet<String> = answers
        .iter()
        .filter(|answer| answer["lifecycle"] == "leaseActive")
        .map(|answer| text(&answer["processorSubscriptionId"]))
        .collect();
    assert!(ids.len() <= 1, "{ids:?}");
    assert!(
        ids.iter()
            .all(|id| *id == text(&lease["processorSubscriptionId"]))
    );
}
