//! Writing what a provider answered.

use super::{Change, CrashPoint, JobResult, JobRunner, Prepared, Setback};
use crate::agreement::SignerKind;
use crate::checkout::{
    AttentionReason, Billing, Checkout, Circumstances, Effect, Event, Invoice, Lifecycle, Refusal,
    Standing,
};
use crate::customer::PersonChange;
use crate::ledger::{Entry, HoldState, Subscription, SubscriptionState, Thing};
use crate::ports::{IdGenerator, Job, JobSubject, UnitOfWork};
use crate::services::identity::Decision;
use crate::services::moving::{self, Due};
use crate::services::{Error, identity, ledger, sessions, waitlist};
use crate::time::Timestamp;

impl JobRunner {
    /// Writes the answer and marks the job done, in one unit of work.
    pub(super) async fn write(&self, job: &Job, change: Change) -> Result<JobResult, Setback> {
        let written = self.write_if(job, change, None).await?;
        Ok(written.unwrap_or(JobResult::Done))
    }

    /// [`write`](Self::write), and none where the checkout would move to another state than this one:
    /// nothing is written then.
    pub(super) async fn write_if(
        &self,
        job: &Job,
        change: Change,
        target: Option<Lifecycle>,
    ) -> Result<Option<JobResult>, Setback> {
        let mut uow = self.begin(job).await?;
        let now = self.clock.now();
        let mut refused = None;
        match (job.new.subject, change) {
            (JobSubject::Checkout(id), change) => {
                let mut checkout = moving::lock(uow.as_mut(), id).await?;
                let due = Due::like(job);
                let before = checkout.lifecycle();
                refused = self
                    .change(uow.as_mut(), now, &mut checkout, change, due)
                    .await?;
                let is_elsewhere = |target| ![before, target].contains(&checkout.lifecycle());
                if target.is_some_and(is_elsewhere) {
                    return Ok(None);
                }
                // What was given up before is done: nobody has to look any more.
                if refused.is_none() && checkout.settle_refused(job.new.effect, now) {
                    uow.checkouts().update(&mut checkout).await?;
                }
            }
            (_, Change::Promoted(variant)) => {
                let ids = self.ids.as_ref();
                waitlist::promote(uow.as_mut(), ids, now, job, variant).await?;
            }
            _ => {}
        }
        // What was done is written down, and what was refused waits for a person.
        let (is_ours, delivered) = match &refused {
            None => (uow.jobs().complete(job, now).await?, JobResult::Done),
            Some(refusal) => {
                let is_ours = uow.jobs().renew(job, self.lease).await?;
                self.bury(uow.as_mut(), job, &super::refused(refusal))
                    .await?;
                (is_ours, JobResult::Buried)
            }
        };
        if is_ours {
            self.probe.reached(CrashPoint::Uncommitted, job.new.effect);
            uow.commit().await?;
            self.probe.reached(CrashPoint::Committed, job.new.effect);
        }
        // Otherwise somebody else has the job now: nothing of this try is written, and
        // theirs gets the same answer under the same key.
        Ok(Some(delivered))
    }

    async fn change(
        &self,
        uow: &mut dyn UnitOfWork,
        now: Timestamp,
        checkout: &mut Checkout,
        change: Change,
        due: Due,
    ) -> Result<Option<Refusal>, Setback> {
        let ids = self.ids.as_ref();
        let by = self.circumstances(now);
        let event = match change {
            Change::Nothing | Change::Promoted(_) => return Ok(None),
            Change::Happened(event) => event,
            Change::IdentityStarted(session, profile) => {
                identity::started(uow, ids, &by, checkout, session, &profile, due).await?;
                ledger::let_go(uow, ids, now, checkout).await?;
                return Ok(None);
            }
            Change::Identity(session, result) => {
                let origin = identity::verifier();
                let decision = Decision {
                    session_id: &session,
                    result,
                    origin: &origin,
                };
                identity::decide(uow, ids, &by, checkout, &decision, due).await?;
                identity::ask_for_others(uow, ids, now, checkout).await?;
                return Ok(None);
            }
            Change::Credit(asked) => {
                self.decide_credit(uow, now, checkout, *asked, due).await?;
                return Ok(None);
            }
            Change::CreditUnanswered(why) => {
                self.call_for_a_person(uow, checkout, why, now).await?;
                return Ok(None);
            }
            Change::Authorized {
                authorization,
                is_sold_out,
            } => {
                match sessions::authorized(uow, now, checkout, authorization, is_sold_out).await? {
                    Some(event) => event,
                    None => {
                        ledger::let_go(uow, ids, now, checkout).await?;
                        return Ok(None);
                    }
                }
            }
            Change::Renewed(authorization) => {
                let row = Entry::hold(checkout.id, &authorization, now);
                ledger::note(uow, checkout.mode, &row).await?;
                let known = uow.ledger().find(checkout.mode, &row.id).await?;
                let is_held = known.and_then(|row| row.hold_state()) == Some(HoldState::Held);
                let ends_at = authorization.expires_at;
                if is_held && checkout.renew_hold(&row.id, ends_at, now) {
                    uow.checkouts().update(checkout).await?;
                }
                // The old one, or this one when nobody needs it any more.
                ledger::let_go(uow, ids, now, checkout).await?;
                return Ok(None);
            }
            Change::RenewalRefused(refusal) => {
                let is_barred = is_hard(&refusal);
                if checkout.renewal_refused(refusal, is_barred, now) {
                    uow.checkouts().update(checkout).await?;
                }
                return Ok(None);
            }
            Change::Captured(capture) => {
                let at = capture.as_ref().map_or(now, |capture| capture.at);
                if let Some(intent) = checkout.deposit.payment_intent_id() {
                    let state = HoldState::Captured;
                    ledger::note_hold(uow, checkout.mode, intent, state, at).await?;
                }
                // Captured while the lease went back to a check: nobody leases what they did not sign.
                // The capture that the next signature asks for finds it, or the end pays it back.
                if checkout.signed_at.is_none() {
                    return Ok(None);
                }
                let captured = Event::DepositCaptured {
                    invoice_id: capture.map(|capture| capture.invoice_id),
                    at,
                };
                settle_with(uow, ids, checkout, captured, &by, due).await?;
                return Ok(None);
            }
            Change::Lapsed => {
                if let Some(intent) = checkout.deposit.payment_intent_id() {
                    let state = HoldState::Released;
                    ledger::note_hold(uow, checkout.mode, intent, state, now).await?;
                }
                settle_with(uow, ids, checkout, Event::AuthorizationLapsed, &by, due).await?;
                return Ok(None);
            }
            Change::HoldEnds(ends_at) => {
                let intent = checkout.deposit.payment_intent_id().map(ToOwned::to_owned);
                if intent.is_some_and(|intent| checkout.hold_ends(&intent, ends_at, now)) {
                    uow.checkouts().update(checkout).await?;
                }
                return Ok(None);
            }
            Change::Document(prepared) => {
                let Prepared {
                    document,
                    quote,
                    profile,
                } = *prepared;
                let customer = moving::customer_of(uow, checkout).await?;
                // It may have got another price meanwhile, another lessee, or a document of another try.
                let is_wanted = checkout.lifecycle() == Lifecycle::DocumentsPending
                    && customer.profile.change_since(&profile) == PersonChange::None
                    && checkout.lease_document_id.is_none()
                    && checkout.quote.is_none_or(|agreed| agreed == quote);
                let id = document.record.id.to_string();
                if is_wanted && checkout.take_in_document(id, now) {
                    uow.agreements().insert(&document).await?;
                    uow.checkouts().update(checkout).await?;
                    if document.record.signer == SignerKind::Http {
                        // Never held: it moves nothing, and a test is to see what its signer is sent.
                        let asked = moving::job(checkout, Effect::RequestSignature, now, ids);
                        uow.jobs().push(&[asked]).await?;
                    }
                }
                return Ok(None);
            }
            Change::Subscribed(subscription) => {
                self.take_in(uow, now, checkout, &subscription).await?;
                return Ok(None);
            }
            Change::SubscriptionLost(id) => {
                let detail = format!("the processor has no subscription {id}");
                if checkout.raise(AttentionReason::Difference, Some(detail), now) {
                    uow.checkouts().update(checkout).await?;
                }
                return Ok(None);
            }
            Change::Sessions(told) => {
                for (row, session) in told {
                    sessions::take_in(uow, ids, &by, checkout, &row, session.as_ref()).await?;
                }
                return Ok(None);
            }
            Change::Settled { rows, refused } => {
                settled(uow, now, checkout, &rows).await?;
                return Ok(refused);
            }
        };
        settle_with(uow, ids, checkout, event, &by, due).await?;
        Ok(None)
    }

    /// Takes in how a subscription of the checkout stands, with its invoices.
    async fn take_in(
        &self,
        uow: &mut dyn UnitOfWork,
        now: Timestamp,
        checkout: &mut Checkout,
        subscription: &Subscription,
    ) -> Result<(), Error> {
        let ids = self.ids.as_ref();
        let by = self.circumstances(now);
        let id = subscription.id.as_str();
        let known = uow.ledger().find(checkout.mode, id).await?;
        let payments = match known.map(|known| known.thing) {
            Some(Thing::Subscription { payments, .. }) => payments,
            _ => ledger::payments_of(uow, checkout, id).await?,
        };
        let row = Entry::subscription(checkout.id, subscription, payments, now);
        ledger::note(uow, checkout.mode, &row).await?;
        let was_given_up = !matches!(checkout.recurring.billing, Billing::Active { .. });
        let standing = match subscription.state {
            SubscriptionState::Incomplete => None,
            SubscriptionState::Active => Some(Standing::Good),
            SubscriptionState::PastDue => Some(Standing::PastDue),
            SubscriptionState::Unpaid => Some(Standing::Unpaid),
            SubscriptionState::Paused => Some(Standing::Paused),
            SubscriptionState::Ended => None,
        };
        let changed = match standing {
            Some(standing) => {
                let started = Event::SubscriptionStarted {
                    subscription_id: subscription.id.clone(),
                    start: subscription.anchor.date_naive(),
                };
                moving::apply(uow, ids, checkout, started, &by).await?;
                checkout.bills(id, standing, now)
            }
            None if subscription.has_ended() => checkout.end_billing(id, now),
            None => checkout.first_payment_failed(id, now),
        };
        let agreed = checkout.quote.map(|quote| quote.total_monthly_payment);
        let is_dearer = agreed.filter(|agreed| *agreed != subscription.monthly);
        let is_shown = is_dearer.is_some_and(|agreed| {
            let theirs = subscription.monthly;
            let detail = format!("{id} takes {theirs} each month, {agreed} was agreed");
            checkout.raise(AttentionReason::Difference, Some(detail), now)
        });
        if changed || is_shown {
            uow.checkouts().update(checkout).await?;
        }
        ledger::take_in_invoices(uow, now, checkout, &subscription.invoices).await?;
        // An answer may be older than the message that the first payment is made after all.
        let is_paid = checkout.recurring.paid_cycles > 0;
        if is_paid && matches!(checkout.recurring.billing, Billing::Incomplete { .. }) {
            ledger::ask_once(uow, ids, now, checkout, Effect::CheckSubscription).await?;
        }
        // The processor gives a first payment up after a day. The customer's bank may have had a
        // bad day: one more is asked for without anybody's word.
        let rows = uow.ledger().of(checkout.id).await?;
        let ended = SubscriptionState::Ended;
        let ended = rows
            .iter()
            .filter(|row| row.subscription_state() == Some(ended));
        if subscription.has_ended()
            && was_given_up
            && checkout.recurring.paid_cycles == 0
            && ended.count() == 1
            && checkout.bill_again(now)
        {
            uow.checkouts().update(checkout).await?;
            ledger::ask_once(uow, ids, now, checkout, Effect::CreateSubscription).await?;
        }
        Ok(())
    }
}

/// Applies the event, and lets go of whatever the checkout has no use for from then on.
async fn settle_with(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    checkout: &mut Checkout,
    event: Event,
    by: &Circumstances,
    due: Due,
) -> Result<(), Error> {
    moving::apply_due(uow, ids, checkout, event, by, due).await?;
    ledger::let_go(uow, ids, by.at, checkout).await
}

/// Notes what was let go of, paid back or ended.
async fn settled(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    checkout: &mut Checkout,
    rows: &[Entry],
) -> Result<(), Error> {
    let mut changed = false;
    for row in rows {
        ledger::note(uow, checkout.mode, row).await?;
        if row.subscription_state() == Some(SubscriptionState::Ended) {
            changed |= checkout.end_billing(&row.id, now);
        }
    }
    if changed {
        uow.checkouts().update(checkout).await?;
    }
    let invoices: Vec<Invoice> = rows.iter().filter_map(Entry::invoice).collect();
    let known = uow.ledger().of(checkout.id).await?;
    let known: Vec<Invoice> = known.iter().filter_map(Entry::invoice).collect();
    if !invoices.is_empty() && checkout.take_in_invoices(&known, now) {
        uow.checkouts().update(checkout).await?;
    }
    Ok(())
}

/// Whether the bank said never to ask again with this method.
///
/// The codes are those that the processor lists as lost, stolen, blocked or closed: "the card
/// should not be retried".
fn is_hard(refusal: &Refusal) -> bool {
    matches!(
        refusal.code.as_str(),
        super::UNHEARD
            | "do_not_try_again"
            | "expired_card"
            | "expired_payment_method"
            | "fraudulent"
            | "invalid_account"
            | "lost_card"
            | "merchant_blacklist"
            | "pickup_card"
            | "restricted_card"
            | "revocation_of_all_authorizations"
            | "revocation_of_authorization"
            | "stolen_card"
            | "stop_payment_order"
            | "payment_method_missing"
    )
}
