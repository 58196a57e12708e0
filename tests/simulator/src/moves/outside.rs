//! Banks, and people at the processor's dashboard.

use lessor_processor_double::{Decline, Deed, Occasion};

use crate::life::Life;

pub(super) fn bank_decides(life: &mut Life) {
    let insufficient = Some(Decline::INSUFFICIENT_FUNDS);
    match life.weighted(&[35, 15, 20, 20, 10, 10]) {
        0 => cards(life, None, insufficient, "Cards are declined from now on."),
        1 => {
            let away = Some(Occasion::OffSession);
            cards(
                life,
                away,
                insufficient,
                "Cards are declined while their holder is away.",
            );
        }
        2 => cards(life, None, None, "Cards work from now on."),
        3 => {
            let payments = life.crew.double.objects("payment_intent");
            let paid = payments.iter().rev().find(|it| it["status"] == "succeeded");
            if let Some(id) = paid.and_then(|it| it["id"].as_str()) {
                life.say(|| format!("The holder of the card contests {id}."));
                drop(life.crew.double.dispute(id));
            }
        }
        4 => {
            let payments = life.crew.double.objects("payment_intent");
            let held = payments
                .iter()
                .find(|it| it["status"] == "requires_capture");
            if let Some(id) = held.and_then(|it| it["id"].as_str()) {
                life.say(|| format!("The bank lets the hold {id} go before its time."));
                drop(life.crew.double.lapse(id));
            }
        }
        _ => {
            let refunds = life.crew.double.objects("refund");
            let done = refunds.iter().rev().find(|it| it["status"] == "succeeded");
            if let Some(id) = done.and_then(|it| it["id"].as_str()) {
                life.say(|| format!("The bank sends the refund {id} back."));
                drop(life.crew.double.fail_refund(id, "lost_or_stolen_card"));
            }
        }
    }
}

fn cards(life: &Life, on: Option<Occasion>, decline: Option<Decline>, what: &str) {
    life.say(|| what.to_owned());
    for method in life.crew.double.objects("payment_method") {
        if let Some(id) = method["id"].as_str() {
            // One that is no card is declined by nobody.
            drop(match on {
                Some(occasion) => life.crew.double.decline_on(id, occasion, decline),
                None => life.crew.double.decline(id, decline),
            });
        }
    }
}

/// A person at the processor's own dashboard.
pub(super) fn dashboard(life: &mut Life) {
    let subscriptions = life.crew.double.objects("subscription");
    let running = subscriptions.iter().find(|it| it["status"] == "active");
    let Some(id) = running.and_then(|it| it["id"].as_str()) else {
        return;
    };
    let (deed, what) = match life.below(4) {
        0 => (Deed::Cancel, "ends"),
        1 => (Deed::RemoveEnd, "takes the end off"),
        2 => (Deed::SetPrice { unit_amount: 100 }, "changes the price of"),
        _ => {
            let behavior = "void".to_owned();
            let resumes_at = None;
            let deed = Deed::PauseCollection {
                behavior,
                resumes_at,
            };
            (deed, "pauses")
        }
    };
    life.say(|| format!("Somebody at the processor's dashboard {what} {id}."));
    // What cannot be done is not done.
    drop(life.crew.double.by_hand(id, &deed));
}
