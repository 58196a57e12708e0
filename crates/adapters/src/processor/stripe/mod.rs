//! Stripe's API, as far as Lessor needs it.
//!
//! Thin and our own: `client` makes requests, `wire` names what is read of the
//! answers, `once` is how work is done once, and one file for each kind of object
//! says what Lessor asks for. `port` joins them to the domain's ports.

mod amount;
mod catalog;
mod client;
mod customers;
mod deposits;
mod error;
mod events;
mod form;
mod identity;
mod ids;
mod once;
mod payment_methods;
mod port;
mod refunds;
mod retry;
mod subscriptions;
mod wire;

pub use client::{API_VERSION, ApiSecret, DEFAULT_URL, Settings, SetupError, Timeouts};
pub use events::{EventError, EventHead, EventReader, parse_event, parse_event_head};
pub use port::HttpProcessor;
pub use retry::{Pacing, RetryPolicy, SystemPacing};

/// The header that carries the signature of a message.
pub const SIGNATURE_HEADER: &str = "Stripe-Signature";
