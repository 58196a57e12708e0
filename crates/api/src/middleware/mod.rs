//! What surrounds every request, and what no route answers.

mod auth;
mod context;
mod fallback;

pub(crate) use auth::Caller;
pub use auth::require_key;
pub use context::{RequestId, context};
pub use fallback::{RouteTable, fallback};
