//! Forms of pages.

use std::sync::LazyLock;

use actix_web::FromRequest as _;
use actix_web::test::TestRequest;
use lessor::request::FormBody;
use tokio::runtime::{Builder, Runtime};

/// The clock that a body is waited for by.
static RUNTIME: LazyLock<Option<Runtime>> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().ok());

fn read(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let request = TestRequest::default()
        .insert_header(("content-type", "application/x-www-form-urlencoded"))
        .set_payload(bytes.to_vec());
    let (request, mut payload) = request.to_http_parts();
    let reading = FormBody::from_request(&request, &mut payload);
    let form = RUNTIME.as_ref()?.block_on(reading);
    form.ok().map(|form| form.0)
}

/// Reads a form. The fields that it has are read again from a form that others write of them.
pub fn run(data: &[u8]) -> bool {
    let Some(fields) = read(data) else {
        return false;
    };
    let written = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(&fields)
        .finish();
    assert_eq!(read(written.as_bytes()), Some(fields), "{written}");
    true
}
