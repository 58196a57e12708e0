//! Scalar, which shows the reference: modules that are built into the binary, compressed.
//!
//! `vendor/update` makes the pack.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::static_text::StaticText;

const PACK: &[u8] = include_bytes!("vendor/scalar.pack");

#[derive(Deserialize)]
struct Index {
    version: String,
    files: Vec<(String, usize)>,
}

/// The modules, and the version that is in their addresses.
pub(super) struct VendorModules {
    pub(super) version: String,
    files: HashMap<String, StaticText>,
}

impl VendorModules {
    /// The module of the name.
    pub(super) fn module(&self, version: &str, name: &str) -> Option<&StaticText> {
        self.files.get(name).filter(|_| version == self.version)
    }
}

/// The pack, read once.
pub(super) static SCALAR: LazyLock<VendorModules> = LazyLock::new(|| {
    read(PACK).unwrap_or_else(|| VendorModules {
        version: String::new(),
        files: HashMap::new(),
    })
});

/// Reads a pack: a line of JSON, then the files. `None` for what is none.
fn read(pack: &'static [u8]) -> Option<VendorModules> {
    let end = pack.iter().position(|&byte| byte == b'\n')?;
    let (index, rest) = pack.split_at(end);
    let index: Index = serde_json::from_slice(index).ok()?;
    let mut rest = rest.get(1..)?;
    let mut files = HashMap::new();
    for (name, length) in index.files {
        let (file, others) = rest.split_at_checked(length)?;
        rest = others;
        files.insert(
            name,
            StaticText::packed("text/javascript; charset=utf-8", file),
        );
    }
    rest.is_empty().then_some(VendorModules {
        version: index.version,
        files,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pack_is_whole() {
        let pack = read(PACK).unwrap();
        assert!(pack.files.len() > 100);
        assert!(pack.module(&pack.version, "scalar.js").is_some());
        assert!(pack.module("0", "scalar.js").is_none());
        assert!(read(b"{\"version\":\"1\",\"files\":[[\"a\",3]]}\nab").is_none());
    }
}
