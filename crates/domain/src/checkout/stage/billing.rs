//! The recurring payments: what pays, the subscription, its invoices, and the lease that runs
//! while it bills.

use crate::checkout::effect::Effect;
use crate::checkout::parts::{Billing, Invoice, InvoiceTally, LeaseDates, PaymentMethod, Standing};
use crate::checkout::rule::rules;
use crate::checkout::snapshot::{Checkout, Snapshot};
use crate::checkout::step::{Applied, Obstacle, Ruling, Step, Told};
use crate::time::{Day, Timestamp, add_months};

rules! {
    PaymentMethodSaved by Customer | Provider | System {
        go    RecurringPaymentMethodPending => DocumentsPending;
        done  DocumentsPending..=ReturnPending;
        never Created..=DepositFailed | Returned..=QualificationFailed;
    }
    SubscriptionStarted by Provider {
        go    Shipped | FulfillmentException => LeaseActive;
        // One that comes too late is in the ledger, and ended.
        done  LeaseActive..=Returned | Cancelled..=QualificationFailed;
        never Created..=AddendumsPending | WaitlistedAfterProfile..=WaitlistedLocation;
    }
}

impl Checkout {
    /// Takes in what is known of all the checkout's invoices. False when they come to what is known.
    pub fn take_in_invoices(&mut self, invoices: &[Invoice], at: Timestamp) -> bool {
        let tally = InvoiceTally::of(invoices);
        let recurring = &mut self.0.recurring;
        if recurring.paid_cycles == tally.paid
            && recurring.failure_count == tally.failed_attempts
            && recurring.last_failure == tally.last_failure
        {
            return false;
        }
        recurring.paid_cycles = tally.paid;
        recurring.failure_count = tally.failed_attempts;
        recurring.last_failure = tally.last_failure;
        self.0.changed(at);
        true
    }

    /// The subscription is there, but its first payment was not made: the lease does not run yet.
    /// False when that is known, or the subscription was not asked for.
    pub fn first_payment_failed(&mut self, subscription_id: &str, at: Timestamp) -> bool {
        let Billing::Requested { at: requested_at } = self.recurring.billing else {
            return false;
        };
        self.0.recurring.billing = Billing::Incomplete {
            requested_at,
            subscription_id: subscription_id.to_owned(),
        };
        self.0.changed(at);
        true
    }

    /// The processor says how the subscription of a lease stands that was asked for, or runs. False
    /// when it says what is known. A checkout whose lease does not run yet has it start by
    /// [`SubscriptionStarted`](super::super::Event::SubscriptionStarted).
    pub fn bills(&mut self, subscription_id: &str, standing: Standing, at: Timestamp) -> bool {
        let Some(requested_at) = self.recurring.billing.requested_at() else {
            return false;
        };
        let active = Billing::Active {
            requested_at,
            subscription_id: subscription_id.to_owned(),
            standing,
        };
        if self.recurring.billing == active || !self.lifecycle().is_leased() {
            return false;
        }
        self.0.recurring.billing = active;
        self.0.changed(at);
        true
    }

    /// The processor bills no more by this subscription. False when that is known, or it is not the
    /// checkout's.
    pub fn end_billing(&mut self, subscription_id: &str, at: Timestamp) -> bool {
        let requested_at = match &self.recurring.billing {
            Billing::Incomplete {
                requested_at,
                subscription_id: known,
            }
            | Billing::Active {
                requested_at,
                subscription_id: known,
                ..
            } if known == subscription_id => *requested_at,
            // Its answer came when it was over.
            Billing::Requested { at } => *at,
            _ => return false,
        };
        self.0.recurring.billing = Billing::Ended {
            requested_at,
            subscription_id: subscription_id.to_owned(),
        };
        self.0.changed(at);
        true
    }

    /// Asks for another subscription, for the payments that remain, when the one before has ended.
    /// Whoever gets true has it [created](Effect::CreateSubscription).
    pub fn bill_again(&mut self, at: Timestamp) -> bool {
        if !matches!(self.recurring.billing, Billing::Ended { .. }) || !self.is_to_be_billed() {
            return false;
        }
        self.0.recurring.billing = Billing::Requested { at };
        self.0.changed(at);
        true
    }

    /// The customer named another method for the monthly payments. False when it is the one that
    /// is known.
    pub fn change_method(&mut self, method: PaymentMethod, at: Timestamp) -> bool {
        if self.recurring.method.as_ref() == Some(&method) {
            return false;
        }
        self.0.recurring.method = Some(method);
        self.0.changed(at);
        true
    }

    /// How many payments of the term are left.
    #[must_use]
    pub fn payments_left(&self) -> u16 {
        let months = self.term.map_or(0, |term| term.months.get());
        let paid = u16::try_from(self.recurring.paid_cycles).unwrap_or(u16::MAX);
        months.saturating_sub(paid)
    }

    /// The customer's bank contests a payment, or that is settled; the two may come in either
    /// order. False when it is known.
    pub fn contest(&mut self, dispute_id: &str, is_settled: bool, at: Timestamp) -> bool {
        let recurring = &mut self.0.recurring;
        let is_open = recurring.dispute_id.as_deref() == Some(dispute_id);
        let was_settled = recurring.settled_dispute_id.as_deref() == Some(dispute_id);
        if was_settled || (is_open && !is_settled) {
            return false;
        }
        if !is_settled {
            recurring.dispute_id = Some(dispute_id.to_owned());
        } else {
            recurring.settled_dispute_id = Some(dispute_id.to_owned());
            if is_open {
                recurring.dispute_id = None;
            }
        }
        self.0.changed(at);
        true
    }

    /// Whether the last day of the lease has passed by `today` and every month of the term is paid.
    #[must_use]
    pub fn has_run_its_term(&self, today: Day) -> bool {
        let is_paid = self
            .term
            .is_some_and(|term| self.recurring.paid_cycles >= u32::from(term.months.get()));
        is_paid && self.lease.end.is_some_and(|end| end < today)
    }
}

pub(super) fn lease_active(checkout: &mut Snapshot, at: Timestamp, _: &mut Applied) {
    checkout.milestones.active_at = checkout.milestones.active_at.or(Some(at));
}

pub(in crate::checkout) fn method_saved(
    checkout: &mut Snapshot,
    _: &mut Step<'_>,
    method: PaymentMethod,
) -> Ruling {
    checkout.recurring.method = Some(method);
    Ok(Told::News)
}

pub(in crate::checkout) fn started(
    checkout: &mut Snapshot,
    _: &mut Step<'_>,
    subscription_id: String,
    start: Day,
) -> Ruling {
    let requested_at = match &checkout.recurring.billing {
        Billing::Requested { at } => *at,
        Billing::Incomplete {
            requested_at,
            subscription_id: known,
        } if *known == subscription_id => *requested_at,
        // One that nobody asked for is not this lease's.
        Billing::NotRequested => return Err(Obstacle::NotRequested),
        Billing::Incomplete { .. } | Billing::Active { .. } | Billing::Ended { .. } => {
            return Ok(Told::Known);
        }
    };
    // The one thing that must not happen: a lease that runs at no agreed price.
    if checkout.quote.is_none() {
        return Err(Obstacle::NoPrice);
    }
    let term = checkout.term.ok_or(Obstacle::NoTerm)?;
    checkout.recurring.billing = Billing::Active {
        requested_at,
        subscription_id,
        standing: Standing::Good,
    };
    checkout.lease = LeaseDates {
        start: Some(start),
        end: add_months(start, u32::from(term.months.get())),
    };
    Ok(Told::News)
}

/// Goods without tracking are billed when they are shipped, others when they are
/// delivered, and none twice.
pub(super) fn request(checkout: &mut Snapshot, step: &mut Step<'_>) {
    if checkout.recurring.billing == Billing::NotRequested {
        checkout.recurring.billing = Billing::Requested { at: step.by.at };
        step.ask(Effect::CreateSubscription);
    }
}

/// Ends the subscription, which exists or is on its way.
pub(super) fn let_go(checkout: &Snapshot, step: &mut Step<'_>) {
    if checkout.recurring.billing != Billing::NotRequested {
        step.ask(Effect::CancelSubscription);
    }
}

/// Ends the subscription, and pays back what it took for a lease that never was.
pub(super) fn undo(checkout: &Snapshot, step: &mut Step<'_>) {
    let_go(checkout, step);
    if checkout.recurring.billing != Billing::NotRequested {
        step.ask(Effect::RefundPayments);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::event::{Event, EventKind};
    use crate::checkout::parts::AttentionReason;
    use crate::checkout::parts::{InvoiceOutcome, PaymentFailure, Refusal};
    use crate::checkout::stage::tests::{DETAILS, Story, TO_CONFIRMATION, TO_DEPOSIT};
    use crate::checkout::state::Lifecycle;
    use crate::checkout::step::Facts;

    fn delivered() -> Story {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(TO_CONFIRMATION, DETAILS);
        story.walk(&[EventKind::Fulfilled, EventKind::Delivered], DETAILS);
        story
    }

    #[test]
    fn no_lease_becomes_active_without_a_price_a_term_or_a_request() {
        type Change = fn(&mut Snapshot);
        let without: [(Change, &str); 3] = [
            (|it| it.quote = None, "price"),
            (|it| it.term = None, "term"),
            (
                |it| it.recurring.billing = Billing::NotRequested,
                "asked for",
            ),
        ];
        for (change, why) in without {
            let mut story = delivered();
            story.alter(change);
            let started = story.event(EventKind::SubscriptionStarted, DETAILS);
            let refused = story.try_event(started, &Facts::NONE).unwrap_err();
            assert!(refused.contains(why), "{refused}");
            assert_eq!(story.checkout.lifecycle(), Lifecycle::Shipped);
        }
    }

    #[test]
    fn the_lease_runs_its_months_from_the_day_on_which_billing_starts() {
        let mut story = delivered();
        let requested_at = story.checkout.recurring.billing.requested_at();
        story.walk(&[EventKind::SubscriptionStarted], DETAILS);
        let lease = story.checkout.lease;
        let start = lease.start.unwrap();
        assert_eq!(lease.end, add_months(start, 12));
        let billing = &story.checkout.recurring.billing;
        assert_eq!(billing.requested_at(), requested_at);
        assert_eq!(billing.subscription_id(), Some("sub_1"));
        let end = lease.end.unwrap();
        assert!(!story.checkout.has_run_its_term(end), "not on its last day");
        let after = end.succ_opt().unwrap();
        assert!(!story.checkout.has_run_its_term(after), "not unpaid");
        story.alter(|it| it.recurring.paid_cycles = 12);
        assert!(story.checkout.has_run_its_term(after));
        assert!(!story.checkout.has_run_its_term(end));
    }

    #[test]
    fn billing_ends_once() {
        let mut story = Story::at(Lifecycle::LeaseActive);
        let at = story.make.tick();
        let id = story.checkout.recurring.billing.subscription_id();
        let id = id.unwrap().to_owned();
        assert!(!story.checkout.end_billing("sub_of_another", at));
        assert!(story.checkout.end_billing(&id, at));
        assert!(matches!(
            story.checkout.recurring.billing,
            Billing::Ended { .. }
        ));
        assert!(!story.checkout.end_billing(&id, at));
        assert!(
            !Story::new().checkout.end_billing(&id, at),
            "what never began"
        );
    }

    #[test]
    fn a_first_payment_that_fails_leaves_the_lease_waiting_and_somebody_told() {
        let mut story = delivered();
        let at = story.make.tick();
        assert!(story.checkout.first_payment_failed("sub_1", at));
        assert!(!story.checkout.first_payment_failed("sub_1", at), "known");
        assert_eq!(story.checkout.lifecycle(), Lifecycle::Shipped);
        assert!(story.checkout.needs(AttentionReason::FirstPaymentFailed));
        assert!(!story.checkout.bill_again(at), "not while it can be paid");
        // The processor gives it up: another one bills, and only then.
        assert!(story.checkout.end_billing("sub_1", at));
        assert!(story.checkout.needs(AttentionReason::NotBilled));
        assert!(story.checkout.bill_again(at));
        assert!(!story.checkout.bill_again(at), "one at a time");
        assert_eq!(story.checkout.payments_left(), 12);
        let started = Event::SubscriptionStarted {
            subscription_id: "sub_2".to_owned(),
            start: at.date_naive(),
        };
        story.tell(started);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::LeaseActive);
        assert_eq!(story.checkout.attention, []);
    }

    #[test]
    fn a_first_payment_that_is_made_after_all_begins_the_lease() {
        let mut story = delivered();
        let at = story.make.tick();
        assert!(story.checkout.first_payment_failed("sub_1", at));
        story.walk(&[EventKind::SubscriptionStarted], DETAILS);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::LeaseActive);
        assert_eq!(story.checkout.attention, []);
    }

    #[test]
    fn what_the_processor_says_of_a_running_subscription_is_shown() {
        let mut story = Story::at(Lifecycle::LeaseActive);
        let at = story.make.tick();
        let id = story.checkout.recurring.billing.subscription_id();
        let id = id.unwrap().to_owned();
        for standing in [Standing::PastDue, Standing::Unpaid, Standing::Paused] {
            assert!(story.checkout.bills(&id, standing, at));
            let shown = story.checkout.attention.first().cloned().unwrap();
            assert_eq!(shown.reason, AttentionReason::PastDue);
            assert_eq!(shown.detail.as_deref(), Some(standing.as_str()));
            assert!(!story.checkout.bills(&id, standing, at), "known");
        }
        assert!(story.checkout.bills(&id, Standing::Good, at));
        assert_eq!(story.checkout.attention, []);
        // Ended early, by dunning or by a person: nothing bills what is left.
        assert!(story.checkout.end_billing(&id, at));
        assert!(story.checkout.needs(AttentionReason::NotBilled));
        story.alter(|it| it.recurring.paid_cycles = 12);
        assert!(!story.checkout.is_to_be_billed());
    }

    #[test]
    fn a_contest_and_its_settlement_come_in_either_order() {
        for settled_first in [false, true] {
            let mut story = Story::at(Lifecycle::LeaseActive);
            let at = story.make.tick();
            let lease = &mut story.checkout;
            assert!(lease.contest("dp_1", settled_first, at));
            assert!(!lease.contest("dp_1", settled_first, at), "told twice");
            assert_eq!(lease.has_failed_payments(), !settled_first);
            let changed = lease.contest("dp_1", !settled_first, at);
            assert_eq!(changed, !settled_first, "a late beginning opens nothing");
            assert!(!lease.has_failed_payments());
            assert!(lease.contest("dp_2", false, at), "another is news");
            assert!(lease.has_failed_payments());
        }
    }

    #[test]
    fn invoices_come_to_the_same_in_any_order() {
        let start = Story::new().make.tick();
        let news = |invoice: &str, minutes, failed: Option<u32>| Invoice {
            id: invoice.to_owned(),
            subscription_id: "sub_1".to_owned(),
            payment_intent_id: None,
            amount: crate::money::Money::from_minor(5_080, crate::money::Currency::USD),
            is_cycle: invoice != "in_5",
            outcome: failed.map_or(InvoiceOutcome::Paid, |attempts| InvoiceOutcome::Failed {
                attempts,
                refusal: Refusal {
                    code: format!("declined_{attempts}"),
                    message: format!("{invoice} was declined"),
                },
            }),
            at: start + chrono::TimeDelta::minutes(minutes),
        };
        let mut all = [
            news("in_1", 0, None),
            news("in_2", 1, Some(1)),
            news("in_2", 2, Some(2)),
            news("in_2", 3, None),
            news("in_3", 4, Some(1)),
            news("in_3", 5, Some(3)),
            news("in_4", 2, Some(1)),
            // No month of the term: a correction that somebody made by hand.
            news("in_5", 6, None),
        ];
        for _ in 0..all.len() {
            all.rotate_left(1);
            for reversed in [false, true] {
                let mut order: Vec<&Invoice> = all.iter().chain(&all).collect();
                if reversed {
                    order.reverse();
                }
                let mut lease = Story::at(Lifecycle::LeaseActive).checkout;
                let mut known: Vec<Invoice> = Vec::new();
                for news in order {
                    let old = known.iter().find(|old| old.id == news.id);
                    if old.is_none_or(|old| news.outcome.supersedes(&old.outcome)) {
                        known.retain(|old| old.id != news.id);
                        known.push(news.clone());
                        lease.take_in_invoices(&known, start);
                    }
                }
                let recurring = &lease.recurring;
                assert_eq!((recurring.paid_cycles, recurring.failure_count), (2, 4));
                let failure = PaymentFailure {
                    message: "in_3 was declined".to_owned(),
                    code: "declined_3".to_owned(),
                    at: start + chrono::TimeDelta::minutes(5),
                };
                assert_eq!(recurring.last_failure, Some(failure));
            }
        }
    }

    #[test]
    fn a_method_is_saved_for_the_monthly_payments() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(&TO_CONFIRMATION[..1], DETAILS);
        let method = crate::checkout::stage::tests::card();
        let saved = story.tell(Event::PaymentMethodSaved {
            method: method.clone(),
        });
        assert_eq!(story.checkout.recurring.method, Some(method));
        assert_eq!(saved.effects, [Effect::PrepareDocuments]);
    }
}
