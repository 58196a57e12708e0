//! The stores on Postgres.
//!
//! [`PgDatabase`] gives units of work; [`PgUnitOfWork`] is one, and every store.
//! Each store has a file of its own, with the rows that only it knows.

mod checkout;
mod connect;
pub(crate) mod decode;
pub(crate) mod error;
pub(crate) mod hash;
mod idempotency;
mod inbox;
mod migrate;
mod outbox;
mod pool;
pub(crate) mod schema;
mod tls;
mod tracking;
mod unit_of_work;

pub use connect::InvalidUrl;
pub use migrate::MigrateError;
pub use pool::{PgSettings, PoolStatus};
pub use unit_of_work::{PgDatabase, PgUnitOfWork};
