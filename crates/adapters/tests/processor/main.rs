//! The processor's client, against a stateful double that misbehaves, and against
//! peers that others wrote.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says where it stopped"
)]

mod answers;
mod deposits;
mod failures;
mod forgotten;
mod messages;
mod mixtures;
mod operations;
mod pacing;
mod peers;
mod races;
mod refunds;
mod sessions;
mod signatures;
mod subscriptions;
mod support;
mod terms;
mod walks;
