//! The payment processor.

use async_trait::async_trait;

use super::{Doubt, InboxMessage, Scope};
use crate::access::Mode;
use crate::checkout::{Invoice, PaymentMethod, Refusal};
use crate::ids::{CheckoutPubId, CustomerPubId, OrganizationId, OrganizationPubId};
use crate::ledger::{Authorization, Dispute, HostedSession, Refund, Subscription};
use crate::money::{Currency, Money};
use crate::percentage::TermMonths;
use crate::quantity::Quantity;
use crate::time::Timestamp;

/// A call to a provider.
///
/// The idempotency key is the same for every try of the same work. A provider
/// keeps keys for a day at least: when `first_tried_at` is older, the adapter looks
/// the work up by our ids before it does it anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// For whom.
    pub organization_id: OrganizationId,
    /// Live or sandbox.
    pub mode: Mode,
    /// Up to 255 characters.
    pub idempotency_key: String,
    /// When the work was first tried; now, for the first try.
    pub first_tried_at: Timestamp,
    pub now: Timestamp,
}

impl From<&Attempt> for Scope {
    fn from(attempt: &Attempt) -> Self {
        Self {
            organization_id: attempt.organization_id,
            mode: attempt.mode,
        }
    }
}

/// What a provider answers: a refusal is a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<T> {
    /// It is done.
    Done(T),
    /// It will not be done, however often it is asked for.
    Refused(Refusal),
}

/// A product, as the processor is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorProduct {
    /// The id that we chose.
    pub id: String,
    pub name: String,
    /// What it is.
    pub description: String,
    /// Whether it is offered.
    pub active: bool,
    /// The lessor.
    pub organization: OrganizationPubId,
}

/// A variant, as the processor is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorVariant {
    /// The variant as a product of its own.
    pub product: ProcessorProduct,
    /// The monthly price for each term that it is offered for.
    pub monthly: Vec<(TermMonths, Money)>,
}

/// A customer, as the processor is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorCustomer {
    /// Our id of the customer.
    pub id: CustomerPubId,
    /// The e-mail address.
    pub email: String,
    /// The full name. Without one the processor keeps what it has; an empty one has it forget.
    pub name: Option<String>,
    /// The phone number, likewise.
    pub phone: Option<String>,
    /// The processor's id, when it is known.
    pub processor_id: Option<String>,
}

/// A deposit to be authorized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepositRequest {
    pub checkout: CheckoutPubId,
    /// The lessor.
    pub organization: OrganizationPubId,
    /// The lessee.
    pub customer: ProcessorCustomer,
    /// Deposit and purchase items together.
    pub amount: Money,
    /// The processor's id of the method that pays, when the customer named one.
    pub payment_method: Option<String>,
    /// Whether the customer is away: the method was set up before.
    pub off_session: bool,
}

/// Something that the customer pays for on the processor's own page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionItem {
    /// As the page calls it.
    pub name: String,
    /// Price of one.
    pub amount: Money,
    /// How many.
    pub quantity: u32,
}

/// A session on the processor's own pages to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRequest {
    /// The checkout.
    pub checkout: CheckoutPubId,
    /// The lessor.
    pub organization: OrganizationPubId,
    /// The lessee.
    pub customer: ProcessorCustomer,
    /// What it is for.
    pub wanted: SessionWanted,
    /// When it closes by itself: 30 minutes to 24 hours from now.
    pub ends_at: Timestamp,
    /// Where the customer is sent when they have done it.
    pub done_url: String,
    /// Where they are sent when they go back instead.
    pub left_url: String,
}

/// What a session on the processor's own pages is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionWanted {
    /// The customer has a deposit held on a card of theirs, which is kept for the monthly payments.
    Deposit {
        /// What is held in all.
        amount: Money,
        /// What that is for.
        items: Vec<SessionItem>,
    },
    /// The customer leaves a card, which pays in this currency from then on.
    Method {
        /// Of the monthly payments.
        currency: Currency,
    },
}

/// A captured deposit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The processor's id of the invoice or charge.
    pub invoice_id: String,
    /// When it was captured.
    pub at: Timestamp,
}

/// What became of an authorization that was to be let go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VoidResult {
    /// It is gone.
    Voided,
    /// It had been captured: a refund is needed.
    AlreadyCaptured(Capture),
}

/// A subscription to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionRequest {
    /// The checkout: one subscription at a time bills it.
    pub checkout: CheckoutPubId,
    /// The lessor.
    pub organization: OrganizationPubId,
    /// The lessee.
    pub customer: ProcessorCustomer,
    /// What pays.
    pub payment_method: Option<String>,
    /// What is leased, as invoices name it.
    pub description: String,
    /// Monthly payment and insurance of all that is leased together.
    pub monthly: Money,
    /// How many are leased, each for its part of the monthly sum.
    pub quantity: Quantity,
    /// How many payments in all, the first at once.
    pub payments: u16,
}

/// A page of what a walk through the processor's records finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkPage<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where to go on; none at the end.
    pub next: Option<String>,
}

impl<T> WalkPage<T> {
    /// Nothing, and nothing more.
    #[must_use]
    pub const fn nothing() -> Self {
        Self {
            items: Vec::new(),
            next: None,
        }
    }
}

/// Of a processor without pages.
const NO_PAGES: &str = "the processor has no pages of its own";

/// The payment processor.
///
/// Contract, for every call that changes something: the same key is the same work,
/// done once; [`Verdict::Refused`] is final; [`Doubt`] means that nobody knows, and
/// the same call has to be made again.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait PaymentProcessor: Send + Sync {
    /// Makes the product known under its id, or brings what is known up to date.
    async fn push_product(
        &self,
        attempt: &Attempt,
        product: &ProcessorProduct,
    ) -> Result<Verdict<()>, Doubt>;
    /// Makes the variant and its monthly prices known.
    async fn push_variant(
        &self,
        attempt: &Attempt,
        variant: &ProcessorVariant,
    ) -> Result<Verdict<()>, Doubt>;
    /// Makes the customer known; answers the processor's id.
    async fn push_customer(
        &self,
        attempt: &Attempt,
        customer: &ProcessorCustomer,
    ) -> Result<Verdict<String>, Doubt>;
    /// Authorizes a deposit for a later capture.
    async fn authorize_deposit(
        &self,
        attempt: &Attempt,
        request: &DepositRequest,
    ) -> Result<Verdict<Authorization>, Doubt>;
    /// Captures an authorized deposit.
    async fn capture_deposit(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
    ) -> Result<Verdict<Capture>, Doubt>;
    /// Lets an authorized deposit go.
    async fn void_deposit(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
    ) -> Result<Verdict<VoidResult>, Doubt>;
    /// What became of this authorization; none when the processor does not know it.
    async fn deposit(
        &self,
        scope: Scope,
        payment_intent_id: &str,
    ) -> Result<Option<Authorization>, Doubt>;
    /// Every authorization that was ever made for the checkout, by the customer's list, which shows
    /// what was just made.
    async fn deposits_of(
        &self,
        scope: Scope,
        customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Authorization>, Doubt>;
    /// Pays a payment back: so much of it, or what is left of it where that is less. None when
    /// nothing is left. A refund under the same key that is there already is answered again.
    async fn refund(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
        at_most: Money,
    ) -> Result<Verdict<Option<Refund>>, Doubt>;
    /// The payment method of this id, set up for payments while the customer is away.
    async fn payment_method(
        &self,
        attempt: &Attempt,
        customer: &ProcessorCustomer,
        id: Option<String>,
    ) -> Result<Verdict<PaymentMethod>, Doubt>;
    /// Starts a subscription of so many payments for the checkout, or answers the one that it has
    /// and that has not ended, or the one that this call made. The end is given with it: nothing
    /// bills for ever.
    async fn create_subscription(
        &self,
        attempt: &Attempt,
        request: &SubscriptionRequest,
    ) -> Result<Verdict<Subscription>, Doubt>;
    /// The subscription with all its invoices; none when the processor does not know it.
    async fn subscription(
        &self,
        scope: Scope,
        subscription_id: &str,
    ) -> Result<Option<Subscription>, Doubt>;
    /// Every subscription that was ever made for the checkout with its invoices, by the customer's
    /// list, which shows what was just made.
    async fn subscriptions_of(
        &self,
        scope: Scope,
        customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Subscription>, Doubt>;
    /// Has the subscription end by itself at that instant, without a part of a month.
    async fn set_end(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
        ends_at: Timestamp,
    ) -> Result<Verdict<()>, Doubt>;
    /// Has the subscription pay with this method from now on, and pays its open invoices with it.
    /// Refused when the bank declines one. Answers the subscription with all its invoices.
    async fn pay_invoices(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
        method_id: &str,
    ) -> Result<Verdict<Subscription>, Doubt>;
    /// Ends a subscription at once, without a further payment. One that has ended is done.
    async fn cancel_subscription(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
    ) -> Result<Verdict<()>, Doubt>;
    /// Whether it has pages of its own, where this organization's customers pay and leave cards.
    async fn has_pages(&self, _scope: Scope) -> Result<bool, Doubt> {
        Ok(false)
    }
    /// Opens a session on the processor's own pages, for the customer to pay or to leave a card.
    async fn open_session(
        &self,
        _attempt: &Attempt,
        _request: &SessionRequest,
    ) -> Result<Verdict<HostedSession>, Doubt> {
        Err(Doubt::unconfigured(NO_PAGES))
    }
    /// How the session stands; none when the processor does not know it.
    async fn session(
        &self,
        _scope: Scope,
        _session_id: &str,
    ) -> Result<Option<HostedSession>, Doubt> {
        Err(Doubt::unconfigured(NO_PAGES))
    }
    /// Closes the session, so that nobody pays there any more. One that is over already is answered as
    /// it is: it may have been paid meanwhile.
    async fn expire_session(
        &self,
        _attempt: &Attempt,
        _session_id: &str,
    ) -> Result<Verdict<HostedSession>, Doubt> {
        Err(Doubt::unconfigured(NO_PAGES))
    }
    /// Why the payment of this invoice failed the last time; nothing when it did not.
    ///
    /// A message that a recurring payment failed does not say why: this does.
    async fn payment_failure(
        &self,
        _scope: Scope,
        _invoice_id: &str,
    ) -> Result<Option<Refusal>, Doubt> {
        Ok(None)
    }
    /// The invoice that this payment pays; none when it pays none. A dispute names the payment
    /// alone.
    async fn invoice_of_payment(
        &self,
        _mode: Mode,
        _payment_intent_id: &str,
    ) -> Result<Option<Invoice>, Doubt> {
        Ok(None)
    }
    /// A page of all subscriptions of the account, ended ones too, without their invoices.
    async fn walk_subscriptions(
        &self,
        _mode: Mode,
        _after: Option<String>,
    ) -> Result<WalkPage<Subscription>, Doubt> {
        Ok(WalkPage::nothing())
    }
    /// A page of the account's invoices of subscriptions that were made since.
    async fn walk_invoices(
        &self,
        _mode: Mode,
        _since: Timestamp,
        _after: Option<String>,
    ) -> Result<WalkPage<(CheckoutPubId, Invoice)>, Doubt> {
        Ok(WalkPage::nothing())
    }
    /// A page of the account's authorizations of checkouts that were made since.
    async fn walk_deposits(
        &self,
        _mode: Mode,
        _since: Timestamp,
        _after: Option<String>,
    ) -> Result<WalkPage<Authorization>, Doubt> {
        Ok(WalkPage::nothing())
    }
    /// A page of the account's refunds that were made since.
    async fn walk_refunds(
        &self,
        _mode: Mode,
        _since: Timestamp,
        _after: Option<String>,
    ) -> Result<WalkPage<Refund>, Doubt> {
        Ok(WalkPage::nothing())
    }
    /// A page of the account's disputes that began since.
    async fn walk_disputes(
        &self,
        _mode: Mode,
        _since: Timestamp,
        _after: Option<String>,
    ) -> Result<WalkPage<Dispute>, Doubt> {
        Ok(WalkPage::nothing())
    }
    /// A page of the messages that the processor sent, or tried to send, after the one that is
    /// named, oldest first; without one, those since. It keeps them for 30 days.
    async fn walk_messages(
        &self,
        _mode: Mode,
        _since: Timestamp,
        _after: Option<String>,
    ) -> Result<WalkPage<InboxMessage>, Doubt> {
        Ok(WalkPage::nothing())
    }
}
