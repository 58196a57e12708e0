//! The double as a program.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Answer, time};

#[tokio::test]
async fn the_program_serves_until_its_input_ends() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_processor-double"))
        .args(["--listen", "127.0.0.1:0", "--until-eof"])
        .args(["--at", "2026-01-31T12:00:00Z"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut url = String::new();
    let stdout = child.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut url).expect("a line");
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    let ask = async |request: reqwest::RequestBuilder| {
        let sent = request.bearer_auth("sk_live_1").send().await;
        Answer::of(sent.expect("an answer")).await
    };
    let base = url.trim();
    let made = ask(http.post(format!("{base}/v1/customers"))).await;
    let at = time("2026-01-31T12:00:00Z").timestamp();
    assert_eq!(made.body["created"], at);
    let card = http.post(format!("{base}/_double/cards/new?live=true"));
    let card = ask(card.body(r#"{"card":"pm_card_visa"}"#))
        .await
        .text("paymentMethod");
    let form = format!(
        "customer={}&payment_method={card}&confirm=true",
        made.text("id")
    );
    let setup = ask(http.post(format!("{base}/v1/setup_intents")).body(form)).await;
    assert_eq!(
        (&setup.body["status"], &setup.body["livemode"]),
        (&"succeeded".into(), &true.into())
    );
    let test = http.post(format!("{base}/v1/payment_intents"));
    let test = ask(test.body("amount=100&currency=usd&payment_method=pm_card_visa")).await;
    assert_eq!(*test.error("code"), Value::from("resource_missing"));
    drop(child.stdin.take());
    assert!(child.wait().expect("its end").success());
}
