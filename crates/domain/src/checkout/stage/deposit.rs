//! The deposit: submitted with the price frozen, held on the customer's method, captured when the
//! lease is signed.

use super::waitlist;
use crate::catalog::StockTaken;
use crate::checkout::effect::Effect;
use crate::checkout::parts::{Deposit, Hold, PaymentMethod, Refusal, Waitlist};
use crate::checkout::rule::rules;
use crate::checkout::snapshot::{Checkout, Snapshot};
use crate::checkout::state::Lifecycle;
use crate::checkout::step::{Obstacle, Ruling, Step, Told};
use crate::pricing::Quote;
use crate::time::Timestamp;

rules! {
    DepositSubmitted by Customer {
        go    DepositPending | DepositFailed => DepositProcessing;
        done  DepositProcessing | RecurringPaymentMethodPending..=ReturnPending
            | WaitlistedAfterDeposit;
        never Created..=LeaseReviewPending | Returned..=WaitlistedAfterProfile
            | WaitlistedLocation..=QualificationFailed;
    }
    DepositAuthorized by Provider {
        go    DepositProcessing => RecurringPaymentMethodPending;
        done  RecurringPaymentMethodPending..=ReturnPending;
        // The ids of an answer that came late: whoever undoes the work needs them.
        stay  Returned..=QualificationFailed;
        never Created..=DepositPending | DepositFailed;
    }
    DepositAuthorizedWithoutStock by Provider {
        go    DepositProcessing => WaitlistedAfterDeposit;
        done  RecurringPaymentMethodPending..=ReturnPending;
        stay  Returned..=QualificationFailed;
        never Created..=DepositPending | DepositFailed;
    }
    DepositRefused by Provider {
        go    DepositProcessing => DepositFailed;
        done  DepositFailed..=QualificationFailed;
        never Created..=DepositPending;
    }
    DepositCaptured by Provider {
        go    DocumentsPending | CaptureFailed => OrderConfirmed;
        done  OrderConfirmed..=ReturnPending;
        stay  Returned | Cancelled..=QualificationFailed;
        never Created..=RecurringPaymentMethodPending | WaitlistedAfterProfile..=WaitlistedLocation;
    }
    CaptureRefused by Provider {
        go    DocumentsPending => CaptureFailed;
        stay  CaptureFailed;
        done  OrderConfirmed..=Returned | Cancelled..=QualificationFailed;
        never Created..=RecurringPaymentMethodPending | WaitlistedAfterProfile..=WaitlistedLocation;
    }
    CaptureRetried by Customer | System {
        stay  CaptureFailed;
        done  OrderConfirmed..=ReturnPending;
        never Created..=DocumentsPending | Returned..=QualificationFailed;
    }
    AuthorizationLapsed by Provider | System {
        go    RecurringPaymentMethodPending..=CaptureFailed => DepositPending;
        // Keeps waiting, without a deposit.
        go    WaitlistedAfterDeposit => WaitlistedAfterProfile;
        done  DepositPending..=DepositFailed | OrderConfirmed..=WaitlistedAfterProfile
            | WaitlistedLocation..=QualificationFailed;
        never Created..=LeaseReviewPending;
    }
}

impl Checkout {
    /// The hold was renewed: the new one takes the old one's place. False when nothing is held, or
    /// not any more.
    pub fn renew_hold(&mut self, renewed: Hold, at: Timestamp) -> bool {
        match &mut self.0.deposit {
            Deposit::Authorized { hold } => *hold = renewed,
            Deposit::Open | Deposit::Waived | Deposit::Captured { .. } => return false,
        }
        self.0.updated_at = at;
        true
    }
}

pub(in crate::checkout) fn submitted(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    quote: Quote,
    method: Option<String>,
) -> Ruling {
    let term = checkout.term.ok_or(Obstacle::NoTerm)?;
    if quote.term != term.months {
        return Err(Obstacle::PriceOfAnotherTerm);
    }
    checkout.quote = Some(quote);
    if method.is_some() {
        checkout.deposit_method_id = method;
    }
    step.ask(Effect::AuthorizeDeposit);
    Ok(Told::News)
}

pub(in crate::checkout) fn authorized(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    hold: Option<Hold>,
    method: Option<PaymentMethod>,
    stock: StockTaken,
) -> Ruling {
    if step.from != Lifecycle::DepositProcessing {
        return Ok(authorized_late(checkout, hold));
    }
    if stock == StockTaken::NoneLeft {
        return Err(Obstacle::NoStock);
    }
    hold_deposit(checkout, hold, method)?;
    checkout.holds_stock = stock == StockTaken::Taken;
    Ok(Told::News)
}

pub(in crate::checkout) fn authorized_without_stock(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    hold: Option<Hold>,
    method: Option<PaymentMethod>,
) -> Ruling {
    if step.from != Lifecycle::DepositProcessing {
        return Ok(authorized_late(checkout, hold));
    }
    hold_deposit(checkout, hold, method)?;
    checkout.waitlist = Some(Waitlist::for_stock());
    Ok(Told::News)
}

fn hold_deposit(
    checkout: &mut Snapshot,
    hold: Option<Hold>,
    method: Option<PaymentMethod>,
) -> Result<(), Obstacle> {
    if checkout.quote.is_none() {
        return Err(Obstacle::NoPrice);
    }
    checkout.deposit = Deposit::authorized(hold);
    checkout.recurring.last_failure = None;
    // A method that may be used again saves the customer from entering it twice.
    if checkout.recurring.method.is_none() {
        checkout.recurring.method = method;
    }
    Ok(())
}

/// The answer came after the checkout had gone another way. A hold that is known stays.
fn authorized_late(checkout: &mut Snapshot, hold: Option<Hold>) -> Told {
    match (&checkout.deposit, hold) {
        (Deposit::Open, Some(hold)) => {
            checkout.deposit = Deposit::Authorized { hold };
            Told::News
        }
        _ => Told::Known,
    }
}

pub(in crate::checkout) fn refused(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    refusal: Refusal,
) -> Ruling {
    // Nothing is authorized: the price follows the catalog again.
    checkout.quote = None;
    checkout.recurring.fail(refusal, step.by.at);
    Ok(Told::News)
}

pub(in crate::checkout) fn captured(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    invoice_id: Option<String>,
    at: Timestamp,
) -> Ruling {
    let has_ended = step.from.is_ended();
    // Whoever captured it, and wherever: nobody leases what they did not sign.
    if !has_ended && checkout.signed_at.is_none() {
        return Err(Obstacle::NotSigned);
    }
    match (&checkout.deposit, invoice_id) {
        (Deposit::Authorized { hold }, Some(invoice_id)) => {
            checkout.deposit = Deposit::Captured {
                hold: hold.clone(),
                invoice_id,
                at,
            };
        }
        (Deposit::Waived, None) if !has_ended => {}
        _ if has_ended => return Ok(Told::Known),
        _ => return Err(Obstacle::NoDeposit),
    }
    checkout.capture_requested_at = None;
    if !has_ended {
        checkout.recurring.last_failure = None;
    }
    Ok(Told::News)
}

/// A capture is refused once for each time that it was asked for.
pub(in crate::checkout) fn capture_refused(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    refusal: Refusal,
) -> Ruling {
    if step.from == Lifecycle::CaptureFailed && checkout.capture_requested_at.is_none() {
        return Ok(Told::Known);
    }
    checkout.capture_requested_at = None;
    checkout.recurring.fail(refusal, step.by.at);
    Ok(Told::News)
}

pub(in crate::checkout) fn capture_retried(checkout: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
    if checkout.capture_requested_at.is_some() {
        return Ok(Told::Known);
    }
    ask_for_capture(checkout, step);
    Ok(Told::News)
}

/// Asks for the capture, until it is answered.
pub(super) fn ask_for_capture(checkout: &mut Snapshot, step: &mut Step<'_>) {
    checkout.capture_requested_at = Some(step.by.at);
    step.ask(Effect::CaptureDeposit);
}

pub(in crate::checkout) fn lapsed(checkout: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
    checkout.deposit = Deposit::Open;
    checkout.quote = None;
    // What was signed refers to a deposit that is gone; it is signed anew.
    checkout.signed_at = None;
    checkout.capture_requested_at = None;
    if step.from == Lifecycle::WaitlistedAfterDeposit {
        checkout.waitlist = Some(Waitlist::for_stock());
    }
    waitlist::release_stock(checkout, step.applied);
    Ok(Told::News)
}

/// Lets go of whatever was authorized or captured, for a checkout that ends without a lease.
pub(super) fn let_go(checkout: &Snapshot, step: &mut Step<'_>) {
    match checkout.deposit {
        Deposit::Captured { .. } => step.ask(Effect::RefundDeposit),
        // A capture may be on its way: whoever voids finds out, and refunds instead.
        Deposit::Authorized { .. } => step.ask(Effect::VoidDeposit),
        // An authorization may be on its way.
        Deposit::Open if step.from == Lifecycle::DepositProcessing => {
            step.ask(Effect::VoidDeposit);
        }
        Deposit::Open | Deposit::Waived => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::event::{Event, EventKind};
    use crate::checkout::stage::tests::{
        DETAILS, Details, Story, TO_CONFIRMATION, TO_DEPOSIT, card,
    };

    #[test]
    fn a_lapsed_authorization_gives_stock_back_and_asks_for_the_deposit_again() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(&TO_CONFIRMATION[..3], DETAILS);
        assert!(story.checkout.holds_stock);
        let lapsed = story.tell(Event::AuthorizationLapsed);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::DepositPending);
        assert!(lapsed.releases_stock && !story.checkout.holds_stock);
        assert_eq!(story.checkout.deposit.payment_intent_id(), None);
        assert_eq!(
            story.checkout.signed_at, None,
            "what was signed named the lapsed deposit"
        );
    }

    #[test]
    fn a_refused_customer_keeps_no_authorization_that_came_late() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(
            &[
                EventKind::DepositAuthorizedWithoutStock,
                EventKind::AuthorizationLapsed,
                EventKind::DepositAuthorized,
            ],
            DETAILS,
        );
        assert_eq!(
            story.checkout.lifecycle(),
            Lifecycle::WaitlistedAfterProfile
        );
        assert!(story.checkout.deposit.payment_intent_id().is_some());
        story.walk(
            &[EventKind::StockFreed, EventKind::IdentityVerified],
            DETAILS,
        );
        let refused = story.tell(Event::QualificationRefused);
        assert_eq!(refused.effects, [Effect::VoidDeposit]);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::QualificationFailed);
    }

    #[test]
    fn the_deposits_method_serves_for_the_recurring_payments() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(
            &TO_CONFIRMATION[..1],
            Details {
                reusable: true,
                ..DETAILS
            },
        );
        assert_eq!(story.checkout.recurring.method, Some(card()));
        assert_eq!(
            story.checkout.lifecycle(),
            Lifecycle::RecurringPaymentMethodPending
        );
    }

    #[test]
    fn a_refusal_of_the_processor_is_kept_until_a_payment_succeeds() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(&[EventKind::DepositRefused], DETAILS);
        let failure = story.checkout.recurring.last_failure.clone().unwrap();
        assert_eq!(failure.code, "card_declined");
        assert_eq!(failure.message, "Your card was declined.");
        assert_eq!(failure.at, story.checkout.updated_at);
        story.walk(
            &[EventKind::DepositSubmitted, EventKind::DepositAuthorized],
            DETAILS,
        );
        assert_eq!(story.checkout.recurring.last_failure, None);
        story.walk(&TO_CONFIRMATION[1..3], DETAILS);
        story.walk(&[EventKind::CaptureRefused], DETAILS);
        assert!(story.checkout.recurring.last_failure.is_some());
        let retried = story.walk(&[EventKind::CaptureRetried], DETAILS);
        assert_eq!(retried.effects, [Effect::CaptureDeposit]);
        story.walk(&[EventKind::DepositCaptured], DETAILS);
        assert_eq!(story.checkout.recurring.last_failure, None);
    }
}
