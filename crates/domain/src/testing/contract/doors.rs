//! What is asked across organizations.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use chrono::TimeDelta;

use super::checkout_watches::watched;
use super::deliveries::CLAIM;
use super::full;
use super::processor_accounts::processor_account;
use super::shop::{Shop, must};
use crate::access::Mode;
use crate::checkout::{
    AttentionReason, Billing, Checkout, Deposit, Effect, Hold, InvoiceOutcome, Lifecycle, State,
};
use crate::customer::Customer;
use crate::ids::{CheckoutPubId, OrganizationId};
use crate::ledger::{Entry, HoldState, RefundState, SubscriptionState, Thing};
use crate::mail::Posted;
use crate::money::{Currency, Money};
use crate::ports::{
    Backlog, Database, Doors, Errand, Held, IdGenerator, IdempotencyKey, Job, JobSubject,
    MailBacklog, NewJob, PageToken, StoreError, StoredAnswer,
};
use crate::testing::{CheckoutBuilder, altered};
use crate::time::Timestamp;
use crate::webhooks::EndpointHealth;

/// Longer than any suite takes, by whatever clock.
const LEASE: Duration = Duration::from_secs(36_000_000);

/// The doors. What is counted over all organizations is counted while nobody else makes or takes
/// any of it.
///
/// # Panics
/// With the clause that is broken.
pub async fn doors(database: &dyn Database) {
    let street = Street::open(database).await;
    checkouts_and_their_pages_have_owners(&street).await;
    payments_have_owners(&street).await;
    verifications_have_owners(&street).await;
    jobs_have_owners(&street).await;
    mails_have_owners(&street).await;
    shipments_have_owners(&street).await;
    due_jobs_are_errands(&Street::open(database).await).await;
    untouched_checkouts_are_errands(&Street::open(database).await).await;
    lapsing_deposits_are_errands(&Street::open(database).await).await;
    ended_leases_are_errands(&Street::open(database).await).await;
    missing_subscriptions_are_errands(&Street::open(database).await).await;
    silent_shipments_are_errands(&Street::open(database).await).await;
    shipments_under_way_are_errands(&Street::open(database).await).await;
    billed_checkouts_are_errands(&Street::open(database).await).await;
    own_accounts_are_errands(&Street::open(database).await).await;
    old_answers_are_errands(&Street::open(database).await).await;
    old_jobs_are_errands(&Street::open(database).await).await;
    events_are_errands(&Street::open(database).await).await;
    deliveries_are_errands(&Street::open(database).await).await;
    mails_are_errands(&Street::open(database).await).await;
    endings_are_errands(&Street::open(database).await).await;
    let _queues = super::QUEUES.lock().await;
    let _watches = super::WATCHES.lock().await;
    mails_are_counted(&Street::open(database).await).await;
    reasons_to_look_are_counted(&street).await;
    states_are_counted(&street).await;
    jobs_are_counted(&street).await;
    what_is_held_is_counted(&street).await;
}

/// Two organizations.
struct Street<'d> {
    shop: Shop<'d>,
    neighbour: Shop<'d>,
}

impl<'d> Street<'d> {
    async fn open(database: &'d dyn Database) -> Self {
        let shop = Shop::open(database).await;
        Self {
            neighbour: shop.neighbour().await,
            shop,
        }
    }

    fn shops(&self) -> [&Shop<'d>; 2] {
        [&self.shop, &self.neighbour]
    }

    /// The door's answer, which is the same whomever the work reaches that asks.
    async fn ask<T: PartialEq + Debug>(
        &self,
        clause: &str,
        look: impl AsyncFn(&mut dyn Doors) -> Result<T, StoreError>,
    ) -> T {
        let answer = self
            .shop
            .seen_by_server(clause, async |view| look(view.doors()).await)
            .await;
        for shop in self.shops() {
            let same = shop
                .seen(clause, async |view| look(view.doors()).await)
                .await;
            assert_eq!(answer, same, "{clause}, whomever the work reaches");
        }
        answer
    }

    /// Whether the first of the two, and never the second, has such work.
    async fn has(&self, errand: Errand) -> bool {
        let (shop, neighbour) = (self.shop.organization.id, self.neighbour.organization.id);
        let (has, neighbour_has) = self
            .ask("doors.owners_with: answers", async |doors| {
                let owners = doors.owners_with(errand).await?;
                assert!(
                    owners.is_sorted_by(|one, next| one < next),
                    "doors.owners_with: each once, in the order of their numbers"
                );
                Ok((owners.contains(&shop), owners.contains(&neighbour)))
            })
            .await;
        assert!(
            !neighbour_has,
            "doors.owners_with: nobody without {errand:?}"
        );
        assert_eq!(
            has,
            finds(&self.shop, errand).await,
            "doors.owners_with: those whose own stores find something for {errand:?}, and no others"
        );
        has
    }
}

/// Whether the organization's own stores find such work. Nothing is kept of what they do for it.
async fn finds(shop: &Shop<'_>, errand: Errand) -> bool {
    let mut uow = shop.begin().await;
    let checkouts = |found: Vec<CheckoutPubId>| !found.is_empty();
    let found = match errand {
        Errand::Jobs { due } => {
            let claimed = uow.jobs().claim(due, LEASE, 1).await;
            claimed.map(|claimed| !claimed.is_empty())
        }
        Errand::Expiry { before } => {
            let found = uow.checkouts().untouched_since(before, 1).await;
            found.map(checkouts)
        }
        Errand::Lapse { before } => {
            let found = uow.checkouts().lapsing_before(before, None, 1).await;
            found.map(checkouts)
        }
        Errand::LeaseEnd { before } => {
            let found = uow.checkouts().leases_ended_before(before, 1).await;
            found.map(checkouts)
        }
        Errand::Billing { before } => {
            let found = uow.checkouts().unbilled_since(before, 1).await;
            found.map(checkouts)
        }
        Errand::Silence { before } => {
            let found = uow.checkouts().silent_since(before, 1).await;
            found.map(checkouts)
        }
        Errand::Shipments => uow.checkouts().under_way(1).await.map(checkouts),
        Errand::Billed { mode } => {
            let found = uow.checkouts().billed(mode, None, 1).await;
            found.map(checkouts)
        }
        Errand::OwnAccount { mode } => {
            let owner = shop.organization.id;
            let found = uow.processor_accounts().get(owner, mode).await;
            found.map(|found| found.is_some())
        }
        Errand::OldAnswers { before } => {
            let purged = uow.idempotency().purge(before).await;
            purged.map(|count| count > 0)
        }
        Errand::OldJobs { before } => {
            let purged = uow.jobs().purge_done(before).await;
            purged.map(|count| count > 0)
        }
        Errand::UnnumberedEvents => uow.events().are_waiting(shop.sandbox()).await,
        Errand::OldEvents { before } => {
            let purged = uow.events().purge(before, 1).await;
            purged.map(|count| count > 0)
        }
        Errand::Deliveries { due } => {
            let claimed = uow.deliveries().claim(due, CLAIM).await;
            claimed.map(|claimed| !claimed.is_empty())
        }
        Errand::OldDeliveries { before } => {
            let purged = uow.deliveries().purge(before, 1).await;
            purged.map(|count| count > 0)
        }
        Errand::Mails { due } => {
            let claimed = uow.mails().claim(due, LEASE, 1).await;
            claimed.map(|claimed| !claimed.is_empty())
        }
        Errand::OldMails { before } => {
            let purged = uow.mails().purge(before, 1).await;
            purged.map(|count| count > 0)
        }
        Errand::Endings { mode, from, before } => {
            let found = uow.mails().ending(mode, from, before, 1).await;
            found.map(checkouts)
        }
    };
    let found = must(found, "doors.owners_with: the stores look for the work");
    must(uow.roll_back().await, "roll_back: ends a unit of work");
    found
}

fn days_after(at: Timestamp, days: i64) -> Timestamp {
    at.checked_add_signed(TimeDelta::days(days)).unwrap_or(at)
}

/// A moment later.
fn after(at: Timestamp) -> Timestamp {
    at.checked_add_signed(TimeDelta::milliseconds(1))
        .unwrap_or(at)
}

/// Ends the checkout as no event would.
async fn end(shop: &Shop<'_>, checkout: &Checkout) {
    let mut ended = altered(checkout, |it| it.state = State::new(Lifecycle::Cancelled));
    shop.done("checkouts.update: writes", async |uow| {
        uow.checkouts().update(&mut ended).await
    })
    .await;
}

fn shipped(builder: CheckoutBuilder, number: &str) -> CheckoutBuilder {
    builder
        .at(Lifecycle::Shipped)
        .with(|it| it.shipment.tracking = Some(full::tracking(number)))
}

fn job(shop: &Shop<'_>, subject: JobSubject) -> NewJob {
    let now = shop.make.tick();
    NewJob {
        id: shop.make.ids().next(),
        effect: Effect::CheckCredit,
        subject,
        organization_id: shop.organization.id,
        mode: Mode::Sandbox,
        created_at: now,
        available_at: now,
        is_held: false,
        units: None,
    }
}

async fn push(shop: &Shop<'_>, jobs: &[NewJob]) {
    shop.done("jobs.push: keeps jobs", async |uow| {
        uow.jobs().push(jobs).await
    })
    .await;
}

/// Takes the first open job of the subject.
async fn take(shop: &Shop<'_>, subject: JobSubject) -> Job {
    let now = shop.make.tick();
    let taken = shop
        .done("jobs.claim_of: claims", async |uow| {
            uow.jobs().claim_of(subject, now, LEASE).await
        })
        .await;
    match taken {
        Some(job) => job,
        None => panic!("jobs.claim_of: the first open job of the subject"),
    }
}

async fn complete(shop: &Shop<'_>, job: &Job, at: Timestamp) {
    let done = shop
        .done("jobs.complete: answers", async |uow| {
            uow.jobs().complete(job, at).await
        })
        .await;
    assert!(
        done,
        "jobs.complete: the attempt that holds the job may say so"
    );
}

fn entry(checkout: &Checkout, id: &str, at: Timestamp, thing: Thing) -> Entry {
    Entry {
        id: id.to_owned(),
        checkout: checkout.id,
        amount: Money::from_minor(12_345, Currency::USD),
        at,
        thing,
    }
}

async fn put(shop: &Shop<'_>, entry: &Entry) {
    shop.done("ledger.put: writes", async |uow| {
        uow.ledger().put(entry).await
    })
    .await;
}

async fn checkouts_and_their_pages_have_owners(street: &Street<'_>) {
    let owner_of = async |id: CheckoutPubId| {
        street
            .ask("doors.owner_of_checkout: answers", async |doors| {
                doors.owner_of_checkout(id).await
            })
            .await
    };
    let opener = async |token: PageToken| {
        street
            .ask("doors.owner_of_page: answers", async |doors| {
                doors.owner_of_page(&token).await
            })
            .await
    };
    for shop in street.shops() {
        let owner = Some(shop.organization.id);
        let checkout = shop.any_checkout(|checkout| checkout).await;
        let (nonce, kept) = (checkout.page_nonce, [7; 32]);
        shop.done("checkouts.set_page_tokens: writes", async |uow| {
            uow.checkouts().set_page_tokens(checkout.id, &[kept]).await
        })
        .await;
        for _ in 0..2 {
            assert_eq!(
                owner_of(checkout.id).await,
                owner,
                "doors.owner_of_checkout: whose it is, ended or not"
            );
            assert_eq!(
                opener(PageToken::Proven { nonce }).await,
                owner,
                "doors.owner_of_page: by what is proven"
            );
            let hash = kept;
            assert_eq!(
                opener(PageToken::Unproven { nonce, hash }).await,
                owner,
                "doors.owner_of_page: by a token that is kept"
            );
            let ended = shop
                .seen("checkouts.get: reads", async |view| {
                    view.checkouts().get(checkout.id).await
                })
                .await;
            end(shop, &ended.unwrap_or_else(|| checkout.clone())).await;
        }
        let hash = [8; 32];
        assert_eq!(
            opener(PageToken::Unproven { nonce, hash }).await,
            None,
            "doors.owner_of_page: not by a token that nobody kept"
        );
        assert_eq!(
            owner_of(shop.make.id()).await,
            None,
            "doors.owner_of_checkout: nobody's that is not there"
        );
        let nonce = shop.make.ids().next().into_bytes();
        assert_eq!(
            opener(PageToken::Proven { nonce }).await,
            None,
            "doors.owner_of_page: not by a nonce of no page"
        );
        pages_that_ended_have_owners(street, shop).await;
    }
}

/// A page that was given another address is known by the old one, and opened by the new one alone.
async fn pages_that_ended_have_owners(street: &Street<'_>, shop: &Shop<'_>) {
    let checkout = shop.any_checkout(|checkout| checkout).await;
    let (id, nonce, hash) = (checkout.id, checkout.page_nonce, [7; 32]);
    let next = shop.make.ids().next().into_bytes();
    let tokens = [
        PageToken::Proven { nonce },
        PageToken::Unproven { nonce, hash },
    ];
    let owners = async |token: PageToken| {
        let opened = street
            .ask("doors.owner_of_page: answers", async |doors| {
                doors.owner_of_page(&token).await
            })
            .await;
        let ended = street
            .ask("doors.owner_of_ended_page: answers", async |doors| {
                doors.owner_of_ended_page(&token).await
            })
            .await;
        (opened, ended)
    };
    let owner = Some(shop.organization.id);
    shop.done("checkouts.set_page_tokens: writes", async |uow| {
        uow.checkouts().set_page_tokens(id, &[hash]).await
    })
    .await;
    for token in tokens {
        assert_eq!(
            owners(token).await,
            (owner, None),
            "doors.owner_of_ended_page: not while the address opens the page"
        );
    }
    shop.done("checkouts.end_page: writes", async |uow| {
        let checkouts = uow.checkouts();
        let locked = checkouts.lock(id).await?;
        let mut checkout = locked.ok_or(StoreError::Missing("checkout"))?;
        let at = shop.make.tick();
        checkouts.end_page(id, at).await?;
        checkouts.end_page(id, at).await?;
        checkout.relink(next, at);
        checkouts.update(&mut checkout).await?;
        checkouts.set_page_tokens(id, &[[8; 32]]).await
    })
    .await;
    for token in tokens {
        assert_eq!(
            owners(token).await,
            (None, owner),
            "doors.owner_of_ended_page: whose page the address opened"
        );
    }
    assert_eq!(
        owners(PageToken::Unproven {
            nonce,
            hash: [9; 32]
        })
        .await,
        (None, None),
        "doors.owner_of_ended_page: not by a token that nobody kept"
    );
    assert_eq!(
        owners(PageToken::Proven { nonce: next }).await,
        (owner, None),
        "checkouts.end_page: the next address opens the page"
    );
}

async fn payments_have_owners(street: &Street<'_>) {
    let owner_of = async |mode, id: &str| {
        street
            .ask("doors.owner_of_payment: answers", async |doors| {
                doors.owner_of_payment(mode, id).await
            })
            .await
    };
    for shop in street.shops() {
        let checkout = shop.any_checkout(|checkout| checkout).await;
        let unique = shop.make.ids().next().simple().to_string();
        let of = |kind: &str| format!("{kind}_{unique}");
        let at = shop.make.tick();
        for (id, thing) in [
            (
                of("pi"),
                Thing::Hold {
                    state: HoldState::Released,
                    ends_at: at,
                },
            ),
            (
                of("sub"),
                Thing::Subscription {
                    state: SubscriptionState::Active,
                    anchor: at,
                    payments: 12,
                    ends_at: None,
                },
            ),
            (
                of("in"),
                Thing::Invoice {
                    subscription_id: of("sub"),
                    payment_intent_id: Some(of("pi_of_in")),
                    is_cycle: true,
                    outcome: InvoiceOutcome::Paid,
                },
            ),
            (
                of("re"),
                Thing::Refund {
                    payment_intent_id: of("pi_elsewhere"),
                    state: RefundState::Succeeded,
                    failure: None,
                },
            ),
        ] {
            put(shop, &entry(&checkout, &id, at, thing)).await;
        }
        for (id, is_ours) in [
            ("pi", true),
            ("sub", true),
            ("in", true),
            ("re", true),
            ("pi_of_in", true),
            ("pi_elsewhere", false),
            ("pi_of_nobody", false),
        ] {
            assert_eq!(
                owner_of(Mode::Sandbox, &of(id)).await,
                is_ours.then_some(shop.organization.id),
                "doors.owner_of_payment: whose thing it is, or whose invoice it pays, of {id}"
            );
            assert_eq!(
                owner_of(Mode::Live, &of(id)).await,
                None,
                "doors.owner_of_payment: within a mode, of {id}"
            );
        }
    }
}

/// Has the customer be verified by the session, or by none.
async fn verify(shop: &Shop<'_>, customer: &mut Customer, session: Option<&str>) {
    customer.screening.verification_session_id = session.map(str::to_owned);
    shop.done("customers.update: writes", async |uow| {
        uow.customers().update(customer).await
    })
    .await;
}

async fn verifications_have_owners(street: &Street<'_>) {
    for shop in street.shops() {
        let mut customer = shop.anybody_in(Mode::Live).await;
        let session = format!("vs_{}", customer.id.as_uuid().simple());
        let owner_of = async |mode| {
            street
                .ask("doors.owner_of_verification: answers", async |doors| {
                    doors.owner_of_verification(mode, &session).await
                })
                .await
        };
        assert_eq!(
            owner_of(Mode::Live).await,
            None,
            "doors.owner_of_verification: nobody's that nobody has"
        );
        verify(shop, &mut customer, Some(&session)).await;
        assert_eq!(
            [owner_of(Mode::Live).await, owner_of(Mode::Sandbox).await],
            [Some(shop.organization.id), None],
            "doors.owner_of_verification: whose customer has it, within a mode"
        );
        verify(shop, &mut customer, None).await;
        assert_eq!(
            owner_of(Mode::Live).await,
            None,
            "doors.owner_of_verification: nobody's when the customer has another or none"
        );
    }
}

async fn jobs_have_owners(street: &Street<'_>) {
    for shop in street.shops() {
        let new = job(shop, JobSubject::Product(shop.make.id()));
        let owner_of = async || {
            street
                .ask("doors.owner_of_job: answers", async |doors| {
                    doors.owner_of_job(new.id).await
                })
                .await
        };
        let nobodys = "doors.owner_of_job: nobody's that is not there";
        assert_eq!(owner_of().await, None, "{nobodys}");
        push(shop, std::slice::from_ref(&new)).await;
        let owner = Some(shop.organization.id);
        let clause = "doors.owner_of_job: whose it is, however far it is";
        assert_eq!(owner_of().await, owner, "{clause}");
        let taken = take(shop, new.subject).await;
        assert_eq!(owner_of().await, owner, "{clause}");
        let at = shop.make.tick();
        complete(shop, &taken, at).await;
        assert_eq!(owner_of().await, owner, "{clause}");
        shop.done("jobs.purge_done: forgets", async |uow| {
            uow.jobs().purge_done(after(at)).await
        })
        .await;
        assert_eq!(owner_of().await, None, "{nobodys}");
    }
}

async fn shipments_have_owners(street: &Street<'_>) {
    let number = street.shop.make.ids().next().simple().to_string();
    let tracking = full::tracking(&number);
    let owners = async || {
        street
            .ask("doors.owners_of_shipment: answers", async |doors| {
                doors.owners_of_shipment(&tracking).await
            })
            .await
    };
    let ids = |shops: &[&Shop<'_>]| -> Vec<OrganizationId> {
        let mut ids: Vec<_> = shops.iter().map(|shop| shop.organization.id).collect();
        ids.sort();
        ids
    };
    let Street { shop, neighbour } = street;
    assert_eq!(
        owners().await,
        [],
        "doors.owners_of_shipment: nobody has what nobody shipped"
    );
    let theirs = neighbour
        .any_checkout(|builder| shipped(builder, &number))
        .await;
    assert_eq!(
        owners().await,
        ids(&[neighbour]),
        "doors.owners_of_shipment: who has it"
    );
    let ours = shop.any_checkout(|builder| shipped(builder, &number)).await;
    let too = shop.any_checkout(|builder| shipped(builder, &number)).await;
    let both =
        "doors.owners_of_shipment: all who have it, each once, in the order of their numbers";
    assert_eq!(owners().await, ids(&[shop, neighbour]), "{both}");
    end(shop, &ours).await;
    assert_eq!(owners().await, ids(&[shop, neighbour]), "{both}");
    let ended = "doors.owners_of_shipment: not those whose checkouts with it have ended";
    end(shop, &too).await;
    assert_eq!(owners().await, ids(&[neighbour]), "{ended}");
    end(neighbour, &theirs).await;
    assert_eq!(owners().await, [], "{ended}");
}

async fn due_jobs_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let subject = JobSubject::Product(shop.make.id());
    let now = shop.make.tick();
    let due = days_after(now, 1);
    let has = async |due| street.has(Errand::Jobs { due }).await;
    let clause = "doors.owners_with: who has jobs that are due by the time";
    assert!(!has(due).await, "{clause}");
    let mut first = job(shop, subject);
    first.available_at = due;
    push(shop, &[first, job(shop, subject)]).await;
    assert_eq!(
        [has(now).await, has(due).await],
        [false, true],
        "{clause}, each the first of its subject"
    );
    let taken = take(shop, subject).await;
    assert!(!has(due).await, "{clause}, and that nobody is at");
    shop.done("jobs.bury: writes", async |uow| {
        uow.jobs().bury(&taken, "no").await
    })
    .await;
    assert!(
        !has(due).await,
        "{clause}, not behind one that was given up"
    );
    shop.done("jobs.skip: writes", async |uow| {
        uow.jobs().skip(taken.new.id, "no", now).await
    })
    .await;
    assert!(has(due).await, "{clause}, behind one that is skipped");
    let taken = take(shop, subject).await;
    complete(shop, &taken, now).await;
    let mut held = job(shop, subject);
    held.is_held = true;
    push(shop, &[held]).await;
    assert!(!has(due).await, "{clause}, not what is done or held");
}

async fn untouched_checkouts_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let at = shop.make.tick();
    let has = async |before| street.has(Errand::Expiry { before }).await;
    let clause =
        "doors.owners_with: whose checkouts that expire were left alone since before the time";
    assert!(!has(after(at)).await, "{clause}");
    let checkout = shop
        .any_checkout(|builder| builder.with(|it| it.acted_at = at))
        .await;
    assert_eq!(
        [has(at).await, has(after(at)).await],
        [false, true],
        "{clause}"
    );
    end(shop, &checkout).await;
    assert!(!has(after(at)).await, "{clause}, and did not end");
    shop.any_checkout(|builder| {
        builder.at(Lifecycle::DocumentsPending).with(|it| {
            it.acted_at = at;
            it.signed_at = Some(at);
        })
    })
    .await;
    assert!(!has(after(at)).await, "{clause}, and are not signed");
}

async fn lapsing_deposits_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let at = days_after(shop.make.tick(), 3);
    let has = async |before| street.has(Errand::Lapse { before }).await;
    let clause =
        "doors.owners_with: whose running checkouts have deposits that lapse before the time";
    assert!(!has(after(at)).await, "{clause}");
    let checkout = shop
        .any_checkout(|builder| {
            builder.at(Lifecycle::DocumentsPending).with(|it| {
                it.deposit = Deposit::Authorized {
                    hold: Hold::new(format!("pi_{}", it.id), at),
                };
            })
        })
        .await;
    assert_eq!(
        [has(at).await, has(after(at)).await],
        [false, true],
        "{clause}"
    );
    end(shop, &checkout).await;
    assert!(!has(after(at)).await, "{clause}");
}

async fn ended_leases_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let today = shop.make.tick().date_naive();
    let day = |days| {
        today
            .checked_add_signed(TimeDelta::days(days))
            .unwrap_or(today)
    };
    let months = 24;
    let term = shop.make.lease_term(&shop.organization).months(months);
    let term = shop.term(term).await;
    let lease = async |paid: u32| {
        shop.any_checkout(|builder| {
            builder.term(&term).at(Lifecycle::LeaseActive).with(|it| {
                it.lease.start = Some(day(-730));
                it.lease.end = Some(today);
                it.recurring.paid_cycles = paid;
            })
        })
        .await
    };
    let has = async |before| street.has(Errand::LeaseEnd { before }).await;
    let clause = "doors.owners_with: whose active leases have a last day before the day";
    assert!(!has(day(1)).await, "{clause}");
    lease(1).await;
    assert!(!has(day(1)).await, "{clause} and are paid");
    let checkout = lease(u32::from(months)).await;
    assert_eq!(
        [has(today).await, has(day(1)).await],
        [false, true],
        "{clause}"
    );
    end(shop, &checkout).await;
    assert!(!has(day(1)).await, "{clause}");
}

async fn missing_subscriptions_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let at = shop.make.tick();
    let has = async |before| street.has(Errand::Billing { before }).await;
    let clause =
        "doors.owners_with: whose subscriptions were asked for before the time and are not there";
    assert!(!has(after(at)).await, "{clause}");
    let requested = |builder: CheckoutBuilder| {
        builder
            .at(Lifecycle::Shipped)
            .with(|it| it.recurring.billing = Billing::Requested { at })
    };
    let checkout = shop.any_checkout(requested).await;
    assert_eq!(
        [has(at).await, has(after(at)).await],
        [false, true],
        "{clause}"
    );
    end(shop, &checkout).await;
    assert!(!has(after(at)).await, "{clause}");
}

async fn silent_shipments_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let at = shop.make.tick();
    let number = shop.make.ids().next().simple().to_string();
    let has = async |before| street.has(Errand::Silence { before }).await;
    let clause = "doors.owners_with: of whose shipments the carrier said nothing since the time";
    assert!(!has(after(at)).await, "{clause}");
    let checkout = shop
        .any_checkout(|builder| {
            shipped(builder, &number).with(|it| it.shipment.heard_at = Some(at))
        })
        .await;
    assert_eq!(
        [has(at).await, has(after(at)).await],
        [false, true],
        "{clause}"
    );
    end(shop, &checkout).await;
    assert!(!has(after(at)).await, "{clause}");
}

async fn shipments_under_way_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let number = shop.make.ids().next().simple().to_string();
    let has = async || street.has(Errand::Shipments).await;
    let clause =
        "doors.owners_with: whose shipments are under way, and their carriers can be asked";
    shop.any_checkout(|builder| builder.at(Lifecycle::Shipped))
        .await;
    assert!(!has().await, "{clause}");
    let checkout = shop.any_checkout(|builder| shipped(builder, &number)).await;
    assert!(has().await, "{clause}");
    let mut delivered = altered(&checkout, |it| {
        it.shipment.delivered_at = Some(it.created_at);
    });
    shop.done("checkouts.update: writes", async |uow| {
        uow.checkouts().update(&mut delivered).await
    })
    .await;
    assert!(!has().await, "{clause}");
}

async fn billed_checkouts_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let has = async |mode| street.has(Errand::Billed { mode }).await;
    let clause = "doors.owners_with: for whose checkouts of the mode a subscription was asked for";
    shop.any_checkout(|builder| builder.at(Lifecycle::Shipped))
        .await;
    assert!(!has(Mode::Sandbox).await, "{clause}");
    let checkout = shop
        .any_checkout(|builder| builder.at(Lifecycle::LeaseActive))
        .await;
    for _ in 0..2 {
        assert_eq!(
            [has(Mode::Sandbox).await, has(Mode::Live).await],
            [true, false],
            "{clause}, ended ones too"
        );
        let stored = shop
            .seen("checkouts.get: reads", async |view| {
                view.checkouts().get(checkout.id).await
            })
            .await;
        end(shop, &stored.unwrap_or_else(|| checkout.clone())).await;
    }
}

async fn own_accounts_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let has = async |mode| street.has(Errand::OwnAccount { mode }).await;
    let clause = "doors.owners_with: for who has an account of the mode of their own";
    assert!(!has(Mode::Sandbox).await, "{clause}");
    let mut account = processor_account(shop, Mode::Sandbox);
    shop.done("processor_accounts.insert: keeps an account", async |uow| {
        uow.processor_accounts().insert(&mut account).await
    })
    .await;
    assert_eq!(
        [has(Mode::Sandbox).await, has(Mode::Live).await],
        [true, false],
        "{clause}"
    );
}

async fn old_answers_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let at = shop.make.tick();
    let has = async |before| street.has(Errand::OldAnswers { before }).await;
    let clause = "doors.owners_with: who has answers that were kept before the time";
    assert!(!has(after(at)).await, "{clause}");
    let key = IdempotencyKey {
        organization_id: shop.organization.id,
        mode: Mode::Sandbox,
        path: "POST /v1/checkouts".to_owned(),
        key: "door".to_owned(),
    };
    let answer = StoredAnswer {
        request_hash: [9; 32],
        status: 200,
        body: b"{}".to_vec(),
        is_existing: false,
        is_final: true,
        created_at: at,
    };
    shop.done("idempotency.put: keeps an answer", async |uow| {
        uow.idempotency().put(&key, &answer).await
    })
    .await;
    assert_eq!(
        [has(at).await, has(after(at)).await],
        [false, true],
        "{clause}"
    );
    shop.done("idempotency.purge: forgets", async |uow| {
        uow.idempotency().purge(after(at)).await
    })
    .await;
    assert!(!has(after(at)).await, "{clause}");
}

async fn old_jobs_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let subject = JobSubject::Product(shop.make.id());
    let at = shop.make.tick();
    let has = async |before| street.has(Errand::OldJobs { before }).await;
    let clause = "doors.owners_with: who has jobs that were done or skipped before the time";
    push(shop, &[job(shop, subject)]).await;
    assert!(!has(after(at)).await, "{clause}");
    let taken = take(shop, subject).await;
    complete(shop, &taken, at).await;
    assert_eq!(
        [has(at).await, has(after(at)).await],
        [false, true],
        "{clause}"
    );
    shop.done("jobs.purge_done: forgets", async |uow| {
        uow.jobs().purge_done(after(at)).await
    })
    .await;
    assert!(!has(after(at)).await, "{clause}");
}

async fn events_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let event = super::events::renamed(shop, |_| {});
    let at = event.created_at;
    let old = Errand::OldEvents { before: after(at) };
    let clause = "doors.owners_with: who has events without a number";
    assert!(!street.has(Errand::UnnumberedEvents).await, "{clause}");
    shop.done("events.append: keeps events", async |uow| {
        uow.events().append(&[event]).await
    })
    .await;
    assert!(street.has(Errand::UnnumberedEvents).await, "{clause}");
    let old_clause = "doors.owners_with: who has events with a number, from before the time";
    assert!(!street.has(old).await, "{old_clause}");
    shop.done("events.number: numbers", async |uow| {
        uow.events().number(shop.sandbox(), 1).await
    })
    .await;
    assert!(!street.has(Errand::UnnumberedEvents).await, "{clause}");
    assert!(street.has(old).await, "{old_clause}");
    let earlier = Errand::OldEvents { before: at };
    assert!(!street.has(earlier).await, "{old_clause}");
}

async fn deliveries_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let endpoint = super::webhook_endpoints::endpoint(shop, |_| {}).await;
    let new = super::deliveries::delivery(shop, &endpoint, |_| {});
    let at = new.created_at;
    let due = Errand::Deliveries { due: at };
    let old = Errand::OldDeliveries { before: after(at) };
    let clause = "doors.owners_with: who has deliveries that can be taken";
    assert!(!street.has(due).await, "{clause}");
    shop.done("deliveries.queue: keeps deliveries", async |uow| {
        uow.deliveries().queue(&[new]).await
    })
    .await;
    assert!(street.has(due).await, "{clause}");
    let rests = EndpointHealth {
        resting_until: Some(after(at)),
        ..EndpointHealth::default()
    };
    let fares = async |health: &EndpointHealth| {
        shop.done("deliveries.set_health: writes", async |uow| {
            uow.deliveries().set_health(endpoint.id, health).await
        })
        .await
    };
    fares(&rests).await;
    assert!(
        !street.has(due).await,
        "{clause}: none of an endpoint that rests"
    );
    fares(&EndpointHealth::default()).await;
    let claimed = shop
        .done("deliveries.claim: takes", async |uow| {
            uow.deliveries().claim(at, CLAIM).await
        })
        .await;
    assert!(!street.has(due).await, "{clause}, and that nobody is at");
    let old_clause = "doors.owners_with: who has deliveries that are over, from before the time";
    assert!(!street.has(old).await, "{old_clause}");
    for mut delivery in claimed {
        delivery.abandon("so", at);
        shop.done("deliveries.settle: writes", async |uow| {
            uow.deliveries().settle(&delivery).await
        })
        .await;
    }
    assert!(street.has(old).await, "{old_clause}");
    let earlier = Errand::OldDeliveries { before: at };
    assert!(!street.has(earlier).await, "{old_clause}");
}

async fn reasons_to_look_are_counted(street: &Street<'_>) {
    let count = async || {
        street
            .ask("doors.attention: answers", async |doors| {
                doors.attention().await
            })
            .await
    };
    let before = count().await;
    let mut expected: BTreeMap<AttentionReason, u64> = before.iter().copied().collect();
    let Street { shop, neighbour } = street;
    let mut made = Vec::new();
    for (shop, reasons, mode) in [
        (shop, AttentionReason::ALL, Mode::Sandbox),
        (neighbour, &[AttentionReason::Disputed][..], Mode::Live),
        (
            shop,
            &[AttentionReason::Disputed, AttentionReason::Difference],
            Mode::Sandbox,
        ),
        (neighbour, &[], Mode::Sandbox),
    ] {
        let checkout = shop.any_checkout_in(mode, |it| watched(it, reasons)).await;
        made.push((shop, checkout));
        for reason in reasons {
            let count = expected.entry(*reason).or_default();
            *count = count.saturating_add(1);
        }
    }
    assert_eq!(
        count().await,
        expected.into_iter().collect::<Vec<_>>(),
        "doors.attention: how many, by reason in their order, everybody's in both modes"
    );
    for (shop, checkout) in made {
        let mut seen_to = altered(&checkout, |it| it.attention.clear());
        shop.done("checkouts.update: writes", async |uow| {
            uow.checkouts().update(&mut seen_to).await
        })
        .await;
    }
    assert_eq!(
        count().await,
        before,
        "doors.attention: not those that nobody must look at any more"
    );
}

async fn states_are_counted(street: &Street<'_>) {
    let count = async || {
        street
            .ask("doors.states: answers", async |doors| doors.states().await)
            .await
    };
    let mut expected = count().await;
    let Street { shop, neighbour } = street;
    for (shop, mode) in [
        (shop, Mode::Sandbox),
        (neighbour, Mode::Sandbox),
        (neighbour, Mode::Live),
    ] {
        let checkout = shop.any_checkout_in(mode, |it| it).await;
        let count = expected.entry((mode, checkout.lifecycle())).or_default();
        *count = count.saturating_add(1);
    }
    assert_eq!(
        count().await,
        expected,
        "doors.states: how many, by mode and state, everybody's"
    );
}

async fn jobs_are_counted(street: &Street<'_>) {
    let count = async || {
        street
            .ask("doors.backlog: answers", async |doors| {
                doors.backlog().await
            })
            .await
    };
    let before = count().await;
    let mut due: Vec<Timestamp> = before.first_due.into_iter().collect();
    let mut made = Vec::new();
    for shop in street.shops() {
        let subjects: [JobSubject; 5] = [(); 5].map(|()| JobSubject::Product(shop.make.id()));
        let [waiting, doubtful, hopeless, held, done] = subjects;
        let mut jobs = subjects.map(|subject| job(shop, subject));
        for job in &mut jobs {
            job.is_held = job.subject == held;
        }
        push(shop, &jobs).await;
        let (doubtful, hopeless) = (take(shop, doubtful).await, take(shop, hopeless).await);
        let at = shop.make.tick();
        let waits = jobs.iter().filter(|job| job.subject == waiting);
        due.extend(waits.map(|job| job.available_at));
        due.push(at);
        complete(shop, &take(shop, done).await, at).await;
        shop.done("jobs.retry, jobs.bury: write", async |uow| {
            uow.jobs().retry(&doubtful, at, "timed out").await?;
            uow.jobs().bury(&hopeless, "no").await
        })
        .await;
        made.push((shop, waiting, doubtful, hopeless));
    }
    assert_eq!(
        count().await,
        Backlog {
            pending: before.pending.saturating_add(4),
            in_doubt: before.in_doubt.saturating_add(2),
            dead: before.dead.saturating_add(2),
            first_due: due.into_iter().min(),
        },
        "doors.backlog: everybody's that is to be done, was tried of those, and was given up, and since when"
    );
    for (shop, waiting, doubtful, hopeless) in made {
        let at = shop.make.tick();
        complete(shop, &take(shop, waiting).await, at).await;
        complete(shop, &take(shop, doubtful.new.subject).await, at).await;
        shop.done("jobs.skip: writes", async |uow| {
            uow.jobs().skip(hopeless.new.id, "no", at).await
        })
        .await;
    }
    assert_eq!(
        count().await,
        before,
        "doors.backlog: not what is done, skipped or held"
    );
}

async fn what_is_held_is_counted(street: &Street<'_>) {
    let count = async || {
        street
            .ask("doors.held: answers", async |doors| doors.held().await)
            .await
    };
    let Street { shop, neighbour } = street;
    let before = count().await;
    let unique = shop.make.ids().next().simple().to_string();
    let of = |kind: &str| format!("{kind}_{unique}");
    // Before any that another suite keeps.
    let oldest = before.oldest.unwrap_or_else(|| shop.make.tick());
    let at = |days: i64| days_after(oldest, days.saturating_neg());
    let hold = |state| Thing::Hold {
        state,
        ends_at: oldest,
    };
    let sandbox = shop.any_checkout(|checkout| checkout).await;
    let live = neighbour.any_checkout_in(Mode::Live, |it| it).await;
    let mut first = entry(&live, &of("pi_1"), at(3), hold(HoldState::Held));
    let mut second = entry(&sandbox, &of("pi_2"), at(2), hold(HoldState::Held));
    put(neighbour, &first).await;
    for entry in [
        &second,
        &entry(&sandbox, &of("pi_3"), at(9), hold(HoldState::Released)),
        &entry(&sandbox, &of("pi_4"), at(9), hold(HoldState::Captured)),
        &entry(
            &sandbox,
            &of("re_1"),
            at(9),
            Thing::Refund {
                payment_intent_id: of("pi_4"),
                state: RefundState::Pending,
                failure: None,
            },
        ),
    ] {
        put(shop, entry).await;
    }
    let held = |more: u64, oldest| Held {
        count: before.count.saturating_add(more),
        oldest: Some(oldest),
    };
    assert_eq!(
        count().await,
        held(2, first.at),
        "doors.held: what is held, everybody's in both modes, and since when the oldest"
    );
    first.thing = hold(HoldState::Released);
    put(neighbour, &first).await;
    assert_eq!(
        count().await,
        held(1, second.at),
        "doors.held: not what was let go of"
    );
    second.thing = hold(HoldState::Released);
    put(shop, &second).await;
    assert_eq!(
        count().await,
        before,
        "doors.held: none when all is let go of"
    );
}

async fn mails_have_owners(street: &Street<'_>) {
    let owner_of = async |id| {
        street
            .ask("doors.owner_of_mail: answers", async |doors| {
                doors.owner_of_mail(id).await
            })
            .await
    };
    for shop in street.shops() {
        let new = super::mails::mail(shop, shop.make.id(), |_| {});
        shop.done("mails.queue: keeps mails", async |uow| {
            uow.mails().queue(std::slice::from_ref(&new)).await
        })
        .await;
        let clause = "doors.owner_of_mail: whose it is";
        assert_eq!(
            owner_of(new.id).await,
            Some(shop.organization.id),
            "{clause}"
        );
        assert_eq!(owner_of(shop.make.id()).await, None, "{clause}");
    }
}

async fn mails_are_counted(street: &Street<'_>) {
    let count = async || {
        street
            .ask("doors.mail_backlog: answers", async |doors| {
                doors.mail_backlog().await
            })
            .await
    };
    let before = count().await;
    let ends = [
        Posted::Accepted,
        Posted::Later("busy".to_owned()),
        Posted::Refused("no".to_owned()),
    ];
    for shop in street.shops() {
        let new = [(); 4].map(|()| super::mails::mail(shop, shop.make.id(), |_| {}));
        shop.done("mails.queue: keeps mails", async |uow| {
            uow.mails().queue(&new).await
        })
        .await;
        let at = shop.make.tick();
        let taken = shop
            .done("mails.claim: takes", async |uow| {
                uow.mails().claim(at, LEASE, 3).await
            })
            .await;
        for (mut mail, posted) in taken.into_iter().zip(&ends) {
            mail.tried(posted, at);
            shop.done("mails.settle: answers", async |uow| {
                uow.mails().settle(&mail, None).await
            })
            .await;
        }
    }
    assert_eq!(
        count().await,
        MailBacklog {
            pending: before.pending.saturating_add(4),
            dead: before.dead.saturating_add(2),
        },
        "doors.mail_backlog: everybody's that are to be sent, and that were given up, and no others"
    );
}

async fn mails_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let new = super::mails::mail(shop, shop.make.id(), |_| {});
    let at = new.created_at;
    let due = Errand::Mails { due: at };
    let old = Errand::OldMails { before: after(at) };
    let clause = "doors.owners_with: who has mails that are due and that nobody is at";
    assert!(!street.has(due).await, "{clause}");
    shop.done("mails.queue: keeps mails", async |uow| {
        uow.mails().queue(&[new]).await
    })
    .await;
    let before = at.checked_sub_signed(TimeDelta::milliseconds(1));
    let early = Errand::Mails {
        due: before.unwrap_or(at),
    };
    assert_eq!(
        [street.has(early).await, street.has(due).await],
        [false, true],
        "{clause}"
    );
    let old_clause = "doors.owners_with: who has mails that are over, from before the time";
    assert!(!street.has(old).await, "{old_clause}");
    let mut claimed = shop
        .done("mails.claim: takes", async |uow| {
            uow.mails().claim(at, LEASE, 1).await
        })
        .await;
    assert!(!street.has(due).await, "{clause}");
    for mail in &mut claimed {
        mail.tried(&Posted::Accepted, at);
        shop.done("mails.settle: answers", async |uow| {
            uow.mails().settle(mail, None).await
        })
        .await;
    }
    assert!(!street.has(due).await, "{clause}");
    assert!(street.has(old).await, "{old_clause}");
    let young = Errand::OldMails { before: at };
    assert!(!street.has(young).await, "{old_clause}");
}

async fn endings_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let from = shop.make.tick().date_naive();
    let before = from.succ_opt().unwrap_or(from);
    let mode = Mode::Sandbox;
    let errand = Errand::Endings { mode, from, before };
    let clause = "doors.owners_with: whose active leases end on one of these days";
    assert!(!street.has(errand).await, "{clause}");
    let lease = super::mails::lease(shop, from).await;
    assert!(street.has(errand).await, "{clause}");
    let later = Errand::Endings {
        mode,
        from: before,
        before: before.succ_opt().unwrap_or(before),
    };
    assert!(!street.has(later).await, "{clause}");
    let told = super::mails::mail(shop, lease.id, |new| {
        new.kind = crate::mail::MailKind::LeaseEndsSoon;
    });
    shop.done("mails.queue: keeps mails", async |uow| {
        uow.mails().queue(&[told]).await
    })
    .await;
    assert!(
        !street.has(errand).await,
        "{clause}, and were not mailed of"
    );
}
