//! Events as answers have them.

use lessor_domain::events::{EventSubject, NumberedEvent};
use lessor_domain::ids::OrganizationPubId;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::wire::{
    DateTimeText, Environment, EventId, EventSubjectType, EventType, OrganizationId,
};

/// Something that happened to a record.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventRecord {
    /// The event, `evt_…`.
    id: EventId,
    /// What happened.
    r#type: EventType,
    /// When it happened.
    created_at: DateTimeText,
    /// Live or sandbox. What both modes share has an event in each.
    mode: Environment,
    /// Whose record it is.
    organization_id: OrganizationId,
    /// Its place in the feed of the organization and mode: 1, 2, 3 …, without a gap.
    #[schema(minimum = 1)]
    sequence: u64,
    /// The record.
    subject: EventSubjectRecord,
    /// What it is like.
    data: EventData,
    /// The `Request-Id` of the request that it happened by; absent for what came of one later.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
}

/// The record that an event is about.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EventSubject)]
#[serde(rename_all = "camelCase")]
struct EventSubjectRecord {
    /// What kind of record it is. Of `payment.*` it is the checkout.
    r#type: EventSubjectType,
    /// Its public id: `prod_…`, `pvar_…`, `usr_…`, `term_…`, `chk_…`.
    id: String,
}

/// What a record is like after an event, and what it was like before.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct EventData {
    /// The record as its GET answered it then; of one that is gone, as it was last. `checkoutUrl` has no
    /// token. Of a customer who was erased the id alone is left.
    #[schema(value_type = std::collections::BTreeMap<String, serde_json::Value>)]
    object: Box<RawValue>,
    /// The old values of the members that changed; those that had none are left out. Absent for what is
    /// new or gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::BTreeMap<String, serde_json::Value>>)]
    previous: Option<Box<RawValue>>,
}

/// What is left of who was erased.
fn id_alone(subject: EventSubject) -> String {
    format!(r#"{{"id":"{subject}"}}"#)
}

impl EventRecord {
    /// The event, of the organization.
    ///
    /// # Errors
    /// What is kept of it is no JSON.
    pub(crate) fn new(
        numbered: &NumberedEvent,
        organization: OrganizationPubId,
    ) -> serde_json::Result<Self> {
        let event = &numbered.event;
        let (object, previous) = match &event.contents {
            Some(contents) => (contents.object.clone(), contents.previous.clone()),
            None => (id_alone(event.subject), None),
        };
        Ok(Self {
            id: event.id.into(),
            r#type: event.event_type.into(),
            created_at: event.created_at.into(),
            mode: event.mode.into(),
            organization_id: organization.into(),
            sequence: numbered.sequence,
            subject: EventSubjectRecord {
                r#type: event.subject.kind().into(),
                id: event.subject.to_string(),
            },
            data: EventData {
                object: RawValue::from_string(object)?,
                previous: previous.map(RawValue::from_string).transpose()?,
            },
            request_id: event.request_id.clone(),
        })
    }
}
