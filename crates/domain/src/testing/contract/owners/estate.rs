//! An organization that has something of everything.

use std::fmt::Debug;
use std::time::Duration;

use crate::access::Mode;
use crate::agreement::{AgreementRecord, Signer};
use crate::audit::{AuditAction, AuditChange, AuditEvent, AuditMembers, AuditViewer, Origin};
use crate::catalog::{Category, Product, ProductStatus, ProductVariant, VariantFilter};
use crate::checkout::{
    Actor, Billing, Checkout, Effect, EventKind, InvoiceOutcome, Lifecycle, Tracking, Transition,
    WayOut,
};
use crate::credit::CreditPolicy;
use crate::customer::Customer;
use crate::events::{EventSubject, EventType, NewEvent};
use crate::ids::{CheckoutPubId, EventPubId, IdRef, MailPubId};
use crate::lease_term::LeaseTerm;
use crate::ledger::{Entry, HoldState, Thing};
use crate::mail::{Mail, Posted, SuppressionReason};
use crate::money::{Currency, Money};
use crate::organization::PickupLocation;
use crate::ports::{
    AuditFilter, CheckoutFilter, CheckoutSort, CustomerFilter, Database, EventFilter, IdGenerator,
    IdempotencyKey, Job, JobFilter, JobState, JobSubject, MailFilter, NewJob, PageToken,
    ProductFilter, ProductSort, SortOrder, StoreError, StoredAnswer, UnitOfWork,
};
use crate::processor_account::ProcessorAccount;
use crate::shipments::{CarrierReport, EventOrigin, TrackingEvent, TrackingStatus};
use crate::testing::contract::agreements::agreement;
use crate::testing::contract::credit::approval;
use crate::testing::contract::deliveries::CLAIM;
use crate::testing::contract::full;
use crate::testing::contract::processor_accounts::processor_account;
use crate::testing::contract::shop::{Shop, first, must};
use crate::text::Email;
use crate::time::Timestamp;
use crate::webhooks::{AttemptResult, Delivery, EndpointHealth, WebhookEndpoint};

/// More than any suite makes.
pub(super) const MANY: u32 = 10_000;
/// Longer than any suite takes, by whatever clock.
pub(super) const LEASE: Duration = Duration::from_secs(36_000_000);
/// The hash of a token that opens the page of the estate's full checkout.
pub(super) const PAGE: [u8; 32] = [7; 32];

/// An organization, and of each kind of record one that any statement about the kind finds.
pub(super) struct Estate<'d> {
    pub(super) shop: Shop<'d>,
    pub(super) pickup: PickupLocation,
    pub(super) category: Category,
    /// Of the category.
    pub(super) product: Product,
    /// Of the product: in stock, and of an external id. Somebody waits for it.
    pub(super) variant: ProductVariant,
    /// What no checkout has, of a product that none has.
    pub(super) idle_variant: ProductVariant,
    pub(super) term: LeaseTerm,
    /// That no checkout has.
    pub(super) idle_term: LeaseTerm,
    /// Of the full checkout, and with a verification session.
    pub(super) customer: Customer,
    /// With every member, a history, a kept token, tracking events and rows of the ledger.
    pub(super) full: Checkout,
    /// The full one, and one in each line that checkouts stand in.
    checkouts: Vec<CheckoutPubId>,
    /// The document of the full checkout, beside the organization's own terms.
    pub(super) agreement: AgreementRecord,
    /// An event that has a number.
    pub(super) told: EventPubId,
    pub(super) entry: Entry,
    /// An invoice of the full checkout, and what pays it.
    pub(super) payment: String,
    /// Its own at the payment processor, of the sandbox.
    pub(super) account: ProcessorAccount,
    /// To be done.
    pub(super) due: NewJob,
    /// That is held until somebody asks for it.
    pub(super) held: NewJob,
    /// That somebody is at.
    pub(super) taken: Job,
    /// That was given up.
    pub(super) dead: Job,
    pub(super) key: IdempotencyKey,
    pub(super) answer: StoredAnswer,
    /// Something that somebody did to the customer.
    pub(super) event: AuditEvent,
    /// Where it is told of events, which fails now and then.
    pub(super) endpoint: WebhookEndpoint,
    /// An event on its way there, that somebody is at.
    pub(super) delivery: Delivery,
    /// One that was taken.
    pub(super) acknowledged: EventPubId,
    /// A mail that somebody is at.
    pub(super) mail: Mail,
    /// One that nobody is at, and one that was sent.
    pub(super) waiting_mail: MailPubId,
    pub(super) mailed: MailPubId,
    /// Where nothing is sent any more.
    pub(super) suppressed: Email,
    /// A lease that ends, and nobody was mailed of it.
    pub(super) ending: CheckoutPubId,
}

/// What was just kept.
#[track_caller]
fn kept<T>(found: Option<T>) -> T {
    match found {
        Some(found) => found,
        None => panic!("the stores find what was kept"),
    }
}

pub(super) fn job(shop: &Shop<'_>) -> NewJob {
    let now = shop.make.tick();
    NewJob {
        id: shop.make.ids().next(),
        effect: Effect::CheckCredit,
        subject: JobSubject::Product(shop.make.id()),
        organization_id: shop.organization.id,
        mode: Mode::Sandbox,
        created_at: now,
        available_at: now,
        is_held: false,
        units: None,
    }
}

/// That the customer of the full checkout was changed.
pub(super) fn audit_event(shop: &Shop<'_>, full: &Checkout) -> AuditEvent {
    let mut after = AuditMembers::new();
    after.set("city", "Oakland");
    AuditEvent {
        id: shop.make.id(),
        organization_id: full.organization_id,
        area: full.mode.into(),
        at: shop.make.tick(),
        origin: Origin::customer(full.customer_id),
        action: AuditAction::CustomerUpdated,
        subject: full.customer_id.into(),
        change: AuditChange::created(after),
        customer: Some(full.customer_id),
    }
}

/// That the full checkout was changed.
pub(super) fn happened(shop: &Shop<'_>, full: &Checkout) -> NewEvent {
    super::super::events::renamed(shop, |event| {
        event.event_type = EventType::CheckoutUpdated;
        event.subject = EventSubject::Checkout(full.id);
        event.customer = Some(full.customer_id);
    })
}

pub(super) fn tracking_event(at: Timestamp) -> TrackingEvent {
    TrackingEvent {
        reported: CarrierReport {
            at,
            status: TrackingStatus::InTransit,
            description: None,
            location: None,
            signed_by: None,
            estimated_delivery: None,
        },
        origin: EventOrigin::Webhook,
        received_at: at,
    }
}

pub(super) fn transition(at: Timestamp) -> Transition {
    Transition {
        from: Lifecycle::LeaseActive,
        event: EventKind::ReturnInitiated,
        to: Lifecycle::ReturnPending,
        at,
        actor: Actor::Operator,
        key: None,
        reason: None,
    }
}

pub(super) fn entry(checkout: CheckoutPubId, id: String, at: Timestamp, thing: Thing) -> Entry {
    Entry {
        id,
        checkout,
        amount: Money::from_minor(12_345, Currency::USD),
        at,
        thing,
    }
}

fn tracking_of(checkout: &Checkout) -> &Tracking {
    kept(checkout.shipment.tracking.as_ref())
}

/// A checkout in each line that checkouts stand in.
async fn lines(shop: &Shop<'_>, variant: &ProductVariant) -> Vec<CheckoutPubId> {
    let make = &shop.make;
    let customer = shop.anybody().await;
    let waiting = make
        .checkout(&customer, variant)
        .at(Lifecycle::WaitlistedAfterProfile);
    let mut lines = vec![shop.checkout(waiting).await.id];
    for lifecycle in [
        Lifecycle::Created,
        Lifecycle::WaitlistedLocation,
        Lifecycle::DocumentsPending,
    ] {
        let checkout = shop.any_checkout(|builder| builder.at(lifecycle)).await;
        lines.push(checkout.id);
    }
    let ended = shop
        .any_checkout(|builder| {
            builder
                .at(Lifecycle::LeaseActive)
                .with(|it| it.lease.end = it.lease.start)
        })
        .await;
    let unbilled = shop
        .any_checkout(|builder| {
            builder
                .at(Lifecycle::Shipped)
                .with(|it| it.recurring.billing = Billing::Requested { at: it.created_at })
        })
        .await;
    let number = make.ids().next().simple().to_string();
    let silent = shop
        .any_checkout(|builder| {
            builder
                .at(Lifecycle::Shipped)
                .with(|it| it.shipment.tracking = Some(full::tracking(&number)))
        })
        .await;
    lines.extend([ended.id, unbilled.id, silent.id]);
    lines
}

/// Jobs that are due, held, at work, given up and done.
async fn jobs(shop: &Shop<'_>) -> (NewJob, NewJob, Job, Job) {
    let [due, mut held, taken, dead, done] = [(); 5].map(|()| job(shop));
    held.is_held = true;
    let now = shop.make.tick();
    shop.done("jobs: are pushed, taken, done and given up", async |uow| {
        let all = [&due, &held, &taken, &dead, &done].map(NewJob::clone);
        let jobs = uow.jobs();
        jobs.push(&all).await?;
        let done = kept(jobs.claim_of(done.subject, now, LEASE).await?);
        jobs.complete(&done, now).await?;
        let mut dead = kept(jobs.claim_of(dead.subject, now, LEASE).await?);
        jobs.bury(&dead, "refused for good").await?;
        dead.state = JobState::Dead;
        let taken = kept(jobs.claim_of(taken.subject, now, LEASE).await?);
        Ok((due, held, taken, dead))
    })
    .await
}

impl<'d> Estate<'d> {
    pub(super) async fn open(database: &'d dyn Database) -> Self {
        // Of what is made here some is counted over all organizations.
        let _queues = super::super::QUEUES.lock().await;
        let _watches = super::super::WATCHES.lock().await;
        let shop = Shop::open(database).await;
        let make = &shop.make;
        let id = shop.organization.id;
        let product = full::product(&shop).await;
        let variant = make.variant(&product).stock(3).external_id("estate");
        let variant = shop.variant(variant).await;
        let idle_variant = shop.any_variant().await;
        let idle_term = make.lease_term(&shop.organization).months(48);
        let idle_term = shop.term(idle_term).await;
        let full = full::checkout(&shop).await;
        let mut checkouts = lines(&shop, &variant).await;
        checkouts.push(full.id);
        let at = make.tick();
        let hold = Thing::Hold {
            state: HoldState::Held,
            ends_at: at,
        };
        let entry = entry(full.id, format!("pi_{}", make.ids().next()), at, hold);
        let payment = format!("pi_of_in_{}", make.ids().next());
        let invoice = Thing::Invoice {
            subscription_id: format!("sub_{}", full.id),
            payment_intent_id: Some(payment.clone()),
            is_cycle: true,
            outcome: InvoiceOutcome::Paid,
        };
        let invoice = self::entry(full.id, format!("in_{}", make.ids().next()), at, invoice);
        let decided = approval(&shop, &full, at);
        let key = IdempotencyKey {
            organization_id: id,
            mode: Mode::Sandbox,
            path: "POST /v1/checkouts".to_owned(),
            key: "estate".to_owned(),
        };
        let answer = StoredAnswer {
            request_hash: [9; 32],
            status: 200,
            body: b"{}".to_vec(),
            is_existing: false,
            is_final: true,
            created_at: at,
        };
        let (due, held, taken, dead) = jobs(&shop).await;
        let event = audit_event(&shop, &full);
        let (endpoint, acknowledged, delivery) = deliveries(&shop).await;
        let [mailed, mail, waiting_mail] = mails(&shop, full.id).await;
        let suppressed: Email = full::parsed(&format!("{}@example.com", mail.new.id));
        let ending = super::super::mails::lease(&shop, at.date_naive()).await.id;
        // One with a number, and one that waits for it.
        let (told, waiting) = (happened(&shop, &full), happened(&shop, &full));
        let document = agreement(&shop, &full);
        let session = format!("vs_{}", full.customer_id.as_uuid().simple());
        let mut account = processor_account(&shop, Mode::Sandbox);
        let account = shop
            .done("an organization has something of everything", async |uow| {
                uow.checkouts().set_page_tokens(full.id, &[PAGE]).await?;
                uow.checkouts()
                    .note_way_out(full.id, WayOut::Success)
                    .await?;
                uow.checkouts().record(full.id, &[transition(at)]).await?;
                uow.ledger().put(&entry).await?;
                uow.ledger().put(&invoice).await?;
                uow.credit_policies()
                    .put(id, Mode::Sandbox, &CreditPolicy::Manual, at)
                    .await?;
                uow.qualifications().insert(&decided).await?;
                uow.shipments()
                    .insert(full.id, tracking_of(&full), &tracking_event(at))
                    .await?;
                uow.idempotency().put(&key, &answer).await?;
                uow.audit().append(std::slice::from_ref(&event)).await?;
                uow.events().append(std::slice::from_ref(&told)).await?;
                uow.events().number(shop.sandbox(), 1).await?;
                uow.events().append(std::slice::from_ref(&waiting)).await?;
                uow.agreements().insert(&document).await?;
                let text = full::parsed("No smoking.");
                uow.agreements().set_terms(id, &text, at).await?;
                let signer = Signer::Builtin;
                uow.agreements()
                    .set_signer(id, Mode::Sandbox, &signer, at)
                    .await?;
                let mut customer = kept(uow.customers().lock(full.customer_id).await?);
                customer.screening.verification_session_id = Some(session);
                customer.screening.processor_id = Some("cus_estate".to_owned());
                uow.customers().update(&mut customer).await?;
                uow.processor_accounts().insert(&mut account).await?;
                let reason = SuppressionReason::HardBounce;
                uow.mails().suppress(&suppressed, reason, at).await?;
                Ok(account)
            })
            .await;
        let mut view = shop.view().await;
        let clause = "the stores find what was kept";
        let pickup = kept(full.pickup_location_id);
        let pickup = kept(must(view.pickup_locations().get(id, pickup).await, clause));
        let category = IdRef::Number(kept(product.category_id));
        let category = kept(must(view.categories().find(id, category).await, clause));
        let term = IdRef::Public(kept(full.term).id);
        let term = kept(must(view.lease_terms().find(id, term).await, clause));
        let customer = view.customers().get(full.customer_id).await;
        let customer = kept(must(customer, clause));
        let full = kept(must(view.checkouts().get(full.id).await, clause));
        drop(view);
        Self {
            shop,
            pickup,
            category,
            product,
            variant,
            idle_variant,
            term,
            idle_term,
            customer,
            full,
            checkouts,
            told: told.id,
            agreement: document.record,
            entry,
            payment,
            account,
            due,
            held,
            taken,
            dead,
            key,
            answer,
            event,
            endpoint,
            delivery,
            acknowledged,
            mail,
            waiting_mail: waiting_mail.new.id,
            mailed: mailed.new.id,
            suppressed,
            ending,
        }
    }

    /// The estate's of these checkouts.
    pub(super) fn own(&self, found: Vec<CheckoutPubId>) -> Vec<CheckoutPubId> {
        let own = |id: &CheckoutPubId| self.checkouts.contains(id);
        found.into_iter().filter(own).collect()
    }

    /// One that waits in a line: the first of those in `lines`.
    pub(super) fn waiting(&self) -> CheckoutPubId {
        kept(self.checkouts.first().copied())
    }

    /// The tracking number of the full checkout.
    pub(super) fn tracking(&self) -> &Tracking {
        tracking_of(&self.full)
    }

    /// The full checkout's page, by the token that is kept.
    pub(super) fn page(&self) -> PageToken {
        PageToken::Unproven {
            nonce: self.full.page_nonce,
            hash: PAGE,
        }
    }

    /// All that the organization has, as its own view shows it.
    pub(super) async fn records(&self) -> Vec<String> {
        let mut view = self.shop.view().await;
        let view = view.as_mut();
        let mut shown = Shown::default();
        self.show_catalog(view, &mut shown).await;
        self.show_leases(view, &mut shown).await;
        shown.0
    }

    async fn show_catalog(&self, view: &mut dyn UnitOfWork, shown: &mut Shown) {
        let (id, all) = (self.shop.organization.id, first(MANY));
        let revision = view.organizations().pricing_revision(id).await;
        shown.add("organizations.pricing_revision", revision);
        let pickup_locations = view.pickup_locations().list(id).await;
        shown.add("pickup_locations.list", pickup_locations);
        shown.add("categories.list", view.categories().list(id, all).await);
        shown.add("lease_terms.list", view.lease_terms().list(id).await);
        let filter = ProductFilter {
            statuses: ProductStatus::ALL.to_vec(),
            ..ProductFilter::default()
        };
        let (sort, order) = (ProductSort::CreatedAt, SortOrder::Ascending);
        let products = view.products().list(id, &filter, sort, order, all).await;
        let products = must(products, "products.list: reads");
        for product in &products {
            let filter = VariantFilter::default();
            let variants = view.variants().list(id, product.id, &filter, all).await;
            shown.add("variants.list", variants);
        }
        shown.add("products.list", Ok(products));
    }

    async fn show_leases(&self, view: &mut dyn UnitOfWork, shown: &mut Shown) {
        let all = first(MANY);
        let (checkout, at) = (self.full.id, self.answer.created_at);
        for mode in Mode::ALL {
            let scope = self.shop.scope(mode);
            let filter = CustomerFilter::default();
            let customers = view.customers().list(scope, &filter, all).await;
            shown.add("customers.list", customers);
            let filter = CheckoutFilter::default();
            let (sort, order) = (CheckoutSort::CreatedAt, SortOrder::Ascending);
            let checkouts = view
                .checkouts()
                .list(scope, &filter, sort, order, all)
                .await;
            shown.add("checkouts.list", checkouts);
        }
        shown.add(
            "checkouts.history",
            view.checkouts().history(checkout).await,
        );
        let page = view.checkouts().find_by_page_token(&self.page()).await;
        shown.add("checkouts.find_by_page_token", page);
        let way_out = view.checkouts().last_way_out(checkout).await;
        shown.add("checkouts.last_way_out", way_out);
        let events = view.shipments().list(checkout, self.tracking()).await;
        shown.add("shipments.list", events);
        shown.add("ledger.of", view.ledger().of(checkout).await);
        for mode in Mode::ALL {
            let owner = self.shop.organization.id;
            let account = view.processor_accounts().get(owner, mode).await;
            shown.add("processor_accounts.get", account);
        }
        let decided = view.qualifications().latest(&[checkout]).await;
        shown.add("qualifications.latest", decided);
        for mode in Mode::ALL {
            let policy = view
                .credit_policies()
                .get(self.shop.organization.id, mode)
                .await;
            shown.add("credit_policies.get", policy);
            let owner = self.shop.organization.id;
            let signer = view.agreements().signer(owner, mode).await;
            shown.add("agreements.signer", signer);
        }
        let (organization, document) = (self.shop.organization.id, self.agreement.id);
        shown.add("agreements.of", view.agreements().of(checkout).await);
        let events = view.agreements().events(document).await;
        shown.add("agreements.events", events);
        let terms = view.agreements().terms(organization).await;
        shown.add("agreements.terms", terms);
        for state in JobState::ALL {
            let filter = JobFilter {
                state: Some(*state),
                subject: None,
            };
            shown.add("jobs.list", view.jobs().list(&filter, MANY).await);
        }
        let answer = view.idempotency().find(&self.key, at).await;
        shown.add("idempotency.find", answer);
        let (id, all_events) = (self.shop.organization.id, AuditFilter::default());
        let events = view
            .audit()
            .list(id, AuditViewer::Live, &all_events, all)
            .await;
        shown.add("audit.list", events);
        let (scope, all_events) = (self.shop.sandbox(), EventFilter::default());
        let waiting = view.events().are_waiting(scope).await;
        shown.add("events.are_waiting", waiting);
        let since = Some(self.shop.edition_of_nothing());
        let changes = view.events().changes(scope.organization_id, since).await;
        shown.add("events.changes", changes);
        let events = view.events().list(scope, &all_events, 0, MANY).await;
        shown.add("events.list", events);
        let endpoints = view.webhook_endpoints().list(scope).await;
        shown.add("webhook_endpoints.list", endpoints);
        let deliveries = view.deliveries().list(self.endpoint.id, all).await;
        shown.add("deliveries.list", deliveries);
        let mails = view.mails().list(&MailFilter::default(), MANY).await;
        shown.add("mails.list", mails);
        let suppression = view.mails().suppression(&self.suppressed).await;
        shown.add("mails.suppression", suppression);
    }
}

/// A mail that was sent, one that somebody is at, and one that waits.
async fn mails(shop: &Shop<'_>, about: CheckoutPubId) -> [Mail; 3] {
    let [sent, under_way, waiting] =
        [(); 3].map(|()| super::super::mails::mail(shop, about, |_| {}));
    let to: Email = full::parsed(&format!("{}@example.com", sent.id));
    shop.done("an organization sends mails", async |uow| {
        let mut claimed = Vec::new();
        for new in [&sent, &under_way] {
            uow.mails().queue(std::slice::from_ref(new)).await?;
            let now = shop.make.tick();
            claimed.extend(uow.mails().claim(now, LEASE, 1).await?.pop());
        }
        uow.mails().queue(std::slice::from_ref(&waiting)).await?;
        let mut claimed = claimed.into_iter();
        let mut first = kept(claimed.next());
        first.tried(&Posted::Accepted, shop.make.tick());
        uow.mails().settle(&first, Some(&to)).await?;
        Ok([first, kept(claimed.next()), Mail::from(waiting)])
    })
    .await
}

/// An endpoint that has rested: an event that it took, one on its way that somebody is at, and one
/// that waits.
async fn deliveries(shop: &Shop<'_>) -> (WebhookEndpoint, EventPubId, Delivery) {
    let endpoint = super::super::webhook_endpoints::endpoint(shop, |_| {}).await;
    let [done, under_way, waiting] =
        [(); 3].map(|()| super::super::deliveries::delivery(shop, &endpoint, |_| {}));
    // Something is known of it, and nothing that keeps the one that waits from being taken.
    let rested = EndpointHealth {
        resting_until: Some(done.created_at),
        ..EndpointHealth::default()
    };
    let delivery = shop
        .done("an organization tells an endpoint of events", async |uow| {
            let mut claimed = Vec::new();
            for new in [&done, &under_way] {
                uow.deliveries().queue(std::slice::from_ref(new)).await?;
                let now = shop.make.tick();
                claimed.extend(uow.deliveries().claim(now, CLAIM).await?.pop());
            }
            uow.deliveries()
                .queue(std::slice::from_ref(&waiting))
                .await?;
            uow.deliveries().set_health(endpoint.id, &rested).await?;
            let mut claimed = claimed.into_iter();
            let mut first = kept(claimed.next());
            let answered = AttemptResult::Answered {
                status: 200,
                body: "noted".to_owned(),
                retry_after: None,
            };
            first.tried(answered, 1, shop.make.tick(), 0);
            uow.deliveries().settle(&first).await?;
            Ok(kept(claimed.next()))
        })
        .await;
    (endpoint, done.event_id, delivery)
}

/// What was read, by the statements that read it.
#[derive(Default)]
struct Shown(Vec<String>);

impl Shown {
    fn add<T: Debug>(&mut self, statement: &str, found: Result<T, StoreError>) {
        let found = must(found, statement);
        self.0.push(format!("{statement}: {found:?}"));
    }
}
