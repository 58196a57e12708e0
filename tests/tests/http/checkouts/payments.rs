//! `POST /v1/checkouts/{id}/payments/retry`.

use lessor_tests::{Client, Server, text};
use serde_json::{Value, json};

use super::attention::reasons;
use crate::BINARY;

/// A lease whose first payment was declined.
async fn unpaid(client: &Client, email: &str) -> Value {
    let ready = client.checkout_at("BIKE", email, "orderConfirmed").await;
    let shipped = client.act(&ready, "fulfill", json!({})).await.ok();
    assert_eq!(shipped["lifecycle"], "shipped", "{shipped:#}");
    assert_eq!(reasons(&shipped), ["firstPaymentFailed"]);
    assert_eq!(shipped["paymentFailureCount"], 1);
    shipped
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_payment_that_failed_is_paid_with_another_card() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let shipped = unpaid(&client, "grace+firstpaymentfail@example.com").await;

    // Declined again: that is in the answer, and no error of the request.
    for body in [
        json!({ "paymentMethodId": "pm_card_chargeCustomerFail" }),
        json!({}),
    ] {
        let declined = client
            .act(&shipped, "payments/retry", body.clone())
            .await
            .ok();
        assert_eq!(declined["lifecycle"], "shipped", "{body}");
        assert_eq!(reasons(&declined), ["firstPaymentFailed"], "{body}");
        assert_eq!(declined["lastPaymentErrorCode"], "card_declined", "{body}");
    }

    let path = format!("/v1/checkouts/{}/payments/retry", text(&shipped["id"]));
    let card = json!({ "paymentMethodId": "pm_card_mastercard" });
    let paid = client.post_once(&path, "retry-1", &card).await;
    let replayed = client.post_once(&path, "retry-1", &card).await;
    assert_eq!(replayed.header("idempotent-replayed"), "true");
    assert_eq!(replayed.bytes, paid.bytes);
    let paid = paid.ok();
    assert_eq!(
        (&paid["lifecycle"], &paid["recurringPaymentStatus"]),
        (&json!("leaseActive"), &json!("active"))
    );
    assert_eq!(paid["recurringPaymentMethod"]["brand"], "mastercard");
    assert_eq!(reasons(&paid), Vec::<String>::new());
    assert!(paid.get("paymentFailureCount").is_none(), "{paid}");
    assert_eq!(
        paid["processorSubscriptionId"], shipped["processorSubscriptionId"],
        "no second one was made"
    );

    // Nothing is open any more; another card may still be named.
    client
        .act(&shipped, "payments/retry", json!({}))
        .await
        .refused_with(400, "invalid_request", "", &["no payment", "leaseActive"]);
    let other = json!({ "paymentMethodId": "pm_card_amex" });
    let other = client.act(&shipped, "payments/retry", other).await.ok();
    assert_eq!(other["recurringPaymentMethod"]["brand"], "amex");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_named_and_touches_nothing() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let before = client.reread(&made).await;
    for body in [
        json!({}),
        json!({ "paymentMethodId": "pm_card_visa" }),
        json!({ "paymentMethodId": "pm_nobodys" }),
    ] {
        client
            .act(&made, "payments/retry", body)
            .await
            .refused_with(400, "invalid_request", "", &["no payment", "created"]);
    }
    // No body at all is the same as an empty one.
    let path = format!("/v1/checkouts/{}/payments/retry", text(&made["id"]));
    client
        .send("POST", &path, &[], None)
        .await
        .refused(400, "invalid_request", "");
    for wrong in [json!(""), json!(7), json!("x".repeat(256)), json!("a\u{0}")] {
        client
            .act(&made, "payments/retry", json!({ "paymentMethodId": wrong }))
            .await
            .refused(400, "invalid_parameter", "paymentMethodId");
    }
    client
        .act(&made, "payments/retry", json!({ "card": "4242" }))
        .await
        .refused(400, "invalid_parameter", "card");
    assert_eq!(client.reread(&made).await, before, "nothing was written");

    let shipped = unpaid(&client, "ada+firstpaymentfail@example.com").await;
    for unknown in ["pm_nobodys", "pm_card_nonsense", "4242424242424242"] {
        client
            .act(
                &shipped,
                "payments/retry",
                json!({ "paymentMethodId": unknown }),
            )
            .await
            .refused_with(400, "invalid_parameter", "paymentMethodId", &[unknown]);
    }
    assert_eq!(client.reread(&shipped).await, shipped);

    let unknown = "/v1/checkouts/chk_0000000000000000000001/payments/retry";
    for body in [json!({}), json!({ "paymentMethodId": "pm_card_visa" })] {
        client
            .post(unknown, body.clone())
            .await
            .refused(404, "not_found", "");
        // Who may only look is refused before the processor hears of it.
        let looks = server.key(
            &client.organization,
            "sandbox",
            "CheckoutRead,CheckoutFulfill",
        );
        client
            .with_key(&looks)
            .act(&shipped, "payments/retry", body.clone())
            .await
            .refused_with(403, "forbidden", "", &["CheckoutWrite"]);
        // Sandbox and live do not see each other.
        let live = server.key(&client.organization, "live", "all");
        client
            .with_key(&live)
            .act(&shipped, "payments/retry", body)
            .await
            .refused(404, "not_found", "");
    }
    assert_eq!(client.reread(&shipped).await, shipped);
}
