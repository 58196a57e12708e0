//! Signatures of the payment processor's messages.

use lessor_adapters::processor::signature::{WebhookSecret, check_form, sign, verify};
use lessor_domain::time::Timestamp;

/// The message that the headers of the corpus are of.
const BODY: &[u8] = b"{\"id\":\"evt_1\"}";
/// When it is judged, in seconds.
const NOW: i64 = 1_700_000_000;

/// Reads a header. One that is believed has the form and the only digest that there is for the message; and what was
/// read, as a message of its own, is believed when it is signed and not when it is changed.
pub fn run(data: &[u8]) -> bool {
    let (Ok(secret), Some(now)) = (
        WebhookSecret::new("whsec_of_the_fuzz_targets"),
        Timestamp::from_timestamp(NOW, 0),
    ) else {
        return false;
    };
    let secrets = [secret];
    let header = sign(data, &secrets, now);
    assert_eq!(verify(data, &header, &secrets, now), Ok(()));
    let changed = [data, b"x".as_slice()].concat();
    assert!(verify(&changed, &header, &secrets, now).is_err());

    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let is_believed = verify(BODY, text, &secrets, now).is_ok();
    if is_believed {
        assert_eq!(check_form(text), Ok(()), "{text}");
        let good = sign(BODY, &secrets, now);
        let (time, digest) = good.split_once(",v1=").unwrap_or_default();
        assert!(text.contains(time), "{text}");
        assert!(text.to_ascii_lowercase().contains(digest), "{text}");
    }
    is_believed
}
