//! Providers of a mode that nobody has set up.

use std::sync::Arc;

use async_trait::async_trait;
use lessor_domain::checkout::PaymentMethod;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{Authorization, Refund, Subscription};
use lessor_domain::money::Money;
use lessor_domain::ports::{
    Attempt, Capture, CreditChecker, DepositRequest, Doubt, IdentityResult, IdentitySession,
    IdentityVerifier, PaymentProcessor, Person, ProcessorCustomer, ProcessorProduct,
    ProcessorVariant, Providers, Scope, SubscriptionRequest, Verdict, VoidResult,
};
use lessor_domain::pricing::Quote;
use lessor_domain::time::Timestamp;

/// Stands for providers that are not configured: every call answers
/// [`Doubt::Unconfigured`] with what there is to set, so that the work waits in the
/// jobs until somebody sets it.
#[derive(Debug, Clone, Copy)]
pub struct MissingProvider {
    variable: &'static str,
}

impl MissingProvider {
    /// Providers that are missing until the environment variable is set.
    #[must_use]
    pub const fn new(variable: &'static str) -> Self {
        Self { variable }
    }

    /// All three of them.
    #[must_use]
    pub fn providers(self) -> Providers {
        Providers {
            processor: Arc::new(self),
            identity: Arc::new(self),
            credit: Arc::new(self),
        }
    }

    fn doubt<T>(&self, what: &str) -> Result<T, Doubt> {
        Err(Doubt::unconfigured(format!(
            "there is no {what}: set {}",
            self.variable
        )))
    }

    fn processor<T>(&self) -> Result<T, Doubt> {
        self.doubt("payment processor")
    }
}

#[async_trait]
impl PaymentProcessor for MissingProvider {
    async fn push_product(&self, _: &Attempt, _: &ProcessorProduct) -> Result<Verdict<()>, Doubt> {
        self.processor()
    }

    async fn push_variant(&self, _: &Attempt, _: &ProcessorVariant) -> Result<Verdict<()>, Doubt> {
        self.processor()
    }

    async fn push_customer(
        &self,
        _: &Attempt,
        _: &ProcessorCustomer,
    ) -> Result<Verdict<String>, Doubt> {
        self.processor()
    }

    async fn authorize_deposit(
        &self,
        _: &Attempt,
        _: &DepositRequest,
    ) -> Result<Verdict<Authorization>, Doubt> {
        self.processor()
    }

    async fn capture_deposit(&self, _: &Attempt, _: &str) -> Result<Verdict<Capture>, Doubt> {
        self.processor()
    }

    async fn void_deposit(&self, _: &Attempt, _: &str) -> Result<Verdict<VoidResult>, Doubt> {
        self.processor()
    }

    async fn deposit(&self, _: Scope, _: &str) -> Result<Option<Authorization>, Doubt> {
        self.processor()
    }

    async fn deposits_of(
        &self,
        _: Scope,
        _: &ProcessorCustomer,
        _: CheckoutPubId,
    ) -> Result<Vec<Authorization>, Doubt> {
        self.processor()
    }

    async fn refund(
        &self,
        _: &Attempt,
        _: &str,
        _: Money,
    ) -> Result<Verdict<Option<Refund>>, Doubt> {
        self.processor()
    }

    async fn payment_method(
        &self,
        _: &Attempt,
        _: &ProcessorCustomer,
        _: Option<String>,
    ) -> Result<Verdict<PaymentMethod>, Doubt> {
        self.processor()
    }

    async fn create_subscription(
        &self,
        _: &Attempt,
        _: &SubscriptionRequest,
    ) -> Result<Verdict<Subscription>, Doubt> {
        self.processor()
    }

    async fn subscription(&self, _: Scope, _: &str) -> Result<Option<Subscription>, Doubt> {
        self.processor()
    }

    async fn subscriptions_of(
        &self,
        _: Scope,
        _: &ProcessorCustomer,
        _: CheckoutPubId,
    ) -> Result<Vec<Subscription>, Doubt> {
        self.processor()
    }

    async fn set_end(&self, _: &Attempt, _: &str, _: Timestamp) -> Result<Verdict<()>, Doubt> {
        self.processor()
    }

    async fn pay_invoices(
        &self,
        _: &Attempt,
        _: &str,
        _: &str,
    ) -> Result<Verdict<Subscription>, Doubt> {
        self.processor()
    }

    async fn cancel_subscription(&self, _: &Attempt, _: &str) -> Result<Verdict<()>, Doubt> {
        self.processor()
    }
}

#[async_trait]
impl IdentityVerifier for MissingProvider {
    async fn start(
        &self,
        _: &Attempt,
        _: CheckoutPubId,
        _: &Person,
        _: Option<String>,
    ) -> Result<Verdict<IdentitySession>, Doubt> {
        self.doubt("identity verifier")
    }

    async fn result(&self, _: Scope, _: &str) -> Result<IdentityResult, Doubt> {
        self.doubt("identity verifier")
    }
}

#[async_trait]
impl CreditChecker for MissingProvider {
    async fn check(&self, _: &Attempt, _: &Person, _: Option<Quote>) -> Result<Verdict<()>, Doubt> {
        self.doubt("credit checker")
    }
}

#[cfg(test)]
mod tests {
    use lessor_domain::access::Mode;
    use lessor_domain::ids::OrganizationId;

    use super::*;

    #[tokio::test]
    async fn says_what_to_set() {
        let providers = MissingProvider::new("LESSOR_PROCESSOR_LIVE_KEY").providers();
        let attempt = Attempt {
            organization_id: OrganizationId::new(1).unwrap(),
            mode: Mode::Live,
            idempotency_key: "captureDeposit-1".to_owned(),
            first_tried_at: chrono::DateTime::UNIX_EPOCH,
            now: chrono::DateTime::UNIX_EPOCH,
        };
        assert_eq!(
            providers.processor.capture_deposit(&attempt, "pi_1").await,
            Err(Doubt::unconfigured(
                "there is no payment processor: set LESSOR_PROCESSOR_LIVE_KEY"
            ))
        );
        let scope = Scope::from(&attempt);
        assert_eq!(
            providers.identity.result(scope, "vs_1").await,
            Err(Doubt::unconfigured(
                "there is no identity verifier: set LESSOR_PROCESSOR_LIVE_KEY"
            ))
        );
    }
}
