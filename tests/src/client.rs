//! Requests with a key, each answer compared with the contract.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;

use crate::contract::Contract;
use crate::refuse;

/// For how long a key works that was revoked, and a second more.
const REVOKED_WITHIN: Duration = Duration::from_secs(6);

/// An organization's key, and the way to its server.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    contract: Arc<Contract>,
    /// Where the server is.
    pub url: String,
    /// The organization's public id.
    pub organization: String,
    /// The organization's number.
    pub organization_number: i64,
    /// The key.
    pub key: String,
}

/// An answer of the server.
#[derive(Clone, Debug)]
pub struct Reply {
    /// What was asked: method, path and the body as far as it is shown.
    pub asked: String,
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, as it came.
    pub bytes: Vec<u8>,
    /// Its body as JSON; null where it is none.
    pub body: Value,
}

impl Reply {
    /// A header; empty when there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).map(HeaderValue::to_str);
        value.and_then(Result::ok).unwrap_or_default()
    }

    /// The body of a success.
    ///
    /// # Panics
    /// When it is none.
    #[track_caller]
    pub fn ok(self) -> Value {
        self.has(200);
        self.body
    }

    /// The same answer, which has this status.
    ///
    /// # Panics
    /// When it has another: with what was asked, and what was answered.
    #[track_caller]
    pub fn has(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self}");
        self
    }

    /// The message of a refusal with this status, code and param (empty: none).
    ///
    /// # Panics
    /// When it is another answer.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str, param: &str) -> String {
        let error = &self.body["error"];
        let told = (
            self.status,
            error["code"].as_str().unwrap_or_default(),
            error["param"].as_str().unwrap_or_default(),
        );
        assert_eq!(told, (status, code, param), "{self}");
        crate::text(&error["message"])
    }

    /// Like [`Reply::refused`], and the message holds these words.
    ///
    /// # Panics
    /// When it is another answer.
    #[track_caller]
    pub fn refused_with(&self, status: u16, code: &str, param: &str, words: &[&str]) {
        let message = self.refused(status, code, param);
        for word in words {
            assert!(message.contains(word), "{word:?} in {message:?} of {self}");
        }
    }

    /// The address of the next page.
    #[must_use]
    pub fn next_page(&self) -> Option<String> {
        let link = self.header("link");
        let (address, relation) = link.split_once(">; rel=")?;
        assert_eq!(relation, "\"next\"", "{link}");
        address.strip_prefix('<').map(str::to_owned)
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = String::from_utf8_lossy(&self.bytes);
        write!(
            f,
            "{} was answered with {}: {}",
            self.asked,
            self.status,
            shown(&answer)
        )
    }
}

/// As much of a text as a person reads.
fn shown(text: &str) -> String {
    const MOST: usize = 2_000;
    text.chars().take(MOST).collect()
}

impl Client {
    /// A client of an organization.
    #[must_use]
    pub fn new(
        url: String,
        contract: Arc<Contract>,
        organization: String,
        organization_number: i64,
        key: String,
    ) -> Self {
        // A redirect is an answer to look at.
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap_or_else(|error| refuse(&error.to_string()));
        Self {
            http,
            contract,
            url,
            organization,
            organization_number,
            key,
        }
    }

    /// The same with another key.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        Self {
            key: key.to_owned(),
            ..self.clone()
        }
    }

    /// The same with connections of its own.
    #[must_use]
    pub fn apart(&self) -> Self {
        let (url, key) = (self.url.clone(), self.key.clone());
        let organization = self.organization.clone();
        let contract = Arc::clone(&self.contract);
        Self::new(url, contract, organization, self.organization_number, key)
    }

    /// What answers are compared with.
    #[must_use]
    pub fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    /// A request with these headers beside the key's.
    ///
    /// # Panics
    /// When there is no answer, or one that is not as documented.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Reply {
        let parsed = method.parse().unwrap_or(Method::GET);
        let mut request = self.http.request(parsed, format!("{}{path}", self.url));
        if !self.key.is_empty() {
            request = request.bearer_auth(&self.key);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut asked = format!("{method} {path}");
        if let Some(body) = body {
            asked = format!("{asked} {}", shown(&String::from_utf8_lossy(&body)));
            request = request.body(body);
        }
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => refuse(&format!("{method} {path}: {error:?}")),
        };
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.unwrap_or_default().to_vec();
        let is_json = headers
            .get(CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
        let body = match is_json {
            true => serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            false => Value::Null,
        };
        let reply = Reply {
            asked,
            status,
            headers,
            bytes,
            body,
        };
        if let Err(why) = self.contract.check(method, path, &reply) {
            refuse(&format!("{reply}: {why}"));
        }
        reply
    }

    /// A request with a JSON body as it is.
    pub async fn send_json(&self, method: &str, path: &str, body: impl Into<Vec<u8>>) -> Reply {
        let headers = [("content-type", "application/json")];
        self.send(method, path, &headers, Some(body.into())).await
    }

    /// Posts JSON.
    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.send_json("POST", path, body.to_string()).await
    }

    /// Posts JSON under an idempotency key.
    pub async fn post_once(&self, path: &str, key: &str, body: &Value) -> Reply {
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", key),
        ];
        let body = body.to_string().into_bytes();
        self.send("POST", path, &headers, Some(body)).await
    }

    /// Puts JSON.
    pub async fn put(&self, path: &str, body: Value) -> Reply {
        self.send_json("PUT", path, body.to_string()).await
    }

    /// Gets.
    pub async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], None).await
    }

    /// Gets until the key opens nothing any more, as one that was revoked does within five seconds. What was asked before
    /// counts: a busy machine answers late.
    ///
    /// # Panics
    /// When it opens something later than that.
    pub async fn comes_to_nothing(&self, path: &str) {
        let begun = Instant::now();
        loop {
            let asked = begun.elapsed();
            let reply = self.get(path).await;
            if reply.status != 200 {
                return;
            }
            assert!(asked < REVOKED_WITHIN, "{reply}: the key lives on");
        }
    }

    /// Deletes.
    pub async fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", path, &[], None).await
    }
}
