use lessor_domain::catalog;
use lessor_domain::ids::IdRef;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::de::from_node;
use super::json::Node;
use super::{List, Lookup, Plain as _, RawObject, Table, given};
use crate::http::error::{ApiError, Code};
use crate::wire::{
    Amount, Description, Line, Name, OrganizationRef, Position, ProductType, Quantity, TermOrText,
    Url, Year,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Choice {
    name: Name,
    values: List<Name, 3, 1>,
    position: Option<Position>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Create {
    name: Name,
    price: Amount,
    kind: ProductType,
    options: List<Choice, 2>,
    description: Option<Description>,
    site: Option<Url>,
    term: Option<TermOrText>,
    quantity: Option<Quantity>,
    year: Option<Year>,
    owner: Option<OrganizationRef>,
    serials: Option<Table<Line, Line, 2>>,
    active: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Update {
    #[serde(deserialize_with = "given")]
    name: Option<Name>,
    #[serde(with = "serde_with::rust::double_option")]
    description: Option<Option<Description>>,
    #[serde(deserialize_with = "given")]
    options: Option<List<Choice, 2>>,
    items: Option<List<RawObject, 3>>,
}

const GOOD: &str =
    r#""name":"Bike","price":1299.00,"kind":"add-on","options":[{"name":"size","values":["S"]}]"#;

fn read<T: DeserializeOwned>(text: &str) -> Result<T, ApiError> {
    let node = Node::parse(text.as_bytes()).unwrap();
    from_node(&node).map_err(ApiError::from)
}

fn create(text: &str) -> Result<Create, ApiError> {
    read(text)
}

fn update(text: &str) -> Result<Update, ApiError> {
    read(text)
}

/// The good document with one more member.
fn with(member: &str) -> Result<Create, ApiError> {
    create(&format!("{{{GOOD},{member}}}"))
}

/// The good document with one member said otherwise.
fn saying(from: &str, to: &str) -> Result<Create, ApiError> {
    assert!(GOOD.contains(from), "{from}");
    create(&format!("{{{}}}", GOOD.replacen(from, to, 1)))
}

#[track_caller]
fn assert_fault<T: std::fmt::Debug>(result: Result<T, ApiError>, code: Code, param: &str) {
    let error = result.unwrap_err();
    assert_eq!(
        (error.code(), error.param()),
        (code, Some(param)),
        "{error}"
    );
    assert!(error.message().starts_with(param), "{error}");
}

#[test]
fn a_full_document_is_read() {
    let read = with(
        r#""description":"a\r\nb","site":"https://a.example","term":"24","quantity":-1,"year":2026,"owner":"12",
           "serials":{"chkitem_1":" X "},"active":true"#,
    )
    .unwrap();
    assert_eq!(read.name.plain().as_str(), "Bike");
    assert_eq!(read.price.plain(), "1299".parse().unwrap());
    assert_eq!(read.kind.plain(), catalog::ProductType::AddOn);
    let [choice] = read.options.into_vec().try_into().unwrap();
    assert_eq!(choice.values.plain()[0].as_str(), "S");
    assert_eq!(read.description.plain().unwrap().as_str(), "a\nb");
    assert_eq!(read.term.plain().unwrap().0.get(), 24);
    assert_eq!(read.site.plain().unwrap().as_str(), "https://a.example");
    assert_eq!(read.year.plain().unwrap().get(), 2026);
    assert_eq!(read.quantity.plain().unwrap().get(), -1);
    let Lookup { id, text } = read.owner.plain().unwrap();
    assert!(matches!(id, Some(IdRef::Number(id)) if id.get() == 12) && text == "12");
    let serials = read.serials.plain().unwrap();
    assert_eq!(serials.values().next().unwrap().as_str(), "X");
    for (given, exact) in [
        (r#""12.5""#, "12.5"),
        ("1.2e1", "12"),
        ("0.1", "0.1"),
        ("999999999.99", "999999999.99"),
    ] {
        let read = saying("1299.00", given).unwrap();
        assert_eq!(read.price.plain(), exact.parse().unwrap(), "{given}");
    }
}

#[test]
fn what_is_required_is_missed_when_absent_or_null() {
    for member in [
        r#""name":"Bike","#,
        r#""price":1299.00,"#,
        r#""kind":"add-on","#,
    ] {
        let name = member.split('"').nth(1).unwrap();
        assert_fault(saying(member, ""), Code::ParameterMissing, name);
        assert_fault(
            saying(member, &format!(r#""{name}":null,"#)),
            Code::ParameterMissing,
            name,
        );
    }
    assert_fault(create("{}"), Code::ParameterMissing, "name");
    assert_fault(
        saying(r#""name":"size","#, ""),
        Code::ParameterMissing,
        "options[0].name",
    );
    assert_fault(
        saying(r#"["S"]"#, "null"),
        Code::ParameterMissing,
        "options[0].values",
    );
    assert_fault(
        saying(r#"["S"]"#, r#"["S",null]"#),
        Code::ParameterMissing,
        "options[0].values[1]",
    );
}

#[test]
fn an_optional_null_is_left_out_on_post() {
    let read =
        with(r#""description":null,"site":null,"term":null,"serials":null,"active":null"#).unwrap();
    assert!(read.description.is_none() && read.term.is_none() && read.active.is_none());
}

#[test]
fn wrong_types_and_values_are_named() {
    for (from, to, param) in [
        (r#""Bike""#, "5", "name"),
        (r#""Bike""#, "[]", "name"),
        (r#""Bike""#, "true", "name"),
        (r#""Bike""#, r#""""#, "name"),
        (r#""Bike""#, r#"" ""#, "name"),
        (r#""Bike""#, r#""a\u0000b""#, "name"),
        ("1299.00", "true", "price"),
        ("1299.00", "{}", "price"),
        ("1299.00", "1e400", "price"),
        ("1299.00", r#""1e3""#, "price"),
        ("1299.00", r#""""#, "price"),
        ("1299.00", r#""NaN""#, "price"),
        (r#""add-on""#, r#""addOn""#, "kind"),
        (r#""add-on""#, r#""""#, "kind"),
        (r#""add-on""#, "1", "kind"),
        (r#""add-on""#, r#"{"leasable":null}"#, "kind"),
        (r#"["S"]"#, "{}", "options[0].values"),
        (r#"["S"]"#, "[]", "options[0].values"),
        (r#"["S"]"#, r#"["S","M",""]"#, "options[0].values[2]"),
        (r#"["S"]"#, r#"["1","2","3","4"]"#, "options[0].values"),
        (r#"[{"name":"size","values":["S"]}]"#, r#""S""#, "options"),
        (r#"{"name":"size","values":["S"]}"#, r#""S""#, "options[0]"),
        (
            r#""values":["S"]"#,
            r#""values":["S"],"x":1"#,
            "options[0].x",
        ),
    ] {
        assert_fault(saying(from, to), Code::InvalidParameter, param);
    }
    for (member, param) in [
        (r#""year":1.0"#, "year"),
        (r#""year":1e3"#, "year"),
        (r#""year":"2026""#, "year"),
        (r#""year":10000"#, "year"),
        (r#""year":1e400"#, "year"),
        (r#""quantity":-2"#, "quantity"),
        (r#""quantity":2147483648"#, "quantity"),
        (r#""term":"0""#, "term"),
        (r#""term":"12.0""#, "term"),
        (r#""term":121"#, "term"),
        (r#""term":true"#, "term"),
        (r#""owner":"a b""#, "owner"),
        (r#""owner":-1"#, "owner"),
        (r#""owner":1.5"#, "owner"),
        (r#""active":"true""#, "active"),
        (r#""active":1"#, "active"),
        (r#""site":"/relative""#, "site"),
        (r#""serials":[]"#, "serials"),
        (r#""serials":{"a":5}"#, "serials.a"),
        (r#""serials":{"":"x"}"#, "serials"),
        (r#""serials":{"a":"1","b":"2","c":"3"}"#, "serials"),
        (r#""serials":{"a":"1"," a ":"2"}"#, "serials"),
        (r#""Name":"x""#, "Name"),
        (r#""":1"#, ""),
    ] {
        if param.is_empty() {
            assert!(with(member).is_err());
        } else {
            assert_fault(with(member), Code::InvalidParameter, param);
        }
    }
}

#[test]
fn a_document_that_is_no_object_is_malformed() {
    for text in ["[]", "null", "5", "\"x\"", "true"] {
        let error = create(text).unwrap_err();
        assert_eq!(
            (error.code(), error.param()),
            (Code::InvalidRequest, None),
            "{text}"
        );
        let error = update(text).unwrap_err();
        assert_eq!(
            (error.code(), error.param()),
            (Code::InvalidRequest, None),
            "{text}"
        );
    }
}

#[test]
fn put_tells_absent_from_null() {
    assert!(update("{}").unwrap().description.is_none());
    let cleared = update(r#"{"description":null}"#).unwrap();
    assert!(matches!(cleared.description, Some(None)));
    let set = update(r#"{"description":"x"}"#).unwrap();
    assert_eq!(set.description.plain().unwrap().unwrap().as_str(), "x");
    assert!(update("{}").unwrap().name.is_none());
    for (body, param) in [
        (r#"{"name":null}"#, "name"),
        (r#"{"options":null}"#, "options"),
        (r#"{"description":5}"#, "description"),
        (r#"{"description":""}"#, "description"),
        (r#"{"nope":null}"#, "nope"),
    ] {
        assert_fault(update(body), Code::InvalidParameter, param);
    }
}

#[test]
fn inside_a_put_nested_nulls_are_those_of_a_whole_value() {
    let put = update(r#"{"options":[{"name":"a","values":["b"],"position":null}]}"#).unwrap();
    let [choice] = put.options.unwrap().into_vec().try_into().unwrap();
    assert!(choice.name.plain().as_str() == "a" && choice.position.is_none());
    for body in [
        r#"{"options":[{"name":null,"values":["b"]}]}"#,
        r#"{"options":[{"values":["b"]}]}"#,
    ] {
        assert_fault(update(body), Code::ParameterMissing, "options[0].name");
    }
}

#[test]
fn bulk_items_fail_one_by_one() {
    let put =
        update(r#"{"items":[{"name":"a"},{"id":"prod_1","name":5},{"name":null,"price":1.10}]}"#)
            .unwrap();
    let items = put.items.unwrap().into_vec();
    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Item {
        id: Option<Line>,
        #[serde(deserialize_with = "given")]
        name: Option<Name>,
    }
    assert_eq!(
        items[0]
            .parse::<Item>()
            .unwrap()
            .name
            .plain()
            .unwrap()
            .as_str(),
        "a"
    );
    assert!(items[0].parse::<Item>().unwrap().id.is_none());
    assert_fault(items[1].parse::<Item>(), Code::InvalidParameter, "name");
    assert_eq!(items[1].text("id").as_deref(), Some("prod_1"));
    assert_fault(items[2].parse::<Item>(), Code::InvalidParameter, "name");
    assert_eq!(items[2].text("id"), None);
    assert_fault(
        update(r#"{"items":[{},5]}"#),
        Code::InvalidParameter,
        "items[1]",
    );
}
