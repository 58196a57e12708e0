//! First start, later starts, stops, names and places.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use lessor_embedded_postgres::{Error, Instance, Progress, Settings, attach, start, throwaway};

use crate::support::{Folder, Session, eventually, lives};

#[test]
fn the_first_start_makes_a_cluster_and_later_ones_find_it() {
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    let mut steps = Vec::new();
    let instance = start(&settings, |step| steps.push(step)).unwrap();
    assert!(
        matches!(
            &steps[..],
            [
                Progress::LookingForBinaries,
                Progress::Initializing { .. },
                Progress::CreatingDatabase { .. },
                Progress::Starting { .. },
                Progress::Ready
            ]
        ),
        "{steps:?}"
    );

    let session = Session::open(instance.url());
    assert_eq!(session.text("SELECT current_database()::text"), "lessor");
    assert_eq!(session.text("SELECT current_setting('fsync')"), "on");
    assert_eq!(
        session.text("SELECT current_setting('data_checksums')"),
        "on"
    );
    assert_eq!(
        session.text("SELECT current_setting('server_encoding')"),
        "UTF8"
    );
    assert_eq!(session.text("SELECT current_setting('TimeZone')"), "UTC");
    assert_eq!(
        session.text("SELECT current_setting('max_connections')"),
        "100"
    );
    assert_eq!(
        session.text("SELECT current_setting('listen_addresses')"),
        ""
    );
    session.execute("CREATE TABLE kept (what text); INSERT INTO kept VALUES ('this')");

    let server = instance.server_pid();
    assert!(instance.is_running());
    // Ctrl-C at the terminal is sent to the owner's process group, and is not to reach the server.
    let group = rustix::process::getpgid(rustix::process::Pid::from_raw(
        i32::try_from(server).unwrap(),
    ))
    .unwrap();
    assert_ne!(group, rustix::process::getpgrp());
    // The open session does not keep the server from stopping.
    instance.stop();
    assert!(!lives(server));

    steps.clear();
    let again = start(&settings, |step| steps.push(step)).unwrap();
    // A process that another test was just making holds the lock too, until it has become another program.
    steps.retain(|step| !matches!(step, Progress::WaitingForOwner { .. }));
    assert!(
        matches!(
            &steps[..],
            [
                Progress::LookingForBinaries,
                Progress::Starting { .. },
                Progress::Ready
            ]
        ),
        "{steps:?}"
    );
    assert_eq!(
        Session::open(again.url()).text("SELECT what FROM kept"),
        "this"
    );
}

#[test]
fn an_instance_may_be_shared_between_threads() {
    fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Instance>();
    shareable::<Error>();
}

#[test]
fn nobody_else_gets_in() {
    let folder = Folder::new();
    let instance = start(&Settings::new(folder.data_dir()), |_| ()).unwrap();
    let mode = |name: &str| {
        fs::metadata(folder.data_dir().join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode("run"), 0o700);
    assert_eq!(mode("data"), 0o700);
    assert_eq!(mode("password"), 0o600);
    assert_eq!(mode("owner.lock"), 0o600);

    let password = fs::read_to_string(folder.data_dir().join("password")).unwrap();
    let guessed = instance.url().replace(password.trim(), "guess");
    assert_ne!(guessed, instance.url());
    let refused = Session::try_open(&guessed).err().unwrap();
    assert_eq!(refused.code().unwrap().code(), "28P01");
}

#[test]
fn the_owners_secrets_are_not_in_the_servers_environment() {
    let folder = Folder::new();
    let instance = start(&Settings::new(folder.data_dir()), |_| ()).unwrap();
    let environment = fs::read(format!("/proc/{}/environ", instance.server_pid())).unwrap();
    let names: Vec<&str> = std::str::from_utf8(&environment)
        .unwrap()
        .split('\0')
        .filter_map(|variable| variable.split_once('='))
        .map(|(name, _)| name)
        // The server adds its own.
        .filter(|name| !name.starts_with("PG"))
        .collect();
    assert!(
        names
            .iter()
            .all(|name| ["PATH", "LD_LIBRARY_PATH", "LC_ALL"].contains(name)),
        "{names:?}"
    );
}

#[test]
fn another_database_is_added_to_an_existing_cluster() {
    let folder = Folder::new();
    let mut settings = Settings::new(folder.data_dir());
    for name in ["first", "second", "postgres", "first"] {
        settings.database = name.to_owned();
        let instance = start(&settings, |_| ()).unwrap();
        let session = Session::open(instance.url());
        assert_eq!(session.text("SELECT current_database()::text"), name);
        assert_eq!(
            Session::open(&instance.url_of("postgres")).number("SELECT 1::bigint"),
            1
        );
    }
    // The note that a database exists may be lost; the database is not made twice.
    fs::remove_file(folder.data_dir().join("data/lessor.databases")).unwrap();
    settings.database = "second".to_owned();
    let instance = start(&settings, |_| ()).unwrap();
    assert_eq!(
        Session::open(instance.url()).text("SELECT current_database()::text"),
        "second"
    );
}

#[test]
fn a_lost_password_is_replaced() {
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    let first = start(&settings, |_| ()).unwrap();
    let first_url = first.url().to_owned();
    Session::open(&first_url).execute("CREATE TABLE kept ()");
    first.stop();
    fs::remove_file(folder.data_dir().join("password")).unwrap();
    let second = start(&settings, |_| ()).unwrap();
    assert_ne!(second.url(), first_url);
    assert_eq!(
        Session::open(second.url()).number("SELECT count(*) FROM kept"),
        0
    );
    assert!(Session::try_open(&first_url).is_err());
}

#[test]
fn paths_with_every_character_work() {
    let folder = Folder::new();
    let instance = start(&Settings::new(folder.path().join("a b,c'd\"e%f?ü")), |_| ()).unwrap();
    assert_eq!(Session::open(instance.url()).number("SELECT 1::bigint"), 1);
}

#[test]
fn a_path_too_long_for_a_socket_gets_a_loopback_port() {
    let folder = Folder::new();
    let settings = Settings::new(folder.path().join("x".repeat(120)));
    let instance = start(&settings, |_| ()).unwrap();
    assert!(instance.url().contains("@127.0.0.1:"), "no port");
    let session = Session::open(instance.url());
    assert_eq!(
        session.text("SELECT current_setting('unix_socket_directories')"),
        ""
    );
    assert_eq!(
        session.text("SELECT current_setting('listen_addresses')"),
        "127.0.0.1"
    );

    // Who has the address goes on with it.
    let url = instance.url().to_owned();
    end(&instance);
    instance.revive().unwrap();
    assert_eq!(instance.url(), url);
    assert_eq!(Session::open(&url).number("SELECT 1::bigint"), 1);
}

#[test]
fn relative_data_directories_work() {
    let folder = Folder::new();
    let depth = std::env::current_dir().unwrap().components().count() - 1;
    let up = "../".repeat(depth);
    let relative = format!(
        "{}{}",
        up,
        folder.data_dir().strip_prefix("/").unwrap().display()
    );
    let instance = start(&Settings::new(relative), |_| ()).unwrap();
    assert_eq!(Session::open(instance.url()).number("SELECT 1::bigint"), 1);
}

#[test]
fn a_throwaway_server_flushes_nothing_and_leaves_nothing() {
    let instance = throwaway(3, |_| ()).unwrap();
    let folder = instance.data_dir().to_owned();
    let server = instance.server_pid();
    let session = Session::open(instance.url());
    assert_eq!(session.text("SELECT current_setting('fsync')"), "off");
    assert_eq!(
        session.text("SELECT current_setting('max_connections')"),
        "3"
    );
    session.execute("CREATE DATABASE template_of_tests");
    session.execute("CREATE DATABASE one TEMPLATE template_of_tests STRATEGY file_copy");
    let one = Session::open(&instance.url_of("one"));
    assert_eq!(one.text("SELECT current_database()::text"), "one");
    assert!(folder.exists());
    drop(instance);
    assert!(!folder.exists());
    assert!(!lives(server));
}

#[test]
fn the_death_of_a_session_is_survived_and_that_of_the_server_is_noticed() {
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    let instance = start(&settings, |_| ()).unwrap();
    let session = Session::open(instance.url());
    session.execute("CREATE TABLE kept ()");
    let backend = session.number("SELECT pg_backend_pid()::bigint");
    kill(
        u32::try_from(backend).unwrap(),
        rustix::process::Signal::KILL,
    );
    eventually("a new session", || {
        Session::try_open(instance.url()).is_ok()
    });
    assert!(instance.is_running());

    end(&instance);
    instance.stop();
    let again = start(&settings, |_| ()).unwrap();
    assert_eq!(
        Session::open(again.url()).number("SELECT count(*) FROM kept"),
        0
    );
}

#[test]
fn a_server_that_was_killed_is_revived_where_it_was() {
    let folder = Folder::new();
    let instance = start(&Settings::new(folder.data_dir()), |_| ()).unwrap();
    let url = instance.url().to_owned();
    let session = Session::open(&url);
    session.execute("CREATE TABLE kept (what text); INSERT INTO kept VALUES ('this')");
    let killed = instance.server_pid();
    end(&instance);
    // Where it is lost the next start makes another one, which nobody here would know.
    fs::remove_file(folder.data_dir().join("password")).unwrap();

    // What cannot be started now may be later.
    let (data, aside) = (
        folder.data_dir().join("data"),
        folder.data_dir().join("aside"),
    );
    fs::rename(&data, &aside).unwrap();
    assert!(instance.revive().is_err());
    assert!(!instance.is_running());
    fs::rename(&aside, &data).unwrap();
    instance.revive().unwrap();
    assert!(instance.is_running());
    assert_ne!(instance.server_pid(), killed);
    assert_eq!(instance.url(), url);
    assert_eq!(Session::open(&url).text("SELECT what FROM kept"), "this");
    // It is this process's as before.
    let found = attach(&folder.data_dir()).unwrap().unwrap();
    assert_eq!(
        (found.url(), found.owner_pid()),
        (&*url, std::process::id())
    );

    let revived = instance.server_pid();
    instance.revive().unwrap();
    assert_eq!(instance.server_pid(), revived);
    instance.stop();
    assert!(!lives(revived));
}

/// Kills the server, and waits until its owner knows.
fn end(instance: &Instance) {
    kill(instance.server_pid(), rustix::process::Signal::KILL);
    eventually("its end is noticed", || !instance.is_running());
}

fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}
