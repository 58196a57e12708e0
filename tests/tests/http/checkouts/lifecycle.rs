//! Which moves a key may ask for, and which not: by the table.

use std::collections::{BTreeMap, BTreeSet};

use lessor_tests::{Server, text};
use serde_json::json;

use crate::BINARY;

/// The next states of each state, as the table has them for somebody who has the goods shipped. What a
/// step stays in is no move.
const NEXT: [(&str, &[&str]); 15] = [
    (
        "created",
        &["profilePending", "identityRequired", "cancelled", "expired"],
    ),
    (
        "profilePending",
        &["identityRequired", "cancelled", "expired"],
    ),
    (
        "identityRequired",
        &[
            "identityVerifying",
            "qualificationPending",
            "cancelled",
            "expired",
        ],
    ),
    (
        "identityVerifying",
        &[
            "identityProcessing",
            "identityRequired",
            "qualificationPending",
            "identityFailed",
            "cancelled",
            "expired",
        ],
    ),
    (
        "identityProcessing",
        &[
            "identityRequired",
            "qualificationPending",
            "identityFailed",
            "cancelled",
            "expired",
        ],
    ),
    (
        "qualificationPending",
        &[
            "shippingAddressPending",
            "qualificationFailed",
            "cancelled",
            "expired",
        ],
    ),
    (
        "shippingAddressPending",
        &[
            "pickupLocationPending",
            "leaseReviewPending",
            "profilePending",
            "cancelled",
            "expired",
        ],
    ),
    (
        "leaseReviewPending",
        &[
            "depositPending",
            "shippingAddressPending",
            "cancelled",
            "expired",
        ],
    ),
    (
        "depositPending",
        &[
            "depositProcessing",
            "leaseReviewPending",
            "cancelled",
            "expired",
        ],
    ),
    (
        "depositProcessing",
        &[
            "recurringPaymentMethodPending",
            "waitlistedAfterDeposit",
            "depositFailed",
            "depositPending",
            "cancelled",
            "expired",
        ],
    ),
    (
        "recurringPaymentMethodPending",
        &["documentsPending", "depositPending", "cancelled", "expired"],
    ),
    (
        "documentsPending",
        &[
            "orderConfirmed",
            "captureFailed",
            "depositPending",
            "cancelled",
            "expired",
        ],
    ),
    (
        "orderConfirmed",
        &[
            "addendumsPending",
            "shipped",
            "fulfillmentException",
            "cancelled",
        ],
    ),
    ("shipped", &["fulfillmentException", "leaseActive"]),
    ("leaseActive", &["returnPending"]),
];

fn all(client: &lessor_tests::Client) -> Vec<String> {
    let states = &client.contract().document["components"]["schemas"]["CheckoutLifecycle"]["enum"];
    states.as_array().into_iter().flatten().map(text).collect()
}

/// From each state of the way, each state that does not follow is refused, naming those that do, and
/// nothing moves.
#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_follow_is_refused_by_name() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let states = all(&client);
    assert_eq!(states.len(), 29);
    let made = client.checkout("BIKE", "grace@example.com").await;
    for (state, next) in NEXT {
        if state != "created" {
            assert_eq!(client.advance(&made, state).await.ok()["lifecycle"], state);
        }
        let before = client.reread(&made).await;
        for target in states
            .iter()
            .filter(|target| *target != state && !next.contains(&target.as_str()))
        {
            let refused = client.move_to(&made, target).await;
            let message = refused.refused(400, "invalid_request", "");
            let (_, named) = message.split_once("possible now: ").unwrap_or_default();
            let named: BTreeSet<&str> = named.split(", ").collect();
            assert_eq!(named, next.iter().copied().collect(), "{state} to {target}");
            assert!(message.contains(state), "{state} to {target}: {message}");
        }
        // The same state again changes nothing.
        assert_eq!(client.move_to(&made, state).await.ok(), before, "{state}");
        assert_eq!(client.reread(&made).await, before, "{state}");
    }
}

/// From each state of the way, each state that follows can be asked for in the sandbox, and is where
/// the checkout stands then.
#[tokio::test(flavor = "multi_thread")]
async fn what_follows_can_be_asked_for_in_the_sandbox() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let mut reached = BTreeSet::new();
    for (state, next) in NEXT {
        for target in next {
            let email = format!("{state}.{target}@example.com").to_lowercase();
            let made = client.checkout("BIKE", &email).await;
            if state != "created" {
                client.advance(&made, state).await.ok();
            }
            let moved = client.move_to(&made, target).await;
            assert_eq!(moved.status, 200, "{state} to {target}: {}", moved.body);
            assert_eq!(moved.ok()["lifecycle"], *target, "{state} to {target}");
            assert_eq!(client.reread(&made).await["lifecycle"], *target);
            reached.insert(*target);
        }
    }
    assert!(reached.len() > 20, "{reached:?}");
}

/// With a live key: what an operator may do.
#[tokio::test(flavor = "multi_thread")]
async fn a_live_key_moves_as_an_operator_can() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let live = client.with_key(&server.key(&client.organization, "live", "all"));
    let made = live.checkout("BIKE", "grace@example.com").await;
    for target in [
        "profilePending",
        "identityRequired",
        "expired",
        "depositPending",
        "leaseActive",
        "orderConfirmed",
        "returned",
    ] {
        let message = live
            .move_to(&made, target)
            .await
            .refused(400, "invalid_request", "");
        assert!(message.contains("cancelled"), "{target}: {message}");
    }
    let cancelled = live.move_to(&made, "cancelled").await.ok();
    assert_eq!(cancelled["lifecycle"], "cancelled");
    assert_eq!(live.move_to(&made, "cancelled").await.ok(), cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_frees_what_was_held_until_the_goods_are_shipped() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let variant = client.variant("BIKE", Some(50)).await;
    let path = format!("/v1/product-variants/{variant}");
    for state in [
        "created",
        "profilePending",
        "identityRequired",
        "identityProcessing",
        "qualificationPending",
        "leaseReviewPending",
        "depositPending",
        "depositProcessing",
        "recurringPaymentMethodPending",
        "documentsPending",
        "orderConfirmed",
    ] {
        let made = client
            .checkout("BIKE", &format!("{state}@example.com").to_lowercase())
            .await;
        if state != "created" {
            client.advance(&made, state).await.ok();
        }
        let cancelled = client
            .act(&made, "cancel", json!({ "reason": "changed their mind" }))
            .await
            .ok();
        assert_eq!(cancelled["lifecycle"], "cancelled", "{state}");
        assert_eq!(cancelled["progress"]["isTerminal"], true);
        assert_eq!(
            client.get(&path).await.ok()["inventoryQuantity"],
            50,
            "{state}"
        );
        // Again, without a body: nothing changes.
        let again = client
            .send(
                "POST",
                &format!("/v1/checkouts/{}/cancel", text(&made["id"])),
                &[],
                None,
            )
            .await
            .ok();
        assert_eq!(again["updatedAt"], client.reread(&made).await["updatedAt"]);
        for action in ["fulfill", "tracking"] {
            let body = if action == "tracking" {
                json!({ "trackingNumber": "1Z999AA10123456784" })
            } else {
                json!({})
            };
            client
                .act(&made, action, body)
                .await
                .refused(400, "invalid_request", "");
        }
        client
            .advance(&made, "leaseActive")
            .await
            .refused(400, "invalid_request", "");
    }
    let shipped = client
        .checkout_at("BIKE", "shipped@example.com", "shipped")
        .await;
    client
        .act(&shipped, "cancel", json!({}))
        .await
        .refused_with(400, "invalid_request", "", &["shipped"]);
    client.advance(&shipped, "leaseActive").await.ok();
    client
        .act(&shipped, "cancel", json!({}))
        .await
        .refused_with(400, "invalid_request", "", &["leaseActive"]);
    client.move_to(&shipped, "returnPending").await.ok();
    client
        .act(&shipped, "cancel", json!({}))
        .await
        .refused_with(400, "invalid_request", "", &["returnPending"]);
    assert_eq!(client.get(&path).await.ok()["inventoryQuantity"], 49);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_expires_or_is_refused_has_ended_for_good() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    for (from, end) in [
        ("profilePending", "expired"),
        ("depositPending", "expired"),
        ("identityProcessing", "identityFailed"),
        ("qualificationPending", "qualificationFailed"),
    ] {
        let email = format!("{end}.{from}@example.com").to_lowercase();
        let made = client.checkout_at("BIKE", &email, from).await;
        let ended = client.move_to(&made, end).await.ok();
        assert_eq!(
            (&ended["lifecycle"], &ended["progress"]["isTerminal"]),
            (&json!(end), &json!(true))
        );
        for state in all(&client).iter().filter(|state| *state != end) {
            client
                .move_to(&made, state)
                .await
                .refused(400, "invalid_request", "");
        }
        assert_ne!(
            client.checkout("BIKE", &email).await["id"],
            made["id"],
            "another can be begun"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exceptions_lead_back_and_addendums_are_signed() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let ready = client
        .checkout_at("BIKE", "a@example.com", "orderConfirmed")
        .await;
    let failed = client.move_to(&ready, "fulfillmentException").await.ok();
    assert_eq!(
        (
            &failed["progress"]["isFailed"],
            &failed["progress"]["needsAttention"]
        ),
        (&json!(true), &json!(true))
    );
    client
        .act(&ready, "fulfill", json!({}))
        .await
        .refused(400, "invalid_request", "");
    assert_eq!(
        client.move_to(&ready, "orderConfirmed").await.ok()["lifecycle"],
        "orderConfirmed"
    );
    let addendums = client.move_to(&ready, "addendumsPending").await.ok();
    assert_eq!(addendums["progress"]["needsAttention"], true);
    assert_eq!(
        client.move_to(&ready, "orderConfirmed").await.ok()["lifecycle"],
        "orderConfirmed"
    );
    let shipped = client.checkout_at("BIKE", "b@example.com", "shipped").await;
    client.move_to(&shipped, "fulfillmentException").await.ok();
    client
        .move_to(&shipped, "orderConfirmed")
        .await
        .refused(400, "invalid_request", "");
    assert_eq!(
        client.move_to(&shipped, "shipped").await.ok()["lifecycle"],
        "shipped"
    );
    client.move_to(&shipped, "fulfillmentException").await.ok();
    assert_eq!(
        client.move_to(&shipped, "cancelled").await.ok()["lifecycle"],
        "cancelled"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_return_can_be_called_off_until_the_goods_are_back() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let lease = client
        .checkout_at("BIKE", "a@example.com", "leaseActive")
        .await;
    let going = client.move_to(&lease, "returnPending").await.ok();
    assert!(going["returnInitiatedAt"].is_string(), "{going}");
    let kept = client.move_to(&lease, "leaseActive").await.ok();
    assert!(kept["returnCancelledAt"].is_string(), "{kept}");
    assert_eq!(kept["recurringPaymentStatus"], "active");
    client.move_to(&lease, "returnPending").await.ok();
    let back = client.move_to(&lease, "returned").await.ok();
    assert_eq!(back["lifecycle"], "returned");
    let deadline = std::time::Instant::now() + lessor_tests::server::PATIENCE;
    loop {
        let now = client.reread(&lease).await;
        if now["recurringPaymentStatus"] == "cancelled" {
            assert!(now["returnCompletedAt"].is_string(), "{now}");
            break;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "the subscription goes on: {now}"
        );
    }
    client
        .move_to(&lease, "leaseActive")
        .await
        .refused(400, "invalid_request", "");
}

#[tokio::test(flavor = "multi_thread")]
async fn advance_goes_forward_only() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client
        .checkout_at("BIKE", "a@example.com", "depositPending")
        .await;
    let before = client.reread(&made).await;
    for behind in [
        "created",
        "profilePending",
        "depositPending",
        "cancelled",
        "expired",
        "waitlistedLocation",
        "captureFailed",
    ] {
        client
            .advance(&made, behind)
            .await
            .refused(400, "invalid_request", "");
    }
    assert_eq!(client.reread(&made).await, before, "nothing has moved");
    // Without a term the way ends at the review.
    let open = client
        .try_checkout(
            "BIKE",
            "b@example.com",
            json!({ "selectedTermInMonths": null }),
        )
        .await
        .ok();
    client.advance(&open, "leaseActive").await.refused_with(
        400,
        "invalid_request",
        "",
        &["leaseTermId"],
    );
    assert_eq!(client.reread(&open).await["lifecycle"], "created");
    assert_eq!(
        client.advance(&open, "leaseReviewPending").await.ok()["lifecycle"],
        "leaseReviewPending"
    );
    let term = client.get("/v1/lease-terms").await.ok()[0]["id"].clone();
    let path = format!("/v1/checkouts/{}", text(&open["id"]));
    client.put(&path, json!({ "leaseTermId": term })).await.ok();
    client
        .advance(&open, "recurringPaymentMethodPending")
        .await
        .ok();
    // After the deposit the term stays.
    let other = client.get("/v1/lease-terms").await.ok()[1]["id"].clone();
    let late = client.put(&path, json!({ "leaseTermId": other })).await;
    late.has(400);
    assert_eq!(
        client.advance(&open, "leaseActive").await.ok()["lifecycle"],
        "leaseActive"
    );
}

/// The price is that of the catalog until the deposit, and then the one that was agreed.
#[tokio::test(flavor = "multi_thread")]
async fn a_quote_is_frozen_with_the_deposit() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let variant = client.variant("BIKE", None).await;
    let path = format!("/v1/product-variants/{variant}");
    let made = client.checkout("BIKE", "a@example.com").await;
    assert_eq!(made["pricing"]["msrp"], "1299.00");
    client.put(&path, json!({ "price": 2000 })).await.ok();
    assert_eq!(client.reread(&made).await["pricing"]["msrp"], "2000.00");
    client
        .advance(&made, "recurringPaymentMethodPending")
        .await
        .ok();
    client.put(&path, json!({ "price": 3000 })).await.ok();
    let terms = client.get("/v1/lease-terms").await.ok();
    let used = terms
        .as_array()
        .into_iter()
        .flatten()
        .find(|term| term["termInMonths"] == 12)
        .cloned()
        .unwrap_or_default();
    client
        .put(
            &format!("/v1/lease-terms/{}", text(&used["id"])),
            json!({ "depositPercentage": 50 }),
        )
        .await
        .ok();
    let frozen = client.reread(&made).await;
    assert_eq!(
        (
            &frozen["pricing"]["msrp"],
            &frozen["pricing"]["depositPercentage"]
        ),
        (&json!("2000.00"), &json!("10"))
    );
    // A used term becomes inactive, an unused one is gone.
    assert_eq!(
        client
            .delete(&format!("/v1/lease-terms/{}", text(&used["id"])))
            .await
            .ok()["status"],
        "inactive"
    );
    let mut left = BTreeMap::new();
    for term in client
        .get("/v1/lease-terms")
        .await
        .ok()
        .as_array()
        .into_iter()
        .flatten()
    {
        left.insert(
            term["termInMonths"].as_u64().unwrap_or_default(),
            text(&term["status"]),
        );
    }
    assert_eq!(left.get(&12).map(String::as_str), Some("inactive"));
    client
        .try_checkout("BIKE", "b@example.com", json!({}))
        .await
        .refused(400, "invalid_parameter", "selectedTermInMonths");
}
