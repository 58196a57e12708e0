//! What can go wrong in a call, with everything that support asks for.

use std::fmt;

use lessor_domain::access::Mode;
use lessor_domain::cause::Cause;
use lessor_domain::checkout::Refusal;
use lessor_domain::ports::{Answer, Doubt};
use serde::Deserialize;

use super::wire::PaymentError;

/// Codes of declines, wherever they come with another status than 402.
const DECLINES: &[&str] = &[
    "authentication_required",
    "card_decline_rate_limit_exceeded",
    "card_declined",
    "expired_card",
    "expired_payment_method",
    "incorrect_address",
    "incorrect_cvc",
    "incorrect_number",
    "incorrect_zip",
    "insufficient_funds",
    "invalid_cvc",
    "invalid_expiry_month",
    "invalid_expiry_year",
    "invalid_number",
    "payment_intent_authentication_failure",
    "payment_intent_payment_attempt_failed",
    "payment_method_customer_decline",
    "payment_method_provider_decline",
    "setup_attempt_failed",
    "setup_intent_authentication_failure",
];

/// Codes of requests that will never do, however often they are made.
const FINAL: &[&str] = &[
    "amount_too_large",
    "amount_too_small",
    "payment_method_currency_mismatch",
    "payment_method_unsupported_type",
];

/// An error that the processor answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    /// The HTTP status.
    pub(super) status: u16,
    /// The error's `type`, such as `card_error`.
    pub(super) kind: String,
    /// The error's `code`, such as `card_declined`.
    pub(super) code: Option<String>,
    /// Why the bank declined, such as `insufficient_funds`.
    pub(super) decline_code: Option<String>,
    /// What it says to people.
    pub(super) message: String,
    /// The parameter at fault.
    pub(super) param: Option<String>,
    /// The processor's id of the request, by which its support finds it.
    pub(super) request_id: Option<String>,
    /// Whether this is the stored answer to an earlier request with the same key.
    pub(super) replayed: bool,
}

#[derive(Deserialize)]
struct Envelope {
    error: Body,
}

#[derive(Deserialize)]
struct Body {
    #[serde(rename = "type")]
    kind: Option<String>,
    code: Option<String>,
    decline_code: Option<String>,
    message: Option<String>,
    param: Option<String>,
}

impl ApiError {
    /// Reads the body of an answer that is not a success. A body that is none of the
    /// processor's, such as a gateway's page, leaves the status and the request id.
    #[must_use]
    pub(super) fn read(
        status: u16,
        request_id: Option<String>,
        replayed: bool,
        body: &[u8],
    ) -> Self {
        let parsed = serde_json::from_slice::<Envelope>(body).ok();
        let body = parsed.map(|envelope| envelope.error);
        let (kind, code, decline_code, message, param) = match body {
            Some(body) => (
                body.kind,
                body.code,
                body.decline_code,
                body.message,
                body.param,
            ),
            None => (None, None, None, None, None),
        };
        Self {
            status,
            kind: kind.unwrap_or_else(|| "unknown".to_owned()),
            code,
            decline_code,
            message: message.unwrap_or_else(|| "the answer carries no message".to_owned()),
            param,
            request_id,
            replayed,
        }
    }

    /// Whether the error has this code.
    #[must_use]
    pub(super) fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    /// The refusal, when the error is one: a decline, told by the status 402 or by
    /// its code; a payment method that is none; an amount that cannot be charged.
    #[must_use]
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let code = self.code.as_deref().unwrap_or_default();
        let no_such_method =
            code == "resource_missing" && self.param.as_deref() == Some("payment_method");
        let refused = self.status == 402
            || self.kind == "card_error"
            || DECLINES.contains(&code)
            || FINAL.contains(&code)
            || no_such_method;
        refused.then(|| self.as_refusal())
    }

    /// The error in the words of a refusal.
    #[must_use]
    pub(super) fn as_refusal(&self) -> Refusal {
        Refusal {
            code: self
                .code
                .clone()
                .unwrap_or_else(|| "payment_refused".to_owned()),
            message: self.message.clone(),
        }
    }

    /// Whether the key was used before, with other parameters.
    #[must_use]
    pub(super) fn is_other_request(&self) -> bool {
        self.kind == "idempotency_error" && self.status == 400
    }

    /// Whether the key is used up by a failure: every further request with it gets
    /// this answer again.
    ///
    /// A replay says so itself. So does a plain 500 that stays after the retries: the
    /// processor keeps it, and answers 409, not 500, while a request is under way.
    #[must_use]
    pub(super) const fn is_stored_failure(&self) -> bool {
        self.status == 500 || self.status > 500 && self.replayed
    }

    /// Whether what the request names is not there.
    #[must_use]
    pub(super) fn is_missing(&self) -> bool {
        self.status == 404 || self.is("resource_missing")
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}, {}", self.status, self.kind)?;
        for (name, value) in [
            ("code", &self.code),
            ("decline code", &self.decline_code),
            ("parameter", &self.param),
            ("request", &self.request_id),
        ] {
            if let Some(value) = value {
                write!(f, ", {name} {value}")?;
            }
        }
        write!(f, ": {}", self.message)
    }
}

/// A call that brought no usable answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// Nobody answered, or not in time.
    #[error("no answer came")]
    Transport(#[source] reqwest::Error),
    /// The processor answered an error.
    #[error("{0}")]
    Api(Box<ApiError>),
    /// The answer could not be read.
    #[error("the answer to request {} cannot be read at {path}", request_id.as_deref().unwrap_or("of unknown id"))]
    Decode {
        /// Where in the answer, such as `data[0].amount`.
        path: String,
        /// What is wrong there.
        source: serde_json::Error,
        /// The processor's id of the request.
        request_id: Option<String>,
    },
    /// There is no API key for the mode.
    #[error("there is no key for the {0} mode")]
    NoKey(Mode),
    /// The request cannot be made of what was asked for.
    #[error("the request cannot be made")]
    Request(#[source] Cause),
}

impl CallError {
    /// The processor's error, when it answered one.
    #[must_use]
    pub(super) fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            _ => None,
        }
    }
}

impl From<CallError> for Doubt {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Transport(_) => Self::unreachable(error),
            CallError::NoKey(_) => Self::unconfigured(error),
            CallError::Api(_) | CallError::Decode { .. } | CallError::Request(_) => {
                Self::failed(error)
            }
        }
    }
}

/// Tells refusals from doubts.
pub(super) fn settle<T>(result: Result<T, CallError>) -> Result<Answer<T>, Doubt> {
    match result {
        Ok(value) => Ok(Answer::Done(value)),
        Err(error) => match error.api().and_then(ApiError::refusal) {
            Some(refusal) => Ok(Answer::Refused(refusal)),
            None => Err(error.into()),
        },
    }
}

/// The reason of a payment that failed.
pub(super) fn refusal(error: Option<&PaymentError>) -> Refusal {
    Refusal {
        code: error
            .and_then(|error| error.code.clone())
            .unwrap_or_else(|| "payment_refused".to_owned()),
        message: error
            .and_then(|error| error.message.clone())
            .unwrap_or_else(|| "The payment was refused.".to_owned()),
    }
}

/// Unwraps what is done, and answers a refusal at once.
macro_rules! done {
    ($answer:expr) => {
        match $answer {
            lessor_domain::ports::Answer::Done(value) => value,
            lessor_domain::ports::Answer::Refused(refusal) => {
                return Ok(lessor_domain::ports::Answer::Refused(refusal));
            }
        }
    };
}
pub(super) use done;
