//! The deposit: submitted with the price frozen, held on the customer's method, captured when the
//! lease is signed.

use super::waitlist;
use crate::catalog::StockTaken;
use crate::checkout::effect::Effect;
use crate::checkout::event::Event;
use crate::checkout::parts::AttentionReason;
use crate::checkout::parts::{Deposit, Hold, PaymentMethod, Refusal, Waitlist};
use crate::checkout::rule::{Move, rules};
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
    // The processor closed its page before anybody paid: what is paid there no more cannot be.
    DepositAbandoned by Provider {
        go    DepositProcessing => DepositPending;
        done  DepositPending | DepositFailed..=QualificationFailed;
        never Created..=LeaseReviewPending;
    }
    DepositAuthorized by Provider {
        go    DepositProcessing => RecurringPaymentMethodPending;
        // A hold that comes too late is in the ledger, and let go of.
        done  RecurringPaymentMethodPending..=QualificationFailed;
        never Created..=DepositPending | DepositFailed;
    }
    DepositAuthorizedWithoutStock by Provider {
        go    DepositProcessing => WaitlistedAfterDeposit;
        done  RecurringPaymentMethodPending..=QualificationFailed;
        never Created..=DepositPending | DepositFailed;
    }
    DepositResumed by System {
        // It was held when the checkout went back to a check.
        go    DepositPending => RecurringPaymentMethodPending;
        done  DepositProcessing..=QualificationFailed;
        never Created..=LeaseReviewPending;
    }
    DepositRefused by Provider {
        go    DepositProcessing => DepositFailed;
        done  DepositFailed..=QualificationFailed;
        never Created..=DepositPending;
    }
    DepositCaptured by Provider {
        go    DocumentsPending | CaptureFailed => OrderConfirmed;
        done  OrderConfirmed..=Returned | Cancelled..=QualificationFailed;
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
        // Back at a check with its deposit, it goes on there without one.
        stay  IdentityRequired..=LeaseReviewPending;
        // Keeps waiting, without a deposit.
        go    WaitlistedAfterDeposit => WaitlistedAfterProfile;
        done  DepositPending..=DepositFailed | OrderConfirmed..=WaitlistedAfterProfile
            | WaitlistedLocation..=QualificationFailed;
        never Created..=ProfilePending;
    }
}

impl Checkout {
    /// The hold was renewed: the new one takes the old one's place, and the old one is to be let
    /// go. False when nothing is held any more, or it is this one that is held.
    pub fn renew_hold(
        &mut self,
        payment_intent_id: &str,
        ends_at: Timestamp,
        at: Timestamp,
    ) -> bool {
        if self.lifecycle().is_ended() {
            return false;
        }
        match &mut self.0.deposit {
            Deposit::Authorized { hold } if hold.payment_intent_id != payment_intent_id => {
                let made = hold.renewals.made.saturating_add(1);
                *hold = Hold::new(payment_intent_id, ends_at);
                hold.renewals.made = made;
            }
            _ => return false,
        }
        self.0.recurring.last_failure = None;
        self.0.changed(at);
        true
    }

    /// The customer had the deposit held anew, on another card: the new hold takes the old one's
    /// place, which is to be let go, and its card pays from now on. False when nothing is held any more,
    /// or it is this one that is held.
    pub fn replace_hold(
        &mut self,
        payment_intent_id: &str,
        ends_at: Timestamp,
        method: Option<PaymentMethod>,
        at: Timestamp,
    ) -> bool {
        if self.lifecycle().is_ended() {
            return false;
        }
        match &mut self.0.deposit {
            Deposit::Authorized { hold } if hold.payment_intent_id != payment_intent_id => {
                *hold = Hold::new(payment_intent_id, ends_at);
            }
            _ => return false,
        }
        if method.is_some() {
            self.0.recurring.method = method;
        }
        self.0.recurring.last_failure = None;
        self.0.changed(at);
        true
    }

    /// The bank declined to renew the hold, for good if `is_barred`: the hold lasts until its end.
    /// False when nothing is held any more.
    pub fn renewal_refused(&mut self, refusal: Refusal, is_barred: bool, at: Timestamp) -> bool {
        if self.lifecycle().is_ended() {
            return false;
        }
        let Deposit::Authorized { hold } = &mut self.0.deposit else {
            return false;
        };
        hold.renewals.refused = hold.renewals.refused.saturating_add(1);
        hold.renewals.refused_at = Some(at);
        hold.renewals.is_barred |= is_barred;
        self.0.recurring.fail(refusal, at);
        self.0.changed(at);
        true
    }

    /// The processor says when the hold ends. False when it says what is known.
    pub fn hold_ends(
        &mut self,
        payment_intent_id: &str,
        ends_at: Timestamp,
        at: Timestamp,
    ) -> bool {
        match &mut self.0.deposit {
            Deposit::Authorized { hold }
                if hold.payment_intent_id == payment_intent_id && hold.expires_at != ends_at =>
            {
                hold.expires_at = ends_at;
            }
            _ => return false,
        }
        self.0.changed(at);
        true
    }
}

impl Snapshot {
    /// Whether the checkout counts on this authorization, or on what was captured of it.
    #[must_use]
    pub fn needs_hold(&self, payment_intent_id: &str) -> bool {
        let is_of_no_lease = self.lifecycle().is_ended() && !self.lifecycle().is_leased();
        !is_of_no_lease && self.deposit.payment_intent_id() == Some(payment_intent_id)
    }
}

pub(in crate::checkout) fn submitted(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    quote: Quote,
    method: Option<String>,
    hosted: bool,
) -> Ruling {
    let term = checkout.term.ok_or(Obstacle::NoTerm)?;
    if quote.term != term.months {
        return Err(Obstacle::PriceOfAnotherTerm);
    }
    if quote.one_of(checkout.quantity()).is_err() {
        return Err(Obstacle::PriceOfAnotherQuantity);
    }
    checkout.quote = Some(quote);
    if method.is_some() {
        checkout.deposit_method_id = method;
    }
    checkout.deposit_submitted_at = Some(step.by.at);
    if !hosted {
        step.ask(Effect::AuthorizeDeposit);
    }
    Ok(Told::News)
}

pub(in crate::checkout) fn abandoned(checkout: &mut Snapshot, _: &mut Step<'_>) -> Ruling {
    // Nothing is authorized: the price follows the catalog again.
    checkout.quote = None;
    Ok(Told::News)
}

pub(in crate::checkout) fn authorized(
    checkout: &mut Snapshot,
    _: &mut Step<'_>,
    hold: Option<Hold>,
    method: Option<PaymentMethod>,
    stock: StockTaken,
) -> Ruling {
    if stock == StockTaken::NoneLeft {
        return Err(Obstacle::NoStock);
    }
    hold_deposit(checkout, hold, method)?;
    // Also where nobody counts: should that begin, a unit that comes back is one more.
    checkout.holds_stock = true;
    Ok(Told::News)
}

pub(in crate::checkout) fn authorized_without_stock(
    checkout: &mut Snapshot,
    _: &mut Step<'_>,
    hold: Option<Hold>,
    method: Option<PaymentMethod>,
) -> Ruling {
    hold_deposit(checkout, hold, method)?;
    checkout.waitlist = Some(Waitlist::for_stock());
    Ok(Told::News)
}

/// The lease was accepted and its deposit authorized before the checkout went back to a check.
pub(super) fn known(checkout: &Snapshot) -> Option<Event> {
    if checkout.deposit == Deposit::Open {
        return None;
    }
    match checkout.lifecycle() {
        Lifecycle::LeaseReviewPending => Some(Event::LeaseAccepted),
        Lifecycle::DepositPending => Some(Event::DepositResumed),
        Lifecycle::RecurringPaymentMethodPending
            if checkout.previous_lifecycle() == Some(Lifecycle::DepositPending) =>
        {
            let method = checkout.recurring.method.clone()?;
            Some(Event::PaymentMethodSaved { method })
        }
        _ => None,
    }
}

pub(in crate::checkout) fn resumed(checkout: &mut Snapshot, _: &mut Step<'_>) -> Ruling {
    if checkout.deposit == Deposit::Open {
        return Err(Obstacle::NoDeposit);
    }
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
    _: &mut Step<'_>,
    invoice_id: Option<String>,
    at: Timestamp,
) -> Ruling {
    // Whoever captured it, and wherever: nobody leases what they did not sign.
    if checkout.signed_at.is_none() {
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
        (Deposit::Waived, None) => {}
        _ => return Err(Obstacle::NoDeposit),
    }
    checkout.capture_requested_at = None;
    checkout.recurring.last_failure = None;
    Ok(Told::News)
}

/// A capture is refused once for each time that it was asked for.
pub(in crate::checkout) fn capture_refused(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    refusal: Refusal,
) -> Ruling {
    // Nothing is to be captured of a lease that was to be signed anew meanwhile.
    let is_late = step.from == Lifecycle::CaptureFailed && checkout.capture_requested_at.is_none();
    if is_late || checkout.signed_at.is_none() {
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
    if step.outcome == Move::Stay && checkout.deposit.open_hold().is_none() {
        return Ok(Told::Known);
    }
    checkout.deposit = Deposit::Open;
    checkout.quote = None;
    // What was signed refers to a deposit that is gone; it is signed anew.
    checkout.signed_at = None;
    checkout.lease_document_id = None;
    checkout.capture_requested_at = None;
    if step.from == Lifecycle::WaitlistedAfterDeposit {
        checkout.waitlist = Some(Waitlist::for_stock());
    }
    waitlist::release_stock(checkout, step.applied);
    checkout.raise(AttentionReason::DepositLapsed, None, step.by.at);
    Ok(Told::News)
}

/// Lets go of whatever was authorized or captured, for a checkout that ends without a lease.
pub(super) fn let_go(checkout: &Snapshot, step: &mut Step<'_>) {
    match checkout.deposit {
        Deposit::Captured { .. } => step.ask(Effect::RefundDeposit),
        // A capture may be on its way: whoever voids finds out, and refunds instead.
        Deposit::Authorized { .. } => step.ask(Effect::VoidDeposit),
        // An authorization may be on its way, or one that lapsed may be held still.
        Deposit::Open if checkout.deposit_submitted_at.is_some() => step.ask(Effect::VoidDeposit),
        Deposit::Open | Deposit::Waived => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::event::{Event, EventKind};
    use crate::checkout::parts::SECOND_THOUGHTS;
    use crate::checkout::stage::tests::{
        DETAILS, Details, Story, TO_CONFIRMATION, TO_DEPOSIT, card,
    };
    use crate::checkout::step::{Facts, Outcome};
    use crate::money::Money;

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
    fn a_price_of_another_number_is_not_frozen() {
        let mut story = Story::new();
        story.walk(&TO_DEPOSIT[..TO_DEPOSIT.len() - 1], DETAILS);
        story.checkout = crate::testing::altered(&story.checkout, |it| {
            let mut items = it.items.clone();
            for item in &mut items {
                item.id = story.make.id();
            }
            it.items.extend(items);
        });
        assert_eq!(story.checkout.quantity().get(), 2);
        let event = story.event(EventKind::DepositSubmitted, DETAILS);
        let mut odd = event.clone();
        if let Event::DepositSubmitted { quote, .. } = &mut odd {
            quote.msrp = quote
                .msrp
                .checked_add(Money::from_minor(1, quote.currency))
                .unwrap();
        }
        let refused = story.try_event(odd, &Facts::NONE).unwrap_err();
        assert!(
            refused.contains("not that of as many as are leased"),
            "{refused}"
        );
        story.tell(event);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::DepositProcessing);
    }

    #[test]
    fn a_deposit_that_is_paid_elsewhere_is_authorized_by_nobody_and_can_be_left() {
        let mut story = Story::new();
        story.walk(&TO_DEPOSIT[..TO_DEPOSIT.len() - 1], DETAILS);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::DepositPending);
        let mut submitted = story.event(EventKind::DepositSubmitted, DETAILS);
        if let Event::DepositSubmitted { hosted, .. } = &mut submitted {
            *hosted = true;
        }
        let submitted = story.tell(submitted);
        assert_eq!(submitted.effects, []);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::DepositProcessing);
        story.tell(Event::DepositAbandoned);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::DepositPending);
        assert_eq!(story.checkout.quote, None, "the price follows the catalog");
        let again = story.tell(Event::DepositAbandoned);
        assert_eq!(again.outcome, Outcome::AlreadyApplied);
        let cancelled = story.tell(Event::Cancelled { reason: None });
        assert_eq!(
            cancelled.effects,
            [Effect::VoidDeposit],
            "what may be held all the same is let go"
        );
    }

    #[test]
    fn a_hold_on_another_card_takes_the_place_of_the_one_that_could_not_be_taken() {
        let mut story = held();
        let at = story.make.tick();
        let before = story.checkout.deposit.open_hold().unwrap().clone();
        let ends_at = before.expires_at + chrono::TimeDelta::days(7);
        let known = before.payment_intent_id.as_str();
        assert!(!story.checkout.replace_hold(known, ends_at, None, at));
        let other = Some(PaymentMethod {
            id: "pm_other".to_owned(),
            ..card()
        });
        let replaced = story
            .checkout
            .replace_hold("pi_other", ends_at, other.clone(), at);
        assert!(replaced);
        assert!(story.checkout.needs_hold("pi_other") && !story.checkout.needs_hold(known));
        assert_eq!(story.checkout.recurring.method, other);
    }

    #[test]
    fn an_authorization_that_comes_late_takes_no_place() {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(
            &[
                EventKind::DepositAuthorizedWithoutStock,
                EventKind::AuthorizationLapsed,
            ],
            DETAILS,
        );
        let late = story.walk(&[EventKind::DepositAuthorized], DETAILS);
        assert_eq!(late.outcome, Outcome::AlreadyApplied);
        assert_eq!(story.checkout.deposit, Deposit::Open);
        assert!(!story.checkout.needs_hold("pi_1"), "it is let go of");
        assert!(story.checkout.needs(AttentionReason::DepositLapsed));
        story.walk(
            &[EventKind::StockFreed, EventKind::IdentityVerified],
            DETAILS,
        );
        let refused = story.tell(Event::QualificationRefused);
        assert_eq!(refused.effects, [Effect::VoidDeposit]);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::QualificationFailed);
        assert_eq!(story.checkout.attention, []);
    }

    fn held() -> Story {
        let mut story = Story::new();
        story.walk(TO_DEPOSIT, DETAILS);
        story.walk(&TO_CONFIRMATION[..2], DETAILS);
        story
    }

    fn declined() -> Refusal {
        Refusal {
            code: "insufficient_funds".to_owned(),
            message: "Your card has insufficient funds.".to_owned(),
        }
    }

    #[test]
    fn a_hold_is_renewed_twice_and_no_more() {
        let mut story = held();
        for round in 1..=2 {
            let at = story.make.tick();
            let hold = story.checkout.deposit.open_hold().unwrap().clone();
            assert!(hold.is_renewable(at), "round {round}");
            let ends_at = hold.expires_at + chrono::TimeDelta::days(7);
            let id = format!("pi_new_{round}");
            assert!(story.checkout.renew_hold(&id, ends_at, at));
            assert!(!story.checkout.renew_hold(&id, ends_at, at), "told twice");
            assert!(story.checkout.needs_hold(&id));
            assert!(!story.checkout.needs_hold(&hold.payment_intent_id));
        }
        let at = story.make.tick();
        let hold = story.checkout.deposit.open_hold().unwrap();
        assert!(!hold.is_renewable(at));
    }

    #[test]
    fn a_bank_that_declines_a_renewal_is_asked_twice_and_a_hard_decline_is_final() {
        for is_barred in [false, true] {
            let mut story = held();
            let at = story.make.tick();
            assert!(story.checkout.renewal_refused(declined(), is_barred, at));
            let shown = story.checkout.attention.first().cloned().unwrap();
            assert_eq!(shown.reason, AttentionReason::DepositFailed);
            assert!(shown.detail.unwrap().contains("insufficient funds"));
            let may = |story: &Story, at| {
                let hold = story.checkout.deposit.open_hold().unwrap();
                hold.is_renewable(at)
            };
            assert!(!may(&story, at), "not at once");
            let later = at + SECOND_THOUGHTS;
            assert_eq!(may(&story, later), !is_barred);
            assert!(story.checkout.renewal_refused(declined(), false, later));
            assert!(!may(&story, later + SECOND_THOUGHTS), "twice is enough");
            // The next hold begins anew.
            let ends_at = later + chrono::TimeDelta::days(7);
            assert!(story.checkout.renew_hold("pi_new", ends_at, later));
            assert!(may(&story, later));
            assert_eq!(story.checkout.attention, []);
        }
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
