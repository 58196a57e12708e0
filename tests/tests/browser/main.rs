//! The customer's page in a real browser: every step, what fails, waits, is declined and recovers, at two
//! widths, dark and light, with scripts and without, by hand and by keys alone. Each page is judged by axe, has to fit
//! its window, asks nobody else for anything, and stays within what may be sent.
//!
//! `tests/install peers` installs what drives the browser, which is the system's Chromium ([`lessor_tests::browser`]);
//! without them these tests say that they were skipped, or fail when `LESSOR_REQUIRE_PEERS` is 1.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

mod errors;
mod live;
mod recovery;
mod sandbox;
mod scene;
mod setting;
mod table;
mod waiting;
mod walk;

const BINARY: &str = env!("CARGO_BIN_EXE_lessor-under-test");
