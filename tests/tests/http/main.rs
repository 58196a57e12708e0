//! The HTTP surface: the real binary on a real database.

mod errors;
mod leases;
mod races;

const BINARY: &str = env!("CARGO_BIN_EXE_lessor-under-test");
