//! Pages of lists: where they start, and where the next one does.

use actix_web::HttpResponse;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use lessor_domain::ids::PublicId;
use lessor_domain::ports::{Page, Start};

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::fields::{Limit, Offset, Text};
use crate::request::query;
use crate::wire::parse;

const TOTAL: HeaderName = HeaderName::from_static("x-total-count");

/// The part of a list that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging<I> {
    /// The most records that are answered.
    pub limit: usize,
    /// How many are skipped.
    pub offset: usize,
    /// The record that the page comes after.
    pub after: Option<I>,
}

impl<I: PublicId> Paging<I> {
    /// Reads the three parameters of a list.
    ///
    /// # Errors
    /// 400 for `startingAfter` that is no id, or together with an offset.
    pub fn read(
        limit: Limit,
        offset: Offset,
        starting_after: Option<&Text<64>>,
    ) -> Result<Self, ApiError> {
        let count = |number: i64| usize::try_from(number).map_err(ApiError::internal);
        Self::new(count(limit.get())?, count(offset.get())?, starting_after)
    }

    /// Like [`Paging::read`], for a list with a limit of its own.
    ///
    /// # Errors
    /// As [`Paging::read`].
    pub fn new(
        limit: usize,
        offset: usize,
        starting_after: Option<&Text<64>>,
    ) -> Result<Self, ApiError> {
        const PARAM: &str = "startingAfter";
        let after = match starting_after {
            Some(_) if offset > 0 => {
                let message = format!("{PARAM}: cannot be combined with an offset");
                return Err(ApiError::invalid(PARAM, message));
            }
            Some(id) => Some(parse(PARAM, id.as_str())?),
            None => None,
        };
        Ok(Self {
            limit,
            offset,
            after,
        })
    }

    /// The page for the store: one record more than is answered tells whether there is a next page.
    #[must_use]
    pub fn page(&self) -> Page {
        // Both are bounded far below.
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Page {
            start: match &self.after {
                Some(id) => Start::After(id.as_uuid()),
                None => Start::Offset(number(self.offset)),
            },
            limit: number(self.limit.saturating_add(1)),
        }
    }

    /// The page of a list that is at hand as a whole.
    ///
    /// # Errors
    /// 400 for `startingAfter` that is not in the list.
    pub fn cut<T>(&self, list: Vec<T>, id: impl Fn(&T) -> I) -> Result<Vec<T>, ApiError> {
        let skip = match self.after {
            None => self.offset,
            Some(after) => match list.iter().position(|item| id(item) == after) {
                Some(index) => index + 1,
                None => return Err(unknown_start()),
            },
        };
        let page = list.into_iter().skip(skip).take(self.limit + 1);
        Ok(page.collect())
    }
}

/// 400: the list does not have the record that the page is to come after.
pub(crate) fn unknown_start() -> ApiError {
    ApiError::invalid(
        "startingAfter",
        "startingAfter: names no record of the list",
    )
}

/// Begins the answer of a list: cuts the record off that is one too many, and says where the next
/// page is and how many records there are in all.
pub fn listed<T, I: PublicId>(
    call: &Call,
    paging: &Paging<I>,
    records: &mut Vec<T>,
    id: impl Fn(&T) -> I,
    total: Option<u64>,
) -> actix_web::HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    if let Some(total) = total {
        response.insert_header((TOTAL, total));
    }
    if records.len() > paging.limit {
        records.truncate(paging.limit);
        let next = records.last().and_then(|last| next_link(call, id(last)));
        if let Some(link) = next {
            response.insert_header((header::LINK, link));
        }
    }
    response
}

/// The same request for the records after this one.
fn next_link(call: &Call, last: impl PublicId) -> Option<HeaderValue> {
    let public_url = call.state().settings.public_url.as_str();
    let path = call.path();
    let query = next_query(call.query(), &last.to_string());
    HeaderValue::from_str(&format!("<{public_url}{path}?{query}>; rel=\"next\"")).ok()
}

fn next_query(query: &str, last: &str) -> String {
    let replaced = |pair: &&str| {
        let name = pair.split_once('=').map_or(*pair, |(name, _)| name);
        let name = query::decode(name, true);
        !pair.is_empty() && !matches!(name.as_deref(), Some("offset" | "startingAfter"))
    };
    let mut pairs: Vec<&str> = query.split('&').filter(replaced).collect();
    let start = format!("startingAfter={last}");
    pairs.push(&start);
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_asked_for_like_this_one() {
        for (query, next) in [
            ("", "startingAfter=z"),
            ("limit=5&offset=10", "limit=5&startingAfter=z"),
            ("startingAfter=a&sku=x%20y", "sku=x%20y&startingAfter=z"),
            ("%6Fffset=1&&sku=a&sku=b", "sku=a&sku=b&startingAfter=z"),
        ] {
            assert_eq!(next_query(query, "z"), next);
        }
    }
}
