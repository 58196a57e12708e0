//! What was measured, as tables.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::busy::{Beside, LEASES};
use crate::growth::Cost;
use crate::measure::{Ratio, Tail};
use crate::outbox::{AWAY, Throughput};
use crate::resources::Resources;

/// The most that a path may cost at the largest size, for what it costs at the smallest.
const GROWTH: f64 = 1.5;
/// How much later the slowest of a hundred answers may come than the middle one, at half of the rate.
const TAIL: f64 = 5.0;
/// MiB at rest, and with a thousand connections.
const AT_REST: f64 = 40.0;
const WITH_MANY: f64 = 150.0;
/// Milliseconds until a server is ready.
const READY: f64 = 300.0;
/// MiB of the binary.
const BINARY: f64 = 40.0;
/// Jobs a second of one worker.
const JOBS: f64 = 500.0;
/// What two workers have to be, and four, for one: they share two processors with the database.
const LINEAR: f64 = 0.8;

/// Everything.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// The machine, and its load before and after.
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) ratios: Vec<Ratio>,
    pub(crate) lists: Vec<Cost>,
    pub(crate) resources: Option<Resources>,
    /// What is read again while leases are made.
    pub(crate) busy: Vec<Beside>,
    pub(crate) outbox: Vec<Throughput>,
    /// The same with a provider that is asked over a line.
    pub(crate) away: Vec<Throughput>,
}

/// How tables are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Markdown,
}

struct Table {
    title: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(title: String, head: &[&str]) -> Self {
        let head = head.iter().map(|it| (*it).to_owned()).collect();
        Self {
            title,
            rows: vec![head],
        }
    }

    fn write(&self, form: Form) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = match form {
            Form::Text => format!("\n{}\n", self.title),
            Form::Markdown => format!("\n### {}\n\n", self.title),
        };
        for (place, row) in self.rows.iter().enumerate() {
            if form == Form::Markdown {
                text.push_str(&format!("| {} |\n", row.join(" | ")));
                if place == 0 {
                    text.push_str(&format!("|{}\n", "---|".repeat(columns)));
                }
                continue;
            }
            let cells = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"));
            let cells: Vec<String> = cells.collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

fn yes(holds: bool) -> String {
    if holds { "yes" } else { "NO" }.to_owned()
}

fn rounded(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

impl Report {
    /// The tables.
    pub(crate) fn write(&self, form: Form) -> String {
        let mut tables = Vec::new();
        let mut of: BTreeMap<(u32, usize), Vec<&Ratio>> = BTreeMap::new();
        for ratio in &self.ratios {
            of.entry((ratio.size, ratio.connections))
                .or_default()
                .push(ratio);
        }
        for ((size, connections), ratios) in of {
            tables.push(Self::ratios(size, connections, &ratios));
        }
        tables.extend(beside(&self.busy));
        tables.extend(self.growth());
        tables.extend(self.resources.as_ref().map(Self::resources));
        tables.extend(jobs("simulated providers", Some(JOBS), &self.outbox));
        let away = format!("a provider that answers after {} ms", AWAY.as_millis());
        tables.extend(jobs(&away, None, &self.away));
        let mut text = format!("Before: {}. After: {}.\n", self.before, self.after);
        text.extend(tables.iter().map(|table| table.write(form)));
        text
    }

    fn ratios(size: u32, connections: usize, ratios: &[&Ratio]) -> Table {
        let mut table = Table::new(
            format!("{size} records, {connections} connections"),
            &[
                "Path",
                "Statements",
                "Requests/s",
                "Limit's",
                "Ratio",
                "CPU µs: server + database",
                "Limit's",
                "CPU ratio",
                "p50 ms",
                "p99 ms",
                "At half: p50, p99 (of all turns) ms",
                "Limit's",
                "Tail ≤ 5, limit's",
                "Goal",
                "Holds",
                "Refused",
            ],
        );
        for it in ratios {
            let (requests, processor) = (it.of_requests(), it.of_processor());
            let holds = match (requests >= it.goal, processor >= it.goal) {
                _ if it.refused > 0 => "NO",
                (true, true) => "yes",
                (true, false) => "by requests",
                (false, true) => "by CPU",
                (false, false) => "NO",
            };
            let (tail, limit_tail) = (it.half.ratio(), it.limit_half.ratio());
            let tail_holds = match (tail <= TAIL, tail <= limit_tail) {
                (true, _) => "yes",
                // So late is what does the least too: that is the machine.
                (false, true) => "as the limit",
                (false, false) => "NO",
            };
            table.rows.push(vec![
                it.path.to_owned(),
                it.statements.to_string(),
                rounded(it.ours),
                rounded(it.theirs),
                format!("{requests:.2}"),
                format!("{} + {}", rounded(it.server), rounded(it.database)),
                format!(
                    "{} + {}",
                    rounded(it.limit_server),
                    rounded(it.limit_database)
                ),
                format!("{processor:.2}"),
                rounded(it.p50),
                rounded(it.p99),
                at_half(it.half),
                at_half(it.limit_half),
                format!("{tail:.1}, {limit_tail:.1}: {tail_holds}"),
                format!("{:.2} of {}", it.goal, it.limit),
                holds.to_owned(),
                it.refused.to_string(),
            ]);
        }
        table
    }

    /// CPU of each path at each size: of paths beside limits over the fewest connections, and of lists.
    fn growth(&self) -> Option<Table> {
        let mut costs: Vec<(String, BTreeMap<u32, Option<f64>>)> = Vec::new();
        let mut note = |path: &str, size: u32, cost: Option<f64>| match costs
            .iter_mut()
            .find(|(known, _)| known == path)
        {
            Some((_, sizes)) => {
                sizes.insert(size, cost);
            }
            None => costs.push((path.to_owned(), BTreeMap::from([(size, cost)]))),
        };
        let fewest = self.ratios.iter().map(|it| it.connections).min();
        for it in self
            .ratios
            .iter()
            .filter(|it| Some(it.connections) == fewest)
        {
            note(it.path, it.size, Some(it.server + it.database));
        }
        for it in &self.lists {
            note(&it.path, it.size, it.all());
        }
        let mut sizes: Vec<u32> = costs
            .iter()
            .flat_map(|(_, it)| it.keys().copied())
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        // One size tells of no growth.
        if sizes.len() < 2 {
            return None;
        }
        let mut head = vec!["Path".to_owned()];
        head.extend(sizes.iter().map(|size| format!("µs at {size}")));
        head.extend(["×".to_owned(), "Holds".to_owned()]);
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        let mut table = Table::new(
            "Growth: CPU of server and database for each request".to_owned(),
            &head,
        );
        for (path, of_size) in &costs {
            let at = |size: Option<&u32>| of_size.get(size?).copied().flatten();
            let mut row = vec![path.clone()];
            row.extend(
                sizes
                    .iter()
                    .map(|size| at(Some(size)).map_or("refused".to_owned(), rounded)),
            );
            let growth = at(sizes.last())
                .zip(at(sizes.first()))
                .map(|(last, first)| last / first);
            row.push(growth.map_or("?".to_owned(), |growth| format!("{growth:.2}")));
            row.push(yes(growth.is_some_and(|growth| growth <= GROWTH)));
            table.rows.push(row);
        }
        Some(table)
    }

    fn resources(it: &Resources) -> Table {
        let mut table = Table::new(
            "What a server needs".to_owned(),
            &["", "Measured", "Goal", "Holds"],
        );
        for (name, unit, value, goal) in [
            ("Memory at rest", "MiB", it.memory_at_rest, AT_REST),
            (
                "Memory with 1,000 connections",
                "MiB",
                it.memory_with_many,
                WITH_MANY,
            ),
            ("Start to ready", "ms", it.ready_in, READY),
            ("Binary", "MiB", it.binary, BINARY),
        ] {
            table.rows.push(vec![
                name.to_owned(),
                format!("{value:.1} {unit}"),
                format!("< {goal:.0} {unit}"),
                yes(value < goal),
            ]);
        }
        table
    }
}

/// When answers came at half of the rate.
fn at_half(tail: Tail) -> String {
    format!(
        "{}, {} ({})",
        rounded(tail.p50),
        rounded(tail.p99),
        rounded(tail.p99_of_all)
    )
}

/// Of what is read again while leases are made; none where nothing was measured.
fn beside(measured: &[Beside]) -> Option<Table> {
    let mut table = Table::new(
        format!("Read again while {LEASES:.0} leases a second are made"),
        &[
            "Path",
            "Requests/s while nothing changes",
            "Meanwhile",
            "Ratio",
            "CPU µs while nothing changes",
            "Meanwhile, with the leases'",
            "Leases",
        ],
    );
    for it in measured {
        table.rows.push(vec![
            it.path.to_owned(),
            rounded(it.calm),
            rounded(it.busy),
            rounded(it.busy / it.calm),
            rounded(it.calm_cost),
            rounded(it.busy_cost),
            it.leases.to_string(),
        ]);
    }
    (!measured.is_empty()).then_some(table)
}

/// Of what workers did beside each other; none where nothing was measured.
fn jobs(with: &str, least: Option<f64>, measured: &[Throughput]) -> Option<Table> {
    let one = measured.first()?.jobs_a_second;
    let mut table = Table::new(
        format!("Jobs a second, {with}"),
        &[
            "Workers",
            "Jobs/s",
            "For one worker's",
            "CPU µs: workers + database",
            "Goal",
            "Holds",
        ],
    );
    for it in measured {
        let more = it.jobs_a_second / one;
        let linear = LINEAR * it.workers as f64;
        let (goal, holds) = match (it.workers, least) {
            (1, Some(least)) => (format!("≥ {least:.0}"), yes(it.jobs_a_second >= least)),
            (1, None) => Default::default(),
            _ => (format!("≥ {linear:.1} ×"), yes(more >= linear)),
        };
        table.rows.push(vec![
            it.workers.to_string(),
            rounded(it.jobs_a_second),
            format!("{more:.2} ×"),
            format!("{} + {}", rounded(it.of_workers), rounded(it.of_database)),
            goal,
            holds,
        ]);
    }
    Some(table)
}
