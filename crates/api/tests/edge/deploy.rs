//! What is deployed: the files of `docs/deploy`, and what the manual says of them, name nothing that there is not.
//!
//! What is in more than one kind of file is read line by line: it stands on lines of its own. The rest is read, here and
//! by the programs that it is for, in [`judges`].

mod judges;
mod release;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lessor::run::config::{Config, Setting, parse_duration, settings};
use serde_json::Value;

const MANUAL: &str = "docs/OPERATIONS.md";
/// Where its files are.
const FOLDER: &str = "docs/deploy";
/// What people put there for themselves.
const OF_PEOPLE: [&str; 2] = ["secrets", ".env"];
/// The variable that names the file of settings, and is none itself.
const FILE_VARIABLE: &str = "LESSOR_CONFIG";
/// How the names of metrics begin.
const METRICS: [&str; 3] = ["lessor_", "http_", "process_"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn collect(folder: &Path, below: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if OF_PEOPLE.contains(&name.as_str()) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{below}{name}/"), found);
        } else {
            let text = fs::read_to_string(entry.path()).unwrap();
            found.insert(format!("{below}{name}"), text);
        }
    }
}

/// The files, by their paths below the folder.
fn files() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(&root().join(FOLDER), "", &mut found);
    assert!(found.len() > 10, "{:?}", found.keys());
    found
}

/// The files, and the sections of the manual about them.
fn texts() -> BTreeMap<String, String> {
    let mut texts = files();
    for name in ["Deploying", "Runbook"] {
        texts.insert(format!("{MANUAL}: {name}"), section(name));
    }
    texts
}

fn section(name: &str) -> String {
    let manual = read(MANUAL);
    let rest = manual.split(&format!("\n## {name}\n")).nth(1);
    let rest = rest.unwrap_or_else(|| panic!("the manual has a section {name}"));
    rest.split("\n## ").next().unwrap_or_default().to_owned()
}

/// What may be a name in the text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
}

/// What stands between backticks, lines of code too.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// What an operator may set.
fn known() -> Vec<Setting> {
    let mut known = settings();
    known.retain(|setting| !setting.hidden);
    known
}

#[test]
fn every_variable_and_every_credential_is_a_setting() {
    let mut variables = BTreeSet::from([FILE_VARIABLE.to_owned()]);
    let mut secrets = BTreeSet::new();
    for setting in known() {
        if setting.secret {
            variables.insert(format!("{}_FILE", setting.variable));
            secrets.insert(setting.key);
        }
        variables.insert(setting.variable);
    }
    let (mut named, mut handed) = (0, 0);
    for (name, text) in texts() {
        for word in words(&text) {
            if word.starts_with("LESSOR_") || word.starts_with("DATABASE_URL") {
                assert!(variables.contains(word), "{name}: {word} is no setting");
                named += 1;
            }
        }
        for rest in text.split("LoadCredential=").skip(1) {
            let key = rest.split(':').next().unwrap_or_default();
            assert!(secrets.contains(key), "{name}: {key} is no secret");
            handed += 1;
        }
    }
    assert!(named > 20 && handed > 3, "{named} {handed}");
}

/// The command lines of Lessor in a text: its own words, and those of the units, images and pods.
fn commands(text: &str) -> Vec<Vec<String>> {
    let split =
        |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
    let mut found: Vec<Vec<String>> = quoted(text)
        .filter_map(|code| code.strip_prefix("lessor "))
        .map(split)
        .collect();
    for line in text.lines() {
        // The check of health, which is another program's, is not at the beginning of its line.
        if let Some(list) = line.strip_prefix("CMD ") {
            found.push(serde_json::from_str(list).unwrap());
        }
        let line = line.trim();
        if let Some(given) = line.strip_prefix("ExecStart=/usr/local/bin/lessor ") {
            found.push(split(given));
        }
        for list in ["command: ", "args: "] {
            if let Some(list) = line.strip_prefix(list) {
                found.push(serde_json::from_str(list).unwrap());
            }
        }
    }
    found
}

/// The commands, and the flags behind them, are those of the program.
#[test]
fn every_command_is_one_and_takes_its_flags() {
    let is_command = |word: &&String| {
        !word.starts_with('-') && word.bytes().all(|it| it.is_ascii_lowercase() || it == b'-')
    };
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    for (name, text) in texts() {
        for given in commands(&text) {
            let path: Vec<String> = given.iter().take_while(is_command).cloned().collect();
            let help = helps.entry(path.clone()).or_insert_with(|| {
                let mut program = Command::new(env!("CARGO_BIN_EXE_lessor"));
                let told = program.args(&path).arg("--help").output().unwrap();
                assert!(told.status.success(), "{name}: {given:?}: {told:?}");
                String::from_utf8_lossy(&told.stdout).into_owned()
            });
            for word in given.iter().filter(|word| word.starts_with("--")) {
                let flag = word.split('=').next().unwrap_or_default();
                let is_in_help = help
                    .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
                    .any(|told| told == flag);
                assert!(is_in_help, "{name}: {given:?} has no {flag}");
            }
        }
    }
    for command in ["serve", "worker", "migrate"] {
        assert!(helps.keys().any(|path| *path == [command]), "{command}");
    }
}

/// What a text sets by variables: `NAME: value` in YAML, `NAME=value` in the image.
fn environment(text: &str) -> Vec<(String, String)> {
    let variables: BTreeSet<String> = known().into_iter().map(|it| it.variable).collect();
    text.lines()
        .map(|line| {
            line.trim()
                .trim_start_matches("ENV ")
                .trim_end_matches(" \\")
        })
        .filter_map(|line| line.split_once(": ").or_else(|| line.split_once('=')))
        // What is put in by whoever starts it is not known here.
        .filter(|(name, value)| variables.contains(*name) && !value.contains("${"))
        .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
        .collect()
}

/// The settings of a file, as Lessor reads them.
fn config_of(file: &str) -> Config {
    let path = format!("{FOLDER}/{file}");
    let read = if file.ends_with(".toml") {
        Config::load(BTreeMap::new(), [], Some(root().join(path).as_path()))
    } else {
        let environment = environment(&read(&path));
        assert!(!environment.is_empty(), "{file} sets nothing");
        Config::load(BTreeMap::new(), environment, None)
    };
    read.unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// How long a process may take to stop, from the signal on.
fn time_to_stop(config: &Config) -> Duration {
    let time = |key: &str| {
        let mut entries = config.entries.iter();
        let text = entries.find(|entry| entry.key == key)?.value.as_deref()?;
        // No time at all is no time to the parser either.
        parse_duration(text).ok()
    };
    let (drain, stop) = (time("drain_delay"), time("shutdown_timeout"));
    drain.unwrap_or_default() + stop.unwrap_or_default()
}

#[test]
fn values_can_be_used_and_leave_the_time_to_stop() {
    drop(config_of("Dockerfile"));
    for (file, said, by) in [
        ("lessor.toml", "lessor.service", "TimeoutStopSec="),
        ("lessor.toml", "lessor-worker.service", "TimeoutStopSec="),
        ("compose.yaml", "compose.yaml", "stop_grace_period: "),
        (
            "kubernetes/configmap.yaml",
            "kubernetes/serve.yaml",
            "terminationGracePeriodSeconds: ",
        ),
        (
            "kubernetes/configmap.yaml",
            "kubernetes/worker.yaml",
            "terminationGracePeriodSeconds: ",
        ),
    ] {
        let needed = time_to_stop(&config_of(file));
        let text = read(&format!("{FOLDER}/{said}"));
        let mut left = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix(by))
            .map(|time| time.trim_end_matches('s').parse().map(Duration::from_secs));
        let left = left.next().unwrap().unwrap();
        assert!(left > needed, "{said}: {left:?} for {needed:?}");
    }
}

/// What a unit says behind the name.
fn in_unit(unit: &str, name: &str) -> String {
    let text = read(&format!("{FOLDER}/{unit}"));
    let mut said = text.lines().filter_map(|line| line.strip_prefix(name));
    let first = said.next().unwrap_or_else(|| panic!("{unit}: {name}"));
    assert_eq!(said.next(), None, "{unit}: {name}");
    first.to_owned()
}

/// Units wait for the word that the process is ready, and for longer than a start waits itself; the socket is where
/// the settings say.
#[test]
fn units_are_told_when_the_process_is_ready() {
    let config = config_of("lessor.toml");
    for unit in ["lessor.service", "lessor-worker.service"] {
        assert_eq!(in_unit(unit, "Type="), "notify");
        let given = in_unit(unit, "TimeoutStartSec=").parse().unwrap();
        assert!(Duration::from_secs(given) > config.migration_wait, "{unit}");
        let watched: u32 = in_unit(unit, "WatchdogSec=").parse().unwrap();
        assert!(watched > 1, "{unit}");
    }
    assert_eq!(in_unit("lessor.socket", "ListenStream="), config.listen);
    assert_eq!(in_unit("lessor.service", "Requires="), "lessor.socket");
}

#[test]
fn the_image_has_the_compiler_and_pods_the_version_of_the_repository() {
    let toolchain = read("rust-toolchain.toml");
    let channel = toolchain.split("channel = \"").nth(1).unwrap();
    let channel = channel.split('"').next().unwrap_or_default();
    let files = files();
    assert!(files["Dockerfile"].contains(&format!("ARG RUST_VERSION={channel}\n")));
    let version = env!("CARGO_PKG_VERSION");
    for (name, text) in &files {
        let images = text.lines().map(str::trim);
        for image in images.filter(|it| it.starts_with("image: ") && it.contains("lessor:")) {
            let is_this = image.ends_with(&format!("lessor:{version}"));
            assert!(is_this, "{name}: {image}");
        }
    }
    let job = format!("name: lessor-migrate-{}\n", version.replace('.', "-"));
    assert!(files["kubernetes/migrate.yaml"].contains(&job), "{job}");
}

/// What the compiler read of the repository to make the program, as it has noted beside what it made.
fn compiled() -> BTreeSet<PathBuf> {
    let folder = std::env::current_exe().unwrap();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // `lessor-0f3a….d`, and those of the crates that it depends on.
        if !name.starts_with("lessor") || !name.ends_with(".d") {
            continue;
        }
        let noted = fs::read_to_string(&path).unwrap();
        let read = noted.lines().filter_map(|line| line.strip_suffix(':'));
        // What was read once, and is not there any more, is of an earlier version.
        let read = read.filter_map(|file| fs::canonicalize(root().join(file)).ok());
        found.extend(read);
    }
    let root = fs::canonicalize(root()).unwrap();
    let ours = found
        .iter()
        .filter_map(|file| file.strip_prefix(&root).ok());
    // The one that lints reads its settings too.
    ours.filter(|file| !file.starts_with("target") && !file.ends_with("clippy.toml"))
        .map(Path::to_owned)
        .collect()
}

/// The image is built of what is copied into its first stage: a file that the program is made of and that is not there
/// would be missed nowhere else.
#[test]
fn the_image_is_built_of_all_that_the_program_is_made_of() {
    let files = files();
    let builder = files["Dockerfile"].split("\nFROM ").nth(1).unwrap();
    let copied: Vec<&str> = (builder.lines())
        .filter_map(|line| line.strip_prefix("COPY "))
        .flat_map(|words| words.rsplit_once(' ').unwrap().0.split(' '))
        .collect();
    let rules: Vec<&str> = files["Dockerfile.dockerignore"].lines().collect();
    for source in &copied {
        assert!(
            rules.contains(&&*format!("!{source}")),
            "{source} is left out"
        );
    }
    let left_out = |file: &Path| rules.iter().any(|rule| file.starts_with(rule));
    let read = compiled();
    assert!(read.contains(Path::new("README.md")), "{read:?}");
    let missing: Vec<&PathBuf> = (read.iter())
        .filter(|file| left_out(file) || !copied.iter().any(|source| file.starts_with(source)))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The metrics of the manual's table.
fn metrics() -> BTreeSet<String> {
    let manual = read(MANUAL);
    let table = manual.split("\n| Metric |").nth(1).unwrap();
    let rows = table.lines().skip(1).take_while(|row| row.starts_with('|'));
    let first = rows.filter_map(|row| row.split('|').nth(1));
    first.flat_map(quoted).map(str::to_owned).collect()
}

/// The table lists the metrics that there are, with their labels, and no others.
#[test]
fn the_manual_lists_every_metric_with_its_labels() {
    let manual = read(MANUAL);
    let table = manual.split("\n| Metric |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let mut listed = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        for name in quoted(cells[1]) {
            let twice = listed.insert(name.to_owned(), cells[2].to_owned());
            assert_eq!(twice, None, "{name} is listed twice");
        }
    }
    let labels = |metric: &lessor::telemetry::Metric| {
        let labels = metric.labels.iter().map(|(label, values)| {
            let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            match values.is_empty() {
                true => format!("`{label}`"),
                false => format!("`{label}`: {}", values.join(", ")),
            }
        });
        labels.collect::<Vec<_>>().join("; ")
    };
    let known: BTreeMap<String, String> = lessor::telemetry::METRICS
        .iter()
        .map(|metric| (metric.name.to_owned(), labels(metric)))
        .collect();
    assert_eq!(listed, known);
}

/// Sees to it that an expression asks for metrics that there are, by values of labels that the manual names.
fn check_expression(place: &str, expression: &str, metrics: &BTreeSet<String>, manual: &str) {
    for word in words(expression) {
        if METRICS.iter().any(|begin| word.starts_with(*begin)) {
            let name = ["_bucket", "_sum", "_count"]
                .into_iter()
                .find_map(|end| word.strip_suffix(end))
                .unwrap_or(word);
            assert!(metrics.contains(name), "{place}: there is no metric {name}");
        }
    }
    for sign in ["=\"", "=~\""] {
        for rest in expression.split(sign).skip(1) {
            let value = rest.split('"').next().unwrap_or_default();
            for name in value.split('|') {
                // Statuses, routes and patterns are others' to name.
                let is_name = !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphabetic());
                let is_told = manual.contains(&format!("`{name}`"));
                assert!(!is_name || is_told, "{place}: the manual has no {name}");
            }
        }
    }
}

#[test]
fn every_alert_asks_for_what_there_is_and_says_what_to_do() {
    let (manual, metrics) = (read(MANUAL), metrics());
    assert!(metrics.len() > 20, "{metrics:?}");
    let rules = read("docs/deploy/prometheus/alerts.yaml");
    let mut names = BTreeSet::new();
    for rule in rules.split("- alert: ").skip(1) {
        let (name, rule) = rule.split_once('\n').unwrap();
        let (expression, told) = rule.split_once("labels:\n").unwrap();
        let is_about = words(expression).any(|word| word == "up" || metrics.contains(word))
            || expression.contains("_bucket{");
        assert!(is_about, "{name} asks for nothing");
        check_expression(name, expression, &metrics, &manual);
        let told: Vec<&str> = told.lines().map(str::trim).collect();
        let begins = |with: &str| told.iter().any(|line| line.starts_with(with));
        let is_graded = begins("severity: critical") || begins("severity: warning");
        assert!(is_graded, "{name} has no severity");
        assert!(begins("summary: \""), "{name} has no summary");
        let url = format!(
            "runbook_url: {}/blob/main/{MANUAL}#{}",
            env!("CARGO_PKG_REPOSITORY"),
            name.to_lowercase()
        );
        assert!(told.contains(&url.as_str()), "{name} has no {url}");
        names.insert(name.to_owned());
    }
    let runbook = section("Runbook");
    let sections = runbook.split("\n### ").skip(1);
    let mut written = BTreeSet::new();
    for section in sections {
        let (name, text) = section.split_once('\n').unwrap();
        for part in ["\n- **Means:** ", "\n- **Look at:** ", "\n- **Do:** "] {
            assert!(text.contains(part), "{name}: {part:?}");
        }
        written.insert(name.to_owned());
    }
    assert_eq!(names, written);
    assert!(names.len() > 20, "{names:?}");
}

/// What a dashboard asks Prometheus for.
fn expressions<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_str() {
                    Some(text) if name == "expr" || name == "definition" => found.push(text),
                    _ => expressions(member, found),
                }
            }
        }
        Value::Array(elements) => {
            for element in elements {
                expressions(element, found);
            }
        }
        _ => {}
    }
}

#[test]
fn the_dashboard_asks_for_metrics_that_there_are() {
    let (manual, metrics) = (read(MANUAL), metrics());
    let dashboard: Value = serde_json::from_str(&read("docs/deploy/grafana/lessor.json")).unwrap();
    let mut found = Vec::new();
    expressions(&dashboard, &mut found);
    assert!(found.len() > 20, "{found:?}");
    for expression in found {
        check_expression("the dashboard", expression, &metrics, &manual);
    }
}

#[test]
fn every_file_is_in_the_manual_and_every_place_that_is_named_is_there() {
    let deploying = section("Deploying");
    for name in files().keys() {
        let link = format!("](deploy/{name})");
        assert!(deploying.contains(&link), "{name} is not in the manual");
    }
    for rest in deploying.split("](deploy/").skip(1) {
        let name = rest.split(')').next().unwrap_or_default();
        assert!(root().join(FOLDER).join(name).is_file(), "{name}");
    }
    let security = read("SECURITY.md");
    let folders = ["crates/", "tests/", "migrations/", "docs/"];
    let places =
        quoted(&security).filter(|it| folders.iter().any(|folder| it.starts_with(*folder)));
    let places: Vec<&str> = places.collect();
    assert!(places.len() > 20, "{places:?}");
    for place in places {
        assert!(root().join(place).exists(), "{place}");
    }
}
