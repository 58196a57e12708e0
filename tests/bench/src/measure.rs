//! Paths beside their limits, in turns: what disturbs the one disturbs the other.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Serialize;

use crate::capture::{Capture, script};
use crate::http::Request;
use crate::line::Line;
use crate::load::{Load, Source, Turn};
use crate::options::Options;
use crate::paths::{Limit, PATHS, Path, Row, of_catalog};
use crate::processor_time::Counted;
use crate::seed::{self, Kind, Shop, id};
use crate::spec::{Bind, Card, Route, Spec, Work};
use crate::stage::{Running, Stage};

/// Turns of either: the machine may be a third slower for a second, and so is whoever is asked then.
const TURNS: u32 = 10;
/// Writes a second that there are targets for, of the server and of the limit.
const OURS: f64 = 1_500.0;
const THEIRS: f64 = 1_500.0;
/// Targets that writes are written down with.
const CAPTURED: u32 = 12;
/// Which part of the time either is warmed up.
const WARM_UP: f64 = 0.2;

/// What a path came to, of so many records, over so many connections.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ratio {
    pub(crate) path: &'static str,
    pub(crate) size: u32,
    pub(crate) connections: usize,
    pub(crate) limit: &'static str,
    pub(crate) goal: f64,
    /// Requests a second.
    pub(crate) ours: f64,
    pub(crate) theirs: f64,
    /// What a request takes of the processor, in microseconds: the server, the database, and the limit with its own.
    pub(crate) server: f64,
    pub(crate) database: f64,
    pub(crate) limit_server: f64,
    pub(crate) limit_database: f64,
    /// When answers came, in milliseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// At half of that rate, and of the limit at half of its own.
    pub(crate) half: Tail,
    pub(crate) limit_half: Tail,
    /// Statements of a request.
    pub(crate) statements: usize,
    /// Answers that were no success.
    pub(crate) refused: u64,
}

impl Ratio {
    /// Our requests for each of the limit's.
    pub(crate) fn of_requests(&self) -> f64 {
        self.ours / self.theirs
    }

    /// The limit's processor time for each of ours.
    pub(crate) fn of_processor(&self) -> f64 {
        (self.limit_server + self.limit_database) / (self.server + self.database)
    }
}

/// When answers came at half of the rate, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tail {
    pub(crate) p50: f64,
    /// That of the turn in the middle: what the machine does in one of them, and not in most others, is not in it.
    pub(crate) p99: f64,
    /// That of all turns as one.
    pub(crate) p99_of_all: f64,
}

impl Tail {
    /// How much later the slowest of a hundred came than the one in the middle.
    pub(crate) fn ratio(self) -> f64 {
        self.p99 / self.p50.max(1e-3)
    }

    /// Of turns that took the same time each.
    ///
    /// # Errors
    /// There are no turns.
    fn of(turns: &[Turn]) -> anyhow::Result<Self> {
        let mut all = Turn::new()?;
        for turn in turns {
            all.add(turn)?;
        }
        let mut slowest: Vec<f64> = turns.iter().map(|turn| turn.millis(99.0)).collect();
        slowest.sort_by(f64::total_cmp);
        Ok(Self {
            p50: all.millis(50.0),
            p99: *slowest.get(slowest.len() / 2).context("no turn at half")?,
            p99_of_all: all.millis(99.0),
        })
    }
}

/// Processor time of a server and of the database.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) server: Duration,
    pub(crate) database: Duration,
}

/// Whose time is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    pub(crate) server: Counted,
    pub(crate) database: Counted,
}

impl Meter {
    /// What was spent so far.
    ///
    /// # Errors
    /// A process has ended.
    pub(crate) fn read(self) -> anyhow::Result<Spent> {
        Ok(Spent {
            server: self.server.time()?,
            database: self.database.time()?,
        })
    }
}

impl Spent {
    /// What was spent between the two.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            server: self.server.saturating_sub(before.server),
            database: self.database.saturating_sub(before.database),
        }
    }

    fn add(&mut self, more: Self) {
        self.server += more.server;
        self.database += more.database;
    }

    /// Of each of so many, in microseconds: of the server, of the database.
    pub(crate) fn each(self, answered: u64) -> (f64, f64) {
        let count = answered.max(1) as f64;
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / count;
        (micros(self.server), micros(self.database))
    }
}

/// Who is asked in turns with others, and what came of it so far.
pub(crate) struct Asked<'a> {
    load: Load,
    meter: Meter,
    source: Source<'a>,
    pub(crate) turn: Option<Turn>,
    pub(crate) spent: Spent,
    /// What came of it at half of the rate, turn by turn.
    half: Vec<Turn>,
}

impl<'a> Asked<'a> {
    /// # Errors
    /// The server takes no connection.
    pub(crate) async fn over(
        connections: usize,
        address: &str,
        meter: Meter,
        source: Source<'a>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            load: Load::open(address, connections).await?,
            meter,
            source,
            turn: None,
            spent: Spent::default(),
            half: Vec::new(),
        })
    }

    /// Asks for so long; what comes of it is kept, unless it is a rehearsal.
    ///
    /// # Errors
    /// Nothing is answered as it should be, or a process has ended.
    pub(crate) async fn go(&mut self, seconds: f64, is_rehearsal: bool) -> anyhow::Result<()> {
        let before = self.meter.read()?;
        let turn = self.ask(seconds, None).await?;
        let after = self.meter.read()?;
        if is_rehearsal {
            return Ok(());
        }
        self.spent.add(after.since(before));
        match &mut self.turn {
            Some(kept) => kept.add(&turn)?,
            None => self.turn = Some(turn),
        }
        Ok(())
    }

    /// Asks for so long at half of the rate that it was asked at.
    async fn at_half(&mut self, seconds: f64) -> anyhow::Result<()> {
        let rate = self.turn.as_ref().context("no turn")?.rate();
        let turn = self.ask(seconds, Some(rate / 2.0)).await?;
        self.half.push(turn);
        Ok(())
    }

    /// How many were answered otherwise than they should be.
    fn refused(&self) -> u64 {
        (self.turn.iter().chain(&self.half))
            .map(|turn| turn.refused)
            .sum()
    }

    /// Asks for so long, as fast as answers come or so many times a second.
    async fn ask(&mut self, seconds: f64, pace: Option<f64>) -> anyhow::Result<Turn> {
        let span = Duration::from_secs_f64(seconds);
        let (turn, next) = self.load.run(&self.source, span, pace).await?;
        if !self.source.repeats {
            self.source.numbers.start = next;
        }
        Ok(turn)
    }
}

/// A path that is ready: the numbers of its targets, and what was written down of it.
struct Prepared {
    path: Path,
    /// What of the shop is the limit's first target.
    first_of_theirs: u32,
    ours: std::ops::Range<u32>,
    theirs: std::ops::Range<u32>,
    statements: usize,
}

/// Measures those of the paths that are wanted at this size. Reads come before writes, whose targets would make the shop
/// larger than is said.
///
/// # Errors
/// A server refuses, or ends.
pub(crate) async fn paths(
    stage: &Stage,
    shop: &mut Shop,
    options: &Options,
    which: impl Fn(&Path) -> bool,
    told: &dyn Fn(&str),
) -> anyhow::Result<Vec<Ratio>> {
    let wanted: Vec<Path> = PATHS
        .into_iter()
        .filter(|path| options.wants(path.name) && which(path))
        .collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let (spec, mut prepared) = prepare(stage, shop, options, &wanted).await?;
    let limits = stage.limits(&spec)?;
    let mut ratios = Vec::new();
    for (place, path) in prepared.iter_mut().enumerate() {
        for connections in &options.connections {
            told(&format!(
                "{} over {connections} connections",
                path.path.name
            ));
            let ratio = one(
                stage,
                shop.size,
                &limits,
                place,
                path,
                *connections,
                options.seconds,
            );
            match ratio.await {
                Ok(ratio) => ratios.push(ratio),
                // The others can be measured all the same.
                Err(error) => told(&format!("NOT MEASURED: {}: {error:#}", path.path.name)),
            }
        }
    }
    Ok(ratios)
}

async fn one(
    stage: &Stage,
    size: u32,
    limits: &Running,
    place: usize,
    prepared: &mut Prepared,
    connections: usize,
    seconds: f64,
) -> anyhow::Result<Ratio> {
    let database = stage.database_counted()?;
    let path = prepared.path;
    let repeats = path.write().is_none();
    let make_ours = |number| path.request(stage, number, size);
    let make_theirs = |number| Request::get(&format!("/{place}/{number}"), None);
    let mut ours = Asked::over(
        connections,
        &stage.server.address,
        Meter {
            server: stage.server.counted(),
            database,
        },
        Source {
            make: &make_ours,
            numbers: prepared.ours.clone(),
            repeats,
        },
    )
    .await?;
    let mut theirs = Asked::over(
        connections,
        &limits.address,
        Meter {
            server: limits.counted(),
            database,
        },
        Source {
            make: &make_theirs,
            numbers: prepared.theirs.clone(),
            repeats,
        },
    )
    .await?;
    ours.go(seconds * WARM_UP, true).await.context("ours")?;
    theirs
        .go(seconds * WARM_UP, true)
        .await
        .context("the limit")?;
    let share = seconds / f64::from(TURNS);
    for _ in 0..TURNS {
        ours.go(share, false).await.context("ours")?;
        theirs.go(share, false).await.context("the limit")?;
    }
    for _ in 0..TURNS {
        ours.at_half(share).await.context("the tail")?;
        theirs.at_half(share).await.context("the limit's tail")?;
    }
    if !repeats {
        prepared.ours.start = ours.source.numbers.start;
        prepared.theirs.start = theirs.source.numbers.start;
    }
    if let Some(write) = path.write() {
        let first = prepared.first_of_theirs;
        let done = write
            .done(&stage.sql, first..first + theirs.source.numbers.start)
            .await?;
        ensure!(
            done == i64::from(theirs.source.numbers.start),
            "of {} that the limit was to change {done} are changed",
            theirs.source.numbers.start
        );
    }
    let refused = ours.refused() + theirs.refused();
    let (half, limit_half) = (Tail::of(&ours.half)?, Tail::of(&theirs.half)?);
    let (our_turn, their_turn) = (
        ours.turn.context("no turn")?,
        theirs.turn.context("no turn")?,
    );
    let (server, in_database) = ours.spent.each(our_turn.answered);
    let (limit_server, limit_database) = theirs.spent.each(their_turn.answered);
    Ok(Ratio {
        path: path.name,
        size,
        connections,
        limit: path.limit.letter(),
        goal: path.goal,
        ours: our_turn.rate(),
        theirs: their_turn.rate(),
        server,
        database: in_database,
        limit_server,
        limit_database,
        p50: our_turn.millis(50.0),
        p99: our_turn.millis(99.0),
        half,
        limit_half,
        statements: prepared.statements,
        refused,
    })
}

/// Writes down what each path does, and makes its limit of it.
async fn prepare(
    stage: &Stage,
    shop: &mut Shop,
    options: &Options,
    wanted: &[Path],
) -> anyhow::Result<(Spec, Vec<Prepared>)> {
    let line = Line::to(stage.database())?;
    let server = stage.serve(&line.url)?;
    let cards = cards(stage).await?;
    let mut spec = Spec {
        database: stage.database().to_owned(),
        ..Spec::default()
    };
    let mut prepared = Vec::new();
    let times = options.seconds * options.connections.len() as f64;
    for path in wanted {
        let (mut ours, mut theirs) = (path.numbers(), path.numbers());
        let captured = if let Some(write) = path.write() {
            // A fifth of the time for what warms up, and half as many as ours for the tail of either.
            let (of_ours, of_theirs) = ((OURS * times) as u32 + 100, (THEIRS * times) as u32 + 100);
            let count = CAPTURED + of_ours + of_theirs;
            let targets = match write.state() {
                Some(state) => shop.targets(&stage.sql, state, count).await?,
                None => shop.fresh(count),
            };
            let mut of_captures = targets.start..targets.start + CAPTURED;
            ours = of_captures.end..of_captures.end + of_ours;
            let next = || {
                let number = of_captures.next()?;
                Some((path.request(stage, number, shop.size), write.marks(number)))
            };
            let script = script(&line, &server.address, next).await;
            let (mut script, captured, opening) = script.with_context(|| path.name.to_owned())?;
            script.targets = (ours.end..targets.end)
                .map(|number| write.marks(number))
                .collect();
            theirs = 0..of_theirs;
            for sql in opening {
                if !spec.opening.contains(&sql) {
                    spec.opening.push(sql);
                }
            }
            (captured, Work::Replay(script))
        } else {
            let request = path.request(stage, 0, shop.size);
            // What is read of an answer that is remembered, the limit reads all the same.
            let anew = fewest(&line, &server.address, &request.clone().anew()).await;
            let anew = anew.with_context(|| path.name.to_owned())?;
            let captured = fewest(&line, &server.address, &request).await;
            let captured = captured.with_context(|| path.name.to_owned())?;
            let work = match path.limit {
                Limit::A => Work::Nothing,
                Limit::B(row) => by_key(stage, shop, row),
                Limit::S | Limit::C(_) => {
                    let (sql, binds) = anew.longest_select()?;
                    Work::Select {
                        sql,
                        binds: vec![binds],
                    }
                }
                Limit::Priced => {
                    let (sql, binds) = anew.longest_select()?;
                    Work::Price {
                        sql,
                        binds,
                        cards: cards.clone(),
                    }
                }
            };
            (captured, work)
        };
        let (captured, work) = captured;
        prepared.push(Prepared {
            path: *path,
            first_of_theirs: ours.end,
            ours,
            theirs,
            statements: captured.statements(),
        });
        spec.routes.push(Route {
            content_type: captured.content_type,
            body: captured.body,
            work,
        });
    }
    Ok((spec, prepared))
}

/// What a read takes, of a few times.
async fn fewest(line: &Line, address: &str, request: &Request) -> anyhow::Result<Capture> {
    let mut fewest: Option<Capture> = None;
    // What is looked up once, and the key every few seconds, is in some of the answers and not in all.
    for _ in 0..5 {
        let capture = Capture::of(line, address, request).await?;
        if (fewest.as_ref()).is_none_or(|it| capture.statements() <= it.statements()) {
            fewest = Some(capture);
        }
    }
    fewest.context("nothing was captured")
}

/// The SELECT of one row by its key.
fn by_key(stage: &Stage, shop: &Shop, row: Row) -> Work {
    let (table, condition, kind) = match row {
        Row::Variant => ("product_variants", "id = $2", Kind::Variant),
        Row::VariantBySku => (
            "product_variants",
            "sku = $2 and status <> 'archived'",
            Kind::Variant,
        ),
        Row::Product => ("products", "id = $2", Kind::Product),
        Row::Checkout => ("checkouts", "id = $2", Kind::Checkout),
    };
    // What records are found by is not read back.
    let columns = shop.columns(table);
    let columns: Vec<&str> = columns
        .filter(|name| !name.starts_with("search_"))
        .collect();
    let sql = format!(
        "select {} from {table} where organization_id = $1 and {condition}",
        columns.join(", ")
    );
    let binds = (0..200).map(|number| {
        let number = of_catalog(number, shop.size);
        let key = match row {
            Row::VariantBySku => Bind::Text(seed::sku(number)),
            _ => Bind::Uuid(id(kind, number)),
        };
        vec![Bind::BigInt(stage.organization), key]
    });
    Work::Select {
        sql,
        binds: binds.collect(),
    }
}

/// The organization's conditions.
async fn cards(stage: &Stage) -> anyhow::Result<Vec<Card>> {
    let sql = "select term_in_months, money_factor::text, annual_rate::text, residual_percentage::text, \
               deposit_percentage::text, insurance_percentage::text from lease_terms \
               where organization_id = $1 and product_id is null and status = 'active'";
    let rows = stage.sql.query(sql, &[&stage.organization]).await?;
    let cards = rows.iter().map(|row| Card {
        months: u32::try_from(row.get::<_, i32>(0)).unwrap_or_default(),
        money_factor: row.get(1),
        annual_rate: row.get(2),
        residual: row.get(3),
        deposit: row.get(4),
        insurance: row.get(5),
    });
    Ok(cards.collect())
}
