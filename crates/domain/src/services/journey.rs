//! What the customer does on the way to the lease: the steps of the checkout page.
//!
//! Whoever serves the page finds the checkout by its token and calls these; the
//! sandbox plays them for a test.

use super::audit::{self, Entry};
use super::moving::{self, Due};
use super::{Error, agreements, customers};
use crate::access::Mode;
use crate::address::Address;
use crate::agreement::Signature;
use crate::audit::{AuditAction, AuditActor, Origin};
use crate::checkout::{
    Actor, Applied, Checkout, Circumstances, Event, Lifecycle, Obstacle, Outcome, PaymentMethod,
};
use crate::customer::{Customer, IdentityStatus, Profile};
use crate::ids::{LeaseTermRef, PickupLocationId};
use crate::ports::{DialingPlan, IdGenerator, StoreError, UnitOfWork};
use crate::time::Timestamp;

/// Who acts on the page, and when.
#[derive(Clone, Copy)]
pub struct Journey<'a> {
    now: Timestamp,
    ids: &'a dyn IdGenerator,
    origin: &'a Origin,
    due: Due,
}

impl<'a> Journey<'a> {
    /// The page at this time. What the customer's steps ask of providers is due at once. The origin is
    /// the customer's, with the address that they are at.
    #[must_use]
    pub const fn new(now: Timestamp, ids: &'a dyn IdGenerator, origin: &'a Origin) -> Self {
        Self {
            now,
            ids,
            origin,
            due: Due::Now,
        }
    }

    /// The page as it is played by the origin's key: what a step asks of providers is done when somebody
    /// asks for it.
    pub(crate) const fn played(
        now: Timestamp,
        ids: &'a dyn IdGenerator,
        origin: &'a Origin,
    ) -> Self {
        Self {
            now,
            ids,
            origin,
            due: Due::WhenTold,
        }
    }
}

impl Journey<'_> {
    /// When and by whom, with the key where one plays the customer.
    fn circumstances(&self, actor: Actor) -> Circumstances {
        let by = Circumstances::new(self.now, actor);
        match &self.origin.actor {
            AuditActor::Key { id, .. } => by.with_key(*id),
            AuditActor::Cli { .. }
            | AuditActor::Customer { .. }
            | AuditActor::Provider { .. }
            | AuditActor::System => by,
        }
    }

    async fn record(
        &self,
        uow: &mut dyn UnitOfWork,
        customer: &Customer,
        entry: Entry,
    ) -> Result<(), Error> {
        let organization = customer.organization_id;
        audit::record(uow, self.ids, self.now, self.origin, organization, entry).await
    }

    async fn apply(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
        event: Event,
    ) -> Result<Applied, Error> {
        let by = self.circumstances(Actor::Customer);
        moving::apply_due(uow, self.ids, checkout, event, &by, self.due).await
    }

    /// The customer opened the page.
    ///
    /// # Errors
    /// [`Error::Rule`] when the checkout has ended.
    pub async fn open(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<Applied, Error> {
        self.apply(uow, checkout, Event::Opened).await
    }

    /// The customer says that name and address are complete.
    ///
    /// # Errors
    /// [`Error::Rule`] when they are not, or in another state.
    pub async fn complete_profile(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<Applied, Error> {
        let customer = moving::customer_of(uow, checkout).await?;
        if !customer.profile.is_complete() {
            return Err(Error::rule(
                "the profile is not complete: first name, last name and a complete address are needed",
            ));
        }
        self.apply(uow, checkout, Event::ProfileCompleted).await
    }

    /// The customer gives name, phone and address, all of them at once, and goes on if
    /// nothing is missing. Their other checkouts that waited for it go on too.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the member at fault; [`Error::Rule`] when something is
    /// missing, or when the profile is not asked for any more.
    pub async fn give_profile(
        &self,
        uow: &mut dyn UnitOfWork,
        phones: &dyn DialingPlan,
        checkout: &mut Checkout,
        profile: Profile,
    ) -> Result<Applied, Error> {
        let profile = customers::checked(phones, profile)?;
        self.take_profile(uow, checkout, profile).await
    }

    /// Takes in a profile whose members are known to be good.
    pub(crate) async fn take_profile(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
        profile: Profile,
    ) -> Result<Applied, Error> {
        let mut customer = moving::lock_customer_of(uow, checkout).await?;
        let before = customer.clone();
        customer.profile = profile;
        customer.updated_at = self.now;
        uow.customers().update(&mut customer).await?;
        let given = Entry::changed(AuditAction::CustomerUpdated, &before, &customer);
        self.record(uow, &customer, given).await?;
        let applied = self.complete_profile(uow, checkout).await?;
        let by = self.circumstances(Actor::System);
        customers::profile_completed(uow, self.ids, &customer, &by).await?;
        Ok(applied)
    }

    /// The customer chooses how long to lease, before the deposit.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the term is not offered; [`Error::Rule`] when the deposit
    /// is paid or under way.
    pub async fn choose_term(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
        term: LeaseTermRef,
    ) -> Result<(), Error> {
        super::checkouts::set_term(uow, self.ids, self.now, self.origin, checkout, term).await
    }

    /// The customer asks to be verified.
    ///
    /// # Errors
    /// [`Error::Rule`] in another state.
    pub async fn request_identity(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<Applied, Error> {
        self.apply(uow, checkout, Event::IdentityRequested).await
    }

    /// The customer hands in what the verifier asked for, where the verifier is
    /// simulated and has no page of its own.
    ///
    /// # Errors
    /// [`Error::SandboxOnly`] in live mode, where the verifier says so itself;
    /// [`Error::Rule`] while no session is open.
    pub async fn submit_identity(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<Applied, Error> {
        if checkout.mode != Mode::Sandbox {
            return Err(Error::SandboxOnly);
        }
        let applied = self.apply(uow, checkout, Event::IdentitySubmitted).await?;
        if applied.outcome == Outcome::Applied {
            let mut customer = moving::lock_customer_of(uow, checkout).await?;
            let before = customer.clone();
            customer.screening.identity = IdentityStatus::Processing;
            customer.updated_at = self.now;
            uow.customers().update(&mut customer).await?;
            let submitted = Entry::screened(&before, &customer);
            self.record(uow, &customer, submitted).await?;
        }
        Ok(applied)
    }

    /// The customer says where to ship.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the organization does not serve the address;
    /// [`Error::Rule`] when the organization gave the address, or in another state.
    pub async fn give_shipping_address(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
        address: Address,
    ) -> Result<Applied, Error> {
        if checkout.shipping.locked && checkout.shipping.address.as_ref() != Some(&address) {
            return Err(Error::rule(
                "the shipping address was given by the organization and cannot be changed",
            ));
        }
        let organization = uow
            .organizations()
            .get(checkout.organization_id)
            .await?
            .ok_or(Error::Store(StoreError::Missing("organization")))?;
        organization.service_area.serves(&address).map_err(|code| {
            Error::invalid(
                "shippingAddress",
                format!("is outside the area that is served ({})", code.as_str()),
            )
        })?;
        self.apply(uow, checkout, Event::ShippingAddressGiven { address })
            .await
    }

    /// The customer picks the goods up.
    ///
    /// # Errors
    /// [`Error::Rule`] in another state.
    pub async fn choose_pickup(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<Applied, Error> {
        self.apply(uow, checkout, Event::PickupChosen).await
    }

    /// The customer has the goods shipped after all.
    ///
    /// # Errors
    /// [`Error::Rule`] in another state.
    pub async fn choose_shipping(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<Applied, Error> {
        self.apply(uow, checkout, Event::ShippingChosen).await
    }

    /// The customer says where the goods are picked up.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no such open location; [`Error::Rule`] in
    /// another state.
    pub async fn give_pickup_location(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
        location: PickupLocationId,
    ) -> Result<Applied, Error> {
        let known = uow
            .pickup_locations()
            .get(checkout.organization_id, location)
            .await?;
        if !known.is_some_and(|known| known.active) {
            return Err(Error::invalid(
                "pickupLocationId",
                "is not an open pickup location of the organization",
            ));
        }
        self.apply(uow, checkout, Event::PickupLocationGiven { location })
            .await
    }

    /// The customer accepts the lease's terms.
    ///
    /// # Errors
    /// [`Error::Rule`] when no term is chosen, or in another state.
    pub async fn accept_lease(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<Applied, Error> {
        self.apply(uow, checkout, Event::LeaseAccepted).await
    }

    /// The customer submits the deposit: the price is frozen, so that what is
    /// authorized is what was shown.
    ///
    /// # Errors
    /// [`Error::Rule`] when no term is chosen, or in another state.
    pub async fn submit_deposit(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
        method: Option<String>,
    ) -> Result<Applied, Error> {
        let quote = super::checkouts::quote_of(uow, checkout)
            .await?
            .ok_or_else(|| Error::rule(Obstacle::NoTerm.to_string()))?;
        let event = Event::DepositSubmitted { quote, method };
        self.apply(uow, checkout, event).await
    }

    /// The customer names the method of the recurring payments.
    ///
    /// # Errors
    /// [`Error::Rule`] in another state.
    pub async fn save_payment_method(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
        method: PaymentMethod,
    ) -> Result<Applied, Error> {
        self.apply(uow, checkout, Event::PaymentMethodSaved { method })
            .await
    }

    /// The customer signs the document that the checkout has. With the state the document's record tells that
    /// they agreed to electronic records and signed. Signed again, nothing changes.
    ///
    /// # Errors
    /// [`Error::Missing`] and [`Error::Invalid`] of `consent` and of a `name` that is not the profile's;
    /// [`Error::Rule`] while the document is not there, or in another state.
    pub async fn sign_documents(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
        signature: &Signature,
    ) -> Result<Applied, Error> {
        let is_asked_for =
            checkout.lifecycle() == Lifecycle::DocumentsPending && checkout.signed_at.is_none();
        if !is_asked_for {
            return self.apply(uow, checkout, Event::DocumentsSigned).await;
        }
        let customer = moving::customer_of(uow, checkout).await?;
        let id = agreements::check_signature(checkout, &customer, signature)?;
        let applied = self.apply(uow, checkout, Event::DocumentsSigned).await?;
        if applied.outcome == Outcome::Applied {
            agreements::record_signature(uow, id, signature, self.now).await?;
        }
        Ok(applied)
    }

    /// The capture of the deposit is tried again.
    ///
    /// # Errors
    /// [`Error::Rule`] in another state.
    pub async fn retry_capture(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<Applied, Error> {
        self.apply(uow, checkout, Event::CaptureRetried).await
    }

    /// The customer goes a step back.
    ///
    /// # Errors
    /// [`Error::Rule`] where there is no step to go back to.
    pub async fn go_back(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<Applied, Error> {
        let event = checkout.step_back().unwrap_or(Event::SteppedBackToReview);
        self.apply(uow, checkout, event).await
    }

    /// The customer calls the checkout off; again changes nothing.
    ///
    /// # Errors
    /// [`Error::Rule`] when the goods are on their way or the checkout has ended otherwise.
    pub async fn cancel(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<Applied, Error> {
        self.apply(uow, checkout, Event::Cancelled { reason: None })
            .await
    }
}
