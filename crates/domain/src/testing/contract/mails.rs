//! Mails, and the addresses that nothing is sent to.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{Days, TimeDelta};

use super::full;
use super::shop::Shop;
use crate::access::Mode;
use crate::checkout::{Checkout, Lifecycle};
use crate::ids::{CheckoutPubId, EventPubId, MailPubId};
use crate::mail::{
    Mail, MailCause, MailKind, MailState, MailSubject, NewMail, Posted, SuppressionReason,
};
use crate::ports::{Database, Erasure, MailFilter, PersonalTable, ReplacementAnswer};
use crate::text::Email;
use crate::time::{Day, Timestamp};

/// Longer than any suite takes, by whatever clock.
const LEASE: Duration = Duration::from_secs(36_000_000);
/// More than any suite makes.
const MANY: u32 = 1_000;

/// The store of mails.
///
/// # Panics
/// With the clause that is broken.
pub async fn mails(database: &dyn Database) {
    let _turn = super::QUEUES.lock().await;
    mails_are_kept_as_they_are(&Shop::open(database).await).await;
    a_cause_has_one_mail(&Shop::open(database).await).await;
    what_is_due_is_taken_once(&Shop::open(database).await).await;
    what_is_given_up_is_asked_for_again(&Shop::open(database).await).await;
    addresses_are_known_again(&Shop::open(database).await).await;
    what_is_reported_is_noted(&Shop::open(database).await).await;
    leases_that_end_are_found_once(&Shop::open(database).await).await;
    what_is_over_is_forgotten(&Shop::open(database).await).await;
    addresses_go_with_the_customer(&Shop::open(database).await).await;
}

/// A mail about a checkout of the shop.
pub(super) fn mail(
    shop: &Shop<'_>,
    checkout: CheckoutPubId,
    change: impl FnOnce(&mut NewMail),
) -> NewMail {
    let kind = MailKind::Shipped;
    let event: EventPubId = shop.make.id();
    let mut new = NewMail {
        id: shop.make.id(),
        organization_id: shop.organization.id,
        mode: Mode::Sandbox,
        kind,
        subject: MailSubject::Checkout(checkout),
        cause: MailCause::Event(event).key(kind),
        created_at: shop.make.tick(),
    };
    change(&mut new);
    new
}

async fn queue(shop: &Shop<'_>, new: &[NewMail]) -> u64 {
    shop.done("mails.queue: keeps mails", async |uow| {
        uow.mails().queue(new).await
    })
    .await
}

async fn claim_at(shop: &Shop<'_>, now: Timestamp, limit: u32) -> Vec<Mail> {
    shop.done("mails.claim: takes", async |uow| {
        uow.mails().claim(now, LEASE, limit).await
    })
    .await
}

async fn claim(shop: &Shop<'_>) -> Vec<Mail> {
    claim_at(shop, shop.make.tick(), MANY).await
}

async fn settle(shop: &Shop<'_>, mail: &Mail, to: Option<&Email>) -> bool {
    shop.done("mails.settle: answers", async |uow| {
        uow.mails().settle(mail, to).await
    })
    .await
}

async fn get(shop: &Shop<'_>, id: MailPubId) -> Option<Mail> {
    shop.seen("mails.get: reads", async |view| view.mails().get(id).await)
        .await
}

async fn list(shop: &Shop<'_>, filter: MailFilter) -> Vec<Mail> {
    shop.seen("mails.list: reads", async |view| {
        view.mails().list(&filter, MANY).await
    })
    .await
}

async fn suppression(shop: &Shop<'_>, address: &Email) -> Option<SuppressionReason> {
    shop.seen("mails.suppression: reads", async |view| {
        view.mails().suppression(address).await
    })
    .await
}

#[track_caller]
fn only(claimed: Vec<Mail>) -> Mail {
    match <[Mail; 1]>::try_from(claimed) {
        Ok([only]) => only,
        Err(claimed) => panic!("mails.claim: one is to be taken, but: {claimed:?}"),
    }
}

/// A mail that was sent there.
async fn sent(shop: &Shop<'_>, checkout: CheckoutPubId, to: &Email) -> Mail {
    queue(shop, &[mail(shop, checkout, |_| {})]).await;
    let mut mail = only(claim(shop).await);
    mail.tried(&Posted::Accepted, shop.make.tick());
    assert!(
        settle(shop, &mail, Some(to)).await,
        "mails.settle: the claim that holds the mail may write"
    );
    mail
}

async fn mails_are_kept_as_they_are(shop: &Shop<'_>) {
    let about_endpoint = mail(shop, shop.make.id(), |new| {
        new.kind = MailKind::EndpointDisabled;
        new.mode = Mode::Live;
        new.subject = MailSubject::Endpoint(shop.make.id());
    });
    let checkout = shop.make.id();
    let about_checkout = mail(shop, checkout, |_| {});
    let both = [about_endpoint.clone(), about_checkout.clone()];
    assert_eq!(
        queue(shop, &both).await,
        2,
        "mails.queue: tells how many were kept"
    );
    assert_eq!(
        list(shop, MailFilter::default()).await,
        [
            Mail::from(about_checkout.clone()),
            Mail::from(about_endpoint.clone())
        ],
        "mails.list: newest first; mails.queue: they are due when they are made, and were never tried"
    );
    let filter = MailFilter {
        checkout: Some(checkout),
        ..MailFilter::default()
    };
    assert_eq!(
        list(shop, filter).await,
        [Mail::from(about_checkout)],
        "mails.list: of a checkout"
    );
    let mut claimed = claim(shop).await;
    for mail in &mut claimed {
        mail.tried(&Posted::Later("451 4.7.1".to_owned()), shop.make.tick());
        assert!(settle(shop, mail, None).await, "mails.settle: writes");
        assert_eq!(
            get(shop, mail.new.id).await.as_ref(),
            Some(&*mail),
            "mails.settle: keeps how far it is"
        );
    }
    assert_eq!(
        get(shop, shop.make.id()).await,
        None,
        "mails.get: nothing of none"
    );
}

async fn a_cause_has_one_mail(shop: &Shop<'_>) {
    let first = mail(shop, shop.make.id(), |_| {});
    let same = mail(shop, shop.make.id(), |new| {
        new.cause.clone_from(&first.cause);
    });
    let other = mail(shop, shop.make.id(), |_| {});
    let clause = "mails.queue: of a cause that is known none is kept";
    assert_eq!(
        queue(shop, std::slice::from_ref(&first)).await,
        1,
        "{clause}"
    );
    assert_eq!(queue(shop, &[same, other.clone()]).await, 1, "{clause}");
    let kept: BTreeSet<MailPubId> = list(shop, MailFilter::default())
        .await
        .into_iter()
        .map(|mail| mail.new.id)
        .collect();
    assert_eq!(kept, BTreeSet::from([first.id, other.id]), "{clause}");
    let mut done = claim(shop).await;
    for mail in &mut done {
        mail.tried(&Posted::Accepted, shop.make.tick());
        settle(shop, mail, None).await;
    }
    assert_eq!(
        queue(shop, &[first]).await,
        0,
        "mails.queue: also when that was sent"
    );
    let neighbour = shop.neighbour().await;
    let theirs = mail(&neighbour, neighbour.make.id(), |new| {
        new.cause.clone_from(&other.cause);
    });
    assert_eq!(
        queue(&neighbour, &[theirs]).await,
        1,
        "mails.queue: causes are an organization's own"
    );
}

async fn what_is_due_is_taken_once(shop: &Shop<'_>) {
    let checkout = shop.make.id();
    let [one, other] = [(); 2].map(|()| mail(shop, checkout, |_| {}));
    queue(shop, &[one.clone(), other.clone()]).await;
    let clause = "mails.claim: the first due first";
    let first = only(claim_at(shop, other.created_at, 1).await);
    assert_eq!(first.new, one, "{clause}");
    assert_eq!(first.claims, 1, "mails.claim: counts claims up");
    let second = only(claim(shop).await);
    assert_eq!(second.new, other, "mails.claim: what is taken is not taken");
    assert_eq!(claim(shop).await, [], "mails.claim: each once");
    shop.done("mails.hand_back: gives back", async |uow| {
        uow.mails().hand_back(&first).await
    })
    .await;
    let again = only(claim(shop).await);
    assert_eq!(
        (again.new.id, again.claims),
        (one.id, 2),
        "mails.hand_back: it can be taken at once"
    );
    assert!(
        !settle(shop, &first, None).await,
        "mails.settle: a claim that is not the last writes nothing"
    );
    let mut later = again;
    later.tried(&Posted::Later("451".to_owned()), shop.make.tick());
    assert!(settle(shop, &later, None).await, "mails.settle: writes");
    assert!(
        !settle(shop, &later, None).await,
        "mails.settle: a claim ends with it"
    );
    let due = later.next_attempt_at.unwrap_or(later.updated_at);
    let clause = "mails.claim: not before it is due";
    let before = due
        .checked_sub_signed(TimeDelta::milliseconds(1))
        .unwrap_or(due);
    assert_eq!(claim_at(shop, before, MANY).await, [], "{clause}");
    assert_eq!(only(claim_at(shop, due, MANY).await).new, one, "{clause}");
}

async fn what_is_given_up_is_asked_for_again(shop: &Shop<'_>) {
    let checkout = shop.make.id();
    queue(shop, &[mail(shop, checkout, |_| {})]).await;
    let mut dead = only(claim(shop).await);
    dead.tried(&Posted::Refused("554".to_owned()), shop.make.tick());
    settle(shop, &dead, None).await;
    let filter = MailFilter {
        state: Some(MailState::Dead),
        ..MailFilter::default()
    };
    assert_eq!(
        list(shop, filter).await,
        [dead.clone()],
        "mails.list: of a state"
    );
    let requeue = async |id| {
        let now = shop.make.tick();
        shop.done("mails.requeue: makes due", async |uow| {
            uow.mails().requeue(id, now).await
        })
        .await
    };
    let unknown = Some(shop.make.id());
    assert_eq!(requeue(unknown).await, 0, "mails.requeue: this one alone");
    assert_eq!(requeue(Some(dead.new.id)).await, 1, "mails.requeue: counts");
    let mut again = only(claim(shop).await);
    assert_eq!(
        (again.state, again.attempts),
        (MailState::Pending, 0),
        "mails.requeue: with all of its attempts before it"
    );
    assert_eq!(
        requeue(None).await,
        0,
        "mails.requeue: not what somebody is at"
    );
    again.tried(&Posted::Accepted, shop.make.tick());
    settle(shop, &again, None).await;
    assert_eq!(requeue(None).await, 0, "mails.requeue: not what was sent");
}

async fn addresses_are_known_again(shop: &Shop<'_>) {
    let address: Email = full::parsed("Ada@Example.com");
    let same: Email = full::parsed("ada@example.com");
    let other: Email = full::parsed("eda@example.com");
    let clause = "mails.suppression: why nothing is sent to the address";
    assert_eq!(suppression(shop, &address).await, None, "{clause}");
    let suppress = async |reason| {
        let at = shop.make.tick();
        shop.done("mails.suppress: answers", async |uow| {
            uow.mails().suppress(&address, reason, at).await
        })
        .await
    };
    let clause_new = "mails.suppress: tells whether that is new";
    assert!(suppress(SuppressionReason::Complaint).await, "{clause_new}");
    assert!(
        !suppress(SuppressionReason::HardBounce).await,
        "{clause_new}"
    );
    for address in [&address, &same] {
        assert_eq!(
            suppression(shop, address).await,
            Some(SuppressionReason::Complaint),
            "{clause}"
        );
    }
    assert_eq!(suppression(shop, &other).await, None, "{clause}");
    let neighbour = shop.neighbour().await;
    assert_eq!(
        suppression(&neighbour, &address).await,
        None,
        "mails.suppression: an organization's own"
    );
    let unsuppress = async || {
        shop.done("mails.unsuppress: answers", async |uow| {
            uow.mails().unsuppress(&same).await
        })
        .await
    };
    let clause = "mails.unsuppress: tells whether it was sent none";
    assert!(unsuppress().await, "{clause}");
    assert!(!unsuppress().await, "{clause}");
    assert_eq!(suppression(shop, &address).await, None, "{clause}");
}

async fn what_is_reported_is_noted(shop: &Shop<'_>) {
    let address: Email = full::parsed("gone@example.com");
    let mail = sent(shop, shop.make.id(), &address).await;
    let report = async |id, reason| {
        let at = shop.make.tick();
        shop.done("mails.report: answers", async |uow| {
            uow.mails().report(id, reason, at).await
        })
        .await
    };
    let clause = "mails.report: tells whether that is new";
    let unknown = shop.make.id();
    assert!(
        !report(unknown, SuppressionReason::HardBounce).await,
        "{clause}"
    );
    assert!(
        report(mail.new.id, SuppressionReason::HardBounce).await,
        "{clause}"
    );
    assert!(
        !report(mail.new.id, SuppressionReason::Complaint).await,
        "{clause}"
    );
    assert_eq!(
        suppression(shop, &address).await,
        Some(SuppressionReason::HardBounce),
        "mails.report: whomever it went to is sent nothing more"
    );
    let noted = get(shop, mail.new.id).await.map(|mail| mail.state);
    assert_eq!(
        noted,
        Some(MailState::Bounced),
        "mails.report: it is noted at the mail"
    );
}

/// An active lease until then.
pub(super) async fn lease(shop: &Shop<'_>, end: Day) -> Checkout {
    shop.any_checkout(|builder| {
        builder
            .at(Lifecycle::LeaseActive)
            .with(|it| it.lease.end = Some(end))
    })
    .await
}

async fn leases_that_end_are_found_once(shop: &Shop<'_>) {
    let today = shop.make.tick().date_naive();
    let day = |days| today.checked_add_days(Days::new(days)).unwrap_or(today);
    let [past, first, last, far] = [
        lease(shop, today).await,
        lease(shop, day(1)).await,
        lease(shop, day(30)).await,
        lease(shop, day(31)).await,
    ];
    shop.any_checkout(|builder| {
        builder
            .at(Lifecycle::ReturnPending)
            .with(|it| it.lease.end = Some(day(2)))
    })
    .await;
    let ending = async |mode, limit| {
        shop.seen("mails.ending: reads", async |view| {
            view.mails().ending(mode, day(1), day(31), limit).await
        })
        .await
    };
    let clause =
        "mails.ending: active leases that end on one of these days, the first to end first";
    let sandbox = ending(Mode::Sandbox, MANY).await;
    assert_eq!(sandbox, [first.id, last.id], "{clause}");
    assert!(
        !sandbox.contains(&past.id) && !sandbox.contains(&far.id),
        "{clause}"
    );
    assert_eq!(ending(Mode::Live, MANY).await, [], "{clause}, of the mode");
    assert_eq!(ending(Mode::Sandbox, 1).await, [first.id], "{clause}");
    let kind = MailKind::LeaseEndsSoon;
    let told = mail(shop, first.id, |new| {
        new.kind = kind;
        new.cause = MailCause::Lease(first.id).key(kind);
    });
    let of_another_kind = mail(shop, last.id, |_| {});
    queue(shop, &[told, of_another_kind]).await;
    assert_eq!(
        ending(Mode::Sandbox, MANY).await,
        [last.id],
        "mails.ending: of which there is no mail"
    );
}

async fn what_is_over_is_forgotten(shop: &Shop<'_>) {
    let address: Email = full::parsed("old@example.com");
    let old = sent(shop, shop.make.id(), &address).await;
    let waiting = mail(shop, shop.make.id(), |_| {});
    queue(shop, std::slice::from_ref(&waiting)).await;
    let late = shop.make.tick();
    let purge = async |before| {
        shop.done("mails.purge: forgets", async |uow| {
            uow.mails().purge(before, MANY).await
        })
        .await
    };
    assert_eq!(
        purge(old.new.created_at).await,
        0,
        "mails.purge: not what was made then or later"
    );
    assert_eq!(purge(late).await, 1, "mails.purge: what is over");
    assert_eq!(get(shop, old.new.id).await, None, "mails.purge: is gone");
    assert!(
        get(shop, waiting.id).await.is_some(),
        "mails.purge: what waits stays"
    );
}

async fn addresses_go_with_the_customer(shop: &Shop<'_>) {
    let customer = shop.anybody().await;
    let checkout = shop.make.id();
    let address = customer.email.clone();
    let former: Email = full::parsed("former@example.com");
    let mail = sent(shop, checkout, &former).await;
    let at = shop.make.tick();
    for address in [&address, &former] {
        shop.done("mails.suppress: answers", async |uow| {
            let reason = SuppressionReason::HardBounce;
            uow.mails().suppress(address, reason, at).await
        })
        .await;
    }
    let erase = async |running: Vec<CheckoutPubId>, ended: Vec<CheckoutPubId>| {
        let erasure = Erasure {
            customer: customer.id,
            names: Vec::new(),
            ended,
            running,
            never_leased: Vec::new(),
            shipments: Vec::new(),
            email: address.clone(),
            since: shop.make.tick(),
            replacement: ReplacementAnswer {
                status: 404,
                body: b"erased".to_vec(),
            },
        };
        let removal = shop
            .done("personal_data.erase: erases", async |uow| {
                uow.personal_data().erase(shop.sandbox(), &erasure).await
            })
            .await;
        let mut tables = removal.tables;
        tables.retain(|table| {
            matches!(
                table,
                PersonalTable::Mails | PersonalTable::MailSuppressions
            )
        });
        tables.sort();
        tables
    };
    assert_eq!(
        erase(vec![checkout], Vec::new()).await,
        [],
        "personal_data.erase: who leases is still written to"
    );
    let both = [PersonalTable::MailSuppressions, PersonalTable::Mails];
    assert_eq!(
        erase(Vec::new(), vec![checkout]).await,
        both,
        "personal_data.erase: what an address is known by"
    );
    for address in [&address, &former] {
        assert_eq!(
            suppression(shop, address).await,
            None,
            "personal_data.erase: what an address is known by"
        );
    }
    let at = shop.make.tick();
    let is_known = shop
        .done("mails.report: answers", async |uow| {
            let reason = SuppressionReason::Complaint;
            uow.mails().report(mail.new.id, reason, at).await
        })
        .await;
    assert!(
        !is_known,
        "personal_data.erase: nobody knows any more to whom a mail went"
    );
}
