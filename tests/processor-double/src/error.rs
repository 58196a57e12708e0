//! Errors as the processor answers them.

use serde_json::{Value, json};

/// An error that is answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiError {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The members of `error`.
    pub(crate) members: Value,
}

impl ApiError {
    fn new(status: u16, kind: &str, code: Option<&str>, message: &str) -> Self {
        let mut members = json!({ "type": kind, "message": message });
        if let Some(code) = code {
            members["code"] = code.into();
            members["doc_url"] = format!("https://stripe.com/docs/error-codes/{code}").into();
        }
        Self { status, members }
    }

    /// A request that will not do.
    pub(crate) fn invalid(code: Option<&str>, message: &str) -> Self {
        Self::new(400, "invalid_request_error", code, message)
    }

    /// A parameter that will not do.
    pub(crate) fn parameter(code: Option<&str>, param: &str, message: &str) -> Self {
        Self::invalid(code, message).with("param", param.into())
    }

    /// What is named in the path is not there.
    pub(crate) fn not_found(kind: &str, id: &str) -> Self {
        Self {
            status: 404,
            ..Self::missing(kind, "id", id)
        }
    }

    /// What is named by a parameter is not there.
    pub(crate) fn missing(kind: &str, param: &str, id: &str) -> Self {
        let what = kind.replace('_', " ");
        Self::parameter(
            Some("resource_missing"),
            param,
            &format!("No such {what}: '{id}'"),
        )
    }

    /// Nothing is at this path.
    pub(crate) fn no_route(method: &str, path: &str) -> Self {
        let message = format!("Unrecognized request URL ({method}: {path}).");
        Self::new(404, "invalid_request_error", None, &message)
    }

    /// No key, or one that is none.
    pub(crate) fn unauthorized() -> Self {
        let message = "You did not provide an API key, or it is none.";
        Self::new(401, "invalid_request_error", None, message)
    }

    /// The idempotency key was used for something else.
    pub(crate) fn other_request(key: &str) -> Self {
        let message = format!(
            "Keys for idempotent requests can only be used with the same parameters they were \
             first used with. Try using a key other than '{key}' if you meant to execute a \
             different request."
        );
        Self::new(400, "idempotency_error", None, &message)
    }

    /// The idempotency key is in use at this moment.
    pub(crate) fn in_flight(key: &str) -> Self {
        let message = format!(
            "There is currently another in-progress request using this Idempotency Key \
             ({key}) (that probably means you submitted twice, and the other request is still \
             going through): try again later."
        );
        Self::new(
            409,
            "idempotency_error",
            Some("idempotency_key_in_use"),
            &message,
        )
    }

    /// Too many requests.
    pub(crate) fn rate_limited() -> Self {
        let message = "Request rate limit exceeded.";
        Self::new(429, "invalid_request_error", Some("rate_limit"), message)
    }

    /// A failure of the processor's own.
    pub(crate) fn own(status: u16) -> Self {
        let message = "An unknown error occurred.";
        Self::new(status, "api_error", None, message)
    }

    /// A card that was declined.
    pub(crate) fn card(code: &str, decline_code: Option<&str>, message: &str) -> Self {
        let error = Self::new(402, "card_error", Some(code), message);
        match decline_code {
            Some(reason) => error.with("decline_code", reason.into()),
            None => error,
        }
    }

    /// The error with one more member.
    pub(crate) fn with(mut self, name: &str, value: Value) -> Self {
        self.members[name] = value;
        self
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> Value {
        json!({ "error": self.members })
    }
}
