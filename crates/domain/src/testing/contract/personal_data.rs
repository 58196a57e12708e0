//! What is known of persons.

use std::time::Duration;

use super::agreements::{agreement, signed_by_ada};
use super::full::{parsed, tracking};
use super::shop::Shop;
use crate::agreement::{AgreementEvent, AgreementEventKind, AgreementRecord, Happening};
use crate::checkout::{
    Actor, CANCELLED_BY_ERASURE, Checkout, Effect, EventKind, Lifecycle, Tracking, Transition,
};
use crate::customer::Customer;
use crate::ids::CheckoutPubId;
use crate::ports::{
    Database, Erasure, HistoryEntry, IdGenerator, IdempotencyKey, InboxMessage, Job, JobFilter,
    JobState, JobSubject, NewJob, PersonalTable, Removal, ReplacementAnswer, StoredAnswer,
};
use crate::shipments::{CarrierReport, EventOrigin, TrackingEvent, TrackingStatus};
use crate::time::Timestamp;

/// The store of what is known of persons: it takes away what it is to, of whom it is to, and nothing else.
///
/// # Panics
/// With the clause that is broken.
pub async fn personal_data(database: &dyn Database) {
    // Messages are anybody's who takes them, and jobs are counted over all organizations.
    let _turn = super::QUEUES.lock().await;
    let shop = Shop::open(database).await;
    let neighbour = shop.neighbour().await;
    let person = Person::of(&shop).await;
    let others = [Person::of(&shop).await, Person::of(&neighbour).await];
    let before = person.traces().await;
    let mut before_of_others = Vec::new();
    for other in &others {
        before_of_others.push(other.traces().await);
    }
    let removal = person.erase().await;
    let expected = Removal {
        tables: vec![
            PersonalTable::AgreementEvents,
            PersonalTable::Agreements,
            PersonalTable::CheckoutTransitions,
            PersonalTable::IdempotencyAnswers,
            PersonalTable::InboxMessages,
            PersonalTable::Jobs,
            PersonalTable::TrackingEvents,
            PersonalTable::UnclaimedTrackingEvents,
        ],
        unhandled: 1,
    };
    assert_eq!(
        removal, expected,
        "personal_data.erase: tells what it has taken something out of, and what is still to be read"
    );
    assert_eq!(
        person.traces().await,
        person.erased(before),
        "personal_data.erase: takes away what tells of the person, and nothing of a lease that goes on"
    );
    for (other, before) in others.iter().zip(before_of_others) {
        assert_eq!(
            other.traces().await,
            before,
            "personal_data.erase: takes nothing of others"
        );
    }
    let again = person.erase().await;
    let expected = Removal {
        tables: Vec::new(),
        unhandled: 1,
    };
    assert_eq!(
        again, expected,
        "personal_data.erase: finds nothing when it is asked again"
    );
    for person in others.iter().chain([&person]) {
        person.handle().await;
    }
    let last = person.erase().await;
    let expected = Removal {
        tables: vec![PersonalTable::InboxMessages],
        unhandled: 0,
    };
    assert_eq!(
        last, expected,
        "personal_data.erase: takes what was still to be read when it is"
    );
}

/// Longer than any suite takes.
const LEASE: Duration = Duration::from_secs(36_000_000);

/// Somebody of whom something is known everywhere.
struct Person<'s, 'd> {
    shop: &'s Shop<'d>,
    customer: Customer,
    /// Returned.
    ended: Checkout,
    /// A lease that goes on.
    running: Checkout,
    /// Called off before it was a lease.
    cancelled: Checkout,
    /// Whose messages they are.
    source: String,
    since: Timestamp,
}

/// What is known of somebody.
#[derive(Debug, Clone, PartialEq)]
struct Traces {
    ended: TracesOfCheckout,
    running: TracesOfCheckout,
    cancelled: Document,
    /// Jobs about them.
    jobs: Vec<Job>,
    answers: Answers,
    /// What was reported of the ended checkout's shipment before the number was given.
    unclaimed: Vec<TrackingEvent>,
    /// The message that is not handled.
    waiting: Option<InboxMessage>,
}

#[derive(Debug, Clone, PartialEq)]
struct TracesOfCheckout {
    history: Vec<HistoryEntry>,
    events: Vec<TrackingEvent>,
    jobs: Vec<Job>,
    document: Document,
}

/// The agreement of a checkout, and what was done with it.
#[derive(Debug, Clone, PartialEq)]
struct Document {
    record: AgreementRecord,
    pdf: Option<Vec<u8>>,
    events: Vec<AgreementEvent>,
}

impl Document {
    fn forget(&mut self) {
        self.record.signer_name = None;
        self.record.signer_reference = None;
        self.pdf = None;
        for event in &mut self.events {
            event.happening.address = None;
            event.happening.user_agent = None;
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Answers {
    /// That says who they are.
    says: Option<StoredAnswer>,
    /// To a request that was about their lease.
    about: Option<StoredAnswer>,
    /// To an erasure.
    of_erasure: Option<StoredAnswer>,
    /// To a request that was about nobody.
    other: Option<StoredAnswer>,
}

impl TracesOfCheckout {
    fn forget(&mut self) {
        for entry in &mut self.history {
            let reason = &mut entry.transition.reason;
            if reason
                .as_ref()
                .is_some_and(|it| it.as_str() != CANCELLED_BY_ERASURE)
            {
                *reason = None;
            }
        }
        for event in &mut self.events {
            event.reported.description = None;
            event.reported.location = None;
            event.reported.signed_by = None;
        }
        for job in &mut self.jobs {
            job.last_error = None;
        }
    }
}

fn reported(at: Timestamp) -> TrackingEvent {
    TrackingEvent {
        reported: CarrierReport {
            at,
            status: TrackingStatus::Delivered,
            description: Some(parsed("Left with Ada at the front door")),
            location: Some(parsed("San Francisco, CA")),
            signed_by: Some(parsed("A. Lovelace")),
            estimated_delivery: Some(at),
        },
        origin: EventOrigin::Webhook,
        received_at: at,
    }
}

/// That somebody sent the goods back, and why.
fn transition(at: Timestamp, reason: &str) -> Transition {
    Transition {
        from: Lifecycle::LeaseActive,
        event: EventKind::ReturnInitiated,
        to: Lifecycle::ReturnPending,
        at,
        actor: Actor::Operator,
        key: None,
        reason: Some(parsed(reason)),
    }
}

/// A checkout of the customer in the state, with a tracking number of its own.
async fn leased(shop: &Shop<'_>, customer: &Customer, state: Lifecycle) -> Checkout {
    let variant = shop.any_variant().await;
    let number = shop.make.ids().next().simple().to_string();
    let builder = shop.make.checkout(customer, &variant).at(state);
    let builder = builder.with(|it| it.shipment.tracking = Some(tracking(&number)));
    shop.checkout(builder).await
}

fn tracking_of(checkout: &Checkout) -> &Tracking {
    match &checkout.shipment.tracking {
        Some(tracking) => tracking,
        None => panic!("the suite's checkouts are tracked"),
    }
}

impl<'s, 'd> Person<'s, 'd> {
    async fn of(shop: &'s Shop<'d>) -> Self {
        let customer = shop.anybody().await;
        let person = Self {
            shop,
            ended: leased(shop, &customer, Lifecycle::Returned).await,
            running: leased(shop, &customer, Lifecycle::LeaseActive).await,
            cancelled: leased(shop, &customer, Lifecycle::Cancelled).await,
            source: format!("suite-{}", shop.make.ids().next().simple()),
            since: customer.created_at,
            customer,
        };
        for checkout in [&person.ended, &person.running] {
            person.trace(checkout).await;
        }
        for checkout in [&person.ended, &person.running, &person.cancelled] {
            person.sign(checkout).await;
        }
        person.fail(JobSubject::Customer(person.customer.id)).await;
        person.answer().await;
        person.be_told().await;
        person
    }

    /// The checkout has a history, tracking events and a job that was given up.
    async fn trace(&self, checkout: &Checkout) {
        let at = self.shop.make.tick();
        let transitions = [
            transition(at, "moves to Nürnberg"),
            transition(at, CANCELLED_BY_ERASURE),
        ];
        let clause = "what is known of a checkout is kept";
        self.shop
            .done(clause, async |uow| {
                let checkouts = uow.checkouts();
                checkouts.record(checkout.id, &transitions).await?;
                let shipments = uow.shipments();
                shipments
                    .insert(checkout.id, tracking_of(checkout), &reported(at))
                    .await
            })
            .await;
        self.fail(JobSubject::Checkout(checkout.id)).await;
    }

    /// The customer signs an agreement of the checkout.
    async fn sign(&self, checkout: &Checkout) {
        let document = agreement(self.shop, checkout);
        let (id, at) = (document.record.id, self.shop.make.tick());
        let address = Some("192.0.2.1".to_owned());
        let signed = Happening::new(AgreementEventKind::Signed, at, address, Some("Browser/1"));
        self.shop
            .done("agreements: are kept and signed", async |uow| {
                uow.agreements().insert(&document).await?;
                uow.agreements().append(id, &signed).await?;
                uow.agreements().sign(id, &signed_by_ada(at)).await
            })
            .await;
    }

    async fn document_of(&self, checkout: &Checkout) -> Document {
        let id = checkout.id;
        self.shop
            .seen("agreements: are read", async |view| {
                let Some(record) = view.agreements().of(id).await?.pop() else {
                    panic!("agreements.of: tells of each that was kept")
                };
                Ok(Document {
                    pdf: view.agreements().pdf(record.id).await?,
                    events: view.agreements().events(record.id).await?,
                    record,
                })
            })
            .await
    }

    /// A job about the subject is given up.
    async fn fail(&self, subject: JobSubject) {
        let now = self.shop.make.tick();
        let new = NewJob {
            id: self.shop.make.ids().next(),
            effect: Effect::PushCustomer,
            subject,
            organization_id: self.shop.organization.id,
            mode: self.customer.mode,
            created_at: now,
            available_at: now,
            is_held: false,
            units: None,
        };
        self.shop
            .done("jobs: are pushed, taken and given up", async |uow| {
                uow.jobs().push(&[new]).await?;
                match uow.jobs().claim_of(subject, now, LEASE).await? {
                    Some(job) => uow.jobs().bury(&job, "Ada Lovelace is not known").await,
                    None => panic!("jobs.claim_of: takes the first job of a subject"),
                }
            })
            .await;
    }

    fn key(&self, path: String) -> IdempotencyKey {
        IdempotencyKey {
            organization_id: self.shop.organization.id,
            mode: self.customer.mode,
            path,
            key: self.source.clone(),
        }
    }

    fn keys(&self) -> [IdempotencyKey; 4] {
        [
            self.key("POST /v1/checkouts".to_owned()),
            self.key(format!("POST /v1/checkouts/{}/fulfill", self.running.id)),
            self.key(format!("POST /v1/customers/{}/erase", self.customer.id)),
            self.key("POST /v1/products".to_owned()),
        ]
    }

    async fn answer(&self) {
        let at = self.shop.make.tick();
        let answer = |body: String| StoredAnswer {
            request_hash: [3; 32],
            status: 200,
            body: body.into_bytes(),
            is_existing: true,
            is_final: true,
            created_at: at,
        };
        let [says, about, of_erasure, other] = self.keys();
        let email = &self.customer.email;
        let answers = [
            (says, answer(format!(r#"{{"email":"{email}"}}"#))),
            (about, answer(r#"{"signedBy":"A. Lovelace"}"#.to_owned())),
            (of_erasure, answer(r#"{"erased":["customers"]}"#.to_owned())),
            // Another's address that this one is a part of.
            (other, answer(format!(r#"{{"email":"x{email}"}}"#))),
        ];
        self.shop
            .done("idempotency.put: keeps an answer", async |uow| {
                for (key, answer) in &answers {
                    uow.idempotency().put(key, answer).await?;
                }
                Ok(())
            })
            .await;
    }

    fn message(&self, id: &str, body: String) -> InboxMessage {
        InboxMessage {
            source: self.source.clone(),
            id: id.to_owned(),
            mode: self.customer.mode,
            organization_id: None,
            body: body.into_bytes(),
            received_at: self.shop.make.tick(),
        }
    }

    /// Messages about them come, and a report of a shipment that nobody has yet.
    async fn be_told(&self) {
        let messages = [
            self.message("named", format!(r#"{{"name":"{}"}}"#, self.customer.id)),
            self.message("leased", format!(r#"{{"of":"{}"}}"#, self.running.id)),
            self.message("waiting", format!(r#"{{"of":"{}"}}"#, self.ended.id)),
        ];
        let at = self.shop.make.tick();
        self.shop
            .done_for_server("inbox: keeps messages and handles some", async |uow| {
                for message in &messages {
                    uow.inbox().insert(message).await?;
                    if message.id != "waiting" {
                        let inbox = uow.inbox();
                        inbox.mark_handled(&message.source, &message.id, at).await?;
                    }
                }
                let shipment = tracking_of(&self.ended);
                uow.shipments()
                    .keep_unclaimed(shipment, &reported(at))
                    .await
            })
            .await;
    }

    /// The message that waits is handled.
    async fn handle(&self) {
        let at = self.shop.make.tick();
        self.shop
            .done_for_server("inbox.mark_handled: marks", async |uow| {
                uow.inbox().mark_handled(&self.source, "waiting", at).await
            })
            .await;
    }

    fn erasure(&self) -> Erasure {
        Erasure {
            customer: self.customer.id,
            names: vec![
                self.customer.id.to_string(),
                format!("\"{}\"", self.customer.email),
            ],
            ended: vec![self.ended.id, self.cancelled.id],
            running: vec![self.running.id],
            never_leased: vec![self.cancelled.id],
            shipments: vec![tracking_of(&self.ended).clone()],
            email: self.customer.email.clone(),
            since: self.since,
            replacement: ReplacementAnswer {
                status: 404,
                body: br#"{"error":"no such customer"}"#.to_vec(),
            },
        }
    }

    async fn erase(&self) -> Removal {
        let erasure = self.erasure();
        let scope = self.shop.scope(self.customer.mode);
        self.shop
            .done("personal_data.erase: takes away", async |uow| {
                uow.personal_data().erase(scope, &erasure).await
            })
            .await
    }

    /// What is left of it.
    fn erased(&self, mut traces: Traces) -> Traces {
        let ReplacementAnswer { status, body } = self.erasure().replacement;
        traces.ended.forget();
        traces.cancelled.forget();
        for job in &mut traces.jobs {
            job.last_error = None;
        }
        let answers = [&mut traces.answers.says, &mut traces.answers.about];
        for answer in answers.into_iter().flatten() {
            answer.status = status;
            answer.body.clone_from(&body);
            answer.is_existing = false;
        }
        traces.unclaimed.clear();
        traces
    }

    async fn traces(&self) -> Traces {
        let customer = self.customer.id;
        let [says, about, of_erasure, other] = self.keys();
        Traces {
            ended: self.traces_of(&self.ended).await,
            running: self.traces_of(&self.running).await,
            cancelled: self.document_of(&self.cancelled).await,
            jobs: self.jobs(JobSubject::Customer(customer)).await,
            answers: Answers {
                says: self.kept(&says).await,
                about: self.kept(&about).await,
                of_erasure: self.kept(&of_erasure).await,
                other: self.kept(&other).await,
            },
            unclaimed: self.unclaimed().await,
            waiting: self.waiting().await,
        }
    }

    async fn traces_of(&self, checkout: &Checkout) -> TracesOfCheckout {
        let id: CheckoutPubId = checkout.id;
        let shipment = tracking_of(checkout);
        let clause = "what is known of a checkout is read";
        let (history, events) = self
            .shop
            .seen(clause, async |view| {
                let history = view.checkouts().history(id).await?;
                let events = view.shipments().list(id, shipment).await?;
                Ok((history, events))
            })
            .await;
        TracesOfCheckout {
            history,
            events,
            jobs: self.jobs(JobSubject::Checkout(id)).await,
            document: self.document_of(checkout).await,
        }
    }

    async fn jobs(&self, subject: JobSubject) -> Vec<Job> {
        let filter = JobFilter {
            state: Some(JobState::Dead),
            subject: Some(subject),
        };
        self.shop
            .seen("jobs.list: lists", async |view| {
                view.jobs().list(&filter, 9).await
            })
            .await
    }

    async fn kept(&self, key: &IdempotencyKey) -> Option<StoredAnswer> {
        let since = self.since;
        self.shop
            .seen("idempotency.find: reads", async |view| {
                view.idempotency().find(key, since).await
            })
            .await
    }

    async fn unclaimed(&self) -> Vec<TrackingEvent> {
        let shipment = tracking_of(&self.ended);
        self.shop
            .seen_by_server("shipments.unclaimed: reads", async |view| {
                view.shipments().unclaimed(shipment).await
            })
            .await
    }

    async fn waiting(&self) -> Option<InboxMessage> {
        self.shop
            .done_for_server("inbox.lock_one: locks", async |uow| {
                uow.inbox().lock_one(&self.source, "waiting").await
            })
            .await
    }
}
