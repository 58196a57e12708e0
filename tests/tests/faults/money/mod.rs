//! Whatever the processor answers, the money is right: each of these was wrong once, against a
//! processor that is as strict as its reference.

mod billing;
mod comparison;
mod deposits;
mod jobs;
mod messages;
mod refunds;

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::checkout::{AttentionReason, Lifecycle};
use lessor_domain::ids::CheckoutPubId;
use lessor_processor_double::Account;

use crate::bench::Bench;

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
