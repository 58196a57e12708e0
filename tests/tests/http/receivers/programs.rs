//! Receivers in other languages as programs: verifiers that others wrote, and the examples.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lessor_adapters::processor::standard_webhooks::{SharedSecret, sign};
use lessor_domain::time::Timestamp;
use lessor_tests::peers::missing;
use lessor_tests::server::PATIENCE;
use lessor_tests::{Folder, run, text};
use serde_json::Value;
use tokio::time::sleep;

/// The example among the verifiers.
const OURS: &str = "verify";

fn peers() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("peers")
}

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/receivers")
}

/// What receivers are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    TypeScript,
    Python,
    Php,
}

impl Language {
    /// Those whose programs are installed. Of others it is said that `what` is skipped, or the test fails when
    /// `LESSOR_REQUIRE_PEERS` is 1.
    pub(super) fn installed(what: &str) -> Vec<Self> {
        let mut languages = vec![Self::TypeScript, Self::Python, Self::Php];
        languages.retain(|language| {
            let probed = language.probe().stderr(Stdio::null()).status();
            let is_there = probed.is_ok_and(|status| status.success());
            if !is_there {
                let what = format!("{what} in {language:?}");
                missing(&what, "it is not installed (tests/install peers)");
            }
            is_there
        });
        languages
    }

    /// Ends well where everything is that is started in this language.
    fn probe(self) -> Command {
        let (mut program, arguments) = match self {
            Self::TypeScript => (
                Command::new("node"),
                [
                    "-e",
                    "for (const it of ['standardwebhooks', 'svix', '.bin/tsc']) fs.statSync(`node_modules/${it}`)",
                ],
            ),
            Self::Python => (
                Command::new(python()),
                ["-c", "import standardwebhooks, svix"],
            ),
            Self::Php => (
                Command::new("php"),
                ["-r", "exit(extension_loaded('pdo_sqlite') ? 0 : 1);"],
            ),
        };
        program.args(arguments).current_dir(peers());
        program
    }

    fn verifiers(self) -> &'static [&'static str] {
        match self {
            Self::TypeScript | Self::Python => &["standardwebhooks", "svix", OURS],
            Self::Php => &[OURS],
        }
    }
}

fn python() -> PathBuf {
    peers().join("venv/bin/python")
}

/// The examples in TypeScript as JavaScript, as strictly as they can be read.
fn compile(folder: &Folder) {
    let compiled = run(Command::new(peers().join("node_modules/.bin/tsc"))
        .args(["--target", "es2022", "--module", "es2022"])
        .args(["--moduleResolution", "bundler", "--strict"])
        .args(["--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"])
        // Node.js runs them as they are: it leaves types out and changes nothing.
        .args(["--erasableSyntaxOnly", "--verbatimModuleSyntax"])
        .args(["--rewriteRelativeImportExtensions", "--skipLibCheck"])
        .args(["--types", "node", "--typeRoots"])
        .arg(peers().join("node_modules/@types"))
        .arg("--outDir")
        .arg(folder.path())
        .args(["verify.ts", "receiver.ts"].map(|name| examples().join(name))));
    let said = String::from_utf8_lossy(&compiled.stdout);
    assert!(compiled.status.success(), "{said}");
    let _path = folder.file("package.json", r#"{"type": "module"}"#);
}

/// A port that nobody is given who does not ask for it by its number.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Below those that a system gives away by itself, and apart from those of other test processes.
    let begin = u16::try_from(std::process::id() % 900).unwrap() * 10;
    loop {
        let port = 20_000 + (begin + NEXT.fetch_add(1, Ordering::Relaxed)) % 9_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A program that listens, and ends with the test.
pub(super) struct Program {
    command: Command,
    child: Option<Child>,
    port: u16,
    folder: Folder,
}

impl Program {
    /// The server whose paths are verifiers.
    pub(super) fn judges(language: Language) -> Self {
        Self::of(language, |folder| match language {
            Language::TypeScript => {
                vec![peers().join("judges.mjs"), folder.path().join("verify.js")]
            }
            Language::Python => vec![peers().join("judges.py"), examples()],
            Language::Php => vec![peers().join("judges.php")],
        })
    }

    /// The receiver of the examples.
    pub(super) fn receiver(language: Language) -> Self {
        Self::of(language, |folder| match language {
            Language::TypeScript => vec![folder.path().join("receiver.js")],
            Language::Python => vec![examples().join("receiver.py")],
            Language::Php => vec![examples().join("receiver.php")],
        })
    }

    fn of(language: Language, arguments: impl Fn(&Folder) -> Vec<PathBuf>) -> Self {
        let (folder, port) = (Folder::new("receiver"), port());
        let mut command = match language {
            Language::TypeScript => {
                compile(&folder);
                Command::new("node")
            }
            Language::Python => Command::new(python()),
            Language::Php => Command::new("php"),
        };
        match language {
            Language::TypeScript => &mut command,
            // What it compiles would be left beside the examples.
            Language::Python => command.arg("-B"),
            // As it is without a php.ini, which is how it comes in containers.
            Language::Php => command
                .args(["-d", "display_errors=1"])
                .args(["-S", &format!("127.0.0.1:{port}")]),
        };
        command
            .args(arguments(&folder))
            .env("PORT", port.to_string())
            .env("VERIFY", examples().join("verify.php"))
            .current_dir(folder.path())
            .stdin(Stdio::null());
        Self {
            command,
            child: None,
            port,
            folder,
        }
    }

    /// Where it is told.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Runs it with this secret until it listens; anew when it runs.
    pub(super) async fn start(&mut self, secret: &str) {
        self.stop();
        let log = self.folder.path().join("log");
        let output = File::create(&log).unwrap();
        self.command
            .env("WEBHOOK_SECRET", secret)
            .stdout(output.try_clone().unwrap())
            .stderr(output);
        let child = self.child.insert(self.command.spawn().unwrap());
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let said = std::fs::read_to_string(&log).unwrap();
            let goes_on = child.try_wait().unwrap().is_none() && Instant::now() < end;
            assert!(goes_on, "{:?}: {said}", self.command);
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What an endpoint is sent.
#[derive(Debug, Clone)]
pub(super) struct Message {
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Message {
    /// One that was sent then by whoever has the secret.
    pub(super) fn signed(id: &str, body: &[u8], secret: &str, at: Timestamp) -> Self {
        let secret: SharedSecret = secret.parse().unwrap();
        let signature = sign(body, id, &[secret], at);
        let headers = [
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", at.timestamp().to_string()),
            ("webhook-signature", signature),
        ];
        Self {
            headers: headers.map(|(name, value)| (name.to_owned(), value)).into(),
            body: body.to_vec(),
        }
    }

    pub(super) fn header(&self, name: &str) -> &str {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known == name)
            .map_or("", |(_, value)| value)
    }

    pub(super) fn without(&self, name: &str) -> Self {
        let mut message = self.clone();
        message.headers.retain(|(known, _)| known != name);
        message
    }

    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let mut message = self.without(name);
        message.headers.push((name.to_owned(), value.to_owned()));
        message
    }

    /// The answer, when it is sent there; none when there is no answer.
    pub(super) async fn sent_to(&self, url: &str) -> Option<(u16, String)> {
        let mut request = http().post(url).body(self.body.clone());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let answer = request.send().await.ok()?;
        Some((answer.status().as_u16(), answer.text().await.ok()?))
    }
}

fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// A verifier that is told by a server, and judges what it is told.
#[derive(Debug)]
pub(super) struct Judge {
    /// What it is called, with its language.
    pub(super) name: String,
    /// Whether it is of the examples, and says of what kind a refusal is.
    pub(super) is_ours: bool,
    /// Where it is told.
    pub(super) url: String,
}

impl Judge {
    /// Those of a program.
    pub(super) fn of(language: Language, program: &Program) -> Vec<Self> {
        let verifiers = language.verifiers().iter();
        verifiers
            .map(|verifier| Self {
                name: format!("{verifier} in {language:?}"),
                is_ours: *verifier == OURS,
                url: format!("{}/{verifier}", program.url()),
            })
            .collect()
    }

    /// What it verifies with from now on.
    pub(super) async fn is_given(&self, secret: &str) {
        let request = http().put(&self.url).body(secret.to_owned());
        let status = request.send().await.unwrap().status();
        assert_eq!(status.as_u16(), 204, "{}", self.name);
    }

    /// What it was told last, as it came.
    pub(super) async fn last(&self) -> Message {
        let answer = http().get(&self.url).send().await.unwrap();
        let last: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        let headers = last["headers"].as_object().unwrap().iter();
        Message {
            headers: headers
                .filter(|(name, _)| name.starts_with("webhook-"))
                .map(|(name, value)| (name.clone(), text(value)))
                .collect(),
            body: STANDARD.decode(text(&last["body"])).unwrap(),
        }
    }

    /// Why it refuses the message; none when it believes it.
    pub(super) async fn refusal(&self, message: &Message) -> Option<String> {
        let (status, said) = message.sent_to(&self.url).await.unwrap();
        assert!([204, 401].contains(&status), "{}: {said}", self.name);
        (status == 401).then_some(said)
    }

    /// The same, as of another time than now.
    pub(super) async fn refusal_at(&self, message: &Message, at: i64) -> Option<String> {
        let message = message.with("judge-at", &at.to_string());
        self.refusal(&message).await
    }
}
