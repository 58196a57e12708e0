//! Texts that people give of themselves: addresses of mail, names, and URLs.

use lessor_domain::text::{Description, Email, Name, RedirectUrl, Sku, Url};

use crate::reads_back;

/// Reads an e-mail address and its kin. Each reads the same from its own text and holds no control characters, and an
/// address has a part on either side of its sign.
pub fn run(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    reads_back::<Name>(text);
    reads_back::<Description>(text);
    reads_back::<Sku>(text);
    reads_back::<Url>(text);
    reads_back::<RedirectUrl>(text);
    let Ok(email) = Email::parse(text) else {
        return false;
    };
    let domain = email.as_str().strip_prefix(email.local_part());
    let domain = domain.and_then(|rest| rest.strip_prefix('@'));
    assert!(domain.is_some_and(|domain| domain.contains('.')), "{email}");
    assert!(!email.local_part().is_empty(), "{email}");
    assert!(!email.as_str().contains(char::is_control), "{email}");
    assert!(!email.folded().is_empty(), "{email}");
    reads_back::<Email>(text)
}
