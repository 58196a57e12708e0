//! The user that the server runs as. PostgreSQL refuses root; an ordinary user runs it as itself, and has to have a name
//! where a cluster is made.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Uid};
use rustix::process::geteuid;

use crate::{Error, process};

/// A user of this machine other than the one this process runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) uid: Uid,
    pub(crate) gid: Gid,
}

impl Account {
    /// The account for the server: `None` is the user of this process.
    ///
    /// As root it is the owner of an existing cluster, else `postgres`, else `nobody`. It must be in `/etc/passwd`,
    /// because the server looks its own user up there.
    pub(crate) fn choose(cluster: &Path) -> Result<Option<Self>, Error> {
        let owner = fs::metadata(cluster).ok().map(|found| found.uid());
        let me = geteuid();
        if !me.is_root() {
            return match owner {
                Some(uid) if uid != me.as_raw() => Err(Error::DataDir {
                    path: cluster.to_owned(),
                    reason: format!(
                        "belongs to user {uid}, and Lessor runs as user {}: run it as that user",
                        me.as_raw()
                    ),
                }),
                Some(_) => Ok(None),
                None => Self::expect_name(cluster).map(|()| None),
            };
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let owner = owner.filter(|&uid| uid != 0);
        Self::pick(&passwd, owner).map(Some).ok_or_else(|| Error::DataDir {
            path: cluster.to_owned(),
            reason: "PostgreSQL does not run as root, and neither user `postgres` nor `nobody` exists here: run Lessor \
                     as an ordinary user, or set DATABASE_URL"
                .to_owned(),
        })
    }

    /// Refuses a user of this process who has no name, as one has that a container was given by its number. `initdb` and
    /// a server of one session look it up whatever they are told, and end; one that serves does without.
    pub(crate) fn expect_name(cluster: &Path) -> Result<(), Error> {
        let me = geteuid();
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        if Self::has_name(&passwd, me, name_by_id) {
            return Ok(());
        }
        Err(Error::DataDir {
            path: cluster.to_owned(),
            reason: format!(
                "PostgreSQL makes no database for a user without a name, and user {}, as whom Lessor runs, has none: run \
                 it as a user with an entry in /etc/passwd (a container without `--user`), give this user one, or set \
                 DATABASE_URL",
                me.as_raw()
            ),
        })
    }

    /// Whether a user has a name, in `/etc/passwd` or wherever else this system has its users. `ask` answers what they
    /// are called, which is their number or nothing for one without a name; `None` where nobody can be asked.
    fn has_name(passwd: &str, user: Uid, ask: impl FnOnce() -> Option<String>) -> bool {
        let mut listed = passwd.lines().filter_map(Self::parse);
        listed.any(|account| account.uid == user)
            // Then PostgreSQL says so itself.
            || ask().is_none_or(|name| !name.is_empty() && name != user.as_raw().to_string())
    }

    fn pick(passwd: &str, owner: Option<u32>) -> Option<Self> {
        let accounts: Vec<Self> = passwd.lines().filter_map(Self::parse).collect();
        let by_owner = accounts
            .iter()
            .find(|account| Some(account.uid.as_raw()) == owner);
        let by_name = |name: &str| accounts.iter().find(|account| account.name == name);
        by_owner
            .or_else(|| by_name("postgres"))
            .or_else(|| by_name("nobody"))
            .cloned()
    }

    /// One line of passwd(5); root is none.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let uid: u32 = fields.nth(1)?.parse().ok()?;
        let gid: u32 = fields.next()?.parse().ok()?;
        (uid != 0).then(|| Self {
            name: name.to_owned(),
            uid: Uid::from_raw(uid),
            gid: Gid::from_raw(gid),
        })
    }

    /// Which of the folders on the way to `path` this account cannot pass, by their modes.
    pub(crate) fn barred_by(&self, path: &Path) -> Option<PathBuf> {
        let mut folders: Vec<&Path> = path.ancestors().collect();
        folders.reverse();
        folders
            .into_iter()
            .find(|folder| {
                fs::metadata(folder).is_ok_and(|found| {
                    let mode = found.permissions().mode();
                    let bit = if found.uid() == self.uid.as_raw() {
                        0o100
                    } else if found.gid() == self.gid.as_raw() {
                        0o010
                    } else {
                        0o001
                    };
                    mode & bit == 0
                })
            })
            .map(Path::to_owned)
    }
}

/// What the user of this process is called, as POSIX has a program for: nothing where it fails.
fn name_by_id() -> Option<String> {
    let said = process::command(Path::new("id"), None).arg("-un").output();
    let said = said.ok()?;
    let name = said.status.success().then_some(said.stdout);
    Some(
        String::from_utf8_lossy(&name.unwrap_or_default())
            .trim()
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use rustix::fs::Uid;

    use super::Account;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65533::/:/bin/false\n\
                          bad line\npostgres:x:101:104:,,,:/var/lib/postgresql:/bin/bash\nann:x:1000:1000::/:/bin/sh\n";

    #[test]
    fn an_existing_cluster_decides_then_postgres_then_nobody() {
        let name = |passwd: &str, owner| Account::pick(passwd, owner).map(|account| account.name);
        assert_eq!(name(PASSWD, Some(1000)).as_deref(), Some("ann"));
        assert_eq!(name(PASSWD, None).as_deref(), Some("postgres"));
        assert_eq!(name(PASSWD, Some(4711)).as_deref(), Some("postgres"));
        let without = PASSWD.replace("postgres:x", "someone:x");
        assert_eq!(name(&without, None).as_deref(), Some("nobody"));
        assert_eq!(name("root:x:0:0::/:/bin/sh\n", None), None);
    }

    #[test]
    fn a_user_has_a_name_who_is_listed_or_known_elsewhere() {
        let known = |uid, said: Option<&str>| {
            Account::has_name(PASSWD, Uid::from_raw(uid), || said.map(str::to_owned))
        };
        assert!(known(1000, Some("")));
        assert!(known(4711, Some("directory.user")));
        assert!(known(4711, None));
        // GNU's fails, Apple's says the number.
        assert!(!known(4711, Some("")));
        assert!(!known(4711, Some("4711")));
    }

    #[test]
    fn user_and_group_are_read_from_their_columns() {
        let nobody = Account::parse("nobody:x:65534:65533::/:/bin/false").unwrap();
        assert_eq!(nobody.uid.as_raw(), 65534);
        assert_eq!(nobody.gid.as_raw(), 65533);
    }
}
