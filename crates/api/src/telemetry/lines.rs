//! Log lines, written aside: no request waits for whoever reads them.
//!
//! They are gathered, so that many are one write. Where they are not read as fast as they come, those that find no room are
//! lost, and counted.

use std::io::{self, BufWriter, Stderr, Write};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};

/// How long what was written is left alone before what came meanwhile is.
const GATHER: Duration = Duration::from_millis(5);
/// How many bytes are written at once, at most.
const AT_ONCE: usize = 64 * 1024;
/// How many lines wait to be written, at most: some 8 MB.
const WAITING: usize = 16 * 1024;

static LOST: OnceLock<ErrorCounter> = OnceLock::new();

/// Whoever writes lines to standard error, until the guard is dropped; what waits is written then.
pub(super) fn aside() -> (NonBlocking, WorkerGuard) {
    let lines = Gathering(BufWriter::with_capacity(AT_ONCE, io::stderr()));
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(WAITING)
        .thread_name("log")
        .finish(lines);
    LOST.get_or_init(|| writer.error_counter());
    (writer, guard)
}

/// How many lines were lost.
pub(super) fn lost() -> u64 {
    let lost = LOST.get().map_or(0, ErrorCounter::dropped_lines);
    u64::try_from(lost).unwrap_or(u64::MAX)
}

/// Flushed whenever nothing waits any more, and not at once looks whether something does: whoever logs would wake it for each
/// line.
struct Gathering(BufWriter<Stderr>);

impl Write for Gathering {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()?;
        thread::sleep(GATHER);
        Ok(())
    }
}
