//! `/c/{token}`: the customer's page of a checkout, without scripts.
//!
//! The token stands for the customer: whoever has the address acts as they would. Each form is sent
//! to a path under the page's own and answered with a redirect to the page, so that going back and
//! reloading never repeat a step; repeated all the same it changes nothing.

mod fields;
mod forms;
mod pieces;
mod steps;
mod view;
mod words;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, get, post};
use lessor_domain::checkout::Lifecycle;
use lessor_domain::ports::Reach;
use lessor_domain::services::Error;
use lessor_domain::services::agreements::{self, AgreementView};
use lessor_domain::services::visits::{self, Visit};
use utoipa_actix_web::service_config::ServiceConfig;

use self::fields::Fields;
use self::pieces::{Notice, Place};
use self::steps::Step;
use crate::http::error::ApiError;
use crate::request::FormBody;
use crate::routes::checkouts::agreement_document;
use crate::state::{AppState, Sender};

/// Where the page's style is.
const STYLE_PATH: &str = "/assets/checkout.css";
const STYLE: &str = include_str!("style.css");

/// Nothing may run, be loaded from elsewhere, be framed, or learn the address.
const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub(crate) fn configure(config: &mut ServiceConfig<'_>) {
    config
        .service(checkout_page_style)
        .service(show_checkout_page)
        .service(show_agreement)
        .service(take_checkout_step);
}

/// The style of the checkout page.
///
/// The page's only part beside itself: it has no scripts.
#[utoipa::path(
    tag = "Checkout page",
    responses((status = 200, content_type = "text/css", body = String, description = "The style."))
)]
#[get("/assets/checkout.css")]
async fn checkout_page_style() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/css; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "public, max-age=3600"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(STYLE)
}

/// The checkout's page.
///
/// For the customer's browser: `checkoutUrl` leads here. The token is the secret.
#[utoipa::path(
    tag = "Checkout page",
    params(("token" = String, Path, description = "The token of `checkoutUrl`.")),
    responses((status = 200, content_type = "text/html", body = String, description = "The page."))
)]
#[get("/c/{token}")]
async fn show_checkout_page(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let visitor = Visitor::of(&request)?;
    let Some(mut visit) = visitor.look().await? else {
        return Ok(visitor.nothing());
    };
    if visit.checkout.lifecycle() == Lifecycle::Created {
        visitor.step(Step::Open, Fields::default()).await?;
        visit = match visitor.look().await? {
            Some(opened) => opened,
            None => return Ok(visitor.nothing()),
        };
    }
    Ok(visitor.page(StatusCode::OK, &visit, None, &Fields::default()))
}

/// The agreement that the customer signs, or has signed.
///
/// For the customer's browser. Opening it is noted in the document's record.
#[utoipa::path(
    tag = "Checkout page",
    params(("token" = String, Path, description = "The token of `checkoutUrl`.")),
    responses((status = 200, content_type = "application/pdf", body = String, description = "The PDF."))
)]
#[get("/c/{token}/agreement")]
async fn show_agreement(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let visitor = Visitor::of(&request)?;
    match visitor.open_agreement().await? {
        Some(view) => {
            let mut response = agreement_document(view);
            let headers = response.headers_mut();
            headers.insert(
                header::REFERRER_POLICY,
                HeaderValue::from_static("no-referrer"),
            );
            headers.insert(
                HeaderName::from_static("x-robots-tag"),
                HeaderValue::from_static("noindex"),
            );
            Ok(response)
        }
        None => Ok(visitor.nothing()),
    }
}

/// A step of the customer.
///
/// For the forms of the checkout's page. Leads back to the page, or answers it with what is wrong.
#[utoipa::path(
    tag = "Checkout page",
    params(
        ("token" = String, Path, description = "The token of `checkoutUrl`."),
        ("step" = String, Path, description = "The form.")
    ),
    request_body(description = "The fields of the form, each once.", content = HashMap<String, String>, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "The page is at `Location`."))
)]
#[post("/c/{token}/{step}")]
async fn take_checkout_step(
    request: HttpRequest,
    form: FormBody,
) -> Result<HttpResponse, ApiError> {
    let visitor = Visitor::of(&request)?;
    let Some(step) = request.match_info().get("step").and_then(Step::parse) else {
        return Ok(visitor.nothing());
    };
    let entered = Fields::from(form);
    let notice = match visitor.step(step, entered.clone()).await {
        Ok(()) => return Ok(visitor.back_to_page()),
        Err(Error::NotFound { .. }) => return Ok(visitor.nothing()),
        Err(error) => notice_of(error)?,
    };
    let Some(visit) = visitor.look().await? else {
        return Ok(visitor.nothing());
    };
    Ok(visitor.page(StatusCode::BAD_REQUEST, &visit, Some(&notice), &entered))
}

/// What the customer reads of a refusal. What is no refusal stays an error.
fn notice_of(error: Error) -> Result<Notice, ApiError> {
    match error {
        Error::Missing { param } => Ok(Notice {
            message: format!("Please fill in: {}.", steps::label(&param)),
            field: Some(param),
        }),
        Error::Invalid { param, message } | Error::Taken { param, message } => Ok(Notice {
            message: format!("{} {message}.", steps::label(&param)),
            field: Some(param),
        }),
        Error::Rule { message } => Ok(Notice {
            message: format!("That did not work: {message}."),
            field: None,
        }),
        error => Err(error.into()),
    }
}

/// Somebody who came with a token.
struct Visitor {
    state: AppState,
    sender: Sender,
    token: String,
    prefix: String,
}

impl Visitor {
    fn of(request: &HttpRequest) -> Result<Self, ApiError> {
        let state = AppState::of(request)?.clone();
        let prefix = url::Url::parse(state.settings.public_url.as_str())
            .map(|url| url.path().trim_end_matches('/').to_owned())
            .unwrap_or_default();
        let token = request.match_info().get("token").unwrap_or_default();
        let sender = Sender::of(&state, request);
        Ok(Self {
            state,
            sender,
            token: token.to_owned(),
            prefix,
        })
    }

    fn place(&self) -> Place<'_> {
        Place {
            prefix: &self.prefix,
            token: &self.token,
        }
    }

    /// The checkout as it is now; none where the token opens nothing.
    async fn look(&self) -> Result<Option<Visit>, ApiError> {
        let Some(token) = self.state.pages.read(&self.token) else {
            return Ok(None);
        };
        let mut work = self.state.reads.read(Reach::Server).await?;
        match Visit::of(&mut *work, &token).await {
            Ok(visit) => Ok(Some(visit)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The document, once it is noted that the customer opened it; none where there is none.
    async fn open_agreement(&self) -> Result<Option<AgreementView>, ApiError> {
        let (state, sender) = (self.state.clone(), self.sender.clone());
        let Some(token) = state.pages.read(&self.token) else {
            return Ok(None);
        };
        let opened = async move {
            let engine = &state.engine;
            let mut work = engine.database.begin(Reach::Server).await?;
            let checkout = match visits::checkout_of(&mut *work, &token).await {
                Ok(checkout) => checkout,
                Err(error) => return Ok::<_, ApiError>(Err(error)),
            };
            let address = sender.address().map(|address| address.to_string());
            let (agent, now) = (sender.user_agent(), engine.clock.now());
            let opened = agreements::open(&mut *work, &checkout, address, agent, now).await;
            if opened.is_ok() {
                work.commit().await?;
            }
            Ok(opened)
        };
        match self.state.mutations.run(opened).await? {
            Ok(view) => Ok(Some(view)),
            Err(Error::NotFound { .. } | Error::Rule { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Does a step of the customer, and lets the providers do what follows from it for a moment.
    async fn step(&self, step: Step, entered: Fields) -> Result<(), Error> {
        let (state, sender) = (self.state.clone(), self.sender.clone());
        let token = state.pages.read(&self.token);
        let token = token.ok_or(Error::not_found("page"))?;
        let taken =
            async move { Ok::<_, ApiError>(step.take(&state, &sender, token, &entered).await) };
        // A task that panicked has no error of the domain; it is logged where it panicked.
        match self.state.mutations.run(taken).await {
            Ok(result) => result,
            Err(error) => Err(Error::Store(lessor_domain::ports::StoreError::internal(
                error,
            ))),
        }
    }

    fn dressed(&self, status: StatusCode) -> HttpResponseBuilder {
        let mut response = HttpResponse::build(status);
        response
            .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
            .insert_header((header::REFERRER_POLICY, "no-referrer"))
            .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .insert_header((
                HeaderName::from_static("x-robots-tag"),
                HeaderValue::from_static("noindex"),
            ));
        response
    }

    fn html(&self, status: StatusCode, html: String) -> HttpResponse {
        self.dressed(status)
            .content_type("text/html; charset=utf-8")
            .body(html)
    }

    fn back_to_page(&self) -> HttpResponse {
        self.dressed(StatusCode::SEE_OTHER)
            .insert_header((header::LOCATION, self.place().path()))
            .finish()
    }

    fn nothing(&self) -> HttpResponse {
        self.html(StatusCode::NOT_FOUND, view::not_found(&self.prefix))
    }

    fn page(
        &self,
        status: StatusCode,
        visit: &Visit,
        notice: Option<&Notice>,
        entered: &Fields,
    ) -> HttpResponse {
        self.html(status, view::checkout(visit, self.place(), notice, entered))
    }
}
