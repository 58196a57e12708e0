//! The processor is down: what does not need it goes on, and what it has to know it is told later.

use serde_json::json;

use crate::world::{Setup, World, until};

#[tokio::test(flavor = "multi_thread")]
async fn catalog_prices_and_checkouts_do_without_the_processor() {
    let world = World::new(Setup {
        messages: true,
        ..Setup::default()
    })
    .await;
    world.until_told().await;
    world.double.down(true);
    let (_, listed) = world.ask("GET", "/v1/products", None, None).await;
    let product = listed["results"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/products/{product}");
    let (status, answer) = world
        .ask("PUT", &path, None, Some(&json!({ "name": "Gravel bike" })))
        .await;
    assert_eq!((status, &answer["name"]), (200, &json!("Gravel bike")));
    let variant = world
        .post_once("/v1/product-variants", "meanwhile", &json!({
            "productId": product, "name": "Gravel bike", "description": "Steel", "price": "899.00",
            "sku": "GRAVEL-1", "options": [], "productImages": [], "productYear": 2026
        }))
        .await;
    let prices = world
        .get(&format!(
            "/v1/product-variants/{}/pricing-summary",
            variant["id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(prices["pricing"]["12"]["currency"], "USD");
    let id = world.checkout("meanwhile").await;

    // A step that cannot be done without it says so, and changes nothing.
    let before = world.lifecycle(&id).await;
    let response = world
        .client
        .post(format!("{}/v1/sandbox/checkouts/{id}/advance", world.url))
        .bearer_auth(&world.key)
        .json(&json!({ "to": "orderConfirmed" }))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status().as_u16(), 502);
    let refused: serde_json::Value = response.json().await.unwrap();
    assert_eq!(refused["error"]["code"], "processor_error", "{refused}");
    assert_eq!(refused["error"]["type"], "api_error", "{refused}");
    assert_ne!(
        world.lifecycle(&id).await,
        "orderConfirmed",
        "from {before}"
    );
    assert!(
        world.backlog().await.0 > 0,
        "nothing waits for the processor"
    );

    world.double.down(false);
    world.command(&["jobs", "retry"]);
    until("the processor knows the new name", async || {
        world
            .double
            .objects("product")
            .iter()
            .any(|known| {
                known["name"]
                    .as_str()
                    .is_some_and(|name| name.contains("Gravel"))
            })
            .then_some(())
    })
    .await;
    world.confirm(&id).await;
    world.fulfill(&id, None).await;
    world.until_state(&id, "leaseActive").await;
    world.until_told().await;
    world.assert_billed_once(&id);
    world.until_books_agree().await;
}

/// Nobody shows a passport to the camera of a test session: Lessor plays the identity check, and the
/// processor does the rest. Messages that come meanwhile change nothing about the answer.
#[tokio::test(flavor = "multi_thread")]
async fn advance_plays_the_identity_check_that_nobody_decides() {
    let world = World::new(Setup {
        messages: true,
        ..Setup::default()
    })
    .await;
    world.until_told().await;
    let id = world.checkout("played").await;
    let path = format!("/v1/sandbox/checkouts/{id}/advance");
    let to = json!({ "to": "orderConfirmed" });
    let (status, answer) = world.ask("POST", &path, None, Some(&to)).await;
    assert_eq!(
        (status, &answer["lifecycle"]),
        (200, &json!("orderConfirmed")),
        "{answer}"
    );
    assert!(
        answer["processorDepositPaymentIntentId"].is_string(),
        "{answer}"
    );
}
