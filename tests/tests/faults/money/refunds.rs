//! What was taken and is not owed is paid back: all of it, once.

use lessor_domain::checkout::{AttentionReason, Effect, Lifecycle};
use lessor_processor_double::{Fault, Rule, When};

use super::running;
use crate::bench::Bench;

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
