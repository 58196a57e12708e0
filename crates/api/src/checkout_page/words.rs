//! A checkout in the customer's words.

use actix_web::http::StatusCode;
use lessor_domain::checkout::{
    AttentionReason, Billing, Checkout, EventKind, FirstPaymentDue, Lifecycle, Move, WayOut,
    transition,
};
use lessor_domain::credit::AdverseReason;

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

/// What the page says of a state.
struct Words {
    state: Lifecycle,
    heading: &'static str,
    text: &'static str,
}

impl Words {
    const fn new(state: Lifecycle, heading: &'static str, text: &'static str) -> Self {
        Self {
            state,
            heading,
            text,
        }
    }
}

/// What is said while the customer has the processor's page open.
pub(super) const PAYS_ELSEWHERE: (&str, &str) = (
    "Your payment is open",
    "Go on with it on the payment processor's page. When you have paid there, you come back here.",
);

const A_MOMENT: &str =
    "This usually takes a moment. There is nothing for you to do; look again when you like.";

/// What the page says of a request that failed, by the status of its answer.
pub(super) fn failure(status: StatusCode) -> (&'static str, &'static str) {
    match status {
        StatusCode::FORBIDDEN => (
            "This form came from elsewhere",
            "Forms of a checkout are taken from its own page only. Open the page by your link and try again.",
        ),
        StatusCode::NOT_FOUND => (
            "There is no such page",
            "The link is incomplete. Please use the link as it was sent to you.",
        ),
        StatusCode::METHOD_NOT_ALLOWED => (
            "This address is not opened like that",
            "Open the page of your checkout by your link.",
        ),
        StatusCode::REQUEST_TIMEOUT => (
            "That took too long",
            "What you sent did not arrive in time. Nothing was changed; please try again.",
        ),
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::URI_TOO_LONG => (
            "That was too much",
            "What you sent is longer than the form takes. Nothing was changed.",
        ),
        StatusCode::TOO_MANY_REQUESTS => (
            "One moment, please",
            "There were too many requests in a short time. Please wait a moment and try again.",
        ),
        status if status.is_server_error() => (
            "Something went wrong",
            "That is on our side. Please wait a moment and look at your checkout again: whatever was done is shown there.",
        ),
        _ => (
            "That could not be read",
            "What was sent is no form of this page. Nothing was changed; please open the page and try again.",
        ),
    }
}

/// The words for each state.
static WORDS: [Words; Lifecycle::ALL.len()] = [
    Words::new(
        Lifecycle::Created,
        "Tell us who you are",
        "Your name and address are needed for the lease. You can go back and correct them later.",
    ),
    Words::new(
        Lifecycle::ProfilePending,
        "Tell us who you are",
        "Your name and address are needed for the lease. You can go back and correct them later.",
    ),
    Words::new(
        Lifecycle::IdentityRequired,
        "Confirm your identity",
        "Before a lease can be offered we have to know that you are you.",
    ),
    Words::new(
        Lifecycle::IdentityVerifying,
        "Confirm your identity",
        "Your verification is open. Hand in what is asked for to go on.",
    ),
    Words::new(
        Lifecycle::IdentityProcessing,
        "Your identity is being checked",
        A_MOMENT,
    ),
    Words::new(
        Lifecycle::QualificationPending,
        "Your application is being checked",
        A_MOMENT,
    ),
    Words::new(
        Lifecycle::ShippingAddressPending,
        "Where should we send it?",
        "Give the address that the goods are shipped to.",
    ),
    Words::new(
        Lifecycle::PickupLocationPending,
        "Where will you pick it up?",
        "Choose one of the locations.",
    ),
    Words::new(
        Lifecycle::LeaseReviewPending,
        "Review your lease",
        "Read what you lease and what it costs. You accept these terms; nothing is charged yet.",
    ),
    Words::new(
        Lifecycle::DepositPending,
        "Authorize your deposit",
        "The deposit is reserved now and charged when you have signed. It is refundable.",
    ),
    Words::new(
        Lifecycle::DepositProcessing,
        "Your deposit is being authorized",
        A_MOMENT,
    ),
    Words::new(
        Lifecycle::DepositFailed,
        "Your deposit was not authorized",
        "Nothing was charged. You can try again.",
    ),
    Words::new(
        Lifecycle::RecurringPaymentMethodPending,
        "Choose how you pay every month",
        "The monthly payments are collected from this payment method.",
    ),
    Words::new(
        Lifecycle::DocumentsPending,
        "Sign your lease",
        "With your signature the lease is agreed and your deposit is charged.",
    ),
    Words::new(
        Lifecycle::CaptureFailed,
        "Your deposit could not be charged",
        "You have signed, but the reserved deposit could not be charged. You can try again.",
    ),
    Words::new(
        Lifecycle::OrderConfirmed,
        "Your order is confirmed",
        "We are preparing your goods. There is nothing for you to do.",
    ),
    Words::new(
        Lifecycle::AddendumsPending,
        "There is something more to agree",
        "An addendum to your lease has to be signed before your goods are sent. You will be contacted about it.",
    ),
    Words::new(
        Lifecycle::Shipped,
        "Your goods are on their way",
        "Your lease begins when they arrive.",
    ),
    Words::new(
        Lifecycle::FulfillmentException,
        "There is a problem with your order",
        "Your goods could not be sent or delivered as planned. You will be contacted about it.",
    ),
    Words::new(
        Lifecycle::LeaseActive,
        "Your lease is active",
        "Everything is done. Enjoy it.",
    ),
    Words::new(
        Lifecycle::ReturnPending,
        "Your lease is ending",
        "Please send the goods back. Your deposit is refunded when they have arrived.",
    ),
    Words::new(
        Lifecycle::Returned,
        "Your lease has ended",
        "The goods are back and your deposit is refunded. Thank you.",
    ),
    Words::new(
        Lifecycle::WaitlistedAfterProfile,
        "You are on the waitlist",
        "This item is not available at the moment. You go on as soon as it is your turn. Nothing is charged.",
    ),
    Words::new(
        Lifecycle::WaitlistedAfterDeposit,
        "You are on the waitlist",
        "The last one was taken while your deposit was being authorized. You are among the first in line; your deposit is reserved and not charged.",
    ),
    Words::new(
        Lifecycle::WaitlistedLocation,
        "We do not deliver to you yet",
        "Your address is outside the area that is served. You go on as soon as that changes. Nothing is charged.",
    ),
    Words::new(
        Lifecycle::Cancelled,
        "This checkout was cancelled",
        "A deposit that was reserved is released, one that was charged is refunded.",
    ),
    Words::new(
        Lifecycle::Expired,
        "This checkout has expired",
        "It was left untouched for too long. Nothing was charged.",
    ),
    Words::new(
        Lifecycle::IdentityFailed,
        "Your identity could not be confirmed",
        "This checkout cannot go on. Nothing was charged.",
    ),
    Words::new(
        Lifecycle::QualificationFailed,
        "We cannot offer you this lease",
        "This checkout cannot go on. Nothing was charged.",
    ),
];

/// The heading of the page and what there is to say.
pub(super) fn heading(checkout: &Checkout) -> (&'static str, &'static str) {
    if asks_for_a_signature(checkout) && checkout.signed_at.is_some() {
        return (
            "Thank you for signing",
            "Your deposit is being charged, which usually takes a moment.",
        );
    }
    if asks_for_a_signature(checkout) && checkout.lease_document_id.is_none() {
        return ("Your lease is being prepared", A_MOMENT);
    }
    if checkout.needs(AttentionReason::QualificationRequired) {
        return (
            "Your application is being checked",
            "The decision is pending: somebody looks at your application. You can close this page and come back \
             to it at any time.",
        );
    }
    let state = checkout.lifecycle();
    WORDS
        .iter()
        .find(|words| words.state == state)
        .map_or(("Your checkout", ""), |words| (words.heading, words.text))
}

fn asks_for_a_signature(checkout: &Checkout) -> bool {
    checkout.lifecycle().next() == Some(EventKind::DocumentsSigned)
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

/// What the customer is told of money that did not come: the last payment that failed, or a hold of
/// the deposit that the bank did not renew.
pub(super) fn trouble(checkout: &Checkout) -> Option<String> {
    let failure = checkout.recurring.last_failure.as_ref();
    let why = failure.map_or("", |failure| failure.message.as_str());
    if checkout.lifecycle().is_ended() {
        return None;
    }
    if let Some(hold) = checkout.deposit.open_hold()
        && hold.renewals.refused > 0
    {
        let until = hold.expires_at.format("%Y-%m-%d %H:%M UTC");
        return Some(format!(
            "Your bank did not renew the reservation of your deposit. {why} It holds until {until}: sign \
             your lease before then. Otherwise you will be asked for the deposit anew, and can use \
             another card."
        ));
    }
    if can_pay(checkout) {
        let which = if checkout.recurring.paid_cycles == 0 {
            "Your first monthly payment failed, so that your lease cannot begin."
        } else {
            "Your last monthly payment failed."
        };
        return Some(format!("{which} {why}"));
    }
    failure.map(|_| format!("The last payment failed: {why}"))
}

/// Why credit was refused, in the words of the sample forms of 12 CFR 1002, appendix C.
pub(super) const fn reason(reason: AdverseReason) -> &'static str {
    match reason {
        AdverseReason::CreditApplicationIncomplete => "Credit application incomplete",
        AdverseReason::InsufficientCreditReferences => {
            "Insufficient number of credit references provided"
        }
        AdverseReason::UnacceptableCreditReferences => {
            "Unacceptable type of credit references provided"
        }
        AdverseReason::UnableToVerifyCreditReferences => "Unable to verify credit references",
        AdverseReason::TemporaryOrIrregularEmployment => "Temporary or irregular employment",
        AdverseReason::UnableToVerifyEmployment => "Unable to verify employment",
        AdverseReason::LengthOfEmployment => "Length of employment",
        AdverseReason::IncomeInsufficient => "Income insufficient for amount of credit requested",
        AdverseReason::ExcessiveObligations => "Excessive obligations in relation to income",
        AdverseReason::UnableToVerifyIncome => "Unable to verify income",
        AdverseReason::LengthOfResidence => "Length of residence",
        AdverseReason::TemporaryResidence => "Temporary residence",
        AdverseReason::UnableToVerifyResidence => "Unable to verify residence",
        AdverseReason::NoCreditFile => "No credit file",
        AdverseReason::LimitedCreditExperience => "Limited credit experience",
        AdverseReason::PoorPerformanceWithUs => "Poor credit performance with us",
        AdverseReason::DelinquentObligations => {
            "Delinquent past or present credit obligations with others"
        }
        AdverseReason::CollectionOrJudgment => "Collection action or judgment",
        AdverseReason::GarnishmentOrAttachment => "Garnishment or attachment",
        AdverseReason::ForeclosureOrRepossession => "Foreclosure or repossession",
        AdverseReason::Bankruptcy => "Bankruptcy",
        AdverseReason::RecentInquiries => "Number of recent inquiries on credit bureau report",
        AdverseReason::CollateralInsufficient => "Value or type of collateral not sufficient",
        AdverseReason::Other => "Other reasons",
    }
}

/// Whether the customer can call the checkout off.
pub(super) const fn can_cancel(state: Lifecycle) -> bool {
    matches!(transition(state, EventKind::Cancelled), Move::To(_))
}

/// Where the customer's browser goes from the end, by which way, with the words of the link.
pub(super) fn way_out(checkout: &Checkout) -> Option<(WayOut, String, &'static str)> {
    let way = checkout.way_out()?;
    let url = checkout.redirects.of(way)?.filled(checkout.id);
    let words = match way {
        WayOut::Success => "Continue to the shop",
        WayOut::Cancel | WayOut::Failure => "Back to the shop",
    };
    Some((way, url, words))
}

/// When the first month is charged.
pub(super) const fn first_payment(due: FirstPaymentDue) -> &'static str {
    match due {
        FirstPaymentDue::OnDelivery => "First month, charged when your goods arrive",
        FirstPaymentDue::OnShipment => "First month, charged when your goods are handed over",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_words() {
        let states: Vec<_> = WORDS.iter().map(|words| words.state).collect();
        assert_eq!(states, Lifecycle::ALL);
    }

    #[test]
    fn steps_never_go_back_along_the_way() {
        let steps: Vec<_> = Lifecycle::HAPPY_PATH
            .iter()
            .map(|state| state.step())
            .collect();
        assert!(steps.iter().all(Option::is_some));
        assert!(steps.is_sorted(), "{steps:?}");
        assert_eq!(steps.last(), Some(&u8::try_from(STEPS.len()).ok()));
    }
}
