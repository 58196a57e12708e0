//! What surrounds every request, and what no route answers.

mod context;
mod fallback;

pub(crate) use context::panic_message;
pub use context::{PublicUrl, RequestId, context};
pub use fallback::{RouteTable, fallback};
