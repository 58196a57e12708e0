//! What processes take of the processor, as the kernel counts it: what else runs on the machine makes a request
//! slower, and hardly dearer.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

/// Ticks of the kernel in a second, for whoever reads its counts.
const TICKS: f64 = 100.0;

/// A process whose time is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The process alone.
    Alone(u32),
    /// With its children, those that have ended included: a database.
    Family(u32),
}

/// The numbers of a process's stat.
struct Stat {
    parent: u32,
    own: f64,
    of_ended_children: f64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses, and may hold anything.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<f64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        own: number(11)? + number(12)?,
        of_ended_children: number(13)? + number(14)?,
    })
}

impl Counted {
    /// What it took since it began.
    ///
    /// # Errors
    /// There is no such process.
    pub(crate) fn time(self) -> anyhow::Result<Duration> {
        let (Self::Alone(pid) | Self::Family(pid)) = self;
        let first = stat(pid).with_context(|| format!("process {pid} is gone"))?;
        let mut ticks = first.own;
        if matches!(self, Self::Family(_)) {
            ticks += first.of_ended_children;
            let children = pids()
                .into_iter()
                .filter_map(stat)
                .filter(|it| it.parent == pid);
            ticks += children
                .map(|it| it.own + it.of_ended_children)
                .sum::<f64>();
        }
        Ok(Duration::from_secs_f64(ticks / TICKS))
    }
}

fn pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The memory that a process has, in MiB.
///
/// # Errors
/// There is no such process.
pub(crate) fn memory(pid: u32) -> anyhow::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
    kilobytes
        .map(|kilobytes: f64| kilobytes / 1_024.0)
        .context("no memory")
}

/// How many processes wanted to run in the last minute, and what the machine is.
pub(crate) fn machine() -> String {
    let read = |path: &str| fs::read_to_string(Path::new(path)).unwrap_or_default();
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("?");
    let info = read("/proc/cpuinfo");
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("an unknown processor", |(_, name)| name);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{processors} × {model}, load {load}")
}
