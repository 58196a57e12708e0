//! The addresses of checkout pages.
//!
//! A page's token is HMAC-SHA256 of the checkout's id and its nonce under the server's secret, so
//! that every read can show the address again although only the token's hash is stored. Nobody can
//! guess a token (160 bits) or derive one from what the API shows; a new nonce revokes the old one.
//!
//! The secret is the same in every process of an installation. Under another secret the addresses
//! that were given out lead nowhere, and those that are shown do not either until their tokens are
//! stored anew: it is chosen once.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, Mac as _};
use lessor_domain::checkout::Checkout;
use sha2::{Digest as _, Sha256};

use crate::http::public_url::PublicUrl;

/// Bytes of a token.
const LENGTH: usize = 20;
/// What else is derived from the secret one day has another text here.
const PURPOSE: &[u8] = b"lessor checkout page\0";
/// Bytes of a key of HMAC-SHA256; a shorter one is filled up with zeros.
const BLOCK: usize = 64;
/// The fewest bytes of a secret.
const SECRET_MIN: usize = 32;

/// The path under which the pages are.
pub(crate) const PATH: &str = "/c";

/// What tokens are derived under. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerSecret(Arc<[u8; BLOCK]>);

/// The text or bytes are too short for a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server's secret must be at least {SECRET_MIN} bytes long")]
pub struct SecretTooShort;

impl ServerSecret {
    /// Takes at least 32 bytes that nobody can guess.
    ///
    /// # Errors
    /// [`SecretTooShort`].
    pub fn new(secret: &[u8]) -> Result<Self, SecretTooShort> {
        if secret.len() < SECRET_MIN {
            return Err(SecretTooShort);
        }
        let mut block = [0; BLOCK];
        block[..SECRET_MIN].copy_from_slice(&Sha256::digest(secret));
        Ok(Self(Arc::new(block)))
    }
}

impl fmt::Debug for ServerSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerSecret(…)")
    }
}

/// Makes the addresses of checkout pages, and knows tokens again. Cloning it shares the secret.
#[derive(Clone, Debug)]
pub struct CheckoutPageLinks {
    secret: ServerSecret,
    public_url: PublicUrl,
}

impl CheckoutPageLinks {
    /// Pages under this address.
    #[must_use]
    pub const fn new(secret: ServerSecret, public_url: PublicUrl) -> Self {
        Self { secret, public_url }
    }

    /// The token of the checkout's page: 40 hexadecimal digits.
    fn token(&self, checkout: &Checkout) -> String {
        let mut mac = <Hmac<Sha256> as hmac::Mac>::new(self.secret.0.as_ref().into());
        mac.update(PURPOSE);
        mac.update(checkout.id.as_uuid().as_bytes());
        mac.update(&checkout.page_nonce);
        let digest = mac.finalize().into_bytes();
        hex::encode(&digest[..LENGTH])
    }

    /// The address of the checkout's page.
    #[must_use]
    pub fn url(&self, checkout: &Checkout) -> String {
        format!(
            "{}{PATH}/{}",
            self.public_url.as_str(),
            self.token(checkout)
        )
    }

    /// What is stored of the checkout's token.
    #[must_use]
    pub fn hash(&self, checkout: &Checkout) -> [u8; 32] {
        hash_of(&self.token(checkout))
    }
}

/// The SHA-256 of a token, by which its checkout is found. `None` for what cannot be a token.
#[must_use]
pub fn hash_of_token(token: &str) -> Option<[u8; 32]> {
    let fits = token.len() == LENGTH * 2
        && token
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    fits.then(|| hash_of(token))
}

fn hash_of(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_a_token_is_looked_up() {
        assert!(hash_of_token(&"0a".repeat(LENGTH)).is_some());
        for bad in [
            "",
            "0a",
            &"0A".repeat(LENGTH),
            &"0g".repeat(LENGTH),
            &"0a".repeat(LENGTH + 1),
        ] {
            assert_eq!(hash_of_token(bad), None, "{bad}");
        }
    }

    #[test]
    fn secrets_are_long_and_not_shown() {
        assert_eq!(ServerSecret::new(b"short"), Err(SecretTooShort));
        let secret = ServerSecret::new(&[b'x'; 32]).unwrap();
        assert!(!format!("{secret:?}").contains('x'), "{secret:?}");
    }
}
