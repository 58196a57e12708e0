//! Leases as a library.

pub mod exact;
pub mod money;
pub mod percentage;
pub mod pricing;
