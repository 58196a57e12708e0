//! Counting what the payment processor is asked.

use std::sync::Arc;

use async_trait::async_trait;
use lessor_adapters::processor::{RawResponse, Sent, Transport};
use lessor_domain::cause::Cause;

use crate::telemetry::PROCESSOR_REQUESTS;

/// A way to the processor that counts what goes by it, by what was asked for and what came of it. A request that
/// is made again is counted again.
pub(super) struct Counting(pub(super) Arc<dyn Transport>);

#[async_trait]
impl Transport for Counting {
    async fn send(&self, request: Sent) -> Result<RawResponse, Cause> {
        let operation = operation(request.method, &request.target);
        let answer = self.0.send(request).await;
        let outcome = outcome(answer.as_ref().ok().map(|answer| answer.status));
        metrics::counter!(
            PROCESSOR_REQUESTS, "operation" => operation, "outcome" => outcome
        )
        .increment(1);
        answer
    }
}

/// What is asked for: the method and the kind of thing, without its id, so that there are few of them.
pub(super) fn operation(method: &str, target: &str) -> String {
    let path = target.split('?').next().unwrap_or_default();
    let mut parts = path.split('/').skip_while(|part| *part != "v1").skip(1);
    let is_kind = |part: &&str| {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        !part.is_empty() && part.bytes().all(is_word)
    };
    let kind = parts.next().filter(is_kind).unwrap_or("other");
    format!("{method} {kind}")
}

/// What came of a request that was answered with the status, or not at all.
const fn outcome(status: Option<u16>) -> &'static str {
    match status {
        Some(200..=299) => "done",
        Some(429) => "limited",
        Some(400..=499) => "refused",
        Some(_) => "failed",
        None => "unanswered",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_of_a_kind_are_one() {
        for (target, kind) in [
            ("/v1/payment_intents", "payment_intents"),
            ("/v1/payment_intents/pi_1/capture", "payment_intents"),
            ("/v1/customers?email=v1/a@example.com", "customers"),
            ("/double/v1/customers/search?query=x", "customers"),
            ("/v1/", "other"),
            ("/v1/pi_1", "other"),
            ("/customers", "other"),
        ] {
            assert_eq!(operation("GET", target), format!("GET {kind}"));
        }
    }

    #[test]
    fn every_answer_has_an_outcome() {
        for (status, expected) in [
            (Some(200), "done"),
            (Some(402), "refused"),
            (Some(409), "refused"),
            (Some(429), "limited"),
            (Some(500), "failed"),
            (Some(302), "failed"),
            (None, "unanswered"),
        ] {
            assert_eq!(outcome(status), expected, "{status:?}");
        }
    }
}
