//! What the payment processor tells of by itself.
//!
//! Messages come late, repeated and in any order; each of these ends in the same
//! state whichever way they come.

use super::concern::Concern;
use super::{Error, identity, ledger, moving};
use crate::checkout::{
    Actor, AttentionReason, Billing, Checkout, Circumstances, Effect, Event, Invoice,
    InvoiceOutcome, Lifecycle, Refusal,
};
use crate::ids::{CheckoutPubId, OrganizationId};
use crate::ledger::{
    Authorization, Entry, HoldState, Refund, RefundState, SubscriptionState, Thing,
};
use crate::ports::{IdGenerator, ProcessorEvent, ProcessorFact, UnitOfWork};
use crate::time::Timestamp;

/// What was asked of the processor because a message does not say it.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Why a payment failed.
    pub refusal: Option<Refusal>,
    /// The invoice that a contested payment pays.
    pub invoice: Option<Invoice>,
}

/// Whose affair the message is: who has what it names. None when nobody has it, and when it is told by
/// the account of another organization than that: an account tells of its own organization alone.
///
/// # Errors
/// [`Error::Store`].
pub async fn owner(
    uow: &mut dyn UnitOfWork,
    event: &ProcessorEvent,
    asked: &Findings,
    own_account_of: Option<OrganizationId>,
) -> Result<Option<OrganizationId>, Error> {
    let named = named(uow, event, asked).await?;
    Ok(named.filter(|owner| own_account_of.is_none_or(|teller| teller == *owner)))
}

/// Who has what the message names.
async fn named(
    uow: &mut dyn UnitOfWork,
    event: &ProcessorEvent,
    asked: &Findings,
) -> Result<Option<OrganizationId>, Error> {
    let doors = uow.doors();
    let mode = event.mode;
    // What is named first is asked first: `handle` looks for the checkout in this order.
    let named = match &event.fact {
        ProcessorFact::Identity { session_id, .. } => {
            doors.owner_of_verification(mode, session_id).await?
        }
        ProcessorFact::Deposit(told) => {
            let known = doors
                .owner_of_payment(mode, &told.payment_intent_id)
                .await?;
            match (known, told.checkout) {
                (None, Some(id)) => doors.owner_of_checkout(id).await?,
                (known, _) => known,
            }
        }
        ProcessorFact::Invoice(told) => doors.owner_of_payment(mode, &told.subscription_id).await?,
        ProcessorFact::Subscription {
            subscription_id, ..
        } => doors.owner_of_payment(mode, subscription_id).await?,
        ProcessorFact::Refund(told) => {
            doors
                .owner_of_payment(mode, &told.payment_intent_id)
                .await?
        }
        ProcessorFact::Disputed {
            payment_intent_id, ..
        } => match payment_intent_id {
            Some(intent) => doors.owner_of_payment(mode, intent).await?,
            None => None,
        },
        // It says which checkout it is of.
        ProcessorFact::SessionOver { .. }
        | ProcessorFact::PaymentRefused { .. }
        | ProcessorFact::Unknown { .. } => None,
    };
    let named = match (named, event.about.checkout) {
        (None, Some(id)) => doors.owner_of_checkout(id).await?,
        (named, _) => named,
    };
    match (named, &asked.invoice) {
        (None, Some(invoice)) => Ok(doors
            .owner_of_payment(mode, &invoice.subscription_id)
            .await?),
        (named, _) => Ok(named),
    }
}

/// Takes in what the processor told. `asked` is what it told when it was asked, and `own_account_of` whose
/// own account tells it; none: the one that all work with who have none of the mode. What is told of
/// somebody who works with another account is of no concern here.
///
/// # Errors
/// [`Error::Store`].
pub async fn handle(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    event: &ProcessorEvent,
    asked: Findings,
    own_account_of: Option<OrganizationId>,
) -> Result<Concern, Error> {
    let Some(owner) = owner(uow, event, &asked, own_account_of).await? else {
        return Ok(Concern::Nothing);
    };
    uow.enter(owner).await?;
    if own_account_of.is_none() {
        let accounts = uow.processor_accounts().list(owner).await?;
        if accounts.iter().any(|account| account.mode == event.mode) {
            return Ok(Concern::Nothing);
        }
    }
    match &event.fact {
        ProcessorFact::Identity { session_id, result } => {
            identity::told(uow, ids, now, event, session_id, *result).await
        }
        ProcessorFact::Deposit(told) => deposit(uow, ids, now, event, told).await,
        ProcessorFact::Invoice(told) => invoice(uow, ids, now, event, told, asked.refusal).await,
        ProcessorFact::Subscription {
            subscription_id,
            state,
            ends_at,
        } => subscription(uow, ids, now, event, subscription_id, *state, *ends_at).await,
        ProcessorFact::Refund(told) => refund(uow, now, event, told).await,
        ProcessorFact::Disputed {
            payment_intent_id,
            dispute_id,
            closed,
            ..
        } => {
            let mut found = None;
            if let Some(intent) = payment_intent_id {
                found = uow.ledger().find_payment(event.mode, intent).await?;
            }
            let mut found = found.map(|row| row.checkout).or(event.about.checkout);
            if let (None, Some(invoice)) = (found, &asked.invoice) {
                let id = &invoice.subscription_id;
                let row = uow.ledger().find(event.mode, id).await?;
                found = row.map(|row| row.checkout);
            }
            let Some(mut checkout) = ours(uow, event, found).await? else {
                return Ok(Concern::Nothing);
            };
            if let Some(invoice) = &asked.invoice {
                let row = Entry::of_invoice(checkout.id, invoice);
                ledger::note(uow, event.mode, &row).await?;
            }
            if !checkout.contest(dispute_id, *closed, now) {
                return Ok(Concern::Nothing);
            }
            uow.checkouts().update(&mut checkout).await?;
            Ok(Concern::Checkout(checkout.id))
        }
        ProcessorFact::SessionOver { session_id } => {
            session_over(uow, ids, now, event, session_id).await
        }
        // The job that authorizes asks for the answer itself: this only hastens what is on its way.
        ProcessorFact::PaymentRefused { .. } => Ok(event
            .about
            .checkout
            .map_or(Concern::Nothing, Concern::Checkout)),
        ProcessorFact::Unknown { .. } => Ok(Concern::Nothing),
    }
}

/// The checkout, locked, if it is one of ours and of the message's mode: a message of one mode
/// touches nothing of the other.
async fn ours(
    uow: &mut dyn UnitOfWork,
    event: &ProcessorEvent,
    id: Option<CheckoutPubId>,
) -> Result<Option<Checkout>, Error> {
    let Some(id) = id else { return Ok(None) };
    let checkout = uow.checkouts().lock(id).await?;
    Ok(checkout.filter(|checkout| checkout.mode == event.mode))
}

/// A pre-authorization was made, captured or let go, by whomever.
async fn deposit(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    event: &ProcessorEvent,
    told: &Authorization,
) -> Result<Concern, Error> {
    let intent = told.payment_intent_id.as_str();
    let known = uow.ledger().find(event.mode, intent).await?;
    let id = known.as_ref().map(|row| row.checkout);
    let id = id.or(told.checkout).or(event.about.checkout);
    let Some(mut checkout) = ours(uow, event, id).await? else {
        return Ok(Concern::Nothing);
    };
    let is_known = known.is_some();
    let row = match known {
        // Of a hold that is known a message knows no better when it ends.
        Some(_) if told.state == HoldState::Held => return Ok(Concern::Nothing),
        Some(known) => Entry {
            at: event.at,
            thing: match known.thing {
                Thing::Hold { ends_at, .. } => Thing::Hold {
                    state: told.state,
                    ends_at,
                },
                other => other,
            },
            ..known
        },
        None => Entry::hold(checkout.id, told, event.at),
    };
    let is_news = ledger::note(uow, event.mode, &row).await?;
    let is_current = checkout
        .deposit
        .open_hold()
        .is_some_and(|hold| hold.payment_intent_id == intent);
    let by = Circumstances::new(now, Actor::Provider);
    let moves = match told.state {
        HoldState::Captured if is_current => Some(Event::DepositCaptured {
            invoice_id: Some(told.charge_id.clone().unwrap_or_else(|| intent.to_owned())),
            at: event.at,
        }),
        HoldState::Released if is_current && !checkout.lifecycle().is_ended() => {
            Some(Event::AuthorizationLapsed)
        }
        HoldState::Captured | HoldState::Released | HoldState::Held => None,
    };
    if let Some(moves) = moves {
        match moving::apply(uow, ids, &mut checkout, moves, &by).await {
            // What the state does not allow, any more or yet, is no error of the provider.
            Ok(_) | Err(Error::Rule { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    // One that is not known yet may be the answer that is on its way.
    if is_known || checkout.lifecycle() != Lifecycle::DepositProcessing {
        ledger::let_go(uow, ids, now, &checkout).await?;
    }
    Ok(if is_news {
        Concern::Checkout(checkout.id)
    } else {
        Concern::Nothing
    })
}

/// A session on the processor's pages is over: what came of it its job asks. One whose answer is not
/// written yet has no processor's id here, and may be this one.
async fn session_over(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    event: &ProcessorEvent,
    session_id: &str,
) -> Result<Concern, Error> {
    let Some(checkout) = ours(uow, event, event.about.checkout).await? else {
        return Ok(Concern::Nothing);
    };
    let rows = uow.ledger().of(checkout.id).await?;
    let is_open = |row: &&Entry| row.session().is_some_and(|(_, state)| !state.is_over());
    let open: Vec<&Entry> = rows.iter().filter(is_open).collect();
    if open.iter().any(|row| row.session_id() == Some(session_id)) {
        ledger::ask_once(uow, ids, now, &checkout, Effect::CheckSessions).await?;
        return Ok(Concern::Checkout(checkout.id));
    }
    Ok(if open.iter().any(|row| row.session_id().is_none()) {
        Concern::NotYet
    } else {
        Concern::Nothing
    })
}

/// An invoice of a subscription was paid, failed to be, or was called off.
async fn invoice(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    event: &ProcessorEvent,
    told: &Invoice,
    refusal: Option<Refusal>,
) -> Result<Concern, Error> {
    let row = uow.ledger().find(event.mode, &told.subscription_id).await?;
    let id = row.map(|row| row.checkout).or(event.about.checkout);
    let Some(mut checkout) = ours(uow, event, id).await? else {
        return Ok(Concern::Nothing);
    };
    let mut told = told.clone();
    if let (InvoiceOutcome::Failed { refusal: known, .. }, Some(refusal)) =
        (&mut told.outcome, refusal)
    {
        *known = refusal;
    }
    let is_paid = told.outcome == InvoiceOutcome::Paid;
    if !ledger::take_in_invoices(uow, now, &mut checkout, &[told]).await? {
        return Ok(Concern::Nothing);
    }
    // A first payment that is made after all lets the lease begin; one that a lease which never was
    // has made is paid back.
    match checkout.recurring.billing {
        Billing::Incomplete { .. } if is_paid => {
            ledger::ask_once(uow, ids, now, &checkout, Effect::CheckSubscription).await?;
        }
        _ if is_paid && checkout.lifecycle().is_ended() && !checkout.lifecycle().is_leased() => {
            ledger::ask_once(uow, ids, now, &checkout, Effect::CancelSubscription).await?;
            ledger::ask_once(uow, ids, now, &checkout, Effect::RefundPayments).await?;
        }
        _ => {}
    }
    Ok(Concern::Checkout(checkout.id))
}

/// A subscription started, changed or ended. Messages come in any order: how it stands by now its
/// job asks.
async fn subscription(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    event: &ProcessorEvent,
    subscription_id: &str,
    state: SubscriptionState,
    ends_at: Option<Timestamp>,
) -> Result<Concern, Error> {
    let Some(row) = uow.ledger().find(event.mode, subscription_id).await? else {
        // One that is not known yet is in the answer that is on its way; by then the answer is old.
        let is_old = !matches!(
            state,
            SubscriptionState::Active | SubscriptionState::Incomplete
        );
        let Some(checkout) = ours(uow, event, event.about.checkout).await? else {
            return Ok(Concern::Nothing);
        };
        if is_old && matches!(checkout.recurring.billing, Billing::Requested { .. }) {
            ledger::ask_once(uow, ids, now, &checkout, Effect::CheckSubscription).await?;
            return Ok(Concern::Checkout(checkout.id));
        }
        return Ok(Concern::Nothing);
    };
    if let Thing::Subscription {
        state: known_state,
        ends_at: known_end,
        ..
    } = row.thing
        && known_state == state
        && (known_end == ends_at || state == SubscriptionState::Ended)
    {
        return Ok(Concern::Nothing);
    }
    let Some(checkout) = ours(uow, event, Some(row.checkout)).await? else {
        return Ok(Concern::Nothing);
    };
    if checkout.recurring.billing.subscription_id() == Some(subscription_id) {
        ledger::ask_once(uow, ids, now, &checkout, Effect::CheckSubscription).await?;
        return Ok(Concern::Checkout(checkout.id));
    }
    Ok(Concern::Nothing)
}

/// A payment is paid back, or that failed.
async fn refund(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    event: &ProcessorEvent,
    told: &Refund,
) -> Result<Concern, Error> {
    let payment = &told.payment_intent_id;
    let row = uow.ledger().find_payment(event.mode, payment).await?;
    let id = row.map(|row| row.checkout).or(event.about.checkout);
    let Some(mut checkout) = ours(uow, event, id).await? else {
        return Ok(Concern::Nothing);
    };
    if take_in_refund(uow, now, &mut checkout, told).await? {
        Ok(Concern::Checkout(checkout.id))
    } else {
        Ok(Concern::Nothing)
    }
}

/// Notes a refund; one that failed is shown. Tells whether it is news.
pub(crate) async fn take_in_refund(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    checkout: &mut Checkout,
    told: &Refund,
) -> Result<bool, Error> {
    let row = Entry::refund(checkout.id, told);
    if !ledger::note(uow, checkout.mode, &row).await? {
        return Ok(false);
    }
    if told.state == RefundState::Failed {
        let why = told.failure.as_deref().unwrap_or("no reason given");
        let detail = format!("the refund {} of {} failed: {why}", told.id, told.amount);
        let reason = AttentionReason::ProcessorRefused;
        if checkout.raise(reason, Some(detail), now) {
            uow.checkouts().update(checkout).await?;
        }
    }
    Ok(true)
}
