//! Mending what differs: mostly by asking for the work that takes the truth in.

use super::lease::Lease;
use super::{Difference, Reconciler};
use crate::checkout::{Effect, InvoiceOutcome};
use crate::ledger::{Entry, Thing};
use crate::ports::{Attempt, Verdict};
use crate::services::{Error, ledger, moving};
use crate::time::Timestamp;

impl Reconciler {
    pub(super) async fn mend(&self, lease: &Lease, difference: &Difference) -> Result<bool, Error> {
        let effect = match difference {
            Difference::Unrecorded { .. } | Difference::NotBilled => Effect::CreateSubscription,
            Difference::StillBilled { .. } => Effect::CancelSubscription,
            Difference::Status { .. } => Effect::CheckSubscription,
            Difference::StillHeld { .. } => Effect::VoidDeposit,
            Difference::Refund { .. } => Effect::RefundDeposit,
            Difference::End {
                subscription_id,
                ours,
                ..
            } => return self.set_end(lease, subscription_id, *ours).await,
            Difference::Double { subscription_id } => {
                return self.undo(lease, subscription_id).await;
            }
            // A person has to see why, before anything is taken or paid back.
            Difference::Lost { .. } | Difference::Price { .. } | Difference::Paid { .. } => {
                return Ok(false);
            }
            // Mended where they are found.
            Difference::Invoice { .. }
            | Difference::Deposit { .. }
            | Difference::Repaid { .. }
            | Difference::Dispute { .. } => return Ok(false),
        };
        let mut uow = self.begin(lease).await?;
        let checkout = moving::lock(uow.as_mut(), lease.checkout.id).await?;
        self.ask(uow.as_mut(), &checkout, effect).await?;
        if effect == Effect::RefundDeposit && !checkout.lifecycle().is_leased() {
            self.ask(uow.as_mut(), &checkout, Effect::RefundPayments)
                .await?;
        }
        uow.commit().await?;
        Ok(true)
    }

    fn attempt(&self, lease: &Lease, key: String) -> Attempt {
        let now = self.clock.now();
        Attempt {
            organization_id: lease.checkout.organization_id,
            mode: lease.checkout.mode,
            idempotency_key: key,
            first_tried_at: now,
            now,
        }
    }

    async fn set_end(&self, lease: &Lease, id: &str, ends_at: Timestamp) -> Result<bool, Error> {
        let mode = lease.checkout.mode;
        let key = format!("reconcile-end-{id}-{}", self.clock.now().timestamp());
        let attempt = self.attempt(lease, key);
        let processor = &self.providers.of(mode).processor;
        let answer = processor.set_end(&attempt, id, ends_at).await?;
        if matches!(answer, Verdict::Refused(_)) {
            return Ok(false);
        }
        let mut uow = self.begin(lease).await?;
        let checkout = moving::lock(uow.as_mut(), lease.checkout.id).await?;
        self.ask(uow.as_mut(), &checkout, Effect::CheckSubscription)
            .await?;
        uow.commit().await?;
        Ok(true)
    }

    /// Ends a subscription too many and pays back what it took.
    async fn undo(&self, lease: &Lease, id: &str) -> Result<bool, Error> {
        let (mode, checkout) = (lease.checkout.mode, lease.checkout.id);
        let processor = &self.providers.of(mode).processor;
        let attempt = self.attempt(lease, format!("reconcile-cancel-{id}"));
        if let Verdict::Refused(_) = processor.cancel_subscription(&attempt, id).await? {
            return Ok(false);
        }
        let Some(known) = processor.subscription((&lease.checkout).into(), id).await? else {
            return Ok(false);
        };
        let mut rows = vec![Entry::subscription(checkout, &known, 0, self.clock.now())];
        let mut is_whole = true;
        for invoice in &known.invoices {
            rows.push(Entry::of_invoice(checkout, invoice));
            let (Some(intent), InvoiceOutcome::Paid) =
                (&invoice.payment_intent_id, &invoice.outcome)
            else {
                continue;
            };
            let attempt = self.attempt(lease, format!("reconcile-refund-{intent}"));
            match processor.refund(&attempt, intent, invoice.amount).await? {
                Verdict::Done(Some(refund)) => rows.push(Entry::refund(checkout, &refund)),
                Verdict::Done(None) => {}
                Verdict::Refused(_) => is_whole = false,
            }
        }
        let mut uow = self.begin(lease).await?;
        moving::lock(uow.as_mut(), checkout).await?;
        for row in &rows {
            // What it took paid for no month of the term.
            let mut row = row.clone();
            if let Thing::Invoice { is_cycle, .. } = &mut row.thing {
                *is_cycle = false;
            }
            ledger::note(uow.as_mut(), mode, &row).await?;
        }
        uow.commit().await?;
        Ok(is_whole)
    }
}
