//! Work that is done after a change.

use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use uuid::Uuid;

use super::Memory;
use super::state::{JobRow, State};
use crate::ports::{Job, JobFilter, JobState, JobSubject, NewJob, OutboxStore, StoreError};
use crate::time::Timestamp;

impl JobRow {
    /// Whether it stands before later ones of its subject.
    fn is_open(&self) -> bool {
        self.job.state != JobState::Done
    }

    /// Whether it is to be done, at once or when somebody asks for it.
    fn waits(&self) -> bool {
        matches!(self.job.state, JobState::Pending | JobState::Held)
    }

    /// Whether nobody is at it.
    fn is_free(&self, now: Timestamp) -> bool {
        self.waits() && self.leased_until.is_none_or(|until| until <= now)
    }

    fn take(&mut self, now: Timestamp, lease: Duration) -> Job {
        let lease = TimeDelta::from_std(lease).unwrap_or(TimeDelta::MAX);
        self.leased_until = now.checked_add_signed(lease).or(Some(Timestamp::MAX_UTC));
        self.job.attempts = self.job.attempts.saturating_add(1);
        self.job.first_attempt_at = self.job.first_attempt_at.or(Some(now));
        self.job.clone()
    }
}

/// The stored job if this attempt of it is still the last one.
fn attempt<'a>(state: &'a mut State, job: &Job) -> Option<&'a mut JobRow> {
    state.jobs.iter_mut().find(|row| {
        row.job.new.id == job.new.id
            && row.waits()
            && row.job.attempts == job.attempts
            && row.leased_until.is_some()
    })
}

fn count(jobs: impl Iterator<Item = JobState>, state: JobState) -> u64 {
    u64::try_from(jobs.filter(|each| *each == state).count()).unwrap_or(u64::MAX)
}

#[async_trait]
impl OutboxStore for Memory {
    async fn push(&mut self, jobs: &[NewJob]) -> Result<(), StoreError> {
        let state = self.change()?;
        for new in jobs {
            state.require_organization(new.organization_id)?;
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
        let state = self.change()?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut begun: Vec<JobSubject> = Vec::new();
        let mut claimed = Vec::new();
        for row in state.jobs.iter_mut().filter(|row| row.is_open()) {
            if claimed.len() == limit {
                break;
            }
            let subject = row.job.new.subject;
            if begun.contains(&subject) {
                continue;
            }
            begun.push(subject);
            let is_due = row.job.state == JobState::Pending && row.job.new.available_at <= now;
            if is_due && row.is_free(now) {
                claimed.push(row.take(now, lease));
            }
        }
        Ok(claimed)
    }

    async fn claim_of(
        &mut self,
        subject: JobSubject,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<Job>, StoreError> {
        let first = self
            .change()?
            .jobs
            .iter_mut()
            .find(|row| row.is_open() && row.job.new.subject == subject);
        Ok(first
            .filter(|row| row.is_free(now))
            .map(|row| row.take(now, lease)))
    }

    async fn complete(&mut self, job: &Job, at: Timestamp) -> Result<bool, StoreError> {
        let Some(row) = attempt(self.change()?, job) else {
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
        if let Some(row) = attempt(self.change()?, job) {
            row.leased_until = None;
            row.job.state = JobState::Pending;
            row.job.new.available_at = not_before;
            row.job.last_error = Some(error.to_owned());
        }
        Ok(())
    }

    async fn bury(&mut self, job: &Job, error: &str) -> Result<(), StoreError> {
        if let Some(row) = attempt(self.change()?, job) {
            row.leased_until = None;
            row.job.state = JobState::Dead;
            row.job.last_error = Some(error.to_owned());
        }
        Ok(())
    }

    async fn list(&mut self, filter: &JobFilter, limit: u32) -> Result<Vec<Job>, StoreError> {
        let state = self.state();
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
        let mut requeued: u64 = 0;
        for row in &mut self.change()?.jobs {
            let is_waiting = match row.job.state {
                JobState::Dead => true,
                // What a test holds goes on when that very job is named.
                JobState::Held => id.is_some() && row.is_free(now),
                JobState::Pending => row.job.new.available_at > now && row.is_free(now),
                JobState::Done => false,
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
        for row in &mut self.change()?.jobs {
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

    async fn backlog(&mut self) -> Result<(u64, u64), StoreError> {
        let state = self.state();
        let states = || state.jobs.iter().map(|row| row.job.state);
        Ok((
            count(states(), JobState::Pending),
            count(states(), JobState::Dead),
        ))
    }

    async fn purge_done(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        let state = self.change()?;
        let old = |row: &JobRow| row.done_at.is_some_and(|at| at < before);
        let count = state.jobs.iter().filter(|row| old(row)).count();
        state.jobs.retain(|row| !old(row));
        Ok(u64::try_from(count).unwrap_or(u64::MAX))
    }
}
