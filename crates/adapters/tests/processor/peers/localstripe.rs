//! The client against `localstripe` (PyPI): customers and deposits.
//!
//! It has no prices, identity verification, idempotency keys or search; of payments it
//! knows neither capture by hand nor methods that are kept, of refunds only those of
//! charges. It refuses parameters that it does not know, so a proxy leaves out the four
//! of ours that are named here; without them a deposit is charged at once.

use std::process::{Command, Stdio};

use lessor_adapters::processor::HttpProcessor;
use lessor_domain::access::Mode;
use lessor_domain::ports::{
    Attempt, DepositRequest, PaymentProcessor as _, ProcessorCustomer, VoidResult,
};
use serde_json::Value;

use super::{Running, folder, free_port, installed, listening};
use crate::support::{
    ManualPacing, NOON, checkout, customer, done, organization, refused, scope, settings, time, usd,
};

const UNKNOWN_TO_IT: [&str; 4] = [
    "automatic_payment_methods",
    "capture_method",
    "error_on_requires_action",
    "setup_future_usage",
];

struct Peer {
    url: String,
    processor: HttpProcessor,
    http: reqwest::Client,
    _running: [Running; 2],
}

impl Peer {
    async fn start() -> Option<Self> {
        let program = installed("venv/bin/localstripe", "PyPI's localstripe")?;
        let port = free_port();
        let mut command = Command::new(program);
        command
            .args(["--from-scratch", "--port"])
            .arg(port.to_string());
        let server = Running::start(command.stdout(Stdio::null()));
        listening(port).await;
        let url = format!("http://127.0.0.1:{port}");
        let mut command = Command::new(folder().join("venv/bin/python"));
        command
            .arg(folder().join("without.py"))
            .arg(&url)
            .args(UNKNOWN_TO_IT);
        let mut proxy = Running::start(command.stdout(Stdio::piped()));
        let settings = settings(&proxy.line());
        Some(Self {
            url,
            processor: HttpProcessor::paced(&settings, ManualPacing::of(1.0)).unwrap(),
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
            _running: [server, proxy],
        })
    }

    /// Something that only a browser would do.
    async fn ask(&self, method: reqwest::Method, path: &str, form: &str) -> Value {
        let asked = self
            .http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth("sk_test_1")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form.to_owned());
        let answer = asked.send().await.unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }

    async fn card(&self, owner: &str, number: &str) -> String {
        let form = format!(
            "type=card&card[number]={number}&card[exp_month]=8&card[exp_year]=2034&card[cvc]=123"
        );
        let method = self
            .ask(reqwest::Method::POST, "/v1/payment_methods", &form)
            .await;
        let id = method["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/payment_methods/{id}/attach");
        self.ask(reqwest::Method::POST, &path, &format!("customer={owner}"))
            .await;
        id
    }
}

fn attempt(key: &str) -> Attempt {
    Attempt {
        organization_id: scope().organization_id,
        mode: Mode::Sandbox,
        idempotency_key: key.to_owned(),
        first_tried_at: time(NOON),
        now: time(NOON),
    }
}

fn deposit(customer: &ProcessorCustomer, method: &str) -> DepositRequest {
    DepositRequest {
        checkout: checkout(1),
        organization: organization(),
        customer: customer.clone(),
        amount: usd(12_345),
        payment_method: Some(method.to_owned()),
        off_session: false,
    }
}

#[tokio::test]
async fn customers_and_deposits_pass_against_localstripe() {
    let Some(peer) = Peer::start().await else {
        return;
    };
    let processor = &peer.processor;

    // Customers: made, brought up to date, missing.
    let mut lessee = customer(9);
    let id = done(processor.push_customer(&attempt("make"), &lessee).await);
    lessee.processor_id = Some(id.clone());
    lessee.name = Some("Ada & Søn".to_owned());
    assert_eq!(
        done(processor.push_customer(&attempt("change"), &lessee).await),
        id
    );
    let known = peer
        .ask(reqwest::Method::GET, &format!("/v1/customers/{id}"), "")
        .await;
    assert_eq!(known["name"], "Ada & Søn");
    assert_eq!(known["email"], lessee.email);
    assert_eq!(known["metadata"]["lessor_customer"], lessee.id.to_string());
    let mut nobody = customer(10);
    nobody.processor_id = Some("cus_none".to_owned());
    let missing = processor.push_customer(&attempt("missing"), &nobody).await;
    assert_eq!(refused(missing), "invalid_request_error");

    // Deposits: paid, declined, to be authenticated.
    let card = peer.card(&id, "4242424242424242").await;
    let paid = done(
        processor
            .authorize_deposit(&attempt("pay"), &deposit(&lessee, &card))
            .await,
    );
    let intent = format!("/v1/payment_intents/{}", paid.payment_intent_id);
    let known = peer.ask(reqwest::Method::GET, &intent, "").await;
    assert_eq!(
        (&known["amount"], &known["currency"]),
        (&12_345.into(), &"usd".into())
    );
    assert_eq!(
        known["metadata"]["lessor_checkout"],
        checkout(1).to_string()
    );
    assert_eq!(known["metadata"]["lessor_work"], "pay");
    let method = paid.method.unwrap();
    assert_eq!(
        (method.id.as_str(), method.last4.as_deref()),
        (card.as_str(), Some("4242"))
    );
    // It charged at once, so what is let go was captured.
    let voided = done(
        processor
            .void_deposit(&attempt("void"), &paid.payment_intent_id)
            .await,
    );
    let VoidResult::AlreadyCaptured(capture) = voided else {
        panic!("{voided:?}");
    };
    assert!(capture.invoice_id.starts_with("ch_"), "{capture:?}");
    let card = peer.card(&id, "4000000000000341").await;
    let declined = processor
        .authorize_deposit(&attempt("decline"), &deposit(&lessee, &card))
        .await;
    assert_eq!(refused(declined), "card_declined");
    let card = peer.card(&id, "4000002760003184").await;
    let waiting = processor
        .authorize_deposit(&attempt("ask"), &deposit(&lessee, &card))
        .await;
    assert_eq!(refused(waiting), "authentication_required");
    let missing = processor
        .authorize_deposit(&attempt("none"), &deposit(&lessee, "pm_none"))
        .await;
    assert_eq!(refused(missing), "invalid_request_error");
    let missing = processor.void_deposit(&attempt("none"), "pi_none").await;
    assert_eq!(refused(missing), "invalid_request_error");

    // A method that the customer has.
    let card = peer.card(&id, "4242424242424242").await;
    let seen = processor
        .payment_method(&attempt("method"), &lessee, Some(card.clone()))
        .await;
    assert_eq!(done(seen).id, card);
}
