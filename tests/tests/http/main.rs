//! The HTTP surface: the real binary on a real database. The tree mirrors the URLs.

mod access;
mod accounts;
mod audit;
mod checkouts;
mod cli;
mod customers;
mod deliveries_cost;
mod docs;
mod events;
mod events_cost;
mod examples;
mod hangs;
mod health;
mod idempotency;
mod idle;
mod links;
mod lists;
mod mail;
mod metadata;
mod openapi;
mod organization;
mod outages;
mod page;
mod pooler;
mod products;
mod publishable;
mod races;
mod readme;
mod receivers;
mod remembered;
mod replica;
mod resets;
mod rolling;
mod statements;
mod traces;
mod variants;
mod webhook_endpoints;
mod webhooks;
mod workers;
mod wrong_input;

/// That of the binary: what is measured in this process is measured with it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BINARY: &str = env!("CARGO_BIN_EXE_lessor-under-test");
