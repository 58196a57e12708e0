//! When requests are due that come at a pace.

use std::thread;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;

/// Requests that are due one after the other, whether those before them were answered or not.
///
/// A thread tells of them: the runtime's own timers go off with the next millisecond, so that requests were sent by the
/// handful, and each waited for those that were sent with it.
pub(crate) struct Pace(Mutex<mpsc::UnboundedReceiver<Instant>>);

impl Pace {
    /// So many a second, for so long from now on.
    pub(crate) fn of(rate: f64, span: Duration) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        thread::spawn(move || {
            let begun = Instant::now();
            for number in 0_u32.. {
                let at = Duration::from_secs_f64(f64::from(number) / rate);
                if at >= span {
                    break;
                }
                thread::sleep((begun + at).saturating_duration_since(Instant::now()));
                // Not when it should have woken: how late this thread is says nothing of a server.
                if sender.send(Instant::now()).is_err() {
                    // Nobody asks any more.
                    break;
                }
            }
        });
        Self(Mutex::new(receiver))
    }

    /// When the next was due; none when none is due any more.
    pub(crate) async fn next(&self) -> Option<Instant> {
        self.0.lock().await.recv().await
    }
}
