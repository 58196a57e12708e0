//! Loads, and what they were answered.

use std::time::Duration;

use hdrhistogram::Histogram;
use lessor_tests::refuse;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::shop::{Answer, Shop};

/// What comes later is of no use to whoever asked.
const IN_TIME: Duration = Duration::from_secs(1);

/// What a load was answered.
#[derive(Debug)]
pub(crate) struct Tally {
    /// What every answer took, in microseconds.
    answered: Histogram<u64>,
    /// What successes took.
    done: Histogram<u64>,
    /// Successes within [`IN_TIME`].
    pub(crate) in_time: u64,
    /// Requests that were refused for now.
    pub(crate) refused: u64,
    /// Requests that were answered with another error, or not at all.
    pub(crate) failed: u64,
    /// What the first of either was told.
    why: Option<String>,
}

impl Tally {
    pub(crate) fn new() -> Self {
        let empty = || Histogram::new(3).unwrap_or_else(|error| refuse(&error.to_string()));
        Self {
            answered: empty(),
            done: empty(),
            in_time: 0,
            refused: 0,
            failed: 0,
            why: None,
        }
    }

    /// Counts an answer that came after so long.
    pub(crate) fn add(&mut self, answer: Answer, after: Duration) {
        let micros = u64::try_from(after.as_micros()).unwrap_or(u64::MAX);
        match answer {
            Answer::Done(_) => {
                self.done += micros;
                self.answered += micros;
                self.in_time += u64::from(after <= IN_TIME);
            }
            Answer::Refused(why) => {
                self.refused += 1;
                self.why.get_or_insert(why);
                self.answered += micros;
            }
            Answer::Failed(why) => {
                self.failed += 1;
                self.why.get_or_insert(why);
            }
        }
    }

    /// How many did not succeed, and why the first of them.
    pub(crate) fn lost(&self) -> (u64, String) {
        let why = self.why.as_ref().map(|why| format!(" ({why})"));
        (self.refused + self.failed, why.unwrap_or_default())
    }

    /// How many succeeded.
    pub(crate) fn done(&self) -> u64 {
        self.done.len()
    }

    /// The time within which so much of the answers came, refusals too.
    pub(crate) fn answered_within(&self, quantile: f64) -> Duration {
        Duration::from_micros(self.answered.value_at_quantile(quantile))
    }

    /// The time within which so much of the successes came.
    pub(crate) fn done_within(&self, quantile: f64) -> Duration {
        Duration::from_micros(self.done.value_at_quantile(quantile))
    }

    fn merge(&mut self, other: Self) {
        self.done += other.done;
        self.answered += other.answered;
        self.in_time += other.in_time;
        self.refused += other.refused;
        self.failed += other.failed;
        self.why = self.why.take().or(other.why);
    }
}

/// What a load asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ask {
    /// New checkouts.
    Writes,
    /// What is for sale.
    Reads,
    /// The one as often as the other.
    Both,
}

impl Ask {
    pub(crate) async fn once(self, shop: &Shop, number: u32) -> Answer {
        match self {
            Self::Writes => shop.write().await,
            Self::Reads => shop.read().await,
            Self::Both if number.is_multiple_of(2) => shop.read().await,
            Self::Both => shop.write().await,
        }
    }
}

/// So many clients who ask again as soon as they are answered, for so long.
pub(crate) async fn closed(shops: &[Shop], clients: usize, ask: Ask, window: Duration) -> Tally {
    let end = Instant::now() + window;
    let mut running = JoinSet::new();
    for shop in shops.iter().cycle().take(clients) {
        let shop = shop.clone();
        running.spawn(async move {
            let mut tally = Tally::new();
            for number in 0.. {
                let asked = Instant::now();
                if asked >= end {
                    break;
                }
                let answer = ask.once(&shop, number).await;
                let now = Instant::now();
                // What ends after the window is not of it.
                if now <= end {
                    tally.add(answer, now - asked);
                }
            }
            tally
        });
    }
    together(running).await
}

/// Requests at this rate, whatever becomes of those before, for so long. Each counts from when it was to be sent.
pub(crate) async fn open(shops: &[Shop], rate: f64, ask: Ask, window: Duration) -> Tally {
    let mut running = JoinSet::new();
    let mut tally = Tally::new();
    let begun = Instant::now();
    for (number, shop) in (0_u32..).zip(shops.iter().cycle()) {
        let due = Duration::from_secs_f64(f64::from(number) / rate);
        if due >= window {
            break;
        }
        sleep_until(begun + due).await;
        let shop = shop.clone();
        running.spawn(async move {
            let answer = ask.once(&shop, number).await;
            (answer, begun.elapsed().saturating_sub(due))
        });
        while let Some(ended) = running.try_join_next() {
            let (answer, after) = ended.unwrap_or_else(|error| refuse(&error.to_string()));
            tally.add(answer, after);
        }
    }
    while let Some(ended) = running.join_next().await {
        let (answer, after) = ended.unwrap_or_else(|error| refuse(&error.to_string()));
        tally.add(answer, after);
    }
    tally
}

/// So many requests at once.
pub(crate) async fn at_once(shop: &Shop, count: u32, ask: Ask) -> Tally {
    let mut running = JoinSet::new();
    for number in 0..count {
        let shop = shop.clone();
        running.spawn(async move {
            let asked = Instant::now();
            let mut tally = Tally::new();
            tally.add(ask.once(&shop, number).await, asked.elapsed());
            tally
        });
    }
    together(running).await
}

async fn together(mut running: JoinSet<Tally>) -> Tally {
    let mut all = Tally::new();
    while let Some(ended) = running.join_next().await {
        all.merge(ended.unwrap_or_else(|error| refuse(&error.to_string())));
    }
    all
}

/// A time as people read it.
pub(crate) fn shown(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1_000.0;
    match millis {
        ..10.0 => format!("{millis:.1} ms"),
        ..1_000.0 => format!("{millis:.0} ms"),
        _ => format!("{:.1} s", millis / 1_000.0),
    }
}

/// How many a second.
pub(crate) fn rate(count: u64, window: Duration) -> f64 {
    Duration::from_secs(count).as_secs_f64() / window.as_secs_f64()
}
