//! Checkouts under races, in pages, in every state, and when rows are not what
//! they must be.

use std::time::Duration;

use chrono::TimeDelta;
use lessor_domain::checkout::{
    Actor, Checkout, Circumstances, Event, EventKind, Facts, Lifecycle, PaymentMethod, Phase,
    Refusal, StockTaken, Tracking, WaitlistReason, arrows_from,
};
use lessor_domain::fulfillment::{Carrier, TrackingNumber};
use lessor_domain::ports::{
    CheckoutFilter, CheckoutSort, Database, InsertedCheckout, Page, SortOrder, Start, StoreError,
    UniqueField,
};
use lessor_domain::pricing::quote;
use lessor_domain::text::ExternalId;
use lessor_domain::time::Timestamp;

use super::leasing::{Leasing, RACERS, distinct, insert, race, somebody, wide};
use super::support::run;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_open_checkout_for_a_customer_variant_and_term() {
    let leasing = Leasing::open().await;
    for with_term in [true, false] {
        let racers = (0..RACERS).map(|_| {
            let checkout = leasing.checkout();
            if with_term {
                checkout.build()
            } else {
                checkout.with(|it| it.term = None).build()
            }
        });
        let database = wide(&leasing.shop);
        let inserted = race(
            &database,
            racers.collect(),
            |database, checkout| async move {
                let mut uow = database.begin().await?;
                let inserted = uow.checkouts().insert(&checkout).await?;
                uow.commit().await?;
                Ok::<_, StoreError>((checkout.id, inserted))
            },
        )
        .await;
        let (mut new, mut ids) = (0, Vec::new());
        for inserted in inserted {
            match inserted.unwrap() {
                (id, InsertedCheckout::New) => {
                    new += 1;
                    ids.push(id);
                }
                (_, InsertedCheckout::Existing(existing)) => ids.push(existing.id),
            }
        }
        assert_eq!((new, distinct(ids)), (1, 1), "with a term: {with_term}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_checkout_for_an_order() {
    let leasing = Leasing::open().await;
    let mut racers = Vec::new();
    for _ in 0..RACERS {
        let customer = somebody(&leasing.shop).await;
        let make = &leasing.shop.make;
        racers.push(
            make.checkout(&customer, &leasing.variant)
                .order("PO-1")
                .build(),
        );
    }
    let inserted = race(
        &wide(&leasing.shop),
        racers,
        |database, checkout| async move {
            let mut uow = database.begin().await?;
            let inserted = uow.checkouts().insert(&checkout).await?;
            uow.commit().await?;
            Ok::<_, StoreError>(inserted)
        },
    )
    .await;
    let of = |wanted: fn(&Result<InsertedCheckout, StoreError>) -> bool| {
        inserted.iter().filter(|done| wanted(done)).count()
    };
    let kept = of(|done| matches!(done, Ok(InsertedCheckout::New)));
    let refused = of(|done| {
        matches!(
            done,
            Err(StoreError::Conflict(UniqueField::ExternalOrderId))
        )
    });
    assert_eq!((kept, refused), (1, RACERS - 1));
}

/// The order is refused without a violation: what was done before it can be kept.
#[tokio::test]
async fn a_refused_order_leaves_the_unit_of_work_usable() {
    let leasing = Leasing::open().await;
    leasing.kept(leasing.checkout().order("PO-1")).await;
    let customer = somebody(&leasing.shop).await;
    let make = &leasing.shop.make;
    let second = make.checkout(&customer, &leasing.variant).order("PO-1");
    let second = second.build();
    let other = make
        .checkout(&customer, &leasing.variant)
        .order("PO-2")
        .build();
    let mut uow = leasing.shop.database().begin().await.unwrap();
    let refused = uow.checkouts().insert(&second).await;
    assert!(matches!(
        refused,
        Err(StoreError::Conflict(UniqueField::ExternalOrderId))
    ));
    assert_eq!(
        uow.checkouts().insert(&other).await.unwrap(),
        InsertedCheckout::New
    );
    uow.commit().await.unwrap();
    assert_eq!(leasing.get(&other).await.unwrap(), Some(other));
}

/// Whoever inserts while the first is not committed waits for it, and is then
/// answered the first, or gets through when the first was called off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_insert_waits_for_one_that_is_not_committed() {
    let leasing = Leasing::open().await;
    for commits in [false, true] {
        let database = leasing.shop.database();
        let first = leasing.checkout().build();
        let second = leasing.checkout().build();
        let mut uow = database.begin().await.unwrap();
        uow.checkouts().insert(&first).await.unwrap();
        let waiting = tokio::spawn({
            let (database, second) = (database.clone(), second.clone());
            async move {
                let mut uow = database.begin().await.unwrap();
                let inserted = uow.checkouts().insert(&second).await.unwrap();
                uow.commit().await.unwrap();
                inserted
            }
        });
        // Until the database sees somebody wait for a lock.
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        tokio::time::timeout(Duration::from_secs(30), async {
            while leasing.shop.test.query(waits).await != ["1"] {}
        })
        .await
        .unwrap();
        let expected = if commits {
            uow.commit().await.unwrap();
            InsertedCheckout::Existing(Box::new(first))
        } else {
            drop(uow);
            InsertedCheckout::New
        };
        assert_eq!(waiting.await.unwrap(), expected);
        leasing.shop.test.execute("delete from checkouts").await;
    }
}

/// Everything that the aggregate can become can be kept, and comes back as it was:
/// the constraints forbid nothing that the domain allows.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_a_checkout_becomes_is_kept() {
    let leasing = Leasing::open().await;
    let location = run(leasing.shop.database(), async |uow| {
        uow.pickup_locations()
            .insert(&lessor_domain::ports::NewPickupLocation {
                organization_id: leasing.shop.organization.id,
                name: "Depot".parse().unwrap(),
                address: leasing.shop.make.address(),
            })
            .await
    })
    .await
    .unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..160_u64 {
        let mut chance = Chance(seed);
        let start = match seed % 8 {
            0 => Lifecycle::WaitlistedAfterProfile,
            1 => Lifecycle::WaitlistedLocation,
            // Few come so far by chance.
            2 => Lifecycle::OrderConfirmed,
            3 => Lifecycle::LeaseActive,
            _ => Lifecycle::Created,
        };
        let customer = somebody(&leasing.shop).await;
        let make = &leasing.shop.make;
        let frozen = quote(
            leasing.variant.price,
            lessor_domain::percentage::Percentage::ZERO,
            &leasing.term.card,
        )
        .unwrap();
        let mut checkout = make
            .checkout(&customer, &leasing.variant)
            .term(&leasing.term)
            .at(start)
            .with(|it| it.quote = Some(frozen))
            .build();
        insert(leasing.shop.database(), &checkout).await;
        for step in 0..24_u32 {
            seen.insert(checkout.lifecycle());
            let arrows: Vec<_> = arrows_from(checkout.lifecycle())
                // Endings are rare: they would keep most checkouts from coming far.
                .filter(|arrow| !arrow.to.is_ended() || chance.next().is_multiple_of(12))
                .collect();
            if arrows.is_empty() {
                break;
            }
            let arrow = arrows[usize::try_from(chance.next()).unwrap() % arrows.len()];
            let at = make.tick();
            let event = event(
                arrow.event,
                &mut chance,
                seed * 100 + u64::from(step),
                at,
                location.id,
            );
            let by = Circumstances::new(at, Actor::System);
            let Ok(applied) = checkout.apply(event, &by, &Facts::NONE) else {
                continue;
            };
            run(leasing.shop.database(), async |uow| {
                uow.checkouts().update(&mut checkout).await?;
                uow.checkouts()
                    .record(checkout.id, &applied.transitions)
                    .await
            })
            .await
            .unwrap();
            assert_eq!(
                leasing.get(&checkout).await.unwrap().as_ref(),
                Some(&checkout)
            );
        }
    }
    let unseen: Vec<_> = Lifecycle::ALL
        .iter()
        .filter(|state| !seen.contains(state))
        .collect();
    assert!(unseen.is_empty(), "never reached: {unseen:?}");
}

/// Vigna's splitmix64: chance that is the same in every run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn flip(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }
}

fn card() -> PaymentMethod {
    PaymentMethod {
        id: "pm_1".to_owned(),
        kind: "card".to_owned(),
        brand: Some("visa".to_owned()),
        last4: None,
        exp_month: Some(12),
        exp_year: Some(2031),
    }
}

fn event(
    kind: EventKind,
    chance: &mut Chance,
    number: u64,
    at: Timestamp,
    location: lessor_domain::ids::PickupLocationId,
) -> Event {
    let refusal = || Refusal {
        code: "card_declined".to_owned(),
        message: "Your card was declined.".to_owned(),
    };
    let authorized = |stock, method| Event::DepositAuthorized {
        payment_intent_id: format!("pi_{number}"),
        expires_at: at + TimeDelta::days(7),
        method,
        stock,
    };
    let method = chance.flip().then(card);
    let stock = if chance.flip() {
        StockTaken::Taken
    } else {
        StockTaken::Untracked
    };
    match kind {
        EventKind::Opened => Event::Opened,
        EventKind::ProfileCompleted => Event::ProfileCompleted,
        EventKind::IdentityRequested => Event::IdentityRequested,
        EventKind::IdentityStarted => Event::IdentityStarted,
        EventKind::IdentitySubmitted => Event::IdentitySubmitted,
        EventKind::IdentityAbandoned => Event::IdentityAbandoned,
        EventKind::IdentityVerified => Event::IdentityVerified,
        EventKind::IdentityRefused => Event::IdentityRefused,
        EventKind::Qualified => Event::Qualified,
        EventKind::QualificationRefused => Event::QualificationRefused,
        EventKind::PickupChosen => Event::PickupChosen,
        EventKind::ShippingChosen => Event::ShippingChosen,
        EventKind::ShippingAddressGiven => Event::ShippingAddressGiven {
            address: lessor_domain::testing::Fixtures::default().address(),
        },
        EventKind::PickupLocationGiven => Event::PickupLocationGiven { location },
        EventKind::LeaseAccepted => Event::LeaseAccepted,
        EventKind::DepositSubmitted => Event::DepositSubmitted {
            method: method.map(|method| method.id),
        },
        EventKind::DepositAuthorized => authorized(stock, method),
        EventKind::DepositAuthorizedWithoutStock => authorized(StockTaken::NoneLeft, method),
        EventKind::DepositRefused => Event::DepositRefused(refusal()),
        EventKind::PaymentMethodSaved => Event::PaymentMethodSaved(card()),
        EventKind::DocumentsSigned => Event::DocumentsSigned,
        EventKind::DepositCaptured => Event::DepositCaptured {
            invoice_id: format!("in_{number}"),
            at,
        },
        EventKind::CaptureRefused => Event::CaptureRefused(refusal()),
        EventKind::CaptureRetried => Event::CaptureRetried,
        EventKind::AuthorizationLapsed => Event::AuthorizationLapsed,
        EventKind::AddendumsRequested => Event::AddendumsRequested,
        EventKind::AddendumsSigned => Event::AddendumsSigned,
        EventKind::Fulfilled => Event::Fulfilled {
            tracking: chance.flip().then(tracking),
        },
        EventKind::FulfillmentFailed => Event::FulfillmentFailed {
            reason: Some("damaged".parse().unwrap()),
        },
        EventKind::OrderResumed => Event::OrderResumed,
        EventKind::ShipmentResumed => Event::ShipmentResumed,
        EventKind::Delivered => Event::Delivered {
            at,
            signed_by: Some("A. Lovelace".parse().unwrap()),
        },
        EventKind::SubscriptionStarted => Event::SubscriptionStarted {
            subscription_id: format!("sub_{number}"),
            start: at.date_naive(),
        },
        EventKind::ReturnInitiated => Event::ReturnInitiated {
            reason: Some("moving".parse().unwrap()),
            notes: Some("collect it\nat noon".parse().unwrap()),
        },
        EventKind::TermEnded => Event::TermEnded,
        EventKind::ReturnCancelled => Event::ReturnCancelled,
        EventKind::ReturnCompleted => Event::ReturnCompleted,
        EventKind::StockFreed => Event::StockFreed {
            stock: StockTaken::Untracked,
        },
        EventKind::AreaWidened => Event::AreaWidened,
        EventKind::Cancelled => Event::Cancelled {
            reason: Some("too dear".parse().unwrap()),
        },
        EventKind::Expired => Event::Expired,
        EventKind::SteppedBackToProfile => Event::SteppedBackToProfile,
        EventKind::SteppedBackToAddress => Event::SteppedBackToAddress,
        EventKind::SteppedBackToPickup => Event::SteppedBackToPickup,
        EventKind::SteppedBackToReview => Event::SteppedBackToReview,
    }
}

fn tracking() -> Tracking {
    Tracking {
        number: TrackingNumber::parse("1Z410E7W0392751591").unwrap(),
        carrier: Carrier::Ups,
    }
}

const SORTS: [CheckoutSort; 5] = [
    CheckoutSort::CreatedAt,
    CheckoutSort::UpdatedAt,
    CheckoutSort::Lifecycle,
    CheckoutSort::ExternalOrderId,
    CheckoutSort::LeaseStartDate,
];
const ORDERS: [SortOrder; 2] = [SortOrder::Ascending, SortOrder::Descending];

/// Checkouts with few distinct values to sort by, some without any.
async fn mixed(leasing: &Leasing, count: usize) -> Vec<Checkout> {
    let mut checkouts = Vec::new();
    let mut chance = Chance(7);
    let make = &leasing.shop.make;
    let begun = make.tick();
    for _ in 0..count {
        let customer = somebody(&leasing.shop).await;
        let day = TimeDelta::days(i64::try_from(chance.next() % 4).unwrap());
        let mut checkout = make
            .checkout(&customer, &leasing.variant)
            .term(&leasing.term)
            .with(|it| {
                it.created_at = begun + day;
                it.updated_at = begun + day;
            })
            .at(match chance.next() % 4 {
                0 => Lifecycle::Created,
                1 => Lifecycle::DepositPending,
                2 => Lifecycle::LeaseActive,
                _ => Lifecycle::Cancelled,
            });
        if chance.flip() {
            checkout = checkout.order(&format!("PO-{}", customer.user_id));
        }
        let checkout = checkout.build();
        insert(leasing.shop.database(), &checkout).await;
        checkouts.push(checkout);
    }
    checkouts
}

async fn page(
    leasing: &Leasing,
    filter: &CheckoutFilter,
    (sort, order): (CheckoutSort, SortOrder),
    start: Start,
    limit: u32,
) -> Vec<Checkout> {
    let mut view = leasing.shop.database().read().await.unwrap();
    view.checkouts()
        .list(leasing.scope(), filter, sort, order, Page { start, limit })
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_by_key_are_the_whole_list_in_order() {
    let leasing = Leasing::open().await;
    mixed(&leasing, 60).await;
    let waiting = CheckoutFilter {
        lifecycles: vec![Lifecycle::LeaseActive, Lifecycle::Cancelled],
        ..CheckoutFilter::default()
    };
    for filter in [CheckoutFilter::default(), waiting] {
        for sort in SORTS {
            for order in ORDERS {
                let by = (sort, order);
                let whole = page(&leasing, &filter, by, Start::Offset(0), 100).await;
                assert!(whole.len() > 20);
                for limit in [1, 7, 60] {
                    let mut walked: Vec<Checkout> = Vec::new();
                    let mut start = Start::Offset(0);
                    loop {
                        let next = page(&leasing, &filter, by, start, limit).await;
                        let Some(last) = next.last() else { break };
                        start = Start::After(last.id.as_uuid());
                        walked.extend(next);
                    }
                    assert_eq!(walked, whole, "{sort:?} {order:?} by {limit}");
                }
                let behind = page(&leasing, &filter, by, Start::Offset(20), 100).await;
                assert_eq!(behind.as_slice(), whole.get(20..).unwrap());
            }
        }
    }
}

/// What comes and goes between two pages moves nobody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_neither_skip_nor_repeat_while_the_list_changes() {
    let leasing = Leasing::open().await;
    let there = mixed(&leasing, 40).await;
    let by = (CheckoutSort::CreatedAt, SortOrder::Descending);
    let all = CheckoutFilter::default();
    let (mut walked, mut start) = (Vec::new(), Start::Offset(0));
    loop {
        let next = page(&leasing, &all, by, start, 5).await;
        let Some(last) = next.last() else { break };
        start = Start::After(last.id.as_uuid());
        walked.extend(next.iter().map(|checkout| checkout.id));
        // Newer ones arrive, which would push a page by offset on.
        mixed(&leasing, 1).await;
    }
    assert_eq!(distinct(walked.clone()), walked.len(), "repeated");
    for checkout in there {
        assert!(walked.contains(&checkout.id), "skipped {}", checkout.id);
    }
}

#[tokio::test]
async fn nothing_comes_after_what_is_not_there() {
    let leasing = Leasing::open().await;
    mixed(&leasing, 3).await;
    let live = leasing.checkout().live().build();
    insert(leasing.shop.database(), &live).await;
    let by = (CheckoutSort::CreatedAt, SortOrder::Ascending);
    for foreign in [uuid::Uuid::from_u128(1), live.id.as_uuid()] {
        let start = Start::After(foreign);
        let found = page(&leasing, &CheckoutFilter::default(), by, start, 10).await;
        assert_eq!(found, Vec::new());
    }
}

/// What no binary of ours writes is an error that says where it is.
#[tokio::test]
async fn corrupt_rows_are_named() {
    let leasing = Leasing::open().await;
    let checkout = leasing.kept(leasing.checkout()).await;
    let uuid = checkout.id.as_uuid();
    let is_corrupt = async |sql: &str, table: &str, column: &str, row: &str| {
        leasing.shop.test.execute(sql).await;
        match leasing.get(&checkout).await {
            Err(StoreError::Corrupt {
                table: found,
                column: place,
                row: id,
                ..
            }) => assert_eq!((found, place, id.as_str()), (table, column, row), "{sql}"),
            other => panic!("{sql}: {other:?}"),
        }
    };
    let id = checkout.id.to_string();
    let item = checkout.items[0].id.to_string();
    for (change, column) in [
        ("quote = '{\"term\": 12}'", "quote"),
        ("quote = null, purchase_items = '{}'", "purchase_items"),
        (
            "purchase_items = '[]', redirects = '{\"success\": \"gopher://x\"}'",
            "redirects",
        ),
        ("redirects = '{}', billing = '{\"locked\": 1}'", "billing"),
        (
            "billing = '{\"locked\": false}', return_reason = E'a\\x01b'",
            "return_reason",
        ),
    ] {
        let sql = format!("update checkouts set {change} where id = '{uuid}'");
        is_corrupt(&sql, "checkouts", column, &id).await;
    }
    let sql = format!(
        "update checkouts set return_reason = null where id = '{uuid}'; \
         update checkout_items set sku = ' ' where checkout_id = '{uuid}'"
    );
    is_corrupt(&sql, "checkout_items", "sku", &item).await;
    let sql = "update checkout_items set sku = 'A'; \
         alter table checkouts drop constraint checkouts_lifecycle_check; \
         update checkouts set lifecycle = 'lost'";
    is_corrupt(sql, "checkouts", "lifecycle", &id).await;
}

/// Adding a state or an event without telling the database is found here.
#[tokio::test]
async fn the_database_knows_every_value() {
    let leasing = Leasing::open().await;
    let test = &leasing.shop.test;
    let lifecycles = || Lifecycle::ALL.iter().map(|it| it.as_str());
    let names = async |sql: String| -> Vec<String> {
        let found = test.query(&sql).await;
        let text = found.first().unwrap_or_else(|| panic!("{sql}"));
        let mut names: Vec<String> = text
            .split('\'')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        names.sort();
        names
    };
    let check = |name: &str| {
        format!("select pg_get_constraintdef(oid) from pg_constraint where conname = '{name}'")
    };
    let sorted = |names: Vec<&str>| {
        let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        names.sort();
        names
    };
    for (constraint, values) in [
        ("checkouts_lifecycle_check", lifecycles().collect()),
        ("checkouts_previous_lifecycle_check", lifecycles().collect()),
        (
            "checkout_transitions_from_lifecycle_check",
            lifecycles().collect(),
        ),
        (
            "checkout_transitions_to_lifecycle_check",
            lifecycles().collect(),
        ),
        (
            "checkout_transitions_event_check",
            EventKind::ALL.iter().map(|it| it.as_str()).collect(),
        ),
        (
            "checkout_transitions_actor_check",
            Actor::ALL.iter().map(|it| it.as_str()).collect(),
        ),
        (
            "outbox_jobs_effect_check",
            lessor_domain::checkout::Effect::ALL
                .iter()
                .map(|it| it.as_str())
                .collect::<Vec<_>>(),
        ),
        (
            "outbox_jobs_state_check",
            lessor_domain::ports::JobState::ALL
                .iter()
                .map(|it| it.as_str())
                .collect(),
        ),
        (
            "checkouts_waitlist_reason_check",
            WaitlistReason::ALL.iter().map(|it| it.as_str()).collect(),
        ),
        (
            "checkouts_tracking_carrier_check",
            Carrier::ALL.iter().map(|it| it.as_str()).collect(),
        ),
        (
            "tracking_events_status_check",
            lessor_domain::fulfillment::TrackingStatus::ALL
                .iter()
                .map(|it| it.as_str())
                .collect(),
        ),
        (
            "tracking_events_origin_check",
            lessor_domain::fulfillment::EventOrigin::ALL
                .iter()
                .map(|it| it.as_str())
                .collect(),
        ),
    ] {
        assert_eq!(
            names(check(constraint)).await,
            sorted(values),
            "{constraint}"
        );
    }
    let states = |fits: fn(Lifecycle) -> bool| {
        let states = Lifecycle::ALL.iter().filter(|state| fits(**state));
        sorted(states.map(|state| state.as_str()).collect())
    };
    let predicate = |name: &str| {
        format!(
            "select pg_get_expr(indpred, indrelid) from pg_index where indexrelid = '{name}'::regclass"
        )
    };
    let expires = |it: Lifecycle| {
        matches!(
            it.phase(),
            Phase::Application | Phase::Payment | Phase::Waitlist
        )
    };
    for (index, states) in [
        ("checkouts_open_key", states(Lifecycle::is_ended)),
        ("checkouts_tracking_idx", states(Lifecycle::is_ended)),
        ("checkouts_that_lapse_idx", states(Lifecycle::is_ended)),
        ("checkouts_that_expire_idx", states(expires)),
    ] {
        assert_eq!(names(predicate(index)).await, states, "{index}");
    }
}

#[tokio::test]
async fn history_cannot_be_rewritten() {
    let leasing = Leasing::open().await;
    let mut checkout = leasing.kept(leasing.checkout()).await;
    let by = Circumstances::new(leasing.shop.make.tick(), Actor::Customer);
    let applied = checkout.apply(Event::Opened, &by, &Facts::NONE).unwrap();
    run(leasing.shop.database(), async |uow| {
        uow.checkouts()
            .record(checkout.id, &applied.transitions)
            .await
    })
    .await
    .unwrap();
    for change in [
        "update checkout_transitions set actor = ''system''",
        "delete from checkout_transitions",
        "truncate checkout_transitions",
    ] {
        // Fails unless the change is refused.
        let sql = format!(
            "do $$ begin
                execute '{change}';
                raise exception using errcode = 'raise_exception';
            exception when integrity_constraint_violation then null;
            end $$"
        );
        leasing.shop.test.execute(&sql).await;
    }
    let mut view = leasing.shop.database().read().await.unwrap();
    let history = view.checkouts().history(checkout.id).await.unwrap();
    let kept: Vec<_> = history.into_iter().map(|it| it.transition).collect();
    assert_eq!(kept, applied.transitions);
}

#[tokio::test]
async fn the_open_checkout_and_the_order_are_found_in_their_own_scope() {
    let leasing = Leasing::open().await;
    let checkout = leasing.kept(leasing.checkout().order("PO-1")).await;
    let order: ExternalId = "PO-1".parse().unwrap();
    let mut view = leasing.shop.database().read().await.unwrap();
    let live = lessor_domain::ports::Scope {
        mode: lessor_domain::access::Mode::Live,
        ..leasing.scope()
    };
    for (scope, there) in [(leasing.scope(), true), (live, false)] {
        assert_eq!(
            view.checkouts()
                .has_external_order(scope, &order)
                .await
                .unwrap(),
            there
        );
        let open = view
            .checkouts()
            .find_open(
                scope,
                leasing.customer.id,
                leasing.variant.id,
                Some(leasing.term.id),
            )
            .await
            .unwrap();
        assert_eq!(open.map(|open| open.id), there.then_some(checkout.id));
    }
}
