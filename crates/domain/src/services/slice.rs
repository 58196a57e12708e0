//! Parts of lists.

use super::Error;
use crate::ports::Page;

/// Part of a list, and whether more comes after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice<T> {
    /// What it holds, in order.
    pub items: Vec<T>,
    /// Whether the list goes on.
    pub has_more: bool,
    /// How many the whole list has, where that is counted.
    pub total: Option<u64>,
}

impl<T> Slice<T> {
    /// Nothing of a list that nothing is in.
    pub(super) const EMPTY: Self = Self {
        items: Vec::new(),
        has_more: false,
        total: Some(0),
    };

    /// What was found of a page when [one more](Page::and_one_more) was asked for.
    pub(super) fn cut(mut found: Vec<T>, page: Page, total: Option<u64>) -> Self {
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let has_more = found.len() > limit;
        found.truncate(limit);
        Self {
            items: found,
            has_more,
            total,
        }
    }

    /// Leaves out what is beyond so many: it comes after.
    pub fn shorten(&mut self, count: usize) {
        if count < self.items.len() {
            self.items.truncate(count);
            self.has_more = true;
        }
    }
}

/// The refusal of a page that is to come after what the list does not have.
pub(super) fn unknown_start() -> Error {
    Error::invalid("startingAfter", "names no record of the list")
}
