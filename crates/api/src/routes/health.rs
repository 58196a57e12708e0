//! Whether the service lives, whether it can work, and how it does.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{FORWARDED, X_FORWARDED_FOR};
use actix_web::web::Json;
use actix_web::{HttpRequest, HttpResponse, get};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::telemetry::Metrics;

/// How long the readiness check may take.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// What is not ready, and why.
type NotReady = Box<dyn Error + Send + Sync>;
type Check = dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), NotReady>> + Send>> + Send + Sync;

/// Asks whether what the service needs can be reached. App data.
#[derive(Clone)]
pub struct Readiness(Arc<Check>);

impl Readiness {
    /// `check` answers what is not ready; that goes to the log and not to the client.
    pub fn new<F, R>(check: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), NotReady>> + Send + 'static,
    {
        Self(Arc::new(move || Box::pin(check())))
    }

    async fn check(&self) -> Result<(), NotReady> {
        match tokio::time::timeout(READY_WITHIN, (self.0)()).await {
            Ok(result) => result,
            Err(_) => Err("the readiness check took too long".into()),
        }
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness").finish_non_exhaustive()
    }
}

/// Who is shown metrics. App data; without it [`Self::ThisMachine`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Who asks from this machine, and through no proxy.
    #[default]
    ThisMachine,
    /// Who reaches the listener, and through no proxy.
    Network,
}

impl Audience {
    fn includes(self, request: &HttpRequest) -> bool {
        let headers = request.headers();
        // A proxy asks for somebody from outside.
        if headers.contains_key(FORWARDED) || headers.contains_key(X_FORWARDED_FOR) {
            return false;
        }
        let peer = request.peer_addr().map(|peer| peer.ip().to_canonical());
        self == Self::Network || peer.is_some_and(|peer| peer.is_loopback())
    }
}

/// The state of the service.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// `ok` or `ready`.
    status: &'static str,
}

/// Whether the process lives.
///
/// Says nothing about its database: a service that waits for its database must not be restarted.
#[utoipa::path(tag = "Operations", responses((status = 200, body = Health)))]
#[get("/healthz")]
pub(crate) async fn healthz() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Whether requests can be served.
///
/// Ready as long as the database answers and can be written to, and the process was not told to stop; a proxy
/// sends no requests to a service that is not.
#[utoipa::path(
    tag = "Operations",
    responses((status = 200, body = Health))
)]
#[get("/readyz")]
pub(crate) async fn readyz(request: HttpRequest) -> Result<Json<Health>, ApiError> {
    if let Some(readiness) = request.app_data::<Readiness>() {
        let checked = readiness.check().await;
        checked.map_err(|cause| ApiError::unavailable(Duration::from_secs(1), cause))?;
    }
    Ok(Json(Health { status: "ready" }))
}

/// Metrics in the text format of Prometheus.
///
/// What each of them counts is told in the operator's manual. Answered to this machine alone, or by the listener for
/// operators where there is one, and never through a proxy.
#[utoipa::path(tag = "Operations", responses((status = 200, body = String, content_type = "text/plain")))]
#[get("/metrics")]
pub(crate) async fn metrics(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let audience = request.app_data::<Audience>().copied().unwrap_or_default();
    let metrics = request.app_data::<Metrics>();
    match metrics.filter(|_| audience.includes(&request)) {
        Some(metrics) => Ok(HttpResponse::Ok()
            .content_type("text/plain; version=0.0.4; charset=utf-8")
            .body(metrics.render())),
        None => Err(ApiError::not_found("path")),
    }
}
