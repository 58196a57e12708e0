//! What is measured, and how long.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// The real binary measured beside the least that could do the same, and as its tables grow.
#[derive(Debug, Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) options: Options,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What this program does besides.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serves limits: started by whoever measures.
    #[command(hide = true)]
    Limit {
        /// The file that tells of them.
        spec: PathBuf,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// How many variants, products, customers and checkouts there are, each size on its own
    #[arg(long, value_delimiter = ',', default_value = "1000,100000,1000000")]
    pub(crate) sizes: Vec<u32>,
    /// How many connections are asked over
    #[arg(long, value_delimiter = ',', default_value = "8,64")]
    pub(crate) connections: Vec<usize>,
    /// Paths whose names hold one of these words, and no others; also `busy`, `growth`, `resources`, `outbox`
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub(crate) only: Vec<String>,
    /// How long each path is asked, and each limit, with so many connections
    #[arg(long, default_value = "2")]
    pub(crate) seconds: f64,
    /// The binary that is measured; without it, it is built as this program was
    #[arg(long, value_name = "FILE")]
    pub(crate) binary: Option<PathBuf>,
    /// The folder under which the database lies, on a disk that keeps what it is told to
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    pub(crate) data_dir: PathBuf,
    /// Prints JSON
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Prints Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
}

impl Options {
    /// Whether something of this name is to be measured.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| name.contains(word.as_str()))
    }
}
