//! The domain's ports, carried out through the client.

use std::sync::Arc;

use async_trait::async_trait;
use lessor_domain::access::Mode;
use lessor_domain::checkout::{Invoice, PaymentMethod, Refusal};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{Authorization, Dispute, HostedSession, Refund, Subscription};
use lessor_domain::money::Money;
use lessor_domain::ports::{
    Attempt, Capture, DepositRequest, Doubt, IdentityProgress, IdentityResult, IdentitySession,
    IdentityVerifier, InboxMessage, PaymentProcessor, Person, ProcessorCustomer, ProcessorProduct,
    ProcessorVariant, Scope, SessionRequest, SubscriptionRequest, Verdict, VoidResult, WalkPage,
};
use lessor_domain::time::Timestamp;

use super::client::Client;
use super::retry::{Pacing, SystemPacing};
use super::settings::{ApiSecret, ProcessorSettings, SetupError};
use super::transport::{Transport, over_http};
use super::{
    catalog, customers, deposits, identity, invoices, payment_methods, payments, refunds, sessions,
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
    pub fn new(settings: &ProcessorSettings) -> Result<Self, SetupError> {
        Self::paced(settings, Arc::new(SystemPacing))
    }

    /// Sets it up with a timer of one's own.
    ///
    /// # Errors
    /// [`SetupError`] when the settings cannot be.
    pub fn paced(
        settings: &ProcessorSettings,
        pacing: Arc<dyn Pacing>,
    ) -> Result<Self, SetupError> {
        Self::over(over_http(settings)?, settings, pacing)
    }

    /// Sets it up with a timer and a [`Transport`] of one's own, to which it says paths and queries;
    /// of the settings' base URL only the path counts then, and none of its time limits.
    ///
    /// # Errors
    /// [`SetupError`] when the settings cannot be.
    pub fn over(
        transport: Arc<dyn Transport>,
        settings: &ProcessorSettings,
        pacing: Arc<dyn Pacing>,
    ) -> Result<Self, SetupError> {
        let client = Client::new(transport, settings, pacing)?;
        Ok(Self { client })
    }

    /// The processor at the same place and by the same way, with this key of the mode and none of the
    /// other: another account's.
    ///
    /// # Errors
    /// [`SetupError::Key`] when no header can carry the key.
    pub fn with_key(&self, mode: Mode, key: &ApiSecret) -> Result<Self, SetupError> {
        let client = self.client.with_key(mode, key)?;
        Ok(Self { client })
    }
}

#[async_trait]
impl PaymentProcessor for HttpProcessor {
    async fn push_product(
        &self,
        attempt: &Attempt,
        product: &ProcessorProduct,
    ) -> Result<Verdict<()>, Doubt> {
        catalog::push_product(&self.client, attempt, product).await
    }

    async fn push_variant(
        &self,
        attempt: &Attempt,
        variant: &ProcessorVariant,
    ) -> Result<Verdict<()>, Doubt> {
        catalog::push_variant(&self.client, attempt, variant).await
    }

    async fn push_customer(
        &self,
        attempt: &Attempt,
        customer: &ProcessorCustomer,
    ) -> Result<Verdict<String>, Doubt> {
        customers::push(&self.client, attempt, customer).await
    }

    async fn authorize_deposit(
        &self,
        attempt: &Attempt,
        request: &DepositRequest,
    ) -> Result<Verdict<Authorization>, Doubt> {
        deposits::authorize(&self.client, attempt, request).await
    }

    async fn capture_deposit(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
    ) -> Result<Verdict<Capture>, Doubt> {
        deposits::capture(&self.client, attempt, payment_intent_id).await
    }

    async fn void_deposit(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
    ) -> Result<Verdict<VoidResult>, Doubt> {
        deposits::void(&self.client, attempt, payment_intent_id).await
    }

    async fn deposit(
        &self,
        scope: Scope,
        payment_intent_id: &str,
    ) -> Result<Option<Authorization>, Doubt> {
        deposits::deposit(&self.client, scope.mode, payment_intent_id).await
    }

    async fn deposits_of(
        &self,
        scope: Scope,
        customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Authorization>, Doubt> {
        deposits::of_checkout(&self.client, scope.mode, customer, checkout).await
    }

    async fn refund(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
        at_most: Money,
    ) -> Result<Verdict<Option<Refund>>, Doubt> {
        refunds::refund(&self.client, attempt, payment_intent_id, at_most).await
    }

    async fn payment_method(
        &self,
        attempt: &Attempt,
        customer: &ProcessorCustomer,
        id: Option<String>,
    ) -> Result<Verdict<PaymentMethod>, Doubt> {
        payment_methods::set_up(&self.client, attempt, customer, id.as_deref()).await
    }

    async fn has_pages(&self, _scope: Scope) -> Result<bool, Doubt> {
        Ok(true)
    }

    async fn open_session(
        &self,
        attempt: &Attempt,
        request: &SessionRequest,
    ) -> Result<Verdict<HostedSession>, Doubt> {
        sessions::open(&self.client, attempt, request).await
    }

    async fn session(
        &self,
        scope: Scope,
        session_id: &str,
    ) -> Result<Option<HostedSession>, Doubt> {
        sessions::read(&self.client, scope.mode, session_id).await
    }

    async fn expire_session(
        &self,
        attempt: &Attempt,
        session_id: &str,
    ) -> Result<Verdict<HostedSession>, Doubt> {
        sessions::expire(&self.client, attempt, session_id).await
    }

    async fn create_subscription(
        &self,
        attempt: &Attempt,
        request: &SubscriptionRequest,
    ) -> Result<Verdict<Subscription>, Doubt> {
        subscriptions::create(&self.client, attempt, request).await
    }

    async fn subscription(
        &self,
        scope: Scope,
        subscription_id: &str,
    ) -> Result<Option<Subscription>, Doubt> {
        subscriptions::read(&self.client, scope.mode, subscription_id).await
    }

    async fn subscriptions_of(
        &self,
        scope: Scope,
        customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Subscription>, Doubt> {
        subscriptions::of_checkout(&self.client, scope.mode, customer, checkout).await
    }

    async fn set_end(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
        ends_at: Timestamp,
    ) -> Result<Verdict<()>, Doubt> {
        subscriptions::set_end(&self.client, attempt, subscription_id, ends_at).await
    }

    async fn pay_invoices(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
        method_id: &str,
    ) -> Result<Verdict<Subscription>, Doubt> {
        payments::pay(&self.client, attempt, subscription_id, method_id).await
    }

    async fn cancel_subscription(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
    ) -> Result<Verdict<()>, Doubt> {
        subscriptions::cancel(&self.client, attempt, subscription_id).await
    }

    async fn payment_failure(
        &self,
        scope: Scope,
        invoice_id: &str,
    ) -> Result<Option<Refusal>, Doubt> {
        Ok(invoices::payment_failure(&self.client, scope.mode, invoice_id).await?)
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
    ) -> Result<WalkPage<Subscription>, Doubt> {
        walks::subscriptions(&self.client, mode, after).await
    }

    async fn walk_invoices(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<WalkPage<(CheckoutPubId, Invoice)>, Doubt> {
        walks::invoices(&self.client, mode, since, after).await
    }

    async fn walk_deposits(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<WalkPage<Authorization>, Doubt> {
        walks::deposits(&self.client, mode, since, after).await
    }

    async fn walk_refunds(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<WalkPage<Refund>, Doubt> {
        walks::refunds(&self.client, mode, since, after).await
    }

    async fn walk_disputes(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<WalkPage<Dispute>, Doubt> {
        walks::disputes(&self.client, mode, since, after).await
    }

    async fn walk_messages(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<WalkPage<InboxMessage>, Doubt> {
        walks::messages(&self.client, mode, since, after).await
    }
}

#[async_trait]
impl IdentityVerifier for HttpProcessor {
    async fn start(
        &self,
        attempt: &Attempt,
        checkout: CheckoutPubId,
        person: &Person,
        return_url: Option<String>,
    ) -> Result<Verdict<IdentitySession>, Doubt> {
        identity::start(&self.client, attempt, checkout, person, return_url).await
    }

    async fn result(&self, scope: Scope, session_id: &str) -> Result<IdentityResult, Doubt> {
        identity::result(&self.client, scope.mode, session_id).await
    }

    async fn progress(&self, scope: Scope, session_id: &str) -> Result<IdentityProgress, Doubt> {
        identity::progress(&self.client, scope.mode, session_id).await
    }
}
