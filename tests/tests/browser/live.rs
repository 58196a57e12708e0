//! Live leases, by clicks alone: the customer proves who they are and pays on the pages of the processor's
//! double, at which the organization has an account of its own.

use serde_json::{Value, json};

use crate::scene::{LiveShop, checkout};
use crate::setting::{SETTINGS, Setting};
use crate::walk::{
    PROFILE, Walk, begin, begin_in, call, choose, open, path, press, reach, reach_agreement, sees,
    send, sign,
};

impl LiveShop {
    fn walk<'a>(&'a self, name: &str, setting: Setting, checkout: &'a Value) -> Walk<'a> {
        Walk {
            name: format!("live-{name}"),
            setting,
            client: &self.client,
            checkout,
            double: Some(self.double.url()),
        }
    }
}

/// From the link to the deposit.
fn to_deposit() -> Vec<Value> {
    vec![
        open(),
        send("profile", &PROFILE),
        reach("identityRequired"),
        press("identity"),
        choose("verify"),
        reach("shippingAddressPending"),
        press("shipping"),
        reach("leaseReviewPending"),
        send("term", &[("leaseTermId", "first")]),
        press("accept"),
        reach("depositPending"),
    ]
}

async fn walks(number: usize) {
    let Some(_walking) = begin_in("a live lease in a browser", number, 4) else {
        return;
    };
    let shop = LiveShop::open().await;
    let made = checkout(&shop.client, "grace@example.com").await;
    let mut deeds = to_deposit();
    deeds.extend([
        press("deposit"),
        choose("authenticate"),
        reach("recurringPaymentMethodPending"),
        press("payment-method"),
        reach_agreement(),
        sign(),
        reach("orderConfirmed"),
        call("POST", &path(&made, "/fulfill"), &json!({})),
        reach("leaseActive"),
        press("card"),
        choose("pay"),
        reach("leaseActive"),
        call(
            "PUT",
            &path(&made, ""),
            &json!({ "lifecycle": "returnPending" }),
        ),
        reach("returnPending"),
        call("PUT", &path(&made, ""), &json!({ "lifecycle": "returned" })),
        reach("returned"),
    ]);
    let walk = shop.walk(&format!("lease{number}"), SETTINGS[number], &made);
    walk.through(deeds).await;
    let subscriptions = shop.double.live_objects("subscription");
    assert_eq!(subscriptions.len(), 1, "{subscriptions:#?}");
    assert_eq!(shop.double.prorations(), Vec::<Value>::new());
    let sandbox = shop.double.objects("payment_intent");
    assert_eq!(sandbox, Vec::<Value>::new(), "live is live");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_lease_on_a_phone() {
    walks(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_lease_on_a_dark_screen_without_scripts() {
    walks(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_lease_by_keys_without_scripts() {
    walks(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_lease_by_keys_on_a_dark_phone() {
    walks(4).await;
}

/// Declined, not authenticated, left, and paid with another card.
#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_that_is_declined_is_paid_with_another_card() {
    let Some(_walking) = begin("a declined deposit in a browser") else {
        return;
    };
    let shop = LiveShop::open().await;
    let made = checkout(&shop.client, "grace@example.com").await;
    let mut deeds = to_deposit();
    deeds.extend([
        press("deposit"),
        choose("declined"),
        sees(json!({ "alert": true })),
        choose("failAuthentication"),
        sees(json!({ "alert": true })),
        // The way back of the processor's page.
        choose("cancel"),
        reach("depositPending"),
        press("deposit"),
        // Closed, and called off here.
        choose("leave"),
        reach("depositProcessing"),
        sees(json!({ "forms": ["deposit", "leave-deposit"] })),
        press("leave-deposit"),
        reach("depositPending"),
        press("deposit"),
        choose("pay"),
        reach("recurringPaymentMethodPending"),
        // Another card for the months.
        press("card"),
        choose("pay"),
        reach_agreement(),
        sign(),
        reach("orderConfirmed"),
    ]);
    let walk = shop.walk("declined", SETTINGS[5], &made);
    walk.through(deeds).await;
    let intents = shop.double.live_objects("payment_intent");
    let paid = intents
        .iter()
        .filter(|intent| intent["status"] == "succeeded");
    assert_eq!(paid.count(), 1, "{intents:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_is_given_up_checked_for_a_while_and_refused() {
    let Some(_walking) = begin("identities in a browser") else {
        return;
    };
    let shop = LiveShop::open().await;
    let made = checkout(&shop.client, "grace@example.com").await;
    let deeds = vec![
        open(),
        send("profile", &PROFILE),
        reach("identityRequired"),
        press("identity"),
        choose("blurred"),
        reach("identityVerifying"),
        press("identity"),
        choose("abandon"),
        reach("identityRequired"),
        press("identity"),
        choose("submit"),
        reach("identityProcessing"),
    ];
    shop.walk("identity", SETTINGS[1], &made)
        .through(deeds)
        .await;
    let sessions = shop.double.live_objects("identity.verification_session");
    let session = sessions.last().unwrap()["id"].as_str().unwrap();
    let refused =
        shop.double
            .decide_identity(session, "requires_input", Some("selfie_face_mismatch"));
    refused.unwrap();
    let deeds = vec![
        reach("identityFailed"),
        sees(json!({ "not": ["identity"] })),
    ];
    shop.walk("identity-failed", SETTINGS[4], &made)
        .through(deeds)
        .await;
}
