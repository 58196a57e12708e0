//! Pages of sorted records.

use std::cmp::Ordering;

use uuid::Uuid;

use crate::ports::{Page, SortOrder, Start};

/// The page of those records that the filter shows. The order is total; a record
/// that the filter hides still marks a place in it.
pub(super) fn page<E: Clone>(
    records: impl Iterator<Item = E>,
    id: impl Fn(&E) -> Uuid,
    shows: impl Fn(&E) -> bool,
    order: impl Fn(&E, &E) -> Ordering,
    page: Page,
) -> Vec<E> {
    let mut sorted: Vec<E> = records.collect();
    sorted.sort_by(order);
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let (skip_to, offset) = match page.start {
        Start::Offset(offset) => (None, usize::try_from(offset).unwrap_or(usize::MAX)),
        Start::After(after) => (Some(after), 0),
    };
    let mut sorted = sorted.into_iter();
    if let Some(after) = skip_to {
        // Runs to the end when there is no such record: nothing comes after it.
        sorted.by_ref().find(|record| id(record) == after);
    }
    sorted.filter(shows).skip(offset).take(limit).collect()
}

/// The order of two keys in the wanted direction, then that of the ids.
pub(super) fn directed<K: Ord>(a: &(K, Uuid), b: &(K, Uuid), order: SortOrder) -> Ordering {
    match order {
        SortOrder::Ascending => a.cmp(b),
        SortOrder::Descending => b.cmp(a),
    }
}

/// As [`directed`], but what has no key comes last in both directions.
pub(super) fn directed_nulls_last<K: Ord>(
    a: &(Option<K>, Uuid),
    b: &(Option<K>, Uuid),
    order: SortOrder,
) -> Ordering {
    let ((a_key, _), (b_key, _)) = (a, b);
    a_key
        .is_none()
        .cmp(&b_key.is_none())
        .then_with(|| directed(a, b, order))
}
