//! Many at once, on connections of their own.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use lessor_adapters::postgres::PgDatabase;
use lessor_domain::access::Mode;
use lessor_domain::catalog::StockTaken;
use lessor_domain::ports::{
    Database, InsertedCustomer, Reach, StoreError, UniqueField, UnitOfWork,
};
use lessor_domain::quantity::Quantity;
use tokio::sync::Barrier;

use super::support::{Shop, pool};

const RACERS: usize = 32;

fn wide(shop: &Shop) -> PgDatabase {
    pool(&shop.test, |settings| {
        // Of which an organization has three in four.
        settings.max_connections = RACERS + RACERS / 2;
        settings.wait_timeout = Duration::from_secs(30);
    })
}

type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Does each racer's work as a task of its own, with its own unit of work; none
/// starts before all have begun theirs.
async fn race<R, T>(
    database: &PgDatabase,
    reach: Reach,
    racers: Vec<R>,
    work: for<'a> fn(&'a mut dyn UnitOfWork, &'a R) -> Work<'a, T>,
) -> Vec<Result<T, StoreError>>
where
    R: Send + Sync + 'static,
    T: Send + 'static,
{
    let barrier = Arc::new(Barrier::new(racers.len()));
    let tasks = racers.into_iter().map(|racer| {
        let (database, barrier) = (database.clone(), Arc::clone(&barrier));
        tokio::spawn(async move {
            let mut uow = database.begin(reach).await?;
            barrier.wait().await;
            let done = work(&mut *uow, &racer).await?;
            uow.commit().await?;
            Ok(done)
        })
    });
    join_all(tasks.collect::<Vec<_>>())
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_last_unit_is_taken_once() {
    let shop = Shop::open().await;
    let variant = shop.variant(1).await;
    let taken = race(
        &wide(&shop),
        shop.reach(),
        vec![variant.id; RACERS],
        |uow, id| Box::pin(uow.variants().take_stock(*id, Mode::Sandbox, Quantity::ONE)),
    )
    .await;
    let of = |wanted| {
        taken
            .iter()
            .filter(|taken| taken.as_ref().unwrap() == &wanted)
            .count()
    };
    assert_eq!(
        (of(StockTaken::Taken), of(StockTaken::NoneLeft)),
        (1, RACERS - 1)
    );
    let mut view = shop.view().await;
    let left = view
        .variants()
        .get(shop.organization.id, variant.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(left.stock.sandbox.quantity(), Some(0));
    assert_eq!(left.version, variant.version + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_customer_for_an_address() {
    let shop = Shop::open().await;
    let new = (0..RACERS).map(|index| {
        let email = if index % 2 == 0 {
            "one@example.com"
        } else {
            "ONE@Example.com"
        };
        shop.make
            .customer(&shop.organization)
            .email(email)
            .new_record()
    });
    let inserted = race(&wide(&shop), shop.reach(), new.collect(), |uow, new| {
        Box::pin(uow.customers().insert(new))
    })
    .await;
    let (mut new, mut ids) = (0, HashSet::new());
    for inserted in inserted {
        match inserted.unwrap() {
            InsertedCustomer::New(customer) => {
                new += 1;
                ids.insert(customer.id);
            }
            InsertedCustomer::Existing(customer) => {
                ids.insert(customer.id);
            }
        }
    }
    assert_eq!((new, ids.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_live_variant_for_a_sku() {
    let shop = Shop::open().await;
    let mut variants = Vec::new();
    for _ in 0..RACERS {
        let product = shop.product().await;
        variants.push(shop.make.variant(&product).sku("SKU-1").build());
    }
    let inserted = race(&wide(&shop), shop.reach(), variants, |uow, variant| {
        Box::pin(uow.variants().insert(variant))
    })
    .await;
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
    let mut first = database.begin(shop.reach()).await.unwrap();
    let mut second = database.begin(shop.reach()).await.unwrap();
    first.variants().update(&mut one).await.unwrap();
    second.variants().update(&mut two).await.unwrap();
    // Each has changed a price of the organization, and neither waits for the other.
    let mut other = database.begin(shop.reach()).await.unwrap();
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
