//! The long run: see the library.
#![expect(
    clippy::print_stdout,
    reason = "a program for people, who read what it prints"
)]

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Parser;
use lessor_simulator::{Stagehand, run, shrink};

/// Lives of leases, led about by chance, and what must hold after each.
#[derive(Parser)]
struct Arguments {
    /// How many lives; without it, the one of the seed is replayed, shrunk and told.
    #[arg(long)]
    lives: Option<u64>,
    /// The first seed, or the one to be replayed.
    #[arg(long)]
    seed: Option<u64>,
    /// How many threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// How many failing seeds of each invariant are shrunk; the stories that differ are told.
    #[arg(long, default_value_t = 1)]
    stories: usize,
    /// Tells the whole story of the seed before it is shrunk.
    #[arg(long)]
    whole: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match (arguments.lives, arguments.seed) {
        (None, Some(seed)) => replay(seed, arguments.whole),
        (lives, seed) => many(&arguments, lives.unwrap_or(100_000), seed.unwrap_or(0)),
    }
}

fn replay(seed: u64, whole: bool) -> ExitCode {
    let hand = Stagehand::default();
    let outcome = hand.tell(seed);
    if whole || outcome.failures.is_empty() {
        println!("{}\n", outcome.words.join("\n"));
    }
    let names: BTreeSet<_> = outcome.failures.iter().map(|it| it.invariant).collect();
    for name in &names {
        tell(&hand, seed, name, &mut BTreeSet::new());
    }
    if names.is_empty() {
        println!("seed {seed}: everything holds");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Shrinks the story of the seed, and tells what is left unless it was told before.
fn tell(hand: &Stagehand, seed: u64, name: &str, told: &mut BTreeSet<Vec<String>>) {
    let story = hand.live(seed).story;
    let shortest = shrink(hand, &story, &|outcome| {
        outcome.failures.iter().any(|it| it.invariant == name)
    });
    let outcome = hand.replay(&shortest, true);
    if !told.insert(outcome.words.clone()) {
        return;
    }
    println!("--- {name}, seed {seed}");
    println!("{}", outcome.words.join("\n"));
    for failure in outcome.failures.iter().filter(|it| it.invariant == name) {
        println!("=> {name}: {}", failure.what);
    }
    println!();
}

fn many(arguments: &Arguments, lives: u64, first: u64) -> ExitCode {
    let last = first.wrapping_add(lives.saturating_sub(1));
    println!(
        "{lives} lives, seeds {first} to {last}, {} threads",
        arguments.threads
    );
    let report = run(first, lives, arguments.threads, |lived| {
        println!("{lived} …");
    });
    let seconds = report.took.as_secs_f64();
    let speed = f64::from(u32::try_from(lives).unwrap_or(u32::MAX)) / seconds;
    println!("{lives} lives in {seconds:.1} s, {speed:.0} a second");
    let hand = Stagehand::default();
    for (name, seeds) in &report.failed {
        let some: Vec<_> = seeds.iter().take(8).map(ToString::to_string).collect();
        println!("{name}: {} lives; seeds {}", seeds.len(), some.join(", "));
    }
    println!();
    for (name, seeds) in &report.failed {
        let mut told = BTreeSet::new();
        for seed in seeds.iter().take(arguments.stories) {
            tell(&hand, *seed, name, &mut told);
        }
    }
    if report.failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
