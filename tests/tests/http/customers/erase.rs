//! `POST /v1/customers/{id}/erase` and `GET /v1/customers/{id}/export`.

use lessor_tests::client::Client;
use lessor_tests::server::PATIENCE;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// A word that stands in all that is given of the person.
const WORD: &str = "Quixotrix";

/// An order of the person, whose every text has the word.
fn order(months: u16) -> Value {
    let address = json!({
        "firstName": WORD, "lastName": "Hopper", "company": WORD, "address1": format!("1 {WORD} St"),
        "address2": WORD, "city": WORD, "state": "CA", "zip": "94105", "country": "US", "phone": "+14155550100"
    });
    json!({
        "sku": "BIKE", "selectedTermInMonths": months, "billingAddress": address, "shippingAddress": address,
        "metadata": { "note": WORD },
        "customer": {
            "email": format!("{WORD}@example.com"), "firstName": WORD, "lastName": WORD,
            "address1": format!("1 {WORD} St"), "city": WORD, "state": "CA", "zip": "94105", "country": "US",
            "phone": "+14155550100"
        }
    })
}

fn customer_of(checkout: &Value) -> String {
    format!("/v1/customers/{}", text(&checkout["customerId"]))
}

/// What the server tells of the customer, wherever it does.
async fn told(client: &Client, customer: &str, checkouts: &[&Value]) -> String {
    let mut told = String::new();
    let lists = [
        "/v1/customers?limit=100",
        "/v1/checkouts?limit=100",
        "/v1/audit?limit=100",
    ];
    let mut paths: Vec<String> = lists.map(str::to_owned).to_vec();
    paths.extend([customer.to_owned(), format!("{customer}/export")]);
    for checkout in checkouts {
        paths.push(format!("/v1/checkouts/{}", text(&checkout["id"])));
    }
    for path in paths {
        told.push_str(&client.get(&path).await.ok().to_string());
    }
    told.to_lowercase()
}

fn tables(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.map(|one| text(one.get("what").unwrap_or(one)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_person_is_told_any_more() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let over = client
        .post_once("/v1/checkouts", "order-1", &order(12))
        .await
        .ok();
    let reason = json!({ "reason": format!("{WORD} changed their mind") });
    client.act(&over, "cancel", reason).await.ok();
    let open = client.post("/v1/checkouts", order(24)).await.ok();
    let customer = customer_of(&over);
    assert_eq!(customer_of(&open), customer);
    client
        .put(&customer, json!({ "metadata": { "tier": WORD } }))
        .await
        .ok();
    // Who has the same name is somebody else.
    let namesake = json!({ "customer": { "email": "other@example.com", "firstName": WORD } });
    let namesake = client.try_checkout("BIKE", "", namesake).await.ok();
    assert!(
        told(&client, &customer, &[&over, &open])
            .await
            .contains("quixotrix")
    );

    let erase = format!("{customer}/erase");
    let erased = client.post_once(&erase, "erase-1", &json!({})).await;
    let report = erased.clone().ok();
    let from = tables(&report["erased"]);
    for table in ["customers", "checkout_applications", "idempotency_answers"] {
        assert!(from.iter().any(|one| one == table), "{table}: {report:#}");
    }
    let mut sorted = from.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(from, sorted);
    for kept in report["kept"].as_array().unwrap() {
        assert!(!text(&kept["why"]).is_empty(), "{kept}");
        assert!(kept.get("until").is_none(), "nothing is leased: {kept}");
    }
    let again = client.post_once(&erase, "erase-1", &json!({})).await;
    assert_eq!(again.bytes, erased.bytes);

    // The namesake's is all that is left of the word.
    let theirs = client.get(&customer_of(&namesake)).await.ok();
    assert_eq!(theirs["firstName"], WORD);
    let namesake = format!("{}/erase", customer_of(&namesake));
    client.post(&namesake, json!({})).await.ok();
    let rest = told(&client, &customer, &[&over, &open]).await;
    assert!(!rest.contains("quixotrix"), "{rest}");
    assert!(!rest.contains("4155550100"), "{rest}");
    let seen = client.get(&customer).await.ok();
    assert!(seen["erasedAt"].is_string(), "{seen}");
    assert!(text(&seen["email"]).ends_with("@lessor.invalid"), "{seen}");
    for gone in ["firstName", "address1", "country", "phone", "metadata"] {
        assert!(seen.get(gone).is_none(), "{gone}: {seen}");
    }
    let called_off = client.reread(&open).await;
    assert_eq!(called_off["lifecycle"], "cancelled", "it was on its way");
    assert_eq!(called_off["customerId"], over["customerId"]);

    // The request of before is answered, and carried out no second time.
    let repeated = client
        .post_once("/v1/checkouts", "order-1", &order(12))
        .await;
    repeated.refused(404, "not_found", "");
    assert_eq!(repeated.header("idempotent-replayed"), "true");
    // Nobody changes who is erased; who orders anew is another.
    let refused = client.put(&customer, json!({ "firstName": WORD })).await;
    refused.refused_with(400, "invalid_request", "", &["erased"]);
    let anew = client.post("/v1/checkouts", order(12)).await.ok();
    assert_ne!(anew["customerId"], over["customerId"]);
    // To erase again changes nothing, of whoever has the address now neither.
    let second = client.post(&erase, json!({})).await.ok();
    assert_eq!(second["erased"], json!([]), "{second:#}");
    assert_eq!(
        client.get(&customer).await.ok()["erasedAt"],
        seen["erasedAt"]
    );
    let theirs = client.get(&customer_of(&anew)).await.ok();
    assert_eq!(theirs["firstName"], WORD);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_lease_keeps_what_it_needs_until_it_ends() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.post("/v1/checkouts", order(12)).await.ok();
    let lease = client.advance(&made, "leaseActive").await.ok();
    assert_eq!(lease["lifecycle"], "leaseActive");
    let customer = customer_of(&lease);
    let erase = format!("{customer}/erase");
    let report = client.post(&erase, json!({})).await.ok();
    let kept = report["kept"].as_array().unwrap();
    let of_customer = kept.iter().find(|one| one["what"] == "customers");
    let of_customer = of_customer.unwrap_or_else(|| panic!("{report:#}"));
    assert!(!text(&of_customer["why"]).is_empty());
    assert_eq!(of_customer["until"], lease["leaseEndDate"], "{report:#}");
    let seen = client.get(&customer).await.ok();
    assert_eq!(
        (&seen["firstName"], seen["erasedAt"].is_string()),
        (&json!(WORD), true)
    );
    for gone in ["phone", "metadata"] {
        assert!(seen.get(gone).is_none(), "{gone}: {seen}");
    }
    let now = client.reread(&lease).await;
    assert_eq!(now["lifecycle"], "leaseActive");
    assert_eq!(now["recurringPaymentStatus"], "active");
    let refused = client.put(&customer, json!({ "firstName": "Ada" })).await;
    refused.refused_with(400, "invalid_request", "", &["erased"]);

    client.move_to(&lease, "returnPending").await.ok();
    client.move_to(&lease, "returned").await.ok();
    let deadline = std::time::Instant::now() + PATIENCE;
    while client.reread(&lease).await["recurringPaymentStatus"] != "cancelled" {
        assert!(
            std::time::Instant::now() < deadline,
            "the subscription goes on"
        );
    }
    let report = client.post(&erase, json!({})).await.ok();
    assert!(
        tables(&report["erased"]).contains(&"customers".to_owned()),
        "{report:#}"
    );
    let kept = report["kept"].as_array().into_iter().flatten();
    let needed: Vec<&Value> = kept.filter(|one| one.get("until").is_some()).collect();
    assert_eq!(needed, Vec::<&Value>::new(), "nothing is leased any more");
    let rest = told(&client, &customer, &[&lease]).await;
    // Who signed the lease that there was is kept, as the report says.
    let mut parts = rest.split("\"signername\":\"");
    let mut unsigned = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        unsigned.extend(part.split_once('"').map(|(_, rest)| rest));
    }
    assert!(rest.contains("quixotrix"), "{report:#}");
    assert!(!unsigned.contains("quixotrix"), "{unsigned}");
    let over = client.reread(&lease).await;
    assert_eq!(
        (&over["lifecycle"], &over["id"]),
        (&json!("returned"), &lease["id"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_has_all_that_is_known() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let key = server.key_record(&client.organization, "sandbox", "all", &[]);
    let client = client.with_key(&text(&key["key"]));
    client.variant("BIKE", None).await;
    let made = client.post("/v1/checkouts", order(12)).await.ok();
    let confirmed = client.advance(&made, "orderConfirmed").await.ok();
    let number = json!({ "trackingNumber": "1Z999AA10123456784" });
    client.act(&confirmed, "fulfill", number).await.ok();
    let second = client.post("/v1/checkouts", order(24)).await.ok();
    let reason = json!({ "reason": "one is enough" });
    client.act(&second, "cancel", reason).await.ok();
    let other = client.checkout("BIKE", "other@example.com").await;

    let customer = customer_of(&made);
    let export = client.get(&format!("{customer}/export")).await.ok();
    assert_eq!(export["customer"], client.get(&customer).await.ok());
    let checkouts = export["checkouts"].as_array().unwrap();
    let ids: Vec<&Value> = checkouts.iter().map(|one| &one["checkout"]["id"]).collect();
    assert_eq!(ids, [&made["id"], &second["id"]], "oldest first");
    let (shipped, cancelled) = (&checkouts[0], &checkouts[1]);
    assert_eq!(shipped["checkout"], client.reread(&made).await);
    let moved = shipped["history"].as_array().unwrap();
    let fulfilled = moved
        .iter()
        .find(|one| one["event"] == "fulfilled")
        .unwrap();
    assert_eq!(fulfilled["keyId"], key["keyId"]);
    assert_eq!(
        (&fulfilled["from"], &fulfilled["to"], &fulfilled["actor"]),
        (
            &json!("orderConfirmed"),
            &json!("shipped"),
            &json!("operator")
        )
    );
    let happened = |event: &str| moved.iter().position(|one| one["event"] == event);
    let captured = happened("depositCaptured");
    assert!(
        captured.is_some() && captured < happened("fulfilled"),
        "in the order in which it happened: {moved:#?}"
    );
    let called_off = cancelled["history"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&called_off["event"], &called_off["reason"]),
        (&json!("cancelled"), &json!("one is enough"))
    );
    assert!(!shipped["trackingEvents"].as_array().unwrap().is_empty());
    let hold = &shipped["payments"][0];
    assert_eq!(
        (&hold["kind"], &hold["state"], &hold["currency"]),
        (&json!("hold"), &json!("captured"), &json!("USD"))
    );
    assert_eq!(cancelled["payments"], json!([]));
    let actions: Vec<String> = (export["audit"].as_array().into_iter().flatten())
        .map(|event| text(&event["action"]))
        .collect();
    for action in ["customer.created", "checkout.created", "customer.screened"] {
        assert!(
            actions.iter().any(|one| one == action),
            "{action}: {actions:?}"
        );
    }
    // Nothing of anybody else.
    assert!(!export.to_string().contains(&text(&other["customerId"])));
    assert!(!export.to_string().contains(&text(&other["id"])));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_takes_no_more_than_its_path() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let erase = format!("{}/erase", customer_of(&made));
    let refused = client.post(&erase, json!({ "confirm": true })).await;
    refused.refused(400, "invalid_parameter", "confirm");
    let writer = client.with_key(&server.key(
        &client.organization,
        "sandbox",
        "CustomerWrite,CustomerRead",
    ));
    let refused = writer.post(&erase, json!({})).await;
    refused.refused_with(403, "forbidden", "", &["CustomerErase"]);
    let refused = writer.get(&erase.replace("erase", "export")).await;
    refused.refused_with(403, "forbidden", "", &["CustomerErase"]);
    assert_eq!(client.reread(&made).await["lifecycle"], "created");
    client.send("POST", &erase, &[], None).await.ok();
    assert_eq!(client.reread(&made).await["lifecycle"], "cancelled");
}
