//! A siege of the real binary on one machine, over the loopback alone: floods, overload, kills, and what it
//! takes when nobody asks anything of it. Prints one table, and fails when a row of it does not hold.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people, who read what it prints"
)]

mod binary;
mod burst;
mod disk;
mod failover;
mod floods;
mod kills;
mod load;
mod neighbour;
mod overload;
mod report;
mod resets;
mod rest;
mod rolling;
mod scene;
mod shop;
mod system;
mod writers;

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;

use clap::Parser;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::report::{Row, Table};

/// Besieges the `lessor` binary, prints what was measured, and ends with status 1 when a row does not hold.
#[derive(Debug, Parser)]
struct Arguments {
    /// These alone.
    #[arg(long, num_args = 1.., value_name = "NAME", value_parser = names())]
    only: Vec<String>,
    /// A few seconds each; without --only those alone that say something of an unoptimised build.
    #[arg(long)]
    short: bool,
    /// Prints the table as it stands in docs/TESTING.md.
    #[arg(long)]
    markdown: bool,
}

/// What is besieged, and how.
#[derive(Debug, Clone, Copy)]
struct Siege {
    binary: &'static str,
    short: bool,
}

type Rows = Pin<Box<dyn Future<Output = Vec<Row>> + Send>>;

/// Rows of one kind.
struct Family {
    name: &'static str,
    /// Whether an unoptimised build is measured by it too.
    always: bool,
    measure: fn(Siege) -> Rows,
}

/// In the order in which they are measured.
const FAMILIES: [Family; 11] = [
    Family {
        name: "floods",
        always: true,
        measure: |siege| Box::pin(floods::measure(siege)),
    },
    Family {
        name: "overload",
        always: false,
        measure: |siege| Box::pin(overload::measure(siege)),
    },
    Family {
        name: "burst",
        always: true,
        measure: |siege| Box::pin(burst::measure(siege)),
    },
    Family {
        name: "neighbour",
        always: false,
        measure: |siege| Box::pin(neighbour::measure(siege)),
    },
    Family {
        name: "kills",
        always: true,
        measure: |siege| Box::pin(kills::measure(siege)),
    },
    Family {
        name: "failover",
        always: false,
        measure: |siege| Box::pin(failover::measure(siege)),
    },
    Family {
        name: "disk",
        always: false,
        measure: |siege| Box::pin(disk::measure(siege)),
    },
    Family {
        name: "resets",
        always: true,
        measure: |siege| Box::pin(resets::measure(siege)),
    },
    Family {
        name: "rolling",
        always: false,
        measure: |siege| Box::pin(rolling::measure(siege)),
    },
    Family {
        name: "start",
        always: false,
        measure: |siege| Box::pin(rest::start(siege)),
    },
    Family {
        name: "idle",
        always: false,
        measure: |siege| Box::pin(rest::idle(siege)),
    },
];

fn names() -> [&'static str; FAMILIES.len()] {
    FAMILIES.map(|family| family.name)
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    raise_descriptors();
    let siege = Siege {
        binary: binary::built().leak(),
        short: arguments.short,
    };
    let is_wanted = |family: &Family| {
        if arguments.only.is_empty() {
            family.always || !arguments.short
        } else {
            arguments.only.iter().any(|name| name == family.name)
        }
    };
    let mut table = Table::default();
    for family in FAMILIES.iter().filter(|family| is_wanted(family)) {
        eprintln!("{} …", family.name);
        // What one of them ends by does not end the others.
        let rows = match tokio::spawn((family.measure)(siege)).await {
            Ok(rows) => rows,
            Err(error) => vec![Row::broken(family.name, &error.to_string())],
        };
        for row in rows {
            eprintln!("  {row}");
            table.add(row);
        }
    }
    if arguments.markdown {
        println!("{}", table.markdown());
    } else {
        println!("{table}");
    }
    if table.holds() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Each connection of an attacker is a descriptor, and processes may have few of them to begin with.
fn raise_descriptors() {
    let found = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: found.maximum,
        ..found
    };
    // Where it is refused the flood says how many it held.
    let _ = setrlimit(Resource::Nofile, most);
}
