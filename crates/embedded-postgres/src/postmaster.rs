//! What the server says about itself in `postmaster.pid`, and what the system says about its process.

use std::fs;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// The process number in a `postmaster.pid`. Single-user servers write a negative one.
pub(crate) fn pid_in(file: &Path) -> Option<u32> {
    let text = fs::read_to_string(file).ok()?;
    let pid: i32 = text.lines().next()?.trim().parse().ok()?;
    Some(pid.unsigned_abs())
}

/// Whether the server that wrote this `postmaster.pid` accepts connections: its eighth line says so.
pub(crate) fn is_ready(file: &Path, pid: u32) -> bool {
    fs::read_to_string(file).is_ok_and(|text| {
        let mut lines = text.lines();
        lines.next().and_then(|line| line.trim().parse().ok()) == Some(pid)
            && lines.nth(6).map(str::trim) == Some("ready")
    })
}

/// Whether a process of this number exists, a zombie included.
pub(crate) fn exists(pid: u32) -> bool {
    raw(pid).is_some_and(|pid| matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM)))
}

/// Whether this process is a live server on this cluster. A server keeps its cluster as its working directory; a
/// zombie has none, and neither has another program that was given the number of a server that died.
pub(crate) fn runs_on(pid: u32, cluster: &Path) -> bool {
    if !exists(pid) {
        return false;
    }
    if cfg!(target_os = "linux") {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == cluster)
    } else {
        listed_command(pid).is_some_and(|command| command.contains(&*cluster.to_string_lossy()))
    }
}

/// The state and command line of a live process as `ps` lists it, for systems without `/proc`.
fn listed_command(pid: u32) -> Option<String> {
    let listed = std::process::Command::new("ps")
        .args(["-ww", "-o", "state=,command=", "-p", &pid.to_string()])
        .output()
        .ok()?;
    let line = String::from_utf8_lossy(&listed.stdout).trim().to_owned();
    (listed.status.success() && !line.starts_with('Z')).then_some(line)
}

/// Sends a signal; that the process is gone already is fine.
pub(crate) fn signal(pid: u32, signal: Signal) {
    let Some(process) = raw(pid) else { return };
    if let Err(errno) = kill_process(process, signal)
        && errno != Errno::SRCH
    {
        tracing::warn!(pid, ?signal, %errno, "cannot signal the PostgreSQL server");
    }
}

/// Never 0 or negative, which would be a whole group of processes.
fn raw(pid: u32) -> Option<Pid> {
    i32::try_from(pid)
        .ok()
        .filter(|&pid| pid > 1)
        .and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::{exists, listed_command, raw, runs_on};

    #[test]
    fn a_zombie_exists_but_runs_on_nothing() {
        let here = std::env::current_dir().unwrap();
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(runs_on(child.id(), &here));
        assert!(!runs_on(child.id(), std::path::Path::new("/")));
        assert!(listed_command(child.id()).unwrap().contains("cat"));

        drop(child.stdin.take());
        // Wait for its end without reaping it.
        let exited =
            rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(
            rustix::process::WaitId::Pid(raw(child.id()).unwrap()),
            exited,
        )
        .unwrap();
        assert!(exists(child.id()));
        assert!(!runs_on(child.id(), &here));
        assert_eq!(listed_command(child.id()), None);
        child.wait().unwrap();
        assert!(!exists(child.id()));
    }

    #[test]
    fn no_number_of_a_process_group_is_ever_signalled() {
        assert_eq!(raw(0), None);
        assert_eq!(raw(1), None);
        assert_eq!(raw(u32::MAX), None);
    }
}
