use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::json::Node;
use super::{NullRule, from_node};
use crate::http::error::{ApiError, Code};
use crate::request::fields::{
    DecimalText, Int, IntText, List, Patch, Prose, RawObject, Reference, Table, Text, WebUrl,
};

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Leasable,
    #[serde(rename = "add-on")]
    AddOn,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Choice {
    name: Text<20>,
    values: List<Text<20>, 3, 1>,
    position: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Create {
    name: Text<20>,
    price: DecimalText,
    kind: Kind,
    options: List<Choice, 2>,
    description: Option<Prose<50>>,
    site: Option<WebUrl>,
    term: Option<IntText<1, 120>>,
    quantity: Option<Int<-1, 1000>>,
    year: Option<i32>,
    owner: Option<Reference>,
    serials: Option<Table<Text<20>, Text<20>, 2>>,
    active: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Update {
    name: Option<Text<20>>,
    description: Patch<Prose<50>>,
    options: Option<List<Choice, 2>>,
    items: Option<List<RawObject, 3>>,
}

const GOOD: &str =
    r#""name":"Bike","price":1299.00,"kind":"add-on","options":[{"name":"size","values":["S"]}]"#;

fn read<T: DeserializeOwned>(text: &str, nulls: NullRule) -> Result<T, ApiError> {
    let node = Node::parse(text.as_bytes()).unwrap();
    from_node(&node, nulls).map_err(ApiError::from)
}

fn create(text: &str) -> Result<Create, ApiError> {
    read(text, NullRule::Create)
}

fn update(text: &str) -> Result<Update, ApiError> {
    read(text, NullRule::Update)
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
        r#""description":"a\r\nb","site":"https://a.example","term":"24","quantity":-1,"year":2026,"owner":"org_1a",
           "serials":{"chkitem_1":"X"},"active":true"#,
    )
    .unwrap();
    assert_eq!(read.name.as_str(), "Bike");
    assert_eq!(read.price.as_str(), "1299.00");
    assert_eq!(read.kind, Kind::AddOn);
    assert_eq!(
        read.options.as_slice()[0].values.as_slice()[0].as_str(),
        "S"
    );
    assert_eq!(read.description.unwrap().as_str(), "a\nb");
    assert_eq!(read.term.unwrap().get(), 24);
    assert_eq!(read.site.unwrap().as_str(), "https://a.example");
    assert_eq!(read.year, Some(2026));
    assert_eq!(read.quantity.unwrap().get(), -1);
    assert_eq!(read.owner, Some(Reference::PublicId("org_1a".into())));
    assert_eq!(read.serials.unwrap().into_map().len(), 1);
    assert_eq!(
        saying("1299.00", r#""12.5""#).unwrap().price.as_str(),
        "12.5"
    );
    assert_eq!(
        saying("1299.00", "0.1000000000000000055511151231257827")
            .unwrap()
            .price
            .as_str(),
        "0.1000000000000000055511151231257827"
    );
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
        (r#""Bike""#, r#""123456789012345678901""#, "name"),
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
        (r#""year":2147483648"#, "year"),
        (r#""year":1e400"#, "year"),
        (r#""quantity":-2"#, "quantity"),
        (r#""quantity":1001"#, "quantity"),
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
        (r#""serials":{"":"x"}"#, "serials."),
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
    assert_eq!(update("{}").unwrap().description, Patch::Absent);
    assert_eq!(
        update(r#"{"description":null}"#).unwrap().description,
        Patch::Null
    );
    let Patch::Value(text) = update(r#"{"description":"x"}"#).unwrap().description else {
        panic!()
    };
    assert_eq!(text.as_str(), "x");
    assert!(update("{}").unwrap().name.is_none());
    assert_fault(update(r#"{"name":null}"#), Code::InvalidParameter, "name");
    assert_fault(
        update(r#"{"description":5}"#),
        Code::InvalidParameter,
        "description",
    );
    assert_fault(
        update(r#"{"description":""}"#),
        Code::InvalidParameter,
        "description",
    );
    assert_fault(update(r#"{"nope":null}"#), Code::InvalidParameter, "nope");
}

#[test]
fn inside_a_put_nested_nulls_are_those_of_a_whole_value() {
    let put = update(r#"{"options":[{"name":"a","values":["b"],"position":null}]}"#).unwrap();
    let options = put.options.unwrap().into_vec();
    assert_eq!((options[0].name.as_str(), options[0].position), ("a", None));
    assert_fault(
        update(r#"{"options":[{"name":null,"values":["b"]}]}"#),
        Code::InvalidParameter,
        "options[0].name",
    );
    assert_fault(
        update(r#"{"options":[{"values":["b"]}]}"#),
        Code::ParameterMissing,
        "options[0].name",
    );
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
        id: Option<Text<20>>,
        name: Option<Text<20>>,
    }
    assert_eq!(
        items[0]
            .parse::<Item>(NullRule::Update)
            .unwrap()
            .name
            .unwrap()
            .as_str(),
        "a"
    );
    assert!(
        items[0]
            .parse::<Item>(NullRule::Update)
            .unwrap()
            .id
            .is_none()
    );
    assert_fault(
        items[1].parse::<Item>(NullRule::Update),
        Code::InvalidParameter,
        "name",
    );
    assert_eq!(items[1].text("id").as_deref(), Some("prod_1"));
    assert_fault(
        items[2].parse::<Item>(NullRule::Update),
        Code::InvalidParameter,
        "name",
    );
    assert_eq!(items[2].text("id"), None);
    assert_fault(
        update(r#"{"items":[{},5]}"#),
        Code::InvalidParameter,
        "items[1]",
    );
}
