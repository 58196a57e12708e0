//! An organization to try stores on, and how clauses are judged.

use std::hash::{BuildHasher, RandomState};

use crate::access::Mode;
use crate::catalog::{Product, ProductVariant};
use crate::cause::chain;
use crate::checkout::{Checkout, Circumstances, Event, Facts};
use crate::customer::Customer;
use crate::lease_term::LeaseTerm;
use crate::organization::Organization;
use crate::ports::{
    Database, Edition, InsertedCheckout, InsertedCustomer, Page, Reach, Scope, Start, StoreError,
    UniqueField, UnitOfWork,
};
use crate::testing::{
    CheckoutBuilder, CustomerBuilder, Fixtures, LeaseTermBuilder, ProductBuilder, VariantBuilder,
};

/// The value, unless the store failed.
#[track_caller]
pub(super) fn must<T>(result: Result<T, StoreError>, clause: &str) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{clause}, but: {}", chain(&error)),
    }
}

/// Whether the store refused because of the field.
#[track_caller]
pub(super) fn must_conflict<T>(result: Result<T, StoreError>, field: UniqueField, clause: &str) {
    match result {
        Err(StoreError::Conflict(found)) if found == field => {}
        Err(error) => panic!("{clause}: Conflict({field:?}) expected, but: {error:?}"),
        Ok(_) => panic!("{clause}: Conflict({field:?}) expected, but it was done"),
    }
}

/// Whether the store refused a copy that somebody else had overtaken.
#[track_caller]
pub(super) fn must_be_stale<T>(result: Result<T, StoreError>, clause: &str) {
    match result {
        Err(StoreError::Stale(_)) => {}
        Err(error) => panic!("{clause}: Stale expected, but: {error:?}"),
        Ok(_) => panic!("{clause}: Stale expected, but it was done"),
    }
}

/// Whether the store found nothing to change.
#[track_caller]
pub(super) fn must_be_missing<T>(result: Result<T, StoreError>, clause: &str) {
    match result {
        Err(StoreError::Missing(_)) => {}
        Err(error) => panic!("{clause}: Missing expected, but: {error:?}"),
        Ok(_) => panic!("{clause}: Missing expected, but it was done"),
    }
}

/// The first so many.
pub(super) const fn first(limit: u32) -> Page {
    Page {
        start: Start::Offset(0),
        limit,
    }
}

/// The next so many after the record.
pub(super) const fn after(id: uuid::Uuid, limit: u32) -> Page {
    Page {
        start: Start::After(id),
        limit,
    }
}

/// An organization of a suite's own.
pub(super) struct Shop<'d> {
    pub(super) database: &'d dyn Database,
    pub(super) make: Fixtures,
    pub(super) organization: Organization,
}

impl<'d> Shop<'d> {
    /// Opens one with ids that nobody else has.
    pub(super) async fn open(database: &'d dyn Database) -> Self {
        Self::seeded(database, RandomState::new().hash_one("suite")).await
    }

    /// Opens one with ids that follow from the seed.
    pub(super) async fn seeded(database: &'d dyn Database, seed: u64) -> Self {
        let make = Fixtures::seeded(seed);
        let new = make.organization().new_record();
        let organization = run(database, Reach::Server, async |uow| {
            uow.organizations().insert(&new).await
        })
        .await;
        Self {
            database,
            make,
            organization: must(organization, "organizations.insert: keeps an organization"),
        }
    }

    /// Another organization in the same database.
    pub(super) async fn neighbour(&self) -> Self {
        Self::open(self.database).await
    }

    /// The edition of its records before anything is told of them.
    pub(super) const fn edition_of_nothing(&self) -> Edition {
        Edition {
            live: 0,
            sandbox: 0,
            organization: self.organization.version,
        }
    }

    pub(super) const fn sandbox(&self) -> Scope {
        self.scope(Mode::Sandbox)
    }

    pub(super) const fn live(&self) -> Scope {
        self.scope(Mode::Live)
    }

    pub(super) const fn scope(&self, mode: Mode) -> Scope {
        Scope {
            organization_id: self.organization.id,
            mode,
        }
    }

    /// The organization's own records, and what is nobody's.
    pub(super) fn reach(&self) -> Reach {
        self.organization.id.into()
    }

    /// A unit of work in the organization's name.
    pub(super) async fn begin(&self) -> Box<dyn UnitOfWork> {
        must(
            self.database.begin(self.reach()).await,
            "begin: opens a unit of work",
        )
    }

    /// A view in the organization's name.
    pub(super) async fn view(&self) -> Box<dyn UnitOfWork> {
        must(self.database.read(self.reach()).await, "read: opens a view")
    }

    /// A unit of work in the organization's name: committed when the work succeeds, dropped when it
    /// does not.
    pub(super) async fn run<T>(
        &self,
        work: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        run(self.database, self.reach(), work).await
    }

    /// [`run`](Self::run) in nobody's name.
    pub(super) async fn run_for_server<T>(
        &self,
        work: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        run(self.database, Reach::Server, work).await
    }

    /// [`done`](Self::done) in nobody's name.
    pub(super) async fn done_for_server<T>(
        &self,
        clause: &str,
        work: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
    ) -> T {
        must(self.run_for_server(work).await, clause)
    }

    /// [`seen`](Self::seen) in nobody's name.
    pub(super) async fn seen_by_server<T>(
        &self,
        clause: &str,
        look: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
    ) -> T {
        let mut view = must(
            self.database.read(Reach::Server).await,
            "read: opens a view",
        );
        must(look(&mut *view).await, clause)
    }

    /// A unit of work that has to succeed.
    pub(super) async fn done<T>(
        &self,
        clause: &str,
        work: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
    ) -> T {
        must(self.run(work).await, clause)
    }

    /// A reading that has to succeed.
    pub(super) async fn seen<T>(
        &self,
        clause: &str,
        look: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
    ) -> T {
        let mut view = self.view().await;
        must(look(&mut *view).await, clause)
    }

    /// Keeps the customer, with screening.
    pub(super) async fn customer(&self, builder: CustomerBuilder) -> Customer {
        let wanted = builder.clone().build();
        let new = builder.new_record();
        self.done("customers.insert: keeps a customer", async |uow| {
            let mut customer = match uow.customers().insert(&new).await? {
                InsertedCustomer::New(customer) => customer,
                InsertedCustomer::Existing(_) => {
                    panic!("customers.insert: a customer with a new e-mail address is new")
                }
            };
            if customer.screening != wanted.screening {
                customer.screening = wanted.screening;
                uow.customers().update(&mut customer).await?;
            }
            Ok(customer)
        })
        .await
    }

    /// Some sandbox customer.
    pub(super) async fn anybody(&self) -> Customer {
        self.anybody_in(Mode::Sandbox).await
    }

    /// Some customer of the mode.
    pub(super) async fn anybody_in(&self, mode: Mode) -> Customer {
        let customer = self.make.customer(&self.organization);
        self.customer(customer.mode(mode)).await
    }

    /// Keeps the product.
    pub(super) async fn product(&self, builder: ProductBuilder) -> Product {
        let product = builder.build();
        self.done("products.insert: keeps a product", async |uow| {
            uow.products().insert(&product).await
        })
        .await;
        product
    }

    /// Some product.
    pub(super) async fn anything(&self) -> Product {
        self.product(self.make.product(&self.organization)).await
    }

    /// Keeps the variant.
    pub(super) async fn variant(&self, builder: VariantBuilder) -> ProductVariant {
        let variant = builder.build();
        self.done("variants.insert: keeps a variant", async |uow| {
            uow.variants().insert(&variant).await
        })
        .await;
        variant
    }

    /// Some variant of a product of its own.
    pub(super) async fn any_variant(&self) -> ProductVariant {
        let product = self.anything().await;
        self.variant(self.make.variant(&product)).await
    }

    /// Keeps the lease term.
    pub(super) async fn term(&self, builder: LeaseTermBuilder) -> LeaseTerm {
        let new = builder.new_record();
        self.done("lease_terms.insert: keeps a term", async |uow| {
            uow.lease_terms().insert(&new).await
        })
        .await
    }

    /// Keeps the checkout.
    pub(super) async fn checkout(&self, builder: CheckoutBuilder) -> Checkout {
        let checkout = builder.build();
        let inserted = self
            .done("checkouts.insert: keeps a checkout", async |uow| {
                uow.checkouts().insert(&checkout, &[]).await
            })
            .await;
        assert_eq!(
            inserted,
            InsertedCheckout::New,
            "checkouts.insert: a checkout that no other resembles is new"
        );
        checkout
    }

    /// A sandbox checkout of a customer and a variant of its own.
    pub(super) async fn any_checkout(
        &self,
        change: impl FnOnce(CheckoutBuilder) -> CheckoutBuilder,
    ) -> Checkout {
        self.any_checkout_in(Mode::Sandbox, change).await
    }

    /// A checkout of the mode, of a customer and a variant of its own.
    pub(super) async fn any_checkout_in(
        &self,
        mode: Mode,
        change: impl FnOnce(CheckoutBuilder) -> CheckoutBuilder,
    ) -> Checkout {
        let customer = self.anybody_in(mode).await;
        let variant = self.any_variant().await;
        self.checkout(change(self.make.checkout(&customer, &variant)))
            .await
    }

    /// Applies the event and writes what comes of it, as the services do.
    pub(super) async fn apply(&self, checkout: &mut Checkout, event: Event, by: &Circumstances) {
        let applied = match checkout.apply(event, by, &Facts::NONE) {
            Ok(applied) => applied,
            Err(error) => panic!("the suite applies an event that is not possible: {error}"),
        };
        self.done("checkouts.update: writes a move", async |uow| {
            uow.checkouts().update(checkout).await?;
            uow.checkouts()
                .record(checkout.id, &applied.transitions)
                .await
        })
        .await;
    }
}

async fn run<T>(
    database: &dyn Database,
    reach: Reach,
    work: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut uow = database.begin(reach).await?;
    let value = work(&mut *uow).await?;
    uow.commit().await?;
    Ok(value)
}
