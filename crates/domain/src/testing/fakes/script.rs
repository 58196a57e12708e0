//! What a fake provider answers, call by call.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::checkout::Refusal;
use crate::ports::{Attempt, Doubt, Verdict};

/// What a provider does when it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<T> {
    /// The work is done, with this answer.
    Done(T),
    /// The work is refused under this code.
    Refused(&'static str),
    /// The work is done, but the answer is lost on the way.
    Lost(T),
    /// Nothing is done, and nobody can tell.
    Unreachable,
}

/// A call that a provider got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    pub method: &'static str,
    pub idempotency_key: String,
}

#[derive(Debug)]
struct Inner<T> {
    replies: VecDeque<Reply<T>>,
    kept: HashMap<String, Verdict<T>>,
}

/// The answers of one method.
#[derive(Debug)]
pub struct Script<T> {
    inner: Mutex<Inner<T>>,
}

impl<T> Default for Script<T> {
    fn default() -> Self {
        Self {
            inner: Mutex::new(Inner {
                replies: VecDeque::new(),
                kept: HashMap::new(),
            }),
        }
    }
}

impl<T: Clone> Script<T> {
    /// Adds what to answer to a later call; each is used once, in order.
    pub fn then(&self, reply: Reply<T>) -> &Self {
        self.inner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replies
            .push_back(reply);
        self
    }

    /// What was answered to the call, whether the answer arrived or not.
    pub(super) fn kept(&self, attempt: &Attempt) -> Option<Verdict<T>> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.kept.get(&attempt.idempotency_key).cloned()
    }

    pub(super) fn answer(
        &self,
        attempt: &Attempt,
        succeed: impl FnOnce() -> T,
    ) -> Result<Verdict<T>, Doubt> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = inner.kept.get(&attempt.idempotency_key) {
            return Ok(kept.clone());
        }
        let (answer, doubt) = match inner.replies.pop_front() {
            None => (Verdict::Done(succeed()), None),
            Some(Reply::Done(value)) => (Verdict::Done(value), None),
            Some(Reply::Refused(code)) => (
                Verdict::Refused(Refusal {
                    code: code.to_owned(),
                    message: format!("refused: {code}"),
                }),
                None,
            ),
            Some(Reply::Lost(value)) => (
                Verdict::Done(value),
                Some(Doubt::unreachable("the answer was lost")),
            ),
            Some(Reply::Unreachable) => {
                return Err(Doubt::unreachable("scripted to be unreachable"));
            }
        };
        inner
            .kept
            .insert(attempt.idempotency_key.clone(), answer.clone());
        doubt.map_or(Ok(answer), Err)
    }
}
