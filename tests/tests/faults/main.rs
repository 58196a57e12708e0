//! What becomes of leases when something breaks between Lessor and the processor: real processes that
//! die, a processor that fails, messages that come in any order. One server with a worker of its own on
//! a database that survives them, and the processor's double.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says where it stopped"
)]

mod bench;
mod books;
mod crashes;
mod doubts;
mod feed;
mod hosted;
mod journey;
mod kills;
mod messages;
mod money;
mod outages;
mod reconcile;
mod world;
