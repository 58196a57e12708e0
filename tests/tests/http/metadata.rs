//! What callers keep beside records, and lists that are narrowed by it and by time.

use lessor_tests::client::Client;
use lessor_tests::{Server, text};
use serde_json::{Map, Value, json};

use crate::BINARY;

fn ids(body: &Value) -> Vec<String> {
    let list = body.get("results").unwrap_or(body);
    let records = list.as_array().into_iter().flatten();
    records.map(|record| text(&record["id"])).collect()
}

async fn listed(client: &Client, path: &str) -> Vec<String> {
    let mut found = ids(&client.get(path).await.ok());
    found.sort_unstable();
    found
}

fn sorted<const N: usize>(records: [&Value; N]) -> Vec<String> {
    let mut ids = records.map(|record| text(&record["id"])).to_vec();
    ids.sort_unstable();
    ids
}

/// A product, a variant and a checkout with these metadata, and their paths.
async fn annotated(client: &Client, metadata: &Value) -> [(String, Value); 3] {
    let with = json!({ "metadata": metadata });
    let product = client.product(with.clone()).await;
    let variant = client.variant_of(&product, "BIKE", with.clone()).await;
    let checkout = client
        .try_checkout("BIKE", "ada@example.com", with)
        .await
        .ok();
    [
        ("products", product),
        ("product-variants", variant),
        ("checkouts", checkout),
    ]
    .map(|(place, record)| (format!("/v1/{place}/{}", text(&record["id"])), record))
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_are_merged_and_taken_away() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let first = json!({ "line": "gravel", "größe": "„M“, 100 %" });
    for (path, made) in annotated(&client, &first).await {
        assert_eq!(made["metadata"], first, "{path}");
        assert_eq!(client.get(&path).await.ok()["metadata"], first, "{path}");
        for (change, expected) in [
            (
                json!({ "line": "road", "shelf": "7" }),
                json!({ "line": "road", "größe": "„M“, 100 %", "shelf": "7" }),
            ),
            (
                json!({ "größe": null, "never": null }),
                json!({ "line": "road", "shelf": "7" }),
            ),
            (json!({}), json!({ "line": "road", "shelf": "7" })),
            (Value::Null, Value::Null),
            (json!({ " new ": " x " }), json!({ "new": "x" })),
        ] {
            let body = json!({ "metadata": change });
            let changed = client.put(&path, body).await.ok();
            let kept = changed.get("metadata").cloned().unwrap_or_default();
            assert_eq!(kept, expected, "{path} {change}");
        }
        // What says nothing of it leaves it.
        let other = if path.contains("checkouts") {
            json!({})
        } else {
            json!({ "name": "Another" })
        };
        let changed = client.put(&path, other).await.ok();
        assert_eq!(changed["metadata"], json!({ "new": "x" }), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_metadata_are_told_with_the_key() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let keys = |from: usize, to: usize| {
        let keys = (from..to).map(|number| (format!("k{number}"), json!("1")));
        Value::Object(keys.collect::<Map<_, _>>())
    };
    let long = "k".repeat(41);
    for (path, _) in annotated(&client, &keys(0, 50)).await {
        for (metadata, param) in [
            (keys(50, 51), "metadata".to_owned()),
            (keys(0, 101), "metadata".to_owned()),
            (json!({ "a[b]": "1" }), "metadata.a[b]".to_owned()),
            (json!({ "k1": "" }), "metadata.k1".to_owned()),
            (json!({ "k1": "a\nb" }), "metadata.k1".to_owned()),
            (json!({ "k1": "a\u{202e}b" }), "metadata.k1".to_owned()),
            (json!({ "k1": "x".repeat(501) }), "metadata.k1".to_owned()),
            (json!({ "k1": 1 }), "metadata.k1".to_owned()),
            (json!({ "k1": {} }), "metadata.k1".to_owned()),
            (json!({ long.clone(): "1" }), format!("metadata.{long}")),
            (json!([]), "metadata".to_owned()),
        ] {
            let body = json!({ "metadata": metadata });
            let refused = client.put(&path, body).await;
            refused.refused(400, "invalid_parameter", &param);
        }
        // One goes, another comes.
        let swap = json!({ "metadata": { "k0": null, "k50": "x".repeat(500) } });
        let kept = client.put(&path, swap).await.ok();
        assert_eq!(kept["metadata"].as_object().map(Map::len), Some(50));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_narrowed_by_metadata() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let other = server.client().await;
    let labels = json!({ "line": "gravel", "a.b c": "1,2" });
    let mine = annotated(&client, &labels).await;
    annotated(&other, &labels).await;
    client
        .product(json!({ "metadata": { "line": "road" } }))
        .await;
    let product = text(&mine[0].1["id"]);
    let lists = [
        ("/v1/products".to_owned(), &mine[0].1),
        (format!("/v1/products/{product}/variants"), &mine[1].1),
        ("/v1/checkouts".to_owned(), &mine[2].1),
    ];
    for (list, record) in lists {
        for (query, is_shown) in [
            ("metadata[line]=gravel", true),
            ("metadata[line]=gravel&metadata[a.b%20c]=1,2", true),
            ("metadata%5Ba.b+c%5D=1%2C2", true),
            ("metadata[line]=grav", false),
            ("metadata[line]=gravel&metadata[a.b%20c]=1", false),
            ("metadata[gravel]=line", false),
        ] {
            let found = listed(&client, &format!("{list}?{query}")).await;
            let expected = if is_shown {
                sorted([record])
            } else {
                Vec::new()
            };
            assert_eq!(found, expected, "{list}?{query}");
        }
        for (query, param) in [
            ("metadata=line", "metadata"),
            ("metadata[]=1", "metadata[]"),
            ("metadata[a]=", "metadata.a"),
            ("metadata[a]=1&metadata[a]=2", "metadata.a"),
            ("metadata[a[b]]=1", "metadata.a[b]"),
        ] {
            let refused = client.get(&format!("{list}?{query}")).await;
            refused.refused(400, "invalid_parameter", param);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_narrowed_by_time() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let first = annotated(&client, &json!({})).await;
    let at = |record: &Value, member: &str| text(&record[member]);
    let product = text(&first[0].1["id"]);
    let lists = [
        ("/v1/products".to_owned(), &first[0]),
        (format!("/v1/products/{product}/variants"), &first[1]),
        ("/v1/checkouts".to_owned(), &first[2]),
    ];
    for (list, (path, made)) in lists {
        let (created, updated) = (at(made, "createdAt"), at(made, "updatedAt"));
        let shown = sorted([made]);
        for (query, expected) in [
            (format!("createdAfter={created}"), vec![]),
            (format!("createdBefore={created}"), vec![]),
            (format!("updatedAfter={updated}"), vec![]),
            (format!("updatedBefore={updated}"), vec![]),
            ("createdAfter=2020-01-01T00:00:00Z".to_owned(), shown.clone()),
            (
                "createdAfter=2020-01-01T02:00:00%2B02:00&createdBefore=2999-12-31T23:59:59.999999Z"
                    .to_owned(),
                shown.clone(),
            ),
            (
                "updatedAfter=2020-01-01T00:00:00Z&updatedBefore=2020-01-02T00:00:00Z".to_owned(),
                vec![],
            ),
        ] {
            let found = listed(&client, &format!("{list}?{query}")).await;
            assert_eq!(found, expected, "{list}?{query}");
        }
        let body = json!({ "metadata": { "seen": "1" } });
        client.put(path, body).await.ok();
        let found = listed(&client, &format!("{list}?updatedAfter={updated}")).await;
        assert_eq!(found, shown, "{list}: what changed since");
        for wrong in [
            "2026-11-20",
            "yesterday",
            "1700000000",
            "2026-11-20T09:14:00",
        ] {
            let refused = client.get(&format!("{list}?updatedBefore={wrong}")).await;
            refused.refused(400, "invalid_parameter", "updatedBefore");
        }
    }
}
