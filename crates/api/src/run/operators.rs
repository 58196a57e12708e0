//! What operators are told by a process, apart from what it serves.

use std::io;
use std::net::{SocketAddr, TcpListener};

use lessor_adapters::postgres::PgDatabase;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::compose::{self, Location, Use};
use super::config::Config;
use super::{app, service};
use crate::http::draining::Draining;
use crate::http::mutation::Mutations;
use crate::http::server::{self, ServerSettings};
use crate::routes::health::Readiness;
use crate::telemetry::Metrics;

/// The listener for operators, where there is one. It goes on while all else stops.
pub(crate) struct Operators {
    address: SocketAddr,
    server: JoinHandle<io::Result<()>>,
    stop: CancellationToken,
}

impl Operators {
    /// Answers on the listener.
    ///
    /// # Errors
    /// It has no address.
    pub(crate) fn start(
        listener: TcpListener,
        readiness: Readiness,
        metrics: Metrics,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let settings = ServerSettings {
            workers: Some(1),
            ..ServerSettings::default()
        };
        let app = move || app::for_operators(readiness.clone(), metrics.clone());
        let stopped = stop.clone().cancelled_owned();
        let nothing = Mutations::new(Handle::current());
        let server = server::serve(listener, settings, nothing, stopped, app);
        Ok(Self {
            address,
            server: tokio::spawn(server),
            stop,
        })
    }

    /// Where it answers.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers who asks now, and ends.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        match self.server.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the listener for operators"),
            Err(error) => tracing::warn!(%error, "the listener for operators"),
        }
    }
}

/// The socket of the listener for operators: the one that the process was started with, else that of the address,
/// where one is set.
///
/// # Errors
/// It is in use, or none of this machine.
pub(crate) fn bind(
    config: &Config,
    inherited: Option<TcpListener>,
) -> anyhow::Result<Option<TcpListener>> {
    match inherited {
        Some(socket) => Ok(Some(socket)),
        None => config.ops_listen.as_deref().map(service::bind).transpose(),
    }
}

/// Whether the database answers and can be written to, by a connection for that alone: requests that wait for
/// one say nothing about it. Not ready once the process was told to stop.
///
/// # Errors
/// The database's address cannot be used.
pub(crate) fn readiness(
    config: &Config,
    location: &Location,
    draining: &Draining,
) -> anyhow::Result<Readiness> {
    let database = compose::connect_for(Use::Readiness, config, location.url(), 1)?;
    // Connections belong to the runtime that opened them.
    let (runtime, draining) = (Handle::current(), draining.clone());
    Ok(Readiness::new(move || {
        let asked = (!draining.has_begun()).then(|| runtime.spawn(ping(database.clone())));
        async move {
            match asked {
                Some(asked) => Ok(asked.await??),
                None => Err("the process was told to stop".into()),
            }
        }
    }))
}

async fn ping(database: PgDatabase) -> Result<(), lessor_domain::ports::StoreError> {
    database.ping().await
}
