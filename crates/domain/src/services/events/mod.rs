//! What happened to records: written by the unit of work that changes them, numbered afterwards, and
//! read from a feed.

mod names;
mod seen;
mod stores;
mod work;

use async_trait::async_trait;

use super::slice::unknown_start;
use super::{Context, Error, Slice, UseCase, deliveries};
use crate::access::Permission;
use crate::events::{EventSubject, EventType, NumberedEvent};
use crate::ids::EventPubId;
use crate::ports::{
    Clock, Database, EventFilter, IdGenerator, Page, Scope, Start, StoreError, UnitOfWork,
};
use crate::services::checkouts::scope_of;
use crate::time::Timestamp;

pub use work::TellingDatabase;

/// How many events are numbered at once.
const AT_ONCE: u32 = 1_000;

/// Gives every committed event of the organization and mode its number, and has it told to the endpoints
/// that listen, whose deliveries are made in the same transaction. Whoever reads the feed does so
/// first, so that what was committed before is in it. Tells whether there were any.
///
/// Numbers are given after the commit, in a transaction that does nothing else: whoever changes
/// something waits for nobody's number, and a number that was read has none before it that is read
/// later.
///
/// # Errors
/// [`StoreError`].
pub async fn number(
    database: &dyn Database,
    ids: &dyn IdGenerator,
    clock: &dyn Clock,
    scope: Scope,
) -> Result<bool, StoreError> {
    let mut view = database.read(scope.into()).await?;
    if !view.events().are_waiting(scope).await? {
        return Ok(false);
    }
    drop(view);
    let mut is_any = false;
    loop {
        let mut uow = database.begin(scope.into()).await?;
        let numbered = number_some(uow.as_mut(), ids, clock.now(), scope).await?;
        uow.commit().await?;
        is_any |= numbered > 0;
        if numbered < AT_ONCE {
            return Ok(is_any);
        }
    }
}

/// Numbers what was committed before, as part of this unit of work: whoever is to hear of what
/// happens from now on does not hear of it. Nobody else numbers the scope's until the unit ends, and
/// whoever does locks endpoints after it: they may not be locked before.
///
/// # Errors
/// [`StoreError`].
pub(super) async fn number_within(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    scope: Scope,
) -> Result<(), StoreError> {
    while number_some(uow, ids, now, scope).await? == AT_ONCE {}
    Ok(())
}

async fn number_some(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    scope: Scope,
) -> Result<u32, StoreError> {
    let numbered = uow.events().number(scope, AT_ONCE).await?;
    deliveries::fan_out(uow, ids, now, scope, numbered).await?;
    Ok(numbered)
}

/// What happened, oldest first, in the organization and the mode of the key.
///
/// # Errors
/// [`Error::Forbidden`]; [`Error::Invalid`] of a page that begins after no event of the feed, or after
/// one that is forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEvents {
    /// Of these types; any when nothing is said.
    pub types: Vec<EventType>,
    /// About this record.
    pub subject: Option<EventSubject>,
    /// After this event; from the oldest one on without.
    pub after: Option<EventPubId>,
    /// The most that are listed.
    pub limit: u32,
}

#[async_trait]
impl UseCase for ListEvents {
    type Output = Slice<NumberedEvent>;

    fn permission(&self) -> Permission {
        Permission::EventRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<Slice<NumberedEvent>, Error> {
        ctx.access.require(self.permission())?;
        let scope = scope_of(ctx.access);
        let after = match self.after {
            Some(id) => {
                let start = uow.events().get(scope, id).await?;
                start.ok_or_else(unknown_start)?.sequence
            }
            None => 0,
        };
        let page = Page {
            start: Start::Offset(0),
            limit: self.limit,
        };
        let filter = EventFilter {
            types: self.types,
            subject: self.subject,
        };
        let limit = page.and_one_more().limit;
        let found = uow.events().list(scope, &filter, after, limit).await?;
        Ok(Slice::cut(found, page, None))
    }
}

/// Whether what happened in the organization and the mode of the key waits for [numbers](number).
///
/// # Errors
/// [`Error::Forbidden`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsBehind;

#[async_trait]
impl UseCase for IsBehind {
    type Output = bool;

    fn permission(&self) -> Permission {
        Permission::EventRead
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<bool, Error> {
        ctx.access.require(self.permission())?;
        Ok(uow.events().are_waiting(scope_of(ctx.access)).await?)
    }
}

/// The event.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetEvent {
    /// Which one.
    pub id: EventPubId,
}

#[async_trait]
impl UseCase for GetEvent {
    type Output = NumberedEvent;

    fn permission(&self) -> Permission {
        Permission::EventRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<NumberedEvent, Error> {
        let scope = scope_of(ctx.access);
        let found = uow.events().get(scope, self.id).await?;
        let found = found.ok_or(Error::not_found("event"))?;
        ctx.access.require(self.permission())?;
        Ok(found)
    }
}
