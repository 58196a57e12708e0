//! Tokens of customers' pages.

use std::sync::LazyLock;

use lessor::auth::links::CheckoutPageLinks;
use lessor::http::public_url::PublicUrl;
use lessor_domain::ports::PageToken;

/// Under this key one token of the corpus is good.
static LINKS: LazyLock<Option<CheckoutPageLinks>> = LazyLock::new(|| {
    let keys = "the key that the fuzz targets have".parse().ok()?;
    let url = PublicUrl::new("https://lease.example");
    Some(CheckoutPageLinks::new(keys, url))
});

/// Reads a token. Its text begins with the nonce that it names, and no proof holds for another nonce.
pub fn run(data: &[u8]) -> bool {
    let (Ok(text), Some(links)) = (std::str::from_utf8(data), LINKS.as_ref()) else {
        return false;
    };
    let Some(token) = links.read(text) else {
        return false;
    };
    let (PageToken::Proven { nonce } | PageToken::Unproven { nonce, .. }) = token;
    let named: String = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(text.strip_prefix(&named).map(str::len), Some(40), "{text}");
    if matches!(token, PageToken::Proven { .. }) {
        let first = if text.starts_with('0') { "1" } else { "0" };
        let other = format!("{first}{}", text.get(1..).unwrap_or_default());
        let other = links.read(&other);
        assert!(matches!(other, Some(PageToken::Unproven { .. })), "{text}");
    }
    true
}
