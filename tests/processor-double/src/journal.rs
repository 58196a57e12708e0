//! What was asked for.

use serde::Serialize;
use serde_json::Value;

/// A request, as it came.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// The processor's id of the request.
    pub id: String,
    /// Such as `POST`.
    pub method: String,
    /// Such as `/v1/payment_intents/pi_1/capture`.
    pub path: String,
    /// The operation's path with `*` for ids; none when there is no such operation.
    pub operation: Option<String>,
    /// The parameters, typed; as text when they are not what the operation takes.
    pub params: Value,
    /// The body as it came, or the query.
    pub raw: String,
    /// The header `Idempotency-Key`.
    pub idempotency_key: Option<String>,
    /// The header `Stripe-Version`.
    pub api_version: Option<String>,
    /// The header `User-Agent`.
    pub user_agent: Option<String>,
    /// The header `traceparent`, of which the processor takes no notice.
    pub traceparent: Option<String>,
    /// Whether it came with a key for real money.
    pub live: bool,
    /// The account that the key names; empty of the one whose keys name none.
    pub account: String,
    /// When, Unix seconds of the double's clock.
    pub at: i64,
    /// Which connection it came on.
    pub connection: u64,
    /// What went wrong with it, because a test wanted it to.
    pub fault: Option<String>,
    /// The status that it was, or would have been, answered with.
    pub status: Option<u16>,
    /// Whether the answer was a stored one.
    pub replayed: bool,
}
