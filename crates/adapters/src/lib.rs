//! The adapters of the domain's ports.

pub mod postgres;
