//! The adapters of the domain's ports.

pub mod agreement;
pub mod ambient;
pub mod carriers;
pub mod credit;
pub mod dialing;
pub mod mail;
pub mod missing_provider;
pub mod outbound;
pub mod postgres;
pub mod processor;
pub mod signing;
pub mod simulated;
#[cfg(feature = "testing")]
pub mod testing;
