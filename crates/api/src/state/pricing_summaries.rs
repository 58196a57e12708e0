//! Pricing summaries, and how long they are true.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::header::{HeaderValue, InvalidHeaderValue};
use actix_web::web::Bytes;
use lessor_domain::access::KeyKind;
use lessor_domain::ids::OrganizationId;
use lessor_domain::services::pricing::Otherwise;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sha2::{Digest as _, Sha256};

/// Most memory that kept summaries take, in bytes.
const MEMORY_MAX: u64 = 64 * 1024 * 1024;
/// About how many of them that is.
const SUMMARIES: usize = 16 * 1024;

/// A summary as it is answered.
#[derive(Debug)]
pub(crate) struct Summary {
    /// The revision of the organization's prices that it was made under. Once it has moved on, through
    /// whatever instance, the summary is made anew.
    pub(crate) revision: i64,
    pub(crate) body: Bytes,
    pub(crate) etag: HeaderValue,
    /// The lowest payment, as it is answered; none where the variant is offered for no term.
    pub(crate) lowest: Option<Bytes>,
}

impl Summary {
    /// A summary with the tag of its body.
    ///
    /// # Errors
    /// The tag cannot stand in a header. Hexadecimal digits can.
    pub(crate) fn new(
        revision: i64,
        body: Vec<u8>,
        lowest: Option<Vec<u8>>,
    ) -> Result<Self, InvalidHeaderValue> {
        let hash = Sha256::digest(&body);
        let etag = format!("\"{}\"", hex::encode(&hash[..16]));
        Ok(Self {
            revision,
            etag: HeaderValue::try_from(etag)?,
            body: body.into(),
            lowest: lowest.map(Bytes::from),
        })
    }
}

/// What a summary is kept under.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SummaryKey {
    /// What one kind of key is shown the other may not be.
    pub(crate) kind: KeyKind,
    pub(crate) organization: OrganizationId,
    pub(crate) identifier: String,
    /// What the identifier is where it is no public id.
    pub(crate) otherwise: Otherwise,
}

/// Pricing summaries that were asked for lately.
#[derive(Clone)]
pub struct SummaryCache {
    kept: Arc<Cache<SummaryKey, Kept, Memory>>,
    ttl: Duration,
}

#[derive(Clone)]
struct Kept {
    summary: Arc<Summary>,
    /// When it is made anew.
    until: Instant,
}

/// What a summary takes of [`MEMORY_MAX`], in bytes.
#[derive(Clone)]
struct Memory;

impl Weighter<SummaryKey, Kept> for Memory {
    fn weight(&self, key: &SummaryKey, kept: &Kept) -> u64 {
        let lowest = kept.summary.lowest.as_ref().map_or(0, Bytes::len);
        let answers = kept.summary.body.len() + kept.summary.etag.len() + lowest;
        let bytes = key.identifier.len() + answers;
        (bytes + 128) as u64
    }
}

impl SummaryCache {
    /// Keeps summaries for so long.
    #[must_use]
    pub fn new(ttl: Duration) -> Self {
        Self {
            kept: Arc::new(Cache::with_weighter(SUMMARIES, MEMORY_MAX, Memory)),
            ttl,
        }
    }

    pub(crate) fn get(&self, key: &SummaryKey) -> Option<Arc<Summary>> {
        let kept = self.kept.get(key)?;
        (Instant::now() < kept.until).then_some(kept.summary)
    }

    pub(crate) fn insert(&self, key: SummaryKey, summary: Arc<Summary>) {
        let until = Instant::now() + self.ttl;
        self.kept.insert(key, Kept { summary, until });
    }
}

impl fmt::Debug for SummaryCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SummaryCache").finish_non_exhaustive()
    }
}
