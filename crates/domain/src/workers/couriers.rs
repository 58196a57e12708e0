//! Telling endpoints what happened.
//!
//! A delivery is taken in a short unit of work, the endpoint is asked outside of any, and what came of it is
//! written in a third. Dying anywhere in between tells the endpoint again, under the same id: so it may
//! hear of an event twice, and never of none.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::rounds::{Round, Work};
use crate::ports::{
    Clock, Database, DeliveryClaim, Entropy, Errand, EventMessage, EventRecords, IdGenerator,
    StoreError, UnitOfWork, WebhookMessage, WebhookSender,
};
use crate::secret::Secret;
use crate::services::{Error, webhook_endpoints};
use crate::time::Timestamp;
use crate::webhooks::{
    Delivery, DisabledReason, EndpointHealth, Occasion, Verdict, WebhookEndpoint,
};

/// How long a delivery that was taken is kept from others: three times as long as an endpoint may take.
pub const DELIVERY_LEASE: Duration = Duration::from_secs(30);
/// How many deliveries to an endpoint are under way at a time, in all processes together.
pub const PER_ENDPOINT: u32 = 8;
/// How many deliveries an organization that has them is given in its turn, at the least: asking it costs as
/// much for one.
const LEAST_SHARE: u32 = 8;
/// How long an endpoint may take before it is given no further delivery until it has answered.
pub const SLOW_AFTER: Duration = Duration::from_secs(1);

/// Tells endpoints what happened.
#[derive(Clone)]
pub struct Courier {
    /// Where deliveries, endpoints and events are.
    pub database: Arc<dyn Database>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn IdGenerator>,
    /// Where the jitter of pauses comes from.
    pub entropy: Arc<dyn Entropy>,
    /// Who writes what is told.
    pub records: Arc<dyn EventRecords>,
    /// Who tells it.
    pub sender: Arc<dyn WebhookSender>,
    /// How long a delivery that was taken is kept from others; usually [`DELIVERY_LEASE`].
    pub lease: Duration,
    /// How many deliveries to an endpoint are under way at a time; usually [`PER_ENDPOINT`].
    pub per_endpoint: u32,
    /// How long an endpoint may take before it is given no further delivery until it has answered; usually
    /// [`SLOW_AFTER`].
    pub slow_after: Duration,
}

/// What became of an attempt to deliver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// The endpoint took it.
    Acknowledged,
    /// It is tried again at this time.
    Later(Timestamp),
    /// It is not tried any more.
    Failed,
    /// It is not tried any more, and neither is anything else: the endpoint is disabled since.
    Disabled(DisabledReason),
    /// Nobody is to be told any more, or somebody else has it by now: nothing is written.
    Moot,
}

/// An attempt that has ended, and is to be [written down](Courier::note).
#[derive(Debug)]
pub struct Attempt {
    delivery: Delivery,
    end: End,
}

/// How an attempt ended.
#[derive(Debug)]
enum End {
    /// The endpoint was asked.
    Asked(Verdict),
    /// There was nothing to be told.
    Abandoned,
    /// There is nobody to be told.
    Moot,
}

/// What is told, and to whom.
struct Parcel {
    endpoint: WebhookEndpoint,
    body: Vec<u8>,
}

/// What there is to be sent of a delivery.
enum Contents {
    Parcel(Box<Parcel>),
    /// It cannot be told any more, and why.
    Nothing(&'static str),
    /// Its endpoint is gone.
    Gone,
}

#[async_trait]
impl Work for Courier {
    type Piece = Delivery;

    const LEAST: u32 = LEAST_SHARE;

    fn database(&self) -> &dyn Database {
        &*self.database
    }

    fn entropy(&self) -> &dyn Entropy {
        &*self.entropy
    }

    fn errand(&self, now: Timestamp) -> Errand {
        Errand::Deliveries { due: now }
    }

    async fn claim(
        &self,
        uow: &mut dyn UnitOfWork,
        now: Timestamp,
        most: u32,
    ) -> Result<Vec<Delivery>, StoreError> {
        let claim = DeliveryClaim {
            limit: most,
            per_endpoint: self.per_endpoint,
            lease: self.lease,
            slow_after: self.slow_after,
        };
        uow.deliveries().claim(now, claim).await
    }
}

impl Courier {
    /// Takes up to so many deliveries that are due: organization by organization, in shares and in an
    /// order by chance, and of each endpoint an equal share of its organization's, so that nobody who has
    /// many keeps anybody else's waiting. Goes on where the round was left the last time.
    ///
    /// # Errors
    /// [`StoreError`], where none were taken.
    pub async fn take(&self, round: &mut Round, limit: u32) -> Result<Vec<Delivery>, StoreError> {
        round.take(self, self.clock.now(), limit).await
    }

    fn chance(&self) -> u8 {
        let mut byte = [0_u8; 1];
        self.entropy.fill(&mut byte);
        let [chance] = byte;
        chance
    }

    /// Gives a delivery that was taken back, so that others may take it at once.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn hand_back(&self, delivery: &Delivery) -> Result<(), StoreError> {
        let owner = delivery.new.organization_id;
        let mut uow = self.database.begin(owner.into()).await?;
        uow.deliveries().hand_back(delivery).await?;
        uow.commit().await
    }

    /// Makes one attempt of a delivery that was taken, and writes what came of it.
    ///
    /// # Errors
    /// [`Error::Store`]: what came of it is not written, and it is made again when the lease has ended.
    pub async fn deliver(&self, delivery: Delivery) -> Result<Delivered, Error> {
        let attempt = self.attempt(delivery).await?;
        self.note(attempt).await
    }

    /// Makes one attempt of a delivery that was taken. It may take as long as the endpoint does, and needs nothing of
    /// ours meanwhile; what came of it is to be [written down](Self::note).
    ///
    /// # Errors
    /// [`Error::Store`]: it was not made, and is when the lease has ended.
    pub async fn attempt(&self, mut delivery: Delivery) -> Result<Attempt, Error> {
        let parcel = match self.contents(&delivery).await? {
            Contents::Parcel(parcel) => parcel,
            Contents::Gone => {
                let end = End::Moot;
                return Ok(Attempt { delivery, end });
            }
            Contents::Nothing(reason) => {
                delivery.abandon(reason, self.clock.now());
                let end = End::Abandoned;
                return Ok(Attempt { delivery, end });
            }
        };
        let begun = self.clock.now();
        let id = delivery.new.event_id.to_string();
        let secrets: Vec<Secret> = parcel.endpoint.secrets_at(begun).cloned().collect();
        let message = WebhookMessage {
            url: &parcel.endpoint.url,
            id: &id,
            body: &parcel.body,
            secrets: &secrets,
            at: begun,
        };
        let result = self.sender.send(message).await;
        let ended = self.clock.now();
        let took = ended.signed_duration_since(begun).num_milliseconds();
        let took = u64::try_from(took).unwrap_or(0);
        let end = End::Asked(delivery.tried(result, took, ended, self.chance()));
        Ok(Attempt { delivery, end })
    }

    /// Writes what came of an attempt.
    ///
    /// # Errors
    /// [`Error::Store`]: it is not written, and the attempt is made again when the lease has ended.
    pub async fn note(&self, attempt: Attempt) -> Result<Delivered, Error> {
        let Attempt { delivery, end } = attempt;
        let delivery = &delivery;
        match end {
            End::Moot => Ok(Delivered::Moot),
            End::Abandoned => self.note_end(delivery).await,
            End::Asked(Verdict::Acknowledged) => self.acknowledge(delivery).await,
            End::Asked(Verdict::Later(at)) => {
                self.note_failure(delivery, Delivered::Later(at)).await
            }
            End::Asked(Verdict::GivenUp) => self.note_failure(delivery, Delivered::Failed).await,
            End::Asked(Verdict::Gone) => {
                let gone = Delivered::Disabled(DisabledReason::Gone);
                self.note_failure(delivery, gone).await
            }
        }
    }

    async fn contents(&self, delivery: &Delivery) -> Result<Contents, Error> {
        let new = &delivery.new;
        let scope = new.scope();
        let mut view = self.database.read(scope.into()).await?;
        let endpoint = view.webhook_endpoints().get(scope, new.endpoint_id).await?;
        let Some(endpoint) = endpoint else {
            return Ok(Contents::Gone);
        };
        if !endpoint.is_enabled() {
            return Ok(Contents::Nothing("the endpoint is disabled"));
        }
        let organization = view.organizations().get(new.organization_id).await?;
        let organization = organization.ok_or(StoreError::Missing("organization"))?;
        let body = match new.occasion {
            Occasion::Event(_) => {
                let Some(event) = view.events().get(scope, new.event_id).await? else {
                    return Ok(Contents::Nothing("the event is not kept any more"));
                };
                let message = EventMessage::Event(&event);
                self.records.message(&message, organization.pub_id)?
            }
            Occasion::Test => {
                let message = EventMessage::Test {
                    id: new.event_id,
                    at: new.created_at,
                    endpoint: &endpoint,
                };
                self.records.message(&message, organization.pub_id)?
            }
        };
        Ok(Contents::Parcel(Box::new(Parcel { endpoint, body })))
    }

    /// Notes the end of a delivery that was not tried.
    async fn note_end(&self, delivery: &Delivery) -> Result<Delivered, Error> {
        let owner = delivery.new.organization_id;
        let mut uow = self.database.begin(owner.into()).await?;
        let is_written = uow.deliveries().settle(delivery).await?;
        uow.commit().await?;
        Ok(if is_written {
            Delivered::Failed
        } else {
            Delivered::Moot
        })
    }

    async fn acknowledge(&self, delivery: &Delivery) -> Result<Delivered, Error> {
        let owner = delivery.new.organization_id;
        let mut uow = self.database.begin(owner.into()).await?;
        // Also where another has the delivery by now: the endpoint did take it.
        uow.deliveries()
            .clear_health(delivery.new.endpoint_id)
            .await?;
        let is_written = uow.deliveries().settle(delivery).await?;
        uow.commit().await?;
        Ok(if is_written {
            Delivered::Acknowledged
        } else {
            Delivered::Moot
        })
    }

    /// Writes down an attempt that failed, what follows for the endpoint, and whether it is disabled.
    /// Locks are taken in the order of whoever changes an endpoint: it, how it fares, its deliveries.
    async fn note_failure(
        &self,
        delivery: &Delivery,
        failed: Delivered,
    ) -> Result<Delivered, Error> {
        let new = &delivery.new;
        let scope = new.scope();
        let mut uow = self.database.begin(scope.into()).await?;
        let endpoint = uow.webhook_endpoints().lock(scope, new.endpoint_id).await?;
        let health = uow.deliveries().lock_health(new.endpoint_id).await?;
        let (Some(endpoint), Some(mut health)) = (endpoint, health) else {
            uow.roll_back().await?;
            return Ok(Delivered::Moot);
        };
        let is_hopeless = health.failed(delivery.updated_at);
        let reason = match failed {
            Delivered::Disabled(reason) => Some(reason),
            _ => is_hopeless.then_some(DisabledReason::Failing),
        };
        if reason.is_some() {
            // Whoever enables it again begins anew.
            health = EndpointHealth::default();
        }
        let mut became = failed;
        if !uow.deliveries().settle(delivery).await? {
            became = Delivered::Moot;
        }
        uow.deliveries()
            .set_health(new.endpoint_id, &health)
            .await?;
        if let Some(reason) = reason {
            let now = delivery.updated_at;
            let ids = self.ids.as_ref();
            if webhook_endpoints::give_up(uow.as_mut(), ids, endpoint, reason, now).await? {
                became = Delivered::Disabled(reason);
            }
        }
        uow.commit().await?;
        Ok(became)
    }
}
