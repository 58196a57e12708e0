//! The `lessor` binary, built with the tests that run it, and with a switch: `ABORT_JOBS_AT` names the
//! point at which every kind of job aborts the process, `ABORT_JOBS_TIMES` says how often, and
//! `ABORT_JOBS_MARKS` is the folder in which this is kept count of. A point is one of the jobs' own, or
//! `request3`: the third request that a job made of the processor was answered, and nobody knows yet.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::{ExitCode, abort};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use async_trait::async_trait;
use lessor::run::compose::{Watch, watch};
use lessor_adapters::processor::{RawResponse, Sent, Transport};
use lessor_domain::cause::Cause;
use lessor_domain::checkout::Effect;
use lessor_domain::workers::jobs::{CrashPoint, Probe};
use tokio::task;

static ABORT: LazyLock<Option<Abort>> = LazyLock::new(Abort::from_environment);

struct Abort {
    at: String,
    times: u32,
    marks: PathBuf,
    /// What each task is at, and how many requests it has made for it.
    under_way: Mutex<HashMap<task::Id, (Effect, u32)>>,
}

impl Abort {
    fn from_environment() -> Option<Self> {
        Some(Self {
            at: std::env::var("ABORT_JOBS_AT").ok()?,
            times: std::env::var("ABORT_JOBS_TIMES").ok()?.parse().ok()?,
            marks: std::env::var_os("ABORT_JOBS_MARKS")?.into(),
            under_way: Mutex::default(),
        })
    }

    fn reached(&self, point: &str, effect: Effect) {
        if point != self.at {
            return;
        }
        for time in 1..=self.times {
            let mark = self.marks.join(format!("{effect}-{time}"));
            // Whoever makes the mark dies: no two do for the same one.
            if OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(mark)
                .is_ok()
            {
                abort();
            }
        }
    }

    /// Counts a request of the job that this task is at.
    fn answered(&self) -> Option<(Effect, u32)> {
        let mut under_way = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (effect, requests) = under_way.get_mut(&task::try_id()?)?;
        *requests += 1;
        Some((*effect, *requests))
    }
}

/// Looks at jobs.
struct Jobs;

impl Probe for Jobs {
    fn reached(&self, point: CrashPoint, effect: Effect) {
        let Some(switch) = &*ABORT else { return };
        if let Some(task) = task::try_id() {
            let mut under_way = switch
                .under_way
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            match point {
                CrashPoint::Taken => drop(under_way.insert(task, (effect, 0))),
                CrashPoint::Answered => drop(under_way.remove(&task)),
                _ => {}
            }
        }
        switch.reached(point.as_str(), effect);
    }
}

/// Looks at requests.
struct Requests(Arc<dyn Transport>);

#[async_trait]
impl Transport for Requests {
    async fn send(&self, request: Sent) -> Result<RawResponse, Cause> {
        let answer = self.0.send(request).await;
        if let Some(switch) = &*ABORT
            && let Some((effect, number)) = switch.answered()
        {
            switch.reached(&format!("request{number}"), effect);
        }
        answer
    }
}

fn main() -> ExitCode {
    if ABORT.is_some() {
        watch(Watch {
            jobs: Arc::new(Jobs),
            requests: |way| Arc::new(Requests(way)),
        });
    }
    lessor::cli::run()
}
