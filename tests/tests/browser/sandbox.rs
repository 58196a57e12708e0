//! The whole way in the sandbox, once in each setting.

use serde_json::{Value, json};

use crate::scene::{checkout, goods, shop};
use crate::setting::SETTINGS;
use crate::walk::{
    PROFILE, Walk, begin_in, call, open, path, press, reach, reach_agreement, sees, send, sign,
};

/// From the link to a lease that runs, with what is worth a second look on the way.
fn way(checkout: &Value) -> Vec<Value> {
    let delivered = format!(
        "/v1/sandbox/checkouts/{}/tracking-event",
        checkout["id"].as_str().unwrap()
    );
    vec![
        open(),
        sees(json!({ "status": 200, "alert": false, "forms": ["profile", "term", "cancel"] })),
        send("profile", &PROFILE),
        reach("identityRequired"),
        press("identity"),
        reach("identityVerifying"),
        press("identity-submit"),
        reach("shippingAddressPending"),
        // Back, where everything is as it was left, and forth again.
        press("back"),
        reach("profilePending"),
        sees(json!({ "values": { "firstName": "Grace", "zip": "94105", "country": "US" } })),
        press("profile"),
        reach("shippingAddressPending"),
        send("shipping", &[]),
        reach("leaseReviewPending"),
        sees(json!({ "not": ["accept"] })),
        send("term", &[("leaseTermId", "first")]),
        sees(json!({ "forms": ["accept", "term", "back"] })),
        press("accept"),
        reach("depositPending"),
        press("deposit"),
        reach("recurringPaymentMethodPending"),
        press("payment-method"),
        reach_agreement(),
        sign(),
        reach("orderConfirmed"),
        call(
            "POST",
            &path(checkout, "/fulfill"),
            &json!({ "trackingNumber": "1Z999AA10123456784", "trackingCarrier": "ups" }),
        ),
        reach("shipped"),
        call(
            "POST",
            &delivered,
            &json!({ "status": "delivered", "description": "Delivered, front door", "location": "San Francisco, CA" }),
        ),
        reach("leaseActive"),
        sees(json!({ "alert": false, "not": ["cancel", "back", "sign"] })),
    ]
}

async fn walks(number: usize) {
    let Some(_walking) = begin_in("a lease in the sandbox, in a browser", number, 3) else {
        return;
    };
    let client = shop(&[]).await;
    goods(&client, Some(5)).await;
    let made = checkout(&client, "grace@example.com").await;
    let walk = Walk {
        name: format!("sandbox{number}"),
        setting: SETTINGS[number],
        client: &client,
        checkout: &made,
        double: None,
    };
    let seen = walk.through(way(&made)).await;
    assert_eq!(seen.last().unwrap()["label"], "leaseActive");
    let lease = client.reread(&made).await;
    assert_eq!(lease["lifecycle"], "leaseActive");
    assert_eq!(lease["shippingAddress"]["address1"], "1 Market St");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_on_a_phone_by_hand() {
    walks(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_on_a_dark_screen_without_scripts() {
    walks(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_by_keys_without_scripts() {
    walks(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_on_a_screen_in_spanish() {
    walks(3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_by_keys_on_a_dark_phone_without_scripts() {
    walks(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_by_keys_on_a_dark_phone_in_spanish() {
    walks(5).await;
}
