//! The worker: tells providers what the job queue holds and endpoints what happened, sends mails, and does what time
//! brings about.
//!
//! Any number of processes may work on the same database: jobs are taken one by one, and chores may be
//! done by several at once. A worker does not end by itself; what fails is logged and tried again.

mod chores;
mod couriers;
mod mailers;
mod wake;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lessor_domain::ports::{Clock, Job};
use lessor_domain::workers::Round;
use lessor_domain::workers::jobs::{JobResult, JobRunner};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::telemetry::outage;
use crate::telemetry::{CHORE_FINISHED, JOBS, as_gauge};

pub use chores::{
    Census, Chore, ChoreError, Done, Endings, Gauges, Housekeeping, KeptMessages, Numbers, Purge,
    Reconciliation, SimulatedInvoices,
};
pub use couriers::Couriers;
pub use mailers::Mailers;
pub use wake::{WakeUp, WakingDatabase};

/// How often an idle worker looks for jobs that come to be due, and for those that nobody told of: where
/// others cannot be heard, and while the connection that hears them is away.
const POLL: Duration = Duration::from_secs(2);
/// For how long a worker that has more to do than it has places for waits until half of them are free: each
/// place that becomes free would be a claim. Most jobs take longer.
const GATHER: Duration = Duration::from_millis(5);
/// The longest pause while the database cannot be reached.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long jobs that are cut off may take to be handed back.
const HAND_BACK_WITHIN: Duration = Duration::from_secs(1);

/// What a worker works with.
pub struct Worker {
    /// Carries jobs out.
    pub runner: JobRunner,
    /// Jobs under way at a time.
    pub jobs: NonZeroUsize,
    /// Tells that there may be new jobs.
    pub wake_up: WakeUp,
    /// Who tells endpoints what happened.
    pub couriers: Couriers,
    /// Who sends mails, where any are sent.
    pub mailers: Option<Mailers>,
    /// What is done from time to time.
    pub chores: Vec<Box<dyn Chore>>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// A worker at work. It goes on when this is dropped; [`stop`](Self::stop) ends it.
pub struct RunningWorker {
    /// No more jobs are taken.
    stop: CancellationToken,
    /// Jobs under way are handed back.
    cut: CancellationToken,
    tasks: TaskTracker,
}

impl Worker {
    /// Goes to work on the current runtime.
    #[must_use]
    pub fn start(self) -> RunningWorker {
        let working = RunningWorker {
            stop: CancellationToken::new(),
            cut: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        for chore in self.chores {
            let (stop, clock) = (working.stop.clone(), Arc::clone(&self.clock));
            working.tasks.spawn(async move {
                // A chore is done in transactions: what is cut off has not happened.
                stop.run_until_cancelled(keep_doing(chore, clock)).await;
            });
        }
        let dispatcher = Dispatcher {
            runner: self.runner,
            places: self.jobs,
            free: Arc::new(Semaphore::new(self.jobs.get())),
            wake_up: self.wake_up,
            stop: working.stop.clone(),
            cut: working.cut.clone(),
            tasks: working.tasks.clone(),
        };
        working.tasks.spawn(dispatcher.run());
        let deliveries = couriers::Dispatcher {
            couriers: self.couriers,
            stop: working.stop.clone(),
            cut: working.cut.clone(),
            tasks: working.tasks.clone(),
        };
        working.tasks.spawn(deliveries.run());
        if let Some(mailers) = self.mailers {
            let mails = mailers::Dispatcher {
                mailers,
                stop: working.stop.clone(),
                cut: working.cut.clone(),
                tasks: working.tasks.clone(),
            };
            working.tasks.spawn(mails.run());
        }
        working
    }
}

impl RunningWorker {
    /// Takes no more jobs, waits for those under way until the deadline, and then hands the rest back.
    pub async fn stop(self, deadline: Instant) {
        self.stop.cancel();
        self.tasks.close();
        if timeout_at(deadline, self.tasks.wait()).await.is_ok() {
            return;
        }
        self.cut.cancel();
        let soon = Instant::now() + HAND_BACK_WITHIN;
        if timeout_at(soon, self.tasks.wait()).await.is_err() {
            // Their lease ends by itself.
            tracing::warn!(left = self.tasks.len(), "jobs could not be handed back");
        }
    }
}

/// Takes jobs and gives each a task.
struct Dispatcher {
    runner: JobRunner,
    /// How many jobs it does at a time.
    places: NonZeroUsize,
    free: Arc<Semaphore>,
    wake_up: WakeUp,
    stop: CancellationToken,
    cut: CancellationToken,
    tasks: TaskTracker,
}

impl Dispatcher {
    async fn run(self) {
        let stop = self.stop.clone();
        stop.run_until_cancelled(self.dispatch()).await;
    }

    async fn dispatch(&self) {
        let mut pause = POLL;
        let mut wanted = 1;
        let mut round = Round::default();
        loop {
            let free = self.free_places(wanted).await;
            wanted = 1;
            let most = free.len();
            let taken = self.take_into(free, &mut round).await;
            note_access(&taken);
            match taken {
                Ok(0) => {
                    pause = POLL;
                    self.wake_up.wait(POLL).await;
                }
                Ok(taken) => {
                    pause = POLL;
                    if taken == most {
                        // There may be more where these came from.
                        wanted = self.places.get().div_ceil(2);
                    }
                }
                Err(error) => {
                    outage::hinders("the worker cannot take jobs", &error);
                    sleep(pause).await;
                    pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// All places that are free, as soon as there are so many, or [`GATHER`] after there is one.
    async fn free_places(&self, wanted: usize) -> Vec<OwnedSemaphorePermit> {
        // Nobody closes the semaphore.
        let Ok(first) = Arc::clone(&self.free).acquire_owned().await else {
            return Vec::new();
        };
        let others = u32::try_from(wanted.saturating_sub(1)).unwrap_or(u32::MAX);
        // Either way they are given back, and taken one by one.
        let _ = timeout(GATHER, self.free.acquire_many(others)).await;
        let mut free = vec![first];
        while let Ok(place) = Arc::clone(&self.free).try_acquire_owned() {
            free.push(place);
        }
        free
    }

    /// Takes as many jobs as there are free places. A claim that is cut off by the stop took nothing, or
    /// its lease ends by itself.
    async fn take_into(
        &self,
        free: Vec<OwnedSemaphorePermit>,
        round: &mut Round,
    ) -> Result<usize, lessor_domain::services::Error> {
        let limit = u32::try_from(free.len()).unwrap_or(u32::MAX);
        let jobs = self.runner.take(round, limit).await?;
        let taken = jobs.len();
        for (job, place) in jobs.into_iter().zip(free) {
            let runner = self.runner.clone();
            let wake_up = self.wake_up.clone();
            let cut = self.cut.clone();
            let span = tracing::info_span!("job", id = %job.new.id, effect = %job.new.effect);
            self.tasks.spawn(
                async move {
                    carry_out(&runner, &job, &cut).await;
                    drop(place);
                    // The next job of the same subject may be due now.
                    wake_up.now();
                }
                .instrument(span),
            );
        }
        Ok(taken)
    }
}

async fn carry_out(runner: &JobRunner, job: &Job, cut: &CancellationToken) {
    let Some(tried) = cut.run_until_cancelled(runner.carry_out(job)).await else {
        match runner.hand_back(job).await {
            Ok(()) => tracing::info!("handed back"),
            Err(error) => outage::hinders("cannot be handed back", &error),
        }
        return;
    };
    let outcome = match tried {
        Ok(JobResult::Done) => {
            tracing::debug!("done");
            "done"
        }
        Ok(JobResult::Later(at) | JobResult::Undecided(at)) => {
            tracing::info!(%at, attempts = job.attempts, "to be tried again");
            "later"
        }
        Ok(JobResult::Buried) => {
            tracing::error!(attempts = job.attempts, "dead: see `lessor jobs list`");
            "dead"
        }
        Err(error) => {
            outage::hinders("what became of the job cannot be written down", &error);
            "unknown"
        }
    };
    metrics::counter!(JOBS, "outcome" => outcome).increment(1);
}

/// An outage is over for whoever took what there is, or saw that there is nothing.
fn note_access<T, E>(taken: &Result<T, E>) {
    if taken.is_ok() {
        outage::answered();
    }
}

/// Does the chore again and again, and says when it was last done. Never ends.
pub(crate) async fn keep_doing(chore: Box<dyn Chore>, clock: Arc<dyn Clock>) {
    loop {
        let done = chore.run().await;
        note_access(&done);
        if done.is_ok() {
            metrics::gauge!(CHORE_FINISHED, "chore" => chore.name())
                .set(as_gauge(clock.now().timestamp()));
        }
        let pause = match done {
            Ok(Done::More) => Duration::ZERO,
            Ok(Done::ForNow) => chore.every(),
            Err(error) => {
                let span = tracing::info_span!("chore", chore = chore.name());
                span.in_scope(|| outage::hinders("will be done later", &error));
                chore.every()
            }
        };
        sleep(pause).await;
    }
}
