//! Clients that write, and ask again under their idempotency keys until they are answered.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lessor_tests::server::PATIENCE;
use lessor_tests::{refuse, text};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::shop::{Answer, Shop};

const WRITERS: usize = 4;
/// The pause before the same is asked again, and between two looks.
const AGAIN: Duration = Duration::from_millis(20);

/// Clients that go on until they are told to end.
pub(crate) struct Writers {
    shop: Shop,
    leases: bool,
    running: JoinSet<Vec<String>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    over: AtomicBool,
    acknowledged: AtomicU64,
    /// Customers for whom something was asked.
    begun: AtomicU64,
    pause: Mutex<Pause>,
}

/// How long nothing was acknowledged.
#[derive(Default)]
struct Pause {
    /// The interruption after which nothing was.
    since: Option<Instant>,
    longest: Duration,
}

/// What is there in the end.
pub(crate) struct Outcome {
    acknowledged: usize,
    /// Of these, how many are not there, or not as they were acknowledged.
    lost: usize,
    /// Checkouts that were asked for,
    begun: u64,
    /// and that there are.
    there: u64,
}

impl Outcome {
    /// Whether nothing is lost, and nothing there twice.
    pub(crate) const fn is_whole(&self) -> bool {
        self.lost == 0 && self.there == self.begun
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            acknowledged,
            lost,
            begun,
            there,
        } = self;
        write!(
            f,
            "{lost} of {acknowledged} acknowledged lost, {there} checkouts of {begun}"
        )
    }
}

impl Writers {
    /// Who begins checkouts.
    pub(crate) fn begin(shop: &Shop) -> Self {
        Self::of(shop, false)
    }

    /// Who leads them on to where the goods are given out, after which a worker makes them leases.
    pub(crate) fn leasing(shop: &Shop) -> Self {
        Self::of(shop, true)
    }

    fn of(shop: &Shop, leases: bool) -> Self {
        let shared = Arc::<Shared>::default();
        let mut running = JoinSet::new();
        for _ in 0..WRITERS {
            let (shop, shared) = (shop.clone(), Arc::clone(&shared));
            running.spawn(async move {
                let mut acknowledged = Vec::new();
                while !shared.over.load(Ordering::Relaxed) {
                    let asked = Instant::now();
                    acknowledged.push(write(&shop, leases, &shared).await);
                    shared.acknowledge(asked);
                }
                acknowledged
            });
        }
        Self {
            shop: shop.clone(),
            leases,
            running,
            shared,
        }
    }

    /// Waits until so many more were acknowledged.
    ///
    /// # Panics
    /// When they are not.
    pub(crate) async fn acknowledged(&self, more: u64) {
        let count = || self.shared.acknowledged.load(Ordering::Relaxed);
        let (before, deadline) = (count(), Instant::now() + PATIENCE);
        while count() < before + more {
            assert!(Instant::now() < deadline, "nothing is acknowledged");
            sleep(AGAIN).await;
        }
    }

    /// Says that somebody was killed a moment ago.
    pub(crate) fn interrupted(&self) {
        self.shared.pause().since = Some(Instant::now());
    }

    /// The longest time from an interruption to the next acknowledgement.
    pub(crate) fn longest_pause(&self) -> Duration {
        self.shared.pause().longest
    }

    /// Ends the clients, and looks at what is there.
    ///
    /// # Panics
    /// When what is there cannot be read.
    pub(crate) async fn end(mut self) -> Outcome {
        self.shared.over.store(true, Ordering::Relaxed);
        let mut acknowledged = Vec::new();
        while let Some(ended) = self.running.join_next().await {
            acknowledged.extend(ended.unwrap_or_else(|error| refuse(&error.to_string())));
        }
        let deadline = Instant::now() + PATIENCE;
        let mut lost = 0;
        for id in &acknowledged {
            while !self.is_there(id).await {
                // A worker may still be at it; what is begun is there or is not.
                if !self.leases || Instant::now() >= deadline {
                    lost += 1;
                    break;
                }
                sleep(AGAIN).await;
            }
        }
        Outcome {
            acknowledged: acknowledged.len(),
            lost,
            begun: self.shared.begun.load(Ordering::Relaxed),
            there: self.shop.checkouts().await,
        }
    }

    async fn is_there(&self, id: &str) -> bool {
        let path = format!("/v1/checkouts/{id}");
        match self.shop.get(&path).await {
            Answer::Done(checkout) => !self.leases || checkout["lifecycle"] == "leaseActive",
            Answer::Failed(why) if why.starts_with("404") => false,
            other => refuse(&format!("{path}: {other:?}")),
        }
    }
}

impl Shared {
    fn pause(&self) -> MutexGuard<'_, Pause> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what was first asked for then. What was asked for before an interruption may have been done before it.
    fn acknowledge(&self, asked: Instant) {
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
        let mut pause = self.pause();
        if let Some(since) = pause.since.take_if(|since| *since <= asked) {
            pause.longest = pause.longest.max(since.elapsed());
        }
    }
}

/// A checkout of a new customer, as far as it is led; its id.
async fn write(shop: &Shop, leases: bool, shared: &Shared) -> String {
    shared.begun.fetch_add(1, Ordering::Relaxed);
    let email = shop.email();
    let body = Shop::checkout(&email);
    let made = until_done(shop, "/v1/checkouts", &email, &body).await;
    let id = text(&made["id"]);
    if leases {
        let path = format!("/v1/sandbox/checkouts/{id}/advance");
        let to = json!({ "to": "orderConfirmed" });
        until_done(shop, &path, &format!("{email} advance"), &to).await;
        let path = format!("/v1/checkouts/{id}/fulfill");
        until_done(shop, &path, &format!("{email} fulfill"), &json!({})).await;
    }
    id
}

/// Posts under the key until it is done.
///
/// # Panics
/// When it is not in time: what is refused for good is so each time.
pub(crate) async fn until_done(shop: &Shop, path: &str, key: &str, body: &Value) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match shop.post(path, Some(key), body, true).await {
            Answer::Done(body) => return body,
            other if Instant::now() >= deadline => refuse(&format!("{path}: {other:?}")),
            // Nobody is there, or somebody is still at the request that was cut off.
            _ => sleep(AGAIN).await,
        }
    }
}
