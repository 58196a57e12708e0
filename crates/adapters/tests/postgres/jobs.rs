//! Several workers on one queue, several readers of one inbox, several requests of
//! one key.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chrono::TimeDelta;
use lessor_adapters::postgres::{Heard, PgDatabase, Pooling};
use lessor_domain::access::Mode;
use lessor_domain::checkout::Effect;
use lessor_domain::ids::{CheckoutPubId, OrganizationId};
use lessor_domain::ports::{
    Backlog, Database, IdGenerator, IdempotencyKey, InboxMessage, Job, JobSubject, NewJob, Reach,
    Scope,
};
use lessor_domain::time::Timestamp;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::leasing::wide;
use super::support::{Shop, pool, run};

const LEASE: Duration = Duration::from_secs(60);

fn job(shop: &Shop, subject: JobSubject, at: Timestamp) -> NewJob {
    NewJob {
        id: shop.make.ids().next(),
        effect: Effect::CheckCredit,
        subject,
        organization_id: shop.organization.id,
        mode: Mode::Sandbox,
        created_at: at,
        available_at: at,
        is_held: false,
        units: None,
    }
}

fn subject(shop: &Shop) -> JobSubject {
    JobSubject::Checkout(shop.make.id::<CheckoutPubId>())
}

async fn push(shop: &Shop, jobs: &[NewJob]) {
    shop.run(async |uow| uow.jobs().push(jobs).await)
        .await
        .unwrap();
}

async fn claim(database: &PgDatabase, reach: Reach, now: Timestamp, limit: u32) -> Vec<Job> {
    let mut uow = database.begin(reach).await.unwrap();
    let claimed = uow.jobs().claim(now, LEASE, limit).await.unwrap();
    uow.commit().await.unwrap();
    claimed
}

async fn complete(database: &PgDatabase, job: &Job, at: Timestamp) -> bool {
    let reach = job.new.organization_id.into();
    let mut uow = database.begin(reach).await.unwrap();
    let completed = uow.jobs().complete(job, at).await.unwrap();
    uow.commit().await.unwrap();
    completed
}

/// Who listens hears of jobs once they are committed, and of none that is not to be done yet. Where sessions are
/// a pooler's nothing is said.
#[tokio::test(flavor = "multi_thread")]
async fn who_listens_hears_of_jobs_that_are_to_be_done() {
    let shop = Shop::open().await;
    let database = shop.database().clone();
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let listening = tokio::spawn(async move {
        let hear = |said| sender.send(said).unwrap_or_default();
        database.listen(hear).await
    });
    let begun = Some(Heard::Nothing);
    assert_eq!(heard.recv().await, begun, "it begins to listen");
    let now = shop.make.tick();
    let due = || job(&shop, subject(&shop), now);
    // What was committed before is heard before.
    let mark = async |number: i64| {
        let tell = format!("NOTIFY lessor_events, '{number} live'");
        shop.test.query(&tell).await;
        Some(Heard::Feed(Scope {
            organization_id: OrganizationId::new(number).unwrap(),
            mode: Mode::Live,
        }))
    };

    let (mut held, mut later) = (due(), due());
    held.is_held = true;
    later.available_at = now + TimeDelta::days(1);
    push(&shop, &[held.clone(), later]).await;
    let mut given_up = shop.begin().await;
    given_up.jobs().push(&[due()]).await.unwrap();
    given_up.roll_back().await.unwrap();
    let pooled = pool(&shop.test, |settings| {
        settings.pooling = Pooling::Transaction;
    });
    run(&pooled, shop.reach(), async |uow| {
        uow.jobs().push(&[due()]).await
    })
    .await
    .unwrap();
    let marked = mark(1).await;
    assert_eq!(heard.recv().await, marked, "nothing is to be done");

    let pushed = due();
    shop.run(async |uow| {
        uow.jobs().push(std::slice::from_ref(&pushed)).await?;
        uow.jobs().push(&[due()]).await
    })
    .await
    .unwrap();
    assert_eq!(heard.recv().await, Some(Heard::Jobs), "pushed");
    let marked = mark(2).await;
    assert_eq!(heard.recv().await, marked, "a commit is heard once");

    shop.run(async |uow| uow.jobs().release(held.subject, now).await)
        .await
        .unwrap();
    assert_eq!(heard.recv().await, Some(Heard::Jobs), "released");
    shop.run(async |uow| uow.jobs().requeue(None, now).await)
        .await
        .unwrap();
    assert_eq!(heard.recv().await, Some(Heard::Jobs), "tried again");
    shop.run(async |uow| uow.jobs().skip(pushed.id, "no", now).await)
        .await
        .unwrap();
    let skipped = Some(Heard::Jobs);
    assert_eq!(heard.recv().await, skipped, "what stands behind goes on");
    listening.abort();
}

/// Jobs as they were done, in the order in which their ends were written.
type Done = Arc<Mutex<Vec<(JobSubject, Uuid)>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_workers_do_each_job_once_and_in_order() {
    const WORKERS: usize = 8;
    const JOBS: usize = 200;
    const SUBJECTS: usize = 40;
    let shop = Shop::open().await;
    let (database, reach) = (wide(&shop), shop.reach());
    let now = shop.make.tick();
    let subjects: Vec<JobSubject> = (0..SUBJECTS).map(|_| subject(&shop)).collect();
    // Eight times two hundred, the subjects in turn.
    let jobs: Vec<NewJob> = (0..WORKERS * JOBS)
        .map(|index| job(&shop, subjects[index % SUBJECTS], now))
        .collect();
    push(&shop, &jobs).await;
    let done: Done = Done::default();
    let left = Arc::new(AtomicUsize::new(jobs.len()));
    let workers = (0..WORKERS).map(|worker| {
        let (database, done, left) = (database.clone(), Arc::clone(&done), Arc::clone(&left));
        tokio::spawn(async move {
            while left.load(Ordering::SeqCst) > 0 {
                // Some take single jobs, some take many at once.
                let limit = if worker % 2 == 0 { 1 } else { 7 };
                for job in claim(&database, reach, now, limit).await {
                    // Held while the end is written, so that the order is the commits'.
                    let mut done = done.lock().await;
                    assert!(complete(&database, &job, now).await);
                    done.push((job.new.subject, job.new.id));
                    left.fetch_sub(1, Ordering::SeqCst);
                }
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        tokio::time::timeout(Duration::from_secs(120), worker)
            .await
            .unwrap()
            .unwrap();
    }
    let order = |done: &[(JobSubject, Uuid)]| {
        let mut by_subject: HashMap<JobSubject, Vec<Uuid>> = HashMap::new();
        for (subject, id) in done {
            by_subject.entry(*subject).or_default().push(*id);
        }
        by_subject
    };
    let asked: Vec<_> = jobs.iter().map(|job| (job.subject, job.id)).collect();
    assert_eq!(order(&done.lock().await), order(&asked));
    let mut view = shop.view().await;
    assert_eq!(view.doors().backlog().await.unwrap(), Backlog::default());
}

/// What one transaction holds, another does not wait for and does not pass by.
#[tokio::test]
async fn a_job_that_is_being_taken_is_left_alone_with_all_behind_it() {
    let shop = Shop::open().await;
    let now = shop.make.tick();
    let (held, free) = (subject(&shop), subject(&shop));
    let jobs = [held, held, free].map(|subject| job(&shop, subject, now));
    push(&shop, &jobs).await;
    let mut first = shop.begin().await;
    let taken = first.jobs().claim(now, LEASE, 1).await.unwrap();
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].new.id, jobs[0].id);
    let others = claim(shop.database(), shop.reach(), now, 10).await;
    let ids: Vec<Uuid> = others.iter().map(|job| job.new.id).collect();
    assert_eq!(ids, [jobs[2].id]);
    let none = shop
        .run(async |uow| uow.jobs().claim_of(held, now, LEASE).await)
        .await
        .unwrap();
    assert_eq!(none, None);
    // Called off: as if it had never been taken.
    drop(first);
    let again = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            if let [job] = claim(shop.database(), shop.reach(), now, 1)
                .await
                .as_slice()
            {
                return job.clone();
            }
        }
    })
    .await
    .unwrap();
    assert_eq!((again.new.id, again.attempts), (jobs[0].id, 1));
}

/// By the database's clock: what a worker takes the time to be changes no lease.
#[tokio::test]
async fn a_worker_that_lost_its_lease_changes_nothing() {
    let shop = Shop::open().await;
    let now = shop.make.tick();
    let new = job(&shop, subject(&shop), now);
    push(&shop, std::slice::from_ref(&new)).await;
    let brief = Duration::from_millis(300);
    let slow = shop.run(async |uow| uow.jobs().claim(now, brief, 1).await);
    let slow = slow.await.unwrap().remove(0);
    let ahead = now + TimeDelta::days(1);
    assert_eq!(claim(shop.database(), shop.reach(), ahead, 1).await, []);
    let quick = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            if let [job] = claim(shop.database(), shop.reach(), now, 1)
                .await
                .as_slice()
            {
                return job.clone();
            }
        }
    })
    .await
    .unwrap();
    assert_eq!((slow.attempts, quick.attempts), (1, 2));
    assert_eq!(quick.first_attempt_at, Some(now));
    assert!(!complete(shop.database(), &slow, now).await);
    let renewed = shop
        .run(async |uow| {
            uow.jobs()
                .retry(&slow, now + TimeDelta::days(1), "late")
                .await?;
            uow.jobs().bury(&slow, "late").await?;
            uow.jobs().renew(&slow, LEASE).await
        })
        .await
        .unwrap();
    assert!(!renewed);
    assert!(complete(shop.database(), &quick, now).await);
    assert!(!complete(shop.database(), &quick, now).await);
}

#[tokio::test]
async fn messages_that_somebody_handles_are_left_out() {
    let shop = Shop::open().await;
    let now = shop.make.tick();
    let message = |id: &str| InboxMessage {
        source: "processor".to_owned(),
        id: id.to_owned(),
        mode: Mode::Sandbox,
        organization_id: None,
        body: b"{}".to_vec(),
        received_at: now,
    };
    shop.run(async |uow| {
        for id in ["evt_1", "evt_2", "evt_3"] {
            uow.inbox().insert(&message(id)).await?;
        }
        Ok(())
    })
    .await
    .unwrap();
    let mut first = shop.begin().await;
    let held = first.inbox().lock_waiting(now, 2).await.unwrap();
    let ids = |messages: &[InboxMessage]| -> Vec<String> {
        messages.iter().map(|message| message.id.clone()).collect()
    };
    assert_eq!(ids(&held), ["evt_1", "evt_2"]);
    let mut second = shop.begin().await;
    let rest = second.inbox().lock_waiting(now, 10).await.unwrap();
    assert_eq!(ids(&rest), ["evt_3"]);
}

#[tokio::test]
async fn a_key_is_worked_on_by_one_at_a_time() {
    let shop = Shop::open().await;
    let key = |key: &str, path: &str| IdempotencyKey {
        organization_id: shop.organization.id,
        mode: Mode::Sandbox,
        path: path.to_owned(),
        key: key.to_owned(),
    };
    let one = key("1", "POST /v1/checkouts");
    let mut first = shop.begin().await;
    assert!(first.idempotency().try_lock(&one).await.unwrap());
    let mut second = shop.begin().await;
    assert!(!second.idempotency().try_lock(&one).await.unwrap());
    for other in [
        key("2", "POST /v1/checkouts"),
        key("1", "POST /v1/products"),
        IdempotencyKey {
            mode: Mode::Live,
            ..one.clone()
        },
    ] {
        assert!(second.idempotency().try_lock(&other).await.unwrap());
    }
    first.commit().await.unwrap();
    assert!(second.idempotency().try_lock(&one).await.unwrap());
    // Called off, as a request is whose client went away.
    drop(second);
    tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            let mut third = shop.begin().await;
            if third.idempotency().try_lock(&one).await.unwrap() {
                break;
            }
        }
    })
    .await
    .unwrap();
}
