//! Query strings.

use actix_web::FromRequest as _;
use actix_web::dev::Payload;
use actix_web::http::Uri;
use actix_web::test::TestRequest;
use lessor::request::{List, Plain as _, QueryParams, Table};
use lessor::wire::{Amount, Limit, MetadataKey, MetadataValue, Offset, Sku};
use serde::Deserialize;

/// A query with a parameter of each kind.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    limit: Limit,
    #[serde(default)]
    offset: Offset,
    sku: Option<Sku>,
    ids: Option<List<Sku, 3, 1>>,
    is_active: Option<bool>,
    price: Option<Amount>,
    metadata: Option<Table<MetadataKey, MetadataValue, 3>>,
}

fn read(query: &str) -> Option<Wanted> {
    let address = format!("/?{query}");
    // The server takes no other.
    address.parse::<Uri>().ok()?;
    let request = TestRequest::with_uri(&address).to_http_request();
    let read = QueryParams::<Wanted>::from_request(&request, &mut Payload::None).into_inner();
    read.ok().map(|QueryParams(wanted)| wanted)
}

/// The query that says the same.
fn written(wanted: Wanted) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", &wanted.limit.0.get().to_string());
    query.append_pair("offset", &wanted.offset.0.get().to_string());
    if let Some(sku) = wanted.sku {
        query.append_pair("sku", sku.0.as_str());
    }
    for id in wanted.ids.plain().unwrap_or_default() {
        query.append_pair("ids", &id.as_str().replace(',', "\\,"));
    }
    if let Some(is_active) = wanted.is_active {
        query.append_pair("isActive", &is_active.to_string());
    }
    if let Some(price) = wanted.price {
        query.append_pair("price", &price.0.to_string());
    }
    for (key, value) in wanted.metadata.plain().unwrap_or_default() {
        query.append_pair(&format!("metadata[{key}]"), value.as_str());
    }
    query.finish()
}

/// Reads a query. What was read of it is read again from a query that says the same.
pub fn run(data: &[u8]) -> bool {
    let text = std::str::from_utf8(data).ok();
    let Some(wanted) = text.and_then(read) else {
        return false;
    };
    let again = written(wanted.clone());
    assert_eq!(read(&again), Some(wanted), "{again}");
    true
}
