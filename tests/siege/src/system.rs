//! What processes and connections take, as the system tells.

use std::fs;
use std::time::Duration;

use rustix::param::{clock_ticks_per_second, page_size};

/// A process, as `/proc/PID/stat` tells of it.
struct Stat {
    parent: u32,
    /// What it has used,
    own: u64,
    /// and what its children used that are gone, in ticks.
    of_ended: u64,
}

impl Stat {
    /// None where there is no such process.
    fn of(pid: u32) -> Option<Self> {
        let told = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is a name, which may hold anything: proc(5).
        let (_, fields) = told.rsplit_once(')')?;
        let field = |number: usize| {
            fields
                .split_whitespace()
                .nth(number - 3)?
                .parse::<u64>()
                .ok()
        };
        Some(Self {
            parent: u32::try_from(field(4)?).ok()?,
            own: field(14)? + field(15)?,
            of_ended: field(16)? + field(17)?,
        })
    }
}

/// The children of a process.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| Stat::of(*pid).is_some_and(|stat| stat.parent == parent))
        .collect()
}

/// What the process has used so far.
pub(crate) fn used(pid: u32) -> Duration {
    time(Stat::of(pid).map_or(0, |stat| stat.own))
}

/// What the process and its children have used so far, those that are gone too.
pub(crate) fn used_with_children(pid: u32) -> Duration {
    let children: Duration = children(pid).into_iter().map(used).sum();
    children + time(Stat::of(pid).map_or(0, |stat| stat.own + stat.of_ended))
}

fn time(ticks: u64) -> Duration {
    Duration::from_secs(ticks).div_f64(ticks_per_second())
}

fn ticks_per_second() -> f64 {
    u32::try_from(clock_ticks_per_second()).map_or(f64::INFINITY, f64::from)
}

/// The part of one processor that was used in a window, in percent.
pub(crate) fn percent(before: Duration, after: Duration, window: Duration) -> f64 {
    100.0 * after.saturating_sub(before).as_secs_f64() / window.as_secs_f64()
}

/// What the system itself holds for connections of this machine, in bytes: no process is told to have it.
pub(crate) fn held_for_connections() -> usize {
    let told = fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
    let of_tcp = told.lines().find(|line| line.starts_with("TCP:"));
    let pages = of_tcp.and_then(|line| line.rsplit_once(" mem ")?.1.trim().parse().ok());
    pages.unwrap_or(0_usize) * page_size()
}
