//! Links of checkouts' pages: who is shown them, how they end, what their page shows, and where it leads.

use lessor_tests::client::Client;
use lessor_tests::{Reply, Server, text};
use serde_json::{Value, json};

use crate::BINARY;
use crate::page::{Browser, PROFILE, until};

fn html(reply: &Reply) -> String {
    let content = reply.header("content-type");
    assert!(content.starts_with("text/html"), "{reply}: {content}");
    String::from_utf8_lossy(&reply.bytes).into_owned()
}

/// A client of the same organization that may do only this.
fn limited(server: &Server, client: &Client, permissions: &str) -> Client {
    client.with_key(&server.key(&client.organization, "sandbox", permissions))
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_changes_nothing() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let browser = Browser::at(&client, &made);
    let before = client.reread(&made).await;
    for method in ["HEAD", "GET"] {
        let looked = browser.client.send(method, &browser.path, &[], None).await;
        looked.has(200);
    }
    assert!(browser.look().await.contains("name=\"firstName\""));
    assert_eq!(client.reread(&made).await, before);
    // The first form is the first step, right or wrong.
    browser.send("profile", &[]).await.has(400);
    let now = client.reread(&made).await;
    assert_eq!(now["lifecycle"], "profilePending");
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_of_other_sites_are_refused() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let browser = Browser::at(&client, &made);
    let path = format!("{}/cancel", browser.path);
    let send = async |site: &str| {
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("sec-fetch-site", site),
        ];
        browser
            .client
            .send("POST", &path, &headers, Some(Vec::new()))
            .await
    };
    let refused = send("cross-site").await;
    refused.has(403);
    assert!(html(&refused).contains("came from elsewhere"));
    assert_eq!(client.reread(&made).await["lifecycle"], "created");
    send("same-origin").await.has(303);
    assert_eq!(client.reread(&made).await["lifecycle"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_only_read_are_shown_no_token() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let token = text(&made["checkoutUrl"]);
    let token = token.rsplit('/').next().unwrap();
    let without = format!("{}/c", client.url);
    for permissions in [
        "CheckoutRead",
        "CheckoutRead,CheckoutCancel,CheckoutFulfill,CustomerErase",
    ] {
        let reader = limited(server, &client, permissions);
        let read = reader.reread(&made).await;
        assert_eq!(read["checkoutUrl"], without.as_str());
        let listed = reader.get("/v1/checkouts").await;
        assert!(!String::from_utf8_lossy(&listed.bytes).contains(token));
    }
    for permissions in [
        "CheckoutRead,CheckoutWrite",
        "CheckoutRead,CheckoutCreateWithCustomer",
    ] {
        let writer = limited(server, &client, permissions);
        assert_eq!(
            writer.reread(&made).await["checkoutUrl"],
            made["checkoutUrl"]
        );
    }
    // What a key is told of its own doing is for its own eyes too.
    let caller = limited(server, &client, "CheckoutCancel");
    let cancelled = caller.act(&made, "cancel", json!({})).await.ok();
    assert_eq!(cancelled["checkoutUrl"], without.as_str());
    let nobody = client.with_key("");
    let page = nobody.get("/c").await;
    page.has(200);
    let page = html(&page);
    assert!(page.contains("This link is personal"), "{page}");
    assert!(!page.contains("mail"), "nobody mails anything: {page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_link_ends_the_old_one() {
    let server = Server::shared(BINARY).await;
    let client = server.client_of(&["--name", "Bikes & <Co>"]).await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let old = Browser::at(&client, &made);
    let path = format!("/v1/checkouts/{}/link", text(&made["id"]));
    let reader = limited(server, &client, "CheckoutRead,CheckoutCreateWithCustomer");
    reader.post(&path, json!({})).await.has(403);
    let stranger = server.client().await;
    stranger.post(&path, json!({})).await.has(404);
    client
        .post(&path, json!({ "url": "mine" }))
        .await
        .refused(400, "invalid_parameter", "url");
    old.look().await;

    let relinked = client.send("POST", &path, &[], None).await.ok();
    assert_eq!(relinked["id"], made["id"]);
    assert_ne!(relinked["checkoutUrl"], made["checkoutUrl"]);
    let new = Browser::at(&client, &relinked);
    new.look().await;
    for reply in [
        old.client.get(&old.path).await,
        old.send("cancel", &[]).await,
        old.send("profile", &PROFILE).await,
    ] {
        reply.has(410);
        let page = html(&reply);
        assert!(
            page.contains("This link has ended") && page.contains("Bikes &amp; &lt;Co&gt;"),
            "{page}"
        );
        assert!(!page.contains("BIKE") && !page.contains("grace"), "{page}");
    }
    let mut forged = old.path.clone();
    let last = if forged.pop() == Some('0') { '1' } else { '0' };
    forged.push(last);
    old.client.get(&forged).await.has(404);
    assert_eq!(client.reread(&made).await["lifecycle"], "created");

    let by_hand = server.cli(&["checkout", "relink", &text(&made["id"])]);
    assert_eq!(by_hand["id"], made["id"]);
    new.client.get(&new.path).await.has(410);
    old.client.get(&old.path).await.has(410);
    let read = client.reread(&made).await;
    let (url, told) = (text(&read["checkoutUrl"]), text(&by_hand["checkoutUrl"]));
    let token = |url: &str| url.rsplit('/').next().unwrap_or_default().to_owned();
    assert_eq!(token(&url), token(&told));
    Browser::at(&client, &read).look().await;
    let missing = server.refused(&["checkout", "relink", "chk_0000000000000000000001"]);
    assert_eq!(missing.0, 1, "{missing:?}");
}

/// A repetition is told what the first answer told, but never a link that has ended, and no link that the
/// key is not shown.
#[tokio::test(flavor = "multi_thread")]
async fn kept_answers_hold_no_links() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let body = json!({ "sku": "BIKE", "customer": { "email": "grace@example.com" } });
    let first = client.post_once("/v1/checkouts", "key-1", &body).await;
    let made = first.body.clone();
    let again = client.post_once("/v1/checkouts", "key-1", &body).await;
    assert_eq!(again.bytes, first.bytes);
    let path = format!("/v1/checkouts/{}/link", text(&made["id"]));
    let relinked = client.post_once(&path, "key-2", &json!({})).await;
    let link = relinked.body["checkoutUrl"].clone();
    assert_ne!(link, made["checkoutUrl"]);
    let same = client.post_once(&path, "key-2", &json!({})).await;
    assert_eq!(same.bytes, relinked.bytes, "it is not made twice");
    let later = client.post_once("/v1/checkouts", "key-1", &body).await;
    assert_eq!(later.header("idempotent-replayed"), "true");
    assert_eq!(later.ok()["checkoutUrl"], link);

    let cancel = format!("/v1/checkouts/{}/cancel", text(&made["id"]));
    let all = client.post_once(&cancel, "key-3", &json!({})).await.ok();
    assert_eq!(all["checkoutUrl"], link);
    let caller = limited(server, &client, "CheckoutCancel");
    let repeated = caller.post_once(&cancel, "key-3", &json!({})).await;
    assert_eq!(repeated.header("idempotent-replayed"), "true");
    let told = repeated.ok();
    assert_eq!(told["checkoutUrl"], format!("{}/c", client.url));
    assert_eq!(told["id"], made["id"]);
    // Who may not ask is told that, and not whether somebody did.
    let reader = limited(server, &client, "CheckoutRead");
    for key in ["key-3", "key-4"] {
        let refused = reader
            .post_once(&cancel, key, &json!({ "reason": "x" }))
            .await;
        refused.refused(403, "forbidden", "");
    }
}

/// A customer's data on file, in all its members.
fn on_file() -> Value {
    json!({
        "firstName": "Ada", "lastName": "Lovelace", "address1": "7 Secret St", "city": "Oakland",
        "state": "CA", "zip": "94607", "country": "US", "phone": "+14155550199"
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_older_record_holds_is_neither_shown_nor_changed() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    client.variant("TRIKE", None).await;
    let first = client.checkout("BIKE", "ada@example.com").await;
    let customer = format!("/v1/customers/{}", text(&first["customerId"]));
    let before = client.put(&customer, on_file()).await.ok();
    // Whoever knows the address makes a checkout of their own.
    let made = client.checkout("TRIKE", "ada@example.com").await;
    let browser = Browser::at(&client, &made);
    let page = browser.look().await;
    for secret in ["Secret", "Lovelace", "94607", "Oakland", "0199"] {
        assert!(!page.contains(secret), "{secret}: {page}");
    }
    assert!(page.contains("on file"), "{page}");
    let sent = browser.send("profile", &PROFILE).await;
    sent.has(303);
    until(&client, &made, "identityRequired").await;
    let after = client.get(&customer).await.ok();
    for member in ["firstName", "lastName", "address1", "zip", "phone"] {
        assert_eq!(after[member], before[member], "{member}");
    }
    client.advance(&made, "shippingAddressPending").await.ok();
    let page = browser.look().await;
    assert!(!page.contains("Secret"), "{page}");

    // The first checkout's page is asked to go on with them.
    let browser = Browser::at(&client, &first);
    browser.step("begin", &[]).await;
    until(&client, &first, "shippingAddressPending").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_checkout_was_made_with_is_shown_and_can_be_corrected() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let mut customer = on_file();
    customer["email"] = json!("ada@example.com");
    let made = client
        .try_checkout("BIKE", "ada@example.com", json!({ "customer": customer }))
        .await
        .ok();
    let browser = Browser::at(&client, &made);
    assert!(browser.look().await.contains("7 Secret St"));
    browser.step("profile", &PROFILE).await;
    until(&client, &made, "identityRequired").await;
    let customer = format!("/v1/customers/{}", text(&made["customerId"]));
    assert_eq!(client.get(&customer).await.ok()["lastName"], "Hopper");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_not_served_is_told_with_the_profile() {
    let server = Server::shared(BINARY).await;
    let client = server
        .client_of(&["--name", "Bikes", "--service-area", "US-NY"])
        .await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let browser = Browser::at(&client, &made);
    browser.step("profile", &PROFILE).await;
    let waits = client.reread(&made).await;
    assert_eq!(
        (&waits["lifecycle"], &waits["waitlistReason"]),
        (&json!("waitlistedLocation"), &json!("location"))
    );
    assert_eq!(waits["locationMessage"], "state_not_served");
    assert_eq!(waits["waitlistLocationAddress"]["address1"], "1 Market St");
    assert!(browser.look().await.contains("do not deliver to you yet"));
    client
        .put("/v1/organization", json!({ "serviceArea": ["US"] }))
        .await
        .ok();
    until(&client, &made, "identityRequired").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_term_is_chosen_first_and_changed_until_the_lease_is_accepted() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let helmet =
        json!({ "purchaseItems": [{ "name": "Helmet", "amount": "49.00", "quantity": 2 }] });
    let made = client
        .try_checkout("BIKE", "grace@example.com", helmet)
        .await
        .ok();
    let browser = Browser::at(&client, &made);
    let terms = client.get("/v1/lease-terms").await.ok();
    let of = |months: u64| {
        let mut terms = terms.as_array().into_iter().flatten();
        let found = terms.find(|term| term["termInMonths"] == months);
        text(&found.unwrap()["id"])
    };
    for (to, months) in [
        ("created", 24_u64),
        ("profilePending", 36),
        ("identityRequired", 12),
        ("shippingAddressPending", 24),
        ("leaseReviewPending", 36),
    ] {
        if to != "created" {
            client.advance(&made, to).await.ok();
        }
        browser.step("term", &[("leaseTermId", &of(months))]).await;
        let now = client.reread(&made).await;
        assert_eq!(
            (&now["lifecycle"], &now["pricing"]["termInMonths"]),
            (&json!(to), &json!(months))
        );
        // What the page prints is what the interface says, to the cent.
        let page = browser.look().await;
        for figure in [
            "totalMonthlyPayment",
            "deposit",
            "authorizedAtSigning",
            "firstPayment",
            "totalDueAtSigning",
        ] {
            let amount = format!("${}", text(&now["pricing"][figure]));
            assert!(page.contains(&amount), "{figure} {amount}: {page}");
        }
        assert!(page.contains("(your choice)"), "{page}");
    }
    client.advance(&made, "depositPending").await.ok();
    assert!(!browser.look().await.contains("leaseTermId"));
    let late = browser.send("term", &[("leaseTermId", &of(12))]).await;
    late.has(400);
    assert_eq!(
        client.reread(&made).await["pricing"]["termInMonths"],
        json!(36)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_when_is_said_to_the_cent() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let helmet =
        json!({ "purchaseItems": [{ "name": "Helmet", "amount": "49.00", "quantity": 2 }] });
    let made = client
        .try_checkout("BIKE", "grace@example.com", helmet)
        .await
        .ok();
    let pricing = &made["pricing"];
    for (figure, amount) in [
        ("deposit", "129.90"),
        ("purchaseItems", "98.00"),
        ("authorizedAtSigning", "227.90"),
        ("firstPaymentDue", "onDelivery"),
    ] {
        assert_eq!(pricing[figure], amount, "{figure}");
    }
    assert_eq!(pricing["firstPayment"], pricing["totalMonthlyPayment"]);
    let cents = |figure: &str| {
        let text = text(&pricing[figure]).replace('.', "");
        text.parse::<u64>().unwrap_or_default()
    };
    assert_eq!(
        cents("authorizedAtSigning") + cents("firstPayment"),
        cents("totalDueAtSigning")
    );
    client.advance(&made, "orderConfirmed").await.ok();
    let shipped = client.act(&made, "fulfill", json!({})).await.ok();
    assert_eq!(shipped["pricing"]["firstPaymentDue"], "onShipment");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_browser_is_sent_to_the_shop_once() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let urls = json!({
        "successUrl": "https://shop.example/thanks?order={CHECKOUT_ID}",
        "cancelUrl": "http://localhost:3000/{CHECKOUT_ID}/cancelled",
        "failureUrl": "https://shop.example/{CHECKOUT_ID}"
    });
    let made = client
        .try_checkout("BIKE", "grace@example.com", urls.clone())
        .await
        .ok();
    assert_eq!(made["cancelUrl"], urls["cancelUrl"], "as it was given");
    let browser = Browser::at(&client, &made);
    let page = browser.client.get(&browser.path).await;
    let policy = page.header("content-security-policy");
    assert!(
        policy.contains("form-action 'self' http://localhost:3000 https://shop.example"),
        "{policy}"
    );
    // After the form that ended it.
    let id = text(&made["id"]);
    let cancelled = format!("http://localhost:3000/{id}/cancelled");
    let sent = browser.send("cancel", &[]).await;
    assert_eq!(
        (sent.status, sent.header("location")),
        (303, cancelled.as_str())
    );
    assert!(browser.look().await.contains(&cancelled));

    // At the first visit after somebody else ended it.
    let made = client
        .try_checkout("BIKE", "ada@example.com", urls.clone())
        .await
        .ok();
    client.advance(&made, "orderConfirmed").await.ok();
    let browser = Browser::at(&client, &made);
    let thanks = format!("https://shop.example/thanks?order={}", text(&made["id"]));
    let head = browser.client.send("HEAD", &browser.path, &[], None).await;
    head.has(200);
    let before = client.reread(&made).await;
    let led = browser.client.get(&browser.path).await;
    assert_eq!((led.status, led.header("location")), (303, thanks.as_str()));
    assert_eq!(client.reread(&made).await, before);
    assert!(browser.look().await.contains(&thanks));

    // Refused: the page is there for who comes back.
    let made = client
        .try_checkout("BIKE", "ada+identityfail@example.com", urls)
        .await
        .ok();
    let browser = Browser::at(&client, &made);
    browser.step("profile", &PROFILE).await;
    until(&client, &made, "identityRequired").await;
    browser.step("identity", &[]).await;
    until(&client, &made, "identityVerifying").await;
    let refused = format!("https://shop.example/{}", text(&made["id"]));
    let submitted = browser.send("identity-submit", &[]).await;
    submitted.has(303);
    until(&client, &made, "identityFailed").await;
    if submitted.header("location") != refused {
        let led = browser.client.get(&browser.path).await;
        assert_eq!(
            (led.status, led.header("location")),
            (303, refused.as_str())
        );
    }
    let page = browser.look().await;
    assert!(page.contains("could not be confirmed"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn placeholders_are_filled_behind_the_host_only() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    for wrong in [
        "https://{CHECKOUT_ID}.example/",
        "https://shop.example/{ORDER_ID}",
        "https://shop.example/{CHECKOUT_ID",
        "http://shop.example/{CHECKOUT_ID}",
    ] {
        let refused = client
            .try_checkout("BIKE", "a@example.com", json!({ "successUrl": wrong }))
            .await;
        refused.refused(400, "invalid_parameter", "successUrl");
    }
}

/// No error of the page is JSON.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_goes_wrong_people_can_read() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let browser = Browser::at(&client, &made);
    let form = "application/x-www-form-urlencoded";
    let profile = format!("{}/profile", browser.path);
    let deep = format!("{}/a/b", browser.path);
    let long = format!("{}{}", browser.path, "x".repeat(20_000));
    let large = vec![b'x'; 2 * 1024 * 1024];
    for (method, path, content, body, status) in [
        (
            "POST",
            profile.as_str(),
            "application/json",
            b"{}".to_vec(),
            415,
        ),
        ("POST", &profile, form, large, 413),
        ("POST", &profile, form, b"a=%FF".to_vec(), 400),
        ("DELETE", &profile, form, Vec::new(), 405),
        ("PUT", &browser.path, form, Vec::new(), 405),
        ("POST", "/c", form, Vec::new(), 404),
        ("GET", &deep, form, Vec::new(), 404),
        ("GET", "/c/", form, Vec::new(), 404),
        ("GET", &long, form, Vec::new(), 414),
    ] {
        let headers = [("content-type", content)];
        let body = Some(body).filter(|body| !body.is_empty());
        let reply = browser.client.send(method, path, &headers, body).await;
        let shown: String = path.chars().take(100).collect();
        assert!(
            reply.status == status || status == 414 && reply.status == 431,
            "{method} {shown}: {}",
            reply.status
        );
        let page = html(&reply);
        assert!(
            page.starts_with("<!DOCTYPE html>") && !page.contains("\"error\""),
            "{method} {shown}: {page}"
        );
        assert!(
            reply
                .header("content-security-policy")
                .contains("default-src 'none'"),
            "{method} {shown}"
        );
        if reply.status == 405 {
            assert!(!reply.header("allow").is_empty(), "{method} {shown}");
        }
        if path.starts_with(&browser.path) && status != 414 {
            assert!(page.contains(&format!("href=\"{}\"", browser.path)));
        }
    }
    // What is no page is as it was.
    let nobody = client.with_key("");
    let other = nobody.get("/cc").await;
    other.has(404);
    assert!(other.header("content-type").starts_with("application/json"));
    assert_eq!(client.reread(&made).await["lifecycle"], "created");
}
