//! Rows of a checkout's other tables, as columns of the checkout, so that one statement reads all of it.
//!
//! Each is a subquery of its own. Of joins the database makes a row of a hundred columns, and makes it again for each
//! join: for one checkout that takes it half as long again.

use std::marker::PhantomData;
use std::sync::OnceLock;

use diesel::deserialize::{self, FromStaticSqlRow};
use diesel::dsl::SqlTypeOf;
use diesel::expression::{AppearsOnTable, Expression, ValidGrouping, is_aggregate};
use diesel::pg::{Pg, PgQueryBuilder};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryBuilder as _, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Record};

use crate::postgres::schema::checkouts;

/// What the rows of one table say of a checkout.
#[derive(Debug)]
pub(in crate::postgres) struct Part<R>(Vec<R>);

impl<R> Part<R> {
    /// Its row, of a table that has one at most for each checkout.
    pub(super) fn single(self) -> Option<R> {
        self.all().next()
    }

    pub(super) fn all(self) -> impl Iterator<Item = R> {
        self.0.into_iter()
    }
}

impl<R, ST> Queryable<Array<Record<ST>>, Pg> for Part<R>
where
    R: Queryable<ST, Pg>,
    ST: 'static,
    Vec<R::Row>: FromStaticSqlRow<Array<Record<ST>>, Pg>,
{
    type Row = Vec<R::Row>;

    fn build(rows: Self::Row) -> deserialize::Result<Self> {
        rows.into_iter()
            .map(R::build)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// The SQL type of what the row is read from.
type Columns<R> = SqlTypeOf<<R as Selectable<Pg>>::SelectExpression>;

/// The rows of a table that belong to the checkout a statement reads.
pub(in crate::postgres) type Column<R> =
    Box<dyn BoxableExpression<checkouts::table, Pg, SqlType = Array<Record<Columns<R>>>>>;

/// A function for each part of a checkout that gives its rows, in this order where they are several. It is told whose
/// the checkout is, by which a cluster finds the rows.
macro_rules! parts {
    ($($part:ident: $row:ident of $table:ident $(by $order:ident)?;)*) => {$(
        fn $part(owner: i64) -> Column<$row> {
            let columns = <$row as Selectable<Pg>>::construct_selection();
            let rows = $table::table
                .filter($table::organization_id.eq(owner))
                .filter($table::checkout_id.eq(checkouts::id))
                $(.order($table::$order))?
                .select(columns.into_sql::<diesel::sql_types::Record<_>>());
            Box::new(diesel::dsl::array(rows))
        }
    )*};
}
pub(super) use parts;

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
