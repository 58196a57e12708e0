//! `lessor reconcile` beside a running server: tells what differs, mends what it may when asked to.

use lessor_tests::{Server, text};
use serde_json::{Value, json};

use crate::BINARY;

fn differences(reply: &Value) -> Vec<(String, bool)> {
    let results = reply["results"].as_array().into_iter().flatten();
    results
        .map(|found| (text(&found["difference"]), found["mended"] == true))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn differences_are_told_and_mended_when_asked_to() {
    let server = Server::start(BINARY, &[]).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let lease = client
        .checkout_at("BIKE", "grace@example.com", "leaseActive")
        .await;
    let path = format!("/v1/checkouts/{}", text(&lease["id"]));
    let sandbox = ["reconcile", "--mode", "sandbox"];
    let mend = ["reconcile", "--mode", "sandbox", "--mend"];

    let agreed = server.cli(&sandbox);
    assert_eq!(agreed["leases"], 1, "{agreed}");
    assert_eq!(differences(&agreed), [], "{agreed}");
    // Live leases are looked at without the flag; there are none.
    assert_eq!(server.cli(&["reconcile"])["leases"], 0);

    // The processor ended the subscription, and nobody was told.
    let ended = "UPDATE simulated_subscriptions SET status = 'cancelled', ended_at = now()";
    server.query(ended).await;
    let told = server.cli(&sandbox);
    assert_eq!(differences(&told), [("ended".to_owned(), false)], "{told}");
    assert_eq!(told["results"][0]["checkoutId"], lease["id"]);
    let before = client.get(&path).await.ok();
    assert_eq!(before["recurringPaymentStatus"], "active");

    let mended = server.cli(&mend);
    assert_eq!(differences(&mended), [("ended".to_owned(), true)]);
    assert_eq!(mended["mended"], 1, "{mended}");
    let after = client.get(&path).await.ok();
    assert_eq!(after["recurringPaymentStatus"], "cancelled");
    assert_eq!(differences(&server.cli(&mend)), []);

    // A subscription that is gone is left to a person.
    server.query("DELETE FROM simulated_invoices").await;
    server.query("DELETE FROM simulated_subscriptions").await;
    let lost = server.cli(&mend);
    assert_eq!(differences(&lost), [("lost".to_owned(), false)], "{lost}");
    assert_eq!(client.get(&path).await.ok(), after, "nothing was changed");

    // Told to people too.
    let output = lessor_tests::run(&mut server.command(&sandbox));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains(&text(&lease["id"])), "{said}");
    assert!(said.contains("1 leases compared, 1 differences"), "{said}");
    let (status, refused) = server.refused(&["reconcile", "--mode", "nonsense"]);
    assert_eq!(status, 2, "{refused}");
    assert!(refused.contains("nonsense"), "{refused}");
    assert_eq!(server.cli(&sandbox)["total"], json!(1));
}
