//! The layer around `/v1`: no request passes without a key that is in force.

use std::sync::Arc;
use std::time::Duration;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header;
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, HttpRequest};
use lessor_domain::access::{Access, KeyHash, KeyKind};
use lessor_domain::ports::{KeyHolder, StoreError};
use lessor_domain::time::Timestamp;

use crate::auth::buckets::Standing;
use crate::auth::cache::{Counted, Found, KeyCache};
use crate::auth::given::GivenKey;
use crate::http::error::ApiError;
use crate::middleware::fallback::Matched;
use crate::state::AppState;
use crate::telemetry::outage;

/// Who a request acts for, among the request's extensions.
#[derive(Clone, Debug)]
pub(crate) struct Caller(pub(crate) Arc<Access>);

/// The middleware (for `actix_web::middleware::from_fn`). It comes before routing, so that an
/// unknown path without a key is a 401 too.
///
/// # Errors
/// 401 for anything but a key that is in force now, 429 when it or the address was used too often, 503
/// when it cannot be looked up; 403 for a publishable key where the operation is not for everybody; 400
/// for a query parameter or a body that the operation does not have, 405 for a method that only a
/// sibling of the path takes.
pub async fn require_key(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let mut counts = Counts::default();
    let checked: Result<_, ApiError> = async {
        let state = AppState::of(request.request())?;
        let found = authenticate(state, request.request(), &mut counts).await?;
        let matched = Matched::kept(request.request());
        matched.check_method(request.method())?;
        if found.access.kind == KeyKind::Publishable && !matched.is_public(request.method()) {
            return Err(ApiError::publishable());
        }
        matched.check_query(request.request())?;
        check_bodyless(request.request())?;
        Ok(found)
    }
    .await;
    let mut response = match checked {
        Ok(found) => {
            // At once: what is known of a span is read and written anew each time.
            let span = tracing::Span::current();
            tracing::record_all!(span, key = &*found.key, organization = &*found.organization);
            let access = Arc::clone(&found.access);
            request.extensions_mut().insert(Caller(access));
            if let Some(counted) = &counts.key {
                request.extensions_mut().insert(counted.clone());
            }
            next.call(request).await?.map_into_boxed_body()
        }
        Err(error) => request.error_response(error),
    };
    for (name, value) in counts.standing().into_iter().flat_map(Standing::headers) {
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

/// How a request was counted.
#[derive(Default)]
struct Counts {
    address: Option<Standing>,
    key: Option<Counted>,
}

impl Counts {
    /// What its answer says of that, with what turned out while it was carried out.
    fn standing(&self) -> Option<Standing> {
        self.key.as_ref().map(Counted::standing).or(self.address)
    }
}

/// Refuses a body where none has a meaning: nothing is silently dropped.
fn check_bodyless(request: &HttpRequest) -> Result<(), ApiError> {
    let takes_none = matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::DELETE
    );
    let headers = request.headers();
    let length = headers.get(header::CONTENT_LENGTH);
    let has_length = length.is_some_and(|length| length.as_bytes().iter().any(|b| *b != b'0'));
    if takes_none && (has_length || headers.contains_key(header::TRANSFER_ENCODING)) {
        Err(ApiError::invalid_request(format!(
            "a {} has no body",
            request.method()
        )))
    } else {
        Ok(())
    }
}

/// The request's key, with whoever its holder acts for, once the request was counted.
///
/// # Errors
/// 401 for anything but a key that is in force now, 429 when it or the address was used too often, 503 when
/// the key cannot be looked up.
async fn authenticate(
    state: &AppState,
    request: &HttpRequest,
    counts: &mut Counts,
) -> Result<Arc<Found>, ApiError> {
    let Some(GivenKey { kind, hash }) = GivenKey::of(request) else {
        return state
            .unproven(request)
            .settle(Err(ApiError::unauthorized()));
    };
    let known = state.keys.known(hash);
    let found = match kind {
        // Everybody has the key: whoever asks is told by the address, before anything is looked up.
        KeyKind::Publishable => {
            counts.address = state.count_address(request)?;
            in_force(state, hash, known).await?
        }
        KeyKind::Secret if known.is_some() => match in_force(state, hash, known).await {
            Ok(found) => found,
            // It was good until a moment ago.
            refused => state.unproven(request).settle(refused)?,
        },
        KeyKind::Secret => {
            let unproven = state.unproven(request);
            unproven.may_look_up()?;
            unproven.settle(in_force(state, hash, None).await)?
        }
    };
    // The rate of a key that everybody has would be used up by anybody.
    if let (Some(limits), KeyKind::Secret) = (&state.limits, kind) {
        counts.key = Some(limits.check(found.holder.key.id)?);
    }
    Ok(found)
}

/// The key of this hash. That it is used is noted when it is looked up, which one in use is every few seconds.
///
/// # Errors
/// 401 for anything but a key that is in force now, 503 when it cannot be looked up.
async fn in_force(
    state: &AppState,
    hash: KeyHash,
    known: Option<Arc<Found>>,
) -> Result<Arc<Found>, ApiError> {
    let now = || state.engine.clock.now();
    let valid = |found: &Arc<Found>| found.holder.key.is_valid_at(now());
    if let Some(found) = KeyCache::recent(known) {
        return Some(found).filter(valid).ok_or_else(ApiError::unauthorized);
    }
    let found = state
        .keys
        .look_up(&*state.reads, hash)
        .await
        .map_err(|error| match &error {
            StoreError::Unavailable(_) => ApiError::unavailable(Duration::from_secs(1), error),
            _ => ApiError::internal(error),
        })?;
    let found = found.filter(valid).ok_or_else(ApiError::unauthorized)?;
    note_use(state, &found.holder, now());
    Ok(found)
}

/// Notes that the key was used, now and then; the request does not wait for it.
fn note_use(state: &AppState, holder: &KeyHolder, now: Timestamp) {
    if !state.keys.claim_note(holder.key.id) {
        return;
    }
    let (id, organization) = (holder.key.id, holder.key.organization_id);
    let database = Arc::clone(&state.engine.database);
    state.mutations.detach(async move {
        let touch = async {
            let mut work = database.begin(organization.into()).await?;
            work.keys().touch(id, now).await?;
            work.commit().await
        };
        if let Err(error) = touch.await {
            let span = tracing::info_span!("key", %id);
            span.in_scope(|| outage::hinders("the use of an API key was not noted", &error));
        }
    });
}
