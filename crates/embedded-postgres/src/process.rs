//! Programs of the PostgreSQL distribution as children that do not outlive their owner.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, waitid};

use crate::Error;
use crate::account::Account;
use crate::postmaster;

/// The only variables that the server and its tools are given of the owner's environment, which holds secrets and
/// may hold `PG…` settings.
const PASSED_ON: [&str; 4] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
];

/// A command in a clean environment, in a process group of its own (Ctrl-C at the terminal is for the owner, who then
/// stops the server in order), as the given account.
pub(crate) fn command(program: &Path, account: Option<&Account>) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(
            PASSED_ON
                .iter()
                .filter_map(|&name| Some((name, std::env::var_os(name)?))),
        )
        .env("LC_ALL", "C")
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::null());
    if let Some(account) = account {
        // This drops the supplementary groups, too.
        command.uid(account.uid.as_raw()).gid(account.gid.as_raw());
    }
    command
}

/// Puts a folder before the others in which the dynamic linker looks.
pub(crate) fn prepend_library_path(command: &mut Command, dir: &Path) {
    let name = if cfg!(target_os = "macos") {
        "DYLD_LIBRARY_PATH"
    } else {
        "LD_LIBRARY_PATH"
    };
    let mut value = OsString::from(dir);
    if let Some(before) = std::env::var_os(name).filter(|before| !before.is_empty()) {
        value.push(":");
        value.push(before);
    }
    command.env(name, value);
}

/// Lets the child inherit the lock, and asks the kernel to send it a signal when the *thread* that starts it ends.
///
/// Only Linux has such a signal; elsewhere a server that outlives its owner is stopped by the next start.
pub(crate) fn guard(command: &mut Command, lock: &File, on_death: Signal) -> io::Result<()> {
    let lock = lock.try_clone()?;
    let owner = getpid();
    let before_exec = move || {
        fcntl_setfd(&lock, FdFlags::empty())?;
        // After the change of user, which would clear it.
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(on_death))?;
        #[cfg(not(target_os = "linux"))]
        let _ = on_death;
        // The owner may have died before the kernel was asked.
        if getppid() != Some(owner) {
            return Err(Errno::SRCH.into());
        }
        Ok(())
    };
    #[expect(
        unsafe_code,
        reason = "the kernel can be asked only by the child itself, between fork and exec"
    )]
    // SAFETY: the closure runs in the forked child, where only async-signal-safe operations are allowed: it makes three
    // system calls on plain values, takes no lock and allocates nothing (both error conversions are of a number).
    unsafe {
        command.pre_exec(before_exec);
    }
    Ok(())
}

/// Runs a tool to its end, with an input if given, and returns its errors output.
///
/// The calling thread waits for the tool, so the tool cannot outlive it.
pub(crate) fn run(
    mut command: Command,
    program: &'static str,
    input: Option<&str>,
) -> Result<String, Error> {
    let path = command.get_program().to_owned();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().map_err(Error::io("run", &path))?;
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        // A tool that ends without reading says why on its errors output.
        if let Err(error) = stdin.write_all(input.as_bytes()) {
            tracing::debug!(%error, program, "the input was not read");
        }
    }
    let output = child
        .wait_with_output()
        .map_err(Error::io("wait for", &path))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(errors.into_owned())
    } else {
        Err(Error::Program {
            program,
            status: output.status,
            output: tail(errors.trim(), 2_000).to_owned(),
        })
    }
}

/// The last bytes of a text, from the start of a line where possible.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut start = text.len() - bytes;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let end = &text[start..];
    end.split_once('\n').map_or(end, |(_, lines)| lines)
}

/// A running server and the thread that started it.
///
/// The thread lives exactly as long as the server: the kernel's signal is sent when that *thread* ends, and a thread of
/// a pool or of a test may end at any time.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pid: u32,
    exit: Arc<Exit>,
}

#[derive(Debug, Default)]
struct Exit {
    /// Set when the server has ended *and* its number may be given to another process.
    status: Mutex<Option<Result<ExitStatus, io::ErrorKind>>>,
    changed: Condvar,
}

impl Exit {
    fn lock(&self) -> MutexGuard<'_, Option<Result<ExitStatus, io::ErrorKind>>> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    pub(crate) fn spawn(mut command: Command) -> Result<Self, Error> {
        let program = command.get_program().to_owned();
        let exit = Arc::new(Exit::default());
        let seen = Arc::clone(&exit);
        let (started, start) = mpsc::channel();
        thread::Builder::new()
            .name("embedded-postgres".to_owned())
            .spawn(move || {
                let child = command.spawn();
                // With the command goes this process's copy of the server's lock.
                drop(command);
                match child {
                    Ok(child) => {
                        if started.send(Ok(child.id())).is_ok() {
                            keep(child, &seen);
                        }
                    }
                    Err(error) => drop(started.send(Err(error))),
                }
            })
            .map_err(Error::io("start a thread for", &program))?;
        let pid = start
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("its thread ended")))
            .map_err(Error::io("run", &program))?;
        Ok(Self { pid, exit })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal unless the server has ended: its number could be another's by then.
    pub(crate) fn signal(&self, signal: Signal) {
        let status = self.exit.lock();
        if status.is_none() {
            postmaster::signal(self.pid, signal);
        }
    }

    /// Waits for the server's end; `None` after the given time.
    pub(crate) fn wait(&self, at_most: Duration) -> Option<String> {
        let (status, _) = self
            .exit
            .changed
            .wait_timeout_while(self.exit.lock(), at_most, |status| status.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        status.as_ref().map(|ended| match ended {
            Ok(status) => status.to_string(),
            Err(kind) => format!("its end was not seen: {kind}"),
        })
    }
}

/// Waits for the child. It is reaped under the lock that a signal needs, so that no signal meets a process that was
/// given the same number.
fn keep(mut child: Child, exit: &Exit) {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let pid = WaitId::Pid(Pid::from_child(&child));
    while matches!(waitid(pid.clone(), ended), Err(Errno::INTR)) {}
    let mut status = exit.lock();
    *status = Some(child.wait().map_err(|error| error.kind()));
    exit.changed.notify_all();
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn the_tail_starts_with_a_line() {
        assert_eq!(tail("one\ntwo\nthree", 100), "one\ntwo\nthree");
        assert_eq!(tail("one\ntwo\nthree", 8), "three");
        assert_eq!(tail("äöü", 3), "ü");
    }
}
