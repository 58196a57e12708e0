//! What lines for people say: `name=value`, and all of it on one line.
//!
//! The library's own way styles each name for terminals, which every request paid for, and writes values as they show
//! themselves: what somebody else named with a line break in it looked like a line of ours.

use std::cell::Cell;
use std::fmt::{self, Debug, Write as _};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

/// How much room fields have before they take more, in bytes: those of a request are no longer.
const USUAL: usize = 256;
/// How much of it is kept at most.
const MOST: usize = 4 * USUAL;

thread_local! {
    /// Room for fields, for whoever writes some next.
    static ROOM: Cell<String> = Cell::default();
}

/// The fields of a span or an event, with a space between them.
pub(super) struct Fields;

impl<'w> FormatFields<'w> for Fields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        // Handed over at once: a span makes room for each piece that it is given.
        let mut said = Said {
            text: ROOM.take(),
            result: Ok(()),
        };
        said.text.reserve(USUAL);
        fields.record(&mut said);
        let Said { mut text, result } = said;
        let written = writer.write_str(&text);
        text.clear();
        text.shrink_to(MOST);
        ROOM.set(text);
        written.and(result)
    }
}

struct Said {
    text: String,
    result: fmt::Result,
}

impl Said {
    /// What the `log` crate says of itself is where the line has it already.
    fn wants(&self, field: &Field) -> bool {
        self.result.is_ok() && !field.name().starts_with("log.")
    }

    fn name(&mut self, field: &Field) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        if field.name() != "message" {
            self.text.push_str(field.name());
            self.text.push('=');
        }
    }
}

impl Visit for Said {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if self.wants(field) {
            self.name(field);
            self.text.push_str(itoa::Buffer::new().format(value));
        }
    }

    fn record_str(&mut self, field: &Field, text: &str) {
        if !shows_itself(text) {
            self.record_debug(field, &text);
        } else if self.wants(field) {
            self.name(field);
            self.text.push('"');
            self.text.push_str(text);
            self.text.push('"');
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if self.wants(field) {
            self.name(field);
            self.result = write!(OneLine(&mut self.text), "{value:?}");
        }
    }
}

/// Whether a text is letters, digits and signs of ASCII alone, as nearly all are: looked at whole, which is many bytes at once.
fn is_plain(text: &str) -> bool {
    let plain = |byte| matches!(byte, b' '..=b'~');
    text.bytes().fold(true, |all, byte| all & plain(byte))
}

/// Whether a plain text is the same between quotation marks.
fn shows_itself(text: &str) -> bool {
    let same = |byte| matches!(byte, b' '..=b'~') & (byte != b'"') & (byte != b'\\');
    text.bytes().fold(true, |all, byte| all & same(byte))
}

/// Escapes what would end the line, or be an order to a terminal.
struct OneLine<'a>(&'a mut String);

impl fmt::Write for OneLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if is_plain(text) {
            return self.0.write_str(text);
        }
        for part in text.split_inclusive(char::is_control) {
            match part.chars().next_back().filter(|last| last.is_control()) {
                None => self.0.write_str(part)?,
                Some(control) => {
                    self.0.write_str(part.trim_end_matches(control))?;
                    write!(self.0, "{}", control.escape_default())?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::telemetry::human::Human;
    use crate::telemetry::kept::Kept;

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let lines = Kept::default();
        let written = lines.clone();
        let layer = tracing_subscriber::fmt::layer()
            .fmt_fields(Fields)
            .event_format(Human)
            .with_ansi(false)
            .with_writer(move || written.clone());
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("request", path = "/a", key = tracing::field::Empty);
            let _entered = span.enter();
            span.record("key", tracing::field::display("key_1"));
            let name = "Ada\nERROR forged \u{1b}[2J\n\n";
            let (quote, plain) = ("say \"hi\" \\", "all of it");
            tracing::info!(name, shown = %name, quote, plain, number = 7, "greeted {name}");
        });
        let lines = lines.text();
        let (when, said) = lines.split_once(' ').unwrap();
        assert!(chrono::DateTime::parse_from_rfc3339(when).is_ok(), "{when}");
        assert_eq!(
            said,
            " INFO request{path=\"/a\" key=key_1}: lessor::telemetry::fields::tests: \
             greeted Ada\\nERROR forged \\u{1b}[2J\\n\\n \
             name=\"Ada\\nERROR forged \\u{1b}[2J\\n\\n\" \
             shown=Ada\\nERROR forged \\u{1b}[2J\\n\\n \
             quote=\"say \\\"hi\\\" \\\\\" plain=\"all of it\" number=7\n"
        );
    }
    #[test]
    fn a_terminal_shows_the_level_in_a_colour_and_what_is_said_plain() {
        for (is_terminal, expected) in [
            (
                true,
                "\u{1b}[33m WARN\u{1b}[0m \u{1b}[1mkey\u{1b}[0m\u{1b}[2m:\u{1b}[0m \
                 \u{1b}[2mlessor\u{1b}[0m\u{1b}[2m:\u{1b}[0m careful\n",
            ),
            (false, " WARN key: lessor: careful\n"),
        ] {
            let lines = Kept::default();
            let written = lines.clone();
            let layer = tracing_subscriber::fmt::layer()
                .fmt_fields(Fields)
                .event_format(Human)
                .with_ansi(is_terminal)
                .with_writer(move || written.clone());
            tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
                let _entered = tracing::info_span!("key").entered();
                tracing::warn!(target: "lessor", "careful");
            });
            let line = lines.text();
            let (when, said) = line.split_once(' ').unwrap();
            assert_eq!(when.contains('\u{1b}'), is_terminal, "{when:?}");
            assert_eq!(said, expected);
        }
    }
}
