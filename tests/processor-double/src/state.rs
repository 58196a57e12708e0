//! Everything that a double knows, and how a request goes through it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use crate::api::{self, Context, Operation};
use crate::clock::Clock;
use crate::error::ApiError;
use crate::events::Event;
use crate::fault::{Fault, Faults};
use crate::form::{self, Tree};
use crate::idempotency::{Answer, Begun, Fingerprint, Keys};
use crate::journal::Recorded;
use crate::spec;
use crate::store::{Rules, World};
use crate::webhooks::{Delivery, Webhooks};

/// What the server, the handle and the webhooks share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Lets held requests go on.
    pub(crate) release: Notify,
    /// Where new events go.
    fresh: mpsc::UnboundedSender<Event>,
}

impl Shared {
    pub(crate) fn new(clock: Clock, fresh: mpsc::UnboundedSender<Event>) -> Self {
        // Ids differ from one double to the next, as a database outlives a double.
        let marker = format!("{:08x}", getrandom::u32().unwrap_or_default());
        Self::marked(clock, marker, fresh)
    }

    /// With this in all ids.
    pub(crate) fn marked(
        clock: Clock,
        marker: String,
        fresh: mpsc::UnboundedSender<Event>,
    ) -> Self {
        Self {
            state: Mutex::new(State::new(clock, marker)),
            release: Notify::new(),
            fresh,
        }
    }

    /// The state, with everything that is due done.
    pub(crate) fn lock(&self) -> Locked<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.catch_up();
        Locked {
            state,
            fresh: &self.fresh,
        }
    }
}

/// The state in use. What happened meanwhile is handed to the webhooks at the end.
pub(crate) struct Locked<'a> {
    state: MutexGuard<'a, State>,
    fresh: &'a mpsc::UnboundedSender<Event>,
}

impl std::ops::Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl std::ops::DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        for event in self.state.gather() {
            // Nobody listens once the double has ended.
            let _sent = self.fresh.send(event);
        }
    }
}

/// Everything that a double knows.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) clock: Clock,
    pub(crate) keys: Keys,
    pub(crate) faults: Faults,
    pub(crate) journal: Vec<Recorded>,
    pub(crate) events: Vec<Event>,
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) webhooks: Option<Webhooks>,
    pub(crate) down: bool,
    /// Whether messages of a request are sent before its answer.
    pub(crate) messages_first: bool,
    test: World,
    live: World,
    /// The worlds of accounts that keys name.
    others: BTreeMap<Place, World>,
    /// What happened there, by the account.
    others_events: BTreeMap<String, Vec<Event>>,
    marker: String,
    requests: u64,
    connections: u64,
}

/// A request as the server read it.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) raw: String,
    pub(crate) authorization: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) traceparent: Option<String>,
    pub(crate) connection: u64,
}

/// Where the objects of a key are: "Each account's objects are its own", as are those of each of its modes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// Empty of the account whose keys name none.
    pub(crate) account: String,
    pub(crate) live: bool,
}

impl Place {
    /// Of a key `Bearer sk_test_…` or `Bearer sk_live_…`. One whose rest begins with `acct`, letters and
    /// digits names its account with them: `sk_test_acctBlue_1` and `sk_test_acctBlue_2` are two keys of one
    /// account. All others are of one account too.
    fn of(authorization: Option<&str>) -> Option<Self> {
        let key = authorization?.strip_prefix("Bearer ")?.trim();
        let live = is_live(authorization)?;
        let rest = key.splitn(3, '_').nth(2).unwrap_or_default();
        let name = rest.split('_').next().unwrap_or_default();
        let is_named = name.len() > 4
            && name.starts_with("acct")
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        Some(Self {
            account: if is_named {
                name.to_owned()
            } else {
                String::new()
            },
            live,
        })
    }

    /// The idempotency key, which is the account's: of two accounts each has its own of the same text.
    fn own(&self, key: &str) -> String {
        if self.account.is_empty() {
            key.to_owned()
        } else {
            format!("{}\0{key}", self.account)
        }
    }
}

/// A request that is to be carried out.
#[derive(Debug)]
pub(crate) struct Prepared {
    place: Place,
    operation: Operation,
    ids: Vec<String>,
    params: Value,
    key: Option<String>,
}

/// What is answered, and whether it was before.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) answer: Answer,
    pub(crate) replayed: bool,
}

impl From<ApiError> for Reply {
    fn from(error: ApiError) -> Self {
        let answer = Answer {
            status: error.status,
            body: error.body(),
        };
        Self {
            answer,
            replayed: false,
        }
    }
}

impl State {
    fn new(clock: Clock, marker: String) -> Self {
        let now = clock.now().timestamp();
        let mut worlds = [false, true].map(|live| World::new(live, &marker, Rules::default()));
        for world in &mut worlds {
            world.now = now;
        }
        let [test, live] = worlds;
        Self {
            clock,
            keys: Keys::default(),
            faults: Faults::default(),
            journal: Vec::new(),
            events: Vec::new(),
            deliveries: Vec::new(),
            webhooks: None,
            down: false,
            messages_first: false,
            test,
            live,
            others: BTreeMap::new(),
            others_events: BTreeMap::new(),
            marker,
            requests: 0,
            connections: 0,
        }
    }

    /// One mode's objects.
    pub(crate) const fn world(&self, live: bool) -> &World {
        if live { &self.live } else { &self.test }
    }

    pub(crate) const fn world_mut(&mut self, live: bool) -> &mut World {
        if live { &mut self.live } else { &mut self.test }
    }

    /// The world that has the object.
    pub(crate) fn world_of(&mut self, id: &str) -> Option<&mut World> {
        let live = self.live.any(id).is_some();
        if live || self.test.any(id).is_some() {
            return Some(self.world_mut(live));
        }
        self.others
            .values_mut()
            .find(|world| world.any(id).is_some())
    }

    /// The objects of the account and mode; none where nothing was made there yet.
    pub(crate) fn world_at(&self, place: &Place) -> Option<&World> {
        if place.account.is_empty() {
            Some(self.world(place.live))
        } else {
            self.others.get(place)
        }
    }

    /// The same, to be made where it is not.
    pub(crate) fn world_at_mut(&mut self, place: &Place) -> &mut World {
        if place.account.is_empty() {
            return self.world_mut(place.live);
        }
        let like = self.world(place.live);
        let (rules, now, pages) = (like.rules, like.now, like.pages.clone());
        let marker = format!("{}{}", self.marker, place.account);
        self.others.entry(place.clone()).or_insert_with(|| {
            let mut world = World::new(place.live, &marker, rules);
            world.now = now;
            world.pages = pages;
            world
        })
    }

    /// What happened at the account, oldest first.
    pub(crate) fn events_at(&self, account: &str) -> Vec<Event> {
        self.others_events.get(account).cloned().unwrap_or_default()
    }

    /// Where pages for customers are.
    pub(crate) fn serve_pages_at(&mut self, url: &str) {
        for live in [false, true] {
            url.clone_into(&mut self.world_mut(live).pages);
        }
        for world in self.others.values_mut() {
            url.clone_into(&mut world.pages);
        }
    }

    pub(crate) const fn new_connection(&mut self) -> u64 {
        self.connections += 1;
        self.connections
    }

    pub(crate) fn catch_up(&mut self) {
        let now = self.clock.now().timestamp();
        for live in [false, true] {
            let world = self.world_mut(live);
            world.request = serde_json::json!({ "id": null, "idempotency_key": null });
            world.catch_up(now);
        }
        for world in self.others.values_mut() {
            world.request = serde_json::json!({ "id": null, "idempotency_key": null });
            world.catch_up(now);
        }
    }

    /// An event was taken: "Number of webhooks that haven't been successfully delivered (for
    /// example, to return a 20x response) to the URLs you specify."
    pub(crate) fn delivered(&mut self, event: &str) {
        if let Some(world) = self.world_of(event) {
            world.set(event, serde_json::json!({ "pending_webhooks": 0 }));
        }
    }

    /// The events that have to be told of before the answer.
    pub(crate) fn told_first(&mut self) -> Vec<Event> {
        if self.messages_first && self.webhooks.is_some() {
            self.gather()
        } else {
            Vec::new()
        }
    }

    /// The events that came since the last time.
    fn gather(&mut self) -> Vec<Event> {
        for (place, world) in &mut self.others {
            let fresh = std::mem::take(&mut world.fresh_events);
            let told = self.others_events.entry(place.account.clone()).or_default();
            told.extend(fresh.iter().map(Event::of));
        }
        let mut fresh = std::mem::take(&mut self.test.fresh_events);
        fresh.append(&mut self.live.fresh_events);
        let fresh: Vec<_> = fresh.iter().map(Event::of).collect();
        self.events.extend_from_slice(&fresh);
        fresh
    }

    /// Notes the request; answers its id and what is to go wrong with it.
    pub(crate) fn arrive(&mut self, incoming: &Incoming) -> (String, Option<Fault>) {
        self.requests += 1;
        let id = format!("req_{}{:06}", self.marker, self.requests);
        let fault = self.faults.meet(&incoming.method, &incoming.path);
        let tree = form::decode(incoming.raw.as_bytes()).unwrap_or_else(|_| Tree::empty());
        let operation = api::find(&incoming.method, &incoming.path);
        let params = operation
            .as_ref()
            .and_then(|(operation, _)| spec::read(&tree, operation.params).ok());
        let place = Place::of(incoming.authorization.as_deref());
        self.journal.push(Recorded {
            id: id.clone(),
            method: incoming.method.clone(),
            path: incoming.path.clone(),
            operation: operation.map(|(operation, _)| operation.path.to_owned()),
            params: params.unwrap_or_else(|| spec::untyped(&tree)),
            raw: incoming.raw.clone(),
            idempotency_key: incoming.key.clone(),
            api_version: incoming.version.clone(),
            user_agent: incoming.agent.clone(),
            traceparent: incoming.traceparent.clone(),
            live: place.as_ref().is_some_and(|place| place.live),
            account: place.map(|place| place.account).unwrap_or_default(),
            at: self.clock.now().timestamp(),
            connection: incoming.connection,
            fault: fault.as_ref().map(|fault| fault.name().to_owned()),
            status: None,
            replayed: false,
        });
        (id, fault)
    }

    /// Notes how the request ended.
    pub(crate) fn ended(&mut self, id: &str, reply: &Reply) {
        if let Some(entry) = self.journal.iter_mut().rev().find(|entry| entry.id == id) {
            entry.status = Some(reply.answer.status);
            entry.replayed = reply.replayed;
        }
    }

    /// Reads the request and takes its idempotency key.
    ///
    /// # Errors
    /// The answer, when there is nothing to carry out.
    pub(crate) fn prepare(&mut self, incoming: &Incoming) -> Result<Prepared, Reply> {
        let place =
            Place::of(incoming.authorization.as_deref()).ok_or_else(ApiError::unauthorized)?;
        if let Some(version) = incoming.version.as_deref().filter(|text| !is_version(text)) {
            let message = format!("Invalid Stripe API version: {version}");
            return Err(ApiError::invalid(None, &message).into());
        }
        let (operation, ids) = api::find(&incoming.method, &incoming.path)
            .ok_or_else(|| ApiError::no_route(&incoming.method, &incoming.path))?;
        let tree = form::decode(incoming.raw.as_bytes())
            .map_err(|message| ApiError::invalid(None, &message))?;
        let key = incoming.key.clone().filter(|_| incoming.method == "POST");
        if key
            .as_ref()
            .is_some_and(|key| key.is_empty() || key.len() > 255)
        {
            let message = "Idempotency keys have 1 to 255 characters.";
            return Err(ApiError::invalid(None, message).into());
        }
        // A request that is wrong in itself uses no key up.
        let params = spec::read(&tree, operation.params)?;
        if let Some(key) = &key {
            let request = Fingerprint {
                method: incoming.method.clone(),
                path: incoming.path.clone(),
                params: params.clone(),
            };
            let now = self.clock.now().timestamp();
            let begun = self.keys.begin(place.live, &place.own(key), request, now)?;
            if let Begun::Again(answer) = begun {
                return Err(Reply {
                    answer,
                    replayed: true,
                });
            }
        }
        Ok(Prepared {
            place,
            operation,
            ids,
            params,
            key,
        })
    }

    /// Carries the request out, and keeps the answer for its key.
    pub(crate) fn perform(&mut self, id: &str, prepared: &Prepared) -> Reply {
        let world = self.world_at_mut(&prepared.place);
        world.request = serde_json::json!({ "id": id, "idempotency_key": prepared.key });
        let mut context = Context {
            world,
            params: &prepared.params,
            ids: &prepared.ids,
        };
        let done = api::carry_out(&prepared.operation, &mut context).and_then(|mut object| {
            if let Some(world) = self.world_at(&prepared.place) {
                world.expand(&mut object, &prepared.params)?;
            }
            Ok(object)
        });
        let reply = match done {
            Ok(body) => Reply {
                answer: Answer { status: 200, body },
                replayed: false,
            },
            Err(error) => error.into(),
        };
        self.keep(prepared, &reply);
        reply
    }

    /// Has the key answer this from now on.
    pub(crate) fn keep(&mut self, prepared: &Prepared, reply: &Reply) {
        if let Some(key) = &prepared.key {
            let place = &prepared.place;
            self.keys
                .keep(place.live, &place.own(key), reply.answer.clone());
        }
    }

    /// The request is as if it had not been.
    pub(crate) fn let_go(&mut self, prepared: &Prepared) {
        if let Some(key) = &prepared.key {
            let place = &prepared.place;
            self.keys.release(place.live, &place.own(key));
        }
    }
}

/// Whose key it is: `Bearer sk_test_…` or `Bearer sk_live_…`.
fn is_live(authorization: Option<&str>) -> Option<bool> {
    let key = authorization?.strip_prefix("Bearer ")?.trim();
    if key.starts_with("sk_live_") || key.starts_with("rk_live_") {
        Some(true)
    } else {
        (key.starts_with("sk_test_") || key.starts_with("rk_test_")).then_some(false)
    }
}

/// `2026-10-28.endive`, or the date alone.
fn is_version(text: &str) -> bool {
    let date = text.split_once('.').map_or(text, |(date, _)| date);
    chrono::NaiveDate::parse_from_str(date, "%Y-%m-%d").is_ok()
}
