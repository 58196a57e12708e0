//! How much memory bodies and answers take that are under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is no larger, in bytes, takes nothing: connections are counted, and whoever asks for little goes on
/// when others ask for much.
const SMALL: usize = 32 * 1024;

/// How much memory large bodies and answers may take together. App data, the same for all of a process:
/// cloning it shares what is taken.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    taken: Arc<AtomicUsize>,
    most: usize,
}

impl Default for MemoryBudget {
    /// 256 MiB.
    fn default() -> Self {
        Self::new(256 * 1024 * 1024)
    }
}

impl MemoryBudget {
    /// So many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self {
            taken: Arc::default(),
            most: bytes,
        }
    }

    /// The same, of which half has to be left: for those who have no key, so that those with one are not
    /// kept out by them.
    pub(crate) fn half(&self) -> Self {
        Self {
            taken: Arc::clone(&self.taken),
            most: self.most / 2,
        }
    }

    /// A share of nothing yet.
    pub(crate) fn share(&self) -> Share {
        Share {
            budget: self.clone(),
            bytes: 0,
        }
    }

    /// Takes so many bytes more. Whether there is room is answered.
    fn take(&self, bytes: usize) -> bool {
        let mut taken = self.taken.load(Ordering::Relaxed);
        loop {
            let sum = taken.saturating_add(bytes);
            if sum > self.most {
                return false;
            }
            let order = Ordering::Relaxed;
            match (self.taken).compare_exchange_weak(taken, sum, order, order) {
                Ok(_) => return true,
                Err(other) => taken = other,
            }
        }
    }
}

/// What one body or answer has taken, until this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: MemoryBudget,
    bytes: usize,
}

impl Share {
    /// Takes what is needed for so many bytes in all. Whether there is room is answered.
    pub(crate) fn hold(&mut self, length: usize) -> bool {
        let more = length.saturating_sub(self.bytes);
        if length <= SMALL || more == 0 {
            return true;
        }
        let has_room = self.budget.take(more);
        if has_room {
            self.bytes = length;
        }
        has_room
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(budget: &MemoryBudget, length: usize) -> Option<Share> {
        let mut share = budget.share();
        share.hold(length).then_some(share)
    }

    #[test]
    fn what_is_dropped_is_free_again() {
        let budget = MemoryBudget::new(5 * SMALL);
        let first = hold(&budget, 3 * SMALL).unwrap();
        let second = hold(&budget, 2 * SMALL).unwrap();
        assert!(hold(&budget, SMALL + 1).is_none());
        drop(first);
        let third = hold(&budget, 3 * SMALL);
        assert!(third.is_some() && hold(&budget, SMALL + 1).is_none());
        drop((second, third));
        assert_eq!(budget.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_body_takes_what_has_come_of_it() {
        let budget = MemoryBudget::new(4 * SMALL);
        let mut growing = budget.share();
        assert!(growing.hold(SMALL) && growing.hold(2 * SMALL));
        let other = hold(&budget, 2 * SMALL).unwrap();
        assert!(!growing.hold(2 * SMALL + 1));
        drop(other);
        assert!(growing.hold(4 * SMALL) && !growing.hold(4 * SMALL + 1));
    }

    #[test]
    fn what_is_small_always_has_room() {
        let none = MemoryBudget::new(0);
        assert!(hold(&none, SMALL).is_some() && hold(&none, SMALL + 1).is_none());
    }

    #[test]
    fn who_has_no_key_leaves_half_of_it() {
        let budget = MemoryBudget::new(4 * SMALL);
        let _stranger = hold(&budget.half(), 2 * SMALL).unwrap();
        assert!(hold(&budget.half(), SMALL + 1).is_none());
        let _known = hold(&budget, 2 * SMALL).unwrap();
    }
}
