//! The store of events on their way to endpoints.

use std::time::Duration;

use async_trait::async_trait;

use super::{Page, StoreError};
use crate::ids::{EventPubId, WebhookEndpointPubId};
use crate::time::Timestamp;
use crate::webhooks::{Delivery, EndpointHealth, NewDelivery};

/// Of what, and how much, a worker takes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryClaim {
    /// The most deliveries.
    pub limit: u32,
    /// How many of an endpoint may be under way at a time, whoever is at them; of one that
    /// [fails](EndpointHealth::is_failing) it is one.
    pub per_endpoint: u32,
    /// How long each is kept from others.
    pub lease: Duration,
    /// An endpoint at which one is under way for so long is given no further ones until that is over: one
    /// that answers nobody takes up little, and one that is slow is asked for less at a time.
    pub slow_after: Duration,
}

/// Events on their way to endpoints, and what became of them: those of the organization that is reached.
///
/// Of an endpoint and an event at most one delivery is pending.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait DeliveryStore: Send {
    /// Keeps new deliveries, which are due when they are made. Where one of the same endpoint and event
    /// is pending none is kept, and that one is due then at the latest. Tells how many there were.
    async fn queue(&mut self, new: &[NewDelivery]) -> Result<u64, StoreError>;
    /// Takes pending deliveries that are due by `now`, of enabled endpoints that do not
    /// [rest](EndpointHealth::rests_at), and keeps others from taking them for the time of the lease.
    /// Counts their claims up. Several workers take different ones.
    ///
    /// Endpoints get equal shares. Of the deliveries about one record that were never tried to their end the one
    /// of the lowest number in the feed comes first, and the others wait until it was; what was tried
    /// holds nothing up.
    async fn claim(
        &mut self,
        now: Timestamp,
        claim: DeliveryClaim,
    ) -> Result<Vec<Delivery>, StoreError>;
    /// Writes how far the delivery is, and gives it back. Tells whether this claim of it was the last one
    /// and had not ended; otherwise nothing is written.
    async fn settle(&mut self, delivery: &Delivery) -> Result<bool, StoreError>;
    /// Gives a delivery that was taken back as it was, so that others may take it at once.
    async fn hand_back(&mut self, delivery: &Delivery) -> Result<(), StoreError>;
    /// How the endpoint fares, which nobody else changes until the end of the unit of work. None where
    /// there is no such endpoint.
    async fn lock_health(
        &mut self,
        endpoint: WebhookEndpointPubId,
    ) -> Result<Option<EndpointHealth>, StoreError>;
    /// The endpoint is known for nothing bad any more. Tells whether it was.
    async fn clear_health(&mut self, endpoint: WebhookEndpointPubId) -> Result<bool, StoreError>;
    /// Writes how the endpoint fares. Tells whether there is one.
    async fn set_health(
        &mut self,
        endpoint: WebhookEndpointPubId,
        health: &EndpointHealth,
    ) -> Result<bool, StoreError>;
    /// What is pending of the endpoint has failed, for this reason, also where somebody is at it. Tells how
    /// many there were.
    async fn abandon(
        &mut self,
        endpoint: WebhookEndpointPubId,
        reason: &str,
        at: Timestamp,
    ) -> Result<u64, StoreError>;
    /// A page of the endpoint's deliveries, newest first: by id, which sorts by the time it was made. After
    /// one that it does not have comes nothing.
    async fn list(
        &mut self,
        endpoint: WebhookEndpointPubId,
        page: Page,
    ) -> Result<Vec<Delivery>, StoreError>;
    /// Whether the endpoint has the delivery that a page starts after.
    async fn has(
        &mut self,
        endpoint: WebhookEndpointPubId,
        id: uuid::Uuid,
    ) -> Result<bool, StoreError>;
    /// Those of the events that the endpoint took, by any delivery, each once.
    async fn acknowledged(
        &mut self,
        endpoint: WebhookEndpointPubId,
        events: &[EventPubId],
    ) -> Result<Vec<EventPubId>, StoreError>;
    /// Forgets up to so many deliveries that are over and were made before the time, the oldest first.
    /// Tells how many there were.
    async fn purge(&mut self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}

/// A message to an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct WebhookMessage<'a> {
    /// Where it goes.
    pub url: &'a crate::text::Url,
    /// What tells it apart: the same whenever it is sent again.
    pub id: &'a str,
    /// JSON.
    pub body: &'a [u8],
    /// What it is signed with, the newest first.
    pub secrets: &'a [crate::secret::Secret],
    /// When it is sent.
    pub at: Timestamp,
}

/// Sends messages to endpoints, signed as Standard Webhooks, to public addresses alone.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait WebhookSender: Send + Sync {
    /// Sends the message once, and waits for the answer ten seconds at the most. Whatever comes of it is a
    /// result: also that the URL is none that may be asked.
    async fn send<'a>(&self, message: WebhookMessage<'a>) -> crate::webhooks::AttemptResult;
}
