//! Which mail server, and from whom.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use lessor_domain::text::Email;
use lettre::Address;
use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::Credentials;
use reqwest::Url;

/// How what is said to the server is kept from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// From the first byte.
    Implicit,
    /// By `STARTTLS`, without which nothing is sent.
    StartTls,
    /// Not at all: it stays on this machine.
    None,
}

/// A mail server. `Debug` does not show the password.
#[derive(Clone, PartialEq, Eq)]
pub struct SmtpServer {
    /// Its name or address.
    pub host: String,
    pub port: u16,
    pub encryption: Encryption,
    /// Who signs in, with which password.
    sign_in: Option<(String, String)>,
}

impl fmt::Debug for SmtpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmtpServer")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("encryption", &self.encryption)
            .finish_non_exhaustive()
    }
}

/// The text names no mail server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be smtp://user:password@host:port or smtps://user:password@host:port, user and password together or neither, and nothing behind the port"
)]
pub struct InvalidServer;

/// A part of an address without its escapes.
fn plain(text: &str) -> Result<String, InvalidServer> {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%' {
            let digits = text.get(at + 1..at + 3).ok_or(InvalidServer)?;
            plain.push(u8::from_str_radix(digits, 16).map_err(|_| InvalidServer)?);
            at += 3;
        } else {
            plain.push(*byte);
            at += 1;
        }
    }
    let plain = String::from_utf8(plain).map_err(|_| InvalidServer)?;
    if plain.chars().any(char::is_control) {
        return Err(InvalidServer);
    }
    Ok(plain)
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

impl FromStr for SmtpServer {
    type Err = InvalidServer;

    fn from_str(text: &str) -> Result<Self, InvalidServer> {
        let url = Url::parse(text.trim()).map_err(|_| InvalidServer)?;
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or(InvalidServer)?;
        let encryption = match url.scheme() {
            "smtps" => Encryption::Implicit,
            "smtp" if is_loopback(host) => Encryption::None,
            "smtp" => Encryption::StartTls,
            _ => return Err(InvalidServer),
        };
        let is_bare =
            matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        let sign_in = match (url.username(), url.password()) {
            ("", None) => None,
            ("", Some(_)) | (_, None) => return Err(InvalidServer),
            (user, Some(password)) => Some((plain(user)?, plain(password)?)),
        };
        let port = url.port().unwrap_or(match encryption {
            Encryption::Implicit => 465,
            Encryption::StartTls | Encryption::None => 587,
        });
        if !is_bare || port == 0 {
            return Err(InvalidServer);
        }
        Ok(Self {
            host: host
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_owned(),
            port,
            encryption,
            sign_in,
        })
    }
}

impl SmtpServer {
    pub(super) fn credentials(&self) -> Option<Credentials> {
        let (user, password) = self.sign_in.clone()?;
        Some(Credentials::new(user, password))
    }
}

/// From whom mails are sent: an address, and a name for those that are in nobody else's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender(Mailbox);

/// The text is no sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an e-mail address, or a name and one: Lessor <mail@lease.example.com>")]
pub struct InvalidSender;

impl FromStr for Sender {
    type Err = InvalidSender;

    fn from_str(text: &str) -> Result<Self, InvalidSender> {
        if text.chars().any(char::is_control) {
            return Err(InvalidSender);
        }
        let mailbox: Mailbox = text.trim().parse().map_err(|_| InvalidSender)?;
        // What is an address to SMTP may be none to anybody else.
        Email::parse(mailbox.email.as_ref()).map_err(|_| InvalidSender)?;
        Ok(Self(mailbox))
    }
}

impl Sender {
    /// Where they are sent from.
    pub(super) const fn address(&self) -> &Address {
        &self.0.email
    }

    /// What stands behind the `@`.
    #[must_use]
    pub fn domain(&self) -> &str {
        self.0.email.domain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_read_from_its_address() {
        let read = |text: &str| text.parse::<SmtpServer>().unwrap();
        let server = read("smtp://ada:p%40ss%3A@mail.example.com");
        assert_eq!(
            (server.host.as_str(), server.port, server.encryption),
            ("mail.example.com", 587, Encryption::StartTls)
        );
        assert_eq!(server.sign_in, Some(("ada".to_owned(), "p@ss:".to_owned())));
        assert!(!format!("{server:?}").contains("p@ss"));
        let server = read("smtps://mail.example.com/");
        assert_eq!(
            (server.port, server.encryption),
            (465, Encryption::Implicit)
        );
        for local in [
            "smtp://localhost:25",
            "smtp://127.0.0.1:25",
            "smtp://[::1]:25",
        ] {
            assert_eq!(read(local).encryption, Encryption::None, "{local}");
        }
        assert_eq!(read("smtp://[::1]:25").host, "::1");
        assert_eq!(
            read("smtp://127.0.0.1.example.com").encryption,
            Encryption::StartTls
        );
    }

    #[test]
    fn what_is_no_server_is_refused() {
        for bad in [
            "",
            "mail.example.com",
            "http://mail.example.com",
            "smtp://",
            "smtp://ada@mail.example.com",
            "smtp://:secret@mail.example.com",
            "smtp://mail.example.com/path",
            "smtp://mail.example.com?tls=no",
            "smtp://mail.example.com:0",
            "smtp://mail.example.com:99999",
            "smtp://ada:a%0D%0Ab@mail.example.com",
            "smtp://ada:a%ZZ@mail.example.com",
        ] {
            assert_eq!(bad.parse::<SmtpServer>(), Err(InvalidServer), "{bad}");
        }
    }

    #[test]
    fn a_sender_is_an_address_with_or_without_a_name() {
        for good in ["mail@lease.example", "Lessor <mail@lease.example>"] {
            let sender: Sender = good.parse().unwrap();
            assert_eq!(sender.domain(), "lease.example");
        }
        for bad in [
            "",
            "Lessor",
            "mail@",
            "a@b.example, c@d.example",
            "a@b.example\r\nBcc: c@d.example",
        ] {
            assert_eq!(bad.parse::<Sender>(), Err(InvalidSender), "{bad}");
        }
    }
}
