//! Texts that are the same for everybody: told by a tag, and sent compressed to clients that read that.

use std::io::Write as _;
use std::sync::OnceLock;

use actix_web::http::header::{
    AcceptEncoding, CACHE_CONTROL, CONTENT_ENCODING, ETAG, Encoding, Header as _, VARY,
};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use crate::http::error::ApiError;
use crate::routes::variants::names;

/// To be asked for again each time, and sent when it is another.
pub(crate) const ASK_AGAIN: &str = "no-cache";
/// What never changes under its address.
pub(super) const FOREVER: &str = "public, max-age=31536000, immutable";

/// One text, in each form in which it is sent. A form is made when it is first asked for.
#[derive(Debug)]
pub(crate) struct StaticText {
    content_type: &'static str,
    tag: String,
    plain: Bytes,
    gzip: OnceLock<Bytes>,
}

impl StaticText {
    /// A text of the content type.
    pub(crate) fn new(content_type: &'static str, text: impl Into<Bytes>) -> Self {
        let text = text.into();
        Self {
            content_type,
            tag: tag_of(&text),
            plain: text,
            gzip: OnceLock::new(),
        }
    }

    /// The text, or that it is still what the client knows.
    ///
    /// # Errors
    /// 500 where it cannot be compressed.
    pub(crate) fn answer(
        &self,
        request: &HttpRequest,
        caching: &'static str,
    ) -> Result<HttpResponse, ApiError> {
        let form = Form::of(request);
        // Two forms are two representations, and so have two tags.
        let etag = format!("\"{}{}\"", self.tag, form.suffix());
        let is_known = names(request.headers(), etag.as_bytes());
        let mut response = if is_known {
            HttpResponse::NotModified()
        } else {
            HttpResponse::Ok()
        };
        response
            .insert_header((CACHE_CONTROL, caching))
            .insert_header((VARY, "accept-encoding"))
            .insert_header((ETAG, etag));
        if is_known {
            return Ok(response.finish());
        }
        if let Some(encoding) = form.encoding() {
            response.insert_header((CONTENT_ENCODING, encoding));
        }
        let body = self.body(form)?;
        Ok(response.content_type(self.content_type).body(body))
    }

    fn body(&self, form: Form) -> Result<Bytes, ApiError> {
        match (form, self.gzip.get()) {
            (Form::Plain, _) => Ok(self.plain.clone()),
            (Form::Gzip, Some(made)) => Ok(made.clone()),
            (Form::Gzip, None) => {
                let made = compressed(&self.plain);
                let made = made.map_err(|error| ApiError::internal(error.to_string()))?;
                Ok(self.gzip.get_or_init(|| made.into()).clone())
            }
        }
    }
}

/// How a text goes over the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Gzip,
}

impl Form {
    /// The smallest that the request takes.
    fn of(request: &HttpRequest) -> Self {
        let Ok(accepted) = AcceptEncoding::parse(request) else {
            return Self::Plain;
        };
        let forms = [Encoding::gzip(), Encoding::identity()];
        match accepted.negotiate(forms.iter()) {
            Some(encoding) if encoding == Encoding::gzip() => Self::Gzip,
            _ => Self::Plain,
        }
    }

    const fn encoding(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip => Some("gzip"),
        }
    }

    const fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Gzip => "-gz",
        }
    }
}

/// What a text is told by.
fn tag_of(text: &[u8]) -> String {
    hex::encode(&Sha256::digest(text)[..16])
}

fn compressed(text: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use actix_web::http::header::ACCEPT_ENCODING;
    use actix_web::test::TestRequest;
    use flate2::read::GzDecoder;

    use super::*;

    fn form(accepted: &str) -> Form {
        let request = TestRequest::default().insert_header((ACCEPT_ENCODING, accepted));
        Form::of(&request.to_http_request())
    }

    #[test]
    fn the_smallest_form_that_is_read_is_sent() {
        for (accepted, expected) in [
            ("gzip, deflate, br, zstd", Form::Gzip),
            ("gzip;q=0.1", Form::Gzip),
            ("*", Form::Plain),
            ("identity", Form::Plain),
            ("deflate, br", Form::Plain),
            ("gzip;q=0", Form::Plain),
        ] {
            assert_eq!(form(accepted), expected, "{accepted}");
        }
        let silent = TestRequest::default().to_http_request();
        assert_eq!(Form::of(&silent), Form::Plain);
    }

    #[test]
    fn each_form_holds_the_text() {
        let text = "a lease ".repeat(1_000);
        let served = StaticText::new("text/plain", text.clone());
        let gzip = served.body(Form::Gzip).unwrap();
        assert!(gzip.len() < text.len() / 10);
        let mut unpacked = String::new();
        GzDecoder::new(&gzip[..])
            .read_to_string(&mut unpacked)
            .unwrap();
        assert_eq!(unpacked, text);
        assert_eq!(served.body(Form::Gzip).unwrap(), gzip);
        assert_eq!(served.body(Form::Plain).unwrap(), text);
    }
}
