//! Which file of the pricing imports which.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where its own data is wrong"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The names of the files below a folder, and of the files that each one imports. The faces
/// (`mod.rs`) only hand names on.
fn read(folder: &Path, imports: &mut BTreeMap<String, BTreeSet<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, imports);
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name == "mod" {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        let imported = source
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .flat_map(|line| {
                let near = line.split("super::").skip(1);
                near.chain(line.split("crate::pricing::").skip(1))
            })
            .filter_map(|rest| rest.split_once("::").map(|(file, _)| file.to_owned()))
            .collect();
        imports.insert(name, imported);
    }
}

/// Each file can be read, and moved, with what it imports and without what imports it.
#[test]
fn no_file_imports_one_that_imports_it() {
    let mut imports = BTreeMap::new();
    let pricing = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pricing");
    read(&pricing, &mut imports);
    assert!(imports["plan"].contains("payment") && imports["form"].contains("error"));
    // Whatever imports only what is gone can go: nothing is left but circles and what needs them.
    while let Some(free) = imports.iter().find_map(|(name, imported)| {
        let grounded = imported.iter().all(|file| !imports.contains_key(file));
        grounded.then(|| name.clone())
    }) {
        imports.remove(&free);
    }
    assert!(
        imports.is_empty(),
        "a circle, and what needs it: {imports:?}"
    );
}
