//! Where clients reach the service.

use std::sync::Arc;

/// The address under which clients reach the service, without a trailing slash. App data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(Arc<str>);

impl PublicUrl {
    /// Takes an address with or without its trailing slash.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self(url.trim_end_matches('/').into())
    }

    /// The address without a trailing slash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same in memory of its own: each request counts who has it, and threads that count in one place wait for each other.
    pub(crate) fn apart(&self) -> Self {
        Self(Arc::from(&*self.0))
    }

    /// The address, shared.
    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}
