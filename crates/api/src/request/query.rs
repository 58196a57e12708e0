//! Query strings and path segments, read with the rules of bodies.
//!
//! A route's query is a struct of [`fields`](crate::request::fields) types and enumerations:
//!
//! ```
//! use lessor::request::fields::{Limit, List, Offset, Text};
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, utoipa::IntoParams)]
//! #[serde(rename_all = "camelCase", deny_unknown_fields)]
//! #[into_params(parameter_in = Query)]
//! struct ListWidgets {
//!     /// How many to answer.
//!     #[serde(default)]
//!     #[param(inline)]
//!     limit: Limit,
//!     #[serde(default)]
//!     #[param(inline)]
//!     offset: Offset,
//!     /// Comma-separated or repeated.
//!     #[param(inline)]
//!     skus: Option<List<Text<255>, 100, 1>>,
//!     is_waitlisted: Option<bool>,
//! }
//! ```
//!
//! and its handler takes a [`QueryParams<ListWidgets>`](QueryParams) and says `params(ListWidgets)` in its
//! `utoipa::path`. `#[param(inline)]` is needed on every member whose type is not a primitive.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, dev};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Visitor,
};

use crate::http::error::ApiError;
use crate::request::body::{Fault, PATCH, UnitVariant};

/// The longest path segment that can name anything, in characters.
const SEGMENT_MAX: usize = 255;

/// The query string, read into `T`: unknown parameters, repeated single values and broken encodings
/// are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryParams<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for QueryParams<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        ready(from_query(request.query_string()).map(Self))
    }
}

/// The value of the route's one dynamic path segment (`{id}`, `{sku}`), decoded. What cannot name
/// anything is a 404.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment(pub String);

impl FromRequest for Segment {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        // actix has undone most of the encoding already, with replacement characters for what is not
        // UTF-8; only the address as it was sent tells these from their own likes.
        let readable = decode(request.uri().path(), false).is_some();
        let last = request.match_info().iter().last().filter(|_| readable);
        let segment = last.and_then(|(_, value)| segment(value));
        ready(
            segment
                .map(Self)
                .ok_or_else(|| ApiError::not_found("resource")),
        )
    }
}

/// Decodes a path segment. `None` for what is broken, too long or holds control characters.
fn segment(raw: &str) -> Option<String> {
    let text = decode(raw, false)?;
    let nameable =
        !text.is_empty() && !text.contains(char::is_control) && text.chars().count() <= SEGMENT_MAX;
    nameable.then_some(text)
}

/// Reads a query string (without its `?`).
pub(crate) fn from_query<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name, true)
            .filter(|name| !name.contains(char::is_control))
            .ok_or_else(|| {
                ApiError::invalid_request("the query string is not valid percent-encoded UTF-8")
            })?;
        let value = decode(value, true).ok_or_else(|| {
            ApiError::invalid(&name, format!("{name}: is not valid percent-encoded UTF-8"))
        })?;
        if value.contains('\0') {
            let message = format!("{name}: must not contain the character U+0000");
            return Err(ApiError::invalid(name, message));
        }
        let (name, member) = match member_of(&name) {
            Some((name, member)) => (name.to_owned(), Some(member.to_owned())),
            None => (name, None),
        };
        let known = parameters
            .iter()
            .position(|parameter| parameter.name == name);
        let index = known.unwrap_or(parameters.len());
        if known.is_none() {
            parameters.push(Parameter::new(name));
        }
        if let Some(parameter) = parameters.get_mut(index) {
            parameter.add(member, value);
        }
    }
    Ok(T::deserialize(QueryDeserializer {
        parameters: &parameters,
    })?)
}

/// Undoes percent-encoding, strictly: `None` for a broken escape or what is not UTF-8.
pub(crate) fn decode(text: &str, plus_is_space: bool) -> Option<String> {
    let digit = |byte: Option<u8>| {
        char::from(byte?)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => digit(bytes.next())? << 4 | digit(bytes.next())?,
            b'+' if plus_is_space => b' ',
            byte => byte,
        });
    }
    String::from_utf8(decoded).ok()
}

/// The parameter and its member that a name such as `metadata[key]` means.
fn member_of(name: &str) -> Option<(&str, &str)> {
    let (name, member) = name.strip_suffix(']')?.split_once('[')?;
    (!name.is_empty() && !member.is_empty()).then_some((name, member))
}

struct Parameter {
    name: String,
    values: Vec<String>,
    /// The values of its members, of one that has any.
    members: Vec<Self>,
}

impl Parameter {
    const fn new(name: String) -> Self {
        Self {
            name,
            values: Vec::new(),
            members: Vec::new(),
        }
    }

    fn add(&mut self, member: Option<String>, value: String) {
        let Some(member) = member else {
            self.values.push(value);
            return;
        };
        match self.members.iter_mut().find(|known| known.name == member) {
            Some(known) => known.values.push(value),
            None => self.members.push(Self {
                values: vec![value],
                ..Self::new(member)
            }),
        }
    }
}

struct QueryDeserializer<'q> {
    parameters: &'q [Parameter],
}

impl<'de> Deserializer<'de> for QueryDeserializer<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(Parameters {
            rest: self.parameters.iter(),
            pending: None,
        })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Parameters<'q> {
    rest: std::slice::Iter<'q, Parameter>,
    pending: Option<&'q Parameter>,
}

impl<'de> MapAccess<'de> for Parameters<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        self.pending = self.rest.next();
        let Some(parameter) = self.pending else {
            return Ok(None);
        };
        seed.deserialize(parameter.name.as_str().into_deserializer())
            .map(Some)
            .map_err(|fault: Fault| fault.about_member(&parameter.name))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let Some(parameter) = self.pending.take() else {
            return Err(Fault::invalid("is read out of order"));
        };
        seed.deserialize(Values(parameter))
            .map_err(|fault| fault.in_member(&parameter.name))
    }
}

/// All values of one parameter, of which most types want exactly one.
#[derive(Clone, Copy)]
struct Values<'q>(&'q Parameter);

impl<'q> Values<'q> {
    /// The values of a parameter without members.
    fn plain(self) -> Result<&'q [String], Fault> {
        if self.0.members.is_empty() {
            Ok(&self.0.values)
        } else {
            Err(Fault::invalid("has no members: it is written without []"))
        }
    }

    fn single(self) -> Result<Word<'q>, Fault> {
        match self.plain()? {
            [value] => Ok(Word(value)),
            _ => Err(Fault::invalid("must not be given more than once")),
        }
    }
}

macro_rules! single {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.single()?.$method(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Values<'_> {
    type Error = Fault;

    single! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_str deserialize_string
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name == PATCH {
            visitor.visit_some(self)
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let words: Vec<String> = self
            .plain()?
            .iter()
            .flat_map(|value| listed(value))
            .collect();
        visitor.visit_seq(Words {
            rest: words.into_iter(),
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.single()?.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.0.values.is_empty() {
            visitor.visit_map(Parameters {
                rest: self.0.members.iter(),
                pending: None,
            })
        } else {
            let name = &self.0.name;
            let message = format!("must be written {name}[key]=value");
            Err(Fault::invalid(message))
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i128 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct struct identifier
    }
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

struct Words {
    rest: std::vec::IntoIter<String>,
}

impl<'de> SeqAccess<'de> for Words {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        self.rest
            .next()
            .map(|word| seed.deserialize(Word(&word)))
            .transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// One value, as text.
#[derive(Clone, Copy)]
struct Word<'q>(&'q str);

macro_rules! integers {
    ($($method:ident => $visit:ident: $ty:ty),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            let value = self.0.strip_prefix('+').map_or(self.0, |_| "").parse::<$ty>();
            let expected: &dyn Expected = &visitor;
            let value = value.map_err(|_| Fault::invalid(format!("must be {expected}")))?;
            visitor.$visit(value)
        }
    )*};
}

impl<'de> Deserializer<'de> for Word<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.0)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(Fault::invalid("must be true or false")),
        }
    }

    integers! {
        deserialize_i8 => visit_i8: i8,
        deserialize_i16 => visit_i16: i16,
        deserialize_i32 => visit_i32: i32,
        deserialize_i64 => visit_i64: i64,
        deserialize_u8 => visit_u8: u8,
        deserialize_u16 => visit_u16: u16,
        deserialize_u32 => visit_u32: u32,
        deserialize_u64 => visit_u64: u64,
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(UnitVariant(self.0))
    }

    serde::forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::http::error::Code;
    use crate::request::fields::{DecimalText, Limit, List, Offset, Reference, Table, Text};

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    enum Order {
        Asc,
        Desc,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Wanted {
        #[serde(default)]
        limit: Limit,
        #[serde(default)]
        offset: Offset,
        sort_order: Option<Order>,
        sku: Option<Text<10>>,
        ids: Option<List<Text<10>, 3, 1>>,
        orders: Option<List<Order, 2>>,
        is_waitlisted: Option<bool>,
        organization_id: Option<Reference>,
        price: Option<DecimalText>,
        metadata: Option<Table<Text<5>, Text<10>, 2>>,
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
        assert_eq!((wanted.limit.get(), wanted.offset.get()), (100, 10_000));
        assert_eq!(wanted.sort_order, Some(Order::Desc));
        assert_eq!(wanted.sku.unwrap().as_str(), "a b+ ä");
        let ids = wanted.ids.unwrap().into_vec();
        assert_eq!(
            ids.iter().map(Text::as_str).collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        assert_eq!(wanted.orders.unwrap().into_vec(), [Order::Asc, Order::Desc]);
        assert_eq!(wanted.is_waitlisted, Some(true));
        assert_eq!(wanted.organization_id, Some(Reference::Number(12)));
        assert_eq!(wanted.price.unwrap().as_str(), "1.50");
        let members = read("metadata[a]=1&metadata%5Bb%20c%5D=%5B2%5D").unwrap();
        let members = members.metadata.unwrap().into_map().into_iter();
        let members: Vec<_> = members
            .map(|(key, value)| (key.into_string(), value.into_string()))
            .collect();
        assert_eq!(
            members,
            [("a", "1"), ("b c", "[2]")].map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
        let nothing = read("").unwrap();
        assert_eq!((nothing.limit.get(), nothing.offset.get()), (20, 0));
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
            ("sku=12345678901", "sku"),
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
            ("metadata[a]=12345678901", "metadata.a"),
            ("metadata[abcdef]=1", "metadata.abcdef"),
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
            product_ids: List<Text<10>, 3, 1>,
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

    #[test]
    fn segments_are_decoded_strictly() {
        assert_eq!(segment("a%20b+c").as_deref(), Some("a b+c"));
        assert_eq!(segment("%C3%A4").as_deref(), Some("ä"));
        for bad in ["", "%", "%zz", "%ff", "%00", "a%0ab", &"x".repeat(256)] {
            assert_eq!(segment(bad), None, "{bad}");
        }
    }
}
