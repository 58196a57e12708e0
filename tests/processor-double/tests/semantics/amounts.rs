//! Amounts that cannot be charged, payments that cannot go on, metadata that is too much.

use crate::payments::held;
use crate::support::Caller;

#[tokio::test]
async fn amounts_have_a_least_a_most_and_a_last_digit() {
    let caller = Caller::new();
    for (amount, currency, code) in [
        ("49", "usd", "amount_too_small"),
        ("29", "gbp", "amount_too_small"),
        ("100000000", "usd", "amount_too_large"),
        ("0", "usd", "parameter_invalid_integer"),
        ("52261", "kwd", "invalid_charge_amount"),
        ("50", "isk", "invalid_charge_amount_no_decimal_compatible"),
    ] {
        let form = format!("amount={amount}&currency={currency}");
        let refused = caller.post("/v1/payment_intents", &form).await;
        assert_eq!(*refused.error("code"), code, "{form}");
        assert_eq!(*refused.error("param"), "amount");
    }
    for form in ["amount=52260&currency=kwd", "amount=5000&currency=isk"] {
        assert_eq!(caller.post("/v1/payment_intents", form).await.status, 200);
    }
    caller.post("/v1/products", "id=var_1&name=Bike").await;
    let price = "product=var_1&currency=kwd&unit_amount=52261&recurring[interval]=month";
    let refused = caller.post("/v1/prices", price).await;
    assert_eq!(*refused.error("code"), "invalid_charge_amount");
}

#[tokio::test]
async fn captures_and_refunds_end_in_the_same_digit() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let form = format!(
        "amount=52260&currency=kwd&customer={customer}&payment_method={method}&confirm=true\
         &capture_method=manual"
    );
    let id = caller.post("/v1/payment_intents", &form).await.text("id");
    let path = format!("/v1/payment_intents/{id}/capture");
    let refused = caller.post(&path, "amount_to_capture=52255").await;
    assert_eq!(*refused.error("code"), "invalid_charge_amount");
    assert_eq!(caller.post(&path, "").await.status, 200);
    let refund = format!("payment_intent={id}&amount=15");
    let refused = caller.post("/v1/refunds", &refund).await;
    assert_eq!(*refused.error("code"), "invalid_charge_amount");
}

#[tokio::test]
async fn a_payment_that_is_over_does_nothing_more() {
    let caller = Caller::new();
    let held_one = held(&caller, "pm_card_visa", "").await.text("id");
    let path = |what: &str| format!("/v1/payment_intents/{held_one}{what}");
    assert_eq!(caller.post(&path(""), "amount=6000").await.status, 400);
    caller.post(&path("/cancel"), "").await;
    for what in ["/capture", "/confirm", "/cancel"] {
        let refused = caller.post(&path(what), "").await;
        assert_eq!(
            *refused.error("code"),
            "payment_intent_unexpected_state",
            "{what}"
        );
    }
    let taken = held(&caller, "pm_card_visa", "").await.text("id");
    caller
        .post(&format!("/v1/payment_intents/{taken}/capture"), "")
        .await;
    let cancel = caller
        .post(&format!("/v1/payment_intents/{taken}/cancel"), "")
        .await;
    assert_eq!(*cancel.error("code"), "payment_intent_unexpected_state");
    let unconfirmed = "amount=100&currency=usd&off_session=true";
    assert_eq!(
        caller.post("/v1/payment_intents", unconfirmed).await.status,
        400
    );
}

#[tokio::test]
async fn methods_that_redirect_need_a_way_back() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let form = format!("customer={customer}&payment_method={method}&confirm=true");
    let automatic = "&automatic_payment_methods[enabled]=true";
    for path in ["/v1/payment_intents", "/v1/setup_intents"] {
        let amount = if path.contains("payment") {
            "&amount=500&currency=usd"
        } else {
            ""
        };
        for (more, status) in [
            ("", 400),
            ("&automatic_payment_methods[allow_redirects]=always", 400),
            ("&automatic_payment_methods[allow_redirects]=never", 200),
            ("&return_url=http%3A%2F%2Fshop.test", 200),
        ] {
            let form = format!("{form}{amount}{automatic}{more}");
            assert_eq!(
                caller.post(path, &form).await.status,
                status,
                "{path} {more}"
            );
        }
        let open = form.replace("&confirm=true", "");
        let made = caller
            .post(path, &format!("{open}{amount}{automatic}"))
            .await;
        let confirm = format!("{path}/{}/confirm", made.text("id"));
        assert_eq!(caller.post(&confirm, "").await.status, 400);
        let back = "return_url=http%3A%2F%2Fshop.test";
        assert_eq!(caller.post(&confirm, back).await.status, 200);
    }
}

#[tokio::test]
async fn metadata_is_at_most_fifty_pairs_in_all() {
    let caller = Caller::new();
    let pairs = |from: u32, to: u32| -> String {
        let pairs: Vec<_> = (from..to).map(|n| format!("metadata[k{n}]=v")).collect();
        pairs.join("&")
    };
    let made = caller.post("/v1/customers", &pairs(0, 30)).await;
    let path = format!("/v1/customers/{}", made.text("id"));
    let refused = caller.post(&path, &pairs(30, 51)).await;
    assert_eq!(
        (refused.status, refused.error("param")),
        (400, &"metadata".into())
    );
    assert_eq!(caller.post(&path, &pairs(30, 50)).await.status, 200);
    let swapped = format!("{}&metadata[k0]=", pairs(50, 51));
    assert_eq!(caller.post(&path, &swapped).await.status, 200);
}
