//! Lists of objects, read page by page.
//!
//! They are read to their end: what is looked for may be the oldest of many.

use lessor_domain::access::Mode;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::client::Client;
use super::error::CallError;
use super::wire::{Identified, Page};

/// The most that a page holds.
const PAGE: u8 = 100;

#[derive(Serialize)]
struct Paged<'a, Q> {
    #[serde(flatten)]
    query: &'a Q,
    limit: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    starting_after: Option<&'a str>,
}

/// A page, newest first, behind the object that is named.
pub(super) async fn page<T, Q>(
    client: &Client,
    mode: Mode,
    path: &[&str],
    query: &Q,
    after: Option<&str>,
) -> Result<Page<T>, CallError>
where
    T: DeserializeOwned,
    Q: Serialize + Sync,
{
    let paged = Paged {
        query,
        limit: PAGE,
        starting_after: after,
    };
    client.get(mode, path, &paged).await
}

/// Everything that the list holds, newest first.
pub(super) async fn all<T, Q>(
    client: &Client,
    mode: Mode,
    path: &[&str],
    query: &Q,
) -> Result<Vec<T>, CallError>
where
    T: DeserializeOwned + Identified,
    Q: Serialize + Sync,
{
    let mut all: Vec<T> = Vec::new();
    loop {
        let after = all.last().map(Identified::id);
        let page: Page<T> = page(client, mode, path, query, after).await?;
        let is_last = !page.has_more || page.data.is_empty();
        all.extend(page.data);
        if is_last {
            return Ok(all);
        }
    }
}

/// The newest that is wanted. What comes behind it is not read.
pub(super) async fn first<T, Q>(
    client: &Client,
    mode: Mode,
    path: &[&str],
    query: &Q,
    is_wanted: impl Fn(&T) -> bool,
) -> Result<Option<T>, CallError>
where
    T: DeserializeOwned + Identified,
    Q: Serialize + Sync,
{
    let mut after: Option<String> = None;
    loop {
        let page: Page<T> = page(client, mode, path, query, after.as_deref()).await?;
        let last = page.data.last().map(|last| last.id().to_owned());
        if let Some(found) = page.data.into_iter().find(|object| is_wanted(object)) {
            return Ok(Some(found));
        }
        after = last.filter(|_| page.has_more);
        if after.is_none() {
            return Ok(None);
        }
    }
}
