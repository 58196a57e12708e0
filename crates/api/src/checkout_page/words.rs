//! A checkout in the customer's words.

use actix_web::http::StatusCode;
use lessor_domain::checkout::{
    AttentionReason, Billing, Checkout, EventKind, FirstPaymentDue, Lifecycle, MilestoneName, Move,
    WayOut, transition,
};
use lessor_domain::credit::AdverseReason;
use lessor_domain::ledger::{PaymentFor, PaymentStanding};
use lessor_domain::services::visits::Visit;
use lessor_domain::shipments::TrackingStatus;

use super::locale::Reader;

/// How many steps the customer sees.
pub(super) const STEPS: usize = 9;

/// A heading with what there is to say below it.
pub(super) type Words = (String, String);

impl Reader {
    /// The steps that the customer sees, in order.
    pub(super) fn step_names(&self) -> [String; STEPS] {
        [
            self.step_details(),
            self.step_identity(),
            self.step_qualification(),
            self.step_delivery(),
            self.step_review(),
            self.step_deposit(),
            self.step_method(),
            self.step_signature(),
            self.step_confirmation(),
        ]
    }

    /// What the page says of a request that failed, by the status of its answer.
    pub(super) fn failure(&self, status: StatusCode) -> Words {
        match status {
            StatusCode::FORBIDDEN => (self.elsewhere_title(), self.elsewhere_text()),
            StatusCode::NOT_FOUND => (self.missing_title(), self.missing_text()),
            StatusCode::METHOD_NOT_ALLOWED => (self.method_title(), self.method_text()),
            StatusCode::REQUEST_TIMEOUT => (self.timeout_title(), self.timeout_text()),
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::URI_TOO_LONG => {
                (self.large_title(), self.large_text())
            }
            StatusCode::TOO_MANY_REQUESTS => (self.many_title(), self.many_text()),
            status if status.is_server_error() => (self.broken_title(), self.broken_text()),
            _ => (self.unreadable_title(), self.unreadable_text()),
        }
    }

    /// The words for a state.
    fn standing(&self, state: Lifecycle) -> Words {
        match state {
            Lifecycle::Created | Lifecycle::ProfilePending => {
                (self.who_are_you(), self.who_are_you_text())
            }
            Lifecycle::IdentityRequired => {
                (self.identity_required(), self.identity_required_text())
            }
            Lifecycle::IdentityVerifying => {
                (self.identity_required(), self.identity_verifying_text())
            }
            Lifecycle::IdentityProcessing => (self.identity_processing(), self.a_moment_text()),
            Lifecycle::QualificationPending => (self.qualification_pending(), self.a_moment_text()),
            Lifecycle::ShippingAddressPending => (
                self.shipping_address_pending(),
                self.shipping_address_pending_text(),
            ),
            Lifecycle::PickupLocationPending => (
                self.pickup_location_pending(),
                self.pickup_location_pending_text(),
            ),
            Lifecycle::LeaseReviewPending => (
                self.lease_review_pending(),
                self.lease_review_pending_text(),
            ),
            Lifecycle::DepositPending => (self.deposit_pending(), self.deposit_pending_text()),
            Lifecycle::DepositProcessing => (self.deposit_processing(), self.a_moment_text()),
            Lifecycle::DepositFailed => (self.deposit_failed(), self.deposit_failed_text()),
            Lifecycle::RecurringPaymentMethodPending => {
                (self.method_pending(), self.method_pending_text())
            }
            Lifecycle::DocumentsPending => {
                (self.documents_pending(), self.documents_pending_text())
            }
            Lifecycle::CaptureFailed => (self.capture_failed(), self.capture_failed_text()),
            Lifecycle::OrderConfirmed => (self.order_confirmed(), self.order_confirmed_text()),
            Lifecycle::AddendumsPending => {
                (self.addendums_pending(), self.addendums_pending_text())
            }
            Lifecycle::Shipped => (self.shipped(), self.shipped_text()),
            Lifecycle::FulfillmentException => (
                self.fulfillment_exception(),
                self.fulfillment_exception_text(),
            ),
            Lifecycle::LeaseActive => (self.lease_active(), self.lease_active_text()),
            Lifecycle::ReturnPending => (self.return_pending(), self.return_pending_text()),
            Lifecycle::Returned => (self.returned(), self.returned_text()),
            Lifecycle::WaitlistedAfterProfile => {
                (self.waitlisted(), self.waitlisted_for_stock_text())
            }
            Lifecycle::WaitlistedAfterDeposit => {
                (self.waitlisted(), self.waitlisted_with_deposit_text())
            }
            Lifecycle::WaitlistedLocation => (
                self.waitlisted_for_location(),
                self.waitlisted_for_location_text(),
            ),
            Lifecycle::Cancelled => (self.cancelled(), self.cancelled_text()),
            Lifecycle::Expired => (self.expired(), self.expired_text()),
            Lifecycle::IdentityFailed => (self.identity_failed(), self.cannot_go_on_text()),
            Lifecycle::QualificationFailed => {
                (self.qualification_failed(), self.cannot_go_on_text())
            }
        }
    }

    /// The heading of the page and what there is to say.
    pub(super) fn heading(&self, checkout: &Checkout) -> Words {
        if asks_for_a_signature(checkout) && checkout.signed_at.is_some() {
            return (self.documents_signed(), self.documents_signed_text());
        }
        if asks_for_a_signature(checkout) && checkout.lease_document_id.is_none() {
            return (self.documents_prepared(), self.a_moment_text());
        }
        if checkout.needs(AttentionReason::QualificationRequired) {
            return (
                self.qualification_pending(),
                self.qualification_by_hand_text(),
            );
        }
        self.standing(checkout.lifecycle())
    }

    /// [`heading`](Self::heading), or what is said while the customer has the processor's page open.
    pub(super) fn heading_of(&self, visit: &Visit) -> Words {
        if visit.pays_elsewhere {
            (self.pays_elsewhere(), self.pays_elsewhere_text())
        } else if signs_elsewhere(visit) {
            (self.documents_pending(), self.signs_elsewhere_text())
        } else {
            self.heading(&visit.checkout)
        }
    }

    /// What the customer is told of money that did not come: the last payment that failed, or a hold of
    /// the deposit that the bank did not renew. The processor's own words are English.
    pub(super) fn trouble(&self, checkout: &Checkout) -> Option<String> {
        let failure = checkout.recurring.last_failure.as_ref();
        let why = failure.and_then(|failure| self.in_english(&failure.message));
        if checkout.lifecycle().is_ended() {
            return None;
        }
        let what = if let Some(hold) = checkout.deposit.open_hold()
            && hold.renewals.refused > 0
        {
            self.hold_not_renewed(self.instant(hold.expires_at))
        } else if can_pay(checkout) && checkout.recurring.paid_cycles == 0 {
            self.first_payment_failed()
        } else if can_pay(checkout) {
            self.last_payment_failed()
        } else {
            failure?;
            self.payment_failed()
        };
        Some(match why {
            Some(why) => format!("{what} {why}"),
            None => what,
        })
    }

    /// Why credit was refused.
    pub(crate) fn reason(&self, reason: AdverseReason) -> String {
        match reason {
            AdverseReason::CreditApplicationIncomplete => self.credit_application_incomplete(),
            AdverseReason::InsufficientCreditReferences => self.insufficient_credit_references(),
            AdverseReason::UnacceptableCreditReferences => self.unacceptable_credit_references(),
            AdverseReason::UnableToVerifyCreditReferences => {
                self.unable_to_verify_credit_references()
            }
            AdverseReason::TemporaryOrIrregularEmployment => {
                self.temporary_or_irregular_employment()
            }
            AdverseReason::UnableToVerifyEmployment => self.unable_to_verify_employment(),
            AdverseReason::LengthOfEmployment => self.length_of_employment(),
            AdverseReason::IncomeInsufficient => self.income_insufficient(),
            AdverseReason::ExcessiveObligations => self.excessive_obligations(),
            AdverseReason::UnableToVerifyIncome => self.unable_to_verify_income(),
            AdverseReason::LengthOfResidence => self.length_of_residence(),
            AdverseReason::TemporaryResidence => self.temporary_residence(),
            AdverseReason::UnableToVerifyResidence => self.unable_to_verify_residence(),
            AdverseReason::NoCreditFile => self.no_credit_file(),
            AdverseReason::LimitedCreditExperience => self.limited_credit_experience(),
            AdverseReason::PoorPerformanceWithUs => self.poor_performance_with_us(),
            AdverseReason::DelinquentObligations => self.delinquent_obligations(),
            AdverseReason::CollectionOrJudgment => self.collection_or_judgment(),
            AdverseReason::GarnishmentOrAttachment => self.garnishment_or_attachment(),
            AdverseReason::ForeclosureOrRepossession => self.foreclosure_or_repossession(),
            AdverseReason::Bankruptcy => self.bankruptcy(),
            AdverseReason::RecentInquiries => self.recent_inquiries(),
            AdverseReason::CollateralInsufficient => self.collateral_insufficient(),
            AdverseReason::Other => self.other_reasons(),
        }
    }

    /// When the first month is charged.
    pub(super) fn first_month(&self, due: FirstPaymentDue) -> String {
        match due {
            FirstPaymentDue::OnDelivery => self.first_month_on_delivery(),
            FirstPaymentDue::OnShipment => self.first_month_on_shipment(),
        }
    }

    /// Where a shipment is.
    pub(super) fn tracking(&self, status: TrackingStatus) -> String {
        match status {
            TrackingStatus::Unknown => self.tracking_unknown(),
            TrackingStatus::PreTransit => self.tracking_pre_transit(),
            TrackingStatus::InTransit => self.tracking_in_transit(),
            TrackingStatus::OutForDelivery => self.tracking_out_for_delivery(),
            TrackingStatus::AvailableForPickup => self.tracking_available_for_pickup(),
            TrackingStatus::Delivered => self.tracking_delivered(),
            TrackingStatus::ReturnToSender => self.tracking_return_to_sender(),
            TrackingStatus::Failure => self.tracking_failure(),
            TrackingStatus::Cancelled => self.tracking_cancelled(),
            TrackingStatus::Error => self.tracking_error(),
        }
    }

    /// A milestone after the confirmation.
    pub(super) fn milestone(&self, name: MilestoneName) -> String {
        match name {
            MilestoneName::OrderConfirmed => self.milestone_confirmed(),
            MilestoneName::Shipped => self.milestone_shipped(),
            MilestoneName::Delivered => self.milestone_delivered(),
            MilestoneName::LeaseActive => self.milestone_began(),
            MilestoneName::ReturnPending => self.milestone_return(),
            MilestoneName::Returned => self.milestone_returned(),
        }
    }

    /// What a payment is for.
    pub(super) fn paid_for(&self, what: PaymentFor) -> String {
        match what {
            PaymentFor::Deposit => self.for_deposit(),
            PaymentFor::Month => self.for_month(),
            PaymentFor::Extra => self.for_extra(),
            PaymentFor::Refund => self.for_refund(),
        }
    }

    /// How far a payment is.
    pub(super) fn paid(&self, standing: PaymentStanding) -> String {
        match standing {
            PaymentStanding::Reserved => self.payment_reserved(),
            PaymentStanding::Pending => self.payment_pending(),
            PaymentStanding::Paid => self.payment_paid(),
            PaymentStanding::Failed => self.payment_missed(),
        }
    }

    /// Where the customer's browser goes from the end, by which way, with the words of the link.
    pub(super) fn way_out(&self, checkout: &Checkout) -> Option<(String, String)> {
        let (way, url) = way_out(checkout)?;
        let words = match way {
            WayOut::Success => self.to_the_shop(),
            WayOut::Cancel | WayOut::Failure => self.back_to_the_shop(),
        };
        Some((url, words))
    }
}

fn asks_for_a_signature(checkout: &Checkout) -> bool {
    checkout.lifecycle().next() == Some(EventKind::DocumentsSigned)
}

/// Whether the lease waits to be signed with the organization's signer.
pub(super) fn signs_elsewhere(visit: &Visit) -> bool {
    let checkout = &visit.checkout;
    visit.signs_elsewhere && asks_for_a_signature(checkout) && checkout.signed_at.is_none()
}

/// Whether somebody else is at it, so that looking again a moment later helps.
pub(super) fn is_moving(checkout: &Checkout) -> bool {
    let is_prepared = checkout.lease_document_id.is_some() && checkout.signed_at.is_none();
    let waits_for_somebody = checkout.needs(AttentionReason::QualificationRequired);
    checkout.lifecycle().is_at_provider() && !waits_for_somebody
        || asks_for_a_signature(checkout) && !is_prepared
}

/// Whether a monthly payment failed that the customer can have tried again: one that is open, or those
/// that are left when the subscription has ended.
pub(super) fn can_pay(checkout: &Checkout) -> bool {
    let recurring = &checkout.recurring;
    match recurring.billing {
        Billing::NotRequested | Billing::Requested { .. } => false,
        Billing::Incomplete { .. } => !checkout.lifecycle().is_ended(),
        Billing::Active { .. } => recurring.failure_count > 0 && !checkout.lifecycle().is_ended(),
        Billing::Ended { .. } => checkout.is_to_be_billed(),
    }
}

/// Whether the customer can call the checkout off.
pub(super) const fn can_cancel(state: Lifecycle) -> bool {
    matches!(transition(state, EventKind::Cancelled), Move::To(_))
}

/// Where the customer's browser goes from the end, and by which way.
pub(super) fn way_out(checkout: &Checkout) -> Option<(WayOut, String)> {
    let way = checkout.way_out()?;
    let url = checkout.redirects.of(way)?.filled(checkout.id);
    Some((way, url))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lessor_domain::agreement::ACCEPTANCE_TEXT;

    use super::super::locale::Language;
    use super::*;

    fn readers() -> [Reader; 2] {
        Language::ALL.map(|language| Reader::of(&format!("lang={}", language.code()), None))
    }

    #[test]
    fn every_state_has_words_in_each_language() {
        for reader in readers() {
            for state in Lifecycle::ALL {
                let (heading, text) = reader.standing(*state);
                assert!(!heading.is_empty() && !text.is_empty(), "{state}");
            }
        }
    }

    #[test]
    fn every_reason_has_words_of_its_own_in_each_language() {
        for reader in readers() {
            let said = AdverseReason::ALL
                .iter()
                .map(|reason| reader.reason(*reason));
            let said: BTreeSet<String> = said.collect();
            assert_eq!(said.len(), AdverseReason::ALL.len(), "{said:?}");
            assert!(!said.contains(""));
        }
    }

    /// What was accepted is told by the version of this very text.
    #[test]
    fn the_review_says_what_is_accepted() {
        let reader = Reader::of("lang=en", None);
        assert_eq!(reader.lease_review_pending_text(), ACCEPTANCE_TEXT);
    }

    #[test]
    fn steps_never_go_back_along_the_way() {
        let steps: Vec<_> = Lifecycle::HAPPY_PATH
            .iter()
            .map(|state| state.step())
            .collect();
        assert!(steps.iter().all(Option::is_some));
        assert!(steps.is_sorted(), "{steps:?}");
        assert_eq!(steps.last(), Some(&u8::try_from(STEPS).ok()));
    }
}
