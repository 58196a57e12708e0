//! Mails over SMTP.
//!
//! A mail is given to the server command by command, since what a refusal means depends on which command
//! is refused: a recipient who is not there is another matter than a password that is wrong.

mod letter;
mod settings;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use lessor_domain::cause::chain;
use lessor_domain::mail::Posted;
use lessor_domain::ports::{MailMessage, MailSender};
use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use lettre::transport::smtp::response::Severity;
use lettre::{Address, Message};
use tokio::time::timeout;

pub use settings::{Encryption, InvalidSender, InvalidServer, Sender, SmtpServer};

/// How long sending a mail may take, connecting included.
const LONGEST: Duration = Duration::from_secs(120);
/// How long connecting may take.
const CONNECTING: Duration = Duration::from_secs(20);
/// How long a connection lies about: servers close them themselves after minutes.
const IDLE: Duration = Duration::from_secs(30);
/// How many do.
const MOST_IDLE: usize = 4;

/// Gives mails to a mail server. Connections are kept for a while.
pub struct SmtpSender {
    server: SmtpServer,
    from: Sender,
    credentials: Option<Credentials>,
    tls: Option<TlsParameters>,
    hello: ClientId,
    idle: Mutex<Vec<(AsyncSmtpConnection, Instant)>>,
}

/// Mails cannot be sent this way.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the mail server cannot be set up")]
pub struct SetupError(#[from] lettre::transport::smtp::Error);

/// What was being done when it failed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connecting,
    Greeting,
    Encrypting,
    SigningIn,
    From,
    To,
    Data,
    Message,
}

impl Stage {
    const fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Greeting => "EHLO",
            Self::Encrypting => "STARTTLS",
            Self::SigningIn => "AUTH",
            Self::From => "MAIL FROM",
            Self::To => "RCPT TO",
            Self::Data => "DATA",
            Self::Message => "the message",
        }
    }
}

/// What failed, and where.
struct Failure {
    stage: Stage,
    why: Why,
}

enum Why {
    Smtp(lettre::transport::smtp::Error),
    /// The server cannot do what is needed.
    Cannot(&'static str),
}

/// Whether the text is an enhanced status code, such as `5.1.1`. <https://www.rfc-editor.org/rfc/rfc3463>
fn is_enhanced(text: &str) -> bool {
    let mut parts = text.split('.');
    let is_number = |part: Option<&str>| {
        part.is_some_and(|part| {
            (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    is_number(parts.next())
        && is_number(parts.next())
        && is_number(parts.next())
        && parts.next().is_none()
}

/// The enhanced status code of what a server said.
fn enhanced(error: &lettre::transport::smtp::Error) -> Option<String> {
    let said = std::error::Error::source(error)?.to_string();
    let first = said.split([' ', '\n', '\t']).next()?;
    is_enhanced(first).then(|| first.to_owned())
}

impl Failure {
    const fn smtp(stage: Stage) -> impl FnOnce(lettre::transport::smtp::Error) -> Self {
        move |error| Self {
            stage,
            why: Why::Smtp(error),
        }
    }

    const fn cannot(stage: Stage, why: &'static str) -> Self {
        Self {
            stage,
            why: Why::Cannot(why),
        }
    }

    /// What follows from it. A server's own words may name whom the mail is for: its codes alone are told.
    fn posted(&self) -> Posted {
        let error = match &self.why {
            Why::Cannot(why) => return Posted::Trouble((*why).to_owned()),
            Why::Smtp(error) => error,
        };
        let Some(code) = error.status() else {
            let told = format!("{}: {}", self.stage.name(), chain(error));
            // What was under way may have been taken: it is asked again.
            return match self.stage {
                Stage::To | Stage::Data | Stage::Message => Posted::Later(told),
                _ => Posted::Trouble(told),
            };
        };
        let enhanced = enhanced(error);
        let codes = match &enhanced {
            Some(enhanced) => format!("{code} {enhanced}"),
            None => code.to_string(),
        };
        let told = format!("the mail server answered {codes} to {}", self.stage.name());
        let is_final = code.severity == Severity::PermanentNegativeCompletion;
        match self.stage {
            Stage::To if is_final => {
                // Whoever may not send there hears 5.7: that is about us, and not about the mailbox.
                if enhanced.is_some_and(|code| code.starts_with("5.7.")) {
                    Posted::Trouble(told)
                } else {
                    Posted::NoSuchMailbox(told)
                }
            }
            Stage::Data | Stage::Message if is_final => Posted::Refused(told),
            _ if is_final => Posted::Trouble(told),
            _ => Posted::Later(told),
        }
    }
}

impl SmtpSender {
    /// Sends by this server, from this address. Beside the system's certificate authorities these are
    /// trusted, in PEM.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(server: SmtpServer, from: Sender, trusted: &[&str]) -> Result<Self, SetupError> {
        let tls = match server.encryption {
            Encryption::None => None,
            Encryption::StartTls | Encryption::Implicit => {
                let mut parameters = TlsParameters::builder(server.host.clone());
                for pem in trusted {
                    parameters =
                        parameters.add_root_certificate(Certificate::from_pem(pem.as_bytes())?);
                }
                Some(parameters.build_rustls()?)
            }
        };
        Ok(Self {
            credentials: server.credentials(),
            hello: ClientId::Domain(from.domain().to_owned()),
            server,
            from,
            tls,
            idle: Mutex::new(Vec::new()),
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(AsyncSmtpConnection, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection on which a mail can begin.
    async fn connection(&self) -> Result<AsyncSmtpConnection, Failure> {
        loop {
            let kept = self.idle().pop();
            match kept {
                Some((mut connection, since)) => {
                    if since.elapsed() < IDLE && connection.test_connected().await {
                        return Ok(connection);
                    }
                }
                None => return self.connect().await,
            }
        }
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, Failure> {
        let at_once = match self.server.encryption {
            Encryption::Implicit => self.tls.clone(),
            Encryption::StartTls | Encryption::None => None,
        };
        let address = (self.server.host.as_str(), self.server.port);
        let mut connection = AsyncSmtpConnection::connect_tokio1(
            address,
            Some(CONNECTING),
            &self.hello,
            at_once,
            None,
        )
        .await
        .map_err(|error| {
            let stage = if error.status().is_some() {
                Stage::Greeting
            } else {
                Stage::Connecting
            };
            Failure::smtp(stage)(error)
        })?;
        if let (Encryption::StartTls, Some(tls)) = (self.server.encryption, &self.tls) {
            if !connection.can_starttls() {
                return Err(Failure::cannot(
                    Stage::Encrypting,
                    "the mail server offers no STARTTLS, and nothing is sent that everybody can read",
                ));
            }
            connection
                .starttls(tls.clone(), &self.hello)
                .await
                .map_err(Failure::smtp(Stage::Encrypting))?;
        }
        if let Some(credentials) = &self.credentials {
            connection
                .auth(DEFAULT_MECHANISMS, credentials)
                .await
                .map_err(Failure::smtp(Stage::SigningIn))?;
        }
        Ok(connection)
    }

    async fn deliver(&self, to: &Address, message: &Message) -> Result<(), Failure> {
        let mut connection = self.connection().await?;
        let delivered = hand_over(&mut connection, self.from.address(), to, message).await;
        let is_broken = connection.has_broken()
            || matches!(&delivered, Err(Failure { why: Why::Smtp(error), .. }) if error.status().is_none());
        if delivered.is_ok() && !is_broken {
            let mut idle = self.idle();
            if idle.len() < MOST_IDLE {
                idle.push((connection, Instant::now()));
            }
        } else if !is_broken {
            // The next mail begins on another one: nothing of this one is left there.
            drop(timeout(CONNECTING, connection.quit()).await);
        }
        delivered
    }
}

/// Gives the message over, command by command.
async fn hand_over(
    connection: &mut AsyncSmtpConnection,
    from: &Address,
    to: &Address,
    message: &Message,
) -> Result<(), Failure> {
    let formatted = message.formatted();
    let mut options = Vec::new();
    let can = |extension| connection.server_info().supports_feature(extension);
    let is_ascii = |address: &Address| AsRef::<str>::as_ref(address).is_ascii();
    if !is_ascii(from) || !is_ascii(to) {
        if !can(Extension::SmtpUtfEight) {
            return Err(Failure::cannot(
                Stage::From,
                "the mail server takes no addresses with letters beyond ASCII",
            ));
        }
        options.push(MailParameter::SmtpUtfEight);
    }
    if !formatted.is_ascii() {
        if !can(Extension::EightBitMime) {
            return Err(Failure::cannot(
                Stage::From,
                "the mail server takes no letters beyond ASCII",
            ));
        }
        options.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    connection
        .command(Mail::new(Some(from.clone()), options))
        .await
        .map_err(Failure::smtp(Stage::From))?;
    connection
        .command(Rcpt::new(to.clone(), Vec::new()))
        .await
        .map_err(Failure::smtp(Stage::To))?;
    connection
        .command(Data)
        .await
        .map_err(Failure::smtp(Stage::Data))?;
    connection
        .message(&formatted)
        .await
        .map_err(Failure::smtp(Stage::Message))?;
    Ok(())
}

#[async_trait]
impl MailSender for SmtpSender {
    async fn send<'a>(&self, message: MailMessage<'a>) -> Posted {
        let to: Mailbox = match message.to.as_str().parse() {
            Ok(to) => to,
            // An address that no mail server takes is nobody's.
            Err(_) => return Posted::NoSuchMailbox("the address is none of SMTP".to_owned()),
        };
        let address = to.email.clone();
        let letter = match letter::compose(&self.from, to, &message) {
            Ok(letter) => letter,
            Err(error) => return Posted::Trouble(format!("it cannot be put together: {error}")),
        };
        match timeout(LONGEST, self.deliver(&address, &letter)).await {
            Ok(Ok(())) => Posted::Accepted,
            Ok(Err(failure)) => failure.posted(),
            Err(_) => Posted::Later("the mail server took too long".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enhanced_codes_are_told_from_words() {
        for good in ["5.1.1", "4.7.0", "5.7.26"] {
            assert!(is_enhanced(good), "{good}");
        }
        for bad in [
            "",
            "5.1",
            "5.1.1.1",
            "<ada@example.com>",
            "5.1.x",
            "mailbox",
        ] {
            assert!(!is_enhanced(bad), "{bad}");
        }
    }
}
