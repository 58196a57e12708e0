//! `/c/{token}`: the customer's page, walked by its forms as a browser without scripts would.

use lessor_tests::server::PATIENCE;
use lessor_tests::{Client, Reply, Server, text};
use serde_json::{Value, json};

use crate::BINARY;

/// A browser at a checkout's page.
pub(crate) struct Browser {
    pub(crate) client: Client,
    pub(crate) path: String,
}

impl Browser {
    pub(crate) fn at(client: &Client, checkout: &Value) -> Self {
        let url = text(&checkout["checkoutUrl"]);
        let path = url.strip_prefix(&client.url).unwrap_or_default().to_owned();
        assert!(path.starts_with("/c/") && path.len() > 30, "{url}");
        Self {
            client: client.with_key(""),
            path,
        }
    }

    pub(crate) async fn look(&self) -> String {
        self.look_as("", &[]).await
    }

    /// The page with this query, as it is sent to a browser with these headers.
    async fn look_as(&self, query: &str, headers: &[(&str, &str)]) -> String {
        let path = format!("{}{query}", self.path);
        let page = self.client.send("GET", &path, headers, None).await;
        assert_eq!(page.status, 200, "{}", String::from_utf8_lossy(&page.bytes));
        for (header, value) in [
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-robots-tag", "noindex"),
        ] {
            assert_eq!(page.header(header), value, "{header}");
        }
        assert!(
            page.header("content-security-policy")
                .contains("default-src 'none'")
        );
        assert!(page.header("set-cookie").is_empty());
        assert!(page.header("vary").contains("accept-language"));
        let html = String::from_utf8_lossy(&page.bytes).into_owned();
        assert!(!html.contains("<script"), "{html}");
        assert!(html.len() < 50_000, "{} bytes", html.len());
        let tag = page.header("content-language");
        assert!(html.contains(&format!("<html lang=\"{tag}\">")), "{tag}");
        html
    }

    /// Sends a form of the page to where it leads.
    pub(crate) async fn send(&self, step: &str, fields: &[(&str, &str)]) -> Reply {
        let body: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", escaped(value)))
            .collect();
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let path = format!("{}/{step}", self.path);
        self.client
            .send("POST", &path, &headers, Some(body.join("&").into_bytes()))
            .await
    }

    /// Sends a form that the page shows now, and is led back to the page.
    pub(crate) async fn step(&self, step: &str, fields: &[(&str, &str)]) {
        let html = self.look().await;
        let action = format!("action=\"{}/{step}\"", self.path);
        assert!(html.contains(&action), "{step} is not on the page: {html}");
        for (name, _) in fields {
            assert!(
                html.contains(&format!("name=\"{name}\"")),
                "{name} is not on the page"
            );
        }
        let sent = self.send(step, fields).await;
        assert_eq!(
            (sent.status, sent.header("location")),
            (303, self.path.as_str()),
            "{step}: {}",
            String::from_utf8_lossy(&sent.bytes)
        );
    }
}

fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

/// What signs the lease: the name of [`PROFILE`], in another case.
const SIGNATURE: [(&str, &str); 2] = [("consent", "yes"), ("name", "grace HOPPER")];

pub(crate) const PROFILE: [(&str, &str); 7] = [
    ("firstName", "Grace"),
    ("lastName", "Hopper"),
    ("address1", "1 Market St"),
    ("city", "San Francisco"),
    ("zip", "94105"),
    ("state", "CA"),
    ("country", "US"),
];

/// Waits until the checkout stands there: providers answer in their own time.
pub(crate) async fn until(client: &Client, checkout: &Value, state: &str) -> Value {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let now = client.reread(checkout).await;
        if now["lifecycle"] == state {
            return now;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "{state}: {}",
            now["lifecycle"]
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_walks_from_the_link_to_the_confirmation() {
    let server = Server::shared(BINARY).await;
    let client = server.client_of(&["--name", "Bikes & <Co>"]).await;
    client.variant("BIKE", Some(3)).await;
    let open = json!({ "selectedTermInMonths": null, "successUrl": "https://example.com/thanks" });
    let made = client
        .try_checkout("BIKE", "grace@example.com", open)
        .await
        .ok();
    let browser = Browser::at(&client, &made);
    let html = browser.look().await;
    assert!(html.contains("Bikes &amp; &lt;Co&gt;"), "{html}");
    assert_eq!(
        client.reread(&made).await["lifecycle"],
        "created",
        "looking is no step"
    );
    browser.step("profile", &PROFILE).await;
    until(&client, &made, "identityRequired").await;
    browser.step("identity", &[]).await;
    until(&client, &made, "identityVerifying").await;
    browser.step("identity-submit", &[]).await;
    until(&client, &made, "shippingAddressPending").await;
    // Back, and forth again.
    browser.step("back", &[]).await;
    until(&client, &made, "profilePending").await;
    browser.step("profile", &PROFILE).await;
    until(&client, &made, "shippingAddressPending").await;
    browser.step("shipping", &PROFILE).await;
    until(&client, &made, "leaseReviewPending").await;
    let html = browser.look().await;
    let term = html
        .split("name=\"leaseTermId\" value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    browser
        .step("term", &[("leaseTermId", term.unwrap_or_default())])
        .await;
    assert!(client.reread(&made).await["leaseTermId"].is_i64());
    assert!(
        browser.look().await.contains("$184.90"),
        "the price of the first term, due at signing"
    );
    browser.step("accept", &[]).await;
    until(&client, &made, "depositPending").await;
    browser.step("deposit", &[]).await;
    until(&client, &made, "recurringPaymentMethodPending").await;
    browser.step("payment-method", &[]).await;
    let deadline = std::time::Instant::now() + PATIENCE;
    while client.reread(&made).await.get("leaseDocumentId").is_none() {
        assert!(std::time::Instant::now() < deadline, "no document");
    }
    assert!(
        browser
            .look()
            .await
            .contains(&format!("{}/agreement", browser.path))
    );
    // Each wrong signature is told by its field, and nothing is signed.
    for (fields, told) in [
        (&[][..], "electronic records"),
        (&SIGNATURE[..1], "Your name"),
        (&SIGNATURE[1..], "electronic records"),
        (
            &[("consent", "yes"), ("name", "Ada Lovelace")][..],
            "Your name",
        ),
    ] {
        let refused = browser.send("sign", fields).await;
        let html = String::from_utf8_lossy(&refused.bytes).into_owned();
        assert_eq!(refused.status, 400, "{fields:?}");
        assert!(html.contains(told), "{fields:?}: {html}");
    }
    assert_eq!(client.reread(&made).await["lifecycle"], "documentsPending");
    let signed = browser.send("sign", &SIGNATURE).await;
    signed.has(303);
    let confirmed = until(&client, &made, "orderConfirmed").await;
    let shop = "https://example.com/thanks";
    if signed.header("location") != shop {
        // The deposit was charged a moment later: the next look leads there.
        let led = browser.client.get(&browser.path).await;
        assert_eq!((led.status, led.header("location")), (303, shop));
    }
    assert_eq!(confirmed["shippingAddress"]["city"], "San Francisco");
    assert!(browser.look().await.contains("https://example.com/thanks"));
    // A step that is repeated changes nothing.
    for step in ["sign", "deposit", "accept", "profile"] {
        let again = browser
            .send(step, if step == "profile" { &PROFILE } else { &[] })
            .await;
        assert!(
            matches!(again.status, 303 | 400),
            "{step}: {}",
            again.status
        );
    }
    assert_eq!(client.reread(&made).await["lifecycle"], "orderConfirmed");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_entries_are_shown_with_what_was_typed() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let browser = Browser::at(&client, &made);
    browser.look().await;
    for (field, value) in [
        ("zip", "nonsense"),
        ("state", "ZZ"),
        ("state", ""),
        ("country", "XX"),
        ("country", ""),
        ("firstName", ""),
        ("address1", " "),
        ("city", "a\u{0}b"),
        ("zip", "\u{1b}"),
        ("lastName", "<script>alert(1)</script>\u{0}"),
    ] {
        let mut fields = PROFILE.to_vec();
        for entry in &mut fields {
            if entry.0 == field {
                entry.1 = value;
            }
        }
        let refused = browser.send("profile", &fields).await;
        let html = String::from_utf8_lossy(&refused.bytes).into_owned();
        assert_eq!(refused.status, 400, "{field} {value:?}: {html}");
        assert!(
            html.contains("role=\"alert\"")
                && html.contains("1 Market St") == (field != "address1"),
            "{field}: {html}"
        );
        assert!(!html.contains("<script>"), "{html}");
    }
    let long = "x".repeat(300);
    let mut fields = PROFILE.to_vec();
    fields[0].1 = &long;
    browser.send("profile", &fields).await.has(400);
    browser.send("profile", &[]).await.has(400);
    assert_eq!(client.reread(&made).await["lifecycle"], "profilePending");
    let customer = client
        .get(&format!("/v1/customers/{}", text(&made["customerId"])))
        .await
        .ok();
    assert!(
        customer.get("firstName").is_none() && customer.get("zip").is_none(),
        "nothing was written: {customer}"
    );
    // Steps that are not now.
    for step in [
        "sign",
        "deposit",
        "accept",
        "payment-method",
        "identity-submit",
        "choose-pickup",
        "retry-capture",
    ] {
        let refused = browser.send(step, &[]).await;
        refused.has(400);
    }
    let wrong_term = browser.send("term", &[("leaseTermId", "nonsense")]).await;
    wrong_term.has(400);
    assert_eq!(client.reread(&made).await["lifecycle"], "profilePending");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_guessed_by_nobody_and_forms_are_forms() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let browser = Browser::at(&client, &made);
    let before = client.reread(&made).await;
    let token = browser.path.trim_start_matches("/c/").to_owned();
    let mut forged = token.clone();
    let last = if forged.pop() == Some('0') { '1' } else { '0' };
    forged.push(last);
    let id = text(&made["id"]);
    let long = "x".repeat(1_000);
    for wrong in [
        forged.as_str(),
        "x",
        &id,
        &token[1..],
        &token.to_uppercase(),
        "%00",
        &long,
    ] {
        if wrong == token {
            continue;
        }
        let nobody = Browser {
            client: client.with_key(""),
            path: format!("/c/{wrong}"),
        };
        let page = nobody.client.get(&nobody.path).await;
        page.has(404);
        let html = String::from_utf8_lossy(&page.bytes).into_owned();
        assert!(
            page.header("content-type").starts_with("text/html")
                && html.contains("There is no such page"),
            "{wrong}: {html}"
        );
        assert!(!html.contains("BIKE") && !html.contains("grace"), "{html}");
        nobody.send("cancel", &[]).await.has(404);
    }
    browser.send("nonsense", &[]).await.has(404);
    // What is no form of a browser is not taken, so that no other site's script can send one in disguise.
    for declared in [
        "application/json",
        "text/plain",
        "multipart/form-data; boundary=x",
    ] {
        let path = format!("{}/cancel", browser.path);
        let refused = browser
            .client
            .send(
                "POST",
                &path,
                &[("content-type", declared)],
                Some(b"{}".to_vec()),
            )
            .await;
        refused.has(415);
    }
    // Looking is no step: an address of a form that is only looked at leads to the page.
    for step in ["cancel", "accept", "deposit", "profile"] {
        let path = format!("{}/{step}", browser.path);
        let led = browser.client.get(&path).await;
        assert_eq!(
            (led.status, led.header("location")),
            (303, browser.path.as_str())
        );
    }
    let path = format!("{}/nonsense", browser.path);
    browser.client.get(&path).await.has(404);
    assert_eq!(client.reread(&made).await, before);
    browser.look().await;
    browser.send("cancel", &[]).await.has(303);
    assert_eq!(client.reread(&made).await["lifecycle"], "cancelled");
    let ended = browser.look().await;
    assert!(!ended.contains("<form"), "nothing is left to do: {ended}");
    for step in ["profile", "identity", "accept", "sign", "back"] {
        let refused = browser
            .send(step, if step == "profile" { &PROFILE } else { &[] })
            .await;
        assert!(
            matches!(refused.status, 303 | 400),
            "{step}: {}",
            refused.status
        );
    }
    assert_eq!(client.reread(&made).await["lifecycle"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn goods_can_be_picked_up() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let location = server.cli(&[
        "pickup-location",
        "create",
        "--org",
        &client.organization,
        "--name",
        "Market Street",
        "--address1",
        "1 Market St",
        "--city",
        "San Francisco",
        "--state",
        "CA",
        "--zip",
        "94105",
        "--country",
        "US",
    ]);
    let made = client
        .checkout_at("BIKE", "grace@example.com", "shippingAddressPending")
        .await;
    let browser = Browser::at(&client, &made);
    browser.step("choose-pickup", &[]).await;
    until(&client, &made, "pickupLocationPending").await;
    for wrong in ["0", "999999", "x", ""] {
        assert_eq!(
            browser
                .send("pickup", &[("pickupLocationId", wrong)])
                .await
                .status,
            400,
            "{wrong}"
        );
    }
    browser.step("choose-shipping", &[]).await;
    until(&client, &made, "shippingAddressPending").await;
    browser.step("choose-pickup", &[]).await;
    browser
        .step(
            "pickup",
            &[("pickupLocationId", &location["id"].to_string())],
        )
        .await;
    let chosen = until(&client, &made, "leaseReviewPending").await;
    assert_eq!(chosen["pickupLocationId"], location["id"]);
    assert!(browser.look().await.contains("Market Street"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_address_cannot_be_changed_by_the_customer() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let locked = json!({ "shippingAddress": lessor_tests::shop::address() });
    let made = client
        .try_checkout("BIKE", "grace@example.com", locked)
        .await
        .ok();
    client.advance(&made, "leaseReviewPending").await.ok();
    let browser = Browser::at(&client, &made);
    browser.step("back", &[]).await;
    until(&client, &made, "shippingAddressPending").await;
    let mut elsewhere = PROFILE.to_vec();
    elsewhere[2].1 = "2 Other St";
    let sent = browser.send("shipping", &elsewhere).await;
    sent.has(303);
    let now = until(&client, &made, "leaseReviewPending").await;
    assert_eq!(now["shippingAddress"]["address1"], "1 Market St");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_failed_is_told_and_can_be_tried_again() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let ready = client
        .checkout_at(
            "BIKE",
            "grace+firstpaymentfail@example.com",
            "orderConfirmed",
        )
        .await;
    let browser = Browser::at(&client, &ready);
    let refused = browser.send("retry-payment", &[]).await;
    assert_eq!(refused.status, 400, "nothing is to be paid yet");
    assert!(!browser.look().await.contains("retry-payment"));

    let shipped = client.act(&ready, "fulfill", json!({})).await.ok();
    assert_eq!(shipped["lifecycle"], "shipped");
    let html = browser.look().await;
    assert!(
        html.contains("Your first monthly payment failed") && html.contains("role=\"alert\""),
        "{html}"
    );
    for wrong in ["pm_card_nonsense", "pm_1", "<script>"] {
        let refused = browser.send("retry-payment", &[("card", wrong)]).await;
        let html = String::from_utf8_lossy(&refused.bytes).into_owned();
        refused.has(400);
        assert!(
            html.contains("Card is none of those that are offered"),
            "{html}"
        );
    }
    // Declined once more: the page says so, and offers the next try.
    browser
        .step("retry-payment", &[("card", "pm_card_chargeCustomerFail")])
        .await;
    let html = browser.look().await;
    assert!(html.contains("Your first monthly payment failed"), "{html}");
    browser
        .step("retry-payment", &[("card", "pm_card_mastercard")])
        .await;
    let paid = until(&client, &shipped, "leaseActive").await;
    assert_eq!(paid["recurringPaymentMethod"]["brand"], "mastercard");
    let html = browser.look().await;
    assert!(
        !html.contains("payment failed") && !html.contains("retry-payment"),
        "{html}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_was_not_renewed_is_told_with_its_end() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client
        .checkout_at("BIKE", "grace@example.com", "documentsPending")
        .await;
    let browser = Browser::at(&client, &made);
    assert!(!browser.look().await.contains("role=\"alert\""));
    server
        .query(
            "UPDATE checkout_deposits SET renewals_refused = 1, renewal_refused_at = now(), \
             hold_expires_at = '2031-05-06T07:08:00Z'",
        )
        .await;
    let html = browser.look().await;
    assert!(
        html.contains("did not renew the reservation of your deposit")
            && html.contains("It holds until May 6, 2031, 7:08\u{202f}AM UTC"),
        "{html}"
    );
}

const ENGLISH: &str = include_str!("../../../crates/api/locales/en/page.ftl");
const SPANISH: &str = include_str!("../../../crates/api/locales/es/page.ftl");

/// What a page that is sent has of a text of a catalogue, in pieces: what is filled in is left out.
fn pieces_of(catalogue: &str) -> Vec<&str> {
    let texts = catalogue.lines().filter(|line| !line.starts_with('#'));
    let texts = texts.filter_map(|line| Some(line.split_once(" = ")?.1));
    let pieces = texts.flat_map(|text| text.split(['{', '}'])).map(str::trim);
    // One or two words may be the same in both languages, or a name.
    pieces
        .filter(|piece| !piece.starts_with('$') && piece.split_whitespace().count() > 2)
        .collect()
}

fn speaks_spanish_alone(html: &str) {
    for piece in pieces_of(ENGLISH) {
        assert!(!html.contains(piece), "{piece}: {html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_speaks_the_language_that_is_asked_for() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let browser = Browser::at(&client, &made);
    for (query, accepted, tag, heading) in [
        ("", "", "en-US", "Tell us who you are"),
        ("", "de, *;q=0.1", "en-US", "Tell us who you are"),
        ("", "en-GB,es;q=0.9", "en-GB", "Tell us who you are"),
        (
            "",
            "fr, es-MX;q=0.8, en;q=0.7",
            "es-MX",
            "Díganos quién es usted",
        ),
        ("?lang=es", "en-US", "es-US", "Díganos quién es usted"),
        ("?lang=es-ES", "en-US", "es-ES", "Díganos quién es usted"),
        (
            "?lang=en",
            "es-MX,en-CA;q=0.1",
            "en-CA",
            "Tell us who you are",
        ),
        ("?lang=fr", "es", "es", "Díganos quién es usted"),
        ("?lang=%3Cb%3E", "es", "es", "Díganos quién es usted"),
    ] {
        let html = browser
            .look_as(query, &[("accept-language", accepted)])
            .await;
        assert!(
            html.contains(&format!("<html lang=\"{tag}\">")) && html.contains(heading),
            "{query} {accepted}: {html}"
        );
    }
    let spanish = browser.look_as("?lang=es-ES", &[]).await;
    speaks_spanish_alone(&spanish);
    assert!(spanish.contains("1299,00\u{a0}US$"), "{spanish}");
    assert!(spanish.contains(">Alemania</option>"), "{spanish}");
    let english = browser.look().await;
    assert!(
        english.contains("$1,299.00") && english.contains(">Germany</option>"),
        "{english}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_language_that_was_chosen_is_kept() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let browser = Browser::at(&client, &made);
    let here = browser.path.clone();
    let switch = format!("href=\"{here}?lang=es\" lang=\"es\" hreflang=\"es\"");
    assert!(browser.look().await.contains(&switch), "{switch}");

    let spanish = browser.look_as("?lang=es", &[]).await;
    for link in [
        format!("action=\"{here}/profile?lang=es\""),
        format!("action=\"{here}/term?lang=es\""),
        format!("href=\"{here}?lang=en\" lang=\"en\" hreflang=\"en\""),
    ] {
        assert!(spanish.contains(&link), "{link}: {spanish}");
    }
    let back = format!("{here}?lang=es");
    let refused = browser.send("profile?lang=es", &PROFILE[1..]).await;
    refused.has(400);
    let html = String::from_utf8_lossy(&refused.bytes).into_owned();
    assert!(html.contains("Rellene este campo: Nombre."), "{html}");
    speaks_spanish_alone(&html);
    let looked = browser.client.get(&format!("{here}/profile?lang=es")).await;
    assert_eq!(
        (looked.status, looked.header("location")),
        (303, back.as_str())
    );
    let returned = browser
        .client
        .get(&format!("{here}/return?left=1&lang=es"))
        .await;
    assert_eq!(
        (returned.status, returned.header("location")),
        (303, back.as_str())
    );
    let sent = browser.send("profile?lang=es", &PROFILE).await;
    assert_eq!((sent.status, sent.header("location")), (303, back.as_str()));
    // What is refused by a rule, and what is no form at all.
    let early = browser.send("sign?lang=es", &SIGNATURE).await;
    early.has(400);
    let html = String::from_utf8_lossy(&early.bytes).into_owned();
    assert!(html.contains("No ha sido posible."), "{html}");
    speaks_spanish_alone(&html);
    let path = format!("{here}/cancel?lang=es");
    let headers = [("content-type", "application/json")];
    let no_form = browser
        .client
        .send("POST", &path, &headers, Some(b"{}".to_vec()))
        .await;
    no_form.has(415);
    let html = String::from_utf8_lossy(&no_form.bytes).into_owned();
    assert!(
        html.contains("No se ha podido leer") && html.contains(&format!("href=\"{back}\"")),
        "{html}"
    );
    speaks_spanish_alone(&html);
    let headers = [("accept-language", "es-AR")];
    let nothing = browser.client.send("GET", "/c/x", &headers, None).await;
    nothing.has(404);
    let html = String::from_utf8_lossy(&nothing.bytes).into_owned();
    assert!(html.contains("Esta página no existe"), "{html}");
    assert_eq!(nothing.header("content-language"), "es-AR");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_wrong_fields_are_told_at_once() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let browser = Browser::at(&client, &made);
    let entered = [
        ("firstName", ""),
        ("lastName", "Hopper"),
        ("address1", "1 Market St"),
        ("city", ""),
        ("zip", "nonsense"),
        ("state", "ZZ"),
        ("phone", "12"),
        ("country", "US"),
    ];
    let refused = browser.send("profile", &entered).await;
    refused.has(400);
    let html = String::from_utf8_lossy(&refused.bytes).into_owned();
    assert!(html.contains("<title>Error: "), "{html}");
    assert!(
        html.contains("role=\"alert\" tabindex=\"-1\" autofocus"),
        "{html}"
    );
    for field in ["firstName", "city", "zip", "state", "phone"] {
        for said in [
            format!("href=\"#{field}\""),
            format!("id=\"{field}-fault\""),
            format!("aria-invalid=\"true\" aria-describedby=\"{field}-fault\""),
        ] {
            assert!(html.contains(&said), "{said}: {html}");
        }
    }
    for field in ["lastName", "address1", "address2", "country"] {
        assert!(!html.contains(&format!("{field}-fault")), "{field}: {html}");
    }
    for kept in ["value=\"Hopper\"", "value=\"nonsense\"", "value=\"ZZ\""] {
        assert!(html.contains(kept), "{kept}: {html}");
    }
    assert_eq!(client.reread(&made).await["lifecycle"], "profilePending");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_told_their_place() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", Some(0)).await;
    let mut waiting = Vec::new();
    for (email, place) in [("ada@example.com", 1), ("grace@example.com", 2)] {
        let made = client.checkout("BIKE", email).await;
        let browser = Browser::at(&client, &made);
        until(&client, &made, "waitlistedAfterProfile").await;
        let html = browser.look().await;
        let told = format!("You are number {place} in line.");
        assert!(html.contains(&told), "{told}: {html}");
        waiting.push(browser);
    }
    let [first, second] = waiting.as_slice() else {
        panic!("two wait");
    };
    first.send("cancel", &[]).await.has(303);
    let html = second.look().await;
    assert!(html.contains("You are number 1 in line."), "{html}");
}

/// Every page on the way is small, and in Spanish it is Spanish.
#[tokio::test(flavor = "multi_thread")]
async fn the_whole_way_is_in_spanish_too() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let browser = Browser::at(&client, &made);
    for state in [
        "created",
        "profilePending",
        "identityRequired",
        "identityVerifying",
        "shippingAddressPending",
        "leaseReviewPending",
        "depositPending",
        "recurringPaymentMethodPending",
        "documentsPending",
        "orderConfirmed",
        "shipped",
        "leaseActive",
        "returnPending",
        "returned",
    ] {
        if state != "created" {
            let moved = if state.starts_with("return") {
                client.move_to(&made, state).await
            } else {
                client.advance(&made, state).await
            };
            assert_eq!(moved.ok()["lifecycle"], state);
        }
        let english = browser.look().await;
        let spanish = browser.look_as("?lang=es", &[]).await;
        speaks_spanish_alone(&spanish);
        let of = |html: &str, catalogue: &str| {
            let pieces = pieces_of(catalogue);
            pieces.iter().filter(|piece| html.contains(**piece)).count()
        };
        assert!(
            of(&english, ENGLISH) > 2 && of(&spanish, SPANISH) > 2,
            "{state}: the test looks for what is there"
        );
        if state == "documentsPending" {
            let refused = browser.send("sign?lang=es", &[]).await;
            refused.has(400);
            let html = String::from_utf8_lossy(&refused.bytes).into_owned();
            assert!(
                html.contains("id=\"consent-fault\"") && html.contains("id=\"name-fault\""),
                "{html}"
            );
            speaks_spanish_alone(&html);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_runs_is_shown_with_its_payments() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client
        .checkout_at("BIKE", "grace@example.com", "leaseActive")
        .await;
    let browser = Browser::at(&client, &made);
    let html = browser.look().await;
    let monthly = format!("${}", text(&made["pricing"]["totalMonthlyPayment"]));
    for said in [
        "How your lease goes on",
        "Lease ends",
        "Your payments",
        "Next payment:",
        "further payments",
        "How you pay",
        "Open the agreement (PDF)",
        "Giving it back",
        &monthly,
        &format!("datetime=\"{}\"", text(&made["leaseStartDate"])),
        &format!("datetime=\"{}\"", text(&made["leaseEndDate"])),
    ] {
        assert!(html.contains(said), "{said}: {html}");
    }
}
