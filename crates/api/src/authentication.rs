//! Whose request it is: keys looked up, remembered for a moment, counted.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use lessor_domain::access::{Access, KeyHash};
use lessor_domain::cause::chain;
use lessor_domain::ids::ApiKeyPubId;
use lessor_domain::ports::{Database, KeyHolder, StoreError};
use lessor_domain::time::Timestamp;
use moka::future::Cache;

use crate::error::ApiError;
use crate::keys::SecretKey;
use crate::state::AppState;

/// The most keys that are remembered.
const KEYS_MAX: u64 = 100_000;
/// How exactly it is known when a key was last used.
const TOUCH_EVERY: Duration = Duration::from_secs(60);

/// A key that was found.
struct Found {
    holder: KeyHolder,
    access: Arc<Access>,
}

/// Keys that were looked up a moment ago. Only keys that there are: one that is made a moment after
/// it was tried works at once.
#[derive(Clone)]
pub struct KeyCache {
    found: Cache<KeyHash, Arc<Found>>,
    /// The keys whose use was noted within [`TOUCH_EVERY`].
    noted: Cache<ApiKeyPubId, ()>,
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
            noted: Cache::builder()
                .max_capacity(KEYS_MAX)
                .time_to_live(TOUCH_EVERY)
                .build(),
        }
    }

    /// Forgets what was looked up, so that a change made through this process holds at once.
    pub fn forget(&self) {
        self.found.invalidate_all();
    }

    /// The key of this hash. Requests that come together look it up once.
    async fn find(
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

    fn check(&self, key: ApiKeyPubId) -> Result<(), ApiError> {
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

/// Who the holder of the key acts for.
///
/// # Errors
/// 401 for anything but a key that is in force now, 429 when it was used too often, 503 when it
/// cannot be looked up.
pub(crate) async fn authenticate(state: &AppState, key: &str) -> Result<Arc<Access>, ApiError> {
    let key = SecretKey::parse(key).ok_or_else(ApiError::unauthorized)?;
    let found = state
        .keys
        .find(&*state.reads, key.hash())
        .await
        .map_err(|error| match &*error {
            StoreError::Unavailable(_) => ApiError::unavailable(Duration::from_secs(1), error),
            _ => ApiError::internal(error),
        })?
        .ok_or_else(ApiError::unauthorized)?;
    let now = state.ports.clock.now();
    if !found.holder.key.is_valid_at(now) {
        return Err(ApiError::unauthorized());
    }
    if let Some(limits) = &state.limits {
        limits.check(found.holder.key.id)?;
    }
    note_use(state, &found.holder, now).await;
    Ok(Arc::clone(&found.access))
}

/// Notes that the key was used, at most once in [`TOUCH_EVERY`]; the request does not wait for it.
async fn note_use(state: &AppState, holder: &KeyHolder, now: Timestamp) {
    let id = holder.key.id;
    if !state.keys.noted.entry(id).or_insert(()).await.is_fresh() {
        return;
    }
    let noted_elsewhere = holder
        .key
        .last_used_at
        .is_some_and(|at| (now - at).to_std().is_ok_and(|since| since < TOUCH_EVERY));
    if noted_elsewhere {
        return;
    }
    let database = Arc::clone(&state.ports.database);
    state.mutations.detach(async move {
        let touch = async {
            let mut work = database.begin().await?;
            work.keys().touch(id, now).await?;
            work.commit().await
        };
        if let Err(error) = touch.await {
            tracing::warn!(key = %id, error = %chain(&error), "the use of an API key was not noted");
        }
    });
}
