//! The store of the audit.

use async_trait::async_trait;

use super::{Page, StoreError};
use crate::audit::{AuditEvent, AuditSubject, AuditViewer};
use crate::ids::{AuditEventPubId, OrganizationId};

/// Which events a list shows; what is empty filters nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct AuditFilter {
    /// Of what was done to this.
    pub subject: Option<AuditSubject>,
    /// Of what the actor of this [id](crate::audit::AuditActor::id) did.
    pub actor: Option<String>,
}

/// What was done in organizations, and by whom. Nothing of it is changed afterwards, and nothing is
/// deleted.
///
/// What is [personal](AuditEvent::customer) in an event is kept sealed with a key that the customer's
/// erasure takes away. From then on the event is read
/// [without it](AuditEvent::without_personal_data), which is no error, and what is appended about the
/// customer is kept without it from the beginning.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait AuditStore: Send {
    /// Keeps the events.
    ///
    /// # Errors
    /// [`StoreError`], and nothing is kept: of an id that an event has already, and of a customer whom
    /// the organization does not have.
    async fn append(&mut self, events: &[AuditEvent]) -> Result<(), StoreError>;
    /// The organization's event of this id.
    async fn get(
        &mut self,
        organization: OrganizationId,
        id: AuditEventPubId,
    ) -> Result<Option<AuditEvent>, StoreError>;
    /// A page of the organization's events that the viewer sees and the filter shows, newest first: by
    /// id, which sorts by the time it was made.
    async fn list(
        &mut self,
        organization: OrganizationId,
        viewer: AuditViewer,
        filter: &AuditFilter,
        page: Page,
    ) -> Result<Vec<AuditEvent>, StoreError>;
    /// How many events the viewer sees and the filter shows, counted up to `most`.
    async fn count(
        &mut self,
        organization: OrganizationId,
        viewer: AuditViewer,
        filter: &AuditFilter,
        most: u64,
    ) -> Result<u64, StoreError>;
}
