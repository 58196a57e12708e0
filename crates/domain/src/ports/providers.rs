//! Identity verification, credit checks and carriers.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::TimeDelta;

use super::{
    AgreementRenderer, Attempt, DialingPlan, MessageReader, PaymentProcessor, ProcessorAccounts,
    Scope, Verdict,
};
use crate::access::Mode;
use crate::address::Address;
use crate::agreement::Sha256;
use crate::cause::Cause;
use crate::checkout::{CheckoutItem, Tracking};
use crate::credit::{AdverseReason, CreditDecision};
use crate::endpoint::Endpoint;
use crate::ids::{AgreementPubId, CheckoutPubId, CustomerPubId, OrganizationPubId};
use crate::money::Money;
use crate::pricing::Quote;
use crate::shipments::{Carrier, CarrierError, CarrierReport, TrackingNumber};
use crate::text::Line;
use crate::time::Day;

/// Nobody knows whether the work was done: ask again with the same key. What the
/// provider said, or the way to it, is the error's source;
/// [`chain`](crate::cause::chain) tells it all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// The provider could not be reached, or did not answer in time.
    #[error("the provider could not be reached")]
    Unreachable(#[source] Cause),
    /// The provider answered what could not be understood, or that it failed.
    #[error("the provider failed")]
    Failed(#[source] Cause),
    /// No provider is set up for the mode.
    #[error("no provider is configured")]
    Unconfigured(#[source] Cause),
    /// The provider does not answer now, and says how long it wants to be left alone.
    #[error("the provider is busy")]
    Busy {
        #[source]
        cause: Cause,
        /// From now on.
        retry_after: TimeDelta,
    },
}

impl Doubt {
    /// [`Doubt::Unreachable`], of what was met on the way.
    pub fn unreachable(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unreachable(Cause::new(error))
    }

    /// [`Doubt::Failed`], of what the provider answered.
    pub fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(Cause::new(error))
    }

    /// [`Doubt::Busy`], of what the provider answered.
    pub fn busy(error: impl Into<Box<dyn Error + Send + Sync>>, retry_after: TimeDelta) -> Self {
        Self::Busy {
            cause: Cause::new(error),
            retry_after,
        }
    }

    /// How long the provider wants to be left alone, where it says so.
    #[must_use]
    pub const fn retry_after(&self) -> Option<TimeDelta> {
        match self {
            Self::Busy { retry_after, .. } => Some(*retry_after),
            Self::Unreachable(_) | Self::Failed(_) | Self::Unconfigured(_) => None,
        }
    }

    /// [`Doubt::Unconfigured`], of what is missing.
    pub fn unconfigured(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unconfigured(Cause::new(error))
    }
}

/// Somebody who is to be verified or checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Our id of the customer.
    pub id: CustomerPubId,
    /// The e-mail address.
    pub email: String,
    /// Given name.
    pub first_name: Option<String>,
    /// Family name.
    pub last_name: Option<String>,
    /// When they were born, where that is known.
    pub birth_date: Option<Day>,
    /// Where they live.
    pub address: Option<Address>,
}

/// An open identity verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentitySession {
    /// The verifier's id.
    pub id: String,
    /// Where the customer goes on, when the verifier has a page of its own.
    pub url: Option<String>,
}

/// How an identity verification stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityProgress {
    /// What was decided.
    pub result: IdentityResult,
    /// Where the customer goes on, while they have something to do and the verifier has a page of its
    /// own. It is good for one visit.
    pub url: Option<String>,
}

/// What the verifier decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdentityResult {
    /// The customer has something to do.
    AwaitingCustomer,
    /// Not decided.
    Processing,
    /// The customer is who they say.
    Verified,
    /// The session ended without an answer.
    Abandoned,
    /// The customer is not who they say.
    Refused,
}

/// Verifies who somebody is.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait IdentityVerifier: Send + Sync {
    /// Opens a session. A verifier with a page of its own sends the customer back to `return_url`.
    async fn start(
        &self,
        attempt: &Attempt,
        checkout: CheckoutPubId,
        person: &Person,
        return_url: Option<String>,
    ) -> Result<Verdict<IdentitySession>, Doubt>;
    /// What was decided.
    async fn result(&self, scope: Scope, session_id: &str) -> Result<IdentityResult, Doubt>;
    /// What was decided, and where the customer goes on.
    async fn progress(&self, scope: Scope, session_id: &str) -> Result<IdentityProgress, Doubt> {
        Ok(IdentityProgress {
            result: self.result(scope, session_id).await?,
            url: None,
        })
    }
}

/// Checks credit: done means passed, refused means failed.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait CreditChecker: Send + Sync {
    /// Checks the person's credit for a lease of this size.
    async fn check(
        &self,
        attempt: &Attempt,
        person: &Person,
        quote: Option<Quote>,
    ) -> Result<Verdict<()>, Doubt>;
}

/// What an organization's endpoint is asked to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditRequest {
    pub checkout: CheckoutPubId,
    pub organization: OrganizationPubId,
    /// The lessee.
    pub person: Person,
    /// What is leased.
    pub items: Vec<CheckoutItem>,
    /// What the lease costs, once a term is chosen.
    pub quote: Option<Quote>,
    /// All payments and what is authorized at signing, once a term is chosen.
    pub amount: Option<Money>,
}

/// What an organization's endpoint answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreditAnswer {
    /// It has decided.
    Decided {
        decision: CreditDecision,
        /// Why it was declined.
        reasons: Vec<AdverseReason>,
        /// What the organization knows the decision by.
        reference: Option<Line>,
    },
    /// It will say so later.
    Pending,
}

/// Asks organizations' endpoints for decisions about credit.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait CreditDesk: Send + Sync {
    /// Asks for the decision. The same attempt about the same request is the same question, byte for
    /// byte and by the same id; where the request differs it is another one. Whatever is no decision
    /// of the agreed form is [`Doubt`].
    async fn ask(
        &self,
        attempt: &Attempt,
        endpoint: &Endpoint,
        request: &CreditRequest,
    ) -> Result<CreditAnswer, Doubt>;
}

/// What an organization's signer is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureRequest {
    pub checkout: CheckoutPubId,
    pub document: AgreementPubId,
    /// Of the bytes.
    pub sha256: Sha256,
    /// The document's bytes.
    pub pdf: Vec<u8>,
    /// First and last name of who is to sign.
    pub name: String,
    /// Where they are written to.
    pub email: String,
}

/// Sends documents to organizations' signers.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait DocumentSigner: Send + Sync {
    /// Sends the document, which the signer takes. The same attempt about the same document is the same
    /// request, byte for byte and by the same id. Whoever does not say that it was taken leaves [`Doubt`].
    async fn send(
        &self,
        attempt: &Attempt,
        endpoint: &Endpoint,
        request: &SignatureRequest,
    ) -> Result<(), Doubt>;
}

/// Asks carriers where shipments are.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ShipmentTracker: Send + Sync {
    /// Everything the carrier reported of the shipment.
    async fn reports(&self, tracking: &Tracking) -> Result<Vec<CarrierReport>, Doubt>;
}

/// Tells carriers by their numbers.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait CarrierDetector: Send + Sync {
    /// The carrier of the number. It is told at once, from the number alone: nobody is
    /// asked, and the same number is always the same carrier's.
    ///
    /// # Errors
    /// [`CarrierError::None`] when the number has the form of none of our carriers;
    /// [`CarrierError::Ambiguous`] when a carrier that Lessor does not track has the
    /// same form and the number is good for both.
    fn detect(&self, number: &TrackingNumber) -> Result<Carrier, CarrierError>;
}

/// The providers of one mode.
#[derive(Clone)]
pub struct Providers {
    /// The payment processor.
    pub processor: Arc<dyn PaymentProcessor>,
    /// The identity verifier.
    pub identity: Arc<dyn IdentityVerifier>,
    /// The credit checker.
    pub credit: Arc<dyn CreditChecker>,
}

/// The providers of both modes.
#[derive(Clone)]
pub struct ProviderSet {
    /// Real money.
    pub live: Providers,
    /// Simulated.
    pub sandbox: Providers,
    /// Organizations' own accounts at the payment processor, where any can have one. The processor of a
    /// mode chooses by itself whose account a call is for that names an organization.
    pub accounts: Option<Arc<dyn ProcessorAccounts>>,
    /// Carriers that are asked, where any are.
    pub tracker: Option<Arc<dyn ShipmentTracker>>,
    /// Who asks organizations for their decisions.
    pub desk: Arc<dyn CreditDesk>,
    /// Who sends documents to organizations' signers.
    pub signer: Arc<dyn DocumentSigner>,
    /// How the processor's messages are read.
    pub messages: Arc<dyn MessageReader>,
    /// How carriers are told by number.
    pub carriers: Arc<dyn CarrierDetector>,
    /// How phone numbers are read.
    pub phones: Arc<dyn DialingPlan>,
    /// What makes the documents that are signed.
    pub agreements: Arc<dyn AgreementRenderer>,
}

impl ProviderSet {
    /// The providers of the mode.
    #[must_use]
    pub const fn of(&self, mode: Mode) -> &Providers {
        match mode {
            Mode::Live => &self.live,
            Mode::Sandbox => &self.sandbox,
        }
    }
}
