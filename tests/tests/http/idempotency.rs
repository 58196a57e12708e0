//! `Idempotency-Key`: a request is carried out once, and answered the same each time.

use std::collections::BTreeSet;

use futures::future::join_all;
use lessor_tests::client::Client;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// Every POST under /v1, each with a body that is carried out.
async fn posts(client: &Client) -> Vec<(String, Value)> {
    let product = client.product(json!({})).await;
    client.variant_of(&product, "BIKE", json!({})).await;
    client
        .variant_of(&client.product(json!({})).await, "CAR", json!({}))
        .await;
    let [fresh, ready, shipped, cancelled, unpaid, moving] = [
        client.checkout("BIKE", "fresh@example.com").await,
        client
            .checkout_at("BIKE", "ready@example.com", "orderConfirmed")
            .await,
        client
            .checkout_at("BIKE", "shipped@example.com", "orderConfirmed")
            .await,
        client.checkout("BIKE", "cancelled@example.com").await,
        client
            .checkout_at(
                "BIKE",
                "unpaid+firstpaymentfail@example.com",
                "orderConfirmed",
            )
            .await,
        client
            .checkout_at("BIKE", "moving@example.com", "orderConfirmed")
            .await,
    ];
    let judged = client
        .checkout_at("CAR", "judged@example.com", "qualificationPending")
        .await;
    let elsewhere = json!({ "signer": "http", "signerUrl": "https://sign.example.com/" });
    client.put("/v1/organization", elsewhere).await.ok();
    let signing = client
        .checkout_at("CAR", "signing@example.com", "documentsPending")
        .await;
    // Its name leads nowhere: what it is told of is of no matter here.
    let endpoint =
        json!({ "url": "https://shop.example.invalid/lessor", "types": ["lease_term.deleted"] });
    let told = client
        .post("/v1/webhook-endpoints", endpoint.clone())
        .await
        .ok();
    let tell = |action: &str| format!("/v1/webhook-endpoints/{}/{action}", text(&told["id"]));
    let happened = client.get("/v1/events?limit=1").await.ok();
    let number = json!({ "trackingNumber": "1Z999AA10123456784" });
    for checkout in [&shipped, &moving] {
        client.act(checkout, "fulfill", number.clone()).await.ok();
    }
    client.act(&unpaid, "fulfill", json!({})).await.ok();
    let of = |checkout: &Value, action: &str| {
        format!("/v1/checkouts/{}/{action}", text(&checkout["id"]))
    };
    let sandbox = |checkout: &Value, action: &str| {
        format!("/v1/sandbox/checkouts/{}/{action}", text(&checkout["id"]))
    };
    let agreement = of(&signing, "agreement");
    let as_json = [("accept", "application/json")];
    let agreement = client.send("GET", &agreement, &as_json, None).await.ok();
    let signature = json!({
        "documentId": agreement["documentId"], "sha256": agreement["sha256"], "signerName": "Grace Hopper",
        "signedAt": agreement["createdAt"]
    });
    let new_variant = json!({
        "productId": product["id"], "name": "n", "description": "d", "price": "1", "sku": "NEW", "options": [],
        "productImages": [], "productYear": 2020
    });
    vec![
        ("/v1/products".into(), client.product_body()),
        ("/v1/product-variants".into(), new_variant),
        (
            format!("/v1/products/{}/variants/generate", text(&product["id"])),
            json!({ "sku": "MADE" , "productYear": 2021 }),
        ),
        ("/v1/product-categories".into(), json!({ "name": "Bikes" })),
        (
            "/v1/lease-terms".into(),
            json!({ "termInMonths": 60, "method": "moneyFactor", "moneyFactor": "0.001" }),
        ),
        (
            "/v1/checkouts".into(),
            json!({ "sku": "CAR", "customer": { "email": "new@example.com" } }),
        ),
        (
            sandbox(&fresh, "advance"),
            json!({ "to": "leaseReviewPending" }),
        ),
        (
            of(&judged, "qualification"),
            json!({ "decision": "approved" }),
        ),
        (of(&signing, "signature"), signature),
        (of(&ready, "fulfill"), json!({})),
        (
            of(&shipped, "tracking"),
            json!({ "trackingNumber": "1Z999AA10123456784", "carrier": "ups" }),
        ),
        (
            sandbox(&moving, "tracking-event"),
            json!({ "status": "inTransit" }),
        ),
        (of(&unpaid, "payments/retry"), json!({})),
        (of(&unpaid, "link"), json!({})),
        (
            of(&cancelled, "cancel"),
            json!({ "reason": "changed their mind" }),
        ),
        ("/v1/webhook-endpoints".into(), endpoint),
        (tell("roll"), json!({})),
        (tell("test"), json!({})),
        (tell("replay"), json!({ "from": happened[0]["createdAt"] })),
        (
            format!("/v1/events/{}/redeliver", text(&happened[0]["id"])),
            json!({ "endpointId": told["id"] }),
        ),
        // What tells of the customer among the answers of before is gone with it.
        (
            format!("/v1/customers/{}/erase", text(&cancelled["customerId"])),
            json!({}),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_post_is_carried_out_once_and_answered_the_same() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let posts = posts(&client).await;
    let mut covered = BTreeSet::new();
    for (path, body) in &posts {
        let first = client.post_once(path, "key-1", body).await;
        first.has(200);
        assert!(first.header("idempotent-replayed").is_empty(), "{path}");
        let again = client.post_once(path, "key-1", body).await;
        // A secret is shown once, and kept nowhere.
        let mut shown = first.body.clone();
        if shown
            .as_object_mut()
            .and_then(|it| it.remove("secret"))
            .is_some()
        {
            assert_eq!((again.status, &again.body), (200, &shown), "{path}");
        } else {
            assert_eq!((again.status, &again.bytes), (200, &first.bytes), "{path}");
        }
        assert_eq!(again.header("idempotent-replayed"), "true", "{path}");
        assert_eq!(again.header("content-type"), first.header("content-type"));
        // Another request under the key: a member more, or blanks.
        let mut other = body.to_string();
        other.push(' ');
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", "key-1"),
        ];
        let other = client
            .send("POST", path, &headers, Some(other.into_bytes()))
            .await;
        other.refused_with(400, "invalid_request", "", &["Idempotency-Key"]);
        covered.extend(
            client
                .contract()
                .operation("POST", path)
                .map(|(template, _)| template.to_owned()),
        );
    }
    let documented: BTreeSet<String> = client.contract().document["paths"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(path, item)| path.starts_with("/v1/") && item.get("post").is_some())
        // It reads: nothing of it is kept.
        .filter(|(path, _)| !path.ends_with("/bulk/fetch"))
        .map(|(path, _)| path.clone())
        .collect();
    assert_eq!(covered, documented, "every POST is tried");
    let listed = client.get("/v1/products?limit=100").await.ok();
    assert_eq!(listed["total"], 3, "one product was made under the key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_belongs_to_an_organization_a_mode_and_a_path() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let other = server.client().await;
    // Keys of both modes write here.
    let both = ["--sandbox-writes-catalog", "on"];
    server.cli(&[&["org", "update", client.organization.as_str()], &both[..]].concat());
    let live = client.with_key(&server.key(&client.organization, "live", "all"));
    let colleague = client.with_key(&server.key(&client.organization, "sandbox", "all"));
    let body = json!({ "name": "Bikes" });
    let first = client
        .post_once("/v1/product-categories", "k", &body)
        .await
        .ok();
    let theirs = other
        .post_once("/v1/product-categories", "k", &body)
        .await
        .ok();
    assert_ne!(theirs["id"], first["id"]);
    let same = colleague
        .post_once("/v1/product-categories", "k", &body)
        .await;
    assert_eq!(same.header("idempotent-replayed"), "true");
    // In the other mode and on another path the key is a new one.
    live.post_once("/v1/product-categories", "k", &body)
        .await
        .refused(400, "invalid_parameter", "name");
    client
        .post_once("/v1/products", "k", &client.product_body())
        .await
        .ok();
    // Who may not do it may not see it either.
    let reader = client.with_key(&server.key(&client.organization, "sandbox", "ProductRead"));
    reader
        .post_once("/v1/product-categories", "k", &body)
        .await
        .refused(403, "forbidden", "");
    let longest = "k".repeat(255);
    client
        .post_once(
            "/v1/product-categories",
            &longest,
            &json!({ "name": "Cars" }),
        )
        .await
        .ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_carried_out_is_not_kept_and_a_refusal_by_a_state_is() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    // Not understood: the key is free for the corrected request.
    let wrong = json!({ "name": "" });
    client
        .post_once("/v1/product-categories", "v", &wrong)
        .await
        .refused(400, "invalid_parameter", "name");
    client
        .post_once("/v1/product-categories", "v", &json!({ "name": "Bikes" }))
        .await
        .ok();
    // A value that collides is refused by the state: it was free a moment before.
    for replayed in ["", "true"] {
        let taken = client
            .post_once("/v1/product-categories", "w", &json!({ "name": "bikes" }))
            .await;
        taken.refused(400, "invalid_parameter", "name");
        assert_eq!(taken.header("idempotent-replayed"), replayed);
    }
    // Not allowed.
    let reader = client.with_key(&server.key(&client.organization, "sandbox", "ProductRead"));
    reader
        .post_once("/v1/product-categories", "x", &json!({ "name": "Boats" }))
        .await
        .refused(403, "forbidden", "");
    client
        .post_once("/v1/product-categories", "x", &json!({ "name": "Boats" }))
        .await
        .ok();
    // Refused by the state: the answer stays, though the state does not.
    let made = client.checkout("BIKE", "grace@example.com").await;
    let path = format!("/v1/checkouts/{}/fulfill", text(&made["id"]));
    let early = client.post_once(&path, "f", &json!({})).await;
    early.refused(400, "invalid_request", "");
    client.advance(&made, "orderConfirmed").await.ok();
    let again = client.post_once(&path, "f", &json!({})).await;
    assert_eq!((again.status, &again.bytes), (400, &early.bytes));
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(client.reread(&made).await["lifecycle"], "orderConfirmed");
    client.post_once(&path, "g", &json!({})).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_32_is_carried_out_and_the_others_wait_or_get_its_answer() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let body = client.product_body();
    let answers = join_all((0..32).map(|_| client.post_once("/v1/products", "race", &body))).await;
    let made: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status == 200)
        .collect();
    let waiting = answers
        .iter()
        .filter(|answer| answer.body["error"]["code"] == "idempotency_in_progress")
        .count();
    assert_eq!(made.len() + waiting, 32, "{answers:?}");
    let bodies: BTreeSet<&[u8]> = made.iter().map(|answer| answer.bytes.as_slice()).collect();
    assert_eq!(bodies.len(), 1);
    let fresh = made
        .iter()
        .filter(|answer| answer.header("idempotent-replayed").is_empty())
        .count();
    assert_eq!(fresh, 1, "one is the first");
    assert_eq!(client.get("/v1/products").await.ok()["total"], 1);
    // In two phases: a fulfillment bills once.
    client.variant("BIKE", None).await;
    let ready = client
        .checkout_at("BIKE", "grace@example.com", "orderConfirmed")
        .await;
    let path = format!("/v1/checkouts/{}/fulfill", text(&ready["id"]));
    let empty = json!({});
    let answers = join_all((0..32).map(|_| client.post_once(&path, "ship", &empty))).await;
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer.status, 200 | 409)),
        "{answers:?}"
    );
    let lease = client.post_once(&path, "ship", &json!({})).await;
    lease.has(200);
    let subscriptions: BTreeSet<String> = answers
        .iter()
        .filter(|answer| answer.status == 200)
        .map(|answer| text(&answer.body["processorSubscriptionId"]))
        .collect();
    assert_eq!(subscriptions.len(), 1, "{subscriptions:?}");
}

/// What is taken may be free a moment later: that it was is an answer like any other.
#[tokio::test(flavor = "multi_thread")]
async fn a_collision_is_answered_the_same_again() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let product = client.product(json!({})).await;
    let body = json!({
        "productId": product["id"], "name": "n", "description": "d", "price": "1", "sku": "BIKE", "options": [],
        "productImages": [], "productYear": 2020
    });
    let first = client
        .post_once("/v1/product-variants", "taken", &body)
        .await;
    first.refused(400, "invalid_parameter", "sku");
    let taken = client.get("/v1/product-variants/by-sku/BIKE").await.ok();
    let path = format!("/v1/product-variants/{}", text(&taken["id"]));
    client.delete(&path).await.ok();
    let again = client
        .post_once("/v1/product-variants", "taken", &body)
        .await;
    assert_eq!((again.status, &again.bytes), (400, &first.bytes));
    assert_eq!(again.header("idempotent-replayed"), "true");
    let fresh = client
        .post_once("/v1/product-variants", "free", &body)
        .await;
    fresh.has(200);
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", ""),
    ];
    let body = body.to_string().into_bytes();
    client
        .send("POST", "/v1/product-variants", &headers, Some(body))
        .await
        .refused(400, "invalid_parameter", "Idempotency-Key");
}
