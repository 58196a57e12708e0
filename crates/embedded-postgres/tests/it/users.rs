//! As root and as an ordinary user.
//!
//! Only root can become another user: run by an ordinary user, the tests of root have nothing to run on and return.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use lessor_embedded_postgres::{Error, Settings, start};

use crate::helper::Helper;
use crate::support::{Folder, Session, eventually, lives};

/// The last number before the reserved one: of nobody on most systems, and of no account that owns anything.
const ORDINARY: u32 = 65534;

/// Of no account: as a container is given a user by its number.
const NAMELESS: u32 = 12345;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A folder that the ordinary user owns, with a copy of this program in it.
fn ordinary_users_folder() -> (Folder, std::path::PathBuf) {
    folder_of(ORDINARY)
}

fn folder_of(user: u32) -> (Folder, std::path::PathBuf) {
    let folder = Folder::new();
    let program = folder.path().join("it");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    chown(folder.path(), Some(user), Some(user)).unwrap();
    (folder, program)
}

#[test]
fn the_server_does_not_run_as_root() {
    let folder = Folder::new();
    let instance = start(&Settings::new(folder.data_dir()), |_| ()).unwrap();
    let server = fs::metadata(format!("/proc/{}", instance.server_pid())).unwrap();
    assert_ne!(server.uid(), 0);
    assert_eq!(
        fs::metadata(folder.data_dir().join("data")).unwrap().uid(),
        server.uid()
    );
    if !is_root() {
        assert_eq!(server.uid(), rustix::process::geteuid().as_raw());
    }
}

#[test]
fn an_ordinary_user_runs_it_as_itself() {
    if !is_root() {
        return;
    }
    let (folder, program) = ordinary_users_folder();
    let mut owner = Helper::spawn_as("own", &folder.data_dir(), &program, ORDINARY);
    let server: u32 = owner.wait_for("server ").parse().unwrap();
    let url = owner.wait_for("url ");
    assert_eq!(
        fs::metadata(format!("/proc/{server}")).unwrap().uid(),
        ORDINARY
    );
    Session::open(&url).execute("CREATE TABLE kept ()");
    owner.kill();
    eventually("the server stops", || !lives(server));

    // Root runs the cluster as its owner, and takes nothing from that user.
    let by_root = start(&Settings::new(folder.data_dir()), |_| ()).unwrap();
    assert_eq!(
        fs::metadata(format!("/proc/{}", by_root.server_pid()))
            .unwrap()
            .uid(),
        ORDINARY
    );
    assert_eq!(
        Session::open(by_root.url()).number("SELECT count(*) FROM kept"),
        0
    );
    by_root.stop();
    let mut again = Helper::spawn_as("own", &folder.data_dir(), &program, ORDINARY);
    assert_eq!(
        Session::open(&again.wait_for("url ")).number("SELECT count(*) FROM kept"),
        0
    );
    again.finish();
}

#[test]
fn an_ordinary_user_loses_nothing_to_a_kill() {
    if !is_root() {
        return;
    }
    let (folder, program) = ordinary_users_folder();
    for _ in 0..3 {
        let mut owner = Helper::spawn_as("commit", &folder.data_dir(), &program, ORDINARY);
        let mut acknowledged: i64 = 0;
        for _ in 0..50 {
            acknowledged = owner.wait_for("committed ").parse().unwrap();
        }
        owner.kill();
        for line in owner.rest() {
            acknowledged = line.strip_prefix("committed ").unwrap().parse().unwrap();
        }
        let mut next = Helper::spawn_as("own", &folder.data_dir(), &program, ORDINARY);
        let session = Session::open(&next.wait_for("url "));
        assert!(session.number("SELECT max(id) FROM acknowledged") >= acknowledged);
        next.finish();
    }
}

#[test]
fn another_users_data_directory_is_refused() {
    if !is_root() {
        return;
    }
    let (folder, program) = ordinary_users_folder();
    start(&Settings::new(folder.data_dir()), |_| ())
        .unwrap()
        .stop();
    let mut other = Helper::spawn_as("start", &folder.data_dir(), &program, ORDINARY);
    let refused = other.wait_for("error ");
    assert!(refused.contains("--data-dir"), "{refused}");
    assert!(refused.contains("run it as that user"), "{refused}");
}

#[test]
fn root_is_told_which_folder_bars_the_way() {
    if !is_root() {
        return;
    }
    let folder = Folder::new();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    let refused = start(&Settings::new(home.join("db")), |_| ()).unwrap_err();
    assert!(
        matches!(&refused, Error::DataDir { path, .. } if *path == home),
        "{refused}"
    );
    assert!(refused.to_string().contains("/var/lib/lessor"), "{refused}");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o711)).unwrap();
    start(&Settings::new(home.join("db")), |_| ()).unwrap();
}

#[test]
fn roots_umask_does_not_bar_the_server() {
    if !is_root() {
        return;
    }
    let folder = Folder::new();
    let mut owner = Helper::spawn_with_umask("own", &folder.path().join("new/db"), "077");
    owner.wait_for("url ");
    owner.finish();
}

#[test]
fn a_place_that_an_ordinary_user_may_not_write_to_is_refused() {
    if !is_root() {
        return;
    }
    let (folder, program) = ordinary_users_folder();
    let of_root = folder.path().join("of-root");
    fs::create_dir(&of_root).unwrap();
    for data_dir in [of_root.clone(), of_root.join("db")] {
        let mut user = Helper::spawn_as("start", &data_dir, &program, ORDINARY);
        let refused = user.wait_for("error --data-dir");
        assert!(
            refused.to_lowercase().contains("permission denied"),
            "{refused}"
        );
    }
}

#[test]
fn another_users_server_cannot_be_attached_to() {
    if !is_root() {
        return;
    }
    let (folder, program) = ordinary_users_folder();
    let _owner = start(&Settings::new(folder.data_dir()), |_| ()).unwrap();
    let mut other = Helper::spawn_as("attach", &folder.data_dir(), &program, ORDINARY);
    let refused = other.wait_for("error --data-dir");
    assert!(refused.contains("permission denied"), "{refused}");
}

#[test]
fn a_cluster_that_root_restored_is_given_to_the_servers_user() {
    if !is_root() {
        return;
    }
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    let first = start(&settings, |_| ()).unwrap();
    Session::open(first.url()).execute("CREATE TABLE kept ()");
    first.stop();
    give_tree(&folder.data_dir(), 0);
    let second = start(&settings, |_| ()).unwrap();
    assert_eq!(
        Session::open(second.url()).number("SELECT count(*) FROM kept"),
        0
    );
}

/// As a copy made by this user would be.
fn give_tree(path: &std::path::Path, user: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_tree(&entry.unwrap().path(), user);
        }
    }
}

/// `initdb` looks the user's name up, and so does a server of one session; a server does not.
#[test]
fn a_user_without_a_name_runs_a_cluster_and_makes_none() {
    if !is_root() {
        return;
    }
    let (folder, program) = folder_of(NAMELESS);
    let is_told = |data_dir: &std::path::Path| {
        let mut user = Helper::spawn_as("start", data_dir, &program, NAMELESS);
        let refused = user.wait_for("error --data-dir");
        for part in ["user 12345", "/etc/passwd", "--user", "DATABASE_URL"] {
            assert!(refused.contains(part), "{part} is not in: {refused}");
        }
    };
    is_told(&folder.data_dir());
    let made: Vec<_> = fs::read_dir(folder.data_dir()).unwrap().collect();
    assert!(made.is_empty(), "{made:?}");

    start(&Settings::new(folder.data_dir()), |_| ())
        .unwrap()
        .stop();
    give_tree(&folder.data_dir(), NAMELESS);
    Helper::spawn_as("start", &folder.data_dir(), &program, NAMELESS).wait_for("url ");
    // Only that server can give it another.
    fs::remove_file(folder.data_dir().join("password")).unwrap();
    is_told(&folder.data_dir());
}
