//! Prices through HTTP, to the cent.

use lessor_tests::client::Client;
use lessor_tests::{Server, refuse, text};
use serde_json::{Value, json};

use crate::BINARY;

/// A published calculation that the interface can express: a term, a price, and the figures.
struct Published {
    source: &'static str,
    price: &'static str,
    discount: &'static str,
    term: Value,
    figures: Value,
}

/// Terms with these conditions and no deposit or insurance, unless they say so.
fn term(months: u32, conditions: Value) -> Value {
    lessor_tests::shop::merged(json!({ "termInMonths": months }), conditions)
}

fn published() -> Vec<Published> {
    vec![
        Published {
            source: "HP-12C owner's handbook: 750 over 12 months at 15 %, one payment in advance",
            price: "750",
            discount: "0",
            term: term(12, json!({ "method": "annualRate", "annualRate": 15 })),
            figures: json!({ "monthlyPayment": "66.86", "residualValue": "0.00", "totalOfPayments": "802.32", "rentCharge": "52.32" }),
        },
        Published {
            source: "question and answer: 10,000 over 36 months at 7.2 %, in advance, no residual",
            price: "10000",
            discount: "0",
            term: term(36, json!({ "method": "annualRate", "annualRate": "7.2" })),
            figures: json!({ "monthlyPayment": "307.84", "capitalizedCost": "10000.00" }),
        },
        Published {
            source: "Federal Reserve Board, Regulation M model A-2, constant yield: 18,800.00 to 12,350.00 over 48 months \
                     at 8.4972 %; rent over the lease 5,295.12, total of base payments 11,745.12",
            price: "21500",
            // 18,800 of 21,500 and 12,350 of 21,500 cannot be written with four decimals: the list price is the cost.
            discount: "0",
            term: term(
                48,
                json!({ "method": "annualRate", "annualRate": "8.4972", "residualPercentage": 0 }),
            ),
            figures: json!({ "depreciation": "21500.00", "capitalizedCost": "21500.00" }),
        },
        Published {
            source: "ErezNagar/lease-calculator: 23,000 with residual 57 %, factor 0.00125, 36 months; depreciation 205.28 \
                     and rent 42.01 a month: base 247.29 (the cost of 20,500 is a discount of 10.8696 %)",
            price: "23000",
            discount: "10.8696",
            term: term(
                36,
                json!({ "method": "moneyFactor", "moneyFactor": "0.00125", "residualPercentage": 57 }),
            ),
            figures: json!({ "residualValue": "13110.00", "capitalizedCost": "20499.99", "monthlyPayment": "247.29" }),
        },
    ]
}

async fn entry(client: &Client, sku: &str, months: u32) -> Value {
    let fetched = client
        .post(
            "/v1/product-variants/bulk/fetch",
            json!({ "ids": [client.get(&format!("/v1/product-variants/by-sku/{sku}")).await.ok()["id"]] }),
        )
        .await
        .ok();
    fetched["results"][0]["pricing"][months.to_string()].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn published_calculations_come_out_to_the_cent() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    for (number, example) in published().into_iter().enumerate() {
        let product = client.product(json!({})).await;
        let mut own = example.term.clone();
        own["productId"] = product["id"].clone();
        let made = client.post("/v1/lease-terms", own).await.ok();
        let sku = format!("W-{number}");
        client
            .variant_of(
                &product,
                &sku,
                json!({ "price": example.price, "discountPercentage": example.discount }),
            )
            .await;
        let months =
            u32::try_from(made["termInMonths"].as_u64().unwrap_or_default()).unwrap_or_default();
        let priced = entry(&client, &sku, months).await;
        for (name, figure) in example.figures.as_object().into_iter().flatten() {
            assert_eq!(
                &priced[name], figure,
                "{}: {name} of {priced}",
                example.source
            );
        }
        assert_eq!(priced["leaseTermId"], made["id"]);
    }
}

/// The board's constant-yield lease itself: a list price of 18,800 whose residual is a percentage
/// with four decimals, 65.6915 %, is 12,350.00 to the cent.
#[tokio::test(flavor = "multi_thread")]
async fn the_boards_lease_by_both_methods() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    for (months, conditions) in [
        (
            48,
            json!({ "method": "annualRate", "annualRate": "8.4972" }),
        ),
        (
            47,
            json!({ "method": "moneyFactor", "moneyFactor": "0.0035414" }),
        ),
    ] {
        let mut own = term(months, conditions);
        own["residualPercentage"] = json!("65.6915");
        own["productId"] = product["id"].clone();
        client.post("/v1/lease-terms", own).await.ok();
    }
    client
        .variant_of(&product, "FRB", json!({ "price": "18800.00" }))
        .await;
    let yielding = entry(&client, "FRB", 48).await;
    for (name, figure) in [
        ("capitalizedCost", "18800.00"),
        ("residualValue", "12350.00"),
        ("depreciation", "6450.00"),
        ("monthlyPayment", "244.69"),
        ("totalOfPayments", "11745.12"),
        ("rentCharge", "5295.12"),
    ] {
        assert_eq!(yielding[name], figure, "{name}");
    }
    let factored = entry(&client, "FRB", 47).await;
    // (18800 − 12350) / 47 + (18800 + 12350) × 0.0035414 = 137.23404… + 110.31461 = 247.5486…
    assert_eq!(factored["monthlyPayment"], "247.55");
}

/// Every figure of an entry, by hand: 1,299.00 less 12.5 % for 24 months.
#[tokio::test(flavor = "multi_thread")]
async fn every_figure_of_an_entry() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client
        .product(json!({ "discountPercentage": "12.5" }))
        .await;
    client.variant_of(&product, "BIKE", json!({})).await;
    let priced = entry(&client, "BIKE", 24).await;
    let expected = json!({
        "leaseTermId": priced["leaseTermId"], "termInMonths": 24, "currency": "USD", "msrp": "1299.00",
        "discountPercentage": "12.5",
        // 1299 × 0.875 = 1136.625
        "capitalizedCost": "1136.63",
        // 1299 × 45 % = 584.55
        "residualValue": "584.55", "depreciation": "552.08",
        // 552.08 / 24 + (1136.63 + 584.55) × 0.0025 = 23.00333 + 4.30295 = 27.30628
        "monthlyPayment": "27.31",
        // 24 × 27.31 − 552.08
        "rentCharge": "103.36",
        // 1299 × 6 / 1200 = 6.495
        "insurance": "6.50", "totalMonthlyPayment": "33.81", "depositPercentage": "10", "deposit": "129.90",
        "totalDueAtSigning": "163.71", "totalOfPayments": "811.44",
    });
    assert_eq!(priced, expected);
    // A discount that nobody gives is none, and is said.
    client.variant("PLAIN", None).await;
    assert_eq!(entry(&client, "PLAIN", 12).await["discountPercentage"], "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn discounts_are_inherited_until_one_is_given() {
    let server = Server::shared(BINARY).await;
    let client = server
        .client_of(&["--name", "Discount", "--discount", "5"])
        .await;
    let product = client.product(json!({})).await;
    let variant = client.variant_of(&product, "BIKE", json!({})).await;
    let (of_product, of_variant) = (
        format!("/v1/products/{}", text(&product["id"])),
        format!("/v1/product-variants/{}", text(&variant["id"])),
    );
    let discount = || async { text(&entry(&client, "BIKE", 12).await["discountPercentage"]) };
    assert_eq!(discount().await, "5");
    client
        .put(&of_product, json!({ "discountPercentage": 10 }))
        .await
        .ok();
    assert_eq!(discount().await, "10");
    client
        .put(&of_variant, json!({ "discountPercentage": 0 }))
        .await
        .ok();
    assert_eq!(discount().await, "0");
    client
        .put(&of_variant, json!({ "discountPercentage": null }))
        .await
        .ok();
    client
        .put(&of_product, json!({ "discountPercentage": null }))
        .await
        .ok();
    server.cli(&["org", "update", &client.organization, "--discount", "7.5"]);
    assert_eq!(discount().await, "7.5");
}

/// The summary is kept for five minutes, and thrown away by whatever changes it.
#[tokio::test(flavor = "multi_thread")]
async fn the_summary_is_never_older_than_a_change() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    let variant = client.variant_of(&product, "BIKE", json!({})).await;
    let id = text(&variant["id"]);
    let path = format!("/v1/product-variants/{id}/pricing-summary");
    let first = client.get(&path).await;
    assert_eq!(first.header("cache-control"), "private, max-age=300");
    let expected = json!({
        "12": { "msrp": "1299.00", "depositPercentage": "10", "totalMonthlyPayment": "55.00", "totalDueAtSigning": "184.90", "currency": "USD" },
        "24": { "msrp": "1299.00", "depositPercentage": "10", "totalMonthlyPayment": "40.98", "totalDueAtSigning": "170.88", "currency": "USD" },
        "36": { "msrp": "1299.00", "depositPercentage": "10", "totalMonthlyPayment": "35.98", "totalDueAtSigning": "165.88", "currency": "USD" },
    });
    assert_eq!(
        first.body,
        json!({ "productVariantId": id, "pricing": expected, "lowestTermInMonths": 36 })
    );
    let by_sku = client
        .get("/v1/product-variants/BIKE/pricing-summary")
        .await;
    assert_eq!(by_sku.bytes, first.bytes);
    let terms = client.get("/v1/lease-terms").await.ok();
    let term = format!("/v1/lease-terms/{}", text(&terms[0]["id"]));
    let mut tag = first.header("etag").to_owned();
    let own = json!({ "termInMonths": 6, "method": "moneyFactor", "moneyFactor": "0.001", "productId": product["id"] });
    for (what, method, changed, body) in [
        (
            "a price",
            "PUT",
            format!("/v1/product-variants/{id}"),
            json!({ "price": 1300 }),
        ),
        (
            "a variant's discount",
            "PUT",
            format!("/v1/product-variants/{id}"),
            json!({ "discountPercentage": 3 }),
        ),
        (
            "no discount of its own",
            "PUT",
            format!("/v1/product-variants/{id}"),
            json!({ "discountPercentage": null }),
        ),
        (
            "a product's discount",
            "PUT",
            format!("/v1/products/{}", text(&product["id"])),
            json!({ "discountPercentage": 4 }),
        ),
        (
            "a term's deposit",
            "PUT",
            term.clone(),
            json!({ "depositPercentage": 12 }),
        ),
        (
            "a term's state",
            "PUT",
            term.clone(),
            json!({ "status": "inactive" }),
        ),
        (
            "a term of its own",
            "POST",
            "/v1/lease-terms".to_owned(),
            own,
        ),
    ] {
        let headers = [("if-none-match", tag.as_str())];
        let same = client.send("GET", &path, &headers, None).await;
        assert_eq!((same.status, same.bytes.len()), (304, 0), "before {what}");
        assert_eq!(same.header("etag"), tag);
        client
            .send_json(method, &changed, body.to_string())
            .await
            .ok();
        let now = client.send("GET", &path, &headers, None).await;
        assert_eq!(now.status, 200, "after {what}");
        assert_ne!(now.header("etag"), tag, "after {what}");
        tag = now.header("etag").to_owned();
    }
    let now = client.get(&path).await.ok();
    assert_eq!(
        now["pricing"]
            .as_object()
            .map(|map| map.keys().cloned().collect::<Vec<_>>()),
        Some(vec!["6".to_owned()])
    );
    // Whoever holds the cache must still be allowed to see it.
    let blind = client.with_key(&server.key(&client.organization, "sandbox", "ProductRead"));
    blind.get(&path).await.refused(403, "forbidden", "");
    server
        .client()
        .await
        .get(&path)
        .await
        .refused(404, "not_found", "");
}

/// A change that is made through another process empties the cache of this one, as soon as the database's notice of it is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_by_the_command_line_is_seen_soon() {
    const LOOKS: u32 = 1_000;
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let path = "/v1/product-variants/BIKE/pricing-summary";
    let first = client.get(path).await.ok();
    let seen = async |what: &str, is_there: &dyn Fn(&Value) -> bool| {
        for _ in 0..LOOKS {
            if is_there(&client.get(path).await.ok()) {
                return;
            }
        }
        refuse(&format!("{what} is not seen"));
    };
    server.cli(&["org", "update", &client.organization, "--discount", "10"]);
    seen("the discount", &|now| *now != first).await;
    server.cli(&[
        "terms",
        "create",
        "--org",
        &client.organization,
        "--months",
        "60",
        "--method",
        "annualRate",
        "--annual-rate",
        "5",
    ]);
    seen("the term", &|now| now["pricing"]["60"].is_object()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lowest_payment_and_its_term() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    let variant = client
        .variant_of(&product, "BIKE", json!({ "externalId": "V-1" }))
        .await;
    let id = text(&variant["id"]);
    let lowest = client
        .get(&format!("/v1/product-variants/{id}/lowest"))
        .await
        .ok();
    let expected = json!({ "productVariantId": id, "termInMonths": 36, "totalMonthlyPayment": "35.98", "currency": "USD" });
    assert_eq!(lowest, expected);
    assert_eq!(
        client.get("/v1/product-variants/V-1/lowest").await.ok(),
        expected
    );
    // By sku the summary is read, by external id the lowest: not the other way round.
    client
        .get("/v1/product-variants/BIKE/lowest")
        .await
        .refused(404, "not_found", "");
    client
        .get("/v1/product-variants/V-1/pricing-summary")
        .await
        .refused(404, "not_found", "");
    // A tie goes to the shorter term.
    for months in [10, 20] {
        let own = json!({
            "termInMonths": months, "method": "moneyFactor", "moneyFactor": 0, "residualPercentage": 100, "productId": product["id"]
        });
        client.post("/v1/lease-terms", own).await.ok();
    }
    let tie = client
        .get(&format!("/v1/product-variants/{id}/lowest"))
        .await
        .ok();
    assert_eq!(
        (&tie["termInMonths"], &tie["totalMonthlyPayment"]),
        (&json!(10), &json!("0.00"))
    );
    // No term at all.
    let bare = server.client().await;
    let other = bare.variant("BIKE", None).await;
    for term in bare
        .get("/v1/lease-terms")
        .await
        .ok()
        .as_array()
        .into_iter()
        .flatten()
    {
        bare.delete(&format!("/v1/lease-terms/{}", text(&term["id"])))
            .await
            .ok();
    }
    bare.get(&format!("/v1/product-variants/{other}/lowest"))
        .await
        .refused(404, "not_found", "");
    assert_eq!(
        bare.get("/v1/product-variants/BIKE/pricing-summary")
            .await
            .ok()["pricing"],
        json!({})
    );
}

/// A public id that is somebody's sku or external id means the public id.
#[tokio::test(flavor = "multi_thread")]
async fn a_public_id_wins_over_a_sku() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let first = client.variant("BIKE", None).await;
    let product = client.product(json!({})).await;
    client
        .variant_of(&product, &first, json!({ "externalId": first, "price": 5 }))
        .await;
    let summary = client
        .get(&format!("/v1/product-variants/{first}/pricing-summary"))
        .await
        .ok();
    assert_eq!(summary["productVariantId"], json!(first));
    assert_eq!(
        client
            .get(&format!("/v1/product-variants/{first}/lowest"))
            .await
            .ok()["productVariantId"],
        json!(first)
    );
}
