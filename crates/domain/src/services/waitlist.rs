//! Letting those who wait go on: first come, first served.
//!
//! Locks are taken in one order everywhere: product, variant, checkout. Whoever
//! frees stock holds the variant, and whoever is about to wait holds it too, so
//! that nobody begins to wait past stock that was just freed.

use super::{Error, moving};
use crate::catalog::{Inventory, Product, ProductStatus, ProductVariant, ReviewStatus};
use crate::checkout::{Actor, Checkout, Circumstances, Event, Lifecycle, StockTaken};
use crate::ids::{CheckoutPubId, OrganizationId};
use crate::organization::ServiceArea;
use crate::ports::{IdGenerator, UnitOfWork};
use crate::time::Timestamp;

/// Most checkouts that one unit of work frees; the rest follow in the next.
const BATCH: u32 = 500;

const fn is_offered(product: &Product, variant: &ProductVariant) -> bool {
    matches!(product.status, ProductStatus::Active)
        && matches!(product.review.status, ReviewStatus::Approved)
        && !product.is_waitlisted
        && matches!(variant.status, ProductStatus::Active)
        && !variant.is_waitlisted
}

/// Frees up to `limit` of those that wait for the locked variant's stock.
async fn free(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    ids: &dyn IdGenerator,
    offered: bool,
    variant: &ProductVariant,
    limit: u32,
) -> Result<(), Error> {
    let by = Circumstances::new(now, Actor::System);
    for mut checkout in uow
        .checkouts()
        .lock_waiting_for_stock(variant.id, limit)
        .await?
    {
        let stock = if checkout.lifecycle() == Lifecycle::WaitlistedAfterDeposit {
            match uow.variants().take_stock(variant.id).await? {
                StockTaken::NoneLeft => return Ok(()),
                taken => taken,
            }
        } else if offered {
            // Stock is taken when the deposit is authorized, not before.
            StockTaken::Untracked
        } else {
            return Ok(());
        };
        moving::apply(uow, ids, &mut checkout, Event::StockFreed { stock }, &by).await?;
    }
    Ok(())
}

/// After a change of the locked variant: as many go on as stock rose by, or as
/// there is stock for when the variant is offered again.
pub(super) async fn after_variant_change(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    ids: &dyn IdGenerator,
    product: &Product,
    before: &ProductVariant,
    after: &ProductVariant,
) -> Result<(), Error> {
    let offered = is_offered(product, after);
    let reopened = offered && !is_offered(product, before);
    let limit = match (before.inventory, after.inventory) {
        (Inventory::Tracked(_), Inventory::Untracked) => BATCH,
        (Inventory::Tracked(before), Inventory::Tracked(after)) if after > before && !reopened => {
            after.saturating_sub(before)
        }
        (_, Inventory::Tracked(after)) if reopened => after,
        (Inventory::Untracked, Inventory::Untracked) if reopened => BATCH,
        _ => 0,
    };
    if limit > 0 {
        free(uow, now, ids, offered, after, limit.min(BATCH)).await?;
    }
    Ok(())
}

/// After the locked product was opened again: each of its variants lets as many
/// go on as there is stock for.
pub(super) async fn free_product(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    ids: &dyn IdGenerator,
    product: &Product,
) -> Result<(), Error> {
    let variants = uow
        .variants()
        .of_products(product.organization_id, &[product.id])
        .await?;
    for variant in variants {
        let Some(variant) = uow
            .variants()
            .lock(product.organization_id, variant.id)
            .await?
        else {
            continue;
        };
        if is_offered(product, &variant) {
            let limit = variant.inventory.quantity().unwrap_or(BATCH).min(BATCH);
            free(uow, now, ids, true, &variant, limit).await?;
        }
    }
    Ok(())
}

/// After a checkout gave its unit of stock back: the next in line may have it.
pub(super) async fn stock_returned(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    ids: &dyn IdGenerator,
    checkout: &Checkout,
) -> Result<(), Error> {
    // The variant is locked by the return of its stock. The product is only read:
    // locking it after the variant would break the order.
    let Some(variant) = uow
        .variants()
        .get(checkout.organization_id, checkout.variant_id)
        .await?
    else {
        return Ok(());
    };
    let Some(product) = uow
        .products()
        .get(checkout.organization_id, checkout.product_id)
        .await?
    else {
        return Ok(());
    };
    // Boxed by the caller's recursion: freeing a checkout never gives stock back.
    Box::pin(free(
        uow,
        now,
        ids,
        is_offered(&product, &variant),
        &variant,
        1,
    ))
    .await
}

/// Frees those among the organization's next checkouts that the area now serves.
/// Answers where to go on, until there are none left.
///
/// # Errors
/// [`Error::Store`].
pub async fn free_location(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    ids: &dyn IdGenerator,
    organization: OrganizationId,
    area: &ServiceArea,
    after: Option<CheckoutPubId>,
) -> Result<Option<CheckoutPubId>, Error> {
    let waiting = uow
        .checkouts()
        .waiting_for_location(organization, after, BATCH)
        .await?;
    for id in &waiting {
        let Some(mut checkout) = uow.checkouts().lock(*id).await? else {
            continue;
        };
        let address = checkout
            .waitlist
            .as_ref()
            .and_then(|waitlist| waitlist.address.clone());
        let served = address.is_some_and(|address| area.serves(&address).is_ok());
        if checkout.lifecycle() == Lifecycle::WaitlistedLocation && served {
            moving::apply(
                uow,
                ids,
                &mut checkout,
                Event::AreaWidened,
                &Circumstances::new(now, Actor::System),
            )
            .await?;
        }
    }
    Ok(waiting.last().copied())
}
