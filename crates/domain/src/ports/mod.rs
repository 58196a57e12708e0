//! What the domain needs of the world: stores, providers, time and chance.
//!
//! Every port is object-safe. Stores are reached through a [`UnitOfWork`]; look-ups
//! answer `Result<Option<T>, StoreError>`; writes are compare-and-set on the
//! entity's `version` and tell stale from missing.

mod ambient;
mod catalog;
mod checkouts;
mod cursors;
mod customers;
mod dialing;
mod idempotency;
mod inbox;
mod keys;
mod lease_terms;
mod ledger;
#[cfg(feature = "mock")]
mod mock;
mod organizations;
mod outbox;
mod paging;
mod processor;
mod processor_event;
mod providers;
mod store_error;
mod tracking;
mod unit_of_work;

pub use ambient::{Clock, Entropy, IdGenerator, Timer};
pub use catalog::{
    CategoryStore, NewCategory, ProductFilter, ProductSort, ProductStore, VariantFilter,
    VariantSelection, VariantStore,
};
pub use checkouts::{
    CheckoutFilter, CheckoutSort, CheckoutStore, InsertedCheckout, Scope, Stamped,
};
pub use cursors::CursorStore;
pub use customers::{CustomerFilter, CustomerStore, InsertedCustomer, NewCustomer};
pub use dialing::DialingPlan;
pub use idempotency::{IdempotencyKey, IdempotencyStore, StoredAnswer};
pub use inbox::{InboxMessage, InboxRecord, InboxState, InboxStore, MessageReader};
pub use keys::{KeyHolder, KeyStore};
pub use lease_terms::{DeletedTerm, LeaseTermStore, NewLeaseTerm};
pub use ledger::{Held, LedgerStore};
pub use organizations::{
    NewOrganization, NewPickupLocation, OrganizationStore, PickupLocationStore,
};
pub use outbox::{Backlog, Job, JobFilter, JobState, JobSubject, NewJob, OutboxStore};
pub use paging::{Page, SortOrder, Start};
pub use processor::{
    Answer, Call, Capture, DepositRequest, PaymentProcessor, ProcessorCustomer, ProcessorProduct,
    ProcessorVariant, SubscriptionRequest, Voided, Walked,
};
pub use processor_event::{OurIds, ProcessorEvent, ProcessorFact};
pub use providers::{
    CarrierDetector, CreditChecker, DocumentSigner, Doubt, IdentityResult, IdentitySession,
    IdentityVerifier, LeaseDocument, Person, ProviderSet, Providers, ShipmentTracker,
};
pub use store_error::{StoreError, UniqueField};
pub use tracking::TrackingStore;
pub use unit_of_work::{Database, UnitOfWork};

#[cfg(feature = "mock")]
pub use {
    ambient::{MockClock, MockEntropy, MockIdGenerator, MockTimer},
    catalog::{MockCategoryStore, MockProductStore, MockVariantStore},
    checkouts::MockCheckoutStore,
    cursors::MockCursorStore,
    customers::MockCustomerStore,
    dialing::MockDialingPlan,
    idempotency::MockIdempotencyStore,
    inbox::{MockInboxStore, MockMessageReader},
    keys::MockKeyStore,
    lease_terms::MockLeaseTermStore,
    ledger::MockLedgerStore,
    mock::{MockDatabase, MockUnitOfWork},
    organizations::{MockOrganizationStore, MockPickupLocationStore},
    outbox::MockOutboxStore,
    processor::MockPaymentProcessor,
    providers::{
        MockCarrierDetector, MockCreditChecker, MockDocumentSigner, MockIdentityVerifier,
        MockShipmentTracker,
    },
    tracking::MockTrackingStore,
};
