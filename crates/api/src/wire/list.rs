//! Pages of lists: where they start, and where the next one does.

use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::{HttpResponse, HttpResponseBuilder};
use lessor_domain::ids::PublicId;
use lessor_domain::ports::{Page, Start};
use lessor_domain::services::Slice;

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::fields::Text;
use crate::request::query;
use crate::wire::parse;

const TOTAL: HeaderName = HeaderName::from_static("x-total-count");

/// The part of a list that a request asks for, by its three parameters.
///
/// # Errors
/// 400 for `startingAfter` that is no id, or together with an offset.
pub fn page<I: PublicId>(
    limit: i64,
    offset: i64,
    starting_after: Option<&Text<64>>,
) -> Result<Page, ApiError> {
    const PARAM: &str = "startingAfter";
    let count = |number: i64| u32::try_from(number).map_err(ApiError::internal);
    let start = match starting_after {
        Some(_) if offset > 0 => {
            let message = format!("{PARAM}: cannot be combined with an offset");
            return Err(ApiError::invalid(PARAM, message));
        }
        Some(id) => Start::After(parse::<I>(PARAM, id.as_str())?.as_uuid()),
        None => Start::Offset(count(offset)?),
    };
    Ok(Page {
        start,
        limit: count(limit)?,
    })
}

/// Begins the answer of a list: says where the next page is and how many records there are in all.
pub fn listed<T, I: PublicId>(
    call: &Call,
    slice: &Slice<T>,
    id: impl Fn(&T) -> I,
) -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    if let Some(total) = slice.total {
        response.insert_header((TOTAL, total));
    }
    let last = slice.items.last().filter(|_| slice.has_more);
    if let Some(link) = last.and_then(|last| next_link(call, id(last))) {
        response.insert_header((header::LINK, link));
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
