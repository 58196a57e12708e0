//! Many at once, on connections of their own.

use futures_util::future::join_all;
use lessor_adapters::postgres::PgDatabase;
use lessor_domain::checkout::StockTaken;
use lessor_domain::ports::{Database, InsertedCustomer, StoreError, UniqueField};

use super::support::{Shop, pool, run};

const RACERS: usize = 32;

fn wide(shop: &Shop) -> PgDatabase {
    pool(&shop.test, |settings| {
        settings.max_connections = RACERS;
        settings.wait_timeout = std::time::Duration::from_secs(30);
    })
}

/// Runs the racers as tasks that begin their units of work before any goes on.
async fn race<T: Send + 'static>(
    racers: impl Iterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    join_all(racers.map(tokio::spawn))
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_last_unit_is_taken_once() {
    let shop = Shop::open().await;
    let variant = shop.variant(1).await;
    let database = wide(&shop);
    let takers = (0..RACERS).map(|_| {
        let database = database.clone();
        async move {
            run(&database, async |uow| {
                uow.variants().take_stock(variant.id).await
            })
            .await
            .unwrap()
        }
    });
    let taken = race(takers).await;
    let of = |wanted| taken.iter().filter(|taken| **taken == wanted).count();
    assert_eq!(
        (of(StockTaken::Taken), of(StockTaken::NoneLeft)),
        (1, RACERS - 1)
    );
    let mut view = database.read().await.unwrap();
    let left = view
        .variants()
        .get(shop.organization.id, variant.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(left.inventory.quantity(), Some(0));
    assert_eq!(left.version, variant.version + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_customer_for_an_address() {
    let shop = Shop::open().await;
    let database = wide(&shop);
    let inserts = (0..RACERS).map(|index| {
        let database = database.clone();
        let email = if index % 2 == 0 {
            "one@example.com"
        } else {
            "ONE@Example.com"
        };
        let new = shop
            .make
            .customer(&shop.organization)
            .email(email)
            .new_record();
        async move {
            run(&database, async |uow| uow.customers().insert(&new).await)
                .await
                .unwrap()
        }
    });
    let inserted = race(inserts).await;
    let id = |inserted: &InsertedCustomer| match inserted {
        InsertedCustomer::New(customer) | InsertedCustomer::Existing(customer) => customer.id,
    };
    let new: Vec<_> = inserted
        .iter()
        .filter(|inserted| matches!(inserted, InsertedCustomer::New(_)))
        .collect();
    assert_eq!(new.len(), 1);
    assert!(inserted.iter().all(|other| id(other) == id(new[0])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_live_variant_for_a_sku() {
    let shop = Shop::open().await;
    let database = wide(&shop);
    let mut variants = Vec::new();
    for _ in 0..RACERS {
        let product = shop.product().await;
        variants.push(shop.make.variant(&product).sku("SKU-1").build());
    }
    let inserts = variants.into_iter().map(|variant| {
        let database = database.clone();
        async move { run(&database, async |uow| uow.variants().insert(&variant).await).await }
    });
    let inserted = race(inserts).await;
    let refused = inserted
        .iter()
        .filter(|done| matches!(done, Err(StoreError::Conflict(UniqueField::Sku))))
        .count();
    let kept = inserted.iter().filter(|done| done.is_ok()).count();
    assert_eq!((kept, refused), (1, RACERS - 1));
}

/// Prices change in opposite orders: the revision must not make them wait for each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn price_changes_in_opposite_orders_do_not_block_each_other() {
    let shop = Shop::open().await;
    let database = wide(&shop);
    let mut one = shop.variant(1).await;
    let mut two = shop.variant(1).await;
    let dearer = |variant: &mut lessor_domain::catalog::ProductVariant| {
        variant.price = variant.price.checked_mul(2).unwrap();
    };
    dearer(&mut one);
    dearer(&mut two);
    let mut first = database.begin().await.unwrap();
    let mut second = database.begin().await.unwrap();
    first.variants().update(&mut one).await.unwrap();
    second.variants().update(&mut two).await.unwrap();
    // Each has changed a price of the organization, and neither waits for the other.
    let mut other = database.begin().await.unwrap();
    let before = other
        .organizations()
        .pricing_revision(shop.organization.id)
        .await
        .unwrap();
    first.commit().await.unwrap();
    second.commit().await.unwrap();
    let after = other
        .organizations()
        .pricing_revision(shop.organization.id)
        .await
        .unwrap();
    assert_eq!(after, before + 2);
}
