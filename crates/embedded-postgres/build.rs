//! Packs the bundled server: the files of the payload crate that a server needs, each verified, each different content
//! once, as one compressed stream beside a list of names and SHA-256 sums.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rustc-check-cfg=cfg(has_payload)");
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "bundled")]
    pack::pack()?;
    Ok(())
}

#[cfg(feature = "bundled")]
mod pack {
    use std::collections::HashSet;
    use std::env;
    use std::error::Error;
    use std::fmt::Write as _;
    use std::fs::{self, File};
    use std::io::Write as _;
    use std::path::PathBuf;

    use lzma_rust2::filter::FilterType;
    use lzma_rust2::{XzOptions, XzWriter};
    use sha2::{Digest, Sha256};

    /// A window of 16 MiB, which is what unpacking takes of memory; a wider one would save nothing.
    const PRESET: u32 = 7;

    /// One file that the payload crate's manifest lists.
    #[derive(Default)]
    struct Listed {
        source: String,
        relative: String,
        sha256: String,
        executable: bool,
    }

    /// Does nothing on platforms for which there is no payload crate.
    pub(super) fn pack() -> Result<(), Box<dyn Error>> {
        let Some(manifest) = env::vars().find_map(|(name, value)| {
            let ours = name.starts_with("DEP_OLIPHAUNT_ARTIFACT_LIBOLIPHAUNT_NATIVE_")
                && name.ends_with("_MANIFEST");
            ours.then_some(value)
        }) else {
            return Ok(());
        };
        println!("cargo::rerun-if-changed={manifest}");
        let files = read_manifest(&fs::read_to_string(&manifest)?)?;

        let out = PathBuf::from(env::var("OUT_DIR")?);
        let mut list = String::new();
        let mut packed = HashSet::new();
        let mut stream = XzWriter::new(File::create(out.join("payload.xz"))?, options())?;
        for file in files.iter().filter(|file| is_needed(&file.relative)) {
            let content = fs::read(&file.source)?;
            let sum = Sha256::digest(&content);
            let sum = sum
                .iter()
                .fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
            if sum != file.sha256 {
                return Err(
                    format!("{}: its SHA-256 is {sum}, not {}", file.source, file.sha256).into(),
                );
            }
            let mode = if file.executable { "x" } else { "-" };
            writeln!(list, "{sum} {} {mode} {}", content.len(), file.relative)?;
            if packed.insert(sum) {
                stream.write_all(&content)?;
            }
        }
        stream.finish()?;
        fs::write(out.join("payload.list"), list)?;
        println!("cargo::rustc-cfg=has_payload");
        Ok(())
    }

    /// Calls of the programs are written down from the start of their file, so that those of one function look alike.
    fn options() -> XzOptions {
        let mut options = XzOptions::with_preset(PRESET);
        let calls = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
            Ok("x86_64") => Some(FilterType::BcjX86),
            Ok("aarch64") => Some(FilterType::BcjArm64),
            _ => None,
        };
        if let Some(calls) = calls {
            options.prepend_pre_filter(calls, 0);
        }
        options
    }

    /// What `initdb` and `postgres` need at run time, and the licences. The payload also carries an in-process build, a
    /// client library for embedded SQL, headers and `pg_ctl`.
    fn is_needed(relative: &str) -> bool {
        let server = relative.starts_with("runtime/")
            && relative != "runtime/bin/pg_ctl"
            && !relative.starts_with("runtime/lib/libecpg")
            && !relative.starts_with("runtime/lib/libpgtypes")
            && !converts_east_asian(relative);
        server || relative.starts_with("THIRD_PARTY_") || relative == "LICENSE"
    }

    /// Whether it converts between UTF-8, in which databases are made, and what East Asia wrote in before: their tables are
    /// two megabytes.
    fn converts_east_asian(relative: &str) -> bool {
        let Some(module) = relative.strip_prefix("runtime/lib/postgresql/") else {
            return false;
        };
        let encodings = ["big5", "euc", "gb18030", "gbk", "johab", "sjis", "uhc"];
        encodings.iter().any(|encoding| module.contains(encoding))
    }

    /// Reads `[[files]]` tables of one `key = value` in each line, which is all that the manifest has.
    fn read_manifest(text: &str) -> Result<Vec<Listed>, Box<dyn Error>> {
        let mut files: Vec<Listed> = Vec::new();
        for line in text.lines() {
            if line == "[[files]]" {
                files.push(Listed::default());
            }
            let (Some(file), Some((key, value))) = (files.last_mut(), line.split_once(" = "))
            else {
                continue;
            };
            match key {
                "source" => file.source = unquote(value)?,
                "relative" => file.relative = unquote(value)?,
                "sha256" => file.sha256 = unquote(value)?,
                "executable" => file.executable = value.parse()?,
                _ => {
                    return Err(
                        format!("the payload's manifest has an unknown line: {line}").into(),
                    );
                }
            }
        }
        if files.is_empty() {
            return Err("the payload's manifest lists no files".into());
        }
        Ok(files)
    }

    fn unquote(value: &str) -> Result<String, Box<dyn Error>> {
        let inner = value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'))
            .ok_or_else(|| format!("not a quoted value: {value}"))?;
        let mut text = String::new();
        let mut characters = inner.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some(escaped @ ('\\' | '"' | '\'')) => text.push(escaped),
                    other => {
                        return Err(
                            format!("an escape that is not known: {other:?} in {value}").into()
                        );
                    }
                },
                plain => text.push(plain),
            }
        }
        Ok(text)
    }
}
