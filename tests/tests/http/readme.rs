//! What somebody who begins is told to type.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

use std::net::TcpListener;
use std::process::{Command, Stdio};

use lessor_tests::process::bare;
use lessor_tests::{Folder, run};

use crate::BINARY;

const README: &str = include_str!("../../../README.md");

/// The commands of the tour, in their order.
fn tour() -> String {
    let tour = README.split("## A five-minute tour").nth(1).unwrap();
    let tour = tour.split("\n## ").next().unwrap();
    let blocks: Vec<_> = tour
        .split("```bash\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(blocks.len() > 4, "{tour}");
    blocks.concat()
}

fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The tour is a script that works, and leaves nothing behind that runs.
#[test]
fn the_tour_of_the_readme_leads_to_an_active_lease() {
    if let Some(missing) = ["bash", "curl", "jq"].into_iter().find(|it| !is_there(it)) {
        println!("SKIPPED the tour of the README: {missing} is not installed");
        return;
    }
    let folder = Folder::new("tour");
    let place = folder.path();
    // What `cargo build` would do has been done.
    for (path, target) in [
        (place.join("bin/cargo"), "/bin/true"),
        (place.join("target/release/lessor"), BINARY),
    ] {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }
    // Other tests have servers too.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let script = tour().replace("localhost:8080", &address.to_string());
    assert!(!script.contains("8080"), "{script}");
    let path = std::env::var("PATH").unwrap();
    let output = run(bare("bash")
        .args(["-euo", "pipefail", "-c"])
        .arg(format!(
            "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{script}"
        ))
        .env("PATH", format!("{}:{path}", place.join("bin").display()))
        .env("LESSOR_LISTEN", address.to_string())
        // Nobody's browser is to be opened by a test.
        .env_remove("DISPLAY")
        .env("BROWSER", "true")
        .current_dir(place));
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    let log = std::fs::read_to_string(place.join("serve.log")).unwrap();
    assert!(output.status.success(), "{said}\n{complained}\n{log}");
    assert!(said.contains("{\"status\":\"ready\"}"), "{said}");
    assert!(
        said.contains(&format!("page: http://{address}/c/")),
        "{said}"
    );
    assert!(said.contains("\"lifecycle\": \"leaseActive\""), "{said}");
    assert_eq!(complained, "");
    assert!(log.contains(&format!("serves http://{address}")), "{log}");
    assert!(TcpListener::bind(address).is_ok(), "it still listens");
}
