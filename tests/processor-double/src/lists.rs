//! Lists and searches of objects.

use serde_json::{Value, json};

use crate::error::ApiError;
use crate::store::{World, number, text};

impl World {
    /// Answers a list: newest first, filtered, cut to the page.
    ///
    /// A cursor is any object of the kind, whether or not the filter shows it: missed
    /// events are listed by "an event ID that was sent just before the webhook endpoint
    /// became unavailable" and by their types, which that event need not be of.
    pub(crate) fn list(
        &self,
        kind: &str,
        url: &str,
        params: &Value,
        keep: impl Fn(&Value) -> bool,
    ) -> Result<Value, ApiError> {
        let limit = limit(params)?;
        let all: Vec<_> = self.all(kind).iter().rev().collect();
        let place = |param: &str| -> Result<Option<usize>, ApiError> {
            let Some(id) = params[param].as_str() else {
                return Ok(None);
            };
            let at = all.iter().position(|object| object["id"] == id);
            at.map(Some)
                .ok_or_else(|| ApiError::missing(kind, param, id))
        };
        let shown = |object: &&&Value| keep(object) && within(object, params);
        let (data, more): (Vec<&Value>, bool) =
            match (place("starting_after")?, place("ending_before")?) {
                (_, Some(end)) => {
                    let kept: Vec<_> = all[..end].iter().filter(shown).copied().collect();
                    let begin = kept.len().saturating_sub(limit);
                    (kept[begin..].to_vec(), begin > 0)
                }
                (after, None) => {
                    let begin = after.map_or(0, |at| at + 1);
                    let mut kept: Vec<_> = all[begin..].iter().filter(shown).copied().collect();
                    let more = kept.len() > limit;
                    kept.truncate(limit);
                    (kept, more)
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
}

/// Whether the object is of the times that `created` asks for, if it asks.
fn within(object: &Value, params: &Value) -> bool {
    let created = number(object, "created");
    match &params["created"] {
        Value::Null => true,
        Value::Number(at) => at.as_i64() == Some(created),
        range => {
            let fits = |name: &str, fits: fn(&i64, &i64) -> bool| {
                range[name]
                    .as_i64()
                    .is_none_or(|limit| fits(&created, &limit))
            };
            fits("gt", i64::gt)
                && fits("gte", i64::ge)
                && fits("lt", i64::lt)
                && fits("lte", i64::le)
        }
    }
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
    use crate::store::{Rules, list};

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
}
