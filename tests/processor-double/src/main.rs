//! The double as a program, for tests that are no Rust program or that outlive one.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;

use chrono::{DateTime, Utc};
use clap::Parser;
use lessor_processor_double::{Double, Webhooks};

/// A stateful double of the payment processor.
///
/// Prints its base URL and serves until its input ends or it is stopped. Tests steer
/// it over `/_double/…`: see the documentation of the library.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where it listens; port 0 is any free one.
    #[arg(long, default_value = "127.0.0.1:12111")]
    listen: SocketAddr,
    /// The clock stands at this time (RFC 3339) until it is moved.
    #[arg(long)]
    at: Option<DateTime<Utc>>,
    /// Where events are sent.
    #[arg(long, requires = "webhook_secret")]
    webhook_url: Option<String>,
    /// A secret that events are signed with; several during a rotation.
    #[arg(long)]
    webhook_secret: Vec<String>,
    /// End when the standard input does, as a parent's death makes it.
    #[arg(long)]
    until_eof: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let double = match Double::listen(arguments.listen, arguments.at) {
        Ok(double) => double,
        Err(error) => {
            let _said = writeln!(std::io::stderr(), "{}: {error}", arguments.listen);
            return ExitCode::FAILURE;
        }
    };
    if let Some(url) = arguments.webhook_url {
        double.send_to(Webhooks {
            url,
            secrets: arguments.webhook_secret,
            ..Webhooks::default()
        });
    }
    let said = writeln!(std::io::stdout(), "{}", double.url());
    if arguments.until_eof && said.is_ok() {
        let _read = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        return ExitCode::SUCCESS;
    }
    loop {
        std::thread::park();
    }
}
