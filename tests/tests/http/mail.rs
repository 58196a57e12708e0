//! Mails: which come of a lease, what is taken of reports, and what the page without a token offers.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says where it stopped"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use lessor_adapters::processor::standard_webhooks::{
    ID_HEADER, SIGNATURE_HEADER, SharedSecret, TIMESTAMP_HEADER, sign,
};
use lessor_tests::mailbox::Mailbox;
use lessor_tests::server::TRACKING_SECRET;
use lessor_tests::{Client, Folder, Reply, Server, text};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::BINARY;

const TESTS: &str = "tests@lessor.example";

/// The settings of a server that mails, as a file, which goes with the folder.
fn settings(mailbox: &Mailbox) -> (Folder, String) {
    let folder = Folder::new("mail");
    let settings = format!(
        "smtp_url = {:?}\nmail_from = \"Lessor <mail@lease.example>\"\nsandbox_mail_to = {TESTS:?}\n\
         mail_webhook_secret = {TRACKING_SECRET:?}\n",
        mailbox.url
    );
    let path = folder.file("lessor.toml", &settings);
    (folder, path)
}

/// The states of the mails, by kind and state.
async fn states(server: &Server) -> Vec<String> {
    let all = "SELECT kind || ' ' || state FROM mails ORDER BY id";
    server.query(all).await
}

async fn until_over(server: &Server) {
    for _ in 0..500 {
        let waiting = "SELECT id::text FROM mails WHERE state = 'pending'";
        if server.query(waiting).await.is_empty() {
            return;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("mails wait: {:?}", states(server).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_mailed_step_by_step_also_by_workers_that_die() {
    let mailbox = Mailbox::open(Duration::from_millis(200));
    let (_folder, path) = settings(&mailbox);
    let flags = ["--config", path.as_str()];
    let server = Server::start(BINARY, &flags).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    until_over(&server).await;
    client.advance(&made, "documentsPending").await.ok();
    for _ in 0..500 {
        let ready = states(&server)
            .await
            .iter()
            .any(|it| it.starts_with("agreementReady"));
        if ready {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    until_over(&server).await;
    client.advance(&made, "leaseActive").await.ok();
    // The mailbox has the next mail, and the worker not its word.
    let before = mailbox.received().len();
    for _ in 0..500 {
        if mailbox.received().len() > before {
            break;
        }
        sleep(Duration::from_millis(10)).await;
    }
    let server = server.kill_and_restart_with(&flags).await;
    let give_up = "UPDATE mails SET claimed_until = statement_timestamp() \
        WHERE claimed_until IS NOT NULL RETURNING id::text";
    server.query(give_up).await;
    until_over(&server).await;
    let states = states(&server).await;
    for kind in ["checkoutLink", "agreementReady", "agreementSigned"] {
        let told: Vec<&String> = states
            .iter()
            .filter(|state| state.starts_with(&format!("{kind} ")))
            .collect();
        assert_eq!(told, [&format!("{kind} sent")], "{states:?}");
    }
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for mail in mailbox.received() {
        assert_eq!(mail.to, TESTS);
        assert!(mail.header("From").contains("Road Bikes"), "{}", mail.data);
        *times.entry(mail.header("Message-ID")).or_default() += 1;
    }
    let sent = states.iter().filter(|state| state.ends_with(" sent"));
    assert_eq!(times.len(), sent.count(), "{times:?} {states:?}");
    let again: usize = times.values().map(|times| times - 1).sum();
    assert!(
        again <= 4,
        "what was under way, and nothing else: {times:?}"
    );
}

async fn report(client: &Client, secret: &str, body: &Value) -> Reply {
    let secret: SharedSecret = secret.parse().unwrap();
    let body = body.to_string();
    let now = lessor_tests::now();
    let stamp = now.timestamp().to_string();
    let signature = sign(body.as_bytes(), "msg_1", &[secret], now);
    let headers = [
        ("content-type", "application/json"),
        (ID_HEADER, "msg_1"),
        (TIMESTAMP_HEADER, stamp.as_str()),
        (SIGNATURE_HEADER, signature.as_str()),
    ];
    let nobody = client.with_key("");
    let body = Some(body.into_bytes());
    nobody.send("POST", "/webhooks/mail", &headers, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_mails_come_back_from_is_sent_nothing_more() {
    let mailbox = Mailbox::open(Duration::ZERO);
    let (_folder, path) = settings(&mailbox);
    let server = Server::start(BINARY, &["--config", &path]).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    client.checkout("BIKE", "grace@example.com").await;
    until_over(&server).await;
    let id = mailbox.received()[0].header("Message-ID");
    let bounced = json!({ "type": "bounced", "messageId": id });
    let forged = "whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw";
    report(&client, forged, &bounced)
        .await
        .refused(401, "unauthorized", "");
    for wrong in [json!({}), json!({ "type": "opened", "messageId": id })] {
        report(&client, TRACKING_SECRET, &wrong).await.has(400);
    }
    let soft = json!({ "type": "bounced", "messageId": id, "permanent": false });
    let unknown = json!({ "type": "bounced", "messageId": "<somebody@else.example>" });
    for passed_over in [soft, unknown] {
        report(&client, TRACKING_SECRET, &passed_over).await.ok();
    }
    assert_eq!(states(&server).await, ["checkoutLink sent"]);
    report(&client, TRACKING_SECRET, &bounced).await.ok();
    assert_eq!(states(&server).await, ["checkoutLink bounced"]);
    client.checkout("BIKE", "ada@example.com").await;
    until_over(&server).await;
    let told = ["checkoutLink bounced", "checkoutLink suppressed"];
    assert_eq!(states(&server).await, told);
    let listed = server.cli(&["mail", "list", "--state", "suppressed"]);
    assert_eq!(
        listed["results"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
    server.cli(&["mail", "unsuppress", "--org", &client.organization, TESTS]);
    client.checkout("BIKE", "eve@example.com").await;
    until_over(&server).await;
    assert_eq!(mailbox.received().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_without_a_token_mails_the_link_to_its_customer() {
    let mailbox = Mailbox::open(Duration::ZERO);
    let (_folder, path) = settings(&mailbox);
    let server = Server::start(BINARY, &["--config", &path]).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let made = client.checkout("BIKE", "grace@example.com").await;
    until_over(&server).await;
    let nobody = client.with_key("");
    let page = nobody.get("/c").await;
    let page = String::from_utf8_lossy(&page.bytes).into_owned();
    assert!(page.contains("action=\"/c/link\""), "{page}");
    let ask = async |checkout: &str, email: &str| {
        let form = format!("checkout={checkout}&email={email}").into_bytes();
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let asked = nobody.send("POST", "/c/link", &headers, Some(form)).await;
        asked.has(303);
        asked.header("location").to_owned()
    };
    let id = text(&made["id"]);
    let answers = [
        ask("chk_0000000000000000000000", "grace%40example.com").await,
        ask(&id, "eve%40example.com").await,
        ask("nonsense", "").await,
        ask(&id, "Grace%40Example.com").await,
        ask(&id, "grace%40example.com").await,
    ];
    assert!(
        answers.iter().all(|answer| answer == "/c?asked=1"),
        "{answers:?}"
    );
    until_over(&server).await;
    let told = ["checkoutLink sent", "linkAgain sent"];
    assert_eq!(states(&server).await, told);
    let link = text(&made["checkoutUrl"]);
    let token = link.rsplit('/').next().unwrap();
    let mails = mailbox.received();
    // Lines are broken after 76 characters.
    let plain = mails[1].data.replace("=\r\n", "");
    assert!(plain.contains(token), "{plain}");
}
