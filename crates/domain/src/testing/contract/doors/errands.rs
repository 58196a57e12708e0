//! Who has work of a kind.

use chrono::TimeDelta;

use super::{LEASE, Street, after, complete, days_after, end, job, push, shipped, take};
use crate::access::Mode;
use crate::checkout::{Billing, Deposit, Hold, Lifecycle};
use crate::ids::CheckoutPubId;
use crate::mail::Posted;
use crate::ports::{Errand, IdGenerator as _, IdempotencyKey, JobSubject, NewJob, StoredAnswer};
use crate::testing::contract::deliveries::{self, CLAIM};
use crate::testing::contract::processor_accounts::processor_account;
use crate::testing::contract::shop::{Shop, must};
use crate::testing::contract::{events, mails, webhook_endpoints};
use crate::testing::{CheckoutBuilder, altered};
use crate::webhooks::EndpointHealth;

/// Whether the organization's own stores find such work. Nothing is kept of what they do for it.
pub(super) async fn finds(shop: &Shop<'_>, errand: Errand) -> bool {
    let mut uow = shop.begin().await;
    let checkouts = |found: Vec<CheckoutPubId>| !found.is_empty();
    let found = match errand {
        Errand::Jobs { due } => {
            let claimed = uow.jobs().claim(due, LEASE, 1).await;
            claimed.map(|claimed| !claimed.is_empty())
        }
        Errand::Expiry { before } => {
            let found = uow.checkouts().untouched_since(before, 1).await;
            found.map(checkouts)
        }
        Errand::Lapse { before } => {
            let found = uow.checkouts().lapsing_before(before, None, 1).await;
            found.map(checkouts)
        }
        Errand::LeaseEnd { before } => {
            let found = uow.checkouts().leases_ended_before(before, 1).await;
            found.map(checkouts)
        }
        Errand::Billing { before } => {
            let found = uow.checkouts().unbilled_since(before, 1).await;
            found.map(checkouts)
        }
        Errand::Silence { before } => {
            let found = uow.checkouts().silent_since(before, 1).await;
            found.map(checkouts)
        }
        Errand::Shipments => uow.checkouts().under_way(1).await.map(checkouts),
        Errand::Billed { mode } => {
            let found = uow.checkouts().billed(mode, None, 1).await;
            found.map(checkouts)
        }
        Errand::OwnAccount { mode } => {
            let owner = shop.organization.id;
            let found = uow.processor_accounts().get(owner, mode).await;
            found.map(|found| found.is_some())
        }
        Errand::OldAnswers { before } => {
            let purged = uow.idempotency().purge(before).await;
            purged.map(|count| count > 0)
        }
        Errand::OldJobs { before } => {
            let purged = uow.jobs().purge_done(before).await;
            purged.map(|count| count > 0)
        }
        Errand::UnnumberedEvents => uow.events().are_waiting(shop.sandbox()).await,
        Errand::OldEvents { before } => {
            let purged = uow.events().purge(before, 1).await;
            purged.map(|count| count > 0)
        }
        Errand::Deliveries { due } => {
            let claimed = uow.deliveries().claim(due, CLAIM).await;
            claimed.map(|claimed| !claimed.is_empty())
        }
        Errand::OldDeliveries { before } => {
            let purged = uow.deliveries().purge(before, 1).await;
            purged.map(|count| count > 0)
        }
        Errand::Mails { due } => {
            let claimed = uow.mails().claim(due, LEASE, 1).await;
            claimed.map(|claimed| !claimed.is_empty())
        }
        Errand::OldMails { before } => {
            let purged = uow.mails().purge(before, 1).await;
            purged.map(|count| count > 0)
        }
        Errand::Endings { mode, from, before } => {
            let found = uow.mails().ending(mode, from, before, 1).await;
            found.map(checkouts)
        }
    };
    let found = must(found, "doors.owners_with: the stores look for the work");
    must(uow.roll_back().await, "roll_back: ends a unit of work");
    found
}

pub(super) async fn due_jobs_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let subject = JobSubject::Product(shop.make.id());
    let now = shop.make.tick();
    let due = days_after(now, 1);
    let has = async |due| street.has(Errand::Jobs { due }).await;
    let clause = "doors.owners_with: who has jobs that are due by the time";
    assert!(!has(due).await, "{clause}");
    let mut first = job(shop, subject);
    first.available_at = due;
    push(shop, &[first, job(shop, subject)]).await;
    assert_eq!(
        [has(now).await, has(due).await],
        [false, true],
        "{clause}, each the first of its subject"
    );
    let taken = take(shop, subject).await;
    assert!(!has(due).await, "{clause}, and that nobody is at");
    shop.done("jobs.bury: writes", async |uow| {
        uow.jobs().bury(&taken, "no").await
    })
    .await;
    assert!(
        !has(due).await,
        "{clause}, not behind one that was given up"
    );
    shop.done("jobs.skip: writes", async |uow| {
        uow.jobs().skip(taken.new.id, "no", now).await
    })
    .await;
    assert!(has(due).await, "{clause}, behind one that is skipped");
    let taken = take(shop, subject).await;
    complete(shop, &taken, now).await;
    let mut held = job(shop, subject);
    held.is_held = true;
    push(shop, &[held]).await;
    assert!(!has(due).await, "{clause}, not what is done or held");
}

/// However many are due, whoever has some is found, and nobody else.
pub(super) async fn many_due_jobs_are_errands(street: &Street<'_>) {
    const MANY: u32 = 300;
    let (shop, neighbour) = (&street.shop, &street.neighbour);
    let subject = JobSubject::Product(neighbour.make.id());
    push(neighbour, &[job(neighbour, subject)]).await;
    let theirs = take(neighbour, subject).await;
    let jobs = (0..MANY).map(|_| job(shop, JobSubject::Product(shop.make.id())));
    let jobs: Vec<NewJob> = jobs.collect();
    push(shop, &jobs).await;
    let now = shop.make.tick();
    let has = async || street.has(Errand::Jobs { due: now }).await;
    let clause = "doors.owners_with: who has jobs that are due, be they ever so many";
    assert!(has().await, "{clause}");
    for (left, is_found) in [(MANY - 1, true), (1, false)] {
        let taken = shop
            .done("jobs.claim: claims", async |uow| {
                uow.jobs().claim(now, LEASE, left).await
            })
            .await;
        assert_eq!(
            Some(taken.len()),
            usize::try_from(left).ok(),
            "jobs.claim: as many as are asked for"
        );
        assert_eq!(has().await, is_found, "{clause}, and that nobody is at");
        for taken in taken {
            complete(shop, &taken, now).await;
        }
    }
    complete(neighbour, &theirs, now).await;
}

pub(super) async fn untouched_checkouts_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let at = shop.make.tick();
    let has = async |before| street.has(Errand::Expiry { before }).await;
    let clause =
        "doors.owners_with: whose checkouts that expire were left alone since before the time";
    assert!(!has(after(at)).await, "{clause}");
    let checkout = shop
        .any_checkout(|builder| builder.with(|it| it.acted_at = at))
        .await;
    assert_eq!(
        [has(at).await, has(after(at)).await],
        [false, true],
        "{clause}"
    );
    end(shop, &checkout).await;
    assert!(!has(after(at)).await, "{clause}, and did not end");
    shop.any_checkout(|builder| {
        builder.at(Lifecycle::DocumentsPending).with(|it| {
            it.acted_at = at;
            it.signed_at = Some(at);
        })
    })
    .await;
    assert!(!has(after(at)).await, "{clause}, and are not signed");
}

pub(super) async fn lapsing_deposits_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let at = days_after(shop.make.tick(), 3);
    let has = async |before| street.has(Errand::Lapse { before }).await;
    let clause =
        "doors.owners_with: whose running checkouts have deposits that lapse before the time";
    assert!(!has(after(at)).await, "{clause}");
    let checkout = shop
        .any_checkout(|builder| {
            builder.at(Lifecycle::DocumentsPending).with(|it| {
                it.deposit = Deposit::Authorized {
                    hold: Hold::new(format!("pi_{}", it.id), at),
                };
            })
        })
        .await;
    assert_eq!(
        [has(at).await, has(after(at)).await],
        [false, true],
        "{clause}"
    );
    end(shop, &checkout).await;
    assert!(!has(after(at)).await, "{clause}");
}

pub(super) async fn ended_leases_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let today = shop.make.tick().date_naive();
    let day = |days| {
        today
            .checked_add_signed(TimeDelta::days(days))
            .unwrap_or(today)
    };
    let months = 24;
    let term = shop.make.lease_term(&shop.organization).months(months);
    let term = shop.term(term).await;
    let lease = async |paid: u32| {
        shop.any_checkout(|builder| {
            builder.term(&term).at(Lifecycle::LeaseActive).with(|it| {
                it.lease.start = Some(day(-730));
                it.lease.end = Some(today);
                it.recurring.paid_cycles = paid;
            })
        })
        .await
    };
    let has = async |before| street.has(Errand::LeaseEnd { before }).await;
    let clause = "doors.owners_with: whose active leases have a last day before the day";
    assert!(!has(day(1)).await, "{clause}");
    lease(1).await;
    assert!(!has(day(1)).await, "{clause} and are paid");
    let checkout = lease(u32::from(months)).await;
    assert_eq!(
        [has(today).await, has(day(1)).await],
        [false, true],
        "{clause}"
    );
    end(shop, &checkout).await;
    assert!(!has(day(1)).await, "{clause}");
}

pub(super) async fn missing_subscriptions_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let at = shop.make.tick();
    let has = async |before| street.has(Errand::Billing { before }).await;
    let clause =
        "doors.owners_with: whose subscriptions were asked for before the time and are not there";
    assert!(!has(after(at)).await, "{clause}");
    let requested = |builder: CheckoutBuilder| {
        builder
            .at(Lifecycle::Shipped)
            .with(|it| it.recurring.billing = Billing::Requested { at })
    };
    let checkout = shop.any_checkout(requested).await;
    assert_eq!(
        [has(at).await, has(after(at)).await],
        [false, true],
        "{clause}"
    );
    end(shop, &checkout).await;
    assert!(!has(after(at)).await, "{clause}");
}

pub(super) async fn silent_shipments_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let at = shop.make.tick();
    let number = shop.make.ids().next().simple().to_string();
    let has = async |before| street.has(Errand::Silence { before }).await;
    let clause = "doors.owners_with: of whose shipments the carrier said nothing since the time";
    assert!(!has(after(at)).await, "{clause}");
    let checkout = shop
        .any_checkout(|builder| {
            shipped(builder, &number).with(|it| it.shipment.heard_at = Some(at))
        })
        .await;
    assert_eq!(
        [has(at).await, has(after(at)).await],
        [false, true],
        "{clause}"
    );
    end(shop, &checkout).await;
    assert!(!has(after(at)).await, "{clause}");
}

pub(super) async fn shipments_under_way_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let number = shop.make.ids().next().simple().to_string();
    let has = async || street.has(Errand::Shipments).await;
    let clause =
        "doors.owners_with: whose shipments are under way, and their carriers can be asked";
    shop.any_checkout(|builder| builder.at(Lifecycle::Shipped))
        .await;
    assert!(!has().await, "{clause}");
    let checkout = shop.any_checkout(|builder| shipped(builder, &number)).await;
    assert!(has().await, "{clause}");
    let mut delivered = altered(&checkout, |it| {
        it.shipment.delivered_at = Some(it.created_at);
    });
    shop.done("checkouts.update: writes", async |uow| {
        uow.checkouts().update(&mut delivered).await
    })
    .await;
    assert!(!has().await, "{clause}");
}

pub(super) async fn billed_checkouts_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let has = async |mode| street.has(Errand::Billed { mode }).await;
    let clause = "doors.owners_with: for whose checkouts of the mode a subscription was asked for";
    shop.any_checkout(|builder| builder.at(Lifecycle::Shipped))
        .await;
    assert!(!has(Mode::Sandbox).await, "{clause}");
    let checkout = shop
        .any_checkout(|builder| builder.at(Lifecycle::LeaseActive))
        .await;
    for _ in 0..2 {
        assert_eq!(
            [has(Mode::Sandbox).await, has(Mode::Live).await],
            [true, false],
            "{clause}, ended ones too"
        );
        let stored = shop
            .seen("checkouts.get: reads", async |view| {
                view.checkouts().get(checkout.id).await
            })
            .await;
        end(shop, &stored.unwrap_or_else(|| checkout.clone())).await;
    }
}

pub(super) async fn own_accounts_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let has = async |mode| street.has(Errand::OwnAccount { mode }).await;
    let clause = "doors.owners_with: for who has an account of the mode of their own";
    assert!(!has(Mode::Sandbox).await, "{clause}");
    let mut account = processor_account(shop, Mode::Sandbox);
    shop.done("processor_accounts.insert: keeps an account", async |uow| {
        uow.processor_accounts().insert(&mut account).await
    })
    .await;
    assert_eq!(
        [has(Mode::Sandbox).await, has(Mode::Live).await],
        [true, false],
        "{clause}"
    );
}

pub(super) async fn old_answers_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let at = shop.make.tick();
    let has = async |before| street.has(Errand::OldAnswers { before }).await;
    let clause = "doors.owners_with: who has answers that were kept before the time";
    assert!(!has(after(at)).await, "{clause}");
    let key = IdempotencyKey {
        organization_id: shop.organization.id,
        mode: Mode::Sandbox,
        path: "POST /v1/checkouts".to_owned(),
        key: "door".to_owned(),
    };
    let answer = StoredAnswer {
        request_hash: [9; 32],
        status: 200,
        body: b"{}".to_vec(),
        is_existing: false,
        is_final: true,
        created_at: at,
    };
    shop.done("idempotency.put: keeps an answer", async |uow| {
        uow.idempotency().put(&key, &answer).await
    })
    .await;
    assert_eq!(
        [has(at).await, has(after(at)).await],
        [false, true],
        "{clause}"
    );
    shop.done("idempotency.purge: forgets", async |uow| {
        uow.idempotency().purge(after(at)).await
    })
    .await;
    assert!(!has(after(at)).await, "{clause}");
}

pub(super) async fn old_jobs_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let subject = JobSubject::Product(shop.make.id());
    let at = shop.make.tick();
    let has = async |before| street.has(Errand::OldJobs { before }).await;
    let clause = "doors.owners_with: who has jobs that were done or skipped before the time";
    push(shop, &[job(shop, subject)]).await;
    assert!(!has(after(at)).await, "{clause}");
    let taken = take(shop, subject).await;
    complete(shop, &taken, at).await;
    assert_eq!(
        [has(at).await, has(after(at)).await],
        [false, true],
        "{clause}"
    );
    shop.done("jobs.purge_done: forgets", async |uow| {
        uow.jobs().purge_done(after(at)).await
    })
    .await;
    assert!(!has(after(at)).await, "{clause}");
}

pub(super) async fn events_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let event = events::renamed(shop, |_| {});
    let at = event.created_at;
    let old = Errand::OldEvents { before: after(at) };
    let clause = "doors.owners_with: who has events without a number";
    assert!(!street.has(Errand::UnnumberedEvents).await, "{clause}");
    shop.done("events.append: keeps events", async |uow| {
        uow.events().append(&[event]).await
    })
    .await;
    assert!(street.has(Errand::UnnumberedEvents).await, "{clause}");
    let old_clause = "doors.owners_with: who has events with a number, from before the time";
    assert!(!street.has(old).await, "{old_clause}");
    shop.done("events.number: numbers", async |uow| {
        uow.events().number(shop.sandbox(), 1).await
    })
    .await;
    assert!(!street.has(Errand::UnnumberedEvents).await, "{clause}");
    assert!(street.has(old).await, "{old_clause}");
    let earlier = Errand::OldEvents { before: at };
    assert!(!street.has(earlier).await, "{old_clause}");
}

pub(super) async fn deliveries_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let endpoint = webhook_endpoints::endpoint(shop, |_| {}).await;
    let new = deliveries::delivery(shop, &endpoint, |_| {});
    let at = new.created_at;
    let due = Errand::Deliveries { due: at };
    let old = Errand::OldDeliveries { before: after(at) };
    let clause = "doors.owners_with: who has deliveries that can be taken";
    assert!(!street.has(due).await, "{clause}");
    shop.done("deliveries.queue: keeps deliveries", async |uow| {
        uow.deliveries().queue(&[new]).await
    })
    .await;
    assert!(street.has(due).await, "{clause}");
    let rests = EndpointHealth {
        resting_until: Some(after(at)),
        ..EndpointHealth::default()
    };
    let fares = async |health: &EndpointHealth| {
        shop.done("deliveries.set_health: writes", async |uow| {
            uow.deliveries().set_health(endpoint.id, health).await
        })
        .await
    };
    fares(&rests).await;
    assert!(
        !street.has(due).await,
        "{clause}: none of an endpoint that rests"
    );
    fares(&EndpointHealth::default()).await;
    let claimed = shop
        .done("deliveries.claim: takes", async |uow| {
            uow.deliveries().claim(at, CLAIM).await
        })
        .await;
    assert!(!street.has(due).await, "{clause}, and that nobody is at");
    let old_clause = "doors.owners_with: who has deliveries that are over, from before the time";
    assert!(!street.has(old).await, "{old_clause}");
    for mut delivery in claimed {
        delivery.abandon("so", at);
        shop.done("deliveries.settle: writes", async |uow| {
            uow.deliveries().settle(&delivery).await
        })
        .await;
    }
    assert!(street.has(old).await, "{old_clause}");
    let earlier = Errand::OldDeliveries { before: at };
    assert!(!street.has(earlier).await, "{old_clause}");
}

pub(super) async fn mails_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let new = mails::mail(shop, shop.make.id(), |_| {});
    let at = new.created_at;
    let due = Errand::Mails { due: at };
    let old = Errand::OldMails { before: after(at) };
    let clause = "doors.owners_with: who has mails that are due and that nobody is at";
    assert!(!street.has(due).await, "{clause}");
    shop.done("mails.queue: keeps mails", async |uow| {
        uow.mails().queue(&[new]).await
    })
    .await;
    let before = at.checked_sub_signed(TimeDelta::milliseconds(1));
    let early = Errand::Mails {
        due: before.unwrap_or(at),
    };
    assert_eq!(
        [street.has(early).await, street.has(due).await],
        [false, true],
        "{clause}"
    );
    let old_clause = "doors.owners_with: who has mails that are over, from before the time";
    assert!(!street.has(old).await, "{old_clause}");
    let mut claimed = shop
        .done("mails.claim: takes", async |uow| {
            uow.mails().claim(at, LEASE, 1).await
        })
        .await;
    assert!(!street.has(due).await, "{clause}");
    for mail in &mut claimed {
        mail.tried(&Posted::Accepted, at);
        shop.done("mails.settle: answers", async |uow| {
            uow.mails().settle(mail, None).await
        })
        .await;
    }
    assert!(!street.has(due).await, "{clause}");
    assert!(street.has(old).await, "{old_clause}");
    let young = Errand::OldMails { before: at };
    assert!(!street.has(young).await, "{old_clause}");
}

pub(super) async fn endings_are_errands(street: &Street<'_>) {
    let shop = &street.shop;
    let from = shop.make.tick().date_naive();
    let before = from.succ_opt().unwrap_or(from);
    let mode = Mode::Sandbox;
    let errand = Errand::Endings { mode, from, before };
    let clause = "doors.owners_with: whose active leases end on one of these days";
    assert!(!street.has(errand).await, "{clause}");
    let lease = mails::lease(shop, from).await;
    assert!(street.has(errand).await, "{clause}");
    let later = Errand::Endings {
        mode,
        from: before,
        before: before.succ_opt().unwrap_or(before),
    };
    assert!(!street.has(later).await, "{clause}");
    let told = mails::mail(shop, lease.id, |new| {
        new.kind = crate::mail::MailKind::LeaseEndsSoon;
    });
    shop.done("mails.queue: keeps mails", async |uow| {
        uow.mails().queue(&[told]).await
    })
    .await;
    assert!(
        !street.has(errand).await,
        "{clause}, and were not mailed of"
    );
}
