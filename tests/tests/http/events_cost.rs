//! What it costs whoever writes that events are told: the same writes on the same database, with and
//! without, in turns. `cargo test --release -p lessor-tests --test http telling -- --ignored --nocapture`

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use lessor::http::public_url::PublicUrl;
use lessor::run::compose;
use lessor_adapters::ambient::{SystemClock, UuidV7Generator};
use lessor_adapters::testing::TestDatabase;
use lessor_domain::access::{Access, KeyKind, Mode, Permissions};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::metadata::MetadataPatch;
use lessor_domain::ports::{Clock as _, Database, InsertedCustomer, Reach, Scope};
use lessor_domain::services::checkouts::{Annotate, WithView};
use lessor_domain::services::{UseCase as _, events};
use lessor_domain::testing::{Fixtures, context};

/// Writers at a time, each of a checkout of its own.
const WRITERS: usize = 8;
/// Writes of each of them in a turn.
const WRITES: usize = 200;
/// Turns of either.
const TURNS: usize = 15;

/// Who writes, and what.
struct Desk {
    access: Access,
    checkouts: Vec<CheckoutPubId>,
}

impl Desk {
    async fn open(database: &dyn Database) -> Self {
        let make = Fixtures::seeded(5);
        let mut uow = database.begin(Reach::Server).await.unwrap();
        let organization = make.organization().new_record();
        let organization = uow.organizations().insert(&organization).await.unwrap();
        uow.enter(organization.id).await.unwrap();
        let term = make.lease_term(&organization).new_record();
        let term = uow.lease_terms().insert(&term).await.unwrap();
        let mut checkouts = Vec::new();
        let mut holder = None;
        for _ in 0..WRITERS {
            let product = make.product(&organization).build();
            uow.products().insert(&product).await.unwrap();
            let variant = make.variant(&product).build();
            uow.variants().insert(&variant).await.unwrap();
            let customer = make.customer(&organization).new_record();
            let inserted = uow.customers().insert(&customer).await.unwrap();
            let (InsertedCustomer::New(customer) | InsertedCustomer::Existing(customer)) = inserted;
            let checkout = make.checkout(&customer, &variant).term(&term).build();
            uow.checkouts().insert(&checkout).await.unwrap();
            checkouts.push(checkout.id);
            holder = Some(customer);
        }
        uow.commit().await.unwrap();
        let holder = holder.unwrap();
        Self {
            access: Access {
                key_id: make.id(),
                key_name: None,
                organization_id: organization.id,
                organization_pub_id: organization.pub_id,
                user_id: holder.user_id,
                user_pub_id: holder.id,
                kind: KeyKind::Secret,
                mode: Mode::Sandbox,
                permissions: Permissions::all(),
                sandbox_writes_catalog: true,
            },
            checkouts,
        }
    }

    /// So many writes of every checkout, as requests make them.
    async fn write(&self, database: &Arc<dyn Database>, turn: usize) -> Duration {
        let begun = Instant::now();
        let writers = self.checkouts.iter().map(|id| async move {
            for write in 0..WRITES {
                let ctx = context(&self.access, SystemClock.now(), &UuidV7Generator);
                let value = format!("{turn}-{write}-{begun:?}");
                let changes = [("n".parse().unwrap(), Some(value.parse().unwrap()))];
                let annotate = WithView(Annotate {
                    id: *id,
                    changes: MetadataPatch::Merge(changes.into()),
                });
                let organization = self.access.organization_id;
                let mut uow = database.begin(organization.into()).await.unwrap();
                annotate.run(uow.as_mut(), &ctx).await.unwrap();
                uow.commit().await.unwrap();
            }
        });
        join_all(writers).await;
        begun.elapsed()
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn telling_costs_whoever_writes_little() {
    let test = TestDatabase::create().await;
    let plain: Arc<dyn Database> = Arc::new(test.database().clone());
    let public_url = PublicUrl::new("https://lease.example");
    let telling = compose::telling(Arc::clone(&plain), &public_url, Arc::new(()));
    let telling: Arc<dyn Database> = Arc::new(telling);
    let desk = Desk::open(plain.as_ref()).await;
    let mut ratios = Vec::new();
    let mut told = Duration::ZERO;
    for turn in 0..TURNS {
        // Each goes first as often as the other.
        let (without, with) = if turn.is_multiple_of(2) {
            let without = desk.write(&plain, turn).await;
            (without, desk.write(&telling, turn).await)
        } else {
            let with = desk.write(&telling, turn).await;
            (desk.write(&plain, turn).await, with)
        };
        told += with;
        ratios.push(with.as_secs_f64() / without.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    let scope = Scope {
        organization_id: desk.access.organization_id,
        mode: Mode::Sandbox,
    };
    events::number(plain.as_ref(), &UuidV7Generator, &SystemClock, scope)
        .await
        .unwrap();
    let mut view = plain.read(scope.into()).await.unwrap();
    let events = view.events().last(scope).await.unwrap();
    let expected = u64::try_from(TURNS * WRITERS * WRITES).unwrap();
    assert_eq!(events, expected, "an event for each write that is told of");
    report(&format!(
        "median {:.3} of the time without ({:.3} to {:.3}); {:.0} events a second",
        ratios[ratios.len() / 2],
        ratios[0],
        ratios[ratios.len() - 1],
        f64::from(u32::try_from(events).unwrap()) / told.as_secs_f64()
    ));
}

#[expect(clippy::print_stdout, reason = "what was measured, with --nocapture")]
fn report(what: &str) {
    println!("{what}");
}
