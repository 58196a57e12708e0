//! The payment processor.

use async_trait::async_trait;

use super::Doubt;
use crate::access::Mode;
use crate::checkout::{PaymentMethod, Refusal};
use crate::ids::{CheckoutPubId, CustomerPubId, OrganizationPubId};
use crate::money::Money;
use crate::percentage::TermMonths;
use crate::time::{Day, Timestamp};

/// A call to a provider.
///
/// The idempotency key is the same for every try of the same work. A provider
/// keeps keys for a day at least: when `first_tried_at` is older, the adapter looks
/// the work up by our ids before it does it anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Live or sandbox.
    pub mode: Mode,
    /// Up to 255 characters.
    pub idempotency_key: String,
    /// When the work was first tried; now, for the first try.
    pub first_tried_at: Timestamp,
    /// Now.
    pub now: Timestamp,
}

/// What a provider answers: a refusal is a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
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
    /// Its name.
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
    /// The full name.
    pub name: Option<String>,
    /// The phone number.
    pub phone: Option<String>,
    /// The processor's id, when it is known.
    pub processor_id: Option<String>,
}

/// A deposit to be authorized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepositRequest {
    /// The checkout.
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

/// An authorized deposit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// The processor's id.
    pub payment_intent_id: String,
    /// When it ends unless captured.
    pub expires_at: Timestamp,
    /// The method that pays.
    pub method: Option<PaymentMethod>,
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
pub enum Voided {
    /// It is gone.
    Voided,
    /// It had been captured: a refund is needed.
    AlreadyCaptured(Capture),
}

/// A subscription to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionRequest {
    /// The checkout: there is one subscription for it, ever.
    pub checkout: CheckoutPubId,
    /// The lessor.
    pub organization: OrganizationPubId,
    /// The lessee.
    pub customer: ProcessorCustomer,
    /// What pays.
    pub payment_method: Option<String>,
    /// The processor's id of the variant.
    pub variant_processor_id: String,
    /// The variant's name.
    pub description: String,
    /// Monthly payment and insurance together.
    pub monthly: Money,
    /// How many payments in all, the first at once.
    pub months: TermMonths,
}

/// A subscription at the processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The processor's id.
    pub id: String,
    /// The day of the first payment, UTC.
    pub start: Day,
    /// The processor's id of the first payment's invoice.
    pub first_invoice_id: Option<String>,
    /// Whether the first payment was made.
    pub first_payment_paid: bool,
    /// Why the first payment failed, when it did.
    pub first_payment_failure: Option<Refusal>,
    /// Whether it has ended.
    pub ended: bool,
}

/// The payment processor.
///
/// Contract, for every call that changes something: the same key is the same work,
/// done once; [`Answer::Refused`] is final; [`Doubt`] means that nobody knows, and
/// the same call has to be made again.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait PaymentProcessor: Send + Sync {
    /// Makes the product known under its id, or brings what is known up to date.
    async fn push_product(
        &self,
        call: &Call,
        product: &ProcessorProduct,
    ) -> Result<Answer<()>, Doubt>;
    /// Makes the variant and its monthly prices known.
    async fn push_variant(
        &self,
        call: &Call,
        variant: &ProcessorVariant,
    ) -> Result<Answer<()>, Doubt>;
    /// Makes the customer known; answers the processor's id.
    async fn push_customer(
        &self,
        call: &Call,
        customer: &ProcessorCustomer,
    ) -> Result<Answer<String>, Doubt>;
    /// Authorizes a deposit for a later capture.
    async fn authorize_deposit(
        &self,
        call: &Call,
        request: &DepositRequest,
    ) -> Result<Answer<Authorization>, Doubt>;
    /// Captures an authorized deposit.
    async fn capture_deposit(
        &self,
        call: &Call,
        payment_intent_id: &str,
    ) -> Result<Answer<Capture>, Doubt>;
    /// Lets an authorized deposit go.
    async fn void_deposit(
        &self,
        call: &Call,
        payment_intent_id: &str,
    ) -> Result<Answer<Voided>, Doubt>;
    /// Pays a captured deposit back; `amount` of it, or all.
    async fn refund_deposit(
        &self,
        call: &Call,
        payment_intent_id: &str,
        amount: Option<Money>,
    ) -> Result<Answer<()>, Doubt>;
    /// The payment method of this id, set up for payments while the customer is away.
    async fn payment_method(
        &self,
        call: &Call,
        customer: &ProcessorCustomer,
        id: Option<String>,
    ) -> Result<Answer<PaymentMethod>, Doubt>;
    /// Starts the checkout's subscription, or answers the one that it has.
    async fn create_subscription(
        &self,
        call: &Call,
        request: &SubscriptionRequest,
    ) -> Result<Answer<Subscription>, Doubt>;
    /// Ends a subscription at once, without a further payment.
    async fn cancel_subscription(
        &self,
        call: &Call,
        subscription_id: &str,
    ) -> Result<Answer<()>, Doubt>;
    /// The checkout's subscriptions: one at the most, unless something went wrong.
    ///
    /// A processor may need a minute before it shows one that was just made.
    async fn subscriptions_of(
        &self,
        mode: Mode,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Subscription>, Doubt>;
    /// Why the payment of this invoice failed the last time; nothing when it did not.
    ///
    /// A message that a recurring payment failed does not say why: this does.
    async fn payment_failure(
        &self,
        _mode: Mode,
        _invoice_id: &str,
    ) -> Result<Option<Refusal>, Doubt> {
        Ok(None)
    }
}
