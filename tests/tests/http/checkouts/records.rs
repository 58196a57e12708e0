//! Which members a checkout and a customer have, fresh and full.

use std::collections::BTreeSet;

use lessor_tests::shop::address;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// Always there, the additive ones included.
const ALWAYS: [&str; 14] = [
    "checkoutUrl",
    "createdAt",
    "customerId",
    "environment",
    "id",
    "insuranceStatus",
    "items",
    "lifecycle",
    "offtakePartnerId",
    "organizationId",
    "progress",
    "quantity",
    "recurringPaymentStatus",
    "updatedAt",
];
const PROGRESS: [&str; 11] = [
    "attention",
    "canGoBack",
    "isFailed",
    "isTerminal",
    "isWaitlisted",
    "lifecycle",
    "needsAttention",
    "percentage",
    "phase",
    "phaseLabel",
    "totalSteps",
];

fn names(record: &Value) -> BTreeSet<&str> {
    record
        .as_object()
        .into_iter()
        .flat_map(|members| members.keys().map(String::as_str))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_checkout_and_a_full_one() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let bare = client
        .try_checkout(
            "BIKE",
            "bare@example.com",
            json!({ "selectedTermInMonths": null }),
        )
        .await
        .ok();
    assert_eq!(names(&bare), ALWAYS.into());
    assert_eq!(names(&bare["progress"]), PROGRESS.into());
    let progress = &bare["progress"];
    assert_eq!(
        (&progress["totalSteps"], &progress["phase"]),
        (&json!(9), &json!("application"))
    );
    assert_eq!(
        (&bare["lifecycle"], &bare["environment"]),
        (&json!("created"), &json!("sandbox"))
    );
    assert_eq!(
        names(&bare["items"][0]),
        ["id", "name", "productVariantId", "sku"].into()
    );
    assert_eq!(bare["organizationId"], json!(client.organization));
    let secret = text(&bare["checkoutUrl"]);
    assert!(
        secret.starts_with(&format!("{}/c/", server.url)),
        "{secret}"
    );
    assert!(
        !secret.contains(text(&bare["id"]).trim_start_matches("chk_")),
        "the page's token is not the id"
    );
    let given = json!({
        "shippingAddress": address(), "billingAddress": address(), "externalOrderId": "o-1",
        "successUrl": "https://example.com/1", "cancelUrl": "https://example.com/2", "failureUrl": "https://example.com/3",
        "purchaseItems": [{ "name": "Helmet", "amount": 5, "quantity": 1 }]
    });
    let made = client
        .try_checkout("BIKE", "full+paymentfail@example.com", given)
        .await
        .ok();
    let at_order = client.advance(&made, "orderConfirmed").await.ok();
    assert_eq!(at_order["insuranceStatus"], "approved");
    let item = text(&at_order["items"][0]["id"]);
    let number =
        json!({ "trackingNumber": "1Z999AA10123456784", "serialNumbers": { item: "SN-1" } });
    client.act(&made, "fulfill", number).await.ok();
    let event = json!({ "status": "delivered", "signedBy": "G. Hopper", "location": "Porch" });
    let path = format!("/v1/sandbox/checkouts/{}/tracking-event", text(&made["id"]));
    client.post(&path, event).await.ok();
    let lease = client.reread(&made).await;
    assert_eq!(lease["lifecycle"], "leaseActive", "{lease}");
    for name in [
        "billingAddress",
        "billingAddressLocked",
        "cancelUrl",
        "deliveredAt",
        "depositInvoiceId",
        "depositPreauthExpiresAt",
        "depositTimestamp",
        "externalOrderId",
        "failureUrl",
        "leaseDocumentId",
        "leaseEndDate",
        "leaseStartDate",
        "leaseTermId",
        "previousLifecycle",
        "pricing",
        "processorDepositPaymentIntentId",
        "processorSubscriptionId",
        "purchaseItems",
        "recurringPaymentMethod",
        "recurringPaymentMethodId",
        "shippedAt",
        "shippingAddress",
        "shippingAddressLocked",
        "signedBy",
        "successUrl",
        "termsAcceptedAt",
        "termsVersion",
        "trackingCarrier",
        "trackingNumber",
        "trackingStatus",
    ] {
        assert!(lease.get(name).is_some(), "{name} in {lease}");
    }
    assert_eq!(lease["items"][0]["serialNumber"], "SN-1");
    assert_eq!(
        (&lease["recurringPaymentStatus"], &lease["trackingStatus"]),
        (&json!("active"), &json!("delivered"))
    );
    assert_eq!(lease["progress"]["percentage"], 100);
    assert_eq!(
        names(&lease["recurringPaymentMethod"]),
        ["brand", "expMonth", "expYear", "id", "last4", "type"].into()
    );
    assert_eq!(
        lease["recurringPaymentMethod"]["id"],
        lease["recurringPaymentMethodId"]
    );
    let reached: Vec<(String, bool)> = lease["progress"]["milestones"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (text(&one["name"]), one["completedAt"].is_string()))
        .collect();
    let expected = ["orderConfirmed", "shipped", "delivered", "leaseActive"]
        .map(|name| (name.to_owned(), true));
    assert_eq!(reached, expected);
    // The list shows the same record, and the page's address is the same on every read.
    let listed = client.get("/v1/checkouts?externalOrderId=o-1").await.ok();
    assert_eq!(listed[0], lease);
    assert_eq!(lease["checkoutUrl"], made["checkoutUrl"]);
}

/// The percentage never falls along the way, and each state has its phase.
#[tokio::test(flavor = "multi_thread")]
async fn progress_never_falls_along_the_way() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let mut last = 0;
    for (state, phase) in [
        ("profilePending", "application"),
        ("identityRequired", "application"),
        ("identityVerifying", "application"),
        ("identityProcessing", "application"),
        ("qualificationPending", "application"),
        ("shippingAddressPending", "application"),
        ("leaseReviewPending", "application"),
        ("depositPending", "payment"),
        ("depositProcessing", "payment"),
        ("recurringPaymentMethodPending", "payment"),
        ("documentsPending", "documents"),
        ("orderConfirmed", "fulfillment"),
        ("shipped", "fulfillment"),
        ("leaseActive", "active"),
    ] {
        let now = client.advance(&made, state).await.ok();
        let progress = &now["progress"];
        assert_eq!(
            (
                &now["lifecycle"],
                &progress["lifecycle"],
                &progress["phase"]
            ),
            (&json!(state), &json!(state), &json!(phase))
        );
        let percentage = progress["percentage"].as_u64().unwrap_or_default();
        assert!(
            percentage >= last && percentage <= 100,
            "{state}: {percentage} after {last}"
        );
        last = percentage;
        let back = [
            "shippingAddressPending",
            "leaseReviewPending",
            "depositPending",
        ]
        .contains(&state);
        assert_eq!(progress["canGoBack"], back, "{state}");
        let late = ["orderConfirmed", "shipped", "leaseActive"].contains(&state);
        assert_eq!(progress.get("milestones").is_some(), late, "{state}");
    }
    assert_eq!(last, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_customer_and_a_full_one() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let path = format!("/v1/customers/{}", text(&made["customerId"]));
    let bare = client.get(&path).await.ok();
    let always = [
        "createdAt",
        "creditStatus",
        "email",
        "id",
        "identityVerificationStatus",
        "updatedAt",
        "userId",
    ];
    assert!(names(&bare).is_superset(&always.into()), "{bare}");
    assert_eq!(
        (&bare["creditStatus"], &bare["identityVerificationStatus"]),
        (&json!("unknown"), &json!("none"))
    );
    let profile = json!({
        "firstName": "Grace", "lastName": "Hopper", "address1": "1 Market St", "address2": "Floor 2", "city": "San Francisco",
        "state": "CA", "zip": "94105", "country": "us", "phone": "+1 415 555 0100"
    });
    let full = client.put(&path, profile).await.ok();
    assert_eq!(
        (&full["country"], &full["address2"]),
        (&json!("US"), &json!("Floor 2"))
    );
    client.advance(&made, "leaseReviewPending").await.ok();
    let screened = client.get(&path).await.ok();
    assert_eq!(
        (
            &screened["creditStatus"],
            &screened["identityVerificationStatus"]
        ),
        (&json!("passed"), &json!("verified"))
    );
    for name in ["creditTimestamp", "processorVerificationSessionId"] {
        assert!(screened.get(name).is_some(), "{name} in {screened}");
    }
    assert!(
        screened.get("processorId").is_none(),
        "the live processor knows nothing of it"
    );
    for (wrong, param) in [
        (json!({ "zip": "nonsense" }), "zip"),
        (json!({ "state": "ZZ" }), "state"),
        (json!({ "country": "ZZ" }), "country"),
        (json!({ "phone": "12" }), "phone"),
        (json!({ "email": "x@example.com" }), "email"),
    ] {
        client
            .put(&path, wrong)
            .await
            .refused(400, "invalid_parameter", param);
    }
    let cleared = client
        .put(&path, json!({ "address2": null, "phone": null }))
        .await
        .ok();
    assert!(cleared.get("address2").is_none() && cleared.get("phone").is_none());
    // Who leases in live mode too is another customer there, of whom nothing is found out yet.
    let live = client.with_key(&server.key(&client.organization, "live", "all"));
    live.get(&path).await.refused(404, "not_found", "");
    let made = live.checkout("BIKE", "grace@example.com").await;
    let path = format!("/v1/customers/{}", text(&made["customerId"]));
    let seen = live.get(&path).await.ok();
    assert_eq!(
        (&seen["creditStatus"], &seen["identityVerificationStatus"]),
        (&json!("unknown"), &json!("none"))
    );
    assert!(seen.get("firstName").is_none(), "{seen}");
}
