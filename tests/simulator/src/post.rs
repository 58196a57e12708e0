//! The processor's messages, and what becomes of them on their way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lessor_processor_double::Event;

use crate::executor::Process;
use crate::life::Life;

/// What the processor tells of that no endpoint asks for.
const UNASKED: [&str; 14] = [
    "charge.captured",
    "charge.failed",
    "charge.succeeded",
    "customer.created",
    "customer.updated",
    "invoice.created",
    "invoice.finalized",
    "invoice.payment_succeeded",
    "payment_intent.created",
    "payment_intent.requires_action",
    "payment_method.",
    "price.",
    "product.",
    "setup_intent.",
];
/// What becomes of the processor's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Post {
    /// Each comes at once.
    Prompt,
    /// Each as it may: late, twice or never.
    Uncertain,
    /// None ever comes.
    Silent,
}

/// A message of the processor.
pub(crate) struct Letter {
    pub(crate) event: Event,
    /// Whether Lessor said that it has it.
    pub(crate) kept: Arc<AtomicBool>,
    /// Whether it is on its way.
    pub(crate) sent: bool,
    /// Whether it never comes.
    pub(crate) lost: bool,
}

impl Life {
    /// Takes what the processor tells, and sends it on its way.
    pub(crate) fn collect(&mut self) {
        // Asking at every step would be most of what a life does.
        if !std::mem::take(&mut self.crew.stage.scene().stirred) {
            return;
        }
        let fresh = self.crew.double.events_from(self.events);
        self.events += fresh.len();
        for event in fresh {
            if UNASKED.iter().any(|kind| event.kind.starts_with(kind)) {
                continue;
            }
            let fate = match self.post {
                Post::Prompt => 0,
                Post::Uncertain => self.weighted(&[60, 20, 10, 10]),
                Post::Silent => 3,
            };
            let kind = event.kind.clone();
            self.letters.push(Letter {
                event,
                kept: Arc::new(AtomicBool::new(false)),
                sent: false,
                lost: fate == 3,
            });
            let last = self.letters.len() - 1;
            match fate {
                0 => self.send(last),
                1 => self.say(|| format!("    the message {kind} is late")),
                2 => {
                    self.say(|| format!("    the message {kind} comes twice"));
                    self.send(last);
                    self.send(last);
                }
                _ if self.post == Post::Uncertain => {
                    self.say(|| format!("    the message {kind} never comes"));
                }
                _ => {}
            }
        }
    }

    /// The message comes to the server.
    pub(crate) fn send(&mut self, letter: usize) {
        // While two versions run, a server of either takes it in.
        let version = self.before.filter(|_| self.weighted(&[60, 40]) == 1);
        let Some(letter) = self.letters.get_mut(letter) else {
            return;
        };
        letter.sent = true;
        let kept = Arc::clone(&letter.kept);
        let name = format!("the message {}", letter.event.kind);
        let crew = self.crew.of_version(version);
        let taken = crew.receive(letter.event.clone(), move || {
            kept.store(true, Ordering::Relaxed);
        });
        self.executor.spawn(Process::Server, name, taken);
    }

    /// Messages that may come and have not, or of which Lessor never said that it has them.
    pub(crate) fn late(&self) -> Vec<usize> {
        let is_late = |letter: &Letter| !letter.lost && !letter.sent;
        let all = (0..).zip(&self.letters);
        all.filter_map(|(at, letter)| is_late(letter).then_some(at))
            .collect()
    }
    /// Whoever sent what was not kept was not told that it came, and sends it again.
    pub(crate) fn send_again(&mut self) {
        for letter in &mut self.letters {
            letter.sent &= letter.kept.load(Ordering::Relaxed);
        }
    }
}
