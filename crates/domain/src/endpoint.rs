//! Where organizations are asked.

use crate::secret::Secret;
use crate::text::Url;

/// A URL of an organization, asked by requests that it knows by their signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub url: Url,
    /// What requests are signed with, in the form of Standard Webhooks (`whsec_…`).
    pub secret: Secret,
}
