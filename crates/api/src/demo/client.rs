//! A client of the service, as anybody would write one.

use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::Method;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::story::{Call, Listener, Step};

/// How long the service may take to do what it does by itself.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is asked whether it has.
const ASK_AGAIN: Duration = Duration::from_millis(50);

pub(super) struct Client<'a> {
    http: reqwest::Client,
    url: String,
    key: String,
    listener: &'a dyn Listener,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    steps: Vec<Step>,
    calls: Vec<Call>,
}

impl<'a> Client<'a> {
    pub(super) fn new(url: &str, key: &str, listener: &'a dyn Listener) -> anyhow::Result<Self> {
        Ok(Self {
            // The service is on this machine, whatever proxy the rest of the world is behind.
            http: reqwest::Client::builder()
                .no_proxy()
                .timeout(PATIENCE)
                .build()?,
            url: url.to_owned(),
            key: key.to_owned(),
            listener,
            told: Mutex::default(),
        })
    }

    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.call(Method::GET, path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> anyhow::Result<Value> {
        self.call(Method::POST, path, Some(body)).await
    }

    pub(super) async fn put(&self, path: &str, body: Value) -> anyhow::Result<Value> {
        self.call(Method::PUT, path, Some(body)).await
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let (status, answer) = self.send(&method, path, body).await?;
        self.note(&method, path, status);
        Ok(answer)
    }

    /// Notes a request that was made for the step under way.
    pub(super) fn note(&self, method: &Method, path: &str, status: u16) {
        self.told().calls.push(Call {
            method: method.to_string(),
            path: path.to_owned(),
            status,
        });
    }

    async fn send(
        &self,
        method: &Method,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<(u16, Value)> {
        let mut request = self
            .http
            .request(method.clone(), format!("{}{path}", self.url))
            .bearer_auth(&self.key);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request
            .send()
            .await
            .with_context(|| format!("{method} {path}"))?;
        let status = response.status();
        let answer: Value = response
            .json()
            .await
            .with_context(|| format!("{method} {path} answered {status} and no JSON"))?;
        if !status.is_success() {
            bail!("{method} {path} answered {status}: {answer}");
        }
        Ok((status.as_u16(), answer))
    }

    /// The state of the checkout.
    pub(super) async fn lifecycle(&self, id: &str) -> anyhow::Result<String> {
        text(&self.checkout(id).await?, "lifecycle")
    }

    async fn checkout(&self, id: &str) -> anyhow::Result<Value> {
        let path = format!("/v1/checkouts/{id}");
        let (_, checkout) = self.send(&Method::GET, &path, None).await?;
        Ok(checkout)
    }

    /// Waits until the checkout is in the state, which the service brings about by itself.
    pub(super) async fn until(&self, id: &str, lifecycle: &str) -> anyhow::Result<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let checkout = self.checkout(id).await?;
            let now = text(&checkout, "lifecycle")?;
            // A lease is signed once there is something to sign.
            let is_ready =
                lifecycle != "documentsPending" || checkout.get("leaseDocumentId").is_some();
            if now == lifecycle && is_ready {
                return Ok(checkout);
            }
            if Instant::now() > deadline {
                bail!("the checkout {id} is {now} and not {lifecycle}");
            }
            sleep(ASK_AGAIN).await;
        }
    }

    /// Ends a step: tells of the requests made since the last one, and of what came of them.
    pub(super) fn step(&self, title: &str, shows: Vec<String>) {
        let mut told = self.told();
        let step = Step {
            title: title.to_owned(),
            calls: std::mem::take(&mut told.calls),
            shows,
        };
        self.listener.made(told.steps.len() + 1, &step);
        told.steps.push(step);
    }

    pub(super) fn into_steps(self) -> Vec<Step> {
        match self.told.into_inner() {
            Ok(told) => told.steps,
            Err(poisoned) => poisoned.into_inner().steps,
        }
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        match self.told.lock() {
            Ok(told) => told,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

/// A member that is a text.
pub(super) fn text(value: &Value, member: &str) -> anyhow::Result<String> {
    value
        .get(member)
        .and_then(Value::as_str)
        .map(str::to_owned)
        .with_context(|| format!("the answer has no {member}: {value}"))
}

/// A member of a member that is a text, or nothing.
pub(super) fn inner(value: &Value, pointer: &str) -> String {
    match value.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "-".to_owned(),
    }
}
