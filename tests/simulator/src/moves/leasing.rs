//! Customers and operators: whoever has the next step of a lease, or gets in its way.

use lessor_domain::catalog::ProductStatus;
use lessor_domain::checkout::Lifecycle;
use lessor_domain::ids::CheckoutPubId;

use super::days_go_by;
use crate::actors::{Offer, Order};
use crate::executor::Process;
use crate::life::{Life, Person};

/// The cards that customers pay with, the good one first.
const CARDS: [(&str, &str, u32); 6] = [
    ("pm_card_visa", "a good card", 62),
    ("pm_card_chargeDeclined", "a card that is declined", 8),
    (
        "pm_card_chargeCustomerFail",
        "a card that is declined when it is charged",
        8,
    ),
    (
        "pm_card_authenticationRequired",
        "a card that wants 3-D Secure",
        8,
    ),
    (
        "pm_card_createDispute",
        "a card whose holder contests what it pays",
        8,
    ),
    ("pm_card_mastercard", "another good card", 6),
];

fn somebody(life: &Life) -> Option<Person> {
    let count = u32::try_from(life.people.len()).unwrap_or(1);
    let at = usize::try_from(life.below(count)).unwrap_or(0);
    life.people.get(at).cloned()
}

/// Whoever has the next step takes it.
pub(super) fn lease_goes_on(life: &mut Life) {
    let Some(Person { name, checkout, .. }) = somebody(life) else {
        return;
    };
    let Some(state) = life.state(checkout) else {
        return;
    };
    if !operator_goes_on(life, name, checkout, state) {
        customer_goes_on(life, name, checkout, state);
    }
}

fn customer_goes_on(
    life: &mut Life,
    name: &'static str,
    checkout: CheckoutPubId,
    state: Lifecycle,
) {
    let mut card = None;
    let what = match state {
        Lifecycle::ProfilePending => "completes the profile".to_owned(),
        Lifecycle::IdentityRequired => "asks to be verified".to_owned(),
        Lifecycle::IdentityVerifying => {
            verified(life);
            "hands in what the verifier asked for, and is verified".to_owned()
        }
        Lifecycle::ShippingAddressPending => "says where to ship".to_owned(),
        Lifecycle::LeaseReviewPending => "accepts the lease".to_owned(),
        Lifecycle::DepositPending | Lifecycle::DepositFailed => {
            let weights = CARDS.map(|(_, _, weight)| weight);
            let at = life.weighted(&weights);
            let (id, words, _) = CARDS[at];
            card = Some(id);
            format!("pays the deposit with {words}")
        }
        Lifecycle::RecurringPaymentMethodPending => "names the card of the payments".to_owned(),
        Lifecycle::DocumentsPending => "signs".to_owned(),
        Lifecycle::CaptureFailed => "has the deposit taken again".to_owned(),
        other if other.is_ended() => return,
        other => format!("looks at the page ({other})"),
    };
    life.say(|| format!("{name} {what}."));
    acts(life, checkout);
    let step = life.crew.clone().go_on(name.to_owned(), checkout, card);
    life.executor
        .spawn(Process::Server, format!("{name}'s request"), step);
}

fn acts(life: &mut Life, checkout: CheckoutPubId) {
    let now = life.crew.now();
    for person in &mut life.people {
        if person.checkout == checkout {
            person.acted = now;
        }
    }
}

/// All sessions that wait for their customer are verified.
pub(crate) fn verified(life: &Life) {
    for session in life.crew.double.objects("identity.verification_session") {
        if let (Some(id), Some("requires_input")) =
            (session["id"].as_str(), session["status"].as_str())
        {
            // The double knows what it has just shown.
            drop(life.crew.double.decide_identity(id, "verified", None));
        }
    }
}

pub(super) fn customer_turns_back(life: &mut Life) {
    let Some(Person { name, checkout, .. }) = somebody(life) else {
        return;
    };
    let cancel = life.below(2) == 1;
    let what = if cancel {
        "calls the checkout off"
    } else {
        "goes a step back"
    };
    life.say(|| format!("{name} {what}."));
    acts(life, checkout);
    let step = life
        .crew
        .clone()
        .turn_back(name.to_owned(), checkout, cancel);
    life.executor
        .spawn(Process::Server, format!("{name}'s request"), step);
}

/// False when the next step is not theirs.
fn operator_goes_on(
    life: &mut Life,
    name: &str,
    checkout: CheckoutPubId,
    state: Lifecycle,
) -> bool {
    let (order, what) = match state {
        Lifecycle::OrderConfirmed => match life.below(2) {
            0 => (
                Order::Fulfill { tracked: false },
                "ships the goods, without tracking",
            ),
            _ => (
                Order::Fulfill { tracked: true },
                "ships the goods, with tracking",
            ),
        },
        Lifecycle::Shipped => match life.below(2) {
            0 => (
                Order::Move(Lifecycle::LeaseActive),
                "confirms the delivery by hand",
            ),
            _ => (Order::Delivered, "hears of the delivery from the carrier"),
        },
        Lifecycle::FulfillmentException => match life.below(2) {
            0 => (Order::Move(Lifecycle::OrderConfirmed), "resumes the order"),
            _ => (Order::Move(Lifecycle::Shipped), "resumes the shipment"),
        },
        Lifecycle::LeaseActive => match life.weighted(&[60, 40]) {
            0 => {
                days_go_by(life);
                return true;
            }
            _ => (
                Order::Move(Lifecycle::ReturnPending),
                "expects the goods back",
            ),
        },
        Lifecycle::ReturnPending => (Order::Move(Lifecycle::Returned), "has the goods back"),
        _ => return false,
    };
    operate(life, name, checkout, order, what);
    true
}

pub(super) fn operator_intervenes(life: &mut Life) {
    let Some(Person { name, checkout, .. }) = somebody(life) else {
        return;
    };
    match life.weighted(&[30, 30, 20, 10, 10]) {
        0 => operate(
            life,
            name,
            checkout,
            Order::Move(Lifecycle::FulfillmentException),
            "marks an exception",
        ),
        1 => operate(life, name, checkout, Order::Cancel, "cancels"),
        2 => offer(
            life,
            Offer::Status(ProductStatus::Archived),
            "The variant is archived.",
        ),
        3 => offer(
            life,
            Offer::Status(ProductStatus::Active),
            "The variant is offered.",
        ),
        _ if !life.executor.open().is_empty() => {}
        _ => {
            if let Some(free) = life.free() {
                life.worry(false);
                offer(life, Offer::Stock(free + 1), "One more unit comes in.");
                life.until_idle();
                life.worry(true);
                // What is archived takes none.
                let more = life.free().unwrap_or(free).saturating_sub(free);
                life.stock = life.stock.map(|all| all + more);
            }
        }
    }
}

fn operate(life: &mut Life, name: &str, checkout: CheckoutPubId, order: Order, what: &str) {
    life.say(|| format!("The operator {what} ({name})."));
    let step = life.crew.clone().operate(checkout, order);
    life.executor
        .spawn(Process::Server, "the operator's request".to_owned(), step);
}

fn offer(life: &mut Life, offer: Offer, what: &str) {
    life.say(|| what.to_owned());
    let variant = life.crew.variants[life.wish.variant];
    let step = life.crew.clone().offer(variant, offer);
    life.executor
        .spawn(Process::Server, "the operator's request".to_owned(), step);
}

pub(super) fn another_customer(life: &mut Life) {
    if life.people.len() < 3 && life.executor.open().is_empty() {
        life.arrive();
    }
}
