//! The double itself, over HTTP: what the real processor is known to do.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on says why; clippy knows functions of tests, not their helpers"
)]

mod faults;
mod idempotency;
mod payments;
mod program;
mod subscriptions;
mod support;
mod webhooks;
