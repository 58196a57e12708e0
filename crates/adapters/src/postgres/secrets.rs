//! Secrets of organizations, which the database keeps sealed under the server's key.

use std::fmt;
use std::sync::Arc;

use lessor_domain::ports::StoreError;

use super::seal::SealingKey;

/// What secrets are sealed with: keys that are derived from the server's, which lies beside the database.
/// Cloning it shares them.
#[derive(Clone, Default)]
pub struct SecretKeys(Arc<[SealingKey]>);

impl SecretKeys {
    /// How many bytes a key has.
    pub const LENGTH: usize = SealingKey::LENGTH;

    /// No key: nothing can be sealed, and nothing opens.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// These keys, the newest first: it seals, and all of them open.
    #[must_use]
    pub fn new(newest_first: impl IntoIterator<Item = [u8; Self::LENGTH]>) -> Self {
        Self(
            newest_first
                .into_iter()
                .map(SealingKey::from_bytes)
                .collect(),
        )
    }

    /// The text, sealed with the newest key. It opens for whoever says the same of what it is about: whose
    /// it is, and what for, so that no row's secret can be put into another row.
    ///
    /// # Errors
    /// [`StoreError::Internal`] when there is no key, which says where one is to be given.
    pub fn seal(&self, about: &[u8], text: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.0.first().ok_or_else(no_key)?.seal(about, text)
    }

    /// The text that was sealed with any of the keys.
    ///
    /// # Errors
    /// [`StoreError::Internal`] when there is no key, or when none opens it.
    pub fn open(&self, about: &[u8], sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        if self.0.is_empty() {
            return Err(no_key());
        }
        self.0
            .iter()
            .find_map(|key| key.open(about, sealed))
            .ok_or_else(|| {
                StoreError::internal(
                    "a stored secret does not open under the server's key: it was sealed under another one \
                     (LESSOR_SERVER_SECRET, `new,old` during a rotation), or was changed",
                )
            })
    }

    /// What was sealed with an older key, sealed with the newest; none where that has it already.
    ///
    /// # Errors
    /// As for [`SecretKeys::open`].
    pub(super) fn renewed(
        &self,
        about: &[u8],
        sealed: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        if self
            .0
            .first()
            .is_some_and(|newest| newest.open(about, sealed).is_some())
        {
            return Ok(None);
        }
        let text = self.open(about, sealed)?;
        self.seal(about, &text).map(Some)
    }
}

fn no_key() -> StoreError {
    StoreError::internal(
        "secrets are sealed under the server's key, which is not here: set LESSOR_SERVER_SECRET, or work where \
         the data directory has the file server.key",
    )
}

impl fmt::Debug for SecretKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKeys({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use lessor_domain::cause::chain;

    use super::*;

    const OLD: [u8; 32] = [1; 32];
    const NEW: [u8; 32] = [2; 32];

    fn text(error: &StoreError) -> String {
        chain(error).to_string()
    }

    #[test]
    fn what_any_key_sealed_opens_while_it_is_there() {
        let (old, both, new) = (
            SecretKeys::new([OLD]),
            SecretKeys::new([NEW, OLD]),
            SecretKeys::new([NEW]),
        );
        let sealed = old.seal(b"it", b"hunter2").unwrap();
        assert_eq!(both.open(b"it", &sealed).unwrap(), b"hunter2");
        assert!(text(&new.open(b"it", &sealed).unwrap_err()).contains("another one"));
        assert!(both.open(b"that", &sealed).is_err());
        let renewed = both.renewed(b"it", &sealed).unwrap().unwrap();
        assert_eq!(new.open(b"it", &renewed).unwrap(), b"hunter2");
        assert_eq!(both.renewed(b"it", &renewed).unwrap(), None);
        assert!(new.renewed(b"it", &sealed).is_err());
        assert!(new.renewed(b"that", &renewed).is_err());
    }

    #[test]
    fn without_a_key_it_is_said_where_one_is_given() {
        let none = SecretKeys::none();
        for error in [
            none.seal(b"it", b"hunter2").unwrap_err(),
            none.open(b"it", b"sealed").unwrap_err(),
        ] {
            let text = text(&error);
            assert!(text.contains("LESSOR_SERVER_SECRET"), "{text}");
        }
    }

    #[test]
    fn keys_are_not_shown() {
        assert_eq!(
            format!("{:?}", SecretKeys::new([OLD, NEW])),
            "SecretKeys(2)"
        );
    }
}
