//! The script that makes what is published of a version, tried on a copy of this tree with the program that is tested.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use super::judges::{Stage, judged, said, skip};
use super::*;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const PROGRAM: &str = env!("CARGO_BIN_EXE_lessor");

/// A repository with what there is here, committed.
struct Tree(Stage);

impl Tree {
    /// None where the programs of the script are not installed, or this is no repository.
    fn of_this() -> Option<Self> {
        for program in ["git", "jq", "strip", "sha256sum"] {
            judged(program, &["--version"])?;
        }
        let root = root();
        let list = [
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ];
        let listed = Command::new("git").args(list).current_dir(&root).output();
        let listed = listed.unwrap();
        if !listed.status.success() {
            skip(&format!("a release: {}", said(&listed).trim_end()));
            return None;
        }
        let copy = Self(Stage::new("release"));
        let names = String::from_utf8(listed.stdout).unwrap();
        // What was deleted and not committed is listed too.
        for name in names
            .split_terminator('\0')
            .filter(|it| root.join(it).is_file())
        {
            let to = copy.path().join(name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(root.join(name), to).unwrap();
        }
        copy.git(&["init", "--quiet"]);
        copy.commit();
        Some(copy)
    }

    fn path(&self) -> &Path {
        &self.0.0
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        let git = git
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(["-c", "commit.gpgSign=false"])
            .args(arguments);
        let told = git.current_dir(self.path()).output().unwrap();
        assert!(told.status.success(), "{arguments:?}: {}", said(&told));
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "t"]);
    }

    fn release(&self, out: &str, program: &str) -> Output {
        let script = self.path().join(FOLDER).join("release");
        let mut run = Command::new(script);
        // From anywhere, and with folders as they are seen from there.
        run.current_dir(std::env::temp_dir());
        run.args(["--out", out, "--binary", program])
            .output()
            .unwrap()
    }

    fn refused(&self, program: &str, why: &str) {
        let out = self.path().with_extension("refused");
        let told = self.release(&out.to_string_lossy(), program);
        assert_eq!(told.status.code(), Some(1), "{why}: {}", said(&told));
        assert!(said(&told).contains(why), "{why}: {}", said(&told));
        assert!(!out.exists(), "{why}");
    }
}

/// What a tool says of the folder, which is good.
fn told(program: &str, arguments: &[&str], folder: &Path) -> String {
    let mut run = Command::new(program);
    let output = run.args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{program}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Sees to it that the document has what the format wants of it, and names what is linked and nothing else.
fn check_parts(document: &Value) {
    assert_eq!(document["bomFormat"], "CycloneDX");
    assert_eq!(document["specVersion"], "1.5");
    let serial = document["serialNumber"].as_str().unwrap();
    let serial = serial.strip_prefix("urn:uuid:").unwrap();
    assert!(
        uuid::Uuid::try_parse(serial).is_ok() && serial.len() == 36,
        "{serial}"
    );
    let at = document["metadata"]["timestamp"].as_str().unwrap();
    assert!(chrono::DateTime::parse_from_rfc3339(at).is_ok(), "{at}");
    let whole = &document["metadata"]["component"];
    assert_eq!(
        (&whole["name"], &whole["version"]),
        (&"lessor".into(), &VERSION.into())
    );
    let parts = document["components"].as_array().unwrap();
    let lock = read("Cargo.lock");
    let mut names = BTreeSet::new();
    let mut refs = BTreeSet::from([whole["bom-ref"].as_str().unwrap()]);
    for part in parts {
        let text = |name: &str| {
            part[name]
                .as_str()
                .unwrap_or_else(|| panic!("{name}: {part}"))
        };
        assert_eq!(text("type"), "library");
        assert_eq!(
            text("purl"),
            format!("pkg:cargo/{}@{}", text("name"), text("version"))
        );
        assert!(refs.insert(text("bom-ref")), "{part} is there twice");
        names.insert(text("name"));
        let licence = &part["licenses"][0];
        assert!(licence["expression"].is_string() || licence["license"]["name"].is_string());
        // Our own crates are not from a registry.
        if let Some(hash) = part["hashes"][0]["content"].as_str() {
            let locked = format!(
                "name = \"{}\"\nversion = \"{}\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
                 checksum = \"{hash}\"\n",
                text("name"),
                text("version")
            );
            assert!(lock.contains(&locked), "{locked}");
        } else {
            assert!(text("name").starts_with("lessor-"), "{part}");
        }
    }
    for linked in ["actix-web", "diesel-async", "lessor-domain", "listenfd"] {
        assert!(names.contains(linked), "{linked}");
    }
    // What tests use, what compiles the rest, and what is for other systems.
    for other in [
        "rcgen",
        "proptest",
        "diesel_derives",
        "windows-sys",
        "yaml-rust2",
    ] {
        assert!(!names.contains(other), "{other}");
    }
    let edges = document["dependencies"].as_array().unwrap();
    assert_eq!(edges.len(), refs.len());
    let mut reached = BTreeSet::new();
    for edge in edges {
        assert!(refs.contains(edge["ref"].as_str().unwrap()), "{edge}");
        for on in edge["dependsOn"].as_array().unwrap() {
            reached.insert(on.as_str().unwrap());
        }
    }
    // Everything is there since something needs it, but for the whole.
    reached.insert(whole["bom-ref"].as_str().unwrap());
    assert_eq!(reached, refs);
}

#[test]
fn a_build_by_what_was_counted_says_what_it_lacks() {
    let script = root().join(FOLDER).join("build");
    let programs = Stage::new("compiler");
    let path = format!("{}:/usr/bin:/bin", programs.0.display());
    let refused = |arguments: &[&str], why: &str| {
        let mut run = Command::new(&script);
        let run = run.args(arguments).env("PATH", &path);
        let told = run.env("CARGO_TARGET_DIR", &programs.0).output().unwrap();
        assert_eq!(told.status.code(), Some(1), "{why}: {}", said(&told));
        assert!(said(&told).contains(why), "{why}: {}", said(&told));
    };
    refused(&["--fast"], "there is no --fast");
    // Not after an hour, when it would be built.
    refused(&["lessor-besiege"], "there is no lessor-besiege");
    // A compiler without the tools of its LLVM, and nobody who has them.
    for (name, text) in [
        ("cargo", "#!/bin/sh\nexit 3\n"),
        ("rustup", "#!/bin/sh\n"),
        (
            "rustc",
            "#!/bin/sh\n[ \"$1\" = -vV ] && echo host: here || echo /nowhere/lib\n",
        ),
    ] {
        let file = programs.0.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    refused(&[], "rustup component add llvm-tools");
}

#[test]
fn a_release_is_made_of_what_is_committed() {
    let Some(copy) = Tree::of_this() else { return };
    let changelog = copy.path().join("CHANGELOG.md");
    let write = |heading: &str| {
        let text = format!(
            "# Changelog\n\n## Unreleased\n\n- Not yet.\n\n## {heading}\n\n- Said [here](docs/OPERATIONS.md).\n\n\
             ## 0.0.1\n\n- Before.\n"
        );
        fs::write(&changelog, text).unwrap();
    };
    write("0.0.2");
    copy.refused(PROGRAM, "not committed");
    copy.commit();
    copy.refused(PROGRAM, &format!("CHANGELOG.md has nothing of {VERSION}"));
    write(&format!("{VERSION} - 2026-01-02"));
    copy.commit();
    copy.refused("/bin/echo", "/bin/echo is not lessor");

    let outs = Stage::new("released");
    let (first, second) = (outs.0.join("first"), outs.0.join("second"));
    for out in [&first, &second] {
        // From the folder that the script is run in.
        let out = out.strip_prefix(std::env::temp_dir()).unwrap();
        let made = copy.release(&out.to_string_lossy(), PROGRAM);
        assert!(made.status.success(), "{}", said(&made));
    }
    let again = copy.release(&first.to_string_lossy(), PROGRAM);
    assert!(said(&again).contains("is not empty"), "{}", said(&again));
    let sums = fs::read_to_string(first.join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), 3, "{sums}");
    assert_eq!(fs::read_to_string(second.join("SHA256SUMS")).unwrap(), sums);
    told("sha256sum", &["--check", "--strict", "SHA256SUMS"], &first);

    let notes = fs::read_to_string(first.join(format!("lessor-{VERSION}.md"))).unwrap();
    let repository = env!("CARGO_PKG_REPOSITORY");
    let said_here = format!("- Said [here]({repository}/blob/v{VERSION}/docs/OPERATIONS.md).");
    assert_eq!(notes.trim_end(), said_here);

    let archive = sums
        .split_whitespace()
        .find(|it| it.ends_with(".tar.gz"))
        .unwrap();
    let name = archive.strip_suffix(".tar.gz").unwrap();
    told("tar", &["--extract", "--file", archive], &first);
    let folder = first.join(name);
    for file in [
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "CHANGELOG.md",
        "systemd/lessor.service",
        "systemd/lessor.socket",
        "systemd/lessor-worker.service",
        "systemd/lessor.toml",
        "completions/lessor.bash",
        "completions/_lessor",
        "completions/lessor.fish",
        "man/man1/lessor.1",
        "man/man1/lessor-serve.1",
    ] {
        let length = fs::metadata(folder.join(file)).map(|it| it.len());
        assert!(
            length.as_ref().is_ok_and(|it| *it > 0),
            "{file}: {length:?}"
        );
    }
    let program = folder.join("lessor");
    let said = told(&program.to_string_lossy(), &["--version"], &first);
    assert_eq!(said.trim(), format!("lessor {VERSION}"));
    let length = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(
        length(&program) < length(Path::new(PROGRAM)),
        "it is not stripped"
    );

    let parts = fs::read_to_string(first.join(format!("{name}.cdx.json"))).unwrap();
    check_parts(&serde_json::from_str(&parts).unwrap());
}
