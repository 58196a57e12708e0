//! Where customers sign.

use crate::endpoint::Endpoint;
use crate::names::named_enum;

named_enum! {
    /// Where a document is signed.
    pub enum SignerKind {
        /// On the checkout page.
        Builtin = "builtin",
        /// With a system of the organization, which is sent the document and tells who signed it.
        Http = "http",
    }
}

/// How an organization has its agreements signed in a mode.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Signer {
    /// [`SignerKind::Builtin`]; also of an organization that has said nothing of it.
    #[default]
    Builtin,
    /// [`SignerKind::Http`].
    Http(Endpoint),
}

impl Signer {
    /// Which way it is.
    #[must_use]
    pub const fn kind(&self) -> SignerKind {
        match self {
            Self::Builtin => SignerKind::Builtin,
            Self::Http(_) => SignerKind::Http,
        }
    }
}
