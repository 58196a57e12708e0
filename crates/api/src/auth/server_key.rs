//! The server's key: what every process of an installation derives secrets from.
//!
//! It lies beside the database, never in it: whoever has the tables alone can derive nothing. The
//! database knows a fingerprint of it, by which it is known again and from which it cannot be had.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hmac::{Hmac, Mac as _};
use lessor_adapters::postgres::SecretKeys;
use lessor_domain::ports::Entropy;
use sha2::{Digest as _, Sha256};

/// The fewest characters of a key.
const LEAST: usize = 32;
/// Random bytes of a key that is made here.
const RANDOM: usize = 32;
/// Bytes of a key of HMAC-SHA256; a shorter one is filled up with zeros.
const BLOCK: usize = 64;
/// What is derived for anything else has another text here.
const FINGERPRINT: &[u8] = b"lessor server key fingerprint\0";
/// What organizations' secrets are sealed with.
const SEALING: &[u8] = b"lessor sealed secrets\0";

/// One key. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerKey(Arc<[u8; BLOCK]>);

impl ServerKey {
    fn of(text: &str) -> Self {
        let mut block = [0; BLOCK];
        block[..Sha256::output_size()].copy_from_slice(&Sha256::digest(text));
        Self(Arc::new(block))
    }

    /// Begins to derive what is for this purpose alone.
    pub(crate) fn derive(&self, purpose: &[u8]) -> Hmac<Sha256> {
        let mut mac = <Hmac<Sha256> as hmac::Mac>::new(self.0.as_ref().into());
        mac.update(purpose);
        mac
    }

    /// What the key is known by where it is not kept.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        self.derive(FINGERPRINT).finalize().into_bytes().into()
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerKey(…)")
    }
}

/// The key that everything new is derived under, and during a rotation another one: what was derived
/// under either is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerKeys {
    first: ServerKey,
    second: Option<ServerKey>,
}

/// The text is no key, nor two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must have {LEAST} characters or more; during a rotation two such keys that differ, the new one first, with a comma between"
)]
pub struct InvalidServerKeys;

impl FromStr for ServerKeys {
    type Err = InvalidServerKeys;

    /// Reads one key, or two with a comma between them.
    fn from_str(text: &str) -> Result<Self, InvalidServerKeys> {
        let mut keys = text.split(',').map(|key| {
            let key = key.trim();
            let is_long = key.chars().count() >= LEAST;
            is_long.then(|| ServerKey::of(key)).ok_or(InvalidServerKeys)
        });
        let first = keys.next().ok_or(InvalidServerKeys)??;
        let second = keys.next().transpose()?;
        if keys.next().is_some() || second.as_ref() == Some(&first) {
            return Err(InvalidServerKeys);
        }
        Ok(Self { first, second })
    }
}

impl ServerKeys {
    /// The key that everything new is derived under.
    #[must_use]
    pub const fn first(&self) -> &ServerKey {
        &self.first
    }

    /// The other one, during a rotation.
    #[must_use]
    pub const fn second(&self) -> Option<&ServerKey> {
        self.second.as_ref()
    }

    /// What organizations' secrets are sealed with in the database, derived from every key: what was
    /// sealed under the other one opens too.
    #[must_use]
    pub fn sealing(&self) -> SecretKeys {
        SecretKeys::new(
            self.all()
                .map(|key| key.derive(SEALING).finalize().into_bytes().into()),
        )
    }

    /// Every key, the first one first.
    pub fn all(&self) -> impl Iterator<Item = &ServerKey> {
        std::iter::once(&self.first).chain(&self.second)
    }
}

/// The text of a new key.
#[must_use]
pub fn new_text(entropy: &dyn Entropy) -> String {
    let mut random = [0; RANDOM];
    entropy.fill(&mut random);
    hex::encode(random)
}

#[cfg(test)]
mod tests {
    use lessor_adapters::ambient::SystemEntropy;

    use super::*;

    fn keys(text: &str) -> ServerKeys {
        text.parse().unwrap()
    }

    #[test]
    fn a_text_is_one_key_or_two() {
        let (new, old) = ("n".repeat(32), "ö".repeat(32));
        let one = keys(&format!(" {new}\n"));
        assert_eq!(one, keys(&new));
        assert_eq!(one.all().count(), 1);
        let two = keys(&format!("{new}, {old}"));
        assert_eq!(two.first(), one.first());
        assert_eq!(two.second(), Some(keys(&old).first()));
        assert_eq!(two.all().count(), 2);
        for bad in [
            String::new(),
            "x".repeat(31),
            format!("{new},"),
            format!(",{new}"),
            format!("{new},short"),
            format!("{new},{new}"),
            format!("{new},{old},{new}"),
        ] {
            assert_eq!(bad.parse::<ServerKeys>(), Err(InvalidServerKeys), "{bad}");
        }
    }

    #[test]
    fn keys_are_not_shown() {
        let keys = keys(&format!(
            "{},{}",
            "hunter2-".repeat(5),
            "hunter2_".repeat(5)
        ));
        let shown = format!("{keys:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn a_fingerprint_is_of_its_key_and_not_the_key() {
        let (one, other) = (keys(&"x".repeat(32)), keys(&"y".repeat(32)));
        let fingerprint = one.first().fingerprint();
        assert_eq!(fingerprint, one.clone().first().fingerprint());
        assert_ne!(fingerprint, other.first().fingerprint());
        assert_ne!(fingerprint, one.first().0[..32]);
        // It is stored: another text here would have every database refuse its key.
        assert_eq!(
            hex::encode(fingerprint),
            "9c5319c8ffd6c1838ea2967caf95b52351ae9545c8aede574ec0f4323076c0dd"
        );
    }

    #[test]
    fn what_one_key_sealed_opens_while_it_is_given() {
        let (new, old) = ("n".repeat(32), "o".repeat(32));
        let sealed = keys(&old).sealing().seal(b"it", b"hunter2").unwrap();
        let both = keys(&format!("{new},{old}")).sealing();
        assert_eq!(both.open(b"it", &sealed).unwrap(), b"hunter2");
        assert!(keys(&new).sealing().open(b"it", &sealed).is_err());
        // Links and fingerprints are derived from the same key, and open nothing.
        let fingerprint = SecretKeys::new([keys(&old).first().fingerprint()]);
        assert!(fingerprint.open(b"it", &sealed).is_err());
    }

    #[test]
    fn a_new_key_is_one_that_is_taken() {
        let text = new_text(&SystemEntropy);
        assert!(text.parse::<ServerKeys>().is_ok(), "{text}");
        assert_ne!(text, new_text(&SystemEntropy));
    }
}
