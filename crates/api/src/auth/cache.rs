//! What is remembered of API keys between requests: whose they are, that they were used, how often.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use lessor_domain::access::{Access, KeyHash};
use lessor_domain::ids::ApiKeyPubId;
use lessor_domain::ports::{Database, KeyHolder, Reach, StoreError};
use quick_cache::sync::Cache;

use super::buckets::{Buckets, Rate, Standing};
use crate::http::error::ApiError;
use crate::telemetry::{KEY_CACHE, RATE_LIMITED, Tally};

/// The most keys that are remembered.
const KEYS_MAX: usize = 100_000;
/// How many seconds' worth of requests a key may make at once.
const BURST: u32 = 2;

/// A key that was found.
pub(crate) struct Found {
    pub(crate) holder: KeyHolder,
    pub(crate) access: Arc<Access>,
    /// Its id, as each line about its requests says it.
    pub(crate) key: Box<str>,
    /// The id of its organization, as these lines say it.
    pub(crate) organization: Box<str>,
    /// When it is looked up anew.
    until: Instant,
}

impl Found {
    fn is_recent(&self) -> bool {
        Instant::now() < self.until
    }
}

/// Keys that were looked up a moment ago, with what their organizations say of them. Only keys that there
/// are: one that is made a moment after it was tried works at once.
#[derive(Clone)]
pub struct KeyCache {
    found: Arc<Cache<KeyHash, Arc<Found>>>,
    /// How long a key is remembered.
    ttl: Duration,
    /// Lets the use of a key be noted once a minute: so exactly it is known when it was last used.
    notes: Arc<DefaultKeyedRateLimiter<ApiKeyPubId>>,
}

thread_local! {
    /// Found by its name once for each thread: every request counts one.
    static HITS: Tally = Tally::of_counter(metrics::counter!(KEY_CACHE, "result" => "hit"));
}

impl KeyCache {
    /// Remembers keys for so long.
    #[must_use]
    pub fn new(ttl: Duration) -> Self {
        Self {
            found: Arc::new(Cache::new(KEYS_MAX)),
            ttl,
            notes: Arc::new(RateLimiter::keyed(Quota::per_minute(NonZeroU32::MIN))),
        }
    }

    /// Forgets what was looked up, so that a change made through this process holds at once.
    pub fn forget(&self) {
        self.found.clear();
    }

    /// The key as it was found when it was last looked up here, however long ago.
    pub(crate) fn known(&self, hash: KeyHash) -> Option<Arc<Found>> {
        self.found.get(&hash)
    }

    /// The key as it was found a moment ago.
    pub(crate) fn recent(known: Option<Arc<Found>>) -> Option<Arc<Found>> {
        let recent = known.filter(|found| found.is_recent())?;
        HITS.with(Tally::add);
        Some(recent)
    }

    /// The key of this hash, looked up.
    pub(crate) async fn look_up(
        &self,
        database: &dyn Database,
        hash: KeyHash,
    ) -> Result<Option<Arc<Found>>, StoreError> {
        metrics::counter!(KEY_CACHE, "result" => "miss").increment(1);
        let asked = Instant::now();
        // Whose the request is, the key is to say.
        let mut view = database.read(Reach::Server).await?;
        let Some(holder) = view.keys().find_by_hash(&hash).await? else {
            self.found.remove(&hash);
            return Ok(None);
        };
        drop(view);
        let access = holder.access();
        let found = Arc::new(Found {
            key: access.key_id.to_string().into(),
            organization: access.organization_pub_id.to_string().into(),
            access: Arc::new(access),
            holder,
            until: asked + self.ttl,
        });
        self.found.insert(hash, Arc::clone(&found));
        Ok(Some(found))
    }

    /// Whether the caller is to note the use of the key in the database: nobody here has within a minute.
    /// Of those who ask together one is told so.
    pub(crate) fn claim_note(&self, key: ApiKeyPubId) -> bool {
        self.notes.check_key(&key).is_ok()
    }
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyCache").finish_non_exhaustive()
    }
}

/// How many requests each key may make. Cloning it shares what was counted.
#[derive(Clone)]
pub struct RateLimits(Arc<Buckets<ApiKeyPubId>>);

impl RateLimits {
    /// So many in a second, and twice as many at once.
    #[must_use]
    pub fn per_second(requests: NonZeroU32) -> Self {
        Self(Arc::new(Buckets::new(Rate::per_second(requests, BURST))))
    }

    /// Counts a request of the key.
    ///
    /// # Errors
    /// 429 when it is one too many.
    pub(crate) fn check(&self, key: ApiKeyPubId) -> Result<Counted, ApiError> {
        match self.0.take(&key) {
            Ok(standing) => Ok(Counted {
                limits: self.clone(),
                key,
                standing: Arc::new(Mutex::new(standing)),
            }),
            Err(empty) => {
                metrics::counter!(RATE_LIMITED, "by" => "key").increment(1);
                Err(empty.refusal(ApiError::rate_limited))
            }
        }
    }
}

impl fmt::Debug for RateLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimits").finish_non_exhaustive()
    }
}

/// A request that was counted for its key, among the request's extensions. Its clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    limits: RateLimits,
    key: ApiKeyPubId,
    standing: Arc<Mutex<Standing>>,
}

impl Counted {
    /// Counts so many requests more. It is not refused any more: what the key has not left, later requests
    /// wait for.
    pub(crate) fn charge(&self, requests: u32) {
        let standing = self.limits.0.charge(&self.key, requests);
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = standing;
    }

    /// How much may still be asked with the key.
    pub(crate) fn standing(&self) -> Standing {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
