//! The suites of the ports' contracts, on the stores in memory and on the fakes.

use lessor_domain::testing::{FakeCarrierDetector, FakeDialingPlan, MemoryDatabase, contract};

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
                tokio::join!($(Box::pin(contract::$suite(&database)),)*);
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
    audit,
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
    cursors,
    idempotency,
    personal_data,
    doors,
    events,
    webhook_endpoints,
    deliveries,
    mails,
    owners,
}

#[test]
fn carriers() {
    contract::carriers(&FakeCarrierDetector);
}

#[test]
fn dialing() {
    contract::dialing(&FakeDialingPlan);
}

/// The walk is worth what it reaches: chance has to lead some to a lease and back.
#[tokio::test]
async fn a_walk_is_the_same_again_and_leads_to_leases() {
    const STATES: [&str; 8] = [
        "LeaseActive",
        "Returned",
        "WaitlistedAfterDeposit",
        "FulfillmentException",
        "CaptureFailed",
        "IdentityFailed",
        "Cancelled",
        "Expired",
    ];
    let mut reached = String::new();
    for seed in 1..=200 {
        let told = contract::walk(&MemoryDatabase::new(), seed, 90).await;
        let is_one_more = seed > 40;
        if !is_one_more {
            let again = contract::walk(&MemoryDatabase::new(), seed, 90).await;
            assert_eq!(told, again, "seed {seed}");
        }
        reached.push_str(&told.join("\n"));
        // What is rare may take some more.
        if is_one_more && STATES.iter().all(|state| reached.contains(state)) {
            break;
        }
    }
    for state in STATES {
        assert!(reached.contains(state), "no walk came to {state}");
    }
}
