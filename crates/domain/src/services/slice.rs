//! Parts of lists.

use super::Error;
use crate::ports::{Page, Start};

/// Up to how many are counted with a page. To count more costs more than the page itself, and who goes through
/// so many is told where the next page is.
const COUNTED: u64 = 1_000;

/// Part of a list, and whether more comes after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice<T> {
    /// What it holds, in order.
    pub items: Vec<T>,
    /// Whether the list goes on.
    pub has_more: bool,
    /// How many the whole list has, where that is known: the page shows it, or so few are counted.
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

    /// What was found of a page when [one more](Page::and_one_more) was asked for, of a list that is
    /// [counted](Slice::count_with) where the page itself does not show how many it has.
    pub(super) fn found(found: Vec<T>, page: Page) -> Self {
        let mut slice = Self::cut(found, page, None);
        let shown = u64::try_from(slice.items.len()).unwrap_or(u64::MAX);
        if let Start::Offset(offset) = page.start
            && !slice.has_more
            && (shown > 0 || offset == 0)
        {
            slice.total = Some(u64::from(offset).saturating_add(shown));
        }
        slice
    }

    /// How far the list of this page is to be counted, if at all: not where it is known to be long.
    pub(super) fn to_be_counted(&self, page: Page, is_long: bool) -> Option<u64> {
        (!is_long && self.is_long(page)).then_some(COUNTED + 1)
    }

    /// Whether the list of this page has more than are counted, as far as is known. Who starts after a record has
    /// been told before.
    #[must_use]
    pub fn is_long(&self, page: Page) -> bool {
        self.total.is_none() && matches!(page.start, Start::Offset(_))
    }

    /// Notes how many were counted so far: those of a list that has more were not.
    pub(super) fn count_with(&mut self, counted: u64) {
        self.total = (counted <= COUNTED).then_some(counted);
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

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_list_is_counted_where_the_page_does_not_show_how_many_it_has() {
        let after = Start::After(Uuid::nil());
        for (start, found, total, is_counted) in [
            (Start::Offset(0), 0, Some(0), false),
            (Start::Offset(0), 2, Some(2), false),
            (Start::Offset(0), 3, None, true),
            (Start::Offset(7), 1, Some(8), false),
            // It may have three, or seven.
            (Start::Offset(7), 0, None, true),
            (after, 1, None, false),
            (after, 3, None, false),
        ] {
            let page = Page { start, limit: 2 };
            let slice = Slice::found(vec![(); found], page);
            assert_eq!(slice.total, total, "{start:?} {found}");
            assert_eq!(slice.has_more, found > 2);
            assert_eq!(slice.to_be_counted(page, false).is_some(), is_counted);
            assert_eq!(slice.to_be_counted(page, true), None);
        }
    }

    #[test]
    fn of_a_long_list_it_is_not_said_how_many_it_has() {
        for (counted, total) in [(3, Some(3)), (1_000, Some(1_000)), (1_001, None)] {
            let page = Page {
                start: Start::Offset(0),
                limit: 1,
            };
            let mut slice = Slice::found(vec![(); 2], page);
            slice.count_with(counted);
            assert_eq!(slice.total, total);
        }
    }
}
