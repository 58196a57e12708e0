//! What bills a lease, and for how long: first payments, delisted goods, leases that are not paid any more.

use chrono::TimeDelta;
use lessor_domain::audit::Origin;
use lessor_domain::checkout::{AttentionReason, Lifecycle, RecurringPaymentStatus};
use lessor_domain::ports::{Clock as _, Database as _, Reach};
use lessor_domain::services::organizations::{CreateOrganization, create_organization};
use lessor_domain::testing::{ManualClock, MemoryDatabase, SequenceIds};
use lessor_processor_double::{AfterRetries, Decline, Occasion, Settings};

use super::{MONTH, running};
use crate::bench::Bench;

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
async fn leases_that_are_not_paid_up_keep_no_others_from_ending() {
    let bench = Bench::new().await;
    let mut behind = Vec::new();
    for name in ["first", "second", "third"] {
        let id = bench.leased_by(&format!("{name}@example.com")).await;
        let decline = Some(Decline::INSUFFICIENT_FUNDS);
        let method = bench.method(id).await;
        bench.double.decline(&method, decline).unwrap();
        behind.push(id);
    }
    let paid = bench.leased_by("prompt@example.com").await;
    for _ in 0..14 {
        bench.wait(MONTH);
    }
    for id in behind.iter().chain([&paid]) {
        bench.agree(*id).await;
    }
    let mut housekeeper = bench.housekeeper();
    housekeeper.policy.batch = 2;
    housekeeper.run_once().await.unwrap();
    assert_eq!(bench.read(paid).await.lifecycle(), Lifecycle::ReturnPending);
    for id in behind {
        assert_eq!(bench.read(id).await.lifecycle(), Lifecycle::LeaseActive);
        assert_ne!(bench.read(id).await.attention, [], "it is shown");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_leases_in_a_currency_that_cannot_be_charged_to_the_unit() {
    for currency in ["BHD", "JOD", "KWD", "OMR", "TND"] {
        let database = MemoryDatabase::new();
        let mut uow = database.begin(Reach::Server).await.unwrap();
        let input = CreateOrganization {
            name: "Northwind Cycles".parse().unwrap(),
            currency: currency.parse().unwrap(),
            discount: "0".parse().unwrap(),
            service_area: "US".parse().unwrap(),
            requires_product_review: false,
            oftake_partner_id: None,
        };
        let (ids, now) = (SequenceIds::seeded(1), ManualClock::default().now());
        let operator = Origin::cli("operator");
        let refused = create_organization(uow.as_mut(), &ids, now, &operator, input).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(currency), "{currency}: {refused}");
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
    restored.agree(id).await;
}
