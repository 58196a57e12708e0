//! The HTTP surface.

pub mod body;
pub mod error;
pub mod fields;
pub mod query;
