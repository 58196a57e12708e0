//! Who is listed, and who is not.

use lessor_tests::client::Client;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// A shop whose customers have these addresses, oldest first.
async fn shop(server: &Server, emails: &[&str]) -> Client {
    let client = server.client().await;
    client.variant("BIKE", None).await;
    for email in emails {
        client.checkout("BIKE", email).await;
    }
    client
}

fn emails(body: &Value) -> Vec<String> {
    let records = body.as_array().into_iter().flatten();
    records.map(|record| text(&record["email"])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organization_sees_its_own_customers_newest_first() {
    let server = Server::shared(BINARY).await;
    let client = shop(server, &["ada@example.com", "Grace@Example.com"]).await;
    let other = shop(server, &["ada@example.com", "edsger@example.com"]).await;
    let listed = client.get("/v1/customers").await;
    let found = emails(&listed.body);
    // The user of the key is one of them, and older than all.
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[..2], ["Grace@Example.com", "ada@example.com"]);
    assert_eq!(listed.header("x-total-count"), "3");
    let theirs = other.get("/v1/customers").await.ok();
    assert_eq!(
        emails(&theirs)[..2],
        ["edsger@example.com", "ada@example.com"]
    );
    for record in listed.body.as_array().unwrap() {
        let path = format!("/v1/customers/{}", text(&record["id"]));
        assert_eq!(&client.get(&path).await.ok(), record);
        other.get(&path).await.has(404);
    }
    let of_another = text(&theirs[0]["id"]);
    let refused = client
        .get(&format!("/v1/customers?startingAfter={of_another}"))
        .await;
    refused.refused(400, "invalid_parameter", "startingAfter");
}

#[tokio::test(flavor = "multi_thread")]
async fn customers_are_found_by_address_in_any_case_and_form() {
    let server = Server::shared(BINARY).await;
    let client = shop(server, &["ada@example.com", "Grace@Example.com"]).await;
    for (email, expected) in [
        ("grace%40example.com", vec!["Grace@Example.com"]),
        ("GRACE@EXAMPLE.COM", vec!["Grace@Example.com"]),
        ("%EF%BD%81da@example.com", vec!["ada@example.com"]),
        ("nobody@example.com", vec![]),
    ] {
        let listed = client.get(&format!("/v1/customers?email={email}")).await;
        assert_eq!(emails(&listed.body), expected, "{email}");
        let total = expected.len().to_string();
        assert_eq!(listed.header("x-total-count"), total);
    }
    let refused = client.get("/v1/customers?email=nonsense").await;
    refused.refused(400, "invalid_parameter", "email");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_customers_have_everyone_once() {
    let server = Server::shared(BINARY).await;
    let names: Vec<String> = (0..5)
        .map(|number| format!("c{number}@example.com"))
        .collect();
    let client = shop(
        server,
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    )
    .await;
    let all = emails(&client.get("/v1/customers").await.ok());
    assert_eq!(all.len(), 6);
    let mut turned = Vec::new();
    let mut next = Some("/v1/customers?limit=4".to_owned());
    while let Some(path) = next {
        let page = client.get(&path).await;
        let is_first = !path.contains("startingAfter");
        let told = if is_first { "6" } else { "" };
        assert_eq!(page.header("x-total-count"), told, "{path}");
        turned.extend(emails(&page.body));
        next = page.next_page().map(|address| {
            let path = address.strip_prefix(&client.url).map(str::to_owned);
            path.unwrap_or(address)
        });
    }
    assert_eq!(turned, all);
    let second = client.get("/v1/customers?limit=4&offset=4").await.ok();
    assert_eq!(emails(&second), all[4..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn customers_are_annotated_and_found_by_it() {
    let server = Server::shared(BINARY).await;
    let client = shop(server, &["ada@example.com", "grace@example.com"]).await;
    let listed = client.get("/v1/customers?email=ada@example.com").await.ok();
    let path = format!("/v1/customers/{}", text(&listed[0]["id"]));
    assert!(listed[0].get("metadata").is_none());
    let body = json!({ "metadata": { "tier": "gold", "größe": "M" } });
    let updated = client.put(&path, body).await.ok();
    assert_eq!(updated["metadata"], json!({ "tier": "gold", "größe": "M" }));
    for (query, expected) in [
        ("metadata[tier]=gold", 1),
        ("metadata[tier]=gold&metadata%5Bgr%C3%B6%C3%9Fe%5D=M", 1),
        ("metadata[tier]=gold&metadata[none]=1", 0),
        ("metadata[tier]=Gold", 0),
    ] {
        let found = client.get(&format!("/v1/customers?{query}")).await.ok();
        assert_eq!(emails(&found).len(), expected, "{query}");
    }
    let body = json!({ "metadata": { "tier": null } });
    let updated = client.put(&path, body).await.ok();
    assert_eq!(updated["metadata"], json!({ "größe": "M" }));
    let updated = client.put(&path, json!({ "metadata": null })).await.ok();
    assert!(updated.get("metadata").is_none());
}
