//! The app: the routes, and what surrounds them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::from_fn;
use actix_web::{App, Error, web};
use serde_json::Value;

use crate::http::budget::MemoryBudget;
use crate::http::draining::Draining;
use crate::http::mutation::Mutations;
use crate::http::openapi;
use crate::http::public_url::PublicUrl;
use crate::http::routing::{Description, Register, Routes};
use crate::middleware::{Cors, Deadline, RouteTable, context, fallback};
use crate::request::BodyLimits;
use crate::routes::docs::{self, Document};
use crate::routes::elements;
use crate::routes::health::{self, Audience, Readiness};
use crate::routes::root;
use crate::telemetry::Metrics;

/// What every app needs, whatever its routes.
#[derive(Clone)]
pub struct AppParts {
    /// Where clients reach the service.
    pub public_url: PublicUrl,
    /// How much of a body is read, and for how long.
    pub body_limits: BodyLimits,
    /// How much memory bodies and answers may take together.
    pub memory: MemoryBudget,
    /// Whose pages may read answers.
    pub cors: Cors,
    /// How long a request may take.
    pub deadline: Deadline,
    /// Where work that changes anything runs.
    pub mutations: Mutations,
    /// What `/readyz` asks.
    pub readiness: Readiness,
    /// What `/metrics` shows this machine; without it there is no such path.
    pub metrics: Option<Metrics>,
    /// Whether the process was told to stop.
    pub draining: Draining,
    /// What is said of the routes. Those of one value build the same app.
    pub said: Said,
}

/// What is said of the routes, by the first worker for all.
#[derive(Clone, Default)]
pub struct Said(Arc<OnceLock<(RouteTable, web::Data<Document>)>>);

impl Said {
    fn of(
        &self,
        routes: Register,
        public_url: &PublicUrl,
    ) -> (web::Data<RouteTable>, web::Data<Document>) {
        let said = || {
            let paths = Description::operations(|all| register(all, routes));
            let url = public_url.clone();
            let make = move || document(url.as_str(), routes);
            (
                RouteTable::from_paths(&paths),
                web::Data::new(Document::new(public_url.clone(), make)),
            )
        };
        let (table, document) = self.0.get_or_init(said);
        (web::Data::new(table.apart()), document.clone())
    }
}

impl fmt::Debug for AppParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppParts")
            .field("public_url", &self.public_url)
            .finish_non_exhaustive()
    }
}

/// The routes, with those that every app has.
fn register(all: &mut Routes<'_>, routes: Register) {
    all.configure(routes)
        .service(health::healthz)
        .service(health::readyz)
        .service(health::metrics)
        .configure(docs::configure)
        .configure(elements::configure)
        .configure(root::configure);
}

/// Builds the app around `routes`, with the health checks, the reference, and an answer in the
/// error shape for everything else.
pub fn build(
    parts: &AppParts,
    routes: Register,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<BoxBody>,
        Error = Error,
        InitError = (),
    > + use<>,
> {
    let (table, document) = parts.said.of(routes, &parts.public_url);
    let app = App::new().configure(|app| register(&mut Routes::answered_by(app), routes));
    let mut app = app
        .app_data(table)
        .app_data(document)
        .app_data(parts.public_url.apart())
        .app_data(parts.body_limits)
        .app_data(parts.memory.clone())
        .app_data(parts.deadline)
        .app_data(parts.cors.clone())
        .app_data(parts.mutations.clone())
        .app_data(parts.draining.clone())
        .app_data(parts.readiness.clone());
    if let Some(metrics) = &parts.metrics {
        app = app.app_data(metrics.clone());
    }
    app.default_service(web::to(fallback))
        .wrap(from_fn(context))
}

/// Builds the app of the listener for operators: health checks and metrics, and nothing else.
pub fn for_operators(
    readiness: Readiness,
    metrics: Metrics,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<BoxBody>,
        Error = Error,
        InitError = (),
    >,
> {
    let table = ["/healthz", "/readyz", "/metrics"]
        .into_iter()
        .fold(RouteTable::default(), |table, path| {
            table.with(path, [Method::GET])
        });
    App::new()
        .app_data(web::Data::new(table))
        .app_data(readiness)
        .app_data(metrics)
        .app_data(Audience::Network)
        .service(health::healthz)
        .service(health::readyz)
        .service(health::metrics)
        .default_service(web::to(fallback))
        .wrap(from_fn(context))
}

/// The OpenAPI document of an app around `routes`, as `/openapi.json` answers it.
#[must_use]
pub fn document(public_url: &str, routes: Register) -> Value {
    openapi::finish(Description::whole(|all| register(all, routes)), public_url)
}
