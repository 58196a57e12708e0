//! Positions in the database's log, by which callers read what they wrote.

use actix_web::HttpRequest;
use actix_web::http::header::HeaderName;
use lessor_adapters::postgres::Position;

use crate::http::error::ApiError;

/// Of an answer: how far the log had come when the request was committed. Of a request: how far the
/// log is to be seen.
pub(crate) const POSITION: HeaderName = HeaderName::from_static("lessor-position");

/// The name of [`POSITION`], as people write it.
const HEADER: &str = "Lessor-Position";

/// The `Lessor-Position` of a request.
///
/// # Errors
/// 400 for what is none, or more than one.
pub(crate) fn position_of(request: &HttpRequest) -> Result<Option<Position>, ApiError> {
    let mut given = request.headers().get_all(POSITION);
    let Some(value) = given.next() else {
        return Ok(None);
    };
    let refused = |what: &str| ApiError::invalid(HEADER, format!("{HEADER}: {what}"));
    if given.next().is_some() {
        return Err(refused("must not be given more than once"));
    }
    // What is no text is no position either.
    let position = value.to_str().unwrap_or_default().parse::<Position>();
    position
        .map(Some)
        .map_err(|error| refused(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn one_position_as_an_answer_had_it() {
        let read = |values: &[&str]| {
            let mut request = TestRequest::get();
            for value in values {
                let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
                request = request.append_header((POSITION, value));
            }
            position_of(&request.to_http_request())
        };
        assert_eq!(read(&[]), Ok(None));
        let position = "00000000016b3748";
        assert_eq!(read(&[position]), Ok(Some(position.parse().unwrap())));
        for bad in [
            &[""] as &[&str],
            &["16B3748"],
            &["0/16B3748"],
            &["caf\u{e9}"],
            &[position, position],
        ] {
            let refused = read(bad).unwrap_err();
            let message = String::from_utf8(refused.body("", None)).unwrap();
            assert!(
                message.contains("\"param\":\"Lessor-Position\""),
                "{message}"
            );
        }
    }
}
