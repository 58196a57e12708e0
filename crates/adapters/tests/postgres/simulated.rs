//! The simulated providers: outcomes by e-mail, keys, and months that pass.

use std::sync::Arc;

use chrono::{NaiveDate, TimeDelta};
use lessor_adapters::ambient::SystemEntropy;
use lessor_adapters::simulated::{
    SimulatedCredit, SimulatedIdentity, SimulatedInvoice, SimulatedProcessor, SimulatedSigner,
};
use lessor_adapters::testing::TestDatabase;
use lessor_domain::access::Mode;
use lessor_domain::checkout::Refusal;
use lessor_domain::ids::{CheckoutPubId, CustomerPubId, OrganizationPubId};
use lessor_domain::money::{Currency, Money};
use lessor_domain::percentage::{Percentage, TermMonths};
use lessor_domain::ports::{
    Answer, Call, CreditChecker, DepositRequest, DocumentSigner, Doubt, IdentityResult,
    IdentityVerifier, LeaseDocument, PaymentProcessor, Person, ProcessorCustomer, ProcessorFact,
    ProcessorProduct, ProcessorVariant, SubscriptionRequest, Voided,
};
use lessor_domain::pricing::{Quote, Rate, RateCard, quote};
use lessor_domain::testing::Fixtures;
use lessor_domain::time::Timestamp;

fn usd(minor: i64) -> Money {
    Money::from_minor(minor, Currency::USD)
}

/// Somebody with an e-mail address, in front of all four providers.
struct Scene {
    test: TestDatabase,
    make: Fixtures,
    processor: SimulatedProcessor,
    identity: SimulatedIdentity,
    credit: SimulatedCredit,
    signer: SimulatedSigner,
    customer: CustomerPubId,
    email: String,
    now: Timestamp,
}

impl Scene {
    async fn of(email: &str) -> Self {
        let test = TestDatabase::create().await;
        let make = Fixtures::default();
        let database = test.database().clone();
        let entropy = Arc::new(SystemEntropy);
        Self {
            processor: SimulatedProcessor::new(database.clone(), entropy.clone()),
            identity: SimulatedIdentity::new(database.clone(), entropy.clone()),
            credit: SimulatedCredit::new(database.clone(), entropy.clone()),
            signer: SimulatedSigner::new(database, entropy),
            customer: make.id(),
            email: email.to_owned(),
            now: make.tick(),
            test,
            make,
        }
    }

    /// As if the process had been started again.
    fn restarted(&self) -> SimulatedProcessor {
        SimulatedProcessor::new(self.test.database().clone(), Arc::new(SystemEntropy))
    }

    fn call(&self, key: &str) -> Call {
        self.call_at(key, self.now)
    }

    fn call_at(&self, key: &str, now: Timestamp) -> Call {
        Call {
            mode: Mode::Sandbox,
            idempotency_key: key.to_owned(),
            first_tried_at: self.now,
            now,
        }
    }

    fn payer(&self) -> ProcessorCustomer {
        ProcessorCustomer {
            id: self.customer,
            email: self.email.clone(),
            name: Some("Ada Lovelace".to_owned()),
            phone: None,
            processor_id: None,
        }
    }

    fn person(&self) -> Person {
        Person {
            id: self.customer,
            email: self.email.clone(),
            first_name: None,
            last_name: None,
            address: None,
        }
    }

    fn deposit(&self, checkout: CheckoutPubId) -> DepositRequest {
        DepositRequest {
            checkout,
            organization: self.make.id::<OrganizationPubId>(),
            customer: self.payer(),
            amount: usd(12_990),
            payment_method: None,
            off_session: false,
        }
    }

    fn subscription(&self, checkout: CheckoutPubId, months: u16) -> SubscriptionRequest {
        SubscriptionRequest {
            checkout,
            organization: self.make.id::<OrganizationPubId>(),
            customer: self.payer(),
            payment_method: None,
            variant_processor_id: "pvar_1".to_owned(),
            description: "Road bike".to_owned(),
            monthly: usd(4_098),
            months: TermMonths::new(months).unwrap(),
        }
    }

    /// An authorized deposit of a new checkout.
    async fn authorized(&self, key: &str) -> (CheckoutPubId, String) {
        let checkout = self.make.id();
        let request = self.deposit(checkout);
        let answer = self
            .processor
            .authorize_deposit(&self.call(key), &request)
            .await;
        (checkout, done(answer).payment_intent_id)
    }
}

fn done<T>(answer: Result<Answer<T>, Doubt>) -> T {
    match answer.unwrap() {
        Answer::Done(value) => value,
        Answer::Refused(refusal) => panic!("refused: {refusal:?}"),
    }
}

fn refused<T>(answer: Result<Answer<T>, Doubt>) -> String {
    match answer.unwrap() {
        Answer::Done(_) => panic!("done"),
        Answer::Refused(Refusal { code, .. }) => code,
    }
}

fn has_form(id: &str, prefix: &str) -> bool {
    id.strip_prefix(prefix).is_some_and(|rest| {
        rest.len() == 24 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_is_authorized_captured_and_paid_back() {
    let scene = Scene::of("ada@example.com").await;
    let checkout = scene.make.id();
    let request = scene.deposit(checkout);
    let authorization = done(
        scene
            .processor
            .authorize_deposit(&scene.call("1"), &request)
            .await,
    );
    assert!(has_form(&authorization.payment_intent_id, "pi_"));
    assert_eq!(authorization.expires_at, scene.now + TimeDelta::days(7));
    let method = authorization.method.clone().unwrap();
    assert!(has_form(&method.id, "pm_"));
    assert_eq!(method.last4.as_deref(), Some("4242"));

    let id = authorization.payment_intent_id.as_str();
    let capture = done(scene.processor.capture_deposit(&scene.call("2"), id).await);
    assert!(has_form(&capture.invoice_id, "in_"));
    assert_eq!(capture.at, scene.now);
    // Another key, and another day: what is captured stays as it was.
    let later = scene.call_at("3", scene.now + TimeDelta::days(1));
    assert_eq!(
        done(scene.processor.capture_deposit(&later, id).await),
        capture
    );
    assert_eq!(
        done(scene.processor.void_deposit(&scene.call("4"), id).await),
        Voided::AlreadyCaptured(capture)
    );
    let back = async |key: &str, amount: Option<Money>| {
        scene
            .processor
            .refund_deposit(&scene.call(key), id, amount)
            .await
    };
    done(back("5", Some(usd(10_000))).await);
    assert_eq!(
        refused(back("6", Some(usd(2_991))).await),
        "amount_too_large"
    );
    assert_eq!(
        refused(back("7", Some(Money::from_minor(1, "EUR".parse().unwrap()))).await),
        "amount_too_large"
    );
    done(back("8", None).await);
    done(back("9", None).await);
    assert_eq!(refused(back("10", Some(usd(1))).await), "amount_too_large");
    // A key of before gets the answer of then, after a restart too.
    let again = scene
        .restarted()
        .authorize_deposit(&scene.call("1"), &request)
        .await;
    assert_eq!(done(again), authorization);
    let left = scene
        .test
        .query("select status || ' ' || refunded_minor from simulated_payment_intents")
        .await;
    assert_eq!(left, ["refunded 12990"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authorization_is_let_go_or_lapses() {
    let scene = Scene::of("ada@example.com").await;
    let (_, voided) = scene.authorized("1").await;
    let processor = &scene.processor;
    for key in ["2", "3"] {
        assert_eq!(
            done(processor.void_deposit(&scene.call(key), &voided).await),
            Voided::Voided
        );
    }
    assert_eq!(
        refused(processor.capture_deposit(&scene.call("4"), &voided).await),
        "payment_intent_unexpected_state"
    );
    assert_eq!(
        refused(
            processor
                .refund_deposit(&scene.call("5"), &voided, None)
                .await
        ),
        "payment_intent_unexpected_state"
    );
    let (_, lapsed) = scene.authorized("6").await;
    let late = scene.call_at("7", scene.now + TimeDelta::days(7));
    assert_eq!(
        refused(processor.capture_deposit(&late, &lapsed).await),
        "charge_expired_for_capture"
    );
    let (_, in_time) = scene.authorized("8").await;
    let in_time_call = scene.call_at(
        "9",
        scene.now + TimeDelta::days(7) - TimeDelta::milliseconds(1),
    );
    done(processor.capture_deposit(&in_time_call, &in_time).await);
    for answer in [
        refused(processor.capture_deposit(&scene.call("10"), "pi_x").await),
        refused(processor.void_deposit(&scene.call("11"), "pi_x").await),
        refused(
            processor
                .refund_deposit(&scene.call("12"), "pi_x", None)
                .await,
        ),
        refused(
            processor
                .cancel_subscription(&scene.call("13"), "sub_x")
                .await,
        ),
    ] {
        assert_eq!(answer, "resource_missing");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_one_work() {
    let scene = Scene::of("ada@example.com").await;
    let checkout = scene.make.id();
    let request = scene.deposit(checkout);
    let calls = (0..16).map(|_| {
        let (processor, call, request) =
            (scene.processor.clone(), scene.call("same"), request.clone());
        tokio::spawn(async move { done(processor.authorize_deposit(&call, &request).await) })
    });
    let mut ids = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        ids.push(call.await.unwrap().payment_intent_id);
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    let kept = "select count(*) from simulated_payment_intents";
    assert_eq!(scene.test.query(kept).await, ["1"]);
    let other = DepositRequest {
        amount: usd(1),
        ..request
    };
    let answer = scene
        .processor
        .authorize_deposit(&scene.call("same"), &other)
        .await;
    assert!(matches!(answer, Err(Doubt::Failed(_))), "{answer:?}");
    // Another operation of the same key is other work.
    done(
        scene
            .processor
            .capture_deposit(&scene.call("same"), &ids[0])
            .await,
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deposits_and_captures_fail_as_the_address_asks() {
    let scene = Scene::of("ada+depositfail+capturefail@example.com").await;
    let checkout = scene.make.id();
    let request = scene.deposit(checkout);
    let processor = &scene.processor;
    let authorize = async |key: &str| {
        processor
            .authorize_deposit(&scene.call(key), &request)
            .await
    };
    assert_eq!(refused(authorize("1").await), "card_declined");
    // The same try again is the same refusal; the next try is another.
    assert_eq!(refused(authorize("1").await), "card_declined");
    let id = done(authorize("2").await).payment_intent_id;
    let capture = async |key: &str| processor.capture_deposit(&scene.call(key), &id).await;
    assert_eq!(refused(capture("3").await), "card_declined");
    assert_eq!(refused(capture("3").await), "card_declined");
    done(capture("4").await);
    // Each checkout fails once.
    let second = scene.deposit(scene.make.id());
    let answer = processor.authorize_deposit(&scene.call("5"), &second).await;
    assert_eq!(refused(answer), "card_declined");

    let never = Scene::of("ada+depositdecline@example.com").await;
    let request = never.deposit(never.make.id());
    for key in ["1", "2", "3"] {
        let answer = never
            .processor
            .authorize_deposit(&never.call(key), &request)
            .await;
        assert_eq!(refused(answer), "card_declined");
    }
    let never = Scene::of("ada+capturedecline@example.com").await;
    let (_, id) = never.authorized("1").await;
    for key in ["2", "3", "4"] {
        let answer = never.processor.capture_deposit(&never.call(key), &id).await;
        assert_eq!(refused(answer), "card_declined");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn methods_and_customers_stay_the_same() {
    let scene = Scene::of("ada@example.com").await;
    let method = async |key: &str, id: Option<&str>| {
        scene
            .processor
            .payment_method(&scene.call(key), &scene.payer(), id.map(str::to_owned))
            .await
    };
    let first = done(method("1", None).await);
    assert_eq!(done(method("2", None).await), first);
    assert_eq!(done(method("3", Some(&first.id)).await), first);
    let amex = done(method("1", Some("pm_card_amex")).await);
    assert_eq!(amex.brand.as_deref(), Some("amex"));
    assert_ne!(amex.id, first.id);
    assert_eq!(refused(method("4", Some("pm_x")).await), "resource_missing");
    // Nobody pays with somebody else's.
    let stranger = ProcessorCustomer {
        id: scene.make.id(),
        ..scene.payer()
    };
    let answer = scene
        .processor
        .payment_method(&scene.call("5"), &stranger, Some(first.id.clone()))
        .await;
    assert_eq!(refused(answer), "resource_missing");

    let push = async |customer: &ProcessorCustomer| {
        done(
            scene
                .processor
                .push_customer(&scene.call("6"), customer)
                .await,
        )
    };
    let id = push(&scene.payer()).await;
    assert!(has_form(&id, "cus_"));
    let renamed = ProcessorCustomer {
        name: Some("Ada King".to_owned()),
        ..scene.payer()
    };
    assert_eq!(push(&renamed).await, id);
    assert_ne!(push(&stranger).await, id);
    let names = scene
        .test
        .query(&format!(
            "select name from simulated_customers where id = '{id}'"
        ))
        .await;
    assert_eq!(names, ["Ada King"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_catalog_is_what_came_last() {
    let scene = Scene::of("ada@example.com").await;
    let mut product = ProcessorProduct {
        id: "prod_1".to_owned(),
        name: "Road bike".to_owned(),
        description: "Carbon".to_owned(),
        active: true,
        organization: scene.make.id(),
    };
    let call = scene.call("1");
    done(scene.processor.push_product(&call, &product).await);
    product.name = "Gravel bike".to_owned();
    done(scene.processor.push_product(&call, &product).await);
    product.id = "pvar_1".to_owned();
    let variant = ProcessorVariant {
        product,
        monthly: vec![(TermMonths::new(12).unwrap(), usd(4_098))],
    };
    done(scene.processor.push_variant(&call, &variant).await);
    let kept = "select id || ' ' || name from simulated_products order by id";
    assert_eq!(
        scene.test.query(kept).await,
        ["prod_1 Gravel bike", "pvar_1 Gravel bike"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_checkout_has_one_subscription_ever() {
    let scene = Scene::of("ada@example.com").await;
    let checkout: CheckoutPubId = scene.make.id();
    let request = scene.subscription(checkout, 12);
    let calls = (0..16).map(|index| {
        let (processor, request) = (scene.processor.clone(), request.clone());
        let call = scene.call(&format!("key {index}"));
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
    assert!(has_form(
        subscription.first_invoice_id.as_deref().unwrap(),
        "in_"
    ));
    assert_eq!(subscription.start, scene.now.date_naive());
    assert!(subscription.first_payment_paid && !subscription.ended);
    let processor = scene.restarted();
    let of = async || {
        processor
            .subscriptions_of(Mode::Sandbox, checkout)
            .await
            .unwrap()
    };
    assert_eq!(of().await, started);
    for key in ["c1", "c2"] {
        done(
            processor
                .cancel_subscription(&scene.call(key), &subscription.id)
                .await,
        );
    }
    // Asked for again after its end: there is still the one.
    let again = done(
        processor
            .create_subscription(&scene.call("late"), &request)
            .await,
    );
    assert!(again.ended);
    assert_eq!(of().await, std::slice::from_ref(&again));
    assert_eq!(again.id, subscription.id);
    let foreign = processor
        .subscriptions_of(Mode::Sandbox, scene.make.id())
        .await;
    assert_eq!(foreign, Ok(Vec::new()));
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
    assert_eq!((invoice.checkout, invoice.amount), (checkout, usd(4_098)));
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
    assert!(missed.iter().all(|invoice| invoice.paid));
    assert_eq!(told(&scene, noon(2040, 1, 1)).await, []);
    let of = scene
        .processor
        .subscriptions_of(Mode::Sandbox, checkout)
        .await
        .unwrap();
    assert!(of[0].ended);
    let event = missed[0].event();
    assert_eq!(event.mode, Mode::Sandbox);
    assert_eq!(
        event.fact,
        ProcessorFact::InvoicePaid {
            subscription_id: subscription.id,
            invoice_id: missed[0].id.clone(),
            amount: usd(4_098),
            first: false,
        }
    );
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
    assert!(subscription.first_payment_paid);
    let first = subscription.first_invoice_id.unwrap();
    let why = async |invoice: &str| {
        scene
            .processor
            .payment_failure(Mode::Sandbox, invoice)
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
        assert!(matches!(
            invoice.event().fact,
            ProcessorFact::InvoiceFailed { attempts: 1, .. }
        ));
    }
    // A subscription that was ended is billed no more.
    done(
        scene
            .processor
            .cancel_subscription(&scene.call("2"), &subscription.id)
            .await,
    );
    assert_eq!(told(&scene, noon(2028, 1, 1)).await, []);
}

fn a_quote() -> Quote {
    let card = RateCard {
        term: TermMonths::new(12).unwrap(),
        rate: Rate::MoneyFactor("0.0025".parse().unwrap()),
        residual: "60".parse().unwrap(),
        deposit: "10".parse().unwrap(),
        insurance: "6".parse().unwrap(),
    };
    quote(usd(129_900), Percentage::ZERO, &card).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn screening_goes_as_the_address_asks() {
    for (email, identity, credit) in [
        ("ada@example.com", IdentityResult::Verified, true),
        (
            "ada+identityfail@example.com",
            IdentityResult::Refused,
            true,
        ),
        (
            "ada+creditfail@example.com",
            IdentityResult::Verified,
            false,
        ),
    ] {
        let scene = Scene::of(email).await;
        let checkout = scene.make.id();
        let start = async |key: &str| {
            done(
                scene
                    .identity
                    .start(&scene.call(key), checkout, &scene.person())
                    .await,
            )
        };
        let session = start("1").await;
        assert!(has_form(&session.id, "vs_"));
        assert_eq!(start("1").await, session);
        assert_ne!(start("2").await, session);
        let result = scene.identity.result(Mode::Sandbox, &session.id).await;
        assert_eq!(result, Ok(identity), "{email}");
        // The price may have moved between two tries of the same check.
        for quote in [None, Some(a_quote())] {
            let answer = scene
                .credit
                .check(&scene.call("3"), &scene.person(), quote)
                .await
                .unwrap();
            assert_eq!(matches!(answer, Answer::Done(())), credit, "{email}");
        }
    }
    let scene = Scene::of("ada@example.com").await;
    let unknown = scene.identity.result(Mode::Sandbox, "vs_x").await;
    assert_eq!(unknown, Ok(IdentityResult::Abandoned));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_are_prepared_once() {
    let scene = Scene::of("ada@example.com").await;
    let document = LeaseDocument {
        checkout: scene.make.id(),
        person: scene.person(),
        quote: a_quote(),
    };
    let prepare = async |key: &str| done(scene.signer.prepare(&scene.call(key), &document).await);
    let id = prepare("1").await;
    assert!(has_form(&id, "doc_"));
    assert_eq!(prepare("1").await, id);
    assert_ne!(prepare("2").await, id);
}

/// Nothing simulated ever opens a real lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_mode_is_refused() {
    let scene = Scene::of("ada@example.com").await;
    let live = Call {
        mode: Mode::Live,
        ..scene.call("1")
    };
    let refused = |doubt: Option<Doubt>| matches!(doubt, Some(Doubt::Unconfigured(_)));
    let processor = &scene.processor;
    let checkout = scene.make.id();
    let answers = [
        refused(
            processor
                .authorize_deposit(&live, &scene.deposit(checkout))
                .await
                .err(),
        ),
        refused(processor.capture_deposit(&live, "pi_1").await.err()),
        refused(
            processor
                .create_subscription(&live, &scene.subscription(checkout, 12))
                .await
                .err(),
        ),
        refused(
            processor
                .payment_method(&live, &scene.payer(), None)
                .await
                .err(),
        ),
        refused(processor.push_customer(&live, &scene.payer()).await.err()),
        refused(processor.subscriptions_of(Mode::Live, checkout).await.err()),
        refused(
            scene
                .identity
                .start(&live, checkout, &scene.person())
                .await
                .err(),
        ),
        refused(scene.identity.result(Mode::Live, "vs_1").await.err()),
        refused(scene.credit.check(&live, &scene.person(), None).await.err()),
    ];
    assert_eq!(answers, [true; 9]);
}
