//! Subscriptions: months from the original day, and what comes of cards that fail.

use chrono::TimeDelta;
use lessor_processor_double::Decline;

use crate::support::{Answer, Caller, time};

pub(crate) async fn price(caller: &Caller) -> String {
    caller.post("/v1/products", "id=var_1&name=Bike").await;
    let form = "product=var_1&currency=usd&unit_amount=3100&recurring[interval]=month";
    caller.post("/v1/prices", form).await.text("id")
}

pub(crate) async fn subscribe(caller: &Caller, customer: &str, method: &str) -> Answer {
    let price = price(caller).await;
    let form = format!(
        "customer={customer}&default_payment_method={method}&items[0][price]={price}\
         &items[0][quantity]=1&metadata[lessor_checkout]=chk_1&off_session=true\
         &payment_behavior=allow_incomplete&expand[]=latest_invoice"
    );
    caller.post("/v1/subscriptions", &form).await
}

pub(crate) async fn end(caller: &Caller, id: &str, at: &str, behavior: &str) -> Answer {
    let form = format!(
        "cancel_at={}&proration_behavior={behavior}",
        time(at).timestamp()
    );
    caller.post(&format!("/v1/subscriptions/{id}"), &form).await
}

pub(crate) fn invoices(caller: &Caller) -> Vec<(i64, String, String)> {
    let all = caller.double.objects("invoice");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    all.iter()
        .map(|invoice| {
            let amount = invoice["amount_due"].as_i64().unwrap_or_default();
            (
                amount,
                text(&invoice["status"]),
                text(&invoice["billing_reason"]),
            )
        })
        .collect()
}

/// "`per_unit` indicates that the fixed amount (specified in `unit_amount` or `unit_amount_decimal`) will
/// be charged per unit in `quantity`": every invoice is of so many times the price.
#[tokio::test]
async fn an_invoice_is_of_so_many_times_the_price() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    caller.post("/v1/products", "id=lease_1&name=Bike").await;
    let form = format!(
        "customer={customer}&default_payment_method={method}\
         &items[0][price_data][product]=lease_1&items[0][price_data][currency]=usd\
         &items[0][price_data][unit_amount]=3100&items[0][price_data][recurring][interval]=month\
         &items[0][quantity]=3&off_session=true&payment_behavior=allow_incomplete"
    );
    let made = caller.post("/v1/subscriptions", &form).await;
    assert_eq!(made.body["status"], "active", "{}", made.body);
    let item = &made.body["items"]["data"][0];
    assert_eq!(item["quantity"], 3);
    assert_eq!(item["price"]["unit_amount"], 3_100);
    caller.double.advance(TimeDelta::days(32));
    let asked: Vec<i64> = invoices(&caller).into_iter().map(|(due, ..)| due).collect();
    assert_eq!(asked, [9_300, 9_300]);
}

#[tokio::test]
async fn so_many_months_are_so_many_payments() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let made = subscribe(&caller, &customer, &method).await;
    assert_eq!(made.body["status"], "active", "{}", made.body);
    assert_eq!(
        made.body["latest_invoice"]["billing_reason"],
        "subscription_create"
    );
    let id = made.text("id");
    // Three months from 31 January 12:00, counted from the 31st.
    let set = end(&caller, &id, "2026-04-30T12:00:00Z", "none").await;
    assert_eq!(set.status, 200, "{}", set.body);
    caller.double.advance(TimeDelta::days(200));
    let over = caller.double.object(&id).expect("the subscription");
    assert_eq!(over["status"], "canceled");
    assert_eq!(over["ended_at"], time("2026-04-30T12:00:00Z").timestamp());
    let paid = |reason: &str| (3_100, "paid".to_owned(), reason.to_owned());
    let expected = [
        paid("subscription_create"),
        paid("subscription_cycle"),
        paid("subscription_cycle"),
    ];
    assert_eq!(invoices(&caller), expected);
    assert!(caller.double.prorations().is_empty());
    let ids = caller.double.ids_by("subscription", "lessor_checkout");
    assert_eq!(ids["chk_1"], std::slice::from_ref(&id));
    let gone = caller.request(reqwest::Method::DELETE, &format!("/v1/subscriptions/{id}"));
    assert_eq!(gone.send().await.expect("an answer").status(), 404);
}

#[tokio::test]
async fn an_end_within_a_month_prorates() {
    for (at, behavior, prorates) in [
        ("2026-02-28T12:00:00Z", "none", false),
        ("2026-02-10T12:00:00Z", "create_prorations", true),
        // The running period does not, when it is asked not to; a coming one does.
        ("2026-02-10T12:00:00Z", "none", false),
        ("2026-03-28T12:00:00Z", "none", true),
        ("2026-03-31T12:00:01Z", "none", true),
    ] {
        let caller = Caller::new();
        let (customer, method) = caller.customer().await;
        let id = subscribe(&caller, &customer, &method).await.text("id");
        end(&caller, &id, at, behavior).await;
        // A coming period does when it comes.
        caller.double.advance(TimeDelta::days(60));
        assert_eq!(
            !caller.double.prorations().is_empty(),
            prorates,
            "{at} {behavior}"
        );
    }
}

/// An invoice's payments are there when they are asked for.
#[tokio::test]
async fn invoices_show_their_payments_when_asked_to() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let id = subscribe(&caller, &customer, &method).await.text("id");
    let plain = caller.get(&format!("/v1/invoices?subscription={id}")).await;
    assert!(plain.body["data"][0].get("payments").is_none());
    let path = format!("/v1/invoices?subscription={id}&expand[]=data.payments");
    let asked = caller.get(&path).await;
    let payment = &asked.body["data"][0]["payments"]["data"][0]["payment"];
    let intent = payment["payment_intent"].as_str().expect("a payment");
    let known = caller.double.object(intent).expect("the payment");
    assert_eq!(known["status"], "succeeded");
}

/// The end of a coming period matters when that period comes: one that was mended by then is as if
/// it had never been.
#[tokio::test]
async fn an_end_that_is_mended_in_time_prorates_nothing() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let id = subscribe(&caller, &customer, &method).await.text("id");
    end(&caller, &id, "2026-04-30T11:59:00Z", "none").await;
    end(&caller, &id, "2026-04-30T12:00:00Z", "none").await;
    caller.double.advance(TimeDelta::days(200));
    assert!(caller.double.prorations().is_empty());
    assert_eq!(invoices(&caller).len(), 3);
}

#[tokio::test]
async fn a_prorated_month_costs_less() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let id = subscribe(&caller, &customer, &method).await.text("id");
    end(&caller, &id, "2026-03-14T12:00:00Z", "none").await;
    caller.double.advance(TimeDelta::days(100));
    // 14 of the 31 days from 28 February.
    assert_eq!(invoices(&caller)[1].0, 3_100 * 14 / 31);
}

#[tokio::test]
async fn a_card_that_fails_later_is_past_due_and_charged_again() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let id = subscribe(&caller, &customer, &method).await.text("id");
    let decline = |reason| caller.double.decline(&method, reason).expect("a card");
    decline(Some(Decline::INSUFFICIENT_FUNDS));
    caller.double.set_time(time("2026-03-01T00:00:00Z"));
    let status = || caller.double.object(&id).expect("it")["status"].clone();
    assert_eq!(status(), "past_due");
    let invoice = caller.double.objects("invoice")[1].clone();
    assert_eq!(
        (&invoice["status"], &invoice["attempt_count"]),
        (&"open".into(), &1.into())
    );
    let path = format!(
        "/v1/invoice_payments?invoice={}&expand[]=data.payment.payment_intent",
        invoice["id"].as_str().expect("an id")
    );
    let paid = caller.get(&path).await;
    let intent = &paid.body["data"][0]["payment"]["payment_intent"];
    assert_eq!(
        intent["last_payment_error"]["decline_code"],
        "insufficient_funds"
    );
    decline(None);
    caller.double.advance(TimeDelta::days(4));
    assert_eq!(status(), "active");
    assert_eq!(caller.double.objects("invoice")[1]["attempt_count"], 2);
}

#[tokio::test]
async fn a_first_payment_that_fails_leaves_it_incomplete_for_a_day() {
    let caller = Caller::new();
    let (customer, method) = caller.customer().await;
    let decline = caller.double.decline(&method, Some(Decline::GENERIC));
    assert_eq!(decline, Ok(()));
    let made = subscribe(&caller, &customer, &method).await;
    assert_eq!(
        (made.status, &made.body["status"]),
        (200, &"incomplete".into())
    );
    caller.double.advance(TimeDelta::hours(23));
    let listed = caller
        .get(&format!("/v1/subscriptions?customer={customer}&status=all"))
        .await;
    assert_eq!(listed.body["data"][0]["status"], "incomplete_expired");
}

#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let caller = Caller::new();
    let (customer, _) = caller.customer().await;
    let (_, foreign) = caller.customer().await;
    let refused = subscribe(&caller, &customer, &foreign).await;
    assert_eq!(*refused.error("param"), "default_payment_method");
    let price = caller.double.objects("price")[0]["id"].clone();
    let price = price.as_str().expect("an id");
    // Nothing pays: the customer's methods alone do not.
    let form = format!("customer={customer}&items[0][price]={price}");
    assert_eq!(caller.post("/v1/subscriptions", &form).await.status, 400);
    assert!(caller.double.objects("subscription").is_empty());
}
