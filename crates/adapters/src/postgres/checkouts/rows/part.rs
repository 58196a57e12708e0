//! Rows of a checkout's other tables, as columns of the checkout, so that one statement reads all of it.
//!
//! Each is a subquery of its own. Of joins the database makes a row of a hundred columns, and makes it again for each
//! join: for one checkout that takes it 1.4 times as long.

use diesel::deserialize::{self, FromStaticSqlRow};
use diesel::dsl::{IntoArrayExpression, SqlTypeOf, array};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, Record, SingleValue};

use crate::postgres::schema::checkouts;

/// What the rows of one table say of a checkout.
#[derive(Debug)]
pub(super) struct Part<R>(Vec<R>);

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

#[diesel::declare_sql_function]
extern "SQL" {
    /// The list as bytes, in the form in which it would be sent: whoever reads them finds the list. A cluster's coordinator
    /// hands on bytes, and cannot take in a list of records that no type was made for.
    fn array_send<T: SingleValue>(list: Array<T>) -> Array<T>;
}

/// The list of these records, as a column.
pub(in crate::postgres) fn sent<ST, Q>(records: Q) -> array_send<Record<ST>, array<Record<ST>, Q>>
where
    ST: 'static,
    Record<ST>: SingleValue,
    Q: IntoArrayExpression<Record<ST>>,
{
    array_send(array(records))
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
            Box::new(sent(rows))
        }
    )*};
}
pub(super) use parts;
