//! Real servers, started, killed, found and refused.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of a test fail it as the test itself does"
)]

mod helper;
mod lifecycle;
mod sharing;
mod support;
