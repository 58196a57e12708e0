//! Organizations' own accounts at the payment processor: who sets them, what is made where, and whose messages
//! change what.

use lessor_processor_double::{Double, SIGNATURE_HEADER, sign};
use lessor_tests::client::Reply;
use lessor_tests::server::{PROCESSOR_SANDBOX_SECRET, PROCESSOR_SECRET};
use lessor_tests::{Client, Folder, Server, answer, text};
use serde_json::{Value, json};

use crate::BINARY;

pub(super) const BLUE: &str = "acctBlue";
const GREEN: &str = "acctGreen";

/// The key of an account of the double's, and what its messages are signed with here.
fn key(account: &str) -> String {
    format!("sk_test_{account}_0123456789")
}

fn secret(account: &str) -> String {
    format!("whsec_of_{account}")
}

/// Sets the organization's own account of sandbox mode.
pub(super) fn set(server: &Server, files: &Folder, client: &Client, account: &str) -> Value {
    let key_file = files.file(&format!("{account}.key"), &format!("{}\n", key(account)));
    let secret_file = files.file(&format!("{account}.secret"), &secret(account));
    server.cli(&[
        "org",
        "processor",
        "set",
        &client.organization,
        "--mode",
        "sandbox",
        "--key-file",
        &key_file,
        "--webhook-secret-file",
        &secret_file,
    ])
}

async fn send(client: &Client, path: &str, secret: &str, body: &[u8]) -> Reply {
    let signature = sign(body, &[secret], lessor_tests::now().timestamp());
    let headers = [
        ("content-type", "application/json"),
        (SIGNATURE_HEADER, signature.as_str()),
    ];
    let nobody = client.with_key("");
    nobody
        .send("POST", path, &headers, Some(body.to_vec()))
        .await
}

fn own_path(client: &Client) -> String {
    format!("/webhooks/processor/{}", client.organization)
}

/// The payments that the account has, by the checkouts that they are for.
fn paid_at(double: &Double, account: &str) -> Vec<String> {
    let intents = double.objects_at(account, false, "payment_intent");
    let named = intents.iter();
    named
        .map(|intent| text(&intent["metadata"]["lessor_checkout"]))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_organization_has_what_is_at_its_own_account_alone() {
    let double = Double::start().unwrap();
    let files = Folder::new("apart");
    let url = double.url();
    let server = Server::start(BINARY, &["--no-worker", "--processor-url", &url]).await;
    let (blue, green) = (server.client().await, server.client().await);
    let done = set(&server, &files, &blue, BLUE);
    assert_eq!(
        (&done["mode"], &done["keyHint"], &done["newAccount"]),
        (&json!("sandbox"), &json!("6789"), &json!(true))
    );
    assert_eq!(text(&done["webhookPath"]), own_path(&blue));
    set(&server, &files, &green, GREEN);
    // Who has none works with what the process has: nothing is set, so that it is simulated.
    let plain = server.client().await;

    let mut checkouts = Vec::new();
    for (client, sku) in [(&blue, "BLUE-1"), (&green, "GREEN-1"), (&plain, "PLAIN-1")] {
        client.variant(sku, Some(3)).await;
        let made = client.checkout_at(sku, "ada@example.com", "documentsPending");
        checkouts.push(made.await);
    }
    let [of_blue, of_green, _] = checkouts.as_slice() else {
        panic!("three were made");
    };
    assert_eq!(paid_at(&double, BLUE), [text(&of_blue["id"])]);
    assert_eq!(paid_at(&double, GREEN), [text(&of_green["id"])]);
    let metrics = blue.with_key("").get("/metrics").await;
    let told = String::from_utf8_lossy(&metrics.bytes).into_owned();
    let is_counted = told.lines().any(|line| {
        line.starts_with("lessor_processor_requests_total{operation=\"POST ")
            && line.contains("outcome=\"done\"")
    });
    assert!(is_counted, "{told}");
    assert_eq!(double.objects("payment_intent"), Vec::<Value>::new());
    assert_eq!(double.live_objects("payment_intent"), Vec::<Value>::new());
    for asked in double.journal() {
        assert!(
            asked.account == BLUE || asked.account == GREEN,
            "{} {} with a key of nobody's",
            asked.method,
            asked.path
        );
    }

    // What happens at Blue's account is told there; it is Blue's alone.
    let intents = double.objects_at(BLUE, false, "payment_intent");
    let known = double.events_at(BLUE).len();
    double.lapse(&text(&intents[0]["id"])).unwrap();
    let told = double.events_at(BLUE).split_off(known);
    let body = &told
        .iter()
        .find(|event| event.kind == "payment_intent.canceled")
        .unwrap()
        .body;
    let before = blue.reread(of_blue).await;
    for (client, path, secret) in [
        (&green, own_path(&green), secret(GREEN)),
        (
            &blue,
            "/webhooks/processor".to_owned(),
            PROCESSOR_SANDBOX_SECRET.to_owned(),
        ),
    ] {
        let answered = send(client, &path, &secret, body).await;
        assert_eq!(answered.ok()["received"], true, "{path}");
        assert_eq!(blue.reread(of_blue).await, before, "{path}");
    }
    let kept = "SELECT count(*)::text FROM inbox_messages WHERE state = 'handled'";
    assert_eq!(server.query(kept).await, ["2"]);
    let green_now = green.reread(of_green).await;
    // The same message of the account itself is another one, and counts.
    let answered = send(&blue, &own_path(&blue), &secret(BLUE), body).await;
    assert_eq!(answered.ok()["received"], true);
    assert_ne!(blue.reread(of_blue).await, before);
    assert_eq!(green.reread(of_green).await, green_now);

    // A comparison walks each account, and reads there what never came.
    let intents = double.objects_at(GREEN, false, "payment_intent");
    double.lapse(&text(&intents[0]["id"])).unwrap();
    let mut command = server.command(&["reconcile", "--mode", "sandbox", "--mend"]);
    let report = answer(command.env("LESSOR_PROCESSOR_URL", double.url()));
    assert_eq!(report["failures"], json!([]), "{report:#}");
    assert!(report["messages"].as_u64() > Some(0), "{report:#}");
    assert_ne!(green.reread(of_green).await, green_now);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_opens_one_mode_of_one_account_alone() {
    let files = Folder::new("secrets");
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let (blue, green) = (server.client().await, server.client().await);
    set(&server, &files, &blue, BLUE);
    set(&server, &files, &green, GREEN);
    let live = files.file("live.key", "sk_live_acctBlue_0123456789");
    let live_secrets = files.file("live.secret", "whsec_of_live,whsec_of_live_rolled\n");
    let nobody = server.client().await;
    server.cli(&[
        "org",
        "processor",
        "set",
        &blue.organization,
        "--mode",
        "live",
        "--key-file",
        &live,
        "--webhook-secret-file",
        &live_secrets,
    ]);
    let unknown = "/webhooks/processor/org_06EAAAAAAAAAAAAAAAAAAAAAAA".to_owned();
    let cases = [
        (own_path(&blue), secret(BLUE), false, true),
        (own_path(&green), secret(GREEN), false, true),
        (own_path(&blue), "whsec_of_live".to_owned(), true, true),
        (
            own_path(&blue),
            "whsec_of_live_rolled".to_owned(),
            true,
            true,
        ),
        // Of the other mode.
        (own_path(&blue), secret(BLUE), true, false),
        (own_path(&blue), "whsec_of_live".to_owned(), false, false),
        // Another's, the process's, somebody's.
        (own_path(&blue), secret(GREEN), false, false),
        (own_path(&green), secret(BLUE), false, false),
        (
            own_path(&blue),
            PROCESSOR_SANDBOX_SECRET.to_owned(),
            false,
            false,
        ),
        (own_path(&blue), PROCESSOR_SECRET.to_owned(), true, false),
        (
            own_path(&blue),
            "whsec_of_somebody".to_owned(),
            false,
            false,
        ),
        // An account opens its own address alone.
        ("/webhooks/processor".to_owned(), secret(BLUE), false, false),
        // Who has no account has no secret, and who is not there neither.
        (own_path(&nobody), secret(BLUE), false, false),
        (unknown, secret(BLUE), false, false),
        (
            "/webhooks/processor/1".to_owned(),
            secret(BLUE),
            false,
            false,
        ),
    ];
    for (number, (path, secret, livemode, taken)) in cases.into_iter().enumerate() {
        let id = format!("evt_{number}");
        let body = json!({
            "id": id, "object": "event", "type": "invoice.payment_failed", "livemode": livemode,
            "created": lessor_tests::now().timestamp(), "data": { "object": { "object": "planet" } }
        })
        .to_string();
        let answered = send(&blue, &path, &secret, body.as_bytes()).await;
        let kept = format!("SELECT mode || ' ' || source FROM inbox_messages WHERE id = '{id}'");
        let kept = server.query(&kept).await;
        if taken {
            assert_eq!(answered.ok()["received"], true, "{path} {secret}");
            let mode = if livemode { "live" } else { "sandbox" };
            assert_eq!(kept.len(), 1);
            assert!(
                kept[0].starts_with(&format!("{mode} processor:")),
                "{kept:?}"
            );
        } else {
            // Whoever asks hears no more than that.
            answered.refused(401, "unauthorized", "");
            assert_eq!(kept, Vec::<String>::new(), "{path} {secret}");
        }
    }
    // Without a signature nobody is looked for.
    let unsigned = blue.with_key("").post(&own_path(&blue), json!({})).await;
    unsigned.refused(401, "unauthorized", "");
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_set_shown_and_removed_and_no_secret_is_told() {
    let double = Double::start().unwrap();
    let files = Folder::new("commands");
    let url = double.url();
    let server = Server::start(BINARY, &["--no-worker", "--processor-url", &url]).await;
    let client = server.client().await;
    let org = client.organization.as_str();
    assert_eq!(server.cli(&["org", "processor", "show", org])["total"], 0);

    let good = files.file("good.key", &key(BLUE));
    let signed = files.file("good.secret", &secret(BLUE));
    let refused = |mode: &str, key: &str, secret: &str| {
        let arguments = [
            "org",
            "processor",
            "set",
            org,
            "--mode",
            mode,
            "--key-file",
            key,
            "--webhook-secret-file",
            secret,
        ];
        server.refused(&arguments).1
    };
    for (mode, text, word) in [
        ("live", "sk_test_hunter2hunter2", "sk_test_"),
        ("live", "rk_test_hunter2hunter2", "rk_test_"),
        ("sandbox", "sk_live_hunter2hunter2", "sk_live_"),
        ("sandbox", "rk_live_hunter2hunter2", "rk_live_"),
        ("sandbox", "pk_test_hunter2hunter2", "publishable"),
        ("sandbox", "whsec_hunter2hunter2", "webhook secret"),
        ("sandbox", "hunter2", "characters"),
        ("sandbox", "", "characters"),
    ] {
        let said = refused(mode, &files.file("bad.key", text), &signed);
        assert!(said.contains("--key-file") && said.contains(word), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    for (text, word) in [
        ("", "1 to 8"),
        ("short", "characters"),
        ("sk_test_hunter2hunter2", "no webhook secret"),
    ] {
        let said = refused("sandbox", &good, &files.file("bad.secret", text));
        assert!(
            said.contains("--webhook-secret-file") && said.contains(word),
            "{said}"
        );
        assert!(!said.contains("hunter2"), "{said}");
    }
    assert!(refused("sandbox", "-", "-").contains("standard input"));
    assert!(refused("sandbox", "/nowhere/at/all", &signed).contains("/nowhere/at/all"));
    assert_eq!(server.cli(&["org", "processor", "show", org])["total"], 0);

    set(&server, &files, &client, BLUE);
    let shown = server.cli(&["org", "processor", "show", org]);
    let (one, total) = (&shown["results"][0], &shown["total"]);
    assert_eq!(
        (total, &one["mode"], &one["keyHint"]),
        (&json!(1), &json!("sandbox"), &json!("6789"))
    );
    let printed = lessor_tests::run(&mut server.command(&["org", "processor", "show", org]));
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert!(
        printed.contains("…6789") && printed.contains(&own_path(&client)),
        "{printed}"
    );
    // One secret opens one mode.
    let live = files.file("live.key", "sk_live_acctBlue_0123456789");
    let said = refused("live", &live, &signed);
    assert!(said.contains("sandbox mode too"), "{said}");

    // A checkout rests on the account.
    client.variant("B-1", Some(3)).await;
    let made = client.checkout_at("B-1", "ada@example.com", "orderConfirmed");
    let id = text(&made.await["id"]);
    let remove = ["org", "processor", "remove", org, "--mode", "sandbox"];
    let said = server.refused(&remove).1;
    assert!(said.contains(&id) && said.contains("--force"), "{said}");
    // A new key of the same account is none of its business.
    let rolled = files.file("rolled.key", &format!("sk_test_{BLUE}_rolled98765"));
    let mut roll = vec![
        "org",
        "processor",
        "set",
        org,
        "--mode",
        "sandbox",
        "--key-file",
        &rolled,
        "--webhook-secret-file",
        &signed,
    ];
    let done = server.cli(&roll);
    assert_eq!(
        (&done["keyHint"], &done["newAccount"]),
        (&json!("8765"), &json!(false))
    );
    roll.push("--other-account");
    let said = server.refused(&roll).1;
    assert!(said.contains(&id) && said.contains("--force"), "{said}");
    let removed = server.cli(&[remove.as_slice(), &["--force"]].concat());
    assert_eq!(
        (&removed["removed"], &removed["leftBehind"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(server.cli(&["org", "processor", "show", org])["total"], 0);
    assert_eq!(server.refused(&remove).0, 1);

    // Who did it is told, and no secret, there or anywhere.
    let audit = server.cli(&["audit", "--org", org]).to_string();
    for action in ["processor_account.set", "processor_account.removed"] {
        assert!(audit.contains(action), "{audit}");
    }
    assert!(audit.contains("8765"), "{audit}");
    let tables = "SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'public'";
    for table in server.query(tables).await {
        let rows = server
            .query(&format!("SELECT kept::text FROM \"{table}\" AS kept"))
            .await;
        for word in [key(BLUE), secret(BLUE), "rolled9876".to_owned()] {
            let bytes: String = word.bytes().map(|byte| format!("{byte:02x}")).collect();
            let tells = |row: &&String| row.contains(&word) || row.contains(&bytes);
            assert_eq!(rows.iter().find(tells), None, "{table}: {word}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_servers_key_no_secret_is_kept() {
    let files = Folder::new("keyless");
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    let (good, signed) = (
        files.file("good.key", &key(BLUE)),
        files.file("good.secret", &secret(BLUE)),
    );
    for (secret, word) in [
        (None, "LESSOR_SERVER_SECRET"),
        (
            Some("some other key of more than 32 letters"),
            "another server key",
        ),
    ] {
        let mut command = server.command(&[
            "org",
            "processor",
            "set",
            &client.organization,
            "--mode",
            "sandbox",
            "--key-file",
            &good,
            "--webhook-secret-file",
            &signed,
        ]);
        match secret {
            Some(secret) => command.env("LESSOR_SERVER_SECRET", secret),
            None => command.env_remove("LESSOR_SERVER_SECRET"),
        };
        command.current_dir(files.path());
        let output = lessor_tests::run(&mut command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(word), "{said}");
    }
    let show = ["org", "processor", "show", client.organization.as_str()];
    assert_eq!(server.cli(&show)["total"], 0);
}
