//! Runs the real binary for tests that speak HTTP to it.
//!
//! A [`Server`] is a process on a database of its own, copied from a template in milliseconds. Most
//! tests share one and have an organization of their own there ([`Client`]). Whatever a client gets is
//! compared with the OpenAPI document of the server ([`contract::Contract`]), so that every call of
//! the suite is a test of it.

pub mod begun;
pub mod browser;
pub mod client;
pub mod contract;
pub mod mailbox;
pub mod peers;
pub mod process;
pub mod raw;
pub mod receiver;
pub mod running;
pub mod schema;
pub mod server;
pub mod shop;
pub mod tap;

pub use begun::Begun;
pub use browser::Browser;
pub use client::{Client, Reply};
pub use process::{Folder, answer, lessor, run};
pub use running::Running;
pub use server::Server;

use lessor_adapters::ambient::SystemClock;
use lessor_domain::ports::Clock as _;
use lessor_domain::time::Timestamp;
use serde_json::Value;

/// What time it is for the servers here.
#[must_use]
pub fn now() -> Timestamp {
    SystemClock.now()
}

/// The string; empty when it is none.
#[must_use]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Ends a test that cannot go on.
///
/// # Panics
/// Always, with the reason.
#[expect(clippy::panic, reason = "a test that cannot go on says why")]
pub fn refuse(why: &str) -> ! {
    panic!("{why}")
}
