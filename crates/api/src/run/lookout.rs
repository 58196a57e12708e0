//! What a process does when the embedded database ends: it has it back, at the same address, so that connections are
//! made anew as they are to any database that comes back.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::compose::{self, Location};
use super::config::Config;

/// How often the embedded database is looked after.
const LOOK_AFTER: Duration = Duration::from_secs(1);
/// So many attempts in a row may fail.
const ATTEMPTS: u32 = 5;
/// The first pause between two attempts; each later one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A database that ends sooner is had back as slowly as after an attempt that failed: one that dies of what it is
/// asked would else be started without end.
const STEADY: Duration = Duration::from_secs(60);

/// When the database is tried to be had back, and how often.
#[derive(Debug, Default)]
struct Attempts {
    pause: Duration,
    failed: u32,
}

impl Attempts {
    /// How long to wait before the next one: before the first not at all.
    fn pause(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = pause.saturating_mul(2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        pause
    }

    /// Notes one that failed; whether there is another.
    fn another(&mut self) -> bool {
        self.failed = self.failed.saturating_add(1);
        self.failed < ATTEMPTS
    }
}

/// Why an attempt came to nothing.
enum Failure {
    /// The next one may not.
    Passing(anyhow::Error),
    /// Every other will, too.
    Lasting(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Passing(error)
    }
}

/// Looks after the embedded database, and has it back whenever it ends. Resolves when that is not to be done any
/// more, and says why.
pub(crate) async fn lost(location: &mut Location, config: &Config) -> anyhow::Error {
    let mut attempts = Attempts::default();
    let mut since = Instant::now();
    loop {
        sleep(LOOK_AFTER).await;
        let Some(loss) = location.loss() else {
            continue;
        };
        if since.elapsed() >= STEADY {
            attempts = Attempts::default();
        }
        tracing::error!("{loss}: requests are refused until it is back");
        if let Err(error) = regain(&mut attempts, location, config).await {
            return error.context(format!("{loss}, and cannot be had back"));
        }
        since = Instant::now();
        tracing::warn!("the embedded database is back");
    }
}

/// Makes attempts until one does, or too many in a row have failed.
async fn regain(
    attempts: &mut Attempts,
    location: &mut Location,
    config: &Config,
) -> anyhow::Result<()> {
    loop {
        sleep(attempts.pause()).await;
        match attempt(location, config).await {
            Ok(()) => {
                attempts.failed = 0;
                return Ok(());
            }
            Err(Failure::Lasting(error)) => return Err(error),
            Err(Failure::Passing(error)) => {
                if !attempts.another() {
                    return Err(error);
                }
                tracing::warn!(
                    attempt = attempts.failed,
                    error = format!("{error:#}"),
                    "the embedded database is not to be had back yet"
                );
            }
        }
    }
}

/// Starts the server again that this process runs; takes over from a process that has ended, or follows who came
/// first.
async fn attempt(location: &mut Location, config: &Config) -> Result<(), Failure> {
    match location {
        Location::Given(_) => Ok(()),
        Location::Owned(instance) => {
            let instance = Arc::clone(instance);
            let revived = spawn_blocking(move || instance.revive()).await;
            revived
                .context("starting the database")?
                .map_err(anyhow::Error::from)?;
            Ok(())
        }
        Location::Attached(_) => {
            let config = config.clone();
            let hosted = spawn_blocking(move || compose::host(&config, |_| ())).await;
            let hosted = hosted.context("starting the database")??;
            if hosted.url() != location.url() {
                return Err(Failure::Lasting(anyhow::anyhow!(
                    "it has another address or password now: start this process again"
                )));
            }
            *location = hosted;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_attempts_end() {
        let mut attempts = Attempts::default();
        let pauses: Vec<u64> = (0..8).map(|_| attempts.pause().as_secs()).collect();
        assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 30, 30]);
        let others: Vec<bool> = (0..5).map(|_| attempts.another()).collect();
        assert_eq!(others, [true, true, true, true, false]);
    }
}
