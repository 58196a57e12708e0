//! What callers keep beside records.

use std::collections::BTreeMap;

use lessor_domain::metadata::{Metadata, MetadataPatch};
use lessor_domain::text::MetadataKey;

use super::{invalid, parse};
use crate::http::error::ApiError;
use crate::request::fields::{Patch, Table, Text};

/// Metadata of a new record, or that the records of a list have.
pub type MetadataInput = Table<Text<40>, Text<500>, { Metadata::MAX_KEYS }>;

/// What is to change in metadata: `null` takes a key away. As many as a record keeps may be taken
/// away and put in their place.
pub type MetadataChanges = Table<Text<40>, Patch<Text<500>>, { 2 * Metadata::MAX_KEYS }>;

const PARAM: &str = "metadata";

fn key(text: &Text<40>) -> Result<MetadataKey, ApiError> {
    parse(&format!("{PARAM}.{text}"), text.as_str())
}

/// The metadata that a request names.
///
/// # Errors
/// 400 about the key at fault.
pub fn metadata(given: Option<MetadataInput>) -> Result<Metadata, ApiError> {
    let mut entries = BTreeMap::new();
    for (name, value) in given.unwrap_or_default().into_map() {
        let value = parse(&format!("{PARAM}.{name}"), value.as_str())?;
        entries.insert(key(&name)?, value);
    }
    Metadata::new(entries).map_err(|error| invalid(PARAM, error))
}

/// What a PUT does to metadata.
///
/// # Errors
/// 400 about the key at fault.
pub fn metadata_patch(given: Patch<MetadataChanges>) -> Result<MetadataPatch, ApiError> {
    let changes = match given {
        Patch::Absent => return Ok(MetadataPatch::Keep),
        Patch::Null => return Ok(MetadataPatch::Clear),
        Patch::Value(changes) => changes,
    };
    let mut merged = BTreeMap::new();
    for (name, value) in changes.into_map() {
        let value = match value.into_option().flatten() {
            Some(value) => Some(parse(&format!("{PARAM}.{name}"), value.as_str())?),
            None => None,
        };
        merged.insert(key(&name)?, value);
    }
    Ok(MetadataPatch::Merge(merged))
}

/// The metadata as records show them.
#[must_use]
pub fn metadata_record(kept: &Metadata) -> BTreeMap<String, String> {
    let entries = kept.entries().iter();
    entries
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect()
}
