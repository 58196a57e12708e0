//! Audit events as answers have them.

use std::collections::BTreeMap;

use lessor_domain::audit::{AuditActor, AuditEvent};
use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::{AuditAction, AuditActorKind, AuditEventId, DateTimeText};

/// Something that was done: by whom, from where, to what.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditEvent)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditEventRecord {
    /// The event, `aud_…`.
    id: AuditEventId,
    /// When it was done.
    at: DateTimeText,
    /// Who did it.
    actor: AuditActorRecord,
    /// The `Request-Id` of the request that it was done by.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// The IP address that the request came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// What was done.
    action: AuditAction,
    /// What it was done to, by its id: `prod_…`, `key_…`, the number of a pickup location.
    subject: String,
    /// The members that changed, as they were before, each as text; none of what is new.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    before: BTreeMap<String, String>,
    /// The members that changed, as they were afterwards, each as text; none of what is gone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    after: BTreeMap<String, String>,
}

/// Who did something.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditActor)]
#[serde(rename_all = "camelCase")]
struct AuditActorRecord {
    /// What kind of actor it is.
    r#type: AuditActorKind,
    /// Which one: `key_…` of an API key, `cli:` and the user of the system at the command line, `usr_…` of
    /// a customer, the name of a provider, `lessor` for the service itself.
    id: String,
    /// The key's name for people, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl From<&AuditEvent> for AuditEventRecord {
    fn from(event: &AuditEvent) -> Self {
        let origin = &event.origin;
        Self {
            id: event.id.into(),
            at: event.at.into(),
            actor: (&origin.actor).into(),
            request_id: origin.request_id.clone(),
            address: origin.address.map(|address| address.to_string()),
            action: event.action.into(),
            subject: event.subject.as_str().to_owned(),
            before: event.change.before.entries().clone(),
            after: event.change.after.entries().clone(),
        }
    }
}

impl From<&AuditActor> for AuditActorRecord {
    fn from(actor: &AuditActor) -> Self {
        Self {
            r#type: actor.kind().into(),
            id: actor.id(),
            name: actor.name().map(ToString::to_string),
        }
    }
}
