//! How a connection to a database is opened: Unix socket, TCP, TLS.
//!
//! `sslmode` means what libpq documents: `disable`; `prefer` (the default) and
//! `require` encrypt without knowing whom they talk to; `verify-ca` also checks the
//! certificate's authority, and `verify-full` the host's name as well. Authorities
//! are the system's, or those of the PEM file that `sslrootcert` names.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use diesel::ConnectionError;
use lessor_domain::cause::chain;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::line::{Session, Silence};
use super::tls::{self, Trust};
use super::url::{InvalidUrl, TlsOptions};

/// A database and how it is reached.
pub(super) struct ConnectOptions {
    config: Config,
    /// None: never encrypted.
    tls: Option<MakeRustlsConnect>,
}

/// Where the database is that an address leads to, for people: `host:port/name`, without what is secret of it.
///
/// # Errors
/// [`InvalidUrl`] when the address cannot be used.
pub fn place_of(url: &str) -> Result<String, InvalidUrl> {
    let config = ConnectOptions::parse(url, Duration::ZERO)?.config;
    let mut hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(folder) => folder.display().to_string(),
        })
        .collect();
    if hosts.is_empty() {
        hosts = (config.get_hostaddrs().iter().map(ToString::to_string)).collect();
    }
    let ports = config.get_ports();
    let places: Vec<String> = hosts
        .iter()
        .enumerate()
        .map(|(place, host)| {
            // One port is that of all.
            let port = ports.get(place).or(ports.first());
            format!("{host}:{}", port.unwrap_or(&5432))
        })
        .collect();
    // As the server names it where the address does not.
    let database = config.get_dbname().or(config.get_user()).unwrap_or("");
    Ok(format!("{}/{database}", places.join(",")))
}

impl ConnectOptions {
    /// Reads the address; connects to nothing.
    pub(super) fn parse(url: &str, connect_timeout: Duration) -> Result<Self, InvalidUrl> {
        let (url, tls) = TlsOptions::take_from(url)?;
        let mut config = Config::from_str(&url).map_err(|error| {
            // The library's messages name the option at fault, never its value.
            InvalidUrl::new(chain(&error).to_string())
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(InvalidUrl::new("it names no host"));
        }
        if config.get_application_name().is_none() {
            config.application_name("lessor");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(connect_timeout);
        }
        if config.get_tcp_user_timeout().is_none() {
            // A peer that vanished is noticed within this time, not the kernel's 15 minutes.
            config.tcp_user_timeout(Duration::from_secs(30));
        }
        let trust = match tls.mode.as_deref() {
            Some("verify-full") => Trust::Name,
            Some("verify-ca") => Trust::Authority,
            Some("require") | Some("prefer") | None => Trust::Anybody,
            Some("disable") => {
                config.ssl_mode(SslMode::Disable);
                Trust::Anybody
            }
            Some(_) => {
                return Err(InvalidUrl::new(
                    "sslmode must be disable, prefer, require, verify-ca or verify-full",
                ));
            }
        };
        if matches!(
            tls.mode.as_deref(),
            Some("require" | "verify-ca" | "verify-full")
        ) {
            config.ssl_mode(SslMode::Require);
        }
        if tls.root_file.is_some() && trust == Trust::Anybody {
            return Err(InvalidUrl::new(
                "sslrootcert is not used unless sslmode is verify-ca or verify-full",
            ));
        }
        let only_sockets = config
            .get_hosts()
            .iter()
            .all(|host| matches!(host, Host::Unix(_)))
            && !config.get_hosts().is_empty();
        if only_sockets && config.get_ssl_mode() == SslMode::Prefer {
            // Nobody listens in on a socket, and asking costs a round trip.
            config.ssl_mode(SslMode::Disable);
        }
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(MakeRustlsConnect::new(tls::client_config(
                trust,
                tls.root_file.as_deref(),
            )?)),
        };
        Ok(Self { config, tls })
    }

    /// Opens a connection; a task of the current runtime drives it until it is dropped, or until a
    /// statement was not answered within `limit`.
    pub(super) async fn connect(
        &self,
        limit: Duration,
        silence: &Arc<Silence>,
    ) -> Result<Session, ConnectionError> {
        // The library's own text is but "error connecting to server".
        let bad = |error: tokio_postgres::Error| {
            ConnectionError::BadConnection(chain(&error).to_string())
        };
        let (client, wire) = self.open().await.map_err(bad)?;
        Session::over(client, wire, limit, silence).await
    }

    /// Opens a connection by which tables are copied; a task of the current runtime drives it until its
    /// client is dropped.
    pub(super) async fn client(&self) -> Result<Client, tokio_postgres::Error> {
        let (client, wire) = self.open().await?;
        tokio::spawn(async move {
            if let Err(error) = wire.await {
                tracing::debug!(error = %chain(&error), "a connection to the database broke");
            }
        });
        Ok(client)
    }

    /// Listens to channels until the connection ends. Tells when it has begun to, without a message,
    /// and of each message, after the channel that it came by. By the channel of `tell` it sends a message
    /// whenever it is notified.
    pub(super) async fn listen(
        &self,
        channels: &[&str],
        tell: Option<(&str, &Notify)>,
        heard: impl FnMut(Option<(&str, &str)>) + Send,
    ) -> Result<(), tokio_postgres::Error> {
        let (client, wire) = self.open().await?;
        hear(&client, wire, channels, tell, heard).await
    }

    async fn open(&self) -> Result<(Client, Box<dyn Wire>), tokio_postgres::Error> {
        Ok(match self.tls.clone() {
            Some(tls) => {
                let (client, connection) = self.config.connect(tls).await?;
                (client, Box::new(connection))
            }
            None => {
                let (client, connection) = self.config.connect(NoTls).await?;
                (client, Box::new(connection))
            }
        })
    }
}

/// What goes over a connection, encrypted or not. It goes as long as it is polled.
pub(super) trait Wire:
    Future<Output = Result<(), tokio_postgres::Error>> + Send + Unpin
{
    /// The next message that answers nothing; none once the connection has ended.
    fn poll_message(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<AsyncMessage, tokio_postgres::Error>>>;
}

impl<S, T> Wire for Connection<S, T>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    T: AsyncRead + AsyncWrite + Unpin + Send,
{
    fn poll_message(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<AsyncMessage, tokio_postgres::Error>>> {
        Connection::poll_message(self, context)
    }
}

/// Tells by the channel whenever it is notified, until the connection ends.
async fn keep_telling(
    client: &Client,
    tell: Option<(&str, &Notify)>,
) -> Result<Infallible, tokio_postgres::Error> {
    let Some((channel, told)) = tell else {
        return pending().await;
    };
    let notify = format!("NOTIFY {channel}");
    loop {
        told.notified().await;
        client.batch_execute(&notify).await?;
    }
}

async fn hear(
    client: &Client,
    mut wire: Box<dyn Wire>,
    channels: &[&str],
    tell: Option<(&str, &Notify)>,
    mut heard: impl FnMut(Option<(&str, &str)>) + Send,
) -> Result<(), tokio_postgres::Error> {
    let listen = channels.iter().map(|channel| format!("LISTEN {channel}"));
    let listen = listen.collect::<Vec<_>>().join("; ");
    let mut asked = pin!(client.batch_execute(&listen));
    let mut telling = pin!(keep_telling(client, tell));
    let mut is_listening = false;
    loop {
        tokio::select! {
            listening = &mut asked, if !is_listening => {
                listening?;
                is_listening = true;
                heard(None);
            }
            ended = &mut telling, if is_listening => {
                let Err(error) = ended;
                return Err(error);
            }
            message = poll_fn(|context| wire.poll_message(context)) => match message {
                Some(Ok(AsyncMessage::Notification(told))) => {
                    heard(Some((told.channel(), told.payload())));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<ConnectOptions, InvalidUrl> {
        ConnectOptions::parse(url, Duration::from_secs(1))
    }

    #[test]
    fn sslmode_decides_whether_and_whom_to_trust() {
        for (url, mode, tls) in [
            ("postgres://h/d", SslMode::Prefer, true),
            ("postgres://h/d?sslmode=disable", SslMode::Disable, false),
            ("postgresql://h/d?sslmode=require", SslMode::Require, true),
            ("postgres://h/d?sslmode=verify-ca", SslMode::Require, true),
            (
                "postgres://h/d?sslmode=verify-full&application_name=x",
                SslMode::Require,
                true,
            ),
            ("postgres://u:p@%2Frun%2Fpg/d", SslMode::Disable, false),
            ("host=/run/pg user=u dbname=d", SslMode::Disable, false),
            ("host=h user=u sslmode=require", SslMode::Require, true),
        ] {
            let options = parse(url).unwrap();
            assert_eq!(options.config.get_ssl_mode(), mode, "{url}");
            assert_eq!(options.tls.is_some(), tls, "{url}");
        }
    }

    #[test]
    fn where_it_is_tells_no_secret() {
        for (url, place) in [
            ("postgres://u:secret@db.example/d", "db.example:5432/d"),
            ("postgres://u:secret@db.example:6432", "db.example:6432/u"),
            ("postgres://u:secret@a:1,b:2/d?sslmode=require", "a:1,b:2/d"),
            ("host=a,b port=7 user=u password=secret", "a:7,b:7/u"),
            ("postgres://u:secret@%2Frun%2Fpg/d", "/run/pg:5432/d"),
            ("hostaddr=192.0.2.7 user=u dbname=d", "192.0.2.7:5432/d"),
        ] {
            assert_eq!(place_of(url).unwrap(), place);
        }
        assert!(place_of("nonsense").is_err());
    }

    #[test]
    fn what_cannot_be_used_is_refused_without_the_password() {
        for url in [
            "mysql://u:hunter2@h/d",
            "postgres://u:hunter2@h/d?sslmode=maybe",
            "postgres://u:hunter2@h/d?sslcert=x",
            "postgres://u:hunter2@h/d?sslmode=require&sslrootcert=/nowhere",
            "postgres://u:hunter2@h/d?sslmode=verify-full&sslrootcert=/nowhere",
            "postgres://u:hunter2@h/d?sslmode=verify-full&sslrootcert=%zz",
            "postgres:///d",
        ] {
            let error = parse(url).err().unwrap_or_else(|| panic!("{url}"));
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
