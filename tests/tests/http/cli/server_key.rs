//! The server's key lies beside the database, which knows it again and does not hold it.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use lessor_adapters::testing::TestDatabase;
use lessor_tests::contract::Contract;
use lessor_tests::process::bare;
use lessor_tests::{Client, Folder, answer, text};
use serde_json::Value;

use crate::BINARY;

const OLD: &str = "an old key of thirty-two letters";
const NEW: &str = "a new key of more than thirty-two letters";

/// A database, and machines that serve it: each has a data directory of its own.
struct Site {
    database: TestDatabase,
    folder: Folder,
}

impl Site {
    async fn new() -> Self {
        Self {
            database: TestDatabase::create().await,
            folder: Folder::new("server-key"),
        }
    }

    fn file(&self, machine: &str) -> PathBuf {
        self.folder.path().join(machine).join("server.key")
    }

    fn command(&self, machine: &str, key: &str) -> Command {
        let mut command = bare(BINARY);
        command
            .env("DATABASE_URL", self.database.url())
            .env("LESSOR_SERVER_SECRET", key)
            .env("LESSOR_LISTEN", "127.0.0.1:0")
            .arg("--data-dir")
            .arg(self.folder.path().join(machine));
        command
    }

    /// Begins to serve, with this key or, when that is empty, what there is.
    fn begin(&self, machine: &str, key: &str) -> Begun {
        let mut command = self.command(machine, key);
        command.arg("serve");
        self.spawn(command, machine)
    }

    fn spawn(&self, mut command: Command, machine: &str) -> Begun {
        let log = self.folder.path().join(format!("{machine}.log"));
        let child = command
            .arg("--json")
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        Begun { child, log }
    }

    async fn serve(&self, machine: &str, key: &str) -> Machine {
        self.begin(machine, key).up().await
    }

    fn refused(&self, machine: &str, key: &str) -> String {
        self.begin(machine, key).refused()
    }

    /// Whoever has the whole database has neither the key nor what it is used as.
    async fn holds_nothing_of(&self, key: &str) {
        let tables = "SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'public'";
        let mut dump = Vec::new();
        for table in self.database.query(tables).await {
            let rows = format!("SELECT to_jsonb(t)::text FROM {table} t");
            dump.extend(self.database.query(&rows).await);
        }
        let dump = dump.join("\n");
        assert!(dump.contains("fingerprint") && dump.contains("page_nonce"));
        let forms = format!(
            "SELECT unnest(array['{key}', encode('{key}', 'hex'), encode(sha256('{key}'), 'hex')])"
        );
        for form in self.database.query(&forms).await {
            assert!(!dump.contains(&form), "{form} is in {dump}");
        }
    }
}

/// A process that serves, or is about to end.
struct Begun {
    child: Child,
    log: PathBuf,
}

impl Begun {
    /// What it says first; nothing when it ended.
    fn said(&mut self) -> Value {
        let mut line = String::new();
        let stdout = self.child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_default()
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    async fn up(mut self) -> Machine {
        let said = self.said();
        let url = text(&said["url"]);
        assert!(!url.is_empty(), "{}", self.log());
        let contract = Contract::of(&url).await;
        Machine {
            process: self,
            url,
            contract,
        }
    }

    /// The one line that it ended with.
    fn refused(mut self) -> String {
        assert_eq!(self.said(), Value::Null, "it serves");
        assert_eq!(self.child.wait().unwrap().code(), Some(1));
        let log = self.log();
        let last = log.lines().last().unwrap_or_default();
        let said: Value = serde_json::from_str(last).unwrap_or_default();
        let message = text(&said["error"]["message"]);
        assert!(!message.is_empty() && !message.contains('\n'), "{log}");
        message
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A process that serves.
struct Machine {
    process: Begun,
    url: String,
    contract: Arc<Contract>,
}

impl Machine {
    /// A new organization, with a variant to lease.
    async fn client(&self, site: &Site) -> Client {
        let made = answer(
            site.command("elsewhere", "")
                .args(["org", "create", "--name", "Bikes"]),
        );
        let id = text(&made["publicId"]);
        let key = answer(site.command("elsewhere", "").args([
            "key",
            "create",
            "--org",
            &id,
            "--mode",
            "sandbox",
            "--permissions",
            "all",
            "--user",
            "staff@example.com",
        ]));
        let client = Client::new(
            self.url.clone(),
            Arc::clone(&self.contract),
            id,
            made["id"].as_i64().unwrap(),
            text(&key["key"]),
        );
        client.variant("BIKE", None).await;
        client
    }

    /// The same client, here.
    fn has(&self, client: &Client) -> Client {
        let mut here = client.clone();
        here.url.clone_from(&self.url);
        here
    }

    /// The path of a checkout's page, as this machine shows it.
    async fn shows(&self, client: &Client, checkout: &Value) -> String {
        let read = self.has(client).reread(checkout).await;
        self.path(&read)
    }

    fn path(&self, checkout: &Value) -> String {
        let address = text(&checkout["checkoutUrl"]);
        address.strip_prefix(&self.url).unwrap().to_owned()
    }

    async fn opens(&self, path: &str) -> bool {
        let answer = reqwest::get(format!("{}{path}", self.url)).await.unwrap();
        let status = answer.status().as_u16();
        assert!([200, 404].contains(&status), "{status}");
        status == 200
    }
}

/// The line that tells of a new key.
const KEEP: &str = "keep a copy";

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_makes_the_key_and_other_machines_need_it() {
    let site = Site::new().await;
    let machine = site.serve("first", "").await;
    let file = site.file("first");
    let key = fs::read_to_string(&file).unwrap();
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let log = machine.process.log();
    let line = log.lines().find(|line| line.contains(KEEP)).unwrap();
    assert!(line.contains(&*file.to_string_lossy()), "{line}");
    let client = machine.client(&site).await;
    let checkout = client.checkout("BIKE", "grace@example.com").await;
    let page = machine.path(&checkout);
    assert!(machine.opens(&page).await);
    drop(machine);

    let machine = site.serve("first", "").await;
    assert!(!machine.process.log().contains(KEEP));
    assert_eq!(fs::read_to_string(&file).unwrap(), key);
    assert_eq!(machine.shows(&client, &checkout).await, page);
    assert!(machine.opens(&page).await);

    // Without it, or with another.
    for command in ["serve", "worker"] {
        let mut bare = site.command("second", "");
        bare.arg(command);
        let refused = site.spawn(bare, "second").refused();
        assert!(refused.contains("not here"), "{refused}");
        assert!(refused.contains("first started"), "{refused}");
    }
    assert!(!site.file("second").exists());
    let refused = site.refused("second", OLD);
    assert!(refused.contains("another server key"), "{refused}");
    assert!(refused.contains("LESSOR_SERVER_SECRET"), "{refused}");
    fs::create_dir_all(site.file("second").parent().unwrap()).unwrap();
    fs::write(site.file("second"), OLD).unwrap();
    let refused = site.refused("second", "");
    assert!(refused.contains("chmod 600"), "{refused}");
    fs::set_permissions(site.file("second"), fs::Permissions::from_mode(0o600)).unwrap();
    let refused = site.refused("second", "");
    assert!(refused.contains("another server key"), "{refused}");
    assert!(refused.contains(&*site.file("second").to_string_lossy()));

    // Given to it, one way or the other.
    let second = site.serve("second", key.trim()).await;
    assert_eq!(second.shows(&client, &checkout).await, page);
    assert!(second.opens(&page).await);
    drop(second);
    fs::write(site.file("second"), &key).unwrap();
    let second = site.serve("second", "").await;
    assert!(second.opens(&page).await);

    site.holds_nothing_of(key.trim()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_replaced_and_links_stay() {
    let site = Site::new().await;
    let (back, forth) = (format!("{OLD},{NEW}"), format!("{NEW},{OLD}"));
    let machine = site.serve("first", OLD).await;
    assert!(!site.file("first").exists());
    let client = machine.client(&site).await;
    let first = client.checkout("BIKE", "first@example.com").await;
    let given_out = machine.path(&first);
    drop(machine);

    // All machines know both before any prefers the new one.
    let late = site.serve("late", &back).await;
    let early = site.serve("early", &forth).await;
    let second = late
        .has(&client)
        .checkout("BIKE", "second@example.com")
        .await;
    let third = early
        .has(&client)
        .checkout("BIKE", "third@example.com")
        .await;
    assert_eq!(late.shows(&client, &first).await, given_out);
    let mut pages = vec![given_out.clone()];
    for checkout in [&first, &second, &third] {
        let (old, new) = (
            late.shows(&client, checkout).await,
            early.shows(&client, checkout).await,
        );
        assert_ne!(old, new);
        pages.extend([old, new]);
    }
    for page in &pages {
        assert!(late.opens(page).await && early.opens(page).await, "{page}");
    }
    drop((late, early));

    // Who comes with the old one alone is told that it is over, and who has the new one alone goes on.
    let refused = site.refused("late", OLD);
    assert!(refused.contains("it has another now"), "{refused}");
    let after = site.serve("first", NEW).await;
    for page in &pages {
        assert!(after.opens(page).await, "{page}");
    }
    let shown = after.shows(&client, &first).await;
    assert_ne!(shown, given_out);
    assert!(pages.contains(&shown));
    let refused = site.refused("late", "some other key of thirty-two letters");
    assert!(refused.contains("another server key"), "{refused}");
    for key in [OLD, NEW] {
        site.holds_nothing_of(key).await;
    }

    // What was given out before can be taken back, when the old key fell into the wrong hands.
    site.database
        .execute("UPDATE checkout_applications SET page_token_hashes = '{}'")
        .await;
    assert!(!after.opens(&given_out).await);
    assert!(after.opens(&shown).await);
}

/// Machines that begin at the same time on a new database: one of them has the key.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_first_starts_one_makes_the_key() {
    let site = Site::new().await;
    let begun = [site.begin("one", ""), site.begin("two", "")];
    let mut serving = Vec::new();
    for (mut process, name) in begun.into_iter().zip(["one", "two"]) {
        if process.said() == Value::Null {
            assert_eq!(process.child.wait().unwrap().code(), Some(1));
            assert!(!site.file(name).exists(), "{}", process.log());
        } else {
            assert!(site.file(name).exists());
            serving.push(process);
        }
    }
    assert_eq!(serving.len(), 1);
}

/// Processes of one machine share its file.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_and_a_worker_that_begin_together_have_the_same_key() {
    let site = Site::new().await;
    let mut worker = site.command("one", "");
    worker.arg("worker");
    let mut worker = site.spawn(worker, "worker");
    let mut folder = site.command("one", "");
    folder.args(["serve", "--no-worker", "--listen", "127.0.0.1:0"]);
    let mut server = site.spawn(folder, "server");
    for process in [&mut worker, &mut server] {
        assert_ne!(process.said(), Value::Null, "{}", process.log());
    }
    let left: Vec<_> = fs::read_dir(site.folder.path().join("one"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
