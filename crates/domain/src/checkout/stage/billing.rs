//! The recurring payments: what pays, the subscription, its invoices, and the lease that runs
//! while it bills.

use crate::checkout::effect::Effect;
use crate::checkout::parts::{Billing, InvoiceNews, InvoiceTally, LeaseDates, PaymentMethod};
use crate::checkout::rule::rules;
use crate::checkout::snapshot::{Checkout, Snapshot};
use crate::checkout::step::{Applied, Obstacle, Ruling, Step, Told};
use crate::time::{Day, Timestamp, add_months};

rules! {
    PaymentMethodSaved by Customer | Provider {
        go    RecurringPaymentMethodPending => DocumentsPending;
        done  DocumentsPending..=ReturnPending;
        never Created..=DepositFailed | Returned..=QualificationFailed;
    }
    SubscriptionStarted by Provider {
        go    Shipped | FulfillmentException => LeaseActive;
        done  LeaseActive | ReturnPending;
        // The id of an answer that came late: whoever ends the subscription needs it.
        stay  Returned | Cancelled..=QualificationFailed;
        never Created..=AddendumsPending | WaitlistedAfterProfile..=WaitlistedLocation;
    }
}

impl Checkout {
    /// Takes in the news of an invoice, given what is known of all its invoices. False when it
    /// says no more than that; else the store has to keep the news in the place of what it knows
    /// of the invoice.
    pub fn take_in_invoice(
        &mut self,
        known: &[InvoiceNews],
        news: &InvoiceNews,
        at: Timestamp,
    ) -> bool {
        let is_old = |invoice: &&InvoiceNews| invoice.invoice_id == news.invoice_id;
        if let Some(old) = known.iter().find(is_old)
            && !news.outcome.supersedes(&old.outcome)
        {
            return false;
        }
        let others = known.iter().filter(|invoice| !is_old(invoice));
        let tally = InvoiceTally::of(others.chain([news]));
        self.0.recurring.paid_cycles = tally.paid;
        self.0.recurring.failure_count = tally.failed_attempts;
        self.0.recurring.last_failure = tally.last_failure;
        self.0.updated_at = at;
        true
    }

    /// The processor bills no more. False when that is known, or no subscription is.
    pub fn end_billing(&mut self, at: Timestamp) -> bool {
        let Billing::Active {
            requested_at,
            subscription_id,
        } = &self.recurring.billing
        else {
            return false;
        };
        self.0.recurring.billing = Billing::Ended {
            requested_at: *requested_at,
            subscription_id: subscription_id.clone(),
        };
        self.0.updated_at = at;
        true
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
        self.0.updated_at = at;
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
    step: &mut Step<'_>,
    subscription_id: String,
    start: Day,
) -> Ruling {
    let requested_at = match checkout.recurring.billing {
        Billing::Requested { at } => at,
        // One that nobody asked for is not this lease's.
        Billing::NotRequested if !step.from.is_ended() => return Err(Obstacle::NotRequested),
        Billing::NotRequested | Billing::Active { .. } | Billing::Ended { .. } => {
            return Ok(Told::Known);
        }
    };
    let active = Billing::Active {
        requested_at,
        subscription_id,
    };
    if step.from.is_ended() {
        checkout.recurring.billing = active;
        return Ok(Told::News);
    }
    // The one thing that must not happen: a lease that runs at no agreed price.
    if checkout.quote.is_none() {
        return Err(Obstacle::NoPrice);
    }
    let term = checkout.term.ok_or(Obstacle::NoTerm)?;
    checkout.recurring.billing = active;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::event::{Event, EventKind};
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
        assert!(story.checkout.end_billing(at));
        assert!(matches!(
            story.checkout.recurring.billing,
            Billing::Ended { .. }
        ));
        assert!(!story.checkout.end_billing(at));
        assert!(!Story::new().checkout.end_billing(at), "what never began");
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
        let news = |invoice: &str, minutes, failed: Option<u32>| InvoiceNews {
            invoice_id: invoice.to_owned(),
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
        ];
        for _ in 0..all.len() {
            all.rotate_left(1);
            for reversed in [false, true] {
                let mut order: Vec<&InvoiceNews> = all.iter().chain(&all).collect();
                if reversed {
                    order.reverse();
                }
                let mut lease = Story::at(Lifecycle::LeaseActive).checkout;
                let mut known: Vec<InvoiceNews> = Vec::new();
                for news in order {
                    if lease.take_in_invoice(&known, news, start) {
                        known.retain(|old| old.invoice_id != news.invoice_id);
                        known.push(news.clone());
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
