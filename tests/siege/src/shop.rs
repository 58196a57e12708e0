//! A shop, which asks a server as shops do.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lessor_tests::{refuse, text};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};

/// What is leased.
const SKU: &str = "BIKE";

/// Who is attacked with the others asks from here; who attacks does not.
const FROM: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));

/// An answer, or none.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A success, and its body where it was asked for.
    Done(Value),
    /// Refused for now: 503 or 429.
    Refused(String),
    /// Anything else.
    Failed(String),
}

/// An organization's key, and the way to a server. Cloning it shares its connections.
#[derive(Debug, Clone)]
pub(crate) struct Shop {
    http: reqwest::Client,
    url: String,
    key: HeaderValue,
    variant: String,
    /// Customers are told apart by it.
    next: Arc<AtomicU64>,
}

impl Shop {
    /// Puts goods on sale.
    pub(crate) async fn open(url: &str, organization: &str, key: &str) -> Self {
        let key = HeaderValue::from_str(&format!("Bearer {key}"));
        let mut shop = Self {
            http: client(),
            url: url.to_owned(),
            key: key.unwrap_or_else(|error| refuse(&error.to_string())),
            variant: String::new(),
            next: Arc::default(),
        };
        let product = json!({
            "name": "Road bike", "description": "Carbon", "organizationId": organization,
            "price": "1299.00", "productSource": "manual", "productType": "leasable", "options": []
        });
        let product = shop.must("/v1/products", &product).await;
        let variant = json!({
            "productId": product["id"], "name": "Road bike", "description": "Carbon", "price": "1299.00",
            "sku": SKU, "options": [], "productImages": []
        });
        shop.variant = text(&shop.must("/v1/product-variants", &variant).await["id"]);
        shop
    }

    /// The same shop at another server on the same data.
    pub(crate) fn at(&self, url: &str) -> Self {
        Self {
            http: client(),
            url: url.to_owned(),
            ..self.clone()
        }
    }

    /// A customer whom nobody knows yet.
    pub(crate) fn email(&self) -> String {
        format!("c{}@example.com", self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// What a new checkout is asked for with.
    pub(crate) fn checkout(email: &str) -> Value {
        json!({ "sku": SKU, "selectedTermInMonths": 12, "customer": { "email": email } })
    }

    /// Begins a checkout of a new customer; its body is not kept.
    pub(crate) async fn write(&self) -> Answer {
        let body = Self::checkout(&self.email());
        self.post("/v1/checkouts", None, &body, false).await
    }

    /// Reads the goods; the body is not kept.
    pub(crate) async fn read(&self) -> Answer {
        let path = format!("/v1/product-variants/{}", self.variant);
        let request = self.http.get(format!("{}{path}", self.url));
        self.send(request, false).await
    }

    /// Whether the server says that it is ready.
    pub(crate) async fn is_ready(&self) -> bool {
        let asked = self.http.get(format!("{}/readyz", self.url));
        let asked = asked.timeout(Duration::from_secs(1)).send().await;
        asked.is_ok_and(|answer| answer.status().is_success())
    }

    /// Gets.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.http.get(format!("{}{path}", self.url)), true)
            .await
    }

    /// Posts, under an idempotency key where there is one.
    pub(crate) async fn post(
        &self,
        path: &str,
        key: Option<&str>,
        body: &Value,
        keeps: bool,
    ) -> Answer {
        let mut request = self.http.post(format!("{}{path}", self.url));
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let request = request.header(CONTENT_TYPE, "application/json");
        self.send(request.body(body.to_string()), keeps).await
    }

    /// How many checkouts there are.
    ///
    /// # Panics
    /// When nobody says.
    pub(crate) async fn checkouts(&self) -> u64 {
        let asked = self.http.get(format!("{}/v1/checkouts?limit=1", self.url));
        let asked = asked.header(AUTHORIZATION, self.key.clone()).send().await;
        let answer = asked.unwrap_or_else(|error| refuse(&error.to_string()));
        let total = answer.headers().get("x-total-count");
        let total = total.and_then(|total| total.to_str().ok()?.parse().ok());
        total.unwrap_or_else(|| refuse(&format!("{answer:?}")))
    }

    /// What authorizes its requests.
    pub(crate) fn key(&self) -> &str {
        let bearer = self.key.to_str().unwrap_or_default();
        bearer.trim_start_matches("Bearer ")
    }

    async fn must(&self, path: &str, body: &Value) -> Value {
        match self.post(path, None, body, true).await {
            Answer::Done(body) => body,
            other => refuse(&format!("{path}: {other:?}")),
        }
    }

    async fn send(&self, request: reqwest::RequestBuilder, keeps: bool) -> Answer {
        let sent = request.header(AUTHORIZATION, self.key.clone()).send().await;
        let response = match sent {
            Ok(response) => response,
            Err(error) => return Answer::Failed(format!("{error:?}")),
        };
        let status = response.status();
        let body = match response.bytes().await {
            Ok(body) => body,
            Err(error) => return Answer::Failed(format!("{error:?}")),
        };
        match status.as_u16() {
            200..300 if keeps => Answer::Done(serde_json::from_slice(&body).unwrap_or_default()),
            200..300 => Answer::Done(Value::Null),
            status => {
                let why = format!("{status} {}", String::from_utf8_lossy(&body));
                if matches!(status, 429 | 503) {
                    Answer::Refused(why)
                } else {
                    Answer::Failed(why)
                }
            }
        }
    }
}

fn client() -> reqwest::Client {
    let client = reqwest::Client::builder()
        .local_address(FROM)
        .no_proxy()
        .timeout(Duration::from_secs(30))
        .build();
    client.unwrap_or_else(|error| refuse(&error.to_string()))
}
