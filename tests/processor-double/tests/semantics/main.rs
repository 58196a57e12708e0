//! The double itself, over HTTP: what the real processor is known to do.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on says why; clippy knows functions of tests, not their helpers"
)]

mod accounts;
mod amounts;
mod by_hand;
mod collection;
mod disputes;
mod faults;
mod first;
mod holds;
mod idempotency;
mod identity;
mod inactive;
mod incomplete;
mod methods;
mod missed;
mod own_accounts;
mod pages;
mod payments;
mod program;
mod refunds;
mod subscriptions;
mod support;
mod webhooks;
