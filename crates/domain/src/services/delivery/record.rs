//! Writing what a provider answered.

use super::{Change, CrashPoint, Deliverer, Setback};
use crate::checkout::{
    Actor, Checkout, Circumstances, Event, Lifecycle, RecurringPaymentStatus, StockTaken,
};
use crate::customer::{CreditStatus, IdentityStatus};
use crate::ports::{
    Authorization, InvoiceNews, InvoiceOutcome, Job, JobSubject, StoreError, Subscription,
    UnitOfWork,
};
use crate::services::moving::{self, Due};
use crate::services::payments;
use crate::time::Timestamp;

impl Deliverer {
    /// Writes the answer and marks the job done, in one unit of work.
    pub(super) async fn write(&self, job: &Job, change: Change) -> Result<(), Setback> {
        let mut uow = self.database.begin().await?;
        let now = self.clock.now();
        if let JobSubject::Checkout(id) = job.new.subject {
            let mut checkout = moving::lock(uow.as_mut(), id).await?;
            self.change(
                uow.as_mut(),
                now,
                &mut checkout,
                change,
                moving::due_like(job),
            )
            .await?;
        }
        if uow.outbox().complete(job, now).await? {
            self.probe.reached(CrashPoint::Uncommitted, job.new.effect);
            uow.commit().await?;
            self.probe.reached(CrashPoint::Committed, job.new.effect);
        }
        // Otherwise somebody else has the job now: nothing of this try is written, and
        // theirs gets the same answer under the same key.
        Ok(())
    }

    async fn change(
        &self,
        uow: &mut dyn UnitOfWork,
        now: Timestamp,
        checkout: &mut Checkout,
        change: Change,
        due: Due,
    ) -> Result<(), Setback> {
        let ids = self.ids.as_ref();
        let by = Circumstances::new(now, Actor::Provider);
        let event = match change {
            Change::Nothing => return Ok(()),
            Change::Happened(event) => event,
            Change::IdentityStarted(session) => {
                let mut customer = uow
                    .customers()
                    .lock(checkout.customer_id)
                    .await?
                    .ok_or(StoreError::Missing("customer"))?;
                let screening = customer.screening_mut(checkout.mode);
                screening.identity = IdentityStatus::Pending;
                screening.verification_session_id = Some(session);
                customer.updated_at = now;
                uow.customers().update(&mut customer).await?;
                Event::IdentityStarted
            }
            Change::Identity(session, result) => {
                payments::decide(uow, ids, now, checkout, &session, result, due).await?;
                payments::ask_for_others(uow, ids, now, checkout).await?;
                return Ok(());
            }
            Change::Credit(passed) => {
                let mut customer = uow
                    .customers()
                    .lock(checkout.customer_id)
                    .await?
                    .ok_or(StoreError::Missing("customer"))?;
                let screening = customer.screening_mut(checkout.mode);
                screening.credit = if passed {
                    CreditStatus::Passed
                } else {
                    CreditStatus::Failed
                };
                screening.credit_at = Some(now);
                customer.updated_at = now;
                uow.customers().update(&mut customer).await?;
                if passed {
                    Event::Qualified
                } else {
                    Event::QualificationRefused
                }
            }
            Change::Authorized(authorization) => {
                self.authorized(uow, checkout, authorization).await?
            }
            Change::Renewed(authorization) => {
                checkout.deposit.payment_intent_id = Some(authorization.payment_intent_id);
                checkout.deposit.preauth_expires_at = Some(authorization.expires_at);
                return self.touch(uow, now, checkout).await;
            }
            Change::Document(id) => {
                checkout.lease_document_id = Some(id);
                return self.touch(uow, now, checkout).await;
            }
            Change::Unsubscribed => {
                checkout.recurring.status = RecurringPaymentStatus::Cancelled;
                return self.touch(uow, now, checkout).await;
            }
            Change::Subscribed(subscription) => {
                let start = subscription.start;
                let first = first_invoice(&subscription, now);
                let event = Event::SubscriptionStarted {
                    subscription_id: subscription.id,
                    start,
                };
                moving::apply(uow, ids, checkout, event, &by).await?;
                if let Some(news) = first {
                    payments::tally(uow, checkout, &news).await?;
                    self.touch(uow, now, checkout).await?;
                }
                return Ok(());
            }
        };
        moving::apply_due(uow, ids, checkout, event, &by, due).await?;
        Ok(())
    }

    async fn touch(
        &self,
        uow: &mut dyn UnitOfWork,
        now: Timestamp,
        checkout: &mut Checkout,
    ) -> Result<(), Setback> {
        checkout.updated_at = now;
        Ok(uow.checkouts().update(checkout).await?)
    }

    /// Takes the stock in the same unit of work in which the deposit counts.
    async fn authorized(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &Checkout,
        authorization: Authorization,
    ) -> Result<Event, Setback> {
        let stock = if checkout.lifecycle() == Lifecycle::DepositProcessing {
            uow.variants().take_stock(checkout.variant_id).await?
        } else {
            StockTaken::Untracked
        };
        let Authorization {
            payment_intent_id,
            expires_at,
            method,
        } = authorization;
        Ok(Event::DepositAuthorized {
            payment_intent_id,
            expires_at,
            method,
            stock,
        })
    }
}

/// What the subscription's own answer says of its first payment.
fn first_invoice(subscription: &Subscription, now: Timestamp) -> Option<InvoiceNews> {
    let invoice_id = subscription.first_invoice_id.clone()?;
    let outcome = match (
        &subscription.first_payment_failure,
        subscription.first_payment_paid,
    ) {
        (_, true) => InvoiceOutcome::Paid,
        (Some(refusal), false) => InvoiceOutcome::Failed {
            attempts: 1,
            refusal: refusal.clone(),
        },
        (None, false) => return None,
    };
    Some(InvoiceNews {
        invoice_id,
        outcome,
        at: now,
    })
}
