//! Columns whose text is written once.

use std::marker::PhantomData;
use std::sync::OnceLock;

use diesel::expression::{AppearsOnTable, Expression, ValidGrouping, is_aggregate};
use diesel::pg::{Pg, PgQueryBuilder};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryBuilder as _, QueryFragment, QueryId};
use diesel::sql_types::BigInt;

/// The text of columns in which nothing is bound but whose checkout it is: cut at each of these places, once it was written.
pub(super) struct Pieces(OnceLock<Vec<String>>);

impl Pieces {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }
}

/// Columns as they were written the first time. The library goes through each of a hundred columns for every statement,
/// to look for what is bound, which takes longer than to read them.
pub(super) struct Written<C> {
    pieces: &'static [String],
    owner: i64,
    columns: PhantomData<fn() -> C>,
}

impl<C: QueryFragment<Pg>> Written<C> {
    pub(super) fn new(pieces: &'static Pieces, owner: i64, columns: impl FnOnce() -> C) -> Self {
        Self {
            pieces: pieces.0.get_or_init(|| cut(&columns())),
            owner,
            columns: PhantomData,
        }
    }
}

/// The text of the columns, cut where something is bound.
fn cut(columns: &impl QueryFragment<Pg>) -> Vec<String> {
    let mut text = PgQueryBuilder::default();
    // Only a list of values that is too long has no text.
    let written = columns.to_sql(&mut text, &Pg);
    debug_assert!(written.is_ok(), "columns have a text");
    text.finish()
        .split('$')
        .map(|piece| {
            piece
                .trim_start_matches(|sign: char| sign.is_ascii_digit())
                .to_owned()
        })
        .collect()
}

impl<C: Expression> Expression for Written<C> {
    type SqlType = C::SqlType;
}

impl<C, QS> AppearsOnTable<QS> for Written<C> where C: AppearsOnTable<QS> {}

impl<C, QS> SelectableExpression<QS> for Written<C> where C: SelectableExpression<QS> {}

impl<C> ValidGrouping<()> for Written<C> {
    type IsAggregate = is_aggregate::No;
}

impl<C> QueryId for Written<C> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C> QueryFragment<Pg> for Written<C> {
    fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        for (place, piece) in self.pieces.iter().enumerate() {
            if place > 0 {
                pass.push_bind_param::<BigInt, _>(&self.owner)?;
            }
            pass.push_sql(piece);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use diesel::debug_query;

    use crate::postgres::schema::checkouts;

    use super::*;

    #[test]
    fn what_was_written_is_written_again_with_what_is_bound() {
        static PIECES: Pieces = Pieces::new();
        let columns = |owner: i64| {
            (
                checkouts::id,
                checkouts::organization_id.eq(owner),
                checkouts::organization_id.ne(owner),
                checkouts::mode,
            )
        };
        for owner in [7, 70] {
            let written = Written::new(&PIECES, owner, || columns(owner));
            assert_eq!(
                debug_query::<Pg, _>(&written).to_string(),
                debug_query::<Pg, _>(&columns(owner)).to_string()
            );
        }
    }
}
