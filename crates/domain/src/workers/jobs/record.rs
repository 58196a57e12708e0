//! Writing what a provider answered.

use super::{Change, CrashPoint, Deliverer, Setback};
use crate::catalog::StockTaken;
use crate::checkout::{
    Actor, Checkout, Circumstances, Event, InvoiceNews, InvoiceOutcome, Lifecycle,
};
use crate::customer::{CreditStatus, IdentityStatus};
use crate::ports::{Job, JobSubject, StoreError, Subscription, UnitOfWork};
use crate::services::moving::{self, Due};
use crate::services::{payments, waitlist};
use crate::time::Timestamp;

impl Deliverer {
    /// Writes the answer and marks the job done, in one unit of work.
    pub(super) async fn write(&self, job: &Job, change: Change) -> Result<(), Setback> {
        let mut uow = self.database.begin().await?;
        let now = self.clock.now();
        match (job.new.subject, change) {
            (JobSubject::Checkout(id), change) => {
                let mut checkout = moving::lock(uow.as_mut(), id).await?;
                let due = Due::like(job);
                self.change(uow.as_mut(), now, &mut checkout, change, due)
                    .await?;
            }
            (_, Change::Promoted(variant)) => {
                let ids = self.ids.as_ref();
                waitlist::promote(uow.as_mut(), ids, now, job, variant).await?;
            }
            _ => {}
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
            Change::Nothing | Change::Promoted(_) => return Ok(()),
            Change::Happened(event) => event,
            Change::IdentityStarted(session) => {
                let mut customer = moving::lock_customer_of(uow, checkout).await?;
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
                let mut customer = moving::lock_customer_of(uow, checkout).await?;
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
            Change::Authorized { hold, method } => {
                let stock = take_stock(uow, checkout).await?;
                Event::deposit_authorized(hold, method, stock)
            }
            Change::Renewed(hold) => {
                if checkout.renew_hold(hold, now) {
                    uow.checkouts().update(checkout).await?;
                }
                return Ok(());
            }
            Change::Document(id) => {
                if checkout.take_in_document(id, now) {
                    uow.checkouts().update(checkout).await?;
                }
                return Ok(());
            }
            Change::Unsubscribed => {
                if checkout.end_billing(now) {
                    uow.checkouts().update(checkout).await?;
                }
                return Ok(());
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
                    payments::take_in_invoice(uow, now, checkout, &news).await?;
                }
                return Ok(());
            }
        };
        moving::apply_due(uow, ids, checkout, event, &by, due).await?;
        Ok(())
    }
}

/// Takes the stock in the same unit of work in which the deposit counts.
async fn take_stock(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
) -> Result<StockTaken, StoreError> {
    if checkout.lifecycle() == Lifecycle::DepositProcessing {
        uow.variants().take_stock(checkout.variant_id).await
    } else {
        Ok(StockTaken::Untracked)
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
