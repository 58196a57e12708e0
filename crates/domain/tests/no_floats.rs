//! No figure of a lease passes through a binary float: no source of this crate names one.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where its own data is wrong"
)]

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Whether a line has a float type, alone or as the suffix of a literal, or a method of one.
fn names_a_float(line: &str) -> bool {
    ["f32", "f64"].iter().any(|float| {
        line.match_indices(float).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + float.len()..].chars().next();
            !before.is_some_and(char::is_alphabetic) && !after.is_some_and(char::is_alphanumeric)
        })
    })
}

#[test]
fn no_source_names_a_float() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(
        sources
            .iter()
            .any(|path| path.ends_with("pricing/quote.rs")),
        "the sources are where this test looks"
    );
    for path in sources {
        let text = fs::read_to_string(&path).unwrap();
        for (line, number) in text.lines().zip(1..) {
            assert!(!names_a_float(line), "{}:{number}: {line}", path.display());
        }
    }
}

#[test]
fn a_float_would_be_seen() {
    for line in [
        "let x: f64 = 1.0;",
        "1.0_f32",
        "1f64",
        "x as f64",
        "Decimal::to_f64(&x)",
    ] {
        assert!(names_a_float(line), "{line}");
    }
    assert!(!names_a_float("let half64 = of6400;"));
}
