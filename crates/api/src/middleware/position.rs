//! The layer that tells callers how far the database's log had come when their request was committed.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderValue;
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _};
use lessor_adapters::postgres::LastCommit;

use crate::http::position::POSITION;
use crate::state::AppState;

/// The middleware (for `actix_web::middleware::from_fn`). Only where there is a replica: nobody else
/// has a use for it.
///
/// # Errors
/// Those of the layers within.
pub async fn tell_position(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let has_replica = AppState::of(request.request()).is_ok_and(|state| state.replica.is_some());
    let last_commit = has_replica.then(LastCommit::default);
    if let Some(last_commit) = &last_commit {
        request.extensions_mut().insert(last_commit.clone());
    }
    let mut response = next.call(request).await?.map_into_boxed_body();
    let position = last_commit.and_then(|last_commit| last_commit.position());
    // Digits can stand in a header.
    let position = position.and_then(|it| HeaderValue::from_str(&it.to_string()).ok());
    if let Some(position) = position {
        response.headers_mut().insert(POSITION, position);
    }
    Ok(response)
}
