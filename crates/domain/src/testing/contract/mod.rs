//! What every adapter of the stores has to do, as suites that run on any of them; and
//! [`carriers`] and [`dialing`], for whoever tells carriers by their numbers and reads phone numbers.
//!
//! A suite of a store takes a [`Database`](crate::ports::Database) and panics with the clause
//! that is broken. It makes an organization of its own, so that suites run one after
//! another or at once, on a fresh database or on a shared one. A suite holds no two
//! units of work at a time, except [`concurrent_units`], which is for databases
//! that let several be open at once.
#![expect(
    clippy::panic,
    reason = "a suite tells by a panic which clause is broken, as a test does"
)]

mod agreements;
mod audit;
mod carriers;
mod catalog_revisions;
mod categories;
mod checkout_lists;
mod checkout_queues;
mod checkout_races;
mod checkout_watches;
mod checkouts;
mod credit;
mod cursors;
mod customers;
mod deliveries;
mod dialing;
mod doors;
mod events;
mod full;
mod idempotency;
mod inbox;
mod jobs;
mod keys;
mod lease_terms;
mod ledger;
mod mails;
mod organizations;
mod owners;
mod personal_data;
mod pricing_revisions;
mod processor_accounts;
mod products;
mod revisions;
mod shipments;
mod shop;
mod unit_of_work;
mod variants;
mod walks;
mod webhook_endpoints;

/// Messages are handed out whosever they are, and jobs, mails and holds are counted over all organizations:
/// the suites that take or make some do so one after another, or they would take and count each
/// other's.
static QUEUES: futures_util::lock::Mutex<()> = futures_util::lock::Mutex::new(());

/// Checkouts that somebody must look at are counted over all organizations: the suites that make some
/// do so one after another. Who holds both locks takes [`QUEUES`] first.
static WATCHES: futures_util::lock::Mutex<()> = futures_util::lock::Mutex::new(());

pub use agreements::agreements;
pub use audit::audit;
pub use carriers::carriers;
pub use catalog_revisions::catalog_revisions;
pub use categories::categories;
pub use checkouts::checkouts;
pub use credit::credit;
pub use cursors::cursors;
pub use customers::customers;
pub use deliveries::deliveries;
pub use dialing::dialing;
pub use doors::doors;
pub use events::events;
pub use idempotency::idempotency;
pub use inbox::inbox;
pub use jobs::jobs;
pub use keys::keys;
pub use lease_terms::lease_terms;
pub use ledger::ledger;
pub use mails::mails;
pub use organizations::{organizations, pickup_locations};
pub use owners::owners;
pub use personal_data::personal_data;
pub use pricing_revisions::pricing_revisions;
pub use processor_accounts::processor_accounts;
pub use products::products;
pub use shipments::shipments;
pub use unit_of_work::{concurrent_units, unit_of_work};
pub use variants::variants;
pub use walks::walk;
pub use webhook_endpoints::webhook_endpoints;
