//! The documentation site: guides, the reference, and the document that it shows. Nothing is from
//! elsewhere: it works offline.

mod guides;
mod pages;
mod reference;
mod samples;
mod static_text;
mod vendor_modules;

use std::fmt;
use std::sync::{LazyLock, OnceLock};

use crate::http::routing::Routes;
use actix_web::http::header::{
    CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, LOCATION, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse, get};
use serde_json::Value;

use self::guides::{GUIDES, Heading};
use self::static_text::FOREVER;
pub(crate) use self::static_text::{ASK_AGAIN, StaticText};
use crate::http::error::ApiError;
use crate::http::openapi::v3_0;
use crate::http::public_url::PublicUrl;
use crate::request::Segment;

/// What a page of the site may do: load from here, ask here.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                                 connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The same for the reference, whose script writes its style into the page.
const REFERENCE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                                img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                                frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
pub(crate) const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Where the site, and what it shows, is found.
pub(crate) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(openapi)
        .service(openapi_3_0)
        .service(start)
        .service(start_with_slash)
        .service(reference_page)
        .service(errors)
        .service(named_guide)
        .service(asset)
        .service(script_module);
}

/// The OpenAPI document, and what the site makes of it: each when it is first asked for, and then as a text alone. As
/// a tree of values it would take ten times as much memory, for ever. App data.
pub struct Document {
    public_url: PublicUrl,
    make: Box<dyn Fn() -> Value + Send + Sync>,
    text: OnceLock<StaticText>,
    /// The same in OpenAPI 3.0.
    older: OnceLock<StaticText>,
    reference: OnceLock<StaticText>,
    index: OnceLock<StaticText>,
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("public_url", &self.public_url)
            .finish_non_exhaustive()
    }
}

impl Document {
    /// What `make` makes when it is asked for, of a service at that address.
    pub fn new(public_url: PublicUrl, make: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self {
            public_url,
            make: Box::new(make),
            text: OnceLock::new(),
            older: OnceLock::new(),
            reference: OnceLock::new(),
            index: OnceLock::new(),
        }
    }

    fn text(&self) -> &StaticText {
        self.text.get_or_init(|| json(&(self.make)()))
    }

    fn older(&self) -> &StaticText {
        self.older.get_or_init(|| json(&v3_0(&(self.make)())))
    }

    fn for_callers(&self) -> Value {
        reference::document((self.make)(), self.public_url.as_str())
    }

    /// What the reference shows.
    fn reference(&self) -> &StaticText {
        self.reference.get_or_init(|| json(&self.for_callers()))
    }

    /// What the search finds.
    fn index(&self) -> &StaticText {
        self.index
            .get_or_init(|| json(&reference::index(&self.for_callers(), &SITE.headings)))
    }
}

fn json(value: &Value) -> StaticText {
    StaticText::new("application/json", value.to_string())
}

/// The pages and files that are the same for every server.
struct Site {
    /// In the order of the guides.
    guides: Vec<StaticText>,
    headings: Vec<(&'static guides::Guide, Vec<Heading>)>,
    reference: StaticText,
    files: Vec<(&'static str, StaticText)>,
}

static SITE: LazyLock<Site> = LazyLock::new(|| {
    let mut headings = Vec::new();
    let guides = GUIDES.iter().map(|guide| {
        let rendered = guide.rendered();
        let page = StaticText::new(HTML, pages::guide(guide, &rendered));
        headings.push((guide, rendered.headings));
        page
    });
    let file = |content_type, text: &'static str| {
        StaticText::new(content_type, Bytes::from_static(text.as_bytes()))
    };
    Site {
        guides: guides.collect(),
        headings,
        reference: StaticText::new(HTML, pages::reference()),
        files: vec![
            (
                "site.css",
                file(
                    "text/css; charset=utf-8",
                    include_str!("docs/assets/site.css"),
                ),
            ),
            ("site.js", file(SCRIPT, include_str!("docs/assets/site.js"))),
            (
                "reference.js",
                file(SCRIPT, include_str!("docs/assets/reference.js")),
            ),
        ],
    }
});

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
pub(crate) async fn openapi(
    request: HttpRequest,
    document: web::Data<Document>,
) -> Result<HttpResponse, ApiError> {
    document.text().answer(&request, ASK_AGAIN)
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
) -> Result<HttpResponse, ApiError> {
    document.older().answer(&request, ASK_AGAIN)
}

/// The documentation, for people.
///
/// The guide to begin with; the other guides and the reference are beside it. Nothing is loaded from
/// elsewhere.
#[utoipa::path(
    tag = "Reference",
    responses(
        (status = 200, body = String, content_type = "text/html"),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/docs")]
pub(crate) async fn start(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    guide_page(&request, "")
}

/// The documentation, with a slash too many.
///
/// Leads to `/docs`.
#[utoipa::path(
    tag = "Reference",
    responses((status = 308, description = "It is at `/docs`."))
)]
#[get("/docs/")]
pub(crate) async fn start_with_slash() -> HttpResponse {
    HttpResponse::PermanentRedirect()
        .insert_header((LOCATION, "/docs"))
        .finish()
}

/// The reference, for people.
///
/// The operations of this document, on a page on which requests can be tried out.
#[utoipa::path(
    tag = "Reference",
    responses(
        (status = 200, body = String, content_type = "text/html"),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/docs/reference")]
pub(crate) async fn reference_page(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    page(&request, &SITE.reference, REFERENCE_POLICY)
}

/// What each error code means.
///
/// The guide to errors: the page that `doc_url` of an error leads to, with a section for each code.
#[utoipa::path(
    tag = "Reference",
    responses(
        (status = 200, body = String, content_type = "text/html"),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/docs/errors")]
pub(crate) async fn errors(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    guide_page(&request, "errors")
}

/// A guide, for people.
///
/// One of the pages beside the first, by its name.
#[utoipa::path(
    tag = "Reference",
    params(("guide" = String, Path, description = "Name of the guide")),
    responses(
        (status = 200, body = String, content_type = "text/html"),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/docs/{guide}")]
pub(crate) async fn named_guide(
    request: HttpRequest,
    guide: Segment,
) -> Result<HttpResponse, ApiError> {
    guide_page(&request, &guide.0)
}

/// A part of the site.
///
/// Scripts, styles and data that are built into the binary.
#[utoipa::path(
    tag = "Reference",
    params(("file" = String, Path, description = "Name of the file")),
    responses(
        (status = 200, body = String, content_type = "text/plain", description = "The file"),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/docs/assets/{file}")]
pub(crate) async fn asset(
    request: HttpRequest,
    file: Segment,
    document: web::Data<Document>,
) -> Result<HttpResponse, ApiError> {
    let served = match file.0.as_str() {
        "reference.json" => document.reference(),
        "search.json" => document.index(),
        name => {
            let file = SITE.files.iter().find(|(known, _)| *known == name);
            let (_, file) = file.ok_or_else(|| ApiError::not_found("file"))?;
            file
        }
    };
    sniffed_by_nobody(served.answer(&request, ASK_AGAIN)?)
}

/// A module of the reference's script.
///
/// Built into the binary; another version has another address.
#[utoipa::path(
    tag = "Reference",
    params(
        ("version" = String, Path, description = "Version of the script"),
        ("file" = String, Path, description = "Name of the module")
    ),
    responses(
        (status = 200, body = String, content_type = "text/plain", description = "The module"),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/docs/scalar/{version}/{file}")]
pub(crate) async fn script_module(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let part = |name: &str| request.match_info().get(name).unwrap_or_default();
    let module = vendor_modules::module(part("version"), part("file"));
    let module = module.ok_or_else(|| ApiError::not_found("file"))?;
    sniffed_by_nobody(module.answer(&request, FOREVER)?)
}

fn guide_page(request: &HttpRequest, name: &str) -> Result<HttpResponse, ApiError> {
    // What has no name is at `/docs`.
    let place = GUIDES.iter().position(|guide| guide.name == name);
    let served = place.and_then(|place| SITE.guides.get(place));
    page(
        request,
        served.ok_or_else(|| ApiError::not_found("page"))?,
        POLICY,
    )
}

fn page(
    request: &HttpRequest,
    served: &StaticText,
    policy: &'static str,
) -> Result<HttpResponse, ApiError> {
    let mut response = served.answer(request, ASK_AGAIN)?;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(
        HeaderName::from_static("referrer-policy"),
        HeaderValue::from_static("no-referrer"),
    );
    sniffed_by_nobody(response)
}

pub(crate) fn sniffed_by_nobody(mut response: HttpResponse) -> Result<HttpResponse, ApiError> {
    response
        .headers_mut()
        .insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}
