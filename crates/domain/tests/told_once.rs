//! What there is to know of a state stands in its row, and nobody tells the lifecycle a second
//! time: no other source, and no migration but that of the states' own table, names many states.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where its own data is wrong"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use lessor_domain::checkout::Lifecycle;

/// Most states that a source may name. Rules about single states name those; a choice among all
/// of them is a column of the rows.
const MOST: usize = 9;

/// The files that tell of every state beside `checkout/state.rs`, each for a reason of its own.
const TELLS: [&str; 2] = [
    // What the page says to people in each of them.
    "crates/api/src/checkout_page/words.rs",
    // The look-up table of the database, compared with the rows by a test.
    "migrations/2026-11-20-000950_create_lifecycle_states/up.sql",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "rs" || extension == "sql")
        {
            found.push(path);
        }
    }
}

/// `leaseActive` as Rust names it.
fn variant(state: Lifecycle) -> String {
    let (first, rest) = state.as_str().split_at(1);
    first.to_uppercase() + rest
}

/// The states that the text names: as a variant of whatever alias, or as a text of SQL.
fn named(text: &str) -> BTreeSet<Lifecycle> {
    Lifecycle::ALL
        .iter()
        .copied()
        .filter(|state| {
            let variant = variant(*state);
            let is_variant = text
                .match_indices(&format!("::{variant}"))
                .any(|(at, found)| {
                    let after = text[at + found.len()..].chars().next();
                    let of_an_event = text[..at].ends_with("EventKind")
                        || text[..at].ends_with("Event")
                        || text[..at].ends_with("MilestoneName");
                    !of_an_event && !after.is_some_and(char::is_alphanumeric)
                });
            is_variant || text.contains(&format!("'{state}'"))
        })
        .collect()
}

/// A source without its tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text)
}

#[test]
fn nobody_tells_the_lifecycle_a_second_time() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in [
        "crates/domain/src",
        "crates/adapters/src",
        "crates/api/src",
        "migrations",
    ] {
        sources(&workspace.join(folder), &mut found);
    }
    let mut told = BTreeMap::new();
    for path in found {
        let name = path.strip_prefix(&workspace).unwrap().to_str().unwrap();
        let is_test = name.contains("/testing/") || name.ends_with("/tests.rs");
        let is_the_table = name.ends_with("checkout/state.rs");
        let states = named(without_tests(&fs::read_to_string(&path).unwrap()));
        if states.len() > MOST && !is_test && !is_the_table {
            told.insert(name.to_owned(), states.len());
        }
    }
    let many: Vec<&str> = told.keys().map(String::as_str).collect();
    let mut expected = TELLS;
    expected.sort_unstable();
    assert_eq!(many, expected, "{told:?}");
}
