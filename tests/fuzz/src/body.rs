//! Bodies of requests: JSON, read strictly.

use actix_web::web::Bytes;
use lessor::request::{RawObject, SignedBody};
use lessor::wire::{Amount, Description, Email, MetadataInput, Name, Sku, SortOrder};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

/// A body with a member of each kind.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Widget {
    name: Name,
    price: Option<Amount>,
    description: Option<Description>,
    sku: Option<Sku>,
    email: Option<Email>,
    is_active: Option<bool>,
    parts: Option<Vec<Part>>,
    /// Read, and not written again.
    #[serde(default, skip_serializing)]
    metadata: Option<MetadataInput>,
    #[serde(default, skip_serializing)]
    sort_order: Option<SortOrder>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    name: Name,
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let body = SignedBody {
        signature: (),
        raw: Bytes::copy_from_slice(bytes),
    };
    body.json().ok()
}

/// Reads a body. What is taken is JSON to others, too; alone it is what it is as an item of a list; and what was read
/// of it reads the same from what is written of it.
pub fn run(data: &[u8]) -> bool {
    let item = read::<RawObject>(data);
    let widget = read::<Widget>(data);
    if item.is_some() {
        let known = serde_json::from_slice::<IgnoredAny>(data);
        assert!(known.is_ok(), "{known:?}");
    }
    let alone = item.and_then(|item| item.parse::<Widget>().ok());
    assert_eq!(alone, widget);
    let Some(widget) = widget else {
        return false;
    };
    let written = serde_json::to_vec(&widget).unwrap_or_default();
    let again = read::<Widget>(&written);
    let kept = Widget {
        metadata: None,
        sort_order: None,
        ..widget
    };
    assert_eq!(again, Some(kept));
    true
}
