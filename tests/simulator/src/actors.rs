//! What customers, operators and workers do: each a task that may be interrupted or die.

use lessor_adapters::processor::parse_event_head;
use lessor_domain::access::Mode;
use lessor_domain::agreement::Signature;
use lessor_domain::audit::Origin;
use lessor_domain::catalog::{Inventory, ProductStatus};
use lessor_domain::checkout::{Checkout, Lifecycle};
use lessor_domain::ids::{CheckoutPubId, ProductVariantPubId};
use lessor_domain::ports::{InboxMessage, JobSubject, StoreError, UnitOfWork};
use lessor_domain::quantity::Quantity;
use lessor_domain::services::checkouts::{
    CreateCheckout, CustomerInput, PurchaseItemInput, VariantRef,
};
use lessor_domain::services::journey::Journey;
use lessor_domain::services::shipments::{self, Fulfillment};
use lessor_domain::services::variants::{UpdateVariant, VariantChanges};
use lessor_domain::services::{Error, UseCase as _, checkouts};
use lessor_domain::shipments::{CarrierReport, EventOrigin, TrackingStatus};
use lessor_domain::testing::Fixtures;
use lessor_processor_double::Event;

use crate::version::Version;
use crate::world::{CUSTOMERS, Crew, TERMS};

/// A tracking number that a carrier has.
const TRACKING: &str = "1Z999AA10123456784";

/// What a checkout is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) customer: usize,
    pub(crate) variant: usize,
    pub(crate) term: usize,
    /// Whether something is bought along.
    pub(crate) extras: bool,
}

/// What an operator does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Fulfill { tracked: bool },
    Delivered,
    Cancel,
    Move(Lifecycle),
}

impl Crew {
    /// How it ended, as the story tells it; what no run may meet is kept.
    fn note(&self, who: &str, ended: Result<String, Error>) {
        let mut scene = self.stage.scene();
        match ended {
            Ok(words) if words.is_empty() => {}
            Ok(words) => scene.tell(|| format!("    → {words}")),
            Err(error) => {
                // Stores in memory are never out of reach: that they were is the story's doing.
                let expected = |store: &StoreError| {
                    matches!(
                        store,
                        StoreError::Unavailable(_) | StoreError::Stale(_) | StoreError::Contended
                    )
                };
                if let Error::Store(store) = &error
                    && !expected(store)
                {
                    let told = lessor_domain::cause::chain(&error).to_string();
                    scene.broken.push(format!("{who}: {told}"));
                }
                scene.tell(|| {
                    let told = lessor_domain::cause::chain(&error);
                    format!("    → {who}: {told}")
                });
            }
        }
    }

    pub(crate) async fn create(&self, wish: Wish) -> Result<CheckoutPubId, Error> {
        let make = Fixtures::seeded(5);
        let item = PurchaseItemInput {
            name: "Helmet".parse().ok(),
            amount: "40.00".parse().ok(),
            quantity: 1,
            variant_id: None,
        };
        let input = CreateCheckout {
            variant: VariantRef::Id(self.variants[wish.variant]),
            // Of what there is one of, two are never to be had.
            quantity: if wish.extras && wish.variant > 0 {
                Quantity::new(2).unwrap_or(Quantity::ONE)
            } else {
                Quantity::ONE
            },
            term: TERMS[wish.term].try_into().ok(),
            customer: Some(CustomerInput {
                email: CUSTOMERS[wish.customer]
                    .parse()
                    .map_err(|_| Error::rule("no e-mail address"))?,
                profile: make.customer(&make.organization().build()).build().profile,
            }),
            billing_address: None,
            shipping_address: Some(make.address()),
            purchase_items: if wish.extras { vec![item] } else { Vec::new() },
            external_order_id: None,
            redirects: lessor_domain::checkout::Redirects::default(),
            metadata: lessor_domain::metadata::Metadata::default(),
            page: None,
        };
        let mut uow = self.begin().await?;
        let (checkout, _) = input.run(uow.as_mut(), &self.ctx()).await?;
        uow.commit().await?;
        Ok(checkout.id)
    }

    /// The customer takes the next step of the page, and their request waits for what it asks of
    /// the processor.
    pub(crate) async fn go_on(self, who: String, id: CheckoutPubId, card: Option<&'static str>) {
        let ended = self.stepped(id, card).await;
        self.note(&who, ended);
    }

    async fn stepped(&self, id: CheckoutPubId, card: Option<&str>) -> Result<String, Error> {
        let before = self.read(id).await?;
        let method = match before.lifecycle() {
            Lifecycle::RecurringPaymentMethodPending => {
                Some(self.runner().payment_method(&before).await?)
            }
            _ => None,
        };
        let mut uow = self.begin().await?;
        let mut checkout = uow
            .checkouts()
            .lock(id)
            .await?
            .ok_or(Error::not_found("checkout"))?;
        let customer = Origin::customer(checkout.customer_id);
        let journey = Journey::new(self.now(), self.ids.as_ref(), &customer);
        let (uow_ref, it) = (uow.as_mut(), &mut checkout);
        match it.lifecycle() {
            Lifecycle::ProfilePending => journey.complete_profile(uow_ref, it).await?,
            Lifecycle::IdentityRequired => journey.request_identity(uow_ref, it).await?,
            Lifecycle::IdentityVerifying => journey.submit_identity(uow_ref, it).await?,
            Lifecycle::ShippingAddressPending => {
                let address = it.shipping.address.clone();
                let address = address.unwrap_or_else(|| Fixtures::default().address());
                journey.give_shipping_address(uow_ref, it, address).await?
            }
            Lifecycle::PickupLocationPending => journey.choose_shipping(uow_ref, it).await?,
            Lifecycle::LeaseReviewPending => journey.accept_lease(uow_ref, it).await?,
            Lifecycle::DepositPending | Lifecycle::DepositFailed => {
                let card = card.map(str::to_owned);
                journey.submit_deposit(uow_ref, it, card).await?
            }
            Lifecycle::RecurringPaymentMethodPending => {
                let method = method.ok_or_else(|| Error::rule("no method was named"))?;
                journey.save_payment_method(uow_ref, it, method).await?
            }
            Lifecycle::DocumentsPending => {
                let customer = uow_ref.customers().get(it.customer_id).await?;
                let signature = customer.map(|customer| Signature::of(&customer.profile));
                let signature = signature.unwrap_or_default();
                journey.sign_documents(uow_ref, it, &signature).await?
            }
            Lifecycle::CaptureFailed => journey.retry_capture(uow_ref, it).await?,
            _ => journey.open(uow_ref, it).await?,
        };
        uow.commit().await?;
        self.runner()
            .drain(self.organization(), JobSubject::Checkout(id))
            .await?;
        self.state_of(id).await
    }

    pub(crate) async fn turn_back(self, who: String, id: CheckoutPubId, cancel: bool) {
        let ended = async {
            let mut uow = self.begin().await?;
            let mut checkout = uow
                .checkouts()
                .lock(id)
                .await?
                .ok_or(Error::not_found("checkout"))?;
            let customer = Origin::customer(checkout.customer_id);
            let journey = Journey::new(self.now(), self.ids.as_ref(), &customer);
            if cancel {
                journey.cancel(uow.as_mut(), &mut checkout).await?;
            } else {
                journey.go_back(uow.as_mut(), &mut checkout).await?;
            }
            uow.commit().await?;
            self.state_of(id).await
        }
        .await;
        self.note(&who, ended);
    }

    pub(crate) async fn operate(self, id: CheckoutPubId, order: Order) {
        let ended = self.operated(id, order).await;
        self.note("the operator", ended);
    }

    async fn operated(&self, id: CheckoutPubId, order: Order) -> Result<String, Error> {
        let mut uow = self.begin().await?;
        let ctx = self.ctx();
        match order {
            Order::Fulfill { tracked } => {
                let input = Fulfillment {
                    tracking_number: if tracked { TRACKING.parse().ok() } else { None },
                    ..Fulfillment::default()
                };
                shipments::FulfillCheckout {
                    id,
                    fulfillment: input,
                }
                .run(uow.as_mut(), &ctx)
                .await?;
            }
            Order::Delivered => {
                let reported = CarrierReport {
                    at: self.now(),
                    status: TrackingStatus::Delivered,
                    description: None,
                    location: None,
                    signed_by: None,
                    estimated_delivery: None,
                };
                let origin = EventOrigin::Webhook;
                let ids = self.ids.as_ref();
                shipments::report(uow.as_mut(), ids, ctx.now, id, reported, origin).await?;
            }
            Order::Cancel => {
                checkouts::CancelCheckout { id, reason: None }
                    .run(uow.as_mut(), &ctx)
                    .await?;
            }
            Order::Move(to) => {
                checkouts::MoveCheckout { id, target: to }
                    .run(uow.as_mut(), &ctx)
                    .await?;
            }
        }
        uow.commit().await?;
        self.state_of(id).await
    }

    /// The variant is no longer offered, or offered again, or there is more of it.
    pub(crate) async fn offer(self, variant: ProductVariantPubId, update: Offer) {
        let ended = async {
            let mut uow = self.begin().await?;
            let update = match update {
                Offer::Status(status) => VariantChanges {
                    status: Some(status),
                    ..VariantChanges::default()
                },
                Offer::Stock(units) => VariantChanges {
                    inventory: Some(Inventory::Tracked(units)),
                    ..VariantChanges::default()
                },
            };
            UpdateVariant {
                id: variant,
                changes: update,
            }
            .run(uow.as_mut(), &self.ctx())
            .await?;
            uow.commit().await?;
            Ok(String::new())
        }
        .await;
        self.note("the operator", ended);
    }

    /// A worker carries out what is due.
    pub(crate) async fn jobs(self, who: String) {
        let ended = match self.version {
            Some(version) => self.jobs_of(version).await,
            None => self.runner().run_due(10).await.map(drop),
        };
        self.note(&who, ended.map(|()| String::new()));
    }

    /// What is due, as far as the version knows it.
    async fn jobs_of(&self, version: Version) -> Result<(), Error> {
        let mut uow = self.begin().await?;
        let jobs = uow.jobs().claim(self.now(), version.lease, 10).await?;
        version.read(&jobs)?;
        uow.commit().await?;
        for job in &jobs {
            self.runner().carry_out(job).await?;
        }
        Ok(())
    }

    /// A worker handles the messages that were kept.
    pub(crate) async fn messages(self, who: String) {
        let ended = self.inbox().handle_kept(100).await;
        self.note(&who, ended.map(|_| String::new()));
    }

    /// A worker looks for what time brings about.
    pub(crate) async fn chores(self, who: String) {
        let ended = self.housekeeper().run_once().await;
        self.note(
            &who,
            ended.map(|tidied| {
                let told = [
                    (tidied.expired, "expired"),
                    (tidied.renewals, "renewals asked for"),
                    (tidied.checks, "holds asked about"),
                    (tidied.raised, "told of"),
                    (tidied.ended, "terms ended"),
                ];
                let told = told.iter().filter(|(count, _)| *count > 0);
                let told: Vec<_> = told
                    .map(|(count, what)| format!("{count} {what}"))
                    .collect();
                told.join(", ")
            }),
        );
    }

    /// A worker compares leases with the processor.
    pub(crate) async fn reconcile(self, who: String) {
        let ended = self.reconciler().run(Mode::Sandbox, true).await;
        self.note(
            &who,
            ended.map(|compared| {
                let told = compared.findings.iter().map(|it| it.difference.to_string());
                told.collect::<Vec<_>>().join(", ")
            }),
        );
    }

    /// The server takes a message in: kept first, handled afterwards. Tells when it is kept.
    pub(crate) async fn receive(self, event: Event, kept: impl Fn()) {
        let ended = async {
            let head =
                parse_event_head(&event.body).map_err(|error| Error::rule(error.to_string()))?;
            let message = InboxMessage {
                source: "processor".to_owned(),
                id: head.id,
                mode: head.mode,
                organization_id: None,
                body: event.body.clone(),
                received_at: self.now(),
            };
            self.inbox().keep(&message).await?;
            kept();
            self.inbox().handle(&message).await?;
            Ok(String::new())
        }
        .await;
        self.note(&format!("the message {}", event.kind), ended);
    }

    /// Begins work in the organization's name.
    async fn begin(&self) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.database().begin(self.organization().into()).await
    }

    async fn read(&self, id: CheckoutPubId) -> Result<Checkout, Error> {
        let mut view = self.database().read(self.organization().into()).await?;
        let found = view.checkouts().get(id).await?;
        found.ok_or(Error::not_found("checkout"))
    }

    async fn state_of(&self, id: CheckoutPubId) -> Result<String, Error> {
        Ok(format!("it is {}", self.read(id).await?.lifecycle()))
    }
}

/// A change of what is offered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Offer {
    Status(ProductStatus),
    Stock(u32),
}
