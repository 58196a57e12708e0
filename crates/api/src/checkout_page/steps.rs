//! What the customer does, one form each.

use lessor_domain::access::Mode;
use lessor_domain::agreement::{CONSENT_VERSION, CONSENT_VERSION_SPANISH, Signature, is_name_of};
use lessor_domain::audit::Origin;
use lessor_domain::checkout::{Checkout, Lifecycle, PaymentMethod};
use lessor_domain::ids::IdError;
use lessor_domain::ledger::SessionPurpose;
use lessor_domain::ports::{DialingPlan, JobSubject, PageToken, Reach, UnitOfWork};
use lessor_domain::services::journey::Journey;
use lessor_domain::services::visits::Visit;
use lessor_domain::services::{Error, billing, visits};
use lessor_domain::workers::jobs::WayBack;

use super::faults::{CARD, Fault, LEASE_TERM, PICKUP_LOCATION, Problem, Refusal};
use super::fields::Fields;
use super::locale::{Language, Reader};
use super::words;
use crate::idempotency::{Tries, close};
use crate::state::settle::settle;
use crate::state::{AppState, Sender};

/// Who does a step.
#[derive(Clone)]
pub(super) struct Customer {
    /// The request that they sent.
    pub(super) sender: Sender,
    /// The language of the page that they read.
    pub(super) reads: Language,
}

/// What was asked of the processor before anything was locked.
struct Asked {
    /// Whether the customer is sent to the providers' own pages.
    hosted: bool,
    /// The method that is to pay.
    method: Option<PaymentMethod>,
}

/// A step of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// What sending the profile begins with, whatever was entered.
    Open,
    Begin,
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
    LeaveDeposit,
    PaymentMethod,
    Card,
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
            "begin" => Self::Begin,
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
            "leave-deposit" => Self::LeaveDeposit,
            "payment-method" => Self::PaymentMethod,
            "card" => Self::Card,
            "sign" => Self::Sign,
            "retry-capture" => Self::RetryCapture,
            "retry-payment" => Self::RetryPayment,
            "back" => Self::Back,
            "cancel" => Self::Cancel,
            _ => return None,
        })
    }

    /// Does the step in a unit of work of its own, then lets the providers do their part for a
    /// moment: what takes longer a worker does, and the page says so. Answers the address of the
    /// provider's own page where the step leads to one.
    pub(super) async fn take(
        self,
        state: &AppState,
        customer: &Customer,
        token: PageToken,
        entered: &Fields,
        back: &WayBack,
    ) -> Result<Option<String>, Refusal> {
        let known = look(state, &token).await?;
        let runner = state.engine.jobs();
        let hosted = runner.hosts((&known).into()).await?;
        if self == Self::Profile {
            let opened = Self::Open.attempt(state, customer, token, entered, hosted);
            if let Err(error @ Error::Store(_)) = opened.await {
                // What else is wrong the step itself says.
                tracing::debug!(%error, "the page was not opened before its form was taken");
            }
        }
        let faults = self.faults(&known, entered, &*state.engine.providers.phones);
        if !faults.is_empty() {
            return Err(Refusal::Form(faults));
        }
        if !hosted {
            self.take_here(state, customer, token, entered, hosted)
                .await?;
            return Ok(None);
        }
        let to = match self {
            Self::Identity => runner.open_identity(&known, &back.done).await?,
            Self::Deposit => {
                if is_to_be_begun(&known) {
                    // What cannot be paid anywhere is not begun; and what an earlier price was to be
                    // paid at is closed.
                    runner.introduce(&known).await?;
                    let deposit = SessionPurpose::Deposit;
                    runner.leave_sessions(&known, deposit).await?;
                }
                let begun = self
                    .take_here(state, customer, token, entered, hosted)
                    .await?;
                let purpose = SessionPurpose::Deposit;
                runner.open_session(&begun, purpose, back).await?
            }
            Self::Card => {
                runner.introduce(&known).await?;
                let begun = self
                    .take_here(state, customer, token, entered, hosted)
                    .await?;
                let purpose = SessionPurpose::Method;
                runner.open_session(&begun, purpose, back).await?
            }
            Self::LeaveDeposit => {
                let deposit = SessionPurpose::Deposit;
                runner.leave_sessions(&known, deposit).await?;
                None
            }
            _ => {
                self.take_here(state, customer, token, entered, hosted)
                    .await?;
                return Ok(None);
            }
        };
        if to.is_none() {
            let subject = JobSubject::Checkout(known.id);
            settle(state, known.organization_id, subject).await;
        }
        Ok(to)
    }

    /// All that is wrong with the form, as far as that can be said of it alone.
    fn faults(self, checkout: &Checkout, entered: &Fields, phones: &dyn DialingPlan) -> Vec<Fault> {
        let missing = |names: &[&str]| {
            let missing = names.iter().filter(|name| entered.get(name).is_none());
            missing
                .map(|name| Fault::new(name, Problem::Missing))
                .collect()
        };
        match self {
            Self::Profile => entered.faults_of_profile(phones),
            Self::Shipping if checkout.shipping.locked => Vec::new(),
            Self::Shipping => entered.faults_of_address(phones),
            Self::Pickup => missing(&[PICKUP_LOCATION]),
            Self::Term => missing(&[LEASE_TERM]),
            _ => Vec::new(),
        }
    }

    /// Does the step in a unit of work of its own, and what follows from it.
    async fn take_here(
        self,
        state: &AppState,
        customer: &Customer,
        token: PageToken,
        entered: &Fields,
        hosted: bool,
    ) -> Result<Checkout, Error> {
        let mut tries = Tries::default();
        let checkout = loop {
            match self.attempt(state, customer, token, entered, hosted).await {
                Err(error) if tries.again(&error) => {}
                result => break result?,
            }
        };
        let subject = JobSubject::Checkout(checkout.id);
        settle(state, checkout.organization_id, subject).await;
        Ok(checkout)
    }

    async fn attempt(
        self,
        state: &AppState,
        customer: &Customer,
        token: PageToken,
        entered: &Fields,
        hosted: bool,
    ) -> Result<Checkout, Error> {
        let asked = Asked {
            hosted,
            method: self.payment_method(state, token, entered).await?,
        };
        let mut work = state.engine.database.begin(Reach::Server).await?;
        if let Some(request_id) = customer.sender.request_id() {
            work.asked_by(request_id);
        }
        let done = self
            .take_in(state, customer, &mut *work, &token, entered, asked)
            .await;
        close(work, done).await
    }

    async fn take_in(
        self,
        state: &AppState,
        customer: &Customer,
        work: &mut dyn UnitOfWork,
        token: &PageToken,
        entered: &Fields,
        asked: Asked,
    ) -> Result<Checkout, Error> {
        let mut checkout = visits::lock(work, token).await?;
        self.apply(state, customer, work, &mut checkout, entered, asked)
            .await?;
        Ok(checkout)
    }

    async fn apply(
        self,
        state: &AppState,
        customer: &Customer,
        work: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
        entered: &Fields,
        asked: Asked,
    ) -> Result<(), Error> {
        let Asked { hosted, method } = asked;
        let origin = customer
            .sender
            .named(Origin::customer(checkout.customer_id));
        let journey = Journey::new(state.engine.clock.now(), &*state.engine.ids, &origin);
        let phones = &*state.engine.providers.phones;
        let refused = |param: &'static str| move |error: IdError| Error::invalid(param, error);
        match self {
            Self::Open => return journey.open_for_profile(work, checkout).await,
            Self::Begin => journey.begin(work, checkout).await?,
            Self::Profile => {
                let profile = entered.profile()?;
                journey
                    .give_profile(work, phones, checkout, profile)
                    .await?
            }
            Self::Identity => journey.request_identity(work, checkout).await?,
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
                let param = PICKUP_LOCATION;
                let location = entered.required(param)?.parse().map_err(refused(param))?;
                journey
                    .give_pickup_location(work, checkout, location)
                    .await?
            }
            Self::Term => {
                let param = LEASE_TERM;
                let term = entered.required(param)?.parse().map_err(refused(param))?;
                if !checkout.offers_terms() {
                    return Err(Error::rule(
                        "the lease is accepted with its term; go a step back to choose another",
                    ));
                }
                return journey.choose_term(work, checkout, term).await;
            }
            Self::Accept => journey.accept_lease(work, checkout).await?,
            Self::Deposit if hosted => {
                journey.begin_deposit(work, checkout).await?;
                return Ok(());
            }
            Self::Deposit => journey.submit_deposit(work, checkout, None).await?,
            // Nothing of it is anywhere else.
            Self::LeaveDeposit => return Ok(()),
            Self::Card if hosted => {
                journey.begin_method(work, checkout).await?;
                return Ok(());
            }
            Self::Card => return Err(Error::rule("the sandbox has no page for cards")),
            Self::PaymentMethod => {
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
                    consent_version: Some(match customer.reads {
                        Language::English => CONSENT_VERSION,
                        Language::Spanish => CONSENT_VERSION_SPANISH,
                    }),
                    address: origin.address.map(|address| address.to_string()),
                    user_agent: customer.sender.user_agent().map(ToOwned::to_owned),
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
            if checkout.mode != Mode::Sandbox || !TEST_CARDS.contains(&named) {
                return Err(Error::invalid(CARD, "is none of those that are offered"));
            }
            if !words::can_pay(&checkout) {
                return Ok(None);
            }
            let method = state.engine.jobs().named_method(&checkout, named).await?;
            return Ok(Some(method));
        }
        // Without a card of the customer's only the sandbox has one.
        let asks = checkout.lifecycle() == Lifecycle::RecurringPaymentMethodPending
            && (checkout.mode == Mode::Sandbox || checkout.recurring.method.is_some());
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

/// All that is wrong with a signature.
pub(super) fn faults_of_signature(visit: &Visit, entered: &Fields) -> Vec<Fault> {
    let consent = entered
        .get("consent")
        .is_none()
        .then(|| Fault::new("consent", Problem::Missing));
    let name = match entered.get("name") {
        None => Some(Fault::new("name", Problem::Missing)),
        Some(name) if is_name_of(name, &visit.customer.profile) => None,
        Some(_) => Some(Fault::new("name", Problem::Signer)),
    };
    consent.into_iter().chain(name).collect()
}

/// The sandbox's cards, by the names that the processor knows them by.
pub(super) const TEST_CARDS: [&str; 4] = [
    "pm_card_visa",
    "pm_card_mastercard",
    "pm_card_amex",
    "pm_card_chargeCustomerFail",
];

/// What the customer reads of one of them.
pub(super) fn test_card(reader: &Reader, id: &str) -> String {
    match id {
        "pm_card_visa" => "Visa".to_owned(),
        "pm_card_mastercard" => "Mastercard".to_owned(),
        "pm_card_amex" => "American Express".to_owned(),
        _ => reader.card_declined(),
    }
}

/// The checkout as it is now.
async fn look(state: &AppState, token: &PageToken) -> Result<Checkout, Error> {
    let mut view = state.engine.database.read(Reach::Server).await?;
    visits::checkout_of(&mut *view, token).await
}

/// Whether the deposit is to be begun, and not gone on with.
fn is_to_be_begun(checkout: &Checkout) -> bool {
    matches!(
        checkout.lifecycle(),
        Lifecycle::DepositPending | Lifecycle::DepositFailed
    )
}

/// The customer is back from a provider's own page: what came of it is asked and taken in. One that they
/// left without paying is closed there first. What cannot be asked now the providers' messages tell.
pub(super) async fn come_back(state: &AppState, token: PageToken, left: bool) -> Result<(), Error> {
    let checkout = look(state, &token).await?;
    let runner = state.engine.jobs();
    if !runner.hosts((&checkout).into()).await? {
        return Ok(());
    }
    if left {
        let deposit = SessionPurpose::Deposit;
        runner.leave_sessions(&checkout, deposit).await?;
    }
    runner.customer_is_back(&checkout).await?;
    let subject = JobSubject::Checkout(checkout.id);
    settle(state, checkout.organization_id, subject).await;
    Ok(())
}
