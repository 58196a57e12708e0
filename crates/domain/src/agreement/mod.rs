//! The agreement of a lease: what it says, how it is signed, and the record of that.
//!
//! [`Agreement`] is the content as a value. Whoever renders it makes the document of it, whose bytes are kept
//! with their [`Sha256`]; the record of what was done with the document ([`Trail`]) begins with that hash, and
//! each entry is hashed with the one before it.

mod consent;
mod content;
mod sha256;
mod signer;
mod trail;

pub use consent::{
    ACCEPTANCE_TEXT, ACCEPTANCE_VERSION, CONSENT_TEXT, CONSENT_TEXT_SPANISH, CONSENT_VERSION,
    CONSENT_VERSION_SPANISH, Signature, is_name_of,
};
pub(crate) use content::Subject;
pub use content::{Agreement, AgreementTerms, Contact, Figures, Good, Handover, Lessee, Lessor};
pub use sha256::{HashError, Sha256};
pub use signer::{Signer, SignerKind};
pub use trail::{
    AgreementEvent, AgreementEventKind, AgreementRecord, Break, Happening, Signed, Trail,
};
