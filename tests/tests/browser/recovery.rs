//! What failed and can be done again, and what can be chosen otherwise.

use lessor_tests::Server;
use serde_json::json;

use crate::BINARY;
use crate::scene::{SKU, checkout, goods, shop};
use crate::setting::SETTINGS;
use crate::walk::{Walk, begin, call, open, path, press, reach, reach_agreement, sees, send};

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_charged_is_tried_again() {
    let Some(_walking) = begin("failed charges in a browser") else {
        return;
    };
    let client = shop(&[]).await;
    goods(&client, None).await;
    // The deposit is not authorized at first.
    let made = client.checkout_at(SKU, "grace+depositfail@example.com", "depositPending");
    let made = made.await;
    let walk = Walk {
        name: "deposit-again".to_owned(),
        setting: SETTINGS[2],
        client: &client,
        checkout: &made,
        double: None,
    };
    walk.through(vec![
        open(),
        press("deposit"),
        reach("depositFailed"),
        sees(json!({ "forms": ["deposit"] })),
        press("deposit"),
        reach("recurringPaymentMethodPending"),
    ])
    .await;
    // It is authorized, and not charged at first.
    let made = client.checkout_at(SKU, "ada+capturefail@example.com", "documentsPending");
    let made = made.await;
    // Whoever is played forward has a name of their own.
    let customer = format!("/v1/customers/{}", made["customerId"].as_str().unwrap());
    let customer = client.get(&customer).await.ok();
    let name = format!(
        "{} {}",
        customer["firstName"].as_str().unwrap(),
        customer["lastName"].as_str().unwrap()
    );
    let walk = Walk {
        name: "capture-again".to_owned(),
        setting: SETTINGS[5],
        client: &client,
        checkout: &made,
        double: None,
    };
    walk.through(vec![
        reach_agreement(),
        send("sign", &[("consent", "yes"), ("name", &name)]),
        reach("captureFailed"),
        sees(json!({ "forms": ["retry-capture"] })),
        press("retry-capture"),
        reach("orderConfirmed"),
    ])
    .await;
}

/// The first month is not paid: the page asks for another card, and is believed when it works.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_month_that_is_not_paid_is_paid_with_another_card() {
    let Some(_walking) = begin("a failed payment in a browser") else {
        return;
    };
    let client = shop(&[]).await;
    goods(&client, None).await;
    let made = client.checkout_at(SKU, "grace+firstpaymentfail@example.com", "orderConfirmed");
    let made = made.await;
    client.act(&made, "fulfill", json!({})).await.ok();
    let walk = Walk {
        name: "pays-again".to_owned(),
        setting: SETTINGS[4],
        client: &client,
        checkout: &made,
        double: None,
    };
    walk.through(vec![
        reach("shipped"),
        sees(json!({ "alert": true, "forms": ["retry-payment"] })),
        send("retry-payment", &[("card", "pm_card_chargeCustomerFail")]),
        sees(json!({ "alert": true, "forms": ["retry-payment"] })),
        send("retry-payment", &[("card", "pm_card_mastercard")]),
        reach("leaseActive"),
        sees(json!({ "alert": false, "not": ["retry-payment"] })),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn goods_are_picked_up_instead() {
    let Some(_walking) = begin("pickup in a browser") else {
        return;
    };
    let client = shop(&[]).await;
    goods(&client, None).await;
    for (name, street) in [
        ("Market Street", "1 Market St"),
        ("Mission", "20 Mission St"),
    ] {
        Server::shared(BINARY).await.cli(&[
            "pickup-location",
            "create",
            "--org",
            &client.organization,
            "--name",
            name,
            "--address1",
            street,
            "--city",
            "San Francisco",
            "--state",
            "CA",
            "--zip",
            "94105",
            "--country",
            "US",
        ]);
    }
    let made = checkout(&client, "grace@example.com").await;
    client.advance(&made, "shippingAddressPending").await.ok();
    let walk = Walk {
        name: "pickup".to_owned(),
        setting: SETTINGS[0],
        client: &client,
        checkout: &made,
        double: None,
    };
    walk.through(vec![
        open(),
        press("choose-pickup"),
        reach("pickupLocationPending"),
        press("choose-shipping"),
        reach("shippingAddressPending"),
        press("choose-pickup"),
        send("pickup", &[("pickupLocationId", "first")]),
        reach("leaseReviewPending"),
        call("POST", &path(&made, "/cancel"), &json!({})),
        reach("cancelled"),
    ])
    .await;
}
