//! What every request meets: how it is listened to, documented, and told no.

pub mod error;
mod error_map;
pub mod mutation;
pub mod openapi;
pub mod public_url;
pub mod server;
