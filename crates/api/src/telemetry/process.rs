//! What the process takes of its machine, as Linux tells it. Elsewhere nothing is told.

use std::fs;

use rustix::process::{Resource, getrlimit};

/// Ticks in a second, in which the kernel counts time for programs: the same on every machine that there is a
/// binary for.
const TICKS: f64 = 100.0;
/// Where a process is told of itself. Behind its name, which is anything in brackets, the first field is the
/// third of `proc(5)`.
const STAT: &str = "/proc/self/stat";
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;
const BEGUN_TICKS: usize = 19;

/// Measures what changes.
pub(super) fn measure() {
    if let Some(seconds) = fs::read_to_string(STAT).ok().as_deref().and_then(busy) {
        metrics::gauge!("process_cpu_seconds_total").set(seconds);
    }
    let status = fs::read_to_string("/proc/self/status").ok();
    if let Some(bytes) = status.as_deref().and_then(resident) {
        metrics::gauge!("process_resident_memory_bytes").set(bytes);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // One is that of looking.
        let count = u32::try_from(open.count().saturating_sub(1));
        metrics::gauge!("process_open_fds").set(f64::from(count.unwrap_or(u32::MAX)));
    }
    // Where there is no limit there is nothing to be told.
    let most = getrlimit(Resource::Nofile).current;
    if let Some(most) = most.and_then(|most| u32::try_from(most).ok()) {
        metrics::gauge!("process_max_fds").set(f64::from(most));
    }
}

/// Measures what stays.
pub(super) fn measure_once() {
    let stat = fs::read_to_string(STAT).ok();
    let machine = fs::read_to_string("/proc/stat").ok();
    let booted = machine.as_deref().and_then(booted);
    let begun = stat.as_deref().and_then(|stat| ticks(stat, BEGUN_TICKS));
    if let (Some(booted), Some(begun)) = (booted, begun) {
        metrics::gauge!("process_start_time_seconds").set(booted + begun / TICKS);
    }
}

/// A number of ticks.
fn ticks(stat: &str, field: usize) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(field)?.parse().ok()
}

/// How many seconds the process had a processor.
fn busy(stat: &str) -> Option<f64> {
    Some((ticks(stat, USER_TICKS)? + ticks(stat, SYSTEM_TICKS)?) / TICKS)
}

/// How many bytes of its memory are in use.
fn resident(status: &str) -> Option<f64> {
    let mut lines = status.lines();
    let rest = lines.find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = rest.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024.0)
}

/// When the machine began, in seconds after 1970.
fn booted(stat: &str) -> Option<f64> {
    let mut lines = stat.lines();
    let rest = lines.find_map(|line| line.strip_prefix("btime "))?;
    rest.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_tells_is_read() {
        let stat = "4711 (a) b (c) S 1 4711 4711 0 -1 4194560 2500 0 3 0 250 50 0 0 20 0 9 0 123400 99 7 0";
        assert_eq!(busy(stat), Some(3.0));
        assert_eq!(ticks(stat, BEGUN_TICKS), Some(123_400.0));
        let status = "Name:\tlessor\nVmPeak:\t  99 kB\nVmRSS:\t   2048 kB\n";
        assert_eq!(resident(status), Some(2_097_152.0));
        assert_eq!(booted("cpu 1 2\nbtime 1700000000\n"), Some(1_700_000_000.0));
    }

    #[test]
    fn what_is_none_of_it_is_not_told() {
        for text in ["", "4711", "4711 (lessor) S 1", "VmRSS:\t x kB", "btime x"] {
            assert_eq!(busy(text), None, "{text}");
            assert_eq!(resident(text), None, "{text}");
            assert_eq!(booted(text), None, "{text}");
        }
    }
}
