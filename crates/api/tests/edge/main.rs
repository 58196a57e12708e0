//! The surface on the wire, with toy routes: what clients send wrong, and what goes wrong inside; and
//! what is deployed.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and its helpers stand outside of test functions"
)]

mod bodies;
mod connections;
mod deploy;
mod documents;
mod harness;
mod heads;
mod lifetime;
mod origins;
mod surface;
