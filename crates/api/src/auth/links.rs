//! The addresses of checkout pages.
//!
//! A page's token is the checkout's nonce, and HMAC-SHA256 of it under the server's key: every read
//! can show the address again, and nobody can guess one (160 bits) or derive it from what the API
//! or the database shows. A new nonce revokes the old one.
//!
//! A token that was derived under a key at hand proves itself. Of those that are given out with a new
//! checkout the hashes are kept too, under each key at hand: they open the page for good, also when
//! their key was replaced.

use hmac::Mac as _;
use lessor_domain::checkout::Checkout;
use lessor_domain::ports::PageToken;
use sha2::{Digest as _, Sha256};

use crate::auth::server_key::{ServerKey, ServerKeys};
use crate::http::public_url::PublicUrl;

/// Bytes of a nonce.
const NONCE: usize = 16;
/// Bytes of what proves it.
const PROOF: usize = 20;
/// What else is derived from the key one day has another text here.
const PURPOSE: &[u8] = b"lessor checkout page\0";

/// The path under which the pages are.
pub(crate) const PATH: &str = "/c";

/// Makes the addresses of checkout pages, and knows tokens again. Cloning it shares the keys.
#[derive(Clone, Debug)]
pub struct CheckoutPageLinks {
    keys: ServerKeys,
    public_url: PublicUrl,
}

/// The address of the page that says that an address without its token opens no checkout.
pub(crate) fn without_token(public_url: &PublicUrl) -> String {
    format!("{}{PATH}", public_url.as_str())
}

impl CheckoutPageLinks {
    /// Pages under this address.
    #[must_use]
    pub const fn new(keys: ServerKeys, public_url: PublicUrl) -> Self {
        Self { keys, public_url }
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

    /// The address for whoever is not shown the checkout's own: a page that says so.
    #[must_use]
    pub fn without_token(&self) -> String {
        without_token(&self.public_url)
    }

    /// The token of the checkout's page.
    pub(crate) fn token(&self, checkout: &Checkout) -> String {
        token(self.keys.first(), &checkout.page_nonce)
    }

    /// What is stored of the tokens of the page of this nonce, one for each key: during a rotation a process
    /// that prefers the other key shows an address that lasts as well.
    #[must_use]
    pub fn hashes(&self, page_nonce: &[u8; NONCE]) -> Vec<[u8; 32]> {
        self.keys
            .all()
            .map(|key| hash(&token(key, page_nonce)))
            .collect()
    }

    /// What a token says. `None` for what cannot be one.
    #[must_use]
    pub fn read(&self, token: &str) -> Option<PageToken> {
        let is_lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if !token.bytes().all(is_lower) {
            return None;
        }
        let mut bytes = [0; NONCE + PROOF];
        hex::decode_to_slice(token, &mut bytes).ok()?;
        let (nonce, proof) = bytes.split_first_chunk::<NONCE>()?;
        let proves = |key| prove(key, nonce).verify_truncated_left(proof).is_ok();
        Some(if self.keys.all().any(proves) {
            PageToken::Proven { nonce: *nonce }
        } else {
            PageToken::Unproven {
                nonce: *nonce,
                hash: hash(token),
            }
        })
    }
}

/// 72 hexadecimal digits.
fn token(key: &ServerKey, nonce: &[u8; NONCE]) -> String {
    let proof = prove(key, nonce).finalize().into_bytes();
    format!("{}{}", hex::encode(nonce), hex::encode(&proof[..PROOF]))
}

fn prove(key: &ServerKey, nonce: &[u8; NONCE]) -> hmac::Hmac<Sha256> {
    let mut mac = key.derive(PURPOSE);
    mac.update(nonce);
    mac
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "an old key of thirty-two letters";
    const NEW: &str = "a new key of more than thirty-two letters";
    const MINE: [u8; NONCE] = [7; NONCE];

    fn links(keys: &str) -> CheckoutPageLinks {
        let keys = keys.parse().unwrap();
        CheckoutPageLinks::new(keys, PublicUrl::new("https://lease.example"))
    }

    fn token_of(links: &CheckoutPageLinks) -> String {
        token(links.keys.first(), &MINE)
    }

    #[test]
    fn only_what_can_be_a_token_is_looked_up() {
        let links = links(OLD);
        let unknown = "0a".repeat(NONCE + PROOF);
        let read = links.read(&unknown);
        assert_eq!(
            read,
            Some(PageToken::Unproven {
                nonce: [0x0a; NONCE],
                hash: hash(&unknown)
            })
        );
        for bad in [
            "",
            "0a",
            &"0A".repeat(NONCE + PROOF),
            &"0g".repeat(NONCE + PROOF),
            &"0a".repeat(NONCE + PROOF + 1),
            &"0".repeat(2 * (NONCE + PROOF) - 1),
        ] {
            assert_eq!(links.read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_token_proves_itself_under_each_key_at_hand() {
        let (old, both, new) = (links(OLD), links(&format!("{NEW},{OLD}")), links(NEW));
        let (before, after) = (token_of(&old), token_of(&both));
        assert_eq!(
            after,
            token_of(&new),
            "the first key is the one that derives"
        );
        assert_ne!(before, after);
        let proven = Some(PageToken::Proven { nonce: MINE });
        let unproven = |token: &str| {
            let hash = hash(token);
            Some(PageToken::Unproven { nonce: MINE, hash })
        };
        assert_eq!(both.read(&before), proven);
        assert_eq!(both.read(&after), proven);
        assert_eq!(new.read(&after), proven);
        assert_eq!(new.read(&before), unproven(&before));
        assert_eq!(old.read(&after), unproven(&after));
    }

    /// Nobody makes a token for another nonce of one that they have.
    #[test]
    fn a_proof_is_of_its_nonce() {
        let links = links(OLD);
        let mut token = token_of(&links);
        token.replace_range(..2, "08");
        assert!(matches!(
            links.read(&token),
            Some(PageToken::Unproven { .. })
        ));
    }
}
