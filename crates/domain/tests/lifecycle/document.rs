//! `docs/LIFECYCLE.md` holds what the code says.
//!
//! `UPDATE_DOCS=1 cargo test -p lessor-domain --test lifecycle` writes it anew.

use std::path::Path;

use lessor_domain::checkout::{markdown_table, mermaid};

/// What stands between the two marks of this name.
fn between<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<!-- {name}: written from the code -->\n"))?;
    rest.split_once(&format!("<!-- end of {name} -->"))
        .map(|(part, _)| part)
}

fn replaced(text: &str, name: &str, part: &str) -> String {
    let old =
        between(text, name).unwrap_or_else(|| panic!("the document has marks for the {name}"));
    let mark = |part: &str| {
        format!("<!-- {name}: written from the code -->\n{part}<!-- end of {name} -->")
    };
    text.replace(&mark(old), &mark(part))
}

#[test]
fn the_document_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/LIFECYCLE.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let diagram = format!("\n```mermaid\n{}```\n\n", mermaid());
    let table = format!("\n{}\n", markdown_table());
    let fresh = replaced(&replaced(&text, "diagram", &diagram), "table", &table);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
        return;
    }
    assert!(
        fresh == text,
        "docs/LIFECYCLE.md is stale: run `UPDATE_DOCS=1 cargo test -p lessor-domain --test lifecycle`"
    );
}
