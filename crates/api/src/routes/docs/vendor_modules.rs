//! Scalar, which shows the reference: modules that are built into the binary, compressed.
//!
//! `vendor/update` makes the pack.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::LazyLock;

use actix_web::web::Bytes;
use lzma_rust2::XzReader;
use serde::Deserialize;

use super::SCRIPT;
use super::static_text::StaticText;

const PACK: &[u8] = include_bytes!("vendor/scalar.pack");

/// A line of JSON before what is compressed.
#[derive(Deserialize, Default)]
struct Index {
    version: String,
    /// Names and lengths, in their order.
    files: Vec<(String, usize)>,
}

static INDEX: LazyLock<(Index, &[u8])> = LazyLock::new(|| read(PACK).unwrap_or_default());

/// What a browser that shows the reference asks for: until one does, nothing takes the memory.
static MODULES: LazyLock<HashMap<&str, StaticText>> = LazyLock::new(|| {
    let (index, packed) = &*INDEX;
    unpacked(index, packed).unwrap_or_default()
});

/// The version, which is in the addresses of the modules.
pub(super) fn version() -> &'static str {
    &INDEX.0.version
}

/// The module of the name.
pub(super) fn module(of: &str, name: &str) -> Option<&'static StaticText> {
    if of == version() {
        MODULES.get(name)
    } else {
        None
    }
}

/// What is in a pack, and that still compressed. `None` for what is none.
fn read(pack: &[u8]) -> Option<(Index, &[u8])> {
    let end = pack.iter().position(|&byte| byte == b'\n')?;
    let (index, rest) = pack.split_at(end);
    Some((serde_json::from_slice(index).ok()?, rest.get(1..)?))
}

/// The modules by their names. `None` where they are others than the index says.
fn unpacked<'i>(index: &'i Index, packed: &[u8]) -> Option<HashMap<&'i str, StaticText>> {
    let mut texts = Vec::new();
    XzReader::new(packed, false).read_to_end(&mut texts).ok()?;
    let mut texts = Bytes::from(texts);
    let mut files = HashMap::new();
    for (name, length) in &index.files {
        if *length > texts.len() {
            return None;
        }
        files.insert(
            name.as_str(),
            StaticText::new(SCRIPT, texts.split_to(*length)),
        );
    }
    texts.is_empty().then_some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pack_is_whole() {
        let (index, packed) = read(PACK).unwrap();
        let files = unpacked(&index, packed).unwrap();
        assert!(files.len() > 100);
        assert!(module(version(), "scalar.js").is_some());
        assert!(module("0", "scalar.js").is_none());
        assert!(module(version(), "scalar").is_none());

        assert!(read(b"").is_none());
        assert!(unpacked(&index, &packed[..packed.len() - 1]).is_none());
        for lengths in [&[1, 2][..], &[5], &[3]] {
            let files = lengths.iter().map(|length| (length.to_string(), *length));
            let index = Index {
                files: files.collect(),
                ..Index::default()
            };
            assert!(unpacked(&index, packed).is_none(), "{lengths:?}");
        }
    }
}
