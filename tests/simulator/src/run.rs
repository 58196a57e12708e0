//! Many lives, in as many threads as are given, each thread in worlds of its own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::hand::Stagehand;

/// What many lives came to.
#[derive(Debug, Default)]
pub struct Report {
    /// The first seed.
    pub first: u64,
    /// How many lives there were.
    pub lives: u64,
    /// The seeds after whose lives an invariant did not hold, by its name.
    pub failed: BTreeMap<&'static str, Vec<u64>>,
    /// How long it took.
    pub took: Duration,
}

/// Lives so many lives, one for each seed from the first on. `told` is told now and then how many
/// were lived.
pub fn run(first: u64, lives: u64, threads: usize, told: impl Fn(u64) + Sync) -> Report {
    // Threads take seeds as they come to them: which of them lives which life changes nothing.
    let next = AtomicU64::new(0);
    let begun = Instant::now();
    let lived = || {
        let hand = Stagehand::default();
        let mut failed = BTreeMap::<&'static str, Vec<u64>>::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= lives {
                return failed;
            }
            if number > 0 && number.is_multiple_of(10_000) {
                told(number);
            }
            let seed = first.wrapping_add(number);
            for failure in hand.live(seed).failures {
                let seeds = failed.entry(failure.invariant).or_default();
                if seeds.last() != Some(&seed) {
                    seeds.push(seed);
                }
            }
        }
    };
    let mut report = Report {
        first,
        lives,
        ..Report::default()
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(lived)).collect();
        for thread in all {
            // A life that panics is caught where it is lived.
            for (name, seeds) in thread.join().unwrap_or_default() {
                report.failed.entry(name).or_default().extend(seeds);
            }
        }
    });
    for seeds in report.failed.values_mut() {
        seeds.sort_unstable();
    }
    report.took = begun.elapsed();
    report
}
