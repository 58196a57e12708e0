//! Why a person must look at a checkout.
//!
//! What a state or the data of the checkout say by themselves is [reviewed](Snapshot::review) after
//! each change; what only time or a comparison with the processor shows is [raised](Checkout::raise)
//! by whoever saw it, and falls when it is over.

use super::effect::Effect;
use super::parts::{Attention, AttentionReason, Billing, Deposit, Standing};
use super::snapshot::{Checkout, Snapshot};
use super::state::Lifecycle;
use crate::time::Timestamp;

impl Checkout {
    /// Somebody saw what the checkout does not know by itself. False when that is known.
    pub fn raise(
        &mut self,
        reason: AttentionReason,
        detail: Option<String>,
        at: Timestamp,
    ) -> bool {
        let before = self.0.attention.clone();
        self.0.raise(reason, detail, at);
        self.0.review(at);
        let changed = self.0.attention != before;
        if changed {
            self.0.updated_at = at;
        }
        changed
    }

    /// It is over. False when nobody had raised it, or it is not.
    pub fn settle(&mut self, reason: AttentionReason, at: Timestamp) -> bool {
        let before = self.0.attention.clone();
        self.0.lower(reason);
        self.0.review(at);
        let changed = self.0.attention != before;
        if changed {
            self.0.updated_at = at;
        }
        changed
    }

    /// The work was given up and is done after all, or is not to be done any more: nobody has to look
    /// because of it. False when nobody had to.
    pub fn settle_refused(&mut self, effect: Effect, at: Timestamp) -> bool {
        let reason = AttentionReason::ProcessorRefused;
        let is_of_it = self.0.attention.iter().any(|known| {
            let detail = known.detail.as_deref().unwrap_or_default();
            known.reason == reason && detail.starts_with(effect.as_str())
        });
        is_of_it && self.settle(reason, at)
    }
}

impl Snapshot {
    /// Whether somebody must look for this reason.
    #[must_use]
    pub fn needs(&self, reason: AttentionReason) -> bool {
        self.attention.iter().any(|known| known.reason == reason)
    }

    pub(in crate::checkout) fn raise(
        &mut self,
        reason: AttentionReason,
        detail: Option<String>,
        at: Timestamp,
    ) {
        match self
            .attention
            .iter_mut()
            .find(|known| known.reason == reason)
        {
            Some(known) => known.detail = detail,
            None => {
                let place = self
                    .attention
                    .partition_point(|known| known.reason < reason);
                let new = Attention {
                    reason,
                    since: at,
                    detail,
                };
                self.attention.insert(place, new);
            }
        }
    }

    pub(in crate::checkout) fn lower(&mut self, reason: AttentionReason) {
        self.attention.retain(|known| known.reason != reason);
    }

    /// What every method does that changed something.
    pub(in crate::checkout) fn changed(&mut self, at: Timestamp) {
        self.review(at);
        self.updated_at = at;
    }

    /// Brings the reasons up to date with what the checkout says by itself, as every change does.
    pub fn review(&mut self, at: Timestamp) {
        for reason in AttentionReason::ALL.iter().copied() {
            match self.says(reason) {
                Says::Yes(detail) => self.raise(reason, detail, at),
                Says::No => self.lower(reason),
                Says::Nothing => {}
            }
        }
    }

    /// What the checkout itself says of a reason.
    fn says(&self, reason: AttentionReason) -> Says {
        let state = self.lifecycle();
        let recurring = &self.recurring;
        let failure = || {
            let failure = recurring.last_failure.as_ref();
            failure.map(|failure| format!("{} ({})", failure.message, failure.code))
        };
        // Whoever never leased owes nothing, and what was taken of them is paid back.
        let is_over = state.is_ended() && !state.is_leased();
        match reason {
            AttentionReason::FirstPaymentFailed => {
                let is_incomplete = matches!(recurring.billing, Billing::Incomplete { .. });
                let never_paid = recurring.failure_count > 0 && recurring.paid_cycles == 0;
                Says::when(!is_over && (is_incomplete || never_paid), failure)
            }
            AttentionReason::PaymentFailed => Says::when(
                !is_over && recurring.failure_count > 0 && recurring.paid_cycles > 0,
                failure,
            ),
            AttentionReason::PastDue => match recurring.billing {
                Billing::Active { standing, .. } if !is_over && standing != Standing::Good => {
                    Says::Yes(Some(standing.as_str().to_owned()))
                }
                _ => Says::No,
            },
            AttentionReason::Disputed => Says::when(recurring.dispute_id.is_some(), || {
                recurring.dispute_id.clone()
            }),
            AttentionReason::NotBilled => match recurring.billing {
                Billing::Ended { .. } if self.is_to_be_billed() => {
                    let months = self.term.map_or(0, |term| term.months.get());
                    Says::Yes(Some(format!(
                        "the subscription has ended after {} of {months} payments",
                        recurring.paid_cycles
                    )))
                }
                // Time tells whether it takes too long.
                Billing::Requested { .. } if !is_over => Says::Nothing,
                _ => Says::No,
            },
            AttentionReason::DepositFailed => match &self.deposit {
                _ if state.is_ended() => Says::No,
                Deposit::Authorized { hold } if hold.renewals.refused > 0 => {
                    let why = failure().unwrap_or_default();
                    Says::Yes(Some(format!(
                        "the hold ends on {} and was not renewed: {why}",
                        hold.expires_at.date_naive()
                    )))
                }
                _ => Says::when(state.attention() == Some(reason), failure),
            },
            AttentionReason::CaptureFailed => {
                Says::when(state.attention() == Some(reason), failure)
            }
            AttentionReason::FulfillmentException | AttentionReason::AddendumsPending => {
                Says::when(state.attention() == Some(reason), || None)
            }
            AttentionReason::DepositLapsed => match self.deposit {
                Deposit::Open if !state.is_ended() => Says::Nothing,
                _ => Says::No,
            },
            AttentionReason::DeliveryOverdue => {
                if state == Lifecycle::Shipped && self.shipment.delivered_at.is_none() {
                    Says::Nothing
                } else {
                    Says::No
                }
            }
            AttentionReason::QualificationRequired => {
                if state == Lifecycle::QualificationPending {
                    Says::Nothing
                } else {
                    Says::No
                }
            }
            AttentionReason::ProcessorRefused | AttentionReason::Difference => Says::Nothing,
        }
    }

    /// Whether goods are with the customer, or on their way, and payments of the term are left.
    #[must_use]
    pub fn is_to_be_billed(&self) -> bool {
        let state = self.lifecycle();
        let is_running = state.is_under_way() || state.is_leased() && !state.is_ended();
        let left = self
            .term
            .is_some_and(|term| self.recurring.paid_cycles < u32::from(term.months.get()));
        is_running && left && self.recurring.billing != Billing::NotRequested
    }
}

/// What a checkout says of a reason by itself.
enum Says {
    Yes(Option<String>),
    No,
    /// Whoever raised it knows.
    Nothing,
}

impl Says {
    fn when(holds: bool, detail: impl FnOnce() -> Option<String>) -> Self {
        if holds { Self::Yes(detail()) } else { Self::No }
    }
}
