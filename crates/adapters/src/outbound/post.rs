//! One request to an organization's URL, signed as Standard Webhooks.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::DateTime;
use lessor_domain::ports::Entropy;
use lessor_domain::secret::Secret;
use lessor_domain::time::Timestamp;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, Response, redirect};
use rustls::{ClientConfig, RootCertStore};
use tokio::time::{Instant, timeout, timeout_at};

use super::guard::{ForbiddenTarget, ResolveError, Target, Targets};
use crate::processor::standard_webhooks::{
    ID_HEADER, SIGNATURE_HEADER, SecretError, SharedSecret, TIMESTAMP_HEADER, sign,
};

/// How long a request may take, the look-up of its name and its answer included.
pub const WITHIN: Duration = Duration::from_secs(10);
/// The most bytes of an answer that are read.
pub const MOST_OF_AN_ANSWER: usize = 64 * 1024;
/// How many random bytes a secret has.
const SECRET_BYTES: usize = 32;

/// A secret that nobody can guess, in the form of Standard Webhooks.
#[must_use]
pub fn new_secret(entropy: &dyn Entropy) -> Secret {
    let mut bytes = [0; SECRET_BYTES];
    entropy.fill(&mut bytes);
    Secret::new(format!("whsec_{}", STANDARD.encode(bytes)))
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct SignedPost<'a> {
    pub url: &'a str,
    /// What tells it apart: the same whenever it is sent again.
    pub id: &'a str,
    /// JSON.
    pub body: &'a [u8],
    /// What it is signed with: several while one takes another's place.
    pub secrets: &'a [SharedSecret],
    /// When it is sent.
    pub at: Timestamp,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// How long to wait with the next, where the answer says so.
    pub retry_after: Option<Duration>,
    /// The first bytes of the body.
    pub body: Vec<u8>,
    /// Whether there was more of it than is read.
    pub is_cut: bool,
}

impl Answer {
    /// Whether the request was taken.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The URL is not asked.
    #[error("the URL {0}")]
    Forbidden(#[from] ForbiddenTarget),
    /// Its name could not be looked up.
    #[error("the URL's name could not be looked up")]
    Lookup(#[source] std::io::Error),
    /// It could not be reached, or broke off.
    #[error("it could not be reached")]
    Unreachable(#[source] reqwest::Error),
    /// It took longer than [`WITHIN`].
    #[error("it did not answer within ten seconds")]
    TimedOut,
    /// The secret is none.
    #[error("the secret cannot sign")]
    Secret(#[from] SecretError),
}

impl From<ResolveError> for PostError {
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::Forbidden(error) => Self::Forbidden(error),
            ResolveError::Lookup(error) => Self::Lookup(error),
        }
    }
}

/// Who sends requests to organizations' URLs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outbound {
    targets: Targets,
}

impl Outbound {
    /// To these targets.
    #[must_use]
    pub const fn new(targets: Targets) -> Self {
        Self { targets }
    }

    /// Where requests may go.
    #[must_use]
    pub const fn targets(&self) -> Targets {
        self.targets
    }

    /// Sends the request once.
    ///
    /// # Errors
    /// [`PostError`] when there is no answer. Whether the request was taken is then unknown.
    pub async fn send(&self, post: &SignedPost<'_>) -> Result<Answer, PostError> {
        timeout(WITHIN, self.send_now(post))
            .await
            .map_err(|_| PostError::TimedOut)?
    }

    /// Sends the request once, for whoever wants to know no more than whether it was taken: the status
    /// counts, and up to so many bytes of the body are read for people, as far as they come in time.
    ///
    /// # Errors
    /// [`PostError`] when there is no answer. Whether the request was taken is then unknown.
    pub async fn notify(&self, post: &SignedPost<'_>, most: usize) -> Result<Answer, PostError> {
        let end = Instant::now() + WITHIN;
        let opened = timeout_at(end, self.open(post)).await;
        let response = opened.map_err(|_| PostError::TimedOut)??;
        let mut answer = beginning_of(&response, post.at);
        if let Ok(Err(error)) = timeout_at(end, read(&mut answer, response, most)).await {
            tracing::debug!(%error, "the rest of an answer did not come");
        }
        Ok(answer)
    }

    async fn send_now(&self, post: &SignedPost<'_>) -> Result<Answer, PostError> {
        let response = self.open(post).await?;
        let mut answer = beginning_of(&response, post.at);
        read(&mut answer, response, MOST_OF_AN_ANSWER)
            .await
            .map_err(PostError::Unreachable)?;
        Ok(answer)
    }

    /// Sends the request, and waits for the head of the answer.
    async fn open(&self, post: &SignedPost<'_>) -> Result<Response, PostError> {
        let target = self.targets.resolve(post.url).await?;
        let signature = sign(post.body, post.id, post.secrets, post.at);
        client(&target)
            .map_err(PostError::Unreachable)?
            .post(target.url)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("lessor/", env!("CARGO_PKG_VERSION")))
            .header(ID_HEADER, post.id)
            .header(TIMESTAMP_HEADER, post.at.timestamp().to_string())
            .header(SIGNATURE_HEADER, signature)
            .body(post.body.to_vec())
            .send()
            .await
            .map_err(PostError::Unreachable)
    }
}

/// What the head of an answer says.
fn beginning_of(response: &Response, at: Timestamp) -> Answer {
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| pause_of(value.to_str().ok()?, at));
    Answer {
        status: response.status().as_u16(),
        retry_after,
        body: Vec::new(),
        is_cut: false,
    }
}

/// Reads up to so many bytes of the body.
async fn read(answer: &mut Answer, mut response: Response, most: usize) -> reqwest::Result<()> {
    while let Some(chunk) = response.chunk().await? {
        let room = most.saturating_sub(answer.body.len());
        let taken = chunk.get(..room).unwrap_or(&chunk);
        answer.body.extend_from_slice(taken);
        if taken.len() < chunk.len() {
            answer.is_cut = true;
            break;
        }
    }
    Ok(())
}

/// What `Retry-After` says, in seconds or as a date.
fn pause_of(told: &str, now: Timestamp) -> Option<Duration> {
    let told = told.trim();
    told.parse().map(Duration::from_secs).ok().or_else(|| {
        let until = DateTime::parse_from_rfc2822(told).ok()?;
        until.signed_duration_since(now).to_std().ok()
    })
}

/// The authorities that the system knows, read once: it is a file of some hundred certificates. What was
/// agreed on with an endpoint is kept there too, so that the next connection to it costs less.
static TLS: LazyLock<Option<ClientConfig>> = LazyLock::new(|| {
    let found = rustls_native_certs::load_native_certs();
    let mut authorities = RootCertStore::empty();
    // Single certificates that cannot be read are usual.
    let _ = authorities.add_parsable_certificates(found.certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .ok()?
        .with_root_certificates(authorities);
    Some(config.with_no_client_auth())
});

/// A client that connects to the addresses that were judged, whatever the name stands for by then, and
/// goes nowhere else: neither by a redirect nor by a proxy.
fn client(target: &Target) -> reqwest::Result<Client> {
    let mut builder = Client::builder()
        .redirect(redirect::Policy::none())
        .no_proxy()
        .pool_max_idle_per_host(0)
        .timeout(WITHIN);
    if let Some(tls) = &*TLS {
        builder = builder.use_preconfigured_tls(tls.clone());
    }
    if let Some(name) = &target.name {
        builder = builder.resolve_to_addrs(name, &target.addresses);
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread::{JoinHandle, spawn};

    use super::*;
    use crate::processor::standard_webhooks::{Headers, verify};

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    /// A receiver on loopback that gives this answer once. Tells what it got.
    fn receiver(answer: Vec<u8>) -> (String, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/credit", listener.local_addr().unwrap());
        let got = spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut got = Vec::new();
            let mut piece = [0; 1024];
            while !got.ends_with(b"{\"a\":1}") {
                let read = stream.read(&mut piece).unwrap();
                assert_ne!(read, 0, "it broke off");
                got.extend_from_slice(&piece[..read]);
            }
            // Whoever has read enough may be gone.
            let _ = stream.write_all(&answer);
            String::from_utf8(got).unwrap()
        });
        (url, got)
    }

    async fn send(url: &str, targets: Targets) -> Result<Answer, PostError> {
        let post = SignedPost {
            url,
            id: "q-1",
            body: b"{\"a\":1}",
            secrets: &[SECRET.parse().unwrap()],
            at: DateTime::UNIX_EPOCH,
        };
        Outbound::new(targets).send(&post).await
    }

    const LOOSE: Targets = Targets {
        allow_loopback: true,
    };

    #[tokio::test]
    async fn a_receiver_knows_who_signed() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec();
        let (url, got) = receiver(answer);
        let answer = send(&url, LOOSE).await.unwrap();
        assert!(answer.is_success() && !answer.is_cut);
        assert_eq!(answer.body, b"ok");
        let got = got.join().unwrap();
        let header = |name: &str| {
            let mut lines = got.lines().filter_map(|line| line.split_once(": "));
            lines
                .find(|(known, _)| *known == name)
                .unwrap()
                .1
                .to_owned()
        };
        let (id, timestamp, signature) = (
            header(ID_HEADER),
            header(TIMESTAMP_HEADER),
            header(SIGNATURE_HEADER),
        );
        let headers = Headers {
            id: &id,
            timestamp: &timestamp,
            signature: &signature,
        };
        let secrets = [SECRET.parse().unwrap()];
        assert_eq!(id, "q-1");
        verify(b"{\"a\":1}", headers, &secrets, DateTime::UNIX_EPOCH).unwrap();
    }

    #[test]
    fn a_pause_is_told_in_seconds_or_as_a_date() {
        let now = DateTime::UNIX_EPOCH;
        for (told, seconds) in [
            ("0", Some(0)),
            (" 120 ", Some(120)),
            ("Thu, 01 Jan 1970 00:02:00 GMT", Some(120)),
            ("Wed, 31 Dec 1969 23:59:59 GMT", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ] {
            let pause = pause_of(told, now);
            assert_eq!(pause, seconds.map(Duration::from_secs), "{told:?}");
        }
    }

    #[tokio::test]
    async fn redirects_lead_nowhere_and_long_answers_are_cut() {
        let moved =
            b"HTTP/1.1 307 Moved\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n";
        let (url, _) = receiver(moved.to_vec());
        assert_eq!(send(&url, LOOSE).await.unwrap().status, 307);
        let length = 2 * MOST_OF_AN_ANSWER;
        let mut long = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
        long.resize(long.len() + length, b'x');
        let (url, _) = receiver(long);
        let answer = send(&url, LOOSE).await.unwrap();
        assert!(answer.is_cut);
        assert_eq!(answer.body.len(), MOST_OF_AN_ANSWER);
    }

    /// A name that nobody can look up is connected to by the addresses that it stood for when it was judged.
    #[tokio::test]
    async fn what_a_name_stands_for_later_is_nobody_s_business() {
        let (url, got) = receiver(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec());
        let address: std::net::SocketAddr = url
            .trim_start_matches("http://")
            .trim_end_matches("/credit")
            .parse()
            .unwrap();
        let name = "rebound.invalid";
        let target = Target {
            url: format!("http://{name}:{}/in", address.port())
                .parse()
                .unwrap(),
            name: Some(name.to_owned()),
            addresses: vec![address],
        };
        let sent = client(&target).unwrap().post(target.url.clone());
        let answer = sent.body("{\"a\":1}").send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 204);
        let got = got.join().unwrap();
        let host = format!("host: {name}:{}", address.port());
        assert!(got.to_lowercase().contains(&host), "{got}");
    }

    #[tokio::test]
    async fn whoever_took_a_message_has_said_so_whatever_becomes_of_the_rest() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ntaken".to_vec();
        let (url, _) = receiver(answer);
        let post = SignedPost {
            url: &url,
            id: "evt_1",
            body: b"{\"a\":1}",
            secrets: &[SECRET.parse().unwrap()],
            at: DateTime::UNIX_EPOCH,
        };
        let outbound = Outbound::new(LOOSE);
        let answer = outbound.notify(&post, 3).await.unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b"tak"[..]));
        assert!(answer.is_cut);
        let (url, _) = receiver(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ntaken".to_vec());
        let broken = SignedPost { url: &url, ..post };
        let answer = outbound.notify(&broken, 1_024).await.unwrap();
        assert_eq!(
            (answer.status, answer.body.as_slice()),
            (200, &b"taken"[..])
        );
    }

    #[tokio::test]
    async fn this_machine_is_not_asked() {
        let refused = send("http://127.0.0.1:9/", Targets::default()).await;
        assert!(
            matches!(refused, Err(PostError::Forbidden(_))),
            "{refused:?}"
        );
    }
}
