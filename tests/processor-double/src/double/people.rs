//! The handle: what people and banks do, and what it comes to.

use super::Double;
use crate::account::{self, Account};
use crate::cards::{Decline, Occasion};
use crate::events::Event;
use crate::pages::{Choice, Where};
use crate::people::{self, Deed};

impl Double {
    /// From now on charges of a payment method are declined on an occasion alone, or not any
    /// more. [`Decline::AUTHENTICATION_REQUIRED`] has the bank want to see the customer, who
    /// can do so while they are there.
    ///
    /// # Errors
    /// When there is no such payment method.
    pub fn decline_on(
        &self,
        payment_method: &str,
        occasion: Occasion,
        decline: Option<Decline>,
    ) -> Result<(), String> {
        people::card(&mut self.lock(), payment_method, Some(occasion), decline)
    }

    /// A dispute moves without ending, such as to `under_review`.
    ///
    /// # Errors
    /// When there is no such dispute.
    pub fn update_dispute(&self, dispute: &str, status: &str) -> Result<(), String> {
        people::close(&mut self.lock(), dispute, status)
    }

    /// A refund that is under way succeeds.
    ///
    /// # Errors
    /// When there is none under way.
    pub fn settle_refund(&self, refund: &str) -> Result<(), String> {
        people::settle(&mut self.lock(), refund, None)
    }

    /// A refund fails, under way or long after it succeeded: the money is the lessor's again.
    /// The reason is such as `expired_or_canceled_card`.
    ///
    /// # Errors
    /// When there is no such refund, it failed before, or it was made more than 30 days ago.
    pub fn fail_refund(&self, refund: &str, reason: &str) -> Result<(), String> {
        people::settle(&mut self.lock(), refund, Some(reason))
    }

    /// A person does something to a subscription.
    ///
    /// # Errors
    /// When there is no such subscription, or its status does not allow it.
    pub fn by_hand(&self, subscription: &str, deed: &Deed) -> Result<(), String> {
        people::do_to(&mut self.lock(), subscription, deed)
    }

    /// A customer does something on a page of the processor's, without a browser; answers the
    /// address that they are sent to, when they are.
    ///
    /// # Errors
    /// When there is no such page, or it is closed.
    pub fn visit(&self, session: &str, choice: &Choice) -> Result<Option<String>, String> {
        match people::visit(&mut self.lock(), session, choice)? {
            Where::Sent(url) => Ok(Some(url)),
            Where::Stays(_) => Ok(None),
        }
    }

    /// What was taken, paid back and is still held for a checkout, by the metadata
    /// `lessor_checkout` of payments and subscriptions, payments of invoices included.
    #[must_use]
    pub fn account_of(&self, checkout: &str) -> Account {
        account::of(&self.lock(), checkout)
    }

    /// The events after so many, oldest first: who delivers by themselves asks what there is
    /// new between a request and its answer.
    #[must_use]
    pub fn events_after(&self, known: usize) -> Vec<Event> {
        let mut events = self.events();
        events.split_off(known.min(events.len()))
    }

    /// Notes that an event was delivered, by who delivers by themselves: `GET /v1/events` with
    /// `delivery_success=false` lists it no more.
    pub fn delivered(&self, event: &str) {
        self.lock().delivered(event);
    }

    /// Whether the messages of a request are delivered before it is answered.
    pub fn messages_first(&self, first: bool) {
        self.lock().messages_first = first;
    }
}
