//! Letting those who wait go on: first come, first served.
//!
//! Whoever makes a unit free says so by a job, in the transaction in which it becomes free; the
//! job lets as many go on, in batches, however many wait. Locks are taken in one order
//! everywhere: product, variant, checkout. Whoever frees stock holds the variant, and whoever is
//! about to wait holds it too, so that nobody begins to wait past stock that was just freed.

use super::{Context, Error, moving, person};
use crate::access::Mode;
use crate::catalog::{Inventory, Product, ProductVariant, StockTaken, is_offered};
use crate::checkout::{Actor, Checkout, Circumstances, Effect, Event, Lifecycle};
use crate::customer::Customer;
use crate::ids::{CheckoutPubId, OrganizationId, ProductVariantPubId};
use crate::organization::ServiceArea;
use crate::ports::{IdGenerator, Job, JobSubject, NewJob, StoreError, UnitOfWork};
use crate::time::Timestamp;

/// Most checkouts that one unit of work frees; the rest follow in the next.
const BATCH: u32 = 100;

/// The job that lets so many of those that wait for the variant in the mode go on; all without a
/// number.
fn promotion(
    ctx: &Context<'_>,
    variant: &ProductVariant,
    mode: Mode,
    units: Option<u32>,
) -> NewJob {
    NewJob {
        id: ctx.ids.next(),
        effect: Effect::PromoteWaiting,
        subject: JobSubject::Waitlist(variant.id),
        organization_id: variant.organization_id,
        mode,
        created_at: ctx.now,
        available_at: ctx.now,
        is_held: false,
        units,
    }
}

/// After a change of the locked variant: in each mode as many may go on as its stock rose by, or as
/// there is stock for when the variant is offered again.
pub(super) async fn after_variant_change(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    product: &Product,
    before: &ProductVariant,
    after: &ProductVariant,
) -> Result<(), Error> {
    let reopened = is_offered(product, after) && !is_offered(product, before);
    let promotions: Vec<NewJob> = Mode::ALL
        .into_iter()
        .filter_map(|mode| {
            let units = match (before.stock.of(mode), after.stock.of(mode)) {
                (_, Inventory::Tracked(after)) if reopened => Some(after),
                (Inventory::Tracked(before), Inventory::Tracked(after)) if after > before => {
                    Some(after.saturating_sub(before))
                }
                (Inventory::Tracked(_), Inventory::Untracked) => None,
                (Inventory::Untracked, Inventory::Untracked) if reopened => None,
                _ => return None,
            };
            Some(promotion(ctx, after, mode, units))
        })
        .collect();
    Ok(uow.jobs().push(&promotions).await?)
}

/// After the locked product was opened again: each of its variants lets as many go on as there is
/// stock for, in each mode.
pub(super) async fn after_product_opened(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    product: &Product,
) -> Result<(), Error> {
    let variants = uow
        .variants()
        .of_products(product.organization_id, &[product.id])
        .await?;
    let promotions: Vec<NewJob> = variants
        .iter()
        .filter(|variant| is_offered(product, variant))
        .flat_map(|variant| {
            Mode::ALL.map(|mode| {
                let units = variant.stock.of(mode).quantity();
                promotion(ctx, variant, mode, units)
            })
        })
        .collect();
    Ok(uow.jobs().push(&promotions).await?)
}

/// Lets the next of those that wait for the variant in the job's mode go on, as many as the job says
/// or one batch of them; another job lets the rest.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn promote(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    job: &Job,
    variant: ProductVariantPubId,
) -> Result<(), Error> {
    let NewJob {
        organization_id: organization,
        mode,
        units,
        ..
    } = job.new;
    let Some(known) = uow.variants().get(organization, variant).await? else {
        return Ok(());
    };
    let product = uow
        .products()
        .lock_shared(organization, known.product_id)
        .await?;
    let variant = uow.variants().lock(organization, variant).await?;
    let (Some(product), Some(variant)) = (product, variant) else {
        return Ok(());
    };
    let offered = is_offered(&product, &variant);
    let by = Circumstances::new(now, Actor::System);
    let limit = units.unwrap_or(BATCH).min(BATCH);
    let waiting = uow
        .checkouts()
        .lock_waiting_for_stock(variant.id, mode, limit)
        .await?;
    let mut freed = 0_u32;
    for mut checkout in waiting {
        let stock = if checkout.lifecycle() == Lifecycle::WaitlistedAfterDeposit {
            match uow.variants().take_stock(variant.id, mode).await? {
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
        if !checkout.lifecycle().is_identifying() {
            person::check_again(uow, ids, &mut checkout, &by).await?;
        }
        freed = freed.saturating_add(1);
    }
    let rest = units.map(|units| units.saturating_sub(freed));
    if freed == BATCH && rest != Some(0) {
        let next = NewJob {
            id: ids.next(),
            created_at: now,
            available_at: now,
            units: rest,
            ..job.new.clone()
        };
        uow.jobs().push(&[next]).await?;
    }
    Ok(())
}

/// What becomes of the checkout of a customer whose name and address are complete: it goes on, or it
/// waits for the organization to serve the address. Nobody is checked who cannot be served.
///
/// # Errors
/// [`Error::Store`].
pub(super) async fn profile_event(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    customer: &Customer,
) -> Result<Event, Error> {
    let organization = uow
        .organizations()
        .get(checkout.organization_id)
        .await?
        .ok_or(Error::Store(StoreError::Missing("organization")))?;
    let profile = customer.profile.address();
    let address = checkout.served_address(profile.as_ref());
    let refused = address.and_then(|address| {
        let code = organization.service_area.serves(address).err()?;
        Some((address.clone(), code))
    });
    Ok(match refused {
        Some((address, code)) => Event::AddressNotServed {
            address: Some(address),
            code,
        },
        None => Event::ProfileCompleted,
    })
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
        if checkout.lifecycle() != Lifecycle::WaitlistedLocation {
            continue;
        }
        let waits_with = checkout
            .waitlist
            .as_ref()
            .and_then(|waitlist| waitlist.address.as_ref());
        let served = match waits_with {
            Some(address) => area.serves(address).is_ok(),
            // It waits for as much as was known of the customer.
            None => {
                let customer = moving::customer_of(uow, &checkout).await?;
                customer.profile.check_served(area).is_ok()
            }
        };
        if served {
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
