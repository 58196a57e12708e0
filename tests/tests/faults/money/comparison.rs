//! The comparison sees what was paid, not only what exists.

use lessor_domain::access::Mode;
use lessor_domain::checkout::AttentionReason;
use lessor_processor_double::{Deed, Fault, Rule, When};

use super::{MONTH, running};
use crate::bench::Bench;

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_takes_in_what_messages_failed_to_bring() {
    let bench = Bench::new().await;
    let id = bench.leased().await;
    for _ in 0..3 {
        bench.wait(MONTH);
    }
    assert_eq!(bench.read(id).await.recurring.paid_cycles, 1);
    let found = bench.names_of_differences(true).await;
    assert!(found.contains(&"invoice"), "{found:?}");
    assert_eq!(bench.read(id).await.recurring.paid_cycles, 4);
    // Or by the processor's own list of what it sent.
    bench.wait(MONTH);
    let report = bench.reconciler();
    let messages = report.fetch_messages(Mode::Sandbox).await.unwrap();
    assert!(messages > 0);
    bench.handle_kept().await;
    assert_eq!(bench.read(id).await.recurring.paid_cycles, 5);
    assert_eq!(report.fetch_messages(Mode::Sandbox).await.unwrap(), 0);
    bench.agree(id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_sees_what_people_did_at_the_processor() {
    let deeds = [
        (Deed::RemoveEnd, "end"),
        (Deed::SetPrice { unit_amount: 999 }, "price"),
        (Deed::Pause, "status"),
        (Deed::Cancel, "status"),
        (
            Deed::PauseCollection {
                behavior: "void".to_owned(),
                resumes_at: None,
            },
            "status",
        ),
    ];
    for (deed, expected) in deeds {
        let bench = Bench::new().await;
        let id = bench.leased().await;
        assert_eq!(bench.names_of_differences(false).await, [""; 0]);
        let subscription = bench.subscription(id).await;
        bench.double.by_hand(&subscription, &deed).unwrap();
        let found = bench.names_of_differences(false).await;
        assert_eq!(found, [expected], "{deed:?}");
        assert!(bench.needs(id, AttentionReason::Difference).await);
        bench.names_of_differences(true).await;
        bench.settle(id).await;
        if expected != "price" {
            assert_eq!(bench.names_of_differences(true).await, [""; 0], "{deed:?}");
        }
        for _ in 0..14 {
            bench.wait(MONTH);
        }
        let account = bench.agree(id).await;
        if expected == "end" {
            assert_eq!(account.paid_invoices.len(), 12);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_subscription_is_ended_and_what_it_took_paid_back() {
    let bench = Bench::new().await;
    let id = bench.leased().await;
    let first = bench.subscription(id).await;
    let known = bench.double.object(&first).unwrap();
    let price = &known["items"]["data"][0]["price"];
    let form = [
        ("customer", known["customer"].as_str().unwrap()),
        ("items[0][price_data][currency]", "usd"),
        (
            "items[0][price_data][product]",
            price["product"].as_str().unwrap(),
        ),
        ("items[0][price_data][recurring][interval]", "month"),
        ("items[0][price_data][unit_amount]", "5080"),
        ("metadata[lessor_checkout]", &id.to_string()),
        (
            "default_payment_method",
            known["default_payment_method"].as_str().unwrap(),
        ),
    ];
    bench
        .by_hand(reqwest::Method::POST, "subscriptions", &form)
        .await;
    let found = bench.names_of_differences(true).await;
    assert!(found.contains(&"double"), "{found:?}");
    let account = bench.agree(id).await;
    assert_eq!(running(&account), 1);
    assert_eq!(account.refunded, 5_080);
    assert_eq!(bench.read(id).await.recurring.paid_cycles, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_lease_that_cannot_be_compared_stops_no_other() {
    let bench = Bench::new().await;
    let id = bench.leased().await;
    let other = bench.leased_by("other@example.com").await;
    let (first, second) = (
        bench.subscription(id).await,
        bench.subscription(other).await,
    );
    for subscription in [&first, &second] {
        let deed = Deed::RemoveEnd;
        bench.double.by_hand(subscription, &deed).unwrap();
    }
    // Whoever mends the first fails.
    let path = format!("/v1/subscriptions/{first}");
    let fault = Fault::status(503, When::Before);
    bench.double.fault(Rule::always("POST", &path, fault));
    let report = bench.reconciler().run(Mode::Sandbox, true).await.unwrap();
    assert_eq!(report.failures.len(), 1, "{report:?}");
    let mended = report.findings.iter().filter(|found| found.mended);
    assert_eq!(mended.count(), 1, "{report:?}");
    bench.double.clear_faults();
    bench.agree(id).await;
    bench.agree(other).await;
}
