//! Value objects as columns keep them.

use std::io::Write as _;

use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{Json as SqlJson, Jsonb};
use lessor_domain::ports::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What the binary form of `jsonb` begins with.
const VERSION: u8 = 1;

/// A value object as its text, which is read into its type at once: no tree is made of it before. Two are equal that were
/// made of equal objects; of `jsonb` the database writes the text in its own way.
#[derive(Debug, Clone, PartialEq, Eq, FromSqlRow, AsExpression)]
#[diesel(sql_type = SqlJson)]
#[diesel(sql_type = Jsonb)]
pub(crate) struct Json(Box<[u8]>);

/// The value object as a column keeps it.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<Json, StoreError> {
    let text = serde_json::to_vec(value).map_err(StoreError::internal)?;
    Ok(Json(text.into()))
}

impl Json {
    /// The value object; where it is none, what is wrong with it and at which column of its text.
    pub(crate) fn read<T: DeserializeOwned>(self) -> Result<T, String> {
        // Every read would pay for keeping the path in mind as well, and a column's text is short.
        serde_json::from_slice(&self.0).map_err(|error| error.to_string())
    }
}

impl FromSql<SqlJson, Pg> for Json {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(value.as_bytes().into()))
    }
}

impl ToSql<SqlJson, Pg> for Json {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(&self.0)?;
        Ok(IsNull::No)
    }
}

impl FromSql<Jsonb, Pg> for Json {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        match value.as_bytes() {
            [VERSION, text @ ..] => Ok(Self(text.into())),
            _ => Err("jsonb in a form that is not known".into()),
        }
    }
}

impl ToSql<Jsonb, Pg> for Json {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(&[VERSION])?;
        out.write_all(&self.0)?;
        Ok(IsNull::No)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let counts: BTreeMap<String, u8> = [("one".to_owned(), 1)].into();
        let kept = json(&counts).unwrap();
        assert_eq!(kept.read().as_ref(), Ok(&counts));
        let wrong = json(&counts)
            .unwrap()
            .read::<BTreeMap<String, bool>>()
            .unwrap_err();
        assert!(wrong.ends_with("at line 1 column 8"), "{wrong}");
    }
}
