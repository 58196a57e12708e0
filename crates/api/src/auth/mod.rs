//! Secrets that open something: API keys, what is remembered of them, whose requests are too many, and the
//! addresses of pages.

pub mod addresses;
pub mod cache;
pub mod keys;
pub mod links;
