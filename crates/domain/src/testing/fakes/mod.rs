//! Providers that answer as a test has them answer.
//!
//! Without a script everything succeeds. A scripted answer is given once, in order.
//! The contract of the ports holds: a call with a key that was answered before gets
//! the same answer again.

mod mails;
mod others;
mod processor;
mod script;
mod webhooks;

use std::sync::Arc;

pub use mails::{FakeMailSender, FakeMailWriter, SentMail};
pub use others::{
    FakeCarrierDetector, FakeCreditChecker, FakeCreditDesk, FakeDialingPlan, FakeDocumentSigner,
    FakeIdentityVerifier, FakeRecords, FakeRenderer, FakeShipmentTracker, NoMessages,
};
pub use processor::FakeProcessor;
pub use script::{CallRecord, Reply, Script};
pub use webhooks::{FakeWebhookSender, SentMessage, webhook_answer};

use crate::ports::{ProviderSet, Providers};

/// One of each provider, the same in both modes.
#[derive(Debug, Clone, Default)]
pub struct FakeProviders {
    /// The payment processor.
    pub processor: Arc<FakeProcessor>,
    /// The identity verifier.
    pub identity: Arc<FakeIdentityVerifier>,
    /// The credit checker.
    pub credit: Arc<FakeCreditChecker>,
    /// The organizations' endpoints for decisions about credit.
    pub desk: Arc<FakeCreditDesk>,
    /// The organizations' signers.
    pub signer: Arc<FakeDocumentSigner>,
    /// The carriers.
    pub tracker: Arc<FakeShipmentTracker>,
}

impl FakeProviders {
    /// The providers as the services take them.
    #[must_use]
    pub fn set(&self) -> ProviderSet {
        let providers = Providers {
            processor: Arc::<FakeProcessor>::clone(&self.processor),
            identity: Arc::<FakeIdentityVerifier>::clone(&self.identity),
            credit: Arc::<FakeCreditChecker>::clone(&self.credit),
        };
        ProviderSet {
            live: providers.clone(),
            sandbox: providers,
            accounts: None,
            tracker: Some(Arc::<FakeShipmentTracker>::clone(&self.tracker)),
            desk: Arc::<FakeCreditDesk>::clone(&self.desk),
            signer: Arc::<FakeDocumentSigner>::clone(&self.signer),
            messages: Arc::new(NoMessages),
            carriers: Arc::new(FakeCarrierDetector),
            phones: Arc::new(FakeDialingPlan),
            agreements: Arc::new(FakeRenderer),
        }
    }
}
