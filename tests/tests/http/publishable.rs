//! Publishable keys, and the element that shows prices with them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use lessor_tests::client::Client;
use lessor_tests::{Browser, Server, text};
use serde_json::{Value, json};

use crate::BINARY;
use crate::access::{Shop, send};

/// The operations that a publishable key may ask for. All others are refused to it.
const PUBLIC: [(&str, &str); 5] = [
    ("GET", "/v1/products/{id}"),
    ("GET", "/v1/product-variants/{id}"),
    ("GET", "/v1/product-variants/by-sku/{sku}"),
    ("GET", "/v1/product-variants/{identifier}/pricing-summary"),
    ("GET", "/v1/product-variants/{identifier}/lowest"),
];

/// A new publishable key of the organization, as `key create` shows it.
fn publishable(server: &Server, organization: &str) -> Value {
    server.cli(&[
        "key",
        "create",
        "--org",
        organization,
        "--mode",
        "sandbox",
        "--publishable",
    ])
}

fn with_publishable_key(server: &Server, client: &Client) -> Client {
    client.with_key(&text(&publishable(server, &client.organization)["key"]))
}

/// Every operation of the document is asked with the key; those that take it say so in the document.
#[tokio::test(flavor = "multi_thread")]
async fn a_publishable_key_reads_prices_and_nothing_else() {
    let server = Server::shared(BINARY).await;
    let shop = Shop::new(server).await;
    let key = with_publishable_key(server, &shop.client);
    let contract = shop.client.contract();
    let requests = shop.requests();
    shop.asks_every_operation(&requests);
    for (method, path, body, _) in &requests {
        let (pattern, operation) = contract.operation(method, path).unwrap();
        let is_public = PUBLIC.contains(&(*method, pattern));
        let says_so = operation["security"]
            .as_array()
            .is_some_and(|ways| ways.iter().any(|way| way["publishableKey"].is_array()));
        assert_eq!(says_so, is_public, "{method} {pattern}");
        let answered = send(&key, method, path, body.as_ref()).await;
        if is_public {
            answered.has(200);
            let head = key.send("HEAD", path, &[], None).await;
            assert_eq!((head.status, head.bytes.len()), (200, 0), "{path}");
        } else {
            answered.refused_with(403, "forbidden", "", &["publishable", "only read prices"]);
        }
    }
    // What there is not is no exception, and nothing was done.
    key.get("/v1/nope").await.refused(403, "forbidden", "");
    key.delete("/v1/products").await.has(405);
    let product = format!("/v1/products/{}", shop.product);
    assert_eq!(shop.client.get(&product).await.ok()["name"], "Road bike");
    // What is no use of a key at all is none of this one.
    let page = shop
        .client
        .get(&format!("/v1/checkouts/{}", shop.checkout))
        .await
        .ok();
    let address = text(&page["checkoutUrl"]);
    let path = address.strip_prefix(&key.url).unwrap();
    let opened = key.with_key("").get(path).await;
    assert_eq!(opened.bytes, key.get(path).await.bytes);
    let token = path.rsplit('/').next().unwrap();
    let other = path.replace(token, &"0".repeat(token.len()));
    key.get(&other).await.has(404);
    for path in [
        "/webhooks/processor",
        "/webhooks/tracking",
        "/webhooks/mail",
    ] {
        key.post(path, json!({}))
            .await
            .refused(401, "unauthorized", "");
    }
    // Of another organization nothing is there.
    let stranger = with_publishable_key(server, &server.client().await);
    for (method, path, _, _) in &requests {
        let (pattern, _) = contract.operation(method, path).unwrap();
        if PUBLIC.contains(&(*method, pattern)) {
            stranger.get(path).await.refused(404, "not_found", "");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_shows_what_is_sold_and_tells_no_more() {
    let server = Server::shared(BINARY).await;
    let client = server
        .client_of(&["--name", "Reviewed", "--requires-review"])
        .await;
    let category = client
        .post("/v1/product-categories", json!({ "name": "Bikes" }))
        .await
        .ok();
    let kept = json!({ "externalId": "E-1", "metadata": { "supplier": "Acme" } });
    let mut members = kept.clone();
    members["productCategoryId"] = category["id"].clone();
    let product = client.product(members).await;
    let mut members = kept;
    members["inventoryQuantity"] = json!(3);
    let variant = client.variant_of(&product, "BIKE", members).await;
    let window = with_publishable_key(server, &client);
    let id = text(&product["id"]);
    let review = |status: &str| server.cli(&["product", "review", &id, "--status", status]);
    let product_path = format!("/v1/products/{id}");
    let variant_path = format!("/v1/product-variants/{}", text(&variant["id"]));
    let paths = [
        product_path.clone(),
        variant_path.clone(),
        "/v1/product-variants/by-sku/BIKE".to_owned(),
        "/v1/product-variants/BIKE/pricing-summary".to_owned(),
        "/v1/product-variants/E-1/lowest".to_owned(),
    ];
    let shows = async |expected: &[bool; 5], why: &str| {
        for (path, is_shown) in paths.iter().zip(expected) {
            // What the holder of a secret key was told a moment ago is no matter.
            client.get(path).await;
            let answered = window.get(path).await;
            let status = if *is_shown { 200 } else { 404 };
            assert_eq!(answered.status, status, "{why}: {path} {}", answered.body);
        }
    };
    shows(&[false; 5], "nobody reviewed it").await;
    review("approved");
    shows(&[true; 5], "approved").await;
    for (record, hidden) in [
        (
            window.get(&product_path).await.ok(),
            &[
                "externalId",
                "metadata",
                "productCategoryId",
                "reviewedAt",
                "reviewNotes",
            ] as &[&str],
        ),
        (
            window.get(&variant_path).await.ok(),
            &["externalId", "metadata", "inventoryQuantity"],
        ),
    ] {
        for member in hidden {
            assert!(record.get(member).is_none(), "{member}: {record}");
        }
        assert_eq!(record["price"], "1299.00");
    }
    // The prices are everybody's, and the lowest is named.
    let summary = window.get(&paths[3]).await;
    assert_eq!(summary.bytes, client.get(&paths[3]).await.bytes);
    let vary: Vec<_> = summary.headers.get_all("vary").iter().collect();
    assert!(
        vary.iter().any(|it| it.as_bytes() == b"Authorization"),
        "{vary:?}"
    );
    let lowest = window.get(&paths[4]).await.ok();
    let summary = summary.ok();
    assert_eq!(summary["lowestTermInMonths"], lowest["termInMonths"]);
    let term = summary["lowestTermInMonths"].to_string();
    assert_eq!(
        summary["pricing"][&term]["totalMonthlyPayment"],
        lowest["totalMonthlyPayment"]
    );

    review("rejected");
    shows(&[false; 5], "rejected").await;
    review("approved");
    client
        .put(&variant_path, json!({ "status": "inactive" }))
        .await
        .ok();
    shows(&[true, false, false, false, false], "an inactive variant").await;
    client
        .put(
            &variant_path,
            json!({ "status": "active", "isWaitlisted": true }),
        )
        .await
        .ok();
    shows(&[true; 5], "who comes waits").await;
    client
        .put(&product_path, json!({ "status": "inactive" }))
        .await
        .ok();
    shows(&[false; 5], "an inactive product").await;
    client
        .put(&product_path, json!({ "status": "active" }))
        .await
        .ok();
    shows(&[true; 5], "active again").await;
    client.checkout("BIKE", "grace@example.com").await;
    let archived = client.delete(&product_path).await.ok();
    assert_eq!(archived["status"], "archived");
    shows(&[false; 5], "archived").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn publishable_keys_are_kept_as_secret_ones_are() {
    let server = Server::shared(BINARY).await;
    let shop = Shop::new(server).await;
    let path = format!("/v1/products/{}", shop.product);
    let organization = &shop.client.organization;
    let made = publishable(server, organization);
    let key = text(&made["key"]);
    assert!(key.starts_with("lpk_sandbox_"), "{made}");
    assert_eq!(
        (&made["kind"], &made["permissions"]),
        (&json!("publishable"), &json!([]))
    );
    let live = ["--org", organization, "--mode", "live", "--publishable"];
    let live = server.cli(&[&["key", "create"], &live[..]].concat());
    assert!(text(&live["key"]).starts_with("lpk_live_"), "{live}");
    shop.client
        .with_key(&text(&live["key"]))
        .get(&path)
        .await
        .ok();
    let listed = server.cli(&["key", "list", "--org", organization]);
    let kinds: Vec<_> = listed["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["kind"])
        .collect();
    assert_eq!(kinds, ["publishable", "publishable", "secret"]);
    assert!(!listed.to_string().contains(&key), "a key is shown once");
    // A secret key by the name of a publishable one is none.
    let disguised = shop.client.key.replace("lsk_", "lpk_");
    let nobody = shop.client.with_key(&disguised);
    nobody.get(&path).await.refused(401, "unauthorized", "");

    let rolled = server.cli(&["key", "roll", &text(&made["keyId"]), "--overlap", "0s"]);
    assert!(text(&rolled["key"]).starts_with("lpk_sandbox_"), "{rolled}");
    let held = shop.client.with_key(&text(&rolled["key"]));
    held.get(&path).await.ok();
    server.cli(&["key", "revoke", &text(&rolled["keyId"])]);
    held.comes_to_nothing(&path).await;
    for flags in [
        &["--publishable", "--permissions", "ProductRead"] as &[&str],
        &[],
    ] {
        let command = ["key", "create", "--org", organization, "--mode", "live"];
        let (status, said) = server.refused(&[&command, flags].concat());
        assert_eq!(status, 2, "{said}");
        assert!(said.contains("--permissions"), "{said}");
    }
}

/// A page of a known origin asks, is told how much it may still ask, and is told when it is too much.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_may_ask_and_an_address_not_too_often() {
    const SHOP: &str = "https://shop.example.com";
    let flags = [
        "--cors-origins",
        SHOP,
        "--address-rate-limit",
        "2",
        "--rate-limit",
        "10",
    ];
    let server = Server::start(BINARY, &flags).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let window = with_publishable_key(&server, &client);
    let path = "/v1/product-variants/BIKE/pricing-summary";
    let origin = ("origin", SHOP);
    let preflight = reqwest::Client::new()
        .request(reqwest::Method::OPTIONS, format!("{}{path}", window.url))
        .header("origin", SHOP)
        .header("access-control-request-method", "GET")
        .header("access-control-request-headers", "authorization");
    let preflight = preflight.send().await.unwrap();
    assert_eq!(preflight.status(), 204);
    let allowed = &preflight.headers()["access-control-allow-headers"];
    let allowed = allowed.to_str().unwrap();
    assert!(allowed.contains("Authorization"), "{allowed}");
    let first = window.send("GET", path, &[origin], None).await;
    first.has(200);
    let readable = |name: &str| {
        let exposed = first.header("access-control-expose-headers").to_lowercase();
        exposed.split(", ").any(|it| it == name) && !first.header(name).is_empty()
    };
    for name in [
        "etag",
        "request-id",
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
    ] {
        assert!(readable(name), "{name}: {:?}", first.headers);
    }
    assert_eq!(first.header("access-control-allow-origin"), SHOP);
    assert_eq!(
        (
            first.header("ratelimit-limit"),
            first.header("ratelimit-remaining")
        ),
        ("10", "9")
    );
    let tag = ("if-none-match", first.header("etag"));
    let known = window.send("GET", path, &[origin, tag], None).await;
    assert_eq!(
        (known.status, known.header("access-control-allow-origin")),
        (304, SHOP)
    );
    // Any publishable key of the address counts, one that nobody has too.
    let stranger = window.with_key(&window.key.replace("lpk_sandbox", "lpk_live"));
    stranger.get(path).await.refused(401, "unauthorized", "");
    let mut refused = None;
    for _ in 0..100 {
        let answered = window.send("GET", path, &[origin], None).await;
        if answered.status != 200 {
            refused = Some(answered);
            break;
        }
    }
    let refused = refused.unwrap();
    refused.refused(429, "rate_limited", "");
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(refused.header("ratelimit-remaining"), "0");
    assert_eq!(refused.header("access-control-allow-origin"), SHOP);
    // A secret key is another matter.
    let secret = client.get(path).await;
    secret.has(200);
    assert_eq!(secret.header("ratelimit-limit"), "20");
    // What its bulk requests take beyond what it has left, it owes; other keys do not.
    let updates = json!({ "updates": vec![json!({ "id": "prod_gone" }); 100] });
    let bulk = client.put("/v1/products/bulk", updates).await;
    bulk.has(200);
    assert_eq!(bulk.header("ratelimit-remaining"), "0");
    let refused = client.get(path).await;
    refused.refused(429, "rate_limited", "");
    let wait: u32 = refused.header("retry-after").parse().unwrap();
    assert!((1..=10).contains(&wait), "{wait}");
    let other = client.with_key(&server.key(&client.organization, "sandbox", "all"));
    other.get(path).await.ok();
    // What anybody can send is counted with what comes with publishable keys.
    let nobody = client.with_key("");
    let form = ("content-type", "application/x-www-form-urlencoded");
    for (method, path, status) in [
        ("GET", "/v1/products", 401),
        ("POST", "/webhooks/tracking", 401),
        ("POST", "/c/nothing/profile", 404),
    ] {
        let mut refused = None;
        for _ in 0..100 {
            let body = (method == "POST").then(|| b"firstName=Ada".to_vec());
            let answered = nobody.send(method, path, &[form], body).await;
            if answered.status == 429 {
                refused = Some(answered);
                break;
            }
            answered.has(status);
        }
        assert_eq!(refused.unwrap().header("retry-after"), "1", "{path}");
    }
    let metrics = nobody.get("/metrics").await;
    let told = String::from_utf8_lossy(&metrics.bytes).into_owned();
    for by in ["key", "address"] {
        let name = format!("lessor_rate_limited_total{{by=\"{by}\"}} ");
        let count = told.lines().find_map(|line| line.strip_prefix(&name));
        assert!(count.is_some_and(|count| count != "0"), "{by}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_element_is_small_and_may_be_loaded_from_anywhere() {
    let client = Server::shared(BINARY).await.client().await.with_key("");
    let path = "/elements/lessor-price.js";
    let script = client.get(path).await;
    for (name, value) in [
        ("content-type", "text/javascript; charset=utf-8"),
        ("access-control-allow-origin", "*"),
        ("cross-origin-resource-policy", "cross-origin"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-cache"),
    ] {
        assert_eq!(script.header(name), value, "{name}");
    }
    let known = [("if-none-match", script.header("etag"))];
    let again = client.send("GET", path, &known, None).await;
    assert_eq!((again.status, again.bytes.len()), (304, 0));
    assert_eq!(again.header("access-control-allow-origin"), "*");
    assert!(
        script.bytes.len() <= 6 * 1024,
        "{} bytes",
        script.bytes.len()
    );
    let source = String::from_utf8(script.bytes).unwrap();
    for unsafe_here in [
        "innerHTML",
        "eval(",
        "Function(",
        ".style",
        "parseFloat",
        "document.write",
    ] {
        assert!(!source.contains(unsafe_here), "{unsafe_here}");
    }
    client
        .get("/elements/nope.js")
        .await
        .refused(404, "not_found", "");
}

/// The storefront of the examples, served from another origin, in a browser.
#[tokio::test(flavor = "multi_thread")]
async fn the_storefront_shows_prices_in_a_browser() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let Some(Browser { program, peers }) =
        Browser::find("the storefront in a browser", &["playwright-core"])
    else {
        return;
    };
    let mut browser = Command::new("node")
        .arg(peers.join("storefront.mjs"))
        .args([program.into(), here.join("../docs/examples/storefront")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(browser.stdout.take().unwrap());
    let mut origin = String::new();
    said.read_line(&mut origin).unwrap();
    let flags = [
        "--cors-origins",
        origin.trim(),
        "--address-rate-limit",
        "100",
    ];
    let server = Server::start(BINARY, &flags).await;
    let client = server.client().await;
    let product = client
        .product(json!({ "options": [{ "name": "Size", "values": ["S", "M"] }] }))
        .await;
    for size in ["S", "M"] {
        let options = json!({ "options": [{ "name": "Size", "value": size }] });
        client
            .variant_of(&product, &format!("BIKE-{size}"), options)
            .await;
    }
    let summary = client
        .get("/v1/product-variants/BIKE-M/pricing-summary")
        .await
        .ok();
    let key = text(&publishable(&server, &client.organization)["key"]);
    let line = json!({ "url": client.url, "key": key });
    writeln!(browser.stdin.take().unwrap(), "{line}").unwrap();
    let output = tokio::task::spawn_blocking(move || {
        let mut told = String::new();
        said.read_to_string(&mut told).unwrap();
        (told, browser.wait_with_output().unwrap())
    });
    let (told, output) = output.await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && told.ends_with("shown\n"),
        "{told}{errors}"
    );
    let mut lines = told.lines();
    let shown: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let amount = |term: &str| text(&summary["pricing"][term]["totalMonthlyPayment"]);
    let lowest = summary["lowestTermInMonths"].to_string();
    let euros = |term: &str| amount(term).replace('.', ",");
    for (id, expected) in [
        ("lowest", format!("from ${}/month", amount(&lowest))),
        ("term", format!("${}/month for 24 months", amount("24"))),
        ("german", format!("{} $/Monat für 12 Monate", euros("12"))),
    ] {
        // Which spaces an amount has is for the browser to say.
        let said = text(&shown[id]["text"]).replace(char::is_whitespace, " ");
        assert_eq!(said, expected, "{shown}");
    }
    assert_eq!(shown["lowest"]["amount"], amount(&lowest));
    let unknown = &shown["unknown"];
    assert_eq!(
        (&unknown["status"], &unknown["code"]),
        (&json!(404), &json!("not_found"))
    );
    assert!(text(&unknown["requestId"]).starts_with("req_"), "{unknown}");
    let french = lines.next().unwrap();
    assert!(french.contains("/mois pendant 36"), "{french}");
}
