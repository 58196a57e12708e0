//! Stripe's API, as far as Lessor needs it.
//!
//! Thin and our own: `settings` say where, `client` makes requests, `transport` carries them, `wire` and its like name
//! what is read of the answers, `lists` turns pages, `once` is how work is done once, and one file for
//! each kind of object says what Lessor asks for. `port` joins them to the domain's ports.

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
mod invoices;
mod lists;
mod once;
mod payment_methods;
mod payments;
mod port;
mod refunds;
mod retry;
mod sessions;
mod settings;
mod subscriptions;
mod transport;
mod walks;
mod wire;
mod wire_billing;
mod wire_payments;
mod wire_sessions;

pub use events::{EventError, EventHead, EventReader, parse_event, parse_event_head};
pub use port::HttpProcessor;
pub use retry::{Pacing, RetryPolicy, SystemPacing};
pub use settings::{API_VERSION, ApiSecret, DEFAULT_URL, ProcessorSettings, SetupError, Timeouts};
pub use transport::{RawResponse, Sent, Transport, over_http};

/// The header that carries the signature of a message.
pub const SIGNATURE_HEADER: &str = "Stripe-Signature";
