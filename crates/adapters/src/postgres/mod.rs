//! The stores on Postgres.
//!
//! [`PgDatabase`] gives units of work; [`PgUnitOfWork`] is one, and every store.
//! Each store has a file of its own, with the rows that only it knows.
//!
//! Whoever locks a row reads it as the holder before committed it, by the same statement. A
//! statement that waited sees of every other row what there was when it began: so a checkout,
//! whose parts are rows of their own, is read by a second statement. Products and variants are
//! too, for the compiler's sake: each new type of statement over so many columns costs seconds.
//! What counts versions is written by `version::compare_and_set`.
//!
//! Each transaction says for whom it works, and row security shows it no other organization's
//! rows; what is asked of all of them goes through `doors`. Statements name the organization as
//! well, for the indexes' sake. Under row security an index answers only operators that are
//! leakproof: equality and order of plain values are, those of arrays and JSON are not.

mod agreements;
mod audit;
mod backup;
mod categories;
mod checkouts;
mod compact;
mod connect;
mod credit;
mod cursors;
mod customers;
pub(crate) mod decode;
mod deliveries;
mod distribute;
mod doors;
mod encode;
mod endpoints;
pub(crate) mod error;
mod events;
pub(crate) mod hash;
mod idempotency;
mod inbox;
mod jobs;
mod json;
pub(crate) mod kept;
mod keys;
mod lease_terms;
mod ledger;
mod line;
mod listen;
mod mails;
mod metadata;
mod migrate;
mod notes;
mod organizations;
mod paging;
mod personal_data;
mod pickup_locations;
mod pool;
mod pooling;
mod position;
mod processor_accounts;
mod products;
mod replica;
mod sales;
pub(crate) mod schema;
mod seal;
mod search;
mod secrets;
mod server_key;
mod shipments;
mod standing;
mod tls;
mod turns;
mod unit_of_work;
mod url;
mod variants;
mod version;
mod webhook_endpoints;
mod written;

pub use backup::{BackupError, BackupSummary};
pub use connect::place_of;
pub use listen::Heard;
pub use migrate::MigrateError;
pub use pool::{PgSettings, PoolStatus};
pub use pooling::{Pooling, PoolingError};
pub use position::{InvalidPosition, LastCommit, Position};
pub use replica::{PgReplica, ReplicaError, ReplicaView};
pub use secrets::{Renewal, SecretKeys, sealed_columns};
pub use server_key::{Fingerprint, KnownServerKey};
pub use standing::Standing;
pub use unit_of_work::{PgDatabase, PgUnitOfWork};
pub use url::InvalidUrl;
