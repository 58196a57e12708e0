//! The short run: some thousand lives, or as many as `LESSOR_TEST_LIVES` says, from the seed
//! `LESSOR_TEST_SEED` on.

use std::io::Write as _;

use lessor_simulator::{Stagehand, run, shrink};

#[expect(
    clippy::expect_used,
    reason = "what is no number is the caller's slip, and stops the test"
)]
fn number(name: &str, usual: u64) -> u64 {
    let told = std::env::var(name).ok();
    told.map_or(usual, |told| told.parse().expect("a number"))
}

/// Into the log, whether or not the test fails.
fn log(line: &str) {
    let _written = writeln!(std::io::stderr(), "{line}");
}

#[test]
fn what_must_hold_holds_after_every_life() {
    let lives = number("LESSOR_TEST_LIVES", 2_500);
    let first = number("LESSOR_TEST_SEED", 0);
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    log(&format!("{lives} lives from seed {first} on"));
    let report = run(first, lives, threads, |_| {});
    log(&format!("{lives} lives in {:.0?}", report.took));
    for (name, seeds) in &report.failed {
        log(&format!(
            "{name}: {} lives, the first of seed {}",
            seeds.len(),
            seeds[0]
        ));
    }
    if let Some((name, seeds)) = report.failed.iter().next() {
        let hand = Stagehand::default();
        let story = hand.live(seeds[0]).story;
        let story = shrink(&hand, &story, &|outcome| {
            outcome.failures.iter().any(|it| it.invariant == *name)
        });
        let outcome = hand.replay(&story, true);
        panic!(
            "seed {}: {:?}\n{}",
            seeds[0],
            outcome.failures,
            outcome.words.join("\n")
        );
    }
}
