//! What the limits are told to do: written by who measures, read by the process that serves them.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// All limits.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Spec {
    /// Where the database is.
    pub(crate) database: String,
    /// What sessions that replay begin with, as those of the server do.
    pub(crate) opening: Vec<String>,
    /// The limits; their places are their addresses.
    pub(crate) routes: Vec<Route>,
}

/// A limit: what is done, and what is answered then.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Route {
    pub(crate) content_type: String,
    pub(crate) body: String,
    pub(crate) work: Work,
}

/// What a limit does before it answers.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Work {
    /// Nothing.
    Nothing,
    /// One SELECT, whose rows are read.
    Select {
        sql: String,
        /// What is bound, by the number of the request.
        binds: Vec<Vec<Bind>>,
    },
    /// The same, and the prices of each row for each of these conditions.
    Price {
        sql: String,
        binds: Vec<Bind>,
        cards: Vec<Card>,
    },
    /// The statements of a request that was written down.
    Replay(Script),
}

/// What is bound, as Diesel binds it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum Bind {
    BigInt(i64),
    Integer(i32),
    Text(String),
    Uuid(#[serde(with = "bits")] Uuid),
    Uuids(#[serde(with = "bits_of_each")] Vec<Uuid>),
    Texts(Vec<String>),
    BigInts(Vec<i64>),
}

/// Conditions of a lease.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Card {
    pub(crate) months: u32,
    pub(crate) money_factor: Option<String>,
    pub(crate) annual_rate: Option<String>,
    pub(crate) residual: String,
    pub(crate) deposit: String,
    pub(crate) insurance: String,
}

/// Statements in their order. Those of a flight are sent without waiting for the answers of each other.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Script {
    pub(crate) flights: Vec<Vec<Said>>,
    /// What stands there for what was worked on: replaced by the same of another.
    pub(crate) marks: Vec<Mark>,
    /// Ids that the request made: replaced by new ones.
    #[serde(with = "bits_of_each")]
    pub(crate) made: Vec<Uuid>,
    /// What replaces the marks, by the number of the request.
    pub(crate) targets: Vec<Vec<Mark>>,
}

/// Something by which a record is known in statements.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Mark {
    Id(#[serde(with = "bits")] Uuid),
    /// All of a place's are of one length.
    Text(String),
}

/// A statement as it was on the line.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Said {
    /// Text alone.
    Simple(String),
    /// Prepared, and carried out with these values.
    Bound {
        sql: String,
        types: Vec<u32>,
        values: Vec<Option<Vec<u8>>>,
    },
}

/// An id as its bits.
mod bits {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use uuid::Uuid;

    pub(super) fn serialize<S: Serializer>(id: &Uuid, out: S) -> Result<S::Ok, S::Error> {
        id.as_u128().serialize(out)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Uuid, D::Error> {
        u128::deserialize(from).map(Uuid::from_u128)
    }
}

/// Ids as their bits.
mod bits_of_each {
    use serde::{Deserialize as _, Deserializer, Serializer};
    use uuid::Uuid;

    pub(super) fn serialize<S: Serializer>(ids: &[Uuid], out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(ids.iter().map(Uuid::as_u128))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Uuid>, D::Error> {
        let ids = Vec::<u128>::deserialize(from)?;
        Ok(ids.into_iter().map(Uuid::from_u128).collect())
    }
}
