//! Telling endpoints what happened.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use lessor_domain::services::Error;
use lessor_domain::webhooks::Delivery;
use lessor_domain::workers::Round;
use lessor_domain::workers::couriers::{Courier, Delivered};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use super::{LONGEST_PAUSE, note_access};
use crate::state::feeds::Feeds;
use crate::telemetry::{DELIVERIES, ENDPOINTS_DISABLED, outage};

/// How often it is looked for deliveries that are due without anybody saying so: those that are tried again,
/// and those of other processes.
const POLL: Duration = Duration::from_secs(2);

/// How many are taken beyond the places that are free, so that not each place that becomes free is a claim.
/// They are given places long before [`SLOW_AFTER`](lessor_domain::workers::couriers::SLOW_AFTER), from which
/// on their endpoints would count as slow: whoever has a place leaves it when it is not quick.
const AHEAD: usize = 32;

/// How long an endpoint may take before its attempt makes room for others.
const QUICK: Duration = Duration::from_millis(100);
/// Attempts that wait at a time for endpoints that are not quick. Each holds a body and a connection. When
/// there are more they keep the room of the quick ones.
const SLOW_AT_ONCE: usize = 2_048;
/// How many of those that were slow are written down at a time: when many are given up in the same moment,
/// what they take of the database the quick ones need too.
const SLOW_WRITTEN_AT_ONCE: usize = 2;

/// Who tells endpoints what happened, and how many at a time.
pub struct Couriers {
    /// Makes one attempt.
    pub courier: Courier,
    /// Attempts under way at a time, besides those that wait for endpoints that are not quick.
    pub at_once: NonZeroUsize,
    /// Tells that there may be something to deliver.
    pub feeds: Feeds,
}

/// Takes deliveries and gives each a task.
pub(super) struct Dispatcher {
    pub(super) couriers: Couriers,
    pub(super) stop: CancellationToken,
    pub(super) cut: CancellationToken,
    pub(super) tasks: TaskTracker,
}

impl Dispatcher {
    pub(super) async fn run(self) {
        let stop = self.stop.clone();
        let mut ahead = VecDeque::new();
        stop.run_until_cancelled(self.dispatch(&mut ahead)).await;
        for delivery in ahead {
            hand_back(&self.couriers.courier, &delivery).await;
        }
    }

    /// Gives each delivery a place. A claim that is cut off by the stop took nothing, or its lease ends by
    /// itself.
    async fn dispatch(&self, ahead: &mut VecDeque<Delivery>) {
        let free = Arc::new(Semaphore::new(self.couriers.at_once.get()));
        let slow = Slow {
            room: Arc::new(Semaphore::new(SLOW_AT_ONCE)),
            writing: Arc::new(Semaphore::new(SLOW_WRITTEN_AT_ONCE)),
        };
        let mut round = Round::default();
        let mut pause = POLL;
        loop {
            let Ok(place) = Arc::clone(&free).acquire_owned().await else {
                // Nobody closes the semaphore.
                return;
            };
            if let Some(delivery) = ahead.pop_front() {
                self.deliver(delivery, &slow, place);
                continue;
            }
            let limit = free.available_permits().saturating_add(AHEAD);
            drop(place);
            let limit = u32::try_from(limit).unwrap_or(u32::MAX);
            let taken = self.couriers.courier.take(&mut round, limit).await;
            note_access(&taken);
            match taken {
                Ok(taken) if taken.is_empty() => {
                    pause = POLL;
                    self.couriers.feeds.wait_to_deliver(POLL).await;
                }
                Ok(taken) => {
                    pause = POLL;
                    ahead.extend(taken);
                }
                Err(error) => {
                    outage::hinders("the worker cannot take deliveries", &error);
                    sleep(pause).await;
                    pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    fn deliver(&self, delivery: Delivery, slow: &Slow, place: OwnedSemaphorePermit) {
        let courier = self.couriers.courier.clone();
        let feeds = self.couriers.feeds.clone();
        let cut = self.cut.clone();
        let slow = slow.clone();
        let span = tracing::info_span!(
            "delivery", id = %delivery.new.id, event = %delivery.new.event_id, endpoint = %delivery.new.endpoint_id
        );
        self.tasks.spawn(
            async move {
                deliver(&courier, delivery, &cut, &slow, place).await;
                // The next one about the same record may be due now.
                feeds.to_deliver();
            }
            .instrument(span),
        );
    }
}

async fn hand_back(courier: &Courier, delivery: &Delivery) {
    match courier.hand_back(delivery).await {
        Ok(()) => tracing::info!("handed back"),
        Err(error) => outage::hinders("cannot be handed back", &error),
    }
}

/// The room for attempts that wait for endpoints that are not quick: so those that answer nobody hold up
/// nobody else.
#[derive(Clone)]
struct Slow {
    room: Arc<Semaphore>,
    writing: Arc<Semaphore>,
}

impl Slow {
    /// Makes an attempt and writes it down. What is not quick leaves its place to others, if there is room for
    /// it elsewhere.
    async fn deliver(
        &self,
        courier: &Courier,
        delivery: Delivery,
        place: OwnedSemaphorePermit,
    ) -> Result<Delivered, Error> {
        let mut attempt = pin!(courier.attempt(delivery));
        if let Ok(attempt) = timeout(QUICK, attempt.as_mut()).await {
            return courier.note(attempt?).await;
        }
        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else {
            return courier.note(attempt.await?).await;
        };
        drop(place);
        let attempt = attempt.await?;
        // Nobody closes the semaphore.
        let writing = self.writing.acquire().await;
        let noted = courier.note(attempt).await;
        drop((room, writing));
        noted
    }
}

async fn deliver(
    courier: &Courier,
    delivery: Delivery,
    cut: &CancellationToken,
    slow: &Slow,
    place: OwnedSemaphorePermit,
) {
    let delivering = slow.deliver(courier, delivery.clone(), place);
    let Some(tried) = cut.run_until_cancelled(delivering).await else {
        hand_back(courier, &delivery).await;
        return;
    };
    let outcome = match tried {
        Ok(Delivered::Acknowledged) => "acknowledged",
        Ok(Delivered::Later(at)) => {
            tracing::debug!(%at, "to be tried again");
            "later"
        }
        Ok(Delivered::Failed) => {
            tracing::info!("an event was not delivered, and is not tried any more");
            "failed"
        }
        Ok(Delivered::Disabled(reason)) => {
            tracing::warn!(%reason, "a webhook endpoint is disabled");
            metrics::counter!(ENDPOINTS_DISABLED, "reason" => reason.as_str()).increment(1);
            "failed"
        }
        Ok(Delivered::Moot) => "moot",
        Err(error) => {
            outage::hinders("what became of the delivery cannot be written down", &error);
            "unknown"
        }
    };
    metrics::counter!(DELIVERIES, "outcome" => outcome).increment(1);
}
