//! Why a use case refuses.

use crate::access::{Denied, Permission};
use crate::checkout::TransitionError;
use crate::ports::{Doubt, StoreError};
use crate::pricing::PricingError;

/// Why a use case refuses or fails. It knows no HTTP status; each edge maps it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A parameter that is needed is missing.
    #[error("{param} is required")]
    Missing {
        /// Its path, such as `customer.email`.
        param: String,
    },
    /// A parameter has a value that it cannot have.
    #[error("{param} {message}")]
    Invalid {
        /// Its path, such as `options[1].values`.
        param: String,
        /// What is wrong and what is allowed.
        message: String,
    },
    /// A parameter has a value that somebody has already: a moment later it may be free.
    #[error("{param} {message}")]
    Taken {
        /// Its path.
        param: String,
        /// What is wrong and what is allowed.
        message: String,
    },
    /// The state of things forbids it.
    #[error("{message}")]
    Rule {
        /// What is in the way.
        message: String,
    },
    /// It does not exist, or the caller may not know of it.
    #[error("no such {what}")]
    NotFound {
        /// What was looked for.
        what: &'static str,
    },
    /// The key may not.
    #[error(transparent)]
    Forbidden(#[from] Denied),
    /// The key cannot act for the organization that the request names.
    #[error("the API key cannot act for this organization")]
    ForeignOrganization,
    /// Only sandbox keys can do this.
    #[error("this is possible in sandbox mode only: use a sandbox key")]
    SandboxOnly,
    /// A provider refused or could not be reached where the step cannot wait.
    #[error("{0}")]
    Provider(#[from] Doubt),
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
    /// A price cannot be computed.
    #[error(transparent)]
    Pricing(#[from] PricingError),
}

impl Error {
    /// [`Error::Invalid`].
    #[expect(
        clippy::needless_pass_by_value,
        reason = "errors are handed over where they are met"
    )]
    pub fn invalid(param: impl Into<String>, message: impl ToString) -> Self {
        Self::Invalid {
            param: param.into(),
            message: message.to_string(),
        }
    }

    /// [`Error::Taken`].
    pub fn taken(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Taken {
            param: param.into(),
            message: message.into(),
        }
    }

    /// [`Error::Rule`].
    pub fn rule(message: impl Into<String>) -> Self {
        Self::Rule {
            message: message.into(),
        }
    }

    /// [`Error::NotFound`].
    #[must_use]
    pub const fn not_found(what: &'static str) -> Self {
        Self::NotFound { what }
    }

    /// [`Error::Forbidden`] to a key that lacks the permission.
    #[must_use]
    pub const fn forbidden(permission: Permission) -> Self {
        Self::Forbidden(Denied::Permission(permission))
    }
}

impl From<StoreError> for Error {
    /// What must be unique names the parameter that collides.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict(field) => Self::taken(
                field.as_str(),
                "is used already, and has to be unique within the organization",
            ),
            other => Self::Store(other),
        }
    }
}

impl From<TransitionError> for Error {
    fn from(error: TransitionError) -> Self {
        Self::rule(error.to_string())
    }
}

/// What an update does to an optional member.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// Leaves it as it is.
    #[default]
    Keep,
    /// Takes it away.
    Clear,
    Set(T),
}

/// `None` keeps, `Some(None)` clears: what a document says that tells a member that is left out from
/// one that is null.
impl<T> From<Option<Option<T>>> for Patch<T> {
    fn from(given: Option<Option<T>>) -> Self {
        match given {
            None => Self::Keep,
            Some(None) => Self::Clear,
            Some(Some(value)) => Self::Set(value),
        }
    }
}

impl<T> Patch<T> {
    /// Applies the update.
    pub fn apply(self, member: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *member = None,
            Self::Set(value) => *member = Some(value),
        }
    }

    /// Whether the member is left as it is.
    #[must_use]
    pub const fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }

    /// The update with its value converted.
    ///
    /// # Errors
    /// What the conversion gives.
    pub fn try_map<U, E>(self, convert: impl FnOnce(T) -> Result<U, E>) -> Result<Patch<U>, E> {
        Ok(match self {
            Self::Keep => Patch::Keep,
            Self::Clear => Patch::Clear,
            Self::Set(value) => Patch::Set(convert(value)?),
        })
    }
}
