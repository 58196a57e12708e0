//! Reading and changing customers.

use async_trait::async_trait;

use super::addresses::checked_phone;
use super::audit::{self, Entry};
use super::checkouts::scope_of;
use super::products::merge_metadata;
use super::slice::unknown_start;
use super::{Context, Error, Patch, Slice, UseCase, moving, person, waitlist};
use crate::access::Permission;
use crate::address::{AddressError, AddressProblem, Country, parse_state, parse_zip};
use crate::audit::AuditAction;
use crate::checkout::{Actor, Circumstances, Lifecycle};
use crate::customer::{Customer, Profile, is_plausible_birth_date};
use crate::ids::CustomerPubId;
use crate::metadata::MetadataPatch;
use crate::ports::{CustomerFilter, DialingPlan, IdGenerator, Page, Start, UnitOfWork};
use crate::text::Line;
use crate::time::{Day, Timestamp};

/// What is to change in a customer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CustomerChanges {
    /// Given name.
    pub first_name: Patch<Line>,
    /// Family name.
    pub last_name: Patch<Line>,
    /// Street and number.
    pub address1: Patch<Line>,
    /// Second line.
    pub address2: Patch<Line>,
    pub city: Patch<Line>,
    /// State or province.
    pub state: Patch<Line>,
    /// Postal code.
    pub zip: Patch<Line>,
    pub country: Patch<Country>,
    /// Phone number.
    pub phone: Patch<Line>,
    /// When they were born.
    pub birth_date: Patch<Day>,
    /// What the organization keeps beside it.
    pub metadata: MetadataPatch,
}

/// The profile with state, postal code and phone in the form of its country.
///
/// # Errors
/// [`AddressError`] naming the member at fault. A state or postal code without a
/// country is kept as it is until the country is known.
pub fn checked_profile(
    phones: &dyn DialingPlan,
    mut profile: Profile,
) -> Result<Profile, AddressError> {
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
    profile.phone = checked_phone(phones, profile.country, profile.phone)?;
    Ok(profile)
}

/// The customer, if the key may know of it.
pub(super) async fn known(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CustomerPubId,
) -> Result<Customer, Error> {
    let customer = uow.customers().get(id).await?;
    customer
        .filter(|customer| customer.mode == ctx.access.mode)
        .ok_or(Error::not_found("customer"))
}

/// The customer, who is the organization's and of the key's mode.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetCustomer {
    /// Which one.
    pub id: CustomerPubId,
}

#[async_trait]
impl UseCase for GetCustomer {
    type Output = Customer;

    fn permission(&self) -> Permission {
        Permission::CustomerRead
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Customer, Error> {
        let customer = known(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        Ok(customer)
    }
}

/// A page of the organization's customers of the key's mode, newest first, and how many there are in
/// all.
///
/// # Errors
/// [`Error::Forbidden`]; [`Error::Invalid`] of a page that begins after no customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCustomers {
    /// Which.
    pub filter: CustomerFilter,
    /// Which part of the list.
    pub page: Page,
    /// Whether it was found to be [long](Slice::is_long) a moment ago: it is not counted again.
    pub is_long: bool,
}

#[async_trait]
impl UseCase for ListCustomers {
    type Output = Slice<Customer>;

    fn permission(&self) -> Permission {
        Permission::CustomerRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<Slice<Customer>, Error> {
        ctx.access.require(self.permission())?;
        let scope = scope_of(ctx.access);
        if let Start::After(id) = self.page.start {
            let start = known(uow, ctx, CustomerPubId::from_uuid(id)).await;
            start.map_err(|error| match error {
                Error::NotFound { .. } => unknown_start(),
                other => other,
            })?;
        }
        let page = self.page.and_one_more();
        let found = uow.customers().list(scope, &self.filter, page).await?;
        let mut slice = Slice::found(found, self.page);
        if let Some(most) = slice.to_be_counted(self.page, self.is_long) {
            slice.count_with(uow.customers().count(scope, &self.filter, most).await?);
        }
        Ok(slice)
    }
}

/// Updates the customer's profile and metadata: what is not mentioned stays. Checkouts that
/// waited for the profile go on.
///
/// # Errors
/// [`Error`]: not found, the missing permission, a phone, postal code or state that
/// is not of the country; [`Error::Rule`] of one who was erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateCustomer {
    /// Which one.
    pub id: CustomerPubId,
    /// What is to change.
    pub changes: CustomerChanges,
}

#[async_trait]
impl UseCase for UpdateCustomer {
    type Output = Customer;

    fn permission(&self) -> Permission {
        Permission::CustomerWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Customer, Error> {
        known(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        let mut customer = uow
            .customers()
            .lock(self.id)
            .await?
            .ok_or(Error::not_found("customer"))?;
        if customer.erased_at.is_some() {
            return Err(Error::rule("the customer was erased"));
        }
        let was = customer.clone();
        merge_metadata(&mut customer.metadata, self.changes.metadata)?;
        let profile = &mut customer.profile;
        let before = &was.profile;
        self.changes.first_name.apply(&mut profile.first_name);
        self.changes.last_name.apply(&mut profile.last_name);
        self.changes.address1.apply(&mut profile.address1);
        self.changes.address2.apply(&mut profile.address2);
        self.changes.city.apply(&mut profile.city);
        self.changes.state.apply(&mut profile.state);
        self.changes.zip.apply(&mut profile.zip);
        self.changes.country.apply(&mut profile.country);
        self.changes.phone.apply(&mut profile.phone);
        self.changes.birth_date.apply(&mut profile.birth_date);
        check_birth_date(profile.birth_date, before.birth_date, "birthDate", ctx.now)?;
        let address_changed = (&before.state, &before.zip, before.country)
            != (&profile.state, &profile.zip, profile.country);
        if address_changed || before.phone != profile.phone {
            customer.profile = checked(ctx.phones, customer.profile)?;
        }
        let change = person::forget_findings(&mut customer, before);
        if customer == was {
            return Ok(customer);
        }
        customer.updated_at = ctx.now;
        uow.customers().update(&mut customer).await?;
        let updated = Entry::changed(AuditAction::CustomerUpdated, &was, &customer);
        let screened = Entry::screened(&was, &customer);
        audit::note_all(uow, ctx, vec![updated, screened]).await?;
        let by = ctx.circumstances(Actor::System);
        person::ask_again(uow, ctx.ids, &customer, change, &by, None).await?;
        if customer.profile.is_complete() && !before.is_complete() {
            let by = ctx.circumstances(Actor::System);
            profile_completed(uow, ctx.ids, &customer, &by).await?;
        }
        Ok(customer)
    }
}

/// Refuses a birth date that nobody who lives was born on; one that was known stays.
pub(super) fn check_birth_date(
    given: Option<Day>,
    known: Option<Day>,
    param: &str,
    now: Timestamp,
) -> Result<(), Error> {
    match given {
        Some(born) if given != known && !is_plausible_birth_date(born, now.date_naive()) => {
            Err(Error::invalid(
                param,
                "must be a day in the past, and not before anybody alive",
            ))
        }
        _ => Ok(()),
    }
}

/// [`checked_profile`] with its faults as those of parameters.
pub(super) fn checked(phones: &dyn DialingPlan, profile: Profile) -> Result<Profile, Error> {
    checked_profile(phones, profile).map_err(|fault| match fault.problem {
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
    customer: &Customer,
    by: &Circumstances,
) -> Result<(), Error> {
    let waiting = uow
        .checkouts()
        .of_customer(customer.mode, customer.id, &[Lifecycle::ProfilePending])
        .await?;
    for id in waiting {
        let mut checkout = moving::lock(uow, id).await?;
        if checkout.lifecycle() == Lifecycle::ProfilePending {
            let event = waitlist::profile_event(uow, &checkout, customer).await?;
            moving::apply(uow, ids, &mut checkout, event, by).await?;
        }
    }
    Ok(())
}
