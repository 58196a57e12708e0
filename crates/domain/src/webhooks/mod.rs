//! Who is told of events by a request to a URL of theirs, and what became of each request.
//!
//! An [endpoint](WebhookEndpoint) says where and of what. A [delivery](Delivery) is one event on its
//! way to one endpoint: a state machine that is told of attempts and says what is to become of it.
//! How an endpoint [fares](EndpointHealth) as a whole is kept beside both, so that one that is dead
//! is tried now and then instead of always.

mod delivery;
mod endpoint;
mod health;

pub use delivery::{
    AttemptResult, Delivery, DeliveryStatus, LastAttempt, MAX_ATTEMPTS, MAX_RESPONSE_BODY,
    MAX_RETRY_AFTER, NewDelivery, Occasion, Verdict, delays,
};
pub use endpoint::{
    DisabledReason, FormerSecret, Listener, MAX_ENDPOINTS, MAX_TYPES, WebhookEndpoint,
    WebhookEndpointStatus,
};
pub use health::{EndpointHealth, HOPELESS_AFTER, LONGEST_REST, RUN_ENDS_AFTER, TRIED_IN_VAIN};
