//! What cannot be used is refused in words that help.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lessor_embedded_postgres::{Error, Settings, start};

use crate::helper::Helper;
use crate::support::Folder;

fn refusal(settings: &Settings) -> Error {
    start(settings, |_| ()).unwrap_err()
}

#[test]
fn a_data_directory_that_is_a_file() {
    let folder = Folder::new();
    fs::write(folder.data_dir(), "a file").unwrap();
    let refused = refusal(&Settings::new(folder.data_dir()));
    assert!(
        matches!(&refused, Error::DataDir { path, .. } if *path == folder.data_dir()),
        "{refused}"
    );
    let below = refusal(&Settings::new(folder.data_dir().join("below")));
    assert!(matches!(below, Error::DataDir { .. }), "{below}");
    assert_eq!(fs::read_to_string(folder.data_dir()).unwrap(), "a file");
}

/// The account that the server runs under may put links where root writes.
#[test]
fn links_are_not_followed() {
    let folder = Folder::new();
    let mut settings = Settings::new(folder.data_dir());
    start(&settings, |_| ()).unwrap().stop();
    let elsewhere = folder.data_dir().with_extension("elsewhere");
    for file in ["data/lessor.databases", "postgres.log", "password"] {
        let path = folder.data_dir().join(file);
        let kept = fs::read(&path).unwrap();
        fs::write(&elsewhere, "precious").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&elsewhere, &path).unwrap();
        settings.database = format!("other_{}", kept.len());
        let refused = refusal(&settings);
        assert!(
            refused.to_string().contains("it is a link"),
            "{file}: {refused}"
        );
        assert_eq!(
            fs::read_to_string(&elsewhere).unwrap(),
            "precious",
            "{file}"
        );
        fs::remove_file(&path).unwrap();
        fs::write(&path, kept).unwrap();
    }
}

#[test]
fn the_data_directory_of_another_server() {
    let folder = Folder::new();
    fs::create_dir(folder.data_dir()).unwrap();
    fs::write(folder.data_dir().join("PG_VERSION"), "15\n").unwrap();
    let refused = refusal(&Settings::new(folder.data_dir()));
    assert!(
        refused.to_string().contains("folder of its own"),
        "{refused}"
    );
    assert_eq!(entries(&folder.data_dir()), ["PG_VERSION"]);
}

#[test]
fn a_cluster_that_is_none() {
    let folder = Folder::new();
    let data = folder.data_dir().join("data");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("photo.jpg"), "precious").unwrap();
    let refused = refusal(&Settings::new(folder.data_dir()));
    assert!(
        refused.to_string().contains("not a PostgreSQL cluster"),
        "{refused}"
    );
    assert_eq!(entries(&data), ["photo.jpg"]);
}

#[test]
fn a_cluster_of_another_major_version() {
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    start(&settings, |_| ()).unwrap().stop();
    let version = folder.data_dir().join("data/PG_VERSION");
    let own = fs::read_to_string(&version).unwrap();
    fs::write(&version, "12\n").unwrap();
    let refused = refusal(&settings);
    assert!(
        matches!(refused, Error::ForeignVersion { wanted: 12, .. }),
        "{refused}"
    );
    // With the right one it starts: nothing was touched.
    fs::write(&version, own).unwrap();
    start(&settings, |_| ()).unwrap();
}

#[test]
fn a_folder_without_binaries() {
    let folder = Folder::new();
    let mut settings = Settings::new(folder.data_dir());
    for (dir, reason) in [
        (folder.path().to_owned(), "no postgres"),
        (PathBuf::from("/nonexistent"), "No such file"),
    ] {
        settings.bin_dir = Some(dir.clone());
        let refused = refusal(&settings);
        assert!(
            matches!(&refused, Error::BinDir { dir: named, .. } if *named == dir),
            "{refused}"
        );
        assert!(refused.to_string().contains(reason), "{refused}");
    }
}

#[test]
fn programs_that_are_not_postgresql() {
    let folder = Folder::new();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["postgres", "initdb"] {
        fs::copy("/bin/echo", bin.join(program)).unwrap();
    }
    let mut settings = Settings::new(folder.data_dir());
    settings.bin_dir = Some(bin);
    let refused = refusal(&settings);
    assert!(
        refused.to_string().contains("not a PostgreSQL server"),
        "{refused}"
    );
}

#[test]
fn a_server_that_cannot_start_shows_its_log() {
    let folder = Folder::new();
    let settings = Settings::new(folder.data_dir());
    start(&settings, |_| ()).unwrap().stop();
    let configuration = folder.data_dir().join("data/postgresql.conf");
    let good = fs::read_to_string(&configuration).unwrap();
    fs::write(&configuration, format!("{good}\nno_such_parameter = 1\n")).unwrap();
    let refused = refusal(&settings);
    assert!(
        matches!(&refused, Error::NotStarted { log, .. } if log.contains("no_such_parameter")),
        "{refused}"
    );
    fs::write(&configuration, good).unwrap();
    start(&settings, |_| ()).unwrap();
}

#[test]
fn an_initdb_that_fails_shows_why_and_leaves_no_cluster() {
    let folder = Folder::new();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    script(&bin.join("postgres"), "echo 'postgres (PostgreSQL) 16.1'");
    script(&bin.join("initdb"), "echo 'no space left' >&2; exit 1");
    let mut settings = Settings::new(folder.data_dir());
    settings.bin_dir = Some(bin);
    let refused = refusal(&settings);
    assert!(
        matches!(&refused, Error::Program { program: "initdb", output, .. } if output == "no space left"),
        "{refused}"
    );
    assert!(!folder.data_dir().join("data").exists());
    settings.bin_dir = None;
    start(&settings, |_| ()).unwrap();
}

#[test]
fn a_newer_server_in_the_path_is_for_new_clusters_only() {
    let folder = Folder::new();
    start(&Settings::new(folder.data_dir()), |_| ())
        .unwrap()
        .stop();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    script(&bin.join("postgres"), "echo 'postgres (PostgreSQL) 99.1'");
    script(&bin.join("initdb"), "echo 'initdb of 99' >&2; exit 1");
    Helper::spawn_with_path("start", &folder.data_dir(), &bin).wait_for("url ");
    let other = folder.path().join("other");
    let refused = Helper::spawn_with_path("start", &other, &bin).wait_for("error ");
    assert!(refused.contains("initdb of 99"), "{refused}");
}

fn script(path: &Path, body: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn entries(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
