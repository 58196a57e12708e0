//! What is kept in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::access::{ApiKey, Mode};
use crate::agreement::{AgreementEvent, AgreementRecord, AgreementTerms, Signer};
use crate::audit::AuditEvent;
use crate::catalog::{Category, Product, ProductVariant};
use crate::checkout::{Checkout, Tracking, WayOut};
use crate::credit::{CreditPolicy, Qualification};
use crate::customer::Customer;
use crate::events::NewEvent;
use crate::ids::{
    AgreementPubId, ApiKeyPubId, AuditEventPubId, CheckoutPubId, CustomerPubId, DeliveryPubId,
    LeaseTermPubId, MailPubId, OrganizationId, PickupLocationId, ProductCategoryPubId,
    ProductPubId, ProductVariantPubId, UserId, UserPubId, WebhookEndpointPubId,
};
use crate::lease_term::LeaseTerm;
use crate::ledger::Entry;
use crate::mail::{Mail, SuppressionReason};
use crate::organization::{Organization, PickupLocation};
use crate::ports::{
    HistoryEntry, IdempotencyKey, InboxMessage, InboxState, Job, StoreError, StoredAnswer,
};
use crate::processor_account::ProcessorAccount;
use crate::shipments::TrackingEvent;
use crate::time::Timestamp;
use crate::webhooks::{Delivery, EndpointHealth, WebhookEndpoint};

/// A checkout and what the store alone knows of it.
#[derive(Debug, Clone)]
pub(super) struct CheckoutRow {
    pub(super) checkout: Checkout,
    pub(super) page_tokens: Vec<[u8; 32]>,
    /// The addresses that its page had: nonces, with the tokens that were kept of them.
    pub(super) ended_pages: Vec<([u8; 16], Vec<[u8; 32]>)>,
    /// Where the customer's browser was sent last.
    pub(super) way_out: Option<WayOut>,
    pub(super) history: Vec<HistoryEntry>,
    /// When it began to wait; kept afterwards, as its place in the line.
    pub(super) waiting_since: Timestamp,
    /// When its carrier was asked, as a place in the round.
    pub(super) turn: Option<u64>,
}

#[derive(Debug, Clone)]
pub(super) struct JobRow {
    pub(super) job: Job,
    pub(super) leased_until: Option<Timestamp>,
    pub(super) done_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub(super) struct InboxRow {
    pub(super) message: InboxMessage,
    pub(super) state: InboxState,
    pub(super) due_at: Timestamp,
    /// Why it could not be handled.
    pub(super) problem: Option<String>,
}

/// A row of the ledger, which is told apart by the mode of its checkout too.
#[derive(Debug, Clone)]
pub(super) struct LedgerRow {
    pub(super) mode: Mode,
    pub(super) entry: Entry,
}

#[derive(Debug, Clone)]
pub(super) struct TrackingRow {
    pub(super) checkout: CheckoutPubId,
    pub(super) tracking: Tracking,
    pub(super) event: TrackingEvent,
}

/// A document with what was done with it.
#[derive(Debug, Clone)]
pub(super) struct AgreementRow {
    pub(super) record: AgreementRecord,
    /// None once its person was erased.
    pub(super) pdf: Option<Arc<Vec<u8>>>,
    /// Oldest first.
    pub(super) events: Vec<AgreementEvent>,
}

/// An event with its place in the feed, once it has one. The event is shared with the copies of the
/// state: it never changes.
#[derive(Debug, Clone)]
pub(super) struct EventRow {
    pub(super) sequence: Option<u64>,
    pub(super) event: Arc<NewEvent>,
}

/// An endpoint, and how it fares.
#[derive(Debug, Clone)]
pub(super) struct EndpointRow {
    pub(super) endpoint: WebhookEndpoint,
    pub(super) health: EndpointHealth,
}

#[derive(Debug, Clone)]
pub(super) struct DeliveryRow {
    pub(super) delivery: Delivery,
    pub(super) leased_until: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub(super) struct MailRow {
    pub(super) mail: Mail,
    pub(super) leased_until: Option<Timestamp>,
    /// To whom it went, folded.
    pub(super) recipient: Option<String>,
}

/// What one organization has.
#[derive(Debug, Clone, Default)]
pub(super) struct Owned {
    /// How often its prices changed.
    pub(super) pricing_revision: i64,
    /// How often its products changed, or what they are found by.
    pub(super) catalog_revision: i64,
    pub(super) pickup_locations: BTreeMap<PickupLocationId, PickupLocation>,
    pub(super) customers: BTreeMap<CustomerPubId, Customer>,
    pub(super) lease_terms: BTreeMap<LeaseTermPubId, LeaseTerm>,
    pub(super) categories: BTreeMap<ProductCategoryPubId, Category>,
    pub(super) products: BTreeMap<ProductPubId, Product>,
    pub(super) variants: BTreeMap<ProductVariantPubId, ProductVariant>,
    pub(super) checkouts: BTreeMap<CheckoutPubId, CheckoutRow>,
    /// The turn that was given last.
    pub(super) last_turn: u64,
    pub(super) tracking: Vec<TrackingRow>,
    /// In the order in which they were pushed.
    pub(super) jobs: Vec<JobRow>,
    pub(super) answers: HashMap<IdempotencyKey, StoredAnswer>,
    /// In the order in which they were first kept.
    pub(super) ledger: Vec<LedgerRow>,
    pub(super) processor_accounts: BTreeMap<Mode, ProcessorAccount>,
    pub(super) credit_policies: BTreeMap<Mode, CreditPolicy>,
    /// In the order in which they were kept.
    pub(super) qualifications: Vec<Qualification>,
    /// Each shared with the copies of the state: none of them ever changes.
    pub(super) audit: BTreeMap<AuditEventPubId, Arc<AuditEvent>>,
    /// In the order in which they were appended.
    pub(super) events: Vec<EventRow>,
    /// The numbers that were given last.
    pub(super) last_event: BTreeMap<Mode, u64>,
    pub(super) agreements: BTreeMap<AgreementPubId, AgreementRow>,
    /// The organization's own terms, oldest first.
    pub(super) agreement_terms: Vec<AgreementTerms>,
    pub(super) signers: BTreeMap<Mode, Signer>,
    pub(super) webhook_endpoints: BTreeMap<WebhookEndpointPubId, EndpointRow>,
    pub(super) deliveries: BTreeMap<DeliveryPubId, DeliveryRow>,
    pub(super) mails: BTreeMap<MailPubId, MailRow>,
    /// By the address, folded.
    pub(super) mail_suppressions: BTreeMap<String, SuppressionReason>,
}

impl Owned {
    /// Counts a change of what the organization's prices are made of.
    pub(super) const fn reprice(&mut self) {
        self.pricing_revision = self.pricing_revision.saturating_add(1);
    }

    /// Counts a change of the organization's products, or of what they are found by.
    pub(super) const fn recatalog(&mut self) {
        self.catalog_revision = self.catalog_revision.saturating_add(1);
    }
}

/// What is nobody's.
#[derive(Debug, Clone, Default)]
pub(super) struct Unowned {
    pub(super) organizations: BTreeMap<OrganizationId, Organization>,
    pub(super) users: BTreeMap<UserId, UserPubId>,
    pub(super) keys: BTreeMap<ApiKeyPubId, ApiKey>,
    /// In the order in which they came.
    pub(super) inbox: Vec<InboxRow>,
    pub(super) unclaimed: Vec<(Tracking, TrackingEvent)>,
    pub(super) cursors: BTreeMap<String, String>,
}

/// Everything. Each part is shared with the copies of it until one of them changes it: a unit of work
/// copies what it changes alone.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    /// The number that was given last.
    last_number: i64,
    /// The latest time that anybody told: what leases count by.
    latest: Timestamp,
    unowned: Arc<Unowned>,
    owned: BTreeMap<OrganizationId, Arc<Owned>>,
}

impl Tables {
    /// The next number, as a sequence of a database gives it.
    pub(super) const fn next_number(&mut self) -> i64 {
        self.last_number = self.last_number.saturating_add(1);
        self.last_number
    }

    /// The store's own clock.
    pub(super) const fn clock(&self) -> Timestamp {
        self.latest
    }

    /// The store's own clock, which goes on when somebody tells a later time.
    pub(super) fn told(&mut self, now: Timestamp) -> Timestamp {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// What is nobody's.
    pub(super) const fn unowned(&self) -> &Arc<Unowned> {
        &self.unowned
    }

    /// What is nobody's, to change.
    pub(super) fn change_unowned(&mut self) -> &mut Unowned {
        Arc::make_mut(&mut self.unowned)
    }

    /// What the organization has.
    pub(super) fn of(&self, id: OrganizationId) -> Arc<Owned> {
        self.owned.get(&id).map(Arc::clone).unwrap_or_default()
    }

    /// What each organization has, in the order of their numbers.
    pub(super) fn each(&self) -> impl Iterator<Item = (OrganizationId, &Owned)> {
        self.owned.iter().map(|(id, owned)| (*id, owned.as_ref()))
    }

    /// What the organization has, to change. Refused when it is not there, as a foreign key does.
    pub(super) fn change_of(&mut self, id: OrganizationId) -> Result<&mut Owned, StoreError> {
        if self.unowned.organizations.contains_key(&id) {
            Ok(Arc::make_mut(self.owned.entry(id).or_default()))
        } else {
            Err(StoreError::Missing("organization"))
        }
    }
}

/// What a compare-and-set write needs of an entity.
pub(super) trait Versioned: Clone {
    /// What it is called in errors.
    const NAME: &'static str;
    fn version(&self) -> i64;
    fn is_stored_as(&mut self, version: i64);
    /// Whose it is.
    fn owner(&self) -> OrganizationId;
}

macro_rules! versioned {
    ($($entity:ident = $name:literal of $owner:ident;)*) => {$(
        impl Versioned for $entity {
            const NAME: &'static str = $name;
            fn version(&self) -> i64 {
                self.version
            }
            fn is_stored_as(&mut self, version: i64) {
                self.version = version;
            }
            fn owner(&self) -> OrganizationId {
                self.$owner
            }
        }
    )*};
}

versioned! {
    Organization = "organization" of id;
    Customer = "customer" of organization_id;
    LeaseTerm = "lease term" of organization_id;
    ProcessorAccount = "processor account" of organization_id;
    Product = "product" of organization_id;
    ProductVariant = "variant" of organization_id;
    WebhookEndpoint = "webhook endpoint" of organization_id;
}

impl Versioned for Checkout {
    const NAME: &'static str = "checkout";
    fn version(&self) -> i64 {
        self.version
    }
    fn is_stored_as(&mut self, version: i64) {
        Self::is_stored_as(self, version);
    }
    fn owner(&self) -> OrganizationId {
        self.organization_id
    }
}

/// Whether the entity may take the stored one's place: it is there, its owner's, and
/// of the version that was read.
pub(super) fn check_version<E: Versioned>(stored: Option<&E>, new: &E) -> Result<(), StoreError> {
    match stored {
        None => Err(StoreError::Missing(E::NAME)),
        Some(stored) if stored.owner() != new.owner() => Err(StoreError::Missing(E::NAME)),
        Some(stored) if stored.version() != new.version() => Err(StoreError::Stale(E::NAME)),
        Some(_) => Ok(()),
    }
}

/// Counts the entity's version up, the caller's and the stored one alike.
pub(super) fn count_up<E: Versioned>(entity: &mut E) {
    entity.is_stored_as(entity.version().saturating_add(1));
}
