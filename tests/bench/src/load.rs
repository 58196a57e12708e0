//! Load: closed loops for what can be done at most, a pace for how long it takes when there is room.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use anyhow::{Context as _, bail};
use futures_util::future::try_join_all;
use hdrhistogram::Histogram;
use tokio::time::Instant;

use crate::http::{Connection, Request};
use crate::pace::Pace;

/// The longest time that is told apart, in microseconds.
const LONGEST: u64 = 120_000_000;

/// What requests are made of, and how many there are: those that change something are sent once.
pub(crate) struct Source<'a> {
    /// The request of a number.
    pub(crate) make: &'a dyn Fn(u32) -> Request,
    /// The numbers; a source that repeats itself begins again at their end.
    pub(crate) numbers: std::ops::Range<u32>,
    /// Whether it repeats itself.
    pub(crate) repeats: bool,
}

/// What came of a turn.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Requests that were answered as they should be.
    pub(crate) answered: u64,
    /// Requests that were answered otherwise.
    pub(crate) refused: u64,
    /// What the first of those said.
    refusal: String,
    /// How long it took.
    pub(crate) took: Duration,
    /// How long each took, in microseconds.
    pub(crate) times: Histogram<u64>,
}

impl Turn {
    /// Nothing yet.
    ///
    /// # Errors
    /// None, where the longest time can be told apart.
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            answered: 0,
            refused: 0,
            refusal: String::new(),
            took: Duration::ZERO,
            times: Histogram::new_with_bounds(1, LONGEST, 3)?,
        })
    }

    /// Requests a second.
    pub(crate) fn rate(&self) -> f64 {
        self.answered as f64 / self.took.as_secs_f64().max(1e-9)
    }

    /// Adds another turn of the same.
    ///
    /// # Errors
    /// Their times do not fit together.
    pub(crate) fn add(&mut self, other: &Self) -> anyhow::Result<()> {
        self.answered += other.answered;
        self.refused += other.refused;
        self.took += other.took;
        self.times.add(&other.times)?;
        Ok(())
    }

    /// The time below which so many percent were answered, in milliseconds.
    pub(crate) fn millis(&self, percent: f64) -> f64 {
        self.times.value_at_percentile(percent) as f64 / 1_000.0
    }
}

/// Connections to one server that load goes over.
pub(crate) struct Load {
    connections: Vec<Connection>,
}

impl Load {
    /// # Errors
    /// The server takes no connection.
    pub(crate) async fn open(address: &str, connections: usize) -> anyhow::Result<Self> {
        let opening = (0..connections).map(|_| Connection::open(address));
        let connections = try_join_all(opening).await.context("no connection")?;
        Ok(Self { connections })
    }

    /// Sends for so long: as fast as answers come, or so many a second. Answers the turn, and the first number that
    /// was not sent.
    ///
    /// # Errors
    /// A connection broke.
    pub(crate) async fn run(
        &mut self,
        source: &Source<'_>,
        span: Duration,
        pace: Option<f64>,
    ) -> anyhow::Result<(Turn, u32)> {
        let turn = RefCell::new(Turn::new()?);
        let next = Cell::new(source.numbers.start);
        let begun = Instant::now();
        let end = begun + span;
        let pace = pace.map(|rate| Pace::of(rate, span));
        let one = |connection| {
            let (turn, next, pace) = (&turn, &next, &pace);
            async move {
                let connection: &mut Connection = connection;
                while Instant::now() < end {
                    // Who was due while all connections waited is late by that.
                    let due = match pace {
                        Some(pace) => match pace.next().await {
                            None => break,
                            due => due,
                        },
                        None => None,
                    };
                    let Some(number) = take(next, source) else {
                        break;
                    };
                    let request = (source.make)(number);
                    let sent = due.unwrap_or_else(Instant::now);
                    let answer = connection.ask(&request).await.context("a request")?;
                    let mut turn = turn.borrow_mut();
                    if (200..300).contains(&answer.status) {
                        turn.answered += 1;
                        turn.times.saturating_record(micros(sent.elapsed()));
                    } else {
                        if turn.refused == 0 {
                            turn.refusal = String::from_utf8_lossy(answer.body).into_owned();
                        }
                        turn.refused += 1;
                    }
                }
                anyhow::Ok(())
            }
        };
        try_join_all(self.connections.iter_mut().map(one)).await?;
        let mut turn = turn.into_inner();
        turn.took = begun.elapsed();
        if turn.answered == 0 {
            bail!("{} refused, none answered: {}", turn.refused, turn.refusal);
        }
        Ok((turn, next.get()))
    }
}

fn take(next: &Cell<u32>, source: &Source<'_>) -> Option<u32> {
    let mut number = next.get();
    if number >= source.numbers.end {
        if !source.repeats {
            return None;
        }
        number = source.numbers.start;
    }
    next.set(number + 1);
    Some(number)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
