//! What happened to records.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::TimeDelta;
use futures_util::future::{join, join_all};

use super::shop::{Shop, must};
use crate::access::Mode;
use crate::catalog::Product;
use crate::customer::Customer;
use crate::events::{Contents, EventSubject, EventType, NewEvent, NumberedEvent};
use crate::ids::ProductPubId;
use crate::ports::{
    Changes, Database, Edition, Erasure, EventFilter, ReplacementAnswer, Scope, Stretch, Told,
};
use crate::time::Timestamp;

/// The store of what happened to records.
///
/// # Panics
/// With the clause that is broken.
pub async fn events(database: &dyn Database) {
    events_are_kept_as_they_are(&Shop::open(database).await).await;
    what_is_not_committed_is_not_there(&Shop::open(database).await).await;
    each_feed_counts_for_itself(&Shop::open(database).await).await;
    changes_are_all_that_was_told_since(&Shop::open(database).await).await;
    a_list_is_what_is_asked_for(&Shop::open(database).await).await;
    heads_are_those_of_the_stretch(&Shop::open(database).await).await;
    what_is_old_is_forgotten(&Shop::open(database).await).await;
    what_is_personal_goes_with_the_customer(&Shop::open(database).await).await;
    whatever_commits_when_no_number_is_missed(&Shop::open(database).await).await;
}

const ALL: u32 = 1_000;

/// That some product of the organization was renamed, in the sandbox's feed.
pub(super) fn renamed(shop: &Shop<'_>, change: impl FnOnce(&mut NewEvent)) -> NewEvent {
    let mut event = NewEvent {
        id: shop.make.id(),
        organization_id: shop.organization.id,
        mode: Mode::Sandbox,
        event_type: EventType::ProductUpdated,
        subject: EventSubject::Product(shop.make.id::<ProductPubId>()),
        created_at: shop.make.tick(),
        request_id: None,
        customer: None,
        contents: Some(Contents {
            object: "{\"name\":\"Fahrrad „Größe M“ \u{1F6B2} \\u0000 ' \\\\\"}".to_owned(),
            previous: Some("{\"name\":\"Road bike\"}".to_owned()),
        }),
    };
    change(&mut event);
    event
}

/// That the customer moved house.
fn moved_house(shop: &Shop<'_>, customer: &Customer) -> NewEvent {
    renamed(shop, |event| {
        event.mode = customer.mode;
        event.event_type = EventType::CustomerUpdated;
        event.subject = EventSubject::Customer(customer.id);
        event.customer = Some(customer.id);
        event.contents = Some(Contents {
            object: "{\"city\":\"Nürnberg\"}".to_owned(),
            previous: None,
        });
    })
}

async fn append(shop: &Shop<'_>, events: &[NewEvent]) {
    shop.done("events.append: keeps events", async |uow| {
        uow.events().append(events).await
    })
    .await;
}

async fn number(shop: &Shop<'_>, scope: Scope, limit: u32) -> u32 {
    shop.done("events.number: numbers", async |uow| {
        uow.events().number(scope, limit).await
    })
    .await
}

async fn are_waiting(shop: &Shop<'_>, scope: Scope) -> bool {
    shop.seen("events.are_waiting: answers", async |view| {
        view.events().are_waiting(scope).await
    })
    .await
}

async fn list(
    shop: &Shop<'_>,
    scope: Scope,
    filter: &EventFilter,
    after: u64,
    limit: u32,
) -> Vec<NumberedEvent> {
    shop.seen("events.list: reads", async |view| {
        view.events().list(scope, filter, after, limit).await
    })
    .await
}

async fn all(shop: &Shop<'_>, scope: Scope) -> Vec<NumberedEvent> {
    list(shop, scope, &EventFilter::default(), 0, ALL).await
}

fn sequences(events: &[NumberedEvent]) -> Vec<u64> {
    events.iter().map(|event| event.sequence).collect()
}

async fn events_are_kept_as_they_are(shop: &Shop<'_>) {
    let customer = shop.anybody().await;
    let events = [
        renamed(shop, |event| {
            event.request_id = Some("req_'; drop table events; --„\\".to_owned());
        }),
        renamed(shop, |event| {
            event.event_type = EventType::ProductDeleted;
            if let Some(contents) = &mut event.contents {
                contents.previous = None;
            }
        }),
        moved_house(shop, &customer),
        renamed(shop, |event| {
            event.subject = EventSubject::LeaseTerm(shop.make.id());
        }),
        renamed(shop, |event| {
            event.subject = EventSubject::ProductVariant(shop.make.id());
        }),
        renamed(shop, |event| {
            event.subject = EventSubject::Checkout(shop.make.id());
        }),
    ];
    let scope = shop.sandbox();
    assert!(
        !are_waiting(shop, scope).await,
        "events.are_waiting: none where nothing happened"
    );
    append(shop, &events).await;
    let clause = "events.append: what has no number is in no feed";
    assert!(are_waiting(shop, scope).await, "{clause}");
    assert_eq!(all(shop, scope).await, [], "{clause}");
    let [first, ..] = &events;
    let id = first.id;
    let found = shop
        .seen("events.get: reads", async |view| {
            view.events().get(scope, id).await
        })
        .await;
    assert_eq!(found, None, "{clause}");
    assert_eq!(
        number(shop, scope, ALL).await,
        6,
        "events.number: tells how many it numbered"
    );
    assert!(
        !are_waiting(shop, scope).await,
        "events.are_waiting: none that has a number"
    );
    let kept: Vec<NumberedEvent> = (1..)
        .zip(events)
        .map(|(sequence, event)| NumberedEvent { sequence, event })
        .collect();
    assert_eq!(
        all(shop, scope).await,
        kept,
        "events.list: what was appended, in that order, from 1"
    );
    for event in kept {
        let id = event.event.id;
        let found = shop
            .seen("events.get: reads", async |view| {
                view.events().get(scope, id).await
            })
            .await;
        assert_eq!(found, Some(event), "events.get: what was appended");
    }
}

async fn what_is_not_committed_is_not_there(shop: &Shop<'_>) {
    let scope = shop.sandbox();
    let mut uow = shop.begin().await;
    let event = renamed(shop, |_| {});
    let appended = uow.events().append(std::slice::from_ref(&event)).await;
    must(appended, "events.append: keeps events");
    must(uow.roll_back().await, "roll_back: ends a unit of work");
    assert!(
        !are_waiting(shop, scope).await,
        "events.append: nothing is kept of what is rolled back"
    );
    append(shop, std::slice::from_ref(&event)).await;
    let mut uow = shop.begin().await;
    let numbered = uow.events().number(scope, ALL).await;
    assert_eq!(must(numbered, "events.number: numbers"), 1);
    must(uow.roll_back().await, "roll_back: ends a unit of work");
    let clause = "events.number: no number is given that is rolled back";
    assert_eq!(all(shop, scope).await, [], "{clause}");
    assert_eq!(number(shop, scope, ALL).await, 1, "{clause}");
    assert_eq!(sequences(&all(shop, scope).await), [1], "{clause}");
    // Of one that is there already, and of one that is new.
    let clause = "events.append: what is appended twice is refused, or told of once";
    let new = renamed(shop, |_| {});
    for again in [vec![event.clone()], vec![new.clone(), new.clone()]] {
        let _refused = shop
            .run(async |uow| uow.events().append(&again).await)
            .await;
        number(shop, scope, ALL).await;
        assert!(!are_waiting(shop, scope).await, "{clause}");
    }
    let next = renamed(shop, |_| {});
    append(shop, std::slice::from_ref(&next)).await;
    assert_eq!(number(shop, scope, ALL).await, 1, "{clause}");
    let told = all(shop, scope).await;
    let mut ids: Vec<_> = told.iter().map(|told| told.event.id).collect();
    ids.retain(|id| *id != new.id);
    assert_eq!(ids, [event.id, next.id], "{clause}");
    assert!(told.len() <= 3, "{clause}");
    let expected: Vec<u64> = (1..).take(told.len()).collect();
    assert_eq!(sequences(&told), expected, "{clause}");
}

async fn heads_are_those_of_the_stretch(shop: &Shop<'_>) {
    let scope = shop.sandbox();
    let customer = shop.anybody().await;
    let [a, b, c] = [
        renamed(shop, |_| {}),
        moved_house(shop, &customer),
        renamed(shop, |event| {
            event.event_type = EventType::ProductDeleted;
        }),
    ];
    let live = renamed(shop, |event| event.mode = Mode::Live);
    append(shop, &[a.clone(), live, b.clone(), c.clone()]).await;
    let heads = async |types: &[EventType], stretch, limit| {
        let found = shop
            .seen("events.heads: reads", async |view| {
                view.events().heads(scope, types, stretch, limit).await
            })
            .await;
        found.into_iter().map(|head| head.id).collect::<Vec<_>>()
    };
    let whole = Stretch::default();
    let clause = "events.heads: those that have a number";
    assert_eq!(heads(&[], whole, ALL).await, [], "{clause}");
    number(shop, scope, ALL).await;
    assert_eq!(heads(&[], whole, ALL).await, [a.id, b.id, c.id], "{clause}");
    let found = shop
        .seen("events.heads: reads", async |view| {
            view.events().heads(scope, &[], whole, 1).await
        })
        .await;
    let numbered = NumberedEvent {
        sequence: 1,
        event: a.clone(),
    };
    assert_eq!(
        found,
        [numbered.head()],
        "events.heads: no more than the limit"
    );
    let from_b = Stretch {
        from: Some(b.created_at),
        ..whole
    };
    let to_b = Stretch {
        to: Some(b.created_at),
        ..whole
    };
    let after_a = Stretch { after: 1, ..whole };
    let types = [EventType::CustomerUpdated, EventType::ProductDeleted];
    for (stretch, types, expected) in [
        (from_b, &[][..], vec![b.id, c.id]),
        (to_b, &[][..], vec![a.id]),
        (after_a, &[][..], vec![b.id, c.id]),
        (whole, &types[..], vec![b.id, c.id]),
        (to_b, &types[..], vec![]),
    ] {
        assert_eq!(
            heads(types, stretch, ALL).await,
            expected,
            "events.heads: {types:?} of {stretch:?}"
        );
    }
}

async fn each_feed_counts_for_itself(shop: &Shop<'_>) {
    let (live, sandbox) = (shop.live(), shop.sandbox());
    for mode in [Mode::Live, Mode::Sandbox, Mode::Live] {
        append(shop, &[renamed(shop, |event| event.mode = mode)]).await;
    }
    assert_eq!(
        number(shop, live, 1).await,
        1,
        "events.number: no more than the limit"
    );
    let clause = "events.number: numbers are of one organization and mode";
    assert!(are_waiting(shop, live).await, "{clause}");
    assert!(are_waiting(shop, sandbox).await, "{clause}");
    assert_eq!(number(shop, live, ALL).await, 1, "{clause}");
    assert_eq!(number(shop, live, ALL).await, 0, "{clause}");
    assert_eq!(number(shop, sandbox, ALL).await, 1, "{clause}");
    assert_eq!(sequences(&all(shop, live).await), [1, 2], "{clause}");
    assert_eq!(sequences(&all(shop, sandbox).await), [1], "{clause}");
    let mut last = Vec::new();
    for scope in [live, sandbox] {
        let told = shop.seen("events.last: reads", async |view| {
            view.events().last(scope).await
        });
        last.push(told.await);
    }
    assert_eq!(last, [2, 1], "events.last: the number that was given last");
    let of_live = all(shop, live).await;
    let Some(id) = of_live.first().map(|event| event.event.id) else {
        panic!("events.list: what has a number");
    };
    let found = shop
        .seen("events.get: reads", async |view| {
            view.events().get(sandbox, id).await
        })
        .await;
    assert_eq!(found, None, "events.get: no event of the other mode");
}

async fn changes_are_all_that_was_told_since(shop: &Shop<'_>) {
    let neighbour = shop.neighbour().await;
    let read = async |since: Option<Edition>| {
        let id = shop.organization.id;
        let read = shop.seen("events.changes: reads", async |view| {
            view.events().changes(id, since).await
        });
        read.await
    };
    let told = |event: &NewEvent| {
        vec![Told {
            event: event.id,
            record: event.subject,
        }]
    };
    let nothing = shop.edition_of_nothing();
    let still = |edition: Edition| Changes {
        edition,
        is_behind: false,
        events: Some(Vec::new()),
    };
    let any = |edition: Edition| Changes {
        events: None,
        ..still(edition)
    };
    assert_eq!(
        read(Some(nothing)).await,
        still(nothing),
        "events.changes: of nothing"
    );
    assert_eq!(
        read(None).await,
        any(nothing),
        "events.changes: any, since nobody knows when"
    );
    let mut before = nothing;
    for scope in [shop.live(), shop.sandbox()] {
        let event = renamed(shop, |event| event.mode = scope.mode);
        append(shop, std::slice::from_ref(&event)).await;
        let waiting = Changes {
            edition: before,
            is_behind: true,
            events: Some(told(&event)),
        };
        let clause = "events.changes: what has no number, in either mode, as often as it is asked";
        for _ in 0..2 {
            assert_eq!(read(Some(before)).await, waiting, "{clause}");
        }
        number(shop, scope, ALL).await;
        let mut after = before;
        let counted = match scope.mode {
            Mode::Live => &mut after.live,
            Mode::Sandbox => &mut after.sandbox,
        };
        *counted = counted.saturating_add(1);
        let numbered = Changes {
            edition: after,
            is_behind: false,
            events: Some(told(&event)),
        };
        assert_eq!(
            read(Some(before)).await,
            numbered,
            "events.changes: what got its number since"
        );
        assert_eq!(
            read(Some(after)).await,
            still(after),
            "events.changes: none since then"
        );
        before = after;
    }
    let all = read(Some(nothing)).await.events;
    assert_eq!(
        all.map(|all| all.len()),
        Some(2),
        "events.changes: of both modes"
    );
    append(&neighbour, &[renamed(&neighbour, |_| {})]).await;
    number(&neighbour, neighbour.sandbox(), ALL).await;
    assert_eq!(
        read(Some(before)).await,
        still(before),
        "events.changes: each organization's own"
    );
    assert_eq!(
        number(shop, shop.sandbox(), ALL).await,
        0,
        "events.number: of one organization"
    );
    let purged = shop.done("events.purge: forgets", async |uow| {
        uow.events().purge(shop.make.tick(), ALL).await
    });
    assert!(purged.await > 0, "events.purge: forgets");
    assert_eq!(
        read(Some(before)).await,
        still(before),
        "events.changes: none, where what was told of before is forgotten"
    );
    assert_eq!(
        read(Some(nothing)).await,
        any(before),
        "events.changes: any, where what was told of since is forgotten"
    );
    let later = Edition {
        live: before.live.saturating_add(1),
        ..before
    };
    assert_eq!(
        read(Some(later)).await,
        any(before),
        "events.changes: any since an edition that there was none of"
    );
    let before = more_than_are_named_change(shop, before).await;
    let mut organization = shop.organization.clone();
    shop.done("organizations.update: writes", async |uow| {
        uow.organizations().update(&mut organization).await
    })
    .await;
    let written = Edition {
        organization: organization.version,
        ..before
    };
    assert_eq!(
        read(Some(before)).await,
        any(written),
        "events.changes: any with a write of the organization"
    );
}

/// Tells the edition then.
async fn more_than_are_named_change(shop: &Shop<'_>, before: Edition) -> Edition {
    let id = shop.organization.id;
    let changes = async || {
        let read = shop.seen("events.changes: reads", async |view| {
            view.events().changes(id, Some(before)).await
        });
        read.await
    };
    let events = |many: u32| (0..many).map(|_| renamed(shop, |_| {})).collect();
    let most: Vec<NewEvent> = events(Changes::NAMED);
    append(shop, &most).await;
    let named = |changes: Changes| changes.events.map(|events| events.len());
    let clause = "events.changes: as many as are named";
    assert_eq!(named(changes().await), Some(most.len()), "{clause}");
    append(shop, &events(1)).await;
    let clause = "events.changes: any, where more have no number than are named";
    assert_eq!(named(changes().await), None, "{clause}");
    number(shop, shop.sandbox(), Changes::NAMED).await;
    let all = most.len().saturating_add(1);
    let clause = "events.changes: as many as are named, and one that has no number";
    assert_eq!(named(changes().await), Some(all), "{clause}");
    number(shop, shop.sandbox(), ALL).await;
    let after = changes().await;
    let clause = "events.changes: any, where more have got numbers than are named";
    assert_eq!(after.events, None, "{clause}");
    after.edition
}

async fn a_list_is_what_is_asked_for(shop: &Shop<'_>) {
    let scope = shop.sandbox();
    let product = shop.make.id();
    let other = shop.make.id();
    let types = [
        (EventType::ProductCreated, EventSubject::Product(product)),
        (EventType::ProductCreated, EventSubject::Product(other)),
        (EventType::ProductUpdated, EventSubject::Product(product)),
        (EventType::ProductDeleted, EventSubject::Product(product)),
    ];
    let events = types.map(|(event_type, subject)| {
        renamed(shop, |event| {
            event.event_type = event_type;
            event.subject = subject;
        })
    });
    append(shop, &events).await;
    number(shop, scope, ALL).await;
    let listed = async |types: &[EventType], subject, after, limit| {
        let filter = EventFilter {
            types: types.to_vec(),
            subject,
        };
        sequences(&list(shop, scope, &filter, after, limit).await)
    };
    assert_eq!(
        [
            listed(&[], None, 0, 2).await,
            listed(&[], None, 2, ALL).await,
            listed(&[], None, 4, ALL).await,
        ],
        [vec![1, 2], vec![3, 4], vec![]],
        "events.list: so many after the number"
    );
    assert_eq!(
        [
            listed(&[EventType::ProductCreated], None, 0, ALL).await,
            listed(
                &[EventType::ProductCreated, EventType::ProductDeleted],
                None,
                1,
                ALL
            )
            .await,
            listed(&[EventType::CustomerUpdated], None, 0, ALL).await,
        ],
        [vec![1, 2], vec![2, 4], vec![]],
        "events.list: of the types"
    );
    let same_id = crate::ids::CheckoutPubId::from_uuid(product.as_uuid());
    assert_eq!(
        [
            listed(&[], Some(EventSubject::Product(product)), 0, ALL).await,
            listed(
                &[EventType::ProductCreated],
                Some(EventSubject::Product(product)),
                0,
                ALL
            )
            .await,
            listed(&[], Some(EventSubject::Checkout(same_id)), 0, ALL).await,
        ],
        [vec![1, 3, 4], vec![1], vec![]],
        "events.list: about the record"
    );
}

async fn what_is_old_is_forgotten(shop: &Shop<'_>) {
    let scope = shop.sandbox();
    let now = shop.make.tick();
    let at = |days: i64| now.checked_sub_signed(TimeDelta::days(days)).unwrap_or(now);
    let dated = |created_at: Timestamp| renamed(shop, |event| event.created_at = created_at);
    append(shop, &[dated(at(9)), dated(at(8)), dated(at(7))]).await;
    number(shop, scope, ALL).await;
    append(shop, &[dated(at(6))]).await;
    let purge = async |before, limit| {
        shop.done("events.purge: forgets", async |uow| {
            uow.events().purge(before, limit).await
        })
        .await
    };
    assert_eq!(
        purge(at(8), ALL).await,
        1,
        "events.purge: what happened before the time"
    );
    assert_eq!(sequences(&all(shop, scope).await), [2, 3]);
    assert_eq!(
        purge(now, 1).await,
        1,
        "events.purge: no more than the limit"
    );
    assert_eq!(
        sequences(&all(shop, scope).await),
        [3],
        "events.purge: the oldest first"
    );
    assert_eq!(
        purge(now, ALL).await,
        1,
        "events.purge: nothing that has no number"
    );
    assert_eq!(number(shop, scope, ALL).await, 1);
    assert_eq!(
        sequences(&all(shop, scope).await),
        [4],
        "events.number: goes on, whatever was forgotten"
    );
}

async fn what_is_personal_goes_with_the_customer(shop: &Shop<'_>) {
    let scope = shop.sandbox();
    let customer = shop.anybody().await;
    let other = shop.anybody().await;
    append(
        shop,
        &[moved_house(shop, &customer), moved_house(shop, &other)],
    )
    .await;
    number(shop, scope, ALL).await;
    let erasure = Erasure {
        customer: customer.id,
        names: vec![customer.id.to_string()],
        ended: Vec::new(),
        running: Vec::new(),
        never_leased: Vec::new(),
        shipments: Vec::new(),
        email: customer.email.clone(),
        since: shop.make.tick(),
        replacement: ReplacementAnswer {
            status: 404,
            body: b"erased".to_vec(),
        },
    };
    let at = shop.make.tick();
    shop.done(
        "personal_data.erase: takes what is sealed away",
        async |uow| {
            if let Some(mut customer) = uow.customers().lock(customer.id).await? {
                customer.erased_at = Some(at);
                uow.customers().update(&mut customer).await?;
            }
            uow.personal_data().erase(scope, &erasure).await
        },
    )
    .await;
    append(shop, &[moved_house(shop, &customer)]).await;
    number(shop, scope, ALL).await;
    let read: Vec<bool> = all(shop, scope)
        .await
        .iter()
        .map(|event| event.event.contents.is_some())
        .collect();
    assert_eq!(
        read,
        [false, true, false],
        "events.append: of who was erased nothing is shown, before and afterwards"
    );
}

/// Writers, each with a product locked, numberers, and readers who keep how far they are.
async fn whatever_commits_when_no_number_is_missed(shop: &Shop<'_>) {
    const WRITERS: usize = 4;
    const EACH: usize = 6;
    let scope = shop.sandbox();
    let products = [shop.anything().await, shop.anything().await];
    let written = AtomicUsize::new(0);
    let total = WRITERS.saturating_mul(EACH);
    let write = async |product: &Product| {
        for _ in 0..EACH {
            shop.done(
                "events.append: keeps what is written with it",
                async |uow| {
                    let id = shop.organization.id;
                    let Some(mut product) = uow.products().lock(id, product.id).await? else {
                        panic!("products.lock: the product is there");
                    };
                    uow.products().update(&mut product).await?;
                    let event = renamed(shop, |event| {
                        event.subject = EventSubject::Product(product.id);
                        event.contents = Some(Contents {
                            object: product.version.to_string(),
                            previous: None,
                        });
                    });
                    uow.events().append(&[event]).await
                },
            )
            .await;
            written.fetch_add(1, Ordering::Relaxed);
        }
    };
    let follow = async || {
        let mut read = Vec::new();
        while read.len() < total {
            let is_over = written.load(Ordering::Relaxed) == total;
            number(shop, scope, 3).await;
            let last = read
                .last()
                .map_or(0, |event: &NumberedEvent| event.sequence);
            let more = list(shop, scope, &EventFilter::default(), last, ALL).await;
            assert!(
                !is_over || !more.is_empty() || are_waiting(shop, scope).await,
                "events.number: whatever was committed gets a number"
            );
            read.extend(more);
        }
        read
    };
    let writers = products.iter().cycle().take(WRITERS);
    let writers = writers.map(write);
    let readers = (0..2).map(|_| follow());
    let (_, read) = join(join_all(writers), join_all(readers)).await;
    for read in read {
        let expected: Vec<u64> = (1..).take(total).collect();
        assert_eq!(
            sequences(&read),
            expected,
            "events.list: who reads on from what they have sees each once, without a gap"
        );
        let mut versions: BTreeMap<EventSubject, i64> = BTreeMap::new();
        for event in &read {
            let contents = event.event.contents.as_ref();
            let version = contents.and_then(|contents| contents.object.parse().ok());
            let Some(version) = version else {
                panic!("events.list: what was appended");
            };
            let before = versions.insert(event.event.subject, version);
            assert!(
                before.is_none_or(|before| before < version),
                "events.number: what happened to a record is told in that order"
            );
        }
    }
}
