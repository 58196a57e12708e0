//! What makes a database and its tables, and that nothing else does.

use std::collections::{BTreeMap, BTreeSet};

use lessor_adapters::testing::TestDatabase;
use lessor_tests::process::bare;
use lessor_tests::{Folder, answer, lessor, run, text};

use crate::BINARY;

/// What makes them.
const MAKE: [&str; 5] = ["demo", "migrate", "restore", "serve", "worker"];
/// What asks no database.
const WITHOUT: [&str; 5] = ["completions", "config", "mail-preview", "man", "openapi"];
/// A command line of every other command, which would do something. `FILE` is a file that is there, `NEW` one that is not.
const OTHERS: [&str; 38] = [
    "agreement verify FILE",
    "audit --org 1",
    "backup NEW",
    "checkout qualify chk_0000000000000000000001 --decision approved",
    "checkout relink chk_0000000000000000000001",
    "doctor",
    "events list --org 1 --mode sandbox",
    "events redeliver evt_0000000000000000000001 --org 1 --mode sandbox",
    "events tail --org 1 --mode sandbox",
    "inbox list",
    "inbox retry --all",
    "jobs list",
    "jobs retry",
    "jobs skip 0197a4c0-7e5b-7c3f-8a52-1d7c4b1b9d20 --reason gone",
    "key create --org 1 --mode sandbox --permissions all",
    "key list",
    "key revoke key_0000000000000000000001",
    "key roll key_0000000000000000000001",
    "listen --org 1 --mode sandbox --forward-to http://127.0.0.1:1/",
    "mail list",
    "mail retry",
    "mail unsuppress --org 1 ada@example.com",
    "org create --name Bikes",
    "org list",
    "org processor remove 1 --mode live",
    "org processor set 1 --mode live --key-file FILE --webhook-secret-file FILE",
    "org processor show 1",
    "org show 1",
    "org update 1 --name Bikes",
    "pickup-location create --org 1 --name Store --address1 1 --city Lyon --zip 69001 --country FR",
    "pickup-location list --org 1",
    "pickup-location update 1 --name Store",
    "product review prod_0000000000000000000001 --status approved",
    "reconcile --mode sandbox",
    "terms create --org 1 --months 12 --method moneyFactor --money-factor 0.001",
    "terms delete term_0000000000000000000001",
    "terms list --org 1",
    "terms update term_0000000000000000000001 --status inactive",
];

/// Every command of the program that does something, as its manual pages are called: `org-create`.
fn commands(folder: &Folder) -> BTreeSet<String> {
    let out = folder.path().join("man");
    let pages = answer(bare(BINARY).arg("man").arg("--out").arg(&out));
    let pages = pages["results"].as_array().cloned().unwrap_or_default();
    let names: BTreeSet<String> = (pages.iter().map(text))
        .filter_map(|page| {
            let name = page.rsplit('/').next()?.strip_suffix(".1")?;
            Some(name.strip_prefix("lessor-")?.to_owned())
        })
        .collect();
    let has_inner = |name: &String| {
        let inner = format!("{name}-");
        names.iter().any(|other| other.starts_with(&inner))
    };
    names
        .iter()
        .filter(|name| !has_inner(name))
        .cloned()
        .collect()
}

/// The words of a command line that name the command: as many as there is a command for.
fn named<'a>(line: &str, commands: &'a BTreeSet<String>) -> Option<&'a String> {
    let words: Vec<&str> = line.split(' ').collect();
    let mut names = (1..=words.len()).map(|count| words[..count].join("-"));
    names.find_map(|name| commands.get(&name))
}

/// Whoever mistypes a folder or an address is told so, and finds nothing there afterwards. A command that is added has a
/// line here, or this fails.
#[tokio::test(flavor = "multi_thread")]
async fn other_commands_make_neither_a_database_nor_tables() {
    let folder = Folder::new("none");
    let commands = commands(&folder);
    let lines: BTreeMap<&String, &str> = (OTHERS.iter())
        .filter_map(|line| Some((named(line, &commands)?, *line)))
        .collect();
    assert_eq!(lines.len(), OTHERS.len(), "{lines:?}");
    let unknown: Vec<&String> = (commands.iter())
        .filter(|name| !lines.contains_key(name))
        .filter(|name| ![&MAKE[..], &WITHOUT].concat().contains(&name.as_str()))
        .collect();
    assert!(unknown.is_empty(), "what do they need? {unknown:?}");

    let file = folder.file(
        "some",
        "some text of some length, as a key and as a secret\n",
    );
    let new = folder.path().join("new");
    let refused = |line: &str, url: Option<&str>| {
        let arguments = line.split(' ').map(|word| match word {
            "FILE" => file.clone(),
            "NEW" => new.to_string_lossy().into_owned(),
            word => word.to_owned(),
        });
        let mut command = lessor(BINARY, &folder);
        command.envs(url.map(|url| ("DATABASE_URL", url)));
        let output = run(command.args(arguments));
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(!new.exists(), "{line}");
        said
    };
    for line in OTHERS.into_iter().chain(["migrate --dry-run"]) {
        let said = refused(line, None);
        assert!(said.contains("no database in "), "{line}: {said}");
        assert!(!folder.path().join("data").exists(), "{line}");
    }

    let database = TestDatabase::create_empty().await;
    let on_it = |arguments: &[&str]| {
        let mut command = lessor(BINARY, &folder);
        command.env("DATABASE_URL", database.url()).args(arguments);
        answer(&mut command)
    };
    let pending = on_it(&["migrate", "--dry-run"])["pending"].clone();
    let count = pending.as_array().map_or(0, Vec::len);
    assert!(count > 0, "{pending}");
    let made = "SELECT count(*) FROM (SELECT oid FROM pg_class UNION ALL SELECT oid FROM pg_proc \
         UNION ALL SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_' \
         UNION ALL SELECT oid FROM pg_type UNION ALL SELECT oid FROM pg_extension) AS made \
         WHERE oid >= 16384";
    assert_eq!(database.query(made).await, ["0"]);
    for line in OTHERS {
        let said = refused(line, Some(database.url()));
        // A backup is of any version, and asks no more than that there are tables.
        let lacks = match line {
            "backup NEW" => "no tables of Lessor".to_owned(),
            _ => format!("{count} migrations"),
        };
        let is_told = said.contains(&lacks) && said.contains("`lessor migrate`");
        assert!(is_told, "{line}: {said}");
        assert_eq!(database.query(made).await, ["0"], "{line}");
    }
    assert_eq!(on_it(&["migrate"])["applied"], pending);
    assert_eq!(on_it(&["org", "list"])["total"], 0);
}
