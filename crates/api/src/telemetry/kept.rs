//! What tests have lines written to.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// Whatever was written. Cloning it shares that.
#[derive(Clone, Default)]
pub(super) struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    /// Nobody writes as long as this is held.
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap()
    }

    /// All of it.
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.lock().clone()).unwrap()
    }
}

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
