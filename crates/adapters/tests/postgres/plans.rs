//! Which index each look-up goes by, as the server counts it: a condition that does not imply a
//! partial index's is answered all the same, and slower with each checkout that has ended.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::checkout::Lifecycle;
use lessor_domain::ports::{Database, StoreError};

use super::leasing::{Leasing, insert, somebody};
use super::support::pool;

/// As a shop is after years: nearly all checkouts have ended, each with a deposit that was held.
const YEARS: &str = "
    set session_replication_role = replica;
    create temporary table old as
        select c.organization_id, gen_random_uuid() as id, c.mode, c.customer_id, c.user_id,
            c.product_id, c.variant_id, l.name as lifecycle, l.is_ended, l.expires, l.waits_for,
            l.may_hold_stock, l.is_leased, c.created_at - i * interval '1 hour' as at
        from checkouts c, generate_series(1, 3000) i, lifecycle_states l
        where c.lifecycle = 'created' and l.name = 'cancelled';
    insert into checkouts (organization_id, id, mode, customer_id, user_id, product_id, variant_id,
            lifecycle, is_ended, expires, waits_for, may_hold_stock, is_leased, insurance_status,
            holds_stock, created_at, updated_at, version)
        select organization_id, id, mode, customer_id, user_id, product_id, variant_id, lifecycle,
            is_ended, expires, waits_for, may_hold_stock, is_leased, 'pending', false, at, at, 1
        from old;
    insert into checkout_applications (organization_id, checkout_id, purchase_items, redirects,
            billing, shipping, page_nonce, page_token_hash)
        select organization_id, id, '[]', '{}', '{}', '{}', '0123456789abcdef',
            sha256(id::text::bytea)
        from old;
    insert into checkout_deposits (organization_id, checkout_id, mode, state, payment_intent_id,
            hold_expires_at, lapses)
        select organization_id, id, mode, 'authorized', 'pi_' || id, at, false from old;
    insert into checkout_billing (organization_id, checkout_id, mode, state, method, paid_cycles,
            failure_count)
        select organization_id, id, mode, 'notRequested', '{}', 0, 0 from old;
    insert into checkout_shipments (organization_id, checkout_id, tracking_number,
            tracking_carrier, shipped_at, is_under_way)
        select organization_id, id, '1Z' || id, 'ups', at, false from old;
    analyze";

#[tokio::test]
async fn look_ups_go_by_their_indexes() {
    let leasing = Leasing::open().await;
    let make = &leasing.shop.make;
    let database = leasing.shop.database();
    let open = leasing.kept(leasing.checkout()).await;
    leasing.shop.test.execute(YEARS).await;
    let mut leased = None;
    for state in [
        Lifecycle::DocumentsPending,
        Lifecycle::Shipped,
        Lifecycle::LeaseActive,
        Lifecycle::WaitlistedAfterProfile,
        Lifecycle::WaitlistedLocation,
    ] {
        let customer = somebody(&leasing.shop).await;
        let checkout = make
            .checkout(&customer, &leasing.variant)
            .term(&leasing.term)
            .at(state)
            .with(|it| {
                if it.shipment.shipped_at.is_some() {
                    it.shipment.tracking = Some(lessor_domain::checkout::Tracking {
                        number: "1Z410E7W0392751591".parse().unwrap(),
                        carrier: lessor_domain::fulfillment::Carrier::Ups,
                    });
                }
            })
            .build();
        insert(database, &checkout).await;
        leased = leased.or(checkout.shipment.tracking.clone().map(|_| checkout));
    }
    let leased = leased.unwrap();
    // Also for values that a plan does not know: a plan is made once for each connection.
    leasing
        .shop
        .test
        .execute(
            "analyze; do $$ begin \
             execute format('alter database %I set plan_cache_mode = force_generic_plan', current_database()); \
             end $$",
        )
        .await;
    let indexes = [
        "checkouts_id_idx",
        "checkouts_open_key",
        "checkouts_that_expire_idx",
        "checkouts_whose_lease_ends_idx",
        "checkouts_waiting_for_stock_idx",
        "checkouts_waiting_for_location_idx",
        "checkout_applications_page_token_hash_idx",
        "checkout_deposits_payment_intent_id_idx",
        "checkout_deposits_that_lapse_idx",
        "checkout_billing_subscription_id_idx",
        "checkout_billing_requested_idx",
        "checkout_shipments_tracking_idx",
        "checkout_shipments_under_way_idx",
    ];
    let unused = async |since: &[(String, String)]| -> Vec<(String, String)> {
        let mut counts = Vec::new();
        for index in indexes {
            let sql =
                format!("select idx_scan from pg_stat_user_indexes where indexrelname = '{index}'");
            counts.push((
                index.to_owned(),
                leasing.shop.test.query(&sql).await.remove(0),
            ));
        }
        counts.retain(|count| since.is_empty() || since.contains(count));
        counts
    };
    let before = unused(&[]).await;
    let now = make.tick() + TimeDelta::days(1_000);
    let other = pool(&leasing.shop.test, |_| {});
    let look = async || -> Result<(), StoreError> {
        let mut uow = other.begin().await?;
        let store = uow.checkouts();
        store.get(open.id).await?;
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
        store.lock_waiting_for_stock(leasing.variant.id, 10).await?;
        store
            .waiting_for_location(leasing.shop.organization.id, None, 10)
            .await?;
        store.find_by_page_token(&[0; 32]).await?;
        store.find_by_payment_intent(Mode::Sandbox, "pi_1").await?;
        store.lapsing_before(now, 10).await?;
        store.find_by_subscription(Mode::Sandbox, "sub_1").await?;
        store.billed(Mode::Sandbox, None, 10).await?;
        if let Some(tracking) = &leased.shipment.tracking {
            store.find_by_tracking(tracking).await?;
        }
        store.under_way(10).await?;
        uow.commit().await
    };
    look().await.unwrap();
    // A session counts at the latest when it ends.
    drop(other);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(10) {
        if unused(&before).await.is_empty() {
            return;
        }
    }
    panic!("not used: {:?}", unused(&before).await);
}
