//! Clients that are gone before they are answered, and come back.

use futures::future::join_all;
use lessor_tests::{raw, refuse};
use tokio::io::AsyncWriteExt as _;

use crate::Siege;
use crate::report::Row;
use crate::scene::Scene;
use crate::shop::Shop;
use crate::writers::until_done;

const PATH: &str = "/v1/checkouts";

pub(crate) async fn measure(siege: Siege) -> Vec<Row> {
    let count: u64 = if siege.short { 50 } else { 150 };
    let scene = Scene::embedded(siege.binary, &[]);
    let shop = scene.shop().await;
    let emails: Vec<String> = (0..count).map(|_| shop.email()).collect();
    join_all(
        emails
            .iter()
            .map(|email| asked_and_reset(&shop, &scene, email)),
    )
    .await;
    // The same again, by clients that stay.
    for email in &emails {
        until_done(&shop, PATH, email, &Shop::checkout(email)).await;
    }
    let there = shop.checkouts().await;
    vec![Row::new(
        &format!("{count} resets in the middle of a write, each asked again"),
        format!("{there} checkouts of {count}"),
        "each done, none twice".to_owned(),
        there == count,
    )]
}

/// Sends a whole request, and resets the connection before its answer.
async fn asked_and_reset(shop: &Shop, scene: &Scene, email: &str) {
    let mut stream = raw::connect(&scene.server.url).await;
    let body = Shop::checkout(email).to_string();
    let request = raw::request("POST", PATH, shop.key(), &body);
    let request = request.replacen("\r\n", &format!("\r\nidempotency-key: {email}\r\n"), 1);
    if let Err(error) = stream.write_all(request.as_bytes()).await {
        refuse(&error.to_string());
    }
    raw::reset(stream);
}
