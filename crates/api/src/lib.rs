//! The HTTP surface.

pub mod auth;
pub mod checkout_page;
pub mod cli;
pub mod demo;
pub mod http;
pub mod idempotency;
pub mod mails;
pub mod middleware;
pub mod request;
pub mod routes;
pub mod run;
pub mod state;
pub mod telemetry;
#[cfg(test)]
mod testing;
pub mod wire;
