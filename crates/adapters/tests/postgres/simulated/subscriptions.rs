//! Recurring payments: months that pass, and those that are not paid.

use chrono::{NaiveDate, TimeDelta};
use lessor_adapters::simulated::SimulatedInvoice;
use lessor_domain::access::Mode;
use lessor_domain::checkout::InvoiceOutcome;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::SubscriptionState;
use lessor_domain::ports::{Attempt, PaymentProcessor, ProcessorFact};
use lessor_domain::time::{Timestamp, add_months_at};

use super::{Scene, done, found, has_form, refused, usd};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_checkout_has_one_subscription_at_a_time() {
    let scene = Scene::of("ada@example.com").await;
    let checkout: CheckoutPubId = scene.make.id();
    let request = scene.subscription(checkout, 12);
    let calls = (0..16).map(|index| {
        let (processor, request) = (scene.processor.clone(), request.clone());
        let call = scene.attempt(&format!("key {index}"));
        tokio::spawn(async move { done(processor.create_subscription(&call, &request).await) })
    });
    let mut started = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        started.push(call.await.unwrap());
    }
    started.dedup();
    let [subscription] = started.as_slice() else {
        panic!("one subscription, not {}", started.len());
    };
    assert!(has_form(&subscription.id, "sub_"));
    let [first] = subscription.invoices.as_slice() else {
        panic!("{subscription:?}");
    };
    assert!(has_form(&first.id, "in_") && first.is_cycle);
    assert_eq!(
        (first.outcome.clone(), first.amount),
        (InvoiceOutcome::Paid, usd(4_098))
    );
    assert_eq!(subscription.state, SubscriptionState::Active);
    assert_eq!(
        (subscription.anchor, subscription.checkout),
        (scene.now, Some(checkout))
    );
    let year = add_months_at(scene.now, 12);
    assert_eq!(
        (subscription.ends_at, subscription.monthly),
        (year, usd(4_098))
    );
    let processor = scene.restarted();
    let of = async |checkout| {
        processor
            .subscriptions_of(scene.scope(), &scene.payer(), checkout)
            .await
            .unwrap()
    };
    assert_eq!(of(checkout).await, started);
    let by_payment = processor
        .invoice_of_payment(
            scene.scope().mode,
            first.payment_intent_id.as_deref().unwrap(),
        )
        .await;
    assert_eq!(by_payment, Ok(Some(first.clone())));
    for key in ["c1", "c2"] {
        done(
            processor
                .cancel_subscription(&scene.attempt(key), &subscription.id)
                .await,
        );
    }
    // The work that made it answers it for ever; other work makes another by now, of what is left.
    let mut left = request.clone();
    left.payments = 11;
    let again = done(
        processor
            .create_subscription(&scene.attempt("key 0"), &left)
            .await,
    );
    assert!(again.has_ended());
    assert_eq!(again.id, subscription.id);
    let later = scene.call_at("second", scene.now + TimeDelta::days(1));
    let second = done(processor.create_subscription(&later, &left).await);
    assert_ne!(second.id, subscription.id);
    assert_eq!(second.ends_at, add_months_at(later.now, 11));
    assert_eq!(of(checkout).await, [second, again]);
    assert_eq!(of(scene.make.id()).await, []);
}

fn noon(year: i32, month: u32, day: u32) -> Timestamp {
    NaiveDate::from_ymd_opt(year, month, day)
        .unwrap()
        .and_hms_opt(12, 0, 0)
        .unwrap()
        .and_utc()
}

async fn told(scene: &Scene, now: Timestamp) -> Vec<SimulatedInvoice> {
    let invoices = scene.processor.due_invoices(now).await.unwrap();
    for invoice in &invoices {
        scene.processor.mark_told(invoice, now).await.unwrap();
    }
    invoices
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cycles_are_billed_from_the_first_day_each_once() {
    let scene = Scene::of("ada@example.com").await;
    let checkout: CheckoutPubId = scene.make.id();
    let begun = noon(2027, 1, 31);
    let subscription = done(
        scene
            .processor
            .create_subscription(&scene.call_at("1", begun), &scene.subscription(checkout, 4))
            .await,
    );
    // The first is told with the answer.
    assert_eq!(told(&scene, begun).await, []);
    assert_eq!(told(&scene, noon(2027, 2, 27)).await, []);
    // A short month, and back to the 31st.
    let february = told(&scene, noon(2027, 2, 28)).await;
    let [invoice] = february.as_slice() else {
        panic!("one invoice, not {}", february.len());
    };
    assert_eq!(
        (invoice.cycle, invoice.due_on.to_string().as_str()),
        (2, "2027-02-28")
    );
    assert_eq!(
        (invoice.checkout, invoice.invoice.amount),
        (checkout, usd(4_098))
    );
    assert_eq!(told(&scene, noon(2027, 2, 28)).await, []);
    assert_eq!(told(&scene, noon(2027, 3, 30)).await, []);
    // Two that were missed come together, in order, and there is no fifth.
    let missed = told(&scene, noon(2027, 12, 1)).await;
    let days: Vec<_> = missed
        .iter()
        .map(|invoice| (invoice.cycle, invoice.due_on.to_string()))
        .collect();
    assert_eq!(
        days,
        [(3, "2027-03-31".to_owned()), (4, "2027-04-30".to_owned())]
    );
    let paid = |told: &SimulatedInvoice| told.invoice.outcome == InvoiceOutcome::Paid;
    assert!(missed.iter().all(paid));
    assert_eq!(told(&scene, noon(2040, 1, 1)).await, []);
    let known = scene
        .processor
        .subscription(scene.scope(), &subscription.id)
        .await
        .unwrap()
        .unwrap();
    assert!(known.has_ended());
    assert_eq!(known.invoices.len(), 4);
    let event = missed[0].event();
    assert_eq!(event.mode, Mode::Sandbox);
    assert_eq!(event.about.checkout, Some(checkout));
    assert_eq!(
        event.fact,
        ProcessorFact::Invoice(known.invoices[2].clone())
    );
    assert_eq!(known.invoices[2].subscription_id, subscription.id);
}

/// An end that is brought forward is kept to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_is_set_is_kept_to() {
    let scene = Scene::of("ada@example.com").await;
    let begun = noon(2027, 1, 31);
    let (call, request) = (
        scene.call_at("1", begun),
        scene.subscription(scene.make.id(), 12),
    );
    let made = done(scene.processor.create_subscription(&call, &request).await);
    let end = add_months_at(begun, 2).unwrap();
    let call = scene.call_at("2", begun);
    done(scene.processor.set_end(&call, &made.id, end).await);
    assert_eq!(told(&scene, noon(2028, 1, 1)).await.len(), 1);
    let known = scene.processor.subscription(scene.scope(), &made.id).await;
    let known = known.unwrap().unwrap();
    assert_eq!((known.ends_at, known.has_ended()), (Some(end), true));
    let call = scene.call_at("3", begun);
    let late = scene.processor.set_end(&call, &made.id, end).await;
    assert_eq!(refused(late), "invalid_request_error");
}

/// What was not marked comes again, and two that ask at once bill nothing twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_invoice_comes_until_it_was_told() {
    let scene = Scene::of("ada@example.com").await;
    let begun = noon(2027, 1, 1);
    for index in 0..5 {
        done(
            scene
                .processor
                .create_subscription(
                    &scene.call_at(&format!("{index}"), begun),
                    &scene.subscription(scene.make.id(), 12),
                )
                .await,
        );
    }
    let now = noon(2027, 4, 1);
    let askers = (0..8).map(|_| {
        let processor = scene.processor.clone();
        tokio::spawn(async move { processor.due_invoices(now).await.unwrap() })
    });
    for asker in askers.collect::<Vec<_>>() {
        asker.await.unwrap();
    }
    let invoices = scene.processor.due_invoices(now).await.unwrap();
    assert_eq!(invoices.len(), 15);
    let kept = "select count(*) from simulated_invoices";
    assert_eq!(scene.test.query(kept).await, ["20"]);
    assert_eq!(scene.processor.due_invoices(now).await.unwrap(), invoices);
    let (first, rest) = invoices.split_first().unwrap();
    scene.processor.mark_told(first, now).await.unwrap();
    assert_eq!(scene.restarted().due_invoices(now).await.unwrap(), rest);
}

/// Months pass for every organization, and each invoice says whose it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_organization_is_billed() {
    let scene = Scene::of("ada@example.com").await;
    let another = found(&scene.test, &scene.make).await;
    let begun = noon(2027, 1, 15);
    let ours = scene.call_at("1", begun);
    let theirs = Attempt {
        organization_id: another,
        ..ours.clone()
    };
    let request = scene.subscription(scene.make.id(), 12);
    let mut made = Vec::new();
    for call in [&ours, &theirs] {
        made.push(done(
            scene.processor.create_subscription(call, &request).await,
        ));
    }
    assert_ne!(made[0].id, made[1].id);
    let owners = |told: &[SimulatedInvoice]| {
        let mut owners: Vec<_> = told.iter().map(|told| told.organization_id).collect();
        owners.sort();
        owners
    };
    let february = told(&scene, noon(2027, 2, 15)).await;
    assert_eq!(owners(&february), [scene.organization, another]);
    assert_eq!(told(&scene, noon(2027, 2, 15)).await, []);
    let end = scene.call_at("2", noon(2027, 2, 16));
    let ended = scene.processor.cancel_subscription(&end, &made[0].id).await;
    done(ended);
    let march = told(&scene, noon(2027, 3, 15)).await;
    assert_eq!(owners(&march), [another]);
    assert_eq!(march[0].invoice.subscription_id, made[1].id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recurring_payments_fail_as_the_address_asks() {
    let scene = Scene::of("ada+paymentfail@example.com").await;
    let checkout = scene.make.id();
    let begun = noon(2027, 1, 15);
    let subscription = done(
        scene
            .processor
            .create_subscription(
                &scene.call_at("1", begun),
                &scene.subscription(checkout, 12),
            )
            .await,
    );
    assert_eq!(subscription.state, SubscriptionState::Active);
    let first = subscription.invoices[0].id.clone();
    let why = async |invoice: &str| {
        scene
            .processor
            .payment_failure(scene.scope(), invoice)
            .await
            .unwrap()
    };
    assert_eq!(why(&first).await, None);
    let failed = told(&scene, noon(2027, 3, 15)).await;
    assert_eq!(failed.len(), 2);
    for invoice in &failed {
        let failure = invoice.failure.clone().unwrap();
        assert_eq!(failure.code, "card_declined");
        assert_eq!(why(&invoice.id).await, Some(failure));
        let ProcessorFact::Invoice(told) = invoice.event().fact else {
            panic!("{invoice:?}");
        };
        assert!(matches!(
            told.outcome,
            InvoiceOutcome::Failed { attempts: 1, .. }
        ));
    }
    let behind = scene
        .processor
        .subscription(scene.scope(), &subscription.id)
        .await;
    assert_eq!(behind.unwrap().unwrap().state, SubscriptionState::PastDue);
    // Paid by hand it stands well, until the next month.
    let card = scene
        .processor
        .payment_method(
            &scene.attempt("card"),
            &scene.payer(),
            Some("pm_card_amex".to_owned()),
        )
        .await;
    let card = done(card).id;
    let call = scene.call_at("pay", noon(2027, 3, 16));
    let paid = scene
        .processor
        .pay_invoices(&call, &subscription.id, &card)
        .await;
    let paid = done(paid);
    assert_eq!(paid.state, SubscriptionState::Active);
    assert!(
        paid.invoices
            .iter()
            .all(|known| known.outcome == InvoiceOutcome::Paid)
    );
    assert_eq!(told(&scene, noon(2027, 3, 17)).await, []);
    assert_eq!(told(&scene, noon(2027, 4, 15)).await.len(), 1);
    // A subscription that was ended is billed no more.
    done(
        scene
            .processor
            .cancel_subscription(&scene.attempt("2"), &subscription.id)
            .await,
    );
    assert_eq!(told(&scene, noon(2028, 1, 1)).await, []);
}

/// A first payment that is declined leaves a subscription that waits a day for another card.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_payments_fail_as_the_address_and_the_card_ask() {
    let begun = noon(2027, 1, 15);
    for (email, card) in [
        ("ada+firstpaymentfail@example.com", "pm_card_visa"),
        ("ada@example.com", "pm_card_chargeCustomerFail"),
    ] {
        let scene = Scene::of(email).await;
        let processor = &scene.processor;
        let checkout: CheckoutPubId = scene.make.id();
        let mut request = scene.subscription(checkout, 12);
        let named = async |name: &str| {
            let call = scene.attempt("card");
            let name = Some(name.to_owned());
            done(processor.payment_method(&call, &scene.payer(), name).await).id
        };
        request.payment_method = Some(named(card).await);
        let made = processor
            .create_subscription(&scene.call_at("1", begun), &request)
            .await;
        let made = done(made);
        assert_eq!(made.state, SubscriptionState::Incomplete, "{email} {card}");
        assert!(matches!(
            made.invoices[0].outcome,
            InvoiceOutcome::Failed { attempts: 1, .. }
        ));
        let end = add_months_at(begun, 12).unwrap();
        let answer = processor
            .set_end(&scene.call_at("end", begun), &made.id, end)
            .await;
        assert_eq!(refused(answer), "invalid_request_error");
        // A card that is declined, one of nobody's, and one that pays.
        let declined = named("pm_card_chargeCustomerFail").await;
        let pay = async |key: &str, card: &str| {
            let call = scene.call_at(key, begun + TimeDelta::hours(1));
            processor.pay_invoices(&call, &made.id, card).await
        };
        assert_eq!(refused(pay("2", &declined).await), "card_declined");
        assert_eq!(refused(pay("3", "pm_x").await), "resource_missing");
        let good = named("pm_card_mastercard").await;
        let paid = done(pay("4", &good).await);
        assert_eq!(paid.state, SubscriptionState::Active);
        assert_eq!(paid.invoices[0].outcome, InvoiceOutcome::Paid);
        // It goes on as any other.
        assert_eq!(told(&scene, noon(2027, 2, 15)).await.len(), 1);
    }
}

/// What nobody pays within a day is given up, which is told; another is made then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_payment_is_given_up_after_a_day() {
    let scene = Scene::of("ada+firstpaymentfail@example.com").await;
    let checkout: CheckoutPubId = scene.make.id();
    let begun = noon(2027, 1, 15);
    let request = scene.subscription(checkout, 12);
    let first = scene
        .processor
        .create_subscription(&scene.call_at("1", begun), &request)
        .await;
    let first = done(first);
    assert_eq!(told(&scene, begun + TimeDelta::hours(22)).await, []);
    let over = begun + TimeDelta::hours(23);
    let given_up = told(&scene, over).await;
    let [given_up] = given_up.as_slice() else {
        panic!("{given_up:?}");
    };
    assert_eq!(
        given_up.event().fact,
        ProcessorFact::Subscription {
            subscription_id: first.id.clone(),
            state: SubscriptionState::Ended,
            ends_at: None,
        }
    );
    assert_eq!(told(&scene, over).await, []);
    let second = scene
        .processor
        .create_subscription(&scene.call_at("2", over), &request)
        .await;
    let second = done(second);
    assert_ne!(second.id, first.id);
    assert_eq!(second.state, SubscriptionState::Active);
    let known = scene.processor.subscription(scene.scope(), &first.id).await;
    let known = known.unwrap().unwrap();
    assert!(known.has_ended());
    assert_eq!(known.invoices[0].outcome, InvoiceOutcome::Void);
}

/// The month of a lease that never was is paid back by the payment of its invoice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_month_is_paid_back() {
    let scene = Scene::of("ada@example.com").await;
    let request = scene.subscription(scene.make.id(), 12);
    let made = scene
        .processor
        .create_subscription(&scene.attempt("1"), &request)
        .await;
    let payment = done(made).invoices[0].payment_intent_id.clone().unwrap();
    let back = scene
        .processor
        .refund(&scene.attempt("2"), &payment, usd(4_098))
        .await;
    assert_eq!(done(back).unwrap().amount, usd(4_098));
}
