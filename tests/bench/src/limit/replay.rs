//! The statements of a request, carried out again: what one made is made anew, what one worked on is another's.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;
use deadpool::managed::{self, Metrics, Object, RecycleError, RecycleResult};
use futures_util::future::try_join_all;
use futures_util::pin_mut;
use futures_util::stream::StreamExt as _;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, NoTls, Statement};
use uuid::Uuid;

use crate::spec::{Mark, Said, Script};

pub(super) type Pool = managed::Pool<Manager>;

/// A session, and what it has prepared.
pub(super) struct Session {
    client: Client,
    prepared: HashMap<String, Statement>,
}

/// Opens sessions as the server does.
pub(super) struct Manager {
    url: String,
    opening: Vec<String>,
}

pub(super) fn pool(url: &str, opening: &[String], connections: usize) -> anyhow::Result<Pool> {
    let manager = Manager {
        url: url.to_owned(),
        opening: opening.to_vec(),
    };
    let built = Pool::builder(manager).max_size(connections).build();
    built.map_err(|error| anyhow::anyhow!("no pool: {error}"))
}

impl managed::Manager for Manager {
    type Type = Session;
    type Error = tokio_postgres::Error;

    async fn create(&self) -> Result<Session, tokio_postgres::Error> {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await?;
        tokio::spawn(connection);
        for sql in &self.opening {
            client.batch_execute(sql).await?;
        }
        Ok(Session {
            client,
            prepared: HashMap::new(),
        })
    }

    async fn recycle(
        &self,
        session: &mut Session,
        _: &Metrics,
    ) -> RecycleResult<tokio_postgres::Error> {
        if session.client.is_closed() {
            return Err(RecycleError::message("closed"));
        }
        Ok(())
    }
}

/// A place in what is sent that is written over.
#[derive(Clone, Copy)]
struct Patch {
    at: usize,
    with: With,
    form: Form,
}

#[derive(Clone, Copy)]
enum With {
    /// The target's mark of this place.
    Target(usize),
    /// The id that was made of this place.
    Made(usize),
}

#[derive(Clone, Copy)]
enum Form {
    /// The bytes as they are.
    Raw,
    /// An id as text.
    Hyphenated,
}

/// Bytes that are sent, and where they are written over.
struct Template {
    bytes: Vec<u8>,
    patches: Vec<Patch>,
}

enum Line {
    Simple(Template),
    Bound {
        sql: String,
        types: Vec<Type>,
        values: Vec<Option<Template>>,
    },
}

pub(super) struct Replay {
    flights: Vec<Vec<Line>>,
    made: Vec<Uuid>,
    targets: Vec<Vec<Mark>>,
}

/// Numbers the ids that are made, over all replays of the process.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Template {
    fn new(bytes: Vec<u8>, marks: &[Mark], made: &[Uuid]) -> Self {
        let mut patches = Vec::new();
        let mut note = |needle: &[u8], with, form| {
            if needle.is_empty() || needle.len() > bytes.len() {
                return;
            }
            for (at, window) in bytes.windows(needle.len()).enumerate() {
                if window == needle {
                    patches.push(Patch { at, with, form });
                }
            }
        };
        for (place, mark) in marks.iter().enumerate() {
            match mark {
                Mark::Id(id) => {
                    note(id.as_bytes(), With::Target(place), Form::Raw);
                    let text = id.to_string();
                    note(text.as_bytes(), With::Target(place), Form::Hyphenated);
                }
                Mark::Text(text) => note(text.as_bytes(), With::Target(place), Form::Raw),
            }
        }
        for (place, id) in made.iter().enumerate() {
            note(id.as_bytes(), With::Made(place), Form::Raw);
            let text = id.to_string();
            note(text.as_bytes(), With::Made(place), Form::Hyphenated);
        }
        Self { bytes, patches }
    }

    fn filled(&self, target: &[Mark], made: &[Uuid]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for patch in &self.patches {
            let id = match patch.with {
                With::Made(place) => made.get(place),
                With::Target(place) => match target.get(place) {
                    Some(Mark::Id(id)) => Some(id),
                    Some(Mark::Text(text)) => {
                        write(&mut bytes, patch.at, text.as_bytes());
                        None
                    }
                    None => None,
                },
            };
            match (id, patch.form) {
                (Some(id), Form::Raw) => write(&mut bytes, patch.at, id.as_bytes()),
                (Some(id), Form::Hyphenated) => {
                    write(&mut bytes, patch.at, id.to_string().as_bytes());
                }
                (None, _) => {}
            }
        }
        bytes
    }
}

fn write(bytes: &mut [u8], at: usize, with: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + with.len()) {
        place.copy_from_slice(with);
    }
}

/// A value as it goes over the line.
#[derive(Debug)]
struct Raw(Option<Vec<u8>>);

impl ToSql for Raw {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(bytes) = &self.0 else {
            return Ok(IsNull::Yes);
        };
        out.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl Replay {
    pub(super) fn new(script: Script) -> Self {
        let Script {
            flights,
            marks,
            made,
            targets,
        } = script;
        let template = |bytes: Vec<u8>| Template::new(bytes, &marks, &made);
        let line = |said| match said {
            Said::Simple(sql) => Line::Simple(template(sql.into_bytes())),
            Said::Bound { sql, types, values } => Line::Bound {
                sql,
                types: types
                    .into_iter()
                    .map(|oid| Type::from_oid(oid).unwrap_or(Type::UNKNOWN))
                    .collect(),
                values: values
                    .into_iter()
                    .map(|value| value.map(template))
                    .collect(),
            },
        };
        let flights = flights
            .into_iter()
            .map(|flight| flight.into_iter().map(line).collect())
            .collect();
        Self {
            flights,
            made,
            targets,
        }
    }

    pub(super) async fn run(&self, number: usize, pool: &Pool) -> anyhow::Result<()> {
        let target = self.targets.get(number).context("no target is left")?;
        let made: Vec<Uuid> = self.made.iter().map(|id| another(*id)).collect();
        let session = pool.get().await;
        let mut session = session.map_err(|error| anyhow::anyhow!("no session: {error}"))?;
        let played = self.play(&mut session, target, &made).await;
        if played.is_err() {
            // Nobody else goes on in its transaction.
            drop(Object::take(session));
        }
        played
    }

    async fn play(
        &self,
        session: &mut Session,
        target: &[Mark],
        made: &[Uuid],
    ) -> anyhow::Result<()> {
        for line in self.flights.iter().flatten() {
            session.prepare(line).await?;
        }
        for flight in &self.flights {
            let session: &Session = session;
            let sent = flight.iter().map(|line| session.send(line, target, made));
            try_join_all(sent).await?;
        }
        Ok(())
    }
}

/// An id that nothing has, beside the one that was made: ids are made in the order of time.
fn another(id: Uuid) -> Uuid {
    let (high, _) = id.as_u64_pair();
    Uuid::from_u64_pair(high, NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Session {
    async fn prepare(&mut self, line: &Line) -> anyhow::Result<()> {
        if let Line::Bound { sql, types, .. } = line
            && !self.prepared.contains_key(sql)
        {
            let statement = self.client.prepare_typed(sql, types).await?;
            self.prepared.insert(sql.clone(), statement);
        }
        Ok(())
    }

    async fn send(&self, line: &Line, target: &[Mark], made: &[Uuid]) -> anyhow::Result<()> {
        match line {
            Line::Simple(template) => {
                let sql = String::from_utf8(template.filled(target, made))?;
                self.client.batch_execute(&sql).await.context(sql)?;
            }
            Line::Bound { sql, values, .. } => {
                let statement = self.prepared.get(sql).context("not prepared")?;
                let values: Vec<Raw> = values
                    .iter()
                    .map(|value| Raw(value.as_ref().map(|it| it.filled(target, made))))
                    .collect();
                let rows = self.client.query_raw(statement, &values).await;
                let rows = rows.with_context(|| sql.clone())?;
                pin_mut!(rows);
                while let Some(row) = rows.next().await {
                    row.with_context(|| sql.clone())?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_ids_are_written_over_wherever_they_stand() {
        let (old, made, new, other) = (1, 2, 3, 4);
        let [old, made, new, other] = [old, made, new, other].map(Uuid::from_u128);
        let text = |id: Uuid, mark: &str| format!("({id}, '{mark}')").into_bytes();
        let marks = [Mark::Id(old), Mark::Text("1Z7".to_owned())];
        let target = [Mark::Id(new), Mark::Text("1Z8".to_owned())];
        let template = Template::new(text(old, "1Z7"), &marks, &[made]);
        assert_eq!(template.filled(&target, &[other]), text(new, "1Z8"));
        let template = Template::new(made.as_bytes().to_vec(), &marks, &[made]);
        assert_eq!(template.filled(&target, &[other]), other.as_bytes());
    }
}
