//! The binary: everything is in the library, where tests reach it.

use std::process::ExitCode;

/// Answers are made of many small pieces, each of which is allocated and freed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lessor::cli::run()
}
