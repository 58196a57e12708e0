//! What is asked across organizations.

mod counts;
mod errands;
mod owners;

use std::fmt::Debug;
use std::time::Duration;

use chrono::TimeDelta;

use super::full;
use super::shop::Shop;
use crate::access::Mode;
use crate::checkout::{Checkout, Effect, Lifecycle, State};
use crate::ledger::{Entry, Thing};
use crate::money::{Currency, Money};
use crate::ports::{
    Database, Doors, Errand, IdGenerator as _, Job, JobSubject, NewJob, StoreError,
};
use crate::testing::{CheckoutBuilder, altered};
use crate::time::Timestamp;

/// Longer than any suite takes, by whatever clock.
const LEASE: Duration = Duration::from_secs(36_000_000);

/// The doors. What is counted over all organizations is counted while nobody else makes or takes
/// any of it.
///
/// # Panics
/// With the clause that is broken.
pub async fn doors(database: &dyn Database) {
    let street = Street::open(database).await;
    owners::checkouts_and_their_pages_have_owners(&street).await;
    owners::payments_have_owners(&street).await;
    owners::verifications_have_owners(&street).await;
    owners::jobs_have_owners(&street).await;
    owners::mails_have_owners(&street).await;
    owners::shipments_have_owners(&street).await;
    errands::due_jobs_are_errands(&Street::open(database).await).await;
    errands::many_due_jobs_are_errands(&Street::open(database).await).await;
    errands::untouched_checkouts_are_errands(&Street::open(database).await).await;
    errands::lapsing_deposits_are_errands(&Street::open(database).await).await;
    errands::ended_leases_are_errands(&Street::open(database).await).await;
    errands::missing_subscriptions_are_errands(&Street::open(database).await).await;
    errands::silent_shipments_are_errands(&Street::open(database).await).await;
    errands::shipments_under_way_are_errands(&Street::open(database).await).await;
    errands::billed_checkouts_are_errands(&Street::open(database).await).await;
    errands::own_accounts_are_errands(&Street::open(database).await).await;
    errands::old_answers_are_errands(&Street::open(database).await).await;
    errands::old_jobs_are_errands(&Street::open(database).await).await;
    errands::events_are_errands(&Street::open(database).await).await;
    errands::deliveries_are_errands(&Street::open(database).await).await;
    errands::mails_are_errands(&Street::open(database).await).await;
    errands::endings_are_errands(&Street::open(database).await).await;
    let _queues = super::QUEUES.lock().await;
    let _watches = super::WATCHES.lock().await;
    counts::mails_are_counted(&Street::open(database).await).await;
    counts::reasons_to_look_are_counted(&street).await;
    counts::states_are_counted(&street).await;
    counts::jobs_are_counted(&street).await;
    counts::what_is_held_is_counted(&street).await;
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
            errands::finds(&self.shop, errand).await,
            "doors.owners_with: those whose own stores find something for {errand:?}, and no others"
        );
        has
    }
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
