//! Events: one for each change of state, whether or not somebody is told of it.

use serde_json::{Value, json};

use crate::store::{World, text};

/// The version of the API that events are written in.
pub(crate) const API_VERSION: &str = "2026-10-28.endive";

impl World {
    /// Records that something happened to the object, as it is now.
    pub(crate) fn emit(&mut self, kind: &str, object: &Value) {
        let id = self.new_id("evt");
        let members = json!({
            "type": kind,
            "api_version": API_VERSION,
            "data": { "object": object },
            "pending_webhooks": 1,
            "request": self.request
        });
        let event = self.make("event", &id, members);
        self.fresh_events.push(event);
    }

    /// The same for an object of this id.
    pub(crate) fn emit_of(&mut self, kind: &str, id: &str) {
        if let Some(object) = self.any(id).cloned() {
            self.emit(kind, &object);
        }
    }
}

/// An event, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: String,
    /// Such as `payment_intent.succeeded`.
    pub kind: String,
    /// When it happened, Unix seconds of the double's clock.
    pub created: i64,
    /// The message, byte for byte the same in every delivery.
    pub body: Vec<u8>,
}

impl Event {
    pub(crate) fn of(object: &Value) -> Self {
        Self {
            id: text(object, "id").to_owned(),
            kind: text(object, "type").to_owned(),
            created: crate::store::number(object, "created"),
            body: format!("{object:#}").into_bytes(),
        }
    }
}
