//! Listening, and stopping without losing what is under way.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpService, Protocol};
use actix_service::{IntoServiceFactory as _, ServiceFactoryExt as _, fn_service, map_config};
use actix_web::body::BoxBody;
use actix_web::dev::{AppConfig, Server, ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::{App, Error};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::auth::given::LastKey;
use crate::http::admission::{Connected, ConnectionLimits};
use crate::http::connection::{Connection, Manner};
use crate::http::mutation::Mutations;
use crate::http::pace::Pace;
use crate::http::public_url::PublicUrl;
use crate::http::slices::SLICE;
use crate::telemetry::CONNECTIONS_REFUSED;

/// Connections beyond the limit that a worker has taken and not closed yet, at most. More wait in the
/// system's queue.
const BEING_REFUSED: usize = 64;
/// How long a closing connection is read on, so that an answer which comes before the end of the request
/// is not overtaken by a reset.
const LINGER: Duration = Duration::from_secs(1);

/// How connections are treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Where clients reach the service.
    pub public_url: PublicUrl,
    /// Worker threads; `None`: one for each processor.
    pub workers: Option<usize>,
    /// How many connections there may be. One more is closed at once.
    pub connections: ConnectionLimits,
    /// How long a connection may be idle between requests.
    pub keep_alive: Duration,
    /// How long the head of a request may take to arrive; then the connection is answered with 408 and
    /// closed.
    pub head_timeout: Duration,
    /// How slowly answers may be taken; a connection that is slower is closed.
    pub pace: Pace,
    /// How long requests and mutations under way may take once the service is told to stop.
    pub shutdown_timeout: Duration,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            public_url: PublicUrl::new(""),
            workers: None,
            connections: ConnectionLimits::default(),
            keep_alive: Duration::from_secs(75),
            head_timeout: Duration::from_secs(10),
            pace: Pace::default(),
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}

/// Serves until `stop` resolves, then takes no new connections, answers the requests under way,
/// waits for the mutations and returns, all within [`ServerSettings::shutdown_timeout`].
///
/// # Errors
/// The listener cannot be used, or a worker cannot be started.
pub async fn serve<T, F>(
    listener: TcpListener,
    settings: ServerSettings,
    mutations: Mutations,
    stop: impl Future<Output = ()>,
    app: F,
) -> io::Result<()>
where
    F: Fn() -> App<T> + Send + Clone + 'static,
    T: ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse<BoxBody>,
            Error = Error,
            InitError = (),
        > + 'static,
{
    let server = start(listener, &settings, app)?;
    let handle = server.handle();
    let mut serving = tokio::spawn(server);

    tokio::select! {
        ended = &mut serving => return ended.map_err(io::Error::other)?,
        () = stop => {}
    }
    tracing::info!(mutations = mutations.under_way(), "stopping");
    let deadline = Instant::now() + settings.shutdown_timeout;
    if timeout_at(deadline, handle.stop(true)).await.is_err() {
        tracing::warn!("requests were cut off at the shutdown deadline");
        handle.stop(false).await;
    }
    if timeout_at(deadline, mutations.finish()).await.is_err() {
        tracing::warn!(
            left = mutations.under_way(),
            "mutations were cut off at the shutdown deadline"
        );
    }
    Ok(())
}

/// Begins to serve. Apart from `serve`, because the builder cannot be held across an await.
fn start<T, F>(listener: TcpListener, settings: &ServerSettings, app: F) -> io::Result<Server>
where
    F: Fn() -> App<T> + Send + Clone + 'static,
    T: ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse<BoxBody>,
            Error = Error,
            InitError = (),
        > + 'static,
{
    // Whole seconds are what actix takes. Its own limit is only the second line: the deadline
    // below is exact.
    let seconds = settings.shutdown_timeout.as_secs().saturating_add(1);
    // All connections may be one worker's.
    let at_most = settings.connections.total.saturating_add(BEING_REFUSED);
    let mut server = Server::build()
        .disable_signals()
        .shutdown_timeout(seconds)
        .max_concurrent_connections(at_most);
    if let Some(workers) = settings.workers {
        server = server.workers(workers);
    }
    let address = listener.local_addr()?;
    let stopping = server.graceful_shutdown_signal();
    let keep_alive = settings.keep_alive;
    let is_stopping = Arc::new(AtomicBool::new(false));
    let connected = Connected::new(settings.connections.clone());
    let manner = Manner {
        public_url: settings.public_url.shared(),
        head_timeout: settings.head_timeout,
        silence: keep_alive.saturating_add(LINGER),
        pace: settings.pace,
        is_stopping: Arc::clone(&is_stopping),
    };
    // What `actix_web::HttpServer` does, around connections of our own.
    let server = server.listen("http", listener, move || {
        let stopping = stopping.clone();
        let app = app().into_factory();
        let told = Arc::clone(&is_stopping);
        let http = HttpService::build()
            .graceful_shutdown_signal(move || {
                let (stopping, told) = (stopping.clone(), Arc::clone(&told));
                async move {
                    stopping.notified().await;
                    told.store(true, Ordering::Relaxed);
                }
            })
            .keep_alive(keep_alive)
            // The connection keeps it.
            .client_request_timeout(Duration::ZERO)
            .client_disconnect_timeout(LINGER)
            .h1_write_buffer_size(SLICE)
            .local_addr(address)
            .on_connect_ext(|connection: &Connection<TcpStream>, data| {
                data.insert(connection.under_way());
                data.insert(LastKey::default());
            })
            .finish(map_config(
                app.map_err(|error: Error| error.error_response()),
                |()| AppConfig::default(),
            ));
        let (connected, manner) = (connected.clone(), manner.clone());
        fn_service(move |stream: TcpStream| {
            let (connected, manner) = (connected.clone(), manner.clone());
            async move {
                let peer = stream.peer_addr().ok();
                let admission = connected.admit(peer.map(|peer| peer.ip()));
                let admission = admission.map_err(|refusal| {
                    let why = refusal.as_str();
                    metrics::counter!(CONNECTIONS_REFUSED, "why" => why).increment(1);
                    DispatchError::Io(io::ErrorKind::ConnectionRefused.into())
                })?;
                // Answers are written whole: nothing is gained by waiting for more.
                let _ = stream.set_nodelay(true);
                let connection = Connection::new(stream, admission, manner);
                Ok::<_, DispatchError>((connection, Protocol::Http1, peer))
            }
        })
        .and_then(http)
    })?;
    Ok(server.run())
}

/// Resolves at SIGTERM or SIGINT.
///
/// # Errors
/// The signals cannot be listened to.
pub fn stop_signal() -> io::Result<impl Future<Output = ()> + Send> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        Ok(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    {
        Ok(async {
            // Without the handler the process ends at Ctrl-C by itself.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}
