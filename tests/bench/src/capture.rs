//! What a request has the database do, as it was on the line.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::time::sleep;
use uuid::Uuid;

use crate::http::{Connection, Request};
use crate::line::{Line, Noted};
use crate::spec::{Bind, Mark, Said, Script};

/// How often a request is sent of which two are to be answered by the same statements.
const TRIES: u32 = 12;
/// What follows an answer comes within this time.
const SETTLED: Duration = Duration::from_millis(30);

/// A request's statements.
pub(crate) struct Capture {
    pub(crate) noted: Vec<Noted>,
    /// What was answered.
    pub(crate) body: String,
    pub(crate) content_type: String,
}

impl Capture {
    /// Sends the request and notes what it causes.
    ///
    /// # Errors
    /// It is refused.
    pub(crate) async fn of(line: &Line, address: &str, request: &Request) -> anyhow::Result<Self> {
        let mut connection = Connection::open(address).await?;
        let start = line.length();
        let answer = connection.ask(request).await?;
        let body = String::from_utf8_lossy(answer.body).into_owned();
        ensure!(
            (200..300).contains(&answer.status),
            "{}: {body}",
            answer.status
        );
        let content_type = answer.content_type;
        sleep(SETTLED).await;
        let mut noted = line.since(start);
        // Those of one session after those of the other: one request does not use two at a time.
        let mut sessions: Vec<u64> = Vec::new();
        for it in &noted {
            if !sessions.contains(&it.connection) {
                sessions.push(it.connection);
            }
        }
        noted.sort_by_key(|it| sessions.iter().position(|known| *known == it.connection));
        Ok(Self {
            noted,
            body,
            content_type,
        })
    }

    /// How many statements there were, but for those that begin and end a transaction and say whom it reaches, and what
    /// a session prepares once.
    pub(crate) fn statements(&self) -> usize {
        let frame = [
            "BEGIN",
            "COMMIT",
            "ROLLBACK",
            "SET LOCAL lessor.",
            "PREPARE",
        ];
        let counted = self.noted.iter().filter(|it| match &it.said {
            Said::Simple(sql) => !frame.iter().any(|word| sql.starts_with(word)),
            Said::Bound { .. } => true,
        });
        counted.count()
    }

    /// The SELECT of the most columns, and what was bound.
    ///
    /// # Errors
    /// There is none, or something of another type was bound.
    pub(crate) fn longest_select(&self) -> anyhow::Result<(String, Vec<Bind>)> {
        let selects = self.noted.iter().filter_map(|it| match &it.said {
            Said::Bound { sql, types, values } if sql.starts_with("SELECT") => {
                Some((sql, types, values))
            }
            _ => None,
        });
        let (sql, types, values) = selects
            .max_by_key(|(sql, ..)| sql.len())
            .context("no SELECT")?;
        let binds = types.iter().zip(values).map(|(oid, value)| {
            let value = value.as_deref().context("null is bound")?;
            bind(*oid, value).with_context(|| format!("type {oid} in {sql}"))
        });
        Ok((sql.clone(), binds.collect::<anyhow::Result<_>>()?))
    }

    fn shape(&self) -> Vec<&str> {
        let shape = self.noted.iter().map(|it| match &it.said {
            Said::Simple(sql) => sql.get(..16).unwrap_or(sql),
            Said::Bound { sql, .. } => sql,
        });
        shape.collect()
    }

    fn ids(&self) -> BTreeSet<Uuid> {
        let mut ids = BTreeSet::new();
        for it in &self.noted {
            match &it.said {
                Said::Simple(sql) => ids.extend(ids_in(sql)),
                Said::Bound { types, values, .. } => {
                    for (oid, value) in types.iter().zip(values) {
                        if *oid == 2950 {
                            let value = value.as_deref();
                            ids.extend(value.and_then(|value| Uuid::from_slice(value).ok()));
                        }
                    }
                }
            }
        }
        ids
    }
}

fn is_preparation(said: &Said) -> bool {
    matches!(said, Said::Simple(sql) if sql.starts_with("PREPARE"))
}

fn ids_in(text: &str) -> impl Iterator<Item = Uuid> + '_ {
    let hyphens = text
        .match_indices('-')
        .filter_map(|(at, _)| at.checked_sub(8));
    hyphens.filter_map(|at| Uuid::try_parse(text.get(at..at + 36)?).ok())
}

fn bind(oid: u32, value: &[u8]) -> Option<Bind> {
    Some(match oid {
        20 => Bind::BigInt(i64::from_be_bytes(value.try_into().ok()?)),
        23 => Bind::Integer(i32::from_be_bytes(value.try_into().ok()?)),
        25 => Bind::Text(String::from_utf8(value.to_vec()).ok()?),
        2950 => Bind::Uuid(Uuid::from_slice(value).ok()?),
        2951 => Bind::Uuids(elements(value, |it| Uuid::from_slice(it).ok())?),
        1009 => Bind::Texts(elements(value, |it| String::from_utf8(it.to_vec()).ok())?),
        1016 => Bind::BigInts(elements(value, |it| {
            Some(i64::from_be_bytes(it.try_into().ok()?))
        })?),
        _ => return None,
    })
}

/// The elements of an array of one dimension, behind twenty bytes about it.
fn elements<T>(array: &[u8], read: impl Fn(&[u8]) -> Option<T>) -> Option<Vec<T>> {
    let mut rest = array.get(20..)?;
    let mut elements = Vec::new();
    while let Some((length, more)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        elements.push(read(more.get(..length)?)?);
        rest = more.get(length..)?;
    }
    Some(elements)
}

/// The statements of a write: of several requests the fewest that two of different targets had alike, since what the
/// server does besides at times is in some and not in all. What differs between the two the request made. Answers them,
/// what was answered, and what sessions have to begin with.
///
/// # Errors
/// It is refused, or no two had the same.
pub(crate) async fn script(
    line: &Line,
    address: &str,
    mut next: impl FnMut() -> Option<(Request, Vec<Mark>)>,
) -> anyhow::Result<(Script, Capture, Vec<String>)> {
    let mut captures: Vec<(Capture, Vec<Mark>)> = Vec::new();
    for _ in 0..TRIES {
        let (request, marks) = next().context("no target is left")?;
        captures.push((Capture::of(line, address, &request).await?, marks));
    }
    captures.sort_by_key(|(capture, _)| capture.noted.len());
    let (place, of_other) = captures
        .iter()
        .enumerate()
        .find_map(|(place, (capture, _))| {
            let (_, rest) = captures.split_at(place + 1);
            let alike = |other: &&(Capture, _)| other.0.shape() == capture.shape();
            let (other, _) = rest.iter().find(alike)?;
            Some((place, other.ids()))
        })
        .context("no two requests had the same statements")?;
    let (capture, marks) = captures.swap_remove(place);
    let ids = capture.ids();
    let made = ids.difference(&of_other).copied();
    let script = Script {
        flights: flights(&capture.noted),
        made: made.filter(|id| !marks.contains(&Mark::Id(*id))).collect(),
        marks,
        targets: Vec::new(),
    };
    let opening = opening(line, &capture.noted);
    Ok((script, capture, opening))
}

fn flights(noted: &[Noted]) -> Vec<Vec<Said>> {
    let mut flights: Vec<Vec<Said>> = Vec::new();
    let mut last = None;
    for it in noted.iter().filter(|it| !is_preparation(&it.said)) {
        let place = (it.connection, it.flight);
        match flights.last_mut() {
            Some(flight) if last == Some(place) => flight.push(it.said.clone()),
            _ => flights.push(vec![it.said.clone()]),
        }
        last = Some(place);
    }
    flights
}

/// What the sessions of these statements began with, and what any session has prepared by name.
fn opening(line: &Line, noted: &[Noted]) -> Vec<String> {
    let used = noted.first().map(|it| it.connection);
    let all = line.since(0);
    let first = all
        .iter()
        .filter(|it| Some(it.connection) == used)
        .find_map(|it| match &it.said {
            Said::Simple(sql) => Some(sql.clone()),
            Said::Bound { .. } => None,
        });
    let mut opening: Vec<String> = first.into_iter().collect();
    for it in all.into_iter().filter(|it| is_preparation(&it.said)) {
        if let Said::Simple(sql) = it.said
            && !opening.contains(&sql)
        {
            opening.push(sql);
        }
    }
    opening
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_in_statements() {
        let id = Uuid::from_u128(7);
        let sql = format!("EXECUTE one (1, '{id}', '2026-11-20T10:00:00Z', 'a-b')");
        assert_eq!(ids_in(&sql).collect::<Vec<_>>(), [id]);
    }

    #[test]
    fn arrays_are_read_as_they_are_bound() {
        let mut array = [0_u8; 20].to_vec();
        for element in [3_i64, -4] {
            array.extend(8_u32.to_be_bytes());
            array.extend(element.to_be_bytes());
        }
        let Some(Bind::BigInts(read)) = bind(1016, &array) else {
            panic!("not read");
        };
        assert_eq!(read, [3, -4]);
    }
}
