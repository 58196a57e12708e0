//! The objects of one mode: made, read, changed, listed, searched, expanded.

use std::collections::{BinaryHeap, HashMap};

use serde_json::{Map, Value, json};

use crate::cards::Card;
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
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            search_lag: 0,
            authorization: 7 * 86_400,
            authorization_off_session: 4 * 86_400 + 18 * 3_600,
        }
    }
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

    /// Answers a list: newest first, filtered, cut to the page.
    pub(crate) fn list(
        &self,
        kind: &str,
        url: &str,
        params: &Value,
        keep: impl Fn(&Value) -> bool,
    ) -> Result<Value, ApiError> {
        let limit = limit(params)?;
        let kept: Vec<_> = self.all(kind).iter().rev().filter(|o| keep(o)).collect();
        let place = |param: &str| -> Result<Option<usize>, ApiError> {
            let Some(id) = params[param].as_str() else {
                return Ok(None);
            };
            let at = kept.iter().position(|object| object["id"] == id);
            at.map(Some)
                .ok_or_else(|| ApiError::missing(kind, param, id))
        };
        let (data, more): (Vec<&Value>, bool) =
            match (place("starting_after")?, place("ending_before")?) {
                (_, Some(end)) => {
                    let begin = end.saturating_sub(limit);
                    (kept[begin..end].to_vec(), begin > 0)
                }
                (after, None) => {
                    let begin = after.map_or(0, |at| at + 1);
                    let end = kept.len().min(begin + limit);
                    (kept[begin..end].to_vec(), end < kept.len())
                }
            };
        Ok(json!({ "object": "list", "url": url, "has_more": more, "data": data }))
    }

    /// Answers a search. It does not show the newest objects while it lags.
    pub(crate) fn search(&self, kind: &str, url: &str, params: &Value) -> Result<Value, ApiError> {
        let limit = limit(params)?;
        let terms = query(text(params, "query"))?;
        let shown = |object: &&Value| {
            number(object, "created") + self.rules.search_lag <= self.now
                && terms.iter().all(|(path, value)| {
                    object.pointer(path).and_then(Value::as_str) == Some(value)
                })
        };
        let found: Vec<_> = self.all(kind).iter().rev().filter(shown).collect();
        let begin: usize = match params["page"].as_str() {
            None => 0,
            Some(page) => page
                .parse()
                .map_err(|_| ApiError::parameter(None, "page", "Invalid page"))?,
        };
        let end = found.len().min(begin + limit);
        let more = end < found.len();
        Ok(json!({
            "object": "search_result", "url": url, "has_more": more,
            "next_page": more.then(|| end.to_string()),
            "data": found.get(begin..end).unwrap_or_default()
        }))
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

    fn expand_part(&self, object: &mut Value, path: &[&str]) -> bool {
        let Some((name, rest)) = path.split_first() else {
            return true;
        };
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

fn limit(params: &Value) -> Result<usize, ApiError> {
    match params["limit"].as_i64() {
        None => Ok(10),
        Some(limit @ 1..=100) => Ok(usize::try_from(limit).unwrap_or(10)),
        Some(_) => Err(ApiError::parameter(
            Some("parameter_invalid_integer"),
            "limit",
            "Invalid limit: it is 1 to 100.",
        )),
    }
}

/// Reads `metadata['name']:'value' AND status:'active'`: equality is all there is.
fn query(text: &str) -> Result<Vec<(String, String)>, ApiError> {
    text.split(" AND ")
        .map(|term| {
            let (field, value) = term.trim().split_once(':')?;
            let value = unquoted(value)?;
            let path = match field.strip_prefix("metadata[") {
                Some(name) => format!("/metadata/{}", unquoted(name.strip_suffix(']')?)?),
                None => format!("/{field}"),
            };
            Some((path, value.to_owned()))
        })
        .collect::<Option<_>>()
        .ok_or_else(|| ApiError::parameter(None, "query", "We were unable to parse the query."))
}

fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
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

    fn ids(page: &Value) -> Vec<&str> {
        list(page, "data")
            .map(|object| text(object, "id"))
            .collect()
    }

    #[test]
    fn lists_are_newest_first_and_paged() {
        let world = world();
        let page = |params| {
            world
                .list("customer", "/", &params, |_| true)
                .expect("a page")
        };
        let first = page(json!({ "limit": 2 }));
        assert_eq!(
            (ids(&first), &first["has_more"]),
            (vec!["cus_4", "cus_3"], &true.into())
        );
        let next = page(json!({ "limit": 3, "starting_after": "cus_3" }));
        assert_eq!(
            (ids(&next), &next["has_more"]),
            (vec!["cus_2", "cus_1", "cus_0"], &false.into())
        );
        let before = page(json!({ "limit": 2, "ending_before": "cus_1" }));
        assert_eq!(
            (ids(&before), &before["has_more"]),
            (vec!["cus_3", "cus_2"], &true.into())
        );
        let unknown = world.list("customer", "/", &json!({ "starting_after": "x" }), |_| true);
        assert_eq!(
            unknown.expect_err("unknown").members["code"],
            "resource_missing"
        );
        assert!(
            world
                .list("customer", "/", &json!({ "limit": 101 }), |_| true)
                .is_err()
        );
    }

    #[test]
    fn search_finds_by_metadata_and_may_lag() {
        let mut world = world();
        let query = json!({ "query": "metadata['n']:'4'" });
        let found = world.search("customer", "/", &query).expect("a search");
        assert_eq!(ids(&found), ["cus_4"]);
        world.rules.search_lag = 60;
        let hidden = world.search("customer", "/", &query).expect("a search");
        assert_eq!(ids(&hidden), [""; 0]);
        assert!(
            world
                .search("customer", "/", &json!({ "query": "metadata[n" }))
                .is_err()
        );
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
