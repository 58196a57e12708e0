//! The simulated payment processor.

use std::sync::Arc;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use lessor_domain::access::Mode;
use lessor_domain::checkout::{Invoice, PaymentMethod, Refusal};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{Authorization, Refund, Subscription};
use lessor_domain::money::Money;
use lessor_domain::ports::{
    Attempt, Capture, DepositRequest, Doubt, Entropy, PaymentProcessor, ProcessorCustomer,
    ProcessorProduct, ProcessorVariant, Scope, SubscriptionRequest, Verdict, VoidResult,
};
use lessor_domain::time::Timestamp;
use serde_json::Value;

use super::desk::{Desk, close, connection, query_doubt, sandbox_only};
use super::invoices::{self, SimulatedInvoice};
use super::{billing, deposits, methods, refunds, subscriptions};
use crate::postgres::PgDatabase;
use crate::postgres::kept::Keep as _;
use crate::postgres::schema::simulated_products as products;

/// A payment processor that moves no money; see the [module](super) for how a test
/// asks for an outcome.
#[derive(Clone)]
pub struct SimulatedProcessor {
    desk: Desk,
}

impl SimulatedProcessor {
    /// The processor of this database.
    #[must_use]
    pub fn new(database: PgDatabase, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            desk: Desk::new(database, entropy),
        }
    }

    /// Does what a processor does as time passes: holds lapse, first payments that were not made
    /// are given up, and every cycle that has come by now is billed, each once, of every
    /// organization in its own name. Answers the invoices that were not
    /// [marked as told](Self::mark_told), oldest first. The first cycle is not among them unless it
    /// was given up: it is told when the subscription starts.
    ///
    /// Two that ask at the same time may get the same invoice: whoever takes it in
    /// tells by its id.
    ///
    /// # Errors
    /// [`Doubt`] when the database cannot be asked.
    pub async fn due_invoices(&self, now: Timestamp) -> Result<Vec<SimulatedInvoice>, Doubt> {
        deposits::lapse(&self.desk, now).await?;
        billing::due(&self.desk, now).await
    }

    /// Lessor has taken the invoice in: it is not told again.
    ///
    /// # Errors
    /// [`Doubt`] when the database cannot be asked.
    pub async fn mark_told(&self, invoice: &SimulatedInvoice, now: Timestamp) -> Result<(), Doubt> {
        billing::mark_told(&self.desk, invoice, now).await
    }

    /// An upsert by the id that we chose: what is known is what came last. Keys play
    /// no part, since a repeated call may well bring newer contents.
    async fn push(
        &self,
        attempt: &Attempt,
        product: &ProcessorProduct,
        prices: Value,
    ) -> Result<Verdict<()>, Doubt> {
        sandbox_only(attempt.mode)?;
        let mut work = self.desk.begin(attempt.organization_id).await?;
        diesel::insert_into(products::table)
            .values((
                products::id.eq(&product.id),
                products::name.eq(&product.name),
                products::description.eq(&product.description),
                products::active.eq(product.active),
                products::lessor_id.eq(product.organization.as_uuid()),
                products::monthly_prices.eq(prices),
                products::updated_at.eq(attempt.now),
            ))
            .on_conflict((products::organization_id, products::id))
            .do_update()
            .set((
                products::name.eq(excluded(products::name)),
                products::description.eq(excluded(products::description)),
                products::active.eq(excluded(products::active)),
                products::monthly_prices.eq(excluded(products::monthly_prices)),
                products::updated_at.eq(excluded(products::updated_at)),
            ))
            .kept()
            .execute(connection(&mut work)?)
            .await
            .map_err(query_doubt)?;
        close(work).await?;
        Ok(Verdict::Done(()))
    }
}

#[async_trait]
impl PaymentProcessor for SimulatedProcessor {
    async fn push_product(
        &self,
        attempt: &Attempt,
        product: &ProcessorProduct,
    ) -> Result<Verdict<()>, Doubt> {
        self.push(attempt, product, Value::Array(Vec::new())).await
    }

    async fn push_variant(
        &self,
        attempt: &Attempt,
        variant: &ProcessorVariant,
    ) -> Result<Verdict<()>, Doubt> {
        let prices = serde_json::to_value(&variant.monthly).map_err(Doubt::failed)?;
        self.push(attempt, &variant.product, prices).await
    }

    async fn push_customer(
        &self,
        attempt: &Attempt,
        customer: &ProcessorCustomer,
    ) -> Result<Verdict<String>, Doubt> {
        sandbox_only(attempt.mode)?;
        let mut work = self.desk.begin(attempt.organization_id).await?;
        let id = methods::push_customer(&mut work, &self.desk, customer, attempt.now).await?;
        close(work).await?;
        Ok(Verdict::Done(id))
    }

    async fn authorize_deposit(
        &self,
        attempt: &Attempt,
        request: &DepositRequest,
    ) -> Result<Verdict<Authorization>, Doubt> {
        deposits::authorize(&self.desk, attempt, request).await
    }

    async fn capture_deposit(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
    ) -> Result<Verdict<Capture>, Doubt> {
        deposits::capture(&self.desk, attempt, payment_intent_id).await
    }

    async fn void_deposit(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
    ) -> Result<Verdict<VoidResult>, Doubt> {
        deposits::void(&self.desk, attempt, payment_intent_id).await
    }

    async fn deposit(
        &self,
        scope: Scope,
        payment_intent_id: &str,
    ) -> Result<Option<Authorization>, Doubt> {
        sandbox_only(scope.mode)?;
        deposits::deposit(&self.desk, scope.organization_id, payment_intent_id).await
    }

    async fn deposits_of(
        &self,
        scope: Scope,
        _customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Authorization>, Doubt> {
        sandbox_only(scope.mode)?;
        deposits::of_checkout(&self.desk, scope.organization_id, checkout).await
    }

    async fn refund(
        &self,
        attempt: &Attempt,
        payment_intent_id: &str,
        at_most: Money,
    ) -> Result<Verdict<Option<Refund>>, Doubt> {
        refunds::refund(&self.desk, attempt, payment_intent_id, at_most).await
    }

    /// The same customer and id give the same method, whatever the key.
    async fn payment_method(
        &self,
        attempt: &Attempt,
        customer: &ProcessorCustomer,
        id: Option<String>,
    ) -> Result<Verdict<PaymentMethod>, Doubt> {
        sandbox_only(attempt.mode)?;
        let mut work = self.desk.begin(attempt.organization_id).await?;
        let found = methods::of_customer(
            &mut work,
            &self.desk,
            customer.id,
            id.as_deref(),
            attempt.now,
        )
        .await?;
        close(work).await?;
        Ok(match found {
            Ok(method) => Verdict::Done(method),
            Err(refusal) => Verdict::Refused(refusal),
        })
    }

    async fn create_subscription(
        &self,
        attempt: &Attempt,
        request: &SubscriptionRequest,
    ) -> Result<Verdict<Subscription>, Doubt> {
        subscriptions::create(&self.desk, attempt, request).await
    }

    async fn subscription(
        &self,
        scope: Scope,
        subscription_id: &str,
    ) -> Result<Option<Subscription>, Doubt> {
        sandbox_only(scope.mode)?;
        subscriptions::read(&self.desk, scope.organization_id, subscription_id).await
    }

    async fn subscriptions_of(
        &self,
        scope: Scope,
        _customer: &ProcessorCustomer,
        checkout: CheckoutPubId,
    ) -> Result<Vec<Subscription>, Doubt> {
        sandbox_only(scope.mode)?;
        subscriptions::of_checkout(&self.desk, scope.organization_id, checkout).await
    }

    async fn set_end(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
        ends_at: Timestamp,
    ) -> Result<Verdict<()>, Doubt> {
        subscriptions::set_end(&self.desk, attempt, subscription_id, ends_at).await
    }

    async fn pay_invoices(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
        method_id: &str,
    ) -> Result<Verdict<Subscription>, Doubt> {
        subscriptions::pay(&self.desk, attempt, subscription_id, method_id).await
    }

    async fn cancel_subscription(
        &self,
        attempt: &Attempt,
        subscription_id: &str,
    ) -> Result<Verdict<()>, Doubt> {
        subscriptions::cancel(&self.desk, attempt, subscription_id).await
    }

    async fn payment_failure(
        &self,
        scope: Scope,
        invoice_id: &str,
    ) -> Result<Option<Refusal>, Doubt> {
        sandbox_only(scope.mode)?;
        invoices::failure_of(&self.desk, scope.organization_id, invoice_id).await
    }

    async fn invoice_of_payment(
        &self,
        mode: Mode,
        payment_intent_id: &str,
    ) -> Result<Option<Invoice>, Doubt> {
        sandbox_only(mode)?;
        let owner = invoices::owner_of_payment(&self.desk, payment_intent_id).await?;
        match owner {
            Some(owner) => invoices::of_payment(&self.desk, owner, payment_intent_id).await,
            None => Ok(None),
        }
    }
}
