//! What the customer does on the way to the lease: the steps of the checkout page.
//!
//! Whoever serves the page finds the checkout by its token and calls these; the
//! sandbox plays them for a test.

use super::audit::{self, Entry};
use super::moving::{self, Due};
use super::{Error, agreements, customers, person, sessions, signers, waitlist};
use crate::access::Mode;
use crate::address::Address;
use crate::agreement::Signature;
use crate::audit::{AuditAction, AuditActor, Origin};
use crate::checkout::{
    Actor, Applied, Checkout, Circumstances, Event, Lifecycle, Obstacle, Outcome, PaymentMethod,
};
use crate::customer::{Customer, IdentityStatus, Profile};
use crate::ids::{LeaseTermRef, PickupLocationId};
use crate::ledger::SessionPurpose;
use crate::money::Money;
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

    /// Whether a key plays the customer, who is nobody then that has to be kept from another's record.
    fn is_played(&self) -> bool {
        self.due == Due::WhenTold
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

    /// The customer begins: the first thing that they do on the page. What is known already is passed
    /// through.
    ///
    /// # Errors
    /// [`Error::Rule`] when the checkout has ended.
    pub async fn open(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<Applied, Error> {
        let customer = moving::customer_of(uow, checkout).await?;
        if checkout.lifecycle() == Lifecycle::Created && customer.profile.is_complete() {
            // The area may have become smaller since.
            let event = waitlist::profile_event(uow, checkout, &customer).await?;
            if event != Event::ProfileCompleted {
                return self.apply(uow, checkout, event).await;
            }
        }
        self.apply(uow, checkout, Event::Opened).await
    }

    /// The customer begins by giving name and address, which are still to be looked at: the page counts as
    /// opened, unless they are known already and would be passed by.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn open_for_profile(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<(), Error> {
        let customer = moving::customer_of(uow, checkout).await?;
        if checkout.lifecycle() == Lifecycle::Created && !customer.profile.is_complete() {
            self.apply(uow, checkout, Event::Opened).await?;
        }
        Ok(())
    }

    /// The customer begins with what is on file of them, which the page neither shows nor changes.
    ///
    /// # Errors
    /// [`Error::Rule`] when name and address are not complete, or the checkout has ended.
    pub async fn begin(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<Applied, Error> {
        let opened = self.open(uow, checkout).await?;
        if checkout.lifecycle() == Lifecycle::ProfilePending {
            return self.complete_profile(uow, checkout).await;
        }
        Ok(opened)
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
                "the profile is not complete: first name, last name and a complete address are needed, and what is on \
                 file of the customer already only the organization changes",
            ));
        }
        let event = waitlist::profile_event(uow, checkout, &customer).await?;
        self.apply(uow, checkout, event).await
    }

    /// The customer gives name, phone and address, all of them at once, and goes on if
    /// nothing is missing; an address outside of the organization's area is told of at once. Their other
    /// checkouts that waited for it go on too.
    ///
    /// What an older record of the customer holds stays: who has the link of one checkout does not write
    /// over what others said of the person. It is filled where something is missing.
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
        let is_asked_for = matches!(
            checkout.lifecycle(),
            Lifecycle::Created | Lifecycle::ProfilePending
        );
        if !is_asked_for {
            // Sent again it is no news; whoever was checked is not renamed by it.
            return self.complete_profile(uow, checkout).await;
        }
        let mut customer = moving::lock_customer_of(uow, checkout).await?;
        let before = customer.clone();
        // The page does not ask for it: what the organization said stays, and counts as given nowhere.
        let born = profile.birth_date.or(before.profile.birth_date);
        let profile = profile.as_on_a_page();
        let known = before.profile.clone().as_on_a_page();
        let is_of_this_checkout =
            known.is_empty() || checkout.given_profile.as_ref() == Some(&known);
        if is_of_this_checkout || self.is_played() {
            customer.profile = profile.clone();
        } else {
            customer.profile.fill_from(profile.clone());
        }
        customer.profile.birth_date = born;
        let change = person::forget_findings(&mut customer, &before.profile);
        let is_given_here = is_of_this_checkout || !self.is_played();
        if is_given_here && checkout.keep_given_profile(profile, self.now) {
            uow.checkouts().update(checkout).await?;
        }
        customer.updated_at = self.now;
        uow.customers().update(&mut customer).await?;
        let given = Entry::changed(AuditAction::CustomerUpdated, &before, &customer);
        self.record(uow, &customer, given).await?;
        let forgotten = Entry::screened(&before, &customer);
        self.record(uow, &customer, forgotten).await?;
        let by = self.circumstances(Actor::System);
        let own = Some(checkout.id);
        person::ask_again(uow, self.ids, &customer, change, &by, own).await?;
        let applied = self.complete_profile(uow, checkout).await?;
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
        let event = Event::DepositSubmitted {
            quote,
            method,
            hosted: false,
        };
        self.apply(uow, checkout, event).await
    }

    /// The customer goes to have the deposit held on a card of theirs, on the processor's own page. In
    /// a deposit that could not be charged another card takes the first one's place. False when there
    /// is nowhere to go: nothing is due, or it is done.
    ///
    /// # Errors
    /// [`Error::Rule`] when no term is chosen, while the deposit is authorized or charged already, or in
    /// another state.
    pub async fn begin_deposit(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
    ) -> Result<bool, Error> {
        let purpose = SessionPurpose::Deposit;
        let is_open = !sessions::open_of(uow, checkout, purpose).await?.is_empty();
        let quote = super::checkouts::quote_of(uow, checkout)
            .await?
            .ok_or_else(|| Error::rule(Obstacle::NoTerm.to_string()))?;
        let amount = checkout
            .purchase_total(Money::zero(quote.currency))
            .and_then(|items| items.checked_add(quote.deposit))
            .map_err(|error| Error::rule(error.to_string()))?;
        match checkout.lifecycle() {
            Lifecycle::DepositProcessing if is_open => {}
            Lifecycle::DepositProcessing => {
                return Err(Error::rule("the deposit is being authorized"));
            }
            Lifecycle::CaptureFailed if checkout.capture_requested_at.is_some() => {
                return Err(Error::rule("the deposit is being charged"));
            }
            Lifecycle::CaptureFailed if checkout.deposit.open_hold().is_none() => {
                return Err(Error::rule(Obstacle::NoDeposit.to_string()));
            }
            Lifecycle::CaptureFailed => {}
            _ if amount.is_zero() => {
                self.submit_deposit(uow, checkout, None).await?;
                return Ok(false);
            }
            // It may be of another amount.
            Lifecycle::DepositPending | Lifecycle::DepositFailed if is_open => {
                return Err(Error::rule("an earlier page for the deposit is open still"));
            }
            _ => {
                let event = Event::DepositSubmitted {
                    quote,
                    method: None,
                    hosted: true,
                };
                if self.apply(uow, checkout, event).await?.outcome == Outcome::AlreadyApplied {
                    return Ok(false);
                }
            }
        }
        sessions::ask(uow, self.ids, self.now, checkout, purpose, amount).await?;
        Ok(true)
    }

    /// The customer goes to leave a card on the processor's own page, which pays every month from then
    /// on.
    ///
    /// # Errors
    /// [`Error::Rule`] where no card is asked for.
    pub async fn begin_method(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &Checkout,
    ) -> Result<(), Error> {
        let quote = checkout
            .quote
            .filter(|_| sessions::takes_a_card(checkout))
            .ok_or_else(|| {
                Error::rule(format!(
                    "the checkout is {} and asks for no payment method",
                    checkout.lifecycle()
                ))
            })?;
        let (purpose, amount) = (SessionPurpose::Method, Money::zero(quote.currency));
        sessions::ask(uow, self.ids, self.now, checkout, purpose, amount).await
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
    /// [`Error::Rule`] while the document is not there, where it is signed with the organization's signer, or in
    /// another state.
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
        if !self.is_played()
            && let Some(document) = agreements::shown(uow, checkout).await?
            && signers::signs_elsewhere(uow, checkout, &document).await?
        {
            return Err(Error::rule(
                "the lease is signed elsewhere: whoever leases to you sends it to you",
            ));
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
