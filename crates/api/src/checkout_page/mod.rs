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
use actix_web::http::header::{self, HeaderName, HeaderValue, InvalidHeaderValue};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, get, post};
use lessor_domain::cause::chain;
use lessor_domain::checkout::Lifecycle;
use lessor_domain::ports::Reach;
use lessor_domain::services::Error;
use lessor_domain::services::visits::Visit;
use lessor_domain::workers::jobs::WayBack;
use utoipa_actix_web::service_config::ServiceConfig;

use self::fields::Fields;
use self::pieces::{Notice, Place};
use self::steps::Step;
use crate::http::error::ApiError;
use crate::request::FormBody;
use crate::state::{AppState, Sender};

/// Where the page's style is.
const STYLE_PATH: &str = "/assets/checkout.css";
const STYLE: &str = include_str!("style.css");

/// Nothing may run, be loaded from elsewhere, be framed, or learn the address.
const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The part of it that says where forms may lead. Browsers hold redirects that answer a form to it too.
const OWN_FORMS: &str = "form-action 'self'";
/// What of the query says that the customer left a provider's page without doing what it asks.
const LEFT: &str = "left=1";

pub(crate) fn configure(config: &mut ServiceConfig<'_>) {
    config
        .service(checkout_page_style)
        .service(show_checkout_page)
        .service(return_to_checkout_page)
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

/// Back from a provider.
///
/// Where the payment processor's and the identity verifier's own pages send the customer back to. Asks them what
/// came of it, and leads to the checkout's page.
#[utoipa::path(
    tag = "Checkout page",
    params(
        ("token" = String, Path, description = "The token of `checkoutUrl`."),
        ("left" = Option<String>, Query, description = "`1`: the customer went back without paying.")
    ),
    responses((status = 303, description = "The page is at `Location`."))
)]
#[get("/c/{token}/return")]
async fn return_to_checkout_page(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let visitor = Visitor::of(&request)?;
    let left = request.query_string().split('&').any(|pair| pair == LEFT);
    match visitor.come_back(left).await {
        Ok(()) => {}
        Err(Error::NotFound { .. }) => return Ok(visitor.nothing()),
        // The page says how it stands; the providers' messages tell of what could not be asked.
        Err(error) => {
            tracing::warn!(error = %chain(&error), "what came of a provider's page could not be asked");
        }
    }
    Ok(visitor.back_to_page())
}

/// A step of the customer.
///
/// For the forms of the checkout's page. Leads back to the page or on to a provider's own, or answers it with what
/// is wrong.
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
        Ok(Some(url)) => return Ok(visitor.away_to(&url)),
        Ok(None) => return Ok(visitor.back_to_page()),
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
        Error::Provider(doubt) => {
            tracing::warn!(error = %chain(&doubt), "a provider's page could not be opened");
            Ok(Notice {
                message: "We cannot reach the page that you need for this step. Nothing was charged. Please try again in a few minutes.".to_owned(),
                field: None,
            })
        }
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

    fn place(&self, hosted: bool) -> Place<'_> {
        Place {
            prefix: &self.prefix,
            token: &self.token,
            hosted,
        }
    }

    /// Where providers send the customer back to. It holds the token: it is given to providers alone, and
    /// kept nowhere.
    fn way_back(&self) -> WayBack {
        let page = format!(
            "{}{}/{}",
            self.state.settings.public_url.as_str(),
            crate::auth::links::PATH,
            self.token
        );
        WayBack {
            done: format!("{page}/return"),
            left: format!("{page}/return?{LEFT}"),
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

    /// Does a step of the customer, and lets the providers do what follows from it for a moment.
    async fn step(&self, step: Step, entered: Fields) -> Result<Option<String>, Error> {
        let (state, sender) = (self.state.clone(), self.sender.clone());
        let token = state.pages.read(&self.token);
        let token = token.ok_or(Error::not_found("page"))?;
        let back = self.way_back();
        let taken = async move {
            Ok::<_, ApiError>(step.take(&state, &sender, token, &entered, &back).await)
        };
        // A task that panicked has no error of the domain; it is logged where it panicked.
        match self.state.mutations.run(taken).await {
            Ok(result) => result,
            Err(error) => Err(Error::Store(lessor_domain::ports::StoreError::internal(
                error,
            ))),
        }
    }

    /// Takes in what came of a provider's page that the customer was on.
    async fn come_back(&self, left: bool) -> Result<(), Error> {
        let state = self.state.clone();
        let token = state.pages.read(&self.token);
        let token = token.ok_or(Error::not_found("page"))?;
        let taken = async move { Ok::<_, ApiError>(steps::come_back(&state, token, left).await) };
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
            .insert_header((header::LOCATION, self.place(false).path()))
            .finish()
    }

    /// On to a provider's own page.
    fn away_to(&self, url: &str) -> HttpResponse {
        self.dressed(StatusCode::SEE_OTHER)
            .insert_header((header::LOCATION, url))
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
        let hosted = self.state.engine.jobs().hosts(visit.checkout.mode);
        let place = self.place(hosted);
        let mut response = self.html(status, view::checkout(visit, place, notice, entered));
        // A form of this page may be answered by the way to a provider's own.
        if hosted && let Ok(policy) = self.open_policy() {
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        response
    }

    /// The policy of a page whose forms lead to the providers' own pages.
    fn open_policy(&self) -> Result<HeaderValue, InvalidHeaderValue> {
        let origins = &self.state.settings.provider_pages;
        let forms = format!("{OWN_FORMS} {}", origins.join(" "));
        HeaderValue::try_from(POLICY.replace(OWN_FORMS, &forms))
    }
}
