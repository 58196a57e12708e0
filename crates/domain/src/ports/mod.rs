//! What the domain needs of the world: stores, providers, time and chance.
//!
//! Every port is object-safe. Stores are reached through a [`UnitOfWork`]; look-ups
//! answer `Result<Option<T>, StoreError>`; writes are compare-and-set on the
//! entity's `version` and tell stale from missing.

mod agreements;
mod ambient;
mod audit;
mod categories;
mod checkouts;
mod credit;
mod cursors;
mod customers;
mod deliveries;
mod dialing;
mod doors;
mod events;
mod idempotency;
mod inbox;
mod jobs;
mod keys;
mod lease_terms;
mod ledger;
mod mails;
#[cfg(feature = "mock")]
mod mock;
mod organizations;
mod paging;
mod personal_data;
mod processor;
mod processor_accounts;
mod processor_event;
mod products;
mod providers;
mod shipments;
mod store_error;
mod unit_of_work;
mod variants;
mod webhook_endpoints;

pub use agreements::{AgreementRenderer, AgreementStore, NewAgreement, RenderError};
pub use ambient::{Clock, Entropy, IdGenerator, Timer};
pub use audit::{AuditFilter, AuditStore};
pub use categories::{CategoryStore, NewCategory};
pub use checkouts::{
    CheckoutFilter, CheckoutSort, CheckoutStore, HistoryEntry, InsertedCheckout, PageToken, Scope,
    Surroundings,
};
pub use credit::{CreditPolicyStore, QualificationStore};
pub use cursors::CursorStore;
pub use customers::{CustomerFilter, CustomerStore, InsertedCustomer, NewCustomer};
pub use deliveries::{DeliveryClaim, DeliveryStore, WebhookMessage, WebhookSender};
pub use dialing::DialingPlan;
pub use doors::{Doors, Errand, StateCounts};
pub use events::{
    Changes, Edition, EventFilter, EventListener, EventMessage, EventRecords, EventStore,
    EventView, Stretch, Told,
};
pub use idempotency::{IdempotencyKey, IdempotencyStore, StoredAnswer};
pub use inbox::{InboxMessage, InboxRecord, InboxState, InboxStore, MessageReader};
pub use jobs::{Backlog, Job, JobFilter, JobState, JobStore, JobSubject, NewJob};
pub use keys::{KeyHolder, KeyStore};
pub use lease_terms::{DeletedTerm, LeaseTermStore, NewLeaseTerm};
pub use ledger::{Held, LedgerStore};
pub use mails::{
    Attachment, MailBacklog, MailFilter, MailMatter, MailMessage, MailSender, MailStore, MailText,
    MailTextError, MailView, MailWriter,
};
pub use organizations::{
    NewOrganization, NewPickupLocation, OrganizationStore, PickupLocationStore,
};
pub use paging::{Page, SortOrder, Start};
pub use personal_data::{Erasure, PersonalDataStore, PersonalTable, Removal, ReplacementAnswer};
pub use processor::{
    Attempt, Capture, DepositRequest, PaymentProcessor, ProcessorCustomer, ProcessorProduct,
    ProcessorVariant, SessionItem, SessionRequest, SessionWanted, SubscriptionRequest, Verdict,
    VoidResult, WalkPage,
};
pub use processor_accounts::{ProcessorAccountStore, ProcessorAccounts};
pub use processor_event::{OurIds, ProcessorEvent, ProcessorFact};
pub use products::{ProductFilter, ProductPage, ProductSort, ProductStore};
pub use providers::{
    CarrierDetector, CreditAnswer, CreditChecker, CreditDesk, CreditRequest, DocumentSigner, Doubt,
    IdentityProgress, IdentityResult, IdentitySession, IdentityVerifier, Person, ProviderSet,
    Providers, ShipmentTracker, SignatureRequest,
};
pub use shipments::ShipmentStore;
pub use store_error::{StoreError, UniqueField};
pub use unit_of_work::{Database, Reach, UnitOfWork};
pub use variants::{Offer, VariantSelection, VariantStore};
pub use webhook_endpoints::WebhookEndpointStore;

#[cfg(feature = "mock")]
pub use {
    agreements::{MockAgreementRenderer, MockAgreementStore},
    ambient::{MockClock, MockEntropy, MockIdGenerator, MockTimer},
    audit::MockAuditStore,
    categories::MockCategoryStore,
    checkouts::MockCheckoutStore,
    credit::{MockCreditPolicyStore, MockQualificationStore},
    cursors::MockCursorStore,
    customers::MockCustomerStore,
    deliveries::{MockDeliveryStore, MockWebhookSender},
    dialing::MockDialingPlan,
    doors::MockDoors,
    events::MockEventStore,
    idempotency::MockIdempotencyStore,
    inbox::{MockInboxStore, MockMessageReader},
    jobs::MockJobStore,
    keys::MockKeyStore,
    lease_terms::MockLeaseTermStore,
    ledger::MockLedgerStore,
    mails::{MockMailSender, MockMailStore},
    mock::{MockDatabase, MockUnitOfWork},
    organizations::{MockOrganizationStore, MockPickupLocationStore},
    personal_data::MockPersonalDataStore,
    processor::MockPaymentProcessor,
    processor_accounts::{MockProcessorAccountStore, MockProcessorAccounts},
    products::MockProductStore,
    providers::{
        MockCarrierDetector, MockCreditChecker, MockCreditDesk, MockDocumentSigner,
        MockIdentityVerifier, MockShipmentTracker,
    },
    shipments::MockShipmentStore,
    variants::MockVariantStore,
    webhook_endpoints::MockWebhookEndpointStore,
};
