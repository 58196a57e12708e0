//! What the pages weigh, in one table for each run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// What a page and its styles may weigh, in bytes.
pub(crate) const MOST_BYTES: u64 = 50 * 1024;
/// The tests that walk: when the last has ended the table is printed.
const WALKING: usize = 23;

static ENDED: AtomicUsize = AtomicUsize::new(0);
static ROWS: Mutex<BTreeMap<String, Row>> = Mutex::new(BTreeMap::new());

#[derive(Default)]
struct Row {
    looks: u32,
    html: u64,
    css: u64,
    /// Milliseconds to the first byte, the best: the tests keep each other waiting.
    wait: Option<f64>,
}

/// A test that walks; counted when it ends, whatever comes of it.
pub(crate) struct Walking;

impl Drop for Walking {
    fn drop(&mut self) {
        if ENDED.fetch_add(1, Ordering::SeqCst) + 1 == WALKING {
            print();
        }
    }
}

/// Adds a page that was seen.
pub(crate) fn add(page: &Value) {
    let label = page["label"].as_str().unwrap_or_default().to_owned();
    let mut rows = ROWS.lock().unwrap();
    let row = rows.entry(label).or_default();
    row.looks += 1;
    row.html = row.html.max(page["html"].as_u64().unwrap_or_default());
    row.css = row.css.max(page["css"].as_u64().unwrap_or_default());
    let wait = page["wait"].as_f64().filter(|wait| *wait >= 0.0);
    row.wait = match (row.wait, wait) {
        (Some(known), Some(new)) => Some(known.min(new)),
        (known, new) => known.or(new),
    };
}

fn print() {
    let rows = ROWS.lock().unwrap();
    if rows.is_empty() {
        return;
    }
    let mut text = format!(
        "\n{:<32} {:>5} {:>8} {:>8} {:>8} {:>9}   of {MOST_BYTES} bytes\n",
        "page", "looks", "html", "css", "both", "wait (ms)"
    );
    for (label, row) in &*rows {
        let wait = row.wait.map_or("-".to_owned(), |wait| format!("{wait:.1}"));
        let _infallible = writeln!(
            text,
            "{label:<32} {:>5} {:>8} {:>8} {:>8} {wait:>9}",
            row.looks,
            row.html,
            row.css,
            row.html + row.css
        );
    }
    // Not by a macro, whose output is captured when a test passes.
    drop(std::io::stderr().write_all(text.as_bytes()));
}
