//! Which index each look-up goes by, as the server counts it: a condition that does not imply a
//! partial index's is answered all the same, and slower with each checkout that has ended.

use std::time::Duration;

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::audit::AuditViewer;
use lessor_domain::catalog::VariantFilter;
use lessor_domain::checkout::{
    Attention, AttentionReason, Billing, Checkout, Effect, Lifecycle, Tracking, WaitlistReason,
};
use lessor_domain::events::EventSubject;
use lessor_domain::ids::ProductVariantPubId;
use lessor_domain::ledger::{Entry, HoldState, Thing};
use lessor_domain::metadata::Metadata;
use lessor_domain::money::{Currency, Money};
use lessor_domain::ports::{
    AuditFilter, CheckoutFilter, CheckoutSort, CustomerFilter, Database, Doors, Errand,
    EventFilter, IdGenerator, InboxMessage, JobSubject, NewJob, Page, PageToken, ProductFilter,
    ProductSort, SortOrder, Start, StoreError, UnitOfWork,
};
use lessor_domain::shipments::Carrier;
use lessor_domain::testing::metadata;
use lessor_domain::time::Timestamp;

use super::leasing::{Leasing, insert, somebody};
use super::scans::read_whole;
use super::support::{Patience, pool, skipped_on_a_cluster};

/// As a shop is after years: nearly all checkouts have ended, each with a deposit that was held. No
/// trigger fires meanwhile: what triggers keep is written out.
const YEARS: &str = "
    set session_replication_role = replica;
    create temporary table old as
        select c.organization_id, gen_random_uuid() as id, c.mode, c.customer_id, c.user_id,
            c.product_id, c.variant_id, l.name as lifecycle, l.is_ended, l.expires, l.waits_for,
            l.may_hold_stock, l.is_leased, c.created_at - i * interval '1 hour' as at, i
        from checkouts c, generate_series(1, 3000) i, lifecycle_states l
        where c.lifecycle = 'created' and l.name = 'cancelled';
    insert into checkouts (organization_id, id, mode, customer_id, user_id, product_id, variant_id,
            lifecycle, is_ended, expires, waits_for, may_hold_stock, is_leased, insurance_status,
            holds_stock, acted_at, created_at, updated_at, version)
        select organization_id, id, mode, customer_id, user_id, product_id, variant_id, lifecycle,
            is_ended, expires, waits_for, may_hold_stock, is_leased, 'pending', false, at, at, at, 1
        from old;
    insert into checkout_items (organization_id, id, checkout_id, position, variant_id, sku, name)
        select organization_id, gen_random_uuid(), id, 0, variant_id, 'OLD', 'Old' from old;
    insert into checkout_applications (organization_id, checkout_id, purchase_items, redirects,
            billing, shipping, page_nonce)
        select old.organization_id, old.id, a.purchase_items, a.redirects, a.billing, a.shipping, uuid_send(old.id)
        from old, checkout_applications a;
    insert into ended_checkout_links (organization_id, page_nonce, checkout_id, ended_at)
        select organization_id, uuid_send(id), id, at from old;
    insert into checkout_metadata (organization_id, checkout_id, key, value)
        select organization_id, id, 'line', i::text from old;
    insert into checkout_purchases (organization_id, variant_id, checkout_id)
        select organization_id, 'pvar_' || i, id from old;
    insert into checkout_deposits (organization_id, checkout_id, mode, state, payment_intent_id,
            hold_expires_at, renewals_made, renewals_refused, renewal_is_barred, lapses)
        select organization_id, id, mode, 'authorized', 'pi_' || id, at, 0, 0, false, false from old;
    insert into checkout_billing (organization_id, checkout_id, mode, state, method, paid_cycles,
            failure_count)
        select organization_id, id, mode, 'notRequested', null, 0, 0 from old;
    insert into checkout_shipments (organization_id, checkout_id, tracking_number,
            tracking_carrier, heard_at, shipped_at, is_under_way)
        select organization_id, id, '1Z' || id, 'ups', at, at, false from old;
    insert into ledger_entries (organization_id, mode, id, checkout_id, kind, state, amount,
            currency, at, ends_at)
        select organization_id, mode, 'pi_' || id, id, 'hold', 'released', 1, 'USD', at, at
        from old;
    insert into ledger_entries (organization_id, mode, id, checkout_id, kind, state, amount,
            currency, at, subscription_id, is_cycle, payment_intent_id)
        select organization_id, mode, 'in_' || id, id, 'invoice', 'paid', 1, 'USD', at, 'sub_' || id,
            true, 'pi_in_' || id
        from old;
    insert into jobs (organization_id, id, effect, subject_kind, subject_id, mode,
            created_at, available_at, state, attempts, done_at)
        select organization_id, gen_random_uuid(), 'voidDeposit', 'checkout', id, mode, at, at,
            case when i % 9 = 0 then 'skipped' else 'done' end, 1, at
        from old;
    insert into inbox_messages (source, id, mode, body, received_at, state, due_at, handled_at)
        select 'processor', 'evt_' || id, mode, '{}', at, 'handled', at, at from old;
    insert into idempotency_answers (organization_id, key_hash, mode, path, key, request_hash, status,
            body, is_existing, is_final, created_at)
        select organization_id, sha256(id::text::bytea), mode, 'POST /v1/checkouts', id::text,
            sha256(''), 201, '', false, true, at
        from old;
    insert into audit_events (organization_id, id, at, area, actor_kind, actor_id, action, subject,
            before, after)
        select organization_id, id, at, case when i % 100 = 0 then 'sandbox' else 'live' end,
            'provider', 'verifier ' || i, 'customer.screened', 'usr_' || i, '{}', '{}'
        from old;
    insert into events (organization_id, id, mode, sequence, event_type, subject_type, subject_id, created_at,
            customer_id)
        select organization_id, id, mode, i, 'checkout.updated', 'checkout', id, at, customer_id from old;
    insert into event_feeds (organization_id, mode, last_sequence)
        select organization_id, mode, max(i) from old group by organization_id, mode
        on conflict (organization_id, mode) do update set last_sequence = excluded.last_sequence;
    insert into unnumbered_events (organization_id, id, mode, event_type, subject_type, subject_id, created_at,
            customer_id)
        select organization_id, gen_random_uuid(), mode, 'checkout.updated', 'checkout', id, at, customer_id from old;
    insert into products (organization_id, id, name, description, options, price, currency, source,
            product_type, review_status, status, is_waitlisted, ignore_upstream_updates, search_text,
            search_grams, created_at, updated_at, version)
        select organization_id, id, 'Chair ' || i, '', '[]', 1, 'USD', 'manual', 'leasable',
            'approved', 'active', false, false, 'chair ' || i, array[i], at, at, 1
        from old;
    insert into product_metadata (organization_id, product_id, key, value)
        select organization_id, id, 'line', i::text from old;
    insert into product_search_pieces (organization_id, piece, product_id)
        select organization_id, i, id from old;
    insert into product_variants (organization_id, id, product_id, name, description, options,
            combination, price, currency, images, sku, status, is_waitlisted, search_text,
            search_grams, created_at, updated_at, version)
        select organization_id, id, id, 'Chair', '', '[]', sha256(id::text::bytea), 1, 'USD', '{}',
            'CH-' || i, 'active', false, 'ch-' || i, array[i], at, at, 1
        from old;
    insert into variant_search_pieces (organization_id, piece, variant_id)
        select organization_id, i, id from old;
    insert into customers (organization_id, id, mode, email, email_folded, identity,
            verification_session_id, credit, created_at, updated_at, version)
        select organization_id, id, mode, id || '@example.com', id || '@example.com', 'none',
            'vs_' || i, 'unknown', at, at, 1
        from old;
    insert into customer_metadata (organization_id, customer_id, key, value)
        select organization_id, id, 'line', i::text from old;
    analyze";

const INDEXES: &[&str] = &[
    "checkouts_id_idx",
    "checkouts_open_key",
    "checkouts_customer_id_idx",
    "checkouts_that_need_attention_idx",
    "checkouts_of_a_state_idx",
    "checkouts_that_wait_idx",
    "checkouts_that_expire_idx",
    "checkouts_whose_lease_ends_idx",
    "checkouts_waiting_for_stock_idx",
    "checkouts_waiting_for_location_idx",
    "checkout_applications_page_nonce_idx",
    "ended_checkout_links_page_nonce_idx",
    "checkout_purchases_pkey",
    "checkout_metadata_entries_idx",
    "customers_created_at_idx",
    "customers_verification_session_idx",
    "customer_metadata_entries_idx",
    "product_metadata_entries_idx",
    "product_search_pieces_pkey",
    "variant_search_pieces_pkey",
    "checkout_deposits_that_lapse_idx",
    "checkout_billing_unanswered_idx",
    "checkout_billing_requested_idx",
    "checkout_shipments_tracking_idx",
    "checkout_shipments_under_way_idx",
    "checkout_shipments_silent_idx",
    "ledger_entries_checkout_id_idx",
    "ledger_entries_id_idx",
    "ledger_entries_payment_intent_id_idx",
    "ledger_entries_held_idx",
    "jobs_pending_idx",
    "jobs_open_idx",
    "jobs_id_idx",
    "jobs_done_idx",
    "audit_events_subject_idx",
    "audit_events_actor_id_idx",
    "audit_events_of_sandbox_idx",
    "unnumbered_events_pkey",
    "events_sequence_key",
    "events_subject_id_idx",
    "idempotency_answers_created_at_idx",
    "inbox_messages_by_state_idx",
];

/// Those that run, one in each state that some worker looks for.
async fn running(leasing: &Leasing) -> Vec<Checkout> {
    let mut checkouts = Vec::new();
    for state in [
        Lifecycle::DocumentsPending,
        Lifecycle::Shipped,
        Lifecycle::LeaseActive,
        Lifecycle::WaitlistedAfterProfile,
        Lifecycle::WaitlistedLocation,
    ] {
        let customer = somebody(&leasing.shop).await;
        let builder = leasing.shop.make.checkout(&customer, &leasing.variant);
        let checkout = builder
            .term(&leasing.term)
            .at(state)
            .with(|it| {
                if it.shipment.shipped_at.is_some() {
                    it.shipment.tracking = Some(Tracking {
                        number: "1Z410E7W0392751591".parse().unwrap(),
                        carrier: Carrier::Ups,
                    });
                }
                if state == Lifecycle::Shipped {
                    it.recurring.billing = Billing::Requested { at: it.created_at };
                }
                it.attention = vec![Attention {
                    reason: AttentionReason::Difference,
                    since: it.created_at,
                    detail: None,
                }];
            })
            .build();
        insert(leasing.shop.database(), &checkout).await;
        checkouts.push(checkout);
    }
    checkouts
}

/// Work, messages and money of those that run.
async fn keep_busy(leasing: &Leasing, checkouts: &[Checkout], now: Timestamp) {
    let make = &leasing.shop.make;
    let job = |checkout: &Checkout, effect| NewJob {
        id: make.ids().next(),
        effect,
        subject: JobSubject::Checkout(checkout.id),
        organization_id: checkout.organization_id,
        mode: checkout.mode,
        created_at: now,
        available_at: now,
        is_held: false,
        units: None,
    };
    leasing
        .shop
        .run(async |uow| {
            for checkout in checkouts {
                let jobs = [Effect::CaptureDeposit, Effect::VoidDeposit]
                    .map(|effect| job(checkout, effect));
                uow.jobs().push(&jobs).await?;
                uow.inbox()
                    .insert(&InboxMessage {
                        source: "processor".to_owned(),
                        id: checkout.id.to_string(),
                        mode: checkout.mode,
                        organization_id: None,
                        body: Vec::new(),
                        received_at: now,
                    })
                    .await?;
                uow.ledger()
                    .put(&Entry {
                        id: format!("pi_{}", checkout.id),
                        checkout: checkout.id,
                        amount: Money::from_minor(1, Currency::USD),
                        at: now,
                        thing: Thing::Hold {
                            state: HoldState::Held,
                            ends_at: now,
                        },
                    })
                    .await?;
            }
            Ok(())
        })
        .await
        .unwrap();
}

async fn look_for_checkouts(
    leasing: &Leasing,
    uow: &mut dyn UnitOfWork,
    shipped: &Checkout,
    now: Timestamp,
) -> Result<(), StoreError> {
    let store = uow.checkouts();
    store.get(shipped.id).await?;
    store
        .find_open(
            leasing.scope(),
            leasing.customer.id,
            leasing.variant.id,
            Some(leasing.term.id),
        )
        .await?;
    store.untouched_since(now, 10).await?;
    store.leases_ended_before(now.date_naive(), 10).await?;
    let for_stock = store
        .lock_waiting_for_stock(leasing.variant.id, Mode::Sandbox, 10)
        .await?;
    store
        .first_waiting_for_stock(leasing.variant.id, Mode::Sandbox)
        .await?;
    let for_location = store
        .waiting_for_location(leasing.shop.organization.id, None, 10)
        .await?;
    let waiting = for_stock.iter().map(|checkout| checkout.id);
    for id in waiting.chain(for_location) {
        store.place_in_line(id).await?;
    }
    store
        .find_by_page_token(&PageToken::Proven { nonce: [0; 16] })
        .await?;
    store.lapsing_before(now, None, 10).await?;
    store.unbilled_since(now, 10).await?;
    store.silent_since(now, 10).await?;
    store.billed(Mode::Sandbox, None, 10).await?;
    store
        .of_customer(Mode::Sandbox, leasing.customer.id, Lifecycle::ALL)
        .await?;
    if let Some(tracking) = &shipped.shipment.tracking {
        store.find_by_tracking(tracking).await?;
    }
    store.under_way(10).await?;
    let page = Page {
        start: Start::Offset(0),
        limit: 10,
    };
    let (sort, order) = (CheckoutSort::CreatedAt, SortOrder::Descending);
    for filter in [
        CheckoutFilter {
            needs_attention: Some(true),
            ..CheckoutFilter::default()
        },
        CheckoutFilter {
            lifecycles: vec![Lifecycle::Shipped],
            ..CheckoutFilter::default()
        },
        CheckoutFilter {
            waitlist_reason: Some(WaitlistReason::Inventory),
            ..CheckoutFilter::default()
        },
    ] {
        store
            .list(leasing.scope(), &filter, sort, order, page)
            .await?;
        store.count(leasing.scope(), &filter, 1_001).await?;
    }
    Ok(())
}

/// Lists by a part of a text and by what callers keep beside records.
async fn search(leasing: &Leasing, uow: &mut dyn UnitOfWork) -> Result<(), StoreError> {
    let organization = leasing.shop.organization.id;
    let page = Page {
        start: Start::Offset(0),
        limit: 10,
    };
    let order = SortOrder::Descending;
    let found = |search: Option<&str>| ProductFilter {
        search: search.map(|term| term.parse().unwrap()),
        ..ProductFilter::default()
    };
    let labelled = metadata(&[("line", "gravel")]);
    for filter in [
        found(Some("Road b")),
        ProductFilter {
            metadata: labelled.clone(),
            ..found(None)
        },
    ] {
        let store = uow.products();
        store
            .list(organization, &filter, ProductSort::CreatedAt, order, page)
            .await?;
        store.count(organization, &filter, 10_001).await?;
    }
    let filter = VariantFilter {
        metadata: labelled.clone(),
        ..VariantFilter::default()
    };
    let product = leasing.variant.product_id;
    let store = uow.variants();
    store.list(organization, product, &filter, page).await?;
    // One that nobody leases: who deletes it looks whether somebody bought it.
    let idle = leasing
        .shop
        .test
        .query("select id from product_variants where sku = 'CH-1'")
        .await
        .remove(0);
    let idle = ProductVariantPubId::from_uuid(idle.parse().unwrap());
    store.has_checkout_items(idle).await?;
    for metadata in [Metadata::default(), labelled.clone()] {
        let filter = CustomerFilter {
            metadata,
            ..CustomerFilter::default()
        };
        uow.customers().list(leasing.scope(), &filter, page).await?;
    }
    let filter = CheckoutFilter {
        metadata: labelled,
        ..CheckoutFilter::default()
    };
    let store = uow.checkouts();
    store.count(leasing.scope(), &filter, 1_001).await?;
    Ok(())
}

async fn look_for_work(
    uow: &mut dyn UnitOfWork,
    shipped: &Checkout,
    now: Timestamp,
) -> Result<(), StoreError> {
    let minute = Duration::from_secs(60);
    let ledger = uow.ledger();
    ledger.of(shipped.id).await?;
    ledger.find(Mode::Sandbox, "pi_1").await?;
    ledger.find_payment(Mode::Sandbox, "pi_1").await?;
    let jobs = uow.jobs();
    jobs.claim(now, minute, 10).await?;
    let subject = JobSubject::Checkout(shipped.id);
    jobs.claim_of(subject, now, minute).await?;
    jobs.purge_done(shipped.created_at - TimeDelta::days(1_000))
        .await?;
    uow.inbox().lock_waiting(now, 10).await?;
    Ok(())
}

async fn look_who_did_what(leasing: &Leasing, uow: &mut dyn UnitOfWork) -> Result<(), StoreError> {
    let organization = leasing.shop.organization.id;
    let page = Page {
        start: Start::Offset(0),
        limit: 10,
    };
    let all = AuditFilter::default();
    let of_subject = AuditFilter {
        subject: Some("usr_1".parse().unwrap()),
        ..all.clone()
    };
    let of_actor = AuditFilter {
        actor: Some("verifier 1".to_owned()),
        ..all.clone()
    };
    for (viewer, filter) in [
        (AuditViewer::Sandbox, all),
        (AuditViewer::Live, of_subject),
        (AuditViewer::Live, of_actor),
    ] {
        let audit = uow.audit();
        audit.list(organization, viewer, &filter, page).await?;
    }
    Ok(())
}

async fn look_what_happened(
    leasing: &Leasing,
    uow: &mut dyn UnitOfWork,
    shipped: &Checkout,
) -> Result<(), StoreError> {
    let scope = leasing.scope();
    let events = uow.events();
    events.are_waiting(scope).await?;
    events.number(scope, 10).await?;
    let all = EventFilter::default();
    events.list(scope, &all, 5, 10).await?;
    let of_subject = EventFilter {
        subject: Some(EventSubject::Checkout(shipped.id)),
        ..all
    };
    events.list(scope, &of_subject, 5, 10).await?;
    Ok(())
}

/// What is asked across organizations.
async fn look_through_doors(
    doors: &mut dyn Doors,
    shipped: &Checkout,
    now: Timestamp,
) -> Result<(), StoreError> {
    doors.owner_of_checkout(shipped.id).await?;
    doors
        .owner_of_page(&PageToken::Proven { nonce: [0; 16] })
        .await?;
    doors
        .owner_of_ended_page(&PageToken::Proven { nonce: [0; 16] })
        .await?;
    doors.owner_of_payment(Mode::Sandbox, "pi_1").await?;
    doors.owner_of_verification(Mode::Sandbox, "vs_1").await?;
    doors.owner_of_job(shipped.id.as_uuid()).await?;
    if let Some(tracking) = &shipped.shipment.tracking {
        doors.owners_of_shipment(tracking).await?;
    }
    let long_ago = shipped.created_at - TimeDelta::days(1_000);
    doors.attention().await?;
    doors.backlog().await?;
    doors.mail_backlog().await?;
    doors.held().await?;
    for errand in [
        Errand::Expiry { before: now },
        Errand::Lapse { before: now },
        Errand::LeaseEnd {
            before: now.date_naive(),
        },
        Errand::Billing { before: now },
        Errand::Silence { before: now },
        Errand::Shipments,
        Errand::Billed {
            mode: Mode::Sandbox,
        },
        Errand::OldAnswers { before: long_ago },
        Errand::UnnumberedEvents,
        Errand::OldEvents { before: long_ago },
        Errand::OldDeliveries { before: long_ago },
        // These say to the end of the transaction how they are looked for.
        Errand::OldJobs { before: long_ago },
        Errand::Jobs { due: now },
        Errand::Deliveries { due: now },
    ] {
        doors.owners_with(errand).await?;
    }
    Ok(())
}

#[tokio::test]
async fn look_ups_go_by_their_indexes() {
    if skipped_on_a_cluster("plans of one server") {
        return;
    }
    let leasing = Leasing::open().await;
    leasing.kept(leasing.checkout()).await;
    leasing.shop.test.execute(YEARS).await;
    let checkouts = running(&leasing).await;
    let now = leasing.shop.make.tick() + TimeDelta::days(1_000);
    keep_busy(&leasing, &checkouts, now).await;
    let shipped = checkouts
        .iter()
        .find(|checkout| checkout.lifecycle() == Lifecycle::Shipped)
        .unwrap();
    // Each connection makes a plan once, for whatever values.
    leasing.shop.test.execute("analyze").await;
    let unused = async |since: &[(String, String)]| -> Vec<(String, String)> {
        let mut counts = Vec::new();
        for index in INDEXES {
            let sql =
                format!("select idx_scan from pg_stat_user_indexes where indexrelname = '{index}'");
            let count = leasing.shop.test.query(&sql).await.remove(0);
            counts.push(((*index).to_owned(), count));
        }
        counts.retain(|count| since.is_empty() || since.contains(count));
        counts
    };
    let before = unused(&[]).await;
    let other = pool(&leasing.shop.test, |_| {});
    let reach = leasing.shop.reach();
    let mut uow = other.begin(reach).await.unwrap();
    look_for_checkouts(&leasing, &mut *uow, shipped, now)
        .await
        .unwrap();
    look_who_did_what(&leasing, &mut *uow).await.unwrap();
    look_what_happened(&leasing, &mut *uow, shipped)
        .await
        .unwrap();
    search(&leasing, &mut *uow).await.unwrap();
    uow.commit().await.unwrap();
    // Whoever claims says to the end of the transaction how that is to be looked for.
    let mut uow = other.begin(reach).await.unwrap();
    look_for_work(&mut *uow, shipped, now).await.unwrap();
    uow.commit().await.unwrap();
    let mut uow = other.begin(reach).await.unwrap();
    look_through_doors(uow.doors(), shipped, now).await.unwrap();
    uow.commit().await.unwrap();
    // A session counts at the latest when it ends.
    drop(other);
    let mut patience = Patience::new();
    loop {
        let unused = unused(&before).await;
        if unused.is_empty() {
            return;
        }
        patience.spend(&format!("not used: {unused:?}"));
    }
}

/// Of a thousand rows the database would rather read all than look for some here and there, and a page of twenty took three
/// times as long.
#[tokio::test]
async fn a_page_of_a_small_shop_reads_no_table_whole() {
    if skipped_on_a_cluster("plans of one server") {
        return;
    }
    let leasing = Leasing::open().await;
    leasing.kept(leasing.checkout()).await;
    let months = YEARS.replace("generate_series(1, 3000)", "generate_series(1, 1000)");
    leasing.shop.test.execute(&months).await;
    // Those with a row for each of them.
    let tables = "checkouts|checkout_(items|applications|deposits|billing|shipments)";
    let whole = read_whole(&leasing.shop.test, tables, async |database| {
        let mut uow = database.begin(leasing.shop.reach()).await.unwrap();
        let page = Page {
            start: Start::Offset(0),
            limit: 20,
        };
        let (filter, scope) = (CheckoutFilter::default(), leasing.scope());
        let (sort, order) = (CheckoutSort::CreatedAt, SortOrder::Descending);
        let listed = uow.checkouts().list(scope, &filter, sort, order, page);
        assert_eq!(listed.await.unwrap().len(), 20);
        uow.commit().await.unwrap();
    });
    assert_eq!(whole.await, 0);
}
