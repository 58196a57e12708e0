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

/// Whether the code of a line, without its comment and its texts, has a literal with a decimal
/// point or an exponent: a float whose type is inferred. `pair.0.1` and `0..1` are none.
fn has_a_float_literal(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let code = code.split("r#\"").next().unwrap_or_default();
    // What stands between quotation marks is every second part.
    code.split('"').step_by(2).any(|code| {
        let letters: Vec<char> = code.chars().collect();
        let is_word = |letter: &char| letter.is_alphanumeric() || *letter == '_';
        (0..letters.len()).any(|start| {
            let begins = letters[start].is_ascii_digit()
                && !letters[..start]
                    .last()
                    .is_some_and(|before| is_word(before) || *before == '.');
            let word: Vec<char> = letters[start..]
                .iter()
                .copied()
                .take_while(is_word)
                .collect();
            let rest = &letters[start + word.len()..];
            let has_point = rest.first() == Some(&'.')
                && !rest
                    .get(1)
                    .is_some_and(|next| *next == '.' || next.is_alphabetic() || *next == '_');
            let is_hexadecimal = word.get(1) == Some(&'x');
            let has_exponent = word
                .iter()
                .position(|letter| matches!(letter, 'e' | 'E'))
                .is_some_and(|place| {
                    word[..place]
                        .iter()
                        .all(|c| c.is_ascii_digit() || *c == '_')
                });
            begins && (has_point || (has_exponent && !is_hexadecimal))
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
            assert!(
                !names_a_float(line) && !has_a_float_literal(line),
                "{}:{number}: {line}",
                path.display()
            );
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
    for line in [
        "let x = 1.5;",
        "f(0.0)",
        "let x = 2. * y;",
        "1e9",
        "[3_0.1]",
        "2E-3",
    ] {
        assert!(has_a_float_literal(line), "{line}");
    }
    for line in [
        "for n in 0..12 {",
        "1..=120 => self.0.1",
        r#"Money::parse("1299.00", usd) // 12.5"#,
        "/// 12.5 %",
        "10_i64.pow(4)",
        "1.max(2)",
        "0x1e5",
        "1_u32 << 7",
    ] {
        assert!(!has_a_float_literal(line), "{line}");
    }
}
