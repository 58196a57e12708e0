//! Several workers on one queue, several readers of one inbox, several requests of
//! one key.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chrono::TimeDelta;
use lessor_adapters::postgres::{Heard, PgDatabase};
use lessor_domain::access::Mode;
use lessor_domain::checkout::Effect;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{
    Backlog, Database, Errand, IdGenerator, IdempotencyKey, InboxMessage, Job, JobSubject, NewJob,
    Reach,
};
use lessor_domain::time::Timestamp;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::leasing::wide;
use super::scans::rows_read;
use super::support::{Patience, Shop, skipped_on_a_cluster};

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

/// Claims one job as soon as one may be.
async fn claim_once_there_is_one(shop: &Shop, now: Timestamp) -> Job {
    let mut patience = Patience::new();
    loop {
        let claimed = claim(shop.database(), shop.reach(), now, 1).await;
        if let Some(job) = claimed.into_iter().next() {
            return job;
        }
        patience.spend("there is no job");
    }
}

async fn complete(database: &PgDatabase, job: &Job, at: Timestamp) -> bool {
    let reach = job.new.organization_id.into();
    let mut uow = database.begin(reach).await.unwrap();
    let completed = uow.jobs().complete(job, at).await.unwrap();
    uow.commit().await.unwrap();
    completed
}

/// Listens until the task is aborted, and tells of jobs whenever `left` says so.
fn listen(shop: &Shop, left: Option<Arc<Notify>>) -> (JoinHandle<()>, UnboundedReceiver<Heard>) {
    let (sender, heard) = unbounded_channel();
    let database = shop.database().clone();
    let listening = tokio::spawn(async move {
        let hear = |said| sender.send(said).unwrap_or_default();
        database.listen(left.as_deref(), hear).await.unwrap();
    });
    (listening, heard)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_listens_hears_of_jobs_that_another_process_left() {
    let shop = Shop::open().await;
    let left = Arc::new(Notify::new());
    // What is said before it listens is not lost.
    left.notify_one();
    let (tells, mut own) = listen(&shop, Some(Arc::clone(&left)));
    assert_eq!(
        own.recv().await,
        Some(Heard::Nothing),
        "it begins to listen"
    );
    assert_eq!(own.recv().await, Some(Heard::Jobs), "what was left before");
    let (listens, mut heard) = listen(&shop, None);
    let begun = Some(Heard::Nothing);
    assert_eq!(heard.recv().await, begun, "another begins to listen");
    for _ in 0..2 {
        left.notify_one();
        assert_eq!(
            heard.recv().await,
            Some(Heard::Jobs),
            "the other hears of it"
        );
    }
    tells.abort();
    listens.abort();
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
    let again = claim_once_there_is_one(&shop, now).await;
    assert_eq!((again.new.id, again.attempts), (jobs[0].id, 1));
}

/// By the database's clock: what a worker takes the time to be changes no lease.
#[tokio::test]
async fn a_worker_that_lost_its_lease_changes_nothing() {
    let shop = Shop::open().await;
    let now = shop.make.tick();
    let new = job(&shop, subject(&shop), now);
    push(&shop, std::slice::from_ref(&new)).await;
    let slow = claim(shop.database(), shop.reach(), now, 1).await.remove(0);
    let ahead = now + TimeDelta::days(1);
    assert_eq!(claim(shop.database(), shop.reach(), ahead, 1).await, []);
    let brief = Duration::from_millis(300);
    let renewed = shop.run(async |uow| uow.jobs().renew(&slow, brief).await);
    assert!(renewed.await.unwrap());
    let quick = claim_once_there_is_one(&shop, now).await;
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
async fn a_claim_reads_few_of_many_where_there_was_one_when_they_were_counted() {
    if skipped_on_a_cluster("a claim is planned each time") {
        return;
    }
    let shop = Shop::open().await;
    let now = shop.make.tick();
    push(&shop, &[job(&shop, subject(&shop), now)]).await;
    // As if it had been done when it was written: the indexes of those that wait are empty.
    let done = "create temporary table done as select * from jobs; \
                update done set state = 'done', done_at = created_at; \
                truncate jobs; \
                insert into jobs overriding system value select * from done; \
                analyze jobs";
    shop.test.execute(done).await;
    let more = async |count: usize| {
        let more: Vec<NewJob> = (0..count)
            .map(|_| job(&shop, subject(&shop), now))
            .collect();
        push(&shop, &more).await;
    };
    // A claim looks for the first, and of each whether anything stands before it.
    let read = rows_read(&shop.test, "jobs", 11, async |database| {
        more(300).await;
        // The plan is made, and kept.
        assert_eq!(claim(database, shop.reach(), now, 1).await.len(), 1);
        more(1_700).await;
        assert_eq!(claim(database, shop.reach(), now, 8).await.len(), 8);
    });
    let read = read.await;
    assert!(read < 100, "{read} rows were read");
}

#[tokio::test]
async fn whose_old_jobs_are_is_told_by_the_first_of_each() {
    if skipped_on_a_cluster("a coordinator asks its nodes once") {
        return;
    }
    let shop = Shop::open().await;
    let now = shop.make.tick();
    let jobs: Vec<NewJob> = (0..500).map(|_| job(&shop, subject(&shop), now)).collect();
    push(&shop, &jobs).await;
    let done = "update jobs set state = 'done', done_at = created_at; analyze jobs";
    shop.test.execute(done).await;
    let later = now + TimeDelta::days(1);
    for (before, owners) in [(later, vec![shop.organization.id]), (now, Vec::new())] {
        let read = rows_read(&shop.test, "jobs", 1, async |database| {
            let mut view = database.read(Reach::Server).await.unwrap();
            let errand = Errand::OldJobs { before };
            assert_eq!(view.doors().owners_with(errand).await.unwrap(), owners);
        });
        let read = read.await;
        assert!(read < 10, "{read} rows were read");
    }
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
    let mut patience = Patience::new();
    loop {
        let mut third = shop.begin().await;
        if third.idempotency().try_lock(&one).await.unwrap() {
            break;
        }
        patience.spend("it is locked for ever");
    }
}
