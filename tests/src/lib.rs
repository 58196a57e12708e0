//! Runs the real binary for tests that speak HTTP to it.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

/// A folder that goes with the value. Readable for the embedded database's user.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new folder.
    ///
    /// # Panics
    /// When there can be none.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lessor-{name}-{}", std::process::id()));
        let made = std::fs::create_dir_all(&path)
            .and_then(|()| std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)));
        assert!(made.is_ok(), "{path:?}: {made:?}");
        Self(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is the temporary folder's.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The binary with its data in the folder, and nothing of the environment that it reads.
#[must_use]
pub fn lessor(binary: &str, data: &Folder) -> Command {
    let mut command = Command::new(binary);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("LESSOR_")) {
        if name != "LESSOR_PG_BIN_DIR" {
            command.env_remove(name);
        }
    }
    command.env_remove("DATABASE_URL");
    command.arg("--data-dir").arg(data.path().join("data"));
    command
}

/// What a command of the binary answers with `--json`.
///
/// # Panics
/// When it fails, or answers no JSON.
#[must_use]
pub fn answer(command: &mut Command) -> Value {
    let Output {
        status,
        stdout,
        stderr,
    } = run(command.arg("--json"));
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    serde_json::from_slice(&stdout).unwrap_or_else(|error| refuse(&format!("{error}: {stdout:?}")))
}

/// Runs the command to its end.
///
/// # Panics
/// When it cannot be started.
pub fn run(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| refuse(&format!("{command:?}: {error}")))
}

#[expect(clippy::panic, reason = "a test that cannot go on says why")]
fn refuse(why: &str) -> ! {
    panic!("{why}")
}

/// A server on a database of its own, with an organization and a key for everything.
#[derive(Debug)]
pub struct Server {
    binary: &'static str,
    child: Child,
    folder: Folder,
    client: reqwest::Client,
    /// Where it is reached.
    pub url: String,
    /// The organization's public id.
    pub organization: String,
    /// A sandbox key with every permission.
    pub key: String,
}

/// An answer of the server.
#[derive(Debug)]
pub struct Answered {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: reqwest::header::HeaderMap,
    /// Its body.
    pub body: Value,
}

impl Server {
    /// Starts the binary and waits until it says where it listens.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(binary: &'static str, name: &str) -> Self {
        let folder = Folder::new(name);
        let mut serve = lessor(binary, &folder);
        let child = serve
            .args(["--json", "serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.unwrap_or_else(|error| refuse(&error.to_string()));
        let stdout = child.stdout.take().map(BufReader::new);
        let mut line = String::new();
        if let Some(mut stdout) = stdout {
            drop(stdout.read_line(&mut line));
        }
        let said: Value = serde_json::from_str(&line).unwrap_or_default();
        let url = text(&said["url"]);
        assert!(!url.is_empty(), "the server said {line:?}");
        let mut server = Self {
            binary,
            child,
            folder,
            client: reqwest::Client::new(),
            url,
            organization: String::new(),
            key: String::new(),
        };
        server.organization = server.new_organization("Road Bikes");
        server.key = server.new_key(&server.organization, "all");
        server
    }

    /// A command beside the running server, on the same data.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Value {
        answer(lessor(self.binary, &self.folder).args(arguments))
    }

    /// Another organization's public id.
    #[must_use]
    pub fn new_organization(&self, name: &str) -> String {
        text(&self.command(&["org", "create", "--name", name])["publicId"])
    }

    /// Another sandbox key of an organization.
    #[must_use]
    pub fn new_key(&self, organization: &str, permissions: &str) -> String {
        let made = self.command(&[
            "key",
            "create",
            "--org",
            organization,
            "--mode",
            "sandbox",
            "--permissions",
            permissions,
            "--user",
            "staff@example.com",
        ]);
        text(&made["key"])
    }

    /// A request with the server's key and a body as it is.
    ///
    /// # Panics
    /// When there is no answer.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        key: &str,
        body: Option<String>,
    ) -> Answered {
        let method = method.parse().unwrap_or(reqwest::Method::GET);
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(key);
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body);
        }
        match request.send().await {
            Ok(response) => {
                let (status, headers) = (response.status().as_u16(), response.headers().clone());
                let bytes = response.bytes().await.unwrap_or_default();
                let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
                Answered {
                    status,
                    headers,
                    body,
                }
            }
            Err(error) => refuse(&error.to_string()),
        }
    }

    /// Posts JSON with the server's key.
    pub async fn post(&self, path: &str, body: Value) -> Answered {
        self.send("POST", path, &self.key, Some(body.to_string()))
            .await
    }

    /// Gets with the server's key.
    pub async fn get(&self, path: &str) -> Answered {
        self.send("GET", path, &self.key, None).await
    }

    /// A leasable variant of this sku with so many in stock. Answers its id.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn variant(&self, sku: &str, stock: Option<u32>) -> String {
        let product = self
            .post(
                "/v1/products",
                json!({
                    "name": "Road bike", "description": "Carbon", "organizationId": self.organization,
                    "price": "1299.00", "productSource": "manual", "productType": "leasable", "options": []
                }),
            )
            .await;
        assert_eq!(product.status, 200, "{}", product.body);
        let variant = self
            .post(
                "/v1/product-variants",
                json!({
                    "productId": product.body["id"], "name": "Road bike", "description": "Carbon",
                    "price": "1299.00", "sku": sku, "options": [], "productImages": [],
                    "inventoryQuantity": stock
                }),
            )
            .await;
        assert_eq!(variant.status, 200, "{}", variant.body);
        text(&variant.body["id"])
    }

    /// A customer's checkout of the sku for a year.
    pub async fn checkout(&self, sku: &str, email: &str) -> Answered {
        let body =
            json!({ "sku": sku, "selectedTermInMonths": 12, "customer": { "email": email } });
        self.post("/v1/checkouts", body).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its database ends with it: nothing of either is needed any more.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The string; empty when it is none.
#[must_use]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
