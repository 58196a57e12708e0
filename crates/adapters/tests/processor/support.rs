//! A client, the double that it speaks to, and everything that it can be asked for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use lessor_adapters::processor::{ApiSecret, HttpProcessor, Pacing, ProcessorSettings, Timeouts};
use lessor_domain::access::Mode;
use lessor_domain::ids::{CheckoutPubId, CustomerPubId, OrganizationId, OrganizationPubId};
use lessor_domain::money::Money;
use lessor_domain::percentage::TermMonths;
use lessor_domain::ports::{
    Attempt, DepositRequest, Doubt, IdentityVerifier as _, PaymentProcessor as _, Person,
    ProcessorCustomer, ProcessorProduct, ProcessorVariant, Scope, SessionItem, SessionRequest,
    SessionWanted, SubscriptionRequest, Verdict,
};
use lessor_domain::quantity::Quantity;
use lessor_domain::time::Timestamp;
use lessor_processor_double::{Decline, Double, Recorded};
use serde_json::Value;
use uuid::Uuid;

/// The noon of a day that not every month has.
pub(crate) const NOON: &str = "2026-01-31T12:00:00Z";
pub(crate) const VARIANT: &str = "var_bike";
/// An end of a subscription that begins at noon, half a year before the one that it has.
const EARLIER: &str = "2026-07-31T12:00:00Z";

pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn usd(minor: i64) -> Money {
    Money::from_minor(minor, "USD".parse().unwrap())
}

pub(crate) fn months(number: u16) -> TermMonths {
    TermMonths::new(number).unwrap()
}

pub(crate) fn checkout(number: u128) -> CheckoutPubId {
    CheckoutPubId::from_uuid(Uuid::from_u128(number))
}

pub(crate) fn organization() -> OrganizationPubId {
    OrganizationPubId::from_uuid(Uuid::from_u128(5))
}

/// For whom everything is done, in sandbox mode.
pub(crate) fn scope() -> Scope {
    Scope {
        organization_id: OrganizationId::new(5).unwrap(),
        mode: Mode::Sandbox,
    }
}

/// A timer that never waits, notes what it was to wait, and has something happen.
pub(crate) struct ManualPacing {
    pauses: Mutex<Vec<Duration>>,
    fraction: f64,
    meanwhile: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl ManualPacing {
    pub(crate) fn of(fraction: f64) -> Arc<Self> {
        Arc::new(Self {
            pauses: Mutex::default(),
            fraction,
            meanwhile: Mutex::default(),
        })
    }

    pub(crate) fn pauses(&self) -> Vec<Duration> {
        self.pauses.lock().unwrap().clone()
    }

    /// What happens in every pause.
    pub(crate) fn meanwhile(&self, happens: impl Fn() + Send + 'static) {
        *self.meanwhile.lock().unwrap() = Some(Box::new(happens));
    }
}

#[async_trait]
impl Pacing for ManualPacing {
    async fn pause(&self, time: Duration) {
        self.pauses.lock().unwrap().push(time);
        if let Some(happens) = self.meanwhile.lock().unwrap().as_ref() {
            happens();
        }
        tokio::task::yield_now().await;
    }

    fn fraction(&self) -> f64 {
        self.fraction
    }
}

/// A client and its double.
pub(crate) struct Rig {
    pub(crate) double: Arc<Double>,
    pub(crate) processor: HttpProcessor,
    pub(crate) pacing: Arc<ManualPacing>,
    pub(crate) customer: ProcessorCustomer,
    /// The customer's payment method, when there is to be one.
    pub(crate) method: Option<String>,
    /// A deposit that is held, or captured.
    pub(crate) intent: String,
    /// A subscription that runs.
    pub(crate) subscription: String,
    /// A session on the processor's pages that is open.
    pub(crate) page: String,
}

pub(crate) fn settings(url: &str) -> ProcessorSettings {
    ProcessorSettings {
        base_url: url.to_owned(),
        live_key: ApiSecret::new("sk_live_1"),
        sandbox_key: ApiSecret::new("sk_test_1"),
        ..ProcessorSettings::default()
    }
}

pub(crate) fn customer(number: u128) -> ProcessorCustomer {
    ProcessorCustomer {
        id: CustomerPubId::from_uuid(Uuid::from_u128(number)),
        email: format!("lessee+{number}@example.com"),
        name: Some("Ada Læssøe & Sons".to_owned()),
        phone: Some("+14155550100".to_owned()),
        processor_id: None,
    }
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// One that does not wait long for an answer.
    pub(crate) fn impatient() -> Self {
        Self::with(|settings| {
            settings.timeouts = Timeouts {
                total: Duration::from_millis(700),
                ..Timeouts::default()
            };
        })
    }

    pub(crate) fn with(change: impl FnOnce(&mut ProcessorSettings)) -> Self {
        let double = Arc::new(Double::start_at(time(NOON)).unwrap());
        let pacing = ManualPacing::of(1.0);
        let mut settings = settings(&double.url());
        change(&mut settings);
        let timer = Arc::clone(&pacing) as Arc<dyn Pacing>;
        Self {
            processor: HttpProcessor::paced(&settings, timer).unwrap(),
            double,
            pacing,
            customer: customer(9),
            method: None,
            intent: String::new(),
            subscription: String::new(),
            page: String::new(),
        }
    }

    /// A first try of some work, now.
    pub(crate) fn attempt(&self, key: &str) -> Attempt {
        Attempt {
            organization_id: scope().organization_id,
            mode: Mode::Sandbox,
            idempotency_key: key.to_owned(),
            first_tried_at: self.double.now(),
            now: self.double.now(),
        }
    }

    /// A later try of the same work.
    pub(crate) fn later(&self, attempt: &Attempt) -> Attempt {
        Attempt {
            now: self.double.now(),
            ..attempt.clone()
        }
    }

    pub(crate) async fn with_customer(mut self) -> Self {
        let made = self
            .processor
            .push_customer(&self.attempt("prepare-customer"), &self.customer)
            .await;
        self.customer.processor_id = Some(done(made));
        self
    }

    pub(crate) async fn with_method(self) -> Self {
        let mut rig = self.with_customer().await;
        let attempt = rig.attempt("prepare-method");
        let name = Some("pm_card_visa".to_owned());
        let made = rig
            .processor
            .payment_method(&attempt, &rig.customer, name)
            .await;
        rig.method = Some(done(made).id);
        rig
    }

    pub(crate) async fn with_hold(self) -> Self {
        let mut rig = self.with_customer().await;
        let attempt = rig.attempt("prepare-hold");
        let request = rig.deposit("pm_card_visa", false);
        let held = rig.processor.authorize_deposit(&attempt, &request).await;
        rig.intent = done(held).payment_intent_id;
        rig
    }

    pub(crate) async fn with_subscription(self) -> Self {
        let mut rig = self.with_method().await;
        let (attempt, request) = (rig.attempt("prepare-sub"), rig.subscription_of(1, 12));
        let made = rig.processor.create_subscription(&attempt, &request).await;
        rig.subscription = done(made).id;
        rig
    }

    pub(crate) fn deposit(&self, method: &str, off_session: bool) -> DepositRequest {
        DepositRequest {
            checkout: checkout(1),
            organization: organization(),
            customer: self.customer.clone(),
            amount: usd(12_345),
            payment_method: Some(method.to_owned()),
            off_session,
        }
    }

    /// A session on the processor's pages, for the deposit or for a card.
    pub(crate) fn session(&self, pays: bool) -> SessionRequest {
        let item = |name: &str, amount, quantity| SessionItem {
            name: name.to_owned(),
            amount,
            quantity,
        };
        let wanted = if pays {
            SessionWanted::Deposit {
                amount: usd(12_345),
                items: vec![
                    item("Refundable deposit: Road bike", usd(10_001), 1),
                    item("Helmet", usd(1_172), 2),
                ],
            }
        } else {
            SessionWanted::Method {
                currency: usd(0).currency(),
            }
        };
        SessionRequest {
            checkout: checkout(1),
            organization: organization(),
            customer: self.customer.clone(),
            wanted,
            ends_at: if self.double.now() < time(NOON) + TimeDelta::hours(22) {
                // The same work says the same, whenever it is tried.
                time(NOON) + TimeDelta::hours(23)
            } else {
                self.double.now() + TimeDelta::hours(2)
            },
            done_url: "https://lessor.test/return".to_owned(),
            left_url: "https://lessor.test/return?left=1".to_owned(),
        }
    }

    pub(crate) fn subscription_of(&self, number: u128, payments: u16) -> SubscriptionRequest {
        SubscriptionRequest {
            checkout: checkout(number),
            organization: organization(),
            customer: self.customer.clone(),
            payment_method: self.method.clone(),
            description: "Road bike, 54 cm".to_owned(),
            monthly: usd(4_999),
            quantity: Quantity::ONE,
            payments,
        }
    }

    /// The requests that bear a key, those of one key next to each other.
    pub(crate) fn keyed(&self) -> Vec<Recorded> {
        let mut keyed: Vec<_> = self.double.journal();
        keyed.retain(|entry| entry.idempotency_key.is_some());
        keyed.sort_by_key(|entry| entry.idempotency_key.clone());
        keyed
    }

    /// Each key was used for one request, byte for byte.
    pub(crate) fn assert_same_bytes(&self, what: &str) {
        for pair in self.keyed().windows(2) {
            if pair[0].idempotency_key == pair[1].idempotency_key {
                // A page that closes within a day is another one a day later, when keys are forgotten.
                let is_end = |pair: &&str| pair.starts_with("expires_at=");
                let said = |raw: &str| -> Vec<String> {
                    let pairs = raw.split('&').filter(|pair| !is_end(pair));
                    pairs.map(str::to_owned).collect()
                };
                let of = |entry: &Recorded| (entry.path.clone(), said(&entry.raw));
                assert_eq!(of(&pair[0]), of(&pair[1]), "{what}");
            }
        }
    }
}

pub(crate) fn product() -> ProcessorProduct {
    ProcessorProduct {
        id: VARIANT.to_owned(),
        name: "Road bike, 54 cm".to_owned(),
        description: "Carbon".to_owned(),
        active: true,
        organization: organization(),
    }
}

pub(crate) fn variant() -> ProcessorVariant {
    ProcessorVariant {
        product: product(),
        monthly: vec![(months(12), usd(4_999)), (months(24), usd(2_999))],
    }
}

/// What is done.
#[track_caller]
pub(crate) fn done<T: std::fmt::Debug>(result: Result<Verdict<T>, Doubt>) -> T {
    match result {
        Ok(Verdict::Done(value)) => value,
        other => panic!("not done: {other:?}"),
    }
}

/// The code of a refusal.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<Verdict<T>, Doubt>) -> String {
    match result {
        Ok(Verdict::Refused(refusal)) => refusal.code,
        other => panic!("not refused: {other:?}"),
    }
}

/// What the client is asked for that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    PushProduct,
    PushVariant,
    PushCustomer,
    UpdateCustomer,
    Authorize,
    AuthorizeForNewCustomer,
    Renew,
    Capture,
    Void,
    Refund,
    RefundPart,
    SetUpMethod,
    Subscribe,
    SetEnd,
    PayInvoices,
    EndSubscription,
    StartIdentity,
    OpenDeposit,
    OpenSetup,
    CloseSession,
}

impl Op {
    pub(crate) const ALL: [Self; 20] = [
        Self::PushProduct,
        Self::PushVariant,
        Self::PushCustomer,
        Self::UpdateCustomer,
        Self::Authorize,
        Self::AuthorizeForNewCustomer,
        Self::Renew,
        Self::Capture,
        Self::Void,
        Self::Refund,
        Self::RefundPart,
        Self::SetUpMethod,
        Self::Subscribe,
        Self::SetEnd,
        Self::PayInvoices,
        Self::EndSubscription,
        Self::StartIdentity,
        Self::OpenDeposit,
        Self::OpenSetup,
        Self::CloseSession,
    ];

    /// Brings about what the work needs, and forgets how.
    pub(crate) async fn prepare(self, rig: Rig) -> Rig {
        let rig = match self {
            Self::PushProduct
            | Self::PushVariant
            | Self::PushCustomer
            | Self::AuthorizeForNewCustomer => rig,
            Self::UpdateCustomer
            | Self::Authorize
            | Self::SetUpMethod
            | Self::StartIdentity
            | Self::OpenDeposit
            | Self::OpenSetup => rig.with_customer().await,
            Self::CloseSession => {
                let mut rig = rig.with_customer().await;
                let (attempt, request) = (rig.attempt("prepare-page"), rig.session(true));
                let opened = rig.processor.open_session(&attempt, &request).await;
                rig.page = done(opened).id;
                rig
            }
            Self::Renew | Self::Subscribe => rig.with_method().await,
            Self::Capture | Self::Void => rig.with_hold().await,
            Self::Refund | Self::RefundPart => {
                let rig = rig.with_hold().await;
                let attempt = rig.attempt("prepare-capture");
                done(rig.processor.capture_deposit(&attempt, &rig.intent).await);
                rig
            }
            Self::EndSubscription | Self::SetEnd => rig.with_subscription().await,
            Self::PayInvoices => {
                // The second payment fails, and the customer names another card.
                let mut rig = rig.with_subscription().await;
                let card = rig.method.clone().unwrap();
                rig.double.decline(&card, Some(Decline::GENERIC)).unwrap();
                rig.double.advance(TimeDelta::days(29));
                let attempt = rig.attempt("prepare-card");
                let name = Some("pm_card_mastercard".to_owned());
                let made = rig
                    .processor
                    .payment_method(&attempt, &rig.customer, name)
                    .await;
                rig.method = Some(done(made).id);
                rig
            }
        };
        rig.double.clear_journal();
        rig
    }

    /// Asks for it; answers what came of it, in a form that can be compared.
    pub(crate) async fn run(self, rig: &Rig, attempt: &Attempt) -> Result<Verdict<String>, Doubt> {
        let processor = &rig.processor;
        fn seen<T: std::fmt::Debug>(answer: Verdict<T>) -> Verdict<String> {
            match answer {
                Verdict::Done(value) => Verdict::Done(format!("{value:?}")),
                Verdict::Refused(refusal) => Verdict::Refused(refusal),
            }
        }
        Ok(match self {
            Self::PushProduct => seen(processor.push_product(attempt, &product()).await?),
            Self::PushVariant => seen(processor.push_variant(attempt, &variant()).await?),
            Self::PushCustomer | Self::UpdateCustomer => {
                seen(processor.push_customer(attempt, &rig.customer).await?)
            }
            Self::Authorize | Self::AuthorizeForNewCustomer => {
                let request = rig.deposit("pm_card_visa", false);
                seen(processor.authorize_deposit(attempt, &request).await?)
            }
            Self::Renew => {
                let request = rig.deposit(rig.method.as_deref().unwrap(), true);
                seen(processor.authorize_deposit(attempt, &request).await?)
            }
            // When it was captured is told in different ways, to the second.
            Self::Capture => seen(processor.capture_deposit(attempt, &rig.intent).await?),
            Self::Void => seen(processor.void_deposit(attempt, &rig.intent).await?),
            Self::Refund => seen(processor.refund(attempt, &rig.intent, usd(12_345)).await?),
            Self::RefundPart => seen(processor.refund(attempt, &rig.intent, usd(2_345)).await?),
            Self::SetUpMethod => {
                let name = Some("pm_card_mastercard".to_owned());
                seen(
                    processor
                        .payment_method(attempt, &rig.customer, name)
                        .await?,
                )
            }
            Self::Subscribe => {
                let request = rig.subscription_of(1, 12);
                seen(processor.create_subscription(attempt, &request).await?)
            }
            Self::SetEnd => {
                let id = &rig.subscription;
                seen(processor.set_end(attempt, id, time(EARLIER)).await?)
            }
            Self::PayInvoices => {
                let (id, card) = (&rig.subscription, rig.method.as_deref().unwrap());
                seen(processor.pay_invoices(attempt, id, card).await?)
            }
            Self::OpenDeposit => seen(processor.open_session(attempt, &rig.session(true)).await?),
            Self::OpenSetup => seen(processor.open_session(attempt, &rig.session(false)).await?),
            Self::CloseSession => seen(processor.expire_session(attempt, &rig.page).await?),
            Self::EndSubscription => {
                let id = &rig.subscription;
                seen(processor.cancel_subscription(attempt, id).await?)
            }
            Self::StartIdentity => {
                let person = Person {
                    id: rig.customer.id,
                    email: rig.customer.email.clone(),
                    first_name: Some("Ada".to_owned()),
                    last_name: None,
                    birth_date: None,
                    address: None,
                };
                let back = Some("https://lessor.test/return".to_owned());
                seen(processor.start(attempt, checkout(1), &person, back).await?)
            }
        })
    }

    /// How often it happened at the processor, in all that it consists of.
    pub(crate) fn effects(self, rig: &Rig) -> Vec<usize> {
        let objects = |kind: &str| rig.double.objects(kind).len();
        let events = |kind: &str| {
            let events = rig.double.events();
            events.iter().filter(|event| event.kind == kind).count()
        };
        match self {
            Self::PushProduct => vec![objects("product")],
            Self::PushVariant => vec![objects("product"), objects("price")],
            Self::PushCustomer | Self::UpdateCustomer => vec![objects("customer")],
            Self::Authorize | Self::AuthorizeForNewCustomer | Self::Renew => vec![
                objects("customer"),
                objects("payment_intent"),
                rig.double
                    .held_by("lessor_checkout")
                    .values()
                    .flatten()
                    .count(),
            ],
            Self::Capture => vec![objects("balance_transaction")],
            Self::Void => vec![events("payment_intent.canceled")],
            Self::Refund | Self::RefundPart => vec![objects("refund")],
            // The test name makes a card; that it is the customer's is the effect.
            Self::SetUpMethod => vec![objects("setup_intent"), events("payment_method.attached")],
            Self::Subscribe => {
                let all = rig.double.objects("subscription");
                let ending = all.iter().filter(|known| known["cancel_at"].is_i64());
                vec![all.len(), ending.count(), objects("product")]
            }
            Self::SetEnd => {
                let known = rig.double.object(&rig.subscription).unwrap();
                vec![usize::from(known["cancel_at"] == time(EARLIER).timestamp())]
            }
            Self::PayInvoices => {
                let second = &rig.double.objects("invoice")[1];
                let known = rig.double.object(&rig.subscription).unwrap();
                let payments = rig.double.objects("invoice_payment");
                let payment = &payments[1]["payment"]["payment_intent"];
                let charges = rig.double.objects("charge");
                let taken = |charge: &&Value| {
                    charge["payment_intent"] == *payment && charge["captured"] == true
                };
                vec![
                    usize::from(second["status"] == "paid"),
                    charges.iter().filter(taken).count(),
                    usize::from(known["default_payment_method"].as_str() == rig.method.as_deref()),
                ]
            }
            Self::EndSubscription => vec![events("customer.subscription.deleted")],
            Self::StartIdentity => vec![objects("identity.verification_session")],
            Self::OpenDeposit | Self::OpenSetup => vec![objects("checkout.session")],
            Self::CloseSession => vec![events("checkout.session.expired")],
        }
    }

    /// What [`Self::effects`] answers once it was done once.
    pub(crate) fn once(self) -> Vec<usize> {
        match self {
            Self::PushVariant => vec![1, 2],
            Self::Authorize | Self::AuthorizeForNewCustomer | Self::Renew => vec![1, 1, 1],
            Self::SetUpMethod => vec![1, 1],
            Self::Subscribe | Self::PayInvoices => vec![1, 1, 1],
            _ => vec![1],
        }
    }
}

/// Runs the cases, some at a time, and says which one failed.
pub(crate) async fn each<C, F>(cases: Vec<C>, run: impl Fn(C) -> F)
where
    C: std::fmt::Debug,
    F: Future<Output = ()> + Send + 'static,
{
    use futures_util::StreamExt as _;

    let tasks = cases.into_iter().map(|case| {
        let name = format!("{case:?}");
        let task = run(case);
        async move { (name, tokio::spawn(task).await) }
    });
    let ended: Vec<_> = futures_util::stream::iter(tasks)
        .buffer_unordered(12)
        .collect()
        .await;
    let failed: Vec<_> = ended
        .into_iter()
        .filter_map(|(name, ended)| ended.is_err().then_some(name))
        .collect();
    assert!(failed.is_empty(), "{} failed: {failed:#?}", failed.len());
}
