//! How an API key looks, how it is made and how junk is told from it.
//!
//! `lsk_live_` or `lsk_sandbox_` (secret), `lpk_live_` or `lpk_sandbox_` (publishable), 32 base-62 digits of the system's random numbers (190 bits), and
//! six base-62 digits of checksum. The checksum is the CRC-32 (IEEE 802.3) of the ASCII text before
//! it, most significant digit first. The alphabet is `0-9A-Za-z`, that of the public ids.
//!
//! The checksum keeps no secret: it tells a key from a typing error, or from whatever else a client
//! sends, before anything is looked up. Only the SHA-256 of the whole text is stored.

use std::fmt;

use lessor_domain::access::{KeyHash, KeyKind, Mode};
use lessor_domain::ids::BASE62;
use lessor_domain::ports::Entropy;
use sha2::{Digest as _, Sha256};

/// Random digits of a key.
const SECRET_DIGITS: usize = 32;
/// Digits of its checksum: 62⁶ is more than 2³².
const CHECKSUM_DIGITS: usize = 6;
/// Characters of a key by which people tell it from others.
const HINT_LENGTH: usize = 4;

const fn prefix(kind: KeyKind, mode: Mode) -> &'static str {
    match (kind, mode) {
        (KeyKind::Secret, Mode::Live) => "lsk_live_",
        (KeyKind::Secret, Mode::Sandbox) => "lsk_sandbox_",
        (KeyKind::Publishable, Mode::Live) => "lpk_live_",
        (KeyKind::Publishable, Mode::Sandbox) => "lpk_sandbox_",
    }
}

/// The text of an API key, of right form. It may be a secret: `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyText {
    text: String,
    kind: KeyKind,
    mode: Mode,
}

impl KeyText {
    /// A new key of the kind for the mode.
    #[must_use]
    pub fn mint(entropy: &dyn Entropy, kind: KeyKind, mode: Mode) -> Self {
        let mut text = prefix(kind, mode).to_owned();
        let mut left = SECRET_DIGITS;
        while left > 0 {
            let mut bytes = [0; SECRET_DIGITS];
            entropy.fill(&mut bytes);
            // 248 is the largest multiple of 62 in a byte: beyond it some digits would be likelier.
            for byte in bytes.into_iter().filter(|byte| *byte < 248).take(left) {
                text.push(char::from(BASE62[usize::from(byte % 62)]));
                left -= 1;
            }
        }
        text.push_str(&checksum(&text));
        Self { text, kind, mode }
    }

    /// The key, when the text has the form of one and its checksum is right.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut forms = KeyKind::ALL
            .iter()
            .flat_map(|kind| Mode::ALL.map(|mode| (*kind, mode)));
        let (kind, mode, digits) = forms.find_map(|(kind, mode)| {
            let digits = text.strip_prefix(prefix(kind, mode))?;
            Some((kind, mode, digits))
        })?;
        let fits = digits.len() == SECRET_DIGITS + CHECKSUM_DIGITS
            && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let (before, given) = text.split_at_checked(text.len().checked_sub(CHECKSUM_DIGITS)?)?;
        (fits && checksum(before) == given).then(|| Self {
            text: text.to_owned(),
            kind,
            mode,
        })
    }

    /// What is stored of the key.
    #[must_use]
    pub fn hash(&self) -> KeyHash {
        KeyHash(Sha256::digest(self.text.as_bytes()).into())
    }

    /// The key's last characters, which may be shown.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.text[self.text.len() - HINT_LENGTH..]
    }

    /// Whom the key says it may be shown to.
    #[must_use]
    pub const fn kind(&self) -> KeyKind {
        self.kind
    }

    /// The mode that the key says it is of.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The key itself, for the one time that it is shown.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "KeyText({}…{})",
            prefix(self.kind, self.mode),
            self.hint()
        )
    }
}

fn checksum(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes());
    let mut digits = [BASE62[0]; CHECKSUM_DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    digits.map(char::from).iter().collect()
}

#[cfg(test)]
mod tests {
    use lessor_adapters::ambient::SystemEntropy;

    use super::*;

    #[test]
    fn minted_keys_are_read_back() {
        for (kind, mode, begin) in [
            (KeyKind::Secret, Mode::Live, "lsk_live_"),
            (KeyKind::Secret, Mode::Sandbox, "lsk_sandbox_"),
            (KeyKind::Publishable, Mode::Live, "lpk_live_"),
            (KeyKind::Publishable, Mode::Sandbox, "lpk_sandbox_"),
        ] {
            let key = KeyText::mint(&SystemEntropy, kind, mode);
            assert!(key.reveal().starts_with(begin), "{key:?}");
            assert_eq!(KeyText::parse(key.reveal()), Some(key.clone()));
            assert_eq!((key.kind(), key.mode()), (kind, mode));
            assert!(key.reveal().ends_with(key.hint()));
            assert!(!format!("{key:?}").contains(key.reveal()));
            assert_ne!(KeyText::mint(&SystemEntropy, kind, mode), key);
        }
    }

    /// The form is a promise to those who scan for leaked keys.
    #[test]
    fn the_checksum_is_the_crc_32_of_what_stands_before_it() {
        // CRC-32 of "123456789" is the check value of the algorithm, 0xCBF43926.
        assert_eq!(crc32fast::hash(b"123456789"), 0xCBF4_3926);
        assert_eq!(checksum("123456789"), "3jZRME");
    }

    #[test]
    fn every_wrong_character_is_noticed() {
        let key = KeyText::mint(&SystemEntropy, KeyKind::Secret, Mode::Live);
        let text = key.reveal();
        for index in 0..text.len() {
            let mut bytes = text.as_bytes().to_vec();
            bytes[index] = if bytes[index] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(bytes).unwrap();
            assert_eq!(KeyText::parse(&changed), None, "{index}");
        }
        for junk in [
            "",
            "lsk_live_",
            "Bearer",
            &text[1..],
            &text[..text.len() - 1],
            &format!("{text}0"),
            &format!("{text} "),
            "lsk_live_äääääääääääääääääää",
        ] {
            assert_eq!(KeyText::parse(junk), None, "{junk}");
        }
    }

    /// Bytes of 248 and above would make the first digits of the alphabet likelier.
    #[test]
    fn bytes_that_would_bias_the_digits_are_drawn_again() {
        struct HighThenLow(std::sync::atomic::AtomicBool);
        impl Entropy for HighThenLow {
            fn fill(&self, bytes: &mut [u8]) {
                let low = self.0.swap(true, std::sync::atomic::Ordering::Relaxed);
                for (index, byte) in (0_u8..).zip(bytes) {
                    *byte = if low { 61 } else { 240 + index % 16 };
                }
            }
        }
        let key = KeyText::mint(&HighThenLow(false.into()), KeyKind::Secret, Mode::Live);
        let digits = &key.reveal()["lsk_live_".len()..][..SECRET_DIGITS];
        // 240 to 247 twice, which are the digits of 54 to 61; then 61s.
        assert_eq!(digits, format!("{0}{0}{1}", "stuvwxyz", "z".repeat(16)));
    }
}
