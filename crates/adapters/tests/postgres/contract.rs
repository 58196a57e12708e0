//! The suites of the stores' contract.

use lessor_adapters::testing::TestDatabase;
use lessor_domain::testing::contract;

use super::support::{pool, skipped_on_a_cluster};

macro_rules! suites {
    ($($suite:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $suite() {
                contract::$suite(TestDatabase::create().await.database()).await;
            }
        )*

        /// A suite may find what others left behind, and meet others at work.
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn every_suite_on_one_database_at_once() {
            // Each node has a copy of the organizations, so that those who write them at once meet more often
            // than the suites have patience for.
            if skipped_on_a_cluster("too many write organizations at once") {
                return;
            }
            let test = TestDatabase::create().await;
            let database = pool(&test, |settings| {
                settings.max_connections = 60;
                settings.wait_timeout = std::time::Duration::from_secs(30);
                settings.lock_timeout = std::time::Duration::from_secs(30);
                // Thirty suites share this thread with the making of their connections.
                settings.connect_timeout = std::time::Duration::from_secs(30);
            });
            // Each on the heap: together they are more than a thread has of a stack.
            tokio::join!($(Box::pin(contract::$suite(&database)),)*);
        }
    };
}

suites! {
    unit_of_work,
    concurrent_units,
    organizations,
    pickup_locations,
    keys,
    customers,
    lease_terms,
    pricing_revisions,
    catalog_revisions,
    categories,
    products,
    variants,
    checkouts,
    agreements,
    shipments,
    jobs,
    inbox,
    ledger,
    credit,
    processor_accounts,
    cursors,
    idempotency,
    audit,
    personal_data,
    doors,
    events,
    webhook_endpoints,
    deliveries,
    mails,
    owners,
}
