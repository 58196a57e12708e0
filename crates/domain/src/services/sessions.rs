//! Customers' sessions on the processor's own pages: asked for, and what comes of them.
//!
//! A session has a row in the ledger before anybody is asked to open it, under whose id the processor
//! is asked, so that asking again gives the same one. What was paid or left there is taken in once,
//! whoever learns of it first: the customer who comes back, or the processor's message.

use chrono::TimeDelta;

use super::audit::{self, Entry as AuditEntry};
use super::{Error, billing, ledger, moving, waitlist};
use crate::audit::{AuditAction, Origin};
use crate::catalog::StockTaken;
use crate::checkout::{
    Actor, Billing, Checkout, Circumstances, Event, Hold, Lifecycle, PaymentMethod, Refusal,
};
use crate::ledger::{
    Authorization, Entry, HoldState, HostedSession, SessionPurpose, SessionState, Thing,
};
use crate::money::Money;
use crate::ports::{IdGenerator, UnitOfWork};
use crate::time::Timestamp;

/// How long a session stays open. "It can be anywhere from 30 minutes to 24 hours after Checkout
/// Session creation."
const LASTS: TimeDelta = TimeDelta::hours(2);
/// One that was asked for and not opened is of use for so long: the processor opens none that ends
/// sooner than in half an hour.
const OPENS_UNTIL: TimeDelta = TimeDelta::minutes(35);

/// Whether the customer can name another card for the monthly payments, or a first one.
#[must_use]
pub fn takes_a_card(checkout: &Checkout) -> bool {
    let state = checkout.lifecycle();
    state == Lifecycle::RecurringPaymentMethodPending
        || checkout.recurring.method.is_some()
            && !state.is_ended()
            && state.step() >= Lifecycle::DocumentsPending.step()
}

/// Whether the checkout has use for what a session of this purpose is for.
pub(crate) fn is_wanted(checkout: &Checkout, purpose: SessionPurpose) -> bool {
    match purpose {
        SessionPurpose::Deposit => matches!(
            checkout.lifecycle(),
            Lifecycle::DepositProcessing | Lifecycle::CaptureFailed
        ),
        SessionPurpose::Method => takes_a_card(checkout),
    }
}

/// The sessions of the purpose that something may come of.
pub(crate) async fn open_of(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    purpose: SessionPurpose,
) -> Result<Vec<Entry>, Error> {
    let mut rows = uow.ledger().of(checkout.id).await?;
    rows.retain(|row| row.is_open_session(purpose));
    Ok(rows)
}

/// Asks for a session, unless there is one that the customer can go on with.
pub(crate) async fn ask(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    checkout: &Checkout,
    purpose: SessionPurpose,
    amount: Money,
) -> Result<(), Error> {
    let soon = now.checked_add_signed(OPENS_UNTIL).unwrap_or(now);
    for row in open_of(uow, checkout, purpose).await? {
        let Thing::Session {
            session_id,
            ends_at,
            ..
        } = &row.thing
        else {
            continue;
        };
        if session_id.is_some() || *ends_at > soon {
            return Ok(());
        }
        let given_up = row.with_session(None, SessionState::Expired, now);
        ledger::note(uow, checkout.mode, &given_up).await?;
    }
    let asked = Entry {
        id: format!("session-{}", ids.next().simple()),
        checkout: checkout.id,
        amount,
        at: now,
        thing: Thing::Session {
            session_id: None,
            purpose,
            state: SessionState::Asked,
            ends_at: now.checked_add_signed(LASTS).unwrap_or(now),
        },
    };
    ledger::note(uow, checkout.mode, &asked).await?;
    Ok(())
}

/// The processor opened the session that the row asks for. False when nobody is to be sent there: it
/// was given up meanwhile, or the checkout has no use for it any more.
pub(crate) async fn opened(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    checkout: &Checkout,
    row: &Entry,
    session_id: &str,
) -> Result<bool, Error> {
    let known = uow.ledger().find(checkout.mode, &row.id).await?;
    let is_over = known
        .and_then(|known| known.session())
        .is_none_or(|(_, state)| state.is_over());
    let purpose = row.session().map(|(purpose, _)| purpose);
    let is_wanted = purpose.is_some_and(|purpose| is_wanted(checkout, purpose));
    let state = if is_wanted {
        SessionState::Open
    } else {
        SessionState::Expired
    };
    let opened = row.with_session(Some(session_id), state, now);
    ledger::note(uow, checkout.mode, &opened).await?;
    Ok(is_wanted && !is_over)
}

/// Takes in what came of a session of the locked checkout; nothing came of one that was never opened,
/// or that the processor does not know. Told again it changes nothing.
pub(crate) async fn take_in(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    by: &Circumstances,
    checkout: &mut Checkout,
    row: &Entry,
    told: Option<&HostedSession>,
) -> Result<(), Error> {
    let state = told.map_or(SessionState::Expired, |told| told.state);
    let Some((purpose, _)) = row.session().filter(|_| state.is_over()) else {
        return Ok(());
    };
    let stands = row.with_session(told.map(|told| told.id.as_str()), state, by.at);
    if !ledger::note(uow, checkout.mode, &stands).await? {
        return Ok(());
    }
    let authorization = told.and_then(|told| told.authorization.as_ref());
    let method = told.and_then(|told| told.method.as_ref());
    match (purpose, state, authorization, method) {
        (SessionPurpose::Deposit, SessionState::Completed, Some(authorization), _) => {
            paid(uow, ids, by, checkout, authorization).await?;
        }
        (SessionPurpose::Deposit, ..) => left(uow, ids, by, checkout).await?,
        (SessionPurpose::Method, SessionState::Completed, _, Some(method)) => {
            card_given(uow, ids, by, checkout, method.clone()).await?;
        }
        (SessionPurpose::Method, ..) => {}
    }
    ledger::let_go(uow, ids, by.at, checkout).await
}

/// The deposit is held on the card that the customer gave. One that comes too late is in the ledger,
/// and let go of.
async fn paid(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    by: &Circumstances,
    checkout: &mut Checkout,
    authorization: &Authorization,
) -> Result<(), Error> {
    let event = authorized(uow, by.at, checkout, Some(authorization.clone()), false).await?;
    if let Some(event) = event {
        moving::apply(uow, ids, checkout, event, by).await?;
        return Ok(());
    }
    // What could not be charged is held on another card now, and charged there. While it is being
    // charged on the old one nothing is replaced.
    let held = uow
        .ledger()
        .find(checkout.mode, &authorization.payment_intent_id)
        .await?
        .and_then(|row| row.hold_state());
    if held == Some(HoldState::Held)
        && checkout.lifecycle() == Lifecycle::CaptureFailed
        && checkout.capture_requested_at.is_none()
        && checkout.replace_hold(
            &authorization.payment_intent_id,
            authorization.expires_at,
            authorization.method.clone(),
            by.at,
        )
    {
        uow.checkouts().update(checkout).await?;
        let again = Circumstances::new(by.at, Actor::System);
        moving::apply(uow, ids, checkout, Event::CaptureRetried, &again).await?;
    }
    Ok(())
}

/// Nothing was paid, and on that page nothing will be.
async fn left(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    by: &Circumstances,
    checkout: &mut Checkout,
) -> Result<(), Error> {
    let others = open_of(uow, checkout, SessionPurpose::Deposit).await?;
    if checkout.lifecycle() == Lifecycle::DepositProcessing && others.is_empty() {
        moving::apply(uow, ids, checkout, Event::DepositAbandoned, by).await?;
    }
    Ok(())
}

/// The customer left a card: it pays every month from now on, and what is open is tried with it.
async fn card_given(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    by: &Circumstances,
    checkout: &mut Checkout,
    method: PaymentMethod,
) -> Result<(), Error> {
    if checkout.lifecycle() == Lifecycle::RecurringPaymentMethodPending {
        let event = Event::PaymentMethodSaved { method };
        moving::apply(uow, ids, checkout, event, by).await?;
        return Ok(());
    }
    if !takes_a_card(checkout) {
        return Ok(());
    }
    let customer = Origin::customer(checkout.customer_id);
    match checkout.recurring.billing {
        Billing::Incomplete { .. } | Billing::Active { .. } | Billing::Ended { .. } => {
            let tried =
                billing::try_again(uow, ids, by.at, &customer, checkout, Some(method)).await;
            match tried {
                // The same card again, with nothing to pay.
                Ok(()) | Err(Error::Rule { .. }) => Ok(()),
                Err(other) => Err(other),
            }
        }
        Billing::NotRequested | Billing::Requested { .. } => {
            let before = checkout.clone();
            if checkout.change_method(method, by.at) {
                uow.checkouts().update(checkout).await?;
                let changed = AuditEntry::changed(AuditAction::CheckoutUpdated, &before, checkout);
                let organization = checkout.organization_id;
                audit::record(uow, ids, by.at, &customer, organization, changed).await?;
            }
            Ok(())
        }
    }
}

/// What the processor's answer to the authorization of a deposit means for the checkout by now; the
/// answer may be old. None when it came too late.
pub(crate) async fn authorized(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    checkout: &Checkout,
    authorization: Option<Authorization>,
    is_sold_out: bool,
) -> Result<Option<Event>, Error> {
    let mut state = HoldState::Held;
    if let Some(authorization) = &authorization {
        let row = Entry::hold(checkout.id, authorization, now);
        ledger::note(uow, checkout.mode, &row).await?;
        let known = uow.ledger().find(checkout.mode, &row.id).await?;
        state = known.and_then(|row| row.hold_state()).unwrap_or(state);
    }
    if checkout.lifecycle() != Lifecycle::DepositProcessing {
        return Ok(None);
    }
    if state != HoldState::Held {
        let refusal = Refusal {
            code: "authorization_ended".to_owned(),
            message: "The authorization of the deposit has ended.".to_owned(),
        };
        return Ok(Some(Event::DepositRefused { refusal }));
    }
    let stock = if is_sold_out {
        StockTaken::NoneLeft
    } else {
        waitlist::take_units(uow, checkout).await?
    };
    let method = authorization
        .as_ref()
        .and_then(|known| known.method.clone());
    let hold = authorization.map(|known| Hold::new(known.payment_intent_id, known.expires_at));
    Ok(Some(Event::deposit_authorized(hold, method, stock)))
}
