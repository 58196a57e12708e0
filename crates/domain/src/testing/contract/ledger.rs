//! What was made at the payment processor.

use chrono::TimeDelta;

use super::shop::{Shop, must_be_missing};
use crate::access::Mode;
use crate::checkout::{Checkout, InvoiceOutcome, Refusal};
use crate::ledger::{
    Entry, HoldState, RefundState, SessionPurpose, SessionState, SubscriptionState, Thing,
};
use crate::money::{Currency, Money};
use crate::ports::{Database, IdGenerator};
use crate::time::Timestamp;

/// The ledger. What is held in all is a clause of [`doors`](super::doors()), for which nobody else keeps
/// holds meanwhile.
///
/// # Panics
/// With the clause that is broken.
pub async fn ledger(database: &dyn Database) {
    let _turn = super::QUEUES.lock().await;
    let shop = Shop::open(database).await;
    entries_are_kept_as_they_are(&shop).await;
    what_is_known_gives_place(&shop).await;
    entries_are_found(&shop).await;
}

/// Ids that nobody else has.
struct Ids(String);

impl Ids {
    fn new(shop: &Shop<'_>) -> Self {
        Self(shop.make.ids().next().simple().to_string())
    }

    fn of(&self, kind: &str) -> String {
        format!("{kind}_{}", self.0)
    }
}

fn entry(checkout: &Checkout, id: String, at: Timestamp, thing: Thing) -> Entry {
    Entry {
        id,
        checkout: checkout.id,
        amount: Money::from_minor(12_345, Currency::USD),
        at,
        thing,
    }
}

const fn hold(state: HoldState, ends_at: Timestamp) -> Thing {
    Thing::Hold { state, ends_at }
}

fn invoice(ids: &Ids, intent: Option<String>, outcome: InvoiceOutcome) -> Thing {
    Thing::Invoice {
        subscription_id: ids.of("sub"),
        payment_intent_id: intent,
        is_cycle: outcome != InvoiceOutcome::Void,
        outcome,
    }
}

fn refund(intent: String, state: RefundState, failure: Option<&str>) -> Thing {
    Thing::Refund {
        payment_intent_id: intent,
        state,
        failure: failure.map(str::to_owned),
    }
}

fn later(at: Timestamp, days: i64) -> Timestamp {
    at.checked_add_signed(TimeDelta::days(days)).unwrap_or(at)
}

async fn put(shop: &Shop<'_>, entry: &Entry) {
    shop.done("ledger.put: writes", async |uow| {
        uow.ledger().put(entry).await
    })
    .await;
}

async fn of(shop: &Shop<'_>, checkout: &Checkout) -> Vec<Entry> {
    shop.seen("ledger.of: reads", async |view| {
        view.ledger().of(checkout.id).await
    })
    .await
}

async fn find(shop: &Shop<'_>, mode: Mode, id: &str) -> Option<Entry> {
    shop.seen("ledger.find: reads", async |view| {
        view.ledger().find(mode, id).await
    })
    .await
}

async fn entries_are_kept_as_they_are(shop: &Shop<'_>) {
    let checkout = shop.any_checkout(|checkout| checkout).await;
    let ids = Ids::new(shop);
    let at = shop.make.tick();
    let mut things = Vec::new();
    for state in HoldState::ALL {
        things.push(hold(*state, later(at, 7)));
    }
    for (ends_at, state) in [None, Some(later(at, 365))]
        .into_iter()
        .cycle()
        .zip(SubscriptionState::ALL)
    {
        things.push(Thing::Subscription {
            state: *state,
            anchor: later(at, -30),
            payments: 120,
            ends_at,
        });
    }
    for outcome in [
        InvoiceOutcome::Open,
        InvoiceOutcome::Failed {
            attempts: 3,
            refusal: Refusal {
                code: "card_declined".to_owned(),
                message: "Your card was declined.".to_owned(),
            },
        },
        InvoiceOutcome::Void,
        InvoiceOutcome::Paid,
    ] {
        things.push(invoice(&ids, None, outcome.clone()));
        things.push(invoice(&ids, Some(ids.of("pi_of_in")), outcome));
    }
    for state in RefundState::ALL {
        for failure in [None, Some("lost_or_stolen_card")] {
            things.push(refund(ids.of("pi"), *state, failure));
        }
    }
    for (purpose, state) in SessionPurpose::ALL.iter().cycle().zip(SessionState::ALL) {
        let is_opened = *state != SessionState::Asked;
        things.push(Thing::Session {
            session_id: is_opened.then(|| ids.of("cs")),
            purpose: *purpose,
            state: *state,
            ends_at: later(at, 1),
        });
    }
    // Not in the order of their ids or times.
    let entries: Vec<Entry> = things
        .into_iter()
        .zip((0..1_000_i64).rev())
        .map(|(thing, place)| {
            let id = ids.of(&format!("made_{place:04}"));
            entry(&checkout, id, later(at, place % 7), thing)
        })
        .collect();
    for entry in &entries {
        put(shop, entry).await;
    }
    assert_eq!(
        of(shop, &checkout).await,
        entries,
        "ledger.of: whatever was made, as it was kept, in the order in which it was first kept"
    );
    let other = shop.any_checkout(|checkout| checkout).await;
    assert_eq!(
        of(shop, &other).await,
        [],
        "ledger.of: not another checkout's"
    );
    let stray = Entry {
        checkout: shop.make.id(),
        id: ids.of("stray"),
        ..entry(&checkout, String::new(), at, hold(HoldState::Held, at))
    };
    must_be_missing(
        shop.run(async |uow| uow.ledger().put(&stray).await).await,
        "ledger.put: of a checkout that is not there",
    );
}

async fn what_is_known_gives_place(shop: &Shop<'_>) {
    let checkout = shop.any_checkout(|checkout| checkout).await;
    let ids = Ids::new(shop);
    let at = shop.make.tick();
    let mut first = entry(
        &checkout,
        ids.of("in_b"),
        at,
        invoice(
            &ids,
            None,
            InvoiceOutcome::Failed {
                attempts: 1,
                refusal: Refusal {
                    code: "card_declined".to_owned(),
                    message: "Your card was declined.".to_owned(),
                },
            },
        ),
    );
    let second = entry(
        &checkout,
        ids.of("in_a"),
        at,
        invoice(&ids, None, InvoiceOutcome::Open),
    );
    put(shop, &first).await;
    put(shop, &second).await;
    first.amount = Money::from_minor(99, Currency::USD);
    first.at = later(at, 1);
    first.thing = invoice(&ids, Some(ids.of("pi")), InvoiceOutcome::Paid);
    put(shop, &first).await;
    assert_eq!(
        of(shop, &checkout).await,
        [first.clone(), second],
        "ledger.put: in the place of what was known of the same thing, whole"
    );
    assert_eq!(
        find(shop, Mode::Sandbox, &first.id).await,
        Some(first),
        "ledger.find: as it is known last"
    );
}

async fn entries_are_found(shop: &Shop<'_>) {
    let checkout = shop.any_checkout(|checkout| checkout).await;
    let live = shop.any_checkout_in(Mode::Live, |it| it).await;
    let ids = Ids::new(shop);
    let at = shop.make.tick();
    let make = |checkout: &Checkout, id: &str, thing| entry(checkout, ids.of(id), at, thing);
    let held = make(&checkout, "pi_deposit", hold(HoldState::Captured, at));
    let paid = make(
        &checkout,
        "in",
        invoice(&ids, Some(ids.of("pi_month")), InvoiceOutcome::Paid),
    );
    let back = make(
        &checkout,
        "re",
        refund(ids.of("pi_month"), RefundState::Pending, None),
    );
    let twin = make(&live, "pi_deposit", hold(HoldState::Released, at));
    // The refund first: it names the payment too, and does not bring it.
    for entry in [&back, &held, &paid, &twin] {
        put(shop, entry).await;
    }
    assert_eq!(
        [
            find(shop, Mode::Sandbox, &held.id).await,
            find(shop, Mode::Live, &held.id).await,
            find(shop, Mode::Live, &paid.id).await,
            find(shop, Mode::Sandbox, &ids.of("pi_month")).await,
        ],
        [Some(held.clone()), Some(twin), None, None],
        "ledger.find: by id within a mode"
    );
    let payment = async |mode, intent: &str| {
        shop.seen("ledger.find_payment: reads", async |view| {
            view.ledger().find_payment(mode, intent).await
        })
        .await
    };
    assert_eq!(
        [
            payment(Mode::Sandbox, &held.id).await,
            payment(Mode::Sandbox, &ids.of("pi_month")).await,
            payment(Mode::Live, &ids.of("pi_month")).await,
            payment(Mode::Sandbox, &paid.id).await,
            payment(Mode::Sandbox, &back.id).await,
        ],
        [Some(held), Some(paid.clone()), None, None, None],
        "ledger.find_payment: the hold of the id, or the invoice that it pays, within a mode"
    );
    assert_eq!(
        of(shop, &live).await.len(),
        1,
        "ledger.put: with the mode of the checkout"
    );
}
