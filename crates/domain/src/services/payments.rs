//! What the payment processor and the verifier tell of by themselves.
//!
//! Messages come late, repeated and in any order; each of these ends in the same
//! state whichever way they come.

use super::Error;
use super::moving::{self, Due};
use crate::checkout::{
    Actor, Checkout, Circumstances, Effect, Event, InvoiceNews, InvoiceOutcome, Lifecycle, Outcome,
    Refusal,
};
use crate::customer::IdentityStatus;
use crate::ids::CheckoutPubId;
use crate::ports::{
    IdGenerator, IdentityResult, JobSubject, ProcessorEvent, ProcessorFact, UnitOfWork,
};
use crate::time::Timestamp;

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Handled {
    /// It concerned this checkout.
    Checkout(CheckoutPubId),
    /// It concerned nothing that Lessor keeps, or changed nothing.
    Nothing,
    /// What it is about is not known yet: it is to be handled again later.
    NotYet,
}

/// Takes in what the processor told. `refusal` says why a payment failed, where the
/// message does not and somebody asked.
///
/// # Errors
/// [`Error::Store`].
pub async fn handle(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    event: &ProcessorEvent,
    refusal: Option<Refusal>,
) -> Result<Handled, Error> {
    let mode = event.mode;
    match &event.fact {
        ProcessorFact::Identity { session_id, result } => {
            identity(uow, ids, now, event, session_id, *result).await
        }
        ProcessorFact::Captured {
            payment_intent_id,
            invoice_id,
        } => {
            let Some(mut checkout) = by_intent(uow, event, payment_intent_id).await? else {
                return Ok(Handled::Nothing);
            };
            let invoice_id = invoice_id
                .clone()
                .unwrap_or_else(|| payment_intent_id.clone());
            let captured = Event::DepositCaptured {
                invoice_id: Some(invoice_id),
                at: event.at,
            };
            tell(uow, ids, now, &mut checkout, captured).await
        }
        ProcessorFact::AuthorizationEnded {
            payment_intent_id, ..
        } => {
            let Some(mut checkout) = by_intent(uow, event, payment_intent_id).await? else {
                return Ok(Handled::Nothing);
            };
            if checkout.deposit.open_hold().is_none() || checkout.lifecycle().is_ended() {
                return Ok(Handled::Nothing);
            }
            tell(uow, ids, now, &mut checkout, Event::AuthorizationLapsed).await
        }
        ProcessorFact::InvoicePaid {
            subscription_id,
            invoice_id,
            ..
        } => {
            let news = InvoiceNews {
                invoice_id: invoice_id.clone(),
                outcome: InvoiceOutcome::Paid,
                at: event.at,
            };
            invoice(uow, now, event, subscription_id, news).await
        }
        ProcessorFact::InvoiceFailed {
            subscription_id,
            invoice_id,
            attempts,
            ..
        } => {
            let refusal = refusal.unwrap_or_else(|| Refusal {
                code: "payment_failed".to_owned(),
                message: "The recurring payment failed.".to_owned(),
            });
            let outcome = InvoiceOutcome::Failed {
                attempts: (*attempts).max(1),
                refusal,
            };
            let news = InvoiceNews {
                invoice_id: invoice_id.clone(),
                outcome,
                at: event.at,
            };
            invoice(uow, now, event, subscription_id, news).await
        }
        ProcessorFact::SubscriptionEnded {
            subscription_id, ..
        } => {
            let Some(id) = uow
                .checkouts()
                .find_by_subscription(mode, subscription_id)
                .await?
            else {
                return later(uow, event).await;
            };
            let mut checkout = moving::lock(uow, id).await?;
            if checkout.end_billing(now) {
                uow.checkouts().update(&mut checkout).await?;
            }
            Ok(Handled::Checkout(id))
        }
        ProcessorFact::Disputed {
            payment_intent_id,
            dispute_id,
            closed,
            ..
        } => {
            let found = match (payment_intent_id, event.about.checkout) {
                (Some(intent), _) => uow.checkouts().find_by_payment_intent(mode, intent).await?,
                (None, known) => known,
            };
            let Some(id) = found.or(event.about.checkout) else {
                return Ok(Handled::Nothing);
            };
            let Some(mut checkout) = uow.checkouts().lock(id).await? else {
                return Ok(Handled::Nothing);
            };
            if !checkout.contest(dispute_id, *closed, now) {
                return Ok(Handled::Nothing);
            }
            uow.checkouts().update(&mut checkout).await?;
            Ok(Handled::Checkout(id))
        }
        // The job that authorizes asks for the answer itself, and a refund is its
        // job's own doing: these only hasten what is on its way.
        ProcessorFact::Authorized { .. }
        | ProcessorFact::PaymentRefused { .. }
        | ProcessorFact::Refunded { .. }
        | ProcessorFact::SubscriptionChanged { .. } => Ok(event
            .about
            .checkout
            .map_or(Handled::Nothing, Handled::Checkout)),
        ProcessorFact::Unknown { .. } => Ok(Handled::Nothing),
    }
}

/// What a message about something unknown comes to. One about a checkout of ours came
/// before the answer that makes it known; others tell of what somebody else does with the
/// same account of the processor.
async fn later(uow: &mut dyn UnitOfWork, event: &ProcessorEvent) -> Result<Handled, Error> {
    let ours = match event.about.checkout {
        Some(id) => uow.checkouts().get(id).await?,
        None => None,
    };
    Ok(match ours {
        Some(checkout) if checkout.mode == event.mode => Handled::NotYet,
        _ => Handled::Nothing,
    })
}

async fn by_intent(
    uow: &mut dyn UnitOfWork,
    event: &ProcessorEvent,
    intent: &str,
) -> Result<Option<Checkout>, Error> {
    match uow
        .checkouts()
        .find_by_payment_intent(event.mode, intent)
        .await?
    {
        Some(id) => moving::lock(uow, id).await.map(Some),
        None => Ok(None),
    }
}

/// Applies what a provider told; what the state does not allow (any more, or yet)
/// is no error of the provider.
async fn tell(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    checkout: &mut Checkout,
    event: Event,
) -> Result<Handled, Error> {
    match moving::apply(
        uow,
        ids,
        checkout,
        event,
        &Circumstances::new(now, Actor::Provider),
    )
    .await
    {
        Ok(applied) if applied.outcome == Outcome::Applied => Ok(Handled::Checkout(checkout.id)),
        Ok(_) | Err(Error::Rule { .. }) => Ok(Handled::Nothing),
        Err(other) => Err(other),
    }
}

/// Takes in the news of an invoice. False when they say no more than what is known.
pub(crate) async fn take_in_invoice(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    checkout: &mut Checkout,
    news: &InvoiceNews,
) -> Result<bool, Error> {
    let known = uow.checkouts().invoices(checkout.id).await?;
    if !checkout.take_in_invoice(&known, news, now) {
        return Ok(false);
    }
    uow.checkouts().put_invoice(checkout.id, news).await?;
    uow.checkouts().update(checkout).await?;
    Ok(true)
}

async fn invoice(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    event: &ProcessorEvent,
    subscription_id: &str,
    news: InvoiceNews,
) -> Result<Handled, Error> {
    let Some(id) = uow
        .checkouts()
        .find_by_subscription(event.mode, subscription_id)
        .await?
    else {
        // The first invoice may be told before the subscription's own answer is in.
        return later(uow, event).await;
    };
    let mut checkout = moving::lock(uow, id).await?;
    if take_in_invoice(uow, now, &mut checkout, &news).await? {
        Ok(Handled::Checkout(id))
    } else {
        Ok(Handled::Nothing)
    }
}

/// What the verifier decided of a session, written into the customer and all
/// checkouts that wait for it.
async fn identity(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    event: &ProcessorEvent,
    session_id: &str,
    result: IdentityResult,
) -> Result<Handled, Error> {
    let Some(customer) = uow
        .customers()
        .find_by_verification_session(event.mode, session_id)
        .await?
    else {
        return later(uow, event).await;
    };
    let states = Lifecycle::those(Lifecycle::is_identifying);
    let waiting = uow
        .checkouts()
        .of_customer(event.mode, customer.id, &states)
        .await?;
    let mut handled = Handled::Nothing;
    for id in waiting {
        let mut checkout = moving::lock(uow, id).await?;
        if decide(uow, ids, now, &mut checkout, session_id, result, Due::Now).await? {
            handled = Handled::Checkout(id);
        }
    }
    Ok(handled)
}

/// Applies the verifier's decision to one checkout. False when the session is not
/// the customer's current one, or nothing changed.
pub(crate) async fn decide(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    checkout: &mut Checkout,
    session_id: &str,
    result: IdentityResult,
    due: Due,
) -> Result<bool, Error> {
    let Some(mut customer) = uow.customers().lock(checkout.customer_id).await? else {
        return Ok(false);
    };
    let screening = customer.screening_mut(checkout.mode);
    if screening.verification_session_id.as_deref() != Some(session_id)
        || screening.identity == IdentityStatus::Verified && result != IdentityResult::Verified
    {
        return Ok(false);
    }
    let (status, event) = match result {
        IdentityResult::AwaitingCustomer => return Ok(false),
        IdentityResult::Processing => (IdentityStatus::Processing, Event::IdentitySubmitted),
        IdentityResult::Verified => (IdentityStatus::Verified, Event::IdentityVerified),
        IdentityResult::Abandoned => (IdentityStatus::None, Event::IdentityAbandoned),
        IdentityResult::Refused => (IdentityStatus::Failed, Event::IdentityRefused),
    };
    if screening.identity != status {
        screening.identity = status;
        customer.updated_at = now;
        uow.customers().update(&mut customer).await?;
    }
    let by = Circumstances::new(now, Actor::Provider);
    match moving::apply_due(uow, ids, checkout, event, &by, due).await {
        Ok(applied) => Ok(applied.outcome == Outcome::Applied),
        Err(Error::Rule { .. }) => Ok(false),
        Err(other) => Err(other),
    }
}

/// Asks the verifier again for the customer's other checkouts that wait.
pub(crate) async fn ask_for_others(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    decided: &Checkout,
) -> Result<(), Error> {
    let states = Lifecycle::those(Lifecycle::is_identifying);
    for id in uow
        .checkouts()
        .of_customer(decided.mode, decided.customer_id, &states)
        .await?
    {
        if id != decided.id {
            let mut job = moving::job(decided, Effect::FetchIdentityResult, now, ids);
            job.subject = JobSubject::Checkout(id);
            uow.outbox().push(&[job]).await?;
        }
    }
    Ok(())
}
