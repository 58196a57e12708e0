//! Several of a variant in one checkout: price, stock, subscription and serial numbers follow.

use std::collections::BTreeSet;

use lessor_tests::client::Client;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// An amount in cents.
fn cents(amount: &Value) -> i64 {
    let amount = text(amount);
    let cents = amount
        .split_once('.')
        .filter(|(_, rest)| rest.len() == 2)
        .and_then(|(whole, rest)| format!("{whole}{rest}").parse().ok());
    assert!(cents.is_some(), "{amount}");
    cents.unwrap_or_default()
}

/// The amounts of a pricing entry that are those of one times the number.
const SUMS: [&str; 10] = [
    "msrp",
    "capitalizedCost",
    "residualValue",
    "depreciation",
    "rentCharge",
    "monthlyPayment",
    "insurance",
    "totalMonthlyPayment",
    "deposit",
    "totalOfPayments",
];

async fn several(client: &Client, email: &str, quantity: u32) -> Value {
    let members = json!({ "quantity": quantity });
    client.try_checkout("BIKE", email, members).await.ok()
}

async fn stock(client: &Client, variant: &str) -> Value {
    let path = format!("/v1/product-variants/{variant}");
    client.get(&path).await.ok()["inventoryQuantity"].clone()
}

async fn price_of_one(client: &Client, variant: &str) -> Value {
    let ids = json!({ "ids": [variant] });
    let fetched = client.post("/v1/product-variants/bulk/fetch", ids).await;
    fetched.ok()["results"][0]["pricing"]["12"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn three_come_to_a_lease_together() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let variant = client.variant("BIKE", Some(5)).await;
    let one = price_of_one(&client, &variant).await;
    let made = several(&client, "grace@example.com", 3).await;
    assert_eq!(made["quantity"], 3);
    let ids: BTreeSet<String> = made["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| text(&item["id"]))
        .collect();
    assert_eq!(ids.len(), 3, "each has an id of its own: {made:#}");
    let pricing = &made["pricing"];
    for name in SUMS {
        assert_eq!(cents(&pricing[name]), 3 * cents(&one[name]), "{name}");
    }
    assert_eq!(pricing["discountPercentage"], one["discountPercentage"]);
    assert_eq!(pricing["depositPercentage"], one["depositPercentage"]);
    assert_eq!(pricing["authorizedAtSigning"], pricing["deposit"]);
    assert_eq!(pricing["firstPayment"], pricing["totalMonthlyPayment"]);
    assert_eq!(
        cents(&pricing["totalDueAtSigning"]),
        3 * cents(&one["totalDueAtSigning"])
    );
    // What one costs stays what one costs.
    assert_eq!(price_of_one(&client, &variant).await, one);
    assert_eq!(stock(&client, &variant).await, 5, "nothing is taken yet");

    let ready = client.advance(&made, "orderConfirmed").await.ok();
    assert_eq!(ready["lifecycle"], "orderConfirmed", "{ready:#}");
    assert_eq!(ready["pricing"], *pricing);
    assert_eq!(stock(&client, &variant).await, 2, "three are taken");
    let items: Vec<String> = ready["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| text(&item["id"]))
        .collect();
    let twice = json!({ "serialNumbers": { &items[0]: "SN-1", &items[1]: "SN-1" } });
    let refused = client.act(&ready, "fulfill", twice).await;
    let param = text(&refused.body["error"]["param"]);
    assert_eq!(refused.status, 400, "{refused}");
    let named = items[..2]
        .iter()
        .any(|id| param == format!("serialNumbers.{id}"));
    assert!(named, "{param}");
    let foreign = "chkitem_0352QIlor0tCUKBOQet5oJ";
    let four = json!({ "serialNumbers": { &items[0]: "SN-1", &items[1]: "SN-2", &items[2]: "SN-3", foreign: "SN-4" } });
    client.act(&ready, "fulfill", four).await.refused(
        400,
        "invalid_parameter",
        &format!("serialNumbers.{foreign}"),
    );
    let serials = json!({ &items[0]: "SN-1", &items[1]: "SN-2", &items[2]: "SN-3" });
    let body = json!({ "serialNumbers": serials });
    let lease = client.act(&ready, "fulfill", body).await.ok();
    assert_eq!(lease["lifecycle"], "leaseActive", "{lease:#}");
    let found: Vec<&Value> = lease["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["serialNumber"])
        .collect();
    assert_eq!(found, ["SN-1", "SN-2", "SN-3"]);
    assert!(lease["processorSubscriptionId"].is_string());
    let mut paid = pricing.clone();
    // They went without a tracking number.
    paid["firstPaymentDue"] = json!("onShipment");
    assert_eq!(lease["pricing"], paid);
    let listed = client.get("/v1/checkouts").await.ok();
    assert_eq!(listed[0]["quantity"], 3);
    assert_eq!(listed[0]["items"], lease["items"]);
    assert_eq!(stock(&client, &variant).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_to_fifty_are_leased_together() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    for wrong in [
        json!(0),
        json!(51),
        json!(-1),
        json!(1.5),
        json!("many"),
        json!(true),
        json!([3]),
    ] {
        let members = json!({ "quantity": wrong });
        let reply = client.try_checkout("BIKE", "a@example.com", members).await;
        let message = reply.refused(400, "invalid_parameter", "quantity");
        if wrong == json!(0) || wrong == json!(51) {
            assert!(message.contains('1') && message.contains("50"), "{message}");
        }
    }
    assert_eq!(client.get("/v1/checkouts").await.ok(), json!([]));
    for (number, email) in [(50, "a@example.com"), (1, "b@example.com")] {
        let made = several(&client, email, number).await;
        assert_eq!(made["quantity"], number);
        assert_eq!(
            made["items"].as_array().map(Vec::len),
            usize::try_from(number).ok()
        );
    }
    // Left out, it is one.
    assert_eq!(
        client.checkout("BIKE", "c@example.com").await["quantity"],
        1
    );
    // The one that there is stays what it is.
    let again = client
        .try_checkout("BIKE", "b@example.com", json!({ "quantity": 7 }))
        .await;
    assert_eq!(again.header("existing-checkout"), "true");
    assert_eq!(again.ok()["quantity"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_costs_more_than_an_amount_is_refused() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    let dear = json!({ "price": "20000000.00" });
    client.variant_of(&product, "BIKE", dear).await;
    client
        .try_checkout("BIKE", "a@example.com", json!({ "quantity": 50 }))
        .await
        .refused(400, "invalid_parameter", "quantity");
    assert_eq!(several(&client, "a@example.com", 49).await["quantity"], 49);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_quantity_is_another_request() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let body = |quantity: u32| {
        json!({
            "sku": "BIKE", "selectedTermInMonths": 12, "quantity": quantity,
            "customer": { "email": "a@example.com" }
        })
    };
    let first = client
        .post_once("/v1/checkouts", "order-1", &body(2))
        .await
        .ok();
    let again = client.post_once("/v1/checkouts", "order-1", &body(2)).await;
    assert_eq!(again.ok(), first);
    client
        .post_once("/v1/checkouts", "order-1", &body(3))
        .await
        .refused(400, "invalid_request", "");
}

#[tokio::test(flavor = "multi_thread")]
async fn so_many_are_taken_together_or_waited_for() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let variant = client.variant("BIKE", Some(5)).await;
    let first = several(&client, "a@example.com", 3).await;
    let second = several(&client, "b@example.com", 3).await;
    let first = client.advance(&first, "documentsPending").await.ok();
    assert_eq!(first["lifecycle"], "documentsPending");
    let waits = client.advance(&second, "documentsPending").await.ok();
    assert_eq!(waits["lifecycle"], "waitlistedAfterDeposit");
    assert_eq!(stock(&client, &variant).await, 2);
    // Two would do for the next, but are kept for who waits.
    let behind = several(&client, "c@example.com", 2).await;
    assert_eq!(behind["lifecycle"], "waitlistedAfterProfile");
    client.act(&first, "cancel", json!({})).await.ok();
    client
        .comes_to(&second, "recurringPaymentMethodPending")
        .await;
    assert_eq!(stock(&client, &variant).await, 2);
    client.comes_to(&behind, "identityRequired").await;
}
