//! How much there is, over all.

use std::collections::BTreeMap;

use super::{LEASE, Street, complete, days_after, entry, job, push, put, take};
use crate::access::Mode;
use crate::checkout::AttentionReason;
use crate::ledger::{HoldState, RefundState, Thing};
use crate::mail::Posted;
use crate::ports::{Backlog, Held, IdGenerator as _, JobSubject, MailBacklog};
use crate::testing::altered;
use crate::testing::contract::checkout_watches::watched;
use crate::testing::contract::mails;
use crate::time::Timestamp;

pub(super) async fn reasons_to_look_are_counted(street: &Street<'_>) {
    let count = async || {
        street
            .ask("doors.attention: answers", async |doors| {
                doors.attention().await
            })
            .await
    };
    let before = count().await;
    let mut expected: BTreeMap<AttentionReason, u64> = before.iter().copied().collect();
    let Street { shop, neighbour } = street;
    let mut made = Vec::new();
    for (shop, reasons, mode) in [
        (shop, AttentionReason::ALL, Mode::Sandbox),
        (neighbour, &[AttentionReason::Disputed][..], Mode::Live),
        (
            shop,
            &[AttentionReason::Disputed, AttentionReason::Difference],
            Mode::Sandbox,
        ),
        (neighbour, &[], Mode::Sandbox),
    ] {
        let checkout = shop.any_checkout_in(mode, |it| watched(it, reasons)).await;
        made.push((shop, checkout));
        for reason in reasons {
            let count = expected.entry(*reason).or_default();
            *count = count.saturating_add(1);
        }
    }
    assert_eq!(
        count().await,
        expected.into_iter().collect::<Vec<_>>(),
        "doors.attention: how many, by reason in their order, everybody's in both modes"
    );
    for (shop, checkout) in made {
        let mut seen_to = altered(&checkout, |it| it.attention.clear());
        shop.done("checkouts.update: writes", async |uow| {
            uow.checkouts().update(&mut seen_to).await
        })
        .await;
    }
    assert_eq!(
        count().await,
        before,
        "doors.attention: not those that nobody must look at any more"
    );
}

pub(super) async fn states_are_counted(street: &Street<'_>) {
    let count = async || {
        street
            .ask("doors.states: answers", async |doors| doors.states().await)
            .await
    };
    let mut expected = count().await;
    let Street { shop, neighbour } = street;
    for (shop, mode) in [
        (shop, Mode::Sandbox),
        (neighbour, Mode::Sandbox),
        (neighbour, Mode::Live),
    ] {
        let checkout = shop.any_checkout_in(mode, |it| it).await;
        let count = expected.entry((mode, checkout.lifecycle())).or_default();
        *count = count.saturating_add(1);
    }
    assert_eq!(
        count().await,
        expected,
        "doors.states: how many, by mode and state, everybody's"
    );
}

pub(super) async fn jobs_are_counted(street: &Street<'_>) {
    let count = async || {
        street
            .ask("doors.backlog: answers", async |doors| {
                doors.backlog().await
            })
            .await
    };
    let before = count().await;
    let mut due: Vec<Timestamp> = before.first_due.into_iter().collect();
    let mut made = Vec::new();
    for shop in street.shops() {
        let subjects: [JobSubject; 5] = [(); 5].map(|()| JobSubject::Product(shop.make.id()));
        let [waiting, doubtful, hopeless, held, done] = subjects;
        let mut jobs = subjects.map(|subject| job(shop, subject));
        for job in &mut jobs {
            job.is_held = job.subject == held;
        }
        push(shop, &jobs).await;
        let (doubtful, hopeless) = (take(shop, doubtful).await, take(shop, hopeless).await);
        let at = shop.make.tick();
        let waits = jobs.iter().filter(|job| job.subject == waiting);
        due.extend(waits.map(|job| job.available_at));
        due.push(at);
        complete(shop, &take(shop, done).await, at).await;
        shop.done("jobs.retry, jobs.bury: write", async |uow| {
            uow.jobs().retry(&doubtful, at, "timed out").await?;
            uow.jobs().bury(&hopeless, "no").await
        })
        .await;
        made.push((shop, waiting, doubtful, hopeless));
    }
    assert_eq!(
        count().await,
        Backlog {
            pending: before.pending.saturating_add(4),
            in_doubt: before.in_doubt.saturating_add(2),
            dead: before.dead.saturating_add(2),
            first_due: due.into_iter().min(),
        },
        "doors.backlog: everybody's that is to be done, was tried of those, and was given up, and since when"
    );
    for (shop, waiting, doubtful, hopeless) in made {
        let at = shop.make.tick();
        complete(shop, &take(shop, waiting).await, at).await;
        complete(shop, &take(shop, doubtful.new.subject).await, at).await;
        shop.done("jobs.skip: writes", async |uow| {
            uow.jobs().skip(hopeless.new.id, "no", at).await
        })
        .await;
    }
    assert_eq!(
        count().await,
        before,
        "doors.backlog: not what is done, skipped or held"
    );
}

pub(super) async fn what_is_held_is_counted(street: &Street<'_>) {
    let count = async || {
        street
            .ask("doors.held: answers", async |doors| doors.held().await)
            .await
    };
    let Street { shop, neighbour } = street;
    let before = count().await;
    let unique = shop.make.ids().next().simple().to_string();
    let of = |kind: &str| format!("{kind}_{unique}");
    // Before any that another suite keeps.
    let oldest = before.oldest.unwrap_or_else(|| shop.make.tick());
    let at = |days: i64| days_after(oldest, days.saturating_neg());
    let hold = |state| Thing::Hold {
        state,
        ends_at: oldest,
    };
    let sandbox = shop.any_checkout(|checkout| checkout).await;
    let live = neighbour.any_checkout_in(Mode::Live, |it| it).await;
    let mut first = entry(&live, &of("pi_1"), at(3), hold(HoldState::Held));
    let mut second = entry(&sandbox, &of("pi_2"), at(2), hold(HoldState::Held));
    put(neighbour, &first).await;
    for entry in [
        &second,
        &entry(&sandbox, &of("pi_3"), at(9), hold(HoldState::Released)),
        &entry(&sandbox, &of("pi_4"), at(9), hold(HoldState::Captured)),
        &entry(
            &sandbox,
            &of("re_1"),
            at(9),
            Thing::Refund {
                payment_intent_id: of("pi_4"),
                state: RefundState::Pending,
                failure: None,
            },
        ),
    ] {
        put(shop, entry).await;
    }
    let held = |more: u64, oldest| Held {
        count: before.count.saturating_add(more),
        oldest: Some(oldest),
    };
    assert_eq!(
        count().await,
        held(2, first.at),
        "doors.held: what is held, everybody's in both modes, and since when the oldest"
    );
    first.thing = hold(HoldState::Released);
    put(neighbour, &first).await;
    assert_eq!(
        count().await,
        held(1, second.at),
        "doors.held: not what was let go of"
    );
    second.thing = hold(HoldState::Released);
    put(shop, &second).await;
    assert_eq!(
        count().await,
        before,
        "doors.held: none when all is let go of"
    );
}

pub(super) async fn mails_are_counted(street: &Street<'_>) {
    let count = async || {
        street
            .ask("doors.mail_backlog: answers", async |doors| {
                doors.mail_backlog().await
            })
            .await
    };
    let before = count().await;
    let ends = [
        Posted::Accepted,
        Posted::Later("busy".to_owned()),
        Posted::Refused("no".to_owned()),
    ];
    for shop in street.shops() {
        let new = [(); 4].map(|()| mails::mail(shop, shop.make.id(), |_| {}));
        shop.done("mails.queue: keeps mails", async |uow| {
            uow.mails().queue(&new).await
        })
        .await;
        let at = shop.make.tick();
        let taken = shop
            .done("mails.claim: takes", async |uow| {
                uow.mails().claim(at, LEASE, 3).await
            })
            .await;
        for (mut mail, posted) in taken.into_iter().zip(&ends) {
            mail.tried(posted, at);
            shop.done("mails.settle: answers", async |uow| {
                uow.mails().settle(&mail, None).await
            })
            .await;
        }
    }
    assert_eq!(
        count().await,
        MailBacklog {
            pending: before.pending.saturating_add(4),
            dead: before.dead.saturating_add(2),
        },
        "doors.mail_backlog: everybody's that are to be sent, and that were given up, and no others"
    );
}
