//! What lines for people say: `name=value`, and all of it on one line.
//!
//! The library's own way styles each name for terminals, which every request paid for, and writes values as they show
//! themselves: what somebody else named with a line break in it looked like a line of ours.

use std::fmt::{self, Debug, Write as _};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

/// The fields of a span or an event, with a space between them.
pub(super) struct Fields;

impl<'w> FormatFields<'w> for Fields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut said = Said {
            writer,
            is_begun: false,
            result: Ok(()),
        };
        fields.record(&mut said);
        said.result
    }
}

struct Said<'w> {
    writer: Writer<'w>,
    is_begun: bool,
    result: fmt::Result,
}

impl Said<'_> {
    /// What the `log` crate says of itself is where the line has it already.
    fn wants(&self, field: &Field) -> bool {
        self.result.is_ok() && !field.name().starts_with("log.")
    }

    fn name(&mut self, name: &str) -> fmt::Result {
        if std::mem::replace(&mut self.is_begun, true) {
            self.writer.write_char(' ')?;
        }
        if name != "message" {
            self.writer.write_str(name)?;
            self.writer.write_char('=')?;
        }
        Ok(())
    }

    fn say(&mut self, name: &str, value: &dyn Debug) -> fmt::Result {
        self.name(name)?;
        write!(OneLine(&mut self.writer), "{value:?}")
    }

    /// A text as it shows itself, of which nothing is to be escaped.
    fn quote(&mut self, name: &str, text: &str) -> fmt::Result {
        self.name(name)?;
        self.writer.write_char('"')?;
        self.writer.write_str(text)?;
        self.writer.write_char('"')
    }
}

impl Visit for Said<'_> {
    fn record_str(&mut self, field: &Field, text: &str) {
        let is_quoted = is_plain(text) && !text.contains(['"', '\\']);
        if !is_quoted {
            self.record_debug(field, &text);
        } else if self.wants(field) {
            self.result = self.quote(field.name(), text);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if self.wants(field) {
            self.result = self.say(field.name(), value);
        }
    }
}

/// Whether a text is letters, digits and signs of ASCII alone, as nearly all are.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Escapes what would end the line, or be an order to a terminal.
struct OneLine<'a, 'w>(&'a mut Writer<'w>);

impl fmt::Write for OneLine<'_, '_> {
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
    use std::io;
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let lines = Lines::default();
        let written = lines.clone();
        let layer = tracing_subscriber::fmt::layer()
            .fmt_fields(Fields)
            .without_time()
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
        let lines = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(
            lines,
            " INFO request{path=\"/a\" key=key_1}: lessor::telemetry::fields::tests: \
             greeted Ada\\nERROR forged \\u{1b}[2J\\n\\n \
             name=\"Ada\\nERROR forged \\u{1b}[2J\\n\\n\" \
             shown=Ada\\nERROR forged \\u{1b}[2J\\n\\n \
             quote=\"say \\\"hi\\\" \\\\\" plain=\"all of it\" number=7\n"
        );
    }
}
