//! A streaming replica: who wrote sees it there or is told that it is behind.

use std::time::{Duration, Instant};

use lessor_adapters::postgres::{
    LastCommit, PgDatabase, PgReplica, PgSettings, Position, ReplicaError, ReplicaView,
};
use lessor_adapters::testing::{ReplicaPair, TestDatabase, is_cluster};
use lessor_domain::ids::ProductPubId;
use lessor_domain::organization::Organization;
use lessor_domain::ports::{Database, Reach, StoreError, UnitOfWork};
use lessor_domain::testing::Fixtures;

use super::support::{Shop, run, skipped_on_a_cluster};

/// How long what happens in a moment may take.
const SOON: Duration = Duration::from_secs(20);
/// How long it may take to learn that nobody answers.
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(3);

/// The position that every replica has.
const ANY: &str = "0000000000000000";

/// A shop on a primary, and the way to the replica.
struct Branch {
    servers: ReplicaPair,
    replica: PgReplica,
    make: Fixtures,
    organization: Organization,
}

impl Branch {
    async fn open() -> Option<Self> {
        let servers = ReplicaPair::start().await?;
        let make = Fixtures::default();
        let organization = organization(servers.database(), &make).await;
        Some(Self {
            replica: replica_at(servers.replica_url()),
            servers,
            make,
            organization,
        })
    }

    fn reach(&self) -> Reach {
        self.organization.id.into()
    }

    /// Writes a product; answers its id and the position of the write.
    async fn write(&self) -> (ProductPubId, Position) {
        let product = self.make.product(&self.organization).build();
        let last_commit = LastCommit::default();
        let noting = self.servers.database().noting(last_commit.clone());
        run(&noting, self.reach(), async |uow| {
            uow.products().insert(&product).await
        })
        .await
        .unwrap();
        (product.id, last_commit.position().unwrap())
    }

    /// A view at the position once the replica is there.
    async fn view_at(&self, position: Position) -> Box<dyn UnitOfWork> {
        let begun = Instant::now();
        loop {
            match self.replica.read_at(self.reach(), position).await.unwrap() {
                ReplicaView::Open(view) => return view,
                _ => assert!(begun.elapsed() < SOON, "the replica does not come there"),
            }
        }
    }

    async fn sees(&self, view: &mut dyn UnitOfWork, id: ProductPubId) -> bool {
        let found = view.products().get(self.organization.id, id).await;
        found.unwrap().is_some()
    }
}

async fn organization(database: &PgDatabase, make: &Fixtures) -> Organization {
    let new = make.organization().new_record();
    run(database, Reach::Server, async |uow| {
        uow.organizations().insert(&new).await
    })
    .await
    .unwrap()
}

fn replica_at(url: &str) -> PgReplica {
    PgReplica::new(&PgSettings::new(url)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_wrote_sees_it_or_is_told_that_the_replica_is_behind() {
    let Some(branch) = Branch::open().await else {
        return;
    };
    for _ in 0..50 {
        let (id, position) = branch.write().await;
        let mut view = branch.view_at(position).await;
        assert!(branch.sees(&mut *view, id).await, "{position}");
    }

    let (first, there) = branch.write().await;
    drop(branch.view_at(there).await);
    branch.servers.pause().await;
    let (second, beyond) = branch.write().await;
    assert!(beyond > there);
    let asked = branch.replica.read_at(branch.reach(), beyond).await;
    assert!(matches!(asked, Ok(ReplicaView::Behind)));
    for position in [there, ANY.parse().unwrap()] {
        let mut view = branch.view_at(position).await;
        assert!(branch.sees(&mut *view, first).await);
        assert!(!branch.sees(&mut *view, second).await, "it is the replica");
    }
    branch.servers.resume().await;
    let mut view = branch.view_at(beyond).await;
    assert!(branch.sees(&mut *view, second).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_replica_keeps_organizations_apart_and_is_not_written_to() {
    let Some(branch) = Branch::open().await else {
        return;
    };
    let neighbour = organization(branch.servers.database(), &branch.make).await;
    let (id, position) = branch.write().await;
    drop(branch.view_at(position).await);
    for reach in [Reach::from(neighbour.id), Reach::Server] {
        let opened = branch.replica.read_at(reach, position).await;
        let Ok(ReplicaView::Open(mut view)) = opened else {
            panic!("the replica was there")
        };
        // Also where the question names whose it is.
        assert!(!branch.sees(&mut *view, id).await, "{reach:?}");
    }
    let mut view = branch.view_at(position).await;
    let product = branch.make.product(&branch.organization).build();
    let written = view.products().insert(&product).await;
    assert!(
        matches!(written, Err(StoreError::Unavailable(_))),
        "{written:?}"
    );
    // A superuser's session acts as nobody who stands above row security there either, or is not had.
    let rename = "ALTER ROLE lessor_app RENAME TO lessor_gone";
    branch.servers.query(rename).await;
    branch.servers.caught_up().await;
    let another = replica_at(branch.servers.replica_url());
    let opened = another.read_at(branch.reach(), position).await;
    assert!(matches!(opened, Err(StoreError::Unavailable(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_replica_of_the_database_is_told_apart() {
    let Some(mut branch) = Branch::open().await else {
        return;
    };
    let database = branch.servers.database();
    branch.replica.check(database).await.unwrap();
    let primary = replica_at(branch.servers.url());
    let refused = primary.check(database).await;
    assert!(matches!(refused, Err(ReplicaError::NotInRecovery)));
    // Nor is it one in the middle of things, such as after it was made a primary.
    let asked = primary.read_at(branch.reach(), ANY.parse().unwrap()).await;
    assert!(matches!(asked, Err(StoreError::Unavailable(_))));
    let other = TestDatabase::create().await;
    let refused = branch.replica.check(other.database()).await;
    let is_told = match &refused {
        Err(ReplicaError::Distributed) => is_cluster(),
        Err(ReplicaError::OfAnother) => !is_cluster(),
        _ => false,
    };
    assert!(is_told, "{refused:?}");

    // One that is gone keeps nobody waiting, and is no error of what is set.
    let (_, position) = branch.write().await;
    drop(branch.view_at(position).await);
    branch.servers.end_replica();
    for _ in 0..3 {
        let asked = Instant::now();
        let opened = branch.replica.read_at(branch.reach(), position).await;
        assert!(matches!(opened, Err(StoreError::Unavailable(_))));
        assert!(asked.elapsed() < GIVEN_UP_WITHIN, "{:?}", asked.elapsed());
    }
    let refused = branch.replica.check(branch.servers.database()).await;
    assert!(
        matches!(refused, Err(ReplicaError::Unreachable(_))),
        "{refused:?}"
    );
}

/// A position is told of what was committed, and of nothing else.
#[tokio::test]
async fn what_fails_at_its_commit_has_no_position() {
    if skipped_on_a_cluster("triggers of tables that are spread are not deferred") {
        return;
    }
    let shop = Shop::open().await;
    shop.test
        .execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'refused at the end'; END $$; \
             CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON products DEFERRABLE INITIALLY DEFERRED \
             FOR EACH ROW EXECUTE FUNCTION refuse()",
        )
        .await;
    let last_commit = LastCommit::default();
    let noting = shop.database().noting(last_commit.clone());
    let product = shop.make.product(&shop.organization).build();
    let refused = run(&noting, shop.reach(), async |uow| {
        uow.products().insert(&product).await
    });
    let refused = refused.await;
    assert!(
        matches!(refused, Err(StoreError::Internal(_))),
        "{refused:?}"
    );
    // Nor does it help that a statement failed before, and somebody commits all the same.
    shop.test.execute("DROP TRIGGER refuse ON products").await;
    let mut work = noting.begin(shop.reach()).await.unwrap();
    work.products().insert(&product).await.unwrap();
    work.products().insert(&product).await.unwrap_err();
    work.commit().await.unwrap_err();
    assert_eq!(last_commit.position(), None);
    run(&noting, shop.reach(), async |uow| {
        uow.products().insert(&product).await
    })
    .await
    .unwrap();
    assert!(last_commit.position().is_some());
}
