//! Requests that may be repeated: carried out once, answered the same each time.
//!
//! The answer is kept in the transaction of the work, under the organization, the mode, the method
//! and path and the caller's key, with the SHA-256 of the request. Kept are answers of executed
//! work: successes, and refusals by a rule (400 `invalid_request`, and `invalid_parameter` of what is
//! taken), which would be others a moment later. A request that could not be understood, or was not allowed, or failed, left nothing that
//! a repetition could do twice.
//!
//! While a request is worked on its key is locked, and a second one is told so (409).

use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::Method;
use async_trait::async_trait;
use chrono::TimeDelta;
use lessor_domain::access::Permission;
use lessor_domain::cause::tried;
use lessor_domain::ids::UserPubId;
use lessor_domain::ports::{IdempotencyKey, StoreError, StoredAnswer, UnitOfWork};
use lessor_domain::services::{Context, Error};
use lessor_domain::time::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::runner::{Runner, Tries, Viewer, close};
use super::sealed::{checkout_of, opened, sealed};
use crate::auth::links::CheckoutPageLinks;
use crate::http::error::ApiError;

/// The longest key, in characters.
pub const MAX_KEY_LENGTH: usize = 255;
/// How long an answer is kept.
const KEPT_FOR: TimeDelta = TimeDelta::hours(24);
/// How long the second phase of a request may be under way before its process is taken for dead.
const SECOND_PHASE: TimeDelta = TimeDelta::seconds(10);

/// How often it is looked whether the request's own transaction before has ended, and how long after each
/// other.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

const HEADER: &str = "Idempotency-Key";

/// An answer as it goes over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    /// Whether it is a record that was there before the request.
    pub(super) is_existing: bool,
    pub(super) replayed: bool,
}

impl Answer {
    /// Keeps the place of an answer that there is none of yet.
    const NONE: Self = Self {
        status: 200,
        body: Vec::new(),
        is_existing: false,
        replayed: false,
    };

    pub(super) fn ok(record: &impl Serialize) -> Result<Self, Error> {
        let body = serde_json::to_vec(record)
            .map_err(|error| StoreError::internal(tried("an answer is not JSON", error)))?;
        Ok(Self {
            status: 200,
            body,
            is_existing: false,
            replayed: false,
        })
    }
}

/// The `Idempotency-Key` of a POST.
pub(super) fn key_of(request: &HttpRequest) -> Result<Option<String>, ApiError> {
    if *request.method() != Method::POST {
        return Ok(None);
    }
    let mut given = request.headers().get_all(HEADER);
    let Some(value) = given.next() else {
        return Ok(None);
    };
    let refused = |what: &str| Err(ApiError::invalid(HEADER, format!("{HEADER}: {what}")));
    if given.next().is_some() {
        return refused("must not be given more than once");
    }
    match value.to_str() {
        Ok("") => refused("must not be empty"),
        Ok(key) if key.len() > MAX_KEY_LENGTH => {
            refused(&format!("must be at most {MAX_KEY_LENGTH} characters long"))
        }
        Ok(key) => Ok(Some(key.to_owned())),
        Err(_) => refused("must be printable ASCII"),
    }
}

/// The SHA-256 of what makes a request the same as another. Of one that is about the user who asks, the
/// user is a part.
pub(super) fn request_hash(
    method: &Method,
    uri: &str,
    body: &[u8],
    user: Option<UserPubId>,
) -> [u8; 32] {
    let mut hash = Sha256::new();
    let user = user.map(|user| user.to_string());
    let parts = [method.as_str().as_bytes(), uri.as_bytes(), body];
    for part in parts.into_iter().chain(user.as_deref().map(str::as_bytes)) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// What the first phase of a request in two phases comes to.
#[derive(Debug)]
pub enum FirstPhase<R, T> {
    /// The answer; there is nothing left to do.
    Done(R),
    /// The answer is what was there before, and nothing was made: `Existing-Checkout: true`.
    Existing(R),
    /// The work is done. The answer as it is should nothing better come of the second phase, and what
    /// that works on.
    Interim(R, T),
    /// Nothing is done yet. What the second phase works on, which does everything in a way that can be
    /// begun anew: a repetition does should this process have died.
    Begun(T),
}

/// A request whose answer gets better after the commit.
#[async_trait]
pub trait TwoPhases: Clone + Send + Sync + 'static {
    /// The answer.
    type Record: Serialize + Send + Sync + 'static;
    /// What the first phase leaves to the second.
    type Rest: Send + 'static;

    /// What it takes, also to see a kept answer.
    fn permission(&self) -> Permission;

    /// Whether it is about the user who asks: sent by another it is another request.
    fn is_of_its_user(&self) -> bool {
        false
    }

    /// What is kept for a repetition instead of an answer that shows something once; none where the answer is
    /// kept as it is.
    fn kept(record: &Self::Record) -> Option<Self::Record> {
        let _ = record;
        None
    }

    /// What is done in a transaction.
    async fn first(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        viewer: Viewer<'_>,
    ) -> Result<FirstPhase<Self::Record, Self::Rest>, Error>;

    /// What is done after its commit, outside of any transaction: what has to be asked of a provider.
    /// What it gives is the answer; the interim one is, when it gives nothing.
    async fn second(runner: &Runner, rest: Self::Rest) -> Result<Option<Self::Record>, Error>;
}

/// A request that is carried out once.
#[derive(Clone, Debug)]
pub(super) struct Once {
    pub(super) key: IdempotencyKey,
    pub(super) request_hash: [u8; 32],
    /// What it takes to see the answer again.
    pub(super) permission: Permission,
}

/// Whether the key is locked for this unit of work; it is not where another works on it.
///
/// A later try of the same request may meet the one before it: a transaction that was given up ends when
/// its server sees that the connection is gone, which may take a while on a cluster. That is nobody
/// else's work, and is waited for as what else the try stood in the way of.
pub(super) async fn lock(
    uow: &mut dyn UnitOfWork,
    key: &IdempotencyKey,
    is_first: bool,
) -> Result<bool, StoreError> {
    if is_first {
        return uow.idempotency().try_lock(key).await;
    }
    for _ in 0..LOOKS {
        if uow.idempotency().try_lock(key).await? {
            return Ok(true);
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    Err(StoreError::Contended)
}

/// What became of a request.
pub(super) enum Conclusion<T> {
    /// This answer.
    Answered(Answer),
    /// This answer, if there is one, unless the second phase finds a better one.
    Interim(Option<Answer>, T),
    /// It is not carried out.
    Refused(ApiError),
}

impl Once {
    fn stored(
        &self,
        answer: &Answer,
        is_final: bool,
        now: Timestamp,
        links: &CheckoutPageLinks,
    ) -> StoredAnswer {
        StoredAnswer {
            request_hash: self.request_hash,
            status: answer.status,
            body: sealed(&answer.body, links),
            is_existing: answer.is_existing,
            is_final,
            created_at: now,
        }
    }

    /// What to say to a request whose key has an answer; nothing when it is to be carried out anew.
    fn replay<T>(&self, stored: StoredAnswer, by: &Context<'_>) -> Option<Conclusion<T>> {
        // Before all else: who may not ask learns nothing of what others asked.
        if let Err(denied) = by.access.require(self.permission) {
            return Some(Conclusion::Refused(Error::from(denied).into()));
        }
        if stored.request_hash != self.request_hash {
            return Some(Conclusion::Refused(ApiError::invalid_request(format!(
                "another request was made with this {HEADER}"
            ))));
        }
        if !stored.is_final && by.now - stored.created_at < SECOND_PHASE {
            return Some(Conclusion::Refused(ApiError::idempotency_in_progress()));
        }
        if !stored.is_final && stored.body.is_empty() {
            return None;
        }
        Some(Conclusion::Answered(Answer {
            status: stored.status,
            body: stored.body,
            is_existing: stored.is_existing,
            replayed: true,
        }))
    }
}

impl Runner {
    /// Does the first phase in a transaction, and keeps the answer with it when `once` says how.
    pub(super) async fn answer<P: TwoPhases>(
        &self,
        once: Option<&Once>,
        request: P,
    ) -> Result<Conclusion<P::Rest>, Error> {
        let mut tries = Tries::default();
        let mut is_first = true;
        loop {
            let attempt = self.answer_once(once, request.clone(), is_first).await;
            is_first = false;
            return match (attempt, once) {
                (Err(error), _) if tries.again(&error) => continue,
                (Err(error @ (Error::Rule { .. } | Error::Taken { .. })), Some(once)) => {
                    self.keep_refusal(once, error).await
                }
                (result, _) => result,
            };
        }
    }

    async fn answer_once<P: TwoPhases>(
        &self,
        once: Option<&Once>,
        request: P,
        is_first: bool,
    ) -> Result<Conclusion<P::Rest>, Error> {
        let now = self.state.engine.clock.now();
        let context = self.context(now);
        let mut uow = self.begin().await?;
        let concluded = match once {
            Some(once) if !lock(&mut *uow, &once.key, is_first).await? => {
                Ok(Conclusion::Refused(ApiError::idempotency_in_progress()))
            }
            _ => self.conclude(&mut *uow, once, request, &context).await,
        };
        close(uow, concluded).await
    }

    /// What becomes of the request, whose key is locked, in this unit of work, which is committed where it is no error.
    async fn conclude<P: TwoPhases>(
        &self,
        uow: &mut dyn UnitOfWork,
        once: Option<&Once>,
        request: P,
        context: &Context<'_>,
    ) -> Result<Conclusion<P::Rest>, Error> {
        if let Some(once) = once {
            let kept = uow
                .idempotency()
                .find(&once.key, context.now - KEPT_FOR)
                .await?;
            if let Some(outcome) = kept.and_then(|stored| once.replay(stored, context)) {
                return self.with_links(uow, outcome).await;
            }
        }
        let first = request.first(uow, context, self.viewer()).await?;
        let mut without = None;
        let outcome = match first {
            FirstPhase::Done(record) => {
                without = P::kept(&record).as_ref().map(Answer::ok).transpose()?;
                Conclusion::Answered(Answer::ok(&record)?)
            }
            FirstPhase::Existing(record) => Conclusion::Answered(Answer {
                is_existing: true,
                ..Answer::ok(&record)?
            }),
            FirstPhase::Interim(record, rest) => {
                Conclusion::Interim(Some(Answer::ok(&record)?), rest)
            }
            FirstPhase::Begun(rest) => Conclusion::Interim(None, rest),
        };
        if let Some(once) = once {
            let links = &self.state.pages;
            let stored = match &outcome {
                Conclusion::Answered(answer) => {
                    let kept = without.as_ref().unwrap_or(answer);
                    once.stored(kept, true, context.now, links)
                }
                Conclusion::Interim(Some(answer), _) => {
                    once.stored(answer, false, context.now, links)
                }
                Conclusion::Interim(None, _) | Conclusion::Refused(_) => {
                    once.stored(&Answer::NONE, false, context.now, links)
                }
            };
            uow.idempotency().put(&once.key, &stored).await?;
        }
        Ok(outcome)
    }

    /// A kept answer with the link that its checkout's page has now, for who is shown links.
    async fn with_links<T>(
        &self,
        uow: &mut dyn UnitOfWork,
        outcome: Conclusion<T>,
    ) -> Result<Conclusion<T>, Error> {
        let Conclusion::Answered(mut answer) = outcome else {
            return Ok(outcome);
        };
        if let Some(id) = checkout_of(&answer.body) {
            let seen = match self.access.has_links() {
                true => uow.checkouts().get(id).await?,
                false => None,
            };
            answer.body = opened(&answer.body, id, seen.as_ref(), &self.state.pages);
        }
        Ok(Conclusion::Answered(answer))
    }

    /// Keeps that a rule refused the request. What was done of it is gone with its transaction.
    async fn keep_refusal<T>(&self, once: &Once, error: Error) -> Result<Conclusion<T>, Error> {
        let answer = self.refusal(error);
        let now = self.state.engine.clock.now();
        for _ in 0..LOOKS {
            let mut uow = self.begin().await?;
            let store = uow.idempotency();
            let is_locked = store.try_lock(&once.key).await?;
            // The key was free for a moment: who took it in between says what is kept.
            if is_locked && store.find(&once.key, now - KEPT_FOR).await?.is_none() {
                let stored = once.stored(&answer, true, now, &self.state.pages);
                store.put(&once.key, &stored).await?;
            }
            uow.commit().await?;
            if is_locked {
                break;
            }
            // By somebody else, or by the refused transaction where it could not be rolled back: it ends when
            // its connection is closed.
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Ok(Conclusion::Answered(answer))
    }

    /// The answer to a request that a rule forbids.
    pub(super) fn refusal(&self, error: Error) -> Answer {
        let error = ApiError::from(error);
        let public_url = &self.state.settings.public_url;
        Answer {
            status: error.status().as_u16(),
            body: error.body(public_url.as_str(), None),
            is_existing: false,
            replayed: false,
        }
    }

    /// Keeps nothing of a request whose second phase failed: a repetition is a new try.
    pub(super) async fn forget(&self, once: &Once) -> Result<(), Error> {
        let mut uow = self.begin().await?;
        // An answer from before all times is older than any that is looked for.
        let stored = once.stored(
            &Answer::NONE,
            true,
            Timestamp::UNIX_EPOCH,
            &self.state.pages,
        );
        uow.idempotency().put(&once.key, &stored).await?;
        Ok(uow.commit().await?)
    }

    /// Keeps the answer that the second phase found.
    pub(super) async fn keep_final(&self, once: &Once, answer: &Answer) -> Result<(), Error> {
        let now = self.state.engine.clock.now();
        let stored = once.stored(answer, true, now, &self.state.pages);
        let mut uow = self.begin().await?;
        uow.idempotency().put(&once.key, &stored).await?;
        Ok(uow.commit().await?)
    }
}
