//! What can go wrong in a call, with everything that support asks for.

use std::fmt;

use lessor_domain::access::Mode;
use lessor_domain::cause::Cause;
use lessor_domain::checkout::Refusal;
use lessor_domain::ports::{Doubt, Verdict};
use serde::Deserialize;

use super::wire_payments::PaymentError;

/// The type of requests that will not do.
const INVALID: &str = "invalid_request_error";
/// The code of a refusal that has none.
const UNSAID: &str = "payment_refused";

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

/// Codes of requests that would do at another time or with another key: the account, the key or the
/// moment is at fault, and a person or time mends it.
const PASSING: &[&str] = &[
    "account_invalid",
    "api_key_expired",
    "balance_insufficient",
    "idempotency_key_in_use",
    "livemode_mismatch",
    "lock_timeout",
    "platform_api_key_expired",
    "rate_limit",
    "secret_key_required",
    "testmode_charges_only",
    "tls_version_unsupported",
];

/// What a bank advises of a card that is never to be charged again.
const NEVER_AGAIN: &str = "do_not_try_again";

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
    /// What the bank advises, such as `do_not_try_again`.
    pub(super) advice_code: Option<String>,
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

#[derive(Deserialize, Default)]
struct Body {
    #[serde(rename = "type")]
    kind: Option<String>,
    code: Option<String>,
    decline_code: Option<String>,
    advice_code: Option<String>,
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
        let body = parsed.map_or_else(Body::default, |envelope| envelope.error);
        let unsaid = || "the answer carries no message".to_owned();
        Self {
            status,
            kind: body.kind.unwrap_or_else(|| "unknown".to_owned()),
            code: body.code,
            decline_code: body.decline_code,
            advice_code: body.advice_code,
            message: body.message.unwrap_or_else(unsaid),
            param: body.param,
            request_id,
            replayed,
        }
    }

    /// Whether the error has this code.
    #[must_use]
    pub(super) fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    /// The refusal, when the error is one: a decline, told by the status 402 or by its code; a
    /// payment method that is none; an amount that cannot be charged; a request that will not do,
    /// which is the same request the next time.
    ///
    /// Keys that are withdrawn (401, 403) and failures of the processor's own are none.
    #[must_use]
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let code = self.code.as_deref().unwrap_or_default();
        let no_such_method =
            code == "resource_missing" && self.param.as_deref() == Some("payment_method");
        let will_not_do =
            matches!(self.status, 400 | 404) && self.kind == INVALID && !PASSING.contains(&code);
        let refused = self.status == 402
            || self.kind == "card_error"
            || DECLINES.contains(&code)
            || FINAL.contains(&code)
            || no_such_method
            || will_not_do;
        refused.then(|| self.as_refusal())
    }

    /// The error in the words of a refusal.
    #[must_use]
    pub(super) fn as_refusal(&self) -> Refusal {
        let unsaid = match self.kind.as_str() {
            INVALID => INVALID,
            _ => UNSAID,
        };
        Refusal {
            code: self.code.clone().unwrap_or_else(|| unsaid.to_owned()),
            message: self.message.clone(),
        }
    }

    /// The refusal, with the bank's own reason in the place of the processor's.
    #[must_use]
    pub(super) fn as_precise_refusal(&self) -> Refusal {
        precise(
            self.as_refusal(),
            self.decline_code.as_deref(),
            self.advice_code.as_deref(),
        )
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
    Transport(#[source] Cause),
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
pub(super) fn settle<T>(result: Result<T, CallError>) -> Result<Verdict<T>, Doubt> {
    match result {
        Ok(value) => Ok(Verdict::Done(value)),
        Err(error) => match error.api().and_then(ApiError::refusal) {
            Some(refusal) => Ok(Verdict::Refused(refusal)),
            None => Err(error.into()),
        },
    }
}

/// The reason of a payment that failed.
pub(super) fn refusal(error: Option<&PaymentError>) -> Refusal {
    Refusal {
        code: error
            .and_then(|error| error.code.clone())
            .unwrap_or_else(|| UNSAID.to_owned()),
        message: error
            .and_then(|error| error.message.clone())
            .unwrap_or_else(|| "The payment was refused.".to_owned()),
    }
}

/// The reason of a payment that failed, in the bank's own word.
pub(super) fn precise_refusal(error: Option<&PaymentError>) -> Refusal {
    precise(
        refusal(error),
        error.and_then(|error| error.decline_code.as_deref()),
        error.and_then(|error| error.advice_code.as_deref()),
    )
}

/// Whether a card may be charged again tells the bank's reason, or its advice never to, not the
/// processor's code, which is `card_declined` for nearly all of them.
fn precise(refusal: Refusal, decline_code: Option<&str>, advice_code: Option<&str>) -> Refusal {
    let advice = advice_code.filter(|advice| *advice == NEVER_AGAIN);
    match advice.or(decline_code) {
        Some(code) => Refusal {
            code: code.to_owned(),
            ..refusal
        },
        None => refusal,
    }
}

/// Unwraps what is done, and answers a refusal at once.
macro_rules! done {
    ($answer:expr) => {
        match $answer {
            lessor_domain::ports::Verdict::Done(value) => value,
            lessor_domain::ports::Verdict::Refused(refusal) => {
                return Ok(lessor_domain::ports::Verdict::Refused(refusal));
            }
        }
    };
}
pub(super) use done;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(status: u16, kind: &str, code: Option<&str>) -> Option<String> {
        let error = json!({ "error": { "type": kind, "code": code, "message": "No." } });
        let error = ApiError::read(status, None, false, error.to_string().as_bytes());
        error.refusal().map(|refusal| refusal.code)
    }

    #[test]
    fn what_will_never_do_is_refused_and_what_may_pass_is_doubt() {
        for (status, kind, code, refused) in [
            // Requests that are the same the next time.
            (400, INVALID, None, Some(INVALID)),
            (
                400,
                INVALID,
                Some("parameter_unknown"),
                Some("parameter_unknown"),
            ),
            (
                400,
                INVALID,
                Some("resource_missing"),
                Some("resource_missing"),
            ),
            (
                400,
                INVALID,
                Some("charge_disputed"),
                Some("charge_disputed"),
            ),
            (
                404,
                INVALID,
                Some("resource_missing"),
                Some("resource_missing"),
            ),
            (402, INVALID, None, Some(INVALID)),
            // Declines.
            (
                402,
                "card_error",
                Some("card_declined"),
                Some("card_declined"),
            ),
            (402, "api_error", None, Some(UNSAID)),
            (
                400,
                "card_error",
                Some("expired_card"),
                Some("expired_card"),
            ),
            (409, INVALID, Some("card_declined"), Some("card_declined")),
            // The key of the request, not the request.
            (400, "idempotency_error", None, None),
            (
                409,
                "idempotency_error",
                Some("idempotency_key_in_use"),
                None,
            ),
            (400, INVALID, Some("idempotency_key_in_use"), None),
            // The moment.
            (409, INVALID, None, None),
            (429, INVALID, Some("rate_limit"), None),
            (429, INVALID, Some("lock_timeout"), None),
            (400, INVALID, Some("lock_timeout"), None),
            (400, INVALID, Some("balance_insufficient"), None),
            (424, INVALID, Some("external"), None),
            // The account and its keys.
            (401, INVALID, None, None),
            (401, INVALID, Some("api_key_expired"), None),
            (403, INVALID, Some("more_permissions_required"), None),
            (400, INVALID, Some("testmode_charges_only"), None),
            // The processor's own, and what stands before it.
            (500, "api_error", None, None),
            (503, "api_error", None, None),
            (400, "api_error", None, None),
            (404, "unknown", None, None),
        ] {
            assert_eq!(
                judged(status, kind, code).as_deref(),
                refused,
                "{status} {kind} {code:?}"
            );
        }
        let page = ApiError::read(404, None, false, b"<h1>Not found</h1>");
        assert_eq!(page.refusal(), None);
    }

    #[test]
    fn the_banks_own_reason_tells_whether_to_ask_again() {
        for (decline, advice, code) in [
            (None, None, "card_declined"),
            (
                Some("insufficient_funds"),
                Some("try_again_later"),
                "insufficient_funds",
            ),
            (Some("lost_card"), None, "lost_card"),
            (Some("generic_decline"), Some(NEVER_AGAIN), NEVER_AGAIN),
        ] {
            let error = PaymentError {
                code: Some("card_declined".to_owned()),
                decline_code: decline.map(ToOwned::to_owned),
                advice_code: advice.map(ToOwned::to_owned),
                message: None,
            };
            assert_eq!(precise_refusal(Some(&error)).code, code);
        }
    }
}
