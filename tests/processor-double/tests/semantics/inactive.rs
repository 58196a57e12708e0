//! Products and prices that are not offered any more, and prices made for one subscription.

use crate::subscriptions::price;
use crate::support::Caller;

#[tokio::test]
async fn nothing_new_is_subscribed_on_what_is_inactive() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let price = price(&caller).await;
    let paid = format!("customer={customer}&default_payment_method={method}");
    let by_price = format!("{paid}&items[0][price]={price}");
    let inline = format!(
        "{paid}&items[0][price_data][currency]=usd&items[0][price_data][product]=var_1\
         &items[0][price_data][unit_amount]=3100&items[0][price_data][recurring][interval]=month"
    );
    let running = caller.post("/v1/subscriptions", &by_price).await;
    assert_eq!(running.status, 200);
    caller.post("/v1/products/var_1", "active=false").await;
    for form in [&by_price, &inline] {
        let refused = caller.post("/v1/subscriptions", form).await;
        assert_eq!(refused.status, 400, "{form}");
        let message = refused.error("message").as_str().expect("a message");
        assert!(message.contains("is marked as inactive"), "{message}");
    }
    assert_eq!(caller.now(&running.text("id"))["status"], "active");
    caller.post("/v1/products/var_1", "active=true").await;
    caller
        .post(&format!("/v1/prices/{price}"), "active=false")
        .await;
    let refused = caller.post("/v1/subscriptions", &by_price).await;
    assert_eq!(*refused.error("param"), "items[0][price]");
    assert_eq!(caller.double.objects("subscription").len(), 1);
}

#[tokio::test]
async fn an_inline_price_is_of_one_subscription() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    caller.post("/v1/products", "id=var_1&name=Bike").await;
    let paid = format!("customer={customer}&default_payment_method={method}");
    let data = |product: &str| {
        format!(
            "{paid}&items[0][price_data][currency]=usd&items[0][price_data][product]={product}\
             &items[0][price_data][unit_amount]=3100\
             &items[0][price_data][recurring][interval]=month\
             &items[0][price_data][recurring][interval_count]=1&expand[]=latest_invoice"
        )
    };
    let unknown = caller.post("/v1/subscriptions", &data("nope")).await;
    assert_eq!(*unknown.error("code"), "resource_missing");
    let made = caller.post("/v1/subscriptions", &data("var_1")).await;
    assert_eq!(
        made.body["latest_invoice"]["amount_paid"], 3_100,
        "{}",
        made.body
    );
    let price = &made.body["items"]["data"][0]["price"];
    assert_eq!(
        (&price["active"], &price["product"]),
        (&false.into(), &"var_1".into())
    );
    for path in ["/v1/prices", "/v1/prices?active=false"] {
        assert_eq!(
            caller.get(path).await.body["data"].as_array().map(Vec::len),
            Some(0)
        );
    }
    let id = price["id"].as_str().expect("an id");
    assert_eq!(
        caller
            .post(&format!("/v1/prices/{id}"), "active=true")
            .await
            .status,
        400
    );
    let again = format!("{paid}&items[0][price]={id}");
    assert_eq!(caller.post("/v1/subscriptions", &again).await.status, 400);
    let neither = format!("{paid}&items[0][quantity]=1");
    assert_eq!(caller.post("/v1/subscriptions", &neither).await.status, 400);
}
