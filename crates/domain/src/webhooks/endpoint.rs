//! Where an organization is told of events.

use chrono::TimeDelta;

use crate::access::Mode;
use crate::events::{EventPattern, EventType};
use crate::ids::{OrganizationId, WebhookEndpointPubId};
use crate::names::named_enum;
use crate::ports::Scope;
use crate::secret::Secret;
use crate::text::{Line, Url};
use crate::time::Timestamp;

/// The most endpoints that an organization has in a mode, disabled ones included.
pub const MAX_ENDPOINTS: usize = 16;
/// The most patterns of types that an endpoint has.
pub const MAX_TYPES: usize = 100;

named_enum! {
    /// Whether an endpoint is told of what happens.
    pub enum WebhookEndpointStatus {
        Enabled = "enabled",
        Disabled = "disabled",
    }
}

named_enum! {
    /// Why Lessor disabled an endpoint by itself.
    pub enum DisabledReason {
        /// It answered 410: whoever was there is gone for good.
        Gone = "gone",
        /// Every attempt of five days failed.
        Failing = "failing",
    }
}

/// A secret that another took the place of, and that messages are signed with for a while still.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerSecret {
    pub secret: Secret,
    /// From when on nothing is signed with it.
    pub until: Timestamp,
}

/// A URL of an organization that is told of what happens in one mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookEndpoint {
    pub id: WebhookEndpointPubId,
    pub organization_id: OrganizationId,
    /// Of which feed.
    pub mode: Mode,
    pub url: Url,
    /// Of what it is told: 1 to [`MAX_TYPES`] patterns, each once.
    pub types: Vec<EventPattern>,
    /// What people call it.
    pub description: Option<Line>,
    pub status: WebhookEndpointStatus,
    /// Why it is disabled, where its organization did not do it.
    pub disabled_reason: Option<DisabledReason>,
    /// What messages are signed with, in the form of Standard Webhooks (`whsec_…`).
    pub secret: Secret,
    /// What they are signed with as well, until the receiver knows the new one.
    pub former_secret: Option<FormerSecret>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Counts the writes.
    pub version: i64,
}

/// An endpoint that is enabled, and of what it is told: without its secrets, which nobody needs to know who
/// is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    pub endpoint_id: WebhookEndpointPubId,
    pub types: Vec<EventPattern>,
}

impl Listener {
    /// Whether it is told of the type.
    #[must_use]
    pub fn hears(&self, event_type: EventType) -> bool {
        self.types.iter().any(|pattern| pattern.means(event_type))
    }
}

impl WebhookEndpoint {
    /// Whose feed it is told of.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        Scope {
            organization_id: self.organization_id,
            mode: self.mode,
        }
    }

    /// Whether it is told of anything now.
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        matches!(self.status, WebhookEndpointStatus::Enabled)
    }

    /// What a message is signed with at this time, the newest first.
    pub fn secrets_at(&self, now: Timestamp) -> impl Iterator<Item = &Secret> {
        let former = self.former_at(now).map(|former| &former.secret);
        std::iter::once(&self.secret).chain(former)
    }

    /// The secret from before, while it still signs.
    #[must_use]
    pub fn former_at(&self, now: Timestamp) -> Option<&FormerSecret> {
        self.former_secret
            .as_ref()
            .filter(|former| former.until > now)
    }

    /// Gives it another secret. The one that it has signs beside it for so long; one from before that is
    /// forgotten, since a message has two signatures at the most.
    pub fn roll(&mut self, secret: Secret, overlap: TimeDelta, now: Timestamp) {
        let before = std::mem::replace(&mut self.secret, secret);
        let until = now.checked_add_signed(overlap).unwrap_or(now);
        self.former_secret = (until > now).then_some(FormerSecret {
            secret: before,
            until,
        });
        self.updated_at = now;
    }

    /// Disables it because of how it answers. Tells whether it was enabled.
    pub fn give_up(&mut self, reason: DisabledReason, now: Timestamp) -> bool {
        if !self.is_enabled() {
            return false;
        }
        self.status = WebhookEndpointStatus::Disabled;
        self.disabled_reason = Some(reason);
        self.updated_at = now;
        true
    }

    /// Sets what its organization says of it, which takes the place of why Lessor disabled it.
    pub fn set_status(&mut self, status: WebhookEndpointStatus) {
        if self.status != status {
            self.status = status;
            self.disabled_reason = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixtures;

    fn endpoint() -> WebhookEndpoint {
        let make = Fixtures::default();
        let organization = make.organization().build();
        make.webhook_endpoint(&organization)
    }

    fn secrets(endpoint: &WebhookEndpoint, now: Timestamp) -> Vec<&str> {
        endpoint.secrets_at(now).map(Secret::expose).collect()
    }

    #[test]
    fn two_secrets_sign_while_they_overlap() {
        let mut endpoint = endpoint();
        let now = endpoint.created_at;
        let first = endpoint.secret.expose().to_owned();
        endpoint.roll(Secret::new("b".to_owned()), TimeDelta::hours(24), now);
        assert_eq!(secrets(&endpoint, now), ["b", first.as_str()]);
        let end = now + TimeDelta::hours(24);
        let before_end = end - TimeDelta::milliseconds(1);
        assert_eq!(secrets(&endpoint, before_end), ["b", first.as_str()]);
        assert_eq!(secrets(&endpoint, end), ["b"]);
        endpoint.roll(Secret::new("c".to_owned()), TimeDelta::hours(1), now);
        assert_eq!(secrets(&endpoint, now), ["c", "b"], "two at the most");
        endpoint.roll(Secret::new("d".to_owned()), TimeDelta::zero(), now);
        assert_eq!(secrets(&endpoint, now), ["d"], "the old one ends at once");
        assert_eq!(endpoint.former_secret, None);
    }

    #[test]
    fn what_lessor_disabled_its_organization_enables() {
        let mut endpoint = endpoint();
        let now = endpoint.created_at + TimeDelta::hours(1);
        assert!(endpoint.give_up(DisabledReason::Gone, now));
        assert_eq!(endpoint.disabled_reason, Some(DisabledReason::Gone));
        assert_eq!(endpoint.updated_at, now);
        assert!(
            !endpoint.give_up(DisabledReason::Failing, now),
            "once is enough"
        );
        endpoint.set_status(WebhookEndpointStatus::Disabled);
        assert_eq!(endpoint.disabled_reason, Some(DisabledReason::Gone));
        endpoint.set_status(WebhookEndpointStatus::Enabled);
        assert!(endpoint.is_enabled());
        assert_eq!(endpoint.disabled_reason, None);
    }
}
