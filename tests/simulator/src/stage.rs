//! What everybody in a life shares: the decisions, the words of the story, and the place where a
//! task that waits stands.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use crate::choices::Choices;

/// Among how many lines nothing that comes of a move is said twice.
const REMEMBERED: usize = 8;

/// How often something goes wrong on the way, of a hundred calls or commits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trouble {
    /// A call to the processor.
    pub(crate) calls: u32,
    /// A commit, or the beginning of a unit of work.
    pub(crate) stores: u32,
    /// Whether tasks interrupt each other.
    pub(crate) interrupts: u32,
}

pub(crate) struct Scene {
    pub(crate) choices: Choices,
    pub(crate) trouble: Trouble,
    /// Whether the processor answers nobody.
    pub(crate) down: bool,
    /// The story in words, when somebody wants to read it.
    pub(crate) words: Option<Vec<String>>,
    /// Whether what happens is nothing to tell of.
    pub(crate) muted: bool,
    /// Whether the processor may have something to tell.
    pub(crate) stirred: bool,
    /// Where the task that ran last stopped.
    pub(crate) place: &'static str,
    /// For how many moves it waits there.
    pub(crate) parked: Option<u32>,
    /// What no run may meet.
    pub(crate) broken: Vec<String>,
}

impl Scene {
    /// Tells something that happened, if anybody listens.
    pub(crate) fn tell(&mut self, words: impl FnOnce() -> String) {
        if let (Some(told), false) = (&mut self.words, self.muted) {
            let words = words();
            // What comes again and again of one move is said once.
            let is_old =
                words.starts_with(' ') && told.iter().rev().take(REMEMBERED).any(|it| *it == words);
            if !is_old {
                told.push(words);
            }
        }
    }
}

/// See [`Scene`].
pub(crate) struct Stage(Mutex<Scene>);

impl Stage {
    pub(crate) fn new(choices: Choices, told: bool) -> Self {
        Self(Mutex::new(Scene {
            choices,
            trouble: Trouble::default(),
            down: false,
            words: told.then(Vec::new),
            muted: false,
            stirred: true,
            place: "",
            parked: None,
            broken: Vec::new(),
        }))
    }

    pub(crate) fn scene(&self) -> MutexGuard<'_, Scene> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets others go first.
    pub(crate) fn pause(&self, place: &'static str) -> Pause {
        self.scene().place = place;
        Pause { waited: false }
    }

    /// Waits for so many moves.
    pub(crate) fn park(&self, place: &'static str, moves: u32) -> Pause {
        let mut scene = self.scene();
        scene.place = place;
        scene.parked = Some(moves);
        drop(scene);
        Pause { waited: false }
    }
}

/// A point at which others may go on, and at which its process may die.
pub(crate) struct Pause {
    waited: bool,
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.waited {
            return Poll::Ready(());
        }
        self.waited = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
