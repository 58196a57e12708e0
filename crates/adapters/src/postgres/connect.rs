//! Addresses of databases, and how a connection is opened: Unix socket, TCP, TLS.
//!
//! `sslmode` means what libpq documents: `disable`; `prefer` (the default) and
//! `require` encrypt without knowing whom they talk to; `verify-ca` also checks the
//! certificate's authority, and `verify-full` the host's name as well. Authorities
//! are the system's, or those of the PEM file that `sslrootcert` names.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use diesel::ConnectionError;
use diesel_async::AsyncPgConnection;
use lessor_domain::cause::chain;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls::{self, Trust};

/// Why the address of a database cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the database URL cannot be used: {problem}")]
pub struct InvalidUrl {
    problem: String,
}

impl InvalidUrl {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
        }
    }
}

/// A database and how it is reached.
pub(super) struct ConnectOptions {
    config: Config,
    /// None: never encrypted.
    tls: Option<MakeRustlsConnect>,
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

    /// Opens a connection; a task of the current runtime drives it until it is dropped.
    pub(super) async fn connect(&self) -> Result<AsyncPgConnection, ConnectionError> {
        // The library's own text is but "error connecting to server".
        let bad = |error: tokio_postgres::Error| {
            ConnectionError::BadConnection(chain(&error).to_string())
        };
        if let Some(tls) = self.tls.clone() {
            let (client, connection) = self.config.connect(tls).await.map_err(bad)?;
            AsyncPgConnection::try_from_client_and_connection(client, connection).await
        } else {
            let (client, connection) = self.config.connect(NoTls).await.map_err(bad)?;
            AsyncPgConnection::try_from_client_and_connection(client, connection).await
        }
    }
}

/// The parameters of a URL that the library below does not know, or not all values of.
#[derive(Debug, Default, PartialEq, Eq)]
struct TlsOptions {
    mode: Option<String>,
    root_file: Option<PathBuf>,
}

impl TlsOptions {
    /// Takes the parameters out of a URL. The form `host=… user=…` has none of them
    /// but the `sslmode` that the library reads.
    fn take_from(url: &str) -> Result<(String, Self), InvalidUrl> {
        let mut options = Self::default();
        let is_url = url.starts_with("postgres://") || url.starts_with("postgresql://");
        if !is_url {
            let key_value = Config::from_str(url)
                .map_err(|_| InvalidUrl::new("it must begin with postgres:// or postgresql://"))?;
            options.mode = Some(
                match key_value.get_ssl_mode() {
                    SslMode::Disable => "disable",
                    SslMode::Require => "require",
                    _ => "prefer",
                }
                .to_owned(),
            );
            return Ok((url.to_owned(), options));
        }
        let Some((base, query)) = url.split_once('?') else {
            return Ok((url.to_owned(), options));
        };
        let mut rest = Vec::new();
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("sslmode", mode)) => options.mode = Some(mode.to_owned()),
                Some(("sslrootcert", file)) => options.root_file = Some(decode(file)?.into()),
                _ => rest.push(pair),
            }
        }
        let url = if rest.is_empty() {
            base.to_owned()
        } else {
            format!("{base}?{}", rest.join("&"))
        };
        Ok((url, options))
    }
}

/// Percent-decodes a value of a URL.
fn decode(text: &str) -> Result<String, InvalidUrl> {
    let refused = || InvalidUrl::new("a % is not followed by two hexadecimal digits of UTF-8 text");
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2).ok_or_else(refused)?;
        bytes.extend(hex::decode(digits).map_err(|_| refused())?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).map_err(|_| refused())
}

/// Where the system's file of authorities may be given instead of a path, as libpq has it.
pub(super) fn is_system(path: &Path) -> bool {
    path == Path::new("system")
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
