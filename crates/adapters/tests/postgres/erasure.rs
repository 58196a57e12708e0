//! What an erasure leaves of a person in the database: every table is looked through, whoever wrote it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lessor_adapters::testing::{TestDatabase, is_cluster};
use lessor_domain::access::{Access, KeyKind, Mode, Permissions};
use lessor_domain::address::Address;
use lessor_domain::agreement::{
    AgreementEventKind, AgreementRecord, Happening, Sha256, Signed, SignerKind,
};
use lessor_domain::audit::AuditViewer;
use lessor_domain::catalog::ProductVariant;
use lessor_domain::checkout::{
    Actor, Attention, AttentionReason, Checkout, Effect, EventKind, Lifecycle, PaymentFailure,
    PaymentMethod, Snapshot, State, Tracking, Transition, Waitlist,
};
use lessor_domain::credit::{CreditDecision, Qualification, QualificationSource};
use lessor_domain::customer::{Customer, Profile};
use lessor_domain::events::EventType;
use lessor_domain::ids::{AgreementPubId, CustomerPubId};
use lessor_domain::ports::{
    AuditFilter, DeliveryClaim, IdGenerator, IdempotencyKey, InboxMessage, JobSubject,
    NewAgreement, NewJob, Page, PersonalTable, ReplacementAnswer, Start, StoreError, StoredAnswer,
};
use lessor_domain::services::customers::{CustomerChanges, UpdateCustomer};
use lessor_domain::services::erasure::{EraseCustomer, ErasureReport};
use lessor_domain::services::{Patch, UseCase as _};
use lessor_domain::shipments::{
    Carrier, CarrierReport, EventOrigin, TrackingEvent, TrackingNumber, TrackingStatus,
};
use lessor_domain::testing::{altered, context, metadata};
use lessor_domain::time::Timestamp;
use lessor_domain::webhooks::{AttemptResult, NewDelivery, Occasion};

use super::leasing::{insert, somebody};
use super::support::{Shop, run};

/// Longer than any test takes.
const LEASE: Duration = Duration::from_secs(3_600);

/// Who sends the messages.
const PROCESSOR: &str = "processor";

/// Tables that never tell of anybody in words: keys, what is sealed with them, marks of addresses, and the
/// books.
const SILENT: &[PersonalTable] = &[
    PersonalTable::AuditEvents,
    PersonalTable::CustomerKeys,
    PersonalTable::Events,
    PersonalTable::LedgerEntries,
    PersonalTable::MailSuppressions,
    PersonalTable::Mails,
];

fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

/// Every row of every table, as text.
async fn dump(test: &TestDatabase) -> BTreeMap<String, Vec<String>> {
    let tables = test
        .query(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace \
             AND relkind IN ('r', 'p') AND relname NOT LIKE 'citus_%'",
        )
        .await;
    let mut dumped = BTreeMap::new();
    for table in tables {
        let sql = format!("SELECT kept::text FROM \"{table}\" AS kept");
        dumped.insert(table, test.query(&sql).await);
    }
    dumped
}

/// Whether the row tells the word; bytes are shown as hexadecimal digits.
fn tells(row: &str, word: &str) -> bool {
    let bytes: String = word.bytes().map(|byte| format!("{byte:02x}")).collect();
    row.to_lowercase().contains(word) || row.contains(&bytes)
}

/// The rows that tell the word, by table.
async fn telling(test: &TestDatabase, word: &str) -> BTreeMap<String, Vec<String>> {
    let mut dumped = dump(test).await;
    for rows in dumped.values_mut() {
        rows.retain(|row| tells(row, word));
        rows.sort();
    }
    dumped.retain(|_, rows| !rows.is_empty());
    dumped
}

/// The tables that tell the word.
async fn tables(test: &TestDatabase, word: &str) -> BTreeSet<String> {
    telling(test, word).await.into_keys().collect()
}

/// A shop whose clerk erases customers.
struct Bureau {
    shop: Shop,
    clerk: Customer,
    variant: ProductVariant,
}

impl Bureau {
    async fn open() -> Self {
        let shop = Shop::open().await;
        Self {
            clerk: somebody(&shop).await,
            variant: shop.variant(100).await,
            shop,
        }
    }

    fn access(&self) -> Access {
        Access {
            key_id: self.shop.make.id(),
            key_name: None,
            organization_id: self.shop.organization.id,
            organization_pub_id: self.shop.organization.pub_id,
            user_id: self.clerk.user_id,
            user_pub_id: self.clerk.id,
            kind: KeyKind::Secret,
            mode: Mode::Sandbox,
            permissions: Permissions::all(),
            sandbox_writes_catalog: true,
        }
    }

    async fn erase(&self, id: CustomerPubId) -> ErasureReport {
        let (access, now) = (self.access(), self.shop.make.tick());
        let erase = EraseCustomer {
            id,
            replacement: ReplacementAnswer {
                status: 404,
                body: br#"{"error":"no such customer"}"#.to_vec(),
            },
        };
        let mut uow = self.shop.begin().await;
        let ctx = context(&access, now, self.shop.make.ids());
        let report = erase.run(uow.as_mut(), &ctx).await.unwrap();
        uow.commit().await.unwrap();
        report
    }

    /// Changes what the customer is called, as a key does: the audit tells of it.
    async fn rename(&self, id: CustomerPubId, word: &str) {
        let (access, now) = (self.access(), self.shop.make.tick());
        let update = UpdateCustomer {
            id,
            changes: CustomerChanges {
                last_name: Patch::Set(parsed(&format!("{word}-renamed"))),
                ..CustomerChanges::default()
            },
        };
        let mut uow = self.shop.begin().await;
        let ctx = context(&access, now, self.shop.make.ids());
        update.run(uow.as_mut(), &ctx).await.unwrap();
        uow.commit().await.unwrap();
    }
}

/// Somebody who says the word wherever anything can be said.
struct Person<'b> {
    bureau: &'b Bureau,
    word: &'static str,
    customer: Customer,
    /// Returned, called off, and on its way.
    checkouts: Vec<Checkout>,
}

impl<'b> Person<'b> {
    async fn of(bureau: &'b Bureau, word: &'static str) -> Self {
        let mut person = Self {
            customer: customer(bureau, word).await,
            bureau,
            word,
            checkouts: Vec::new(),
        };
        for state in [
            Lifecycle::Returned,
            Lifecycle::Cancelled,
            Lifecycle::WaitlistedLocation,
        ] {
            let checkout = person.checkout(state).await;
            person.checkouts.push(checkout);
        }
        person.fail(JobSubject::Customer(person.customer.id)).await;
        person.answer().await;
        person.be_told("handled").await;
        person
    }

    fn says(&self, what: &str) -> String {
        format!("{}-{what}", self.word)
    }

    /// A checkout in the state that says the word wherever it can.
    async fn checkout(&self, state: Lifecycle) -> Checkout {
        let shop = &self.bureau.shop;
        let number = shop.make.ids().next().simple().to_string();
        let builder = shop.make.checkout(&self.customer, &self.bureau.variant);
        let checkout = builder.at(state).with(|it| self.speak(it, &number)).build();
        insert(shop.database(), &checkout).await;
        self.go_through(&checkout).await;
        self.simulate(&checkout).await;
        self.judge(&checkout).await;
        // The agreements of leases are kept.
        if state == Lifecycle::Cancelled {
            self.sign(&checkout).await;
        }
        checkout
    }

    /// The organization decides about their credit.
    async fn judge(&self, checkout: &Checkout) {
        let shop = &self.bureau.shop;
        let decided = Qualification {
            id: shop.make.ids().next(),
            checkout: checkout.id,
            customer: checkout.customer_id,
            decision: CreditDecision::Approved,
            source: QualificationSource::Organization,
            key: None,
            reasons: Vec::new(),
            reference: Some(parsed(&self.says("case"))),
            amount: None,
            rests_on: None,
            decided_at: shop.make.tick(),
            expires_at: None,
            ended_at: None,
        };
        shop.run(async |uow| uow.qualifications().insert(&decided).await)
            .await
            .unwrap();
    }

    /// They sign an agreement that tells of them.
    async fn sign(&self, checkout: &Checkout) {
        let shop = &self.bureau.shop;
        let id: AgreementPubId = shop.make.id();
        let (at, pdf) = (shop.make.tick(), self.says("agreement").into_bytes());
        let document = NewAgreement {
            record: AgreementRecord {
                id,
                organization_id: checkout.organization_id,
                checkout_id: checkout.id,
                sha256: Sha256::of(&pdf),
                terms_version: None,
                signer: SignerKind::Http,
                created_at: at,
                signed_at: None,
                signer_name: None,
                consent_version: None,
                signer_reference: None,
            },
            pdf,
        };
        let (address, agent, name) = (
            self.says("address"),
            self.says("browser"),
            self.says("name"),
        );
        let by = Signed {
            name,
            at,
            consent_version: Some("1".to_owned()),
            reference: Some(parsed(&self.says("envelope"))),
        };
        let kind = AgreementEventKind::Signed;
        let signed = Happening::new(kind, at, Some(address), Some(&agent));
        shop.run(async |uow| {
            uow.agreements().insert(&document).await?;
            uow.agreements().append(id, &signed).await?;
            uow.agreements().sign(id, &by).await
        })
        .await
        .unwrap();
    }

    fn address(&self) -> Address {
        Address {
            first_name: Some(parsed(&self.says("given"))),
            last_name: Some(parsed(&self.says("family"))),
            company: Some(parsed(&self.says("company"))),
            address1: parsed(&self.says("street")),
            address2: Some(parsed(&self.says("floor"))),
            city: parsed(&self.says("city")),
            phone: Some(parsed(&self.says("phone"))),
            ..self.bureau.shop.make.address()
        }
    }

    fn speak(&self, it: &mut Snapshot, number: &str) {
        let at = it.created_at;
        it.redirects.success = Some(parsed(&format!(
            "https://shop.example.com/{}",
            self.says("ok")
        )));
        let given = self.address();
        it.given_profile = Some(Profile {
            first_name: given.first_name,
            last_name: given.last_name,
            address1: Some(given.address1),
            address2: given.address2,
            phone: given.phone,
            ..Profile::default()
        });
        it.billing.address = Some(self.address());
        it.shipping.address = Some(self.address());
        let (key, value) = (self.says("key"), self.says("value"));
        it.metadata = metadata(&[(key.as_str(), value.as_str())]);
        it.deposit_method_id = Some(self.says("method"));
        it.recurring.method = Some(PaymentMethod {
            id: self.says("method"),
            kind: "card".to_owned(),
            brand: Some(self.says("brand")),
            last4: Some("4242".to_owned()),
            exp_month: Some(12),
            exp_year: Some(2030),
        });
        it.recurring.last_failure = Some(PaymentFailure {
            message: self.says("declined"),
            code: "card_declined".to_owned(),
            at,
        });
        it.shipment.tracking = Some(Tracking {
            number: TrackingNumber::parse(number).unwrap(),
            carrier: Carrier::Ups,
        });
        it.shipment.signed_by = Some(parsed(&self.says("signature")));
        it.return_.reason = Some(parsed(&self.says("reason")));
        it.return_.notes = Some(parsed(&self.says("notes")));
        let waitlist = it.waitlist.take().unwrap_or_else(Waitlist::for_stock);
        it.waitlist = Some(Waitlist {
            address: Some(self.address()),
            ..waitlist
        });
        it.cancel_reason = Some(parsed(&self.says("cancelled")));
        it.attention = vec![Attention {
            reason: AttentionReason::ProcessorRefused,
            since: at,
            detail: Some(format!("voidDeposit: {}", self.says("refused"))),
        }];
    }

    fn reported(&self, at: Timestamp) -> TrackingEvent {
        TrackingEvent {
            reported: CarrierReport {
                at,
                status: TrackingStatus::Delivered,
                description: Some(parsed(&self.says("description"))),
                location: Some(parsed(&self.says("location"))),
                signed_by: Some(parsed(&self.says("signature"))),
                estimated_delivery: None,
            },
            origin: EventOrigin::Webhook,
            received_at: at,
        }
    }

    /// The checkout has a history, and its carrier and a provider said something.
    async fn go_through(&self, checkout: &Checkout) {
        let at = self.bureau.shop.make.tick();
        let transition = Transition {
            from: Lifecycle::Created,
            event: EventKind::Opened,
            to: Lifecycle::ProfilePending,
            at,
            actor: Actor::Customer,
            key: None,
            reason: Some(parsed(&self.says("why"))),
        };
        let event = self.reported(at);
        let tracking = checkout.shipment.tracking.as_ref().unwrap();
        self.bureau
            .shop
            .run(async |uow| {
                uow.checkouts().record(checkout.id, &[transition]).await?;
                uow.shipments()
                    .insert(checkout.id, tracking, &event)
                    .await?;
                uow.shipments().keep_unclaimed(tracking, &event).await
            })
            .await
            .unwrap();
        self.fail(JobSubject::Checkout(checkout.id)).await;
        self.tell(checkout).await;
    }

    /// An endpoint is told of the checkout, and says something.
    async fn tell(&self, checkout: &Checkout) {
        let shop = &self.bureau.shop;
        let endpoint = shop.make.webhook_endpoint(&shop.organization);
        let now = shop.make.tick();
        let new = NewDelivery {
            id: shop.make.id(),
            organization_id: shop.organization.id,
            mode: Mode::Sandbox,
            endpoint_id: endpoint.id,
            event_id: shop.make.id(),
            occasion: Occasion::Event(EventType::CheckoutUpdated),
            subject: checkout.id.as_uuid(),
            sequence: 1,
            created_at: now,
        };
        let answered = AttemptResult::Answered {
            status: 500,
            body: self.says("nobody here is called"),
            retry_after: None,
        };
        let one = DeliveryClaim {
            limit: 1,
            per_endpoint: 1,
            lease: LEASE,
            slow_after: LEASE,
        };
        shop.run(async |uow| {
            uow.webhook_endpoints().insert(&endpoint).await?;
            uow.deliveries().queue(&[new]).await?;
            let claimed = uow.deliveries().claim(now, one).await?;
            for mut delivery in claimed {
                delivery.tried(answered.clone(), 1, now, 0);
                uow.deliveries().settle(&delivery).await?;
            }
            Ok(())
        })
        .await
        .unwrap();
    }

    /// A job about the subject is given up.
    async fn fail(&self, subject: JobSubject) {
        let shop = &self.bureau.shop;
        let now = shop.make.tick();
        let new = NewJob {
            id: shop.make.ids().next(),
            effect: Effect::VoidDeposit,
            subject,
            organization_id: shop.organization.id,
            mode: Mode::Sandbox,
            created_at: now,
            available_at: now,
            is_held: false,
            units: None,
        };
        let why = self.says("error");
        shop.run(async |uow| {
            uow.jobs().push(&[new]).await?;
            let job = uow.jobs().claim_of(subject, now, LEASE).await?.unwrap();
            uow.jobs().bury(&job, &why).await
        })
        .await
        .unwrap();
    }

    /// What the simulated providers know of the checkout.
    async fn simulate(&self, checkout: &Checkout) {
        let id = checkout.id.as_uuid();
        let customer = self.customer.id.as_uuid();
        let number = self.bureau.shop.organization.id;
        let (email, name) = (&self.customer.email, self.says("name"));
        let sql = format!(
            "INSERT INTO simulated_customers VALUES \
                 ({number}, 'cus_{customer}', '{customer}', '{email}', '{name}', '{name}', now()) \
                 ON CONFLICT DO NOTHING; \
             INSERT INTO simulated_payment_methods \
                 VALUES ({number}, 'pm_{id}', '{customer}', 'pm_{id}', '{{}}', now()); \
             INSERT INTO simulated_payment_intents (organization_id, id, checkout_id, customer_id, \
                 email, amount_minor, currency, payment_method_id, status, expires_at, created_at) \
                 VALUES ({number}, 'pi_{id}', '{id}', '{customer}', '{email}', 1, 'USD', 'pm_{id}', \
                 'voided', now(), now()); \
             INSERT INTO simulated_subscriptions VALUES ({number}, 'sub_{id}', '{id}', '{email}', \
                 'pm_{id}', 1, 'USD', now(), 1, now(), now(), 'cancelled', now(), now()); \
             INSERT INTO simulated_identity_sessions \
                 VALUES ({number}, 'vs_{id}', '{id}', '{customer}', '{email}', now())"
        );
        self.bureau.shop.test.execute(&sql).await;
    }

    /// An answer to a request is kept that tells of them.
    async fn answer(&self) {
        let shop = &self.bureau.shop;
        let key = IdempotencyKey {
            organization_id: shop.organization.id,
            mode: Mode::Sandbox,
            path: "POST /v1/checkouts".to_owned(),
            key: self.says("order"),
        };
        let (id, email) = (self.customer.id, &self.customer.email);
        let answer = StoredAnswer {
            request_hash: [5; 32],
            status: 200,
            body: format!(r#"{{"id":"{id}","email":"{email}"}}"#).into_bytes(),
            is_existing: false,
            is_final: true,
            created_at: shop.make.tick(),
        };
        shop.run(async |uow| uow.idempotency().put(&key, &answer).await)
            .await
            .unwrap();
    }

    /// A message of the processor comes that tells of them.
    async fn be_told(&self, id: &str) {
        let shop = &self.bureau.shop;
        let at = shop.make.tick();
        let body = format!(r#"{{"of":"{}","name":"{}"}}"#, self.customer.id, self.word);
        let message = InboxMessage {
            source: PROCESSOR.to_owned(),
            id: format!("{id}-{}", self.customer.id),
            mode: Mode::Sandbox,
            organization_id: None,
            body: body.into_bytes(),
            received_at: at,
        };
        run(shop.database(), shop.reach(), async |uow| {
            uow.inbox().insert(&message).await
        })
        .await
        .unwrap();
        if id == "handled" {
            self.handle(id).await;
        }
    }

    /// The message is handled.
    async fn handle(&self, id: &str) {
        let shop = &self.bureau.shop;
        let at = shop.make.tick();
        let id = format!("{id}-{}", self.customer.id);
        run(shop.database(), shop.reach(), async |uow| {
            uow.inbox().mark_handled(PROCESSOR, &id, at).await
        })
        .await
        .unwrap();
    }
}

/// A customer who says the word in every member.
async fn customer(bureau: &Bureau, word: &str) -> Customer {
    let says = |what: &str| format!("{word}-{what}");
    let shop = &bureau.shop;
    let mut customer = somebody(shop).await;
    customer.email = parsed(&format!("{word}@example.com"));
    customer.profile = Profile {
        first_name: Some(parsed(&says("given"))),
        last_name: Some(parsed(&says("family"))),
        address1: Some(parsed(&says("street"))),
        address2: Some(parsed(&says("floor"))),
        city: Some(parsed(&says("city"))),
        phone: Some(parsed(&says("phone"))),
        ..customer.profile
    };
    customer.screening.verification_session_id = Some(says("session"));
    customer.screening.credit_ip_address = Some(says("address"));
    customer.screening.processor_id = Some(format!("cus_{}", customer.id.as_uuid()));
    let (key, value) = (says("key"), says("value"));
    customer.metadata = metadata(&[(key.as_str(), value.as_str())]);
    shop.run(async |uow| uow.customers().update(&mut customer).await)
        .await
        .unwrap();
    bureau.rename(customer.id, word).await;
    customer
}

/// The tables in which somebody who says a word everywhere is told of.
fn all() -> BTreeSet<String> {
    PersonalTable::ALL
        .iter()
        .filter(|table| !SILENT.contains(table))
        .map(ToString::to_string)
        .collect()
}

#[tokio::test]
async fn nothing_of_a_person_is_left_anywhere() {
    const WORD: &str = "zanzibarfalke";
    const OTHER: &str = "quittenmarmelade";
    let bureau = Bureau::open().await;
    let test = &bureau.shop.test;
    let person = Person::of(&bureau, WORD).await;
    let other = Person::of(&bureau, OTHER).await;
    assert_eq!(tables(test, WORD).await, all(), "everything is said");
    let before = telling(test, OTHER).await;
    assert_eq!(before.keys().cloned().collect::<BTreeSet<_>>(), all());

    let report = bureau.erase(person.customer.id).await;

    let left = telling(test, WORD).await;
    assert!(left.is_empty(), "{left:#?}");
    assert_eq!(
        telling(test, OTHER).await,
        before,
        "others are as they were"
    );
    let mut erased: BTreeSet<String> = report.erased.iter().map(ToString::to_string).collect();
    assert!(
        erased.remove(PersonalTable::CustomerKeys.as_str()),
        "what is sealed is closed for good"
    );
    assert_eq!(erased, all(), "the answer tells where something was");
    let keys = "SELECT customer_id FROM customer_keys";
    let others = [other.customer.id.as_uuid().to_string()];
    assert_eq!(test.query(keys).await, others);
    let filter = AuditFilter {
        subject: Some(person.customer.id.into()),
        actor: None,
    };
    let page = Page {
        start: Start::Offset(1),
        limit: 9,
    };
    let mut view = bureau.shop.view().await;
    let organization = bureau.shop.organization.id;
    let told = view
        .audit()
        .list(organization, AuditViewer::Live, &filter, page)
        .await
        .unwrap();
    assert_eq!(told.len(), 1, "behind the erasure");
    assert!(told.iter().all(|event| event.change.is_empty()));
    // Nothing of it is broken.
    for checkout in &person.checkouts {
        let known = view.checkouts().get(checkout.id).await.unwrap().unwrap();
        assert!(known.lifecycle().is_ended());
    }
    drop(view);

    let again = bureau.erase(person.customer.id).await;
    assert!(again.erased.is_empty(), "{again:?}");
}

#[tokio::test]
async fn a_lease_that_goes_on_is_told_of_where_the_answer_says() {
    const WORD: &str = "zanzibarfalke";
    let bureau = Bureau::open().await;
    let test = &bureau.shop.test;
    let person = Person::of(&bureau, WORD).await;
    let mut lease = person.checkout(Lifecycle::LeaseActive).await;
    person.be_told("waiting").await;

    let report = bureau.erase(person.customer.id).await;

    let kept: BTreeSet<String> = report.kept.iter().map(|it| it.what.to_string()).collect();
    let told = tables(test, WORD).await;
    let unsaid: Vec<_> = told.difference(&kept).collect();
    assert!(unsaid.is_empty(), "{unsaid:?} of {told:?}");
    for table in [
        PersonalTable::Customers,
        PersonalTable::CheckoutApplications,
        PersonalTable::InboxMessages,
    ] {
        assert!(told.contains(table.as_str()), "{table}: {told:?}");
    }
    for table in [
        PersonalTable::CustomerMetadata,
        PersonalTable::IdempotencyAnswers,
        PersonalTable::SimulatedIdentitySessions,
    ] {
        assert!(!told.contains(table.as_str()), "{table}: {told:?}");
    }

    let mut view = bureau.shop.view().await;
    lease = view.checkouts().get(lease.id).await.unwrap().unwrap();
    drop(view);
    let mut ended = altered(&lease, |it| it.state = State::new(Lifecycle::Returned));
    bureau
        .shop
        .run(async |uow| uow.checkouts().update(&mut ended).await)
        .await
        .unwrap();
    person.handle("waiting").await;
    bureau.erase(person.customer.id).await;
    let left = telling(test, WORD).await;
    assert!(left.is_empty(), "{left:#?}");
}

/// Whoever orders at the moment of an erasure orders as somebody else, or is found by it.
#[tokio::test]
async fn nobody_who_was_erased_orders_anything() {
    let bureau = Bureau::open().await;
    let shop = &bureau.shop;
    let customer = somebody(shop).await;
    let late = shop.make.checkout(&customer, &bureau.variant).build();
    bureau.erase(customer.id).await;
    let refused = shop
        .run(async |uow| uow.checkouts().insert(&late, &[]).await)
        .await;
    // What a node of a cluster says at the commit nobody is told.
    let is_refused = match &refused {
        Err(StoreError::Contended) => true,
        Err(StoreError::Unavailable(_)) => is_cluster(),
        _ => false,
    };
    assert!(is_refused, "{refused:?}");
    let mut view = shop.view().await;
    assert_eq!(view.checkouts().get(late.id).await.unwrap(), None);
}
