//! The files as the programs read them that they are for. Where one is not installed its test says that it was skipped,
//! or fails when `LESSOR_REQUIRE_PEERS` is 1.

use std::io::Write as _;
use std::process::Output;

use yaml_rust2::{Yaml, YamlLoader};

use super::*;

/// How far a unit may lie open: 1.3 of 10, as `systemd-analyze security` counts.
const EXPOSURE: &str = "--threshold=13";

/// What the program says; none where it is not installed, which is said.
pub(super) fn judged(program: &str, arguments: &[&str]) -> Option<Output> {
    // Those for administrators are not where those for everybody are looked for.
    let path = std::env::var("PATH").unwrap_or_default();
    let told = Command::new(program)
        .args(arguments)
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .output();
    let Ok(told) = told else {
        let required = std::env::var("LESSOR_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "{program} is not installed");
        skip(&format!(
            "what {program} says of what is deployed: it is not installed"
        ));
        return None;
    };
    Some(told)
}

/// Says that something is not tested here.
pub(super) fn skip(what: &str) {
    // Not by a macro, whose output is captured when a test passes.
    let said = format!("SKIPPED {what}\n");
    std::io::stderr().write_all(said.as_bytes()).unwrap();
}

pub(super) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A folder that goes with the value.
pub(super) struct Stage(pub(super) PathBuf);

impl Stage {
    pub(super) fn new(name: &str) -> Self {
        let name = format!("lessor-deploy-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// The path of a new file in it.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let stage = Stage::new("units");
    let mut units = Vec::new();
    for (name, text) in files() {
        if name.ends_with(".service") || name.ends_with(".socket") {
            // It looks whether there is what is started.
            let here = env!("CARGO_BIN_EXE_lessor");
            units.push(stage.file(&name, &text.replace("/usr/local/bin/lessor", here)));
        }
    }
    assert_eq!(units.len(), 3, "{units:?}");
    let mut verify = vec!["verify", "--man=no"];
    verify.extend(units.iter().map(String::as_str));
    let Some(verified) = judged("systemd-analyze", &verify) else {
        return;
    };
    // What it knows no name of is no failure to it.
    let about_units: Vec<String> = said(&verified)
        .lines()
        .filter(|line| line.contains("lessor"))
        .map(str::to_owned)
        .collect();
    assert_eq!(about_units, Vec::<String>::new());
    assert!(verified.status.success(), "{}", said(&verified));
    for unit in units.iter().filter(|unit| unit.ends_with(".service")) {
        let open = judged(
            "systemd-analyze",
            &["security", "--offline=true", EXPOSURE, unit],
        );
        let open = open.unwrap();
        assert!(open.status.success(), "{}", said(&open));
    }
}

/// Whether this nginx has `http2` as a directive of its own, which 1.25.1 brought.
fn has_http2(version: &Output) -> bool {
    let said = said(version);
    let numbers = said.split("nginx/").nth(1).unwrap_or_default();
    let numbers: Vec<u32> = numbers
        .split(|letter: char| !letter.is_ascii_digit())
        .map_while(|number| number.parse().ok())
        .collect();
    assert_eq!(numbers.len(), 3, "{said}");
    numbers >= vec![1, 25, 1]
}

#[test]
fn nginx_takes_the_example() {
    let Some(version) = judged("nginx", &["-v"]) else {
        return;
    };
    let stage = Stage::new("nginx");
    let pair = rcgen::generate_simple_self_signed(["lease.example.com".to_owned()]).unwrap();
    stage.file("fullchain.pem", &pair.cert.pem());
    stage.file("privkey.pem", &pair.signing_key.serialize_pem());
    let here = format!("{}/", stage.0.display());
    let mut example = read("docs/deploy/nginx.conf");
    for place in ["/etc/ssl/lessor/", "/var/log/nginx/"] {
        assert!(example.contains(place), "{place}");
        example = example.replace(place, &here);
    }
    // It tries the ports, which are not everybody's; nor has every machine addresses of both kinds.
    for (port, free) in [("80;", "20080;"), ("443 ssl;", "20443 ssl;")] {
        let before = example.clone();
        example = example.replace(&format!("listen {port}"), &format!("listen {free}"));
        let wide = match std::net::TcpListener::bind("[::1]:0") {
            Ok(_) => format!("listen [::]:{free}"),
            Err(_) => String::new(),
        };
        example = example.replace(&format!("listen [::]:{port}"), &wide);
        assert_ne!(example, before);
    }
    if !has_http2(&version) {
        let before = example.clone();
        example = example
            .replace("    http2 on;\n", "")
            .replace("20443 ssl;", "20443 ssl http2;");
        assert_ne!(example, before);
    }
    let example = stage.file("lessor.conf", &example);
    let all =
        format!("pid {here}pid;\nerror_log stderr;\nevents {{}}\nhttp {{ include {example}; }}\n");
    let all = stage.file("nginx.conf", &all);
    let taken = judged("nginx", &["-t", "-c", &all, "-g", "daemon off;"]).unwrap();
    let said = said(&taken);
    assert!(taken.status.success() && !said.contains("[warn]"), "{said}");
}

#[test]
fn prometheus_takes_the_alerts_and_what_the_dashboard_asks() {
    let alerts = root().join(FOLDER).join("prometheus/alerts.yaml");
    let alerts = alerts.to_string_lossy().into_owned();
    let Some(checked) = judged("promtool", &["check", "rules", &alerts]) else {
        return;
    };
    let text = said(&checked);
    assert!(checked.status.success(), "{text}");
    let count = read("docs/deploy/prometheus/alerts.yaml")
        .matches("- alert: ")
        .count();
    assert!(text.contains(&format!("SUCCESS: {count} rules")), "{text}");
    // As rules, with what Grafana puts in.
    let dashboard: Value = serde_json::from_str(&read("docs/deploy/grafana/lessor.json")).unwrap();
    let mut asked = Vec::new();
    expressions(&dashboard, &mut asked);
    let asked = asked.iter().filter(|it| !it.starts_with("label_values("));
    let rules: Vec<Value> = asked
        .enumerate()
        .map(|(number, expression)| {
            let expression = expression.replace("$__rate_interval", "5m");
            serde_json::json!({ "record": format!("asked:{number}"), "expr": expression })
        })
        .collect();
    assert!(rules.len() > 20, "{rules:?}");
    // Which is YAML too.
    let rules = serde_json::json!({ "groups": [{ "name": "dashboard", "rules": rules }] });
    let stage = Stage::new("dashboard");
    let rules = stage.file("rules.yaml", &rules.to_string());
    let checked = judged("promtool", &["check", "rules", &rules]).unwrap();
    assert!(checked.status.success(), "{}", said(&checked));
}

/// The documents of a file.
fn documents(name: &str, text: &str) -> Vec<Yaml> {
    let read = YamlLoader::load_from_str(text);
    let read = read.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(
        !read.is_empty() && read.iter().all(|it| it.as_hash().is_some()),
        "{name}"
    );
    read
}

fn text_of(yaml: &Yaml) -> &str {
    yaml.as_str()
        .unwrap_or_else(|| panic!("{yaml:?} is no text"))
}

/// The member, also where it is one of what others have too.
fn member<'y>(of: &'y Yaml, name: &str) -> &'y Yaml {
    match &of[name] {
        Yaml::BadValue => &of["<<"][name],
        found => found,
    }
}

fn keys(of: &Yaml) -> BTreeSet<&str> {
    of.as_hash()
        .map(|it| it.keys().map(text_of).collect())
        .unwrap_or_default()
}

/// What a list names, or the keys of a map.
fn names(of: &Yaml) -> BTreeSet<&str> {
    match of.as_vec() {
        Some(list) => list.iter().map(text_of).collect(),
        None => keys(of),
    }
}

/// Everything of this name, however deep.
fn all<'y>(of: &'y Yaml, name: &str, found: &mut Vec<&'y Yaml>) {
    for element in of.as_vec().into_iter().flatten() {
        all(element, name, found);
    }
    for (key, value) in of.as_hash().into_iter().flatten() {
        if key.as_str() == Some(name) {
            found.push(value);
        }
        all(value, name, found);
    }
}

/// The variables of settings, in either form.
fn variables() -> BTreeSet<String> {
    let named = known().into_iter().flat_map(|setting| {
        let file = setting.secret.then(|| format!("{}_FILE", setting.variable));
        [Some(setting.variable), file]
    });
    named.flatten().collect()
}

#[test]
fn every_file_of_yaml_is_one() {
    let mut read = 0;
    for (name, text) in files() {
        if name.ends_with(".yaml") {
            documents(&name, &text);
            read += 1;
        }
    }
    assert!(read > 9, "{read}");
}

/// Containers of Lessor have variables that are settings, and each thing that is named is there.
#[test]
fn compose_names_what_there_is() {
    let [compose] = &documents("compose.yaml", &read("docs/deploy/compose.yaml"))[..] else {
        panic!("one document");
    };
    let (services, variables) = (&compose["services"], variables());
    let mut ours = 0;
    for name in keys(services) {
        let service = &services[name];
        for (member_name, known) in [
            ("depends_on", services),
            ("networks", &compose["networks"]),
            ("secrets", &compose["secrets"]),
        ] {
            for named in names(member(service, member_name)) {
                assert!(
                    keys(known).contains(named),
                    "{name}: {member_name}: {named}"
                );
            }
        }
        for volume in service["volumes"].as_vec().into_iter().flatten() {
            let source = text_of(volume).split(':').next().unwrap_or_default();
            let is_there = match source.strip_prefix("./") {
                Some(file) => root().join(FOLDER).join(file).is_file(),
                None => keys(&compose["volumes"]).contains(source),
            };
            assert!(is_there, "{name}: {source}");
        }
        let given = member(service, "environment");
        for (variable, value) in given.as_hash().into_iter().flatten() {
            if let Some(secret) = value
                .as_str()
                .and_then(|it| it.strip_prefix("/run/secrets/"))
            {
                let has = names(member(service, "secrets")).contains(secret);
                assert!(has, "{name}: {secret}");
            }
            if text_of(member(service, "image")).starts_with("lessor:") {
                let variable = text_of(variable);
                assert!(variables.contains(variable), "{name}: {variable}");
                ours += 1;
            }
        }
    }
    assert!(ours > 10, "{ours}");
}

/// The same of the manifests, which find each other by names and labels.
#[test]
fn manifests_name_what_there_is() {
    let files = files();
    let manifests = files
        .iter()
        .filter(|(name, _)| name.starts_with("kubernetes/"));
    let documents: Vec<Yaml> = manifests
        .flat_map(|(name, text)| documents(name, text))
        .collect();
    let mut known = BTreeSet::new();
    for document in &documents {
        let (kind, metadata) = (text_of(&document["kind"]), &document["metadata"]);
        text_of(&document["apiVersion"]);
        let is_new = known.insert((kind, text_of(&metadata["name"])));
        assert!(is_new, "{kind} {metadata:?}");
    }
    let (variables, mut given) = (variables(), 0);
    let mut check = |variable: &str| {
        assert!(variables.contains(variable), "{variable}");
        given += 1;
    };
    let mut pods = Vec::new();
    for document in &documents {
        let kind = text_of(&document["kind"]);
        if kind == "ConfigMap" {
            keys(&document["data"]).into_iter().for_each(&mut check);
        }
        let template = &document["spec"]["template"];
        if template.is_badvalue() {
            continue;
        }
        pods.push(&template["metadata"]["labels"]);
        let selector = &document["spec"]["selector"]["matchLabels"];
        if !selector.is_badvalue() {
            assert_eq!(selector, &template["metadata"]["labels"], "{kind}");
        }
        for volume in template["spec"]["volumes"].as_vec().into_iter().flatten() {
            let secret = &volume["secret"]["secretName"];
            if !secret.is_badvalue() {
                assert!(known.contains(&("Secret", text_of(secret))), "{secret:?}");
            }
        }
        let volumes: BTreeSet<&str> = (template["spec"]["volumes"].as_vec().into_iter().flatten())
            .map(|volume| text_of(&volume["name"]))
            .collect();
        for container in template["spec"]["containers"].as_vec().unwrap() {
            for variable in container["env"].as_vec().into_iter().flatten() {
                check(text_of(&variable["name"]));
            }
            for from in container["envFrom"].as_vec().into_iter().flatten() {
                let map = text_of(&from["configMapRef"]["name"]);
                assert!(known.contains(&("ConfigMap", map)), "{map}");
            }
            for mount in container["volumeMounts"].as_vec().into_iter().flatten() {
                assert!(volumes.contains(text_of(&mount["name"])), "{mount:?}");
            }
            let ports: BTreeSet<&str> = (container["ports"].as_vec().into_iter().flatten())
                .map(|port| text_of(&port["name"]))
                .collect();
            let mut probed = Vec::new();
            all(container, "httpGet", &mut probed);
            for probe in probed {
                assert!(ports.contains(text_of(&probe["port"])), "{probe:?}");
            }
        }
    }
    assert!(pods.len() > 2 && given > 8, "{pods:?} {given}");
    // Whom others look for by labels is there.
    let mut sought = Vec::new();
    for document in &documents {
        match text_of(&document["kind"]) {
            "Service" => sought.push(&document["spec"]["selector"]),
            "PodDisruptionBudget" => sought.push(&document["spec"]["selector"]["matchLabels"]),
            "NetworkPolicy" => sought.push(&document["spec"]["podSelector"]["matchLabels"]),
            _ => {}
        }
    }
    assert!(sought.len() > 2, "{sought:?}");
    for labels in sought {
        let wanted = labels.as_hash().unwrap();
        let has = |pod: &&&Yaml| {
            wanted
                .iter()
                .all(|(name, value)| pod.as_hash().unwrap().get(name) == Some(value))
        };
        assert!(pods.iter().any(|pod| has(&pod)), "{labels:?}");
    }
}
