//! SHA-256 (FIPS 180-4), which documents and the record of what was done with them are hashed with.
//!
//! Nothing secret is hashed here.

use std::fmt;
use std::str::FromStr;

/// A SHA-256, `9f86d0…` in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256([u8; 32]);

/// Why a text is no hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a SHA-256: 64 hexadecimal digits")]
pub struct HashError;

impl Sha256 {
    /// The hash of the bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut padded = bytes.to_vec();
        padded.push(0x80);
        while padded.len().checked_rem(BLOCK) != Some(LENGTH_AT) {
            padded.push(0);
        }
        let bits = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        padded.extend(bits.wrapping_mul(8).to_be_bytes());
        let state = padded.chunks_exact(BLOCK).fold(FIRST_STATE, compressed);
        let mut hash = [0_u8; 32];
        for (to, from) in hash
            .iter_mut()
            .zip(state.iter().flat_map(|word| word.to_be_bytes()))
        {
            *to = from;
        }
        Self(hash)
    }

    /// The hash that was stored.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256 {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(HashError);
        }
        let mut hash = [0_u8; 32];
        for (to, pair) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(pair).map_err(|_| HashError)?;
            *to = u8::from_str_radix(digits, 16).map_err(|_| HashError)?;
        }
        Ok(Self(hash))
    }
}

impl TryFrom<&[u8]> for Sha256 {
    type Error = HashError;

    fn try_from(bytes: &[u8]) -> Result<Self, HashError> {
        bytes.try_into().map(Self).map_err(|_| HashError)
    }
}

/// Bytes that are hashed at once.
const BLOCK: usize = 64;
/// Where the length stands in the last of them.
const LENGTH_AT: usize = 56;

const FIRST_STATE: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

#[rustfmt::skip]
const CONSTANTS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// The words that a block is spread to.
fn schedule(block: &[u8]) -> Vec<u32> {
    let mut words: Vec<u32> = block
        .chunks_exact(4)
        .map(|bytes| {
            bytes
                .iter()
                .fold(0, |word, byte| word << 8 | u32::from(*byte))
        })
        .collect();
    while let (Some(&[w16, w15, ..]), Some(&[w7, .., w2, _])) =
        (words.last_chunk::<16>(), words.last_chunk::<7>())
        && words.len() < CONSTANTS.len()
    {
        let s0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
        let s1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
        words.push(w16.wrapping_add(s0).wrapping_add(w7).wrapping_add(s1));
    }
    words
}

fn compressed(state: [u32; 8], block: &[u8]) -> [u32; 8] {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    for (word, constant) in schedule(block).into_iter().zip(CONSTANTS) {
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first = h
            .wrapping_add(s1)
            .wrapping_add(choice)
            .wrapping_add(constant)
            .wrapping_add(word);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(s0).wrapping_add(majority));
    }
    let mut next = state;
    for (sum, part) in next.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *sum = sum.wrapping_add(part);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4's examples, and lengths around the end of a block.
    #[test]
    fn published_examples() {
        let million = vec![b'a'; 1_000_000];
        for (bytes, hash) in [
            (
                &b""[..],
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                b"abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (
                &million,
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            ),
        ] {
            assert_eq!(Sha256::of(bytes).to_string(), hash);
        }
        for (length, hash) in [
            (
                55,
                "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318",
            ),
            (
                56,
                "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a",
            ),
            (
                64,
                "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb",
            ),
        ] {
            assert_eq!(Sha256::of(&vec![b'a'; length]).to_string(), hash);
        }
    }

    #[test]
    fn a_hash_reads_as_it_is_written() {
        let hash = Sha256::of(b"abc");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!(Sha256::try_from(&hash.as_bytes()[..]), Ok(hash));
        for wrong in ["", "00", &"g".repeat(64), &format!("{hash}0")] {
            assert_eq!(wrong.parse::<Sha256>(), Err(HashError), "{wrong}");
        }
        assert_eq!(Sha256::try_from(&[0_u8; 31][..]), Err(HashError));
    }
}
