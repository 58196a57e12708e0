//! The machine-readable reasons of refusals and failures, and what the reference says of each.

use actix_web::http::StatusCode;

/// The machine-readable reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A required parameter is absent.
    ParameterMissing,
    /// A parameter has a value or type that is not accepted.
    InvalidParameter,
    /// The request is refused for another reason.
    InvalidRequest,
    /// The key is missing, invalid, revoked or expired.
    Unauthorized,
    /// The key may not do this.
    Forbidden,
    /// The resource does not exist, or not for this key.
    NotFound,
    /// A request with the same idempotency key is being worked on.
    IdempotencyInProgress,
    /// Too many requests.
    RateLimited,
    /// The service failed.
    InternalServerError,
    /// The payment processor refused or could not be reached.
    ProcessorError,
    /// The service cannot take the request now.
    Unavailable,
}

impl Code {
    /// Every code, in the order of the reference.
    pub const ALL: [Self; 11] = [
        Self::ParameterMissing,
        Self::InvalidParameter,
        Self::InvalidRequest,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotFound,
        Self::IdempotencyInProgress,
        Self::RateLimited,
        Self::InternalServerError,
        Self::ProcessorError,
        Self::Unavailable,
    ];

    /// The code as it stands in `error.code`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ParameterMissing => "parameter_missing",
            Self::InvalidParameter => "invalid_parameter",
            Self::InvalidRequest => "invalid_request",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::IdempotencyInProgress => "idempotency_in_progress",
            Self::RateLimited => "rate_limited",
            Self::InternalServerError => "internal_server_error",
            Self::ProcessorError => "processor_error",
            Self::Unavailable => "unavailable",
        }
    }

    /// The statuses that carry the code.
    #[must_use]
    pub const fn statuses(self) -> &'static [u16] {
        match self {
            Self::ParameterMissing | Self::InvalidParameter => &[400],
            Self::InvalidRequest => &[400, 405, 408, 413, 414, 415, 431],
            Self::Unauthorized => &[401],
            Self::Forbidden => &[403],
            Self::NotFound => &[404],
            Self::IdempotencyInProgress => &[409],
            Self::RateLimited => &[429],
            Self::InternalServerError => &[500],
            Self::ProcessorError => &[502],
            Self::Unavailable => &[503],
        }
    }

    /// What happened and what the caller can do, for the reference.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::ParameterMissing => {
                "A required parameter was left out, or was null when something was created. \
                 error.param is its path in the body, or the query parameter. Send it."
            }
            Self::InvalidParameter => {
                "A parameter has a type or value that is not accepted, collides with a value in use \
                 (sku, externalId, externalOrderId), or is not known here. error.param is its path, \
                 error.message says what is allowed. Correct it; repeating the same request fails again."
            }
            Self::InvalidRequest => {
                "The request cannot be carried out as it is: the body is not JSON (400), the state of the \
                 resource forbids the step (400, the message names the state or the missing steps), the \
                 method is not allowed (405, see the Allow header), head or body came too slowly (408), the \
                 body is too large (413) or not application/json (415), the address is too long (414), the \
                 headers are (431)."
            }
            Self::Unauthorized => {
                "The Authorization header is missing, or its API key is invalid, revoked or expired. \
                 Send Authorization: Bearer <API_KEY> with a key that is in force."
            }
            Self::Forbidden => {
                "The API key is valid but may not do this; the message names the missing permission, or what \
                 keeps a key of this mode or kind from it. Use a key that may."
            }
            Self::NotFound => {
                "The resource does not exist, was deleted, or belongs to an organization that the key has \
                 no access to. The answer is the same in each case."
            }
            Self::IdempotencyInProgress => {
                "A request with the same Idempotency-Key is still being worked on. Repeat the request \
                 later with the same key to get its answer."
            }
            Self::RateLimited => {
                "Too many requests with this API key, or from this address without a secret one that is in force. \
                 Wait as long as the Retry-After header says."
            }
            Self::InternalServerError => {
                "The service failed. The request may be repeated, a POST with the same Idempotency-Key. \
                 Tell support the request id that the Request-Id header carries."
            }
            Self::ProcessorError => {
                "The payment processor refused or could not be reached in a step that cannot be deferred. \
                 Repeat the request later, a POST with the same Idempotency-Key."
            }
            Self::Unavailable => {
                "The service cannot take the request now: its database cannot be reached or it is at its \
                 limit of load. Wait as long as the Retry-After header says."
            }
        }
    }

    /// The code that an answer of this status carries when nothing more precise is known.
    #[must_use]
    pub fn of_status(status: StatusCode) -> Self {
        match status.as_u16() {
            401 => Self::Unauthorized,
            403 => Self::Forbidden,
            404 => Self::NotFound,
            409 => Self::IdempotencyInProgress,
            429 => Self::RateLimited,
            502 => Self::ProcessorError,
            503 => Self::Unavailable,
            500.. => Self::InternalServerError,
            _ => Self::InvalidRequest,
        }
    }
}
