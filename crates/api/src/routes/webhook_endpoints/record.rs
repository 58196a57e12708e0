//! Webhook endpoints and deliveries as answers have them.

use lessor_domain::ids::{EventPubId, OrganizationPubId};
use lessor_domain::secret::Secret;
use lessor_domain::time::Timestamp;
use lessor_domain::webhooks::{Delivery, Occasion, WebhookEndpoint};
use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::{
    DateTimeText, DeliveryId, DeliveryStatus, DisabledReason, Environment, EventId, OrganizationId,
    WebhookEndpointId, WebhookEndpointStatus,
};

/// Where an organization is told of events.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookEndpoint)]
pub(crate) struct WebhookEndpointRecord {
    /// The endpoint, `whe_…`.
    id: WebhookEndpointId,
    /// Where it is.
    url: String,
    /// Of what it is told: types, `checkout.*` for all of checkouts, `*` for all.
    types: Vec<String>,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Whether it is told of anything.
    status: WebhookEndpointStatus,
    /// Why Lessor disabled it by itself; absent where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_reason: Option<DisabledReason>,
    /// Of which mode's events it is told.
    mode: Environment,
    /// Until when messages bear a signature by the secret from before too; absent unless it was replaced with
    /// an overlap.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_secret_until: Option<DateTimeText>,
    /// When it was made.
    created_at: DateTimeText,
    /// When it was last changed.
    updated_at: DateTimeText,
    /// What messages are signed with, `whsec_…`. The answer that made it has it, and no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl From<&WebhookEndpoint> for WebhookEndpointRecord {
    fn from(endpoint: &WebhookEndpoint) -> Self {
        let former = endpoint.former_secret.as_ref();
        Self {
            id: endpoint.id.into(),
            url: endpoint.url.to_string(),
            types: endpoint.types.iter().map(ToString::to_string).collect(),
            description: endpoint.description.as_ref().map(ToString::to_string),
            status: endpoint.status.into(),
            disabled_reason: endpoint.disabled_reason.map(Into::into),
            mode: endpoint.mode.into(),
            old_secret_until: former.map(|former| former.until.into()),
            created_at: endpoint.created_at.into(),
            updated_at: endpoint.updated_at.into(),
            secret: None,
        }
    }
}

impl WebhookEndpointRecord {
    /// The record of an endpoint whose secret was just made.
    pub(super) fn with_secret(endpoint: &WebhookEndpoint) -> Self {
        Self {
            secret: Some(Secret::expose(&endpoint.secret).to_owned()),
            ..Self::from(endpoint)
        }
    }

    /// What is kept of it: whoever asks again is not shown the secret.
    pub(super) fn without_secret(&self) -> Self {
        Self {
            secret: None,
            ..self.clone()
        }
    }
}

/// An event on its way to a webhook endpoint.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Delivery)]
pub(crate) struct DeliveryRecord {
    /// The delivery, `del_…`.
    id: DeliveryId,
    /// The event, `evt_…`: what `webhook-id` says. That of a test is in no feed.
    event_id: EventId,
    /// The event's type, or `webhook_endpoint.test`.
    #[schema(example = "checkout.created")]
    r#type: String,
    /// What became of it.
    status: DeliveryStatus,
    /// How many attempts were made: 11 at most.
    #[schema(maximum = 11)]
    attempts: u32,
    /// When it is tried next; absent once it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<DateTimeText>,
    /// The HTTP status that the last attempt was answered with; absent without an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 100, maximum = 999)]
    response_status: Option<u16>,
    /// The first KiB of that answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_body: Option<String>,
    /// How long the last attempt took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    /// Why the last attempt failed, or why there are no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// When it was asked for.
    created_at: DateTimeText,
    /// When something last became of it.
    updated_at: DateTimeText,
}

impl From<&Delivery> for DeliveryRecord {
    fn from(delivery: &Delivery) -> Self {
        let last = &delivery.last;
        Self {
            id: delivery.new.id.into(),
            event_id: delivery.new.event_id.into(),
            r#type: delivery.new.occasion.to_string(),
            status: delivery.status.into(),
            attempts: delivery.attempts,
            next_attempt_at: delivery.next_attempt_at.map(Into::into),
            response_status: last.response_status,
            response_body: last.response_body.clone(),
            duration_ms: last.duration_ms,
            error: last.error.clone(),
            created_at: delivery.new.created_at.into(),
            updated_at: delivery.updated_at.into(),
        }
    }
}

/// How many deliveries were asked for.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = QueuedDeliveries)]
pub(crate) struct Queued {
    /// How many deliveries that are.
    pub(crate) queued: u64,
}

/// What an endpoint is sent to be tried out: as an event, but in no feed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TestMessage {
    id: EventId,
    r#type: String,
    created_at: DateTimeText,
    mode: Environment,
    organization_id: OrganizationId,
    /// No event has it.
    sequence: u64,
    subject: TestSubject,
    data: TestData,
}

#[derive(Debug, Serialize)]
struct TestSubject {
    r#type: &'static str,
    id: String,
}

#[derive(Debug, Serialize)]
struct TestData {
    object: WebhookEndpointRecord,
}

impl TestMessage {
    pub(crate) fn new(
        id: EventPubId,
        at: Timestamp,
        endpoint: &WebhookEndpoint,
        organization: OrganizationPubId,
    ) -> Self {
        Self {
            id: id.into(),
            r#type: Occasion::Test.to_string(),
            created_at: at.into(),
            mode: endpoint.mode.into(),
            organization_id: organization.into(),
            sequence: 0,
            subject: TestSubject {
                r#type: "webhook_endpoint",
                id: endpoint.id.to_string(),
            },
            data: TestData {
                object: endpoint.into(),
            },
        }
    }
}
