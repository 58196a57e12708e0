//! Signatures, against the official `stripe` PyPI package.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lessor_adapters::processor::signature::{WebhookSecret, sign, verify};
use lessor_domain::time::Timestamp;
use lessor_processor_double::{Double, sign as double_sign};
use serde_json::{Value, json};

use super::{folder, installed};

/// The package, asked line by line.
struct Package {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Package {
    fn start() -> Option<Self> {
        let python = installed("venv/bin/python", "the signatures of PyPI's stripe")?;
        let mut child = Command::new(python)
            .arg(folder().join("signatures.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = child.stdout.take().unwrap();
        Some(Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        })
    }

    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.stdin, "{question}").unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn sign(&mut self, body: &[u8], secret: &str, at: Timestamp) -> String {
        let question = json!({
            "do": "sign", "body": STANDARD.encode(body), "secret": secret, "at": at.timestamp()
        });
        self.ask(&question)["header"].as_str().unwrap().to_owned()
    }

    fn believes(&mut self, body: &[u8], secret: &str, header: &str) -> bool {
        let question = json!({
            "do": "verify", "body": STANDARD.encode(body), "secret": secret, "header": header
        });
        self.ask(&question)["good"] == true
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

const BODY: &str =
    r#"{"id":"evt_1","object":"event","type":"x","data":{"object":{"name":"Læssøe"}}}"#;

#[test]
fn theirs_are_believed_by_us_and_ours_by_them() {
    let Some(mut package) = Package::start() else {
        return;
    };
    let now = Double::start().unwrap().now();
    let secret = |text: &str| WebhookSecret::new(text).unwrap();
    let (old, new) = ("whsec_old", "whsec_new");
    let theirs = package.sign(BODY.as_bytes(), old, now);
    assert_eq!(
        verify(BODY.as_bytes(), &theirs, &[secret(old)], now),
        Ok(())
    );
    assert!(verify(BODY.as_bytes(), &theirs, &[secret(new)], now).is_err());
    let rotating = sign(BODY.as_bytes(), &[secret(old), secret(new)], now);
    let doubles = double_sign(BODY.as_bytes(), &[old, new], now.timestamp());
    for header in [&rotating, &doubles] {
        for known in [old, new] {
            assert!(package.believes(BODY.as_bytes(), known, header), "{header}");
            assert_eq!(
                verify(BODY.as_bytes(), header, &[secret(known)], now),
                Ok(())
            );
        }
        assert!(!package.believes(BODY.as_bytes(), "whsec_other", header));
    }
}

/// The double's own messages, as they are sent.
#[test]
fn messages_of_the_double_are_believed_by_them() {
    let Some(mut package) = Package::start() else {
        return;
    };
    let double = Double::start().unwrap();
    double.emit(
        false,
        "customer.created",
        &json!({ "id": "cus_1", "object": "customer" }),
    );
    let event = &double.events()[0];
    let header = double_sign(&event.body, &["whsec_1"], double.now().timestamp());
    assert!(package.believes(&event.body, "whsec_1", &header));
}

/// What is forged is forged to both.
#[test]
fn we_and_they_refuse_the_same() {
    let Some(mut package) = Package::start() else {
        return;
    };
    let now = Double::start().unwrap().now();
    let secret = WebhookSecret::new("whsec_1").unwrap();
    let header = sign(BODY.as_bytes(), std::slice::from_ref(&secret), now);
    let old = sign(
        BODY.as_bytes(),
        std::slice::from_ref(&secret),
        now - chrono::TimeDelta::seconds(310),
    );
    let mut cases = vec![(BODY.to_owned(), old)];
    for at in 0..header.len() {
        let mut other = header.clone().into_bytes();
        other[at] = if other[at] == b'0' { b'1' } else { b'0' };
        cases.push((BODY.to_owned(), String::from_utf8(other).unwrap()));
    }
    for (at, _) in BODY.char_indices() {
        let mut other = BODY.to_owned();
        other.remove(at);
        cases.push((other, header.clone()));
    }
    let mut differ = Vec::new();
    for (body, header) in cases {
        let ours = verify(body.as_bytes(), &header, std::slice::from_ref(&secret), now).is_ok();
        if ours || package.believes(body.as_bytes(), "whsec_1", &header) {
            differ.push((body, header, ours));
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
}
