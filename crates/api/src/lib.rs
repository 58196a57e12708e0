//! The HTTP surface.

pub mod app;
pub mod body;
pub mod error;
pub mod fields;
pub mod middleware;
pub mod mutation;
pub mod openapi;
pub mod query;
pub mod records;
pub mod routes;
pub mod server;
pub mod telemetry;
