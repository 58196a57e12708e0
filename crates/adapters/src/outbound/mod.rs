//! Requests to URLs that organizations name: signed, to public addresses alone, and short.

mod guard;
mod post;

pub use guard::{ForbiddenTarget, Targets};
pub use post::{Answer, Outbound, PostError, SignedPost, new_secret};
