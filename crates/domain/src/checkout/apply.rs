//! How an event changes a checkout.

use super::{
    Actor, Checkout, Effect, Event, EventKind, InsuranceStatus, Lifecycle, Move, PaymentFailure,
    RecurringPaymentStatus, Refusal, StockTaken, WaitlistReason, arrows_from, moves_of, transition,
};
use crate::customer::{CreditStatus, IdentityStatus};
use crate::fulfillment::TrackingStatus;
use crate::text::Line;
use crate::time::{Timestamp, add_months};

/// When, by whom and why something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circumstances {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// Why, where somebody said so.
    pub reason: Option<Line>,
}

impl Circumstances {
    /// Without a reason.
    #[must_use]
    pub const fn new(at: Timestamp, actor: Actor) -> Self {
        Self {
            at,
            actor,
            reason: None,
        }
    }
}

/// What is known of the customer: a step whose data are there is passed through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Name and address are complete.
    pub profile_complete: bool,
    /// The identity verification, in the checkout's mode.
    pub identity: IdentityStatus,
    /// The credit check, in the checkout's mode.
    pub credit: CreditStatus,
}

impl Facts {
    /// Nothing is known.
    pub const NONE: Self = Self {
        profile_complete: false,
        identity: IdentityStatus::None,
        credit: CreditStatus::Unknown,
    };
}

/// One step that a checkout made, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The state before.
    pub from: Lifecycle,
    /// What happened.
    pub event: EventKind,
    /// The state after; the same as before for an event that is only recorded.
    pub to: Lifecycle,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// Why, where somebody said so.
    pub reason: Option<Line>,
}

/// Whether an event changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It did.
    Applied,
    /// It had been applied before, or came too late to matter.
    AlreadyApplied,
}

/// What came of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Whether anything changed.
    pub outcome: Outcome,
    /// The steps, in order: the event's own, then those that were passed through.
    pub transitions: Vec<Transition>,
    /// What is to be carried out, in order.
    pub effects: Vec<Effect>,
    /// Whether the unit of stock that the checkout held goes back, in the same
    /// transaction.
    pub releases_stock: bool,
}

/// An event that the state does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event} is not possible while the checkout is {from}: {why}")]
pub struct TransitionError {
    /// The state.
    pub from: Lifecycle,
    /// The event.
    pub event: EventKind,
    /// Why not, or what is possible instead.
    pub why: String,
}

impl Checkout {
    /// Applies the event: changes the checkout and tells what is to be done.
    ///
    /// A replayed or late event gives [`Outcome::AlreadyApplied`] and changes
    /// nothing, so that whatever delivers events at least once is safe.
    ///
    /// # Errors
    /// [`TransitionError`] when the state does not allow the event, or when the
    /// event lacks something (no term chosen). The checkout is unchanged then.
    pub fn apply(
        &mut self,
        event: Event,
        by: &Circumstances,
        facts: &Facts,
    ) -> Result<Applied, TransitionError> {
        let from = self.lifecycle();
        let kind = event.kind();
        let mut applied = Applied {
            outcome: Outcome::Applied,
            transitions: Vec::new(),
            effects: Vec::new(),
            releases_stock: false,
        };
        match transition(from, kind) {
            Move::To(_) | Move::Stay => {}
            Move::AlreadyApplied => {
                self.record_late(&event);
                applied.outcome = Outcome::AlreadyApplied;
                return Ok(applied);
            }
            Move::Refused => return Err(self.refusal(kind, by.actor)),
        }
        self.guard(&event, by.actor)?;
        if self.is_recorded_already(&event) {
            applied.outcome = Outcome::AlreadyApplied;
            return Ok(applied);
        }
        self.step(event, by, &mut applied);
        if !is_step_back(kind) {
            while let Some(next) = self.next_known(facts) {
                // What is known already is the system's doing, whoever made the first step.
                self.step(
                    next,
                    &Circumstances::new(by.at, Actor::System),
                    &mut applied,
                );
            }
        }
        self.updated_at = by.at;
        Ok(applied)
    }

    /// The events that would bring the checkout to the state at once and that the
    /// actor can make happen.
    pub fn ways_to(&self, target: Lifecycle, actor: Actor) -> impl Iterator<Item = EventKind> + '_ {
        let from = self.lifecycle();
        moves_of(from, actor)
            .filter(move |arrow| arrow.to == target)
            .map(|arrow| arrow.event)
    }

    fn refusal(&self, event: EventKind, actor: Actor) -> TransitionError {
        let from = self.lifecycle();
        let mut allowed: Vec<&str> = moves_of(from, actor)
            .map(|arrow| arrow.to.as_str())
            .collect();
        allowed.dedup();
        let why = if from.is_ended() {
            "it has ended".to_owned()
        } else if allowed.is_empty() {
            let waits_for = arrows_from(from)
                .find(|arrow| arrow.to != from)
                .map(|arrow| arrow.event.as_str());
            format!("it waits for {}", waits_for.unwrap_or("nothing"))
        } else {
            format!("it can go to {} now", allowed.join(", "))
        };
        TransitionError { from, event, why }
    }

    /// What the table cannot see because it lies in the data.
    fn guard(&self, event: &Event, actor: Actor) -> Result<(), TransitionError> {
        let refuse = |why: &str| {
            Err(TransitionError {
                from: self.lifecycle(),
                event: event.kind(),
                why: why.to_owned(),
            })
        };
        match event {
            Event::LeaseAccepted | Event::DepositSubmitted { .. } if self.term.is_none() => {
                refuse("a lease term is to be chosen first")
            }
            Event::OrderResumed if self.shipment.shipped_at.is_some() => {
                refuse("the goods are shipped: it can go back to shipped")
            }
            Event::ShipmentResumed | Event::Delivered { .. }
                if self.shipment.shipped_at.is_none() =>
            {
                refuse("the goods are not shipped: it can go back to orderConfirmed")
            }
            // A carrier's word that comes late is passed over; a person is told.
            Event::FulfillmentFailed { .. }
                if actor == Actor::Operator && self.shipment.delivered_at.is_some() =>
            {
                refuse("the goods are delivered: they come back by a return")
            }
            // Whoever captured it, and wherever: nobody leases what they did not sign.
            Event::DepositCaptured { .. } if self.signed_at.is_none() => {
                refuse("the lease is to be signed first")
            }
            Event::StockFreed {
                stock: StockTaken::NoneLeft,
            } => refuse("no stock is left for it"),
            Event::StockFreed {
                stock: StockTaken::Taken,
            } if self.lifecycle() == Lifecycle::WaitlistedAfterProfile => {
                refuse("stock is taken with the deposit, not before")
            }
            Event::DocumentsSigned if self.recurring.method.is_none() => {
                refuse("a recurring payment method is needed first")
            }
            _ => Ok(()),
        }
    }

    /// Whether an event that the state allows has been recorded before, or was overtaken by
    /// what the checkout has recorded since.
    const fn is_recorded_already(&self, event: &Event) -> bool {
        match event {
            Event::DocumentsSigned => self.signed_at.is_some(),
            Event::Delivered { .. } => {
                self.shipment.delivered_at.is_some()
                    && matches!(self.state.lifecycle, Lifecycle::Shipped)
            }
            // A carrier that reports a failure after the delivery is too late, also while the
            // checkout still waits for its subscription.
            Event::FulfillmentFailed { .. } => self.shipment.delivered_at.is_some(),
            _ => false,
        }
    }

    /// The ids of an answer that came after the checkout had ended: whoever undoes
    /// the work needs them.
    fn record_late(&mut self, event: &Event) {
        match event {
            Event::DepositAuthorized {
                payment_intent_id,
                expires_at,
                ..
            } if self.deposit.payment_intent_id.is_none() => {
                self.deposit.payment_intent_id = Some(payment_intent_id.clone());
                self.deposit.preauth_expires_at = Some(*expires_at);
            }
            Event::DepositCaptured { invoice_id, at } if self.deposit.captured_at.is_none() => {
                self.deposit.invoice_id = Some(invoice_id.clone());
                self.deposit.captured_at = Some(*at);
            }
            Event::SubscriptionStarted {
                subscription_id, ..
            } if self.recurring.subscription_id.is_none() => {
                self.recurring.subscription_id = Some(subscription_id.clone());
            }
            // Goods that were billed when they were shipped arrive later.
            Event::Delivered { at, signed_by } if self.shipment.delivered_at.is_none() => {
                self.shipment.delivered_at = Some(*at);
                self.shipment.signed_by = signed_by.clone().or(self.shipment.signed_by.take());
                if self.shipment.tracking.is_some() {
                    self.shipment.status = Some(TrackingStatus::Delivered);
                }
            }
            _ => {}
        }
    }

    /// The event of a step whose data are already there.
    fn next_known(&self, facts: &Facts) -> Option<Event> {
        match self.lifecycle() {
            Lifecycle::ProfilePending if facts.profile_complete => Some(Event::ProfileCompleted),
            Lifecycle::IdentityRequired if facts.identity == IdentityStatus::Verified => {
                Some(Event::IdentityVerified)
            }
            Lifecycle::QualificationPending if facts.credit == CreditStatus::Passed => {
                Some(Event::Qualified)
            }
            Lifecycle::ShippingAddressPending => {
                match (self.pickup_location_id, &self.shipping.address) {
                    (Some(_), _) => Some(Event::PickupChosen),
                    (None, Some(address)) => Some(Event::ShippingAddressGiven {
                        address: address.clone(),
                    }),
                    (None, None) => None,
                }
            }
            Lifecycle::PickupLocationPending => self
                .pickup_location_id
                .map(|location| Event::PickupLocationGiven { location }),
            _ => None,
        }
    }

    /// One step that the table allows: state, data, effects.
    fn step(&mut self, event: Event, by: &Circumstances, applied: &mut Applied) {
        let from = self.lifecycle();
        let kind = event.kind();
        let to = match transition(from, kind) {
            Move::To(to) => to,
            Move::Stay => from,
            Move::AlreadyApplied | Move::Refused => return,
        };
        self.record(event, by, applied);
        if to != from {
            self.state = super::State {
                lifecycle: to,
                previous: Some(from),
            };
            self.enter(to, by, applied);
        }
        applied.transitions.push(Transition {
            from,
            event: kind,
            to,
            at: by.at,
            actor: by.actor,
            reason: by.reason.clone(),
        });
    }

    fn fail_payment(&mut self, refusal: Refusal, at: Timestamp) {
        let Refusal { code, message } = refusal;
        self.recurring.last_failure = Some(PaymentFailure { message, code, at });
    }

    /// What the event says, written into the checkout.
    fn record(&mut self, event: Event, by: &Circumstances, applied: &mut Applied) {
        match event {
            Event::IdentityRequested => applied.effects.push(Effect::StartIdentityVerification),
            Event::IdentitySubmitted => applied.effects.push(Effect::FetchIdentityResult),
            Event::ShippingChosen | Event::SteppedBackToAddress => self.pickup_location_id = None,
            Event::ShippingAddressGiven { address } => {
                self.shipping.address = Some(address);
                self.pickup_location_id = None;
            }
            Event::PickupLocationGiven { location } => self.pickup_location_id = Some(location),
            Event::DepositSubmitted { method } => {
                self.deposit.method_id = method.or(self.deposit.method_id.take());
                applied.effects.push(Effect::AuthorizeDeposit);
            }
            Event::DepositAuthorized {
                payment_intent_id,
                expires_at,
                method,
                stock,
            } => {
                self.deposit.payment_intent_id = Some(payment_intent_id);
                self.deposit.preauth_expires_at = Some(expires_at);
                self.recurring.last_failure = None;
                // A method that may be used again saves the customer from entering it twice.
                if self.recurring.method.is_none() {
                    self.recurring.method = method;
                }
                self.holds_stock = stock == StockTaken::Taken;
                if stock == StockTaken::NoneLeft {
                    self.wait_for_stock();
                }
            }
            Event::DepositRefused(refusal) => {
                // Nothing is authorized: the price follows the catalog again.
                self.quote = None;
                self.fail_payment(refusal, by.at);
            }
            Event::CaptureRefused(refusal) => self.fail_payment(refusal, by.at),
            Event::PaymentMethodSaved(method) => self.recurring.method = Some(method),
            Event::DocumentsSigned => {
                self.signed_at = Some(by.at);
                applied.effects.push(Effect::CaptureDeposit);
            }
            Event::CaptureRetried => applied.effects.push(Effect::CaptureDeposit),
            Event::DepositCaptured { invoice_id, at } => {
                self.deposit.invoice_id = Some(invoice_id);
                self.deposit.captured_at = Some(at);
                self.recurring.last_failure = None;
            }
            Event::AuthorizationLapsed => {
                self.deposit.payment_intent_id = None;
                self.deposit.preauth_expires_at = None;
                self.quote = None;
                // What was signed refers to a deposit that is gone; it is signed anew.
                self.signed_at = None;
                if self.lifecycle() == Lifecycle::WaitlistedAfterDeposit {
                    self.wait_for_stock();
                }
                self.release_stock(applied);
            }
            Event::Fulfilled { tracking } => {
                self.shipment.shipped_at = Some(by.at);
                if tracking.is_some() {
                    self.shipment.status = Some(TrackingStatus::PreTransit);
                } else {
                    self.request_subscription(by.at, applied);
                }
                self.shipment.tracking = tracking;
            }
            Event::Delivered { at, signed_by } => {
                self.request_subscription(by.at, applied);
                self.shipment.delivered_at = Some(at);
                self.shipment.signed_by = signed_by.or(self.shipment.signed_by.take());
                if self.shipment.tracking.is_some() {
                    self.shipment.status = Some(TrackingStatus::Delivered);
                }
            }
            Event::SubscriptionStarted {
                subscription_id,
                start,
            } => {
                self.recurring.status = RecurringPaymentStatus::Active;
                self.recurring.subscription_id = Some(subscription_id);
                self.lease.start = Some(start);
                self.lease.end = self
                    .term
                    .and_then(|term| add_months(start, u32::from(term.months.get())));
            }
            Event::ReturnInitiated { reason, notes } => {
                self.return_.reason = reason.or(self.return_.reason.take());
                self.return_.notes = notes.or(self.return_.notes.take());
            }
            Event::ReturnCancelled => self.return_.cancelled_at = Some(by.at),
            Event::ReturnCompleted => {
                self.return_.completed_at = Some(by.at);
                if self.recurring.subscription_id.is_some() {
                    applied.effects.push(Effect::CancelSubscription);
                }
                if self.deposit.captured_at.is_some() {
                    applied.effects.push(Effect::RefundDeposit);
                }
            }
            Event::StockFreed { stock } => self.holds_stock = stock == StockTaken::Taken,
            Event::Cancelled { reason } => {
                self.cancel_reason = reason.or_else(|| by.reason.clone());
                self.let_go(applied);
            }
            // A deposit may be known here too: one whose authorization was reported late to a
            // checkout that waited.
            Event::Expired | Event::IdentityRefused | Event::QualificationRefused => {
                self.let_go(applied);
            }
            Event::Opened
            | Event::PickupChosen
            | Event::ProfileCompleted
            | Event::IdentityStarted
            | Event::IdentityAbandoned
            | Event::IdentityVerified
            | Event::Qualified
            | Event::LeaseAccepted
            | Event::AddendumsRequested
            | Event::AddendumsSigned
            | Event::FulfillmentFailed { .. }
            | Event::OrderResumed
            | Event::ShipmentResumed
            | Event::TermEnded
            | Event::AreaWidened
            | Event::SteppedBackToProfile
            | Event::SteppedBackToPickup
            | Event::SteppedBackToReview => {}
        }
    }

    /// What entering a state asks for, whichever event led there.
    fn enter(&mut self, state: Lifecycle, by: &Circumstances, applied: &mut Applied) {
        match state {
            Lifecycle::QualificationPending => applied.effects.push(Effect::CheckCredit),
            Lifecycle::DocumentsPending => applied.effects.push(Effect::PrepareDocuments),
            Lifecycle::OrderConfirmed => {
                self.milestones.confirmed_at = self.milestones.confirmed_at.or(Some(by.at));
                if self.insurance == InsuranceStatus::Pending {
                    self.insurance = InsuranceStatus::Approved;
                }
            }
            Lifecycle::LeaseActive => {
                self.milestones.active_at = self.milestones.active_at.or(Some(by.at));
            }
            Lifecycle::ReturnPending => {
                self.return_.initiated_at = Some(by.at);
                self.return_.cancelled_at = None;
            }
            Lifecycle::ShippingAddressPending
            | Lifecycle::Created
            | Lifecycle::ProfilePending
            | Lifecycle::IdentityRequired
            | Lifecycle::IdentityVerifying
            | Lifecycle::IdentityProcessing
            | Lifecycle::PickupLocationPending
            | Lifecycle::LeaseReviewPending
            | Lifecycle::DepositPending
            | Lifecycle::DepositProcessing
            | Lifecycle::DepositFailed
            | Lifecycle::RecurringPaymentMethodPending
            | Lifecycle::CaptureFailed
            | Lifecycle::AddendumsPending
            | Lifecycle::Shipped
            | Lifecycle::FulfillmentException
            | Lifecycle::Returned
            | Lifecycle::WaitlistedAfterProfile
            | Lifecycle::WaitlistedAfterDeposit
            | Lifecycle::WaitlistedLocation
            | Lifecycle::Cancelled
            | Lifecycle::Expired
            | Lifecycle::IdentityFailed
            | Lifecycle::QualificationFailed => {}
        }
        // A check whose answer is known already is not asked for again.
        if state != Lifecycle::QualificationPending
            && self.state.previous == Some(Lifecycle::QualificationPending)
        {
            applied
                .effects
                .retain(|effect| *effect != Effect::CheckCredit);
        }
    }

    fn wait_for_stock(&mut self) {
        self.waitlist = Some(super::Waitlist {
            reason: WaitlistReason::Inventory,
            address: None,
            reason_code: None,
        });
    }

    fn release_stock(&mut self, applied: &mut Applied) {
        if std::mem::take(&mut self.holds_stock) {
            applied.releases_stock = true;
        }
    }

    /// Goods without tracking are billed when they are shipped, others when they are
    /// delivered, and none twice.
    fn request_subscription(&mut self, at: Timestamp, applied: &mut Applied) {
        if self.recurring.requested_at.is_none() {
            self.recurring.requested_at = Some(at);
            applied.effects.push(Effect::CreateSubscription);
        }
    }

    /// Ends what is running for a checkout that ends without a lease.
    fn let_go(&mut self, applied: &mut Applied) {
        if self.deposit.captured_at.is_some() {
            applied.effects.push(Effect::RefundDeposit);
        } else if self.deposit.payment_intent_id.is_some()
            || matches!(self.lifecycle(), Lifecycle::DepositProcessing)
        {
            // A capture may be on its way: whoever voids finds out, and refunds instead.
            applied.effects.push(Effect::VoidDeposit);
        }
        if self.recurring.requested_at.is_some() {
            // It exists or is on its way.
            applied.effects.push(Effect::CancelSubscription);
        }
        self.release_stock(applied);
    }
}

const fn is_step_back(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::SteppedBackToProfile
            | EventKind::SteppedBackToAddress
            | EventKind::SteppedBackToPickup
            | EventKind::SteppedBackToReview
            | EventKind::PickupChosen
            | EventKind::ShippingChosen
    )
}
