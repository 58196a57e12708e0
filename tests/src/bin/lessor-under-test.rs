//! The `lessor` binary, built with the tests that run it.

use std::process::ExitCode;

fn main() -> ExitCode {
    lessor::cli::run()
}
