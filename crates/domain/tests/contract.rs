//! The suites of the ports' contracts, on the stores in memory and on the fakes.

use lessor_domain::testing::{FakeCarrierDetector, MemoryDatabase, contract};

macro_rules! suites {
    ($($suite:ident,)*) => {
        $(
            #[tokio::test]
            async fn $suite() {
                contract::$suite(&MemoryDatabase::new()).await;
            }
        )*

        /// A suite may find what others left behind, and meet others at work.
        #[tokio::test]
        async fn every_suite_on_one_database_at_once() {
            let database = MemoryDatabase::new();
            for _ in 0..2 {
                tokio::join!($(contract::$suite(&database),)*);
            }
        }
    };
}

suites! {
    unit_of_work,
    organizations,
    pickup_locations,
    keys,
    customers,
    lease_terms,
    pricing_revisions,
    categories,
    products,
    variants,
    checkouts,
    tracking,
    outbox,
    inbox,
    idempotency,
}

#[test]
fn carriers() {
    contract::carriers(&FakeCarrierDetector);
}
