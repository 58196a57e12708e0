//! Query strings and forms, read with the rules of bodies.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use super::de::from_parameters;
use super::json::{Node, Value};
use crate::http::error::ApiError;

/// Reads a query string (without its `?`).
pub(crate) fn from_query<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for pair in pairs(query) {
        let (name, value) = pair?;
        if value.contains('\0') {
            let message = format!("{name}: must not contain the character U+0000");
            return Err(ApiError::invalid(name, message));
        }
        let (name, member) = match member_of(&name) {
            Some((name, member)) => (name.to_owned(), Some(member.to_owned())),
            None => (name, None),
        };
        let parameter = named(&mut parameters, name);
        match member {
            Some(member) => named(&mut parameter.members, member).values.push(value),
            None => parameter.values.push(value),
        }
    }
    Ok(from_parameters(&Parameter::object(parameters))?)
}

/// The names and values of a query string or a form, decoded.
pub(super) fn pairs(text: &str) -> impl Iterator<Item = Result<(String, String), ApiError>> {
    text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = |text: &str| decode(&text.replace('+', " ")).map(Cow::into_owned);
        let name = decoded(name)
            .filter(|name| !name.contains(char::is_control))
            .ok_or_else(|| {
                ApiError::invalid_request("a parameter's name is not valid percent-encoded UTF-8")
            })?;
        let value = decoded(value).ok_or_else(|| {
            ApiError::invalid(&name, format!("{name}: is not valid percent-encoded UTF-8"))
        })?;
        Ok((name, value))
    })
}

/// Undoes percent-encoding, strictly: `None` for a broken escape or what is not UTF-8.
pub(crate) fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let is_whole = |escape: &str| {
        let digits = escape.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    // The crate leaves a broken escape as it is.
    if !text.split('%').skip(1).all(is_whole) {
        return None;
    }
    percent_decode_str(text).decode_utf8().ok()
}

/// The parameter and its member that a name such as `metadata[key]` means.
fn member_of(name: &str) -> Option<(&str, &str)> {
    let (name, member) = name.strip_suffix(']')?.split_once('[')?;
    (!name.is_empty() && !member.is_empty()).then_some((name, member))
}

/// A parameter as it was given, here and there in the query.
struct Parameter {
    name: String,
    values: Vec<String>,
    /// The values of its members, of one that has any.
    members: Vec<Self>,
}

/// The parameter of this name, which is added where it is new.
fn named(parameters: &mut Vec<Parameter>, name: String) -> &mut Parameter {
    let known = parameters.iter().position(|known| known.name == name);
    let index = known.unwrap_or(parameters.len());
    if known.is_none() {
        parameters.push(Parameter {
            name,
            values: Vec::new(),
            members: Vec::new(),
        });
    }
    &mut parameters[index]
}

impl Parameter {
    fn object(parameters: Vec<Self>) -> Node<'static> {
        let member = |parameter: Self| (Cow::Owned(parameter.name.clone()), parameter.node());
        node(Value::Object(parameters.into_iter().map(member).collect()))
    }

    fn node(mut self) -> Node<'static> {
        if self.members.is_empty() {
            return words(self.values);
        }
        // Given both ways it is neither: its own value stands beside the members under no name.
        if !self.values.is_empty() {
            self.members.push(Self {
                name: String::new(),
                values: self.values,
                members: Vec::new(),
            });
        }
        Self::object(self.members)
    }
}

const fn node(value: Value<'static>) -> Node<'static> {
    Node { raw: "", value }
}

fn words(values: Vec<String>) -> Node<'static> {
    let parts = values.iter().flat_map(|value| listed(value));
    let part = |part: String| {
        node(Value::Words {
            values: vec![part],
            list: Vec::new(),
        })
    };
    let list = parts.map(part).collect();
    node(Value::Words { values, list })
}

/// The values of a list. A comma of a value's own is written `\,`.
fn listed(text: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, values.last_mut()) {
            (',', _) => values.push(String::new()),
            ('\\', Some(value)) if rest.peek() == Some(&',') => {
                value.extend(rest.next());
            }
            (character, Some(value)) => value.push(character),
            (_, None) => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use lessor_domain::ids::IdRef;
    use lessor_domain::{ports, text};
    use serde::Deserialize;

    use super::*;
    use crate::http::error::Code;
    use crate::request::{List, Plain as _, Table};
    use crate::wire::{
        Amount, Limit, MetadataKey, MetadataValue, Offset, OrganizationRef, Sku, SortOrder,
    };

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Wanted {
        #[serde(default)]
        limit: Limit,
        #[serde(default)]
        offset: Offset,
        sort_order: Option<SortOrder>,
        sku: Option<Sku>,
        ids: Option<List<Sku, 3, 1>>,
        orders: Option<List<SortOrder, 2>>,
        is_waitlisted: Option<bool>,
        organization_id: Option<OrganizationRef>,
        price: Option<Amount>,
        metadata: Option<Table<MetadataKey, MetadataValue, 2>>,
    }

    fn read(query: &str) -> Result<Wanted, ApiError> {
        from_query(query)
    }

    #[test]
    fn a_query_is_read() {
        let wanted = read(
            "limit=100&offset=10000&sortOrder=desc&sku=a%20b%2B+%C3%A4&ids=a,b&ids=c&orders=asc%2Cdesc&isWaitlisted=true\
             &organizationId=12&price=1.50",
        )
        .unwrap();
        assert_eq!((wanted.limit.0.get(), wanted.offset.0.get()), (100, 10_000));
        assert_eq!(
            wanted.sort_order.plain(),
            Some(ports::SortOrder::Descending)
        );
        assert_eq!(wanted.sku.plain().unwrap().as_str(), "a b+ ä");
        let ids = wanted.ids.plain().unwrap();
        assert_eq!(
            ids.iter().map(text::Sku::as_str).collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        assert_eq!(wanted.orders.plain().unwrap().len(), 2);
        assert_eq!(wanted.is_waitlisted, Some(true));
        let organization = wanted.organization_id.plain().unwrap();
        assert!(matches!(organization.id, Some(IdRef::Number(id)) if id.get() == 12));
        assert_eq!(wanted.price.plain(), Some("1.50".parse().unwrap()));
        let members = read("metadata[a]=1&metadata%5Bb%20c%5D=%5B2%5D").unwrap();
        let members: Vec<_> = members.metadata.plain().into_iter().flatten().collect();
        assert_eq!(
            members,
            [("a", "1"), ("b c", "[2]")]
                .map(|(key, value)| (key.parse().unwrap(), value.parse().unwrap()))
        );
        let nothing = read("").unwrap();
        assert_eq!((nothing.limit.0.get(), nothing.offset.0.get()), (20, 0));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (query, param) in [
            ("limit=0", "limit"),
            ("limit=101", "limit"),
            ("limit=1.0", "limit"),
            ("limit=%2B1", "limit"),
            ("limit=", "limit"),
            ("limit", "limit"),
            ("limit=1&limit=1", "limit"),
            ("limit=99999999999999999999", "limit"),
            ("offset=-1", "offset"),
            ("offset=10001", "offset"),
            ("sortOrder=up", "sortOrder"),
            ("sortOrder=", "sortOrder"),
            ("sku=", "sku"),
            ("sku=a%00b", "sku"),
            ("sku=%zz", "sku"),
            ("sku=%4", "sku"),
            ("sku=%ff", "sku"),
            ("ids=", "ids"),
            ("ids=a,,b", "ids"),
            ("ids=a,b,c,d", "ids"),
            ("orders=asc,up", "orders"),
            ("isWaitlisted=yes", "isWaitlisted"),
            ("isWaitlisted=true&isWaitlisted=true", "isWaitlisted"),
            ("organizationId=a%2Fb", "organizationId"),
            ("price=1e3", "price"),
            ("nope=1", "nope"),
            ("limit[]=1", "limit[]"),
            ("limit[a]=1", "limit"),
            ("ids[a]=1", "ids"),
            ("nope[a]=1", "nope"),
            ("metadata=1", "metadata"),
            ("metadata=1&metadata[a]=1", "metadata"),
            ("metadata[]=1", "metadata[]"),
            ("metadata[a]=", "metadata.a"),
            ("metadata[a]=1&metadata[a]=1", "metadata.a"),
            ("metadata[a%5Bb]=1", "metadata.a[b"),
            ("metadata[a]=1&metadata[b]=1&metadata[c]=1", "metadata"),
        ] {
            let error = read(query).expect_err(query);
            assert_eq!(
                (error.code(), error.param()),
                (Code::InvalidParameter, Some(param)),
                "{query}"
            );
            assert!(error.message().starts_with(param), "{}", error.message());
        }
    }

    #[test]
    fn a_required_parameter_is_missed() {
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Needed {
            #[expect(dead_code, reason = "only its absence is looked at")]
            product_ids: List<Sku, 3, 1>,
        }
        let error = from_query::<Needed>("").unwrap_err();
        assert_eq!(
            (error.code(), error.param()),
            (Code::ParameterMissing, Some("productIds"))
        );
    }

    #[test]
    fn a_name_that_is_no_text_is_malformed() {
        for query in ["%zz=1", "%ff=1", "%00=1"] {
            let error = read(query).expect_err(query);
            assert_eq!(
                (error.code(), error.param()),
                (Code::InvalidRequest, None),
                "{query}"
            );
        }
    }
}
