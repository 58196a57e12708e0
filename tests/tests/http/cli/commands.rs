//! Every command with `--json`, on the data of a server that runs.

use lessor_adapters::testing::is_cluster;
use lessor_tests::{Server, run, text};
use serde_json::{Value, json};

use crate::BINARY;

#[tokio::test(flavor = "multi_thread")]
async fn organizations_and_keys() {
    let server = Server::shared(BINARY).await;
    let made = server.cli(&[
        "org",
        "create",
        "--name",
        "Shop",
        "--currency",
        "EUR",
        "--discount",
        "5",
        "--service-area",
        "DE,AT",
        "--requires-review",
    ]);
    let id = made["id"]
        .as_i64()
        .map(|id| id.to_string())
        .unwrap_or_default();
    assert_eq!(
        (&made["currency"], &made["discountPercentage"]),
        (&json!("EUR"), &json!("5"))
    );
    assert_eq!(
        (&made["requiresProductReview"], &made["serviceArea"]),
        (&json!(true), &json!("DE,AT"))
    );
    let public = text(&made["publicId"]);
    assert_eq!(
        server.cli(&["org", "show", &id]),
        server.cli(&["org", "show", &public])
    );
    let updated = server.cli(&[
        "org",
        "update",
        &public,
        "--name",
        "Other",
        "--service-area",
        "",
        "--requires-review=false",
    ]);
    assert_eq!(
        (&updated["name"], &updated["requiresProductReview"]),
        (&json!("Other"), &json!(false))
    );
    assert_eq!(
        updated["discountPercentage"], "5",
        "what is not mentioned stays"
    );
    let listed = server.cli(&["org", "list"]).to_string();
    assert!(listed.contains(&public), "{listed}");
    let catalog = |organization: &Value| {
        (
            organization["sandboxWritesCatalog"].as_bool(),
            text(&organization["sandboxWritesCatalogSetting"]),
            organization.get("firstLiveKeyAt").is_some(),
        )
    };
    let default = "default".to_owned();
    assert_eq!(catalog(&made), (Some(true), default.clone(), false));
    // Keys, by either id of the organization.
    let key = server.cli(&[
        "key",
        "create",
        "--org",
        &id,
        "--mode",
        "sandbox",
        "--permissions",
        "ProductRead,CheckoutRead",
        "--user",
        "ada@example.com",
        "--name",
        "Price tags",
        "--expires-in",
        "90d",
    ]);
    for (name, value) in [
        ("mode", json!("sandbox")),
        ("permissions", json!(["ProductRead", "CheckoutRead"])),
        ("status", json!("valid")),
    ] {
        assert_eq!(key[name], value, "{name}");
    }
    assert!(text(&key["key"]).starts_with("lsk_sandbox_") && key["userId"].is_i64());
    assert!(
        text(&key["userPublicId"]).starts_with("usr_") && text(&key["keyId"]).starts_with("key_")
    );
    // A person is another user in each mode, and is found by the id of either.
    let of = |mode: &str, user: &str| {
        server.cli(&[
            "key",
            "create",
            "--org",
            &public,
            "--mode",
            mode,
            "--permissions",
            "all",
            "--user",
            user,
        ])
    };
    let user = |key: &Value| (key["userId"].clone(), text(&key["userPublicId"]));
    let (number, sandbox) = user(&key);
    let (live_number, live) = user(&of("live", &sandbox));
    assert!(live.starts_with("usr_") && live != sandbox && live_number != number);
    for named in [sandbox.as_str(), &live, "Ada@Example.com"] {
        let of_live = user(&of("live", named));
        assert_eq!(of_live, (live_number.clone(), live.clone()), "{named}");
        let of_sandbox = user(&of("sandbox", named));
        assert_eq!(of_sandbox, (number.clone(), sandbox.clone()), "{named}");
    }
    // The catalog is the live one's from now on, unless that is said otherwise.
    let shown = server.cli(&["org", "show", &id]);
    assert_eq!(catalog(&shown), (Some(false), default, true));
    for (said, in_force) in [("on", true), ("off", false), ("default", false)] {
        let setting = ["--sandbox-writes-catalog", said];
        let updated = server.cli(&[&["org", "update", id.as_str()], &setting[..]].concat());
        assert_eq!(catalog(&updated), (Some(in_force), said.to_owned(), true));
        assert_eq!(updated["name"], "Other", "what is not mentioned stays");
    }
    let keys = server.cli(&["key", "list", "--org", &public]).to_string();
    assert!(
        keys.contains(&text(&key["keyId"])) && !keys.contains(&text(&key["key"])),
        "a key is shown once: {keys}"
    );
    // Rolled, both are in force for a while; rolled at once, the new one is.
    let client = server.client().await;
    let ask = |key: &Value| client.with_key(&text(&key["key"]));
    let rolled = server.cli(&["key", "roll", &text(&key["keyId"]), "--overlap", "1h"]);
    ask(&key).get("/v1/products").await.ok();
    ask(&rolled).get("/v1/products").await.ok();
    assert_ne!(rolled["key"], key["key"]);
    assert_eq!(rolled["permissions"], key["permissions"]);
    assert_eq!(user(&rolled), user(&key));
    let last = server.cli(&["key", "roll", &text(&rolled["keyId"]), "--overlap", "0s"]);
    ask(&last).get("/v1/products").await.ok();
    ask(&rolled).comes_to_nothing("/v1/products").await;
    let revoked = server.cli(&["key", "revoke", &text(&last["keyId"])]);
    assert_eq!(revoked["status"], "revoked");
}

#[tokio::test(flavor = "multi_thread")]
async fn terms_reviews_pickup_locations_and_the_jobs() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let org = client.organization.as_str();
    let product = client.product(json!({})).await;
    let id = text(&product["id"]);
    let term = server.cli(&[
        "terms",
        "create",
        "--org",
        org,
        "--months",
        "48",
        "--method",
        "annualRate",
        "--annual-rate",
        "6.9",
        "--residual",
        "20",
        "--deposit",
        "5",
        "--insurance",
        "1",
        "--product",
        &id,
    ]);
    assert_eq!(
        (&term["termInMonths"], &term["productId"]),
        (&json!(48), &product["id"])
    );
    let path = text(&term["id"]);
    let seen = client.get("/v1/lease-terms").await.ok();
    let seen = seen
        .as_array()
        .into_iter()
        .flatten()
        .find(|one| one["id"] == term["id"])
        .cloned()
        .unwrap_or_default();
    assert_eq!(
        (&seen["annualRate"], &seen["residualPercentage"]),
        (&json!("6.9"), &json!("20"))
    );
    let updated = server.cli(&[
        "terms",
        "update",
        &path,
        "--residual",
        "25",
        "--status",
        "inactive",
    ]);
    assert_eq!(
        (&updated["residualPercentage"], &updated["status"]),
        (&json!("25"), &json!("inactive"))
    );
    assert!(
        server
            .cli(&["terms", "list", "--org", org])
            .to_string()
            .contains(&path)
    );
    server.cli(&["terms", "delete", &path]);
    assert!(
        !server
            .cli(&["terms", "list", "--org", org])
            .to_string()
            .contains(&path)
    );
    let reviewed = server.cli(&[
        "product",
        "review",
        &id,
        "--status",
        "changesRequested",
        "--notes",
        "No image",
    ]);
    assert_eq!(
        (&reviewed["reviewStatus"], &reviewed["reviewNotes"]),
        (&json!("changesRequested"), &json!("No image"))
    );
    let place = server.cli(&[
        "pickup-location",
        "create",
        "--org",
        org,
        "--name",
        "Here",
        "--address1",
        "1 Main St",
        "--city",
        "Town",
        "--state",
        "CA",
        "--zip",
        "94105",
        "--country",
        "us",
    ]);
    assert_eq!(place["address"]["country"], "US");
    let number = place["id"].to_string();
    let moved = server.cli(&[
        "pickup-location",
        "update",
        &number,
        "--org",
        org,
        "--name",
        "There",
        "--active",
        "false",
    ]);
    assert_eq!(
        (&moved["name"], &moved["active"]),
        (&json!("There"), &json!(false))
    );
    assert!(
        server
            .cli(&["pickup-location", "list", "--org", org])
            .to_string()
            .contains("There")
    );
    let jobs = server.cli(&["jobs", "list", "--limit", "5"]);
    assert!(jobs["pending"].is_u64() && jobs["dead"].is_u64(), "{jobs}");
    assert!(server.cli(&["jobs", "list", "--state", "dead"]).is_object());
    assert!(server.cli(&["jobs", "retry"])["requeued"].is_u64());
    assert!(server.cli(&["migrate"]).is_object());
}

/// What is in force is shown, and what is secret is not.
#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_keeps_its_secrets() {
    let server = Server::shared(BINARY).await;
    let mut command = server.command(&["config", "--json"]);
    command
        .env("LESSOR_PROCESSOR_SANDBOX_KEY", "sk_test_verysecret")
        .env("LESSOR_RATE_LIMIT", "7");
    let told = String::from_utf8_lossy(&run(&mut command).stdout).into_owned();
    let json: Value = serde_json::from_str(&told).unwrap_or_default();
    assert!(json.is_object(), "{told}");
    assert!(!told.contains("verysecret") && told.contains('7'), "{told}");
    let password = server
        .command(&["config"])
        .get_envs()
        .find_map(|(name, value)| {
            let value = value.filter(|_| name == "DATABASE_URL")?.to_str()?;
            value
                .split('@')
                .next()?
                .rsplit(':')
                .next()
                .map(str::to_owned)
                .filter(|password| !password.starts_with("//"))
        });
    // The nodes of a cluster for tests trust whoever comes.
    assert!(
        password.map_or_else(is_cluster, |password| password.len() > 8
            && !told.contains(&password)),
        "{told}"
    );
    let document = run(&mut server.command(&["openapi"]));
    let document: Value = serde_json::from_slice(&document.stdout).unwrap_or_default();
    assert_eq!(
        document["paths"],
        server.contract().document["paths"],
        "the snapshot is what is served"
    );
}

/// Each command explains itself to somebody who has never seen it.
#[test]
fn every_command_helps() {
    let help = |command: &[&str]| {
        let mut arguments = command.to_vec();
        arguments.push("--help");
        let output = run(lessor_tests::process::bare(BINARY).args(&arguments));
        assert!(output.status.success(), "{command:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let subcommands = |text: &str| -> Vec<String> {
        text.split("Commands:")
            .nth(1)
            .map(|list| list.split("\n\n").next().unwrap_or_default())
            .into_iter()
            .flat_map(str::lines)
            .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
            .filter(|name| !name.is_empty() && *name != "help")
            .map(str::to_owned)
            .collect()
    };
    let top = help(&[]);
    let names = subcommands(&top);
    // What to start with is told in one column.
    let begin = top.split("Start here:\n").nth(1).unwrap_or_default();
    let columns: Vec<_> = begin
        .lines()
        .take(3)
        .filter_map(|line| {
            line.find(" a ")
                .or(line.find(" an "))
                .or(line.find(" the "))
        })
        .collect();
    assert!(
        columns.len() == 3 && columns.iter().all(|it| *it == columns[0]),
        "{begin}"
    );
    for wanted in [
        "demo",
        "serve",
        "worker",
        "migrate",
        "org",
        "key",
        "terms",
        "product",
        "jobs",
        "inbox",
        "audit",
        "reconcile",
        "doctor",
        "backup",
        "restore",
        "completions",
        "man",
        "pickup-location",
        "config",
    ] {
        assert!(
            names.iter().any(|name| name == wanted),
            "{wanted} in {names:?}"
        );
    }
    let mut leaves = 0;
    let mut groups: Vec<Vec<String>> = names.into_iter().map(|name| vec![name]).collect();
    while let Some(command) = groups.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let text = help(&words);
        assert!(
            text.contains("Usage:") && text.contains("--json") && text.contains("--data-dir"),
            "{command:?}: {text}"
        );
        let inner = subcommands(&text);
        if inner.is_empty() && command.len() > 1 {
            assert!(
                text.contains("xample"),
                "{command:?} shows no example: {text}"
            );
            leaves += 1;
        }
        groups.extend(
            inner
                .into_iter()
                .map(|name| [&command[..], &[name]].concat()),
        );
    }
    assert!(leaves >= 15, "{leaves}");
}
