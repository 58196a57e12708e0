//! What tests of code on top of the domain need: a clock to set, stores in memory,
//! providers to script, records to build, and the suites that every adapter of the
//! stores has to pass. Feature `testing`; never part of a running service.

mod ambient;
mod builders;
pub mod contract;
mod events;
mod fakes;
mod fixtures;
mod memory;

pub use ambient::{FixedEntropy, ManualClock, NeverTimer, SequenceIds, context};
pub use builders::{
    ApiKeyBuilder, CheckoutBuilder, CustomerBuilder, LeaseTermBuilder, OrganizationBuilder,
    ProductBuilder, VariantBuilder, altered, metadata,
};
pub use events::{Details, card, event};
pub use fakes::{
    CallRecord, FakeCarrierDetector, FakeCreditChecker, FakeCreditDesk, FakeDialingPlan,
    FakeDocumentSigner, FakeIdentityVerifier, FakeMailSender, FakeMailWriter, FakeProcessor,
    FakeProviders, FakeRecords, FakeRenderer, FakeShipmentTracker, FakeWebhookSender, NoMessages,
    Reply, Script, SentMail, SentMessage, webhook_answer,
};
pub use fixtures::{Fixtures, first_organization_id};
pub use memory::MemoryDatabase;
