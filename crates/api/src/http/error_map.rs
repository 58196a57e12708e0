//! What the domain's errors are to a client: the one place that knows.

use std::time::Duration;

use lessor_domain::ports::StoreError;
use lessor_domain::pricing::PricingError;
use lessor_domain::services;

use crate::http::error::ApiError;

/// When a client is told to come again after a store could not take its work.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl From<services::Error> for ApiError {
    fn from(error: services::Error) -> Self {
        match error {
            services::Error::Missing { param } => Self::missing(param),
            services::Error::Invalid { param, message }
            | services::Error::Taken { param, message } => {
                let message = format!("{param}: {message}");
                Self::invalid(param, message)
            }
            services::Error::Rule { message } => Self::invalid_request(message),
            services::Error::NotFound { what } => Self::not_found(what),
            error @ (services::Error::Forbidden(_)
            | services::Error::ForeignOrganization
            | services::Error::SandboxOnly) => Self::forbidden(error.to_string()),
            services::Error::Provider(doubt) => Self::processor_error(doubt),
            services::Error::Store(error) => error.into(),
            services::Error::Pricing(error) => error.into(),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            // These are tried again before they come here: the record is fought over.
            StoreError::Stale(_) | StoreError::Contended | StoreError::Unavailable(_) => {
                Self::unavailable(RETRY_AFTER, error)
            }
            // What a use case has to answer for itself; here it is a defect.
            StoreError::Conflict(_)
            | StoreError::Missing(_)
            | StoreError::Corrupt { .. }
            | StoreError::Internal(_) => Self::internal(error),
        }
    }
}

impl From<PricingError> for ApiError {
    /// Prices and terms are bounded when they are stored, so that every quote can be computed.
    fn from(error: PricingError) -> Self {
        Self::internal(error)
    }
}

#[cfg(test)]
mod tests {
    use lessor_domain::access::{Denied, Permission};
    use lessor_domain::ports::{Doubt, UniqueField};
    use lessor_domain::services::Error;

    use super::*;

    #[test]
    fn each_error_has_its_answer() {
        let answers = |error: Error| {
            let error = ApiError::from(error);
            (
                error.status().as_u16(),
                error.code().as_str(),
                error.param().map(str::to_owned),
            )
        };
        let param = |name: &str| Some(name.to_owned());
        for (error, answer) in [
            (
                Error::Missing { param: "a".into() },
                (400, "parameter_missing", param("a")),
            ),
            (
                Error::invalid("a.b", "is odd"),
                (400, "invalid_parameter", param("a.b")),
            ),
            (
                StoreError::Conflict(UniqueField::Sku).into(),
                (400, "invalid_parameter", param("sku")),
            ),
            (Error::rule("too early"), (400, "invalid_request", None)),
            (Error::not_found("product"), (404, "not_found", None)),
            (
                Error::forbidden(Permission::ProductRead),
                (403, "forbidden", None),
            ),
            (Denied::LiveCatalog.into(), (403, "forbidden", None)),
            (Error::ForeignOrganization, (403, "forbidden", None)),
            (Error::SandboxOnly, (403, "forbidden", None)),
            (
                Error::Provider(Doubt::failed("x")),
                (502, "processor_error", None),
            ),
            (
                StoreError::Stale("product").into(),
                (503, "unavailable", None),
            ),
            (StoreError::Contended.into(), (503, "unavailable", None)),
            (
                StoreError::unavailable("x").into(),
                (503, "unavailable", None),
            ),
            (
                StoreError::Missing("organization").into(),
                (500, "internal_server_error", None),
            ),
            (
                StoreError::internal("x").into(),
                (500, "internal_server_error", None),
            ),
        ] {
            assert_eq!(answers(error), answer);
        }
    }

    #[test]
    fn a_refusal_says_what_would_help_and_overload_when_to_come_again() {
        let error = ApiError::from(Error::forbidden(Permission::LeaseTermWrite));
        assert!(error.message().contains("LeaseTermWrite"), "{error}");
        let error = ApiError::from(Error::from(Denied::LiveCatalog));
        let setting = "--sandbox-writes-catalog on";
        assert!(error.message().contains(setting), "{error}");
        let error = ApiError::from(StoreError::Contended);
        assert!(
            error
                .headers()
                .iter()
                .any(|(name, _)| name == "retry-after"),
            "{error}"
        );
    }
}
