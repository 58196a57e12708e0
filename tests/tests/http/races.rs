//! Many clients at once: the database decides.

use std::collections::BTreeSet;

use futures::future::join_all;
use lessor_tests::{Server, text};
use serde_json::json;

use crate::BINARY;

const CLIENTS: usize = 32;

#[tokio::test(flavor = "multi_thread")]
async fn one_checkout_one_order_and_one_last_unit() {
    let server = Server::start(BINARY, "races");
    server.variant("BIKE", Some(1)).await;

    let same = join_all((0..CLIENTS).map(|_| server.checkout("BIKE", "grace@example.com"))).await;
    assert!(same.iter().all(|made| made.status == 200), "{same:?}");
    let ids: BTreeSet<String> = same.iter().map(|made| text(&made.body["id"])).collect();
    assert_eq!(ids.len(), 1, "one checkout for customer, variant and term");

    let orders = join_all((0..CLIENTS).map(|client| {
        let customer = json!({ "email": format!("order{client}@example.com") });
        let body = json!({ "sku": "BIKE", "selectedTermInMonths": 12, "externalOrderId": "o-1", "customer": customer });
        server.post("/v1/checkouts", body)
    }))
    .await;
    let won = orders.iter().filter(|made| made.status == 200).count();
    let lost = orders
        .iter()
        .filter(|made| made.body["error"]["param"] == "externalOrderId")
        .count();
    assert_eq!((won, lost), (1, CLIENTS - 1));

    let made = join_all((0..CLIENTS).map(|client| {
        let email = format!("unit{client}@example.com");
        let server = &server;
        async move { server.checkout("BIKE", &email).await }
    }))
    .await;
    let ids: Vec<String> = made.iter().map(|made| text(&made.body["id"])).collect();
    let deposits = join_all(ids.iter().map(|id| {
        let path = format!("/v1/sandbox/checkouts/{id}/advance");
        let server = &server;
        async move {
            server
                .post(&path, json!({ "to": "recurringPaymentMethodPending" }))
                .await
        }
    }))
    .await;
    let states: Vec<String> = deposits
        .iter()
        .map(|made| text(&made.body["lifecycle"]))
        .collect();
    let got = states
        .iter()
        .filter(|state| *state == "recurringPaymentMethodPending")
        .count();
    let wait = states
        .iter()
        .filter(|state| *state == "waitlistedAfterDeposit")
        .count();
    assert_eq!((got, wait), (1, CLIENTS - 1), "{states:?}");
}
