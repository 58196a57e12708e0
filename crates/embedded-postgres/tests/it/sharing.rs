//! Two processes and one data directory.

use std::fs;
use std::sync::Barrier;
use std::thread;

use lessor_embedded_postgres::{Database, Error, Settings, attach, open, open_existing, start};

use crate::helper::Helper;
use crate::support::{Folder, Session, eventually, lives};

#[test]
fn a_second_process_finds_the_running_server() {
    let folder = Folder::new();
    assert!(attach(&folder.data_dir()).unwrap().is_none());
    let instance = start(&Settings::new(folder.data_dir()), |_| ()).unwrap();

    let mut second = Helper::spawn("attach", &folder.data_dir());
    assert_eq!(second.wait_for("owner "), std::process::id().to_string());
    let backend = second.wait_for("backend ");
    let session = Session::open(instance.url());
    assert_eq!(
        session.number(&format!(
            "SELECT count(*) FROM pg_stat_activity WHERE pid = {backend}"
        )),
        1
    );
    second.finish();

    // The end of the second process changes nothing.
    assert_eq!(session.number("SELECT 1::bigint"), 1);
    drop(session);
    instance.stop();
    assert!(attach(&folder.data_dir()).unwrap().is_none());
    let mut third = Helper::spawn("attach", &folder.data_dir());
    assert_eq!(third.line().as_deref(), Some("nobody"));
}

#[test]
fn who_makes_nothing_opens_what_was_made() {
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    let refused = || {
        let refused = open_existing(&settings, |_| ()).unwrap_err();
        assert!(
            matches!(&refused, Error::NoDatabase { data_dir } if *data_dir == folder.data_dir()),
            "{refused}"
        );
    };
    refused();
    assert!(!folder.data_dir().exists());
    fs::create_dir(folder.data_dir()).unwrap();
    refused();
    assert_eq!(fs::read_dir(folder.data_dir()).unwrap().count(), 0);

    let instance = start(&settings, |_| ()).unwrap();
    let attached = open_existing(&settings, |_| ()).unwrap();
    assert!(matches!(attached, Database::Attached(_)), "{attached:?}");
    instance.stop();
    let owned = open_existing(&settings, |_| ()).unwrap();
    assert!(matches!(owned, Database::Owned(_)), "{owned:?}");
    assert_eq!(Session::open(owned.url()).number("SELECT 1::bigint"), 1);
}

#[test]
fn a_second_start_is_refused_and_names_the_first() {
    let folder = Folder::new();
    let mut first = Helper::spawn("own", &folder.data_dir());
    let url = first.wait_for("url ");
    let refused = start(&Settings::new(folder.data_dir()), |_| ()).unwrap_err();
    assert!(
        matches!(&refused, Error::InUse { holder, .. } if *holder == format!("process {}", first.pid())),
        "{refused}"
    );
    assert_eq!(attach(&folder.data_dir()).unwrap().unwrap().url(), url);
    assert_eq!(Session::open(&url).number("SELECT 1::bigint"), 1);
    first.finish();
}

#[test]
fn of_many_starts_at_once_one_wins_and_the_others_can_attach() {
    const STARTS: usize = 4;
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    let together = Barrier::new(STARTS);
    let outcomes: Vec<_> = thread::scope(|scope| {
        let starts: Vec<_> = (0..STARTS)
            .map(|_| {
                scope.spawn(|| {
                    together.wait();
                    let outcome = start(&settings, |_| ());
                    if matches!(outcome, Err(Error::InUse { .. })) {
                        let attached = attach(&settings.data_dir).unwrap().unwrap();
                        assert_eq!(Session::open(attached.url()).number("SELECT 1::bigint"), 1);
                    }
                    together.wait();
                    outcome
                })
            })
            .collect();
        starts
            .into_iter()
            .map(|start| start.join().unwrap())
            .collect()
    });
    let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let refused = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Err(Error::InUse { .. })))
        .count();
    assert_eq!((won, refused), (1, STARTS - 1));
}

#[test]
fn commands_use_the_service_that_runs() {
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    let service = start(&settings, |_| ()).unwrap();
    let command = open(&settings, |_| ()).unwrap();
    assert!(matches!(command, Database::Attached(_)));
    assert_eq!(command.url(), service.url());
    drop(command);
    assert!(service.is_running());
}

#[test]
fn commands_without_a_service_take_turns() {
    let folder = Folder::new();
    let mut commands: Vec<Helper> = (0..4)
        .map(|_| Helper::spawn("open", &folder.data_dir()))
        .collect();
    for command in &mut commands {
        command.wait_for("visited");
    }
    for command in commands {
        command.finish();
    }
    let instance = start(&Settings::new(folder.data_dir()), |_| ()).unwrap();
    assert_eq!(
        Session::open(instance.url()).number("SELECT count(*) FROM visits"),
        4
    );
}

#[test]
fn a_service_waits_for_the_command_before_it() {
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    let command = open(&settings, |_| ()).unwrap();
    let waiting = Barrier::new(2);
    thread::scope(|scope| {
        let service = scope.spawn(|| {
            start(&settings, |step| {
                if matches!(
                    step,
                    lessor_embedded_postgres::Progress::WaitingForOwner { .. }
                ) {
                    waiting.wait();
                }
            })
        });
        waiting.wait();
        assert_eq!(Session::open(command.url()).number("SELECT 1::bigint"), 1);
        drop(command);
        let service = service.join().unwrap().unwrap();
        assert_eq!(Session::open(service.url()).number("SELECT 1::bigint"), 1);
    });
}

#[test]
fn the_server_outlives_the_thread_that_asked_for_it() {
    let folder = Folder::new();
    let mut owner = Helper::spawn("own-from-short-thread", &folder.data_dir());
    let url = owner.wait_for("url ");
    assert_eq!(Session::open(&url).number("SELECT 1::bigint"), 1);
    owner.finish();
}

#[test]
fn the_server_does_not_outlive_its_owner() {
    let folder = Folder::new();
    let mut owner = Helper::spawn("own", &folder.data_dir());
    let server: u32 = owner.wait_for("server ").parse().unwrap();
    owner.wait_for("url ");
    assert!(lives(server));
    owner.kill();
    if cfg!(target_os = "linux") {
        eventually("the server stops", || !lives(server));
    }
    assert!(attach(&folder.data_dir()).unwrap().is_none());
}
