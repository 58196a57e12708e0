//! Those who wait, and those who are refused.

use lessor_tests::{Server, text};
use serde_json::json;

use crate::BINARY;
use crate::scene::{SKU, checkout, goods, shop};
use crate::setting::SETTINGS;
use crate::walk::{PROFILE, Walk, begin, call, open, path, press, reach, sees, send};

#[tokio::test(flavor = "multi_thread")]
async fn a_waitlist_for_goods_is_waited_out() {
    let Some(_walking) = begin("a waitlist in a browser") else {
        return;
    };
    let client = shop(&[]).await;
    let variant = goods(&client, Some(0)).await;
    let made = checkout(&client, "grace@example.com").await;
    let walk = Walk {
        name: "waits-for-goods".to_owned(),
        setting: SETTINGS[5],
        client: &client,
        checkout: &made,
        double: None,
    };
    let stock = format!("/v1/product-variants/{variant}");
    walk.through(vec![
        reach("waitlistedAfterProfile"),
        sees(json!({ "not": ["identity"], "forms": ["cancel"] })),
        call("PUT", &stock, &json!({ "inventoryQuantity": 3 })),
        reach("identityRequired"),
        sees(json!({ "forms": ["identity"] })),
    ])
    .await;
}

/// The last one goes to somebody else while the deposit is being paid.
#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_waits_for_goods() {
    let Some(_walking) = begin("a waitlist with a deposit in a browser") else {
        return;
    };
    let client = shop(&[]).await;
    let variant = goods(&client, Some(1)).await;
    let made = client.checkout_at(SKU, "grace@example.com", "depositPending");
    let made = made.await;
    let other = client.checkout_at(SKU, "ada@example.com", "documentsPending");
    other.await;
    let walk = Walk {
        name: "waits-with-deposit".to_owned(),
        setting: SETTINGS[1],
        client: &client,
        checkout: &made,
        double: None,
    };
    let stock = format!("/v1/product-variants/{variant}");
    walk.through(vec![
        open(),
        press("deposit"),
        reach("waitlistedAfterDeposit"),
        call("PUT", &stock, &json!({ "inventoryQuantity": 2 })),
        reach("recurringPaymentMethodPending"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_is_not_served_is_waited_for() {
    let Some(_walking) = begin("a place that is not served, in a browser") else {
        return;
    };
    let client = shop(&["--service-area", "US-NY"]).await;
    goods(&client, None).await;
    let made = checkout(&client, "grace@example.com").await;
    let walk = Walk {
        name: "waits-for-place".to_owned(),
        setting: SETTINGS[2],
        client: &client,
        checkout: &made,
        double: None,
    };
    walk.through(vec![
        open(),
        send("profile", &PROFILE),
        reach("waitlistedLocation"),
        call("PUT", "/v1/organization", &json!({ "serviceArea": ["US"] })),
        reach("identityRequired"),
    ])
    .await;
}

/// A person decides, and says why not.
#[tokio::test(flavor = "multi_thread")]
async fn credit_is_waited_for_and_declined_with_reasons() {
    let Some(_walking) = begin("declined credit in a browser") else {
        return;
    };
    let client = shop(&[]).await;
    goods(&client, None).await;
    Server::shared(BINARY).await.cli(&[
        "org",
        "update",
        &client.organization,
        "--mode",
        "sandbox",
        "--credit",
        "manual",
    ]);
    let made = checkout(&client, "grace@example.com").await;
    let walk = Walk {
        name: "declined-credit".to_owned(),
        setting: SETTINGS[4],
        client: &client,
        checkout: &made,
        double: None,
    };
    let decision = json!({
        "decision": "declined",
        "reasons": ["incomeInsufficient", "unableToVerifyIncome"]
    });
    walk.through(vec![
        open(),
        send("profile", &PROFILE),
        reach("identityRequired"),
        press("identity"),
        press("identity-submit"),
        reach("qualificationPending"),
        call("POST", &path(&made, "/qualification"), &decision),
        reach("qualificationFailed"),
        sees(json!({ "some": "main ul li" })),
    ])
    .await;
}

/// The sandbox refuses whom the address asks it to.
#[tokio::test(flavor = "multi_thread")]
async fn an_identity_that_is_not_theirs_ends_it() {
    let Some(_walking) = begin("a refused identity in a browser") else {
        return;
    };
    let client = shop(&[]).await;
    goods(&client, None).await;
    let made = checkout(&client, "grace+identityfail@example.com").await;
    let walk = Walk {
        name: "refused-identity".to_owned(),
        setting: SETTINGS[3],
        client: &client,
        checkout: &made,
        double: None,
    };
    walk.through(vec![
        open(),
        send("profile", &PROFILE),
        reach("identityRequired"),
        press("identity"),
        press("identity-submit"),
        reach("identityFailed"),
        sees(json!({ "not": ["identity", "identity-submit"] })),
    ])
    .await;
    assert_eq!(
        text(&client.reread(&made).await["lifecycle"]),
        "identityFailed"
    );
}
