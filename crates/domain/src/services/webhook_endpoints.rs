//! Where organizations are told of events.

use async_trait::async_trait;
use chrono::TimeDelta;

use super::audit::{self, Entry};
use super::checkouts::scope_of;
use super::slice::unknown_start;
use super::{Context, Error, Patch, Slice, UseCase, events};
use crate::access::Permission;
use crate::audit::{AuditAction, Origin};
use crate::events::EventPattern;
use crate::ids::{DeliveryPubId, EventPubId, WebhookEndpointPubId};
use crate::ports::{IdGenerator, Page, Start, UnitOfWork};
use crate::secret::Secret;
use crate::text::{Line, Url};
use crate::time::Timestamp;
use crate::webhooks::{
    Delivery, DisabledReason, MAX_ENDPOINTS, NewDelivery, Occasion, WebhookEndpoint,
    WebhookEndpointStatus,
};

/// The longest that two secrets sign at a time.
pub const LONGEST_OVERLAP: TimeDelta = TimeDelta::days(7);

/// What an endpoint is called where it is not there.
pub(super) const ENDPOINT: &str = "webhook endpoint";
/// Why what waited for an endpoint is not tried any more.
const DISABLED: &str = "the endpoint was disabled";

/// Patterns, each once, in the order in which they were given.
fn each_once(patterns: Vec<EventPattern>) -> Vec<EventPattern> {
    let mut kept: Vec<EventPattern> = Vec::with_capacity(patterns.len());
    for pattern in patterns {
        if !kept.contains(&pattern) {
            kept.push(pattern);
        }
    }
    kept
}

/// Makes an endpoint for the mode of the key. It is told of what happens from now on.
///
/// # Errors
/// [`Error::Forbidden`]; [`Error::Rule`] where there are [`MAX_ENDPOINTS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateWebhookEndpoint {
    /// Where it is; whether it may be asked its caller has looked at.
    pub url: Url,
    /// Of what it is told: 1 to [`MAX_TYPES`](crate::webhooks::MAX_TYPES).
    pub types: Vec<EventPattern>,
    /// What people call it.
    pub description: Option<Line>,
    /// What messages are signed with, in the form of Standard Webhooks: made for it, and known to nobody.
    pub secret: Secret,
}

#[async_trait]
impl UseCase for CreateWebhookEndpoint {
    type Output = WebhookEndpoint;

    fn permission(&self) -> Permission {
        Permission::WebhookWrite
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<WebhookEndpoint, Error> {
        ctx.access.require(self.permission())?;
        events::number_within(uow, ctx.ids, ctx.now, scope_of(ctx.access)).await?;
        let endpoint = WebhookEndpoint {
            id: WebhookEndpointPubId::from_uuid(ctx.ids.next()),
            organization_id: ctx.access.organization_id,
            mode: ctx.access.mode,
            url: self.url,
            types: each_once(self.types),
            description: self.description,
            status: WebhookEndpointStatus::Enabled,
            disabled_reason: None,
            secret: self.secret,
            former_secret: None,
            created_at: ctx.now,
            updated_at: ctx.now,
            version: 1,
        };
        if !uow.webhook_endpoints().insert(&endpoint).await? {
            return Err(Error::rule(format!(
                "the organization has {MAX_ENDPOINTS} webhook endpoints in {} mode, and no more are possible: \
                 delete one first",
                endpoint.mode
            )));
        }
        let made = Entry::created(AuditAction::WebhookEndpointCreated, &endpoint);
        audit::note(uow, ctx, made).await?;
        Ok(endpoint)
    }
}

/// The organization's endpoints of the mode of the key, newest first, and how many there are.
///
/// # Errors
/// [`Error::Forbidden`]; [`Error::Invalid`] of a page that begins after none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListWebhookEndpoints {
    /// Which part of the list.
    pub page: Page,
}

#[async_trait]
impl UseCase for ListWebhookEndpoints {
    type Output = Slice<WebhookEndpoint>;

    fn permission(&self) -> Permission {
        Permission::EventRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<Slice<WebhookEndpoint>, Error> {
        ctx.access.require(self.permission())?;
        // There are few: they are read as a whole.
        let endpoints = uow.webhook_endpoints().list(scope_of(ctx.access)).await?;
        let total = u64::try_from(endpoints.len()).unwrap_or(u64::MAX);
        let skipped = match self.page.start {
            Start::Offset(offset) => usize::try_from(offset).unwrap_or(usize::MAX),
            Start::After(id) => {
                let start = endpoints.iter().position(|it| it.id.as_uuid() == id);
                start.ok_or_else(unknown_start)?.saturating_add(1)
            }
        };
        let rest = endpoints.into_iter().skip(skipped).collect();
        Ok(Slice::cut(rest, self.page, Some(total)))
    }
}

/// The endpoint.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetWebhookEndpoint {
    /// Which one.
    pub id: WebhookEndpointPubId,
}

#[async_trait]
impl UseCase for GetWebhookEndpoint {
    type Output = WebhookEndpoint;

    fn permission(&self) -> Permission {
        Permission::EventRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<WebhookEndpoint, Error> {
        let scope = scope_of(ctx.access);
        let found = uow.webhook_endpoints().get(scope, self.id).await?;
        let found = found.ok_or(Error::not_found(ENDPOINT))?;
        ctx.access.require(self.permission())?;
        Ok(found)
    }
}

/// What is to change in an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebhookEndpointChanges {
    /// Where it is.
    pub url: Option<Url>,
    /// Of what it is told.
    pub types: Option<Vec<EventPattern>>,
    /// What people call it.
    pub description: Patch<Line>,
    /// Whether it is told of anything.
    pub status: Option<WebhookEndpointStatus>,
}

/// Whether the key's mode has the endpoint, for who may change it.
async fn require(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: WebhookEndpointPubId,
    permission: Permission,
) -> Result<(), Error> {
    let found = uow
        .webhook_endpoints()
        .get(scope_of(ctx.access), id)
        .await?;
    found.ok_or(Error::not_found(ENDPOINT))?;
    Ok(ctx.access.require(permission)?)
}

/// The endpoint of the key's mode, locked, for who may.
async fn lock(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: WebhookEndpointPubId,
    permission: Permission,
) -> Result<WebhookEndpoint, Error> {
    require(uow, ctx, id, permission).await?;
    let locked = uow
        .webhook_endpoints()
        .lock(scope_of(ctx.access), id)
        .await?;
    locked.ok_or(Error::not_found(ENDPOINT))
}

/// Changes an endpoint: what is not mentioned stays, and what happened before it hears of as it did. One
/// that is disabled is told of nothing that happens meanwhile, and what waits for it is given up. Where it
/// moves to another URL, or is enabled, it is tried as if it had never failed.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateWebhookEndpoint {
    /// Which one.
    pub id: WebhookEndpointPubId,
    /// What is to change.
    pub changes: WebhookEndpointChanges,
}

#[async_trait]
impl UseCase for UpdateWebhookEndpoint {
    type Output = WebhookEndpoint;

    fn permission(&self) -> Permission {
        Permission::WebhookWrite
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<WebhookEndpoint, Error> {
        require(uow, ctx, self.id, self.permission()).await?;
        events::number_within(uow, ctx.ids, ctx.now, scope_of(ctx.access)).await?;
        let mut endpoint = lock(uow, ctx, self.id, self.permission()).await?;
        let before = endpoint.clone();
        let WebhookEndpointChanges {
            url,
            types,
            description,
            status,
        } = self.changes;
        endpoint.url = url.unwrap_or(endpoint.url);
        endpoint.types = types.map_or(endpoint.types, each_once);
        description.apply(&mut endpoint.description);
        if let Some(status) = status {
            endpoint.set_status(status);
        }
        if endpoint == before {
            return Ok(endpoint);
        }
        endpoint.updated_at = ctx.now;
        uow.webhook_endpoints().update(&mut endpoint).await?;
        let is_enabled_again = endpoint.is_enabled() && !before.is_enabled();
        if is_enabled_again || endpoint.url != before.url {
            uow.deliveries().clear_health(endpoint.id).await?;
        }
        if before.is_enabled() && !endpoint.is_enabled() {
            uow.deliveries()
                .abandon(endpoint.id, DISABLED, ctx.now)
                .await?;
        }
        let updated = Entry::changed(AuditAction::WebhookEndpointUpdated, &before, &endpoint);
        audit::note(uow, ctx, updated).await?;
        Ok(endpoint)
    }
}

/// Deletes an endpoint, and with it what is known of its deliveries.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeleteWebhookEndpoint {
    /// Which one.
    pub id: WebhookEndpointPubId,
}

#[async_trait]
impl UseCase for DeleteWebhookEndpoint {
    type Output = WebhookEndpoint;

    fn permission(&self) -> Permission {
        Permission::WebhookWrite
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<WebhookEndpoint, Error> {
        let endpoint = lock(uow, ctx, self.id, self.permission()).await?;
        uow.webhook_endpoints()
            .delete(endpoint.scope(), endpoint.id)
            .await?;
        let deleted = Entry::deleted(AuditAction::WebhookEndpointDeleted, &endpoint);
        audit::note(uow, ctx, deleted).await?;
        Ok(endpoint)
    }
}

/// Gives an endpoint another secret. The one that it has signs beside it for a while.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollWebhookEndpoint {
    /// Which one.
    pub id: WebhookEndpointPubId,
    /// What messages are signed with from now on.
    pub secret: Secret,
    /// For how long the one before signs too: up to [`LONGEST_OVERLAP`], nothing ends it at once.
    pub overlap: TimeDelta,
}

#[async_trait]
impl UseCase for RollWebhookEndpoint {
    type Output = WebhookEndpoint;

    fn permission(&self) -> Permission {
        Permission::WebhookWrite
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<WebhookEndpoint, Error> {
        let mut endpoint = lock(uow, ctx, self.id, self.permission()).await?;
        let before = endpoint.clone();
        endpoint.roll(self.secret, self.overlap, ctx.now);
        uow.webhook_endpoints().update(&mut endpoint).await?;
        let rolled = Entry::changed(AuditAction::WebhookEndpointRolled, &before, &endpoint);
        audit::note(uow, ctx, rolled).await?;
        Ok(endpoint)
    }
}

/// Sends an endpoint a message to try it out, whatever it is told of otherwise. Gives its delivery.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`]; [`Error::Rule`] of one that is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestWebhookEndpoint {
    /// Which one.
    pub id: WebhookEndpointPubId,
}

#[async_trait]
impl UseCase for TestWebhookEndpoint {
    type Output = Delivery;

    fn permission(&self) -> Permission {
        Permission::WebhookWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Delivery, Error> {
        let endpoint = lock(uow, ctx, self.id, self.permission()).await?;
        if !endpoint.is_enabled() {
            return Err(is_disabled());
        }
        let new = NewDelivery {
            id: DeliveryPubId::from_uuid(ctx.ids.next()),
            organization_id: endpoint.organization_id,
            mode: endpoint.mode,
            endpoint_id: endpoint.id,
            event_id: EventPubId::from_uuid(ctx.ids.next()),
            occasion: Occasion::Test,
            subject: endpoint.id.as_uuid(),
            sequence: 0,
            created_at: ctx.now,
        };
        uow.deliveries().queue(std::slice::from_ref(&new)).await?;
        let tested = Entry::done(AuditAction::WebhookEndpointTested, &endpoint);
        audit::note(uow, ctx, tested).await?;
        Ok(new.into())
    }
}

/// The refusal of what is to be sent to an endpoint that is disabled.
pub(super) fn is_disabled() -> Error {
    Error::rule("the webhook endpoint is disabled, and nothing is sent to it: enable it first")
}

/// Disables an endpoint because of how it answers, and gives up what waits for it. Of one that is disabled
/// already nothing becomes. Tells whether it was enabled.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn give_up(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    mut endpoint: WebhookEndpoint,
    reason: DisabledReason,
    now: Timestamp,
) -> Result<bool, Error> {
    let before = endpoint.clone();
    if !endpoint.give_up(reason, now) {
        return Ok(false);
    }
    uow.webhook_endpoints().update(&mut endpoint).await?;
    uow.deliveries().abandon(endpoint.id, DISABLED, now).await?;
    let disabled = Entry::changed(AuditAction::WebhookEndpointDisabled, &before, &endpoint);
    let organization = endpoint.organization_id;
    audit::record(uow, ids, now, &Origin::SYSTEM, organization, disabled).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_is_kept_once() {
        let given = ["checkout.*", "*", "checkout.*", "checkout.created", "*"];
        let given = given.map(|text| text.parse().unwrap()).to_vec();
        let kept: Vec<String> = each_once(given).iter().map(ToString::to_string).collect();
        assert_eq!(kept, ["checkout.*", "*", "checkout.created"]);
    }
}
