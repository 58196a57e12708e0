//! How a checkout comes to be, and what refuses it, in order.

use lessor_tests::shop::{address, merged};
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

#[tokio::test(flavor = "multi_thread")]
async fn the_variant_is_named_once_and_is_one() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let variant = client.variant("BIKE", None).await;
    let product = text(&client.get("/v1/products").await.ok()["results"][0]["id"]);
    let ada = json!({ "email": "ada@example.com" });
    for (members, status, code, param) in [
        (json!({}), 400, "parameter_missing", "productVariantId"),
        (
            json!({ "productVariantId": variant, "sku": "BIKE" }),
            400,
            "invalid_parameter",
            "sku",
        ),
        (
            json!({ "productVariantId": product }),
            400,
            "invalid_parameter",
            "productVariantId",
        ),
        (
            json!({ "productVariantId": "pvar_0000000000000000000001" }),
            404,
            "not_found",
            "",
        ),
        (json!({ "sku": "NONE" }), 404, "not_found", ""),
        (
            json!({ "sku": "BIKE", "selectedTermInMonths": 13 }),
            400,
            "invalid_parameter",
            "selectedTermInMonths",
        ),
        (
            json!({ "sku": "BIKE", "selectedTermInMonths": 0 }),
            400,
            "invalid_parameter",
            "selectedTermInMonths",
        ),
        (
            json!({ "sku": "BIKE", "selectedTermInMonths": "12.0" }),
            400,
            "invalid_parameter",
            "selectedTermInMonths",
        ),
        (
            json!({ "sku": "BIKE", "customer": { "email": "nonsense" } }),
            400,
            "invalid_parameter",
            "customer.email",
        ),
        (
            json!({ "sku": "BIKE", "customer": { "firstName": "Ada" } }),
            400,
            "parameter_missing",
            "customer.email",
        ),
    ] {
        let body = merged(json!({ "customer": ada }), members.clone());
        client
            .post("/v1/checkouts", body)
            .await
            .refused(status, code, param);
    }
    assert_eq!(client.get("/v1/checkouts").await.ok(), json!([]));
    let months = json!({ "selectedTermInMonths": "24" });
    let made = client
        .try_checkout("BIKE", "ada@example.com", months)
        .await
        .ok();
    assert_eq!(
        made["pricing"]["termInMonths"], 24,
        "digits are taken for a number"
    );
    // An add-on is bought along, not leased.
    let add_on = client.product(json!({ "productType": "add-on" })).await;
    client.variant_of(&add_on, "LOCK", json!({})).await;
    client
        .try_checkout("LOCK", "ada@example.com", json!({}))
        .await
        .refused(400, "invalid_parameter", "sku");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_is_found_by_their_address_in_the_organization_only() {
    let server = Server::shared(BINARY).await;
    let (client, other) = (server.client().await, server.client().await);
    client.variant("BIKE", None).await;
    other.variant("BIKE", None).await;
    let named = json!({ "customer": { "email": "Grace@Example.com", "firstName": "Grace", "city": "San Francisco" } });
    let first = client.try_checkout("BIKE", "", named).await.ok();
    let more = json!({
        "customer": { "email": "grace@example.COM", "firstName": "Amazing", "lastName": "Hopper", "zip": "94105", "state": "California", "country": "us" },
        "selectedTermInMonths": 24
    });
    let second = client.try_checkout("BIKE", "", more).await.ok();
    assert_eq!(second["customerId"], first["customerId"]);
    assert_ne!(second["id"], first["id"]);
    let customer = client
        .get(&format!("/v1/customers/{}", text(&first["customerId"])))
        .await
        .ok();
    // What was there stays, what was missing is filled in; half an address is none of another.
    assert_eq!(
        (&customer["firstName"], &customer["lastName"]),
        (&json!("Grace"), &json!("Hopper"))
    );
    assert_eq!(
        (
            &customer["city"],
            customer.get("zip"),
            customer.get("country")
        ),
        (&json!("San Francisco"), None, None)
    );
    let whole = json!({
        "customer": { "email": "grace@example.com", "address1": "1 Main St", "city": "San Francisco", "zip": "94105",
            "state": "California", "country": "us" },
        "selectedTermInMonths": 36
    });
    client.try_checkout("BIKE", "", whole).await.ok();
    let customer = client
        .get(&format!("/v1/customers/{}", text(&first["customerId"])))
        .await
        .ok();
    assert_eq!(
        (
            &customer["address1"],
            &customer["country"],
            &customer["state"]
        ),
        (&json!("1 Main St"), &json!("US"), &json!("CA"))
    );
    let theirs = other.checkout("BIKE", "grace@example.com").await;
    assert_ne!(theirs["customerId"], first["customerId"]);
    let foreign = format!("/v1/customers/{}", text(&first["customerId"]));
    other.get(&foreign).await.refused(404, "not_found", "");
    // Without a customer it is the key's own user's.
    let own = client
        .post("/v1/checkouts", json!({ "sku": "BIKE" }))
        .await
        .ok();
    let staff = client
        .get(&format!("/v1/customers/{}", text(&own["customerId"])))
        .await
        .ok();
    assert_eq!(staff["email"], "staff@example.com");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_wish_is_one_checkout_until_it_ends() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let first = client.checkout("BIKE", "grace@example.com").await;
    let again = client
        .try_checkout(
            "BIKE",
            "grace@example.com",
            json!({ "externalOrderId": "o-1" }),
        )
        .await
        .ok();
    assert_eq!(again, first, "as it is");
    // Without a term it is another, and once.
    let open = client
        .try_checkout(
            "BIKE",
            "grace@example.com",
            json!({ "selectedTermInMonths": null }),
        )
        .await
        .ok();
    assert_ne!(open["id"], first["id"]);
    assert!(open.get("leaseTermId").is_none() && open.get("pricing").is_none());
    let twice = client
        .try_checkout(
            "BIKE",
            "grace@example.com",
            json!({ "selectedTermInMonths": null }),
        )
        .await
        .ok();
    assert_eq!(twice["id"], open["id"]);
    // The term of another running checkout cannot be chosen for it.
    let path = format!("/v1/checkouts/{}", text(&open["id"]));
    let refused = client
        .put(&path, json!({ "leaseTermId": first["leaseTermId"] }))
        .await;
    refused.refused(400, "invalid_parameter", "leaseTermId");
    let terms = client.get("/v1/lease-terms").await.ok();
    let two_years = terms
        .as_array()
        .into_iter()
        .flatten()
        .find(|term| term["termInMonths"] == 24)
        .cloned()
        .unwrap_or_default();
    let chosen = client
        .put(&path, json!({ "leaseTermId": two_years["id"] }))
        .await
        .ok();
    assert_eq!(chosen["leaseTermId"], two_years["leaseTermId"]);
    for unknown in [json!("term_0000000000000000000001"), json!(999_999_999)] {
        let refused = client.put(&path, json!({ "leaseTermId": unknown })).await;
        assert!(matches!(refused.status, 400 | 404), "{}", refused.body);
    }
    // What has ended is in nobody's way.
    client.act(&first, "cancel", json!({})).await.ok();
    let fresh = client.checkout("BIKE", "grace@example.com").await;
    assert_ne!(fresh["id"], first["id"]);
}

/// A country alone is enough to say that nobody delivers there.
#[tokio::test(flavor = "multi_thread")]
async fn a_country_that_is_not_served_waits_whatever_else_is_known() {
    let server = Server::shared(BINARY).await;
    let client = server
        .client_of(&["--name", "West", "--service-area", "US-CA"])
        .await;
    client.variant("BIKE", None).await;
    let from = async |email: &str, members: Value| {
        let customer = merged(json!({ "email": email }), members);
        let made = client
            .try_checkout("BIKE", "", json!({ "customer": customer }))
            .await
            .ok();
        (
            text(&made["lifecycle"]),
            text(&made["waitlistLocationReasonCode"]),
        )
    };
    let waits = |code: &str| ("waitlistedLocation".to_owned(), code.to_owned());
    assert_eq!(
        from("a@example.com", json!({ "country": "DE" })).await,
        waits("country_not_served")
    );
    assert_eq!(
        from("b@example.com", json!({ "country": "US", "state": "NY" })).await,
        waits("state_not_served")
    );
    assert_eq!(
        from("c@example.com", json!({ "country": "US" })).await.0,
        "created"
    );
    // An address is not mixed out of two.
    let other = json!({ "country": "US", "state": "CA", "zip": "94105", "city": "San Francisco", "address1": "1 Main St" });
    let again = json!({ "customer": merged(json!({ "email": "a@example.com" }), other), "selectedTermInMonths": 24 });
    let made = client.try_checkout("BIKE", "", again).await.ok();
    assert_eq!(made["lifecycle"], "waitlistedLocation");
}

/// A second unit of what is leased already is another order; an order is one checkout, whatever has
/// become of it.
#[tokio::test(flavor = "multi_thread")]
async fn another_order_of_what_is_leased_is_a_second_unit() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let order = async |members: Value| {
        client
            .try_checkout("BIKE", "grace@example.com", members)
            .await
    };
    let numbered = async |number: &str| order(json!({ "externalOrderId": number })).await;
    let is_existing =
        |answered: &lessor_tests::client::Reply| answered.header("existing-checkout") == "true";
    let first = numbered("A1").await;
    assert!(
        !is_existing(&first),
        "{:?}",
        first.header("existing-checkout")
    );
    let first = first.ok();
    // Before it is a lease, whatever the order is called.
    let same = numbered("A2").await;
    assert!(is_existing(&same));
    assert_eq!(same.ok()["id"], first["id"]);
    client.advance(&first, "leaseActive").await.ok();
    for members in [json!({}), json!({ "externalOrderId": "A1" })] {
        let same = order(members).await;
        assert!(is_existing(&same));
        assert_eq!(same.ok()["id"], first["id"]);
    }
    // Under any race it is one more.
    let second = futures::future::join_all((0..8).map(|_| numbered("A2"))).await;
    let made = second
        .iter()
        .filter(|answered| !is_existing(answered))
        .count();
    assert_eq!(made, 1, "one is made");
    let mut ids: Vec<String> = second
        .into_iter()
        .map(|answered| text(&answered.ok()["id"]))
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_ne!(ids[0], text(&first["id"]));
    let second = client.get(&format!("/v1/checkouts/{}", ids[0])).await.ok();
    client.advance(&second, "leaseActive").await.ok();
    // Orders that have ended are answered as they are.
    let third = numbered("A3").await.ok();
    client.act(&third, "cancel", json!({})).await.ok();
    let again = numbered("A3").await;
    assert!(is_existing(&again));
    let again = again.ok();
    assert_eq!(
        (&again["id"], &again["lifecycle"]),
        (&third["id"], &json!("cancelled"))
    );
    // Of another wish it is no order.
    let other = json!({ "externalOrderId": "A3", "selectedTermInMonths": 24 });
    order(other)
        .await
        .refused(400, "invalid_parameter", "externalOrderId");
    // A repetition is told the same.
    let body = json!({ "sku": "BIKE", "selectedTermInMonths": 12, "externalOrderId": "A1", "customer": { "email": "grace@example.com" } });
    for _ in 0..2 {
        let repeated = client.post_once("/v1/checkouts", "existing", &body).await;
        assert!(is_existing(&repeated));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_id_is_used_once() {
    let server = Server::shared(BINARY).await;
    let (client, other) = (server.client().await, server.client().await);
    client.variant("BIKE", None).await;
    other.variant("BIKE", None).await;
    let order = || json!({ "externalOrderId": "o-1" });
    let made = client
        .try_checkout("BIKE", "a@example.com", order())
        .await
        .ok();
    let refused = client.try_checkout("BIKE", "b@example.com", order()).await;
    refused.refused(400, "invalid_parameter", "externalOrderId");
    assert_eq!(
        client
            .get("/v1/checkouts")
            .await
            .ok()
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    // The same wish comes first: it is answered as it is.
    assert_eq!(
        client
            .try_checkout("BIKE", "a@example.com", order())
            .await
            .ok()["id"],
        made["id"]
    );
    other
        .try_checkout("BIKE", "b@example.com", order())
        .await
        .ok();
    client.act(&made, "cancel", json!({})).await.ok();
    let refused = client.try_checkout("BIKE", "b@example.com", order()).await;
    refused.refused(400, "invalid_parameter", "externalOrderId");
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_are_checked_by_country_and_locked() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    for (change, code, member) in [
        (json!({ "zip": "9410" }), "invalid_parameter", "zip"),
        (json!({ "zip": "94105-12" }), "invalid_parameter", "zip"),
        (json!({ "country": "XX" }), "invalid_parameter", "country"),
        (json!({ "country": "USA" }), "invalid_parameter", "country"),
        (json!({ "state": "ZZ" }), "invalid_parameter", "state"),
        (json!({ "state": null }), "parameter_missing", "state"),
        (json!({ "zip": null }), "parameter_missing", "zip"),
        (json!({ "address1": null }), "parameter_missing", "address1"),
        (json!({ "phone": "123" }), "invalid_parameter", "phone"),
        (
            json!({ "country": "CA", "state": "ON", "zip": "94105" }),
            "invalid_parameter",
            "zip",
        ),
        (json!({ "street": "x" }), "invalid_parameter", "street"),
    ] {
        for which in ["shippingAddress", "billingAddress"] {
            let members = json!({ which: merged(address(), change.clone()) });
            let refused = client.try_checkout("BIKE", "a@example.com", members).await;
            refused.refused(400, code, &format!("{which}.{member}"));
        }
    }
    let given = merged(
        address(),
        json!({ "country": "us", "zip": "94105-1234", "state": "california" }),
    );
    let made = client
        .try_checkout(
            "BIKE",
            "a@example.com",
            json!({ "shippingAddress": given, "billingAddress": address() }),
        )
        .await
        .ok();
    assert_eq!(
        made["shippingAddress"],
        merged(address(), json!({ "zip": "94105-1234" }))
    );
    assert_eq!(
        (
            &made["shippingAddressLocked"],
            &made["billingAddressLocked"]
        ),
        (&json!(true), &json!(true))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_lead_to_the_web_and_keep_no_secrets() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    for member in ["successUrl", "cancelUrl", "failureUrl"] {
        for wrong in [
            "http://example.com/",
            "ftp://example.com/",
            "javascript:alert(1)",
            "/relative",
            "https://user:pw@example.com/",
            "https://",
            "https://example.com/\u{7}",
        ] {
            let refused = client
                .try_checkout("BIKE", "a@example.com", json!({ member: wrong }))
                .await;
            refused.refused(400, "invalid_parameter", member);
        }
    }
    let good = json!({
        "successUrl": "https://example.com/ok?a=b#c", "cancelUrl": "http://localhost:3000/", "failureUrl": "http://127.0.0.1/x"
    });
    let made = client
        .try_checkout("BIKE", "a@example.com", good.clone())
        .await
        .ok();
    for (name, url) in good.as_object().into_iter().flatten() {
        assert_eq!(&made[name], url);
    }
    let live = client.with_key(&server.key(&client.organization, "live", "all"));
    let refused = live
        .try_checkout(
            "BIKE",
            "a@example.com",
            json!({ "cancelUrl": "http://localhost:3000/" }),
        )
        .await;
    refused.refused(400, "invalid_parameter", "cancelUrl");
}

#[tokio::test(flavor = "multi_thread")]
async fn purchase_items_are_due_at_signing() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let leased = client.variant("BIKE", None).await;
    let add_on = client.product(json!({ "productType": "add-on" })).await;
    let lock = client
        .variant_of(&add_on, "LOCK", json!({ "name": "Lock", "price": "49.90" }))
        .await;
    let items = |items: Value| json!({ "purchaseItems": items });
    for (wrong, code, param) in [
        (
            json!([{ "quantity": 1, "amount": 5 }]),
            "parameter_missing",
            "purchaseItems[0].name",
        ),
        (
            json!([{ "quantity": 1, "name": "x" }]),
            "parameter_missing",
            "purchaseItems[0].amount",
        ),
        (
            json!([{ "name": "x", "amount": 5 }]),
            "parameter_missing",
            "purchaseItems[0].quantity",
        ),
        (
            json!([{ "name": "x", "amount": 5, "quantity": 0 }]),
            "invalid_parameter",
            "purchaseItems[0].quantity",
        ),
        (
            json!([{ "name": "x", "amount": "5.001", "quantity": 1 }]),
            "invalid_parameter",
            "purchaseItems[0].amount",
        ),
        (
            json!([{ "productVariantId": leased, "quantity": 1 }]),
            "invalid_parameter",
            "purchaseItems[0].productVariantId",
        ),
    ] {
        client
            .try_checkout("BIKE", "a@example.com", items(wrong))
            .await
            .refused(400, code, param);
    }
    let unknown =
        items(json!([{ "productVariantId": "pvar_0000000000000000000001", "quantity": 1 }]));
    let refused = client.try_checkout("BIKE", "a@example.com", unknown).await;
    assert!(matches!(refused.status, 400 | 404), "{}", refused.body);
    let made = client
        .try_checkout(
            "BIKE",
            "a@example.com",
            items(json!([{ "name": "Helmet", "amount": 20.5, "quantity": 2 }, { "productVariantId": lock["id"], "quantity": 3 }])),
        )
        .await
        .ok();
    let expected = json!([
        { "name": "Helmet", "amount": "20.50", "quantity": 2 },
        { "name": "Lock", "amount": "49.90", "quantity": 3, "productVariantId": lock["id"] }
    ]);
    assert_eq!(made["purchaseItems"], expected);
    // 2 × 20.50 + 3 × 49.90, and 184.90 for the lease itself.
    assert_eq!(
        (
            &made["pricing"]["purchaseItems"],
            &made["pricing"]["totalDueAtSigning"]
        ),
        (&json!("190.70"), &json!("375.60"))
    );
}
