//! `progress.attention`, and the list of those that need it.

use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// The reasons of a checkout's record.
pub(crate) fn reasons(checkout: &Value) -> Vec<String> {
    let attention = checkout["progress"]["attention"].as_array();
    let reasons: Vec<String> = attention
        .into_iter()
        .flatten()
        .map(|known| text(&known["reason"]))
        .collect();
    assert_eq!(
        checkout["progress"]["needsAttention"],
        json!(!reasons.is_empty()),
        "{checkout:#}"
    );
    reasons
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_says_why_somebody_must_look_and_is_listed() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let fine = client.checkout("BIKE", "grace@example.com").await;
    assert_eq!(reasons(&fine), Vec::<String>::new());
    let made = client.checkout("BIKE", "ada+depositfail@example.com").await;
    let failed = client.advance(&made, "orderConfirmed").await.ok();
    assert_eq!(failed["lifecycle"], "depositFailed");
    assert_eq!(reasons(&failed), ["depositFailed"]);
    let known = &failed["progress"]["attention"][0];
    assert!(known["since"].is_string(), "{known}");
    assert!(text(&known["detail"]).contains("card_declined"), "{known}");
    for (query, expected) in [
        ("needsAttention=true", vec![&made]),
        ("needsAttention=false", vec![&fine]),
        ("needsAttention=true&lifecycle=depositFailed", vec![&made]),
        ("needsAttention=true&lifecycle=created", vec![]),
        ("needsAttention=false&lifecycle=created", vec![&fine]),
    ] {
        let listed = client.get(&format!("/v1/checkouts?{query}")).await;
        let total = listed.header("x-total-count").to_owned();
        let listed = listed.ok();
        let listed = listed.as_array().into_iter().flatten();
        let ids: Vec<String> = listed.map(|one| text(&one["id"])).collect();
        let expected: Vec<String> = expected.iter().map(|one| text(&one["id"])).collect();
        assert_eq!(ids, expected, "{query}");
        assert_eq!(total, expected.len().to_string(), "{query}");
    }
    for wrong in ["", "yes", "1", "TRUE", "null", "true,false"] {
        client
            .get(&format!("/v1/checkouts?needsAttention={wrong}"))
            .await
            .refused(400, "invalid_parameter", "needsAttention");
    }
    // It is over by itself.
    let paid = client.advance(&made, "orderConfirmed").await.ok();
    assert_eq!(reasons(&paid), Vec::<String>::new());
}
