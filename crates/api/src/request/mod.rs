//! What requests carry: bodies, query strings and paths, read by one set of rules.

pub mod body;
pub mod fields;
pub mod query;
