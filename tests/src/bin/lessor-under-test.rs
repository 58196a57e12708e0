//! The `lessor` binary, built with the tests that run it, and with a switch: `ABORT_JOBS_AT` names the
//! point at which every kind of job aborts the process, `ABORT_JOBS_TIMES` says how often, and
//! `ABORT_JOBS_MARKS` is the folder in which this is kept count of.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::{ExitCode, abort};
use std::sync::Arc;

use lessor_domain::checkout::Effect;
use lessor_domain::workers::jobs::{CrashPoint, Probe};

struct Abort {
    at: String,
    times: u32,
    marks: PathBuf,
}

impl Abort {
    fn from_environment() -> Option<Self> {
        Some(Self {
            at: std::env::var("ABORT_JOBS_AT").ok()?,
            times: std::env::var("ABORT_JOBS_TIMES").ok()?.parse().ok()?,
            marks: std::env::var_os("ABORT_JOBS_MARKS")?.into(),
        })
    }
}

impl Probe for Abort {
    fn reached(&self, point: CrashPoint, effect: Effect) {
        if point.as_str() != self.at {
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
}

fn main() -> ExitCode {
    if let Some(switch) = Abort::from_environment() {
        lessor::compose::watch_jobs(Arc::new(switch));
    }
    lessor::cli::run()
}
