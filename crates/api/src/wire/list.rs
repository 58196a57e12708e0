//! Pages of lists: where they start, and where the next one does.

use std::borrow::Cow;

use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::{HttpResponse, HttpResponseBuilder};
use lessor_domain::ids::PublicId;
use lessor_domain::ports::{Page, Start};
use lessor_domain::services::Slice;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Described, Form, Parsed, Whole, decode, schemas};
use crate::state::totals::LongList;

const TOTAL: HeaderName = HeaderName::from_static("x-total-count");

/// How many records a page has: 1 to 100, 20 when nothing is said.
pub type Limit = Parsed<PageLimit>;
/// How many records are skipped before a page: 0 to 10,000, 0 when nothing is said.
pub type Offset = Parsed<PageOffset>;

/// Declares numbers of records with a default.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident = $least:literal to $most:literal, else $default:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(u32);

        impl $name {
            /// The number.
            #[must_use]
            pub const fn get(self) -> u32 {
                self.0
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self($default)
            }
        }

        impl Described for $name {
            const FORM: Form = Form::Integer;

            fn read(text: &str) -> Result<Self, String> {
                Whole::<u32, $least, $most>::read(text).map(|number| Self(number.get()))
            }

            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn schema() -> RefOr<Schema> {
                schemas::integer($least, $most)
                    .default(Some($default.into()))
                    .into()
            }
        }
    )*};
}

counts! {
    /// See [`Limit`].
    PageLimit = 1 to 100, else 20;
    /// See [`Offset`].
    PageOffset = 0 to 10_000, else 0;
}

/// The part of a list that a request asks for, by its three parameters.
///
/// # Errors
/// 400 for `startingAfter` together with an offset.
pub fn page<I: PublicId>(
    limit: Limit,
    offset: Offset,
    starting_after: Option<Parsed<I>>,
) -> Result<Page, ApiError> {
    const PARAM: &str = "startingAfter";
    let start = match (starting_after, offset.0.get()) {
        (None, offset) => Start::Offset(offset),
        (Some(id), 0) => Start::After(id.0.as_uuid()),
        (Some(_), _) => {
            let message = format!("{PARAM}: cannot be combined with an offset");
            return Err(ApiError::invalid(PARAM, message));
        }
    };
    Ok(Page {
        start,
        limit: limit.0.get(),
    })
}

/// A page of a list, which is counted with it unless it was found to be long a moment ago: whoever pages through it, or
/// reads it after each change, would have a thousand of its records counted each time.
///
/// # Errors
/// Those of reading it.
pub(crate) async fn counted<T>(
    call: &Call,
    list: LongList,
    page: Page,
    list_of: impl AsyncFnOnce(bool) -> Result<Slice<T>, ApiError>,
) -> Result<Slice<T>, ApiError> {
    let (known, access) = (&call.state().long_lists, call.access());
    let key = (access.organization_id, access.mode, list);
    let is_long = known.told(&key).is_some();
    let slice = list_of(is_long).await?;
    if !is_long && slice.is_long(page) {
        known.note(key, ());
    }
    Ok(slice)
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
        let name = decode(name);
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
