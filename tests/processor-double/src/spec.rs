//! What parameters an operation takes: everything else is refused, as the processor
//! does, and values become typed.

use serde_json::{Map, Number, Value};

use crate::error::ApiError;
use crate::form::Tree;

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
}

/// What a parameter holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Text that is not empty.
    Text,
    /// Text; an empty one clears what was there.
    Clearable,
    /// A whole number.
    Int,
    /// A whole number; an empty text clears what was there.
    ClearableInt,
    /// `true` or `false`.
    Bool,
    /// One of these.
    Enum(&'static [&'static str]),
    /// Text by names of the caller's choice; an empty text removes a name.
    Metadata,
    /// A list.
    List(&'static Kind),
    /// A group.
    Group(&'static [Param]),
    /// A group; an empty text clears what was there.
    ClearableGroup(&'static [Param]),
    /// A time, or a range of times: `gt`, `gte`, `lt`, `lte`.
    Range,
}

const RANGE: &[Param] = &[
    may("gt", Kind::Int),
    may("gte", Kind::Int),
    may("lt", Kind::Int),
    may("lte", Kind::Int),
];

/// A parameter that may be left out.
pub(crate) const fn may(name: &'static str, kind: Kind) -> Param {
    Param {
        name,
        kind,
        required: false,
    }
}

/// A parameter that may not be left out.
pub(crate) const fn must(name: &'static str, kind: Kind) -> Param {
    Param {
        name,
        kind,
        required: true,
    }
}

/// What every operation takes.
const COMMON: Param = may("expand", Kind::List(&Kind::Text));

/// Reads the parameters of an operation.
///
/// # Errors
/// The first parameter that is unknown, missing or of the wrong form.
pub(crate) fn read(tree: &Tree, params: &[Param]) -> Result<Value, ApiError> {
    let mut params = params.to_vec();
    params.push(COMMON);
    group(tree, &params, "")
}

/// What the form says, when it is not what the operation takes.
pub(crate) fn untyped(tree: &Tree) -> Value {
    match tree {
        Tree::Leaf(text) => text.as_str().into(),
        Tree::Node(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), untyped(member)))
            .collect::<Map<_, _>>()
            .into(),
    }
}

fn group(tree: &Tree, params: &[Param], prefix: &str) -> Result<Value, ApiError> {
    let mut values = Map::new();
    for (name, member) in tree.members() {
        let full = qualified(prefix, name);
        let Some(param) = params.iter().find(|param| param.name == name) else {
            return Err(ApiError::parameter(
                Some("parameter_unknown"),
                &full,
                &format!("Received unknown parameter: {full}"),
            ));
        };
        values.insert(name.clone(), value(member, param.kind, &full)?);
    }
    match params
        .iter()
        .find(|param| param.required && !values.contains_key(param.name))
    {
        Some(missing) => {
            let full = qualified(prefix, missing.name);
            Err(ApiError::parameter(
                Some("parameter_missing"),
                &full,
                &format!("Missing required param: {full}."),
            ))
        }
        None => Ok(values.into()),
    }
}

fn value(tree: &Tree, kind: Kind, full: &str) -> Result<Value, ApiError> {
    match (kind, tree) {
        (Kind::Group(params) | Kind::ClearableGroup(params), Tree::Node(_)) => {
            group(tree, params, full)
        }
        (Kind::Range, Tree::Node(_)) => group(tree, RANGE, full),
        (Kind::List(item), Tree::Node(members)) => members
            .iter()
            .enumerate()
            .map(|(index, (name, member))| {
                if !name.is_empty() && name.parse() != Ok(index) {
                    return Err(wrong(full, "an array"));
                }
                value(member, *item, &format!("{full}[{index}]"))
            })
            .collect::<Result<Vec<_>, _>>()
            .map(Value::from),
        (Kind::Metadata, Tree::Node(members)) => metadata(members, full),
        // An empty text clears all of it.
        (Kind::Metadata | Kind::ClearableGroup(_), Tree::Leaf(text)) if text.is_empty() => {
            Ok(Value::Null)
        }
        (
            Kind::Group(_) | Kind::ClearableGroup(_) | Kind::List(_) | Kind::Metadata,
            Tree::Leaf(_),
        ) => Err(wrong(full, "an object or an array")),
        (_, Tree::Node(_)) => Err(wrong(full, "a single value")),
        (Kind::Clearable | Kind::ClearableInt, Tree::Leaf(text)) if text.is_empty() => {
            Ok(Value::Null)
        }
        (_, Tree::Leaf(text)) if text.is_empty() => Err(ApiError::parameter(
            Some("parameter_invalid_empty"),
            full,
            &format!(
                "You passed an empty string for '{full}'. We assume empty values are an attempt \
                 to unset a parameter; however '{full}' cannot be unset."
            ),
        )),
        (Kind::Text | Kind::Clearable, Tree::Leaf(text)) if text.chars().count() > 5_000 => {
            Err(ApiError::parameter(
                Some("parameter_invalid_string_max_length"),
                full,
                &format!("Invalid string: {full} is too long."),
            ))
        }
        (Kind::Text | Kind::Clearable, Tree::Leaf(text)) => Ok(text.as_str().into()),
        (Kind::Int | Kind::ClearableInt | Kind::Range, Tree::Leaf(text)) => text
            .parse::<i64>()
            .map(|number| Value::Number(Number::from(number)))
            .map_err(|_| {
                ApiError::parameter(
                    Some("parameter_invalid_integer"),
                    full,
                    &format!("Invalid integer: {text}"),
                )
            }),
        (Kind::Bool, Tree::Leaf(text)) => text
            .parse()
            .map(Value::Bool)
            .map_err(|_| ApiError::parameter(None, full, &format!("Invalid boolean: {text}"))),
        (Kind::Enum(known), Tree::Leaf(text)) => {
            if known.contains(&text.as_str()) {
                Ok(text.as_str().into())
            } else {
                let known = known.join(", ");
                let message = format!("Invalid {full}: must be one of {known}");
                Err(ApiError::parameter(None, full, &message))
            }
        }
    }
}

fn metadata(members: &[(String, Tree)], full: &str) -> Result<Value, ApiError> {
    let mut pairs = Map::new();
    for (name, member) in members {
        let Tree::Leaf(text) = member else {
            return Err(wrong(full, "pairs of text"));
        };
        if name.is_empty() || name.chars().count() > 40 || text.chars().count() > 500 {
            return Err(ApiError::parameter(
                None,
                full,
                "Metadata keys have up to 40 characters, values up to 500.",
            ));
        }
        pairs.insert(name.clone(), text.as_str().into());
    }
    if pairs.len() > MOST_PAIRS {
        return Err(too_many_pairs(full));
    }
    Ok(pairs.into())
}

/// "You can specify up to 50 keys, with key names up to 40 characters long and values up to 500
/// characters long."
pub(crate) const MOST_PAIRS: usize = 50;

/// More metadata than an object has.
pub(crate) fn too_many_pairs(full: &str) -> ApiError {
    let message = "There are at most 50 metadata pairs.";
    ApiError::parameter(None, full, message)
}

fn wrong(full: &str, expected: &str) -> ApiError {
    ApiError::parameter(
        None,
        full,
        &format!("Invalid {full}: {expected} is expected"),
    )
}

fn qualified(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}[{name}]")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::form::decode;

    const PARAMS: &[Param] = &[
        must("amount", Kind::Int),
        may("name", Kind::Clearable),
        may("confirm", Kind::Bool),
        may("usage", Kind::Enum(&["on_session", "off_session"])),
        may("metadata", Kind::Metadata),
        may(
            "items",
            Kind::List(&Kind::Group(&[must("price", Kind::Text)])),
        ),
    ];

    fn read_form(form: &str) -> Result<Value, ApiError> {
        let tree = decode(form.as_bytes()).expect("a form");
        read(&tree, PARAMS)
    }

    #[test]
    fn values_become_typed() {
        let read = read_form("amount=5&confirm=true&items[0][price]=p&metadata[a]=&name=");
        let expected = json!({
            "amount": 5, "confirm": true, "items": [{ "price": "p" }], "metadata": { "a": "" },
            "name": null
        });
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (form, param, code) in [
            ("amount=1&nope=1", "nope", json!("parameter_unknown")),
            (
                "amount=1&items[0][nope]=1",
                "items[0][nope]",
                json!("parameter_unknown"),
            ),
            ("items[0][price]=p", "amount", json!("parameter_missing")),
            (
                "amount=1&items[0][price]=",
                "items[0][price]",
                json!("parameter_invalid_empty"),
            ),
            ("amount=1.5", "amount", json!("parameter_invalid_integer")),
            ("amount=1&confirm=yes", "confirm", Value::Null),
            ("amount=1&usage=x", "usage", Value::Null),
            ("amount=1&items[1][price]=p", "items", Value::Null),
        ] {
            let error = read_form(form).expect_err(form);
            assert_eq!(error.status, 400, "{form}");
            assert_eq!(error.members["param"], param, "{form}");
            assert_eq!(error.members["code"], code, "{form}");
        }
    }
}
