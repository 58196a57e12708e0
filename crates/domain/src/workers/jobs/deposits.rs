//! Deposits: held, held anew, captured, let go of and paid back.

use chrono::TimeDelta;

use super::attempt::{part, processor_customer};
use super::{Change, JobRunner, Setback};
use crate::checkout::{Checkout, Deposit, Event, Lifecycle, Refusal};
use crate::customer::Customer;
use crate::ledger::{Authorization, Entry, HoldState, Thing, refunded_of};
use crate::money::{Money, MoneyError};
use crate::ports::{Attempt, Capture, DepositRequest, Verdict, VoidResult};
use crate::services::Error;
use crate::services::ledger::is_to_be_let_go;
use crate::time::Timestamp;

/// The pause before the processor is asked again about a hold whose time is over.
const ASK_AGAIN: TimeDelta = TimeDelta::minutes(10);

/// A sum of one checkout's money, which is of one currency.
pub(super) fn sum(result: Result<Money, MoneyError>) -> Result<Money, Setback> {
    result.map_err(|error| Setback::Failed(Error::rule(error.to_string())))
}

impl JobRunner {
    pub(super) async fn authorize(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Change, Setback> {
        let Some(request) = self.deposit_of(attempt, checkout, customer).await? else {
            return Ok(Change::Authorized {
                authorization: None,
                is_sold_out: false,
            });
        };
        let processor = &self.providers.of(checkout.mode).processor;
        match processor.authorize_deposit(attempt, &request).await? {
            Verdict::Done(authorization) => Ok(Change::Authorized {
                authorization: Some(authorization),
                is_sold_out: false,
            }),
            Verdict::Refused(refusal) => Ok(Change::Happened(Event::DepositRefused { refusal })),
        }
    }

    /// Authorizes the deposit once more while the customer is away. The old hold stays until the
    /// new one is written down.
    pub(super) async fn renew_deposit(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Change, Setback> {
        let Some(request) = self.deposit_of(attempt, checkout, customer).await? else {
            return Ok(Change::Nothing);
        };
        let method = checkout.recurring.method.as_ref();
        let request = DepositRequest {
            payment_method: method
                .map(|method| method.id.clone())
                .or(request.payment_method),
            off_session: true,
            ..request
        };
        let processor = &self.providers.of(checkout.mode).processor;
        Ok(
            match processor.authorize_deposit(attempt, &request).await? {
                Verdict::Done(authorization) => Change::Renewed(authorization),
                Verdict::Refused(refusal) => Change::RenewalRefused(refusal),
            },
        )
    }

    /// What is to be authorized; none when nothing is due.
    async fn deposit_of(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Option<DepositRequest>, Setback> {
        let Some(quote) = self.quote(checkout).await? else {
            return Ok(None);
        };
        let amount = sum(checkout
            .purchase_total(Money::zero(quote.currency))
            .and_then(|items| items.checked_add(quote.deposit)))?;
        if amount.is_zero() {
            return Ok(None);
        }
        Ok(Some(DepositRequest {
            checkout: checkout.id,
            organization: self.organization_pub_id(checkout).await?,
            customer: self.known_customer(attempt, customer).await?,
            amount,
            payment_method: checkout.deposit_method_id.clone(),
            off_session: false,
        }))
    }

    /// Asks the processor, not the clock, what became of a hold whose time is over.
    pub(super) async fn check_deposit(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
    ) -> Result<Change, Setback> {
        let Some(hold) = checkout.deposit.open_hold() else {
            return Ok(Change::Nothing);
        };
        let processor = &self.providers.of(checkout.mode).processor;
        let known = processor
            .deposit(checkout.into(), &hold.payment_intent_id)
            .await?;
        let Some(known) = known else {
            return Ok(Change::Lapsed);
        };
        match known.state {
            HoldState::Released => Ok(Change::Lapsed),
            HoldState::Captured => Ok(Change::Captured(Some(captured(&known, attempt)))),
            HoldState::Held if known.expires_at > attempt.now => {
                Ok(Change::HoldEnds(known.expires_at))
            }
            HoldState::Held => Err(Setback::NotYet(ASK_AGAIN)),
        }
    }

    pub(super) async fn capture(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
    ) -> Result<Change, Setback> {
        let hold = match &checkout.deposit {
            Deposit::Authorized { hold } => hold,
            Deposit::Waived => return Ok(Change::Captured(None)),
            Deposit::Open | Deposit::Captured { .. } => return Ok(Change::Nothing),
        };
        let intent = &hold.payment_intent_id;
        let processor = &self.providers.of(checkout.mode).processor;
        let refusal = match processor.capture_deposit(attempt, intent).await? {
            Verdict::Done(capture) => return Ok(Change::Captured(Some(capture))),
            Verdict::Refused(refusal) => refusal,
        };
        // Why it was refused says nothing of whether the money is taken, held or gone.
        let known = processor.deposit(checkout.into(), intent).await?;
        Ok(match known {
            Some(known) if known.state == HoldState::Captured => {
                Change::Captured(Some(captured(&known, attempt)))
            }
            Some(known) if known.state == HoldState::Held => {
                Change::Happened(Event::CaptureRefused { refusal })
            }
            Some(_) | None => Change::Lapsed,
        })
    }

    /// Lets go of every authorization that the checkout has no use for, and pays back what was
    /// captured of those. Of an ended checkout the processor is asked for all there are: one may
    /// have been made by a call whose answer was lost.
    pub(super) async fn settle_deposits(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Change, Setback> {
        let processor = &self.providers.of(checkout.mode).processor;
        let mut rows = {
            let mut view = self.database.read(checkout.organization_id.into()).await?;
            view.ledger().of(checkout.id).await?
        };
        if checkout.lifecycle().is_ended() {
            self.close_sessions(checkout, &mut rows).await?;
        }
        let customer = processor_customer(customer);
        if checkout.lifecycle().is_ended() && customer.processor_id.is_some() {
            for made in processor
                .deposits_of(checkout.into(), &customer, checkout.id)
                .await?
            {
                put(&mut rows, Entry::hold(checkout.id, &made, attempt.now));
            }
        }
        let mut refused = None;
        let holds = rows.clone();
        for hold in holds.iter().filter(|row| row.hold_state().is_some()) {
            let mut state = hold.hold_state();
            if state == Some(HoldState::Held) && is_to_be_let_go(checkout, hold, &rows) {
                let attempt = part(attempt, &format!("void-{}", hold.id));
                let answer = processor.void_deposit(&attempt, &hold.id).await?;
                state = match refused_or(answer, &mut refused) {
                    Some(VoidResult::Voided) => Some(HoldState::Released),
                    Some(VoidResult::AlreadyCaptured(_)) => Some(HoldState::Captured),
                    None => continue,
                };
                put(&mut rows, with_state(hold, state, attempt.now));
            }
            let owed = owed_back(checkout, &hold.id, hold.amount, &rows)?;
            if state != Some(HoldState::Captured) || owed.is_zero() || owed.is_negative() {
                continue;
            }
            let attempt = part(attempt, &format!("refund-{}", hold.id));
            let answer = processor.refund(&attempt, &hold.id, owed).await?;
            if let Some(Some(refund)) = refused_or(answer, &mut refused) {
                put(&mut rows, Entry::refund(checkout.id, &refund));
            }
        }
        Ok(Change::Settled { rows, refused })
    }
}

/// What is to be paid back of a captured deposit, after what was paid back already. Returned goods
/// give the deposit back; what was bought along stays sold.
fn owed_back(
    checkout: &Checkout,
    intent: &str,
    captured: Money,
    rows: &[Entry],
) -> Result<Money, Setback> {
    let zero = Money::zero(captured.currency());
    let owed = if !checkout.needs_hold(intent) {
        captured
    } else if checkout.lifecycle() == Lifecycle::Returned {
        let deposit = checkout.quote.map_or(captured, |quote| quote.deposit);
        sum(deposit.checked_min(captured))?
    } else {
        zero
    };
    let refunded = sum(refunded_of(intent, zero, rows))?;
    sum(owed
        .checked_sub(refunded)
        .and_then(|left| left.checked_max(zero)))
}

fn captured(known: &Authorization, attempt: &Attempt) -> Capture {
    let id = known.charge_id.as_ref().unwrap_or(&known.payment_intent_id);
    Capture {
        invoice_id: id.clone(),
        at: attempt.now,
    }
}

fn with_state(row: &Entry, state: Option<HoldState>, at: Timestamp) -> Entry {
    let mut changed = row.clone();
    if let (Thing::Hold { state: known, .. }, Some(state)) = (&mut changed.thing, state) {
        *known = state;
    }
    Entry { at, ..changed }
}

/// Puts the row in the place of what is known of the same thing, if it says more.
pub(super) fn put(rows: &mut Vec<Entry>, row: Entry) {
    match rows.iter_mut().find(|known| known.id == row.id) {
        Some(known) if row.supersedes(known) => *known = row,
        Some(_) => {}
        None => rows.push(row),
    }
}

/// What was done. A refusal is kept for the end: it keeps nothing else from being let go.
pub(super) fn refused_or<T>(answer: Verdict<T>, refused: &mut Option<Refusal>) -> Option<T> {
    match answer {
        Verdict::Done(value) => Some(value),
        Verdict::Refused(refusal) => {
            *refused = Some(refusal);
            None
        }
    }
}
