//! A server that is started again whenever it dies, and clients that ask again whenever it does not
//! answer.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use lessor_adapters::testing::TestDatabase;
use lessor_domain::ports::{Database as _, Reach};
use lessor_processor_double::{Double, Webhooks};
use lessor_tests::server::SERVER_KEY;
use serde_json::{Value, json};

use crate::books;

/// The program under test.
const BINARY: &str = env!("CARGO_BIN_EXE_lessor-under-test");
/// What the double signs with.
pub(crate) const WEBHOOK_SECRET: &str = "whsec_of_these_tests";
/// The same in live mode: a secret opens one mode alone.
const LIVE_WEBHOOK_SECRET: &str = "whsec_of_these_tests_live";
/// A job that a dead process was at is taken up again so soon.
const JOB_LEASE: &str = "2s";
/// How often something that is awaited is looked at in vain before somebody gives up. A look goes
/// through the server and its database: on a machine that is busy with other things looks take longer,
/// as everything does, and there is more time for it. On one that is not this is three minutes.
const LOOKS: u32 = 1_800;
/// The pause between two looks at something that is awaited.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(100);

static WORLDS: AtomicU32 = AtomicU32::new(0);

/// Whether processes die at every place that there is, and not only at those that tell most in little time.
pub(crate) fn every_death() -> bool {
    std::env::var("LESSOR_TEST_DEATHS").is_ok_and(|value| value == "all")
}

/// Waits for something that is looked at again and again.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let mut patience = Patience::default();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(patience.lasts(), "it never came about: {what}");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// The patience of somebody who waits: it counts looks, not seconds.
#[derive(Default)]
pub(crate) struct Patience {
    looks: u32,
}

impl Patience {
    /// Whether to look once more.
    pub(crate) fn lasts(&mut self) -> bool {
        self.looks += 1;
        self.looks < LOOKS
    }
}

/// A process that is started again whenever it ends, until the value is dropped.
pub(crate) struct Supervised {
    child: Arc<Mutex<Option<Child>>>,
    stopping: Arc<AtomicBool>,
    /// How often it was started.
    pub(crate) starts: Arc<AtomicU32>,
    watch: Option<JoinHandle<()>>,
}

impl Supervised {
    fn start(mut make: impl FnMut() -> Command + Send + 'static) -> Self {
        let child = Arc::new(Mutex::new(None));
        let stopping = Arc::new(AtomicBool::new(false));
        let starts = Arc::new(AtomicU32::new(0));
        let (held, ends, count) = (child.clone(), stopping.clone(), starts.clone());
        // The thread lives as long as its children: they are told when it ends.
        let watch = std::thread::spawn(move || {
            while !ends.load(Ordering::SeqCst) {
                let mut started = make().spawn().unwrap();
                let stdout = started.stdout.take();
                *held.lock().unwrap() = Some(started);
                count.fetch_add(1, Ordering::SeqCst);
                // Its output ends when it does.
                if let Some(stdout) = stdout {
                    for _ in BufReader::new(stdout).lines() {}
                }
                if let Some(mut dead) = held.lock().unwrap().take() {
                    dead.wait().unwrap();
                }
            }
        });
        Self {
            child,
            stopping,
            starts,
            watch: Some(watch),
        }
    }

    /// Kills the process that runs now, if one does.
    pub(crate) fn kill(&self) {
        if let Some(child) = self.child.lock().unwrap().as_mut() {
            // It may have died a moment ago.
            drop(child.kill());
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        while self
            .watch
            .as_ref()
            .is_some_and(|watch| !watch.is_finished())
        {
            self.kill();
            std::thread::sleep(LOOK_AGAIN);
        }
        if let Some(watch) = self.watch.take() {
            drop(watch.join());
        }
    }
}

/// Everything that a lease needs.
pub(crate) struct World {
    // They end in this order: a server without its database, or a double that waits for such a server,
    // would keep the others waiting.
    pub(crate) server: Supervised,
    pub(crate) worker: Option<Supervised>,
    pub(crate) double: Double,
    pub(crate) database: TestDatabase,
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) client: reqwest::Client,
    folder: PathBuf,
    sku: String,
}

/// How a world is set up.
#[derive(Default)]
pub(crate) struct Setup {
    /// Where jobs abort the process: the name of a crash point, and how often for each effect.
    pub(crate) abort: Option<(String, u32)>,
    /// Whether the worker is a process of its own.
    pub(crate) separate_worker: bool,
    /// Whether the double sends its messages to the server.
    pub(crate) messages: bool,
    /// Whether messages come late, in any order, twice or never.
    pub(crate) unreliable: bool,
    /// Whether everything is real.
    pub(crate) live: bool,
    /// Whether it is real with an account of the organization's own, of which it alone has the key. Nobody
    /// checks credit then.
    pub(crate) own_account: bool,
}

impl World {
    pub(crate) async fn new(setup: Setup) -> Self {
        let number = WORLDS.fetch_add(1, Ordering::SeqCst);
        let folder =
            std::env::temp_dir().join(format!("lessor-faults-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let database = TestDatabase::create().await;
        let double = Double::start().unwrap();
        let address = free_address();
        let url = format!("http://{address}");
        if setup.messages || setup.unreliable {
            let endpoint = format!("{url}/webhooks/processor");
            let secret = if setup.live {
                LIVE_WEBHOOK_SECRET
            } else {
                WEBHOOK_SECRET
            };
            let mut webhooks = Webhooks::to(&endpoint, secret);
            if setup.unreliable {
                webhooks.copies = 2;
                webhooks.delay_millis = 300;
                webhooks.shuffle = Some(7_919);
                webhooks.lost_percent = 20;
                webhooks.attempts = 3;
            }
            double.send_to(webhooks);
        }
        let base = Base {
            database: database.url().to_owned(),
            processor: double.url(),
            folder: folder.clone(),
            abort: setup.abort,
            live: setup.live,
        };
        let serve = base.clone();
        let separate = setup.separate_worker;
        let server = Supervised::start(move || {
            let mut command = serve.command();
            command.args(["--json", "serve", "--listen", &address]);
            if separate {
                command.arg("--no-worker");
            }
            command
        });
        let work = base.clone();
        let worker = separate.then(|| {
            Supervised::start(move || {
                let mut command = work.command();
                command.args(["--json", "worker"]);
                command
            })
        });
        let mut world = Self {
            database,
            double,
            server,
            worker,
            url,
            key: String::new(),
            client: reqwest::Client::new(),
            folder,
            sku: "BIKE-1".to_owned(),
        };
        let organization = world.command(&["org", "create", "--name", "Road Bikes"]);
        let organization = organization["publicId"].as_str().unwrap().to_owned();
        let made = world.command(&[
            "key",
            "create",
            "--org",
            &organization,
            "--mode",
            "sandbox",
            "--permissions",
            "all",
            "--user",
            "staff@example.com",
        ]);
        world.key = made["key"].as_str().unwrap().to_owned();
        until("the server answers", async || {
            let health = world
                .client
                .get(format!("{}/readyz", world.url))
                .send()
                .await;
            health
                .is_ok_and(|answer| answer.status().is_success())
                .then_some(())
        })
        .await;
        let product = world
            .post_once("/v1/products", "product", &json!({
                "name": "Road bike", "description": "Carbon", "organizationId": organization,
                "price": "1299.00", "productSource": "manual", "productType": "leasable", "options": []
            }))
            .await;
        world
            .post_once(
                "/v1/product-variants",
                "variant",
                &json!({
                    "productId": product["id"], "name": "Road bike", "description": "Carbon",
                    "price": "1299.00", "sku": world.sku, "options": [], "productImages": []
                }),
            )
            .await;
        if setup.own_account {
            world.open_account(&organization);
        }
        if setup.live || setup.own_account {
            let made = world.command(&[
                "key",
                "create",
                "--org",
                &organization,
                "--mode",
                "live",
                "--permissions",
                "all",
                "--user",
                "staff@example.com",
            ]);
            world.key = made["key"].as_str().unwrap().to_owned();
        }
        world
    }

    /// Gives the organization an account of its own at the double, whose messages go to its own address.
    fn open_account(&self, organization: &str) {
        let file = |name: &str, text: &str| {
            let path = self.folder.join(name);
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let key = file("account.key", "sk_live_of_these_tests_0123456789");
        let secret = file("account.secret", LIVE_WEBHOOK_SECRET);
        self.command(&[
            "org",
            "processor",
            "set",
            organization,
            "--mode",
            "live",
            "--key-file",
            &key,
            "--webhook-secret-file",
            &secret,
        ]);
        self.command(&[
            "org",
            "update",
            organization,
            "--mode",
            "live",
            "--credit",
            "none",
        ]);
        let endpoint = format!("{}/webhooks/processor/{organization}", self.url);
        self.double
            .send_to(Webhooks::to(&endpoint, LIVE_WEBHOOK_SECRET));
    }

    /// A command beside the server, on the same database.
    pub(crate) fn command(&self, arguments: &[&str]) -> Value {
        let base = Base {
            database: self.database.url().to_owned(),
            processor: self.double.url(),
            folder: self.folder.clone(),
            abort: None,
            live: false,
        };
        let output = base
            .command()
            .args(arguments)
            .arg("--json")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Sends a request until it is answered with anything but a failure of the server.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        idempotency_key: Option<&str>,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let mut patience = Patience::default();
        loop {
            let mut request = self
                .client
                .request(method.parse().unwrap(), format!("{}{path}", self.url))
                .timeout(Duration::from_secs(30))
                .bearer_auth(&self.key);
            if let Some(key) = idempotency_key {
                request = request.header("idempotency-key", key);
            }
            if let Some(body) = body {
                request = request.json(body);
            }
            let answer = async {
                let response = request.send().await?;
                let status = response.status().as_u16();
                Ok::<_, reqwest::Error>((status, response.json().await?))
            };
            let answer: Result<(u16, Value), _> = answer.await;
            match answer {
                Ok((status, body)) if status < 500 && status != 409 => return (status, body),
                failure => assert!(
                    patience.lasts(),
                    "{method} {path} is not answered: {failure:?}"
                ),
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Posts under an idempotency key until it is done.
    pub(crate) async fn post_once(&self, path: &str, key: &str, body: &Value) -> Value {
        let (status, answer) = self.ask("POST", path, Some(key), Some(body)).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Gets what is there.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.ask("GET", path, None, None).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// A new checkout of a customer of this name.
    pub(crate) async fn checkout(&self, name: &str) -> String {
        let body = json!({
            "sku": self.sku, "selectedTermInMonths": 12,
            "customer": {
                "email": format!("{name}@example.com"), "firstName": "Jo", "lastName": "Doe",
                "phone": "+14155550100", "address1": "1 Main St", "city": "San Francisco",
                "state": "CA", "zip": "94105", "country": "US"
            }
        });
        let made = self
            .post_once("/v1/checkouts", &format!("checkout-{name}"), &body)
            .await;
        made["id"].as_str().unwrap().to_owned()
    }

    /// What is left to be told to providers: jobs that wait and jobs that were given up.
    pub(crate) async fn backlog(&self) -> (u64, u64) {
        let mut view = self.database.database().read(Reach::Server).await.unwrap();
        let backlog = view.doors().backlog().await.unwrap();
        (backlog.pending, backlog.dead)
    }

    /// Waits until the rows of every checkout say what the double took, held and paid back.
    pub(crate) async fn until_books_agree(&self) {
        books::until_all_agree(&self.double, &self.database).await;
    }

    /// Waits until every provider was told everything.
    pub(crate) async fn until_told(&self) {
        until("the job queue is empty", async || {
            (self.backlog().await == (0, 0)).then_some(())
        })
        .await;
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // What is left is the temporary folder's.
        drop(fs::remove_dir_all(&self.folder));
    }
}

#[derive(Clone)]
struct Base {
    database: String,
    processor: String,
    folder: PathBuf,
    abort: Option<(String, u32)>,
    live: bool,
}

impl Base {
    fn command(&self) -> Command {
        let mut command = Command::new(BINARY);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("LESSOR_")) {
            command.env_remove(name);
        }
        command
            .env("DATABASE_URL", &self.database)
            .env("LESSOR_SERVER_SECRET", SERVER_KEY)
            .env("LESSOR_PROCESSOR_URL", &self.processor)
            .env("LESSOR_PROCESSOR_SANDBOX_KEY", "sk_test_faults")
            .env("LESSOR_PROCESSOR_SANDBOX_WEBHOOK_SECRETS", WEBHOOK_SECRET)
            .env("LESSOR_JOB_LEASE", JOB_LEASE)
            // Who is told of events is on this machine.
            .env("LESSOR_ALLOW_LOOPBACK_TARGETS", "true")
            .env("LESSOR_POOL_SIZE", "8")
            .env("LESSOR_RATE_LIMIT", "off")
            .env("LESSOR_ADDRESS_RATE_LIMIT", "off")
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if self.live {
            command
                .env("LESSOR_PROCESSOR_LIVE_KEY", "sk_live_faults")
                .env("LESSOR_PROCESSOR_LIVE_WEBHOOK_SECRETS", LIVE_WEBHOOK_SECRET);
        }
        if let Some((point, times)) = &self.abort {
            command
                .env("ABORT_JOBS_AT", point)
                .env("ABORT_JOBS_TIMES", times.to_string())
                .env("ABORT_JOBS_MARKS", &self.folder);
        }
        command
    }
}

/// An address that nobody listens on.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}
