//! The use cases on stores in memory and scripted providers: what a lessor and a
//! lessee go through, and what goes wrong on the way.
#![cfg(feature = "testing")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says where it stopped"
)]

mod audit;
mod billing;
mod credit;
mod customers;
mod deposits;
mod erasure;
mod events;
mod generation;
mod jobs;
mod journey;
mod keys;
mod links;
mod live_catalog;
mod mails;
mod metadata;
mod processor_accounts;
mod products;
mod sandbox;
mod sessions;
mod shipments;
mod signers;
mod waitlists;
mod webhooks;
mod window;
mod world;
