//! What the simulated providers decide by the customer's address.

use lessor_tests::server::PATIENCE;
use lessor_tests::{Server, text};
use serde_json::json;

use crate::BINARY;

#[tokio::test(flavor = "multi_thread")]
async fn providers_refuse_whom_the_address_asks_them_to() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let variant = client.variant("BIKE", Some(10)).await;
    for (flag, lands) in [
        ("identityfail", "identityFailed"),
        ("creditfail", "qualificationFailed"),
        ("depositfail", "depositFailed"),
        ("depositdecline", "depositFailed"),
        ("capturefail", "captureFailed"),
        ("capturedecline", "captureFailed"),
    ] {
        let made = client
            .checkout("BIKE", &format!("grace+{flag}@example.com"))
            .await;
        let now = client.advance(&made, "leaseActive").await.ok();
        assert_eq!(now["lifecycle"], lands, "{flag}");
        let progress = &now["progress"];
        let ended = lands.ends_with("yFailed") || lands == "qualificationFailed";
        assert_eq!(
            (&progress["isFailed"], &progress["isTerminal"]),
            (&json!(true), &json!(ended)),
            "{flag}"
        );
        assert_eq!(progress["needsAttention"], !ended, "{flag}");
        let customer = client
            .get(&format!("/v1/customers/{}", text(&made["customerId"])))
            .await
            .ok();
        match flag {
            "identityfail" => assert_eq!(customer["identityVerificationStatus"], "failed"),
            "creditfail" => assert_eq!(customer["creditStatus"], "failed"),
            _ => assert_eq!(
                (
                    &customer["creditStatus"],
                    &customer["identityVerificationStatus"]
                ),
                (&json!("passed"), &json!("verified"))
            ),
        }
        if ended {
            client
                .advance(&made, "leaseActive")
                .await
                .refused(400, "invalid_request", "");
            continue;
        }
        // Once or always: the next try says.
        let again = client.advance(&made, "orderConfirmed").await.ok();
        let expected = match flag {
            "depositfail" | "capturefail" => "orderConfirmed",
            _ => lands,
        };
        assert_eq!(again["lifecycle"], expected, "{flag} again");
        client.act(&made, "cancel", json!({})).await.ok();
    }
    let stock = client
        .get(&format!("/v1/product-variants/{variant}"))
        .await
        .ok();
    assert_eq!(stock["inventoryQuantity"], 10, "every unit came back");
}

/// The first payment is made with the subscription; a customer whose payments fail keeps the lease.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_whose_payments_fail_later_is_active_first() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let ready = client
        .checkout_at("BIKE", "grace+paymentfail@example.com", "orderConfirmed")
        .await;
    let lease = client.act(&ready, "fulfill", json!({})).await.ok();
    assert_eq!(
        (&lease["lifecycle"], &lease["recurringPaymentStatus"]),
        (&json!("leaseActive"), &json!("active"))
    );
    assert_eq!(lease["progress"]["attention"], json!([]));
}

/// What the job queue carried out is gone from it: nothing is left pending or dead.
#[tokio::test(flavor = "multi_thread")]
async fn the_job_queue_runs_empty() {
    let server = Server::start(BINARY, &[]).await;
    let client = server.client().await;
    client.variant("BIKE", Some(5)).await;
    for (number, state) in [
        "leaseActive",
        "orderConfirmed",
        "recurringPaymentMethodPending",
    ]
    .into_iter()
    .enumerate()
    {
        let made = client
            .checkout_at("BIKE", &format!("c{number}@example.com"), state)
            .await;
        if number > 0 {
            client.act(&made, "cancel", json!({})).await.ok();
        }
    }
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let jobs = server.cli(&["jobs", "list"]);
        if jobs["pending"] == 0 {
            assert_eq!(jobs["dead"], 0, "{jobs}");
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{jobs}");
    }
}
