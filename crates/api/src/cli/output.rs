//! What commands say, to people and to programs.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use chrono::SecondsFormat;
use lessor_domain::cause::chain;
use lessor_domain::ports::StoreError;
use lessor_domain::services::Error;
use lessor_domain::time::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::run::systemd::Notifier;

/// What a command answers, in both forms.
#[derive(Debug)]
pub(crate) struct Reply {
    value: Value,
    text: String,
    /// What is to be said, with a status that is no success, once the answer is written.
    failure: Option<String>,
}

impl Reply {
    /// An object, and its members one below the other.
    pub(crate) fn record<'a>(
        value: &impl Serialize,
        fields: impl IntoIterator<Item = (&'a str, String)>,
    ) -> anyhow::Result<Self> {
        let rows = fields
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| [name.to_owned(), text]);
        Ok(Self {
            value: serde_json::to_value(value)?,
            text: aligned(rows),
            failure: None,
        })
    }

    /// A list, and a table of it.
    pub(crate) fn list<const N: usize>(
        values: &[impl Serialize],
        headers: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> anyhow::Result<Self> {
        let value = json!({ "results": serde_json::to_value(values)?, "total": values.len() });
        Ok(Self::table(value, headers, rows))
    }

    /// An object, and a table.
    pub(crate) fn table<const N: usize>(
        value: Value,
        headers: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Self {
        let mut rows = rows.into_iter().peekable();
        let text = if rows.peek().is_none() {
            "none\n".to_owned()
        } else {
            let headers = headers.map(str::to_uppercase);
            aligned(std::iter::once(headers).chain(rows))
        };
        Self::text(value, text)
    }

    /// An object, and any text.
    pub(crate) fn text(value: Value, text: impl Into<String>) -> Self {
        Self {
            value,
            text: text.into(),
            failure: None,
        }
    }

    /// The same, after which the command fails and says this.
    pub(crate) fn but_fail(mut self, why: String) -> Self {
        self.failure = Some(why);
        self
    }

    /// The same with a line below the table.
    pub(crate) fn with_note(mut self, note: &str) -> Self {
        self.text.push('\n');
        self.text.push_str(note);
        self.text.push('\n');
        self
    }

    /// The same with one more member of the object.
    pub(crate) fn with_member(mut self, name: &str, value: Value) -> Self {
        if let Value::Object(members) = &mut self.value {
            members.insert(name.to_owned(), value);
        }
        self
    }
}

/// Rows whose columns begin below each other.
fn aligned<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A time as the HTTP interface writes it.
pub(crate) fn time(at: Timestamp) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Where a command's answer goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    pub(crate) const fn new(json: bool) -> Self {
        Self { json }
    }

    /// Writes a command's answer to standard output.
    ///
    /// # Errors
    /// Standard output cannot be written to; that nobody reads it any more is none. What the answer
    /// itself calls a failure.
    pub(crate) fn reply(self, reply: &Reply) -> anyhow::Result<()> {
        self.line(reply)?;
        match &reply.failure {
            Some(why) => Err(anyhow::anyhow!("{why}")),
            None => Ok(()),
        }
    }

    /// Writes one of several answers to standard output. False when nobody reads it any more.
    ///
    /// # Errors
    /// Standard output cannot be written to.
    pub(crate) fn line(self, reply: &Reply) -> anyhow::Result<bool> {
        let text = if self.json {
            format!("{}\n", reply.value)
        } else {
            reply.text.clone()
        };
        let mut stdout = io::stdout().lock();
        match stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
        {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            written => Ok(written.map(|()| true)?),
        }
    }

    /// A part of a longer story on standard output, for people only.
    pub(crate) fn tell(self, text: &str) {
        if !self.json {
            // The story's end says whether anybody could read it.
            let _ = writeln!(io::stdout().lock(), "{text}");
        }
    }

    /// A step of something that takes a moment, for people only.
    pub(crate) fn progress(self, step: &str) {
        if !self.json {
            to_stderr(&format!("{step}\n"));
        }
    }

    /// Says what a process that starts is at, to people and to who started it.
    pub(crate) fn starting(self, notifier: &Notifier) -> impl Fn(&str) + Clone + Send + 'static {
        let notifier = notifier.clone();
        move |step| {
            self.progress(&format!("{step} …"));
            notifier.status(step);
        }
    }

    /// Says why a command failed.
    pub(crate) fn fail(self, error: &anyhow::Error) {
        let message = with_causes(error);
        if self.json {
            let (code, param) = classify(error);
            let mut body = json!({ "code": code, "message": message });
            if let (Some(param), Value::Object(members)) = (param, &mut body) {
                members.insert("param".to_owned(), param.into());
            }
            to_stderr(&format!("{}\n", json!({ "error": body })));
        } else {
            to_stderr(&format!("lessor: {message}\n"));
        }
    }

    /// Says what is wrong with a command line.
    pub(crate) fn refuse(self, error: &clap::Error) {
        let text = error.to_string();
        let message = text
            .split("\n\n")
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ")
            .trim_end();
        let body = json!({ "error": { "code": "usage", "message": message } });
        to_stderr(&format!("{body}\n"));
    }
}

fn to_stderr(text: &str) {
    // Nobody is left to tell when standard error is gone.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The error and its causes in one line.
pub(super) fn with_causes(error: &anyhow::Error) -> String {
    let error: &(dyn std::error::Error + 'static) = error.as_ref();
    let text = chain(error).to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The code that programs tell errors apart by, those of the HTTP interface where there is one.
fn classify(error: &anyhow::Error) -> (&'static str, Option<String>) {
    if let Some(error) = error.downcast_ref::<crate::run::config::ConfigError>() {
        return ("configuration", error.key.clone());
    }
    match error.downcast_ref::<Error>() {
        Some(Error::Missing { param }) => ("parameter_missing", Some(param.clone())),
        Some(Error::Invalid { param, .. } | Error::Taken { param, .. }) => {
            ("invalid_parameter", Some(param.clone()))
        }
        Some(Error::NotFound { .. }) => ("not_found", None),
        Some(Error::Store(StoreError::Unavailable(_))) => ("unavailable", None),
        Some(Error::Store(_)) | None => ("failed", None),
        Some(_) => ("invalid_request", None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let text = aligned([
            row(["ID", "NAME", ""]),
            row(["12", "Ä", "x"]),
            row(["3", "", ""]),
        ]);
        assert_eq!(text, "ID  NAME\n12  Ä     x\n3\n");
    }

    #[test]
    fn causes_are_told_once_and_in_one_line() {
        let error = anyhow::anyhow!("no such\nfile").context("cannot read: no such\nfile");
        assert_eq!(with_causes(&error), "cannot read: no such file");
        let error = anyhow::anyhow!("b").context("x");
        assert_eq!(with_causes(&error), "x: b");
    }

    #[test]
    fn refusals_of_the_domain_keep_their_codes() {
        let error = anyhow::Error::from(Error::invalid("termInMonths", "is taken")).context("more");
        assert_eq!(
            classify(&error),
            ("invalid_parameter", Some("termInMonths".to_owned()))
        );
        assert_eq!(classify(&anyhow::anyhow!("x")), ("failed", None));
    }
}
