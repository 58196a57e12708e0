//! What is not tested where programs of others are not installed.

use std::io::Write as _;

/// Says that `what` is skipped.
///
/// # Panics
/// When nobody can be told.
pub fn skipped(what: &str, why: &str) {
    // Not by a macro, whose output is captured when a test passes.
    let said = format!("SKIPPED {what}: {why}\n");
    let told = std::io::stderr().write_all(said.as_bytes());
    assert!(told.is_ok(), "{said}{told:?}");
}

/// Says that `what` is skipped where that is not asked for.
///
/// # Panics
/// When `LESSOR_REQUIRE_PEERS` is 1, or nobody can be told.
pub fn missing(what: &str, why: &str) {
    let required = std::env::var("LESSOR_REQUIRE_PEERS").is_ok_and(|value| value == "1");
    assert!(!required, "{what}: {why}");
    skipped(what, why);
}
