//! Whatever the processor answers, the money is right: each of these was wrong once, against a
//! processor that is as strict as its reference.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::checkout::{AttentionReason, Effect, Lifecycle, RecurringPaymentStatus};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{Database as _, InboxMessage, InboxState, JobSubject, Timer};
use lessor_domain::workers::jobs::{Delivered, Deliverer};
use lessor_processor_double::{
    Account, AfterRetries, Decline, Deed, Event, Fault, Occasion, Rule, Settings, When,
};

use crate::bench::Bench;
use crate::books;
use crate::journey::TRACKING;
use crate::world::until;

/// A month, and the hours in which a draft becomes an invoice.
const MONTH: TimeDelta = TimeDelta::days(32);

impl Bench {
    async fn confirmed(&self) -> CheckoutPubId {
        let id = self.order().await;
        self.advance(id, Lifecycle::OrderConfirmed).await.unwrap();
        id
    }

    async fn leased(&self) -> CheckoutPubId {
        let id = self.confirmed().await;
        self.fulfill(id, None).await;
        self.settle(id).await;
        assert_eq!(self.read(id).await.lifecycle(), Lifecycle::LeaseActive);
        id
    }

    async fn leased_by(&self, email: &str) -> CheckoutPubId {
        let id = self.order_by(email).await;
        self.advance(id, Lifecycle::LeaseActive).await.unwrap();
        id
    }

    async fn signing(&self) -> CheckoutPubId {
        let id = self.order().await;
        self.advance(id, Lifecycle::DocumentsPending).await.unwrap();
        id
    }

    async fn method(&self, id: CheckoutPubId) -> String {
        let method = self.read(id).await.recurring.method.clone();
        method.unwrap().id
    }

    async fn subscription(&self, id: CheckoutPubId) -> String {
        let billing = self.read(id).await.recurring.billing.clone();
        billing.subscription_id().unwrap().to_owned()
    }

    /// Everybody has learned everything: messages are in, jobs are done, both sides agree.
    async fn agree(&self, id: CheckoutPubId) -> Account {
        self.settle(id).await;
        for event in self.double.events() {
            self.receive(&event).await;
        }
        self.settle(id).await;
        books::assert_agree(&self.double, &self.database, id).await
    }

    async fn needs(&self, id: CheckoutPubId, reason: AttentionReason) -> bool {
        self.read(id).await.needs(reason)
    }

    async fn names_of_differences(&self, mend: bool) -> Vec<&'static str> {
        let report = self.reconciler().run(Mode::Sandbox, mend).await.unwrap();
        assert_eq!(report.failures, []);
        let findings = report.findings.iter();
        findings.map(|found| found.difference.name()).collect()
    }
}

fn running(account: &Account) -> usize {
    let subscriptions = account.subscriptions.iter();
    subscriptions
        .filter(|(_, status)| !matches!(status.as_str(), "canceled" | "incomplete_expired"))
        .count()
}

// 1. A first payment that is declined or wants to be authenticated.

#[tokio::test(flavor = "multi_thread")]
async fn a_first_payment_that_is_declined_is_told_and_made_with_another_card() {
    for occasion in [None, Some(Occasion::OffSession)] {
        let bench = Bench::new().await;
        let id = bench.confirmed().await;
        let method = bench.method(id).await;
        match occasion {
            None => bench
                .double
                .decline(&method, Some(Decline::INSUFFICIENT_FUNDS))
                .unwrap(),
            Some(occasion) => bench
                .double
                .decline_on(&method, occasion, Some(Decline::AUTHENTICATION_REQUIRED))
                .unwrap(),
        }
        bench.fulfill(id, None).await;
        bench.settle(id).await;
        let waiting = bench.read(id).await;
        assert_eq!(waiting.lifecycle(), Lifecycle::Shipped);
        assert!(waiting.needs(AttentionReason::FirstPaymentFailed));
        let subscription = bench.double.object(&bench.subscription(id).await).unwrap();
        assert_eq!(subscription["status"], "incomplete");
        assert!(
            subscription["cancel_at"].is_i64(),
            "it ends, whatever becomes of it"
        );
        let updates = bench.double.requests("POST", "/v1/subscriptions/*");
        assert_eq!(updates.len(), 0, "nobody asks for what is refused");
        // The customer has another card.
        bench
            .pay_with(id, Some("pm_card_mastercard"))
            .await
            .unwrap();
        bench.settle(id).await;
        let lease = bench.read(id).await;
        assert_eq!(lease.lifecycle(), Lifecycle::LeaseActive);
        assert_eq!(lease.attention, []);
        assert_eq!(bench.double.prorations(), Vec::<serde_json::Value>::new());
        for _ in 0..14 {
            bench.wait(MONTH);
        }
        let account = bench.agree(id).await;
        assert_eq!(account.paid_invoices.len(), 12, "as many as the term has");
        assert_eq!(running(&account), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_payment_that_is_given_up_is_followed_by_one_subscription_for_all_that_is_left() {
    let bench = Bench::new().await;
    let id = bench.confirmed().await;
    let method = bench.method(id).await;
    let decline = Some(Decline::INSUFFICIENT_FUNDS);
    bench.double.decline(&method, decline).unwrap();
    bench.fulfill(id, None).await;
    bench.settle(id).await;
    bench.wait(TimeDelta::hours(24));
    bench.double.decline(&method, None).unwrap();
    let account = bench.agree(id).await;
    assert_eq!(running(&account), 1, "{account:?}");
    assert_eq!(account.subscriptions.len(), 2);
    assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::LeaseActive);
    for _ in 0..14 {
        bench.wait(MONTH);
    }
    let account = bench.agree(id).await;
    assert_eq!(account.paid_invoices.len(), 12);
    assert_eq!(bench.read(id).await.attention, []);
}

// 2. A capture in doubt when the hold ends.

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_in_doubt_when_the_hold_ends_takes_the_deposit_once() {
    for when in [When::Before, When::After] {
        let bench = Bench::new().await;
        bench.double.set(Settings {
            authorization_seconds: Some(600),
            off_session_seconds: Some(600),
            ..Settings::default()
        });
        let id = bench.signing().await;
        let capture = "/v1/payment_intents/*/capture";
        let fault = Rule::always("POST", capture, Fault::Reset { when });
        bench.double.fault(fault);
        drop(bench.advance(id, Lifecycle::OrderConfirmed).await);
        bench.wait(TimeDelta::minutes(20));
        bench.housekeeper().run_once().await.unwrap();
        bench.try_job(id).await;
        bench.double.clear_faults();
        let account = bench.agree(id).await;
        let state = bench.read(id).await.lifecycle();
        match when {
            When::After => assert_eq!(state, Lifecycle::OrderConfirmed),
            When::Before => {
                assert_eq!(state, Lifecycle::DepositPending);
                assert!(bench.needs(id, AttentionReason::DepositLapsed).await);
                assert_eq!(account.captured, 0);
                bench.double.set(Settings {
                    authorization_seconds: Some(7 * 86_400),
                    ..Settings::default()
                });
                bench.advance(id, Lifecycle::OrderConfirmed).await.unwrap();
            }
        }
        let account = bench.agree(id).await;
        assert_eq!(account.held, 0);
        let taken = account.intents.iter().filter(|paid| paid.received > 0);
        assert_eq!(taken.count(), 1, "{when:?}: {account:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_message_finds_every_payment_that_was_ever_made() {
    let bench = Bench::new().await;
    let id = bench.signing().await;
    let first = bench.read(id).await;
    let first = first.deposit.payment_intent_id().unwrap().to_owned();
    bench.wait(TimeDelta::days(6) + TimeDelta::hours(1));
    bench.housekeeper().run_once().await.unwrap();
    // Renewed, but the old one is not let go of yet; somebody captures it by hand.
    bench.try_job(id).await;
    let renewed = bench.read(id).await;
    assert_ne!(renewed.deposit.payment_intent_id(), Some(first.as_str()));
    let path = format!("payment_intents/{first}/capture");
    bench.by_hand(reqwest::Method::POST, &path, &[]).await;
    let account = bench.agree(id).await;
    assert_eq!(account.captured, account.refunded, "it is paid back");
    assert_eq!(
        bench.read(id).await.lifecycle(),
        Lifecycle::DocumentsPending
    );
}

// 3. What is delisted is still billed.

#[tokio::test(flavor = "multi_thread")]
async fn what_was_delisted_since_is_billed() {
    let bench = Bench::new().await;
    let id = bench.confirmed().await;
    bench.delist().await;
    let products = bench.double.objects("product");
    assert!(products.iter().any(|known| known["active"] == false));
    bench.fulfill(id, None).await;
    bench.settle(id).await;
    assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::LeaseActive);
    bench.agree(id).await;
}

// 4. A checkout that ended is looked up, never billed anew; what it was charged is paid back.

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_lease_keeps_nothing_that_it_was_charged() {
    for when in [When::Before, When::After] {
        let bench = Bench::new().await;
        let id = bench.confirmed().await;
        let subscriptions = "/v1/subscriptions";
        bench
            .double
            .fault(Rule::once("POST", subscriptions, Fault::Reset { when }));
        let fault = Fault::Reset { when: When::Before };
        bench
            .double
            .fault(Rule::always("POST", subscriptions, fault));
        // Nobody can look whether it was made, either.
        let fault = Fault::Reset { when: When::Before };
        let fault = Rule::always("GET", subscriptions, fault).after(1);
        bench.double.fault(fault);
        bench.fulfill(id, None).await;
        bench.try_job(id).await;
        bench.move_to(id, Lifecycle::FulfillmentException).await;
        bench.cancel(id).await;
        bench.double.clear_faults();
        let asked = bench.double.requests("POST", "/v1/subscriptions").len();
        let account = bench.agree(id).await;
        assert_eq!(account.kept(), 0, "{when:?}: {account:?}");
        assert_eq!((account.held, running(&account)), (0, 0));
        let again = bench.double.requests("POST", "/v1/subscriptions").len();
        assert_eq!(asked, again, "it is looked up, not made");
    }
}

// 5. A declined renewal is tried twice at most.

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_renewal_is_tried_twice_and_a_hard_decline_once() {
    for (decline, tries) in [(Decline::INSUFFICIENT_FUNDS, 2), (Decline::STOLEN, 1)] {
        let bench = Bench::new().await;
        let id = bench.signing().await;
        let method = bench.method(id).await;
        let hold = Occasion::Hold;
        bench
            .double
            .decline_on(&method, hold, Some(decline))
            .unwrap();
        bench.double.clear_journal();
        bench.wait(TimeDelta::days(6) + TimeDelta::minutes(1));
        for _ in 0..24 {
            bench.housekeeper().run_once().await.unwrap();
            bench.settle(id).await;
            bench.wait(TimeDelta::minutes(57));
        }
        let asked = bench.double.requests("POST", "/v1/payment_intents");
        assert_eq!(asked.len(), tries, "{decline:?}");
        assert!(bench.needs(id, AttentionReason::DepositFailed).await);
        bench.wait(TimeDelta::hours(2));
        bench.housekeeper().run_once().await.unwrap();
        let account = bench.agree(id).await;
        assert_eq!(account.held, 0);
        assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::DepositPending);
    }
}

// 6. The new hold is written before the old one is let go.

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_throws_nobody_back_whenever_its_messages_come() {
    let bench = Bench::new().await;
    let id = bench.signing().await;
    bench.wait(TimeDelta::days(6) + TimeDelta::hours(1));
    bench.housekeeper().run_once().await.unwrap();
    let known = bench.double.events().len();
    loop {
        // Each message before what it tells of is written down, and once more afterwards.
        for event in bench.double.events().get(known..).unwrap() {
            bench.receive_again(event).await;
        }
        if bench.try_job(id).await.is_none() {
            break;
        }
    }
    assert_eq!(
        bench.read(id).await.lifecycle(),
        Lifecycle::DocumentsPending
    );
    let account = bench.agree(id).await;
    let held = account.intents.iter();
    let held = held.filter(|paid| paid.status == "requires_capture");
    assert_eq!(held.count(), 1);
    bench.cancel(id).await;
    assert_eq!(bench.agree(id).await.held, 0);
}

// 7. No hold survives its checkout.

#[tokio::test(flavor = "multi_thread")]
async fn no_hold_survives_its_checkout_whatever_was_in_doubt() {
    for when in [When::Before, When::After] {
        let bench = Bench::new().await;
        let id = bench.signing().await;
        bench.wait(TimeDelta::days(6) + TimeDelta::hours(1));
        let fault = Fault::Reset { when };
        let fault = Rule::always("POST", "/v1/payment_intents", fault);
        bench.double.fault(fault);
        bench.housekeeper().run_once().await.unwrap();
        bench.try_job(id).await;
        bench.cancel(id).await;
        bench.double.clear_faults();
        let account = bench.agree(id).await;
        assert_eq!((account.held, account.kept()), (0, 0), "{when:?}");
    }
}

// 8. The comparison sees what was paid, not only what exists.

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
        if expected == "price" {
            continue;
        }
        assert_eq!(bench.names_of_differences(true).await, [""; 0], "{deed:?}");
        if expected == "end" {
            for _ in 0..14 {
                bench.wait(MONTH);
            }
            assert_eq!(bench.agree(id).await.paid_invoices.len(), 12);
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
}

// 9. Disputes of monthly payments.

#[tokio::test(flavor = "multi_thread")]
async fn a_dispute_of_a_monthly_payment_finds_its_lease() {
    let bench = Bench::new().await;
    let id = bench.leased().await;
    bench.wait(MONTH);
    let account = bench.double.account_of(&id.to_string());
    let (invoice, _) = account.paid_invoices.last().unwrap();
    let known = bench.double.events().len();
    // Nobody told of the invoice itself.
    let dispute = bench.double.dispute(invoice).unwrap();
    let told: Vec<Event> = bench.double.events().split_off(known);
    for event in &told {
        bench.receive(event).await;
    }
    assert!(bench.needs(id, AttentionReason::Disputed).await);
    let known = bench.double.events().len();
    bench.double.close_dispute(&dispute, "won").unwrap();
    for event in bench.double.events().split_off(known).iter().rev() {
        bench.receive(event).await;
    }
    assert!(!bench.needs(id, AttentionReason::Disputed).await);
}

// 10. What lets go does not wait behind what was given up.

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_does_not_wait_behind_a_job_that_was_given_up() {
    let bench = Bench::new().await;
    let id = bench.confirmed().await;
    bench.refuse_for_good("POST", "/v1/subscriptions");
    bench.fulfill(id, None).await;
    assert_eq!(bench.try_job(id).await, Some(Delivered::Buried));
    assert!(bench.needs(id, AttentionReason::ProcessorRefused).await);
    bench.move_to(id, Lifecycle::FulfillmentException).await;
    bench.cancel(id).await;
    while let Some(Delivered::Done) = bench.try_job(id).await {}
    let account = books::assert_agree(&bench.double, &bench.database, id).await;
    assert_eq!(account.kept(), 0);
}

// 12. A refund is never of nothing, and never more than what is left.

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_is_of_what_is_left_and_never_of_nothing() {
    for by_hand in [1_000, 0] {
        let bench = Bench::new().await;
        let id = bench.confirmed().await;
        let account = bench.double.account_of(&id.to_string());
        let paid = account.intents.first().unwrap();
        let amount = if by_hand == 0 { paid.received } else { by_hand };
        let form = [
            ("payment_intent", paid.id.as_str()),
            ("amount", &amount.to_string()),
        ];
        bench.by_hand(reqwest::Method::POST, "refunds", &form).await;
        bench.cancel(id).await;
        let account = bench.agree(id).await;
        assert_eq!(account.kept(), 0);
        let refused = bench.double.requests("POST", "/v1/refunds");
        assert!(refused.iter().all(|asked| asked.status == Some(200)));
        assert_eq!(bench.read(id).await.attention, []);
    }
}

// 13. Abandoned holds end.

#[tokio::test(flavor = "multi_thread")]
async fn who_walks_away_keeps_neither_hold_nor_stock() {
    let bench = Bench::new().await;
    let id = bench.signing().await;
    let mut renewals = 0;
    for _ in 0..60 {
        bench.wait(TimeDelta::hours(17));
        let done = bench.housekeeper().run_once().await.unwrap();
        renewals += done.renewals;
        bench.settle(id).await;
    }
    assert_eq!(renewals, 2);
    assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::Expired);
    assert_eq!(bench.agree(id).await.held, 0);
}

// 15. What cannot be read is kept.

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_read_is_kept_and_can_be_read_again() {
    let bench = Bench::new().await;
    let message = InboxMessage {
        source: "processor".to_owned(),
        id: "evt_unreadable".to_owned(),
        mode: Mode::Sandbox,
        body: br#"{"id":"evt_unreadable","type":"invoice.paid","created":1,"livemode":false,"data":{"object":{"planet":7}}}"#.to_vec(),
        received_at: bench.now(),
    };
    bench.inbox().keep(&message).await.unwrap();
    bench.inbox().handle(&message).await.unwrap();
    let mut uow = bench.database.begin().await.unwrap();
    let failed = uow.inbox().list(InboxState::Failed, 10).await.unwrap();
    let [failed] = failed.as_slice() else {
        panic!("it is listed: {failed:?}")
    };
    assert!(failed.problem.as_deref().unwrap().contains("data.object"));
    let now = bench.now();
    let again = uow.inbox().requeue(Some("evt_unreadable"), now).await;
    assert_eq!(again.unwrap(), 1);
    uow.commit().await.unwrap();
    assert_eq!(bench.handle_kept().await, 1, "it is still not understood");
}

// 17. What will never change is dead at once, and shown.

#[tokio::test(flavor = "multi_thread")]
async fn what_the_processor_will_never_do_is_shown_at_once() {
    let bench = Bench::new().await;
    let id = bench.confirmed().await;
    bench.refuse_for_good("POST", "/v1/subscriptions");
    bench.fulfill(id, Some(TRACKING)).await;
    bench.wait(TimeDelta::days(11));
    bench.housekeeper().run_once().await.unwrap();
    assert!(bench.needs(id, AttentionReason::DeliveryOverdue).await);
    bench.report_delivery(id).await;
    assert!(!bench.needs(id, AttentionReason::DeliveryOverdue).await);
    assert_eq!(bench.try_job(id).await, Some(Delivered::Buried));
    assert!(bench.needs(id, AttentionReason::ProcessorRefused).await);
    bench.wait(TimeDelta::minutes(61));
    bench.housekeeper().run_once().await.unwrap();
    assert!(bench.needs(id, AttentionReason::NotBilled).await);
    // The reason is gone; somebody has it tried again.
    bench.double.clear_faults();
    bench.requeue().await;
    bench.settle(id).await;
    assert_eq!(bench.read(id).await.attention, []);
    assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::LeaseActive);
    bench.agree(id).await;
}

// 18. Refunds that fail later.

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_comes_back_is_shown_and_made_again() {
    let bench = Bench::new().await;
    let id = bench.confirmed().await;
    bench.cancel(id).await;
    let account = bench.agree(id).await;
    let refund = account.refunds.first().unwrap().id.clone();
    let reason = "lost_or_stolen_card";
    bench.double.fail_refund(&refund, reason).unwrap();
    let account = bench.agree(id).await;
    assert_eq!(account.refunded, 0);
    assert!(bench.needs(id, AttentionReason::ProcessorRefused).await);
    bench.ask_for(id, Effect::RefundDeposit).await;
    assert_eq!(bench.agree(id).await.kept(), 0);
}

// 20. Unpaid, paused, ended early: shown. Cycles are cycles. Old backups look up first.

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_is_not_paid_any_more_says_so() {
    for (after, reason) in [
        (AfterRetries::LeavePastDue, AttentionReason::PastDue),
        (AfterRetries::Unpaid, AttentionReason::PastDue),
        (AfterRetries::Cancel, AttentionReason::NotBilled),
    ] {
        let bench = Bench::new().await;
        bench.double.set(Settings {
            after_retries: Some(after),
            ..Settings::default()
        });
        let id = bench.leased().await;
        let method = bench.method(id).await;
        let decline = Some(Decline::INSUFFICIENT_FUNDS);
        bench.double.decline(&method, decline).unwrap();
        bench.wait(MONTH);
        bench.agree(id).await;
        assert!(bench.needs(id, AttentionReason::PaymentFailed).await);
        bench.wait(TimeDelta::days(25));
        bench.agree(id).await;
        assert!(bench.needs(id, reason).await, "{reason}");
        let status = bench.read(id).await.recurring.billing.status();
        let is_over = status == RecurringPaymentStatus::Cancelled;
        assert_eq!(is_over, reason == AttentionReason::NotBilled);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_backup_looks_up_before_it_makes() {
    let bench = Bench::new().await;
    let id = bench.order().await;
    bench
        .advance(id, Lifecycle::DepositProcessing)
        .await
        .unwrap();
    let backup = bench.fork();
    bench.settle(id).await;
    bench.double.forget_keys();
    let restored = backup;
    restored.wait(TimeDelta::hours(30));
    restored.settle(id).await;
    let made = bench.double.ids_by("payment_intent", "lessor_checkout");
    assert_eq!(made.get(&id.to_string()).map(Vec::len), Some(1));
}

// 19. A job's claim outlives its call.

/// A timer that goes off whenever somebody lets it, and counts who sleeps by it.
#[derive(Default)]
struct Ticks {
    tick: tokio::sync::Notify,
    sleeps: AtomicU32,
}

#[async_trait]
impl Timer for Ticks {
    async fn sleep(&self, _: Duration) {
        self.sleeps.fetch_add(1, Ordering::SeqCst);
        self.tick.notified().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_done_by_one_worker_however_long_it_takes() {
    // The client waits for its answer for as long as this takes, on any machine.
    let bench = Bench::with_patience(Duration::from_secs(3_600)).await;
    let id = bench.signing().await;
    let hang = Fault::Hang { when: When::Before };
    let capture = "/v1/payment_intents/*/capture";
    bench.double.fault(Rule::once("POST", capture, hang));
    bench.sign(id).await;
    // Everything that came before the capture.
    let ticks = Arc::new(Ticks::default());
    let slow = Deliverer {
        timer: Arc::<Ticks>::clone(&ticks),
        ..bench.deliverer()
    };
    let at_it = tokio::spawn(async move { slow.drain(JobSubject::Checkout(id)).await });
    until("the processor is asked", async || {
        let asked = bench.double.requests("POST", capture);
        (!asked.is_empty()).then_some(())
    })
    .await;
    for _ in 0..10 {
        // The call hangs for longer than a lease lasts, but the worker takes the time anew.
        bench.wait(TimeDelta::seconds(30));
        let taken = bench.try_job(id).await;
        assert_eq!(taken, None, "somebody is at it");
        let sleeps = ticks.sleeps.load(Ordering::SeqCst);
        ticks.tick.notify_one();
        until("the lease is taken anew", async || {
            (ticks.sleeps.load(Ordering::SeqCst) > sleeps).then_some(())
        })
        .await;
    }
    bench.double.clear_faults();
    bench.double.release();
    at_it.await.unwrap().unwrap();
    bench.agree(id).await;
    assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::OrderConfirmed);
    let asked = bench.double.requests("POST", capture);
    let keys: BTreeSet<_> = asked.iter().map(|asked| &asked.idempotency_key).collect();
    assert_eq!(keys.len(), 1);
}

// 16. Test mode touches nothing live.

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_another_mode_moves_nothing() {
    let bench = Bench::new().await;
    let id = bench.leased().await;
    let account = bench.double.account_of(&id.to_string());
    let (invoice, _) = account.paid_invoices.first().unwrap();
    let known = bench.double.events().len();
    bench.double.dispute(invoice).unwrap();
    for event in bench.double.events().split_off(known) {
        let mut body: serde_json::Value = serde_json::from_slice(&event.body).unwrap();
        body["livemode"] = true.into();
        bench
            .receive(&Event {
                body: body.to_string().into_bytes(),
                ..event
            })
            .await;
    }
    assert_eq!(bench.read(id).await.attention, []);
}
