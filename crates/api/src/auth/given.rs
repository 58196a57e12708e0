//! The key that a request gives.

use std::cell::RefCell;

use actix_web::HttpRequest;
use actix_web::http::header::{AUTHORIZATION, HeaderValue};
use lessor_domain::access::{KeyHash, KeyKind};
use subtle::ConstantTimeEq as _;

use super::keys::KeyText;

/// Bytes that are compared at once.
const WORD: usize = size_of::<u64>();

/// What a key is looked up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GivenKey {
    /// Whom it says it may be shown to.
    pub(crate) kind: KeyKind,
    pub(crate) hash: KeyHash,
}

impl GivenKey {
    /// That of the one bearer token of the request; none where its form is not that of a key.
    pub(crate) fn of(request: &HttpRequest) -> Option<Self> {
        let mut given = request.headers().get_all(AUTHORIZATION);
        let (Some(only), None) = (given.next(), given.next()) else {
            return None;
        };
        match request.conn_data::<LastKey>() {
            Some(last) => last.read(only),
            None => Self::read(only),
        }
    }

    fn read(header: &HeaderValue) -> Option<Self> {
        let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
        let is_bearer = scheme.eq_ignore_ascii_case("bearer");
        let key = KeyText::parse(token.trim_matches(' ')).filter(|_| is_bearer)?;
        Some(Self {
            kind: key.kind(),
            hash: key.hash(),
        })
    }
}

/// The header that gave a connection's last key, and what was read of it. Connection data: most who ask ask again by the same
/// key, and to read and hash it is a tenth of what a price takes, where the processor has no instructions for SHA-256.
#[derive(Default)]
pub(crate) struct LastKey(RefCell<Option<(Box<[u8]>, GivenKey)>>);

impl LastKey {
    fn read(&self, header: &HeaderValue) -> Option<GivenKey> {
        let Self(last) = self;
        let mut last = last.borrow_mut();
        // A proxy's connection is of many clients: how much is alike is not told by how long it takes.
        let is_same = |(of, _): &&(Box<[u8]>, _)| is_same(of, header.as_bytes());
        if let Some((_, key)) = last.as_ref().filter(is_same) {
            return Some(*key);
        }
        let key = GivenKey::read(header)?;
        *last = Some((header.as_bytes().into(), key));
        Some(key)
    }
}

/// Whether two texts are the same, in a time that only their lengths tell. By the word: each comparison is hidden from the
/// compiler, and costs as much for a byte.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let (words, rest) = one.as_chunks::<WORD>();
    let (other_words, other_rest) = other.as_chunks::<WORD>();
    let words = words.iter().zip(other_words);
    let all = words.fold(rest.ct_eq(other_rest), |all, (one, other)| {
        all & u64::from_ne_bytes(*one).ct_eq(&u64::from_ne_bytes(*other))
    });
    one.len() == other.len() && bool::from(all)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use lessor_adapters::ambient::SystemEntropy;
    use lessor_domain::access::Mode;

    use super::*;

    fn given(headers: &[String]) -> Option<GivenKey> {
        let request = TestRequest::default();
        let request = headers.iter().fold(request, |request, header| {
            request.append_header((AUTHORIZATION, header.as_str()))
        });
        GivenKey::of(&request.to_http_request())
    }

    #[test]
    fn it_is_that_of_one_bearer_token() {
        let key = KeyText::mint(&SystemEntropy, KeyKind::Publishable, Mode::Live);
        let text = key.reveal();
        let bearer = format!("Bearer {text}");
        for good in [bearer.clone(), format!("bearer  {text} ")] {
            let (kind, hash) = (KeyKind::Publishable, key.hash());
            assert_eq!(given(&[good]), Some(GivenKey { kind, hash }));
        }
        for bad in [
            &[] as &[String],
            &[text.to_owned()],
            &[format!("Basic {text}")],
            &["Bearer".to_owned()],
            &[format!("Bearer {text}x")],
            &[bearer.clone(), bearer.clone()],
        ] {
            assert_eq!(given(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn texts_are_the_same_to_the_last_byte() {
        for length in [0, 1, 7, 8, 9, 60] {
            let text = vec![b'a'; length];
            assert!(is_same(&text, &text.clone()), "{length}");
            for place in 0..length {
                let mut other = text.clone();
                other[place] = b'b';
                assert!(!is_same(&text, &other), "{length} {place}");
            }
            let longer = [&text[..], b"a"].concat();
            assert!(!is_same(&text, &longer) && !is_same(&longer, &text));
            let longer = [&text[..], b"\0"].concat();
            assert!(!is_same(&text, &longer) && !is_same(&longer, &text));
        }
    }

    #[test]
    fn a_connection_may_have_another_key_each_time() {
        let [one, other] = [(); 2].map(|()| {
            let key = KeyText::mint(&SystemEntropy, KeyKind::Secret, Mode::Sandbox);
            let header = HeaderValue::from_str(&format!("Bearer {}", key.reveal())).unwrap();
            (header, Some(key.hash()))
        });
        let junk = (HeaderValue::from_static("Bearer junk"), None);
        let last = LastKey::default();
        for (header, hash) in [&one, &one, &other, &junk, &other, &one, &junk] {
            assert_eq!(last.read(header).map(|key| key.hash), *hash);
        }
    }
}
