//! How the processor is reached.

use std::fmt;
use std::time::Duration;

use lessor_domain::access::Mode;
use reqwest::Url;

use super::retry::RetryPolicy;

/// The version of the API that requests are written for and answers are read as.
pub const API_VERSION: &str = "2026-10-28.endive";

/// Where the API is.
pub const DEFAULT_URL: &str = "https://api.stripe.com";

/// An API key of the processor.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiSecret(String);

impl ApiSecret {
    /// Takes a key; nothing when it is blank.
    #[must_use]
    pub fn new(key: impl AsRef<str>) -> Option<Self> {
        let key = key.as_ref().trim();
        (!key.is_empty()).then(|| Self(key.to_owned()))
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiSecret(…)")
    }
}

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// To connect.
    pub connect: Duration,
    /// In all, from the first byte sent to the last byte read.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            total: Duration::from_secs(30),
        }
    }
}

/// How the processor is reached.
#[derive(Debug, Clone)]
pub struct ProcessorSettings {
    /// Base URL of the API.
    pub base_url: String,
    /// The key for real money.
    pub live_key: Option<ApiSecret>,
    /// The key for the sandbox.
    pub sandbox_key: Option<ApiSecret>,
    /// How long a request may take.
    pub timeouts: Timeouts,
    /// How requests are repeated.
    pub retry: RetryPolicy,
}

impl Default for ProcessorSettings {
    fn default() -> Self {
        Self {
            base_url: DEFAULT_URL.to_owned(),
            live_key: None,
            sandbox_key: None,
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
        }
    }
}

/// The client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The base URL is none of HTTP.
    #[error("the processor's URL is to be http:// or https:// and a host: {0}")]
    Url(String),
    /// A key holds characters that no header can.
    #[error("the processor's {0} key holds characters that a key cannot have")]
    Key(Mode),
    /// The HTTP client could not be made.
    #[error("the HTTP client cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// The base URL, which is one of HTTP.
pub(super) fn base(settings: &ProcessorSettings) -> Result<Url, SetupError> {
    Url::parse(&settings.base_url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && !url.cannot_be_a_base())
        .ok_or_else(|| SetupError::Url(settings.base_url.clone()))
}
