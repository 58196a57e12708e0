//! Who waits, for what, and who goes first.

use futures::future::join_all;
use lessor_tests::client::Client;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

async fn states(client: &Client, checkouts: &[Value]) -> Vec<String> {
    join_all(checkouts.iter().map(|one| client.reread(one)))
        .await
        .iter()
        .map(|one| text(&one["lifecycle"]))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_available_waits_and_goes_on_when_it_is() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let variant = client.variant("BIKE", Some(5)).await;
    let product = text(&client.get("/v1/products").await.ok()["results"][0]["id"]);
    let (of_product, of_variant) = (
        format!("/v1/products/{product}"),
        format!("/v1/product-variants/{variant}"),
    );
    for (number, (path, closed, open)) in [
        (
            &of_variant,
            json!({ "inventoryQuantity": 0 }),
            json!({ "inventoryQuantity": 3 }),
        ),
        (
            &of_variant,
            json!({ "inventoryQuantity": 0 }),
            json!({ "inventoryQuantity": -1 }),
        ),
        (
            &of_variant,
            json!({ "isWaitlisted": true }),
            json!({ "isWaitlisted": false }),
        ),
        (
            &of_variant,
            json!({ "isActive": false }),
            json!({ "isActive": true }),
        ),
        (
            &of_product,
            json!({ "isWaitlisted": true }),
            json!({ "isWaitlisted": false }),
        ),
        (
            &of_product,
            json!({ "status": "inactive" }),
            json!({ "status": "active" }),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        client.put(path, closed.clone()).await.ok();
        let made = client
            .checkout("BIKE", &format!("w{number}@example.com"))
            .await;
        assert_eq!(made["lifecycle"], "waitlistedAfterProfile", "{closed}");
        assert_eq!(
            (&made["waitlistReason"], &made["progress"]["isWaitlisted"]),
            (&json!("inventory"), &json!(true))
        );
        client.put(path, open.clone()).await.ok();
        let now = client.comes_to(&made, "identityRequired").await;
        assert!(now.get("waitlistReason").is_none());
        client.act(&made, "cancel", json!({})).await.ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_goes_to_those_who_waited_longest() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let variant = client.variant("BIKE", Some(1)).await;
    let path = format!("/v1/product-variants/{variant}");
    let mut paying = Vec::new();
    for number in 0..4 {
        paying.push(
            client
                .checkout("BIKE", &format!("p{number}@example.com"))
                .await,
        );
    }
    let holder = client.advance(&paying[0], "documentsPending").await.ok();
    assert_eq!(holder["lifecycle"], "documentsPending");
    for one in &paying[1..] {
        let waiting = client.advance(one, "documentsPending").await.ok();
        assert_eq!(
            (&waiting["lifecycle"], &waiting["waitlistReason"]),
            (&json!("waitlistedAfterDeposit"), &json!("inventory"))
        );
    }
    let mut unpaid = Vec::new();
    for number in 0..2 {
        unpaid.push(
            client
                .checkout("BIKE", &format!("u{number}@example.com"))
                .await,
        );
    }
    let waiting = vec!["waitlistedAfterProfile".to_owned(); 2];
    assert_eq!(states(&client, &unpaid).await, waiting);
    // One unit: the oldest with a deposit, and nobody else.
    client
        .put(&path, json!({ "inventoryQuantity": 1 }))
        .await
        .ok();
    let taken = "recurringPaymentMethodPending";
    client.comes_to(&paying[1], taken).await;
    let first = [
        "recurringPaymentMethodPending",
        "waitlistedAfterDeposit",
        "waitlistedAfterDeposit",
    ];
    assert_eq!(states(&client, &paying[1..]).await, first);
    assert_eq!(states(&client, &unpaid).await, waiting);
    assert_eq!(client.get(&path).await.ok()["inventoryQuantity"], 0);
    // Who cancels gives theirs to the next.
    client.act(&paying[0], "cancel", json!({})).await.ok();
    client.comes_to(&paying[2], taken).await;
    let second = [
        "recurringPaymentMethodPending",
        "recurringPaymentMethodPending",
        "waitlistedAfterDeposit",
    ];
    assert_eq!(states(&client, &paying[1..]).await, second);
    // Two: the last with a deposit, and the oldest without.
    client
        .put(&path, json!({ "inventoryQuantity": 2 }))
        .await
        .ok();
    client.comes_to(&paying[3], taken).await;
    client.comes_to(&unpaid[0], "identityRequired").await;
    assert_eq!(
        client.reread(&unpaid[1]).await["lifecycle"],
        "waitlistedAfterProfile"
    );
    assert_eq!(
        client.get(&path).await.ok()["inventoryQuantity"],
        1,
        "without a deposit nothing is taken"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_out_of_the_service_area_wait_for_it() {
    let server = Server::shared(BINARY).await;
    let client = server
        .client_of(&[
            "--name",
            "Local",
            "--service-area",
            "US-CA,CA,US-NY,US:787*",
        ])
        .await;
    client.variant("BIKE", None).await;
    client.variant("NONE", Some(0)).await;
    let at = |country: &str, state: &str, zip: &str| json!({ "shippingAddress": { "address1": "1 Main St", "city": "Town", "state": state, "zip": zip, "country": country } });
    for (number, (place, reason)) in [
        (at("US", "CA", "94105"), None),
        (at("US", "NY", "10001"), None),
        (at("CA", "ON", "K1A 0B1"), None),
        (at("US", "TX", "73301"), Some("zip_not_served")),
        (at("FR", "75", "75001"), Some("country_not_served")),
    ]
    .into_iter()
    .enumerate()
    {
        let place = if place["shippingAddress"]["country"] == "FR" {
            json!({ "shippingAddress": { "address1": "1 Rue", "city": "Paris", "zip": "75001", "country": "FR" } })
        } else {
            place
        };
        let made = client
            .try_checkout("BIKE", &format!("l{number}@example.com"), place.clone())
            .await
            .ok();
        match reason {
            None => assert_eq!(made["lifecycle"], "created", "{place}"),
            Some(reason) => {
                assert_eq!(
                    (&made["lifecycle"], &made["waitlistReason"]),
                    (&json!("waitlistedLocation"), &json!("location"))
                );
                assert_eq!(
                    (
                        &made["waitlistLocationReasonCode"],
                        &made["locationMessage"]
                    ),
                    (&json!(reason), &json!(reason)),
                    "{place}"
                );
                assert_eq!(
                    made["waitlistLocationAddress"]["zip"],
                    place["shippingAddress"]["zip"]
                );
            }
        }
    }
    // Without postal codes it is the state that is not served.
    let coast = server
        .client_of(&["--name", "Coast", "--service-area", "US-CA"])
        .await;
    coast.variant("BIKE", None).await;
    let inland = coast
        .try_checkout("BIKE", "a@example.com", at("US", "TX", "73301"))
        .await
        .ok();
    assert_eq!(inland["waitlistLocationReasonCode"], "state_not_served");
    // Both lacking: the location wins. A wider area frees it, to wait for stock.
    let both = client
        .try_checkout("NONE", "both@example.com", at("US", "TX", "73301"))
        .await
        .ok();
    assert_eq!(both["waitlistReason"], "location");
    let texan = client
        .try_checkout("BIKE", "texan@example.com", at("US", "TX", "73301"))
        .await
        .ok();
    server.cli(&[
        "org",
        "update",
        &client.organization,
        "--service-area",
        "US",
    ]);
    assert_eq!(client.reread(&texan).await["lifecycle"], "identityRequired");
    let far = client
        .get("/v1/checkouts?waitlistReason=location")
        .await
        .ok();
    assert_eq!(
        far.as_array().map(Vec::len),
        Some(1),
        "Paris still waits: {far}"
    );
}
