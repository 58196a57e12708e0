//! The documentation site, as a browser and as a reader meet it.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use lessor_tests::client::{Client, Reply};
use lessor_tests::peers::skipped;
use lessor_tests::process::bare;
use lessor_tests::{Browser, Folder, Server, run, text};
use serde_json::Value;

use crate::BINARY;

const PAGES: [&str; 9] = [
    "/docs",
    "/docs/lifecycle",
    "/docs/pricing",
    "/docs/shop",
    "/docs/modes",
    "/docs/retries",
    "/docs/lists",
    "/docs/errors",
    "/docs/reference",
];
const FILES: [&str; 6] = [
    "/docs/assets/site.css",
    "/docs/assets/site.js",
    "/docs/assets/reference.js",
    "/docs/assets/reference.json",
    "/docs/assets/search.json",
    "/openapi.json",
];

async fn nobody() -> Client {
    let server = Server::shared(BINARY).await;
    server.client().await.with_key("")
}

/// An answer as it goes over the wire: the contract reads no compressed ones.
struct Sent {
    status: u16,
    headers: reqwest::header::HeaderMap,
    bytes: Vec<u8>,
}

impl Sent {
    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).and_then(|it| it.to_str().ok());
        value.unwrap_or_default()
    }
}

async fn sent(client: &Client, path: &str, encodings: &str, known: &str) -> Sent {
    let request = reqwest::Client::new()
        .get(format!("{}{path}", client.url))
        .header("accept-encoding", encodings)
        .header("if-none-match", known);
    let response = request.send().await.unwrap();
    Sent {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        bytes: response.bytes().await.unwrap().to_vec(),
    }
}

/// The values of an attribute.
fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    let begin = format!("{attribute}=\"");
    let parts = page.split(begin.as_str()).skip(1);
    parts.filter_map(|rest| rest.split('"').next()).collect()
}

fn text_of(answer: &Reply) -> String {
    String::from_utf8(answer.bytes.clone()).unwrap()
}

/// A page without its samples, whose text may be of HTML too.
fn without_samples(page: &str) -> String {
    let parts = page.split("<pre");
    parts
        .map(|part| part.rsplit("</pre>").next().unwrap_or_default())
        .collect()
}

/// The modules of the reference's script that a page or a module names.
fn modules(text: &str) -> BTreeSet<String> {
    text.split(['"', '`', '\''])
        .filter_map(|part| part.strip_prefix("./"))
        .filter(|name| name.ends_with(".js") && !name.contains(['/', ' ']))
        .map(str::to_owned)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_sent_small_and_told_by_its_form() {
    let client = nobody().await;
    for path in PAGES.iter().chain(&FILES) {
        let plain = client.get(path).await;
        plain.has(200);
        assert_eq!(plain.header("content-encoding"), "", "{path}");
        let mut tags = BTreeSet::from([plain.header("etag").to_owned()]);
        for asked in ["gzip, deflate, br, zstd", "gzip"] {
            let answer = sent(&client, path, asked, "").await;
            assert_eq!(answer.header("content-encoding"), "gzip", "{path}");
            assert_eq!(answer.header("vary"), "accept-encoding", "{path}");
            assert_eq!(answer.header("cache-control"), "no-cache", "{path}");
            let smaller = plain.bytes.len() < 2_000 || answer.bytes.len() * 2 < plain.bytes.len();
            assert!(smaller, "{path}: {}", answer.bytes.len());
            let tag = answer.header("etag").to_owned();
            let again = sent(&client, path, asked, &tag).await;
            assert_eq!((again.status, again.bytes.len()), (304, 0), "{path}");
            tags.insert(tag);
        }
        assert_eq!(tags.len(), 2, "{path}: a tag for each form");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_may_do_nothing_but_load_from_here() {
    let client = nobody().await;
    for path in PAGES.iter().chain(&["/"]) {
        let headers = [("accept", "text/html,*/*;q=0.8")];
        let page = client.send("GET", path, &headers, None).await;
        let policy = page.header("content-security-policy").to_owned();
        for wanted in [
            "default-src 'none'",
            "script-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(wanted), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe-eval"), "{path}: {policy}");
        // The reference's script writes its style itself.
        let inline = policy.matches("unsafe-inline").count();
        assert_eq!(inline, usize::from(*path == "/docs/reference"), "{path}");
        let text = without_samples(&text_of(&page));
        assert!(
            !text.contains("<style") && !text.contains(" style="),
            "{path}"
        );
        for source in values(&text, "src").iter().chain(&values(&text, "href")) {
            let is_here = source.starts_with(['/', '#']) && !source.starts_with("//");
            assert!(is_here, "{path}: {source}");
        }
        assert_eq!(
            text.matches("<script").count(),
            text.matches("<script src=\"/docs/").count()
                + text.matches("<script type=\"module\" src=\"/docs/").count()
        );
    }
}

/// Every link of every page leads to something, the anchors too, and so does what the search finds.
#[tokio::test(flavor = "multi_thread")]
async fn no_link_leads_nowhere() {
    let client = nobody().await;
    let mut links = BTreeSet::new();
    for path in PAGES {
        let page = without_samples(&text_of(&client.get(path).await));
        for link in values(&page, "href")
            .into_iter()
            .chain(values(&page, "src"))
        {
            let link = if link.starts_with('#') {
                format!("{path}{link}")
            } else {
                link.to_owned()
            };
            links.insert(link);
        }
    }
    let found = client.get("/docs/assets/search.json").await.ok();
    let found = found.as_array().unwrap();
    assert!(found.len() > 50, "{}", found.len());
    links.extend(found.iter().map(|it| it[2].as_str().unwrap().to_owned()));
    let reference = client.get("/docs/assets/reference.json").await.ok();
    for link in links {
        let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
        let answer = client.get(path).await;
        assert_eq!(answer.status, 200, "{link}");
        if path == "/docs/reference" {
            // `tag/checkouts/POST/v1/checkouts`
            let mut parts = anchor.splitn(4, '/').skip(2);
            if let (Some(method), Some(path)) = (parts.next(), parts.next()) {
                let operation = &reference["paths"][format!("/{path}")][method.to_lowercase()];
                assert!(operation.is_object(), "{link}");
            }
        } else if !anchor.is_empty() {
            let page = text_of(&answer);
            assert!(page.contains(&format!("id=\"{anchor}\"")), "{link}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_shows_what_callers_have() {
    let client = nobody().await;
    let shown = client.get("/docs/assets/reference.json").await.ok();
    let whole = client.get("/openapi.json").await.ok();
    let (shown, whole) = (&shown["paths"], &whole["paths"]);
    let paths = |document: &Value| -> BTreeSet<String> {
        document.as_object().unwrap().keys().cloned().collect()
    };
    let callers: BTreeSet<_> = paths(whole)
        .into_iter()
        .filter(|path| path.starts_with("/v1/"))
        .collect();
    assert_eq!(paths(shown), callers);
    let shown = client.get("/docs/assets/reference.json").await.ok();
    // Wherever the page came from is what is tried out.
    assert_eq!(shown["servers"], serde_json::json!([{ "url": "/" }]));
    let tags: Vec<_> = shown["tags"].as_array().unwrap().iter().collect();
    for hidden in ["Webhooks", "Operations", "Reference", "Checkout page"] {
        assert!(tags.iter().all(|tag| tag["name"] != hidden), "{hidden}");
    }
    for (path, item) in shown["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let samples = operation["x-codeSamples"].as_array().unwrap();
            let languages: Vec<_> = samples.iter().map(|it| &it["label"]).collect();
            assert_eq!(
                languages,
                ["curl", "TypeScript", "Python"],
                "{method} {path}"
            );
            for sample in samples {
                let source = sample["source"].as_str().unwrap();
                // Every example is there.
                assert!(source.contains(&client.url), "{source}");
                assert!(!source.contains("/{"), "{source}");
            }
        }
    }
}

/// A sample is a request that the server takes.
#[tokio::test(flavor = "multi_thread")]
async fn samples_of_the_reference_do_what_they_say() {
    let server = Server::start(BINARY, &[]).await;
    let client = server.client().await;
    let shown = client.get("/docs/assets/reference.json").await.ok();
    let sample = |place: usize| {
        let operation = &shown["paths"]["/v1/products"]["post"];
        operation["x-codeSamples"][place]["source"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let curl = bash(&client, "", &sample(0)).await;
    let made: Value = serde_json::from_slice(&curl.stdout).unwrap();
    assert!(made["id"].as_str().unwrap().starts_with("prod_"), "{made}");
    let python = sample(2);
    if let Some(checked) = tried(
        "python3",
        Command::new("python3").args(["-c", "import ast, sys; ast.parse(sys.argv[1])", &python]),
    ) {
        assert!(checked.status.success(), "{python}\n{checked:?}");
    }
    // Its TypeScript is JavaScript too.
    let script = format!("{}\nconsole.log(answer.id);", sample(1));
    let mut node = Command::new("node");
    node.args(["--input-type=module", "-e", &script])
        .env("LESSOR_KEY", &client.key);
    if let Some(output) = tried("node", &mut node) {
        let said = String::from_utf8_lossy(&output.stdout);
        // The example's external id is taken by now, by the sample in curl.
        let refused = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.starts_with("prod_") || refused.contains("externalId"),
            "{said}{refused}"
        );
    }
}

/// The samples of the guides, in each language, on a shop with a checkout.
#[tokio::test(flavor = "multi_thread")]
async fn samples_of_the_guides_do_what_they_say() {
    let client = Server::shared(BINARY).await.client().await;
    client.variant("GUIDE", Some(10)).await;
    let checkout = client.checkout("GUIDE", "reader@example.com").await;
    let checkout = text(&checkout["id"]);
    let guides = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/guides");
    let mut tried_out = 0;
    for guide in std::fs::read_dir(guides).unwrap() {
        let path = guide.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for block in text.split("```").skip(1).step_by(2) {
            let (language, source) = block.split_once('\n').unwrap();
            let folder = Folder::new("guide");
            let output = match language {
                "bash" => Some(bash(&client, "GUIDE", source).await),
                // A browser's, and tried in one (`publishable.rs`).
                "html" => None,
                "python" => tried(
                    "python3",
                    with(&client, Command::new("python3").args(["-c", source])),
                ),
                "typescript" => typescript(&client, &folder, source),
                other => panic!("{path:?}: {other}"),
            };
            let Some(output) = output else { continue };
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{path:?}\n{source}\n{output:?}");
            let expected = match path.file_stem().and_then(|name| name.to_str()) {
                Some("events") => "checkout.created",
                Some("lists") => checkout.as_str(),
                Some("modes") => "qualificationFailed",
                Some("retries") => "true",
                _ => "",
            };
            assert!(said.contains(expected), "{path:?}\n{source}\n{said}");
            tried_out += 1;
        }
    }
    assert!(tried_out >= 3, "{tried_out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_of_the_reference_is_whole_and_kept() {
    let client = nobody().await;
    let page = text_of(&client.get("/docs/reference").await);
    let first = values(&page, "href")
        .into_iter()
        .find(|link| link.ends_with("/scalar.js"))
        .unwrap();
    let (folder, _) = first.rsplit_once('/').unwrap();
    let mut known = BTreeSet::from(["scalar.js".to_owned()]);
    let mut open = vec!["scalar.js".to_owned()];
    while let Some(name) = open.pop() {
        let answer = client.get(&format!("{folder}/{name}")).await;
        assert_eq!(answer.status, 200, "{name}");
        let caching = answer.header("cache-control");
        assert!(caching.contains("immutable"), "{caching}");
        let wanted = modules(&text_of(&answer));
        open.extend(wanted.into_iter().filter(|name| known.insert(name.clone())));
    }
    assert!(known.len() > 10, "{known:?}");
    let packed = sent(&client, first, "gzip", "").await;
    assert_eq!(packed.header("content-encoding"), "gzip");
    for wrong in ["/docs/scalar/0/scalar.js", &format!("{folder}/nope.js")] {
        client.get(wrong).await.refused(404, "not_found", "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_root_leads_on() {
    let client = nobody().await;
    let told = client.get("/").await.ok();
    assert_eq!(told["name"], "Lessor");
    for link in [
        "documentationUrl",
        "referenceUrl",
        "openapiUrl",
        "healthUrl",
        "readinessUrl",
    ] {
        let address = told[link].as_str().unwrap();
        let path = address.strip_prefix(&client.url).unwrap();
        client.get(path).await.has(200);
    }
    let accept = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    let page = client.send("GET", "/", &accept, None).await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(page.header("vary"), "accept");
    assert!(values(&text_of(&page), "href").contains(&"/docs"));

    let answer = client.get("/docs/").await;
    assert_eq!((answer.status, answer.header("location")), (308, "/docs"));
    let icon = client.get("/favicon.ico").await;
    assert_eq!(icon.header("content-type"), "image/x-icon");
    assert!(icon.bytes.starts_with(&[0, 0, 1, 0]));
    let icon = client.get("/favicon.svg").await;
    assert_eq!(icon.header("content-type"), "image/svg+xml");
    client.get("/docs/nope").await.refused(404, "not_found", "");
}

/// The site in a browser: at three widths, light and dark, and a POST that is tried out.
#[tokio::test(flavor = "multi_thread")]
async fn the_site_works_in_a_browser() {
    let Some(Browser { program, peers }) =
        Browser::find("the documentation in a browser", &["playwright-core"])
    else {
        return;
    };
    // The example's organization is the first of a server.
    let server = Server::start(BINARY, &[]).await;
    let client = server.client().await;
    let folder = Folder::new("browser");
    let output = tokio::task::spawn_blocking(move || {
        run(Command::new("node")
            .arg(peers.join("browser.mjs"))
            .args([&client.url, &client.key, program])
            .arg(folder.path()))
    });
    let output = output.await.unwrap();
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    let _infallible = write!(said, "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(said.contains("tried out"), "{said}");
    drop(server);
}

fn with<'c>(client: &Client, command: &'c mut Command) -> &'c mut Command {
    command
        .env("LESSOR_URL", &client.url)
        .env("LESSOR_KEY", &client.key)
        .env("SKU", "GUIDE")
}

async fn bash(client: &Client, sku: &str, source: &str) -> Output {
    let folder = Folder::new("sample");
    let mut command = bare("bash");
    command
        .args(["-euo", "pipefail", "-c", source])
        .current_dir(folder.path());
    with(client, &mut command).env("SKU", sku);
    let output = tokio::task::spawn_blocking(move || run(&mut command));
    let output = output.await.unwrap();
    drop(folder);
    output
}

/// What the program says; none where it is not installed, which is said.
fn tried(program: &str, command: &mut Command) -> Option<Output> {
    let output = command.output();
    if output.is_err() {
        skipped(
            "samples of the documentation",
            &format!("{program} is not installed"),
        );
    }
    output.ok()
}

/// Runs TypeScript: compiled by the compiler that the peers bring along.
fn typescript(client: &Client, folder: &Folder, source: &str) -> Option<Output> {
    let peers = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("peers");
    let compiler = peers.join("node_modules/.bin/tsc");
    if !compiler.exists() {
        skipped("samples in TypeScript", "tests/peers is not installed");
        return None;
    }
    let file = folder.path().join("sample.mts");
    // A module may wait at its top.
    std::fs::write(&file, format!("{source}\nexport {{}};\n")).unwrap();
    let compiled = run(Command::new(compiler)
        .args([
            "--target",
            "es2022",
            "--module",
            "nodenext",
            "--strict",
            "--types",
            "node",
            "--skipLibCheck",
        ])
        .arg("--typeRoots")
        .arg(peers.join("node_modules/@types"))
        .arg(&file));
    let said = String::from_utf8_lossy(&compiled.stdout);
    assert!(compiled.status.success(), "{source}\n{said}");
    let mut node = Command::new("node");
    tried("node", with(client, node.arg(file.with_extension("mjs"))))
}
