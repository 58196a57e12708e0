//! Customers of one mode and of the other.

use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

fn ids(list: &Value) -> Vec<&Value> {
    let records = list.as_array().into_iter().flatten();
    records.map(|record| &record["id"]).collect()
}

/// Neither key reads, lists, changes or pages after what is the other mode's.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_sees_the_customers_of_its_mode() {
    let server = Server::shared(BINARY).await;
    let sandbox = server.client().await;
    sandbox.variant("BIKE", None).await;
    let live = sandbox.with_key(&server.key(&sandbox.organization, "live", "all"));
    let mut customers = Vec::new();
    for (client, name) in [(&sandbox, "Grace"), (&live, "Amazing")] {
        let members = json!({ "customer": { "email": "grace@example.com", "firstName": name } });
        let made = client.try_checkout("BIKE", "", members).await.ok();
        customers.push(made["customerId"].clone());
    }
    let [played, real] = customers.as_slice() else {
        panic!("{customers:?}")
    };
    assert_ne!(played, real);
    for (client, name, own, other) in [
        (&sandbox, "Grace", played, real),
        (&live, "Amazing", real, played),
    ] {
        let path = |id: &Value| format!("/v1/customers/{}", text(id));
        let seen = client.get(&path(own)).await.ok();
        assert_eq!(
            (&seen["email"], &seen["firstName"]),
            (&json!("grace@example.com"), &json!(name))
        );
        let missing = client.get(&path(other)).await;
        missing.refused(404, "not_found", "");
        let missing = client
            .put(&path(other), json!({ "firstName": "Nobody" }))
            .await;
        missing.refused(404, "not_found", "");

        // The user of the key is of its mode too.
        let listed = client.get("/v1/customers").await;
        assert_eq!(listed.header("x-total-count"), "2");
        assert_eq!(ids(&listed.body)[..1], [own]);
        assert_eq!(listed.body[1]["email"], "staff@example.com");
        let found = client.get("/v1/customers?email=grace@example.com").await;
        assert_eq!(ids(&found.body), [own]);
        let after = format!("/v1/customers?startingAfter={}", text(other));
        let refused = client.get(&after).await;
        refused.refused(400, "invalid_parameter", "startingAfter");
        let of_other = format!("/v1/checkouts?userId={}", text(other));
        assert_eq!(client.get(&of_other).await.ok(), json!([]));

        // What one mode's key notes is not the other's.
        let noted = json!({ "metadata": { "of": name } });
        client.put(&path(own), noted).await.ok();
    }
    for (client, name, id) in [(&sandbox, "Grace", played), (&live, "Amazing", real)] {
        let path = format!("/v1/customers/{}", text(id));
        let seen = client.get(&path).await.ok();
        assert_eq!(
            (&seen["firstName"], &seen["metadata"]["of"]),
            (&json!(name), &json!(name))
        );
    }
}

/// The keys of one person in both modes are two users, and each orders in its mode.
#[tokio::test(flavor = "multi_thread")]
async fn a_keys_own_user_is_of_the_keys_mode() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let mut users = Vec::new();
    for mode in ["sandbox", "live"] {
        let key = server.key_record(&client.organization, mode, "all", &[]);
        let user = key["userPublicId"].clone();
        let own = client.with_key(&text(&key["key"]));
        let path = format!("/v1/customers/{}", text(&user));
        assert_eq!(own.get(&path).await.ok()["email"], "staff@example.com");
        let made = own.post("/v1/checkouts", json!({ "sku": "BIKE" })).await;
        let made = made.ok();
        assert_eq!(
            (&made["environment"], &made["customerId"]),
            (&json!(mode), &user)
        );
        // A second key of the mode is the same user's.
        let again = server.key_record(&client.organization, mode, "all", &[]);
        assert_eq!(again["userPublicId"], user);
        users.push((key["userId"].clone(), user));
    }
    assert_ne!(users[0], users[1]);
}
