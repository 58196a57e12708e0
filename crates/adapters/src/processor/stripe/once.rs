//! How work that makes something is done once, whatever is lost on the way.
//!
//! The processor keeps the first answer to an idempotency key for a day at least
//! and gives it to every later request with that key. That leaves three holes, and
//! a look-up closes each. It goes by our ids, in the lists of the customer or of
//! the checkout: lists show what was made at once, while the processor's search may
//! lag by a minute.
//!
//! - **The key may be forgotten.** Work that was first tried 23 hours ago or earlier
//!   is looked up before it is asked for. The hour is for clocks and retries.
//! - **The key may be used up by a failure.** A stored 500 comes back for ever and
//!   says nothing about whether the thing was made. After the retries the work is
//!   looked up, and when it is not there, asked for under the next key of a fixed
//!   row, `<key>-2`, `<key>-3`.
//! - **The key may belong to other parameters**, when a name changed between two
//!   tries. The same is done, but only for work that is old enough that no request
//!   of an earlier try can still be under way.
//!
//! Why the derived key is safe: the answer 500 ends the first request, as the
//! processor says 409 while one is under way, so nothing can still come of it; what
//! did come of it stands in the list. The row of keys is the same for every try of
//! the work, so that tries which race meet at the same key. And nobody makes
//! anything under an earlier key of the row again, because it answers its stored
//! failure until it is forgotten, when the first rule applies. What remains is an
//! object that the processor itself restores after the look-up, out of a failure of
//! its own storage; the reconciliation of subscriptions and deposits is for that.

use std::future::Future;

use chrono::TimeDelta;
use lessor_domain::ports::Attempt;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::client::Client;
use super::error::{ApiError, CallError};

/// How long the processor surely remembers a key.
const KEY_LIFETIME: TimeDelta = TimeDelta::hours(23);
/// After this long no request of an earlier try is under way.
const SETTLED: TimeDelta = TimeDelta::minutes(10);
/// How many keys of the row are tried in one call.
const MOST_KEYS: u32 = 3;

/// Work to be done once.
pub(super) struct Work<'a, P: ?Sized> {
    pub(super) attempt: &'a Attempt,
    /// The first key of the row.
    pub(super) key: &'a str,
    pub(super) path: &'a [&'a str],
    pub(super) params: &'a P,
}

/// Whether the processor may have forgotten the keys of the call.
pub(super) fn may_be_forgotten(attempt: &Attempt) -> bool {
    attempt.now - attempt.first_tried_at >= KEY_LIFETIME
}

/// The key of a part of the work.
pub(super) fn subkey(key: &str, part: &str) -> String {
    format!("{key}:{part}")
}

/// Sets members of an object. Setting them again changes nothing, so the key names
/// the try and not the work: a later try may carry newer values.
pub(super) async fn set<T, P>(
    client: &Client,
    attempt: &Attempt,
    path: &[&str],
    params: &P,
) -> Result<T, CallError>
where
    T: DeserializeOwned,
    P: Serialize + Sync + ?Sized,
{
    let part = format!("set:{}:{}", path.join("/"), attempt.now.timestamp_millis());
    let key = subkey(&attempt.idempotency_key, &part);
    client.post(attempt.mode, path, params, &key).await
}

/// Makes the object, or answers the one that the work made before.
///
/// `find` looks for it by our ids.
pub(super) async fn make<T, P, F, L>(
    client: &Client,
    work: Work<'_, P>,
    find: F,
) -> Result<T, CallError>
where
    T: DeserializeOwned,
    P: Serialize + Sync + ?Sized,
    F: Fn() -> L,
    L: Future<Output = Result<Option<T>, CallError>>,
{
    let attempt = work.attempt;
    if may_be_forgotten(attempt)
        && let Some(found) = find().await?
    {
        return Ok(found);
    }
    let mut number = 1;
    loop {
        let key = match number {
            1 => work.key.to_owned(),
            _ => format!("{}-{number}", work.key),
        };
        let result = client
            .post(attempt.mode, work.path, work.params, &key)
            .await;
        let Some(spent) = result.as_ref().err().and_then(Spent::by) else {
            return result;
        };
        if let Some(found) = find().await? {
            return Ok(found);
        }
        let may_go_on = match spent {
            Spent::Failed => true,
            Spent::OtherRequest => attempt.now - attempt.first_tried_at >= SETTLED,
        };
        if !may_go_on || number == MOST_KEYS {
            return result;
        }
        number += 1;
    }
}

/// Why a key is of no further use.
enum Spent {
    /// It answers a stored failure for ever.
    Failed,
    /// It belongs to a request with other parameters.
    OtherRequest,
}

impl Spent {
    fn by(error: &CallError) -> Option<Self> {
        let error: &ApiError = error.api()?;
        if error.is_other_request() {
            Some(Self::OtherRequest)
        } else if error.is_stored_failure() {
            Some(Self::Failed)
        } else {
            None
        }
    }
}
