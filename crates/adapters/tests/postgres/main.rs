//! The stores on a real Postgres: a database for each test.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says where it stopped"
)]

mod agreements;
mod audit;
mod backup;
mod checkouts;
mod cluster;
mod contract;
mod deliveries;
mod erasure;
mod events;
mod glances;
mod jobs;
mod leasing;
mod ledger;
mod migrations;
mod owners;
mod pages;
mod plans;
mod pooling;
mod races;
mod replica;
mod round_trips;
mod rows;
mod scans;
mod schema;
mod searches;
mod secrets;
mod server_key;
mod simulated;
mod support;
mod tls;
mod units_of_work;
mod walks;
