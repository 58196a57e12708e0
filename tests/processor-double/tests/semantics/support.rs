//! A double and somebody who asks it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use lessor_processor_double::Double;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

pub(crate) struct Caller {
    pub(crate) double: Double,
    pub(crate) http: reqwest::Client,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) replayed: bool,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Value,
}

pub(crate) fn time(text: &str) -> DateTime<Utc> {
    text.parse().expect("a time")
}

impl Caller {
    pub(crate) fn new() -> Self {
        let double = Double::start_at(time("2026-01-31T12:00:00Z")).expect("a double");
        let http = reqwest::Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(10))
            .build();
        Self {
            double,
            http: http.expect("a client"),
        }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.double.url()))
            .bearer_auth("sk_test_1")
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        Answer::of(
            self.request(Method::GET, path)
                .send()
                .await
                .expect("an answer"),
        )
        .await
    }

    pub(crate) async fn post(&self, path: &str, form: &str) -> Answer {
        let request = self.request(Method::POST, path).body(form.to_owned());
        Answer::of(request.send().await.expect("an answer")).await
    }

    pub(crate) fn keyed(&self, path: &str, form: &str, key: &str) -> RequestBuilder {
        self.request(Method::POST, path)
            .header("Idempotency-Key", key)
            .body(form.to_owned())
    }

    pub(crate) async fn post_once(&self, path: &str, form: &str, key: &str) -> Answer {
        let sent = self.keyed(path, form, key).send().await;
        Answer::of(sent.expect("an answer")).await
    }

    /// The test mode's object of this id, now.
    pub(crate) fn now(&self, id: &str) -> Value {
        self.double.object(id).expect("the object")
    }

    /// The kinds of the events after so many.
    pub(crate) fn told_after(&self, known: usize) -> Vec<String> {
        let events = self.double.events_after(known);
        events.into_iter().map(|event| event.kind).collect()
    }

    /// A customer with a card that works.
    pub(crate) async fn customer(&self) -> (String, String) {
        let customer = self.post("/v1/customers", "email=a%40example.com").await;
        let customer = customer.text("id");
        let setup = format!("customer={customer}&payment_method=pm_card_visa&confirm=true");
        let setup = self.post("/v1/setup_intents", &setup).await;
        assert_eq!(setup.body["status"], "succeeded", "{}", setup.body);
        (customer, setup.text("payment_method"))
    }
}

impl Answer {
    pub(crate) async fn of(response: Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.text().await.expect("a body");
        Self {
            status,
            replayed: headers.get("idempotent-replayed").is_some(),
            headers,
            body: serde_json::from_str(&body).unwrap_or(Value::String(body)),
        }
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.body[name].as_str().expect(name).to_owned()
    }

    pub(crate) fn error(&self, name: &str) -> &Value {
        &self.body["error"][name]
    }
}

/// Waits until the condition holds.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let patience = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), patience).await;
    assert!(waited.is_ok(), "never: {what}");
}
