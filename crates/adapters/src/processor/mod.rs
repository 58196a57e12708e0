//! The payment processor, which is also the identity verifier.
//!
//! [`HttpProcessor`] speaks the processor's HTTP API for both modes; the brand
//! whose API it speaks shows inside its module and nowhere else. [`signature`] and
//! [`parse_event`] read the messages that the processor sends by itself;
//! [`standard_webhooks`] those of carriers.

mod accounts;
pub mod signature;
pub mod standard_webhooks;
mod stripe;

pub use accounts::{ByAccount, OwnAccounts};
pub use stripe::{
    API_VERSION, ApiSecret, DEFAULT_URL, EventError, EventHead, EventReader, HttpProcessor, Pacing,
    ProcessorSettings, RawResponse, RetryPolicy, SIGNATURE_HEADER, Sent, SetupError, SystemPacing,
    Timeouts, Transport, over_http, parse_event, parse_event_head,
};
