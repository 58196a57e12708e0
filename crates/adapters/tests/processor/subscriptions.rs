//! Subscriptions: one at a time for each checkout, of exactly so many whole months.

use chrono::TimeDelta;
use lessor_domain::checkout::InvoiceOutcome;
use lessor_domain::ledger::SubscriptionState;
use lessor_domain::ports::PaymentProcessor as _;
use lessor_domain::quantity::Quantity;
use lessor_processor_double::{Decline, Deed, Fault, Rule, When};
use serde_json::json;

use crate::support::{NOON, Op, Rig, checkout, done, product, refused, scope, time, usd};

#[tokio::test]
async fn every_term_from_every_day_is_whole_months() {
    for day in [
        "2026-01-31",
        "2026-02-28",
        "2028-02-29",
        "2026-08-30",
        "2026-12-15",
    ] {
        for term in [1, 2, 3, 12, 13, 24, 36] {
            let rig = Rig::new();
            rig.double.set_time(time(&format!("{day}T23:59:59Z")));
            let rig = Op::Subscribe.prepare(rig).await;
            let request = rig.subscription_of(1, term);
            // It was asked for at noon, and is made now: the exact end is another.
            let mut call = rig.attempt("work");
            call.first_tried_at -= TimeDelta::minutes(719);
            let made = rig.processor.create_subscription(&call, &request).await;
            let made = done(made);
            assert_eq!(made.anchor, rig.double.now());
            assert_eq!(made.state, SubscriptionState::Active);
            assert_eq!(made.monthly, usd(4_999));
            rig.double.advance(TimeDelta::days(40 * i64::from(term)));
            assert!(rig.double.prorations().is_empty(), "{day} {term}");
            let invoices = rig.double.objects("invoice");
            assert_eq!(invoices.len(), usize::from(term), "{day} {term}");
            assert!(
                invoices
                    .iter()
                    .all(|invoice| invoice["amount_paid"] == 4_999)
            );
            let found = rig
                .processor
                .subscriptions_of(scope(), &rig.customer, checkout(1))
                .await
                .unwrap();
            assert!(found[0].has_ended());
            let paid = |known: &lessor_domain::checkout::Invoice| {
                known.outcome == InvoiceOutcome::Paid && known.is_cycle
            };
            assert_eq!(found[0].invoices.len(), usize::from(term));
            assert!(found[0].invoices.iter().all(paid), "{found:#?}");
        }
    }
}

/// Several are one subscription with one item: so many times the price of one.
#[tokio::test]
async fn several_are_billed_by_one_subscription() {
    for (number, monthly, each) in [(1, 4_999, 4_999), (3, 14_997, 4_999), (50, 249_950, 4_999)] {
        let rig = Op::Subscribe.prepare(Rig::new()).await;
        let mut request = rig.subscription_of(1, 2);
        request.monthly = usd(monthly);
        request.quantity = Quantity::new(number).unwrap();
        let call = rig.attempt("work");
        let made = done(rig.processor.create_subscription(&call, &request).await);
        assert_eq!(made.monthly, usd(monthly));
        let asked = rig.double.requests("POST", "/v1/subscriptions");
        assert_eq!(asked.len(), 1);
        let items = rig.double.objects("subscription")[0]["items"]["data"].clone();
        assert_eq!(items.as_array().map(Vec::len), Some(1), "{items}");
        assert_eq!(items[0]["quantity"], number);
        assert_eq!(items[0]["price"]["unit_amount"], each);
        rig.double.advance(TimeDelta::days(80));
        let invoices = rig.double.objects("invoice");
        assert_eq!(invoices.len(), 2);
        let paid = |invoice: &serde_json::Value| invoice["amount_paid"] == monthly;
        assert!(invoices.iter().all(paid), "{invoices:?}");
    }
}

/// What is no multiple of a price is billed to nobody.
#[tokio::test]
async fn a_sum_that_is_not_so_many_times_a_price_is_not_billed() {
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    let mut request = rig.subscription_of(1, 2);
    request.quantity = Quantity::new(3).unwrap();
    request.monthly = usd(10_000);
    let call = rig.attempt("work");
    let made = rig.processor.create_subscription(&call, &request).await;
    assert!(made.is_err(), "{made:?}");
    assert!(rig.double.objects("subscription").is_empty());
}

/// Where the first guess is the exact end, nothing more is asked for.
#[tokio::test]
async fn the_end_is_given_with_the_making() {
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    done(Op::Subscribe.run(&rig, &rig.attempt("work")).await);
    let asked = rig.double.requests("POST", "/v1/subscriptions");
    let end = time("2027-01-31T12:00:00Z");
    assert_eq!(asked[0].params["cancel_at"], end.timestamp());
    assert_eq!(asked[0].params["proration_behavior"], "none");
    assert!(
        rig.double
            .requests("POST", "/v1/subscriptions/*")
            .is_empty()
    );
    // Half a second later the processor's clock shows another second.
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    let mut call = rig.attempt("work");
    call.now -= TimeDelta::milliseconds(1_500);
    call.first_tried_at = call.now;
    let request = rig.subscription_of(1, 12);
    let made = done(rig.processor.create_subscription(&call, &request).await);
    assert_eq!(made.ends_at, Some(end));
    assert_eq!(rig.double.requests("POST", "/v1/subscriptions/*").len(), 1);
}

/// The second request, which sets the exact end, is lost for good: what there is ends all the
/// same, and the next try sets it.
#[tokio::test]
async fn an_end_that_was_lost_is_set_when_the_subscription_is_found() {
    for pause in [
        TimeDelta::zero(),
        TimeDelta::minutes(10),
        TimeDelta::hours(25),
    ] {
        let rig = Op::Subscribe.prepare(Rig::new()).await;
        let down = Fault::Reset { when: When::Before };
        rig.double
            .fault(Rule::always("POST", "/v1/subscriptions/*", down));
        let (mut call, request) = (rig.attempt("work"), rig.subscription_of(1, 12));
        call.first_tried_at -= TimeDelta::minutes(1);
        let doubt = rig.processor.create_subscription(&call, &request).await;
        assert!(doubt.is_err(), "{doubt:?}");
        let known = &rig.double.objects("subscription")[0];
        let guess = time("2027-01-31T11:59:00Z").timestamp();
        assert_eq!(known["cancel_at"], guess);
        rig.double.clear_faults();
        rig.double.advance(pause);
        // Its first payment was counted meanwhile: one less is left, the end is the same.
        let request = rig.subscription_of(1, 11);
        let later = rig.later(&call);
        let found = done(rig.processor.create_subscription(&later, &request).await);
        assert_eq!(found.ends_at, Some(time("2027-01-31T12:00:00Z")));
        assert_eq!(rig.double.objects("subscription").len(), 1);
    }
}

/// An end that is refused leaves a subscription that bills: it is told of as it is.
#[tokio::test]
async fn an_end_that_is_refused_shows_in_the_answer() {
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    let refusal = Fault::Answer {
        status: 400,
        headers: Vec::new(),
        body: json!({ "error": { "type": "invalid_request_error" } }).to_string(),
    };
    rig.double
        .fault(Rule::always("POST", "/v1/subscriptions/*", refusal));
    let (mut call, request) = (rig.attempt("work"), rig.subscription_of(1, 12));
    call.first_tried_at -= TimeDelta::minutes(1);
    let made = done(rig.processor.create_subscription(&call, &request).await);
    assert_eq!(made.ends_at, Some(time("2027-01-31T11:59:00Z")));
}

/// Tries near each other are the same request under the key that they share.
#[tokio::test]
async fn tries_ask_for_the_same() {
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    rig.double
        .fault(Rule::always("POST", "/v1/subscriptions", Fault::FAILED));
    let (call, request) = (rig.attempt("work"), rig.subscription_of(1, 12));
    for minutes in [0, 1, 58] {
        rig.double.advance(TimeDelta::minutes(minutes));
        let later = rig.later(&call);
        let doubt = rig.processor.create_subscription(&later, &request).await;
        assert!(doubt.is_err(), "{doubt:?}");
    }
    rig.assert_same_bytes("near");
    // A day later the end is one of that day.
    rig.double.clear_faults();
    rig.double.advance(TimeDelta::hours(25));
    let later = rig.later(&call);
    let made = done(rig.processor.create_subscription(&later, &request).await);
    assert_eq!(made.anchor, rig.double.now());
    assert_eq!(made.ends_at, Some(time("2027-02-01T13:59:00Z")));
}

/// What is archived in the catalog is billed: the lease has a product of its own, and that one is
/// offered again when somebody archived it.
#[tokio::test]
async fn nothing_that_is_archived_keeps_a_lease_from_being_billed() {
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    let mut archived = product();
    archived.active = false;
    let call = rig.attempt("archive");
    done(rig.processor.push_product(&call, &archived).await);
    let id = format!("lease_{}", checkout(1).as_uuid().simple());
    let mut own = product();
    own.id.clone_from(&id);
    own.active = false;
    done(rig.processor.push_product(&rig.attempt("own"), &own).await);
    let request = rig.subscription_of(1, 12);
    let made = done(
        rig.processor
            .create_subscription(&rig.attempt("work"), &request)
            .await,
    );
    assert_eq!(made.state, SubscriptionState::Active);
    assert_eq!(rig.double.object(&id).unwrap()["active"], true);
    // Without an own one there is one by then, named as the lease is.
    let request = rig.subscription_of(2, 12);
    done(
        rig.processor
            .create_subscription(&rig.attempt("other"), &request)
            .await,
    );
    let id = format!("lease_{}", checkout(2).as_uuid().simple());
    let known = rig.double.object(&id).unwrap();
    assert_eq!(known["name"], "Road bike, 54 cm");
    let all = rig.double.objects("subscription");
    let price = &all[1]["items"]["data"][0]["price"];
    assert_eq!(
        (&price["product"], &price["unit_amount"]),
        (&json!(id), &json!(4_999))
    );
}

#[tokio::test]
async fn how_it_stands_is_told() {
    let rig = Rig::new().with_subscription().await;
    let state = async || {
        let known = rig.processor.subscription(scope(), &rig.subscription).await;
        known.unwrap().unwrap().state
    };
    let by_hand = |deed| rig.double.by_hand(&rig.subscription, &deed).unwrap();
    assert_eq!(state().await, SubscriptionState::Active);
    by_hand(Deed::PauseCollection {
        behavior: "void".to_owned(),
        resumes_at: None,
    });
    assert_eq!(state().await, SubscriptionState::Paused);
    by_hand(Deed::ResumeCollection);
    by_hand(Deed::Pause);
    assert_eq!(state().await, SubscriptionState::Paused);
    by_hand(Deed::Resume);
    let card = rig.method.clone().unwrap();
    rig.double.decline(&card, Some(Decline::GENERIC)).unwrap();
    rig.double.set(lessor_processor_double::Settings {
        after_retries: Some(lessor_processor_double::AfterRetries::Unpaid),
        ..Default::default()
    });
    rig.double.advance(TimeDelta::days(29));
    assert_eq!(state().await, SubscriptionState::PastDue);
    rig.double.advance(TimeDelta::days(20));
    assert_eq!(state().await, SubscriptionState::Unpaid);
    by_hand(Deed::SetPrice { unit_amount: 1 });
    by_hand(Deed::RemoveEnd);
    let known = rig.processor.subscription(scope(), &rig.subscription).await;
    let known = known.unwrap().unwrap();
    assert_eq!((known.monthly, known.ends_at), (usd(1), None));
    assert_eq!(known.checkout, Some(checkout(1)));
    let end = time("2027-01-31T12:00:00Z");
    done(
        rig.processor
            .set_end(&rig.attempt("end"), &rig.subscription, end)
            .await,
    );
    by_hand(Deed::Cancel);
    assert_eq!(state().await, SubscriptionState::Ended);
    assert!(rig.double.prorations().is_empty());
}

#[tokio::test]
async fn without_a_method_there_is_no_subscription() {
    let rig = Rig::new().with_customer().await;
    let request = rig.subscription_of(1, 12);
    let answer = rig
        .processor
        .create_subscription(&rig.attempt("work"), &request)
        .await;
    assert_eq!(refused(answer), "payment_method_missing");
    assert!(rig.double.objects("subscription").is_empty());
}

/// A customer has many subscriptions: the checkout's is found behind them.
#[tokio::test]
async fn lists_are_read_to_their_end() {
    let rig = Op::Subscribe.prepare(Rig::new()).await;
    for number in 1..=105 {
        let call = rig.attempt(&format!("work-{number}"));
        let request = rig.subscription_of(number, 12);
        done(rig.processor.create_subscription(&call, &request).await);
    }
    rig.double.forget_keys();
    let again = done(Op::Subscribe.run(&rig, &rig.attempt("anew")).await);
    let first = rig.double.objects("subscription")[0]["id"].clone();
    assert!(again.contains(first.as_str().unwrap()), "{again}");
    assert_eq!(rig.double.objects("subscription").len(), 105);
}

/// Every invoice is told of, also those that are no month of the term.
#[tokio::test]
async fn invoices_are_told_of_with_their_payments() {
    let rig = Rig::new().with_subscription().await;
    let card = rig.method.clone().unwrap();
    rig.double.decline(&card, Some(Decline::EXPIRED)).unwrap();
    rig.double.advance(TimeDelta::days(29));
    let known = rig.processor.subscription(scope(), &rig.subscription).await;
    let invoices = known.unwrap().unwrap().invoices;
    let [first, second] = invoices.as_slice() else {
        panic!("{invoices:#?}");
    };
    assert_eq!(
        (first.outcome.clone(), first.at),
        (InvoiceOutcome::Paid, time(NOON))
    );
    assert_eq!((first.amount, second.amount), (usd(4_999), usd(4_999)));
    let InvoiceOutcome::Failed { attempts, refusal } = &second.outcome else {
        panic!("{second:?}");
    };
    assert_eq!((*attempts, refusal.code.as_str()), (1, "expired_card"));
    assert!(first.is_cycle && second.is_cycle);
    // The way back from a payment that the customer's bank contests.
    for invoice in &invoices {
        let intent = invoice.payment_intent_id.as_deref().unwrap();
        let found = rig.processor.invoice_of_payment(scope().mode, intent).await;
        let found = found.unwrap().unwrap();
        assert_eq!(
            (&found.id, &found.subscription_id),
            (&invoice.id, &rig.subscription)
        );
        assert_eq!(found.payment_intent_id, invoice.payment_intent_id);
    }
    let failure = rig.processor.payment_failure(scope(), &second.id).await;
    assert_eq!(failure.unwrap().unwrap().code, "expired_card");
    let deposit = Op::Capture.prepare(Rig::new()).await;
    let found = deposit
        .processor
        .invoice_of_payment(scope().mode, &deposit.intent)
        .await;
    assert_eq!(found, Ok(None));
}
