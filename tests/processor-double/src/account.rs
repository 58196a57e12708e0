//! Sums: what was taken, paid back and is still held, for each checkout.

use serde::Serialize;
use serde_json::Value;

use crate::billing::subscription_of;
use crate::state::State;
use crate::store::{World, number, text};

/// The metadata that names the checkout.
const CHECKOUT: &str = "lessor_checkout";

/// What became of the money of one checkout, in the currency's minor units: the sum of both
/// modes, of which a checkout has one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// What is held at this moment, neither taken nor let go.
    pub held: i64,
    /// What was taken by payments of the checkout itself: its deposits.
    pub captured: i64,
    /// What was paid back, of deposits and of invoices: what is under way counts, what failed
    /// does not.
    pub refunded: i64,
    /// What banks took back.
    pub disputed: i64,
    /// The invoices of its subscriptions that were paid, oldest first, with what was paid.
    pub paid_invoices: Vec<(String, i64)>,
    /// Its payments, oldest first; those of invoices last.
    pub intents: Vec<Payment>,
    /// The refunds of all of them, oldest first.
    pub refunds: Vec<Repayment>,
    /// Its subscriptions and their statuses, oldest first.
    pub subscriptions: Vec<(String, String)>,
}

impl Account {
    /// What invoices brought in.
    #[must_use]
    pub fn invoiced(&self) -> i64 {
        self.paid_invoices.iter().map(|(_, amount)| amount).sum()
    }

    /// What the lessor has of the customer's money at this moment, holds left out.
    #[must_use]
    pub fn kept(&self) -> i64 {
        self.captured + self.invoiced() - self.refunded - self.disputed
    }
}

/// A payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Payment {
    /// Its id.
    pub id: String,
    /// Such as `requires_capture`.
    pub status: String,
    /// What was asked for.
    pub amount: i64,
    /// What was taken.
    pub received: i64,
    /// The invoice that it pays.
    pub invoice: Option<String>,
}

/// A refund.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repayment {
    /// Its id.
    pub id: String,
    /// The payment that it pays back.
    pub payment_intent: String,
    /// How much of it.
    pub amount: i64,
    /// Such as `succeeded`.
    pub status: String,
}

/// The account of a checkout.
pub(crate) fn of(state: &State, checkout: &str) -> Account {
    let mut account = Account::default();
    for live in [false, true] {
        add(&mut account, state.world(live), checkout);
    }
    account
}

fn add(account: &mut Account, world: &World, checkout: &str) {
    let of_checkout = |object: &&Value| object["metadata"][CHECKOUT] == checkout;
    for intent in world.all("payment_intent").iter().filter(of_checkout) {
        account.held += number(intent, "amount_capturable");
        account.captured += number(intent, "amount_received");
        account.intents.push(payment(intent, None));
    }
    let mut own = Vec::new();
    for subscription in world.all("subscription").iter().filter(of_checkout) {
        let (id, status) = (text(subscription, "id"), text(subscription, "status"));
        account
            .subscriptions
            .push((id.to_owned(), status.to_owned()));
        own.push(id);
    }
    let theirs = |invoice: &&Value| own.contains(&subscription_of(invoice));
    for invoice in world.all("invoice").iter().filter(theirs) {
        let id = text(invoice, "id");
        if invoice["status"] == "paid" {
            let paid = number(invoice, "amount_paid");
            account.paid_invoices.push((id.to_owned(), paid));
        }
        let payments = world.all("invoice_payment").iter();
        for paid in payments.filter(|paid| paid["invoice"] == id) {
            if let Some(intent) = world.any(text(&paid["payment"], "payment_intent")) {
                account.intents.push(payment(intent, Some(id)));
            }
        }
    }
    let of_these = |object: &&Value| {
        let intent = text(object, "payment_intent");
        account.intents.iter().any(|known| known.id == intent)
    };
    let refunds: Vec<_> = world
        .all("refund")
        .iter()
        .filter(of_these)
        .map(repayment)
        .collect();
    let disputed: i64 = world
        .all("dispute")
        .iter()
        .filter(of_these)
        .filter(|dispute| dispute["status"] != "won")
        .map(|dispute| number(dispute, "amount"))
        .sum();
    account.disputed += disputed;
    account.refunded += refunds
        .iter()
        .filter(|refund| !matches!(refund.status.as_str(), "failed" | "canceled"))
        .map(|refund| refund.amount)
        .sum::<i64>();
    account.refunds.extend(refunds);
}

fn payment(intent: &Value, invoice: Option<&str>) -> Payment {
    Payment {
        id: text(intent, "id").to_owned(),
        status: text(intent, "status").to_owned(),
        amount: number(intent, "amount"),
        received: number(intent, "amount_received"),
        invoice: invoice.map(ToOwned::to_owned),
    }
}

fn repayment(refund: &Value) -> Repayment {
    Repayment {
        id: text(refund, "id").to_owned(),
        payment_intent: text(refund, "payment_intent").to_owned(),
        amount: number(refund, "amount"),
        status: text(refund, "status").to_owned(),
    }
}
