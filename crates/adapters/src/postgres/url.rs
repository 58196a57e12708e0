//! Addresses of databases, as they are written.

use std::path::PathBuf;
use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

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

/// The parameters of a URL that the library below does not know, or not all values of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TlsOptions {
    /// `sslmode`.
    pub(super) mode: Option<String>,
    /// `sslrootcert`.
    pub(super) root_file: Option<PathBuf>,
}

impl TlsOptions {
    /// Takes the parameters out of a URL. The form `host=… user=…` has none of them
    /// but the `sslmode` that the library reads.
    pub(super) fn take_from(url: &str) -> Result<(String, Self), InvalidUrl> {
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
