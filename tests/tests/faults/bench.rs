//! The use cases in this process, on stores in memory and with a clock that is set, against the
//! processor's double: for what takes days, and for trying many ways on from one state.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use lessor_adapters::ambient::SystemEntropy;
use lessor_adapters::carriers::FormatDetector;
use lessor_adapters::dialing::PublishedPlans;
use lessor_adapters::processor::{
    ApiSecret, EventReader, HttpProcessor, Pacing, ProcessorSettings, RetryPolicy, Timeouts,
    parse_event_head,
};
use lessor_domain::access::{Access, KeyKind, Mode, Permissions};
use lessor_domain::agreement::Signature;
use lessor_domain::audit::Origin;
use lessor_domain::catalog::ProductStatus;
use lessor_domain::checkout::{Checkout, Effect, Lifecycle, Redirects};
use lessor_domain::ids::{ApiKeyPubId, CheckoutPubId, OrganizationId};
use lessor_domain::ports::{
    Clock as _, Database as _, IdGenerator as _, InboxMessage, InsertedCustomer, JobSubject,
    NewJob, ProviderSet, Reach, Timer, UnitOfWork,
};
use lessor_domain::services::checkouts::{CreateCheckout, CustomerInput, VariantRef};
use lessor_domain::services::journey::Journey;
use lessor_domain::services::organizations::{CreateOrganization, create_organization};
use lessor_domain::services::shipments::{self, Fulfillment};
use lessor_domain::services::{Context, Error, UseCase as _, billing, checkouts, variants};
use lessor_domain::shipments::{CarrierReport, TrackingStatus};
use lessor_domain::testing::{
    FakeProviders, FixedEntropy, Fixtures, ManualClock, MemoryDatabase, NeverTimer, SequenceIds,
};
use lessor_domain::time::Timestamp;
use lessor_domain::workers::Engine;
use lessor_domain::workers::housekeeping::{Housekeeper, Policy};
use lessor_domain::workers::inbox::Inbox;
use lessor_domain::workers::jobs::{JobResult, JobRunner};
use lessor_domain::workers::reconcile::Reconciler;
use lessor_domain::workers::sandbox::Sandbox;
use lessor_processor_double::{Account, Double, Event, Fault, Rule};

use crate::books;

/// A timer and a pacing that take no time.
pub(crate) struct AtOnce;

#[async_trait]
impl Timer for AtOnce {
    async fn sleep(&self, _: Duration) {}
}

#[async_trait]
impl Pacing for AtOnce {
    async fn pause(&self, _: Duration) {}

    fn fraction(&self) -> f64 {
        0.5
    }
}

/// An organization, its staff and a bicycle, as one process knows them.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) database: MemoryDatabase,
    pub(crate) double: Arc<Double>,
    clock: Arc<ManualClock>,
    ids: Arc<SequenceIds>,
    providers: ProviderSet,
    access: Access,
    origin: Origin,
    variant: VariantRef,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::with_patience(Duration::from_secs(30)).await
    }

    /// One whose client waits for an answer no longer than this.
    pub(crate) async fn with_patience(patience: Duration) -> Self {
        let database = MemoryDatabase::new();
        let clock = Arc::new(ManualClock::default());
        let double = Arc::new(Double::start_at(clock.now()).unwrap());
        let processor = HttpProcessor::paced(
            &ProcessorSettings {
                base_url: double.url(),
                sandbox_key: ApiSecret::new("sk_test_bench"),
                live_key: None,
                timeouts: Timeouts {
                    connect: Duration::from_secs(2),
                    total: patience,
                },
                retry: RetryPolicy {
                    attempts: 2,
                    ..RetryPolicy::default()
                },
            },
            Arc::new(AtOnce),
        )
        .unwrap();
        let mut providers = FakeProviders::default().set();
        providers.sandbox.processor = Arc::new(processor);
        providers.messages = Arc::new(EventReader);
        let ids = Arc::new(SequenceIds::seeded(1));
        let make = Fixtures::seeded(2);
        let mut uow = database.begin(Reach::Server).await.unwrap();
        let input = CreateOrganization {
            name: "Northwind Cycles".parse().unwrap(),
            currency: "USD".parse().unwrap(),
            discount: "0".parse().unwrap(),
            service_area: "US".parse().unwrap(),
            requires_product_review: false,
            oftake_partner_id: None,
        };
        let (now, operator) = (clock.now(), Origin::cli("operator"));
        let organization = create_organization(uow.as_mut(), ids.as_ref(), now, &operator, input)
            .await
            .unwrap();
        let staff = make
            .customer(&organization)
            .email("staff@example.com")
            .new_record();
        let (InsertedCustomer::New(staff) | InsertedCustomer::Existing(staff)) =
            uow.customers().insert(&staff).await.unwrap();
        let product = make.product(&organization).name("Road bike").build();
        let variant = make.variant(&product).price("1299.00").build();
        uow.products().insert(&product).await.unwrap();
        uow.variants().insert(&variant).await.unwrap();
        uow.commit().await.unwrap();
        let access = Access {
            key_id: make.id::<ApiKeyPubId>(),
            key_name: None,
            organization_id: organization.id,
            organization_pub_id: organization.pub_id,
            user_id: staff.user_id,
            user_pub_id: staff.id,
            kind: KeyKind::Secret,
            mode: Mode::Sandbox,
            permissions: Permissions::all(),
            sandbox_writes_catalog: true,
        };
        Self {
            database,
            double,
            clock,
            ids,
            providers,
            origin: Origin::of_key(&access),
            access,
            variant: VariantRef::Id(variant.id),
        }
    }

    /// The same process on a database of its own, which has what this one's has now.
    pub(crate) fn fork(&self) -> Self {
        Self {
            database: self.database.fork(),
            clock: Arc::new(ManualClock::at(self.clock.now())),
            ..self.clone()
        }
    }

    /// Whose everything is.
    pub(crate) const fn organization(&self) -> OrganizationId {
        self.access.organization_id
    }

    /// Begins work in the organization's name.
    pub(crate) async fn begin(&self) -> Box<dyn UnitOfWork> {
        let reach = self.organization().into();
        self.database.begin(reach).await.unwrap()
    }

    fn ctx(&self) -> Context<'_> {
        Context {
            access: &self.access,
            origin: &self.origin,
            now: self.clock.now(),
            ids: self.ids.as_ref(),
            entropy: &SystemEntropy,
            carriers: &FormatDetector,
            phones: &PublishedPlans,
        }
    }

    /// Time passes, here and at the processor.
    pub(crate) fn wait(&self, time: TimeDelta) {
        self.clock.advance(time);
        self.double.set_time(self.clock.now());
    }

    fn engine(&self) -> Engine {
        Engine::new(
            Arc::new(self.database.clone()),
            self.clock.clone(),
            self.ids.clone(),
            Arc::new(FixedEntropy::seeded(3)),
            Arc::new(NeverTimer),
            self.providers.clone(),
        )
    }

    pub(crate) fn runner(&self) -> JobRunner {
        self.engine().jobs()
    }

    fn sandbox(&self) -> Sandbox {
        Sandbox {
            timer: Arc::new(AtOnce),
            ..self.engine().sandbox()
        }
    }

    pub(crate) async fn order(&self) -> CheckoutPubId {
        self.order_by("lessee@example.com").await
    }

    /// A checkout of a customer of this address.
    pub(crate) async fn order_by(&self, email: &str) -> CheckoutPubId {
        let make = Fixtures::seeded(5);
        let profile = make.customer(&make.organization().build()).build().profile;
        let input = CreateCheckout {
            variant: self.variant.clone(),
            quantity: lessor_domain::quantity::Quantity::ONE,
            term: Some("12".parse().unwrap()),
            customer: Some(CustomerInput {
                email: email.parse().unwrap(),
                profile,
            }),
            billing_address: None,
            shipping_address: Some(make.address()),
            purchase_items: Vec::new(),
            external_order_id: None,
            redirects: Redirects::default(),
            metadata: lessor_domain::metadata::Metadata::default(),
            page: None,
        };
        let mut uow = self.begin().await;
        let (checkout, _) = input.run(uow.as_mut(), &self.ctx()).await.unwrap();
        uow.commit().await.unwrap();
        checkout.id
    }

    /// Plays every step on the way to the state.
    pub(crate) async fn advance(
        &self,
        id: CheckoutPubId,
        to: Lifecycle,
    ) -> Result<Checkout, Error> {
        self.sandbox().advance(&self.ctx(), id, to).await
    }

    /// Ships the goods, with this number if there is one. Nobody is told yet.
    pub(crate) async fn fulfill(&self, id: CheckoutPubId, tracking: Option<&str>) {
        let input = Fulfillment {
            tracking_number: tracking.map(|number| number.parse().unwrap()),
            ..Fulfillment::default()
        };
        let mut uow = self.begin().await;
        shipments::FulfillCheckout {
            id,
            fulfillment: input,
        }
        .run(uow.as_mut(), &self.ctx())
        .await
        .unwrap();
        uow.commit().await.unwrap();
    }

    /// The carrier delivers. The processor is not told yet.
    pub(crate) async fn report_delivery(&self, id: CheckoutPubId) {
        let delivered = CarrierReport {
            at: self.clock.now(),
            status: TrackingStatus::Delivered,
            description: None,
            location: None,
            signed_by: None,
            estimated_delivery: None,
        };
        let mut uow = self.begin().await;
        let origin = lessor_domain::shipments::EventOrigin::Webhook;
        shipments::report(
            uow.as_mut(),
            self.ids.as_ref(),
            self.clock.now(),
            id,
            delivered,
            origin,
        )
        .await
        .unwrap();
        uow.commit().await.unwrap();
    }

    /// An operator moves the checkout. Nobody is told yet.
    pub(crate) async fn move_to(&self, id: CheckoutPubId, to: Lifecycle) {
        let mut uow = self.begin().await;
        checkouts::MoveCheckout { id, target: to }
            .run(uow.as_mut(), &self.ctx())
            .await
            .unwrap();
        uow.commit().await.unwrap();
    }

    pub(crate) async fn cancel(&self, id: CheckoutPubId) {
        let mut uow = self.begin().await;
        checkouts::CancelCheckout { id, reason: None }
            .run(uow.as_mut(), &self.ctx())
            .await
            .unwrap();
        uow.commit().await.unwrap();
    }

    /// One try of the checkout's next job.
    pub(crate) async fn try_job(&self, id: CheckoutPubId) -> Option<JobResult> {
        self.runner()
            .carry_out_next(self.organization(), JobSubject::Checkout(id))
            .await
            .unwrap()
    }

    /// Does the checkout's jobs, waiting as long as each asks for. A job that is given up, or tried
    /// again for ever, is a failure.
    pub(crate) async fn settle(&self, id: CheckoutPubId) {
        for _ in 0..40 {
            match self.try_job(id).await {
                None => return,
                Some(JobResult::Done) => {}
                Some(JobResult::Later(at) | JobResult::Undecided(at)) => {
                    self.wait(at - self.clock.now());
                }
                Some(JobResult::Buried) => panic!("{id} was given up"),
            }
        }
        panic!("{id} is tried for ever");
    }

    /// Everybody has learned everything: messages are in, jobs are done, both sides agree.
    pub(crate) async fn agree(&self, id: CheckoutPubId) -> Account {
        self.settle(id).await;
        for event in self.double.events() {
            self.receive(&event).await;
        }
        self.settle(id).await;
        books::assert_agree(&self.double, &self.database, id).await
    }

    pub(crate) async fn read(&self, id: CheckoutPubId) -> Checkout {
        let reach = self.organization().into();
        let mut view = self.database.read(reach).await.unwrap();
        view.checkouts().get(id).await.unwrap().unwrap()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn reconciler(&self) -> Reconciler {
        self.engine().reconciler()
    }

    pub(crate) fn inbox(&self) -> Inbox {
        self.engine().inbox()
    }

    /// The processor's message comes in.
    pub(crate) async fn receive(&self, event: &Event) {
        let head = parse_event_head(&event.body).unwrap();
        let message = InboxMessage {
            source: "processor".to_owned(),
            id: head.id,
            mode: head.mode,
            organization_id: None,
            body: event.body.clone(),
            received_at: self.clock.now(),
        };
        self.inbox().keep(&message).await.unwrap();
        self.inbox().handle(&message).await.unwrap();
    }

    /// Messages that could not be understood before are tried again. Answers how many are left.
    pub(crate) async fn handle_kept(&self) -> usize {
        self.inbox().handle_kept(1_000).await.unwrap();
        let mut view = self.database.read(Reach::Server).await.unwrap();
        let (waiting, failed) = view.inbox().backlog().await.unwrap();
        usize::try_from(waiting + failed).unwrap()
    }

    /// The same message comes in, though it was told before: nothing is done twice by it.
    pub(crate) async fn receive_again(&self, event: &Event) {
        let mut uow = self.database.begin(Reach::Server).await.unwrap();
        let now = self.clock.now();
        uow.inbox().requeue(Some(&event.id), now).await.unwrap();
        uow.commit().await.unwrap();
        self.receive(event).await;
    }

    pub(crate) fn housekeeper(&self) -> Housekeeper {
        Housekeeper {
            database: Arc::new(self.database.clone()),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            tracker: None,
            policy: Policy::default(),
        }
    }

    /// Failed payments are tried again, with this card if one is named. Nobody is told yet.
    pub(crate) async fn pay_with(
        &self,
        id: CheckoutPubId,
        card: Option<&str>,
    ) -> Result<Checkout, Error> {
        let checkout = self.read(id).await;
        let method = match card {
            Some(card) => Some(self.runner().named_method(&checkout, card).await?),
            None => None,
        };
        let mut uow = self.begin().await;
        let checkout = billing::RetryPayments { id, method }
            .run(uow.as_mut(), &self.ctx())
            .await?;
        uow.commit().await?;
        Ok(checkout)
    }

    /// The product and its variant are taken from the shelves, and the processor is told.
    pub(crate) async fn delist(&self) {
        let VariantRef::Id(variant) = &self.variant else {
            panic!("the bench knows its variant by its id")
        };
        let mut uow = self.begin().await;
        let update = variants::VariantChanges {
            status: Some(ProductStatus::Archived),
            ..variants::VariantChanges::default()
        };
        let ctx = self.ctx();
        variants::UpdateVariant {
            id: *variant,
            changes: update,
        }
        .run(uow.as_mut(), &ctx)
        .await
        .unwrap();
        uow.commit().await.unwrap();
        let subject = JobSubject::Variant(*variant);
        let runner = self.runner();
        runner.drain(self.organization(), subject).await.unwrap();
    }

    /// Somebody with the processor's dashboard.
    pub(crate) async fn by_hand(
        &self,
        method: reqwest::Method,
        path: &str,
        form: &[(&str, &str)],
    ) -> serde_json::Value {
        let answer = reqwest::Client::new()
            .request(method, format!("{}/v1/{path}", self.double.url()))
            .bearer_auth("sk_test_bench")
            .form(form)
            .send()
            .await
            .unwrap();
        assert!(answer.status().is_success(), "{:?}", answer.text().await);
        answer.json().await.unwrap()
    }

    /// The processor says of such requests that they are invalid, and will go on saying so.
    pub(crate) fn refuse_for_good(&self, method: &str, path: &str) {
        let body = serde_json::json!({ "error": {
            "type": "invalid_request_error", "message": "This will never do."
        } });
        let fault = Fault::Answer {
            status: 400,
            headers: Vec::new(),
            body: body.to_string(),
        };
        self.double.fault(Rule::always(method, path, fault));
    }

    /// Somebody has everything tried again that was given up.
    pub(crate) async fn requeue(&self) {
        let mut uow = self.begin().await;
        let now = self.clock.now();
        uow.jobs().requeue(None, now).await.unwrap();
        uow.commit().await.unwrap();
    }

    /// Somebody asks for the work.
    pub(crate) async fn ask_for(&self, id: CheckoutPubId, effect: Effect) {
        let now = self.clock.now();
        let job = NewJob {
            id: self.ids.next(),
            effect,
            subject: JobSubject::Checkout(id),
            organization_id: self.organization(),
            mode: Mode::Sandbox,
            created_at: now,
            available_at: now,
            is_held: false,
            units: None,
        };
        let mut uow = self.begin().await;
        uow.jobs().push(&[job]).await.unwrap();
        uow.commit().await.unwrap();
    }

    /// The customer signs. Nobody is told yet.
    pub(crate) async fn sign(&self, id: CheckoutPubId) {
        let mut uow = self.begin().await;
        let mut checkout = uow.checkouts().lock(id).await.unwrap().unwrap();
        let customer = Origin::customer(checkout.customer_id);
        let lessee = uow.customers().get(checkout.customer_id).await.unwrap();
        let signature = Signature::of(&lessee.unwrap().profile);
        let journey = Journey::new(self.clock.now(), self.ids.as_ref(), &customer);
        journey
            .sign_documents(uow.as_mut(), &mut checkout, &signature)
            .await
            .unwrap();
        uow.commit().await.unwrap();
    }
}
