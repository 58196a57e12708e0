//! The stores on Postgres.
//!
//! [`PgDatabase`] gives units of work; [`PgUnitOfWork`] is one, and every store.
//! Each store has a file of its own, with the rows that only it knows.

mod categories;
mod checkout;
mod connect;
mod customers;
pub(crate) mod decode;
mod encode;
pub(crate) mod error;
pub(crate) mod hash;
mod idempotency;
mod inbox;
mod keys;
mod lease_terms;
mod migrate;
mod organizations;
mod outbox;
mod paging;
mod pickup_locations;
mod pool;
mod products;
pub(crate) mod schema;
mod server_secret;
mod tls;
mod tracking;
mod unit_of_work;
mod url;
mod variants;
mod version;

pub use migrate::MigrateError;
pub use pool::{PgSettings, PoolStatus};
pub use unit_of_work::{PgDatabase, PgUnitOfWork};
pub use url::InvalidUrl;
