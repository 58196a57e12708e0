//! Signatures of Standard Webhooks, which carriers' and mail servers' messages have.

use lessor_adapters::processor::standard_webhooks::{
    Headers, SharedSecret, check_form, sign, verify,
};
use lessor_domain::time::Timestamp;

/// The message that the headers of the corpus are of.
const BODY: &[u8] = b"{\"id\":\"evt_1\"}";
/// When it is judged, in seconds.
const NOW: i64 = 1_700_000_000;

/// Reads the three headers, a line each: id, time, signatures. What is believed has the form and holds the only digest
/// that there is, and is believed for no other message and under no other id.
pub fn run(data: &[u8]) -> bool {
    let secret = "whsec_bGVzc29yLWZ1enotdGFyZ2V0cy1zZWNyZXQtMTIz".parse::<SharedSecret>();
    let (Ok(secret), Some(now)) = (secret, Timestamp::from_timestamp(NOW, 0)) else {
        return false;
    };
    let secrets = [secret];
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let headers = Headers {
        id: line(),
        timestamp: line(),
        signature: line(),
    };
    let is_believed = verify(BODY, headers, &secrets, now).is_ok();
    if is_believed {
        assert_eq!(check_form(headers), Ok(()), "{text}");
        let good = sign(BODY, headers.id, &secrets, now);
        assert!(
            headers.signature.contains(good.trim_end_matches('=')),
            "{text}"
        );
        assert!(verify(b"{}", headers, &secrets, now).is_err(), "{text}");
        let id = format!("{}x", headers.id);
        let other = Headers { id: &id, ..headers };
        assert!(verify(BODY, other, &secrets, now).is_err(), "{text}");
    }
    is_believed
}
