//! Every file of the corpus, and so many changes of them, through every target.
//!
//! A file whose name begins with `valid` is taken, one that begins with `refused` is not; any other may be either.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says where it stopped"
)]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use lessor_fuzz::mutation::Mutator;
use lessor_fuzz::{TARGETS, Target};

/// Where the changes begin.
const SEED: u64 = 0x1E55_0124;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Whether the target takes the input. Says which one it was that it cannot have.
fn run(target: &Target, origin: &str, input: &[u8]) -> bool {
    let ran = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    ran.unwrap_or_else(|_| {
        let name = target.name;
        panic!("{name}, {origin}: \"{}\"", input.escape_ascii())
    })
}

fn walk(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let folder = here("corpus").join(name);
    let mut corpus = Vec::new();
    for file in names(&folder) {
        let input = fs::read(folder.join(&file)).unwrap();
        let taken = run(target, &file, &input);
        match file.split('-').next() {
            Some("valid") => assert!(taken, "{name}/{file} is refused"),
            Some("refused") => assert!(!taken, "{name}/{file} is taken"),
            _ => {}
        }
        corpus.push((file, input));
    }
    assert!(corpus.len() >= 12, "{name}: {}", corpus.len());
    let mut mutator = Mutator::new(SEED);
    for _ in 0..target.changes {
        let [one, other] = [(); 2].map(|()| &corpus[mutator.below(corpus.len())]);
        let input = mutator.change(&one.1, &other.1);
        run(target, &format!("a change of {}", one.0), &input);
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test] fn $name() { walk(stringify!($name)); })*

        /// None is forgotten here, or by `cargo-fuzz`, whose programs nobody compiles here.
        #[test]
        fn every_target_is_run() {
            let known = TARGETS.map(|target| target.name);
            assert_eq!(known.as_slice(), [$(stringify!($name)),*]);
            assert_eq!(names(&here("corpus")), known);
            let programs = known.map(|name| format!("{name}.rs"));
            assert_eq!(names(&here("cargo-fuzz/fuzz_targets")), programs);
            let manifest = fs::read_to_string(here("cargo-fuzz/Cargo.toml")).unwrap();
            for name in known {
                let program = here("cargo-fuzz/fuzz_targets").join(format!("{name}.rs"));
                let program = fs::read_to_string(program).unwrap();
                assert!(program.contains(&format!("lessor_fuzz::{name}::run(data)")), "{name}");
                let path = format!("path = \"fuzz_targets/{name}.rs\"");
                assert!(manifest.contains(&path), "{name}");
            }
        }
    };
}

targets! {
    amount body email form page_token phone processor_signature public_id query standard_webhooks tracking_number
}
