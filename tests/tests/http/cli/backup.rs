//! `lessor backup` and `lessor restore`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use lessor_adapters::testing::{TestDatabase, is_cluster};
use lessor_tests::server::SERVER_KEY;
use lessor_tests::{Folder, Server, answer, lessor, run, text};

use crate::BINARY;

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_running_service_is_restored_into_a_new_database() {
    if is_cluster() {
        println!("SKIPPED a backup: it is of one server");
        return;
    }
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    client.checkout("BIKE", "grace@example.com").await;
    let folder = Folder::new("backup");
    let path = folder.path().join("lessor.backup");
    let file = path.to_string_lossy().into_owned();
    let made = server.cli(&["backup", &file]);
    assert!(made["rows"].as_u64() > Some(5), "{made}");
    let mode = fs::metadata(&path).map(|known| known.permissions().mode() & 0o777);
    assert_eq!(mode.ok(), Some(0o600));
    // Nothing is written over.
    let (status, said) = server.refused(&["backup", &file]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("cannot make"), "{said}");
    let (status, said) = server.refused(&["restore", &file]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("has content"), "{said}");

    let new = TestDatabase::create_empty().await;
    let on_new = || {
        let mut command = lessor(BINARY, &folder);
        command.env("DATABASE_URL", new.url());
        command
    };
    let output = run(on_new().args(["restore", &file]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("server's key"), "{said}");
    let known = |list: serde_json::Value| text(&list["results"][0]["publicId"]);
    let restored = answer(on_new().args(["org", "list"]));
    let organization = known(restored);
    assert!(!organization.is_empty());
    assert_eq!(organization, known(server.cli(&["org", "list"])));

    // To whoever reads standard output nothing else is said there.
    let piped = run(on_new()
        .env("LESSOR_SERVER_SECRET", SERVER_KEY)
        .args(["backup", "-"]));
    assert!(piped.status.success());
    assert!(piped.stdout.starts_with(b"lessor backup 1\n"));
}
