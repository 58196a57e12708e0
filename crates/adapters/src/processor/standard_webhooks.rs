//! Standard Webhooks (<https://www.standardwebhooks.com>), symmetric signatures: the
//! form in which carriers tell of shipments.
//!
//! `webhook-signature` holds `v1,<base64>` items separated by spaces, each
//! HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<raw body>`.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use lessor_domain::time::Timestamp;
use subtle::{Choice, ConstantTimeEq};

use super::signature::{SignatureError, TOLERANCE, hmac_sha256};

/// Name of the header with the message's id.
pub const ID_HEADER: &str = "webhook-id";
/// Name of the header with the time of sending, Unix seconds.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// Name of the header with the signatures.
pub const SIGNATURE_HEADER: &str = "webhook-signature";

const PREFIX: &str = "whsec_";
const MOST_SIGNATURES: usize = 16;
const LONGEST_ID: usize = 255;
/// Of HMAC-SHA256, in bytes.
const SIGNATURE_LENGTH: usize = 32;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The secret that a sender and Lessor share.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedSecret(Vec<u8>);

/// The text is not a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a Standard Webhooks secret is `whsec_` and 24 to 64 bytes in base64")]
pub struct SecretError;

impl FromStr for SharedSecret {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<Self, SecretError> {
        let text = text.trim();
        let encoded = text.strip_prefix(PREFIX).unwrap_or(text);
        match BASE64.decode(encoded) {
            Ok(bytes) if (24..=64).contains(&bytes.len()) => Ok(Self(bytes)),
            _ => Err(SecretError),
        }
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(…)")
    }
}

/// The three headers of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers<'a> {
    /// `webhook-id`, the same in every delivery of the message.
    pub id: &'a str,
    /// `webhook-timestamp`.
    pub timestamp: &'a str,
    /// `webhook-signature`.
    pub signature: &'a str,
}

/// Checks a message against the secrets in force.
///
/// # Errors
/// [`SignatureError`] says why the message is not to be believed.
pub fn verify(
    body: &[u8],
    headers: Headers<'_>,
    secrets: &[SharedSecret],
    now: Timestamp,
) -> Result<(), SignatureError> {
    let signatures = presented(headers)?;
    let expected: Vec<_> = secrets
        .iter()
        .map(|secret| digest(secret, headers.id, headers.timestamp, body))
        .collect();
    let mut matches = Choice::from(0);
    for signature in &signatures {
        for digest in &expected {
            matches |= digest.as_slice().ct_eq(signature);
        }
    }
    if !bool::from(matches) {
        return Err(SignatureError::Mismatch);
    }
    let at = headers
        .timestamp
        .parse::<i64>()
        .ok()
        .and_then(|seconds| Timestamp::from_timestamp(seconds, 0))
        .ok_or(SignatureError::Malformed)?;
    if (now - at).abs() > TOLERANCE {
        return Err(SignatureError::OutOfTime);
    }
    Ok(())
}

/// Checks that the headers could be those of a message, before there is a body that they would be of.
///
/// # Errors
/// [`SignatureError::Malformed`] and [`SignatureError::Unsigned`].
pub fn check_form(headers: Headers<'_>) -> Result<(), SignatureError> {
    presented(headers).map(|_| ())
}

/// The signatures that the headers of a message hold, one at least.
fn presented(headers: Headers<'_>) -> Result<Vec<Vec<u8>>, SignatureError> {
    if headers.id.is_empty() || headers.id.len() > LONGEST_ID {
        return Err(SignatureError::Malformed);
    }
    if headers.timestamp.is_empty() || !headers.timestamp.bytes().all(|b| b.is_ascii_digit()) {
        return Err(SignatureError::Malformed);
    }
    let signatures: Vec<_> = headers
        .signature
        .split(' ')
        .filter_map(|item| item.strip_prefix("v1,"))
        .take(MOST_SIGNATURES)
        .filter_map(|item| BASE64.decode(item).ok())
        .filter(|signature| signature.len() == SIGNATURE_LENGTH)
        .collect();
    if signatures.is_empty() {
        return Err(SignatureError::Unsigned);
    }
    Ok(signatures)
}

/// The value of `webhook-signature` that the holders of the secrets would send.
#[must_use]
pub fn sign(body: &[u8], id: &str, secrets: &[SharedSecret], at: Timestamp) -> String {
    let time = at.timestamp().to_string();
    let items: Vec<_> = secrets
        .iter()
        .map(|secret| format!("v1,{}", BASE64.encode(digest(secret, id, &time, body))))
        .collect();
    items.join(" ")
}

fn digest(secret: &SharedSecret, id: &str, time: &str, body: &[u8]) -> [u8; SIGNATURE_LENGTH] {
    hmac_sha256(
        &secret.0,
        &[id.as_bytes(), b".", time.as_bytes(), b".", body],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000;

    /// Who may be believed is told before the body is there, and who is believed only with it.
    #[test]
    fn headers_are_judged_by_their_form_and_then_by_the_body() {
        let now = Timestamp::from_timestamp(NOW, 0).unwrap();
        let secret: SharedSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        let secrets = [secret];
        let good = sign(b"{}", "msg_1", &secrets, now);
        let long = "x".repeat(LONGEST_ID + 1);
        let several = format!("v1,??? v2,{} {good}", &good[3..]);
        for (id, timestamp, signature, form) in [
            ("msg_1", "1700000000", good.as_str(), Ok(())),
            ("msg_1", "1700000000", several.as_str(), Ok(())),
            ("", "1700000000", &good, Err(SignatureError::Malformed)),
            (&long, "1700000000", &good, Err(SignatureError::Malformed)),
            ("msg_1", "", &good, Err(SignatureError::Malformed)),
            ("msg_1", "now", &good, Err(SignatureError::Malformed)),
            ("msg_1", "1700000000", "", Err(SignatureError::Unsigned)),
            (
                "msg_1",
                "1700000000",
                "v1,???",
                Err(SignatureError::Unsigned),
            ),
            (
                "msg_1",
                "1700000000",
                "v1,AAAA",
                Err(SignatureError::Unsigned),
            ),
            (
                "msg_1",
                "1700000000",
                &good[3..],
                Err(SignatureError::Unsigned),
            ),
        ] {
            let headers = Headers {
                id,
                timestamp,
                signature,
            };
            assert_eq!(check_form(headers), form, "{headers:?}");
            assert_eq!(verify(b"{}", headers, &secrets, now), form, "{headers:?}");
            let other = verify(b"{ }", headers, &secrets, now);
            assert_eq!(
                other,
                form.and(Err(SignatureError::Mismatch)),
                "{headers:?}"
            );
        }
    }
}
