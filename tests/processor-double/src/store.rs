//! The objects of one mode: made, read, changed, listed, searched, expanded.

use std::collections::{BinaryHeap, HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::cards::Card;
use crate::collection::AfterRetries;
use crate::error::ApiError;
use crate::schedule::Due;

/// How deep `expand` goes.
const DEEPEST: usize = 4;

/// What tests may set about the rules of the place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// How long search does not show what was made, seconds.
    pub(crate) search_lag: i64,
    /// How long an authorization lasts, seconds.
    pub(crate) authorization: i64,
    /// How long one without the customer lasts, seconds.
    pub(crate) authorization_off_session: i64,
    /// What becomes of a subscription when all retries failed.
    pub(crate) after_retries: AfterRetries,
    /// Whether refunds are under way at first.
    pub(crate) refunds_pend: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            search_lag: 0,
            authorization: 7 * 86_400,
            authorization_off_session: 4 * 86_400 + 18 * 3_600,
            after_retries: AfterRetries::LeavePastDue,
            refunds_pend: false,
        }
    }
}

/// An address that is good for one visit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) number: u64,
    pub(crate) used: bool,
    /// When it is good no more, Unix seconds.
    pub(crate) until: i64,
}

/// One mode's objects.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) live: bool,
    pub(crate) rules: Rules,
    /// The time of what is being done, Unix seconds.
    pub(crate) now: i64,
    /// The request that is being done.
    pub(crate) request: Value,
    /// What is to happen by itself.
    pub(crate) due: BinaryHeap<Due>,
    /// Which card each payment method is of.
    pub(crate) cards: HashMap<String, Card>,
    /// Payment methods that cannot be used again.
    pub(crate) spent: HashSet<String>,
    /// Prices that were made inline.
    pub(crate) inline: HashSet<String>,
    /// What sessions were asked to make of payments, which they do not show.
    pub(crate) wanted: HashMap<String, Value>,
    /// Where pages for customers are.
    pub(crate) pages: String,
    /// The newest address of each identity session's page.
    pub(crate) links: HashMap<String, Link>,
    /// Events that were not handed to the webhooks yet.
    pub(crate) fresh_events: Vec<Value>,
    marker: String,
    made: u64,
    objects: HashMap<String, Vec<Value>>,
    places: HashMap<String, (String, usize)>,
}

impl World {
    pub(crate) fn new(live: bool, marker: &str, rules: Rules) -> Self {
        Self {
            live,
            rules,
            now: 0,
            request: json!({ "id": null, "idempotency_key": null }),
            due: BinaryHeap::new(),
            cards: HashMap::new(),
            spent: HashSet::new(),
            inline: HashSet::new(),
            wanted: HashMap::new(),
            pages: "https://checkout.example.com".to_owned(),
            links: HashMap::new(),
            fresh_events: Vec::new(),
            marker: format!("{marker}{}", if live { 'L' } else { 'T' }),
            made: 0,
            objects: HashMap::new(),
            places: HashMap::new(),
        }
    }

    /// An id that no other double makes either.
    pub(crate) fn new_id(&mut self, prefix: &str) -> String {
        self.made += 1;
        format!("{prefix}_{}{:06}", self.marker, self.made)
    }

    /// A new object with the members that all have. Nothing is done when its id is
    /// taken.
    pub(crate) fn make(&mut self, kind: &str, id: &str, members: Value) -> Value {
        let mut object = json!({
            "id": id, "object": kind, "created": self.now, "livemode": self.live
        });
        merge(&mut object, members);
        if !self.places.contains_key(id) {
            let all = self.objects.entry(kind.to_owned()).or_default();
            self.places
                .insert(id.to_owned(), (kind.to_owned(), all.len()));
            all.push(object.clone());
        }
        object
    }

    /// The object of this id, whatever it is.
    pub(crate) fn any(&self, id: &str) -> Option<&Value> {
        let (kind, at) = self.places.get(id)?;
        self.objects.get(kind)?.get(*at)
    }

    /// The object of this kind and id.
    pub(crate) fn find(&self, kind: &str, id: &str) -> Option<Value> {
        self.any(id)
            .filter(|object| object["object"] == kind)
            .cloned()
    }

    /// The object that a path names.
    pub(crate) fn at_path(&self, kind: &str, id: &str) -> Result<Value, ApiError> {
        self.find(kind, id)
            .ok_or_else(|| ApiError::not_found(kind, id))
    }

    /// The object that a parameter names.
    pub(crate) fn named(&self, kind: &str, param: &str, id: &str) -> Result<Value, ApiError> {
        self.find(kind, id)
            // What was deleted can be read, and nothing else.
            .filter(|object| object["deleted"] != true)
            .ok_or_else(|| ApiError::missing(kind, param, id))
    }

    /// Puts a changed object back.
    pub(crate) fn put(&mut self, object: &Value) {
        let Some((kind, at)) = self.places.get(text(object, "id")) else {
            return;
        };
        if let Some(place) = self.objects.get_mut(kind).and_then(|all| all.get_mut(*at)) {
            place.clone_from(object);
        }
    }

    /// Changes members of the object of this id; answers it.
    pub(crate) fn set(&mut self, id: &str, members: Value) -> Value {
        let Some(mut object) = self.any(id).cloned() else {
            return Value::Null;
        };
        if let Value::Object(members) = members {
            for (name, value) in members {
                object[name] = value;
            }
        }
        self.put(&object);
        object
    }

    /// All objects of a kind, oldest first.
    pub(crate) fn all(&self, kind: &str) -> &[Value] {
        self.objects.get(kind).map_or(&[], Vec::as_slice)
    }

    /// Puts objects where ids stand, as `expand` asks.
    pub(crate) fn expand(&self, answer: &mut Value, params: &Value) -> Result<(), ApiError> {
        for (index, path) in list(params, "expand").enumerate() {
            let path = path.as_str().unwrap_or_default();
            let parts: Vec<_> = path.split('.').collect();
            let may = parts.len() <= DEEPEST && self.expand_part(answer, &parts);
            if !may {
                return Err(ApiError::parameter(
                    None,
                    &format!("expand[{index}]"),
                    &format!("This property cannot be expanded ({path})."),
                ));
            }
        }
        Ok(())
    }

    fn payments_of(&self, invoice: &str) -> Value {
        let all = self.all("invoice_payment").iter();
        let of: Vec<_> = all.filter(|paid| paid["invoice"] == invoice).collect();
        json!({ "object": "list", "url": "/v1/invoice_payments", "has_more": false, "data": of })
    }

    fn expand_part(&self, object: &mut Value, path: &[&str]) -> bool {
        let Some((name, rest)) = path.split_first() else {
            return true;
        };
        if *name == "payments" && object["object"] == "invoice" && object.get("payments").is_none()
        {
            // "Invoice Payments can be accessed in two ways: 1. By expanding the payments field on
            // the Invoice resource": it is not there unless it is asked for.
            object["payments"] = self.payments_of(text(object, "id"));
        }
        let Some(member) = object.get_mut(*name) else {
            return false;
        };
        if let Some(full) = member.as_str().and_then(|id| self.any(id)) {
            *member = full.clone();
        }
        match member {
            // What is not there has nothing to expand.
            Value::Null => true,
            Value::Object(_) if rest.is_empty() => true,
            Value::Object(_) => self.expand_part(member, rest),
            Value::Array(items) => items.iter_mut().all(|item| self.expand_part(item, rest)),
            _ => false,
        }
    }
}

/// The member as text; empty when it is none.
pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

/// The member as a number; 0 when it is none.
pub(crate) fn number(object: &Value, name: &str) -> i64 {
    object[name].as_i64().unwrap_or_default()
}

/// The member's items; none when it is no list.
pub(crate) fn list<'a>(object: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    object[name].as_array().into_iter().flatten()
}

/// Merges members into the object, groups member by member.
pub(crate) fn merge(object: &mut Value, members: Value) {
    match (object, members) {
        (Value::Object(object), Value::Object(members)) => {
            for (name, value) in members {
                match object.get_mut(&name) {
                    Some(known) if known.is_object() && value.is_object() => merge(known, value),
                    _ => {
                        object.insert(name, value);
                    }
                }
            }
        }
        (object, members) => *object = members,
    }
}

/// The metadata of a new object.
pub(crate) fn metadata(params: &Value) -> Value {
    changed_metadata(&json!({}), params)
}

/// The metadata of an object after a change: an empty text removes a name.
pub(crate) fn changed_metadata(before: &Value, params: &Value) -> Value {
    let mut pairs = match (before, params.get("metadata")) {
        (_, Some(Value::Null)) => Map::new(),
        (before, _) => before.as_object().cloned().unwrap_or_default(),
    };
    for (name, value) in params["metadata"].as_object().into_iter().flatten() {
        if value == "" {
            pairs.remove(name);
        } else {
            pairs.insert(name.clone(), value.clone());
        }
    }
    pairs.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> World {
        let mut world = World::new(false, "x", Rules::default());
        for number in 0..5 {
            let id = format!("cus_{number}");
            world.now += 1;
            world.make(
                "customer",
                &id,
                json!({ "metadata": { "n": number.to_string() } }),
            );
        }
        world
    }

    #[test]
    fn ids_are_expanded_where_they_stand() {
        let mut world = world();
        world.make(
            "charge",
            "ch_1",
            json!({ "customer": "cus_1", "none": null }),
        );
        let mut page = world
            .list("charge", "/", &json!({}), |_| true)
            .expect("a page");
        let asked = json!({ "expand": ["data.customer", "data.none"] });
        assert_eq!(world.expand(&mut page, &asked), Ok(()));
        assert_eq!(page["data"][0]["customer"]["metadata"]["n"], "1");
        let unknown = json!({ "expand": ["data.nope"] });
        assert!(world.expand(&mut page, &unknown).is_err());
    }

    #[test]
    fn metadata_is_merged_and_cleared() {
        let before = json!({ "a": "1", "b": "2" });
        let params = json!({ "metadata": { "a": "", "c": "3" } });
        assert_eq!(
            changed_metadata(&before, &params),
            json!({ "b": "2", "c": "3" })
        );
        assert_eq!(
            changed_metadata(&before, &json!({ "metadata": null })),
            json!({})
        );
        assert_eq!(changed_metadata(&before, &json!({})), before);
    }
}
