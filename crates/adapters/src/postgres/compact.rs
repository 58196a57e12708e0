//! What is much alike from row to row, in less room.
//!
//! What is sealed looks like chance, which the database cannot make smaller, and most of what is shown of a checkout are
//! names of its members. Whoever writes a row pays for every byte: it is sealed, sent, read by the server's lexer, laid
//! into the table and into the log.

use lz4_flex::block::{
    compress_prepend_size_with_dict, decompress_size_prepended_with_dict, uncompressed_size,
};

/// Which of the dictionaries a text was made smaller by.
const FIRST: u8 = 1;
/// What a checkout and a customer look like. It stays as it is: what was written with it is read with it. A better one
/// would be a second.
const LIKE: &[u8] = include_bytes!("../../assets/events/first.txt");

/// The text, smaller where it is like what most are.
pub(super) fn compact(text: &[u8]) -> Vec<u8> {
    let mut compact = vec![FIRST];
    compact.append(&mut compress_prepend_size_with_dict(text, LIKE));
    compact
}

/// The text; none of what nobody made smaller.
pub(super) fn unfold(compact: &[u8]) -> Option<Vec<u8>> {
    let (dictionary, rest) = compact.split_first()?;
    if *dictionary != FIRST {
        return None;
    }
    let (size, _) = uncompressed_size(rest).ok()?;
    let text = decompress_size_prepended_with_dict(rest, LIKE).ok()?;
    // What lacks its end may read as a shorter text.
    (text.len() == size).then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_made_smaller_is_the_same_again(text: Vec<u8>) {
            prop_assert_eq!(unfold(&compact(&text)), Some(text));
        }

        #[test]
        fn a_piece_of_what_it_is_like_is_the_same_again(
            from in any::<prop::sample::Index>(),
            to in any::<prop::sample::Index>(),
            more in ".{0,40}",
        ) {
            let (from, to) = (from.index(LIKE.len()), to.index(LIKE.len()));
            let mut text = LIKE[from.min(to)..from.max(to)].to_vec();
            text.extend_from_slice(more.as_bytes());
            prop_assert_eq!(unfold(&compact(&text)), Some(text));
        }
    }

    /// What a size says is made room for before it is read: it is what was sealed, nobody else can say it.
    #[test]
    fn what_nobody_made_smaller_is_nothing() {
        let whole = compact(b"{\"id\":\"cus_1\",\"name\":\"Ada Lovelace\"}");
        for part in 0..whole.len() {
            assert_eq!(unfold(&whole[..part]), None, "{part}");
        }
        let mut other = whole.clone();
        other[0] += 1;
        assert_eq!(unfold(&other), None, "of another dictionary");
    }
}
