//! What nobody reads without its key: sealed with AES-256-GCM.

use lessor_domain::ports::{Entropy as _, StoreError};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::error::Unspecified;
use ring::hmac;

use crate::ambient::SystemEntropy;

/// What is derived for anything else has another text here.
const MARKS: &[u8] = b"lessor marks\0";

/// What texts are sealed with. Whoever has it not, or not any more, has nothing of them.
#[derive(Clone)]
pub(super) struct SealingKey([u8; Self::LENGTH]);

impl SealingKey {
    /// How many bytes it has.
    pub(super) const LENGTH: usize = 32;

    /// A new one.
    pub(super) fn random() -> Self {
        let mut bytes = [0; Self::LENGTH];
        SystemEntropy.fill(&mut bytes);
        Self(bytes)
    }

    /// One that was kept.
    pub(super) const fn from_bytes(bytes: [u8; Self::LENGTH]) -> Self {
        Self(bytes)
    }

    /// Its bytes, to be kept.
    pub(super) const fn as_bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }

    fn cipher(&self) -> Result<LessSafeKey, Unspecified> {
        UnboundKey::new(&AES_256_GCM, &self.0).map(LessSafeKey::new)
    }

    /// The text, sealed: a nonce by chance, and what the cipher makes of the text. It opens for whoever says
    /// the same of what it is about. Chance suffices for 2³² texts of a key.
    ///
    /// # Errors
    /// [`StoreError::Internal`] of a text of 64 GiB and more.
    pub(super) fn seal(&self, about: &[u8], text: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut nonce = [0; NONCE_LEN];
        SystemEntropy.fill(&mut nonce);
        let mut sealed = nonce.to_vec();
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.cipher()
            .and_then(|cipher| cipher.seal_in_place_append_tag(nonce, Aad::from(about), &mut text))
            .map_err(|Unspecified| StoreError::internal("a text could not be sealed"))?;
        sealed.append(&mut text);
        Ok(sealed)
    }

    /// What the text is known again by: HMAC-SHA256 of it and of what it is about, under a key that is derived
    /// for nothing else.
    pub(super) fn mark(&self, about: &[u8], text: &[u8]) -> Vec<u8> {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &self.0), MARKS);
        let key = hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref());
        let mut mark = hmac::Context::with_key(&key);
        for part in [about, &[0], text] {
            mark.update(part);
        }
        mark.sign().as_ref().to_vec()
    }

    /// The text; none where it was sealed with another key, about something else, or was changed.
    pub(super) fn open(&self, about: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut rest = rest.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let cipher = self.cipher().ok()?;
        let text = cipher
            .open_in_place(nonce, Aad::from(about), &mut rest)
            .ok()?;
        Some(text.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_sealed_opens_for_its_key_and_what_it_is_about(
            key: [u8; SealingKey::LENGTH],
            about: [u8; 16],
            text: Vec<u8>,
        ) {
            let key = SealingKey::from_bytes(key);
            let sealed = key.seal(&about, &text).unwrap();
            prop_assert_eq!(key.open(&about, &sealed), Some(text));
            let mut other = about;
            other[0] ^= 1;
            prop_assert_eq!(key.open(&other, &sealed), None);
            let mut other = *key.as_bytes();
            other[31] ^= 1;
            prop_assert_eq!(SealingKey::from_bytes(other).open(&about, &sealed), None);
        }

        #[test]
        fn what_was_changed_does_not_open(
            place in any::<prop::sample::Index>(),
            bit in 0_u8..8,
        ) {
            let key = SealingKey::random();
            let mut sealed = key.seal(b"it", b"Ada Lovelace").unwrap();
            let place = place.index(sealed.len());
            sealed[place] ^= 1 << bit;
            prop_assert_eq!(key.open(b"it", &sealed), None);
        }

        #[test]
        fn what_nobody_sealed_does_not_open(sealed: Vec<u8>) {
            prop_assert_eq!(SealingKey::random().open(b"it", &sealed), None);
        }
    }

    /// Case 14 of the test vectors that the mode was published with.
    #[test]
    fn it_is_the_cipher_that_it_is_said_to_be() {
        let text = "cea7403d4d606b6e074ec5d3baf39d18";
        let tag = "d0d1c8a799996bf0265b98b5d48ab919";
        let nonce = "00".repeat(NONCE_LEN);
        let sealed = hex::decode(format!("{nonce}{text}{tag}")).unwrap();
        let key = SealingKey::from_bytes([0; SealingKey::LENGTH]);
        assert_eq!(key.open(b"", &sealed), Some(vec![0; 16]));
    }

    #[test]
    fn the_same_text_is_never_sealed_to_the_same() {
        let key = SealingKey::random();
        let seal = || key.seal(b"it", b"Ada Lovelace").unwrap();
        let (first, second) = (seal(), seal());
        assert_ne!(first, second);
        let nonce = |sealed: &[u8]| sealed.first_chunk::<NONCE_LEN>().copied();
        assert_ne!(nonce(&first), nonce(&second));
        assert!(!first.windows(3).any(|part| part == b"Ada"));
        let (key, other) = (SealingKey::random(), SealingKey::random());
        assert_ne!(key.as_bytes(), other.as_bytes());
    }
}
