//! Rows of another table in one column: the bytes of a list of records.

use std::hint::black_box;

use chrono::{DateTime, Days, NaiveDate, TimeDelta, Utc};
use diesel::deserialize;
use serde_json::Value;
use uuid::Uuid;

/// Bytes that are read from their front.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> deserialize::Result<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or("a value ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> deserialize::Result<i32> {
        Ok(i32::from_be_bytes(self.take(4)?.try_into()?))
    }

    /// What follows its length; none for NULL.
    fn value(&mut self) -> deserialize::Result<Option<&'a [u8]>> {
        let length = self.number()?;
        let length = usize::try_from(length).ok();
        length.map(|length| self.take(length)).transpose()
    }
}

/// What the database's catalogue numbers a record of no declared type.
const RECORD: i32 = 2249;

/// Whether the bytes are a list of records: one dimension of them.
pub(super) fn are_records(bytes: &[u8]) -> bool {
    let mut list = Rest(bytes);
    let head = (list.number(), list.number(), list.number());
    matches!(head, (Ok(0 | 1), Ok(0 | 1), Ok(RECORD)))
}

/// The values of a list, each as Rust has it.
pub(super) fn read(list: &[u8]) -> deserialize::Result<()> {
    let mut list = Rest(list);
    let (dimensions, _has_null, element) = (list.number()?, list.number()?, list.number()?);
    if dimensions == 0 {
        return Ok(());
    }
    let (count, _first) = (list.number()?, list.number()?);
    for _ in 0..count {
        if let Some(value) = list.value()? {
            one(element, value)?;
        }
    }
    Ok(())
}

fn record(fields: &[u8]) -> deserialize::Result<()> {
    let mut fields = Rest(fields);
    for _ in 0..fields.number()? {
        let kind = fields.number()?;
        if let Some(value) = fields.value()? {
            one(kind, value)?;
        }
    }
    Ok(())
}

/// The value as Rust has it, as a row of the server's holds it.
fn one(kind: i32, value: &[u8]) -> deserialize::Result<()> {
    fn keep<T>(value: T) -> deserialize::Result<()> {
        black_box(value);
        Ok(())
    }
    let epoch = NaiveDate::from_ymd_opt(2000, 1, 1).ok_or("no day")?;
    // The types' numbers in the database's catalogue, which never change.
    match kind {
        16 => keep(*value == [1]),
        17 => keep(value.to_vec()),
        20 => keep(i64::from_be_bytes(value.try_into()?)),
        23 => keep(i32::from_be_bytes(value.try_into()?)),
        25 => keep(String::from_utf8(value.to_vec())?),
        114 => keep(serde_json::from_slice::<Value>(value)?),
        1001 | 1009 => read(value),
        1082 => {
            let days = i32::from_be_bytes(value.try_into()?);
            keep(epoch.checked_add_days(Days::new(u64::try_from(days)?)))
        }
        1184 => {
            let micros = i64::from_be_bytes(value.try_into()?);
            let since: DateTime<Utc> = epoch.and_time(chrono::NaiveTime::MIN).and_utc();
            keep(since.checked_add_signed(TimeDelta::microseconds(micros)))
        }
        RECORD => record(value),
        2950 => keep(Uuid::from_slice(value)?),
        3802 => keep(serde_json::from_slice::<Value>(
            value.get(1..).unwrap_or_default(),
        )?),
        other => Err(format!("no value of the type {other} is read").into()),
    }
}
