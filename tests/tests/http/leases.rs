//! Leases from the order to the subscription.

use lessor_tests::{Folder, Server, lessor, run};
use serde_json::json;

use crate::BINARY;

#[test]
fn the_demo_ends_with_active_leases() {
    let folder = Folder::new("demo");
    let output = run(lessor(BINARY, &folder).args(["demo", "--exit"]));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("leaseActive"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn prices_come_out_to_the_cent() {
    let server = Server::start(BINARY, "prices");
    server.variant("BIKE", None).await;
    let summary = server
        .get("/v1/product-variants/BIKE/pricing-summary")
        .await;
    assert_eq!(summary.headers["cache-control"], "private, max-age=300");
    let expected = json!({
        "12": { "msrp": "1299.00", "depositPercentage": "10", "totalMonthlyPayment": "55.00", "totalDueAtSigning": "184.90", "currency": "USD" },
        "24": { "msrp": "1299.00", "depositPercentage": "10", "totalMonthlyPayment": "40.98", "totalDueAtSigning": "170.88", "currency": "USD" },
        "36": { "msrp": "1299.00", "depositPercentage": "10", "totalMonthlyPayment": "35.98", "totalDueAtSigning": "165.88", "currency": "USD" },
    });
    assert_eq!(summary.body["pricing"], expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_without_tracking_is_active_in_the_same_answer() {
    let server = Server::start(BINARY, "untracked");
    server.variant("BIKE", Some(1)).await;
    let made = server.checkout("BIKE", "grace@example.com").await;
    assert_eq!(
        (made.status, &made.body["lifecycle"]),
        (200, &json!("created")),
        "{}",
        made.body
    );
    let id = lessor_tests::text(&made.body["id"]);
    let early = server
        .post(&format!("/v1/checkouts/{id}/fulfill"), json!({}))
        .await;
    assert_eq!(
        (early.status, &early.body["error"]["code"]),
        (400, &json!("invalid_request"))
    );
    let advanced = server
        .post(
            &format!("/v1/sandbox/checkouts/{id}/advance"),
            json!({ "to": "orderConfirmed" }),
        )
        .await;
    assert_eq!(
        advanced.body["lifecycle"], "orderConfirmed",
        "{}",
        advanced.body
    );
    let lease = server
        .post(&format!("/v1/checkouts/{id}/fulfill"), json!({}))
        .await;
    assert_eq!(lease.body["lifecycle"], "leaseActive", "{}", lease.body);
    assert_eq!(lease.body["recurringPaymentStatus"], "active");
    let again = server
        .post(&format!("/v1/checkouts/{id}/fulfill"), json!({}))
        .await;
    assert_eq!(
        again.body["processorSubscriptionId"],
        lease.body["processorSubscriptionId"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn billing_of_a_tracked_lease_waits_for_the_delivery() {
    let server = Server::start(BINARY, "tracked");
    server.variant("BIKE", None).await;
    let made = server.checkout("BIKE", "grace@example.com").await;
    let id = lessor_tests::text(&made.body["id"]);
    server
        .post(
            &format!("/v1/sandbox/checkouts/{id}/advance"),
            json!({ "to": "orderConfirmed" }),
        )
        .await;
    let number = json!({ "trackingNumber": "1z 999 aa1 0123456784" });
    let shipped = server
        .post(&format!("/v1/checkouts/{id}/fulfill"), number)
        .await;
    assert_eq!(shipped.body["lifecycle"], "shipped", "{}", shipped.body);
    assert_eq!(shipped.body["trackingNumber"], "1Z999AA10123456784");
    assert!(shipped.body.get("processorSubscriptionId").is_none());
    let event = json!({ "status": "delivered", "signedBy": "G. Hopper" });
    let path = format!("/v1/sandbox/checkouts/{id}/tracking-event");
    assert_eq!(server.post(&path, event).await.status, 200);
    let lease = server.get(&format!("/v1/checkouts/{id}")).await;
    assert_eq!(lease.body["lifecycle"], "leaseActive", "{}", lease.body);
    assert_eq!(lease.body["signedBy"], "G. Hopper");
}
