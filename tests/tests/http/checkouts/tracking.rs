//! Where shipments are: as the organization, the carriers and the sandbox tell it.

use lessor_tests::client::{Client, Reply};
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;
use crate::wrong_input::signed_headers;

async fn shipped(client: &Client, email: &str, number: &str) -> Value {
    let ready = client.checkout_at("BIKE", email, "orderConfirmed").await;
    let body = json!({ "trackingNumber": number, "trackingCarrier": "ups" });
    client.act(&ready, "fulfill", body).await.ok()
}

/// A carrier's message under an id.
async fn tell(client: &Client, id: &str, message: &Value) -> Reply {
    let body = message.to_string();
    let signed = signed_headers(id, &body);
    let headers: Vec<(&str, &str)> = signed
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    client
        .with_key("")
        .send(
            "POST",
            "/webhooks/tracking",
            &headers,
            Some(body.into_bytes()),
        )
        .await
}

fn message(number: &str, status: &str, minute: u32) -> Value {
    json!({
        "trackingNumber": number, "carrier": "ups", "status": status, "timestamp": format!("2026-01-02T03:{minute:02}:00Z"),
        "description": format!("It is {status}"), "location": "Memphis"
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn tracking_is_added_changed_and_read() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let ready = client
        .checkout_at("BIKE", "grace@example.com", "orderConfirmed")
        .await;
    let path = format!("/v1/checkouts/{}/tracking", text(&ready["id"]));
    client.get(&path).await.refused(400, "invalid_request", "");
    let number = json!({ "trackingNumber": "1Z999AA10123456784" });
    client
        .post(&path, number.clone())
        .await
        .refused(400, "invalid_request", "");
    client.act(&ready, "fulfill", number).await.ok();
    let first = client.get(&path).await.ok();
    assert_eq!(
        (&first["trackingNumber"], &first["carrier"]),
        (&json!("1Z999AA10123456784"), &json!("ups"))
    );
    assert!(
        first["events"].is_array() && first["shippedAt"].is_string(),
        "{first}"
    );
    let changed = client
        .post(
            &path,
            json!({ "trackingNumber": "9612 0987 6543 2109 8769 99", "carrier": "fedex" }),
        )
        .await
        .ok();
    assert_eq!(
        (&changed["trackingNumber"], &changed["carrier"]),
        (&json!("9612098765432109876999"), &json!("fedex"))
    );
    assert_eq!(client.get(&path).await.ok(), changed);
    let checkout = client.reread(&ready).await;
    assert_eq!(
        (&checkout["trackingCarrier"], &checkout["lifecycle"]),
        (&json!("fedex"), &json!("shipped"))
    );
    for (body, param) in [
        (
            json!({ "trackingNumber": "1Z999AA10123456784", "carrier": "FedEx" }),
            "carrier",
        ),
        (json!({ "trackingNumber": "--" }), "trackingNumber"),
    ] {
        client
            .post(&path, body)
            .await
            .refused(400, "invalid_parameter", param);
    }
    client
        .post(&path, json!({ "carrier": "ups" }))
        .await
        .refused(400, "parameter_missing", "trackingNumber");
}

/// Messages come late, twice and in any order, and end in the same state.
#[tokio::test(flavor = "multi_thread")]
async fn the_order_of_messages_makes_no_difference() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let story = [
        ("preTransit", 1),
        ("inTransit", 2),
        ("outForDelivery", 3),
        ("delivered", 4),
    ];
    let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]];
    let mut told = Vec::new();
    for (round, order) in orders.into_iter().enumerate() {
        let number = format!("1ZTEST{round:04}{}", std::process::id());
        let checkout = shipped(&client, &format!("order{round}@example.com"), &number).await;
        for place in order {
            let (status, minute) = story[place];
            let message = message(&number, status, minute);
            for _ in 0..2 {
                let id = format!("msg_{number}_{place}");
                assert_eq!(
                    tell(&client, &id, &message).await.ok(),
                    json!({ "received": true })
                );
            }
        }
        let now = client.reread(&checkout).await;
        assert_eq!(
            (&now["lifecycle"], &now["trackingStatus"]),
            (&json!("leaseActive"), &json!("delivered")),
            "{order:?}"
        );
        assert_eq!(now["deliveredAt"], "2026-01-02T03:04:00.000Z");
        let tracking = client
            .get(&format!("/v1/checkouts/{}/tracking", text(&checkout["id"])))
            .await
            .ok();
        let events: Vec<String> = tracking["events"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|event| text(&event["status"]))
            .collect();
        assert_eq!(
            events
                .iter()
                .filter(|status| *status == "delivered")
                .count(),
            1,
            "{order:?}: {events:?}"
        );
        let mut record = tracking;
        for own in ["trackingNumber", "shippedAt"] {
            record.as_object_mut().map(|members| members.remove(own));
        }
        // What the shop itself recorded has a time of its own.
        if let Some(events) = record["events"].as_array_mut() {
            events.retain(|event| text(&event["timestamp"]).starts_with("2026-01-02"));
        }
        told.push(record);
    }
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_messages_are_refused_and_change_nothing() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let number = format!("1ZFORGED{}", std::process::id());
    let checkout = shipped(&client, "grace@example.com", &number).await;
    let message = message(&number, "delivered", 4);
    let body = message.to_string();
    let good = signed_headers("msg_forged", &body);
    let nobody = client.with_key("");
    let tampered = body.replace("delivered", "failure");
    let (id, time, signature) = (good[0].1.as_str(), good[1].1.as_str(), good[2].1.as_str());
    for (what, headers, body) in [
        ("no header", vec![], &body),
        (
            "no signature",
            vec![("webhook-id", id), ("webhook-timestamp", time)],
            &body,
        ),
        (
            "no id",
            vec![
                ("webhook-timestamp", time),
                ("webhook-signature", signature),
            ],
            &body,
        ),
        (
            "another body",
            vec![
                ("webhook-id", id),
                ("webhook-timestamp", time),
                ("webhook-signature", signature),
            ],
            &tampered,
        ),
        (
            "another id",
            vec![
                ("webhook-id", "msg_x"),
                ("webhook-timestamp", time),
                ("webhook-signature", signature),
            ],
            &body,
        ),
        (
            "another time",
            vec![
                ("webhook-id", id),
                ("webhook-timestamp", "1700000000"),
                ("webhook-signature", signature),
            ],
            &body,
        ),
        (
            "no time",
            vec![
                ("webhook-id", id),
                ("webhook-timestamp", "now"),
                ("webhook-signature", signature),
            ],
            &body,
        ),
        (
            "no base64",
            vec![
                ("webhook-id", id),
                ("webhook-timestamp", time),
                ("webhook-signature", "v1,???"),
            ],
            &body,
        ),
        (
            "an empty signature",
            vec![
                ("webhook-id", id),
                ("webhook-timestamp", time),
                ("webhook-signature", ""),
            ],
            &body,
        ),
    ] {
        let refused = nobody
            .send(
                "POST",
                "/webhooks/tracking",
                &headers,
                Some(body.clone().into_bytes()),
            )
            .await;
        assert_eq!(
            (refused.status, &refused.body["error"]["code"]),
            (401, &json!("unauthorized")),
            "{what}"
        );
    }
    assert_eq!(client.reread(&checkout).await, checkout);
    // About a shipment that is nobody's: taken in, and nothing follows.
    let unknown = json!({ "trackingNumber": "1Z0000000000000000", "carrier": "ups", "status": "delivered", "timestamp": "2026-01-02T03:04:05Z" });
    tell(&client, &format!("unknown_{number}"), &unknown)
        .await
        .ok();
    assert_eq!(client.reread(&checkout).await, checkout);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_on_the_way_is_an_exception_until_it_moves_again() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    for (round, bad) in ["returnToSender", "failure"].into_iter().enumerate() {
        let number = format!("1ZBAD{round}{}", std::process::id());
        let checkout = shipped(&client, &format!("bad{round}@example.com"), &number).await;
        let path = format!(
            "/v1/sandbox/checkouts/{}/tracking-event",
            text(&checkout["id"])
        );
        let event = json!({ "status": bad, "description": "lost", "location": "Nowhere" });
        let told = client.post(&path, event).await.ok();
        assert_eq!(
            (&told["status"], &told["currentLocation"]),
            (&json!(bad), &json!("Nowhere"))
        );
        let now = client.reread(&checkout).await;
        assert_eq!(
            (&now["lifecycle"], &now["progress"]["needsAttention"]),
            (&json!("fulfillmentException"), &json!(true))
        );
        client
            .post(&path, json!({ "status": "inTransit" }))
            .await
            .ok();
        assert_eq!(client.reread(&checkout).await["lifecycle"], "shipped");
        client.post(&path, json!({ "status": bad })).await.ok();
        client
            .post(&path, json!({ "status": "delivered" }))
            .await
            .ok();
        assert_eq!(client.reread(&checkout).await["lifecycle"], "leaseActive");
        // Whatever comes after the delivery moves nothing.
        client.post(&path, json!({ "status": bad })).await.ok();
        assert_eq!(client.reread(&checkout).await["lifecycle"], "leaseActive");
    }
    let untracked = client
        .checkout_at("BIKE", "none@example.com", "orderConfirmed")
        .await;
    let path = format!(
        "/v1/sandbox/checkouts/{}/tracking-event",
        text(&untracked["id"])
    );
    client
        .post(&path, json!({ "status": "delivered" }))
        .await
        .refused(400, "invalid_request", "");
}

/// The newest word of the carrier counts, also where its clock is behind; and what it said before the
/// number was given.
#[tokio::test(flavor = "multi_thread")]
async fn the_carrier_is_believed_whatever_the_clocks_say() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let early = format!("1ZEARLY{}", std::process::id());
    // 2026-01-02, long before the shipment.
    let body = message(&early, "failure", 4).to_string();
    let send = async |id: &str, body: &str| {
        let headers = signed_headers(id, body);
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        client
            .with_key("")
            .send(
                "POST",
                "/webhooks/tracking",
                &headers,
                Some(body.as_bytes().to_vec()),
            )
            .await
    };
    assert_eq!(send("msg_early", &body).await.ok()["received"], true);
    let claimed = shipped(&client, "grace@example.com", &early).await;
    let now = client.reread(&claimed).await;
    assert_eq!(
        (&now["trackingStatus"], &now["lifecycle"]),
        (&json!("failure"), &json!("fulfillmentException"))
    );
    let late = format!("1ZLATE{}", std::process::id());
    let known = shipped(&client, "ada@example.com", &late).await;
    let body = message(&late, "failure", 4).to_string();
    send("msg_late", &body).await.ok();
    assert_eq!(
        client.reread(&known).await["lifecycle"],
        "fulfillmentException"
    );
    for unreadable in ["", "{", "[]", "{}"] {
        assert_eq!(
            send("msg_unreadable", unreadable).await.status,
            400,
            "{unreadable:?}"
        );
    }
}
