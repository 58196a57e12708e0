//! The process: its configuration, its parts put together, what serves and what works.

pub mod app;
pub mod compose;
pub mod config;
mod counting;
pub(crate) mod descriptors;
pub(crate) mod lookout;
pub(crate) mod operators;
pub mod server_key;
pub mod service;
mod spans;
pub mod systemd;
pub mod worker;
