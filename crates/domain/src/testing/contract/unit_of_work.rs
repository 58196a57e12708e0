//! Units of work as a whole.

use std::time::Duration;

use futures_util::future::join_all;

use super::shop::{Shop, must, must_be_stale};
use crate::checkout::Effect;
use crate::ids::{CustomerPubId, OrganizationId};
use crate::organization::Organization;
use crate::ports::{
    Database, IdGenerator, IdempotencyKey, InboxMessage, JobSubject, NewJob, Reach, StoreError,
    UnitOfWork,
};

/// How many race.
const RACERS: u16 = 8;

async fn renamed(shop: &Shop<'_>, id: OrganizationId) -> Organization {
    match shop
        .seen("organizations.get: reads", async |view| {
            view.organizations().get(id).await
        })
        .await
    {
        Some(organization) => organization,
        None => panic!("organizations.get: finds what was committed"),
    }
}

/// Commit, drop, isolation and races of units of work.
///
/// # Panics
/// With the clause that is broken.
pub async fn unit_of_work(database: &dyn Database) {
    let shop = Shop::open(database).await;
    units_that_are_not_committed_leave_nothing(&shop, "a dropped one", async |uow| drop(uow)).await;
    units_that_are_not_committed_leave_nothing(&shop, "one that is rolled back", async |uow| {
        must(uow.roll_back().await, "roll_back: ends a unit of work");
    })
    .await;
    work_is_seen_within_and_from_the_commit_on(&shop).await;
    stale_copies_are_refused(&shop).await;
    locked_work_is_done_one_after_another(&shop).await;
    racing_copies_lose_no_update(&shop).await;
    work_goes_on_in_the_name_of_whom_it_is_for(&shop).await;
}

async fn units_that_are_not_committed_leave_nothing(
    shop: &Shop<'_>,
    which: &str,
    end: impl AsyncFnOnce(Box<dyn UnitOfWork>),
) {
    let before = renamed(shop, shop.organization.id).await;
    let customer = shop.make.customer(&shop.organization).new_record();
    let mut uow = shop.begin().await;
    let mut copy = before.clone();
    copy.requires_product_review = !copy.requires_product_review;
    must(
        uow.organizations().update(&mut copy).await,
        "organizations.update: writes",
    );
    must(
        uow.customers().insert(&customer).await,
        "customers.insert: keeps a customer",
    );
    end(uow).await;

    assert_eq!(
        renamed(shop, shop.organization.id).await,
        before,
        "unit of work: a write of {which} has not happened"
    );
    let found = shop
        .seen("customers.get: reads", async |view| {
            view.customers().get(customer.id).await
        })
        .await;
    assert_eq!(
        found, None,
        "unit of work: an insert of {which} has not happened"
    );
    let mut again = before.clone();
    shop.done(
        &format!("unit of work: {which} has left nothing locked"),
        async |uow| {
            uow.organizations().lock(again.id).await?;
            uow.organizations().update(&mut again).await
        },
    )
    .await;
}

async fn work_is_seen_within_and_from_the_commit_on(shop: &Shop<'_>) {
    let mut view = shop.view().await;
    let mut uow = shop.begin().await;
    let new = shop.make.customer(&shop.organization).new_record();
    must(
        uow.customers().insert(&new).await,
        "customers.insert: keeps a customer",
    );
    let within = must(
        uow.customers().get(new.id).await,
        "unit of work: reads its own writes",
    );
    assert!(within.is_some(), "unit of work: sees its own writes");
    let outside = must(view.customers().get(new.id).await, "read: reads beside");
    assert!(
        outside.is_none(),
        "unit of work: nobody else sees its writes before the commit"
    );
    must(uow.commit().await, "commit: commits");
    let outside = must(view.customers().get(new.id).await, "read: reads again");
    assert!(
        outside.is_some(),
        "read: each read sees what was committed before it"
    );
}

async fn stale_copies_are_refused(shop: &Shop<'_>) {
    let mut first = renamed(shop, shop.organization.id).await;
    let mut second = first.clone();
    let version = first.version;
    first.discount = match "5".parse() {
        Ok(discount) => discount,
        Err(error) => panic!("5 % is a percentage: {error}"),
    };
    shop.done("organizations.update: writes a fresh copy", async |uow| {
        uow.organizations().update(&mut first).await
    })
    .await;
    assert_eq!(
        first.version,
        version.saturating_add(1),
        "update: counts the caller's version up by one"
    );
    second.requires_product_review = true;
    let refused = shop
        .run(async |uow| uow.organizations().update(&mut second).await)
        .await;
    must_be_stale(refused, "update: of two copies of a version one is written");
    assert_eq!(
        second.version, version,
        "update: leaves the version of a refused copy as it was"
    );
    assert_eq!(
        renamed(shop, first.id).await,
        first,
        "update: the first copy is what is stored"
    );
}

/// Adds one to a number in the organization, under its lock.
async fn add_one(shop: &Shop<'_>) {
    loop {
        let result = shop
            .run(async |uow| {
                let id = shop.organization.id;
                let Some(mut copy) = uow.organizations().lock(id).await? else {
                    return Err(StoreError::Missing("organization"));
                };
                uow.organizations().update(&mut copy).await
            })
            .await;
        match result {
            Err(StoreError::Contended) => {}
            done => return must(done, "lock: what is locked cannot become stale"),
        }
    }
}

async fn locked_work_is_done_one_after_another(shop: &Shop<'_>) {
    let before = renamed(shop, shop.organization.id).await.version;
    join_all((0..RACERS).map(|_| add_one(shop))).await;
    assert_eq!(
        renamed(shop, shop.organization.id).await.version,
        before.saturating_add(i64::from(RACERS)),
        "lock: racing units of work that lock are each done once"
    );
}

async fn racing_copies_lose_no_update(shop: &Shop<'_>) {
    let start = renamed(shop, shop.organization.id).await;
    let written = join_all((0..RACERS).map(|_| async {
        let mut copy = start.clone();
        let result = shop
            .run(async |uow| uow.organizations().update(&mut copy).await)
            .await;
        match result {
            Ok(()) => 1_u16,
            Err(StoreError::Stale(_) | StoreError::Contended) => 0,
            Err(error) => panic!("update: of racing copies one is written, but: {error}"),
        }
    }))
    .await;
    assert_eq!(
        written.iter().sum::<u16>(),
        1,
        "update: of racing copies of one version exactly one is written"
    );
}

/// Whether the customer is there for the work.
async fn reaches(uow: &mut dyn UnitOfWork, customer: CustomerPubId) -> bool {
    must(uow.customers().get(customer).await, "customers.get: reads").is_some()
}

async fn enter(uow: &mut dyn UnitOfWork, shop: &Shop<'_>) {
    must(
        uow.enter(shop.organization.id).await,
        "enter: work that began in nobody's name goes on in an organization's",
    );
}

async fn work_goes_on_in_the_name_of_whom_it_is_for(shop: &Shop<'_>) {
    let neighbour = shop.neighbour().await;
    let (ours, theirs) = (shop.anybody().await.id, neighbour.anybody().await.id);
    for writes in [false, true] {
        let began = if writes {
            shop.database.begin(Reach::Server).await
        } else {
            shop.database.read(Reach::Server).await
        };
        let mut uow = must(began, "begin, read: in nobody's name");
        assert!(
            !reaches(uow.as_mut(), ours).await,
            "begin, read: nobody's are no organization's records"
        );
        for (entered, own, other) in [(shop, ours, theirs), (&neighbour, theirs, ours)] {
            enter(uow.as_mut(), entered).await;
            assert!(
                reaches(uow.as_mut(), own).await && !reaches(uow.as_mut(), other).await,
                "enter: the organization's records are there from then on, and no other's"
            );
        }
        enter(uow.as_mut(), &neighbour).await;
        if writes {
            let new = neighbour
                .make
                .customer(&neighbour.organization)
                .new_record();
            must(
                uow.customers().insert(&new).await,
                "enter: the organization's records are kept",
            );
            must(uow.commit().await, "commit: commits");
            let kept = reaches(neighbour.view().await.as_mut(), new.id).await;
            assert!(kept, "enter: the organization's records are kept");
        }
    }
    for (mut uow, clause) in [
        (
            shop.begin().await,
            "enter: never from one organization to another",
        ),
        (
            shop.view().await,
            "enter: never from one organization's view to another's",
        ),
    ] {
        enter(uow.as_mut(), shop).await;
        assert!(
            reaches(uow.as_mut(), ours).await,
            "enter: who is there already may say so"
        );
        let refused = uow.enter(neighbour.organization.id).await;
        assert!(
            matches!(refused, Err(StoreError::Internal(_))),
            "{clause}: {refused:?}"
        );
        must(uow.roll_back().await, "roll_back: ends a unit of work");
    }
}

/// What several units of work that are open at once owe each other. For databases
/// that let one task hold several.
///
/// # Panics
/// With the clause that is broken.
pub async fn concurrent_units(database: &dyn Database) {
    let shop = Shop::open(database).await;
    one_works_on_a_key_at_a_time(&shop).await;
    let _turn = super::QUEUES.lock().await;
    messages_that_others_hold_are_left_out(&shop).await;
    jobs_that_others_take_are_left_out(&shop).await;
}

async fn one_works_on_a_key_at_a_time(shop: &Shop<'_>) {
    let key = |name: &str| IdempotencyKey {
        organization_id: shop.organization.id,
        mode: crate::access::Mode::Sandbox,
        path: "POST /v1/checkouts".to_owned(),
        key: name.to_owned(),
    };
    let mut holder = shop.begin().await;
    let mut other = shop.begin().await;
    let held = must(
        holder.idempotency().try_lock(&key("a")).await,
        "idempotency.try_lock: locks",
    );
    assert!(held, "idempotency.try_lock: a key that nobody holds is had");
    let stolen = must(
        other.idempotency().try_lock(&key("a")).await,
        "idempotency.try_lock: answers at once",
    );
    assert!(!stolen, "idempotency.try_lock: a key is held by one");
    let unrelated = must(
        other.idempotency().try_lock(&key("b")).await,
        "idempotency.try_lock: locks another key",
    );
    assert!(
        unrelated,
        "idempotency.try_lock: keys do not hinder each other"
    );
    drop(other);
    drop(holder);
    // Letting go may take the database a moment.
    loop {
        let free = shop
            .done("idempotency.try_lock: locks", async |uow| {
                uow.idempotency().try_lock(&key("a")).await
            })
            .await;
        if free {
            break;
        }
    }
}

async fn messages_that_others_hold_are_left_out(shop: &Shop<'_>) {
    let source = format!("suite-{}", shop.make.ids().next().simple());
    let message = |id: &str| InboxMessage {
        source: source.clone(),
        id: id.to_owned(),
        mode: crate::access::Mode::Sandbox,
        organization_id: None,
        body: b"{}".to_vec(),
        received_at: shop.make.tick(),
    };
    shop.done("inbox.insert: keeps messages", async |uow| {
        uow.inbox().insert(&message("1")).await?;
        uow.inbox().insert(&message("2")).await
    })
    .await;
    let mut holder = shop.begin().await;
    let mut other = shop.begin().await;
    let held = must(
        holder.inbox().lock_one(&source, "1").await,
        "inbox.lock_one: locks",
    );
    assert!(held.is_some(), "inbox.lock_one: finds an unhandled message");
    let left = must(
        other.inbox().lock_waiting(shop.make.tick(), 10_000).await,
        "inbox.lock_waiting: does not wait for others",
    );
    // Committed, so that nothing is held any more when the suite ends.
    for uow in [holder, other] {
        must(uow.commit().await, "commit: commits");
    }
    let ours: Vec<&str> = left
        .iter()
        .filter(|message| message.source == source)
        .map(|message| message.id.as_str())
        .collect();
    assert_eq!(
        ours,
        ["2"],
        "inbox.lock_waiting: leaves out what others hold, and only that"
    );
}

async fn jobs_that_others_take_are_left_out(shop: &Shop<'_>) {
    let mut subjects = Vec::new();
    for _ in 0..2 {
        subjects.push(JobSubject::Product(shop.anything().await.id));
    }
    let jobs: Vec<NewJob> = subjects
        .iter()
        .map(|subject| NewJob {
            id: shop.make.ids().next(),
            effect: Effect::PushProduct,
            subject: *subject,
            organization_id: shop.organization.id,
            mode: crate::access::Mode::Live,
            created_at: shop.make.tick(),
            available_at: shop.make.tick(),
            is_held: false,
            units: None,
        })
        .collect();
    shop.done("jobs.push: keeps jobs", async |uow| {
        uow.jobs().push(&jobs).await
    })
    .await;
    let now = shop.make.tick();
    let lease = Duration::from_secs(60);
    let mut one = shop.begin().await;
    let mut two = shop.begin().await;
    let mut taken = Vec::new();
    for uow in [&mut one, &mut two] {
        let claimed = uow.jobs().claim(now, lease, 10_000).await;
        let claimed = must(claimed, "jobs.claim: does not wait for others");
        taken.extend(claimed.into_iter().map(|job| job.new.id));
    }
    for uow in [one, two] {
        must(uow.commit().await, "commit: commits");
    }
    let times = |id| taken.iter().filter(|taken| **taken == id).count();
    assert!(
        jobs.iter().all(|job| times(job.id) == 1),
        "jobs.claim: several workers take different jobs, and leave none"
    );
}
