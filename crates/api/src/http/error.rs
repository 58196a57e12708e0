//! What a client reads when a request is refused or fails.
//!
//! Every failure leaves the service in one shape, whatever its origin:
//!
//! ```json
//! {"error": {"type": "invalid_request_error", "code": "invalid_parameter",
//!            "message": "price: must be a decimal number", "param": "price",
//!            "doc_url": "https://…/docs/errors#invalid_parameter"}}
//! ```
//!
//! The domain's errors know no status; whoever maps them names one of the constructors of
//! [`ApiError`]. A failure of the service itself (5xx) tells the client its request id and nothing
//! else; its cause goes to the log when the error is made.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpResponse, ResponseError};
use lessor_domain::cause::chain;
use serde::Serialize;

pub use super::code::Code;
use crate::telemetry::outage;

/// The path of the page that explains the codes, relative to the public address.
pub const DOCS_PATH: &str = "/docs/errors";

/// The longest `param` that is echoed, in characters: a member's name is the caller's to choose.
const PARAM_MAX: usize = 200;

/// A refusal or failure on its way to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    status: StatusCode,
    code: Code,
    message: String,
    param: Option<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
    closes: bool,
}

impl ApiError {
    fn new(status: StatusCode, code: Code, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            param: None,
            headers: Vec::new(),
            closes: false,
        }
    }

    /// Closes the connection after the answer, since more of the request could still come.
    const fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    fn with_param(mut self, param: impl Into<String>) -> Self {
        let param = param.into();
        self.param = Some(match param.char_indices().nth(PARAM_MAX) {
            Some((end, _)) => format!("{}…", &param[..end]),
            None => param,
        });
        self
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// 400 `parameter_missing`: the required parameter `param` is absent.
    pub fn missing(param: impl Into<String>) -> Self {
        let error =
            Self::new(StatusCode::BAD_REQUEST, Code::ParameterMissing, "").with_param(param);
        let message = format!("{} is required", error.param.as_deref().unwrap_or_default());
        Self { message, ..error }
    }

    /// 400 `invalid_parameter`: `message` says what is wrong with `param` and what is allowed.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::InvalidParameter, message).with_param(param)
    }

    /// 400 `invalid_request`: a request that is malformed, or that the state of things forbids.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::InvalidRequest, message)
    }

    /// 401: no key, or one that is not in force. Says nothing about which of these.
    #[must_use]
    pub fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            Code::Unauthorized,
            "a valid API key is required: Authorization: Bearer <API_KEY>",
        )
        .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// 401 to a message that is not signed as it must be. Says nothing about why.
    #[must_use]
    pub fn unsigned() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            Code::Unauthorized,
            "the message is not signed with a secret that is known here, or not now",
        )
    }

    /// 403 to a key that everybody may read.
    #[must_use]
    pub fn publishable() -> Self {
        Self::forbidden(
            "a publishable key may only read prices: one product or variant, and what a variant costs",
        )
    }

    /// 403: `message` says what the key lacks, or why it may not.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, Code::Forbidden, message)
    }

    /// 404: `what` (a noun, such as `"product"`) does not exist for this key.
    pub fn not_found(what: impl fmt::Display) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            format!("no such {what}"),
        )
    }

    /// 405 with `Allow`.
    #[must_use]
    pub fn method_not_allowed(allow: &[Method]) -> Self {
        let allow = allow
            .iter()
            .map(Method::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let error = Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            Code::InvalidRequest,
            format!("this method is not allowed here; allowed: {allow}"),
        );
        match HeaderValue::from_str(&allow) {
            Ok(allow) => error.with_header(header::ALLOW, allow),
            Err(_) => error,
        }
    }

    /// 408: the body did not arrive in time. The connection is closed, since the rest of the body
    /// could still come.
    #[must_use]
    pub fn request_timeout() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            Code::InvalidRequest,
            "the request body did not arrive in time",
        )
        .closing()
    }

    /// 400: the body has two lengths, so that nobody knows where the next request begins. The
    /// connection is closed.
    #[must_use]
    pub fn two_lengths() -> Self {
        Self::invalid_request("the request has both Content-Length and Transfer-Encoding").closing()
    }

    /// 408: the head did not arrive in time.
    #[must_use]
    pub fn head_timeout() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            Code::InvalidRequest,
            "the request line and the headers did not arrive in time",
        )
        .closing()
    }

    /// 409: the request with this idempotency key is still being worked on.
    #[must_use]
    pub fn idempotency_in_progress() -> Self {
        Self::new(
            StatusCode::CONFLICT,
            Code::IdempotencyInProgress,
            "a request with this Idempotency-Key is being worked on; repeat it later",
        )
    }

    /// 413: the body is larger than `limit` bytes.
    #[must_use]
    pub fn payload_too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            Code::InvalidRequest,
            format!("the request body is larger than {limit} bytes"),
        )
        .closing()
    }

    /// 414: the path is longer than `path` bytes, or the query than `query`.
    #[must_use]
    pub fn uri_too_long(path: usize, query: usize) -> Self {
        Self::new(
            StatusCode::URI_TOO_LONG,
            Code::InvalidRequest,
            format!("the path is longer than {path} bytes, or the query than {query}"),
        )
    }

    /// 431: request line and headers are longer than `limit` bytes.
    #[must_use]
    pub fn head_too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Code::InvalidRequest,
            format!("the request line and the headers are longer than {limit} bytes"),
        )
    }

    /// 415: the body is not declared as JSON.
    #[must_use]
    pub fn unsupported_media_type() -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::InvalidRequest,
            "the request body must be sent as Content-Type: application/json (UTF-8, not compressed)",
        )
    }

    /// 429 with `Retry-After`.
    #[must_use]
    pub fn rate_limited(retry_after: Duration) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            Code::RateLimited,
            "too many requests with this API key",
        )
        .with_header(header::RETRY_AFTER, seconds(retry_after))
    }

    /// 429 to an address, for what shows no secret key and no signature.
    pub fn rate_limited_address(retry_after: Duration) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            Code::RateLimited,
            "too many requests from this address",
        )
        .with_header(header::RETRY_AFTER, seconds(retry_after))
    }

    /// 500. `cause` is logged with all that it came of, and never shown.
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        tracing::error!(cause = %chain(&*cause.into()), "request failed");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::InternalServerError,
            "the request failed",
        )
    }

    /// 500 of a task that panicked with this. What it said is logged and never shown.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("of unknown kind");
        Self::internal(format!("panic: {text}"))
    }

    /// 502: the processor refused, or could not be reached, in a step that cannot be deferred.
    /// `cause` is logged with all that it came of, and never shown.
    pub fn processor_error(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        tracing::error!(cause = %chain(&*cause.into()), "payment processor failed");
        Self::new(
            StatusCode::BAD_GATEWAY,
            Code::ProcessorError,
            "the payment processor did not complete this step",
        )
    }

    /// 503 with `Retry-After`: a part that the request needs cannot be reached, or the service is
    /// full. `cause` is never shown; of the first request of an outage it is logged with all that it came of.
    pub fn unavailable(
        retry_after: Duration,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        outage::met(&*cause.into());
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            Code::Unavailable,
            "the service is unavailable; repeat the request later",
        )
        .with_header(header::RETRY_AFTER, seconds(retry_after))
    }

    /// 503 with `Retry-After`: bodies and answers that are under way take all the memory that they may. The
    /// connection is closed, since more of the request could still come.
    #[must_use]
    pub fn crowded() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            Code::Unavailable,
            "the service has as much under way as it holds; repeat the request later",
        )
        .with_header(header::RETRY_AFTER, seconds(Duration::from_secs(1)))
        .closing()
    }

    /// An answer of another library, known only by its status. The message is the status's name.
    #[must_use]
    pub fn of_status(status: StatusCode) -> Self {
        let message = status
            .canonical_reason()
            .unwrap_or("the request failed")
            .to_lowercase();
        Self::new(status, Code::of_status(status), message)
    }

    /// The status of the answer.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The code of the answer.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// What is wrong, for a person.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The parameter at fault.
    #[must_use]
    pub fn param(&self) -> Option<&str> {
        self.param.as_deref()
    }

    /// The headers that belong to the answer, beside those of every answer.
    #[must_use]
    pub fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.headers
    }

    /// The same error about a parameter of an enclosing object, for a list whose items are read
    /// one by one.
    #[must_use]
    pub fn under(self, prefix: &str) -> Self {
        match self.param.clone() {
            Some(param) => self.with_param(format!("{prefix}.{param}")),
            None => self,
        }
    }

    /// The JSON body. `public_url` is the service's own address without a trailing slash (empty:
    /// `doc_url` is relative); `request_id` is told when the service itself failed.
    #[must_use]
    pub fn body(&self, public_url: &str, request_id: Option<&str>) -> Vec<u8> {
        let message = match request_id {
            Some(id) if self.status.is_server_error() => format!("{}; request {id}", self.message),
            _ => self.message.clone(),
        };
        let envelope = Envelope {
            error: Record {
                kind: if self.status.is_server_error() {
                    "api_error"
                } else {
                    "invalid_request_error"
                },
                code: self.code.as_str(),
                message: &message,
                param: self.param.as_deref(),
                doc_url: format!("{public_url}{DOCS_PATH}#{}", self.code.as_str()),
            },
        };
        // Strings and options only: this cannot fail, and an empty body would still carry the status.
        serde_json::to_vec(&envelope).unwrap_or_default()
    }
}

fn seconds(duration: Duration) -> HeaderValue {
    // Who comes a moment too early is refused again.
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    HeaderValue::from(seconds.max(1))
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: Record<'a>,
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    code: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<&'a str>,
    doc_url: String,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}: {}",
            self.status.as_u16(),
            self.code.as_str(),
            self.message
        )
    }
}

impl Error for ApiError {}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    /// The answer without what only the request knows; the outermost middleware writes the body
    /// again with the public address and the request id.
    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        response.content_type("application/json");
        if self.closes {
            response.force_close();
        }
        for header in &self.headers {
            response.insert_header(header.clone());
        }
        response.body(self.body("", None))
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use lessor_adapters::postgres::{PgDatabase, PgSettings};
    use lessor_domain::cause::tried;
    use lessor_domain::ports::Doubt;
    use lessor_domain::services;

    use super::*;

    #[test]
    fn the_body_has_the_members_of_the_interface_and_no_others() {
        let error = ApiError::invalid(
            "customer.email",
            "customer.email: must be an e-mail address",
        );
        let body: serde_json::Value =
            serde_json::from_slice(&error.body("https://lease.example", Some("req_1"))).unwrap();
        assert_eq!(
            body,
            serde_json::json!({"error": {
                "type": "invalid_request_error",
                "code": "invalid_parameter",
                "message": "customer.email: must be an e-mail address",
                "param": "customer.email",
                "doc_url": "https://lease.example/docs/errors#invalid_parameter"
            }})
        );
    }

    #[test]
    fn a_failure_tells_its_request_id_and_not_its_cause() {
        let error = ApiError::internal("connection to 10.0.0.1 refused");
        let body = String::from_utf8(error.body("", Some("req_1"))).unwrap();
        assert!(
            body.contains("req_1") && body.contains("api_error"),
            "{body}"
        );
        assert!(!body.contains("10.0.0.1"), "{body}");
    }

    /// Where a subscriber writes, for a test to read.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is logged while the work is done, and what comes of it.
    fn logged<T>(work: impl FnOnce() -> T) -> (String, T) {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            // Where another test met an outage before, this one is no news.
            .with_max_level(tracing::Level::DEBUG)
            .with_writer(move || writer.clone())
            .finish();
        let done = tracing::subscriber::with_default(subscriber, work);
        let bytes = log.0.lock().unwrap().clone();
        (String::from_utf8(bytes).unwrap(), done)
    }

    #[tokio::test]
    async fn the_log_tells_every_cause_and_the_answer_none() {
        // Nobody listens there.
        let settings = PgSettings::new("postgres://lessor@127.0.0.1:1/lessor");
        let database = PgDatabase::new(&settings).unwrap();
        let failed = database.ping().await.unwrap_err();
        let (log, error) = logged(|| ApiError::from(services::Error::Store(failed)));
        for cause in [
            "the store is not available",
            "cannot connect to the database",
            "error connecting to server",
            "refused",
        ] {
            assert!(log.contains(cause), "{cause}: {log}");
            let answer = String::from_utf8(error.body("", Some("req_1"))).unwrap();
            assert!(!answer.contains(cause), "{cause}: {answer}");
        }
        assert_eq!(error.status(), StatusCode::SERVICE_UNAVAILABLE);

        let lost = tried("the answer broke off", io::Error::other("end of file"));
        let doubt = Doubt::failed(lost);
        let (log, error) = logged(|| ApiError::from(services::Error::Provider(doubt)));
        assert!(
            log.contains("cause=the provider failed: the answer broke off: end of file"),
            "{log}"
        );
        let answer = String::from_utf8(error.body("", Some("req_1"))).unwrap();
        assert!(!answer.contains("broke off"), "{answer}");
        assert_eq!(error.status(), StatusCode::BAD_GATEWAY);
    }

    #[test]
    fn nobody_is_told_to_come_too_early() {
        for (millis, told) in [(0, "1"), (999, "1"), (1_000, "1"), (1_001, "2")] {
            assert_eq!(seconds(Duration::from_millis(millis)), told, "{millis}");
        }
    }

    #[test]
    fn codes_are_unique() {
        let mut codes = Code::ALL.map(Code::as_str).to_vec();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Code::ALL.len());
    }

    #[test]
    fn a_long_parameter_name_is_cut() {
        let error = ApiError::missing("ä".repeat(5_000));
        assert_eq!(error.param().unwrap().chars().count(), PARAM_MAX + 1);
        assert!(error.message().len() < 1_000);
    }
}
