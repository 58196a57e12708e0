//! Signatures of the processor's messages: `t=<unix seconds>,v1=<hex>`, where `v1`
//! is HMAC-SHA256 over `<t>.<raw body>`. There are several `v1` while the secret
//! is being rotated.

use std::fmt;

use chrono::TimeDelta;
use hmac::{Hmac, Mac};
use lessor_domain::time::Timestamp;
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

/// How far the signature's time may be from now, in either direction.
pub const TOLERANCE: TimeDelta = TimeDelta::seconds(300);

/// More signatures than any rotation needs: the rest of a header is not looked at.
const MOST_SIGNATURES: usize = 16;

/// The secret of a webhook endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(String);

impl WebhookSecret {
    /// Takes a secret as the processor shows it, prefix included.
    ///
    /// # Errors
    /// [`SignatureError::BlankSecret`] when there is nothing in it: everybody could
    /// sign with it.
    pub fn new(secret: impl Into<String>) -> Result<Self, SignatureError> {
        let secret = secret.into();
        if secret.trim().is_empty() {
            return Err(SignatureError::BlankSecret);
        }
        Ok(Self(secret))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

/// Why a message is not to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The header is not of the form.
    #[error("the signature header is malformed")]
    Malformed,
    /// The header carries no signature of a scheme that is believed.
    #[error("the signature header has no v1 signature")]
    Unsigned,
    /// The message was signed too long ago, or in the future.
    #[error("the signature's time is more than 300 seconds away")]
    OutOfTime,
    /// No secret makes any of the signatures.
    #[error("no signature matches")]
    Mismatch,
    /// The secret is empty.
    #[error("a webhook secret cannot be blank")]
    BlankSecret,
}

/// Checks a message against the secrets in force, of which there are two while one
/// replaces the other.
///
/// `body` is the body as it came, byte for byte. Every secret is tried on every
/// signature, in constant time, so that time tells nothing of either.
///
/// # Errors
/// [`SignatureError`] says why the message is not to be believed.
pub fn verify(
    body: &[u8],
    header: &str,
    secrets: &[WebhookSecret],
    now: Timestamp,
) -> Result<(), SignatureError> {
    let signed = Signed::parse(header)?;
    let mut matches = Choice::from(0);
    for secret in secrets {
        let expected = digest(secret, signed.time, body);
        for signature in &signed.signatures {
            matches |= expected.ct_eq(signature);
        }
    }
    // The time is judged after the signature, so that it is the sender's own.
    if !bool::from(matches) {
        return Err(SignatureError::Mismatch);
    }
    let at = signed
        .time
        .parse::<i64>()
        .ok()
        .and_then(|seconds| Timestamp::from_timestamp(seconds, 0))
        .ok_or(SignatureError::Malformed)?;
    if (now - at).abs() > TOLERANCE {
        return Err(SignatureError::OutOfTime);
    }
    Ok(())
}

/// Checks that a header could be that of a message, before there is a body that it would be of.
///
/// # Errors
/// [`SignatureError::Malformed`] and [`SignatureError::Unsigned`].
pub fn check_form(header: &str) -> Result<(), SignatureError> {
    Signed::parse(header).map(|_| ())
}

/// The header that the holders of the secrets would send with the body.
#[must_use]
pub fn sign(body: &[u8], secrets: &[WebhookSecret], at: Timestamp) -> String {
    let time = at.timestamp().to_string();
    let mut header = format!("t={time}");
    for secret in secrets {
        header.push_str(",v1=");
        header.push_str(&hex::encode(digest(secret, &time, body)));
    }
    header
}

struct Signed<'a> {
    // Kept as text: the text is what was signed.
    time: &'a str,
    /// There is one at least.
    signatures: Vec<[u8; 32]>,
}

impl<'a> Signed<'a> {
    fn parse(header: &'a str) -> Result<Self, SignatureError> {
        let mut time = None;
        let mut signatures = Vec::new();
        for item in header.split(',') {
            let (scheme, value) = item
                .trim()
                .split_once('=')
                .ok_or(SignatureError::Malformed)?;
            match scheme {
                "t" if time.is_some() => return Err(SignatureError::Malformed),
                "t" => time = Some(value),
                "v1" if signatures.len() < MOST_SIGNATURES => {
                    let mut signature = [0; 32];
                    // A value that is no digest matches nothing; others may.
                    if hex::decode_to_slice(value, &mut signature).is_ok() {
                        signatures.push(signature);
                    }
                }
                _ => {}
            }
        }
        let time = time.ok_or(SignatureError::Malformed)?;
        if time.is_empty() || !time.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(SignatureError::Malformed);
        }
        if signatures.is_empty() {
            return Err(SignatureError::Unsigned);
        }
        Ok(Self { time, signatures })
    }
}

fn digest(secret: &WebhookSecret, time: &str, body: &[u8]) -> [u8; 32] {
    hmac_sha256(secret.0.as_bytes(), &[time.as_bytes(), b".", body])
}

pub(super) fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    #[expect(
        clippy::expect_used,
        reason = "HMAC takes keys of every length; the error is for MACs that do not"
    )]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}
