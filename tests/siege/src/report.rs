//! The table.

use std::fmt;

/// What came of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Holds,
    Fails,
    /// This machine lacks what it takes.
    NotMeasured,
}

impl Verdict {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "FAILS",
            Self::NotMeasured => "not measured",
        }
    }
}

/// What was measured.
#[derive(Debug)]
pub(crate) struct Row {
    name: String,
    measured: String,
    limit: String,
    verdict: Verdict,
}

impl Row {
    /// A row that holds or not.
    pub(crate) fn new(name: &str, measured: String, limit: String, holds: bool) -> Self {
        Self {
            name: name.to_owned(),
            measured,
            limit,
            verdict: if holds {
                Verdict::Holds
            } else {
                Verdict::Fails
            },
        }
    }

    /// One that ended before it was measured.
    pub(crate) fn broken(name: &str, why: &str) -> Self {
        Self::new(name, why.to_owned(), "to be measured".to_owned(), false)
    }

    /// One for which this machine lacks something.
    pub(crate) fn not_measured(name: &str, why: &str) -> Self {
        Self {
            name: name.to_owned(),
            measured: why.to_owned(),
            limit: String::new(),
            verdict: Verdict::NotMeasured,
        }
    }

    fn cells(&self) -> [&str; 4] {
        [
            &self.name,
            &self.measured,
            &self.limit,
            self.verdict.as_str(),
        ]
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cells().join(" | "))
    }
}

const HEAD: [&str; 4] = ["Row", "Measured", "Limit", "Verdict"];

/// All rows.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Row>);

impl Table {
    pub(crate) fn add(&mut self, row: Row) {
        self.0.push(row);
    }

    /// Whether no row fails.
    pub(crate) fn holds(&self) -> bool {
        self.0.iter().all(|row| row.verdict != Verdict::Fails)
    }

    /// As it stands in the manual.
    pub(crate) fn markdown(&self) -> String {
        let mut lines = vec![
            format!("| {} |", HEAD.join(" | ")),
            "|---|---|---|---|".to_owned(),
        ];
        lines.extend(self.0.iter().map(|row| format!("| {row} |")));
        lines.join("\n")
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(HEAD).chain(self.0.iter().map(Row::cells));
        let width = |cell: usize| {
            let lengths = lines().filter_map(|line| line.get(cell).map(|it| it.chars().count()));
            lengths.max().unwrap_or_default()
        };
        let [name, measured, limit] = [width(0), width(1), width(2)];
        for [a, b, c, d] in lines() {
            writeln!(f, "{a:name$}  {b:measured$}  {c:limit$}  {d}")?;
        }
        Ok(())
    }
}
