//! Letting those who wait go on: first come, first served.
//!
//! Whoever makes a unit free says so by a job, in the transaction in which it becomes free; the
//! job lets as many go on, in batches, however many wait. Locks are taken in one order
//! everywhere: product, variant, checkout. Whoever frees stock holds the variant, and whoever is
//! about to wait holds it too, so that nobody begins to wait past stock that was just freed.
//!
//! A checkout of several takes them together or waits for all of them, and nobody overtakes it: who
//! is first in line is served first, and what is free but not enough for them is kept. Otherwise one
//! of many would wait for ever beside a stock that is sold one by one. Neither a new order nor a
//! deposit that comes in takes what is kept: both get in line. What that costs is that a large order
//! holds up smaller ones, until there is enough for it or it leaves the line.

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

/// The job that lets those that wait for the variant in the mode go on, as far as so many units
/// reach; all without a number.
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

/// Whether what is free of the locked variant is kept for the first in line, who waits for more.
///
/// # Errors
/// [`Error::Store`].
pub(super) async fn is_kept(
    uow: &mut dyn UnitOfWork,
    variant: &ProductVariant,
    mode: Mode,
) -> Result<bool, Error> {
    let stock = variant.stock.of(mode);
    if stock == Inventory::Untracked {
        return Ok(false);
    }
    let first = uow
        .checkouts()
        .first_waiting_for_stock(variant.id, mode)
        .await?;
    Ok(first.is_some_and(|first| !stock.covers(first.quantity())))
}

/// Whether a deposit that comes in has nobody before it in line: who waits with a deposit is served
/// first. Of goods that nobody counts there is enough for all.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn is_next(uow: &mut dyn UnitOfWork, checkout: &Checkout) -> Result<bool, Error> {
    let first = uow
        .checkouts()
        .first_waiting_for_stock(checkout.variant_id, checkout.mode)
        .await?;
    let waits = first
        .filter(|first| first.id != checkout.id)
        .is_some_and(|first| first.lifecycle() == Lifecycle::WaitlistedAfterDeposit);
    if !waits {
        return Ok(true);
    }
    let variant = uow
        .variants()
        .get(checkout.organization_id, checkout.variant_id)
        .await?;
    Ok(variant.is_some_and(|variant| variant.stock.of(checkout.mode) == Inventory::Untracked))
}

/// Takes the units of a checkout whose deposit is authorized, all of them or none, unless somebody
/// with a deposit waits for the variant already.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn take_units(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
) -> Result<StockTaken, Error> {
    // Locked before anybody looks who waits: whoever lets them go on holds it too.
    uow.variants()
        .lock(checkout.organization_id, checkout.variant_id)
        .await?;
    if !is_next(uow, checkout).await? {
        return Ok(StockTaken::NoneLeft);
    }
    let quantity = checkout.quantity();
    Ok(uow
        .variants()
        .take_stock(checkout.variant_id, checkout.mode, quantity)
        .await?)
}

/// Lets the next of those that wait for the variant in the job's mode go on, as far as the units of
/// the job and of the stock reach, or one batch of them; another job lets the rest.
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
    // What is free is counted here too: those without a deposit leave it where it is.
    let mut free = variant.stock.of(mode).quantity();
    let mut rest = units;
    let mut freed = 0_u32;
    for mut checkout in waiting {
        if rest == Some(0) {
            return Ok(());
        }
        let quantity = checkout.quantity();
        // Nobody behind the first overtakes them: it is kept until there is enough.
        if free.is_some_and(|free| free < quantity.get()) {
            return Ok(());
        }
        let stock = if checkout.lifecycle() == Lifecycle::WaitlistedAfterDeposit {
            match uow
                .variants()
                .take_stock(variant.id, mode, quantity)
                .await?
            {
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
        free = free.map(|free| free.saturating_sub(quantity.get()));
        rest = if quantity.is_several() {
            // Units of earlier jobs may have been kept for it: what they leave is free for the next.
            rest.and(free)
        } else {
            rest.map(|rest| rest.saturating_sub(1))
        };
    }
    if freed == limit && rest != Some(0) {
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
