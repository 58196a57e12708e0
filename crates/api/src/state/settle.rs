//! Letting providers answer while a request still waits.

use std::time::Duration;

use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{JobFilter, JobState, JobSubject};
use lessor_domain::services::Error;
use lessor_domain::workers::jobs::JobRunner;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::state::AppState;
use crate::telemetry::outage;

/// How long a request waits for providers.
const PATIENCE: Duration = Duration::from_secs(5);
/// How soon it first looks again whether a worker is done; every time twice as long.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// The longest pause between two looks.
const LONGEST_PAUSE: Duration = Duration::from_millis(160);

/// How many open jobs are looked at.
const SEVERAL: u32 = 8;

/// Delivers the jobs of the organization's subject and comes back when they are done, or after a
/// few seconds. What is not done by then goes on, and what cannot be done now a worker tries again.
pub(crate) async fn settle(state: &AppState, organization: OrganizationId, subject: JobSubject) {
    let runner = state.engine.jobs();
    within_patience(state, "a job", async move {
        if let Err(error) = finish(&runner, organization, subject).await {
            let span = tracing::info_span!("settle", ?subject);
            span.in_scope(|| outage::hinders("jobs are left to the worker", &error));
        }
    })
    .await;
}

/// Does the work to its end and comes back when it is done, or after a few seconds.
pub(crate) async fn within_patience(
    state: &AppState,
    what: &'static str,
    work: impl Future<Output = ()> + Send + 'static,
) {
    let (done, waits) = oneshot::channel();
    // Not dropped half-way: a job that was taken would lie until its lease ends.
    state.mutations.detach(async move {
        work.await;
        // Nobody may be waiting any more.
        let _ = done.send(());
    });
    if tokio::time::timeout(PATIENCE, waits).await.is_err() {
        tracing::info!(what, "the provider takes its time");
    }
}

/// Delivers the subject's jobs. Where a worker was quicker, waits for what it is at.
async fn finish(
    runner: &JobRunner,
    organization: OrganizationId,
    subject: JobSubject,
) -> Result<(), Error> {
    let until = Instant::now() + PATIENCE;
    let mut pause = LOOK_AGAIN;
    loop {
        runner.drain(organization, subject).await?;
        let filter = JobFilter {
            state: Some(JobState::Pending),
            subject: Some(subject),
        };
        let mut view = runner.database.read(organization.into()).await?;
        let mut open = view.jobs().list(&filter, SEVERAL).await?;
        // What holds nothing up nobody waits for.
        open.retain(|job| !job.new.effect.holds_nothing_up());
        // One that is not due waits for its provider, or for a test to go on.
        let now = runner.clock.now();
        let under_way = open.first().is_some_and(|job| job.new.available_at <= now);
        if !under_way || Instant::now() >= until {
            return Ok(());
        }
        drop(view);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
