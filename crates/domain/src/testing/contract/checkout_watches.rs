//! What time alone shows of checkouts.

use chrono::TimeDelta;

use super::checkout_queues::ours;
use super::full;
use super::shop::Shop;
use crate::access::Mode;
use crate::checkout::{Attention, AttentionReason, Billing, Checkout, Lifecycle, Standing};
use crate::ports::{Database, IdGenerator};
use crate::testing::CheckoutBuilder;
use crate::time::Timestamp;

/// More than any suite makes.
const MANY: u32 = 10_000;

pub(super) async fn all(database: &dyn Database) {
    let shop = Shop::open(database).await;
    subscriptions_that_do_not_come_are_found(&shop).await;
    silent_shipments_are_found(&shop).await;
    ended_leases_are_found(&shop).await;
}

fn days_before(at: Timestamp, days: i64) -> Timestamp {
    at.checked_sub_signed(TimeDelta::days(days)).unwrap_or(at)
}

/// Somebody was told to look for the reasons.
pub(super) fn watched(builder: CheckoutBuilder, reasons: &[AttentionReason]) -> CheckoutBuilder {
    builder.with(|it| {
        let attention = |reason: &AttentionReason| Attention {
            reason: *reason,
            since: it.created_at,
            detail: Some(reason.to_string()),
        };
        it.attention = reasons.iter().map(attention).collect();
    })
}

fn requested(builder: CheckoutBuilder, at: Timestamp) -> CheckoutBuilder {
    builder.with(|it| it.recurring.billing = Billing::Requested { at })
}

async fn subscriptions_that_do_not_come_are_found(shop: &Shop<'_>) {
    let start = shop.make.tick();
    let ago = |days| days_before(start, days);
    let billing = |builder: CheckoutBuilder, billing: Billing| {
        builder.with(|it| it.recurring.billing = billing)
    };
    let late = shop
        .any_checkout(|it| requested(it.at(Lifecycle::Shipped), ago(3)))
        .await;
    let later = shop
        .any_checkout(|it| requested(it.at(Lifecycle::LeaseActive), ago(5)))
        .await;
    let elsewhere = shop
        .any_checkout_in(Mode::Live, |it| {
            let it = requested(it.at(Lifecycle::Shipped), ago(4));
            watched(it, &[AttentionReason::Difference])
        })
        .await;
    let mut made = vec![
        shop.any_checkout(|it| requested(it.at(Lifecycle::Shipped), ago(2)))
            .await,
        shop.any_checkout(|it| requested(it.at(Lifecycle::Cancelled), ago(9)))
            .await,
        shop.any_checkout(|it| {
            let it = requested(it.at(Lifecycle::Shipped), ago(9));
            watched(
                it,
                &[AttentionReason::NotBilled, AttentionReason::Difference],
            )
        })
        .await,
    ];
    let (requested_at, subscription_id) = (ago(9), format!("sub_{}", shop.make.ids().next()));
    for there in [
        Billing::Incomplete {
            requested_at,
            subscription_id: subscription_id.clone(),
        },
        Billing::Active {
            requested_at,
            subscription_id: format!("{subscription_id}_2"),
            standing: Standing::Unpaid,
        },
        Billing::Ended {
            requested_at,
            subscription_id: format!("{subscription_id}_3"),
        },
    ] {
        let checkout = shop
            .any_checkout(|it| billing(it.at(Lifecycle::LeaseActive), there))
            .await;
        made.push(checkout);
    }
    let refs: Vec<&Checkout> = made.iter().chain([&late, &later, &elsewhere]).collect();
    let found = shop
        .seen("checkouts.unbilled_since: reads", async |view| {
            view.checkouts().unbilled_since(ago(2), MANY).await
        })
        .await;
    assert_eq!(
        ours(&found, &refs),
        [later.id, elsewhere.id, late.id],
        "checkouts.unbilled_since: running, asked for before the time, not there, and nobody was told, longest ago first"
    );
    let one = shop
        .seen("checkouts.unbilled_since: reads", async |view| {
            view.checkouts().unbilled_since(ago(2), 1).await
        })
        .await;
    assert_eq!(
        one.len(),
        1,
        "checkouts.unbilled_since: so many at the most"
    );
}

async fn silent_shipments_are_found(shop: &Shop<'_>) {
    let start = shop.make.tick();
    let ago = |days| days_before(start, days);
    let ship = async |lifecycle, days: i64, reasons: &[AttentionReason]| {
        let number = shop.make.ids().next().simple().to_string();
        shop.any_checkout(|it| {
            let it = it.at(lifecycle).with(|it| {
                it.shipment.shipped_at = Some(ago(30));
                it.shipment.heard_at = Some(ago(days));
                it.shipment.tracking = Some(full::tracking(&number));
            });
            watched(it, reasons)
        })
        .await
    };
    let silent = ship(Lifecycle::Shipped, 6, &[]).await;
    let longer = ship(Lifecycle::Shipped, 8, &[AttentionReason::NotBilled]).await;
    let mut made = vec![
        ship(Lifecycle::Shipped, 5, &[]).await,
        ship(Lifecycle::FulfillmentException, 9, &[]).await,
        ship(Lifecycle::LeaseActive, 9, &[]).await,
        ship(Lifecycle::Shipped, 9, &[AttentionReason::DeliveryOverdue]).await,
    ];
    for (is_tracked, is_delivered, is_heard) in [
        (false, false, true),
        (true, true, true),
        (true, false, false),
    ] {
        let number = shop.make.ids().next().simple().to_string();
        let checkout = shop
            .any_checkout(|it| {
                it.at(Lifecycle::Shipped).with(|it| {
                    it.shipment.heard_at = is_heard.then(|| ago(9));
                    it.shipment.delivered_at = is_delivered.then(|| ago(9));
                    it.shipment.tracking = is_tracked.then(|| full::tracking(&number));
                })
            })
            .await;
        made.push(checkout);
    }
    let refs: Vec<&Checkout> = made.iter().chain([&silent, &longer]).collect();
    let found = shop
        .seen("checkouts.silent_since: reads", async |view| {
            view.checkouts().silent_since(ago(5), MANY).await
        })
        .await;
    assert_eq!(
        ours(&found, &refs),
        [longer.id, silent.id],
        "checkouts.silent_since: shipped and tracked, not delivered, not heard of since the time, and nobody was told, longest ago first"
    );
    let one = shop
        .seen("checkouts.silent_since: reads", async |view| {
            view.checkouts().silent_since(ago(5), 1).await
        })
        .await;
    assert_eq!(one.len(), 1, "checkouts.silent_since: so many at the most");
}

async fn ended_leases_are_found(shop: &Shop<'_>) {
    let today = shop.make.tick().date_naive();
    let day = |days| {
        today
            .checked_add_signed(TimeDelta::days(days))
            .unwrap_or(today)
    };
    let months = 24;
    let term = shop.make.lease_term(&shop.organization).months(months);
    let term = shop.term(term).await;
    let months = u32::from(months);
    let mut made = Vec::new();
    for (lifecycle, end, paid) in [
        (Lifecycle::LeaseActive, Some(-1), months),
        (Lifecycle::LeaseActive, Some(-9), months.saturating_add(1)),
        (Lifecycle::LeaseActive, Some(0), months),
        (Lifecycle::LeaseActive, None, months),
        (Lifecycle::ReturnPending, Some(-9), months),
        // They still owe a month, or all of them.
        (Lifecycle::LeaseActive, Some(-9), months.saturating_sub(1)),
        (Lifecycle::LeaseActive, Some(-9), 0),
    ] {
        let checkout = shop
            .any_checkout(|checkout| {
                checkout.term(&term).at(lifecycle).with(|it| {
                    it.lease.start = Some(day(-730));
                    it.lease.end = end.map(day);
                    it.recurring.paid_cycles = paid;
                })
            })
            .await;
        made.push(checkout);
    }
    let [yesterday, earlier, ..] = made.as_slice() else {
        panic!("the suite made seven checkouts");
    };
    let refs: Vec<_> = made.iter().collect();
    let found = shop
        .seen("checkouts.leases_ended_before: reads", async |view| {
            view.checkouts().leases_ended_before(today, MANY).await
        })
        .await;
    assert_eq!(
        ours(&found, &refs),
        [earlier.id, yesterday.id],
        "checkouts.leases_ended_before: active leases whose last day is before the day and whose months are all paid, earliest first"
    );
}
