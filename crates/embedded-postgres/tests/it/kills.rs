//! SIGKILL at the worst moments.

use std::cell::Cell;
use std::fs;

use lessor_embedded_postgres::{Error, Progress, Settings, attach, start};
use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};

use crate::helper::Helper;
use crate::support::{Folder, Session, eventually, lives, server_on};

#[test]
fn no_acknowledged_commit_is_lost() {
    const ROUNDS: u64 = 5;
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    let mut acknowledged = 0;
    for round in 1..=ROUNDS {
        let mut owner = Helper::spawn("commit", &folder.data_dir());
        let server: u32 = owner.wait_for("server ").parse().unwrap();
        let mut committed = 0;
        while committed < 40 * round {
            acknowledged = owner.wait_for("committed ").parse().unwrap();
            committed += 1;
        }
        owner.kill();
        // What it wrote before its death is still in the pipe.
        for line in owner.rest() {
            acknowledged = line.strip_prefix("committed ").unwrap().parse().unwrap();
        }

        // At once: the server may still be busy with its end.
        let next = start(&settings, |_| ()).unwrap();
        assert!(!lives(server));
        let session = Session::open(next.url());
        let kept = session.number("SELECT coalesce(max(id), 0) FROM acknowledged");
        assert!(
            kept >= acknowledged,
            "acknowledged {acknowledged}, kept {kept}"
        );
        assert_eq!(session.number("SELECT count(*) FROM acknowledged"), kept);
    }
}

#[test]
fn a_kill_of_owner_and_server_loses_no_acknowledged_commit() {
    let folder = Folder::new();
    let mut owner = Helper::spawn("commit", &folder.data_dir());
    let server: u32 = owner.wait_for("server ").parse().unwrap();
    let mut acknowledged: i64 = 0;
    while acknowledged < 100 {
        acknowledged = owner.wait_for("committed ").parse().unwrap();
    }
    signal(server, Signal::KILL);
    owner.kill();
    for line in owner.rest() {
        // The helper may see the server's end before its own.
        if let Some(id) = line.strip_prefix("committed ") {
            acknowledged = id.parse().unwrap();
        }
    }
    let mut recovered = false;
    let next = start(&Settings::new(folder.data_dir()), |step| {
        recovered |= step == Progress::Recovering;
    })
    .unwrap();
    assert!(recovered);
    let session = Session::open(next.url());
    let kept = session.number("SELECT max(id) FROM acknowledged");
    assert!(
        kept >= acknowledged,
        "acknowledged {acknowledged}, kept {kept}"
    );
}

#[test]
fn an_owner_killed_at_any_step_does_not_block_the_next_start() {
    for step in [
        "LookingForBinaries",
        "Initializing",
        "CreatingDatabase",
        "Starting",
        "Ready",
    ] {
        let folder = Folder::new();
        let mut owner = Helper::spawn("own", &folder.data_dir());
        owner.wait_for(&format!("step {step}"));
        owner.kill();
        let next = start(&Settings::new(folder.data_dir()), |_| ()).unwrap();
        let session = Session::open(next.url());
        assert_eq!(
            session.text("SELECT current_database()::text"),
            "lessor",
            "killed at {step}"
        );
        assert!(!folder.data_dir().join("data.init").exists());
        drop(session);
        next.stop();
        assert_eq!(server_on(&folder.data_dir()), None, "killed at {step}");
    }
}

#[test]
fn a_server_that_outlived_its_owner_is_stopped_by_the_next_start() {
    let folder = Folder::new();
    let mut owner = Helper::spawn("own", &folder.data_dir());
    let server: u32 = owner.wait_for("server ").parse().unwrap();
    owner.wait_for("url ");
    // Asleep, it does not heed the kernel's signal: as good as a server that was never sent one.
    signal(server, Signal::STOP);
    owner.kill();
    owner.rest();
    assert!(lives(server));
    assert!(attach(&folder.data_dir()).unwrap().is_none());

    let stopped = Cell::new(false);
    let next = start(&Settings::new(folder.data_dir()), |step| {
        if step == (Progress::StoppingOrphan { pid: Some(server) }) {
            stopped.set(true);
            signal(server, Signal::CONT);
        }
    })
    .unwrap();
    assert!(stopped.get());
    assert!(!lives(server));
    assert_eq!(Session::open(next.url()).number("SELECT 1::bigint"), 1);
}

#[test]
fn a_zombie_server_is_a_dead_server() {
    let folder = Folder::new();
    // The orphans of this program's children become its own, and nobody reaps them.
    set_child_subreaper(Some(getpid())).unwrap();
    let mut owner = Helper::spawn("own", &folder.data_dir());
    let server: u32 = owner.wait_for("server ").parse().unwrap();
    owner.wait_for("url ");
    signal(server, Signal::STOP);
    owner.kill();
    owner.rest();
    signal(server, Signal::KILL);
    eventually("the server is a zombie", || {
        fs::read_to_string(format!("/proc/{server}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    });
    let pid_file = folder.data_dir().join("data/postmaster.pid");
    assert!(
        fs::read_to_string(pid_file)
            .unwrap()
            .starts_with(&format!("{server}\n"))
    );

    let next = start(&Settings::new(folder.data_dir()), |_| ()).unwrap();
    assert_eq!(Session::open(next.url()).number("SELECT 1::bigint"), 1);
    let server = rustix::process::WaitId::Pid(raw(server));
    rustix::process::waitid(server, rustix::process::WaitIdOptions::EXITED).unwrap();
    set_child_subreaper(None).unwrap();
}

#[test]
fn the_number_of_a_dead_server_may_be_another_programs() {
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    start(&settings, |_| ()).unwrap().stop();
    // As if this very process had been given the number of a server that was killed.
    let stale = format!(
        "{}\n{}\n",
        std::process::id(),
        folder.data_dir().join("data").display()
    );
    fs::write(folder.data_dir().join("data/postmaster.pid"), stale).unwrap();
    let next = start(&settings, |_| ()).unwrap();
    assert_eq!(Session::open(next.url()).number("SELECT 1::bigint"), 1);
}

#[test]
fn a_server_that_somebody_started_by_hand_is_left_alone() {
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    let instance = start(&settings, |_| ()).unwrap();
    let program = fs::read_link(format!("/proc/{}/exe", instance.server_pid())).unwrap();
    instance.stop();

    let mut by_hand = crate::support::server_by_hand(&program, &folder.data_dir());
    let pid_file = folder.data_dir().join("data/postmaster.pid");
    eventually("the server is ready", || {
        fs::read_to_string(&pid_file).is_ok_and(|text| text.contains("ready"))
    });
    let refused = start(&settings, |_| ()).unwrap_err();
    assert!(matches!(refused, Error::DataDir { .. }), "{refused}");
    assert!(
        refused
            .to_string()
            .contains(&format!("process {}", by_hand.id())),
        "{refused}"
    );
    assert!(lives(by_hand.id()));
    signal(by_hand.id(), Signal::INT);
    by_hand.wait().unwrap();
    start(&settings, |_| ()).unwrap();
}

fn signal(pid: u32, signal: Signal) {
    kill_process(raw(pid), signal).unwrap();
}

fn raw(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}
