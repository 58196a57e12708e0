//! Pages of lists.

use uuid::Uuid;

use crate::names::named_enum;

named_enum! {
    /// Which way a list runs.
    #[derive(Default)]
    pub enum SortOrder {
        /// Smallest, oldest first.
        Ascending = "asc",
        /// Largest, newest first.
        #[default]
        Descending = "desc",
    }
}

/// Where a page starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Start {
    /// After so many.
    Offset(u32),
    /// After the record of this id, at constant cost however deep.
    After(Uuid),
}

/// A page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Page {
    /// Where it starts.
    pub start: Start,
    /// The most that it holds.
    pub limit: u32,
}

impl Page {
    /// The page with one record more, which tells whether the list goes on.
    #[must_use]
    pub const fn and_one_more(self) -> Self {
        Self {
            limit: self.limit.saturating_add(1),
            ..self
        }
    }
}
