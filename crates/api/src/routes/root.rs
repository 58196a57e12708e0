//! `/`: what this is, for whoever comes upon it, and its icon.

use std::sync::LazyLock;

use crate::http::routing::Routes;
use actix_web::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, VARY};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, get};
use maud::{DOCTYPE, html};
use serde::Serialize;

use super::docs::{POLICY, StaticText};
use crate::http::error::ApiError;
use crate::http::public_url::PublicUrl;

/// An icon may be a day old.
const A_DAY: &str = "public, max-age=86400";

pub(crate) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(root)
        .service(favicon)
        .service(favicon_of_old);
}

/// What this service is, and where to go on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Service {
    /// `Lessor`.
    name: &'static str,
    /// The version that answers.
    version: &'static str,
    /// Guides, for people.
    documentation_url: String,
    /// The reference, for people.
    reference_url: String,
    /// The OpenAPI document.
    openapi_url: String,
    /// Whether the process lives.
    health_url: String,
    /// Whether it can serve.
    readiness_url: String,
}

impl Service {
    fn at(url: &str) -> Self {
        Self {
            name: "Lessor",
            version: env!("CARGO_PKG_VERSION"),
            documentation_url: format!("{url}/docs"),
            reference_url: format!("{url}/docs/reference"),
            openapi_url: format!("{url}/openapi.json"),
            health_url: format!("{url}/healthz"),
            readiness_url: format!("{url}/readyz"),
        }
    }
}

/// What this service is.
///
/// A page for browsers; for everybody else where the documentation is.
#[utoipa::path(
    tag = "Reference",
    responses((status = 200, content((Object = "application/json"), (String = "text/html"))))
)]
#[get("/")]
async fn root(request: HttpRequest) -> HttpResponse {
    let url = request.app_data::<PublicUrl>();
    let service = Service::at(url.map_or("", PublicUrl::as_str));
    let mut response = HttpResponse::Ok();
    response
        .insert_header((CACHE_CONTROL, "no-cache"))
        .insert_header((VARY, "accept"));
    if !wants_page(&request) {
        return response.json(service);
    }
    response
        .insert_header((CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)))
        .content_type("text/html; charset=utf-8")
        .body(page(&service))
}

/// Browsers name HTML among what they take; programs take anything, or JSON.
fn wants_page(request: &HttpRequest) -> bool {
    let accepted = request.headers().get_all(ACCEPT);
    accepted
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.to_ascii_lowercase().contains("text/html"))
}

fn page(service: &Service) -> String {
    let links = [
        (
            "/docs",
            "Guides",
            "how leasing works here, from the catalog to the return",
        ),
        (
            "/docs/reference",
            "API reference",
            "every operation, to be tried out with a sandbox key",
        ),
        (
            "/openapi.json",
            "OpenAPI document",
            "what clients are generated from",
        ),
        (
            "/healthz",
            "Health",
            "whether the process lives; /readyz says whether it can serve",
        ),
    ];
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Lessor" }
                link rel="icon" type="image/svg+xml" href="/favicon.svg";
                link rel="stylesheet" href="/docs/assets/site.css";
            }
            body {
                main.root #content {
                    img src="/favicon.svg" alt="" width="48" height="48";
                    h1 { "Lessor " small { (service.version) } }
                    p { "A leasing engine. This is its API; people are better off here:" }
                    ul { @for (path, name, what) in links { li { a href=(path) { (name) } ": " (what) } } }
                }
            }
        }
    }
    .into_string()
}

static ICON: LazyLock<StaticText> = LazyLock::new(|| {
    let icon = include_str!("docs/assets/favicon.svg");
    StaticText::new("image/svg+xml", Bytes::from_static(icon.as_bytes()))
});
static ICON_OF_OLD: LazyLock<StaticText> = LazyLock::new(|| {
    let icon: &[u8] = include_bytes!("docs/assets/favicon.ico");
    StaticText::new("image/x-icon", Bytes::from_static(icon))
});

/// The icon.
///
/// For browsers, as a drawing.
#[utoipa::path(
    tag = "Reference",
    responses(
        (status = 200, body = String, content_type = "image/svg+xml", description = "The icon."),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/favicon.svg")]
async fn favicon(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    ICON.answer(&request, A_DAY)
}

/// The icon, where browsers look for it unasked.
///
/// As an image.
#[utoipa::path(
    tag = "Reference",
    responses(
        (status = 200, body = String, content_type = "image/x-icon", description = "The icon."),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/favicon.ico")]
async fn favicon_of_old(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    ICON_OF_OLD.answer(&request, A_DAY)
}
