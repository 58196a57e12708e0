//! `/elements`: scripts for the pages of shops, which are elsewhere.

use std::sync::LazyLock;

use crate::http::routing::Routes;
use actix_web::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HeaderName, HeaderValue};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, get};

use super::docs::{ASK_AGAIN, SCRIPT, StaticText, sniffed_by_nobody};
use crate::http::error::ApiError;
use crate::request::Segment;

static PRICE: LazyLock<StaticText> = LazyLock::new(|| {
    let script = include_str!("lessor-price.js");
    StaticText::new(SCRIPT, Bytes::from_static(script.as_bytes()))
});

pub(crate) fn configure(routes: &mut Routes<'_>) {
    routes.service(element);
}

/// A script that shows something of the catalog in the pages of a shop.
///
/// For browsers, from whatever origin.
#[utoipa::path(
    tag = "Reference",
    params(("file" = String, Path, description = "Name of the script")),
    responses(
        (status = 200, body = String, content_type = "text/javascript", description = "The script"),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/elements/{file}")]
async fn element(request: HttpRequest, file: Segment) -> Result<HttpResponse, ApiError> {
    let script = match file.0.as_str() {
        "lessor-price.js" => &*PRICE,
        _ => return Err(ApiError::not_found("file")),
    };
    let mut response = script.answer(&request, ASK_AGAIN)?;
    let headers = response.headers_mut();
    // It is the same for everybody and says nothing of anybody.
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("cross-origin"),
    );
    sniffed_by_nobody(response)
}
