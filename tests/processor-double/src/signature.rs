//! Signatures of messages: `t=<unix seconds>,v1=<hex>` with HMAC-SHA256 over
//! `<t>.<body>`. Written apart from the code that it tests.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// The header that carries it.
pub const HEADER: &str = "Stripe-Signature";

/// The header of a body at a time, with one `v1` for each secret, and a `v0` that
/// nobody is to believe.
#[must_use]
pub fn sign(body: &[u8], secrets: &[&str], at: i64) -> String {
    let mut header = format!("t={at}");
    for secret in secrets {
        header.push_str(",v1=");
        header.push_str(&digest(body, secret, at));
    }
    header.push_str(",v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39");
    header
}

fn digest(body: &[u8], secret: &str, at: i64) -> String {
    match Hmac::<Sha256>::new_from_slice(secret.as_bytes()) {
        Ok(mut mac) => {
            mac.update(at.to_string().as_bytes());
            mac.update(b".");
            mac.update(body);
            hex::encode(mac.finalize().into_bytes())
        }
        // HMAC takes keys of every length.
        Err(_) => String::new(),
    }
}
