//! Sums of what became of a checkout's money.

use chrono::TimeDelta;
use lessor_processor_double::Account;
use reqwest::Method;

use crate::payments::held;
use crate::subscriptions::subscribe;
use crate::support::{Answer, Caller};

#[tokio::test]
async fn the_account_of_a_checkout_adds_up() {
    let caller = Caller::new();
    assert_eq!(caller.double.account_of("chk_1"), Account::default());
    let deposit = held(&caller, "pm_card_visa", "&metadata[lessor_checkout]=chk_1").await;
    let deposit = deposit.text("id");
    held(&caller, "pm_card_visa", "&metadata[lessor_checkout]=chk_2").await;
    let account = caller.double.account_of("chk_1");
    assert_eq!(
        (account.held, account.captured, account.kept()),
        (5_000, 0, 0)
    );
    caller
        .post(&format!("/v1/payment_intents/{deposit}/capture"), "")
        .await;
    let (customer, method) = caller.customer().await;
    let subscription = subscribe(&caller, &customer, &method).await.text("id");
    caller.double.advance(TimeDelta::days(29));
    let account = caller.double.account_of("chk_1");
    assert_eq!(
        (account.held, account.captured, account.invoiced()),
        (0, 5_000, 6_200)
    );
    assert_eq!(account.subscriptions, [(subscription, "active".to_owned())]);
    assert_eq!(account.paid_invoices.len(), 2);
    let invoiced = &account.intents[1];
    assert_eq!(invoiced.invoice.as_ref(), Some(&account.paid_invoices[0].0));
    let pay_back = async |intent: &str, amount: i64| {
        let form = format!("payment_intent={intent}&amount={amount}");
        caller.post("/v1/refunds", &form).await.text("id")
    };
    pay_back(&deposit, 1_000).await;
    let failed = pay_back(&invoiced.id, 3_100).await;
    assert_eq!(caller.double.account_of("chk_1").refunded, 4_100);
    assert_eq!(caller.double.fail_refund(&failed, "unknown"), Ok(()));
    let account = caller.double.account_of("chk_1");
    assert_eq!((account.refunded, account.kept()), (1_000, 10_200));
    assert_eq!(account.refunds.len(), 2);
    let control = caller
        .request(Method::GET, "/_double/accounts/chk_1")
        .send()
        .await;
    let shown = Answer::of(control.expect("an answer")).await;
    assert_eq!(
        (&shown.body["captured"], &shown.body["refunded"]),
        (&5_000.into(), &1_000.into())
    );
}
