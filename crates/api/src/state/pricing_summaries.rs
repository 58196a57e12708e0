//! Pricing summaries, and how long they are true.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Bytes;
use lessor_domain::access::KeyKind;
use lessor_domain::ids::OrganizationId;
use moka::future::Cache;
use sha2::{Digest as _, Sha256};

/// Most memory that kept summaries take, in bytes.
const MEMORY_MAX: u64 = 64 * 1024 * 1024;

/// A summary as it is answered.
#[derive(Debug)]
pub(crate) struct Summary {
    /// The revision of the organization's prices that it was made under. Once it has moved on, through
    /// whatever instance, the summary is made anew.
    pub(crate) revision: i64,
    pub(crate) body: Bytes,
    pub(crate) etag: String,
}

impl Summary {
    pub(crate) fn new(revision: i64, body: Vec<u8>) -> Self {
        let hash = Sha256::digest(&body);
        Self {
            revision,
            etag: format!("\"{}\"", hex::encode(&hash[..16])),
            body: body.into(),
        }
    }
}

/// What a summary is kept under.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SummaryKey {
    /// What one kind of key is shown the other may not be.
    pub(crate) kind: KeyKind,
    pub(crate) organization: OrganizationId,
    pub(crate) identifier: String,
}

/// Pricing summaries that were asked for lately.
#[derive(Clone)]
pub struct SummaryCache(Cache<SummaryKey, Arc<Summary>>);

impl SummaryCache {
    /// Keeps summaries for so long.
    #[must_use]
    pub fn new(ttl: Duration) -> Self {
        let weight = |key: &SummaryKey, summary: &Arc<Summary>| {
            let bytes = key.identifier.len() + summary.body.len() + summary.etag.len() + 128;
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self(
            Cache::builder()
                .weigher(weight)
                .max_capacity(MEMORY_MAX)
                .time_to_live(ttl)
                .build(),
        )
    }

    pub(crate) async fn get(&self, key: &SummaryKey) -> Option<Arc<Summary>> {
        self.0.get(key).await
    }

    pub(crate) async fn insert(&self, key: SummaryKey, summary: Arc<Summary>) {
        self.0.insert(key, summary).await;
    }
}

impl fmt::Debug for SummaryCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SummaryCache").finish_non_exhaustive()
    }
}
