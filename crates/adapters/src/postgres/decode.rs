//! From what rows hold to what the domain means, with errors that name the place.

use std::fmt::Display;
use std::str::FromStr;

use bigdecimal::BigDecimal;
use lessor_domain::ids::IdError;
use lessor_domain::money::{Currency, Money};
use lessor_domain::ports::StoreError;
use serde::de::DeserializeOwned;

use super::json::Json;

/// How many rows the database counted: it counts from 0 up.
pub(crate) fn row_count(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

/// A row that is being read.
pub(crate) struct Place<'a> {
    table: &'static str,
    row: &'a dyn Display,
}

impl<'a> Place<'a> {
    /// The table's row of this id.
    pub(crate) const fn new(table: &'static str, row: &'a dyn Display) -> Self {
        Self { table, row }
    }

    /// The column holds what it must not.
    pub(crate) fn corrupt(&self, column: &'static str, problem: &str) -> StoreError {
        StoreError::Corrupt {
            table: self.table,
            column,
            row: self.row.to_string(),
            problem: problem.to_owned(),
        }
    }

    /// A text of a kind.
    pub(crate) fn parse<T>(&self, column: &'static str, text: &str) -> Result<T, StoreError>
    where
        T: FromStr<Err: Display>,
    {
        text.parse()
            .map_err(|error: T::Err| self.corrupt(column, &error.to_string()))
    }

    /// A text of a kind that may be missing.
    pub(crate) fn parse_if<T>(
        &self,
        column: &'static str,
        text: Option<String>,
    ) -> Result<Option<T>, StoreError>
    where
        T: FromStr<Err: Display>,
    {
        text.map(|text| self.parse(column, &text)).transpose()
    }

    /// Texts of a kind.
    pub(crate) fn parse_all<T>(
        &self,
        column: &'static str,
        texts: &[String],
    ) -> Result<Vec<T>, StoreError>
    where
        T: FromStr<Err: Display>,
    {
        texts.iter().map(|text| self.parse(column, text)).collect()
    }

    /// A percentage or a rate.
    pub(crate) fn rate<T>(&self, column: &'static str, value: &BigDecimal) -> Result<T, StoreError>
    where
        T: FromStr<Err: Display>,
    {
        self.parse(column, &value.to_plain_string())
    }

    /// A percentage or a rate that may be missing.
    pub(crate) fn rate_if<T>(
        &self,
        column: &'static str,
        value: Option<BigDecimal>,
    ) -> Result<Option<T>, StoreError>
    where
        T: FromStr<Err: Display>,
    {
        value.map(|value| self.rate(column, &value)).transpose()
    }

    /// Minor units of the currency in the column beside them.
    pub(crate) fn money(&self, minor: i64, currency: &str) -> Result<Money, StoreError> {
        let currency: Currency = self.parse("currency", currency)?;
        Ok(Money::from_minor(minor, currency))
    }

    /// A value object.
    pub(crate) fn json<T: DeserializeOwned>(
        &self,
        column: &'static str,
        value: Json,
    ) -> Result<T, StoreError> {
        value
            .read()
            .map_err(|problem| self.corrupt(column, &problem))
    }

    /// A value object that may be missing.
    pub(crate) fn json_if<T: DeserializeOwned>(
        &self,
        column: &'static str,
        value: Option<Json>,
    ) -> Result<Option<T>, StoreError> {
        value.map(|value| self.json(column, value)).transpose()
    }

    /// A numeric id.
    pub(crate) fn number<T>(&self, column: &'static str, number: i64) -> Result<T, StoreError>
    where
        T: TryFrom<i64, Error = IdError>,
    {
        T::try_from(number).map_err(|error| self.corrupt(column, &error.to_string()))
    }

    /// A numeric id that may be missing.
    pub(crate) fn number_if<T>(
        &self,
        column: &'static str,
        number: Option<i64>,
    ) -> Result<Option<T>, StoreError>
    where
        T: TryFrom<i64, Error = IdError>,
    {
        number.map(|number| self.number(column, number)).transpose()
    }

    pub(crate) fn count(&self, column: &'static str, number: i32) -> Result<u32, StoreError> {
        u32::try_from(number).map_err(|_| self.corrupt(column, "is negative"))
    }

    /// Bytes of a known length.
    pub(crate) fn bytes<const N: usize>(
        &self,
        column: &'static str,
        bytes: Vec<u8>,
    ) -> Result<[u8; N], StoreError> {
        bytes
            .try_into()
            .map_err(|_| self.corrupt(column, &format!("is not {N} bytes long")))
    }
}

/// The count as a column keeps it.
pub(crate) fn counted(count: u32) -> Result<i32, StoreError> {
    i32::try_from(count).map_err(StoreError::internal)
}
