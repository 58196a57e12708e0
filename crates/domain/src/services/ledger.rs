//! Keeping the ledger, and drawing the conclusions.

use super::{Error, moving};
use crate::access::Mode;
use crate::checkout::{AttentionReason, Checkout, Effect, Invoice};
use crate::ledger::{Entry, HoldState, SessionPurpose, Thing, paid_by, refunded_of};
use crate::money::Money;
use crate::ports::{IdGenerator, JobFilter, JobState, JobSubject, StoreError, UnitOfWork};
use crate::time::Timestamp;

/// Keeps what the row says, if it says more than what is known. Tells whether it did.
pub(crate) async fn note(
    uow: &mut dyn UnitOfWork,
    mode: Mode,
    entry: &Entry,
) -> Result<bool, Error> {
    let known = uow.ledger().find(mode, &entry.id).await?;
    if known.is_some_and(|known| !entry.supersedes(&known)) {
        return Ok(false);
    }
    uow.ledger().put(entry).await?;
    Ok(true)
}

/// Notes how far a known pre-authorization is. Tells whether that is news.
pub(crate) async fn note_hold(
    uow: &mut dyn UnitOfWork,
    mode: Mode,
    payment_intent_id: &str,
    state: HoldState,
    at: Timestamp,
) -> Result<bool, Error> {
    let Some(known) = uow.ledger().find(mode, payment_intent_id).await? else {
        return Ok(false);
    };
    let Thing::Hold { ends_at, .. } = known.thing else {
        return Ok(false);
    };
    let entry = Entry {
        at,
        thing: Thing::Hold { state, ends_at },
        ..known
    };
    note(uow, mode, &entry).await
}

/// Notes invoices of the checkout's subscriptions and counts all that are known. Tells whether
/// that changed the checkout, which is then written.
pub(crate) async fn take_in_invoices(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    checkout: &mut Checkout,
    invoices: &[Invoice],
) -> Result<bool, Error> {
    let mut is_news = false;
    for invoice in invoices {
        is_news |= note(uow, checkout.mode, &Entry::of_invoice(checkout.id, invoice)).await?;
    }
    if !is_news {
        return Ok(false);
    }
    let rows = uow.ledger().of(checkout.id).await?;
    let known: Vec<Invoice> = rows.iter().filter_map(Entry::invoice).collect();
    let mut changed = checkout.take_in_invoices(&known, now);
    if let Some((agreed, paid)) = mispaid(checkout, &rows) {
        let detail = format!("its payments come to {paid}, {agreed} was agreed");
        changed |= checkout.raise(AttentionReason::Difference, Some(detail), now);
    }
    if changed {
        uow.checkouts().update(checkout).await?;
    }
    Ok(changed)
}

/// How many payments a subscription of the checkout is to take: all of the term that no other one
/// took. Its own may be known already, by messages that were quicker than its answer.
pub(crate) async fn payments_of(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    subscription_id: &str,
) -> Result<u16, StoreError> {
    let rows = uow.ledger().of(checkout.id).await?;
    let others: Vec<Entry> = rows
        .into_iter()
        .filter(|row| row.subscription_id() != Some(subscription_id))
        .collect();
    let months = checkout.term.map_or(0, |term| term.months.get());
    let zero = others.first().map(|row| Money::zero(row.amount.currency()));
    let taken = zero.and_then(|zero| paid_by(zero, &others).ok());
    let taken = taken.map_or(0, |(months, _)| u16::try_from(months).unwrap_or(u16::MAX));
    Ok(months.saturating_sub(taken))
}

/// What was agreed for the months that are paid, no more of them than the term has, and what was
/// paid for them, where the two differ.
pub(crate) fn mispaid(checkout: &Checkout, rows: &[Entry]) -> Option<(Money, Money)> {
    let monthly = checkout.quote?.total_monthly_payment;
    let (months, paid) = paid_by(Money::zero(monthly.currency()), rows).ok()?;
    let term = checkout.term.map_or(0, |term| u32::from(term.months.get()));
    let agreed = monthly.checked_mul(months.min(term)).ok()?;
    (agreed != paid).then_some((agreed, paid))
}

/// Whether the row is of a deposit that the checkout has no use for, and that is held still, or
/// was taken and not paid back.
pub(crate) fn is_to_be_let_go(checkout: &Checkout, row: &Entry, rows: &[Entry]) -> bool {
    let Some(state) = row.hold_state() else {
        return false;
    };
    if checkout.needs_hold(&row.id) {
        return false;
    }
    // It may be what the customer is having held on the processor's page this moment.
    let is_being_paid = !checkout.lifecycle().is_ended()
        && rows
            .iter()
            .any(|row| row.is_open_session(SessionPurpose::Deposit));
    match state {
        HoldState::Held => !is_being_paid,
        HoldState::Captured => {
            let zero = Money::zero(row.amount.currency());
            let refunded = refunded_of(&row.id, zero, rows);
            refunded.is_ok_and(|refunded| refunded.minor() < row.amount.minor())
        }
        HoldState::Released => false,
    }
}

/// Has whatever the checkout has no use for let go, unless that is asked for already.
pub(crate) async fn let_go(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    checkout: &Checkout,
) -> Result<(), Error> {
    let rows = uow.ledger().of(checkout.id).await?;
    if rows.iter().any(|row| is_to_be_let_go(checkout, row, &rows)) {
        ask_once(uow, ids, now, checkout, Effect::VoidDeposit).await?;
    }
    Ok(())
}

/// Asks for the work, unless it is asked for and nobody has begun it. Tells whether it did.
pub(crate) async fn ask_once(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    checkout: &Checkout,
    effect: Effect,
) -> Result<bool, StoreError> {
    if is_asked_for(uow, checkout, effect).await? {
        return Ok(false);
    }
    let job = moving::job(checkout, effect, now, ids);
    moving::release(uow, checkout, now).await?;
    uow.jobs().push(&[job]).await?;
    Ok(true)
}

async fn is_asked_for(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    effect: Effect,
) -> Result<bool, StoreError> {
    let filter = JobFilter {
        state: Some(JobState::Pending),
        subject: Some(JobSubject::Checkout(checkout.id)),
    };
    let open = uow.jobs().list(&filter, 1_000).await?;
    // One that somebody may be at has read what was there before.
    Ok(open
        .iter()
        .any(|job| job.new.effect == effect && (job.attempts == 0 || job.last_error.is_some())))
}
