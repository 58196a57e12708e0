//! What is remembered of API keys between requests: whose they are, that they were used, how often.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use lessor_domain::access::{Access, KeyHash};
use lessor_domain::ids::ApiKeyPubId;
use lessor_domain::ports::{Database, KeyHolder, StoreError};
use lessor_domain::time::Timestamp;
use moka::future::Cache;

use crate::http::error::ApiError;

/// The most keys that are remembered.
const KEYS_MAX: u64 = 100_000;
/// How exactly it is known when a key was last used: to the minute.
const TOUCH_EVERY: Duration = Duration::from_secs(60);

/// A key that was found.
pub(crate) struct Found {
    pub(crate) holder: KeyHolder,
    pub(crate) access: Arc<Access>,
}

/// Keys that were looked up a moment ago. Only keys that there are: one that is made a moment after
/// it was tried works at once.
#[derive(Clone)]
pub struct KeyCache {
    found: Cache<KeyHash, Arc<Found>>,
    /// Lets the use of a key be noted once within [`TOUCH_EVERY`].
    notes: Arc<DefaultKeyedRateLimiter<ApiKeyPubId>>,
}

impl KeyCache {
    /// Remembers keys for so long.
    #[must_use]
    pub fn new(ttl: Duration) -> Self {
        Self {
            found: Cache::builder()
                .max_capacity(KEYS_MAX)
                .time_to_live(ttl)
                .build(),
            notes: Arc::new(RateLimiter::keyed(Quota::per_minute(NonZeroU32::MIN))),
        }
    }

    /// Forgets what was looked up, so that a change made through this process holds at once.
    pub fn forget(&self) {
        self.found.invalidate_all();
    }

    /// The key of this hash. Requests that come together look it up once.
    pub(crate) async fn find(
        &self,
        database: &dyn Database,
        hash: KeyHash,
    ) -> Result<Option<Arc<Found>>, Arc<StoreError>> {
        let look_up = async {
            let holder = database.read().await?.keys().find_by_hash(&hash).await?;
            Ok::<_, StoreError>(holder.map(|holder| {
                Arc::new(Found {
                    access: Arc::new(holder.access()),
                    holder,
                })
            }))
        };
        if let Some(found) = self.found.get(&hash).await {
            return Ok(Some(found));
        }
        let looked_up = self
            .found
            .try_get_with(hash, async {
                match look_up.await {
                    Ok(Some(found)) => Ok(found),
                    Ok(None) => Err(Absent::Unknown),
                    Err(error) => Err(Absent::Failed(Arc::new(error))),
                }
            })
            .await;
        match looked_up.as_ref().map_err(Arc::as_ref) {
            Ok(found) => Ok(Some(Arc::clone(found))),
            Err(Absent::Unknown) => Ok(None),
            Err(Absent::Failed(error)) => Err(Arc::clone(error)),
        }
    }

    /// Whether the caller is to note the use of the key in the database: nobody has within
    /// [`TOUCH_EVERY`], neither here nor, by what the database says, elsewhere. Of those who ask
    /// together one is told so.
    pub(crate) fn claim_note(&self, holder: &KeyHolder, now: Timestamp) -> bool {
        let key = &holder.key;
        if self.notes.check_key(&key.id).is_err() {
            return false;
        }
        let noted_elsewhere = key
            .last_used_at
            .is_some_and(|at| (now - at).to_std().is_ok_and(|since| since < TOUCH_EVERY));
        !noted_elsewhere
    }
}

/// Why nothing is remembered of a look-up.
enum Absent {
    Unknown,
    Failed(Arc<StoreError>),
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyCache").finish_non_exhaustive()
    }
}

/// How many requests each key may make.
#[derive(Clone)]
pub struct RateLimits(Arc<DefaultKeyedRateLimiter<ApiKeyPubId>>);

impl RateLimits {
    /// So many in a second, all of them at once if the caller likes.
    #[must_use]
    pub fn per_second(requests: NonZeroU32) -> Self {
        Self(Arc::new(RateLimiter::keyed(Quota::per_second(requests))))
    }

    /// Counts a request of the key.
    ///
    /// # Errors
    /// 429 when it is one too many.
    pub(crate) fn check(&self, key: ApiKeyPubId) -> Result<(), ApiError> {
        self.0.check_key(&key).map_err(|refusal| {
            ApiError::rate_limited(refusal.wait_time_from(DefaultClock::default().now()))
        })
    }
}

impl fmt::Debug for RateLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimits").finish_non_exhaustive()
    }
}
