//! What a walk begins with: an organization with a face, goods, and a checkout of whom nothing is known but an address.

use lessor_processor_double::{Double, Webhooks};
use lessor_tests::{Client, Folder, Server, text};
use serde_json::{Value, json};

use crate::BINARY;
use crate::walk::PICTURES;

/// What everybody leases here.
pub(crate) const SKU: &str = "TRAIL-M";

/// An organization of the shared server, with this and that.
pub(crate) async fn shop(flags: &[&str]) -> Client {
    let server = Server::shared(BINARY).await;
    dressed(server, flags).await
}

/// An organization of the server that shows its customers all that it can.
async fn dressed(server: &Server, flags: &[&str]) -> Client {
    let mut arguments = vec!["--name", "Trail & Road GmbH"];
    arguments.extend_from_slice(flags);
    let client = server.client_of(&arguments).await;
    let logo = format!("{PICTURES}/logo.svg");
    server.cli(&[
        "org",
        "update",
        &client.organization,
        "--display-name",
        "Trail & Road",
        "--logo-url",
        &logo,
        "--accent-color",
        "#1f7a4d",
        "--support-email",
        "help@shop.example",
        "--support-phone",
        "+14155550100",
        "--terms-url",
        "https://shop.example/terms",
        "--privacy-url",
        "https://shop.example/privacy",
    ]);
    client
}

/// A variant with a picture, so many of which are in stock. Answers its id.
pub(crate) async fn goods(client: &Client, stock: Option<u32>) -> String {
    let product = client.product(json!({ "name": "Trail bike" })).await;
    let members = json!({
        "name": "Trail bike, forest green, M", "inventoryQuantity": stock,
        "productImages": [format!("{PICTURES}/trail-bike.svg")]
    });
    let variant = client.variant_of(&product, SKU, members).await;
    text(&variant["id"])
}

/// A checkout of whose customer nothing is known but this address, and whose term they choose.
pub(crate) async fn checkout(client: &Client, email: &str) -> Value {
    let members = json!({
        "selectedTermInMonths": null,
        "purchaseItems": [{ "name": "Helmet", "amount": "49.00", "quantity": 2 }]
    });
    client.try_checkout(SKU, email, members).await.ok()
}

/// An organization that leases live, with an account of its own at a double of its own.
pub(crate) struct LiveShop {
    pub(crate) client: Client,
    // The server ends before the double that it asks.
    _server: Server,
    pub(crate) double: Double,
}

impl LiveShop {
    pub(crate) async fn open() -> Self {
        let double = Double::start().unwrap();
        let server = Server::start(BINARY, &["--processor-url", &double.url()]).await;
        let client = dressed(&server, &[]).await;
        let organization = client.organization.clone();
        let (files, secret) = (Folder::new("browser-live"), "whsec_of_the_browser");
        server.cli(&[
            "org",
            "processor",
            "set",
            &organization,
            "--mode",
            "live",
            "--key-file",
            &files.file("key", "sk_live_of_the_browser_0123456789"),
            "--webhook-secret-file",
            &files.file("secret", secret),
        ]);
        server.cli(&[
            "org",
            "update",
            &organization,
            "--mode",
            "live",
            "--credit",
            "none",
        ]);
        let endpoint = format!("{}/webhooks/processor/{organization}", server.url);
        double.send_to(Webhooks::to(&endpoint, secret));
        let client = client.with_key(&server.key(&organization, "live", "all"));
        goods(&client, None).await;
        Self {
            client,
            _server: server,
            double,
        }
    }
}
