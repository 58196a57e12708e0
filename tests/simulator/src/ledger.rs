//! What the processor took, holds and bills at the end of a life, lease by lease.

use std::collections::BTreeMap;

use lessor_processor_double::Double;
use serde_json::Value;

/// A deposit at the processor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Payment {
    /// Its id.
    pub id: String,
    /// Such as `requires_capture`.
    pub status: String,
    /// What was taken and not paid back, in the processor's units.
    pub kept: i64,
}

/// An invoice of a subscription.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Invoice {
    /// Its id.
    pub id: String,
    /// Such as `paid`.
    pub status: String,
    /// What was paid.
    pub paid: i64,
    /// What of that was not paid back.
    pub kept: i64,
    /// Whether a payment was tried.
    pub attempted: bool,
}

/// A subscription at the processor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Billed {
    /// Its id.
    pub id: String,
    /// Such as `active`.
    pub status: String,
    /// Whether it has an end.
    pub ends: bool,
    /// Whether it collects what it bills.
    pub collects: bool,
    /// What it costs each month.
    pub monthly: i64,
    /// Its invoices.
    pub invoices: Vec<Invoice>,
}

impl Billed {
    /// Whether it bills, now or again.
    #[must_use]
    pub fn runs(&self) -> bool {
        !matches!(self.status.as_str(), "canceled" | "incomplete_expired")
    }
}

/// What the processor has of one checkout.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// Deposits.
    pub deposits: Vec<Payment>,
    /// Subscriptions.
    pub subscriptions: Vec<Billed>,
    /// Payments that the customer's bank contests now.
    pub contested: Vec<String>,
    /// What was to be paid back of deposits and came back from the bank.
    pub bounced: i64,
    /// What all of it comes to: held, captured as deposits, paid by invoices, paid back.
    pub sums: [i64; 4],
    /// Times at which a card declined while its holder was away, Unix seconds.
    pub declined: Vec<i64>,
}

impl Account {
    /// What was taken of deposits and not paid back.
    #[must_use]
    pub fn deposits_kept(&self) -> i64 {
        self.deposits.iter().map(|deposit| deposit.kept).sum()
    }

    /// The invoices of all its subscriptions.
    pub fn invoices(&self) -> impl Iterator<Item = &Invoice> {
        self.subscriptions.iter().flat_map(|it| &it.invoices)
    }
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

/// The accounts by the ids of checkouts.
pub(crate) fn accounts(double: &Double) -> BTreeMap<String, Account> {
    let mut accounts = BTreeMap::<String, Account>::new();
    let mut back = BTreeMap::<String, i64>::new();
    let mut bounced = BTreeMap::<String, i64>::new();
    for refund in double.objects("refund") {
        if text(&refund, "status") == "failed" {
            let of = text(&refund, "payment_intent").to_owned();
            *bounced.entry(of).or_default() += refund["amount"].as_i64().unwrap_or(0);
        }
        if !matches!(text(&refund, "status"), "failed" | "canceled") {
            let of = text(&refund, "payment_intent").to_owned();
            *back.entry(of).or_default() += refund["amount"].as_i64().unwrap_or(0);
        }
    }
    let kept = |intent: &str, taken: i64| taken - back.get(intent).copied().unwrap_or(0);
    let checkout = |object: &Value| text(&object["metadata"], "lessor_checkout").to_owned();
    // Whose each payment is: deposits say so themselves, the others through their invoices.
    let mut owners = BTreeMap::<String, String>::new();
    for intent in double.objects("payment_intent") {
        let owner = checkout(&intent);
        if owner.is_empty() {
            continue;
        }
        let id = text(&intent, "id").to_owned();
        owners.insert(id.clone(), owner.clone());
        let taken = intent["amount_received"].as_i64().unwrap_or(0);
        let account = accounts.entry(owner).or_default();
        account.bounced += bounced.get(&id).copied().unwrap_or(0);
        account.deposits.push(Payment {
            kept: kept(&id, taken),
            id,
            status: text(&intent, "status").to_owned(),
        });
    }
    let payments = double.objects("invoice_payment");
    let all_invoices = double.objects("invoice");
    for subscription in double.objects("subscription") {
        let owner = checkout(&subscription);
        let id = text(&subscription, "id");
        let mut invoices = Vec::new();
        for invoice in &all_invoices {
            if invoice["parent"]["subscription_details"]["subscription"] != id {
                continue;
            }
            let payment = payments.iter().find(|it| it["invoice"] == invoice["id"]);
            let intent = payment.map_or("", |it| text(&it["payment"], "payment_intent"));
            owners.insert(intent.to_owned(), owner.clone());
            let paid = invoice["amount_paid"].as_i64().unwrap_or(0);
            invoices.push(Invoice {
                id: text(invoice, "id").to_owned(),
                status: text(invoice, "status").to_owned(),
                paid,
                kept: kept(intent, paid),
                attempted: invoice["attempted"] == true,
            });
        }
        let items = subscription["items"]["data"].as_array();
        let monthly = items.into_iter().flatten().map(|item| {
            let price = item["price"]["unit_amount"].as_i64().unwrap_or(0);
            price * item["quantity"].as_i64().unwrap_or(1)
        });
        let billed = Billed {
            id: id.to_owned(),
            status: text(&subscription, "status").to_owned(),
            ends: !subscription["cancel_at"].is_null(),
            collects: subscription["pause_collection"].is_null(),
            monthly: monthly.sum(),
            invoices,
        };
        accounts
            .entry(owner)
            .or_default()
            .subscriptions
            .push(billed);
    }
    for dispute in double.objects("dispute") {
        let open = !matches!(text(&dispute, "status"), "won" | "lost" | "warning_closed");
        if let (true, Some(owner)) = (open, owners.get(text(&dispute, "payment_intent"))) {
            let account = accounts.entry(owner.clone()).or_default();
            account.contested.push(text(&dispute, "id").to_owned());
        }
    }
    for asked in double.requests("POST", "/v1/payment_intents") {
        let owner = checkout(&asked.params);
        let away = asked.params["off_session"] == true;
        if away && asked.status == Some(402) && !asked.replayed {
            accounts.entry(owner).or_default().declined.push(asked.at);
        }
    }
    for (id, account) in &mut accounts {
        let sums = double.account_of(id);
        account.sums = [sums.held, sums.captured, sums.invoiced(), sums.refunded];
    }
    accounts
}
