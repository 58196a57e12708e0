//! `/c/{token}`: the customer's page of a checkout, without scripts.
//!
//! The token stands for the customer: whoever has the address acts as they would. Each form is sent
//! to a path under the page's own and answered with a redirect to the page, so that going back and
//! reloading never repeat a step; repeated all the same it changes nothing.

mod faults;
mod fields;
mod forms;
mod lease;
mod locale;
mod order;
mod pieces;
mod steps;
mod texts;
mod view;
mod words;

use crate::http::routing::Routes;
use actix_web::dev::RequestHead;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, get, post};
use lessor_domain::cause::chain;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::organization::Color;
use lessor_domain::ports::Reach;
use lessor_domain::services::Error;
use lessor_domain::services::agreements::{self, AgreementView};
use lessor_domain::services::mails;
use lessor_domain::services::visits::{self, Visit, note_way_out, replaced_by};
use lessor_domain::text::{Email, Url};
use lessor_domain::workers::jobs::WayBack;

use self::faults::{CARD, Fault, LEASE_TERM, Notice, PICKUP_LOCATION, Problem, Refusal};
use self::fields::Fields;
pub(crate) use self::locale::Reader;
pub(crate) use self::order::name as name_of;
use self::pieces::Place;
use self::steps::{Customer, Step};
use self::view::LinkOffer;
use crate::auth::links::PATH;
use crate::http::error::ApiError;
use crate::idempotency::close;
use crate::middleware::HeadOnly;
use crate::request::FormBody;
use crate::routes::checkouts::{Pdf, agreement_document};
use crate::state::{AppState, Sender};

/// No token is longer, in characters.
const LONGEST_TOKEN: usize = 128;
/// Where the page's style is.
const STYLE_PATH: &str = "/assets/checkout.css";
const STYLE: &str = include_str!("style.css");
/// Where the styles of organizations' colors are.
const ACCENT_PATH: &str = "/assets/accents";

/// How often a page looks again at what somebody else is at, in seconds.
const LOOKS_AGAIN_AFTER: &str = "4";

/// What of the query says that the customer left a provider's page without doing what it asks.
const LEFT: &str = "left=1";
/// What of the query says that a link was asked for.
const ASKED: &str = "asked=1";

/// Nothing may run, be loaded from elsewhere, be framed, or learn the address; but the organization's logo
/// and the picture of what is leased are loaded from where they are, and a form may lead to these pages of the providers and to where the
/// organization wants its customers back: browsers ask that of what a form's answer leads to as well.
fn policy(visit: Option<&Visit>, pages: &[String]) -> String {
    let mut policy = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'".to_owned();
    let Some(visit) = visit else {
        return policy;
    };
    let redirects = visit.checkout.redirects.all();
    let mut targets: Vec<String> = redirects.filter_map(|url| origin(url.as_str())).collect();
    targets.sort_unstable();
    targets.dedup();
    for target in pages.iter().chain(&targets) {
        policy.push(' ');
        policy.push_str(target);
    }
    let logo = visit.organization.face.logo_url.as_ref();
    policy + &pictures([logo, order::picture(visit.showpiece.as_ref())])
}

/// Where the address is, but for its path.
fn origin(url: &str) -> Option<String> {
    Some(url::Url::parse(url).ok()?.origin().ascii_serialization())
}

/// That a page may load these pictures, as an end of its policy.
fn pictures<'u>(shown: impl IntoIterator<Item = Option<&'u Url>>) -> String {
    let mut sources: Vec<String> = shown
        .into_iter()
        .flatten()
        .filter_map(|url| origin(url.as_str()))
        .collect();
    sources.dedup();
    if sources.is_empty() {
        return String::new();
    }
    format!("; img-src {}", sources.join(" "))
}

/// A request to one of the pages, whose errors people read.
#[derive(Clone, Debug)]
pub(crate) struct PageRequest {
    path: String,
    reader: Reader,
}

impl PageRequest {
    /// The request, where its path is one of the pages'.
    pub(crate) fn of(head: &RequestHead) -> Option<Self> {
        let path = head.uri.path();
        let rest = path.strip_prefix(PATH)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| Self {
            path: path.to_owned(),
            reader: reader_of(head),
        })
    }
}

/// Who sent the request.
fn reader_of(head: &RequestHead) -> Reader {
    let accepted = head.headers().get(header::ACCEPT_LANGUAGE);
    let accepted = accepted.and_then(|value| value.to_str().ok());
    Reader::of(head.uri.query().unwrap_or_default(), accepted)
}

/// The prefix of the public address's path, often empty.
fn prefix_of(public_url: &str) -> String {
    url::Url::parse(public_url)
        .map(|url| url.path().trim_end_matches('/').to_owned())
        .unwrap_or_default()
}

/// What people read of a request to a page that failed, with the headers of a page.
pub(crate) fn failure(
    error: &ApiError,
    asked: &PageRequest,
    public_url: &str,
    request_id: &str,
    headers: &mut HeaderMap,
) -> String {
    let PageRequest { path, reader } = asked;
    dress(headers, &policy(None, &[]), reader);
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    let prefix = prefix_of(public_url);
    // Only what can be a token is put into a link.
    let token = path.split('/').nth(2).unwrap_or_default();
    let is_token = (1..=LONGEST_TOKEN).contains(&token.len())
        && token.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let place = Place {
        prefix: &prefix,
        token: is_token.then_some(token),
        hosted: false,
        reader,
    };
    view::failed(place, &reader.failure(error.status()), request_id)
}

/// Gives an answer the headers of a page.
fn dress(headers: &mut HeaderMap, policy: &str, reader: &Reader) {
    // A tag is of letters, digits and hyphens.
    if let Ok(tag) = HeaderValue::from_str(&reader.tag()) {
        headers.insert(header::CONTENT_LANGUAGE, tag);
    }
    headers.append(header::VARY, HeaderValue::from_static("accept-language"));
    // An origin is of ASCII.
    if let Ok(policy) = HeaderValue::from_str(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("x-robots-tag"), "noindex"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

pub(crate) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(checkout_page_style)
        .service(checkout_page_accent)
        .service(explain_checkout_page)
        .service(ask_for_link)
        .service(show_checkout_page)
        .service(show_agreement)
        .service(return_to_checkout_page)
        .service(show_checkout_step)
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

/// The style of a color.
///
/// What an organization's buttons are filled with, and black or white for their text, whichever is read
/// more easily.
#[utoipa::path(
    tag = "Checkout page",
    params(("color" = String, Path, pattern = "^[0-9A-Fa-f]{6}$", description = "The color, six hexadecimal digits.")),
    responses((status = 200, content_type = "text/css", body = String, description = "The style."))
)]
#[get("/assets/accents/{color}.css")]
async fn checkout_page_accent(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let digits = request.match_info().get("color").unwrap_or_default();
    let color: Color = format!("#{digits}")
        .parse()
        .map_err(|_| ApiError::not_found("style"))?;
    let style = format!(
        ":root {{ --brand: {color}; --on-brand: {}; }}\n",
        color.ink()
    );
    Ok(HttpResponse::Ok()
        .content_type("text/css; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(style))
}

/// What a checkout's page is without its token.
///
/// Keys that are not shown links have this address as `checkoutUrl`. Where mails are sent it offers to mail the
/// link.
#[utoipa::path(
    tag = "Checkout page",
    params(
        ("lang" = Option<String>, Query, max_length = 64, description = "The language of the page, such as `es` or `es-MX`; without it `Accept-Language` counts. Others than English and Spanish are passed by."),
        ("asked" = Option<String>, Query, max_length = 1, description = "`1`: the link was asked for.")
    ),
    responses((status = 200, content_type = "text/html", body = String, description = "The page."))
)]
#[get("/c")]
async fn explain_checkout_page(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let visitor = Visitor::of(&request)?;
    let modes = visitor.state.settings.mail;
    let offer = if !(modes.live || modes.sandbox) {
        LinkOffer::None
    } else if request.query_string().split('&').any(|pair| pair == ASKED) {
        LinkOffer::Taken
    } else {
        LinkOffer::Open
    };
    let page = view::personal(visitor.place(false), offer);
    Ok(shown(
        StatusCode::OK,
        &policy(None, &[]),
        page,
        &visitor.reader,
    ))
}

/// Ask for the link of a checkout.
///
/// For the form of the page without a token. The link is mailed to the checkout's customer, if the address is
/// theirs, once in a quarter of an hour at the most; the answer is the same whatever comes of it.
#[utoipa::path(
    tag = "Checkout page",
    params(
        ("lang" = Option<String>, Query, max_length = 64, description = "The language of the page, such as `es` or `es-MX`; without it `Accept-Language` counts. Others than English and Spanish are passed by."),
    ),
    request_body(description = "The fields of the form, each once: `checkout` and `email`.", content = HashMap<String, String>, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "The page that says so is at `Location`."))
)]
#[post("/c/link")]
async fn ask_for_link(request: HttpRequest, form: FormBody) -> Result<HttpResponse, ApiError> {
    let visitor = Visitor::of(&request)?;
    let modes = visitor.state.settings.mail;
    if !(modes.live || modes.sandbox) {
        return visitor.nothing().await;
    }
    refuse_other_sites(&request)?;
    visitor.state.count_address(&request)?;
    let fields = Fields::from(form);
    let checkout = fields
        .get("checkout")
        .and_then(|id| id.parse::<CheckoutPubId>().ok());
    let email = fields.get("email").and_then(|text| Email::parse(text).ok());
    if let (Some(checkout), Some(email)) = (checkout, email) {
        let state = visitor.state.clone();
        let asked = async move {
            let engine = &state.engine;
            let (ids, now) = (&*engine.ids, engine.clock.now());
            let mut work = engine.database.begin(Reach::Server).await?;
            mails::ask_for_link(&mut *work, ids, modes, checkout, &email, now).await?;
            work.commit().await?;
            Ok::<_, Error>(())
        };
        visitor.state.mutations.run(asked).await?;
    }
    let page = format!("{}{PATH}?{ASKED}", visitor.prefix);
    Ok(visitor.led_to(&visitor.reader.keep(&page)))
}

/// Forms of the pages are sent from the pages.
fn refuse_other_sites(request: &HttpRequest) -> Result<(), ApiError> {
    let site = request.headers().get("sec-fetch-site");
    if site.is_some_and(|site| site.as_bytes() == b"cross-site") {
        return Err(ApiError::forbidden(
            "forms of a checkout's page are sent from the page itself",
        ));
    }
    Ok(())
}

/// The checkout's page.
///
/// For the customer's browser: `checkoutUrl` leads here. The token is the secret. Looking at it changes
/// nothing; once the checkout has turned out, the first look leads on to where the organization wants
/// its customers.
#[utoipa::path(
    tag = "Checkout page",
    params(
        ("token" = String, Path, description = "The token of `checkoutUrl`."),
        ("lang" = Option<String>, Query, max_length = 64, description = "The language of the page, such as `es` or `es-MX`; without it `Accept-Language` counts. Others than English and Spanish are passed by."),
    ),
    responses(
        (status = 200, content_type = "text/html", body = String, description = "The page."),
        (status = 303, description = "The shop is at `Location`."),
        (status = 410, content_type = "text/html", body = String, description = "The link was replaced by a newer one.")
    )
)]
#[get("/c/{token}")]
async fn show_checkout_page(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let visitor = Visitor::of(&request)?;
    let Some(visit) = visitor.look().await? else {
        return visitor.nothing().await;
    };
    // Programs that only ask for the head are no browser to be sent anywhere.
    let is_head = request.extensions().contains::<HeadOnly>();
    if !is_head && let Some(gone) = visitor.leave(&visit).await? {
        return Ok(gone);
    }
    let nothing_entered = Fields::default();
    visitor
        .page(StatusCode::OK, &visit, None, &nothing_entered)
        .await
}

/// Back from a provider.
///
/// Where the payment processor's and the identity verifier's own pages send the customer back to. Asks them what
/// came of it, and leads to the checkout's page.
#[utoipa::path(
    tag = "Checkout page",
    params(
        ("token" = String, Path, description = "The token of `checkoutUrl`."),
        ("lang" = Option<String>, Query, max_length = 64, description = "The language of the page, such as `es` or `es-MX`; without it `Accept-Language` counts. Others than English and Spanish are passed by."),
        ("left" = Option<String>, Query, max_length = 1, description = "`1`: the customer went back without paying.")
    ),
    responses(
        (status = 303, description = "The page is at `Location`."),
        (status = 410, content_type = "text/html", body = String, description = "The link was replaced by a newer one.")
    )
)]
#[get("/c/{token}/return")]
async fn return_to_checkout_page(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let visitor = Visitor::of(&request)?;
    let left = request.query_string().split('&').any(|pair| pair == LEFT);
    match visitor.come_back(left).await {
        Ok(()) => {}
        Err(Error::NotFound { .. }) => return visitor.nothing().await,
        // The page says how it stands; the providers' messages tell of what could not be asked.
        Err(error) => {
            tracing::warn!(error = %chain(&error), "what came of a provider's page could not be asked");
        }
    }
    Ok(visitor.back_to_page())
}

/// The checkout's page, by the address of one of its forms.
///
/// A browser has it in its line after a form was refused.
#[utoipa::path(
    tag = "Checkout page",
    params(
        ("token" = String, Path, description = "The token of `checkoutUrl`."),
        ("step" = String, Path, description = "The form."),
        ("lang" = Option<String>, Query, max_length = 64, description = "The language of the page, such as `es` or `es-MX`; without it `Accept-Language` counts. Others than English and Spanish are passed by."),
    ),
    responses(
        (status = 303, description = "The page is at `Location`."),
        (status = 410, content_type = "text/html", body = String, description = "The link was replaced by a newer one.")
    )
)]
#[get("/c/{token}/{step}")]
async fn show_checkout_step(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let visitor = Visitor::of(&request)?;
    match request.match_info().get("step").and_then(Step::parse) {
        Some(_) => Ok(visitor.back_to_page()),
        None => visitor.nothing().await,
    }
}

/// The agreement that the customer signs, or has signed.
///
/// For the customer's browser. Opening it is noted in the document's record.
#[utoipa::path(
    tag = "Checkout page",
    params(
        ("token" = String, Path, description = "The token of `checkoutUrl`."),
        ("lang" = Option<String>, Query, max_length = 64, description = "The language of the page, such as `es` or `es-MX`; without it `Accept-Language` counts. Others than English and Spanish are passed by."),
    ),
    responses(
        (status = 200, content_type = "application/pdf", body = Pdf, description = "The PDF."),
        (status = 410, content_type = "text/html", body = String, description = "The link was replaced by a newer one.")
    )
)]
#[get("/c/{token}/agreement")]
async fn show_agreement(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let visitor = Visitor::of(&request)?;
    // Programs that only ask for the head have opened nothing.
    let is_head = request.extensions().contains::<HeadOnly>();
    match visitor.open_agreement(!is_head).await? {
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
        None => visitor.nothing().await,
    }
}

/// A step of the customer.
///
/// For the forms of the checkout's page. Leads back to the page or on to a provider's own, or answers it with what
/// is wrong.
#[utoipa::path(
    tag = "Checkout page",
    params(
        ("token" = String, Path, description = "The token of `checkoutUrl`."),
        ("step" = String, Path, description = "The form."),
        ("lang" = Option<String>, Query, max_length = 64, description = "The language of the page, such as `es` or `es-MX`; without it `Accept-Language` counts. Others than English and Spanish are passed by."),
    ),
    request_body(description = "The fields of the form, each once.", content = HashMap<String, String>, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 303, description = "The page, a provider's own, or the shop once the checkout has turned out, is at `Location`."),
        (status = 410, content_type = "text/html", body = String, description = "The link was replaced by a newer one."),
        (status = 502, content_type = "text/html", body = String, description = "A provider's page cannot be reached: the page says so, and the same step can be taken again.")
    )
)]
#[post("/c/{token}/{step}")]
async fn take_checkout_step(
    request: HttpRequest,
    form: FormBody,
) -> Result<HttpResponse, ApiError> {
    let visitor = Visitor::of(&request)?;
    refuse_other_sites(&request)?;
    visitor.state.count_address(&request)?;
    let Some(step) = request.match_info().get("step").and_then(Step::parse) else {
        return visitor.nothing().await;
    };
    let entered = Fields::from(form);
    let notice = match visitor.step(step, entered.clone()).await {
        Ok(Some(url)) => return Ok(visitor.led_to(&url)),
        Ok(None) => None,
        Err(Refusal::Step(Error::NotFound { .. })) => return visitor.nothing().await,
        Err(refusal) => Some((status_of(&refusal), notice_of(refusal, &visitor.reader)?)),
    };
    let Some(visit) = visitor.look().await? else {
        return visitor.nothing().await;
    };
    let Some((status, mut notice)) = notice else {
        let gone = visitor.leave(&visit).await?;
        return Ok(gone.unwrap_or_else(|| visitor.back_to_page()));
    };
    if step == Step::Sign && !notice.faults.is_empty() {
        notice.faults = steps::faults_of_signature(&visit, &entered);
    }
    visitor.page(status, &visit, Some(&notice), &entered).await
}

/// What a program is told of a refusal: that a provider cannot be reached is no fault of who asked.
const fn status_of(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::Step(Error::Provider(_)) => StatusCode::BAD_GATEWAY,
        Refusal::Step(_) | Refusal::Form(_) => StatusCode::BAD_REQUEST,
    }
}

/// What the customer reads of a refusal. What is no refusal stays an error.
fn notice_of(refusal: Refusal, reader: &Reader) -> Result<Notice, ApiError> {
    let error = match refusal {
        Refusal::Form(faults) => return Ok(Notice::of_fields(faults)),
        Refusal::Step(error) => error,
    };
    match error {
        Error::Missing { param } => {
            let fault = Fault::new(&param, Problem::Missing);
            Ok(Notice::of_fields(vec![fault]))
        }
        // The whole address, and no field of it.
        Error::Invalid { param, .. } if param == "shippingAddress" => {
            Ok(Notice::of_step(reader.fault_not_served()))
        }
        Error::Invalid { param, message } | Error::Taken { param, message } => {
            let problem = match param.as_str() {
                CARD | LEASE_TERM | PICKUP_LOCATION => Problem::Choice,
                _ => Problem::Other(message),
            };
            Ok(Notice::of_fields(vec![Fault::new(&param, problem)]))
        }
        Error::Provider(doubt) => {
            tracing::warn!(error = %chain(&doubt), "a provider's page could not be opened");
            Ok(Notice::of_step(reader.provider_unreachable()))
        }
        Error::Rule { message } => Ok(Notice::of_step(match reader.in_english(&message) {
            Some(message) => format!("{} ({message})", reader.refused()),
            None => reader.refused(),
        })),
        error => Err(error.into()),
    }
}

/// A page as a browser is given it.
fn shown(status: StatusCode, policy: &str, html: String, reader: &Reader) -> HttpResponse {
    let mut response = HttpResponse::build(status)
        .content_type("text/html; charset=utf-8")
        .body(html);
    dress(response.headers_mut(), policy, reader);
    response
}

/// Somebody who came with a token.
struct Visitor {
    state: AppState,
    sender: Sender,
    token: String,
    prefix: String,
    reader: Reader,
}

impl Visitor {
    fn of(request: &HttpRequest) -> Result<Self, ApiError> {
        let state = AppState::of(request)?.clone();
        let prefix = prefix_of(state.settings.public_url.as_str());
        let token = request.match_info().get("token").unwrap_or_default();
        let sender = Sender::of(&state, request);
        Ok(Self {
            state,
            sender,
            token: token.to_owned(),
            prefix,
            reader: reader_of(request.head()),
        })
    }

    /// The way to another address.
    fn led_to(&self, address: &str) -> HttpResponse {
        let mut response = HttpResponse::SeeOther()
            .insert_header((header::LOCATION, address))
            .finish();
        dress(response.headers_mut(), &policy(None, &[]), &self.reader);
        response
    }

    fn place(&self, hosted: bool) -> Place<'_> {
        Place {
            prefix: &self.prefix,
            token: Some(self.token.as_str()).filter(|token| !token.is_empty()),
            hosted,
            reader: &self.reader,
        }
    }

    /// Where providers send the customer back to. It holds the token: it is given to providers alone, and
    /// kept nowhere.
    fn way_back(&self) -> WayBack {
        let page = format!(
            "{}{}/{}",
            self.state.settings.public_url.as_str(),
            PATH,
            self.token
        );
        WayBack {
            done: self.reader.keep(&format!("{page}/return")),
            left: self.reader.keep(&format!("{page}/return?{LEFT}")),
        }
    }

    /// The checkout as it is now; none where the token opens nothing.
    async fn look(&self) -> Result<Option<Visit>, ApiError> {
        let Some(token) = self.state.pages.read(&self.token) else {
            return Ok(None);
        };
        let mut work = self.state.reads.read(Reach::Server).await?;
        match Visit::of(&mut *work, &token, self.state.engine.clock.now()).await {
            Ok(visit) => Ok(Some(visit)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The document, once it is noted that the customer opened it where they did; none where there is none.
    async fn open_agreement(&self, is_opened: bool) -> Result<Option<AgreementView>, ApiError> {
        let (state, sender) = (self.state.clone(), self.sender.clone());
        let Some(token) = state.pages.read(&self.token) else {
            return Ok(None);
        };
        let opened = async move {
            let engine = &state.engine;
            let mut work = engine.database.begin(Reach::Server).await?;
            let address = sender.address().map(|address| address.to_string());
            let (agent, now) = (sender.user_agent(), engine.clock.now());
            let opened = match visits::checkout_in_view(&mut *work, &token, now).await {
                Ok(known) if is_opened => {
                    agreements::open(&mut *work, &known, address, agent, now).await
                }
                Ok(known) => agreements::peek(&mut *work, &known).await,
                Err(error) => Err(error),
            };
            Ok::<_, ApiError>(close(work, opened).await)
        };
        match self.state.mutations.run(opened).await? {
            Ok(view) => Ok(Some(view)),
            Err(Error::NotFound { .. } | Error::Rule { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Does a step of the customer, and lets the providers do what follows from it for a moment.
    async fn step(&self, step: Step, entered: Fields) -> Result<Option<String>, Refusal> {
        let state = self.state.clone();
        let customer = Customer {
            sender: self.sender.clone(),
            reads: self.reader.language,
        };
        let token = state.pages.read(&self.token);
        let token = token.ok_or(Error::not_found("page"))?;
        let back = self.way_back();
        let taken = async move {
            Ok::<_, ApiError>(step.take(&state, &customer, token, &entered, &back).await)
        };
        // A task that panicked has no error of the domain; it is logged where it panicked.
        match self.state.mutations.run(taken).await {
            Ok(result) => result,
            Err(error) => {
                let error = lessor_domain::ports::StoreError::internal(error);
                Err(Refusal::Step(Error::Store(error)))
            }
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

    /// Leads the browser to where the organization wants its customers, once the checkout has turned out:
    /// once for each way that it does, so that who comes back sees the page.
    async fn leave(&self, visit: &Visit) -> Result<Option<HttpResponse>, ApiError> {
        let Some((way, url)) = words::way_out(&visit.checkout) else {
            return Ok(None);
        };
        let Some(token) = self.state.pages.read(&self.token) else {
            return Ok(None);
        };
        if visit.is_past || visit.sent_to == Some(way) {
            return Ok(None);
        }
        let state = self.state.clone();
        let noted = async move {
            let mut work = state.engine.database.begin(Reach::Server).await?;
            let noted = note_way_out(&mut *work, &token, way).await;
            Ok::<_, ApiError>(close(work, noted).await?)
        };
        let is_first = self.state.mutations.run(noted).await?;
        Ok(is_first.then(|| self.led_to(&url)))
    }

    fn back_to_page(&self) -> HttpResponse {
        self.led_to(&self.place(false).path())
    }

    /// The page of a token that opens nothing: it opened one once, or it never did.
    async fn nothing(&self) -> Result<HttpResponse, ApiError> {
        let replaced = match self.state.pages.read(&self.token) {
            Some(token) => {
                let mut work = self.state.reads.read(Reach::Server).await?;
                replaced_by(&mut *work, &token).await?
            }
            None => None,
        };
        let nowhere = Place {
            token: None,
            ..self.place(false)
        };
        let policy = policy(None, &[]);
        Ok(match replaced {
            Some(organization) => {
                let page = view::replaced(nowhere, &organization);
                let policy = policy + &pictures([organization.face.logo_url.as_ref()]);
                shown(StatusCode::GONE, &policy, page, &self.reader)
            }
            None => {
                let page = view::not_found(nowhere);
                shown(StatusCode::NOT_FOUND, &policy, page, &self.reader)
            }
        })
    }

    async fn page(
        &self,
        status: StatusCode,
        visit: &Visit,
        notice: Option<&Notice>,
        entered: &Fields,
    ) -> Result<HttpResponse, ApiError> {
        let scope = (&visit.checkout).into();
        let hosted = self.state.engine.jobs().hosts(scope).await?;
        // A form of this page may be answered by the way to a provider's own.
        let pages: &[String] = if hosted {
            &self.state.settings.provider_pages
        } else {
            &[]
        };
        let html = view::checkout(visit, self.place(hosted), notice, entered);
        let mut response = shown(status, &policy(Some(visit), pages), html, &self.reader);
        let is_elsewhere = words::is_moving(&visit.checkout) || words::signs_elsewhere(visit);
        if is_elsewhere && notice.is_none() {
            let seconds = HeaderValue::from_static(LOOKS_AGAIN_AFTER);
            let refresh = HeaderName::from_static("refresh");
            response.headers_mut().insert(refresh, seconds);
        }
        Ok(response)
    }
}
