//! The handle that tests hold.

mod people;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::cards::Decline;
use crate::clock::Clock;
use crate::control::{self, Settings};
use crate::events::Event;
use crate::fault::Rule;
use crate::journal::Recorded;
use crate::people as acts;
use crate::server;
use crate::state::{Locked, Place, Shared};
use crate::webhooks::{self, Delivery, Webhooks};

/// A running double. It ends when this is dropped.
///
/// It has a thread and a runtime of its own, so it outlives what is tested, answers
/// while a test blocks, and can be used from any runtime or none.
#[derive(Debug)]
pub struct Double {
    pub(crate) shared: Arc<Shared>,
    pub(crate) address: SocketAddr,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) thread: Option<JoinHandle<()>>,
}

impl Double {
    /// Starts one on a free port of the loopback, with the system's time.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn start() -> io::Result<Self> {
        Self::listen(SocketAddr::from(([127, 0, 0, 1], 0)), None)
    }

    /// Starts one whose clock stands at that time until it is moved.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn start_at(time: DateTime<Utc>) -> io::Result<Self> {
        Self::listen(SocketAddr::from(([127, 0, 0, 1], 0)), Some(time))
    }

    /// Starts one at that address.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub fn listen(address: SocketAddr, time: Option<DateTime<Utc>>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let clock = time.map_or(Clock::Running(TimeDelta::zero()), Clock::Standing);
        let (fresh, events) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared::new(clock, fresh));
        shared.lock().serve_pages_at(&format!("http://{address}"));
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let serving = Arc::clone(&shared);
        let thread = Builder::new()
            .name("processor-double".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                        return;
                    };
                    tokio::select! {
                        _ = stopped => {}
                        () = server::serve(listener, Arc::clone(&serving)) => {}
                        () = webhooks::run(serving, events) => {}
                    }
                });
            })?;
        Ok(Self {
            shared,
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it is: the base URL of the API.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    // --- what goes wrong

    /// Has something go wrong.
    pub fn fault(&self, rule: Rule) {
        self.lock().faults.add(rule);
    }

    /// Has nothing go wrong any more. What hangs keeps hanging.
    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    /// Whether it resets every connection.
    pub fn down(&self, down: bool) {
        self.lock().down = down;
    }

    /// Lets the requests go on that [`Fault::Hold`](crate::Fault::Hold) holds now.
    pub fn release(&self) {
        self.shared.release.notify_waiters();
    }

    /// Changes rules of the place.
    pub fn set(&self, settings: Settings) {
        control::set(&mut self.lock(), settings);
    }

    /// Forgets all idempotency keys but those in use.
    pub fn forget_keys(&self) {
        self.lock().keys.forget();
    }

    // --- time

    /// The time of its clock.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.lock().clock.now()
    }

    /// Sets its clock, which stands from then on; what was due until then happens, in
    /// order.
    pub fn set_time(&self, at: DateTime<Utc>) {
        let mut state = self.lock();
        state.clock.set(at);
        state.catch_up();
    }

    /// Moves its clock on; what is due until then happens, in order.
    pub fn advance(&self, by: TimeDelta) {
        let mut state = self.lock();
        state.clock.advance(by);
        state.catch_up();
    }

    // --- what people and banks do

    /// An identity verification moves: `processing`, `verified`, `canceled`, or
    /// `requires_input` with the code of an error.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn decide_identity(
        &self,
        session: &str,
        status: &str,
        error: Option<&str>,
    ) -> Result<(), String> {
        acts::decide(&mut self.lock(), session, status, error)
    }

    /// An authorization lapses before its time.
    ///
    /// # Errors
    /// When there is no such payment.
    pub fn lapse(&self, payment_intent: &str) -> Result<(), String> {
        acts::lapse(&mut self.lock(), payment_intent)
    }

    /// The customer's bank contests a payment, named by itself, by its charge or by the invoice
    /// that it paid; answers the dispute's id.
    ///
    /// # Errors
    /// When there is no such payment, or nothing of it is left to take back.
    pub fn dispute(&self, payment_intent: &str) -> Result<String, String> {
        acts::contest(&mut self.lock(), payment_intent)
    }

    /// A dispute ends: `won` or `lost`.
    ///
    /// # Errors
    /// When there is no such dispute.
    pub fn close_dispute(&self, dispute: &str, status: &str) -> Result<(), String> {
        acts::close(&mut self.lock(), dispute, status)
    }

    /// A customer hands in a card in their browser: a payment method of this test card,
    /// in either mode, that is nobody's yet. Answers its id.
    ///
    /// The live mode knows no methods by name, so this is how it gets one.
    ///
    /// # Errors
    /// When there is no such card.
    pub fn new_card(&self, live: bool, name: &str) -> Result<String, String> {
        acts::new_card(&mut self.lock(), live, name)
    }

    /// From now on charges of a payment method are declined, or not any more.
    ///
    /// # Errors
    /// When there is no such payment method.
    pub fn decline(&self, payment_method: &str, decline: Option<Decline>) -> Result<(), String> {
        acts::card(&mut self.lock(), payment_method, None, decline)
    }

    // --- what there is

    /// The test mode's objects of a kind, such as `subscription`, oldest first.
    #[must_use]
    pub fn objects(&self, kind: &str) -> Vec<Value> {
        self.lock().world(false).all(kind).to_vec()
    }

    /// The live mode's objects of a kind.
    #[must_use]
    pub fn live_objects(&self, kind: &str) -> Vec<Value> {
        self.lock().world(true).all(kind).to_vec()
    }

    /// The objects of a kind of the account that keys like `sk_test_acctBlue_1` name, here `acctBlue`.
    #[must_use]
    pub fn objects_at(&self, account: &str, live: bool, kind: &str) -> Vec<Value> {
        let place = Place {
            account: account.to_owned(),
            live,
        };
        let state = self.lock();
        let world = state.world_at(&place);
        world.map_or_else(Vec::new, |world| world.all(kind).to_vec())
    }

    /// Every event of that account since the start, oldest first. They are sent nowhere: a test delivers
    /// them by itself.
    #[must_use]
    pub fn events_at(&self, account: &str) -> Vec<Event> {
        drop(self.lock());
        self.lock().events_at(account)
    }

    /// The object of this id, in either mode.
    #[must_use]
    pub fn object(&self, id: &str) -> Option<Value> {
        let state = self.lock();
        let found = state
            .world(false)
            .any(id)
            .or_else(|| state.world(true).any(id));
        found.cloned()
    }

    /// The ids of both modes' objects of a kind, by the value of one of their
    /// metadata: `ids_by("subscription", "lessor_checkout")` shows every checkout that
    /// has a subscription, and every subscription that it has.
    #[must_use]
    pub fn ids_by(&self, kind: &str, metadata: &str) -> BTreeMap<String, Vec<String>> {
        let state = self.lock();
        let mut found = BTreeMap::<_, Vec<_>>::new();
        for live in [false, true] {
            for object in state.world(live).all(kind) {
                if let Some(value) = object["metadata"][metadata].as_str() {
                    let id = object["id"].as_str().unwrap_or_default().to_owned();
                    found.entry(value.to_owned()).or_default().push(id);
                }
            }
        }
        found
    }

    /// The same for payments whose money is held at this moment, neither captured nor
    /// let go.
    #[must_use]
    pub fn held_by(&self, metadata: &str) -> BTreeMap<String, Vec<String>> {
        let mut held = self.ids_by("payment_intent", metadata);
        for ids in held.values_mut() {
            ids.retain(|id| {
                let intent = self.object(id).unwrap_or_default();
                intent["status"] == "requires_capture"
            });
        }
        held.retain(|_, ids| !ids.is_empty());
        held
    }

    /// The subscriptions that were made to charge a part of a month, each time that
    /// they were: none, when their ends are right.
    #[must_use]
    pub fn prorations(&self) -> Vec<Value> {
        let mut all = self.objects("double.proration");
        all.extend(self.live_objects("double.proration"));
        all
    }

    // --- what was asked

    /// Every request since the start, or since the journal was cleared.
    #[must_use]
    pub fn journal(&self) -> Vec<Recorded> {
        self.lock().journal.clone()
    }

    /// The requests of this method to this operation, such as `/v1/refunds/*`.
    #[must_use]
    pub fn requests(&self, method: &str, operation: &str) -> Vec<Recorded> {
        let fits = |entry: &Recorded| {
            entry.method == method && entry.operation.as_deref() == Some(operation)
        };
        self.journal().into_iter().filter(fits).collect()
    }

    /// Forgets the requests.
    pub fn clear_journal(&self) {
        self.lock().journal.clear();
    }

    // --- what is told

    /// Every event since the start, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        // Taking the state brings what is due; letting go of it gathers its events.
        drop(self.lock());
        self.lock().events.clone()
    }

    /// Makes an event of any kind about any object, for what the double does not do by
    /// itself.
    pub fn emit(&self, live: bool, kind: &str, object: &Value) {
        self.lock().world_mut(live).emit(kind, object);
    }

    /// Sends events from now on. Those of before stay unsent.
    pub fn send_to(&self, webhooks: Webhooks) {
        self.lock().webhooks = Some(webhooks);
    }

    /// Sends no events any more, nor again those that were not taken.
    pub fn send_nothing(&self) {
        self.lock().webhooks = None;
    }

    /// Every message that was sent.
    #[must_use]
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.lock().deliveries.clone()
    }

    pub(crate) fn lock(&self) -> Locked<'_> {
        self.shared.lock()
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _told = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}
