//! Real servers, started, killed, found and refused.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of a test fail it as the test itself does"
)]

mod helper;
mod kills;
mod lifecycle;
mod refusals;
mod sharing;
mod support;
mod users;
