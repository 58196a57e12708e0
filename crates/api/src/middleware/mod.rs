//! What surrounds every request, and what no route answers.

mod auth;
mod context;
mod cors;
mod fallback;
mod position;

pub use crate::http::request_id::RequestId;
pub(crate) use auth::Caller;
pub use auth::require_key;
pub(crate) use context::HeadOnly;
pub use context::{Deadline, context};
pub use cors::{Cors, WebOrigin};
pub use fallback::{RouteTable, fallback};
pub use position::tell_position;
