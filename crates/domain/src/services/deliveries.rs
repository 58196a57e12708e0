//! Events on their way to endpoints.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::audit::{self, Entry};
use super::checkouts::scope_of;
use super::slice::unknown_start;
use super::webhook_endpoints::{ENDPOINT, is_disabled};
use super::{Context, Error, Slice, UseCase};
use crate::access::Permission;
use crate::audit::{AuditAction, AuditArea, AuditChange, AuditMembers};
use crate::events::{EventHead, EventPattern};
use crate::ids::{DeliveryPubId, EventPubId, WebhookEndpointPubId};
use crate::ports::{IdGenerator, Page, Scope, Start, StoreError, Stretch, UnitOfWork};
use crate::time::Timestamp;
use crate::webhooks::{Delivery, Listener, NewDelivery, Occasion};

/// The most events that are replayed by one request: they are kept in one transaction.
pub const MAX_REPLAYED: u32 = 100_000;
/// How many deliveries a statement keeps, and how many events are looked at at once: what a replay holds in
/// memory, however long it is.
const AT_ONCE: u32 = 1_000;

/// The event's delivery to the endpoint.
fn delivery_of(
    head: &EventHead,
    endpoint: WebhookEndpointPubId,
    scope: Scope,
    ids: &dyn IdGenerator,
    now: Timestamp,
) -> NewDelivery {
    NewDelivery {
        id: DeliveryPubId::from_uuid(ids.next()),
        organization_id: scope.organization_id,
        mode: scope.mode,
        endpoint_id: endpoint,
        event_id: head.id,
        occasion: Occasion::Event(head.event_type),
        subject: head.subject.as_uuid(),
        sequence: head.sequence,
        created_at: now,
    }
}

async fn queue(uow: &mut dyn UnitOfWork, new: &[NewDelivery]) -> Result<u64, StoreError> {
    let mut queued = 0_u64;
    for part in new.chunks(usize::try_from(AT_ONCE).unwrap_or(usize::MAX)) {
        queued = queued.saturating_add(uow.deliveries().queue(part).await?);
    }
    Ok(queued)
}

/// Has the events that were numbered last, so many of them, told to whoever listens.
///
/// It is part of the transaction that gives the numbers. So a process that dies leaves no event that is
/// numbered and told to nobody, and whoever numbers next tells none twice: the numbers are locked. A
/// cursor for each endpoint would be read on by somebody in the same way, and its rows would be as many.
///
/// # Errors
/// [`StoreError`].
pub(super) async fn fan_out(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    scope: Scope,
    numbered: u32,
) -> Result<(), StoreError> {
    if numbered == 0 {
        return Ok(());
    }
    let listeners = uow.webhook_endpoints().hold_listeners(scope).await?;
    if listeners.is_empty() {
        return Ok(());
    }
    let stretch = Stretch {
        after: uow
            .events()
            .last(scope)
            .await?
            .saturating_sub(numbered.into()),
        ..Stretch::default()
    };
    let heads = uow.events().heads(scope, &[], stretch, numbered).await?;
    // All at once: each statement is waited for, and the scope's next events wait for all.
    let new: Vec<NewDelivery> = listeners
        .iter()
        .flat_map(|listener| {
            let heard = heads.iter().filter(|head| listener.hears(head.event_type));
            heard.map(|head| delivery_of(head, listener.endpoint_id, scope, ids, now))
        })
        .collect();
    queue(uow, &new).await?;
    Ok(())
}

/// A page of an endpoint's deliveries, newest first.
///
/// # Errors
/// [`Error::NotFound`] of the endpoint, [`Error::Forbidden`]; [`Error::Invalid`] of a page that begins
/// after none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListDeliveries {
    /// Whose.
    pub endpoint: WebhookEndpointPubId,
    /// Which part of the list.
    pub page: Page,
}

#[async_trait]
impl UseCase for ListDeliveries {
    type Output = Slice<Delivery>;

    fn permission(&self) -> Permission {
        Permission::EventRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<Slice<Delivery>, Error> {
        let scope = scope_of(ctx.access);
        let found = uow.webhook_endpoints().get(scope, self.endpoint).await?;
        found.ok_or(Error::not_found(ENDPOINT))?;
        ctx.access.require(self.permission())?;
        if let Start::After(id) = self.page.start
            && !uow.deliveries().has(self.endpoint, id).await?
        {
            return Err(unknown_start());
        }
        let more = self.page.and_one_more();
        let listed = uow.deliveries().list(self.endpoint, more).await?;
        Ok(Slice::cut(listed, self.page, None))
    }
}

/// The listener of the endpoint.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`]; [`Error::Rule`] of one that is disabled.
async fn listener(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: WebhookEndpointPubId,
    permission: Permission,
) -> Result<Listener, Error> {
    let scope = scope_of(ctx.access);
    let found = uow.webhook_endpoints().get(scope, id).await?;
    found.ok_or(Error::not_found(ENDPOINT))?;
    ctx.access.require(permission)?;
    let listeners = uow.webhook_endpoints().hold_listeners(scope).await?;
    let mut listeners = listeners.into_iter();
    listeners
        .find(|listener| listener.endpoint_id == id)
        .ok_or_else(is_disabled)
}

/// Sends an endpoint what happened in a stretch of time again, also what happened before it was there. Gives
/// how many events that is. What is under way to it already is not sent twice, and is tried at once.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`]; [`Error::Invalid`] of a stretch that is empty, or has more
/// than [`MAX_REPLAYED`] events; [`Error::Rule`] of an endpoint that is disabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayEvents {
    /// To whom.
    pub endpoint: WebhookEndpointPubId,
    /// What happened then or later.
    pub from: Timestamp,
    /// What happened before; until now without.
    pub to: Option<Timestamp>,
    /// Of these types; of those that the endpoint is told of without.
    pub types: Option<Vec<EventPattern>>,
    /// Whether what it took is left out.
    pub only_failed: bool,
}

impl ReplayEvents {
    /// The events that are to be sent of the next ones, how many were looked at, and the number of the
    /// last.
    async fn next(
        &self,
        uow: &mut dyn UnitOfWork,
        scope: Scope,
        patterns: &[EventPattern],
        after: u64,
    ) -> Result<(Vec<EventHead>, usize, u64), Error> {
        let stretch = Stretch {
            from: Some(self.from),
            to: self.to,
            after,
        };
        let types = EventPattern::types(patterns);
        let mut heads = uow.events().heads(scope, &types, stretch, AT_ONCE).await?;
        let looked_at = heads.len();
        let last = heads.last().map_or(after, |head| head.sequence);
        if self.only_failed && !heads.is_empty() {
            let ids: Vec<EventPubId> = heads.iter().map(|head| head.id).collect();
            let taken = uow.deliveries().acknowledged(self.endpoint, &ids).await?;
            let taken: BTreeSet<EventPubId> = taken.into_iter().collect();
            heads.retain(|head| !taken.contains(&head.id));
        }
        Ok((heads, looked_at, last))
    }
}

#[async_trait]
impl UseCase for ReplayEvents {
    type Output = u64;

    fn permission(&self) -> Permission {
        Permission::WebhookWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<u64, Error> {
        let listener = listener(uow, ctx, self.endpoint, self.permission()).await?;
        if self.to.is_some_and(|to| to <= self.from) {
            return Err(Error::invalid("to", "must be later than from"));
        }
        let scope = scope_of(ctx.access);
        let patterns = self.types.as_ref().unwrap_or(&listener.types);
        let full = usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
        let (mut queued, mut after) = (0_u64, 0_u64);
        loop {
            let (heads, looked_at, last) = self.next(uow, scope, patterns, after).await?;
            let new: Vec<NewDelivery> = heads
                .iter()
                .map(|head| delivery_of(head, self.endpoint, scope, ctx.ids, ctx.now))
                .collect();
            queued = queued.saturating_add(queue(uow, &new).await?);
            if queued > u64::from(MAX_REPLAYED) {
                return Err(Error::invalid(
                    "to",
                    format!(
                        "there are more than {MAX_REPLAYED} events between from and to: replay them in several parts"
                    ),
                ));
            }
            after = last;
            if looked_at < full {
                break;
            }
        }
        let mut members = AuditMembers::new();
        members
            .set("from", audit::time(self.from))
            .set_if("to", self.to.map(audit::time))
            .set("onlyFailed", self.only_failed)
            .set("queued", queued);
        let replayed = Entry {
            area: AuditArea::from(scope.mode),
            action: AuditAction::WebhookEndpointReplayed,
            subject: self.endpoint.into(),
            change: AuditChange::created(members),
            customer: None,
        };
        audit::note(uow, ctx, replayed).await?;
        Ok(queued)
    }
}

/// Sends an event again: to the endpoint that is named, or to all that are told of its type. Gives to how many.
/// Where it is under way already it is not sent twice, and is tried at once.
///
/// # Errors
/// [`Error::NotFound`] of the event or the endpoint, [`Error::Forbidden`]; [`Error::Rule`] of an endpoint
/// that is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedeliverEvent {
    /// Which event.
    pub id: EventPubId,
    /// To whom.
    pub endpoint: Option<WebhookEndpointPubId>,
}

#[async_trait]
impl UseCase for RedeliverEvent {
    type Output = u64;

    fn permission(&self) -> Permission {
        Permission::WebhookWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<u64, Error> {
        let scope = scope_of(ctx.access);
        let found = uow.events().get(scope, self.id).await?;
        let found = found.ok_or(Error::not_found("event"))?;
        let listeners = match self.endpoint {
            Some(id) => vec![listener(uow, ctx, id, self.permission()).await?],
            None => {
                ctx.access.require(self.permission())?;
                let all = uow.webhook_endpoints().hold_listeners(scope).await?;
                let event_type = found.event.event_type;
                all.into_iter()
                    .filter(|listener| listener.hears(event_type))
                    .collect()
            }
        };
        let head = found.head();
        let new: Vec<NewDelivery> = listeners
            .iter()
            .map(|to| delivery_of(&head, to.endpoint_id, scope, ctx.ids, ctx.now))
            .collect();
        let queued = queue(uow, &new).await?;
        let mut members = AuditMembers::new();
        members
            .set_if("endpointId", self.endpoint)
            .set("queued", queued);
        let redelivered = Entry {
            area: AuditArea::from(scope.mode),
            action: AuditAction::EventRedelivered,
            subject: self.id.into(),
            change: AuditChange::created(members),
            customer: None,
        };
        audit::note(uow, ctx, redelivered).await?;
        Ok(queued)
    }
}
