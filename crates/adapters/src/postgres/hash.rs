//! Hashes of what is too long or too private to be a key itself.

use sha2::{Digest, Sha256};

/// SHA-256 of the parts. Each is preceded by its length, so that no two lists of
/// parts are the same bytes; `label` keeps apart what is hashed for different ends.
pub(crate) fn of_parts(label: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in std::iter::once(label.as_bytes()).chain(parts.iter().copied()) {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_one_part_ends_matters() {
        let hash = |parts: &[&[u8]]| of_parts("test", parts);
        assert_eq!(hash(&[b"a", b"b"]), hash(&[b"a", b"b"]));
        assert_ne!(hash(&[b"ab", b""]), hash(&[b"a", b"b"]));
        assert_ne!(hash(&[b"a"]), hash(&[b"a", b""]));
        assert_ne!(of_parts("one", &[b"a"]), of_parts("two", &[b"a"]));
    }
}
