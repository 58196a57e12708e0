//! What the customer does, one form each.

use lessor_domain::access::Mode;
use lessor_domain::agreement::Signature;
use lessor_domain::audit::Origin;
use lessor_domain::checkout::{Checkout, Lifecycle, PaymentMethod};
use lessor_domain::ids::IdError;
use lessor_domain::ports::{JobSubject, PageToken, Reach, UnitOfWork};
use lessor_domain::services::journey::Journey;
use lessor_domain::services::{Error, billing, visits};

use super::fields::Fields;
use super::words;
use crate::idempotency::{Tries, close};
use crate::state::settle::settle;
use crate::state::{AppState, Sender};

/// A step of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Open,
    Profile,
    Identity,
    SubmitIdentity,
    Shipping,
    ChoosePickup,
    ChooseShipping,
    Pickup,
    Term,
    Accept,
    Deposit,
    PaymentMethod,
    Sign,
    RetryCapture,
    RetryPayment,
    Back,
    Cancel,
}

impl Step {
    /// The step of a form's path.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "profile" => Self::Profile,
            "identity" => Self::Identity,
            "identity-submit" => Self::SubmitIdentity,
            "shipping" => Self::Shipping,
            "choose-pickup" => Self::ChoosePickup,
            "choose-shipping" => Self::ChooseShipping,
            "pickup" => Self::Pickup,
            "term" => Self::Term,
            "accept" => Self::Accept,
            "deposit" => Self::Deposit,
            "payment-method" => Self::PaymentMethod,
            "sign" => Self::Sign,
            "retry-capture" => Self::RetryCapture,
            "retry-payment" => Self::RetryPayment,
            "back" => Self::Back,
            "cancel" => Self::Cancel,
            _ => return None,
        })
    }

    /// Does the step in a unit of work of its own, then lets the providers do their part for a
    /// moment: what takes longer a worker does, and the page says so.
    pub(super) async fn take(
        self,
        state: &AppState,
        sender: &Sender,
        token: PageToken,
        entered: &Fields,
    ) -> Result<(), Error> {
        let mut tries = Tries::default();
        let checkout = loop {
            match self.attempt(state, sender, token, entered).await {
                Err(error) if tries.again(&error) => {}
                result => break result?,
            }
        };
        let subject = JobSubject::Checkout(checkout.id);
        settle(state, checkout.organization_id, subject).await;
        Ok(())
    }

    async fn attempt(
        self,
        state: &AppState,
        sender: &Sender,
        token: PageToken,
        entered: &Fields,
    ) -> Result<Checkout, Error> {
        let method = self.payment_method(state, token, entered).await?;
        let mut work = state.engine.database.begin(Reach::Server).await?;
        let done = self
            .take_in(state, sender, &mut *work, &token, entered, method)
            .await;
        close(work, done).await
    }

    async fn take_in(
        self,
        state: &AppState,
        sender: &Sender,
        work: &mut dyn UnitOfWork,
        token: &PageToken,
        entered: &Fields,
        method: Option<PaymentMethod>,
    ) -> Result<Checkout, Error> {
        let mut checkout = visits::lock(work, token).await?;
        self.apply(state, sender, work, &mut checkout, entered, method)
            .await?;
        Ok(checkout)
    }

    async fn apply(
        self,
        state: &AppState,
        sender: &Sender,
        work: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
        entered: &Fields,
        method: Option<PaymentMethod>,
    ) -> Result<(), Error> {
        let origin = sender.named(Origin::customer(checkout.customer_id));
        let journey = Journey::new(state.engine.clock.now(), &*state.engine.ids, &origin);
        let phones = &*state.engine.providers.phones;
        let refused = |param: &'static str| move |error: IdError| Error::invalid(param, error);
        match self {
            Self::Open => journey.open(work, checkout).await?,
            Self::Profile => {
                let profile = entered.profile()?;
                journey
                    .give_profile(work, phones, checkout, profile)
                    .await?
            }
            Self::Identity => {
                in_sandbox(checkout, "the verification")?;
                journey.request_identity(work, checkout).await?
            }
            Self::SubmitIdentity => journey.submit_identity(work, checkout).await?,
            Self::Shipping => {
                let locked = checkout.shipping.locked;
                let given = checkout.shipping.address.clone().filter(|_| locked);
                let address = match given {
                    Some(address) => address,
                    None => entered.address(phones)?,
                };
                journey
                    .give_shipping_address(work, checkout, address)
                    .await?
            }
            Self::ChoosePickup => journey.choose_pickup(work, checkout).await?,
            Self::ChooseShipping => journey.choose_shipping(work, checkout).await?,
            Self::Pickup => {
                let param = "pickupLocationId";
                let location = entered.required(param)?.parse().map_err(refused(param))?;
                journey
                    .give_pickup_location(work, checkout, location)
                    .await?
            }
            Self::Term => {
                let param = "leaseTermId";
                let term = entered.required(param)?.parse().map_err(refused(param))?;
                if checkout.term.is_none() {
                    journey.choose_term(work, checkout, term).await?;
                }
                return Ok(());
            }
            Self::Accept => journey.accept_lease(work, checkout).await?,
            Self::Deposit => {
                in_sandbox(checkout, "the deposit")?;
                journey.submit_deposit(work, checkout, None).await?
            }
            Self::PaymentMethod => {
                in_sandbox(checkout, "the payment method")?;
                let method = method.ok_or_else(|| {
                    Error::rule(format!(
                        "the checkout is {} and asks for no payment method",
                        checkout.lifecycle()
                    ))
                })?;
                journey.save_payment_method(work, checkout, method).await?
            }
            Self::Sign => {
                let signature = Signature {
                    name: entered.get("name").unwrap_or_default().to_owned(),
                    consent: entered.get("consent") == Some("yes"),
                    address: origin.address.map(|address| address.to_string()),
                    user_agent: sender.user_agent().map(ToOwned::to_owned),
                };
                journey.sign_documents(work, checkout, &signature).await?
            }
            Self::RetryCapture => journey.retry_capture(work, checkout).await?,
            Self::RetryPayment => {
                let (ids, now) = (&*state.engine.ids, state.engine.clock.now());
                billing::try_again(work, ids, now, &origin, checkout, method).await?;
                return Ok(());
            }
            Self::Back => journey.go_back(work, checkout).await?,
            Self::Cancel => journey.cancel(work, checkout).await?,
        };
        Ok(())
    }

    /// The method that is to pay every month, asked of the processor before anything is locked: the
    /// one that the deposit was authorized with, else the sandbox's test card; for a payment that
    /// failed the test card that was chosen.
    async fn payment_method(
        self,
        state: &AppState,
        token: PageToken,
        entered: &Fields,
    ) -> Result<Option<PaymentMethod>, Error> {
        if !matches!(self, Self::PaymentMethod | Self::RetryPayment) {
            return Ok(None);
        }
        let mut view = state.engine.database.read(Reach::Server).await?;
        let checkout = visits::checkout_of(&mut *view, &token).await?;
        if self == Self::RetryPayment {
            drop(view);
            let Some(named) = entered.get(CARD) else {
                return Ok(None);
            };
            // The token is the customer's: it names none of somebody else's.
            if checkout.mode != Mode::Sandbox || !TEST_CARDS.iter().any(|(id, _)| *id == named) {
                return Err(Error::invalid(CARD, "is none of those that are offered"));
            }
            if !words::can_pay(&checkout) {
                return Ok(None);
            }
            let method = state.engine.jobs().named_method(&checkout, named).await?;
            return Ok(Some(method));
        }
        let asks = checkout.lifecycle() == Lifecycle::RecurringPaymentMethodPending
            && checkout.mode == Mode::Sandbox;
        if !asks {
            return Ok(checkout.recurring.method.clone());
        }
        drop(view);
        state
            .engine
            .jobs()
            .payment_method(&checkout)
            .await
            .map(Some)
    }
}

/// The field of the card that pays.
pub(super) const CARD: &str = "card";

/// The sandbox's cards, which the processor knows by their names.
pub(super) const TEST_CARDS: [(&str, &str); 4] = [
    ("pm_card_visa", "Visa"),
    ("pm_card_mastercard", "Mastercard"),
    ("pm_card_amex", "American Express"),
    (
        "pm_card_chargeCustomerFail",
        "A card that is always declined",
    ),
];

/// What the page can only do where everything is simulated.
fn in_sandbox(checkout: &Checkout, what: &str) -> Result<(), Error> {
    match checkout.mode {
        Mode::Sandbox => Ok(()),
        Mode::Live => Err(Error::rule(format!(
            "{what} is not available on this page yet; please get in touch"
        ))),
    }
}

/// A field's name, as the customer reads it.
pub(super) fn label(field: &str) -> &str {
    match field {
        "firstName" => "First name",
        "lastName" => "Last name",
        "company" => "Company",
        "address1" => "Street and number",
        "address2" => "Apartment, floor",
        "city" => "City",
        "state" => "State or province",
        "zip" => "Postal code",
        "country" => "Country",
        "phone" => "Phone",
        "pickupLocationId" => "Pickup location",
        "leaseTermId" => "Lease term",
        "name" => "Your name",
        "consent" => "The box about electronic records",
        CARD => "Card",
        "shippingAddress" => "This address",
        other => other,
    }
}
