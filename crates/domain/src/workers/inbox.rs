//! Taking in the processor's messages: kept before they are acknowledged, handled
//! afterwards, each once.

use std::sync::Arc;

use chrono::TimeDelta;

use crate::access::Mode;
use crate::checkout::{Invoice, InvoiceOutcome, Tracking};
use crate::ids::{CheckoutPubId, OrganizationId};
use crate::ports::{
    Clock, Database, IdGenerator, InboxMessage, PaymentProcessor, ProcessorEvent, ProcessorFact,
    ProviderSet, Reach, Scope,
};
use crate::services::payments::{self, Findings};
use crate::services::{Concern, Error, shipments};
use crate::shipments::{CarrierReport, EventOrigin, TrackingEvent};

/// How long a message waits for what it is about: longer than the work that makes it known is tried.
const PATIENCE: TimeDelta = TimeDelta::days(4);
/// The longest pause before it is looked at again.
const LONGEST_PAUSE: TimeDelta = TimeDelta::hours(1);

/// What became of a carrier's report about one checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutReport {
    /// The checkout that has the shipment.
    pub id: CheckoutPubId,
    /// Why nothing came of it: its tracking has just been changed, or its state forbids what the
    /// carrier says.
    pub refusal: Option<String>,
}

/// Takes messages in.
#[derive(Clone)]
pub struct Inbox {
    /// Where messages and checkouts are.
    pub database: Arc<dyn Database>,
    /// Who is asked why a payment failed.
    pub providers: ProviderSet,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn IdGenerator>,
}

impl Inbox {
    /// Keeps a message, so that it can be acknowledged. Tells whether it is new.
    ///
    /// # Errors
    /// [`Error::Store`]: it was not kept, and has to be sent again.
    pub async fn keep(&self, message: &InboxMessage) -> Result<bool, Error> {
        let mut uow = self.database.begin(Reach::Server).await?;
        let new = uow.inbox().insert(message).await?;
        uow.commit().await?;
        Ok(new)
    }

    /// Takes in what a carrier reports of a shipment: keeps the message and does what it says, in one
    /// unit of work. What was acknowledged is not lost, and what could not be done is told again; what
    /// is told of a number that nobody has is kept until somebody has it. Answers the checkouts that
    /// it was about; none, when the message was taken in before.
    ///
    /// # Errors
    /// [`Error::Store`]: nothing was kept, and it has to be sent again.
    pub async fn take_report(
        &self,
        message: &InboxMessage,
        tracking: &Tracking,
        reported: &CarrierReport,
    ) -> Result<Vec<CheckoutReport>, Error> {
        let mut uow = self.database.begin(Reach::Server).await?;
        if !uow.inbox().insert(message).await? {
            uow.roll_back().await?;
            return Ok(Vec::new());
        }
        let (now, origin) = (message.received_at, EventOrigin::Webhook);
        let owners = uow.doors().owners_of_shipment(tracking).await?;
        if owners.is_empty() {
            let event = TrackingEvent {
                reported: reported.clone(),
                origin,
                received_at: now,
            };
            uow.shipments().keep_unclaimed(tracking, &event).await?;
        }
        let mut taken = Vec::new();
        for owner in owners {
            uow.enter(owner).await?;
            for id in uow.checkouts().find_by_tracking(tracking).await? {
                let ids = self.ids.as_ref();
                let report =
                    shipments::report(uow.as_mut(), ids, now, id, reported.clone(), origin);
                let refusal = match report.await {
                    Ok(_) => None,
                    Err(Error::Rule { message }) => Some(message),
                    Err(error) => return Err(error),
                };
                taken.push(CheckoutReport { id, refusal });
            }
        }
        let (source, id) = (message.source.as_str(), message.id.as_str());
        uow.inbox().mark_handled(source, id, now).await?;
        uow.commit().await?;
        Ok(taken)
    }

    /// Handles up to so many kept messages. Answers the checkouts that changed.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn handle_kept(&self, limit: u32) -> Result<Vec<CheckoutPubId>, Error> {
        // Only looked at here: asking the processor must not hold a lock.
        let mut uow = self.database.begin(Reach::Server).await?;
        let messages = uow.inbox().lock_waiting(self.clock.now(), limit).await?;
        uow.roll_back().await?;
        let mut changed = Vec::new();
        for message in messages {
            changed.extend(self.handle(&message).await?);
        }
        Ok(changed)
    }

    /// Handles one kept message, unless somebody else does or has. Answers the
    /// checkout that changed.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn handle(&self, message: &InboxMessage) -> Result<Option<CheckoutPubId>, Error> {
        let read = self.providers.messages.read(message);
        let asked = match &read {
            Ok(event) => match self.ask(event, message.organization_id).await {
                Ok(asked) => asked,
                // Asked again later: it stands in front of no other message.
                Err(Error::Provider(_)) => return self.put_off(message).await,
                Err(other) => return Err(other),
            },
            Err(_) => Findings::default(),
        };
        let mut uow = self.database.begin(Reach::Server).await?;
        let (source, id) = (message.source.as_str(), message.id.as_str());
        if uow.inbox().lock_one(source, id).await?.is_none() {
            uow.roll_back().await?;
            return Ok(None);
        }
        let now = self.clock.now();
        let ids = self.ids.as_ref();
        let handled = match read {
            Err(problem) => Err(problem),
            Ok(event) => {
                let teller = message.organization_id;
                match payments::handle(uow.as_mut(), ids, now, &event, asked, teller).await? {
                    Concern::Checkout(id) => Ok(Some(id)),
                    Concern::Nothing => Ok(None),
                    Concern::NotYet => {
                        let age = now.signed_duration_since(message.received_at);
                        if age < PATIENCE {
                            uow.roll_back().await?;
                            return self.put_off(message).await;
                        }
                        Err("what it is about never became known".to_owned())
                    }
                }
            }
        };
        let changed = match handled {
            Ok(changed) => {
                uow.inbox().mark_handled(source, id, now).await?;
                changed
            }
            Err(problem) => {
                // Acknowledged, so it does not come again: it is kept until somebody looks.
                uow.inbox().mark_failed(source, id, now, &problem).await?;
                None
            }
        };
        uow.commit().await?;
        Ok(changed)
    }

    /// The message is to be looked at again later, the older it is the later.
    async fn put_off(&self, message: &InboxMessage) -> Result<Option<CheckoutPubId>, Error> {
        let now = self.clock.now();
        let age = now.signed_duration_since(message.received_at);
        let pause = age.clamp(TimeDelta::seconds(1), LONGEST_PAUSE);
        let until = now.checked_add_signed(pause).unwrap_or(now);
        let mut uow = self.database.begin(Reach::Server).await?;
        let (source, id) = (message.source.as_str(), message.id.as_str());
        if uow.inbox().lock_one(source, id).await?.is_some() {
            uow.inbox().postpone(source, id, until).await?;
            uow.commit().await?;
        } else {
            uow.roll_back().await?;
        }
        Ok(None)
    }

    /// The account that tells. None where an organization's own is not there any more.
    async fn teller(
        &self,
        mode: Mode,
        own_account_of: Option<OrganizationId>,
    ) -> Result<Option<Arc<dyn PaymentProcessor>>, Error> {
        let Some(organization_id) = own_account_of else {
            return Ok(Some(Arc::clone(&self.providers.of(mode).processor)));
        };
        let scope = Scope {
            organization_id,
            mode,
        };
        match &self.providers.accounts {
            Some(accounts) => Ok(accounts.of(scope).await?),
            None => Ok(None),
        }
    }

    /// Asks what the message does not say. Without an answer a failure counts all the same.
    async fn ask(
        &self,
        event: &ProcessorEvent,
        own_account_of: Option<OrganizationId>,
    ) -> Result<Findings, Error> {
        let mut asked = Findings::default();
        let asks = matches!(
            event.fact,
            ProcessorFact::Invoice(Invoice {
                outcome: InvoiceOutcome::Failed { .. },
                ..
            }) | ProcessorFact::Disputed {
                payment_intent_id: Some(_),
                ..
            }
        );
        if !asks {
            return Ok(asked);
        }
        let processor = self.teller(event.mode, own_account_of).await?;
        let Some(processor) = processor else {
            return Ok(asked);
        };
        let mut view = self.database.read(Reach::Server).await?;
        let owner = payments::owner(view.as_mut(), event, &asked, own_account_of).await?;
        match (&event.fact, owner) {
            (ProcessorFact::Invoice(Invoice { id, .. }), Some(organization_id)) => {
                drop(view);
                let scope = Scope {
                    organization_id,
                    mode: event.mode,
                };
                let refusal = processor.payment_failure(scope, id).await;
                asked.refusal = refusal.unwrap_or(None);
            }
            (
                ProcessorFact::Disputed {
                    payment_intent_id: Some(intent),
                    ..
                },
                owner,
            ) => {
                let known = match owner {
                    Some(owner) => {
                        view.enter(owner).await?;
                        view.ledger().find_payment(event.mode, intent).await?
                    }
                    None => None,
                };
                drop(view);
                if known.is_none() {
                    asked.invoice = processor.invoice_of_payment(event.mode, intent).await?;
                }
            }
            _ => {}
        }
        Ok(asked)
    }
}
