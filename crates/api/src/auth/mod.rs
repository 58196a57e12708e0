//! Secrets that open something: API keys, what is remembered of them, whose requests are too many, the
//! addresses of pages, and the key that those are derived under.

pub mod addresses;
pub(crate) mod buckets;
pub mod cache;
pub(crate) mod given;
pub mod keys;
pub mod links;
pub mod server_key;

#[cfg(test)]
mod tests;
