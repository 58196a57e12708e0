//! Signatures of messages: made by the double, which does not share our code.

use chrono::TimeDelta;
use lessor_adapters::processor::signature::{
    SignatureError, WebhookSecret, check_form, sign, verify,
};
use lessor_domain::time::Timestamp;
use lessor_processor_double::sign as their_sign;

use crate::support::{NOON, time};

const BODY: &[u8] = br#"{"id":"evt_1","type":"payment_intent.succeeded","created":1769860800,"livemode":false,"data":{"object":{"id":"pi_1"}}}"#;

fn secret(text: &str) -> WebhookSecret {
    WebhookSecret::new(text).unwrap()
}

fn theirs(secrets: &[&str]) -> String {
    their_sign(BODY, secrets, time(NOON).timestamp())
}

fn judge(header: &str, secrets: &[&str], now: Timestamp) -> Result<(), SignatureError> {
    let secrets: Vec<_> = secrets.iter().map(|text| secret(text)).collect();
    verify(BODY, header, &secrets, now)
}

#[test]
fn during_a_rotation_either_secret_will_do() {
    let now = time(NOON);
    for (signed, known, good) in [
        (vec!["old"], vec!["old"], true),
        (vec!["old", "new"], vec!["old"], true),
        (vec!["old", "new"], vec!["new"], true),
        (vec!["new"], vec!["old", "new"], true),
        (vec!["old"], vec!["old", "new"], true),
        (vec!["other", "new"], vec!["old"], false),
        (vec!["old"], vec![], false),
        (vec![], vec!["old"], false),
    ] {
        let answer = judge(&theirs(&signed), &known, now);
        assert_eq!(answer.is_ok(), good, "{signed:?} {known:?} {answer:?}");
    }
    assert_eq!(WebhookSecret::new(" "), Err(SignatureError::BlankSecret));
}

#[test]
fn ours_is_theirs() {
    let ours = sign(BODY, &[secret("old"), secret("new")], time(NOON));
    // But for the scheme that nobody is to believe.
    let theirs = theirs(&["old", "new"]);
    assert!(theirs.starts_with(&format!("{ours},v0=")), "{theirs}");
}

#[test]
fn five_minutes_either_way() {
    let header = theirs(&["old"]);
    for (seconds, good) in [
        (0, true),
        (300, true),
        (-300, true),
        (301, false),
        (-301, false),
    ] {
        let answer = judge(&header, &["old"], time(NOON) + TimeDelta::seconds(seconds));
        let expected = if good {
            Ok(())
        } else {
            Err(SignatureError::OutOfTime)
        };
        assert_eq!(answer, expected, "{seconds}");
    }
}

#[test]
fn headers_of_no_form_are_refused() {
    let good = theirs(&["old"]);
    let signature = good
        .split_once(",v1=")
        .unwrap()
        .1
        .split(',')
        .next()
        .unwrap();
    let at = time(NOON).timestamp();
    for header in [
        String::new(),
        "t".to_owned(),
        format!("t={at}"),
        format!("v1={signature}"),
        format!("t={at},v0={signature}"),
        format!("t={at},V1={signature}"),
        format!("t={at},v1={signature}x"),
        format!("t={at},v1="),
        format!("t=,v1={signature}"),
        format!("t=-{at},v1={signature}"),
        format!("t={at}.0,v1={signature}"),
        format!("t={at},t={at},v1={signature}"),
        format!("t= {at},v1={signature}"),
        format!("t=99999999999999999999,v1={signature}"),
        format!("t={at};v1={signature}"),
    ] {
        assert!(judge(&header, &["old"], time(NOON)).is_err(), "{header}");
    }
    // Most are known by their form, before there is a body.
    for (header, form) in [
        (good.clone(), Ok(())),
        (format!("t={at},v1={}", "0".repeat(64)), Ok(())),
        (String::new(), Err(SignatureError::Malformed)),
        (format!("v1={signature}"), Err(SignatureError::Malformed)),
        (format!("t={at}"), Err(SignatureError::Unsigned)),
        (format!("t={at},v1=00"), Err(SignatureError::Unsigned)),
    ] {
        assert_eq!(check_form(&header), form, "{header}");
    }
    // The case of the digits says nothing.
    let upper = format!("t={at},v1={}", signature.to_uppercase());
    assert_eq!(judge(&upper, &["old"], time(NOON)), Ok(()));
}

/// A small generator of numbers, always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

/// Changes a message in one place.
fn forged(numbers: &mut Numbers, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = numbers.below(bytes.len());
    match numbers.below(5) {
        0 => bytes[at] ^= 1 << numbers.below(7),
        1 => bytes.insert(at, b'0' + u8::try_from(numbers.below(10)).unwrap()),
        2 => {
            bytes.remove(at);
        }
        3 => bytes.truncate(at),
        _ => {
            let other = numbers.below(bytes.len());
            bytes.swap(at, other);
        }
    }
    bytes
}

#[test]
fn two_thousand_forged_messages_are_refused() {
    let secrets = [secret("whsec_old"), secret("whsec_new")];
    let now = time(NOON);
    let (header, known) = (theirs(&["whsec_old"]), secrets.as_slice());
    // The last item of the double's header is of a scheme that is not looked at.
    let header = header.split_once(",v0=").unwrap().0.to_owned();
    assert_eq!(verify(BODY, &header, known, now), Ok(()));
    let mut numbers = Numbers(0x5eed);
    let mut tried = 0;
    while tried < 1_000 {
        let body = forged(&mut numbers, BODY);
        if body == BODY {
            continue;
        }
        tried += 1;
        let answer = verify(&body, &header, known, now);
        assert!(answer.is_err(), "{}", String::from_utf8_lossy(&body));
    }
    while tried < 2_000 {
        let bytes = forged(&mut numbers, header.as_bytes());
        let Ok(other) = String::from_utf8(bytes) else {
            continue;
        };
        // Digits are digits in either case.
        if other.eq_ignore_ascii_case(&header) {
            continue;
        }
        tried += 1;
        assert!(verify(BODY, &other, known, now).is_err(), "{other}");
    }
}
