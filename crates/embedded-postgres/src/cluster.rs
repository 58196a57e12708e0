//! The cluster on disk: made once, checked at every start.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::layout::{
    self, Layout, create_private_dir, give, give_tree, not_opened, open_private_file, remove_dir,
    remove_file, sync_dir,
};
use crate::lock::ServerLock;
use crate::{Durability, Error, Progress, Settings, process};

/// The role that owns everything in the cluster.
pub(crate) const ROLE: &str = "lessor";

/// Names the databases that are known to exist, so that a start need not ask. Lives in the cluster, and goes with it.
const KNOWN_DATABASES: &str = "lessor.databases";

/// The programs and the locks with which one start works on the cluster.
pub(crate) struct Workshop<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) layout: &'a Layout,
    pub(crate) binaries: &'a Binaries,
    pub(crate) account: Option<&'a Account>,
    pub(crate) lock: &'a ServerLock,
}

/// The major version of the existing cluster, if there is one.
pub(crate) fn existing_major(layout: &Layout) -> Result<Option<u32>, Error> {
    let data = layout.data();
    if !data.try_exists().map_err(Error::io("look at", &data))? {
        return Ok(None);
    }
    let unusable = |reason: String| Error::DataDir {
        path: data.clone(),
        reason,
    };
    let text = fs::read_to_string(data.join("PG_VERSION"))
        .map_err(|error| unusable(format!("is not a PostgreSQL cluster: PG_VERSION: {error}")))?;
    text.trim().parse().map(Some).map_err(|_| {
        unusable(format!(
            "is not a PostgreSQL cluster of today: PG_VERSION says {:?}",
            text.trim()
        ))
    })
}

impl Workshop<'_> {
    /// Makes the cluster, its password and the database where they are missing; returns the password.
    pub(crate) fn ensure(&self, progress: &mut dyn FnMut(Progress)) -> Result<String, Error> {
        self.check_reachable()?;
        let password = if self.layout.data().exists() {
            self.adopt()?;
            match read_password(&self.layout.password())? {
                Some(password) => password,
                None => self.replace_password()?,
            }
        } else {
            self.initialize(progress)?
        };
        self.ensure_database(progress)?;
        Ok(password)
    }

    /// A user other than the one of this process must be able to walk to the data directory.
    fn check_reachable(&self) -> Result<(), Error> {
        let Some(account) = self.account else {
            return Ok(());
        };
        let root = &self.layout.root;
        let arrived = self
            .binaries
            .command("postgres", Some(account))
            .current_dir(root)
            .arg("--version")
            .output();
        match arrived {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::DataDir {
                path: account.barred_by(root).unwrap_or_else(|| root.clone()),
                reason: format!(
                    "PostgreSQL does not run as root, and user `{}`, as whom it would run, cannot reach {}: {error}. \
                     Give a --data-dir in a place that user can reach, such as /var/lib/lessor, or run Lessor as an \
                     ordinary user",
                    account.name,
                    root.display()
                ),
            }),
        }
    }

    /// A cluster that root owns, restored from a backup perhaps, is given to the account that will run it.
    fn adopt(&self) -> Result<(), Error> {
        let data = self.layout.data();
        let owner = fs::metadata(&data)
            .map_err(Error::io("look at", &data))?
            .uid();
        match self.account {
            Some(account) if owner != account.uid.as_raw() => give_tree(&data, account),
            _ => Ok(()),
        }
    }

    fn initialize(&self, progress: &mut dyn FnMut(Progress)) -> Result<String, Error> {
        let version = &self.binaries.version;
        progress(Progress::Initializing {
            version: version.to_string(),
        });
        let password_file = self.layout.password();
        let password = match read_password(&password_file)? {
            Some(password) => password,
            None => {
                let password = new_password()?;
                self.write_password(&password)?;
                password
            }
        };
        let init = self.layout.data_init();
        remove_dir(&init)?;
        create_private_dir(&init, self.account)?;

        let mut initdb = self.binaries.command("initdb", self.account);
        initdb
            .arg("--pgdata")
            .arg(&init)
            .arg("--pwfile")
            .arg(&password_file)
            .args([
                "--username",
                ROLE,
                "--auth",
                "scram-sha-256",
                "--encoding",
                "UTF8",
            ])
            .args(["--locale", "C", "--no-instructions"]);
        if version.major >= 17 {
            initdb.args([
                "--locale-provider",
                "builtin",
                "--builtin-locale",
                "C.UTF-8",
            ]);
        }
        match self.settings.durability {
            Durability::Throwaway => {
                initdb.arg("--no-sync");
            }
            Durability::Durable => {
                initdb.arg("--data-checksums");
                if cfg!(target_os = "linux") && version.major >= 17 {
                    initdb.args(["--sync-method", "syncfs"]);
                }
            }
        }
        self.run(initdb, "initdb", None)?;

        let data = self.layout.data();
        fs::rename(&init, &data).map_err(Error::io("rename", &init))?;
        sync_dir(&self.layout.root)?;
        Ok(password)
    }

    /// The password file is gone while the cluster is there: gives the role a new password.
    fn replace_password(&self) -> Result<String, Error> {
        let password = new_password()?;
        self.single_user(&format!("ALTER ROLE {ROLE} PASSWORD '{password}'"))?;
        self.write_password(&password)?;
        Ok(password)
    }

    fn write_password(&self, password: &str) -> Result<(), Error> {
        let path = self.layout.password();
        remove_file(&path)?;
        let mut file = open_private_file(&path, self.account)?;
        writeln!(file, "{password}")
            .and_then(|()| file.sync_all())
            .map_err(Error::io("write", &path))?;
        sync_dir(&self.layout.root)
    }

    fn ensure_database(&self, progress: &mut dyn FnMut(Progress)) -> Result<(), Error> {
        let name = &self.settings.database;
        let known = self.layout.data().join(KNOWN_DATABASES);
        let listed = layout::read_text(&known).unwrap_or_default();
        if name == "postgres" || listed.lines().any(|line| line == name) {
            return Ok(());
        }
        progress(Progress::CreatingDatabase { name: name.clone() });
        // That it exists is as good: a kill may have come between its creation and the note of it.
        match self.single_user(&format!("CREATE DATABASE {name}")) {
            Err(Error::Program { output, .. })
                if output.contains(&format!("database \"{name}\" already exists")) => {}
            outcome => outcome?,
        }
        let mut file = open_private_file(&known, self.account)?;
        file.set_len(0)
            .and_then(|()| writeln!(file, "{listed}{name}"))
            .map_err(Error::io("write", &known))
    }

    /// Executes one statement in a server of one session, which recovers the cluster first where needed.
    fn single_user(&self, statement: &str) -> Result<(), Error> {
        if self.account.is_none() {
            Account::expect_name(&self.layout.data())?;
        }
        let mut postgres = self.binaries.command("postgres", self.account);
        postgres
            .arg("--single")
            .arg("-D")
            .arg(self.layout.data())
            .args(["-c", "exit_on_error=on", "-c", "log_checkpoints=off"]);
        if self.settings.durability == Durability::Throwaway {
            postgres.args(["-c", "fsync=off"]);
        }
        postgres.arg("postgres");
        self.run(
            postgres,
            "postgres --single",
            Some(&format!("{statement}\n")),
        )?;
        Ok(())
    }

    /// Runs a tool that is killed with its owner, and that holds the lock of the server as long as it lives.
    fn run(
        &self,
        mut command: Command,
        program: &'static str,
        input: Option<&str>,
    ) -> Result<(), Error> {
        let path = command.get_program().to_owned();
        process::guard(&mut command, &self.lock.file, Signal::KILL)
            .map_err(Error::io("run", path))?;
        let errors = process::run(command, program, input)?;
        tracing::debug!(program, errors = errors.trim(), "done");
        Ok(())
    }

    /// The folder of the socket, new and empty: nothing of an earlier server is left in it.
    pub(crate) fn fresh_run_dir(&self) -> Result<(), Error> {
        let run = self.layout.run();
        remove_dir(&run)?;
        create_private_dir(&run, self.account)
    }

    /// The log, opened to be appended to. One that has grown beyond 10 MB is put aside first.
    pub(crate) fn open_log(&self) -> Result<(File, u64), Error> {
        const PUT_ASIDE_AT: u64 = 10 * 1024 * 1024;
        let path = self.layout.log();
        if fs::metadata(&path).is_ok_and(|found| found.len() > PUT_ASIDE_AT) {
            let aside = path.with_extension("log.1");
            fs::rename(&path, &aside).map_err(Error::io("rename", &path))?;
        }
        drop(open_private_file(&path, self.account)?);
        let file = layout::options()
            .append(true)
            .open(&path)
            .map_err(not_opened(&path))?;
        give(&path, self.account)?;
        let length = file.metadata().map_err(Error::io("look at", &path))?.len();
        Ok((file, length))
    }
}

const PASSWORD_BYTES: usize = 24;

/// `None` when there is no file, or one that a crash left incomplete.
fn read_password(path: &Path) -> Result<Option<String>, Error> {
    let text = match layout::read_text(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(not_opened(path)(error)),
        Ok(text) => text,
    };
    let password = text.trim();
    let complete =
        password.len() == 2 * PASSWORD_BYTES && password.bytes().all(|b| b.is_ascii_hexdigit());
    Ok(complete.then(|| password.to_owned()))
}

fn new_password() -> Result<String, Error> {
    let mut random = [0_u8; PASSWORD_BYTES];
    getrandom::fill(&mut random).map_err(|error| {
        Error::io("read", "the system's random numbers")(std::io::Error::other(error.to_string()))
    })?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::{new_password, read_password};

    #[test]
    fn an_incomplete_password_file_is_no_password() {
        let path = std::env::temp_dir().join(format!("lessor-password-{}", std::process::id()));
        let password = new_password().unwrap();
        assert_ne!(password, new_password().unwrap());
        assert_eq!(read_password(&path).unwrap(), None);
        std::fs::write(&path, format!("{password}\n")).unwrap();
        assert_eq!(read_password(&path).unwrap().as_deref(), Some(&*password));
        std::fs::write(&path, &password[1..]).unwrap();
        assert_eq!(read_password(&path).unwrap(), None);
        std::fs::remove_file(&path).unwrap();
    }
}
