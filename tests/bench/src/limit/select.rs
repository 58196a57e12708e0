//! One prepared SELECT, through Diesel and a pool, each column read into what Rust has for it.

use std::hint::black_box;

use anyhow::Context as _;
use bigdecimal::BigDecimal;
use chrono::{DateTime, NaiveDate, Utc};
use diesel::QueryResult;
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::pg::{Pg, PgValue};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::row::{Field as _, NamedRow, Row};
use diesel::sql_types::{
    Array, BigInt, Binary, Bool, Date, Integer, Json, Jsonb, Numeric, Text, Timestamptz, Untyped,
    Uuid as SqlUuid,
};
use diesel_async::pooled_connection::AsyncDieselConnectionManager;
use diesel_async::pooled_connection::deadpool;
use diesel_async::{AsyncPgConnection, RunQueryDsl as _};
use lessor_domain::money::{Currency, Money};
use lessor_domain::percentage::Percentage;
use lessor_domain::pricing::{Rate, RateCard, quote};
use serde_json::Value;
use uuid::Uuid;

use super::records;
use crate::spec::{Bind, Card};

pub(super) type Pool = deadpool::Pool<AsyncPgConnection>;

/// Plans are made once, and by the same measure, as the server has them.
pub(super) fn pool(database: &str, connections: usize) -> anyhow::Result<Pool> {
    let url = format!(
        "{database}?options=-c%20plan_cache_mode%3Dforce_generic_plan%20-c%20random_page_cost%3D1.1"
    );
    let mut config = diesel_async::pooled_connection::ManagerConfig::default();
    config.recycling_method = diesel_async::pooled_connection::RecyclingMethod::Fast;
    let manager = AsyncDieselConnectionManager::new_with_config(url, config);
    Ok(Pool::builder(manager).max_size(connections).build()?)
}

/// A statement, cut where something is bound.
pub(super) struct Select {
    pieces: Vec<String>,
    binds: Vec<Vec<Bind>>,
}

/// The statement with what is bound this time.
struct Bound<'a> {
    pieces: &'a [String],
    binds: &'a [Bind],
}

impl Select {
    pub(super) fn new(sql: &str, binds: Vec<Vec<Bind>>) -> Self {
        let mut pieces = vec![String::new()];
        let mut rest = sql.chars().peekable();
        while let Some(character) = rest.next() {
            if character == '$' && rest.peek().is_some_and(char::is_ascii_digit) {
                while rest.next_if(char::is_ascii_digit).is_some() {}
                pieces.push(String::new());
            } else if let Some(piece) = pieces.last_mut() {
                piece.push(character);
            }
        }
        Self { pieces, binds }
    }

    pub(super) async fn run(&self, number: usize, pool: &Pool) -> anyhow::Result<Vec<Read>> {
        let place = number.checked_rem(self.binds.len()).unwrap_or_default();
        let bound = Bound {
            pieces: &self.pieces,
            binds: self.binds.get(place).context("nothing to bind")?,
        };
        let mut connection = pool.get().await?;
        let rows: Vec<Read> = bound.load(&mut connection).await?;
        anyhow::ensure!(!rows.is_empty(), "no row");
        Ok(rows)
    }
}

impl QueryId for Bound<'_> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Bound<'_> {
    type SqlType = Untyped;
}

impl<C> diesel::RunQueryDsl<C> for Bound<'_> {}

impl QueryFragment<Pg> for Bound<'_> {
    fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let mut binds = self.binds.iter();
        for (place, piece) in self.pieces.iter().enumerate() {
            if place > 0
                && let Some(bind) = binds.next()
            {
                match bind {
                    Bind::BigInt(value) => pass.push_bind_param::<BigInt, _>(value)?,
                    Bind::Integer(value) => pass.push_bind_param::<Integer, _>(value)?,
                    Bind::Text(value) => pass.push_bind_param::<Text, _>(value)?,
                    Bind::Uuid(value) => pass.push_bind_param::<SqlUuid, _>(value)?,
                    Bind::Uuids(value) => pass.push_bind_param::<Array<SqlUuid>, _>(value)?,
                    Bind::Texts(value) => pass.push_bind_param::<Array<Text>, _>(value)?,
                    Bind::BigInts(value) => pass.push_bind_param::<Array<BigInt>, _>(value)?,
                }
            }
            pass.push_sql(piece);
        }
        Ok(())
    }

    fn is_safe_to_cache_prepared(&self, _: &Pg) -> QueryResult<bool> {
        Ok(true)
    }
}

/// A row that was read. Only what prices are made of is kept.
pub(super) struct Read {
    price: Option<i64>,
}

impl QueryableByName<Pg> for Read {
    fn build<'a>(row: &impl NamedRow<'a, Pg>) -> deserialize::Result<Self> {
        let mut price = None;
        for place in 0..row.field_count() {
            let Some(field) = Row::get(row, place) else {
                continue;
            };
            let name = field.field_name().map(str::to_owned);
            let Some(value) = field.value() else { continue };
            if name.as_deref() == Some("price") {
                price = Some(FromSql::<BigInt, Pg>::from_sql(value)?);
            } else {
                read(value)?;
            }
        }
        Ok(Self { price })
    }
}

/// The value as Rust has it, as a row of the server's holds it.
fn read(value: PgValue<'_>) -> deserialize::Result<()> {
    fn of<S, T: FromSql<S, Pg>>(value: PgValue<'_>) -> deserialize::Result<()> {
        black_box(T::from_sql(value)?);
        Ok(())
    }
    // The types' numbers in the database's catalogue, which never change.
    match value.get_oid().get() {
        16 => of::<Bool, bool>(value),
        17 if records::are_records(value.as_bytes()) => records::read(value.as_bytes()),
        17 => of::<Binary, Vec<u8>>(value),
        20 => of::<BigInt, i64>(value),
        23 => of::<Integer, i32>(value),
        25 => of::<Text, String>(value),
        114 => of::<Json, Value>(value),
        1001 => of::<Array<Binary>, Vec<Vec<u8>>>(value),
        1009 => of::<Array<Text>, Vec<String>>(value),
        1082 => of::<Date, NaiveDate>(value),
        1184 => of::<Timestamptz, DateTime<Utc>>(value),
        1700 => of::<Numeric, BigDecimal>(value),
        2950 => of::<SqlUuid, Uuid>(value),
        3802 => of::<Jsonb, Value>(value),
        other => Err(format!("no value of the type {other} is read").into()),
    }
}

/// Prices by the domain.
pub(super) struct Prices(Vec<RateCard>);

impl Prices {
    pub(super) fn new(cards: &[Card]) -> anyhow::Result<Self> {
        let cards = cards.iter().map(|card| {
            let rate = match (&card.money_factor, &card.annual_rate) {
                (Some(factor), _) => Rate::MoneyFactor(factor.parse()?),
                (None, Some(rate)) => Rate::AnnualRate(rate.parse()?),
                (None, None) => anyhow::bail!("a term without a rate"),
            };
            let term = card.months.to_string().parse()?;
            Ok(RateCard::new(term, rate, card.residual.parse()?)
                .with_deposit(card.deposit.parse()?)
                .with_insurance(card.insurance.parse()?))
        });
        cards.collect::<anyhow::Result<_>>().map(Self)
    }

    pub(super) fn of(&self, rows: &[Read]) -> anyhow::Result<()> {
        for row in rows {
            let price = row.price.context("a row without a price")?;
            let price = Money::from_minor(price, Currency::USD);
            for card in &self.0 {
                black_box(quote(price, Percentage::ZERO, card)?);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Select;

    #[test]
    fn a_statement_is_cut_where_something_is_bound() {
        let select = Select::new(
            "select a from b where c = $1 and d = $12 limit $3",
            Vec::new(),
        );
        let pieces = ["select a from b where c = ", " and d = ", " limit ", ""];
        assert_eq!(select.pieces, pieces);
    }
}
