//! A shop with somebody who leases.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use lessor_adapters::postgres::PgDatabase;
use lessor_domain::access::Mode;
use lessor_domain::catalog::ProductVariant;
use lessor_domain::checkout::Checkout;
use lessor_domain::customer::Customer;
use lessor_domain::lease_term::LeaseTerm;
use lessor_domain::ports::{InsertedCheckout, InsertedCustomer, Scope, StoreError};
use lessor_domain::testing::CheckoutBuilder;
use tokio::sync::Barrier;

use super::support::{Shop, pool, run};

pub(crate) const RACERS: usize = 32;

/// A pool in which each racer has a connection of its own.
pub(crate) fn wide(shop: &Shop) -> PgDatabase {
    pool(&shop.test, |settings| {
        // Of which an organization has three in four.
        settings.max_connections = RACERS + RACERS / 2;
        settings.wait_timeout = Duration::from_secs(30);
        settings.lock_timeout = Duration::from_secs(30);
    })
}

/// Runs each racer as a task of its own; none starts before all are there.
pub(crate) async fn race<R, T, F>(
    database: &PgDatabase,
    racers: Vec<R>,
    work: fn(PgDatabase, R) -> F,
) -> Vec<T>
where
    R: Send + 'static,
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(racers.len()));
    let tasks = racers.into_iter().map(|racer| {
        let (database, barrier) = (database.clone(), Arc::clone(&barrier));
        tokio::spawn(async move {
            barrier.wait().await;
            work(database, racer).await
        })
    });
    join_all(tasks.collect::<Vec<_>>())
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect()
}

/// Who leases what for how long.
pub(crate) struct Leasing {
    pub(crate) shop: Shop,
    pub(crate) customer: Customer,
    pub(crate) variant: ProductVariant,
    pub(crate) term: LeaseTerm,
}

impl Leasing {
    pub(crate) async fn open() -> Self {
        let shop = Shop::open().await;
        let variant = shop.variant(100).await;
        let customer = somebody(&shop).await;
        let new = shop.make.lease_term(&shop.organization).new_record();
        let term = shop
            .run(async |uow| uow.lease_terms().insert(&new).await)
            .await
            .unwrap();
        Self {
            shop,
            customer,
            variant,
            term,
        }
    }

    pub(crate) fn scope(&self) -> Scope {
        Scope {
            organization_id: self.shop.organization.id,
            mode: Mode::Sandbox,
        }
    }

    /// A checkout of the customer, variant and term that is not kept yet.
    pub(crate) fn checkout(&self) -> CheckoutBuilder {
        self.shop
            .make
            .checkout(&self.customer, &self.variant)
            .term(&self.term)
    }

    /// A checkout that is kept.
    pub(crate) async fn kept(&self, checkout: CheckoutBuilder) -> Checkout {
        let checkout = checkout.build();
        insert(self.shop.database(), &checkout).await;
        checkout
    }

    pub(crate) async fn get(&self, checkout: &Checkout) -> Result<Option<Checkout>, StoreError> {
        let mut view = self.shop.view().await;
        view.checkouts().get(checkout.id).await
    }
}

pub(crate) async fn insert(database: &PgDatabase, checkout: &Checkout) {
    let inserted = run(database, checkout.organization_id, async |uow| {
        uow.checkouts().insert(checkout, &[]).await
    })
    .await
    .unwrap();
    assert_eq!(inserted, InsertedCheckout::New);
}

pub(crate) async fn somebody(shop: &Shop) -> Customer {
    somebody_in(shop, Mode::Sandbox).await
}

pub(crate) async fn somebody_in(shop: &Shop, mode: Mode) -> Customer {
    let new = shop.make.customer(&shop.organization).mode(mode);
    let new = new.new_record();
    let inserted = shop.run(async |uow| uow.customers().insert(&new).await);
    match inserted.await.unwrap() {
        InsertedCustomer::New(customer) => customer,
        InsertedCustomer::Existing(_) => panic!("the address is new"),
    }
}

pub(crate) fn distinct<T: Eq + std::hash::Hash>(values: impl IntoIterator<Item = T>) -> usize {
    values.into_iter().collect::<HashSet<_>>().len()
}
