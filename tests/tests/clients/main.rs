//! Clients that others' programs make of the OpenAPI document: each is made, compiled with every
//! strictness that its language has, and leads a lease from the category to `leaseActive`. And the
//! linters that judge the document. A program of its own, because others' compilers would slow down
//! the tests of the HTTP surface beside them.
//!
//! `tests/install clients` installs the programs; without them these tests say that they were skipped,
//! or fail when `LESSOR_REQUIRE_PEERS` is 1.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use lessor_tests::Server;
use lessor_tests::peers::missing;
use lessor_tests::process::run;
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_lessor-under-test");
/// Written once everything is installed.
const INSTALLED: &str = ".installed";

/// Where the programs and the shops that use the made clients are.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// Whether the programs are there; says that `what` is skipped when they are not.
fn are_installed(what: &str) -> bool {
    let path = folder().join(INSTALLED);
    if path.exists() {
        return true;
    }
    missing(
        what,
        "its programs are not installed (tests/install clients)",
    );
    false
}

/// Where what is made goes: kept between runs, so that what has not changed is not compiled again.
fn generated(name: &str) -> PathBuf {
    let path = folder().join("generated").join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Where the clients in Rust are compiled, beside the tests themselves and kept as they are.
fn target() -> PathBuf {
    let profile = Path::new(BINARY).parent().unwrap();
    profile.parent().unwrap().join("clients")
}

/// A command of the folder with the installed programs in its path.
fn command(program: &str, arguments: &[&str]) -> Command {
    let folder = folder();
    let mut command = Command::new(program);
    let own = ["venv/bin", "node_modules/.bin"].map(|bin| folder.join(bin));
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = own.into_iter().chain(std::env::split_paths(&others));
    command
        .args(arguments)
        .env("PATH", std::env::join_paths(path).unwrap())
        .current_dir(&folder);
    command
}

/// Runs the command; what it says is shown when it fails.
fn succeed(command: &mut Command) -> String {
    let output = run(command);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{said}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

/// The document of the version, as the server answers it, in a file that is left alone when it is
/// the same.
async fn document(version: &str) -> String {
    let url = &Server::shared(BINARY).await.url;
    let answer = reqwest::get(format!("{url}/{version}.json")).await.unwrap();
    let text = answer.text().await.unwrap();
    // The address is another one with each run.
    let text = text.replace(url.as_str(), "/");
    let path = generated("documents").join(format!("{version}.json"));
    if std::fs::read_to_string(&path).ok().as_deref() != Some(&text) {
        // Tests that run at the same time write the same.
        let unfinished = path.with_extension(format!("{:?}", std::thread::current().id()));
        std::fs::write(&unfinished, &text).unwrap();
        std::fs::rename(&unfinished, &path).unwrap();
    }
    path.to_str().unwrap().to_owned()
}

/// Lets the shop go its way with a sandbox key of its own, and looks at the lease that it says it has.
async fn drive(shop: &mut Command) {
    let client = Server::shared(BINARY).await.client().await;
    let said = succeed(
        shop.env("SHOP_URL", &client.url)
            .env("SHOP_KEY", &client.key)
            .env("SHOP_ORGANIZATION", &client.organization),
    );
    let id = said.trim();
    let checkout = client.get(&format!("/v1/checkouts/{id}")).await.ok();
    assert_eq!(checkout["lifecycle"], "leaseActive", "{checkout}");
    let products = client.get("/v1/products").await.ok();
    assert_eq!(
        products["total"], 1,
        "what was asked for twice was made once"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn linters_find_nothing() {
    if !are_installed("the linters of the OpenAPI document") {
        return;
    }
    for version in ["openapi", "openapi-3.0"] {
        let document = document(version).await;
        let ruleset = ["--ruleset", "spectral.yaml", "--fail-severity", "hint"];
        succeed(command("spectral", &["lint", &document]).args(ruleset));
        // In the words of its configuration, which names places of the document by its path.
        let path = format!("generated/documents/{version}.json");
        let said = succeed(
            command("redocly", &["lint", &path, "--config", "redocly.yaml"])
                .args(["--format", "json"])
                .env("REDOCLY_TELEMETRY", "off")
                .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true"),
        );
        let found: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(found["problems"], json!([]), "{found:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn openapi_typescript() {
    if !are_installed("the client of openapi-typescript") {
        return;
    }
    let types = generated("typescript").join("api.d.ts");
    let document = document("openapi").await;
    let types = types.to_str().unwrap();
    succeed(&mut command(
        "openapi-typescript",
        &[&document, "--output", types],
    ));
    let text = std::fs::read_to_string(types).unwrap();
    // Descriptions of members that may be left out are the first to be lost.
    let mut silent = Vec::new();
    let mut last = "";
    for line in text.lines().map(str::trim) {
        let is_member = line.contains("?: ") && !line.ends_with('{') && !line.ends_with("never;");
        if is_member && !last.ends_with("*/") {
            silent.push(line);
        }
        last = line;
    }
    assert_eq!(silent, Vec::<&str>::new());
    succeed(&mut command("tsc", &["--project", "typescript"]));
    drive(&mut command(
        "node",
        &["generated/typescript/built/journey.js"],
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openapi_python_client() {
    if !are_installed("the client of openapi-python-client") {
        return;
    }
    let made = generated("python");
    let package = made.to_str().unwrap();
    let document = document("openapi").await;
    let said = succeed(&mut command(
        "openapi-python-client",
        &[
            "generate",
            "--path",
            &document,
            "--output-path",
            package,
            "--overwrite",
            "--config",
            "python/generator.yaml",
            "--fail-on-warning",
        ],
    ));
    assert!(!said.contains("WARNING"), "{said}");
    let with_package = |program: &str, arguments: &[&str]| {
        let mut command = command(program, arguments);
        command.env("MYPYPATH", package).env("PYTHONPATH", package);
        command.env("MYPY_CACHE_DIR", generated("mypy"));
        command
    };
    succeed(&mut with_package(
        "mypy",
        &["--strict", "python/journey.py"],
    ));
    drive(&mut with_package("python", &["python/journey.py"])).await;
}

/// openapi-generator's client, and progenitor's, which reads OpenAPI 3.0 alone. One test, because they
/// are compiled together.
#[tokio::test(flavor = "multi_thread")]
async fn clients_in_rust() {
    if !are_installed("the clients of openapi-generator and progenitor") {
        return;
    }
    let made = generated("openapi-generator");
    succeed(&mut command(
        "openapi-generator-cli",
        &[
            "generate",
            "--generator-name",
            "rust",
            "--input-spec",
            &document("openapi").await,
            "--output",
            made.to_str().unwrap(),
            // The version is that of the document, which the lock file is not to follow.
            "--additional-properties",
            "packageName=lessor-client,packageVersion=0.0.0",
        ],
    ));
    let build = [
        "build",
        "--locked",
        "--quiet",
        "--manifest-path",
        "rust/Cargo.toml",
    ];
    succeed(
        command("cargo", &build)
            .env("CARGO_TARGET_DIR", target())
            // What others generate is not held to the lints of this workspace.
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .env("LESSOR_OPENAPI_3_0", document("openapi-3.0").await),
    );
    for shop in ["shop-openapi-generator", "shop-progenitor"] {
        drive(&mut Command::new(target().join("debug").join(shop))).await;
    }
}
