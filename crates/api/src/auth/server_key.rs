//! The server's key: what every process of an installation derives secrets from.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

/// The fewest characters of a key.
const LEAST: usize = 32;
/// Bytes of a key of HMAC-SHA256; a shorter one is filled up with zeros.
const BLOCK: usize = 64;

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

    /// Every key, the first one first.
    pub fn all(&self) -> impl Iterator<Item = &ServerKey> {
        std::iter::once(&self.first).chain(&self.second)
    }
}

#[cfg(test)]
mod tests {
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
}
