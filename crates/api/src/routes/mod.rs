//! What the service answers, by path.

pub mod docs;
pub mod health;
