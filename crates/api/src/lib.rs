//! The HTTP surface.

pub mod app;
pub mod authentication;
pub mod body;
pub mod error;
mod error_map;
pub mod fields;
pub mod keys;
pub mod middleware;
pub mod mutation;
pub mod openapi;
pub mod query;
pub mod records;
pub mod routes;
pub mod server;
pub mod state;
pub mod telemetry;
#[cfg(test)]
mod testing;
pub mod transaction;
pub mod wire;
