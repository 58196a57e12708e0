//! The domain's ports, carried out through the client.

use std::sync::Arc;

use async_trait::async_trait;
use lessor_domain::access::Mode;
use lessor_domain::checkout::{Invoice, PaymentMethod, Refusal};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{Authorization, Dispute, Refund, Subscription};
use lessor_domain::money::Money;
use lessor_domain::ports::{
    Answer, Call, Capture, DepositRequest, Doubt, IdentityResult, IdentitySession,
    IdentityVerifier, InboxMessage, PaymentProcessor, Person, ProcessorCustomer, ProcessorProduct,
    ProcessorVariant, SubscriptionRequest, Voided, Walked,
};
use lessor_domain::time::Timestamp;

use super::client::Client;
use super::retry::{Pacing, SystemPacing};
use super::settings::{Settings, SetupError};
use super::transport::{Transport, over_http};
use super::{
    catalog, customers, deposits, identity, invoices, payment_methods, payments, refunds,
    subscriptions, walks,
};

/// The payment processor and identity verifier, over HTTP.
///
/// One serves both modes, each with its own key; a mode without a key answers
/// [`Doubt::Unconfigured`]. Clones share connections.
#[derive(Debug, Clone)]
pub struct HttpProcessor {
    client: Client,
}

impl HttpProcessor {
    /// Sets it up with the system's timer.
    ///
    /// # Errors
    /// [`SetupError`] when the settings cannot be.
    pub fn new(settings: &Settings) -> Result<Self, SetupError> {
        Self::paced(settings, Arc::new(SystemPacing))
    }

    /// Sets it up with a timer of one's own.
    ///
    /// # Errors
    /// [`SetupError`] when the settings cannot be.
    pub fn paced(settings: &Settings, pacing: Arc<dyn Pacing>) -> Result<Self, SetupError> {
        Self::over(over_http(settings)?, settings, pacing)
    }

    /// Sets it up with a timer and a [`Transport`] of one's own, to which it says paths and queries;
    /// of the settings' base URL only the path counts then, and none of its time limits.
    ///
    /// # Errors
    /// [`SetupError`] when the settings cannot be.
    pub fn over(
        transport: Arc<dyn Transport>,
        settings: &Settings,
        pacing: Arc<dyn Pacing>,
    ) -> Result<Self, SetupError> {
        let client = Client::new(transport, settings, pacing)?;
        Ok(Self { client })
    }
}

#[async_trait]
impl PaymentProcessor for HttpProcessor {
    async fn push_product(
        &self,
        call: &Call,
        product: &ProcessorProduct,
    ) -> Result<Answer<()>, Doubt> {
        catalog::push_product(&self.client, call, product).await
    }

    async fn push_variant(
        &self,
        call: &Call,
        variant: &ProcessorVariant,
    ) -> Result<Answer<()>, Doubt> {
        catalog::push_variant(&self.client, call, variant).await
    }

    async fn push_customer(
        &self,
        call: &Call,
        customer: &ProcessorCustomer,
    ) -> Result<Answer<String>, Doubt> {
        customers::push(&self.client, call, customer).await
    }

    async fn authorize_deposit(
        &self,
        call: &Call,
        request: &DepositRequest,
    ) -> Result<Answer<Authorization>, Doubt> {
        deposits::authorize(&self.client, call, request).await
    }

    async fn capture_deposit(
        &self,
        call: &Call,
        payment_intent_id: &str,
    ) -> Result<Answer<Capture>, Doubt> {
        deposits::capture(&self.client, call, payment_intent_id).await
    }

    async fn void_deposit(
        &self,
        call: &Call,
        payment_intent_id: &str,
    ) -> Result<Answer<Voided>, Doubt> {
        deposits::void(&self.client, call, payment_intent_id).await
    }

    async fn deposit(
        &self,
        mode: Mode,
        payment_intent_id: &str,
    ) -> Result<Option<Authorization>, Doubt> {
        deposits::deposit(&self.client, mode, payment_intent_id).await
    }

    async fn deposits_of(
        &self,
        mode: Mode,
        customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Authorization>, Doubt> {
        deposits::of_checkout(&self.client, mode, customer, checkout).await
    }

    async fn refund(
        &self,
        call: &Call,
        payment_intent_id: &str,
        at_most: Money,
    ) -> Result<Answer<Option<Refund>>, Doubt> {
        refunds::refund(&self.client, call, payment_intent_id, at_most).await
    }

    async fn payment_method(
        &self,
        call: &Call,
        customer: &ProcessorCustomer,
        id: Option<String>,
    ) -> Result<Answer<PaymentMethod>, Doubt> {
        payment_methods::set_up(&self.client, call, customer, id.as_deref()).await
    }

    async fn create_subscription(
        &self,
        call: &Call,
        request: &SubscriptionRequest,
    ) -> Result<Answer<Subscription>, Doubt> {
        subscriptions::create(&self.client, call, request).await
    }

    async fn subscription(
        &self,
        mode: Mode,
        subscription_id: &str,
    ) -> Result<Option<Subscription>, Doubt> {
        subscriptions::read(&self.client, mode, subscription_id).await
    }

    async fn subscriptions_of(
        &self,
        mode: Mode,
        customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Subscription>, Doubt> {
        subscriptions::of_checkout(&self.client, mode, customer, checkout).await
    }

    async fn set_end(
        &self,
        call: &Call,
        subscription_id: &str,
        ends_at: Timestamp,
    ) -> Result<Answer<()>, Doubt> {
        subscriptions::set_end(&self.client, call, subscription_id, ends_at).await
    }

    async fn pay_invoices(
        &self,
        call: &Call,
        subscription_id: &str,
        method_id: &str,
    ) -> Result<Answer<Subscription>, Doubt> {
        payments::pay(&self.client, call, subscription_id, method_id).await
    }

    async fn cancel_subscription(
        &self,
        call: &Call,
        subscription_id: &str,
    ) -> Result<Answer<()>, Doubt> {
        subscriptions::cancel(&self.client, call, subscription_id).await
    }

    async fn payment_failure(
        &self,
        mode: Mode,
        invoice_id: &str,
    ) -> Result<Option<Refusal>, Doubt> {
        Ok(invoices::payment_failure(&self.client, mode, invoice_id).await?)
    }

    async fn invoice_of_payment(
        &self,
        mode: Mode,
        payment_intent_id: &str,
    ) -> Result<Option<Invoice>, Doubt> {
        invoices::of_payment(&self.client, mode, payment_intent_id).await
    }

    async fn walk_subscriptions(
        &self,
        mode: Mode,
        after: Option<String>,
    ) -> Result<Walked<Subscription>, Doubt> {
        walks::subscriptions(&self.client, mode, after).await
    }

    async fn walk_invoices(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<Walked<(CheckoutPubId, Invoice)>, Doubt> {
        walks::invoices(&self.client, mode, since, after).await
    }

    async fn walk_deposits(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<Walked<Authorization>, Doubt> {
        walks::deposits(&self.client, mode, since, after).await
    }

    async fn walk_refunds(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<Walked<Refund>, Doubt> {
        walks::refunds(&self.client, mode, since, after).await
    }

    async fn walk_disputes(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<Walked<Dispute>, Doubt> {
        walks::disputes(&self.client, mode, since, after).await
    }

    async fn walk_messages(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<Walked<InboxMessage>, Doubt> {
        walks::messages(&self.client, mode, since, after).await
    }
}

#[async_trait]
impl IdentityVerifier for HttpProcessor {
    async fn start(
        &self,
        call: &Call,
        checkout: CheckoutPubId,
        person: &Person,
    ) -> Result<Answer<IdentitySession>, Doubt> {
        identity::start(&self.client, call, checkout, person).await
    }

    async fn result(&self, mode: Mode, session_id: &str) -> Result<IdentityResult, Doubt> {
        identity::result(&self.client, mode, session_id).await
    }
}
