//! What only a cluster shows: `LESSOR_TEST_CITUS`, see docs/TESTING.md.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lessor_adapters::postgres::{PgReplica, PgSettings, ReplicaError};
use lessor_adapters::testing::is_cluster;
use lessor_domain::ids::ProductPubId;
use lessor_domain::ports::{Database, StoreError};

use super::support::Shop;

/// Tasks that write while a shard moves.
const WRITERS: usize = 4;

/// Whether there is no cluster; says so.
#[expect(clippy::print_stdout, reason = "says what was not tested")]
fn skipped_without_a_cluster() -> bool {
    if !is_cluster() {
        println!("SKIPPED: LESSOR_TEST_CITUS names no cluster");
    }
    !is_cluster()
}

/// The node of the organization's shard of each table.
fn nodes_of(organization: &str) -> String {
    format!(
        "SELECT DISTINCT nodeport FROM pg_dist_shard_placement WHERE shardid IN \
         (SELECT get_shard_id_for_distribution_column(logicalrelid, {organization}) \
         FROM pg_dist_partition WHERE partmethod = 'h')"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organization_lies_on_one_node() {
    if skipped_without_a_cluster() {
        return;
    }
    let shop = Shop::open().await;
    let number = shop.organization.id.to_string();
    assert_eq!(shop.test.query(&nodes_of(&number)).await.len(), 1);
    let lying = shop
        .test
        .query(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' \
             AND relforcerowsecurity AND oid NOT IN (SELECT logicalrelid FROM pg_dist_partition)",
        )
        .await;
    assert_eq!(
        lying,
        Vec::<String>::new(),
        "what is an organization's is spread"
    );
    assert_eq!(
        shop.database().distribute().await.unwrap(),
        0,
        "what is spread stays as it is"
    );
}

#[tokio::test]
async fn a_cluster_has_no_replica() {
    if skipped_without_a_cluster() {
        return;
    }
    let shop = Shop::open().await;
    let copy = PgReplica::new(&PgSettings::new(shop.test.url())).unwrap();
    let refused = copy.check(shop.database()).await;
    assert!(
        matches!(refused, Err(ReplicaError::Distributed)),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_moves_loses_nothing() {
    if skipped_without_a_cluster() {
        return;
    }
    let shop = Arc::new(Shop::open().await);
    let number = shop.organization.id;
    let place = format!(
        "SELECT citus_move_shard_placement(lying.shardid, lying.nodename, lying.nodeport::int, \
         other.nodename, other.nodeport, shard_transfer_mode => 'block_writes') \
         FROM pg_dist_shard_placement AS lying, pg_dist_node AS other \
         WHERE lying.shardid = get_shard_id_for_distribution_column('checkouts', {number}) \
         AND other.nodeport <> lying.nodeport AND other.shouldhaveshards LIMIT 1"
    );
    assert_nothing_is_lost(&shop, &[&place]).await;
}

/// As whoever takes a node out of service does it: all of its shards go to the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_emptied_loses_nothing() {
    if skipped_without_a_cluster() {
        return;
    }
    let shop = Arc::new(Shop::open().await);
    let number = shop.organization.id;
    let close = format!(
        "SELECT citus_set_node_property(nodename, nodeport::int, 'shouldhaveshards', false) \
         FROM pg_dist_shard_placement \
         WHERE shardid = get_shard_id_for_distribution_column('checkouts', {number})"
    );
    let empty = "SELECT rebalance_table_shards(shard_transfer_mode => 'block_writes')";
    assert_nothing_is_lost(&shop, &[&close, empty]).await;
}

/// Has writers write while statements move the organization to another node, and some more behind them.
async fn assert_nothing_is_lost(shop: &Arc<Shop>, moving: &[&str]) {
    let number = shop.organization.id.to_string();
    let has_moved = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (shop, has_moved) = (Arc::clone(shop), Arc::clone(&has_moved));
            tokio::spawn(async move {
                let mut acknowledged = Vec::new();
                // Some more behind the move: the new place is written to as well.
                let mut left = 5_u8;
                while left > 0 {
                    if has_moved.load(Ordering::SeqCst) {
                        left -= 1;
                    }
                    acknowledged.extend(write(&shop).await);
                }
                acknowledged
            })
        })
        .collect();
    let before = shop.test.query(&nodes_of(&number)).await;
    for statement in moving {
        shop.test.execute(statement).await;
    }
    has_moved.store(true, Ordering::SeqCst);
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.extend(writer.await.unwrap());
    }
    let after = shop.test.query(&nodes_of(&number)).await;
    assert_eq!(after.len(), 1, "its tables moved together");
    assert_ne!(after, before);
    assert!(!acknowledged.is_empty());
    let mut view = shop
        .database()
        .read(shop.organization.id.into())
        .await
        .unwrap();
    for id in acknowledged {
        let found = view.products().get(shop.organization.id, id).await.unwrap();
        assert!(found.is_some(), "{id} was acknowledged");
    }
}

/// Writes a product; none where that is to be tried again.
async fn write(shop: &Shop) -> Option<ProductPubId> {
    let product = shop.make.product(&shop.organization).build();
    let written = async {
        let mut work = shop.database().begin(shop.organization.id.into()).await?;
        work.products().insert(&product).await?;
        work.commit().await
    };
    match written.await {
        Ok(()) => Some(product.id),
        Err(StoreError::Unavailable(_) | StoreError::Contended) => None,
        Err(error) => panic!("a write fails while a shard moves: {error:?}"),
    }
}
