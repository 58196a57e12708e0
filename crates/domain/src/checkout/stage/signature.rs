//! The lease document and its signature, up to the confirmed order.

use super::deposit;
use crate::checkout::effect::Effect;
use crate::checkout::parts::{Deposit, InsuranceStatus};
use crate::checkout::rule::rules;
use crate::checkout::snapshot::{Checkout, Snapshot};
use crate::checkout::step::{Applied, Obstacle, Ruling, Step, Told};
use crate::time::Timestamp;

rules! {
    DocumentsSigned by Customer | Provider {
        // The state stays until the deposit is captured.
        stay  DocumentsPending;
        done  CaptureFailed..=ReturnPending;
        never Created..=RecurringPaymentMethodPending | Returned..=QualificationFailed;
    }
}

impl Checkout {
    /// The document is prepared. False when it is known.
    pub fn take_in_document(&mut self, document_id: String, at: Timestamp) -> bool {
        if self.lease_document_id.as_ref() == Some(&document_id) {
            return false;
        }
        self.0.lease_document_id = Some(document_id);
        self.0.changed(at);
        true
    }

    /// The organization's insurer accepts or refuses. False when it says what it said before.
    pub fn insure(&mut self, status: InsuranceStatus, at: Timestamp) -> bool {
        if self.insurance == status {
            return false;
        }
        self.0.insurance = status;
        self.0.changed(at);
        true
    }
}

pub(super) fn arrived(checkout: &mut Snapshot, _: Timestamp, applied: &mut Applied) {
    // Prices, names and addresses may differ from those of an earlier document, which nobody signed.
    if checkout.signed_at.is_none() {
        checkout.lease_document_id = None;
    }
    applied.effects.push(Effect::PrepareDocuments);
}

pub(super) fn order_confirmed(checkout: &mut Snapshot, at: Timestamp, _: &mut Applied) {
    checkout.milestones.confirmed_at = checkout.milestones.confirmed_at.or(Some(at));
    if checkout.insurance == InsuranceStatus::Pending {
        checkout.insurance = InsuranceStatus::Approved;
    }
}

/// Nobody has signed: what was prepared names another person, or another address. A price that no
/// deposit was authorized for follows the catalog again.
pub(super) fn undo(checkout: &mut Snapshot) {
    checkout.signed_at = None;
    checkout.lease_document_id = None;
    checkout.capture_requested_at = None;
    if checkout.deposit == Deposit::Open {
        checkout.quote = None;
    }
}

pub(in crate::checkout) fn signed(checkout: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
    if checkout.signed_at.is_some() {
        return Ok(Told::Known);
    }
    if checkout.recurring.method.is_none() {
        return Err(Obstacle::NoPaymentMethod);
    }
    checkout.signed_at = Some(step.by.at);
    deposit::ask_for_capture(checkout, step);
    Ok(Told::News)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::event::{Event, EventKind};
    use crate::checkout::stage::tests::{DETAILS, Story, TO_CONFIRMATION, TO_DEPOSIT, card};
    use crate::checkout::state::Lifecycle;
    use crate::checkout::step::{Facts, Outcome};

    #[test]
    fn no_order_without_a_signature() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(&TO_CONFIRMATION[..2], DETAILS);
        let captured = story.event(EventKind::DepositCaptured, DETAILS);
        let refused = story.try_event(captured, &Facts::NONE).unwrap_err();
        assert!(refused.contains("signed"), "{refused}");
        assert_eq!(story.checkout.lifecycle(), Lifecycle::DocumentsPending);
    }

    #[test]
    fn a_signature_counts_once_and_needs_a_payment_method() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(&TO_CONFIRMATION[..2], DETAILS);
        // The processor may forget a method that it had saved.
        story.alter(|it| it.recurring.method = None);
        let refused = story
            .try_event(Event::DocumentsSigned, &Facts::NONE)
            .unwrap_err();
        assert!(refused.contains("payment method"), "{refused}");
        story.alter(|it| it.recurring.method = Some(card()));
        let signed = story.tell(Event::DocumentsSigned);
        assert_eq!(signed.effects, [Effect::CaptureDeposit]);
        let signed_at = story.checkout.signed_at;
        assert!(signed_at.is_some());
        let again = story.tell(Event::DocumentsSigned);
        assert_eq!(
            (again.outcome, again.effects),
            (Outcome::AlreadyApplied, vec![])
        );
        assert_eq!(story.checkout.signed_at, signed_at);
    }

    #[test]
    fn a_confirmed_order_is_insured_unless_that_was_denied() {
        for (before, after) in [
            (InsuranceStatus::Pending, InsuranceStatus::Approved),
            (InsuranceStatus::Denied, InsuranceStatus::Denied),
        ] {
            let mut story = Story::new();
            story.alter(|it| it.insurance = before);
            story.walk(TO_DEPOSIT, DETAILS);
            let saved = story.walk(&TO_CONFIRMATION[..2], DETAILS);
            assert_eq!(saved.effects, [Effect::PrepareDocuments]);
            story.walk(&TO_CONFIRMATION[2..], DETAILS);
            assert_eq!(story.checkout.insurance, after);
            let confirmed_at = story.checkout.milestones.confirmed_at;
            assert!(confirmed_at.is_some());
            // Coming back to the state is no second confirmation.
            story.walk(
                &[EventKind::AddendumsRequested, EventKind::AddendumsSigned],
                DETAILS,
            );
            assert_eq!(story.checkout.milestones.confirmed_at, confirmed_at);
        }
    }
}
