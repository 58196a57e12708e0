//! Where a process has the server's key from: what `LESSOR_SERVER_SECRET` says, else a file in the data
//! directory, which the first start on a database makes.
//!
//! The database says which key it is to be, by a fingerprint. A process without that key does not start:
//! the addresses that it would show lead nowhere on the other machines, and theirs lead nowhere here.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use chrono::SecondsFormat;
use lessor_adapters::postgres::{KnownServerKey, PgDatabase};
use lessor_domain::ports::{Clock, Entropy};

use crate::auth::server_key::{ServerKey, ServerKeys, new_text};
use crate::run::config::Config;

/// The file's name in the data directory.
const FILE: &str = "server.key";
/// The setting that beats the file.
const SETTING: &str = "server_secret";
/// Where a key is that is not here.
const WHERE: &str = "it is in the file server.key in the data directory of the machine that first started on this \
                     database, unless LESSOR_SERVER_SECRET is set there";

/// The keys of a process that serves or works on this database, whose tables are there.
///
/// # Errors
/// There is no key here, or not the database's; the file cannot be read or made, or others can read it.
pub async fn obtain(
    config: &Config,
    database: &PgDatabase,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> anyhow::Result<ServerKeys> {
    // Before the file is looked for, since it is there before the database knows of it.
    let known = database.server_key().await?;
    let given = config.server_secret.as_ref();
    let file = KeyFile::of(&config.data_dir)?;
    let made = given.is_none() && known.is_none() && file.make(entropy)?;
    let (keys, place) = match given {
        Some(keys) => (keys.clone(), config.origin(SETTING).unwrap_or(SETTING)),
        None => match file.read()? {
            Some(keys) => (keys, &*file.0.to_string_lossy()),
            None => anyhow::bail!(
                "the database was made under a server key that is not here: set LESSOR_SERVER_SECRET to it, or \
                 copy it to {}; {WHERE}",
                file.0.display()
            ),
        },
    };
    let replaced = keys.second().map(ServerKey::fingerprint);
    let decided = database
        .put_under_server_key(keys.first().fingerprint(), replaced, clock.now())
        .await?;
    if let Some(refusal) = refusal(&keys, place, &decided) {
        if made {
            // It is the key of nothing, and would only be taken for one.
            file.remove()?;
        }
        anyhow::bail!(refusal);
    }
    match known {
        None if given.is_none() => tracing::warn!(
            "the server key of this installation is in {place}: keep a copy, apart from those of the database, \
             and give it to every other machine that serves or works on this database"
        ),
        Some(known) if known.fingerprint != decided.fingerprint => {
            tracing::info!("the server key was replaced by the first one of {place}");
        }
        _ => {}
    }
    Ok(keys)
}

/// The keys of a command: those that are set, else those of the file, where there is one.
///
/// # Errors
/// The file cannot be read, or others can read it.
pub fn at_hand(config: &Config) -> anyhow::Result<Option<ServerKeys>> {
    match &config.server_secret {
        Some(keys) => Ok(Some(keys.clone())),
        None => KeyFile::of(&config.data_dir)?.read(),
    }
}

/// Why these keys are not for the database.
fn refusal(keys: &ServerKeys, place: &str, known: &KnownServerKey) -> Option<String> {
    let has = |fingerprint| keys.all().any(|key| key.fingerprint() == fingerprint);
    if has(known.fingerprint) {
        // The other order is that of a process which comes late, or early, in a rotation.
        None
    } else if known.former.is_some_and(has) {
        Some(format!(
            "the server key of {place} is the one that the database had before {}, and it has another now: \
             give this machine the new one, as the others have it",
            known.since.to_rfc3339_opts(SecondsFormat::Secs, true)
        ))
    } else {
        Some(format!(
            "the database was made under another server key than that of {place}: {WHERE}"
        ))
    }
}

/// The file that holds what `LESSOR_SERVER_SECRET` would say.
struct KeyFile(PathBuf);

impl KeyFile {
    fn of(data_dir: &Path) -> anyhow::Result<Self> {
        let data_dir = std::path::absolute(data_dir).context("the data directory")?;
        Ok(Self(data_dir.join(FILE)))
    }

    /// What it holds; none where there is no such file.
    fn read(&self) -> anyhow::Result<Option<ServerKeys>> {
        let shown = self.0.display();
        let mut text = String::new();
        let opened = File::open(&self.0).and_then(|mut file| {
            file.read_to_string(&mut text)?;
            file.metadata()
        });
        let metadata = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.with_context(|| format!("cannot read {shown}"))?,
        };
        // Mended here, nobody would hear of it; and somebody may have read it already.
        let mode = metadata.permissions().mode() & 0o777;
        anyhow::ensure!(
            mode & 0o077 == 0,
            "{shown} is open to others (mode {mode:04o}): `chmod 600` it, and replace the key if somebody read it"
        );
        let keys = text.parse().with_context(|| shown.to_string())?;
        Ok(Some(keys))
    }

    /// Makes it with a new key, whole or not at all, unless it is there. Answers whether it was made now:
    /// of processes that come at the same time one makes it.
    fn make(&self, entropy: &dyn Entropy) -> anyhow::Result<bool> {
        self.try_make(entropy).with_context(|| {
            format!(
                "cannot make {}, which LESSOR_SERVER_SECRET would stand in for",
                self.0.display()
            )
        })
    }

    fn try_make(&self, entropy: &dyn Entropy) -> io::Result<bool> {
        if self.0.exists() {
            return Ok(false);
        }
        let folder = self.0.parent().unwrap_or(Path::new("/"));
        // The embedded database's user has to pass through.
        DirBuilder::new()
            .mode(0o755)
            .recursive(true)
            .create(folder)?;
        let mut random = [0; 8];
        entropy.fill(&mut random);
        let draft = folder.join(format!("{FILE}.{}", hex::encode(random)));
        // It gets its name when it is whole and on the disk; a name that is taken is refused.
        let linked =
            write_new(&draft, &new_text(entropy)).and_then(|()| fs::hard_link(&draft, &self.0));
        // What is left of it is no key of anything.
        let _ = fs::remove_file(&draft);
        match linked {
            Ok(()) => File::open(folder)?.sync_all().map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn remove(&self) -> anyhow::Result<()> {
        fs::remove_file(&self.0).with_context(|| format!("cannot remove {}", self.0.display()))
    }
}

/// Writes a new file that only its owner can read.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use lessor_adapters::ambient::SystemEntropy;

    use super::*;

    const OLD: &str = "an old key of thirty-two letters";
    const NEW: &str = "a new key of more than thirty-two letters";

    /// A data directory that goes with the value; it is not there yet.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("lessor-key-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        fn file(&self) -> KeyFile {
            KeyFile::of(&self.0.join("data")).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_file_is_made_once_and_for_its_owner_alone() {
        let folder = Folder::new("made");
        let file = folder.file();
        assert_eq!(file.read().unwrap(), None);
        assert!(file.make(&SystemEntropy).unwrap());
        assert_eq!(mode(&file.0), 0o600);
        let keys = file.read().unwrap();
        assert!(keys.is_some());
        assert!(!file.make(&SystemEntropy).unwrap());
        assert_eq!(file.read().unwrap(), keys);
        // What it holds is what the variable would say.
        let text = fs::read_to_string(&file.0).unwrap();
        assert_eq!(text.trim().len(), 64);
        assert_eq!(text.trim().parse().ok(), keys);
        fs::write(&file.0, format!("{NEW},{OLD}\n")).unwrap();
        let both = format!("{NEW},{OLD}").parse().unwrap();
        assert_eq!(file.read().unwrap(), Some(both));
        file.remove().unwrap();
        assert_eq!(file.read().unwrap(), None);
    }

    #[test]
    fn of_those_who_make_the_file_at_once_one_does_and_all_read_the_same() {
        let folder = Folder::new("race");
        for round in 0..20 {
            let file = KeyFile::of(&folder.0.join(round.to_string())).unwrap();
            let barrier = std::sync::Barrier::new(8);
            let outcomes: Vec<_> = std::thread::scope(|scope| {
                let starters: Vec<_> = (0..8)
                    .map(|_| {
                        scope.spawn(|| {
                            barrier.wait();
                            (file.make(&SystemEntropy).unwrap(), file.read().unwrap())
                        })
                    })
                    .collect();
                starters
                    .into_iter()
                    .map(|starter| starter.join().unwrap())
                    .collect()
            });
            assert_eq!(outcomes.iter().filter(|(made, _)| *made).count(), 1);
            let keys = file.read().unwrap();
            assert!(keys.is_some());
            assert!(outcomes.iter().all(|(_, read)| *read == keys));
            let left: Vec<_> = fs::read_dir(file.0.parent().unwrap()).unwrap().collect();
            assert_eq!(left.len(), 1, "{left:?}");
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_and_left_alone() {
        let folder = Folder::new("mode");
        let file = folder.file();
        file.make(&SystemEntropy).unwrap();
        for wide in [0o640, 0o604, 0o620, 0o644] {
            fs::set_permissions(&file.0, fs::Permissions::from_mode(wide)).unwrap();
            let refused = file.read().unwrap_err().to_string();
            assert!(refused.contains("chmod 600"), "{refused}");
            assert!(refused.contains(&format!("{wide:04o}")), "{refused}");
            assert_eq!(mode(&file.0), wide);
        }
        for narrow in [0o400, 0o600] {
            fs::set_permissions(&file.0, fs::Permissions::from_mode(narrow)).unwrap();
            assert!(file.read().unwrap().is_some());
        }
    }

    #[test]
    fn what_is_no_key_is_refused_by_its_place_and_not_shown() {
        let folder = Folder::new("short");
        let file = folder.file();
        file.make(&SystemEntropy).unwrap();
        fs::write(&file.0, "hunter2").unwrap();
        let refused = format!("{:#}", file.read().unwrap_err());
        assert!(
            refused.contains("server.key: must have 32 characters"),
            "{refused}"
        );
        assert!(!refused.contains("hunter2"), "{refused}");
        // A folder that cannot be one.
        let below = KeyFile::of(&file.0.join("below")).unwrap();
        let refused = format!("{:#}", below.make(&SystemEntropy).unwrap_err());
        assert!(refused.contains("LESSOR_SERVER_SECRET"), "{refused}");
    }

    #[test]
    fn the_key_that_the_database_is_under_is_wanted() {
        let keys = |text: &str| text.parse::<ServerKeys>().unwrap();
        let fingerprint = |text: &str| keys(text).first().fingerprint();
        let first = KnownServerKey {
            fingerprint: fingerprint(OLD),
            former: None,
            since: DateTime::UNIX_EPOCH,
        };
        let rotated = KnownServerKey {
            fingerprint: fingerprint(NEW),
            former: Some(fingerprint(OLD)),
            since: DateTime::UNIX_EPOCH,
        };
        let (forth, back) = (format!("{NEW},{OLD}"), format!("{OLD},{NEW}"));
        for (text, known, why) in [
            (OLD, &first, None),
            (NEW, &first, Some("another server key than that of HERE")),
            (NEW, &rotated, None),
            (OLD, &rotated, Some("had before 1970-01-01T00:00:00Z")),
            // Whoever has both has the right one.
            (&*forth, &rotated, None),
            (&*back, &rotated, None),
            (&*back, &first, None),
        ] {
            let refused = refusal(&keys(text), "HERE", known);
            assert_eq!(refused.is_some(), why.is_some(), "{text}: {refused:?}");
            let refused = refused.unwrap_or_default();
            assert!(refused.contains(why.unwrap_or_default()), "{refused}");
            assert!(!refused.contains('\n'), "{refused}");
        }
    }
}
