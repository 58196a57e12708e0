//! The control endpoints, for tests in other processes: `/_double/…`, JSON both ways.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::account;
use crate::cards::{Decline, Occasion};
use crate::collection::AfterRetries;
use crate::fault::Rule;
use crate::pages::{Choice, Where};
use crate::people::{self, Deed};
use crate::state::{Shared, State};
use crate::store::World;
use crate::webhooks::Webhooks;

/// How long an authorization lasts, and how long search lags.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// Seconds that search does not show what was made; a minute is what the
    /// processor may need.
    pub search_lag_seconds: Option<i64>,
    /// Seconds that an authorization lasts; seven days at first.
    pub authorization_seconds: Option<i64>,
    /// The same for one without the customer; 4 days and 18 hours at first.
    pub off_session_seconds: Option<i64>,
    /// Whether idempotency keys are forgotten after a day; they are at first.
    pub keys_expire: Option<bool>,
    /// What becomes of a subscription when all retries of an invoice failed; it stays
    /// `past_due` at first.
    pub after_retries: Option<AfterRetries>,
    /// Whether refunds are `pending` until they are settled; at first they succeed at once.
    pub refunds_pend: Option<bool>,
    /// Whether the messages of a request are delivered, taken or not, before it is answered;
    /// they are not at first. The processor promises neither order.
    pub messages_first: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Time {
    advance_seconds: Option<i64>,
    at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Down {
    down: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Decided {
    session: String,
    status: String,
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Of {
    #[serde(alias = "invoice", alias = "charge")]
    payment_intent: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Done {
    subscription: String,
    deed: Deed,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Settled {
    refund: String,
    failure: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Visit {
    session: String,
    choice: Choice,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Closed {
    dispute: String,
    status: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewCard {
    card: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CardOf {
    payment_method: String,
    decline: Option<String>,
    occasion: Option<Occasion>,
}

/// Runs a command; answers a status and a body.
pub(crate) fn run(
    shared: &Shared,
    method: &str,
    command: &str,
    query: &str,
    body: &[u8],
) -> (u16, Value) {
    match outcome(shared, method, command, query, body) {
        Ok(value) => (200, value),
        Err(message) => (400, json!({ "error": message })),
    }
}

fn outcome(
    shared: &Shared,
    method: &str,
    command: &str,
    query: &str,
    body: &[u8],
) -> Result<Value, String> {
    let mut state = shared.lock();
    let live = query.split('&').any(|pair| pair == "live=true");
    match (method, command) {
        ("GET", "") => return Ok(json!({ "now": state.clock.now() })),
        ("GET", "journal") => {
            return serde_json::to_value(&state.journal).map_err(|e| e.to_string());
        }
        ("GET", "events") => return Ok(Value::from(state.world(live).all("event").to_vec())),
        ("GET", "deliveries") => {
            return serde_json::to_value(&state.deliveries).map_err(|e| e.to_string());
        }
        ("GET", path) if path.starts_with("accounts/") => {
            let account = account::of(&state, path.trim_start_matches("accounts/"));
            return serde_json::to_value(account).map_err(|e| e.to_string());
        }
        ("GET", "counters") => return Ok(counters(state.world(live))),
        ("GET", path) => {
            let kind = path
                .strip_prefix("objects/")
                .ok_or("there is no such thing")?;
            return Ok(Value::from(state.world(live).all(kind).to_vec()));
        }
        ("POST", "faults") => state.faults.add(read::<Rule>(body)?),
        ("DELETE", "faults") => state.faults.clear(),
        ("DELETE", "journal") => state.journal.clear(),
        ("POST", "down") => state.down = read::<Down>(body)?.down,
        ("POST", "release") => shared.release.notify_waiters(),
        ("POST", "clock") => move_clock(&mut state, &read(body)?),
        ("POST", "settings") => set(&mut state, read(body)?),
        ("DELETE", "keys") => state.keys.forget(),
        ("POST", "webhooks") => state.webhooks = Some(read::<Webhooks>(body)?),
        ("DELETE", "webhooks") => state.webhooks = None,
        ("POST", "identity") => {
            let decided: Decided = read(body)?;
            people::decide(
                &mut state,
                &decided.session,
                &decided.status,
                decided.error.as_deref(),
            )?;
        }
        ("POST", "lapse") => people::lapse(&mut state, &read::<Of>(body)?.payment_intent)?,
        ("POST", "disputes") => {
            let id = people::contest(&mut state, &read::<Of>(body)?.payment_intent)?;
            return Ok(json!({ "dispute": id }));
        }
        ("POST", "disputes/close") => {
            let closed: Closed = read(body)?;
            people::close(&mut state, &closed.dispute, &closed.status)?;
        }
        ("POST", "cards/new") => {
            let id = people::new_card(&mut state, live, &read::<NewCard>(body)?.card)?;
            return Ok(json!({ "paymentMethod": id }));
        }
        ("POST", "cards") => {
            let of: CardOf = read(body)?;
            let decline = match of.decline.as_deref() {
                None => None,
                Some(name) => Some(Decline::named(name).ok_or("there is no such decline")?),
            };
            people::card(&mut state, &of.payment_method, of.occasion, decline)?;
        }
        ("POST", "subscriptions") => {
            let done: Done = read(body)?;
            people::do_to(&mut state, &done.subscription, &done.deed)?;
        }
        ("POST", "refunds") => {
            let settled: Settled = read(body)?;
            people::settle(&mut state, &settled.refund, settled.failure.as_deref())?;
        }
        ("POST", "pages") => {
            let visit: Visit = read(body)?;
            let to = match people::visit(&mut state, &visit.session, &visit.choice)? {
                Where::Sent(url) => Some(url),
                Where::Stays(_) => None,
            };
            return Ok(json!({ "to": to }));
        }
        _ => return Err("there is no such command".to_owned()),
    }
    Ok(json!({}))
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

fn move_clock(state: &mut State, time: &Time) {
    if let Some(at) = time.at {
        state.clock.set(at);
    }
    if let Some(seconds) = time.advance_seconds {
        state.clock.advance(TimeDelta::seconds(seconds));
    }
    state.catch_up();
}

pub(crate) fn set(state: &mut State, settings: Settings) {
    for live in [false, true] {
        let rules = &mut state.world_mut(live).rules;
        rules.search_lag = settings.search_lag_seconds.unwrap_or(rules.search_lag);
        rules.authorization = settings
            .authorization_seconds
            .unwrap_or(rules.authorization);
        rules.authorization_off_session = settings
            .off_session_seconds
            .unwrap_or(rules.authorization_off_session);
        rules.after_retries = settings.after_retries.unwrap_or(rules.after_retries);
        rules.refunds_pend = settings.refunds_pend.unwrap_or(rules.refunds_pend);
    }
    state.messages_first = settings.messages_first.unwrap_or(state.messages_first);
    state.keys.expire = settings.keys_expire.unwrap_or(state.keys.expire);
}

/// How many there are of what must not be there twice.
fn counters(world: &World) -> Value {
    let by = |kind: &str, name: &str| {
        let mut counts = serde_json::Map::new();
        for object in world.all(kind) {
            if let Some(value) = object["metadata"][name].as_str() {
                let count = counts
                    .get(value)
                    .and_then(Value::as_u64)
                    .unwrap_or_default();
                counts.insert(value.to_owned(), (count + 1).into());
            }
        }
        counts
    };
    json!({
        "customersByCustomer": by("customer", "lessor_customer"),
        "paymentIntentsByCheckout": by("payment_intent", "lessor_checkout"),
        "paymentIntentsByWork": by("payment_intent", "lessor_work"),
        "refundsByWork": by("refund", "lessor_work"),
        "sessionsByCheckout": by("identity.verification_session", "lessor_checkout"),
        "subscriptionsByCheckout": by("subscription", "lessor_checkout"),
        "prorations": world.all("double.proration").len()
    })
}
