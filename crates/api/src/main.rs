//! The binary: everything is in the library, where tests reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    lessor::cli::run()
}
