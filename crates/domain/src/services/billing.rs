//! What people do about monthly payments.

use async_trait::async_trait;

use super::audit::{self, Entry};
use super::checkouts::lock_visible;
use super::{Context, Error, UseCase, ledger, moving};
use crate::access::Permission;
use crate::audit::{AuditAction, Origin};
use crate::checkout::{Billing, Checkout, Effect, PaymentMethod};
use crate::ids::CheckoutPubId;
use crate::ports::{IdGenerator, UnitOfWork};
use crate::time::Timestamp;

/// An operator has a failed payment tried again, see [`try_again`].
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`], [`Error::Rule`] when nothing is to be paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPayments {
    /// Which one.
    pub id: CheckoutPubId,
    /// What pays from now on; left out, the method stays.
    pub method: Option<PaymentMethod>,
}

#[async_trait]
impl UseCase for RetryPayments {
    type Output = Checkout;

    fn permission(&self) -> Permission {
        Permission::CheckoutWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Checkout, Error> {
        let mut checkout = lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        try_again(
            uow,
            ctx.ids,
            ctx.now,
            ctx.origin,
            &mut checkout,
            self.method,
        )
        .await?;
        Ok(checkout)
    }
}

impl RetryPayments {
    /// The checkout, if a method could pay anything of it. Where none can no card need be touched:
    /// [`run`](UseCase::run) refuses.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Forbidden`].
    pub async fn takes_a_method(
        &self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<Option<Checkout>, Error> {
        let checkout = lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        let takes = match checkout.recurring.billing {
            Billing::NotRequested | Billing::Requested { .. } => false,
            Billing::Ended { .. } => checkout.is_to_be_billed(),
            Billing::Incomplete { .. } | Billing::Active { .. } => true,
        };
        Ok(takes.then_some(checkout))
    }
}

/// Has a failed payment tried again, with another method when one is given, which then pays from
/// now on: the open invoices are paid, or, when the subscription has ended with payments left,
/// another takes them.
///
/// # Errors
/// [`Error::Rule`] when nothing is to be paid.
pub async fn try_again(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    checkout: &mut Checkout,
    method: Option<PaymentMethod>,
) -> Result<(), Error> {
    let before = checkout.clone();
    let is_new = method.is_some_and(|method| checkout.change_method(method, now));
    let has_failed = checkout.recurring.failure_count > 0;
    let effect = match checkout.recurring.billing.clone() {
        Billing::Ended { .. } if checkout.bill_again(now) => Effect::CreateSubscription,
        Billing::Incomplete { .. } => Effect::PayInvoices,
        Billing::Active { .. } if has_failed || is_new => Effect::PayInvoices,
        _ => {
            return Err(Error::rule(format!(
                "no payment of the checkout is to be tried again: it is {}, and its subscription \
                 is {}",
                checkout.lifecycle(),
                checkout.recurring.billing.status()
            )));
        }
    };
    uow.checkouts().update(checkout).await?;
    let retried = Entry::changed(AuditAction::CheckoutPaymentsRetried, &before, checkout);
    audit::record(uow, ids, now, origin, checkout.organization_id, retried).await?;
    ledger::ask_once(uow, ids, now, checkout, effect).await?;
    Ok(moving::release(uow, checkout, now).await?)
}
