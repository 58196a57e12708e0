//! Whole lives of leases, led about by chance in one thread, and what must hold after each.
//!
//! A [`Stagehand`] lives lives: the use cases and workers on stores in memory, the processor's
//! client over a network that loses calls, the processor's double, and a clock of their own. A
//! life is a [`Story`]: a list of decisions, from which everything follows. One seed is one story;
//! [`shrink`] takes away whatever a failing story does not need, and the story tells itself in
//! words. What must hold is in [`invariants`]; what Lessor says of its leases is read by
//! [`books`], what the processor says by [`ledger`].
//!
//! [`run`] lives many lives; `cargo run -p lessor-simulator --release -- --help` does so for
//! people. See `docs/TESTING.md` for what is modelled and what is not.

mod actors;
pub mod books;
mod choices;
mod executor;
mod hand;
pub mod invariants;
pub mod ledger;
mod life;
mod moves;
mod network;
mod opening;
mod post;
mod run;
mod settle;
mod shrink;
mod stage;
mod stores;
mod version;
mod world;

pub use choices::Story;
pub use hand::{Outcome, Stagehand};
pub use run::{Report, run};
pub use shrink::{Shows, shrink};
