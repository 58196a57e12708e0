//! One customer's way, told to the program that drives the browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use lessor_tests::process::run;
use lessor_tests::{Browser, Client, text};
use serde_json::{Value, json};

use crate::setting::Setting;
use crate::table::{self, MOST_BYTES, Walking};

/// Where logos and pictures of goods are; the browser is given them by whoever drives it.
pub(crate) const PICTURES: &str = "https://images.example.com";

/// The name and address of a customer, who is served.
pub(crate) const PROFILE: [(&str, &str); 8] = [
    ("firstName", "Grace"),
    ("lastName", "Hopper"),
    ("address1", "1 Market St"),
    ("city", "San Francisco"),
    ("zip", "94105"),
    ("state", "CA"),
    ("phone", "+1 415 555 0132"),
    ("country", "US"),
];

fn browser(what: &str) -> Option<Browser> {
    Browser::find(what, &["playwright-core", "axe-core"])
}

/// Whether there is a browser; says that `what` is skipped when there is none.
pub(crate) fn begin(what: &str) -> Option<Walking> {
    browser(what).map(|_| Walking)
}

/// [`begin`] of a whole way in one of the settings: in that of the short form, or in each with
/// `LESSOR_TEST_WALKS=all`.
pub(crate) fn begin_in(what: &str, number: usize, short: usize) -> Option<Walking> {
    let walking = begin(what)?;
    let in_all = std::env::var("LESSOR_TEST_WALKS").is_ok_and(|value| value == "all");
    (in_all || short == number).then_some(walking)
}

/// Where pictures of the pages are kept for people to look at.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A customer's way.
pub(crate) struct Walk<'a> {
    /// What pictures of it are called.
    pub(crate) name: String,
    pub(crate) setting: Setting,
    /// Whose checkout it is.
    pub(crate) client: &'a Client,
    pub(crate) checkout: &'a Value,
    /// Where the processor's double is, whose pages are left to themselves.
    pub(crate) double: Option<String>,
}

impl Walk<'_> {
    /// Walks. Answers the pages that were seen, in order.
    pub(crate) async fn through(&self, deeds: Vec<Value>) -> Vec<Value> {
        let Browser { program, peers } = browser(&self.name).unwrap();
        let mut told = json!({
            "name": self.name, "setting": self.setting.told(), "base": self.client.url, "double": self.double,
            "pictures": PICTURES, "page": self.checkout["checkoutUrl"], "checkout": self.checkout["id"],
            "key": self.client.key, "folder": folder()
        });
        told["chromium"] = program.into();
        told["deeds"] = Value::Array(deeds);
        let file = folder().join(format!("{}.json", self.name));
        std::fs::write(&file, told.to_string()).unwrap();
        let script = peers.with_file_name("browser").join("walk.mjs");
        let mut command = Command::new("node");
        command.arg(script).arg(&file);
        let output = tokio::task::spawn_blocking(move || run(&mut command));
        let output = output.await.unwrap();
        // It holds the address and a key.
        std::fs::remove_file(file).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", self.name);
        let came: Value = serde_json::from_slice(&output.stdout).unwrap();
        let seen = came["seen"].as_array().cloned().unwrap_or_default();
        for page in &seen {
            table::add(page);
        }
        let complaints = came["complaints"].as_array().cloned().unwrap_or_default();
        let complaints: Vec<String> = complaints.iter().map(text).collect();
        let all = complaints.join("\n");
        assert_eq!(came["failure"], Value::Null, "{}\n{all}", self.name);
        assert!(complaints.is_empty(), "{}\n{all}", self.name);
        for page in &seen {
            let bytes = page["html"].as_u64().unwrap() + page["css"].as_u64().unwrap();
            assert!(
                page["css"].as_u64() > Some(0) && bytes <= MOST_BYTES,
                "{} {}: {bytes} bytes",
                self.name,
                page["label"]
            );
        }
        seen
    }
}

// --- what can be done

/// Opens the checkout's page.
pub(crate) fn open() -> Value {
    json!({ "do": "open" })
}

/// Opens another address.
pub(crate) fn visit(path: &str, status: u16) -> [Value; 2] {
    [
        json!({ "do": "visit", "path": path }),
        sees(json!({ "status": status })),
    ]
}

/// Waits for the state, and looks at the page again.
pub(crate) fn reach(lifecycle: &str) -> Value {
    json!({ "do": "reach", "lifecycle": lifecycle })
}

/// Waits until there is something to sign, and looks at the page again.
pub(crate) fn reach_agreement() -> Value {
    json!({ "do": "reach", "lifecycle": "documentsPending", "has": "leaseDocumentId" })
}

/// Sends a form as it is.
pub(crate) fn press(form: &str) -> Value {
    json!({ "do": "send", "form": form })
}

/// Fills a form in, and sends it.
pub(crate) fn send(form: &str, fields: &[(&str, &str)]) -> Value {
    json!({ "do": "send", "form": form, "fields": object(fields) })
}

/// The same, with a browser that lets everything pass.
pub(crate) fn send_unchecked(form: &str, fields: &[(&str, &str)]) -> Value {
    json!({ "do": "send", "form": form, "fields": object(fields), "unchecked": true })
}

/// Signs the lease in the profile's name.
pub(crate) fn sign() -> Value {
    send("sign", &[("consent", "yes"), ("name", "Grace Hopper")])
}

/// Presses a button of a page of the processor's.
pub(crate) fn choose(choice: &str) -> Value {
    json!({ "do": "choose", "choice": choice })
}

/// Something that somebody else does meanwhile.
pub(crate) fn call(method: &str, path: &str, body: &Value) -> Value {
    json!({ "do": "call", "method": method, "path": path, "body": body })
}

/// What has to be so.
pub(crate) fn sees(what: Value) -> Value {
    let mut what = what;
    what["do"] = "sees".into();
    what
}

/// The path of an action of the checkout.
pub(crate) fn path(checkout: &Value, action: &str) -> String {
    format!("/v1/checkouts/{}{action}", text(&checkout["id"]))
}

fn object(fields: &[(&str, &str)]) -> Value {
    let members = fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!(value)));
    Value::Object(members.collect())
}
