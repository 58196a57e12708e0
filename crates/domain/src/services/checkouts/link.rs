//! The addresses of checkout pages.

use async_trait::async_trait;

use super::lock_visible;
use crate::access::Permission;
use crate::audit::{AuditAction, AuditChange};
use crate::checkout::Checkout;
use crate::ids::CheckoutPubId;
use crate::ports::UnitOfWork;
use crate::services::audit::{self, Entry};
use crate::services::{Context, Error, UseCase};

/// Gives the checkout's page another address, in whatever state it is: the one that it had opens nothing
/// from then on, and is known as ended. Whoever calls it says which tokens
/// [open the page](super::set_page) now.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelinkCheckout {
    /// Which one.
    pub id: CheckoutPubId,
}

#[async_trait]
impl UseCase for RelinkCheckout {
    type Output = Checkout;

    fn permission(&self) -> Permission {
        Permission::CheckoutWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Checkout, Error> {
        let mut checkout = lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        relink(uow, ctx, &mut checkout).await?;
        Ok(checkout)
    }
}

/// Gives the page of the locked checkout another address, whoever asks for it.
///
/// # Errors
/// [`Error::Store`].
pub async fn relink(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &mut Checkout,
) -> Result<(), Error> {
    let mut page_nonce = [0_u8; 16];
    ctx.entropy.fill(&mut page_nonce);
    uow.checkouts().end_page(checkout.id, ctx.now).await?;
    checkout.relink(page_nonce, ctx.now);
    uow.checkouts().update(checkout).await?;
    // Neither of the addresses is for the audit to tell.
    let relinked = Entry {
        area: checkout.mode.into(),
        action: AuditAction::CheckoutRelinked,
        subject: checkout.id.into(),
        change: AuditChange::default(),
        customer: Some(checkout.customer_id),
    };
    audit::note(uow, ctx, relinked).await
}
