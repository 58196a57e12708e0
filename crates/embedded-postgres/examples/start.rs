//! Starts the database of a folder, prints its steps and its URL, and stops it when the input ends.
//!
//! `cargo run -p lessor-embedded-postgres --example start -- ./lessor-data`, then Ctrl-D, or Ctrl-C to see that nothing
//! is left behind.

#![expect(
    clippy::print_stdout,
    reason = "an example talks to the person who runs it"
)]

use std::error::Error;
use std::io::{BufRead, stdin};
use std::time::Instant;

use lessor_embedded_postgres::{Settings, start};

fn main() -> Result<(), Box<dyn Error>> {
    let data_dir = std::env::args_os().nth(1).ok_or("which data directory?")?;
    let begun = Instant::now();
    let instance = start(&Settings::new(data_dir), |step| {
        println!("{:>6} ms  {step}", begun.elapsed().as_millis());
    })?;
    println!("{}", instance.url());
    for _line in stdin().lock().lines() {}
    let stopping = Instant::now();
    instance.stop();
    println!("{:>6} ms  stopped", stopping.elapsed().as_millis());
    Ok(())
}
