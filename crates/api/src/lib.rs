//! The HTTP surface.

pub mod app;
pub mod authentication;
pub mod body;
pub mod cli;
pub mod compose;
pub mod config;
pub mod demo;
pub mod error;
mod error_map;
pub mod fields;
pub mod keys;
pub mod middleware;
pub mod mutation;
pub mod openapi;
pub mod page_links;
pub mod pricing_summaries;
pub mod public_url;
pub mod query;
pub mod records;
pub mod routes;
pub mod server;
pub mod service;
mod settle;
pub mod state;
pub mod telemetry;
#[cfg(test)]
mod testing;
pub mod transaction;
pub mod wire;
pub mod worker;
