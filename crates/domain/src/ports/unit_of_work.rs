//! A transaction as a value.

use async_trait::async_trait;

use super::{
    AgreementStore, AuditStore, CategoryStore, CheckoutStore, CreditPolicyStore, CursorStore,
    CustomerStore, DeliveryStore, Doors, EventStore, IdempotencyStore, InboxStore, JobStore,
    KeyStore, LeaseTermStore, LedgerStore, MailStore, OrganizationStore, PersonalDataStore,
    PickupLocationStore, ProcessorAccountStore, ProductStore, QualificationStore, Scope,
    ShipmentStore, StoreError, VariantStore, WebhookEndpointStore,
};
use crate::ids::OrganizationId;

/// Whose records a unit of work reaches: those of others are not there for it, whatever it asks for.
///
/// What is nobody's is reached by all: organizations, API keys, messages of providers, carriers' reports of
/// shipments that nobody has, and how far long walks have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// One organization's.
    Organization(OrganizationId),
    /// None: what is nobody's, and the [`Doors`] that tell whose something is.
    Server,
}

impl From<OrganizationId> for Reach {
    fn from(id: OrganizationId) -> Self {
        Self::Organization(id)
    }
}

impl From<Scope> for Reach {
    fn from(scope: Scope) -> Self {
        Self::Organization(scope.organization_id)
    }
}

/// Work on the stores that is done as a whole or not at all.
///
/// Dropped without [`commit`](UnitOfWork::commit), nothing of it has happened, and
/// nothing stays locked; how soon is the store's affair, see [`roll_back`](UnitOfWork::roll_back).
#[async_trait]
pub trait UnitOfWork: Send {
    fn organizations(&mut self) -> &mut dyn OrganizationStore;
    fn pickup_locations(&mut self) -> &mut dyn PickupLocationStore;
    /// API keys.
    fn keys(&mut self) -> &mut dyn KeyStore;
    fn customers(&mut self) -> &mut dyn CustomerStore;
    fn lease_terms(&mut self) -> &mut dyn LeaseTermStore;
    /// Product categories.
    fn categories(&mut self) -> &mut dyn CategoryStore;
    fn products(&mut self) -> &mut dyn ProductStore;
    /// Variants and their stock.
    fn variants(&mut self) -> &mut dyn VariantStore;
    fn checkouts(&mut self) -> &mut dyn CheckoutStore;
    /// Agreements and the organizations' own terms.
    fn agreements(&mut self) -> &mut dyn AgreementStore;
    /// Tracking events.
    fn shipments(&mut self) -> &mut dyn ShipmentStore;
    /// Work for providers.
    fn jobs(&mut self) -> &mut dyn JobStore;
    /// Messages of providers.
    fn inbox(&mut self) -> &mut dyn InboxStore;
    /// What was made at the payment processor.
    fn ledger(&mut self) -> &mut dyn LedgerStore;
    /// Organizations' own accounts at the payment processor.
    fn processor_accounts(&mut self) -> &mut dyn ProcessorAccountStore;
    /// How far long walks have come.
    fn cursors(&mut self) -> &mut dyn CursorStore;
    /// Answers to requests that may be repeated.
    fn idempotency(&mut self) -> &mut dyn IdempotencyStore;
    /// How organizations decide about credit.
    fn credit_policies(&mut self) -> &mut dyn CreditPolicyStore;
    /// What was decided about customers' credit.
    fn qualifications(&mut self) -> &mut dyn QualificationStore;
    /// Who did what.
    fn audit(&mut self) -> &mut dyn AuditStore;
    /// What happened to records.
    fn events(&mut self) -> &mut dyn EventStore;
    /// Who is told of it.
    fn webhook_endpoints(&mut self) -> &mut dyn WebhookEndpointStore;
    /// What they are told, and how far that is.
    fn deliveries(&mut self) -> &mut dyn DeliveryStore;
    /// Mails, and the addresses that nothing is sent to.
    fn mails(&mut self) -> &mut dyn MailStore;
    /// What is known of persons, to be taken away.
    fn personal_data(&mut self) -> &mut dyn PersonalDataStore;
    /// What is asked across organizations. Its answers do not depend on whom the work reaches.
    fn doors(&mut self) -> &mut dyn Doors;

    /// Says by which request the work is asked for: what happens by it
    /// [names the request](crate::events::NewEvent::request_id). Who tells nobody of it passes it by.
    fn asked_by(&mut self, request_id: &str) {
        let _ = request_id;
    }

    /// Goes on in the organization's name: for work that began as the [server's](Reach::Server) and has
    /// learned whose it is. Where it is several organizations', it enters one after the other.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Internal`] when it began in another organization's name.
    async fn enter(&mut self, organization: OrganizationId) -> Result<(), StoreError>;

    /// Makes the work durable.
    ///
    /// # Errors
    /// [`StoreError`]; whether the work was done is then unknown for
    /// [`StoreError::Unavailable`], and it was not for the others.
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;

    /// Ends the work, of which nothing has happened, as dropping it does; when this returns nothing is
    /// locked any more, and what the work stood on is at hand for the next. For work that a rule
    /// refused: it is as usual as work that is done.
    ///
    /// # Errors
    /// [`StoreError`]; nothing of the work has happened all the same.
    async fn roll_back(self: Box<Self>) -> Result<(), StoreError> {
        drop(self);
        Ok(())
    }
}

/// Gives a macro every store of a [`UnitOfWork`] as `accessor: Trait`: for whoever puts something
/// around a unit of work and hands most of it on. The traits are those of [`ports`](crate::ports).
#[macro_export]
macro_rules! for_each_store {
    ($callback:ident) => {
        $callback! {
            organizations: OrganizationStore,
            pickup_locations: PickupLocationStore,
            keys: KeyStore,
            customers: CustomerStore,
            lease_terms: LeaseTermStore,
            categories: CategoryStore,
            products: ProductStore,
            variants: VariantStore,
            checkouts: CheckoutStore,
            agreements: AgreementStore,
            shipments: ShipmentStore,
            jobs: JobStore,
            inbox: InboxStore,
            ledger: LedgerStore,
            processor_accounts: ProcessorAccountStore,
            cursors: CursorStore,
            idempotency: IdempotencyStore,
            credit_policies: CreditPolicyStore,
            qualifications: QualificationStore,
            audit: AuditStore,
            events: EventStore,
            webhook_endpoints: WebhookEndpointStore,
            deliveries: DeliveryStore,
            mails: MailStore,
            personal_data: PersonalDataStore,
            doors: Doors,
        }
    };
}

/// Where units of work come from.
#[async_trait]
pub trait Database: Send + Sync {
    /// Begins work that changes something, in the name of whom it reaches.
    async fn begin(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError>;

    /// Opens a view for reading; each read sees what was committed before it.
    /// Committing it is not needed.
    async fn read(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError>;
}
