//! Checkouts under races, in pages, in every state, and when rows are not what
//! they must be.

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::audit::{AuditActorKind, AuditArea};
use lessor_domain::checkout::{
    Actor, Checkout, Circumstances, Effect, Event, Facts, InsuranceStatus, Lifecycle, Standing,
    Transition, WaitlistReason, arrows_from,
};
use lessor_domain::ledger::{EntryKind, HoldState, RefundState, SubscriptionState};
use lessor_domain::organization::NotServed;
use lessor_domain::ports::{
    CheckoutFilter, CheckoutSort, Database, InboxState, InsertedCheckout, JobState, Page,
    SortOrder, Start, StoreError, UniqueField,
};
use lessor_domain::shipments::{Carrier, EventOrigin, TrackingStatus};
use lessor_domain::testing::{Details, event};
use lessor_domain::text::ExternalId;

use super::leasing::{Leasing, RACERS, distinct, insert, race, somebody, somebody_in, wide};

use super::support::{skipped_on_a_cluster, until_somebody_waits};

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
                let mut uow = database.begin(checkout.organization_id.into()).await?;
                let inserted = uow.checkouts().insert(&checkout, &[]).await?;
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
            let mut uow = database.begin(checkout.organization_id.into()).await?;
            let inserted = uow.checkouts().insert(&checkout, &[]).await?;
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
    let mut uow = leasing.shop.begin().await;
    let refused = uow.checkouts().insert(&second, &[]).await;
    assert!(matches!(
        refused,
        Err(StoreError::Conflict(UniqueField::ExternalOrderId))
    ));
    assert_eq!(
        uow.checkouts().insert(&other, &[]).await.unwrap(),
        InsertedCheckout::New
    );
    uow.commit().await.unwrap();
    assert_eq!(leasing.get(&other).await.unwrap(), Some(other));
}

/// Whoever inserts while the first is not committed waits for it, and is then
/// answered the first, or gets through when the first was called off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_insert_waits_for_one_that_is_not_committed() {
    if skipped_on_a_cluster("it looks into one server") {
        return;
    }
    let leasing = Leasing::open().await;
    for commits in [false, true] {
        let database = leasing.shop.database();
        let first = leasing.checkout().build();
        let second = leasing.checkout().build();
        let mut uow = leasing.shop.begin().await;
        uow.checkouts().insert(&first, &[]).await.unwrap();
        let waiting = tokio::spawn({
            let (database, second) = (database.clone(), second.clone());
            async move {
                let mut uow = database.begin(second.organization_id.into()).await.unwrap();
                let inserted = uow.checkouts().insert(&second, &[]).await.unwrap();
                uow.commit().await.unwrap();
                inserted
            }
        });
        until_somebody_waits(&leasing.shop.test).await;
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
    // Where the events let goods be picked up: the first of the database.
    leasing
        .shop
        .run(async |uow| {
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
    for seed in 0..320_u32 {
        let mut chance = Chance(seed.into());
        let start = match seed % 8 {
            0 => Lifecycle::WaitlistedAfterProfile,
            1 => Lifecycle::WaitlistedLocation,
            // Few come so far by chance.
            2 => Lifecycle::OrderConfirmed,
            3 => Lifecycle::LeaseActive,
            4 => Lifecycle::DepositProcessing,
            _ => Lifecycle::Created,
        };
        let customer = somebody(&leasing.shop).await;
        let make = &leasing.shop.make;
        let mut checkout = make
            .checkout(&customer, &leasing.variant)
            .term(&leasing.term)
            .at(start)
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
            let details = Details {
                tracked: chance.flip(),
                reusable: chance.flip(),
                number: seed * 100 + step,
            };
            let event = event(arrow.event, details, &checkout, make, at);
            let actors = arrow.event.actors();
            let actor = actors[usize::try_from(chance.next()).unwrap() % actors.len()];
            let by = Circumstances::new(at, actor);
            let Ok(applied) = checkout.apply(event, &by, &Facts::NONE) else {
                continue;
            };
            // Some know how the checkout was, and write what changed; others write it all.
            let is_locked = chance.flip();
            leasing
                .shop
                .run(async |uow| {
                    if is_locked {
                        uow.checkouts().lock(checkout.id).await?;
                    }
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
    let mut view = leasing.shop.view().await;
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
    let live = somebody_in(&leasing.shop, Mode::Live).await;
    let live = leasing.shop.make.checkout(&live, &leasing.variant).build();
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
    if skipped_on_a_cluster("it looks into one server") {
        return;
    }
    let leasing = Leasing::open().await;
    let checkout = leasing.kept(leasing.checkout()).await;
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
    let applications = "update checkout_applications set";
    for (change, column) in [
        ("quote = '{\"term\": 12}'", "quote"),
        ("quote = null, purchase_items = '{}'", "purchase_items"),
        (
            "purchase_items = '[]', redirects = '{\"success\": \"gopher://x\"}'",
            "redirects",
        ),
        ("redirects = '{}', billing = '{\"locked\": 1}'", "billing"),
    ] {
        let sql = format!("{applications} {change}");
        is_corrupt(&sql, "checkout_applications", column, &id).await;
    }
    let key = format!(
        "select organization_id, id, {{}} from checkouts where id = '{}'",
        checkout.id.as_uuid()
    );
    let with = |values: &str| key.replace("{}", values);
    let sql = format!(
        "{applications} billing = '{{\"locked\": false}}'; \
         insert into checkout_returns (organization_id, checkout_id, reason) {}",
        with("E'a\\x01b'")
    );
    is_corrupt(&sql, "checkout_returns", "reason", &id).await;
    let sql = format!(
        "delete from checkout_returns; \
         alter table checkout_deposits drop constraint checkout_deposits_is_whole_check; \
         insert into checkout_deposits (organization_id, checkout_id, mode, state, lapses) {}",
        with("mode, 'captured', false")
    );
    is_corrupt(&sql, "checkout_deposits", "state", &id).await;
    let sql = format!(
        "delete from checkout_deposits; \
         alter table checkout_billing drop constraint checkout_billing_is_whole_check; \
         insert into checkout_billing \
         (organization_id, checkout_id, mode, state, subscription_id, paid_cycles, failure_count) {}",
        with("mode, 'active', 'sub_1', 0, 0")
    );
    is_corrupt(&sql, "checkout_billing", "state", &id).await;
    let sql = "delete from checkout_billing; update checkouts set attention = '[{}]'";
    is_corrupt(sql, "checkouts", "attention", &id).await;
    let sql = "update checkouts set attention = '[]'; update checkout_items set sku = ' '";
    is_corrupt(sql, "checkout_items", "sku", &item).await;
    let sql = "update checkout_items set sku = 'A'; \
         alter table checkouts disable trigger checkouts_fit_their_parts; \
         update checkouts set (lifecycle, is_ended, expires, waits_for, may_hold_stock, is_leased) = ( \
             select name, is_ended, expires, waits_for, may_hold_stock, is_leased \
             from lifecycle_states where name = 'orderConfirmed')";
    is_corrupt(sql, "checkouts", "deposit", &id).await;
    let sql = "alter table checkouts drop constraint checkouts_lifecycle_fkey; \
         update checkouts set lifecycle = 'lost'";
    is_corrupt(sql, "checkouts", "lifecycle", &id).await;
    let sql = "delete from checkout_applications";
    is_corrupt(
        &format!("update checkouts set lifecycle = 'created'; {sql}"),
        "checkout_applications",
        "checkout_id",
        &id,
    )
    .await;
}

/// What the state asks of rows in several tables is refused at the commit.
#[tokio::test]
async fn a_state_that_its_parts_do_not_fit_is_refused() {
    if skipped_on_a_cluster("it looks into one server") {
        return;
    }
    let leasing = Leasing::open().await;
    let checkout = leasing.kept(leasing.checkout()).await;
    let move_to = |state: &str| {
        format!(
            "update checkouts set lease_start = ''2026-01-01'', waiting_since = now(), \
             (lifecycle, is_ended, expires, waits_for, may_hold_stock, is_leased) = ( \
                 select name, is_ended, expires, waits_for, may_hold_stock, is_leased \
                 from lifecycle_states where name = ''{state}'')"
        )
    };
    let refuses = async |before: &str, change: &str, problem: &str| {
        // Fails unless the change is refused for the problem, and leaves nothing behind.
        let sql = format!(
            "do $$ declare told text; begin
                {before};
                execute '{change}';
                set constraints all immediate;
                raise exception using errcode = 'raise_exception', message = 'was not refused';
            exception when check_violation then
                get stacked diagnostics told = message_text;
                if told not like '%{problem}' then raise; end if;
            end $$"
        );
        leasing.shop.test.execute(&sql).await;
    };
    let settled = "insert into checkout_deposits (organization_id, checkout_id, mode, state, lapses) \
         select organization_id, id, mode, 'waived', false from checkouts";
    let held = "insert into checkout_deposits (organization_id, checkout_id, mode, state, \
             payment_intent_id, hold_expires_at, renewals_made, renewals_refused, renewal_is_barred, \
             lapses) \
         select organization_id, id, mode, 'authorized', 'pi_1', now(), 0, 0, false, true from checkouts";
    let sent = "insert into checkout_shipments (organization_id, checkout_id, shipped_at, is_under_way) \
         select organization_id, id, now(), true from checkouts";
    let priced = "update checkout_applications set quote = '{}'";
    let touched = "update checkouts set updated_at = now()";
    for (before, change, problem) in [
        (
            "null",
            move_to("waitlistedLocation"),
            "its wait does not say",
        ),
        (
            "null",
            move_to("orderConfirmed"),
            "neither captured nor waived",
        ),
        (settled, move_to("shipped"), "when it was shipped"),
        (settled, move_to("leaseActive"), "price is not frozen"),
        (
            &format!("{settled}; {priced}"),
            move_to("leaseActive"),
            "subscription was not asked for",
        ),
        (held, move_to("cancelled"), "whether it lapses"),
        (sent, touched.to_owned(), "whether it is under way"),
    ] {
        refuses(before, &change, problem).await;
    }
    assert_eq!(leasing.get(&checkout).await.unwrap(), Some(checkout));
}

/// A move writes the row of the checkout, and of its parts those that it changed.
#[tokio::test]
async fn a_write_leaves_the_parts_alone_that_stay() {
    let leasing = Leasing::open().await;
    let mut checkout = leasing
        .kept(leasing.checkout().at(Lifecycle::LeaseActive))
        .await;
    let tables = [
        "checkouts",
        "checkout_applications",
        "checkout_items",
        "checkout_deposits",
        "checkout_billing",
        "checkout_shipments",
        "checkout_returns",
    ];
    // Each version of a row says which transaction wrote it.
    let writers = async || {
        let mut writers = Vec::new();
        for table in tables {
            let sql = format!("select coalesce(max(xmin::text::bigint), 0) from {table}");
            writers.push(leasing.shop.test.query(&sql).await.remove(0));
        }
        writers
    };
    let before = writers().await;
    let by = Circumstances::new(leasing.shop.make.tick(), Actor::Operator);
    leasing
        .shop
        .run(async |uow| {
            checkout = uow.checkouts().lock(checkout.id).await?.unwrap();
            checkout
                .apply(
                    Event::ReturnInitiated {
                        reason: None,
                        notes: None,
                    },
                    &by,
                    &Facts::NONE,
                )
                .unwrap();
            uow.checkouts().update(&mut checkout).await
        })
        .await
        .unwrap();
    let after = writers().await;
    let written: Vec<_> = tables
        .iter()
        .zip(before.iter().zip(&after))
        .filter(|(_, (before, after))| before != after)
        .map(|(table, _)| *table)
        .collect();
    assert_eq!(written, ["checkouts", "checkout_returns"]);
    assert_eq!(leasing.get(&checkout).await.unwrap(), Some(checkout));
}

/// Adding a value without telling the database is found here.
#[tokio::test]
async fn the_database_knows_every_value() {
    fn names<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str) -> Vec<String> {
        let mut names: Vec<String> = all.iter().map(|value| name(*value).to_owned()).collect();
        names.sort();
        names
    }
    /// The check names the kind that it is of.
    fn of_kind(kind: EntryKind, mut states: Vec<String>) -> Vec<String> {
        states.push(kind.to_string());
        states.sort();
        states
    }
    let leasing = Leasing::open().await;
    let carriers = names(Carrier::ALL, Carrier::as_str);
    let statuses = names(TrackingStatus::ALL, TrackingStatus::as_str);
    for (constraint, values) in [
        (
            "checkout_transitions_actor_check",
            names(Actor::ALL, Actor::as_str),
        ),
        (
            "audit_events_area_check",
            names(AuditArea::ALL, AuditArea::as_str),
        ),
        (
            "audit_events_actor_kind_check",
            names(AuditActorKind::ALL, AuditActorKind::as_str),
        ),
        ("jobs_effect_check", names(Effect::ALL, Effect::as_str)),
        ("jobs_state_check", names(JobState::ALL, JobState::as_str)),
        (
            "inbox_messages_state_check",
            names(InboxState::ALL, InboxState::as_str),
        ),
        (
            "checkout_billing_standing_check",
            names(Standing::ALL, Standing::as_str),
        ),
        (
            "ledger_entries_kind_check",
            names(EntryKind::ALL, EntryKind::as_str),
        ),
        (
            "ledger_entries_hold_state_check",
            of_kind(EntryKind::Hold, names(HoldState::ALL, HoldState::as_str)),
        ),
        (
            "ledger_entries_subscription_state_check",
            of_kind(
                EntryKind::Subscription,
                names(SubscriptionState::ALL, SubscriptionState::as_str),
            ),
        ),
        (
            "ledger_entries_refund_state_check",
            of_kind(
                EntryKind::Refund,
                names(RefundState::ALL, RefundState::as_str),
            ),
        ),
        (
            "checkouts_insurance_status_check",
            names(InsuranceStatus::ALL, InsuranceStatus::as_str),
        ),
        (
            "checkout_waits_reason_check",
            names(WaitlistReason::ALL, WaitlistReason::as_str),
        ),
        (
            "checkout_waits_reason_code_check",
            names(NotServed::ALL, NotServed::as_str),
        ),
        (
            "checkout_shipments_tracking_carrier_check",
            carriers.clone(),
        ),
        ("checkout_shipments_tracking_status_check", statuses.clone()),
        ("tracking_events_carrier_check", carriers),
        ("tracking_events_status_check", statuses),
        (
            "tracking_events_origin_check",
            names(EventOrigin::ALL, EventOrigin::as_str),
        ),
    ] {
        let found = leasing
            .shop
            .test
            .query(&format!(
                "select pg_get_constraintdef(oid) from pg_constraint where conname = '{constraint}'"
            ))
            .await;
        let text = found.first().unwrap_or_else(|| panic!("{constraint}"));
        let mut known: Vec<String> = text
            .split('\'')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        known.sort();
        assert_eq!(known, values, "{constraint}");
    }
}

#[tokio::test]
async fn history_cannot_be_rewritten() {
    let leasing = Leasing::open().await;
    let mut checkout = leasing.kept(leasing.checkout()).await;
    let by = Circumstances {
        reason: Some("Ada asked for it".parse().unwrap()),
        ..Circumstances::new(leasing.shop.make.tick(), Actor::Customer)
    };
    let by = by.with_key(leasing.shop.make.id());
    let applied = checkout.apply(Event::Opened, &by, &Facts::NONE).unwrap();
    leasing
        .shop
        .run(async |uow| {
            uow.checkouts()
                .record(checkout.id, &applied.transitions)
                .await
        })
        .await
        .unwrap();
    for change in [
        "update checkout_transitions set actor = ''system''",
        "update checkout_transitions set reason = ''another''",
        "update checkout_transitions set reason = reason",
        "update checkout_transitions set reason = null, key_id = null",
        "update checkout_transitions set reason = null, actor = ''system''",
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
    let mut view = leasing.shop.view().await;
    let history = view.checkouts().history(checkout.id).await.unwrap();
    let kept: Vec<_> = history.into_iter().map(|it| it.transition).collect();
    assert_eq!(kept, applied.transitions);
    assert!(
        kept.iter()
            .any(|it| it.reason.is_some() && it.key.is_some())
    );
    // What somebody wrote about a customer may be taken away, and nothing else with it.
    leasing
        .shop
        .test
        .execute("update checkout_transitions set reason = null")
        .await;
    let mut view = leasing.shop.view().await;
    let history = view.checkouts().history(checkout.id).await.unwrap();
    let left: Vec<_> = history.into_iter().map(|it| it.transition).collect();
    let expected: Vec<_> = kept
        .into_iter()
        .map(|it| Transition { reason: None, ..it })
        .collect();
    assert_eq!(left, expected);
}

#[tokio::test]
async fn the_open_checkout_and_the_order_are_found_in_their_own_scope() {
    let leasing = Leasing::open().await;
    let checkout = leasing.kept(leasing.checkout().order("PO-1")).await;
    let order: ExternalId = "PO-1".parse().unwrap();
    let mut view = leasing.shop.view().await;
    let live = lessor_domain::ports::Scope {
        mode: Mode::Live,
        ..leasing.scope()
    };
    for (scope, there) in [(leasing.scope(), true), (live, false)] {
        assert_eq!(
            view.checkouts()
                .find_by_external_order(scope, &order)
                .await
                .unwrap()
                .is_some(),
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
