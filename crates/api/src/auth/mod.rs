//! Secrets that open something: API keys, what is remembered of them, and the addresses of pages.

pub mod cache;
pub mod keys;
pub mod links;
