//! The store of what happened to records, and who renders and hears it.

use async_trait::async_trait;

use super::{Scope, StoreError};
use crate::access::Mode;
use crate::catalog::{Product, ProductVariant};
use crate::customer::Customer;
use crate::events::{EventHead, EventSubject, EventType, NewEvent, NumberedEvent, RecordText};
use crate::ids::{EventPubId, OrganizationId, OrganizationPubId};
use crate::lease_term::LeaseTerm;
use crate::services::checkouts::CheckoutView;
use crate::time::Timestamp;
use crate::webhooks::WebhookEndpoint;

/// Which events a feed shows; what is empty filters nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventFilter {
    /// Of these types.
    pub types: Vec<EventType>,
    /// About this record.
    pub subject: Option<EventSubject>,
}

/// A stretch of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stretch {
    /// What happened then or later.
    pub from: Option<Timestamp>,
    /// What happened before.
    pub to: Option<Timestamp>,
    /// What has a higher number.
    pub after: u64,
}

/// An edition of an organization's records: how many changes of them were told of.
///
/// Whoever reads an edition and then records has records that are at least as new as it, and are the same until
/// [something of them changes](EventStore::changes): no unit of work that [tells](crate::services::events::TellingDatabase) changes
/// what a GET shows without an event, but for the organization itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Edition {
    /// How many events of live mode have numbers.
    pub live: u64,
    /// How many of sandbox mode.
    pub sandbox: u64,
    /// The [version](crate::organization::Organization::version) of the organization.
    pub organization: i64,
}

impl Edition {
    /// How many events have numbers, of both modes.
    #[must_use]
    pub const fn told(&self) -> u64 {
        self.live.saturating_add(self.sandbox)
    }

    /// How many events got their numbers since the edition before. `None`: it is none of before, or the organization was
    /// written since.
    #[must_use]
    pub fn told_since(&self, before: &Self) -> Option<u64> {
        let live = self.live.checked_sub(before.live)?;
        let sandbox = self.sandbox.checked_sub(before.sandbox)?;
        let is_same = self.organization == before.organization;
        is_same.then(|| live.saturating_add(sandbox))
    }
}

/// What has changed of an organization's records since an edition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Their edition now.
    pub edition: Edition,
    /// Whether events are committed that have no number yet: the edition does not count them.
    pub is_behind: bool,
    /// The events that got their numbers since, or have none yet. `None`: any record may have changed.
    pub events: Option<Vec<Told>>,
}

/// An event, and what it tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// Which event.
    pub event: EventPubId,
    /// The record that changed.
    pub record: EventSubject,
}

impl Changes {
    /// The most events of a mode, and without numbers, that are named.
    pub const NAMED: u32 = 256;
}

/// What happened to records. Nothing of it is changed afterwards but that it gets its number; it is
/// kept for a while.
///
/// What is [of a customer](NewEvent::customer) is kept sealed as the audit's events are: their
/// erasure takes [the contents](NewEvent::contents) away, and of who was erased none are kept.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait EventStore: Send {
    /// Keeps the events, without numbers. Whoever changes a record has it locked until the commit, and
    /// appends then: events about one record are numbered in the order in which they were appended. One whose id is
    /// there already is refused, or gets no number.
    ///
    /// # Errors
    /// [`StoreError`], at the latest of the commit, and nothing is kept.
    async fn append(&mut self, events: &[NewEvent]) -> Result<(), StoreError>;
    /// Whether there are events without a number.
    async fn are_waiting(&mut self, scope: Scope) -> Result<bool, StoreError>;
    /// Numbers events that are committed and have no number, up to so many, in the order in which they
    /// were appended, and goes on from the last number that was given. Whoever else numbers the scope's
    /// waits until the end of the unit of work. Tells how many it numbered.
    async fn number(&mut self, scope: Scope, limit: u32) -> Result<u32, StoreError>;
    /// The number that was given last; 0 before the first.
    async fn last(&mut self, scope: Scope) -> Result<u64, StoreError>;
    /// What has changed of the organization's records since the edition. Any may have where that is of nobody, or the
    /// organization itself was written, or more events than are [named](Changes::NAMED), or where they are not kept any more.
    async fn changes(
        &mut self,
        organization: OrganizationId,
        since: Option<Edition>,
    ) -> Result<Changes, StoreError>;
    /// The event of this id, if it has a number.
    async fn get(
        &mut self,
        scope: Scope,
        id: EventPubId,
    ) -> Result<Option<NumberedEvent>, StoreError>;
    /// Up to so many of the numbered events that the filter shows, with a higher number than this, by
    /// number.
    async fn list(
        &mut self,
        scope: Scope,
        filter: &EventFilter,
        after: u64,
        limit: u32,
    ) -> Result<Vec<NumberedEvent>, StoreError>;
    /// Up to so many of the numbered events of these types (any when none is named) in the stretch, by
    /// number, without what they show.
    async fn heads(
        &mut self,
        scope: Scope,
        types: &[EventType],
        stretch: Stretch,
        limit: u32,
    ) -> Result<Vec<EventHead>, StoreError>;
    /// Forgets up to so many of the organization's numbered events that happened before the time, the
    /// oldest first. Tells how many there were. Their numbers are not given again.
    async fn purge(&mut self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}

/// A record as its GET shows it.
#[derive(Debug, Clone, Copy)]
pub enum EventView<'a> {
    Product(&'a Product),
    ProductVariant {
        variant: &'a ProductVariant,
        /// Whose stock it shows.
        mode: Mode,
        organization: OrganizationPubId,
    },
    Customer(&'a Customer),
    LeaseTerm(&'a LeaseTerm),
    /// Without what opens the checkout's page.
    Checkout(&'a CheckoutView),
    /// Without its secrets.
    WebhookEndpoint(&'a WebhookEndpoint),
}

/// What an endpoint is told.
#[derive(Debug, Clone, Copy)]
pub enum EventMessage<'a> {
    /// What happened.
    Event(&'a NumberedEvent),
    /// Nothing happened: the endpoint is tried out. It is in no feed.
    Test {
        /// What tells it apart from other tests.
        id: EventPubId,
        /// When it was asked for.
        at: Timestamp,
        endpoint: &'a WebhookEndpoint,
    },
}

/// Who renders records: the same that answers GET, so that events and answers cannot differ.
pub trait EventRecords: Send + Sync {
    /// The record as JSON.
    ///
    /// # Errors
    /// [`StoreError::Internal`]: a defect.
    fn render(&self, view: &EventView<'_>) -> Result<RecordText, StoreError>;

    /// What an endpoint of the organization is told, as JSON: of an event the very bytes that GET answers.
    ///
    /// # Errors
    /// [`StoreError::Internal`]: a defect.
    fn message(
        &self,
        message: &EventMessage<'_>,
        organization: OrganizationPubId,
    ) -> Result<Vec<u8>, StoreError>;
}

/// Who hears that events were committed, to number them and to wake whoever waits.
pub trait EventListener: Send + Sync {
    /// There are events without a number.
    fn written(&self, scope: Scope);
}

/// Nobody hears of them: they are numbered by whoever reads them.
impl EventListener for () {
    fn written(&self, _: Scope) {}
}
