//! Organizations' own accounts: who is called with whose key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::stripe::{ApiSecret, HttpProcessor};
use async_trait::async_trait;
use lessor_domain::access::Mode;
use lessor_domain::cause::tried;
use lessor_domain::checkout::{Invoice, PaymentMethod, Refusal};
use lessor_domain::ids::{CheckoutPubId, OrganizationId};
use lessor_domain::ledger::{Authorization, Dispute, HostedSession, Refund, Subscription};
use lessor_domain::money::Money;
use lessor_domain::ports::{
    Attempt, Capture, Database, DepositRequest, Doubt, IdentityProgress, IdentityResult,
    IdentitySession, IdentityVerifier, InboxMessage, PaymentProcessor, Person, ProcessorAccounts,
    ProcessorCustomer, ProcessorProduct, ProcessorVariant, Scope, SessionRequest, StoreError,
    SubscriptionRequest, Verdict, VoidResult, WalkPage,
};
use lessor_domain::time::Timestamp;

/// How long an account that was looked up is taken for unchanged: an account that is set is in force within
/// five seconds, the look-up's own time included.
const FRESH: Duration = Duration::from_secs(3);
/// More accounts than this are not kept at a time.
const MOST: usize = 10_000;

#[derive(Clone)]
struct Known {
    since: Instant,
    /// None where the organization has no account of the mode.
    account: Option<HttpProcessor>,
}

/// The organizations' own accounts of a database. Clones share what they know.
#[derive(Clone)]
pub struct OwnAccounts {
    database: Arc<dyn Database>,
    /// The way to the processor, with whatever keys.
    way: HttpProcessor,
    known: Arc<Mutex<HashMap<(OrganizationId, Mode), Known>>>,
    fresh: Duration,
}

impl OwnAccounts {
    /// The accounts that are kept in this database, whose secrets it can open, at the same place and by the
    /// same way as this processor.
    #[must_use]
    pub fn new(database: Arc<dyn Database>, way: HttpProcessor) -> Self {
        Self {
            database,
            way,
            known: Arc::default(),
            fresh: FRESH,
        }
    }

    /// The processor with the key of the organization's own account of the mode; none where it has none.
    ///
    /// # Errors
    /// As [`ProcessorAccounts::of`].
    async fn find(&self, scope: Scope) -> Result<Option<HttpProcessor>, Doubt> {
        let key = (scope.organization_id, scope.mode);
        let now = Instant::now();
        let known = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(&key).cloned()
        };
        if let Some(known) = known
            && now.saturating_duration_since(known.since) < self.fresh
        {
            return Ok(known.account);
        }
        let account = self.look_up(scope).await?;
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(
            key,
            Known {
                since: now,
                account: account.clone(),
            },
        );
        Ok(account)
    }

    async fn look_up(&self, scope: Scope) -> Result<Option<HttpProcessor>, Doubt> {
        let (organization, mode) = (scope.organization_id, scope.mode);
        let found = async {
            let mut view = self.database.read(organization.into()).await?;
            view.processor_accounts().get(organization, mode).await
        };
        let what = || format!("the account of organization {organization} in {mode} mode");
        let account = match found.await {
            Ok(account) => account,
            Err(error @ (StoreError::Unavailable(_) | StoreError::Contended)) => {
                return Err(Doubt::unreachable(tried(what(), error)));
            }
            Err(error) => return Err(Doubt::failed(tried(what(), error))),
        };
        let Some(account) = account else {
            return Ok(None);
        };
        let secret = ApiSecret::new(account.key.expose());
        let secret =
            secret.ok_or_else(|| Doubt::failed(format!("{}: the key is blank", what())))?;
        let processor = self.way.with_key(mode, &secret);
        let processor = processor.map_err(|error| Doubt::failed(tried(what(), error)))?;
        Ok(Some(processor))
    }
}

#[async_trait]
impl ProcessorAccounts for OwnAccounts {
    async fn of(&self, scope: Scope) -> Result<Option<Arc<dyn PaymentProcessor>>, Doubt> {
        let found = self.find(scope).await?;
        Ok(found.map(|account| Arc::new(account) as Arc<dyn PaymentProcessor>))
    }
}

/// The payment processor and identity verifier of a mode, which calls the organization's own account
/// where it has one, and else those that all share. What names no organization is the shared one's.
#[derive(Clone)]
pub struct ByAccount {
    accounts: OwnAccounts,
    processor: Arc<dyn PaymentProcessor>,
    identity: Arc<dyn IdentityVerifier>,
}

impl ByAccount {
    /// These accounts, and who is called for everybody else.
    #[must_use]
    pub const fn new(
        accounts: OwnAccounts,
        processor: Arc<dyn PaymentProcessor>,
        identity: Arc<dyn IdentityVerifier>,
    ) -> Self {
        Self {
            accounts,
            processor,
            identity,
        }
    }

    async fn of(&self, scope: Scope) -> Result<Arc<dyn PaymentProcessor>, Doubt> {
        Ok(match self.accounts.find(scope).await? {
            Some(account) => Arc::new(account),
            None => Arc::clone(&self.processor),
        })
    }

    async fn verifier(&self, scope: Scope) -> Result<Arc<dyn IdentityVerifier>, Doubt> {
        Ok(match self.accounts.find(scope).await? {
            Some(account) => Arc::new(account),
            None => Arc::clone(&self.identity),
        })
    }
}

#[async_trait]
impl PaymentProcessor for ByAccount {
    async fn push_product(
        &self,
        attempt: &Attempt,
        product: &ProcessorProduct,
    ) -> Result<Verdict<()>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.push_product(attempt, product).await
    }

    async fn push_variant(
        &self,
        attempt: &Attempt,
        variant: &ProcessorVariant,
    ) -> Result<Verdict<()>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.push_variant(attempt, variant).await
    }

    async fn push_customer(
        &self,
        attempt: &Attempt,
        customer: &ProcessorCustomer,
    ) -> Result<Verdict<String>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.push_customer(attempt, customer).await
    }

    async fn authorize_deposit(
        &self,
        attempt: &Attempt,
        request: &DepositRequest,
    ) -> Result<Verdict<Authorization>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.authorize_deposit(attempt, request).await
    }

    async fn capture_deposit(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
    ) -> Result<Verdict<Capture>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.capture_deposit(attempt, payment_intent_id).await
    }

    async fn void_deposit(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
    ) -> Result<Verdict<VoidResult>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.void_deposit(attempt, payment_intent_id).await
    }

    async fn deposit(
        &self,
        scope: Scope,
        payment_intent_id: &str,
    ) -> Result<Option<Authorization>, Doubt> {
        let account = self.of(scope).await?;
        account.deposit(scope, payment_intent_id).await
    }

    async fn deposits_of(
        &self,
        scope: Scope,
        customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Authorization>, Doubt> {
        let account = self.of(scope).await?;
        account.deposits_of(scope, customer, checkout).await
    }

    async fn refund(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
        at_most: Money,
    ) -> Result<Verdict<Option<Refund>>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.refund(attempt, payment_intent_id, at_most).await
    }

    async fn payment_method(
        &self,
        attempt: &Attempt,
        customer: &ProcessorCustomer,
        id: Option<String>,
    ) -> Result<Verdict<PaymentMethod>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.payment_method(attempt, customer, id).await
    }

    async fn has_pages(&self, scope: Scope) -> Result<bool, Doubt> {
        self.of(scope).await?.has_pages(scope).await
    }

    async fn open_session(
        &self,
        attempt: &Attempt,
        request: &SessionRequest,
    ) -> Result<Verdict<HostedSession>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.open_session(attempt, request).await
    }

    async fn session(
        &self,
        scope: Scope,
        session_id: &str,
    ) -> Result<Option<HostedSession>, Doubt> {
        let account = self.of(scope).await?;
        account.session(scope, session_id).await
    }

    async fn expire_session(
        &self,
        attempt: &Attempt,
        session_id: &str,
    ) -> Result<Verdict<HostedSession>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.expire_session(attempt, session_id).await
    }

    async fn create_subscription(
        &self,
        attempt: &Attempt,
        request: &SubscriptionRequest,
    ) -> Result<Verdict<Subscription>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.create_subscription(attempt, request).await
    }

    async fn subscription(
        &self,
        scope: Scope,
        subscription_id: &str,
    ) -> Result<Option<Subscription>, Doubt> {
        let account = self.of(scope).await?;
        account.subscription(scope, subscription_id).await
    }

    async fn subscriptions_of(
        &self,
        scope: Scope,
        customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Subscription>, Doubt> {
        let account = self.of(scope).await?;
        account.subscriptions_of(scope, customer, checkout).await
    }

    async fn set_end(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
        ends_at: Timestamp,
    ) -> Result<Verdict<()>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.set_end(attempt, subscription_id, ends_at).await
    }

    async fn pay_invoices(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
        method_id: &str,
    ) -> Result<Verdict<Subscription>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account
            .pay_invoices(attempt, subscription_id, method_id)
            .await
    }

    async fn cancel_subscription(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
    ) -> Result<Verdict<()>, Doubt> {
        let account = self.of(attempt.into()).await?;
        account.cancel_subscription(attempt, subscription_id).await
    }

    async fn payment_failure(
        &self,
        scope: Scope,
        invoice_id: &str,
    ) -> Result<Option<Refusal>, Doubt> {
        let account = self.of(scope).await?;
        account.payment_failure(scope, invoice_id).await
    }

    async fn invoice_of_payment(
        &self,
        mode: Mode,
        payment_intent_id: &str,
    ) -> Result<Option<Invoice>, Doubt> {
        self.processor
            .invoice_of_payment(mode, payment_intent_id)
            .await
    }

    async fn walk_subscriptions(
        &self,
        mode: Mode,
        after: Option<String>,
    ) -> Result<WalkPage<Subscription>, Doubt> {
        self.processor.walk_subscriptions(mode, after).await
    }

    async fn walk_invoices(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<WalkPage<(CheckoutPubId, Invoice)>, Doubt> {
        self.processor.walk_invoices(mode, since, after).await
    }

    async fn walk_deposits(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<WalkPage<Authorization>, Doubt> {
        self.processor.walk_deposits(mode, since, after).await
    }

    async fn walk_refunds(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<WalkPage<Refund>, Doubt> {
        self.processor.walk_refunds(mode, since, after).await
    }

    async fn walk_disputes(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<WalkPage<Dispute>, Doubt> {
        self.processor.walk_disputes(mode, since, after).await
    }

    async fn walk_messages(
        &self,
        mode: Mode,
        since: Timestamp,
        after: Option<String>,
    ) -> Result<WalkPage<InboxMessage>, Doubt> {
        self.processor.walk_messages(mode, since, after).await
    }
}

#[async_trait]
impl IdentityVerifier for ByAccount {
    async fn start(
        &self,
        attempt: &Attempt,
        checkout: CheckoutPubId,
        person: &Person,
        return_url: Option<String>,
    ) -> Result<Verdict<IdentitySession>, Doubt> {
        let account = self.verifier(attempt.into()).await?;
        account.start(attempt, checkout, person, return_url).await
    }

    async fn result(&self, scope: Scope, session_id: &str) -> Result<IdentityResult, Doubt> {
        let account = self.verifier(scope).await?;
        account.result(scope, session_id).await
    }

    async fn progress(&self, scope: Scope, session_id: &str) -> Result<IdentityProgress, Doubt> {
        let account = self.verifier(scope).await?;
        account.progress(scope, session_id).await
    }
}

#[cfg(test)]
mod tests {
    use lessor_domain::ids::OrganizationId;
    use lessor_domain::ports::Reach;
    use lessor_domain::processor_account::ProcessorAccount;
    use lessor_domain::secret::Secret;
    use lessor_domain::testing::{Fixtures, MemoryDatabase};

    use super::super::stripe::{ProcessorSettings, RetryPolicy, SystemPacing};
    use super::super::stripe::{RawResponse, Sent, Transport};
    use super::*;
    use crate::missing_provider::MissingProvider;

    /// Answers that there is no such thing, and notes with whose key it was asked.
    #[derive(Default)]
    struct Ear(Mutex<Vec<String>>);

    #[async_trait]
    impl Transport for Ear {
        async fn send(&self, sent: Sent) -> Result<RawResponse, lessor_domain::cause::Cause> {
            self.0.lock().unwrap().push(sent.authorization);
            Ok(RawResponse {
                status: 404,
                headers: Vec::new(),
                body: br#"{"error":{"code":"resource_missing","type":"invalid_request_error"}}"#
                    .to_vec(),
            })
        }
    }

    async fn organization(database: &MemoryDatabase, make: &Fixtures) -> OrganizationId {
        let mut uow = database.begin(Reach::Server).await.unwrap();
        let new = make.organization().new_record();
        let made = uow.organizations().insert(&new).await.unwrap();
        uow.commit().await.unwrap();
        made.id
    }

    async fn set(database: &MemoryDatabase, scope: Scope, key: &str) {
        let now = Timestamp::UNIX_EPOCH;
        let mut account = ProcessorAccount {
            organization_id: scope.organization_id,
            mode: scope.mode,
            key: Secret::new(key.to_owned()),
            webhook_secrets: vec![Secret::new("whsec_1234".to_owned())],
            created_at: now,
            updated_at: now,
            version: 1,
        };
        let mut uow = database.begin(scope.organization_id.into()).await.unwrap();
        let store = uow.processor_accounts();
        match store.get(scope.organization_id, scope.mode).await.unwrap() {
            Some(known) => {
                account.version = known.version;
                store.update(&mut account).await.unwrap();
            }
            None => store.insert(&mut account).await.unwrap(),
        }
        uow.commit().await.unwrap();
    }

    #[test]
    fn an_account_is_in_force_within_five_seconds() {
        assert!(FRESH <= Duration::from_secs(5));
    }

    #[tokio::test]
    async fn each_is_called_with_its_own_key_and_soon_with_a_new_one() {
        const FRESH: Duration = Duration::from_millis(200);
        let (database, make) = (MemoryDatabase::new(), Fixtures::default());
        let rich = organization(&database, &make).await;
        let poor = organization(&database, &make).await;
        let scope = |organization_id, mode| Scope {
            organization_id,
            mode,
        };
        set(&database, scope(rich, Mode::Sandbox), "sk_test_own").await;
        let ear = Arc::new(Ear::default());
        let settings = ProcessorSettings {
            sandbox_key: ApiSecret::new("sk_test_shared"),
            retry: RetryPolicy {
                attempts: 1,
                ..RetryPolicy::default()
            },
            ..ProcessorSettings::default()
        };
        let shared = HttpProcessor::over(ear.clone(), &settings, Arc::new(SystemPacing)).unwrap();
        let mut accounts = OwnAccounts::new(Arc::new(database.clone()), shared.clone());
        accounts.fresh = FRESH;
        let of =
            |shared: Arc<HttpProcessor>| ByAccount::new(accounts.clone(), shared.clone(), shared);
        let sandbox = of(Arc::new(shared));
        let asked = async |organization, wanted: &str| {
            ear.0.lock().unwrap().clear();
            let scope = scope(organization, Mode::Sandbox);
            assert_eq!(sandbox.deposit(scope, "pi_1").await, Ok(None));
            let heard = ear.0.lock().unwrap().clone();
            assert_eq!(heard, [format!("Bearer {wanted}")]);
        };
        asked(rich, "sk_test_own").await;
        asked(poor, "sk_test_shared").await;
        // Looked up a moment ago.
        set(&database, scope(rich, Mode::Sandbox), "sk_test_rolled").await;
        set(&database, scope(poor, Mode::Sandbox), "sk_test_new").await;
        tokio::time::sleep(FRESH).await;
        asked(rich, "sk_test_rolled").await;
        asked(poor, "sk_test_new").await;

        // Nobody's live mode: what is missing is said, and the sandbox's key is not used for it.
        let missing = MissingProvider::new("this or that");
        let live = ByAccount::new(accounts.clone(), Arc::new(missing), Arc::new(missing));
        ear.0.lock().unwrap().clear();
        let answer = live.deposit(scope(rich, Mode::Live), "pi_1").await;
        assert!(matches!(answer, Err(Doubt::Unconfigured(_))), "{answer:?}");
        set(&database, scope(rich, Mode::Live), "sk_live_own").await;
        tokio::time::sleep(FRESH).await;
        let answer = live.deposit(scope(rich, Mode::Live), "pi_1").await;
        assert_eq!(answer, Ok(None));
        let answer = live.result(scope(poor, Mode::Live), "vs_1").await;
        assert!(matches!(answer, Err(Doubt::Unconfigured(_))), "{answer:?}");
        assert_eq!(ear.0.lock().unwrap().clone(), ["Bearer sk_live_own"]);
        let own = accounts.of(scope(poor, Mode::Live)).await.unwrap();
        assert!(own.is_none());
    }
}
