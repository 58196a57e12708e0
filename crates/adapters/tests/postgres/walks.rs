//! Led about by chance, the use cases end in the same way on Postgres as on the stores in memory.

use lessor_adapters::testing::TestDatabase;
use lessor_domain::testing::{MemoryDatabase, contract};

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_ends_in_the_same_way_as_in_memory() {
    let database = TestDatabase::create().await;
    for seed in 1..=12 {
        let here = contract::walk(database.database(), seed, 60).await;
        let there = contract::walk(&MemoryDatabase::new(), seed, 60).await;
        for (step, (here, there)) in here.iter().zip(&there).enumerate() {
            assert_eq!(here, there, "step {step} of seed {seed}");
        }
        assert_eq!(here.len(), there.len(), "seed {seed}");
    }
}
