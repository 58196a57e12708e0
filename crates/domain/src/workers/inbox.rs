//! Taking in the processor's messages: kept before they are acknowledged, handled
//! afterwards, each once.

use std::sync::Arc;

use chrono::TimeDelta;

use crate::checkout::Refusal;
use crate::ids::CheckoutPubId;
use crate::ports::{
    Clock, Database, IdGenerator, InboxMessage, MessageReader, ProcessorEvent, ProcessorFact,
    ProviderSet,
};
use crate::services::Error;
use crate::services::payments::{self, Handled};

/// How long a message waits for what it is about.
const PATIENCE: TimeDelta = TimeDelta::hours(24);

/// Takes messages in.
#[derive(Clone)]
pub struct Inbox {
    /// Where messages and checkouts are.
    pub database: Arc<dyn Database>,
    /// Who is asked why a payment failed.
    pub providers: ProviderSet,
    /// Who understands the messages.
    pub reader: Arc<dyn MessageReader>,
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
        let mut uow = self.database.begin().await?;
        let new = uow.inbox().insert(message).await?;
        uow.commit().await?;
        Ok(new)
    }

    /// Handles up to so many kept messages. Answers the checkouts that changed.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn handle_kept(&self, limit: u32) -> Result<Vec<CheckoutPubId>, Error> {
        // Only read here: asking the processor must not hold a lock.
        let mut uow = self.database.begin().await?;
        let messages = uow.inbox().lock_unhandled(limit).await?;
        drop(uow);
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
        let read = self.reader.read(message);
        let refusal = match &read {
            Ok(event) => self.refusal(event).await,
            Err(_) => None,
        };
        let mut uow = self.database.begin().await?;
        if uow
            .inbox()
            .lock_one(&message.source, &message.id)
            .await?
            .is_none()
        {
            return Ok(None);
        }
        let now = self.clock.now();
        let (changed, problem) = match read {
            Err(problem) => (None, Some(problem)),
            Ok(event) => {
                match payments::handle(uow.as_mut(), self.ids.as_ref(), now, &event, refusal)
                    .await?
                {
                    Handled::Checkout(id) => (Some(id), None),
                    Handled::Nothing => (None, None),
                    Handled::NotYet
                        if now.signed_duration_since(message.received_at) < PATIENCE =>
                    {
                        return Ok(None);
                    }
                    Handled::NotYet => {
                        (None, Some("what it is about never became known".to_owned()))
                    }
                }
            }
        };
        uow.inbox()
            .mark_handled(&message.source, &message.id, now, problem.as_deref())
            .await?;
        uow.commit().await?;
        Ok(changed)
    }

    /// Why a payment failed, where the message does not say. Without an answer the
    /// failure counts all the same.
    async fn refusal(&self, event: &ProcessorEvent) -> Option<Refusal> {
        let ProcessorFact::InvoiceFailed { invoice_id, .. } = &event.fact else {
            return None;
        };
        let processor = &self.providers.of(event.mode).processor;
        processor
            .payment_failure(event.mode, invoice_id)
            .await
            .unwrap_or(None)
    }
}
