//! Reading and changing customers.

use super::catalog::merge_metadata;
use super::{Context, Error, Patch, moving};
use crate::access::{Mode, Permission};
use crate::address::{AddressError, AddressProblem, Country, parse_phone, parse_state, parse_zip};
use crate::checkout::{Actor, Circumstances, Event, Lifecycle};
use crate::customer::{Customer, Profile};
use crate::ids::CustomerPubId;
use crate::metadata::MetadataPatch;
use crate::ports::{CustomerFilter, IdGenerator, Page, UnitOfWork};
use crate::text::Line;

/// What is to change in a customer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UpdateCustomer {
    /// Given name.
    pub first_name: Patch<Line>,
    /// Family name.
    pub last_name: Patch<Line>,
    /// Street and number.
    pub address1: Patch<Line>,
    /// Second line.
    pub address2: Patch<Line>,
    /// City.
    pub city: Patch<Line>,
    /// State or province.
    pub state: Patch<Line>,
    /// Postal code.
    pub zip: Patch<Line>,
    /// Country.
    pub country: Patch<Country>,
    /// Phone number.
    pub phone: Patch<Line>,
    /// What the organization keeps beside it.
    pub metadata: MetadataPatch,
}

/// The profile with state, postal code and phone in the form of its country.
///
/// # Errors
/// [`AddressError`] naming the member at fault. A state or postal code without a
/// country is kept as it is until the country is known.
pub fn checked_profile(mut profile: Profile) -> Result<Profile, AddressError> {
    if let Some(country) = profile.country {
        profile.state = profile
            .state
            .map(|state| parse_state(country, &state))
            .transpose()?;
        profile.zip = profile
            .zip
            .map(|zip| parse_zip(country, &zip))
            .transpose()?;
    }
    profile.phone = profile
        .phone
        .map(|phone| parse_phone(profile.country, &phone))
        .transpose()?;
    Ok(profile)
}

async fn known(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CustomerPubId,
) -> Result<Customer, Error> {
    let customer = uow
        .customers()
        .get(id)
        .await?
        .ok_or(Error::not_found("customer"))?;
    if uow
        .customers()
        .is_known_to(customer.user_id, ctx.access.organization_id)
        .await?
    {
        Ok(customer)
    } else {
        Err(Error::not_found("customer"))
    }
}

/// The customer, if the organization may know of it.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
pub async fn get_customer(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CustomerPubId,
) -> Result<Customer, Error> {
    let customer = known(uow, ctx, id).await?;
    ctx.access.require(Permission::CustomerRead)?;
    Ok(customer)
}

/// A page of the organization's customers, newest first, and how many there are in all: those who
/// have a checkout with it, or are the users of its keys.
///
/// # Errors
/// [`Error::Forbidden`].
pub async fn list_customers(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    filter: &CustomerFilter,
    page: Page,
) -> Result<(Vec<Customer>, u64), Error> {
    ctx.access.require(Permission::CustomerRead)?;
    let organization = ctx.access.organization_id;
    let total = uow.customers().count(organization, filter).await?;
    let customers = uow.customers().list(organization, filter, page).await?;
    Ok((customers, total))
}

/// Updates the customer's profile and metadata: what is not mentioned stays. Checkouts that
/// waited for the profile go on.
///
/// # Errors
/// [`Error`]: not found, the missing permission, a phone, postal code or state that
/// is not of the country, metadata of another organization's customer.
pub async fn update_customer(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CustomerPubId,
    update: UpdateCustomer,
) -> Result<Customer, Error> {
    known(uow, ctx, id).await?;
    ctx.access.require(Permission::CustomerWrite)?;
    let mut customer = uow
        .customers()
        .lock(id)
        .await?
        .ok_or(Error::not_found("customer"))?;
    if update.metadata != MetadataPatch::Keep {
        if customer.organization_id != ctx.access.organization_id {
            return Err(Error::invalid(
                "metadata",
                "belong to the organization whose customer this is, which is another one",
            ));
        }
        merge_metadata(&mut customer.metadata, update.metadata)?;
    }
    let profile = &mut customer.profile;
    let before = profile.clone();
    update.first_name.apply(&mut profile.first_name);
    update.last_name.apply(&mut profile.last_name);
    update.address1.apply(&mut profile.address1);
    update.address2.apply(&mut profile.address2);
    update.city.apply(&mut profile.city);
    update.state.apply(&mut profile.state);
    update.zip.apply(&mut profile.zip);
    update.country.apply(&mut profile.country);
    update.phone.apply(&mut profile.phone);
    let address_changed = (&before.state, &before.zip, before.country)
        != (&profile.state, &profile.zip, profile.country);
    if address_changed || before.phone != profile.phone {
        customer.profile = checked(customer.profile)?;
    }
    customer.updated_at = ctx.now;
    uow.customers().update(&mut customer).await?;
    if customer.profile.is_complete() && !before.is_complete() {
        let by = Circumstances::new(ctx.now, Actor::System);
        profile_completed(uow, ctx.ids, ctx.access.mode, &customer, &by).await?;
    }
    Ok(customer)
}

/// [`checked_profile`] with its faults as those of parameters.
pub(super) fn checked(profile: Profile) -> Result<Profile, Error> {
    checked_profile(profile).map_err(|fault| match fault.problem {
        AddressProblem::Missing => Error::Missing {
            param: fault.member.to_owned(),
        },
        problem => Error::invalid(fault.member, problem),
    })
}

/// Checkouts that waited for the customer's profile go on.
pub(crate) async fn profile_completed(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    mode: Mode,
    customer: &Customer,
    by: &Circumstances,
) -> Result<(), Error> {
    let waiting = uow
        .checkouts()
        .of_customer(mode, customer.id, &[Lifecycle::ProfilePending])
        .await?;
    for id in waiting {
        let mut checkout = moving::lock(uow, id).await?;
        if checkout.lifecycle() == Lifecycle::ProfilePending {
            moving::apply(uow, ids, &mut checkout, Event::ProfileCompleted, by).await?;
        }
    }
    Ok(())
}
