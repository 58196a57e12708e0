//! Which server to run: installed binaries first, then the bundled ones.

use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::account::Account;
use crate::layout::Layout;
use crate::{Error, Progress, Settings, bundle, process};

/// The oldest major version that has what is asked of it: `recovery_init_sync_method`, `initdb --no-instructions`.
pub(crate) const OLDEST_MAJOR: u32 = 14;

/// A version of PostgreSQL: `15.14`, `18beta1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    minor: u32,
    text: String,
}

impl Version {
    /// Of `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`.
    fn parse(line: &str) -> Option<Self> {
        let text = line
            .split_once("(PostgreSQL) ")?
            .1
            .split_whitespace()
            .next()?;
        let digits = |text: &str| -> Option<u32> {
            let end = text
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(text.len());
            text[..end].parse().ok()
        };
        Some(Self {
            major: digits(text)?,
            minor: text
                .split_once('.')
                .and_then(|(_, minor)| digits(minor))
                .unwrap_or(0),
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A folder with a `postgres` and an `initdb` that run here.
#[derive(Debug, Clone)]
pub(crate) struct Binaries {
    dir: PathBuf,
    pub(crate) version: Version,
    /// Where the bundled programs have their libraries; installed ones find theirs.
    libraries: Option<PathBuf>,
}

impl Binaries {
    /// Asks the server in this folder for its version, as the account that is to run it.
    pub(crate) fn probe(
        dir: &Path,
        libraries: Option<&Path>,
        account: Option<&Account>,
    ) -> Result<Self, String> {
        for program in ["postgres", "initdb"] {
            if !dir.join(program).is_file() {
                return Err(format!("there is no {program} in it"));
            }
        }
        let mut found = Self {
            dir: dir.to_owned(),
            version: Version {
                major: 0,
                minor: 0,
                text: String::new(),
            },
            libraries: libraries.map(Path::to_owned),
        };
        let output = found
            .command("postgres", account)
            .arg("--version")
            .output()
            .map_err(|error| match (error.kind(), account) {
                (io::ErrorKind::PermissionDenied, Some(account)) => {
                    format!(
                        "user {} (PostgreSQL does not run as root) may not run it",
                        account.name
                    )
                }
                _ => format!("it does not run: {error}"),
            })?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "it does not run: {}",
                process::tail(errors.trim(), 500)
            ));
        }
        let line = String::from_utf8_lossy(&output.stdout);
        found.version = Version::parse(&line)
            .ok_or_else(|| format!("it is not a PostgreSQL server: {}", line.trim()))?;
        Ok(found)
    }

    /// One of its programs.
    pub(crate) fn command(&self, program: &str, account: Option<&Account>) -> Command {
        let mut command = process::command(&self.dir.join(program), account);
        if let Some(libraries) = &self.libraries {
            process::prepend_library_path(&mut command, libraries);
            // The bundled initdb would look for ICU data, which the cluster here does not use.
            command.env("OLIPHAUNT_INTERNAL_SKIP_ICU_DISCOVERY", "1");
        }
        command
    }

    /// Chooses the server: of the major version that wrote the existing data, else the newest.
    pub(crate) fn find(
        settings: &Settings,
        layout: &Layout,
        wanted: Option<u32>,
        account: Option<&Account>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        progress(Progress::LookingForBinaries);
        if let Some(dir) = &settings.bin_dir {
            let unusable = |reason| Error::BinDir {
                dir: dir.clone(),
                reason,
            };
            let dir = fs::canonicalize(dir).map_err(|error| unusable(error.to_string()))?;
            let found = Self::probe(&dir, None, account).map_err(unusable)?;
            return found.accept(layout, wanted);
        }
        Installed::look(account).choose(layout, wanted, || {
            bundle::provide(layout, account, progress)
        })
    }

    fn accept(self, layout: &Layout, wanted: Option<u32>) -> Result<Self, Error> {
        match wanted {
            Some(wanted) if wanted != self.version.major => Err(Error::ForeignVersion {
                data: layout.data(),
                wanted,
                found: self.version.to_string(),
            }),
            None if self.version.major < OLDEST_MAJOR => Err(Error::BinDir {
                dir: self.dir,
                reason: format!(
                    "PostgreSQL {} is too old, {OLDEST_MAJOR} is the oldest that serves",
                    self.version
                ),
            }),
            _ => Ok(self),
        }
    }
}

/// What is installed on this machine.
struct Installed {
    found: Vec<Binaries>,
    /// Folders that hold a server that cannot be used, and why.
    refused: Vec<String>,
}

/// Where distributions put the programs, as `<folder>/<any name beginning so><rest>`.
const PLACES: [(&str, &str, &str); 7] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
    ("/opt/homebrew/opt", "postgresql", "bin"),
    ("/usr/local/opt", "postgresql", "bin"),
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql", "bin"),
    ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
    ("/usr/libexec", "postgresql", ""),
];

impl Installed {
    fn look(account: Option<&Account>) -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut candidates: Vec<PathBuf> = env::split_paths(&path)
            .map(|dir| dir.join("postgres"))
            // A link in the path leads to the folder where initdb is, too.
            .filter_map(|program| fs::canonicalize(program).ok())
            .filter_map(|program| Some(program.parent()?.to_owned()))
            .collect();
        for (folder, prefix, rest) in PLACES {
            let Ok(entries) = fs::read_dir(folder) else {
                continue;
            };
            candidates.extend(
                entries
                    .flatten()
                    .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
                    .filter_map(|entry| fs::canonicalize(entry.path().join(rest)).ok()),
            );
        }
        let mut seen = BTreeSet::new();
        candidates.retain(|dir| dir.join("postgres").is_file() && seen.insert(dir.clone()));

        let mut installed = Self {
            found: Vec::new(),
            refused: Vec::new(),
        };
        for dir in candidates {
            match Binaries::probe(&dir, None, account) {
                Ok(found) if found.version.major < OLDEST_MAJOR => installed.refused.push(format!(
                    "{}: PostgreSQL {} is older than {OLDEST_MAJOR}",
                    dir.display(),
                    found.version
                )),
                Ok(found) => installed.found.push(found),
                Err(reason) => installed
                    .refused
                    .push(format!("{}: {reason}", dir.display())),
            }
        }
        installed
    }

    /// The newest installed server, of the wanted major version if one is wanted; else the bundled one.
    fn choose(
        self,
        layout: &Layout,
        wanted: Option<u32>,
        bundled: impl FnOnce() -> Result<Binaries, Error>,
    ) -> Result<Binaries, Error> {
        if let Some(best) = self.best(wanted) {
            return Ok(best.clone());
        }
        let bundled = match wanted {
            Some(wanted) if wanted != bundle::MAJOR => Err(Error::Bundle(format!(
                "version {} does not read the data of version {wanted}",
                bundle::VERSION
            ))),
            _ => bundled(),
        };
        match (bundled, wanted) {
            (Ok(found), _) => found.accept(layout, wanted),
            (Err(_), Some(wanted)) if !self.found.is_empty() => Err(Error::ForeignVersion {
                data: layout.data(),
                wanted,
                found: self.versions(),
            }),
            (Err(reason), _) => Err(Error::NoServer {
                searched: self.describe(),
                bundle: reason.to_string(),
            }),
        }
    }

    fn best(&self, wanted: Option<u32>) -> Option<&Binaries> {
        self.found
            .iter()
            .filter(|found| wanted.is_none_or(|wanted| found.version.major == wanted))
            // The first of equals: the one in the path.
            .rev()
            .max_by(|a, b| a.version.cmp(&b.version))
    }

    fn versions(&self) -> String {
        let versions: Vec<String> = self
            .found
            .iter()
            .map(|found| found.version.to_string())
            .collect();
        versions.join(", ")
    }

    fn describe(&self) -> String {
        let refused = if self.refused.is_empty() {
            String::new()
        } else {
            format!(" (not usable: {})", self.refused.join("; "))
        };
        format!(
            "none installed in PATH, /usr/lib/postgresql/*/bin, /usr/pgsql-*/bin, Homebrew or Postgres.app{refused}"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Binaries, Installed, Version};
    use crate::Error;
    use crate::layout::Layout;

    #[test]
    fn versions_are_read_and_ordered() {
        let parse = |line: &str| Version::parse(line);
        let debian = parse("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n").unwrap();
        assert_eq!(
            (debian.major, debian.minor, debian.to_string().as_str()),
            (15, 14, "15.14")
        );
        let newer_minor = parse("postgres (PostgreSQL) 15.9").unwrap();
        assert!(newer_minor < debian);
        let beta = parse("postgres (PostgreSQL) 18beta1").unwrap();
        assert_eq!((beta.major, beta.minor), (18, 0));
        assert!(beta > debian);
        assert_eq!(parse("bash 5.2"), None);
    }

    fn binaries(dir: &str, version: &str) -> Binaries {
        Binaries {
            dir: PathBuf::from(dir),
            version: Version::parse(&format!("postgres (PostgreSQL) {version}")).unwrap(),
            libraries: None,
        }
    }

    fn installed(found: &[(&str, &str)]) -> Installed {
        Installed {
            found: found
                .iter()
                .map(|(dir, version)| binaries(dir, version))
                .collect(),
            refused: vec!["/usr/pgsql-12/bin: PostgreSQL 12.1 is older than 14".to_owned()],
        }
    }

    fn choose(
        found: &[(&str, &str)],
        wanted: Option<u32>,
        bundled: Result<Binaries, Error>,
    ) -> Result<String, Error> {
        let layout = Layout {
            root: PathBuf::from("/db"),
        };
        installed(found)
            .choose(&layout, wanted, || bundled)
            .map(|chosen| chosen.dir.display().to_string())
    }

    fn no_bundle() -> Result<Binaries, Error> {
        Err(Error::Bundle("glibc is too old".to_owned()))
    }

    #[test]
    fn the_newest_serves_a_new_cluster_and_the_first_of_equals() {
        let found = [
            ("/a", "15.9"),
            ("/path", "17.2"),
            ("/b", "17.2"),
            ("/c", "17.1"),
        ];
        assert_eq!(choose(&found, None, no_bundle()).unwrap(), "/path");
    }

    #[test]
    fn an_existing_cluster_gets_its_own_major_version() {
        let found = [("/a", "15.9"), ("/b", "15.14"), ("/c", "17.2")];
        assert_eq!(choose(&found, Some(15), no_bundle()).unwrap(), "/b");
        let bundled = Ok(binaries("/bundled", "18.4"));
        assert_eq!(choose(&found, Some(18), bundled).unwrap(), "/bundled");
    }

    #[test]
    fn the_bundled_one_serves_where_none_is_installed() {
        let bundled = Ok(binaries("/bundled", "18.4"));
        assert_eq!(choose(&[], None, bundled).unwrap(), "/bundled");
    }

    #[test]
    fn a_cluster_of_a_version_that_is_not_at_hand_is_refused() {
        let refused = choose(&[("/a", "15.9"), ("/c", "17.2")], Some(16), no_bundle()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the data in /db/data belongs to PostgreSQL 16, and only 15.9, 17.2 is at hand: install PostgreSQL 16, \
             or dump and restore into another --data-dir"
        );
    }

    #[test]
    fn where_there_is_no_server_at_all_the_error_says_what_was_tried_and_what_to_do() {
        let refused = choose(&[], None, no_bundle()).unwrap_err().to_string();
        for part in [
            "/usr/lib/postgresql",
            "PostgreSQL 12.1 is older than 14",
            "glibc is too old",
            "apt-get install postgresql",
            "brew install postgresql",
            "DATABASE_URL",
        ] {
            assert!(refused.contains(part), "{part} is not in: {refused}");
        }
    }
}
