//! How long the head of a request may be, and its parts.

use actix_web::dev::RequestHead;
use actix_web::http::header;

use crate::http::error::ApiError;

/// The longest head: the request line and the headers, in bytes.
pub const MAX_HEAD: usize = 16 * 1024;
/// The longest path, in bytes.
pub const MAX_PATH: usize = 4 * 1024;
/// The longest query string, in bytes.
pub const MAX_QUERY: usize = 8 * 1024;
/// The most query parameters, repeated ones counted each time.
pub const MAX_PARAMETERS: usize = 64;

/// What stands around a header on the line: `: ` and the line's end.
const AROUND_A_HEADER: usize = 4;
/// What stands around the target on the request line.
const AROUND_THE_TARGET: usize = " HTTP/1.1\r\n\r\n ".len();

/// Refuses a head that is too long, and one of which a proxy may think that the request ends elsewhere.
///
/// # Errors
/// 414, 431; 400 for too many query parameters, and for two lengths of the body.
pub(crate) fn check(head: &RequestHead) -> Result<(), ApiError> {
    let path = head.uri.path();
    let query = head.uri.query().unwrap_or_default();
    if path.len() > MAX_PATH || query.len() > MAX_QUERY {
        return Err(ApiError::uri_too_long(MAX_PATH, MAX_QUERY));
    }
    let headers: usize = head
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + AROUND_A_HEADER)
        .sum();
    let line = head.method.as_str().len() + path.len() + query.len() + AROUND_THE_TARGET;
    if line + headers > MAX_HEAD {
        return Err(ApiError::head_too_large(MAX_HEAD));
    }
    let has = |name| head.headers.contains_key(name);
    if has(header::CONTENT_LENGTH) && has(header::TRANSFER_ENCODING) {
        return Err(ApiError::two_lengths());
    }
    if query.split('&').count() > MAX_PARAMETERS {
        return Err(ApiError::invalid_request(format!(
            "there are more than {MAX_PARAMETERS} query parameters"
        )));
    }
    Ok(())
}
