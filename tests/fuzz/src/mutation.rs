//! Changes of inputs by chance, from a seed.

/// What parsers of text stumble over.
const TOKENS: [&[u8]; 36] = [
    b"\0",
    b"\xff",
    b"%",
    b"%00",
    b"%zz",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"=",
    b"&",
    b"+",
    b"-",
    b".",
    b"@",
    b"_",
    b" ",
    b"\r\n",
    b"\t",
    b"0",
    b"1e400",
    b"1e-7",
    b"99999999999999999999999999",
    b"null",
    b"v1,",
    b"v1=",
    b"t=",
    // ä, a mark that turns the order of letters, a joiner.
    b"\xc3\xa4",
    b"\xe2\x80\xae",
    b"\xe2\x80\x8d",
];
/// The longest input, in bytes.
const LONGEST: usize = 2_048;
/// The longest range that is taken away or doubled, in bytes.
const RANGE: usize = 24;

/// Changes inputs. The same seed makes the same changes.
#[derive(Clone, Debug)]
pub struct Mutator {
    state: u64,
}

impl Mutator {
    /// One that begins here.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// SplitMix64.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound; 0 where there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX);
        let number = self.draw().checked_rem(bound).unwrap_or_default();
        usize::try_from(number).unwrap_or_default()
    }

    /// The input with one to four changes, one of which may bring the end of another input.
    #[must_use]
    pub fn change(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = input.to_vec();
        for _ in 0..=self.below(4) {
            self.change_once(&mut bytes, other);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change_once(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let end = bytes.len().saturating_add(1);
        let at = self.below(end);
        let length = self.below(RANGE.min(bytes.len().saturating_sub(at)).saturating_add(1));
        let range = at..at.saturating_add(length);
        match self.below(6) {
            0 => {
                let bit = self.below(8);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            1 => {
                let another = self.below(bytes.len());
                let byte = bytes.get(another).copied().unwrap_or_default();
                if let Some(place) = bytes.get_mut(at) {
                    *place = byte;
                }
            }
            2 => {
                let token = TOKENS.get(self.below(TOKENS.len())).copied();
                drop(bytes.splice(at..at, token.unwrap_or_default().iter().copied()));
            }
            3 => drop(bytes.drain(range)),
            4 => {
                let doubled = bytes.get(range).unwrap_or_default().to_vec();
                drop(bytes.splice(at..at, doubled));
            }
            _ => {
                let from = self.below(other.len().saturating_add(1));
                bytes.truncate(at);
                bytes.extend_from_slice(other.get(from..).unwrap_or_default());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_changes() {
        let changes = |seed| {
            let mut mutator = Mutator::new(seed);
            let changed = |_| mutator.change(b"name=value", b"another=one");
            (0..50).map(changed).collect::<Vec<_>>()
        };
        assert_eq!(changes(1), changes(1));
        assert_ne!(changes(1), changes(2));
    }
}
