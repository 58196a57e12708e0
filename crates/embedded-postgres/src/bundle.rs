//! The bundled server, for machines that have none: native PostgreSQL programs, carried in this program.
//!
//! They come from the `liboliphaunt-native-…` crates, of which only the programs and their data are taken (see
//! `build.rs`). They need glibc 2.38 on Linux, and come without extensions and without what converts encodings of East
//! Asia. Every file's SHA-256 is verified when it is unpacked, and again at every start.

use crate::account::Account;
use crate::binaries::Binaries;
use crate::layout::Layout;
use crate::{Error, Progress};

/// The version of the bundled server.
pub(crate) const VERSION: &str = "18.4";
/// Its major version.
pub(crate) const MAJOR: u32 = 18;

/// The bundled server, unpacked.
#[cfg(has_payload)]
pub(crate) fn provide(
    layout: &Layout,
    account: Option<&Account>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Binaries, Error> {
    payload::check_libc()?;
    let runtime = payload::unpacked(layout, progress)?.join("runtime");
    Binaries::probe(&runtime.join("bin"), Some(&runtime.join("lib")), account)
        .map_err(Error::Bundle)
}

/// The bundled server, of which there is none.
#[cfg(not(has_payload))]
pub(crate) fn provide(
    _layout: &Layout,
    _account: Option<&Account>,
    _progress: &mut dyn FnMut(Progress),
) -> Result<Binaries, Error> {
    let reason = if cfg!(feature = "bundled") {
        "there is none for this platform"
    } else {
        "this program was built without it (cargo feature `bundled-postgres`)"
    };
    Err(Error::Bundle(reason.to_owned()))
}

#[cfg(has_payload)]
mod payload {
    use std::collections::HashMap;
    use std::fs::{self, File, OpenOptions, Permissions};
    use std::io::{self, Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use lzma_rust2::XzReader;
    use sha2::{Digest, Sha256};

    use super::VERSION;
    use crate::layout::{Layout, create_passable_dir, remove_dir, sync_dir};
    use crate::{Error, Progress};

    /// One line for each file: SHA-256, size, `x` or `-`, path.
    const LIST: &str = include_str!(concat!(env!("OUT_DIR"), "/payload.list"));
    /// Every different content once, in the order of the list.
    const STREAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/payload.xz"));

    const FOLDER_PREFIX: &str = "bundled-";
    /// The oldest glibc that has every symbol that the programs ask for.
    const OLDEST_GLIBC: (u32, u32) = (2, 38);

    struct Entry {
        sha256: &'static str,
        size: u64,
        executable: bool,
        path: &'static str,
    }

    fn entries() -> Result<Vec<Entry>, Error> {
        LIST.lines()
            .map(|line| {
                let mut fields = line.splitn(4, ' ');
                let mut field = || fields.next();
                let entry = field().zip(field()).zip(field()).zip(field());
                let (((sha256, size), mode), path) = entry?;
                let size = size.parse().ok()?;
                Some(Entry {
                    sha256,
                    size,
                    executable: mode == "x",
                    path,
                })
            })
            .collect::<Option<_>>()
            .ok_or_else(|| Error::Bundle("its list of files cannot be read".to_owned()))
    }

    /// Refuses before anything is unpacked where the programs cannot run. Where the version of the C library is not
    /// known, the programs themselves are asked later.
    pub(super) fn check_libc() -> Result<(), Error> {
        if !cfg!(target_os = "linux") {
            return Ok(());
        }
        let Some(found) = glibc_version() else {
            return Ok(());
        };
        if found < OLDEST_GLIBC {
            let ((major, minor), (needed_major, needed_minor)) = (found, OLDEST_GLIBC);
            return Err(Error::Bundle(format!(
                "version {VERSION} needs glibc {needed_major}.{needed_minor}, this system has {major}.{minor}"
            )));
        }
        Ok(())
    }

    pub(super) fn glibc_version() -> Option<(u32, u32)> {
        let output = Command::new("getconf")
            .arg("GNU_LIBC_VERSION")
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
        let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// The folder of the unpacked files, every one of them verified. Unpacks them when they are missing or changed.
    pub(super) fn unpacked(
        layout: &Layout,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<PathBuf, Error> {
        let entries = entries()?;
        let identity = hex(&Sha256::digest(LIST));
        let name = format!("{FOLDER_PREFIX}{VERSION}-{}", &identity[..12]);
        let folder = layout.root.join(&name);
        if folder.exists() {
            match verify(&folder, &entries) {
                Ok(()) => return Ok(folder),
                Err(error) => tracing::warn!(%error, "the unpacked PostgreSQL is unpacked anew"),
            }
        }
        progress(Progress::Unpacking { version: VERSION });
        // Whatever was unpacked before; no server runs on it, since this process holds the server's lock.
        for entry in fs::read_dir(&layout.root)
            .map_err(Error::io("read", &layout.root))?
            .flatten()
        {
            if entry
                .file_name()
                .to_string_lossy()
                .starts_with(FOLDER_PREFIX)
            {
                remove_dir(&entry.path())?;
            }
        }
        let unfinished = layout.root.join(format!("{name}.unfinished"));
        unpack(&unfinished, &entries)?;
        fs::rename(&unfinished, &folder).map_err(Error::io("rename", &unfinished))?;
        sync_dir(&layout.root)?;
        Ok(folder)
    }

    fn unpack(folder: &Path, entries: &[Entry]) -> Result<(), Error> {
        let mut stream = XzReader::new(STREAM, false);
        let mut written: HashMap<&str, PathBuf> = HashMap::new();
        for entry in entries {
            let path = folder.join(entry.path);
            if let Some(parent) = path.parent() {
                create_passable_dir(parent).map_err(Error::io("create", parent))?;
            }
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&path)
                .map_err(Error::io("create", &path))?;
            let sum = match written.get(entry.sha256) {
                Some(same) => {
                    let mut same = File::open(same).map_err(Error::io("open", same))?;
                    copy_hashing(&mut same, &mut file)
                }
                None => copy_hashing(&mut (&mut stream).take(entry.size), &mut file),
            }
            .map_err(Error::io("unpack", &path))?;
            if sum != entry.sha256 {
                return Err(damaged(&path, &sum, entry));
            }
            // For the user that the server runs as, whatever the umask says.
            let mode = if entry.executable { 0o755 } else { 0o644 };
            file.set_permissions(Permissions::from_mode(mode))
                .and_then(|()| file.sync_all())
                .map_err(Error::io("flush", &path))?;
            written.entry(entry.sha256).or_insert(path);
        }
        Ok(())
    }

    fn verify(folder: &Path, entries: &[Entry]) -> Result<(), Error> {
        for entry in entries {
            let path = folder.join(entry.path);
            let sum = File::open(&path)
                .and_then(|mut file| copy_hashing(&mut file, &mut io::sink()))
                .map_err(Error::io("read", &path))?;
            if sum != entry.sha256 {
                return Err(damaged(&path, &sum, entry));
            }
        }
        Ok(())
    }

    fn damaged(path: &Path, sum: &str, entry: &Entry) -> Error {
        Error::Bundle(format!(
            "{}: its SHA-256 is {sum}, not {}",
            path.display(),
            entry.sha256
        ))
    }

    fn copy_hashing(from: &mut impl Read, to: &mut impl Write) -> io::Result<String> {
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match from.read(&mut buffer)? {
                0 => return Ok(hex(&hash.finalize())),
                read => {
                    hash.update(&buffer[..read]);
                    to.write_all(&buffer[..read])?;
                }
            }
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(all(test, has_payload))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::{VERSION, payload, provide};
    use crate::account::Account;
    use crate::cluster::Workshop;
    use crate::layout::Layout;
    use crate::lock::ServerLock;
    use crate::{Durability, Progress, Settings};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("lessor-bundle-{}-{name}", std::process::id()));
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn it_is_unpacked_once_and_anew_when_a_file_was_changed() {
        let folder = Folder::new("unpacked");
        let layout = Layout::prepare(&folder.0).unwrap();
        let mut steps = Vec::new();
        let root = payload::unpacked(&layout, &mut |step| steps.push(step)).unwrap();
        let postgres = root.join("runtime/bin/postgres");
        assert_eq!(
            fs::metadata(&postgres).unwrap().permissions().mode() & 0o777,
            0o755
        );
        assert!(root.join("runtime/share/postgresql/postgres.bki").is_file());
        assert!(
            root.join("THIRD_PARTY_LICENSES/PostgreSQL-COPYRIGHT")
                .is_file()
        );
        assert_eq!(steps, [Progress::Unpacking { version: VERSION }]);
        let modules = root.join("runtime/lib/postgresql");
        assert!(modules.join("utf8_and_iso8859_1.so").is_file());
        assert!(!modules.join("utf8_and_gbk.so").exists());

        assert_eq!(
            payload::unpacked(&layout, &mut |step| steps.push(step)).unwrap(),
            root
        );
        assert_eq!(steps.len(), 1);

        // One bit of one library, then a missing file.
        let library = root.join("runtime/lib/postgresql/plpgsql.so");
        let good = fs::read(&library).unwrap();
        let mut bad = good.clone();
        bad[1000] ^= 1;
        fs::write(&library, bad).unwrap();
        payload::unpacked(&layout, &mut |step| steps.push(step)).unwrap();
        assert_eq!(steps.len(), 2);
        assert_eq!(fs::read(&library).unwrap(), good);
        fs::remove_file(&postgres).unwrap();
        payload::unpacked(&layout, &mut |step| steps.push(step)).unwrap();
        assert_eq!(steps.len(), 3);
        assert!(postgres.is_file());
    }

    #[test]
    fn it_makes_a_cluster_or_says_why_it_does_not_run_here() {
        let folder = Folder::new("cluster");
        let layout = Layout::prepare(&folder.0).unwrap();
        let account = Account::choose(&layout.data()).unwrap();
        let account = account.as_ref();
        let provided = provide(&layout, account, &mut |_| ());
        let old = payload::glibc_version().filter(|&found| found < (2, 38));
        if let Some((major, minor)) = old {
            let reason = provided.unwrap_err().to_string();
            assert!(reason.contains("needs glibc 2.38"), "{reason}");
            assert!(reason.contains(&format!("has {major}.{minor}")), "{reason}");
            return;
        }
        let binaries = provided.unwrap();
        assert_eq!(binaries.version.to_string(), VERSION);
        let settings = Settings {
            durability: Durability::Throwaway,
            ..Settings::new(&folder.0)
        };
        let lock = ServerLock::attempt(&layout.server_lock(), account)
            .unwrap()
            .unwrap();
        let workshop = Workshop {
            settings: &settings,
            layout: &layout,
            binaries: &binaries,
            account,
            lock: &lock,
        };
        workshop.ensure(&mut |_| ()).unwrap();
        assert!(layout.data().join("PG_VERSION").is_file());
    }
}
