//! A request that passed the door.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::marker::PhantomData;

use actix_web::http::header::{CACHE_CONTROL, HeaderMap};
use actix_web::http::uri::PathAndQuery;
use actix_web::http::{Method, StatusCode, Uri};
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, HttpResponse, dev};
use async_trait::async_trait;
use lessor_adapters::postgres::{LastCommit, Position};
use lessor_domain::access::{Access, Permission};
use lessor_domain::ids::UserPubId;
use lessor_domain::ports::{IdempotencyKey, StoreError, UnitOfWork};
use lessor_domain::services::{Context, Error, UseCase};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::once::{Answer, Conclusion, FirstPhase, Once, TwoPhases, key_of, request_hash};
use super::runner::{Runner, Viewer};
use crate::auth::cache::Counted;
use crate::http::error::ApiError;
use crate::http::position::position_of;
use crate::middleware::Caller;
use crate::state::remembered::{Question, Recall, Remembered};
use crate::state::{AppState, Sender};
use crate::telemetry::outage;

/// A request of somebody who may use the service, and the way to the stores. An extractor.
#[derive(Clone, Debug)]
pub struct Call {
    runner: Runner,
    method: Method,
    uri: Uri,
    idempotency_key: Option<String>,
    /// None where requests are not limited.
    counted: Option<Counted>,
    /// How much a list has to show; only of lists it matters whether that is well-formed.
    position: Result<Option<Position>, ApiError>,
    /// Whether no answer will do that was made before.
    wants_anew: bool,
}

impl Call {
    /// Who asks.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.runner.access
    }

    /// The application's state.
    #[must_use]
    pub const fn state(&self) -> &AppState {
        &self.runner.state
    }

    /// The path of the request, as it was sent.
    #[must_use]
    pub fn path(&self) -> &str {
        self.uri.path()
    }

    /// The query string of the request, as it was sent.
    #[must_use]
    pub fn query(&self) -> &str {
        self.uri.query().unwrap_or_default()
    }

    /// The context of a use case, now.
    #[must_use]
    pub fn context(&self) -> Context<'_> {
        self.runner.context(self.state().engine.clock.now())
    }

    /// Counts each item of a bulk request as a request, of which the first was counted with the key.
    pub fn count_items(&self, items: usize) {
        let more = items.saturating_sub(1);
        if let (Some(counted), 1..) = (&self.counted, more) {
            counted.charge(u32::try_from(more).unwrap_or(u32::MAX));
        }
    }

    /// Refuses a caller who may not before anything is looked up, where a request is about
    /// nothing in particular.
    ///
    /// # Errors
    /// 403.
    pub fn require(&self, permission: Permission) -> Result<(), ApiError> {
        self.access()
            .require(permission)
            .map_err(|denied| Error::from(denied).into())
    }

    /// Like [`Call::require`], whoever writes the catalog: that is asked for where it is known what of
    /// it is to change.
    ///
    /// # Errors
    /// 403.
    pub fn require_permission(&self, permission: Permission) -> Result<(), ApiError> {
        self.access()
            .require_permission(permission)
            .map_err(|denied| Error::from(denied).into())
    }

    /// Who sees the answer.
    #[must_use]
    pub fn viewer(&self) -> Viewer<'_> {
        self.runner.viewer()
    }

    /// Runs a use case that changes nothing.
    ///
    /// # Errors
    /// The use case's own; the stores cannot be reached.
    pub async fn read<U: UseCase>(&self, use_case: U) -> Result<U::Output, ApiError> {
        let organization = self.access().organization_id;
        let mut view = self.state().reads.read(organization.into()).await?;
        Ok(use_case.run(&mut *view, &self.context()).await?)
    }

    /// Answers a read: as it was answered before, where nothing has changed since that the answer
    /// [shows](crate::state::journal::Shows), else anew.
    ///
    /// # Errors
    /// Those of the answer; the stores cannot be reached.
    pub async fn remembered(
        &self,
        answer: impl AsyncFnOnce() -> Result<HttpResponse, ApiError>,
    ) -> Result<HttpResponse, ApiError> {
        self.remembered_of(None, answer).await
    }

    /// Like [`Call::remembered`], of a read that says in its body, which was sent so, what it asks for.
    ///
    /// # Errors
    /// Those of the answer; the stores cannot be reached.
    pub async fn remembered_of(
        &self,
        body: Option<&[u8]>,
        answer: impl AsyncFnOnce() -> Result<HttpResponse, ApiError>,
    ) -> Result<HttpResponse, ApiError> {
        let remembered = &self.state().remembered;
        let recalled = self.question(body).map(|question| {
            let recall = remembered.recall(&question);
            (question, recall)
        });
        let (question, known) = match recalled {
            Some((question, Recall::Known(known))) => (question, Some(known)),
            Some((question, Recall::Learn)) => (question, None),
            Some((_, Recall::No)) | None => {
                Remembered::missed();
                return answer().await;
            }
        };
        let (reads, organization) = (&self.state().reads, self.access().organization_id);
        let editions = &self.state().editions;
        let moment = editions.now(reads, organization).await?;
        if let Some(known) = &known
            && editions.is_still(organization, &known.shows, known.moment)
        {
            return Ok(known.respond());
        }
        Remembered::missed();
        if moment.is_behind {
            // Who wrote what has no number may not be there any more to number it.
            self.state().feeds.number(organization);
        }
        let response = answer().await?;
        Ok(remembered.learn(question, known.as_deref(), moment, response))
    }

    /// What is asked, where it may have been answered before: unless the caller wants it anew, or says what it has to show.
    fn question(&self, body: Option<&[u8]>) -> Option<Question> {
        let is_any = match &self.position {
            Ok(None) => true,
            Ok(Some(_)) => self.state().replica.is_none(),
            Err(_) => false,
        };
        let target = self.uri.path_and_query();
        let target = target.filter(|_| is_any && !self.wants_anew)?;
        let body = body.map(|body| Sha256::digest(body).into());
        Some(Question::new(self.access(), target.clone(), body))
    }

    /// Like [`Call::read`], of a use case that lists something: a replica that is as far as the caller has
    /// to see answers, where there is one. What it refuses the primary decides, which may know more.
    ///
    /// # Errors
    /// The use case's own; the stores cannot be reached; 400 about the position.
    pub async fn list<U: UseCase>(&self, use_case: U) -> Result<U::Output, ApiError> {
        let position = self.position.clone()?;
        let organization = self.access().organization_id;
        if let (Some(replica), Some(position)) = (&self.state().replica, position)
            && let Some(mut view) = replica.view_at(organization.into(), position).await
        {
            match use_case.clone().run(&mut *view, &self.context()).await {
                Ok(listed) => {
                    replica.gave();
                    return Ok(listed);
                }
                Err(error) => replica.gave_up(&error),
            }
        }
        self.read(use_case).await
    }

    /// Runs work that changes something and has its own order of transactions, to its end.
    ///
    /// # Errors
    /// The work's own.
    pub async fn run<T, F>(&self, work: impl FnOnce(Runner) -> F) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, ApiError>> + Send + 'static,
        T: Send + 'static,
    {
        let mutations = &self.state().mutations;
        mutations.run(work(self.runner.clone())).await
    }

    /// Runs a use case that changes something, in one transaction.
    ///
    /// # Errors
    /// The use case's own.
    pub async fn mutate<U>(&self, use_case: U) -> Result<U::Output, ApiError>
    where
        U: UseCase<Output: 'static>,
    {
        self.run(|runner| async move { Ok(runner.once(use_case).await?) })
            .await
    }

    /// Like [`Call::mutate`], and a request with an `Idempotency-Key` is carried out once: its answer,
    /// as `show` makes it, is kept with the work. `body` is the body as it was sent.
    ///
    /// # Errors
    /// The use case's own; 400 and 409 about the key.
    pub async fn post<U, R, S>(
        &self,
        use_case: U,
        body: &[u8],
        show: S,
    ) -> Result<HttpResponse, ApiError>
    where
        U: UseCase,
        R: Serialize + Send + Sync + 'static,
        S: Fn(U::Output, Viewer<'_>) -> R + Clone + Send + Sync + 'static,
    {
        let record = PhantomData;
        let request = OnePhase {
            use_case,
            show,
            record,
        };
        self.post_in_two_phases(request, body).await
    }

    /// Like [`Call::post`], for an answer that gets better after the commit. A repetition that comes
    /// in between is told to wait, and gets the interim answer should this process have died; after
    /// [`FirstPhase::Begun`], which has none, it is carried out anew. A rule that the second phase meets is
    /// the answer too; where it fails nothing is kept.
    ///
    /// # Errors
    /// Those of both phases; 400 and 409 about the key.
    pub async fn post_in_two_phases<P: TwoPhases>(
        &self,
        request: P,
        body: &[u8],
    ) -> Result<HttpResponse, ApiError> {
        let user = request
            .is_of_its_user()
            .then_some(self.access().user_pub_id);
        let once = self.once(request.permission(), body, user);
        let answered = self.run(|runner| async move {
            let (interim, rest) = match runner.answer(once.as_ref(), request).await? {
                Conclusion::Answered(answer) => return Ok(answer),
                Conclusion::Interim(answer, rest) => (answer, rest),
                Conclusion::Refused(error) => return Err(error),
            };
            let finished = match P::second(&runner, rest).await {
                Ok(Some(record)) => Answer::ok(&record),
                Ok(None) => interim
                    .ok_or_else(|| StoreError::internal("the second phase gave no answer").into()),
                Err(error) => Err(error),
            };
            runner.note_now().await;
            let kept = match (&finished, &once) {
                (_, None) => Ok(()),
                (Ok(answer), Some(once)) => runner.keep_final(once, answer).await,
                (Err(Error::Rule { message }), Some(once)) => {
                    let refusal = runner.refusal(Error::rule(message.clone()));
                    runner.keep_final(once, &refusal).await
                }
                (Err(_), Some(once)) => runner.forget(once).await,
            };
            if let Err(error) = kept {
                outage::hinders(
                    "the answer is not kept for a repetition of the request",
                    &error,
                );
            }
            Ok(finished?)
        });
        respond(answered.await?)
    }

    fn once(&self, permission: Permission, body: &[u8], user: Option<UserPubId>) -> Option<Once> {
        let access = self.access();
        self.idempotency_key.as_ref().map(|key| Once {
            key: IdempotencyKey {
                organization_id: access.organization_id,
                mode: access.mode,
                path: format!("{} {}", self.method, self.path()),
                key: key.clone(),
            },
            request_hash: request_hash(&self.method, path_and_query(&self.uri), body, user),
            permission,
        })
    }
}

/// A use case whose answer is final with its commit.
struct OnePhase<U, R, S> {
    use_case: U,
    show: S,
    record: PhantomData<fn() -> R>,
}

// A derived one would want `R: Clone`.
impl<U: Clone, R, S: Clone> Clone for OnePhase<U, R, S> {
    fn clone(&self) -> Self {
        Self {
            use_case: self.use_case.clone(),
            show: self.show.clone(),
            record: PhantomData,
        }
    }
}

#[async_trait]
impl<U, R, S> TwoPhases for OnePhase<U, R, S>
where
    U: UseCase,
    R: Serialize + Send + Sync + 'static,
    S: Fn(U::Output, Viewer<'_>) -> R + Clone + Send + Sync + 'static,
{
    type Record = R;
    type Rest = Infallible;

    fn permission(&self) -> Permission {
        self.use_case.permission()
    }

    async fn first(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        viewer: Viewer<'_>,
    ) -> Result<FirstPhase<R, Infallible>, Error> {
        let done = self.use_case.run(uow, ctx).await?;
        Ok(FirstPhase::Done((self.show)(done, viewer)))
    }

    async fn second(_: &Runner, rest: Infallible) -> Result<Option<R>, Error> {
        match rest {}
    }
}

/// As they were sent.
fn path_and_query(uri: &Uri) -> &str {
    uri.path_and_query().map_or("", PathAndQuery::as_str)
}

fn respond(answer: Answer) -> Result<HttpResponse, ApiError> {
    let status = StatusCode::from_u16(answer.status).map_err(ApiError::internal)?;
    let mut response = HttpResponse::build(status);
    response.content_type("application/json");
    if answer.is_existing {
        response.insert_header(("Existing-Checkout", "true"));
    }
    if answer.replayed {
        response.insert_header(("Idempotent-Replayed", "true"));
    }
    Ok(response.body(answer.body))
}

/// Whether the request wants an answer of nobody's memory (RFC 9111, 5.2.1.4).
fn wants_anew(headers: &HeaderMap) -> bool {
    let values = headers.get_all(CACHE_CONTROL);
    let mut directives = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    directives.any(|directive| directive.trim().eq_ignore_ascii_case("no-cache"))
}

impl FromRequest for Call {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        ready(call_of(request))
    }
}

fn call_of(request: &HttpRequest) -> Result<Call, ApiError> {
    let last_commit = request.extensions().get::<LastCommit>().cloned();
    let state = AppState::of(request)?.clone().noting(last_commit);
    // Without the layer that checks keys nobody passes.
    let caller = request.extensions().get::<Caller>().cloned();
    let Caller(access) = caller.ok_or_else(ApiError::unauthorized)?;
    let sender = Sender::of(&state, request);
    Ok(Call {
        runner: Runner::new(state, access, sender),
        method: request.method().clone(),
        uri: request.uri().clone(),
        idempotency_key: key_of(request)?,
        counted: request.extensions().get::<Counted>().cloned(),
        position: position_of(request),
        wants_anew: wants_anew(request.headers()),
    })
}
