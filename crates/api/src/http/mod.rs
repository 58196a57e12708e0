//! What every request meets: how it is listened to, documented, and told no.

pub mod admission;
pub mod budget;
mod code;
pub(crate) mod connection;
pub mod draining;
pub mod error;
mod error_map;
pub mod head;
pub mod mutation;
pub mod openapi;
pub mod pace;
pub(crate) mod position;
pub mod public_url;
pub mod request_id;
pub mod routing;
pub mod server;
pub(crate) mod slices;
