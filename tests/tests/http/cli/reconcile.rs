//! `lessor reconcile` beside a running server: tells what differs, mends what it may when asked to.

use lessor_tests::{Server, run, text};
use serde_json::{Value, json};

use crate::BINARY;
use crate::checkouts::attention::reasons;

fn differences(reply: &Value) -> Vec<(String, bool)> {
    let findings = reply["findings"].as_array().into_iter().flatten();
    findings
        .map(|found| (text(&found["difference"]), found["mended"] == true))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn differences_are_told_and_mended_when_asked_to() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    client
        .checkout_at("BIKE", "ada@example.com", "leaseActive")
        .await;
    let ready = client
        .checkout_at("BIKE", "grace@example.com", "orderConfirmed")
        .await;
    let sandbox = ["reconcile", "--mode", "sandbox"];
    let mend = ["reconcile", "--mode", "sandbox", "--mend"];
    let strict = ["reconcile", "--mode", "sandbox", "--exit-code"];

    let agreed = server.cli(&strict);
    assert_eq!(
        agreed,
        json!({
            "mode": "sandbox", "findings": [], "failures": [], "compared": agreed["compared"],
            "messages": 0, "mended": 0
        })
    );
    assert!(agreed["compared"].is_u64(), "{agreed}");

    // The processor is away while the goods are shipped, and the job is given up.
    let away = "ALTER TABLE simulated_subscriptions RENAME TO away";
    server.query(away).await;
    let shipped = client.act(&ready, "fulfill", json!({})).await.ok();
    assert_eq!(shipped["lifecycle"], "shipped", "{shipped:#}");
    server
        .query("ALTER TABLE away RENAME TO simulated_subscriptions")
        .await;
    assert_eq!(differences(&server.cli(&sandbox)), [], "it is on its way");
    let given_up = "UPDATE jobs SET state = 'dead', claimed_until = NULL \
                    WHERE effect = 'createSubscription' AND state = 'pending'";
    server.query(given_up).await;
    let told = server.cli(&sandbox);
    assert_eq!(
        differences(&told),
        [("notBilled".to_owned(), false)],
        "{told}"
    );
    let found = &told["findings"][0];
    assert_eq!(found["checkoutId"], ready["id"]);
    assert!(
        found["since"].is_string() && !text(&found["advice"]).is_empty(),
        "{found}"
    );
    let shown = client.reread(&ready).await;
    assert_eq!(
        reasons(&shown),
        ["difference"],
        "it is shown at the checkout"
    );
    // The next time it is known since the first.
    assert_eq!(server.cli(&sandbox)["findings"][0]["since"], found["since"]);

    // Told to people too, and to whoever asks for the status alone.
    let output = run(&mut server.command(&strict));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for word in [
        "CHECKOUT",
        "WHAT TO DO",
        &text(&ready["id"]),
        "nothing bills the lease",
        "1 differences, 0 mended, 0 failures",
    ] {
        assert!(said.contains(word), "{word} in {said}");
    }
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(complaint.contains("1 differences remain"), "{complaint}");
    assert!(run(&mut server.command(&sandbox)).status.success());

    let mended = server.cli(&mend);
    assert_eq!(differences(&mended), [("notBilled".to_owned(), true)]);
    assert_eq!(mended["mended"], 1, "{mended}");
    // What mends it is a job, which a worker does.
    let jobs = server.cli(&["jobs", "list", "--state", "pending"]);
    assert!(jobs.to_string().contains("createSubscription"), "{jobs}");
    assert_eq!(server.cli(&strict)["findings"], json!([]));
    assert_eq!(reasons(&client.reread(&ready).await), Vec::<String>::new());
    let (status, refused) = server.refused(&["reconcile", "--mode", "nonsense"]);
    assert_eq!(status, 2, "{refused}");
    assert!(refused.contains("nonsense"), "{refused}");
    // Live checkouts are looked at without the flag; there are none.
    assert_eq!(server.cli(&["reconcile"])["findings"], json!([]));
}

/// A subscription that is gone is left to a person.
#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_person_is_not_mended() {
    let server = Server::start(BINARY, &["--no-worker"]).await;
    let client = server.client().await;
    client.variant("BIKE", None).await;
    let lease = client
        .checkout_at("BIKE", "grace@example.com", "leaseActive")
        .await;
    server.query("DELETE FROM simulated_invoices").await;
    server.query("DELETE FROM simulated_subscriptions").await;
    let mend = ["reconcile", "--mode", "sandbox", "--mend"];
    let lost = server.cli(&mend);
    assert_eq!(differences(&lost), [("lost".to_owned(), false)], "{lost}");
    let now = client.reread(&lease).await;
    assert_eq!(reasons(&now), ["difference"]);
    assert_eq!(
        (&now["lifecycle"], &now["processorSubscriptionId"]),
        (&lease["lifecycle"], &lease["processorSubscriptionId"])
    );
}
