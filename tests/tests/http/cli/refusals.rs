//! Wrong input to commands: a status that is not zero, a message, nothing written.

use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

#[tokio::test(flavor = "multi_thread")]
async fn wrong_input_is_refused_with_a_word_and_writes_nothing() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    let org = client.organization.clone();
    let product = text(&client.product(json!({})).await["id"]);
    let term = text(&client.get("/v1/lease-terms").await.ok()[0]["id"]);
    let elsewhere = server.client().await.organization;
    let stranger = server.key_record(&elsewhere, "sandbox", "all", &[]);
    let stranger = text(&stranger["userPublicId"]);
    let before = server.contents().await;
    let long = "x".repeat(256);
    let create = ["org", "create", "--name"];
    let key = [
        "key",
        "create",
        "--org",
        &org,
        "--mode",
        "sandbox",
        "--permissions",
    ];
    let terms = ["terms", "create", "--org", &org, "--method"];
    let with = |first: &[&str], rest: &[&str]| -> Vec<String> {
        first.iter().chain(rest).map(ToString::to_string).collect()
    };
    for (arguments, word) in [
        (with(&[], &["nonsense"]), "nonsense"),
        (with(&["org"], &[]), "organizations"),
        (with(&["org", "create"], &[]), "--name"),
        (with(&create, &[""]), "empty"),
        (with(&create, &[&long]), "255"),
        (with(&create, &["a\u{1}b"]), "control"),
        (with(&create, &["x", "--currency", "XXY"]), "XXY"),
        (
            with(&create, &["x", "--currency", "KWD"]),
            "KWD has a smallest unit that payment processors cannot charge",
        ),
        (with(&create, &["x", "--currency", "BHD"]), "BHD"),
        (with(&create, &["x", "--discount", "101"]), "100"),
        (with(&create, &["x", "--discount", "1e400"]), "1e400"),
        (with(&create, &["x", "--service-area", "US-ZZ"]), "ZZ"),
        (with(&create, &["x", "--colour", "red"]), "--colour"),
        (
            with(&["org", "update", "999999"], &["--name", "x"]),
            "organization",
        ),
        (
            with(
                &["org", "update", &org],
                &["--sandbox-writes-catalog", "maybe"],
            ),
            "maybe",
        ),
        (with(&["org", "show", "prod_x"], &[]), "prod_x"),
        (with(&key, &["Nonsense"]), "Nonsense"),
        (with(&key, &[""]), "permission"),
        (with(&key, &["all", "--expires-in", "soon"]), "soon"),
        (with(&key, &["all", "--expires-in", "0d"]), "0d"),
        (with(&key, &["all", "--user", "nobody"]), "nobody"),
        (
            with(&key, &["all", "--user", "usr_0000000000000000000001"]),
            "no such user",
        ),
        // A user of another organization is not there either.
        (with(&key, &["all", "--user", &stranger]), "no such user"),
        (
            with(
                &[
                    "key",
                    "create",
                    "--org",
                    &org,
                    "--mode",
                    "test",
                    "--permissions",
                    "all",
                ],
                &[],
            ),
            "test",
        ),
        (
            with(
                &[
                    "key",
                    "create",
                    "--org",
                    "0",
                    "--mode",
                    "live",
                    "--permissions",
                    "all",
                ],
                &[],
            ),
            "0",
        ),
        (
            with(&["key", "revoke", "key_0000000000000000000001"], &[]),
            "key",
        ),
        (with(&["key", "revoke", "nonsense"], &[]), "nonsense"),
        (
            with(&["key", "roll", "key_0000000000000000000001"], &[]),
            "key",
        ),
        (
            with(&["key", "list", "--org", "org_0000000000000000000001"], &[]),
            "organization",
        ),
        (with(&terms, &["moneyFactor", "--months", "0"]), "0"),
        (
            with(
                &terms,
                &["moneyFactor", "--months", "121", "--money-factor", "0.1"],
            ),
            "121",
        ),
        (with(&terms, &["moneyFactor", "--months", "50"]), "oney"),
        (
            with(
                &terms,
                &["annualRate", "--months", "50", "--annual-rate", "101"],
            ),
            "100",
        ),
        (
            with(
                &terms,
                &[
                    "annualRate",
                    "--months",
                    "50",
                    "--annual-rate",
                    "5",
                    "--residual",
                    "100.5",
                ],
            ),
            "100",
        ),
        (
            with(
                &terms,
                &["moneyFactor", "--months", "12", "--money-factor", "0.1"],
            ),
            "termInMonths",
        ),
        (with(&terms, &["guess", "--months", "12"]), "guess"),
        (
            with(&["terms", "update", &term], &["--status", "gone"]),
            "gone",
        ),
        (
            with(&["terms", "delete", "term_0000000000000000000001"], &[]),
            "lease term",
        ),
        (with(&["product", "review", &product], &[]), "--status"),
        (
            with(&["product", "review", &product, "--status", "good"], &[]),
            "good",
        ),
        (
            with(
                &[
                    "product",
                    "review",
                    "prod_0000000000000000000001",
                    "--status",
                    "approved",
                ],
                &[],
            ),
            "product",
        ),
        (with(&["doctor", "now"], &[]), "now"),
        (with(&["doctor", "--listen", "nonsense"], &[]), "--listen"),
        (with(&["backup"], &[]), "FILE"),
        (with(&["backup", "/dev/null/lease"], &[]), "/dev/null/lease"),
        (
            with(&["restore", "/dev/null/lease"], &[]),
            "/dev/null/lease",
        ),
        (with(&["restore", "/dev/null"], &[]), "no backup"),
        (with(&["completions"], &[]), "SHELL"),
        (with(&["completions", "csh"], &[]), "csh"),
        (
            with(&["man", "--out", "/dev/null/man1"], &[]),
            "/dev/null/man1",
        ),
        (with(&["jobs", "list", "--limit", "0"], &[]), "0"),
        (with(&["jobs", "list", "--state", "lost"], &[]), "lost"),
        (with(&["jobs", "retry", "nonsense"], &[]), "nonsense"),
        (
            with(
                &["jobs", "retry", "0197a4c0-7e5b-7c3f-8a52-1d7c4b1b9d20"],
                &[],
            ),
            "job",
        ),
        (
            with(
                &["pickup-location", "create", "--org", &org, "--name", "x"],
                &[],
            ),
            "--address1",
        ),
        (
            with(
                &[
                    "pickup-location",
                    "create",
                    "--org",
                    &org,
                    "--name",
                    "x",
                    "--address1",
                    "1",
                    "--city",
                    "c",
                    "--zip",
                    "9",
                    "--country",
                    "US",
                ],
                &["--state", "CA"],
            ),
            "zip",
        ),
        (
            with(&["pickup-location", "update", "999999", "--name", "x"], &[]),
            "pickup location",
        ),
        (with(&["serve", "--listen", "nonsense"], &[]), "--listen"),
        (with(&["serve", "--pool-size", "-1"], &[]), "-1"),
        (
            with(&["serve", "--rate-limit", "many"], &[]),
            "--rate-limit",
        ),
    ] {
        let plain: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (status, said) = server.refused(&plain);
        assert!(status == 1 || status == 2, "{plain:?}: {status}");
        assert!(
            said.contains(word),
            "{plain:?}: {said:?} does not say {word:?}"
        );
        assert!(
            !said.contains("panicked") && !said.contains("RUST_BACKTRACE"),
            "{said}"
        );
        // For programs: one object with the same.
        let mut json: Vec<&str> = vec!["--json"];
        json.extend(&plain);
        let (again, said) = server.refused(&json);
        let object: Value = serde_json::from_str(said.trim()).unwrap_or_default();
        assert_eq!(again, status, "{plain:?}");
        assert!(
            object.is_object() && said.contains(word),
            "{plain:?} --json: {said:?}"
        );
    }
    assert_eq!(server.contents().await, before, "nothing was written");
}
