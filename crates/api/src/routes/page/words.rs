//! A checkout in the customer's words.

use lessor_domain::checkout::{Checkout, Lifecycle};

/// The steps that the customer sees, in order.
pub(super) const STEPS: [&str; 9] = [
    "Your details",
    "Identity",
    "Qualification",
    "Delivery",
    "Review",
    "Deposit",
    "Payment method",
    "Signature",
    "Confirmation",
];

/// Where a state stands among [`STEPS`], from 0; all of them are done at 9.
pub(super) const fn step(state: Lifecycle) -> Option<usize> {
    Some(match state {
        Lifecycle::Created | Lifecycle::ProfilePending => 0,
        Lifecycle::IdentityRequired
        | Lifecycle::IdentityVerifying
        | Lifecycle::IdentityProcessing
        | Lifecycle::IdentityFailed => 1,
        Lifecycle::QualificationPending | Lifecycle::QualificationFailed => 2,
        Lifecycle::ShippingAddressPending | Lifecycle::PickupLocationPending => 3,
        Lifecycle::LeaseReviewPending => 4,
        Lifecycle::DepositPending
        | Lifecycle::DepositProcessing
        | Lifecycle::DepositFailed
        | Lifecycle::WaitlistedAfterDeposit => 5,
        Lifecycle::RecurringPaymentMethodPending => 6,
        Lifecycle::DocumentsPending | Lifecycle::CaptureFailed => 7,
        Lifecycle::OrderConfirmed
        | Lifecycle::AddendumsPending
        | Lifecycle::Shipped
        | Lifecycle::FulfillmentException
        | Lifecycle::LeaseActive
        | Lifecycle::ReturnPending
        | Lifecycle::Returned => 9,
        Lifecycle::WaitlistedAfterProfile
        | Lifecycle::WaitlistedLocation
        | Lifecycle::Cancelled
        | Lifecycle::Expired => return None,
    })
}

/// The heading of the page and what there is to say.
pub(super) fn heading(checkout: &Checkout) -> (&'static str, &'static str) {
    match checkout.lifecycle() {
        Lifecycle::Created | Lifecycle::ProfilePending => (
            "Tell us who you are",
            "Your name and address are needed for the lease. You can go back and correct them later.",
        ),
        Lifecycle::IdentityRequired => (
            "Confirm your identity",
            "Before a lease can be offered we have to know that you are you.",
        ),
        Lifecycle::IdentityVerifying => (
            "Confirm your identity",
            "Your verification is open. Hand in what is asked for to go on.",
        ),
        Lifecycle::IdentityProcessing => (
            "Your identity is being checked",
            "This usually takes a moment. There is nothing for you to do; this page looks again by itself.",
        ),
        Lifecycle::QualificationPending => (
            "Your application is being checked",
            "This usually takes a moment. There is nothing for you to do; this page looks again by itself.",
        ),
        Lifecycle::ShippingAddressPending => (
            "Where should we send it?",
            "Give the address that the goods are shipped to.",
        ),
        Lifecycle::PickupLocationPending => {
            ("Where will you pick it up?", "Choose one of the locations.")
        }
        Lifecycle::LeaseReviewPending => (
            "Review your lease",
            "Read what you lease and what it costs. You accept these terms; nothing is charged yet.",
        ),
        Lifecycle::DepositPending => (
            "Authorize your deposit",
            "The deposit is reserved now and charged when you have signed. It is refundable.",
        ),
        Lifecycle::DepositProcessing => (
            "Your deposit is being authorized",
            "This usually takes a moment. There is nothing for you to do; this page looks again by itself.",
        ),
        Lifecycle::DepositFailed => (
            "Your deposit was not authorized",
            "Nothing was charged. You can try again.",
        ),
        Lifecycle::RecurringPaymentMethodPending => (
            "Choose how you pay every month",
            "The monthly payments are collected from this payment method.",
        ),
        Lifecycle::DocumentsPending if checkout.signed_at.is_some() => (
            "Thank you for signing",
            "Your deposit is being charged. This page looks again by itself.",
        ),
        Lifecycle::DocumentsPending if checkout.lease_document_id.is_none() => (
            "Your lease is being prepared",
            "This usually takes a moment. There is nothing for you to do; this page looks again by itself.",
        ),
        Lifecycle::DocumentsPending => (
            "Sign your lease",
            "With your signature the lease is agreed and your deposit is charged.",
        ),
        Lifecycle::CaptureFailed => (
            "Your deposit could not be charged",
            "You have signed, but the reserved deposit could not be charged. You can try again.",
        ),
        Lifecycle::OrderConfirmed => (
            "Your order is confirmed",
            "We are preparing your goods. There is nothing for you to do.",
        ),
        Lifecycle::AddendumsPending => (
            "There is something more to agree",
            "An addendum to your lease has to be signed before your goods are sent. You will be contacted about it.",
        ),
        Lifecycle::Shipped => (
            "Your goods are on their way",
            "Your lease begins when they arrive.",
        ),
        Lifecycle::FulfillmentException => (
            "There is a problem with your order",
            "Your goods could not be sent or delivered as planned. You will be contacted about it.",
        ),
        Lifecycle::LeaseActive => ("Your lease is active", "Everything is done. Enjoy it."),
        Lifecycle::ReturnPending => (
            "Your lease is ending",
            "Please send the goods back. Your deposit is refunded when they have arrived.",
        ),
        Lifecycle::Returned => (
            "Your lease has ended",
            "The goods are back and your deposit is refunded. Thank you.",
        ),
        Lifecycle::WaitlistedAfterProfile => (
            "You are on the waitlist",
            "This item is not available at the moment. You go on as soon as it is your turn. Nothing is charged.",
        ),
        Lifecycle::WaitlistedAfterDeposit => (
            "You are on the waitlist",
            "The last one was taken while your deposit was being authorized. You are among the first in line; your deposit is reserved and not charged.",
        ),
        Lifecycle::WaitlistedLocation => (
            "We do not deliver to you yet",
            "Your address is outside the area that is served. You go on as soon as that changes. Nothing is charged.",
        ),
        Lifecycle::Cancelled => (
            "This checkout was cancelled",
            "A deposit that was reserved is released, one that was charged is refunded.",
        ),
        Lifecycle::Expired => (
            "This checkout has expired",
            "It was left untouched for too long. Nothing was charged.",
        ),
        Lifecycle::IdentityFailed => (
            "Your identity could not be confirmed",
            "This checkout cannot go on. Nothing was charged.",
        ),
        Lifecycle::QualificationFailed => (
            "We cannot offer you this lease",
            "This checkout cannot go on. Nothing was charged.",
        ),
    }
}

/// Whether somebody else is at it, so that looking again a moment later helps.
pub(super) const fn is_moving(checkout: &Checkout) -> bool {
    match checkout.lifecycle() {
        Lifecycle::IdentityProcessing
        | Lifecycle::QualificationPending
        | Lifecycle::DepositProcessing => true,
        Lifecycle::DocumentsPending => {
            checkout.lease_document_id.is_none() || checkout.signed_at.is_some()
        }
        _ => false,
    }
}

/// Whether the customer can call the checkout off.
pub(super) const fn can_cancel(state: Lifecycle) -> bool {
    !state.is_ended()
        && !matches!(
            state,
            Lifecycle::Shipped | Lifecycle::LeaseActive | Lifecycle::ReturnPending
        )
}

/// Where the customer's browser goes from the end, with the words of the link.
pub(super) fn way_out(checkout: &Checkout) -> Option<(&str, &'static str)> {
    let redirects = &checkout.redirects;
    let (url, words) = match checkout.lifecycle() {
        Lifecycle::Cancelled => (&redirects.cancel, "Back to the shop"),
        Lifecycle::Expired | Lifecycle::IdentityFailed | Lifecycle::QualificationFailed => {
            (&redirects.failure, "Back to the shop")
        }
        state if state.is_confirmed() => (&redirects.success, "Continue to the shop"),
        _ => return None,
    };
    Some((url.as_ref()?.as_str(), words))
}

#[cfg(test)]
mod tests {
    use lessor_domain::checkout::{EventKind, Move, transition};

    use super::*;

    #[test]
    fn steps_never_go_back_along_the_way() {
        let steps: Vec<_> = Lifecycle::HAPPY_PATH
            .iter()
            .map(|state| step(*state))
            .collect();
        assert!(steps.iter().all(Option::is_some));
        assert!(steps.is_sorted(), "{steps:?}");
        assert_eq!(steps.last(), Some(&Some(STEPS.len())));
    }

    #[test]
    fn cancelling_is_offered_exactly_where_it_is_possible() {
        for state in Lifecycle::ALL {
            let possible = matches!(transition(*state, EventKind::Cancelled), Move::To(_));
            assert_eq!(can_cancel(*state), possible, "{state}");
        }
    }
}
