//! Lists: pages, counts, filters, orders.

use std::collections::BTreeSet;

use lessor_tests::client::Client;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// The records of a list's answer.
fn records(body: &Value) -> Vec<Value> {
    let list = body.get("results").unwrap_or(body);
    list.as_array().cloned().unwrap_or_default()
}

fn ids(body: &Value) -> Vec<String> {
    records(body)
        .iter()
        .map(|record| text(&record["id"]))
        .collect()
}

async fn listed(client: &Client, path: &str) -> Vec<String> {
    ids(&client.get(path).await.ok())
}

/// Follows the links of a list from its first page; answers what each page had.
async fn followed(client: &Client, first: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut next = Some(first.to_owned());
    while let Some(path) = next.take() {
        assert!(pages.len() < 100, "the list never ends");
        let page = client.get(&path).await;
        page.has(200);
        next = page.next_page().map(|address| {
            let path = address.strip_prefix(&client.url).map(str::to_owned);
            path.unwrap_or_else(|| address.clone())
        });
        pages.push(ids(&page.body));
    }
    pages
}

/// A shop with seven of everything that is listed.
async fn shop(server: &Server) -> Client {
    let client = server.client().await;
    let product = client
        .product(json!({ "options": [{ "name": "Size", "values": ["0", "1", "2", "3", "4", "5", "6"] }] }))
        .await;
    for number in 0..7 {
        let options = json!({ "options": [{ "name": "Size", "value": number.to_string() }] });
        client
            .variant_of(&product, &format!("SKU-{number}"), options)
            .await;
        client
            .checkout(&format!("SKU-{number}"), &format!("c{number}@example.com"))
            .await;
        client
            .post(
                "/v1/product-categories",
                json!({ "name": format!("Category {number}") }),
            )
            .await
            .ok();
    }
    for _ in 0..6 {
        client.product(json!({})).await;
    }
    for months in [48, 60, 72, 84] {
        let term =
            json!({ "termInMonths": months, "method": "moneyFactor", "moneyFactor": "0.001" });
        client.post("/v1/lease-terms", term).await.ok();
    }
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_everything_once_whichever_way_they_are_turned() {
    let server = Server::shared(BINARY).await;
    let client = shop(server).await;
    let products = records(&client.get("/v1/products?limit=100").await.ok());
    let with_variants = text(&products.last().cloned().unwrap_or_default()["id"]);
    for (list, counted, has_offset) in [
        ("/v1/products".to_owned(), true, true),
        ("/v1/checkouts".to_owned(), true, true),
        ("/v1/product-categories".to_owned(), true, true),
        ("/v1/lease-terms".to_owned(), true, true),
        (
            format!("/v1/products/{with_variants}/variants"),
            false,
            false,
        ),
    ] {
        let whole = client.get(&format!("{list}?limit=100")).await;
        let all = ids(&whole.body);
        assert_eq!(all.len(), 7, "{list}");
        assert!(whole.next_page().is_none(), "{list}");
        if counted {
            assert_eq!(whole.header("x-total-count"), "7", "{list}");
        }
        for limit in [1, 2, 3, 6, 7] {
            let pages = followed(&client, &format!("{list}?limit={limit}")).await;
            assert!(
                pages
                    .iter()
                    .all(|page| page.len() <= limit && !page.is_empty()),
                "{list} {pages:?}"
            );
            assert_eq!(pages.concat(), all, "{list} by links of {limit}");
            if !has_offset {
                continue;
            }
            let mut turned = Vec::new();
            for offset in (0..7).step_by(limit) {
                let page = client
                    .get(&format!("{list}?limit={limit}&offset={offset}"))
                    .await;
                assert_eq!(page.header("x-total-count"), "7");
                turned.extend(ids(&page.body));
            }
            assert_eq!(turned, all, "{list} by offsets of {limit}");
            assert_eq!(
                listed(&client, &format!("{list}?offset=7")).await,
                Vec::<String>::new()
            );
        }
        let third = &all[2];
        let after = listed(&client, &format!("{list}?startingAfter={third}&limit=2")).await;
        assert_eq!(after, all[3..5], "{list}");
        if has_offset {
            let both = format!("{list}?startingAfter={third}&offset=1");
            client
                .get(&both)
                .await
                .refused(400, "invalid_parameter", "startingAfter");
        }
        for (param, values) in [
            ("limit", ["0", "101", "-1"]),
            ("offset", ["-1", "10001", "x"]),
        ] {
            for value in values {
                if (param == "offset" && !has_offset)
                    || (param == "limit" && value == "101" && !has_offset)
                {
                    continue;
                }
                let path = format!("{list}?{param}={value}");
                client
                    .get(&path)
                    .await
                    .refused(400, "invalid_parameter", param);
            }
        }
        for unknown in [
            "nonsense",
            "prod_0000000000000000000001",
            "chk_0000000000000000000001",
        ] {
            let path = format!("{list}?startingAfter={unknown}");
            client
                .get(&path)
                .await
                .refused(400, "invalid_parameter", "startingAfter");
        }
    }
    let variants = format!("/v1/products/{with_variants}/variants");
    client.get(&format!("{variants}?limit=250")).await.ok();
    client
        .get(&format!("{variants}?limit=251"))
        .await
        .refused(400, "invalid_parameter", "limit");
}

/// A record that is made between two pages neither shifts nor repeats anything.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_between_pages_repeats_nothing() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    for _ in 0..6 {
        client.product(json!({})).await;
    }
    let first = client.get("/v1/products?limit=3").await;
    client.product(json!({})).await;
    let next = first
        .next_page()
        .unwrap_or_default()
        .replace(&client.url, "");
    let second = client.get(&next).await.ok();
    let seen: BTreeSet<String> = ids(&first.body).into_iter().chain(ids(&second)).collect();
    assert_eq!(seen.len(), 6);
    let sorted = client
        .get("/v1/products?sortBy=updatedAt&sortOrder=asc&limit=2")
        .await;
    let again = followed(
        &client,
        "/v1/products?sortBy=updatedAt&sortOrder=asc&limit=2",
    )
    .await;
    assert_eq!(again.first(), Some(&ids(&sorted.body)));
    assert_eq!(again.concat().len(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn products_are_filtered_and_sorted() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let category = client
        .post("/v1/product-categories", json!({ "name": "Bikes" }))
        .await
        .ok();
    let a = client
        .product(json!({ "name": "Alpha", "externalId": "X-1", "sku": "P-1", "productCategoryId": category["id"] }))
        .await;
    let b = client
        .product(json!({ "name": "Beta", "productType": "add-on", "sku": "P,2" }))
        .await;
    let c = client
        .product(json!({ "name": "Gamma", "externalId": "X-3" }))
        .await;
    let path = |product: &Value| format!("/v1/products/{}", text(&product["id"]));
    client
        .put(&path(&b), json!({ "isWaitlisted": true }))
        .await
        .ok();
    client
        .put(&path(&c), json!({ "status": "inactive" }))
        .await
        .ok();
    let gone = client.product(json!({ "name": "Delta" })).await;
    client
        .put(&path(&gone), json!({ "status": "archived" }))
        .await
        .ok();
    let named = |products: &[&Value]| -> Vec<String> {
        products.iter().map(|one| text(&one["id"])).collect()
    };
    let public = text(&category["id"]);
    let number = category["productCategoryId"].to_string();
    for (query, expected) in [
        (String::new(), vec![&c, &b, &a]),
        ("productType=add-on".into(), vec![&b]),
        ("productType=leasable,add-on".into(), vec![&c, &b, &a]),
        ("status=inactive".into(), vec![&c]),
        ("status=archived".into(), vec![&gone]),
        ("status=archived&status=inactive".into(), vec![&gone, &c]),
        ("isWaitlisted=true".into(), vec![&b]),
        ("isWaitlisted=false".into(), vec![&c, &a]),
        ("externalId=X-1".into(), vec![&a]),
        ("externalId=X-1,X-3".into(), vec![&c, &a]),
        ("externalId=x-9".into(), vec![]),
        ("sku=P-1".into(), vec![&a]),
        (format!("productCategoryId={public}"), vec![&a]),
        (format!("productCategoryId={number}"), vec![&a]),
        (
            "productCategoryId=cat_0000000000000000000001".into(),
            vec![],
        ),
        (
            format!("organizationId={}", client.organization),
            vec![&c, &b, &a],
        ),
        ("productType=leasable&isWaitlisted=true".into(), vec![]),
        ("sortBy=createdAt&sortOrder=asc".into(), vec![&a, &b, &c]),
        ("sortBy=createdAt&sortOrder=desc".into(), vec![&c, &b, &a]),
        ("sortBy=updatedAt&sortOrder=asc".into(), vec![&a, &b, &c]),
        ("sortOrder=asc".into(), vec![&a, &b, &c]),
    ] {
        let list = client.get(&format!("/v1/products?{query}")).await;
        let count = list.header("x-total-count").to_owned();
        let body = list.ok();
        assert_eq!(ids(&body), named(&expected), "{query}");
        assert_eq!(body["total"], expected.len(), "{query}");
        assert_eq!(count, expected.len().to_string(), "{query}");
    }
    let by_name = listed(&client, "/v1/products?sortBy=name&sortOrder=asc").await;
    let down = listed(&client, "/v1/products?sortBy=name&sortOrder=desc").await;
    assert_eq!(by_name, named(&[&a, &b, &c]));
    assert_eq!(down, named(&[&c, &b, &a]));
    client
        .get("/v1/products?sortBy=price")
        .await
        .refused(400, "invalid_parameter", "sortBy");
}

#[tokio::test(flavor = "multi_thread")]
async fn checkouts_are_filtered_and_sorted() {
    let server = Server::shared(BINARY).await;
    let client = server
        .client_of(&["--name", "Area", "--service-area", "US"])
        .await;
    client.variant("BIKE", None).await;
    client.variant("NONE", Some(0)).await;
    let order = |id: &str| json!({ "externalOrderId": id });
    let a = client
        .try_checkout("BIKE", "a@example.com", order("o-2"))
        .await
        .ok();
    let b = client
        .try_checkout("NONE", "b@example.com", order("o-1"))
        .await
        .ok();
    let far = json!({ "shippingAddress": { "address1": "1 Rue", "city": "Paris", "zip": "75001", "country": "FR" } });
    let c = client.try_checkout("BIKE", "c@example.com", far).await.ok();
    let d = client
        .checkout_at("BIKE", "d@example.com", "leaseActive")
        .await;
    assert_eq!(
        (&b["waitlistReason"], &c["waitlistReason"]),
        (&json!("inventory"), &json!("location"))
    );
    let named = |checkouts: &[&Value]| -> Vec<String> {
        checkouts.iter().map(|one| text(&one["id"])).collect()
    };
    for (query, expected) in [
        (String::new(), vec![&d, &c, &b, &a]),
        (format!("id={}", text(&b["id"])), vec![&b]),
        ("id=chk_0000000000000000000001".into(), vec![]),
        (format!("userId={}", text(&a["customerId"])), vec![&a]),
        ("userId=usr_0000000000000000000001".into(), vec![]),
        ("lifecycle=leaseActive".into(), vec![&d]),
        ("lifecycles=leaseActive,created".into(), vec![&d, &a]),
        (
            "lifecycles=leaseActive&lifecycles=created".into(),
            vec![&d, &a],
        ),
        ("lifecycle=created&lifecycles=leaseActive".into(), vec![]),
        ("waitlistReason=inventory".into(), vec![&b]),
        ("waitlistReason=location".into(), vec![&c]),
        ("externalOrderId=o-1".into(), vec![&b]),
        (
            format!("organizationId={}", client.organization_number),
            vec![&d, &c, &b, &a],
        ),
        (
            format!("organizationIds={}", client.organization),
            vec![&d, &c, &b, &a],
        ),
        (
            "sortBy=createdAt&sortOrder=asc".into(),
            vec![&a, &b, &c, &d],
        ),
        (
            "sortBy=externalOrderId&sortOrder=asc&lifecycles=created,waitlistedAfterProfile".into(),
            vec![&b, &a],
        ),
    ] {
        let list = client.get(&format!("/v1/checkouts?{query}")).await;
        let count = list.header("x-total-count").to_owned();
        assert_eq!(ids(&list.ok()), named(&expected), "{query}");
        assert_eq!(count, expected.len().to_string(), "{query}");
    }
    // Whatever they are sorted by, each is there once, and one way is the other reversed.
    for sort in [
        "createdAt",
        "updatedAt",
        "lifecycle",
        "externalOrderId",
        "leaseStartDate",
    ] {
        let up = followed(
            &client,
            &format!("/v1/checkouts?sortBy={sort}&sortOrder=asc&limit=1"),
        )
        .await
        .concat();
        let down = followed(
            &client,
            &format!("/v1/checkouts?sortBy={sort}&sortOrder=desc&limit=3"),
        )
        .await
        .concat();
        let all: BTreeSet<&String> = up.iter().collect();
        assert_eq!((up.len(), all.len(), down.len()), (4, 4, 4), "{sort}");
    }
    client
        .get("/v1/checkouts?sortBy=price")
        .await
        .refused(400, "invalid_parameter", "sortBy");
    client
        .get("/v1/checkouts?lifecycle=shipping")
        .await
        .refused(400, "invalid_parameter", "lifecycle");
    client
        .get("/v1/checkouts?id=prod_0000000000000000000001")
        .await
        .refused(400, "invalid_parameter", "id");
}

/// A list is asked for by values, which may hold commas; ranges are said as they are.
#[tokio::test(flavor = "multi_thread")]
async fn values_with_commas_are_asked_for_and_ranges_are_true() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    for sku in ["a,b", "a", "c"] {
        client.product(json!({ "sku": sku })).await;
    }
    for (query, found) in [
        ("sku=a%5C,b", 1),
        ("sku=a%5C,b&sku=c", 2),
        ("sku=a%5C,b,c", 2),
        ("sku=a,b", 1),
        ("sku=a,c", 2),
    ] {
        let listed = client.get(&format!("/v1/products?{query}")).await.ok();
        assert_eq!(listed["total"], found, "{query}");
    }
    let first = text(&records(&client.get("/v1/products").await.ok())[0]["id"]);
    let rest = client
        .get(&format!("/v1/products?startingAfter={first}&limit=1"))
        .await
        .ok();
    assert_eq!(rest["total"], 3, "all that there are");
    client.delete(&format!("/v1/products/{first}")).await.ok();
    client
        .get(&format!("/v1/products?startingAfter={first}"))
        .await
        .refused(400, "invalid_parameter", "startingAfter");
    for (query, range) in [
        ("limit=x", "from 1 to 100"),
        ("limit=0", "from 1 to 100"),
        ("limit=99999999999999999999", "from 1 to 100"),
        ("offset=-", "from 0 to 10000"),
    ] {
        let param = query.split_once('=').unwrap_or_default().0;
        client
            .get(&format!("/v1/products?{query}"))
            .await
            .refused_with(400, "invalid_parameter", param, &[range]);
    }
    let months = json!({ "termInMonths": 1e30, "method": "moneyFactor", "moneyFactor": "0.001" });
    client.post("/v1/lease-terms", months).await.refused_with(
        400,
        "invalid_parameter",
        "termInMonths",
        &["from 1 to 120"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn variants_of_a_product_are_newest_first() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    let mut made = Vec::new();
    for year in 2001..2004 {
        let variant = client
            .variant_of(
                &product,
                &format!("Y-{year}"),
                json!({ "productYear": year }),
            )
            .await;
        made.insert(0, text(&variant["id"]));
    }
    let path = format!("/v1/products/{}/variants", text(&product["id"]));
    assert_eq!(listed(&client, &path).await, made);
    let pages = followed(&client, &format!("{path}?limit=2")).await;
    assert_eq!(pages.concat(), made);
}

/// Copies the one product 10,000 times.
pub(crate) async fn copy_the_product(server: &Server) {
    // No trigger fires: nobody searches for them.
    server
        .query(
            "SET session_replication_role = replica; \
             INSERT INTO products SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid()))).* \
             FROM products AS p, generate_series(1, 10000)",
        )
        .await;
}

/// Beyond 10,000 a total is told for a while as it was counted; a list that has fewer is counted with each page.
#[tokio::test(flavor = "multi_thread")]
async fn the_total_of_many_products_is_told_as_it_was_counted_a_moment_ago() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    let made = client.product(json!({})).await;
    copy_the_product(&server).await;
    let total = async |query: &str| {
        let page = client.get(&format!("/v1/products?limit=1{query}")).await;
        let told = page.header("x-total-count").to_owned();
        let body = page.ok();
        assert_eq!(told, body["total"].to_string(), "{query}");
        body["total"].clone()
    };
    assert_eq!(total("").await, json!(10_001));
    client.product(json!({})).await;
    assert_eq!(total("").await, json!(10_001), "as it was a moment ago");
    let after = format!("&startingAfter={}", text(&made["id"]));
    assert_eq!(total(&after).await, json!(10_001), "the same list");
    let few = "&createdAfter=2999-01-01T00:00:00Z";
    assert_eq!(total(few).await, json!(0));
    client.product(json!({ "productType": "add-on" })).await;
    assert_eq!(total("&productType=add-on").await, json!(1));
}
