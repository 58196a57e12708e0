//! `GET` and `PUT /v1/organization`, and the face on the checkout page.

use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;
use crate::page::Browser;

fn face() -> Value {
    json!({
        "displayName": "Better <Bikes>", "logoUrl": "https://cdn.example:8443/logo.svg?v=1", "accentColor": "#FFCC00",
        "supportEmail": "help@bikes.example", "supportPhone": "+14155550100",
        "termsUrl": "https://bikes.example/terms", "privacyUrl": "https://bikes.example/privacy",
        "notifyEmail": "orders@bikes.example"
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_face_is_set_read_and_taken_away() {
    let server = Server::shared(BINARY).await;
    let client = server
        .client_of(&["--name", "Bikes", "--service-area", "US"])
        .await;
    let bare = client.get("/v1/organization").await.ok();
    assert_eq!(
        (&bare["id"], &bare["organizationId"]),
        (
            &json!(client.organization),
            &json!(client.organization_number)
        )
    );
    assert_eq!(
        (&bare["name"], &bare["currency"], &bare["serviceArea"]),
        (&json!("Bikes"), &json!("USD"), &json!(["US"]))
    );
    for member in face().as_object().into_iter().flatten().map(|it| it.0) {
        assert!(bare.get(member).is_none(), "{member}: {bare}");
    }
    let set = client.put("/v1/organization", face()).await.ok();
    for (member, value) in face().as_object().into_iter().flatten() {
        let expected = match member.as_str() {
            "accentColor" => json!("#ffcc00"),
            _ => value.clone(),
        };
        assert_eq!(set[member], expected, "{member}");
    }
    assert_eq!(client.get("/v1/organization").await.ok(), set);
    let shown = server.cli(&["org", "show", &client.organization]);
    assert_eq!(shown["displayName"], "Better <Bikes>");
    let some = json!({ "displayName": null, "serviceArea": ["US-CA", "US:941*"] });
    let kept = client.put("/v1/organization", some).await.ok();
    assert!(kept.get("displayName").is_none());
    assert_eq!(kept["logoUrl"], set["logoUrl"], "what is left out stays");
    assert_eq!(kept["serviceArea"], json!(["US-CA", "US:941*"]));
    let flags = [
        "org",
        "update",
        &client.organization,
        "--display-name",
        "By hand",
        "--logo-url",
        "",
    ];
    let by_hand = server.cli(&flags);
    assert_eq!(by_hand["displayName"], "By hand");
    let read = client.get("/v1/organization").await.ok();
    assert!(read.get("logoUrl").is_none(), "{read}");
    assert_eq!(read["displayName"], "By hand");
    for (flag, wrong) in [
        ("--accent-color", "red"),
        ("--support-email", "nobody"),
        ("--terms-url", "ftp://x"),
    ] {
        let refused = server.refused(&["org", "update", &client.organization, flag, wrong]);
        assert_eq!(refused.0, 2, "{flag}: {refused:?}");
    }
    let insecure = [
        "org",
        "update",
        &client.organization,
        "--logo-url",
        "http://x.example/",
    ];
    assert_eq!(server.refused(&insecure).0, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_shown_is_named() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    for (member, wrong) in [
        ("displayName", json!("")),
        ("displayName", json!("x".repeat(256))),
        ("logoUrl", json!("http://cdn.example/logo.png")),
        ("logoUrl", json!("/logo.png")),
        ("termsUrl", json!("http://bikes.example/")),
        ("privacyUrl", json!("javascript:alert(1)")),
        ("accentColor", json!("#12345")),
        ("accentColor", json!("red; }")),
        ("supportEmail", json!("nobody")),
        ("notifyEmail", json!(7)),
        ("supportPhone", json!("12")),
        ("name", json!("Mine")),
    ] {
        let refused = client
            .put("/v1/organization", json!({ member: wrong }))
            .await;
        refused.refused(400, "invalid_parameter", member);
    }
    let area = json!({ "serviceArea": ["US", "XX"] });
    let refused = client.put("/v1/organization", area).await;
    refused.refused(400, "invalid_parameter", "serviceArea[1]");
    assert!(
        client
            .get("/v1/organization")
            .await
            .ok()
            .get("displayName")
            .is_none()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_has_the_face_of_the_organization() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    let browser = Browser::at(&client, &made);
    let bare = browser.look().await;
    assert!(
        !bare.contains("<img") && !bare.contains("mailto:") && !bare.contains("noreferrer"),
        "{bare}"
    );
    client.put("/v1/organization", face()).await.ok();
    let reply = browser.client.get(&browser.path).await;
    let policy = reply.header("content-security-policy");
    assert!(
        policy.contains("img-src https://cdn.example:8443")
            && policy.matches("https://").count() == 1,
        "{policy}"
    );
    let page = browser.look().await;
    for shown in [
        "Better &lt;Bikes&gt;",
        "src=\"https://cdn.example:8443/logo.svg?v=1\"",
        "href=\"mailto:help@bikes.example\"",
        "href=\"tel:+14155550100\"",
        "href=\"https://bikes.example/terms\"",
        "href=\"https://bikes.example/privacy\"",
        "href=\"/assets/accents/ffcc00.css\"",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("orders@bikes.example"), "that is its own");
    assert!(!page.contains("style="), "no style stands in the page");
    let nobody = client.with_key("");
    for (color, ink) in [("ffcc00", "#000000"), ("0b57a4", "#ffffff")] {
        let style = nobody.get(&format!("/assets/accents/{color}.css")).await;
        style.has(200);
        let style = String::from_utf8_lossy(&style.bytes).into_owned();
        assert_eq!(
            style,
            format!(":root {{ --brand: #{color}; --on-brand: {ink}; }}\n")
        );
    }
    for wrong in ["red", "12345", "1234567", "%7Dx%7By"] {
        let path = format!("/assets/accents/{wrong}.css");
        nobody.get(&path).await.has(404);
    }
}

/// Both modes have the one face: sandbox keys change it as long as they write the catalog.
#[tokio::test(flavor = "multi_thread")]
async fn sandbox_keys_change_no_live_face() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let live = client.with_key(&server.key(&client.organization, "live", "all"));
    live.put("/v1/organization", json!({ "displayName": "Live" }))
        .await
        .ok();
    let deadline = std::time::Instant::now() + lessor_tests::server::PATIENCE;
    loop {
        let tried = client
            .put("/v1/organization", json!({ "displayName": "Test" }))
            .await;
        if tried.status == 403 {
            assert!(
                text(&tried.body["error"]["message"]).contains("--sandbox-writes-catalog on"),
                "{tried}"
            );
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{tried}");
    }
    client.get("/v1/organization").await.ok();
    let flags = ["--sandbox-writes-catalog", "on"];
    server.cli(&[&["org", "update", client.organization.as_str()], &flags[..]].concat());
}
