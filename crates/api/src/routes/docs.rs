//! The API reference, without anything from elsewhere: it works offline.

use std::fmt::Write as _;
use std::sync::Arc;

use actix_web::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, ETAG, HeaderValue};
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse, get};
use sha2::{Digest as _, Sha256};

use crate::http::error::{ApiError, Code};
use crate::http::openapi::v3_0;
use crate::request::query::Segment;
use crate::routes::product_variants::names;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE: &str = include_str!("docs/style.css");
const REFERENCE: &str = include_str!("docs/reference.html");
const START: &str = include_str!("docs/start.js");

/// The finished OpenAPI document, as it is served. App data.
#[derive(Clone, Debug)]
pub struct Document {
    newer: Text,
    older: Text,
}

/// A text and what it is told by.
#[derive(Clone, Debug)]
struct Text {
    bytes: Bytes,
    etag: String,
}

impl Document {
    /// Writes the document out once, in each version, for every request.
    #[must_use]
    pub fn new(document: &serde_json::Value) -> Self {
        Self {
            newer: Text::new(document),
            older: Text::new(&v3_0(document)),
        }
    }
}

impl Text {
    fn new(document: &serde_json::Value) -> Self {
        let text = document.to_string();
        Self {
            etag: etag_of(text.as_bytes()),
            bytes: text.into(),
        }
    }

    fn answer(&self, request: &HttpRequest) -> HttpResponse {
        answer(request, "application/json", &self.etag, self.bytes.clone())
    }
}

/// What a text is told by.
fn etag_of(text: &[u8]) -> String {
    format!("\"{}\"", hex::encode(&Sha256::digest(text)[..16]))
}

/// A text that is asked for again each time, and sent when it is another than is known.
fn answer(request: &HttpRequest, content_type: &str, etag: &str, text: Bytes) -> HttpResponse {
    let is_known = names(request.headers(), etag);
    let mut response = if is_known {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    response
        .insert_header((CACHE_CONTROL, "no-cache"))
        .insert_header((ETAG, etag));
    if is_known {
        response.finish()
    } else {
        response.content_type(content_type).body(text)
    }
}

/// The OpenAPI document.
///
/// This document, OpenAPI 3.1: what clients are generated from. Needs no key.
#[utoipa::path(
    tag = "Reference",
    responses(
        (status = 200, body = Object, description = "OpenAPI 3.1"),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/openapi.json")]
pub(crate) async fn openapi(request: HttpRequest, document: web::Data<Document>) -> HttpResponse {
    document.newer.answer(&request)
}

/// The OpenAPI document in version 3.0.
///
/// The same for makers of clients that do not read 3.1 yet. Needs no key.
#[utoipa::path(
    tag = "Reference",
    responses(
        (status = 200, body = Object, description = "OpenAPI 3.0"),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/openapi-3.0.json")]
pub(crate) async fn openapi_3_0(
    request: HttpRequest,
    document: web::Data<Document>,
) -> HttpResponse {
    document.older.answer(&request)
}

/// The reference, for people.
///
/// This document as a page on which requests can be tried out. Nothing is loaded from elsewhere.
#[utoipa::path(
    tag = "Reference",
    responses(
        (status = 200, body = String, content_type = "text/html"),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/docs")]
pub(crate) async fn reference(request: HttpRequest) -> HttpResponse {
    page(&request, REFERENCE.to_owned())
}

/// What each error code means.
///
/// The page that `doc_url` of an error leads to, with a section for each code.
#[utoipa::path(
    tag = "Reference",
    responses(
        (status = 200, body = String, content_type = "text/html"),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/docs/errors")]
pub(crate) async fn errors(request: HttpRequest) -> HttpResponse {
    page(&request, errors_page())
}

/// A part of the reference page.
///
/// Scripts and styles that are built into the binary.
#[utoipa::path(
    tag = "Reference",
    params(("file" = String, Path, description = "Name of the file")),
    responses((status = 200, body = String, content_type = "text/plain", description = "The file"))
)]
#[get("/docs/assets/{file}")]
pub(crate) async fn asset(file: Segment) -> Result<HttpResponse, ApiError> {
    let (content_type, body) = match file.0.as_str() {
        "style.css" => (
            "text/css; charset=utf-8",
            Bytes::from_static(STYLE.as_bytes()),
        ),
        "start.js" => (
            "text/javascript; charset=utf-8",
            Bytes::from_static(START.as_bytes()),
        ),
        name @ ("swagger-ui.css" | "swagger-ui-bundle.js" | "favicon-32x32.png") => vendored(name)?,
        _ => return Err(ApiError::not_found("file")),
    };
    Ok(HttpResponse::Ok()
        .content_type(content_type)
        .insert_header((CACHE_CONTROL, "public, max-age=3600"))
        .body(body))
}

/// A file of the page that is built into the binary.
fn vendored(name: &str) -> Result<(&'static str, Bytes), ApiError> {
    let content_type = match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        _ => "image/png",
    };
    let config = Arc::new(utoipa_swagger_ui::Config::from("/openapi.json"));
    match utoipa_swagger_ui::serve(name, config) {
        Ok(Some(file)) => Ok((content_type, Bytes::from(file.bytes.into_owned()))),
        Ok(None) => Err(ApiError::not_found("file")),
        Err(error) => Err(ApiError::internal(error.to_string())),
    }
}

fn page(request: &HttpRequest, html: String) -> HttpResponse {
    let etag = etag_of(html.as_bytes());
    let mut response = answer(request, "text/html; charset=utf-8", &etag, html.into());
    let policy = HeaderValue::from_static(POLICY);
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// One section for each code, with the anchor that `doc_url` names.
fn errors_page() -> String {
    let mut sections = String::new();
    for code in Code::ALL {
        let statuses = code
            .statuses()
            .iter()
            .map(u16::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        // Writing to a string cannot fail. Codes and explanations are ours and hold no markup.
        let explanation = code.explanation().replace('<', "&lt;").replace('>', "&gt;");
        let _infallible = writeln!(
            sections,
            "<section id=\"{0}\"><h2><a href=\"#{0}\"><code>{0}</code></a> <small>{statuses}</small></h2>\
             <p>{explanation}</p></section>",
            code.as_str()
        );
    }
    include_str!("docs/errors.html").replace("{{sections}}", &sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_anchor() {
        let page = errors_page();
        for code in Code::ALL {
            assert!(
                page.contains(&format!("id=\"{}\"", code.as_str())),
                "{code:?}"
            );
        }
        assert!(!page.contains("{{"));
    }

    #[test]
    fn the_pages_load_nothing_from_elsewhere() {
        for page in [REFERENCE, &errors_page(), STYLE, START] {
            for outside in [
                "src=\"http",
                "href=\"http",
                "src=\"//",
                "href=\"//",
                "@import",
                "url(http",
            ] {
                assert!(!page.contains(outside), "{outside}");
            }
        }
    }
}
