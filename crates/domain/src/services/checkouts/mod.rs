//! Creating, reading, moving and cancelling checkouts.

mod change;
mod create;
mod link;
mod rates;
mod view;

pub(crate) use change::set_term;
pub use change::{Annotate, CancelCheckout, ChooseTerm, MoveCheckout, SetInsurance};
pub use create::{CreateCheckout, CustomerInput, NewPage, PurchaseItemInput, VariantRef};
pub use link::{RelinkCheckout, relink};
pub use rates::quote_of;
pub(crate) use rates::{Rates, all_of, quotes_by, quotes_of};
pub use view::{
    CheckoutSummary, CheckoutView, Cost, GetCheckout, ListCheckouts, SummarizeCheckouts,
    ViewCheckout, WithView, view_now, view_of,
};
pub(crate) use view::{view_with, views_of};

use crate::access::Access;
use crate::checkout::Checkout;
use crate::ids::CheckoutPubId;
use crate::ports::{Scope, UnitOfWork};
use crate::services::{Context, Error};

/// Whose checkouts and customers the key sees, and of which mode.
#[must_use]
pub const fn scope_of(access: &Access) -> Scope {
    Scope {
        organization_id: access.organization_id,
        mode: access.mode,
    }
}

/// Whether the key may know of the checkout.
fn visible(access: &Access, checkout: Option<Checkout>) -> Result<Checkout, Error> {
    checkout
        .filter(|checkout| {
            checkout.organization_id == access.organization_id && checkout.mode == access.mode
        })
        .ok_or(Error::not_found("checkout"))
}

/// The checkout, locked, if the key may know of it.
pub(crate) async fn lock_visible(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
) -> Result<Checkout, Error> {
    visible(ctx.access, uow.checkouts().lock(id).await?)
}

/// Has the checkout's page open to the tokens of these hashes, whether or not anybody can prove them.
///
/// # Errors
/// [`Error::Store`].
pub async fn set_page(
    uow: &mut dyn UnitOfWork,
    id: CheckoutPubId,
    hashes: &[[u8; 32]],
) -> Result<(), Error> {
    Ok(uow.checkouts().set_page_tokens(id, hashes).await?)
}
