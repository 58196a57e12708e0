//! What happens by itself as time passes.

use std::cmp::Ordering;

use crate::api::checkout_sessions;
use crate::store::World;
use crate::{billing, collection, intents, terms};

/// What is to happen to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// An authorization lapses.
    Lapse,
    /// A subscription's period ends.
    Cycle,
    /// A subscription that was never paid is given up.
    GiveUp,
    /// An invoice is finalized and charged.
    Finalize,
    /// An invoice that was not paid is charged again.
    Retry,
    /// A subscription's invoices are collected again.
    Collect,
    /// A page for a customer closes.
    Expire,
}

/// Something that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) at: i64,
    pub(crate) what: What,
    pub(crate) id: String,
}

impl Ord for Due {
    /// The earliest is the greatest, as the heap wants it.
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |due: &Self| (due.at, due.id.clone());
        key(other).cmp(&key(self))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl World {
    /// Has it happen at that time, if it still applies then.
    pub(crate) fn schedule(&mut self, at: i64, what: What, id: &str) {
        let id = id.to_owned();
        self.due.push(Due { at, what, id });
    }

    /// Lets happen what is due until now, in order, each at its own time.
    pub(crate) fn catch_up(&mut self, now: i64) {
        while let Some(due) = self.due.peek().filter(|due| due.at <= now).cloned() {
            self.due.pop();
            self.now = due.at;
            match due.what {
                What::Lapse => intents::lapse(self, &due.id),
                What::Cycle => terms::cycle(self, &due.id, due.at),
                What::GiveUp => terms::give_up(self, &due.id),
                What::Finalize => billing::finalize(self, &due.id),
                What::Retry => collection::retry(self, &due.id),
                What::Collect => terms::collect_again(self, &due.id, due.at),
                What::Expire => checkout_sessions::lapse(self, &due.id),
            }
        }
        self.now = now;
    }
}
