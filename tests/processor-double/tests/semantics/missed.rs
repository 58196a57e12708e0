//! What was missed is listed: events, invoices, subscriptions.

use chrono::TimeDelta;
use serde_json::Value;

use crate::subscriptions::subscribe;
use crate::support::Caller;

async fn ids(caller: &Caller, path: &str) -> Vec<String> {
    let page = caller.get(path).await;
    assert_eq!(page.status, 200, "{path}: {}", page.body);
    let data = page.body["data"].as_array().expect("a list").clone();
    let id = |object: &Value| object["id"].as_str().expect("an id").to_owned();
    data.iter().map(id).collect()
}

#[tokio::test]
async fn events_are_listed_newest_first_by_type_and_from_a_cursor() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    subscribe(&caller, &customer, &method).await;
    let all: Vec<_> = caller.double.events();
    let newest: Vec<_> = all.iter().rev().map(|event| event.id.clone()).collect();
    assert_eq!(ids(&caller, "/v1/events?limit=100").await, newest);
    let of = |begin: &str| -> Vec<_> {
        let fits = all
            .iter()
            .rev()
            .filter(|event| event.kind.starts_with(begin));
        fits.map(|event| event.id.clone()).collect()
    };
    for (query, expected) in [
        ("type=invoice.paid", of("invoice.paid")),
        ("type=invoice.*&limit=50", of("invoice.")),
        (
            "types[]=invoice.paid&types[]=charge.succeeded",
            [of("invoice.paid"), of("charge.succeeded")].concat(),
        ),
    ] {
        assert_eq!(
            ids(&caller, &format!("/v1/events?{query}")).await,
            expected,
            "{query}"
        );
    }
    // The cursor need not be of the types that are asked for.
    let first = &all[0];
    assert_eq!(first.kind, "customer.created");
    let path = format!("/v1/events?ending_before={}&type=invoice.paid", first.id);
    assert_eq!(ids(&caller, &path).await, of("invoice.paid"));
    let path = format!("/v1/events?starting_after={}&limit=2", newest[0]);
    assert_eq!(ids(&caller, &path).await, newest[1..3]);
    let both = caller.get("/v1/events?type=a&types[]=b").await;
    assert_eq!(*both.error("code"), "parameters_exclusive");
    let now = caller.double.now().timestamp();
    assert_eq!(
        ids(&caller, &format!("/v1/events?created[gt]={now}")).await,
        [""; 0]
    );
}

#[tokio::test]
async fn events_are_kept_for_thirty_days() {
    let caller = Caller::new();
    caller.customer().await;
    let event = caller.double.events()[0].id.clone();
    let path = format!("/v1/events/{event}");
    caller
        .double
        .advance(TimeDelta::days(30) - TimeDelta::seconds(1));
    assert_eq!(caller.get(&path).await.status, 200);
    caller.double.advance(TimeDelta::seconds(1));
    assert_eq!(caller.get(&path).await.status, 404);
    assert_eq!(ids(&caller, "/v1/events").await, [""; 0]);
    assert!(!caller.double.events().is_empty(), "tests see them all");
}

#[tokio::test]
async fn what_was_delivered_is_told_apart() {
    let caller = Caller::new();
    caller.customer().await;
    let events = caller.double.events();
    caller.double.delivered(&events[0].id);
    let taken = ids(&caller, "/v1/events?delivery_success=true").await;
    assert_eq!(taken, [events[0].id.clone()]);
    let missed = ids(&caller, "/v1/events?delivery_success=false&limit=100").await;
    assert_eq!(missed.len(), events.len() - 1);
}

#[tokio::test]
async fn invoices_and_subscriptions_are_listed_in_full() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let (other, its) = caller.customer().await;
    let first = subscribe(&caller, &customer, &method).await.text("id");
    let start = caller.double.now().timestamp();
    caller.double.advance(TimeDelta::days(29));
    let second = {
        let price = caller.double.objects("price")[0]["id"].clone();
        let form = format!(
            "customer={other}&default_payment_method={its}&items[0][price]={}",
            price.as_str().expect("an id")
        );
        caller.post("/v1/subscriptions", &form).await.text("id")
    };
    for (query, count) in [
        (String::new(), 3),
        (format!("subscription={first}"), 2),
        (format!("customer={other}"), 1),
        (format!("subscription={first}&status=paid"), 2),
        ("status=open".to_owned(), 0),
        (format!("created[lte]={start}"), 1),
        ("limit=1".to_owned(), 1),
    ] {
        let listed = ids(&caller, &format!("/v1/invoices?{query}")).await;
        assert_eq!(listed.len(), count, "{query}");
    }
    assert_eq!(caller.get("/v1/invoices?status=nope").await.status, 400);
    let path = "/v1/subscriptions?limit=100&expand[]=data.latest_invoice";
    let all = caller.get(path).await;
    let listed = all.body["data"].as_array().expect("a list");
    assert_eq!(listed.len(), 2);
    assert!(
        listed
            .iter()
            .all(|one| one["latest_invoice"]["object"] == "invoice")
    );
    let old = format!("/v1/subscriptions?created[lte]={start}");
    assert_eq!(ids(&caller, &old).await, std::slice::from_ref(&first));
    let next = format!("/v1/subscriptions?starting_after={second}");
    assert_eq!(ids(&caller, &next).await, [first]);
}
