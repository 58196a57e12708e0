//! The simulated providers: outcomes by e-mail, keys, and months that pass.

mod deposits;
mod subscriptions;

use std::sync::Arc;

use chrono::TimeDelta;
use lessor_adapters::ambient::SystemEntropy;
use lessor_adapters::simulated::{SimulatedCredit, SimulatedIdentity, SimulatedProcessor};
use lessor_adapters::testing::TestDatabase;
use lessor_domain::access::Mode;
use lessor_domain::checkout::Refusal;
use lessor_domain::ids::{CheckoutPubId, CustomerPubId, OrganizationId, OrganizationPubId};
use lessor_domain::ledger::HoldState;
use lessor_domain::money::{Currency, Money};
use lessor_domain::percentage::{Percentage, TermMonths};
use lessor_domain::ports::{
    Attempt, CreditChecker, Database, DepositRequest, Doubt, IdentityResult, IdentityVerifier,
    PaymentProcessor, Person, ProcessorCustomer, ProcessorProduct, ProcessorVariant, Reach, Scope,
    SubscriptionRequest, Verdict,
};
use lessor_domain::pricing::{Quote, Rate, RateCard, quote};
use lessor_domain::quantity::Quantity;
use lessor_domain::testing::Fixtures;
use lessor_domain::time::Timestamp;

fn usd(minor: i64) -> Money {
    Money::from_minor(minor, Currency::USD)
}

/// A new organization.
async fn found(test: &TestDatabase, make: &Fixtures) -> OrganizationId {
    let mut uow = test.database().begin(Reach::Server).await.unwrap();
    let new = make.organization().new_record();
    let made = uow.organizations().insert(&new).await.unwrap();
    uow.commit().await.unwrap();
    made.id
}

/// Somebody with an e-mail address, in front of all four providers.
struct Scene {
    test: TestDatabase,
    make: Fixtures,
    organization: OrganizationId,
    processor: SimulatedProcessor,
    identity: SimulatedIdentity,
    credit: SimulatedCredit,
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
            organization: found(&test, &make).await,
            processor: SimulatedProcessor::new(database.clone(), entropy.clone()),
            identity: SimulatedIdentity::new(database.clone(), entropy.clone()),
            credit: SimulatedCredit::new(database.clone(), entropy.clone()),
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

    fn attempt(&self, key: &str) -> Attempt {
        self.call_at(key, self.now)
    }

    fn call_at(&self, key: &str, now: Timestamp) -> Attempt {
        Attempt {
            organization_id: self.organization,
            mode: Mode::Sandbox,
            idempotency_key: key.to_owned(),
            first_tried_at: self.now,
            now,
        }
    }

    fn scope(&self) -> Scope {
        Scope {
            organization_id: self.organization,
            mode: Mode::Sandbox,
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
            birth_date: None,
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

    fn subscription(&self, checkout: CheckoutPubId, payments: u16) -> SubscriptionRequest {
        SubscriptionRequest {
            checkout,
            organization: self.make.id::<OrganizationPubId>(),
            customer: self.payer(),
            payment_method: None,
            description: "Road bike".to_owned(),
            monthly: usd(4_098),
            quantity: Quantity::ONE,
            payments,
        }
    }

    /// An authorized deposit of a new checkout.
    async fn authorized(&self, key: &str) -> (CheckoutPubId, String) {
        let checkout = self.make.id();
        let request = self.deposit(checkout);
        let answer = self
            .processor
            .authorize_deposit(&self.attempt(key), &request)
            .await;
        (checkout, done(answer).payment_intent_id)
    }
}

fn done<T>(answer: Result<Verdict<T>, Doubt>) -> T {
    match answer.unwrap() {
        Verdict::Done(value) => value,
        Verdict::Refused(refusal) => panic!("refused: {refusal:?}"),
    }
}

fn refused<T>(answer: Result<Verdict<T>, Doubt>) -> String {
    match answer.unwrap() {
        Verdict::Done(_) => panic!("done"),
        Verdict::Refused(Refusal { code, .. }) => code,
    }
}

fn has_form(id: &str, prefix: &str) -> bool {
    id.strip_prefix(prefix).is_some_and(|rest| {
        rest.len() == 24 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn methods_and_customers_stay_the_same() {
    let scene = Scene::of("ada@example.com").await;
    let method = async |key: &str, id: Option<&str>| {
        scene
            .processor
            .payment_method(&scene.attempt(key), &scene.payer(), id.map(str::to_owned))
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
        .payment_method(&scene.attempt("5"), &stranger, Some(first.id.clone()))
        .await;
    assert_eq!(refused(answer), "resource_missing");

    let push = async |customer: &ProcessorCustomer| {
        done(
            scene
                .processor
                .push_customer(&scene.attempt("6"), customer)
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
    let attempt = scene.attempt("1");
    done(scene.processor.push_product(&attempt, &product).await);
    product.name = "Gravel bike".to_owned();
    done(scene.processor.push_product(&attempt, &product).await);
    product.id = "pvar_1".to_owned();
    let variant = ProcessorVariant {
        product,
        monthly: vec![(TermMonths::new(12).unwrap(), usd(4_098))],
    };
    done(scene.processor.push_variant(&attempt, &variant).await);
    let kept = "select id || ' ' || name from simulated_products order by id";
    assert_eq!(
        scene.test.query(kept).await,
        ["prod_1 Gravel bike", "pvar_1 Gravel bike"]
    );
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
                    .start(&scene.attempt(key), checkout, &scene.person(), None)
                    .await,
            )
        };
        let session = start("1").await;
        assert!(has_form(&session.id, "vs_"));
        assert_eq!(start("1").await, session);
        assert_ne!(start("2").await, session);
        let result = scene.identity.result(scene.scope(), &session.id).await;
        assert_eq!(result, Ok(identity), "{email}");
        // The price may have moved between two tries of the same check.
        for quote in [None, Some(a_quote())] {
            let answer = scene
                .credit
                .check(&scene.attempt("3"), &scene.person(), quote)
                .await
                .unwrap();
            assert_eq!(matches!(answer, Verdict::Done(())), credit, "{email}");
        }
    }
    let scene = Scene::of("ada@example.com").await;
    let unknown = scene.identity.result(scene.scope(), "vs_x").await;
    assert_eq!(unknown, Ok(IdentityResult::Abandoned));
}

/// Of another organization the same key is other work, and the same customer somebody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn organizations_share_nothing() {
    let scene = Scene::of("ada@example.com").await;
    let processor = &scene.processor;
    let another = found(&scene.test, &scene.make).await;
    let theirs = |key: &str| Attempt {
        organization_id: another,
        ..scene.attempt(key)
    };
    let scope = Scope::from(&theirs("1"));

    let (checkout, held) = scene.authorized("1").await;
    assert_eq!(processor.deposit(scope, &held).await, Ok(None));
    let all = processor.deposits_of(scope, &scene.payer(), checkout).await;
    assert_eq!(all, Ok(Vec::new()));
    for answer in [
        refused(processor.capture_deposit(&theirs("2"), &held).await),
        refused(processor.void_deposit(&theirs("3"), &held).await),
        refused(processor.refund(&theirs("4"), &held, usd(1)).await),
    ] {
        assert_eq!(answer, "resource_missing");
    }
    let session = done(
        scene
            .identity
            .start(&scene.attempt("5"), checkout, &scene.person(), None)
            .await,
    );
    let result = scene.identity.result(scope, &session.id).await;
    assert_eq!(result, Ok(IdentityResult::Abandoned));

    let request = DepositRequest {
        amount: usd(1),
        ..scene.deposit(checkout)
    };
    let other = done(processor.authorize_deposit(&theirs("1"), &request).await);
    assert_ne!(other.payment_intent_id, held);
    let known = processor.deposit(scene.scope(), &held).await;
    let known = known.unwrap().unwrap();
    assert_eq!(known.amount, usd(12_990));
    assert_ne!(known.method, other.method);
    let product = ProcessorProduct {
        id: "prod_1".to_owned(),
        name: "Road bike".to_owned(),
        description: "Carbon".to_owned(),
        active: true,
        organization: scene.make.id(),
    };
    let mut customers = Vec::new();
    for call in [scene.attempt("6"), theirs("6")] {
        done(processor.push_product(&call, &product).await);
        customers.push(done(processor.push_customer(&call, &scene.payer()).await));
    }
    assert_ne!(customers[0], customers[1]);
    let kept = "select count(*) from simulated_products where id = 'prod_1'";
    assert_eq!(scene.test.query(kept).await, ["2"]);

    // Time passes for both.
    let over = scene.now + TimeDelta::days(7);
    processor.due_invoices(over).await.unwrap();
    for (scope, id) in [(scene.scope(), &held), (scope, &other.payment_intent_id)] {
        let known = processor.deposit(scope, id).await.unwrap();
        assert_eq!(known.unwrap().state, HoldState::Released);
    }
}

/// Nothing simulated ever opens a real lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_mode_is_refused() {
    let scene = Scene::of("ada@example.com").await;
    let live = Attempt {
        mode: Mode::Live,
        ..scene.attempt("1")
    };
    let scope = Scope::from(&live);
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
        refused(
            processor
                .subscriptions_of(scope, &scene.payer(), checkout)
                .await
                .err(),
        ),
        refused(processor.subscription(scope, "sub_1").await.err()),
        refused(processor.deposit(scope, "pi_1").await.err()),
        refused(
            processor
                .deposits_of(scope, &scene.payer(), checkout)
                .await
                .err(),
        ),
        refused(processor.refund(&live, "pi_1", usd(1)).await.err()),
        refused(processor.pay_invoices(&live, "sub_1", "pm_1").await.err()),
        refused(processor.set_end(&live, "sub_1", scene.now).await.err()),
        refused(
            scene
                .identity
                .start(&live, checkout, &scene.person(), None)
                .await
                .err(),
        ),
        refused(scene.identity.result(scope, "vs_1").await.err()),
        refused(scene.credit.check(&live, &scene.person(), None).await.err()),
    ];
    assert_eq!(answers, [true; 15]);
}
