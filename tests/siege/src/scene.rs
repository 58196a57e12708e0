//! A server as an operator has it, on a database of its own.

use std::net::SocketAddr;
use std::process::Command;

use lessor_adapters::testing::TestDatabase;
use lessor_tests::process::bare;
use lessor_tests::server::{SERVER_KEY, TRACKING_SECRET};
use lessor_tests::{Folder, Running, answer, lessor, refuse, text};

use crate::shop::Shop;

/// Where the data are.
pub(crate) enum Data {
    /// In a folder, in the durable database that the binary runs itself.
    Embedded(Folder),
    /// In a database of a server that keeps nothing.
    Database(TestDatabase),
    /// In a database at this address.
    At(String),
}

impl Data {
    /// The durable database of the binary.
    pub(crate) fn embedded() -> Self {
        Self::Embedded(Folder::new("siege"))
    }

    /// The binary on it.
    pub(crate) fn command(&self, binary: &str) -> Command {
        let url = match self {
            Self::Embedded(folder) => return lessor(binary, folder),
            Self::Database(database) => database.url(),
            Self::At(url) => url,
        };
        let mut command = bare(binary);
        command
            .env("DATABASE_URL", url)
            .env("LESSOR_SERVER_SECRET", SERVER_KEY);
        command
    }

    /// The binary, serving there with its own settings but for these flags.
    pub(crate) fn serve(&self, binary: &str, flags: &[&str]) -> Running {
        let mut command = self.command(binary);
        command
            .env("LESSOR_TRACKING_WEBHOOK_SECRETS", TRACKING_SECRET)
            .args(["--json", "serve"])
            .args(flags);
        if !flags.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        Running::start(&mut command)
    }
}

/// A server and its data.
pub(crate) struct Scene {
    binary: &'static str,
    // It ends before its data.
    pub(crate) server: Running,
    pub(crate) data: Data,
}

impl Scene {
    /// A server on the data.
    pub(crate) fn on(binary: &'static str, data: Data, flags: &[&str]) -> Self {
        Self {
            binary,
            server: data.serve(binary, flags),
            data,
        }
    }

    /// A server with the durable database.
    pub(crate) fn embedded(binary: &'static str, flags: &[&str]) -> Self {
        Self::on(binary, Data::embedded(), flags)
    }

    /// Starts a server again that was killed, where clients know it to be.
    pub(crate) fn serve_again(&mut self) {
        let address = self.address().to_string();
        self.server = self.data.serve(self.binary, &["--listen", &address]);
    }

    /// Where the server listens.
    pub(crate) fn address(&self) -> SocketAddr {
        let address = self.server.url.trim_start_matches("http://").parse();
        address.unwrap_or_else(|error| refuse(&format!("{}: {error}", self.server.url)))
    }

    /// A new organization that has goods.
    pub(crate) async fn shop(&self) -> Shop {
        let command = |arguments: &[&str]| {
            let mut command = self.data.command(self.binary);
            answer(command.args(arguments))
        };
        let made = command(&["org", "create", "--name", "Road Bikes"]);
        let organization = text(&made["publicId"]);
        let key = command(&[
            "key",
            "create",
            "--org",
            &organization,
            "--mode",
            "sandbox",
            "--permissions",
            "all",
            "--user",
            "staff@example.com",
        ]);
        Shop::open(&self.server.url, &organization, &text(&key["key"])).await
    }
}
