//! What callers keep beside records.

use std::collections::BTreeMap;

use lessor_domain::metadata::{Metadata, MetadataPatch};

use super::{MetadataKey, MetadataValue, invalid};
use crate::http::error::ApiError;
use crate::request::{Nullable, Plain as _, Table};

/// Metadata of a new record, or that the records of a list have.
pub type MetadataInput = Table<MetadataKey, MetadataValue, { Metadata::MAX_KEYS }>;

/// What is to change in metadata: `null` takes a key away. As many as a record keeps may be taken
/// away and put in their place.
pub type MetadataChanges = Table<MetadataKey, Nullable<MetadataValue>, { 2 * Metadata::MAX_KEYS }>;

/// The metadata that a request names.
///
/// # Errors
/// 400 when they are too many.
pub fn metadata(given: Option<MetadataInput>) -> Result<Metadata, ApiError> {
    let entries = given.unwrap_or_default().plain();
    Metadata::new(entries).map_err(|error| invalid("metadata", error))
}

/// What a PUT does to metadata.
#[must_use]
pub fn metadata_patch(given: Option<Option<MetadataChanges>>) -> MetadataPatch {
    match given {
        None => MetadataPatch::Keep,
        Some(None) => MetadataPatch::Clear,
        Some(Some(changes)) => MetadataPatch::Merge(changes.plain()),
    }
}

/// The metadata as records show them.
#[must_use]
pub fn metadata_record(kept: &Metadata) -> BTreeMap<String, String> {
    let entries = kept.entries().iter();
    entries
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect()
}
