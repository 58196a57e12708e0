//! How a line for people is set: when, how bad, in what, who says it, and what.
//!
//! As the library sets it. The library's own way writes a dozen styles where nothing shows any, and a time as seven numbers,
//! which every request paid for.

use std::cell::RefCell;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat, Utc};
use tracing::{Event, Level, Subscriber};
use tracing_log::NormalizeEvent as _;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::{LookupSpan, Scope};

const DIM: &str = "\u{1b}[2m";
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// `2026-11-28T11:06:15.595484Z  INFO request{method="GET"}: lessor::run: started version="0.1.0"`, in colours on a terminal.
pub(super) struct Human;

impl<S, N> FormatEvent<S, N> for Human
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        // Of what the `log` crate was told, who said it is among what is said.
        let normalized = event.normalized_metadata();
        let metadata = normalized.as_ref().unwrap_or_else(|| event.metadata());
        LAST.with_borrow_mut(|last| styled(&mut writer, DIM, last.now()))?;
        writer.write_char(' ')?;
        let (color, level) = level(*metadata.level());
        styled(&mut writer, color, level)?;
        writer.write_char(' ')?;
        let mut is_in_span = false;
        for span in context.event_scope().into_iter().flat_map(Scope::from_root) {
            is_in_span = true;
            styled(&mut writer, BOLD, span.name())?;
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>();
            if let Some(fields) = fields.filter(|fields| !fields.is_empty()) {
                styled(&mut writer, BOLD, "{")?;
                writer.write_str(fields)?;
                styled(&mut writer, BOLD, "}")?;
            }
            styled(&mut writer, DIM, ":")?;
        }
        if is_in_span {
            writer.write_char(' ')?;
        }
        styled(&mut writer, DIM, metadata.target())?;
        styled(&mut writer, DIM, ":")?;
        writer.write_char(' ')?;
        context.format_fields(writer.by_ref(), event)?;
        writer.write_char('\n')
    }
}

thread_local! {
    static LAST: RefCell<Written> = RefCell::default();
}

/// One more digit than microseconds of a second have.
const MILLION: u32 = 1_000_000;

/// A time as it was written last. A second has many lines, which differ in their microseconds alone.
#[derive(Default)]
struct Written {
    /// Since the epoch.
    second: Option<u64>,
    text: String,
}

impl Written {
    /// How long it is up to the microseconds.
    const SECOND: usize = "2026-11-28T11:06:15".len();

    /// The time, to the microsecond.
    #[expect(
        clippy::disallowed_methods,
        reason = "when something was said is what this machine holds it to be, also where a test holds otherwise"
    )]
    fn now(&mut self) -> &str {
        let now = SystemTime::now();
        // A clock that stands before the epoch has all its lines in that second.
        self.write(now.duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    fn write(&mut self, since_epoch: Duration) -> &str {
        let second = since_epoch.as_secs();
        if self.second != Some(second) {
            let time = DateTime::<Utc>::from(UNIX_EPOCH + Duration::from_secs(second));
            self.text = time.to_rfc3339_opts(SecondsFormat::Secs, true);
            self.second = Some(second);
        }
        self.text.truncate(Self::SECOND);
        // A digit more keeps the zeros in front, and is left out.
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(MILLION + since_epoch.subsec_micros());
        self.text.push('.');
        self.text.push_str(digits.get(1..).unwrap_or_default());
        self.text.push('Z');
        &self.text
    }
}

/// The text, in this style where there are any.
fn styled(writer: &mut Writer<'_>, style: &str, text: &str) -> fmt::Result {
    if !writer.has_ansi_escapes() {
        return writer.write_str(text);
    }
    writer.write_str(style)?;
    writer.write_str(text)?;
    writer.write_str(PLAIN)
}

/// The colour of a level, and its name, as long as that of others.
const fn level(level: Level) -> (&'static str, &'static str) {
    match level {
        Level::ERROR => ("\u{1b}[31m", "ERROR"),
        Level::WARN => ("\u{1b}[33m", " WARN"),
        Level::INFO => ("\u{1b}[32m", " INFO"),
        Level::DEBUG => ("\u{1b}[34m", "DEBUG"),
        Level::TRACE => ("\u{1b}[35m", "TRACE"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_whatever_was_written_before() {
        let mut last = Written::default();
        for (second, micros) in [
            (1_795_863_975, 595_484),
            (1_795_863_975, 7),
            (1_795_863_976, 0),
            (1_795_863_975, 999_999),
            (0, 1),
            (253_402_300_799, 999_999),
        ] {
            let since_epoch = Duration::from_secs(second) + Duration::from_micros(micros);
            let time = DateTime::<Utc>::from(UNIX_EPOCH + since_epoch);
            let expected = time.to_rfc3339_opts(SecondsFormat::Micros, true);
            assert_eq!(last.write(since_epoch), expected);
        }
    }
}
