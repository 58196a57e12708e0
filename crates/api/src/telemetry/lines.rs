//! Log lines, written aside: no request waits for whoever reads them.
//!
//! They are gathered, so that many are one write, and all are handed over in one place: a channel would have each copied, sent
//! and freed for itself. Where they are not read as fast as they come, those that find no room are lost, and counted.

use std::io::{self, Write};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How long what was written is left alone before what came meanwhile is.
const GATHER: Duration = Duration::from_millis(5);
/// How many bytes wait to be written, at most.
const WAITING: usize = 8 * 1024 * 1024;
/// How much room for them is kept while fewer wait, in bytes.
const KEPT: usize = 64 * 1024;
/// How long whoever ends waits until the last are written.
const PATIENCE: Duration = Duration::from_secs(1);

static LOGGED: OnceLock<Arc<Lines>> = OnceLock::new();

/// What writes lines to standard error, until the guard is dropped; what waits is written then.
///
/// # Errors
/// The system has no thread for it.
pub(super) fn aside() -> io::Result<(Arc<Lines>, Guard)> {
    let (lines, guard) = Lines::to(io::stderr())?;
    LOGGED.get_or_init(|| Arc::clone(&lines));
    Ok((lines, guard))
}

/// How many lines were lost.
pub(super) fn lost() -> u64 {
    LOGGED
        .get()
        .map_or(0, |lines| lines.lost.load(Ordering::Relaxed))
}

/// Lines that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Lines {
    waiting: Mutex<Waiting>,
    /// That the first of them has come, or that no more will.
    told: Condvar,
    lost: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    is_over: bool,
}

/// Has lines written until it is dropped.
#[derive(Debug)]
pub(super) struct Guard {
    lines: Arc<Lines>,
    /// Ends when all are written.
    written: Receiver<()>,
}

impl Lines {
    fn to(out: impl Write + Send + 'static) -> io::Result<(Arc<Self>, Guard)> {
        let lines = Arc::new(Self::default());
        let (writing, written) = mpsc::channel();
        let waiting = Arc::clone(&lines);
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || {
                waiting.write_to(out);
                drop(writing);
            })?;
        let guard = Guard {
            lines: Arc::clone(&lines),
            written,
        };
        Ok((lines, guard))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what comes, until nothing more will.
    fn write_to(&self, mut out: impl Write) {
        let mut taken = Vec::new();
        let mut is_over = false;
        while !is_over {
            let nothing = |waiting: &mut Waiting| waiting.bytes.is_empty() && !waiting.is_over;
            let come = self.told.wait_while(self.waiting(), nothing);
            let mut come = come.unwrap_or_else(PoisonError::into_inner);
            mem::swap(&mut come.bytes, &mut taken);
            is_over = come.is_over;
            drop(come);
            // Nobody is left to be told that these were not taken.
            let _ = out.write_all(&taken);
            taken.clear();
            taken.shrink_to(KEPT);
            if !is_over {
                thread::sleep(GATHER);
            }
        }
    }
}

/// A line at a time.
impl Write for &Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut waiting = self.waiting();
        let is_first = waiting.bytes.is_empty();
        if waiting.bytes.len().saturating_add(line.len()) > WAITING {
            self.lost.fetch_add(1, Ordering::Relaxed);
        } else {
            waiting.bytes.extend_from_slice(line);
        }
        drop(waiting);
        if is_first {
            self.told.notify_one();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Guard {
    /// Nothing more will come.
    fn end(&self) {
        self.lines.waiting().is_over = true;
        self.lines.told.notify_one();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end();
        // Who does not read them is not waited for.
        let _ = self.written.recv_timeout(PATIENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::kept::Kept;

    impl Guard {
        /// Ends, however long the last take on a machine that does other things too.
        fn outlast(self) {
            self.end();
            assert!(self.written.recv().is_err(), "nothing is sent");
        }
    }

    #[test]
    fn all_lines_are_written_whole_and_in_order() {
        let out = Kept::default();
        let (lines, guard) = Lines::to(out.clone()).unwrap();
        thread::scope(|scope| {
            for writer in 0..4 {
                let mut lines = &*lines;
                scope.spawn(move || {
                    for number in 0..1_000 {
                        let line = format!("{writer} {number}\n");
                        lines.write_all(line.as_bytes()).unwrap();
                    }
                });
            }
        });
        guard.outlast();
        let written = out.text();
        for writer in 0..4 {
            let own = written.lines().filter_map(|line| {
                let (by, number) = line.split_once(' ').unwrap();
                (by == writer.to_string()).then(|| number.parse::<usize>().unwrap())
            });
            assert!(own.eq(0..1_000), "{writer}");
        }
        assert_eq!(lines.lost.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_finds_no_room_is_lost_and_nobody_waits() {
        let out = Kept::default();
        let line = vec![b'x'; 1024 * 1024];
        let (lines, guard) = Lines::to(out.clone()).unwrap();
        let nobody_reads = out.lock();
        // What the thread has taken already has given its room to others.
        for _ in 0..20 {
            (&*lines).write_all(&line).unwrap();
        }
        let lost = lines.lost.load(Ordering::Relaxed);
        assert!((4..=12).contains(&lost), "{lost}");
        drop(nobody_reads);
        guard.outlast();
        let kept = usize::try_from(20 - lost).unwrap();
        assert_eq!(out.text().len(), kept * line.len());
    }
}
