//! Work that is done after a change.

use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use uuid::Uuid;

use super::Memory;
use super::tables::{JobRow, Owned};
use crate::ports::{Job, JobFilter, JobState, JobStore, JobSubject, NewJob, StoreError};
use crate::time::Timestamp;

impl JobRow {
    /// Whether it is neither done nor skipped.
    fn is_open(&self) -> bool {
        !matches!(self.job.state, JobState::Done | JobState::Skipped)
    }

    /// Whether it stands before this one, which is later of the same subject.
    fn stands_before(&self, later: &Self) -> bool {
        if self.job.new.effect.holds_nothing_up() {
            return false;
        }
        match self.job.state {
            JobState::Done | JobState::Skipped => false,
            JobState::Dead => !later.job.new.effect.passes_dead(),
            JobState::Pending | JobState::Held => true,
        }
    }

    /// Whether it is to be done, at once or when somebody asks for it.
    fn waits(&self) -> bool {
        matches!(self.job.state, JobState::Pending | JobState::Held)
    }

    /// Whether nobody is at it by the store's clock.
    fn is_free(&self, clock: Timestamp) -> bool {
        self.waits() && self.leased_until.is_none_or(|until| until <= clock)
    }

    fn take(&mut self, now: Timestamp, leased_until: Option<Timestamp>) -> Job {
        self.leased_until = leased_until;
        self.job.attempts = self.job.attempts.saturating_add(1);
        self.job.first_attempt_at = self.job.first_attempt_at.or(Some(now));
        self.job.clone()
    }
}

/// The end of a lease that begins now, by the store's clock.
fn until(clock: Timestamp, lease: Duration) -> Option<Timestamp> {
    let lease = TimeDelta::from_std(lease).unwrap_or(TimeDelta::MAX);
    clock.checked_add_signed(lease).or(Some(Timestamp::MAX_UTC))
}

/// Whether nothing of its subject stands before the job at this place.
fn is_first(jobs: &[JobRow], place: usize) -> bool {
    let Some((row, before)) = jobs.get(..=place).and_then(|jobs| jobs.split_last()) else {
        return false;
    };
    let subject = row.job.new.subject;
    row.is_open()
        && !before
            .iter()
            .any(|other| other.job.new.subject == subject && other.stands_before(row))
}

/// The places of the jobs that are due by the time, each the first of its subject, which nobody is at
/// by the store's clock.
pub(super) fn due(
    jobs: &[JobRow],
    now: Timestamp,
    clock: Timestamp,
) -> impl Iterator<Item = usize> {
    let is_due = move |row: &JobRow| {
        row.job.state == JobState::Pending && row.job.new.available_at <= now && row.is_free(clock)
    };
    (0..jobs.len())
        .filter(move |place| jobs.get(*place).is_some_and(is_due))
        .filter(move |place| is_first(jobs, *place))
}

/// Whether it was done or skipped before the time.
pub(super) fn is_done_before(row: &JobRow, before: Timestamp) -> bool {
    row.done_at.is_some_and(|at| at < before)
}

/// The stored job if this attempt of it is still the last one.
fn attempt<'a>(state: &'a mut Owned, job: &Job) -> Option<&'a mut JobRow> {
    state.jobs.iter_mut().find(|row| {
        row.job.new.id == job.new.id
            && row.waits()
            && row.job.attempts == job.attempts
            && row.leased_until.is_some()
    })
}

#[async_trait]
impl JobStore for Memory {
    async fn push(&mut self, jobs: &[NewJob]) -> Result<(), StoreError> {
        for new in jobs {
            let state = self.change_of(new.organization_id)?;
            state.jobs.push(JobRow {
                job: Job {
                    new: new.clone(),
                    state: if new.is_held {
                        JobState::Held
                    } else {
                        JobState::Pending
                    },
                    attempts: 0,
                    first_attempt_at: None,
                    last_error: None,
                },
                leased_until: None,
                done_at: None,
            });
        }
        Ok(())
    }

    async fn claim(
        &mut self,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<Job>, StoreError> {
        let clock = self.told(now)?;
        let state = self.change_own()?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut firsts: Vec<usize> = due(&state.jobs, now, clock).collect();
        firsts.sort_by_key(|place| state.jobs.get(*place).map(|row| row.job.new.available_at));
        firsts.truncate(limit);
        firsts.sort_unstable();
        let mut claimed = Vec::with_capacity(firsts.len());
        for place in firsts {
            let row = state.jobs.get_mut(place);
            claimed.extend(row.map(|row| row.take(now, until(clock, lease))));
        }
        Ok(claimed)
    }

    async fn claim_of(
        &mut self,
        subject: JobSubject,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<Job>, StoreError> {
        let clock = self.told(now)?;
        let state = self.change_own()?;
        let first = (0..state.jobs.len()).find(|place| {
            let row = state.jobs.get(*place);
            row.is_some_and(|row| {
                let holds_up = !row.job.new.effect.holds_nothing_up();
                row.job.new.subject == subject && row.waits() && holds_up
            }) && is_first(&state.jobs, *place)
        });
        Ok(first
            .and_then(|place| state.jobs.get_mut(place))
            .filter(|row| row.is_free(clock))
            .map(|row| row.take(now, until(clock, lease))))
    }

    async fn renew(&mut self, job: &Job, lease: Duration) -> Result<bool, StoreError> {
        let clock = self.clock();
        let state = self.change_own()?;
        let Some(row) = attempt(state, job) else {
            return Ok(false);
        };
        row.leased_until = until(clock, lease);
        Ok(true)
    }

    async fn complete(&mut self, job: &Job, at: Timestamp) -> Result<bool, StoreError> {
        let Some(row) = attempt(self.change_own()?, job) else {
            return Ok(false);
        };
        row.job.state = JobState::Done;
        row.leased_until = None;
        row.done_at = Some(at);
        Ok(true)
    }

    async fn retry(
        &mut self,
        job: &Job,
        not_before: Timestamp,
        error: &str,
    ) -> Result<(), StoreError> {
        if let Some(row) = attempt(self.change_own()?, job) {
            row.leased_until = None;
            row.job.state = JobState::Pending;
            row.job.new.available_at = not_before;
            row.job.last_error = Some(error.to_owned());
        }
        Ok(())
    }

    async fn bury(&mut self, job: &Job, error: &str) -> Result<(), StoreError> {
        if let Some(row) = attempt(self.change_own()?, job) {
            row.leased_until = None;
            row.job.state = JobState::Dead;
            row.job.last_error = Some(error.to_owned());
        }
        Ok(())
    }

    async fn skip(&mut self, id: Uuid, reason: &str, at: Timestamp) -> Result<bool, StoreError> {
        let clock = self.clock();
        let state = self.change_own()?;
        let mut rows = state.jobs.iter_mut();
        let found = rows.find(|row| {
            row.job.new.id == id && (row.job.state == JobState::Dead || row.is_free(clock))
        });
        let Some(row) = found else { return Ok(false) };
        row.job.state = JobState::Skipped;
        row.job.last_error = Some(reason.to_owned());
        row.leased_until = None;
        row.done_at = Some(at);
        Ok(true)
    }

    async fn list(&mut self, filter: &JobFilter, limit: u32) -> Result<Vec<Job>, StoreError> {
        let state = self.own();
        Ok(state
            .jobs
            .iter()
            .filter(|row| {
                let fits = filter
                    .state
                    .map_or(row.is_open(), |wanted| row.job.state == wanted);
                fits && filter
                    .subject
                    .is_none_or(|subject| row.job.new.subject == subject)
            })
            .take(usize::try_from(limit).unwrap_or(usize::MAX))
            .map(|row| row.job.clone())
            .collect())
    }

    async fn requeue(&mut self, id: Option<Uuid>, now: Timestamp) -> Result<u64, StoreError> {
        let clock = self.told(now)?;
        let state = self.change_own()?;
        let mut requeued: u64 = 0;
        for row in &mut state.jobs {
            let is_waiting = match row.job.state {
                JobState::Dead => true,
                // What a test holds goes on when that very job is named.
                JobState::Held => id.is_some() && row.is_free(clock),
                JobState::Pending => row.job.new.available_at > now && row.is_free(clock),
                JobState::Done | JobState::Skipped => false,
            };
            let is_meant = id.is_none_or(|id| row.job.new.id == id);
            if is_meant && is_waiting {
                row.job.state = JobState::Pending;
                row.job.new.available_at = now;
                requeued = requeued.saturating_add(1);
            }
        }
        Ok(requeued)
    }

    async fn release(&mut self, subject: JobSubject, now: Timestamp) -> Result<u64, StoreError> {
        let mut released: u64 = 0;
        for row in &mut self.change_own()?.jobs {
            let is_held = row.job.state == JobState::Held;
            let is_put_off = row.job.state == JobState::Pending && row.job.new.available_at > now;
            if row.job.new.subject == subject && (is_held || is_put_off) {
                row.job.state = JobState::Pending;
                row.job.new.available_at = row.job.new.available_at.min(now);
                released = released.saturating_add(1);
            }
        }
        Ok(released)
    }

    async fn purge_done(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        let state = self.change_own()?;
        let kept = state.jobs.len();
        state.jobs.retain(|row| !is_done_before(row, before));
        let count = kept.saturating_sub(state.jobs.len());
        Ok(u64::try_from(count).unwrap_or(u64::MAX))
    }
}
