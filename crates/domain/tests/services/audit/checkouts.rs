//! Who did what to a checkout.

use lessor_domain::audit::Origin;
use lessor_domain::checkout::{InsuranceStatus, Lifecycle};
use lessor_domain::customer::Profile;
use lessor_domain::ids::IdRef;
use lessor_domain::metadata::MetadataPatch;
use lessor_domain::ports::Clock as _;
use lessor_domain::services::UseCase;
use lessor_domain::services::billing::{self, RetryPayments};
use lessor_domain::services::checkouts::{
    Annotate, CancelCheckout, ChooseTerm, MoveCheckout, SetInsurance,
};
use lessor_domain::services::shipments::{FulfillCheckout, Fulfillment, SetTracking};
use lessor_domain::shipments::{CarrierReport, TrackingNumber, TrackingStatus};
use lessor_domain::testing::card;
use lessor_domain::workers::sandbox::PlayTrackingEvent;

use super::{is_quiet, is_refused, keys_of, order, term_of, text, told, watched};
use crate::world::World;

#[tokio::test]
async fn of_checkouts() {
    let world = World::new().await;
    let ((order_made, _), lines) = told(&world, order(&world, Profile::default())).await;
    let (id, customer) = (order_made.id, order_made.customer_id);
    let (year, two_years) = (term_of(&world, 12).await, term_of(&world, 24).await);
    let (year, two_years) = (year.lease_term_id, two_years.lease_term_id);
    let expected = [
        format!("customer.created {customer} sandbox: [] -> [email=ada@example.com]"),
        format!(
            "checkout.created {id} sandbox: [] -> [customerId={customer} | externalOrderId=A-1 | \
             insuranceStatus=pending | leaseTermId={year} | metadata.gift=yes | productVariantId={} | \
             purchaseItems=2 x Helmet at 49.00 | quantity=1 | shippingAddress.address1=1 Market St | \
             shippingAddress.city=San Francisco | shippingAddress.country=US | shippingAddress.firstName=Ada | \
             shippingAddress.lastName=Lovelace | shippingAddress.state=CA | shippingAddress.zip=94105 | \
             successUrl=https://shop.example/thanks]",
            world.variant.id
        ),
    ];
    assert_eq!(lines, expected);
    // The same order again is the same checkout; what it says of the customer is taken in.
    is_quiet(&world, order(&world, Profile::default())).await;
    let named = Profile {
        first_name: "Ada".parse().ok(),
        ..Profile::default()
    };
    let (_, lines) = told(&world, order(&world, named)).await;
    let expected = format!("customer.updated {customer} sandbox: [] -> [firstName=Ada]");
    assert_eq!(lines, [expected]);

    let choose = ChooseTerm {
        id,
        term: IdRef::Number(two_years),
    };
    let (_, lines) = told(&world, choose.clone()).await;
    let expected =
        format!("checkout.updated {id} sandbox: [leaseTermId={year}] -> [leaseTermId={two_years}]");
    assert_eq!(lines, [expected]);
    is_quiet(&world, choose).await;
    let term = IdRef::Public(world.fixtures.id());
    is_refused(&world, ChooseTerm { id, term }).await;

    let changes = MetadataPatch::Merge(
        [
            ("gift".parse().unwrap(), None),
            ("note".parse().unwrap(), "fragile".parse().ok()),
        ]
        .into(),
    );
    let annotate = Annotate { id, changes };
    let (_, lines) = told(&world, annotate.clone()).await;
    let expected =
        format!("checkout.updated {id} sandbox: [metadata.gift=yes] -> [metadata.note=fragile]");
    assert_eq!(lines, [expected]);
    is_quiet(&world, annotate).await;

    let status = InsuranceStatus::Denied;
    let (_, lines) = told(&world, SetInsurance { id, status }).await;
    let expected = format!(
        "checkout.updated {id} sandbox: [insuranceStatus=pending] -> [insuranceStatus=denied]"
    );
    assert_eq!(lines, [expected]);
    is_quiet(&world, SetInsurance { id, status }).await;
}

/// What moves a checkout is in its history, which names the key.
#[tokio::test]
async fn a_move_names_its_key() {
    let world = World::new().await;
    let own = Some(world.access.key_id);
    let confirmed = world.order("ada@example.com").await;
    let id = confirmed.id;
    world.advance(&confirmed, Lifecycle::OrderConfirmed).await;
    let number = |text: &str| TrackingNumber::parse(text).unwrap();
    let fulfillment = Fulfillment {
        tracking_number: Some(number("1Z999AA10123456784")),
        ..Fulfillment::default()
    };
    let fulfill = FulfillCheckout { id, fulfillment };
    is_quiet(&world, fulfill.clone()).await;
    is_quiet(&world, fulfill).await;
    assert_eq!(keys_of(&world, id).await.last(), Some(&own));

    let set = SetTracking {
        id,
        number: number("612345678901"),
        carrier: None,
    };
    let (_, lines) = told(&world, set.clone()).await;
    let expected = format!(
        "checkout.tracking_set {id} sandbox: [trackingCarrier=ups | trackingNumber=1Z999AA10123456784] -> \
         [trackingCarrier=fedex | trackingNumber=612345678901]"
    );
    assert_eq!(lines, [expected]);
    is_quiet(&world, set).await;

    let play = |status| PlayTrackingEvent {
        id,
        reported: CarrierReport {
            at: world.clock.now(),
            status,
            description: None,
            location: "Oakland".parse().ok(),
            signed_by: None,
            estimated_delivery: None,
        },
    };
    let at = text(world.clock.now());
    for status in [TrackingStatus::InTransit, TrackingStatus::Delivered] {
        let (_, lines) = told(&world, play(status)).await;
        let expected = format!(
            "checkout.tracking_played {id} sandbox: [] -> [location=Oakland | status={status} | timestamp={at}]"
        );
        assert_eq!(lines, [expected]);
        is_quiet(&world, play(status)).await;
    }
    assert_eq!(keys_of(&world, id).await.last(), Some(&own), "delivered");
    // What follows from it is Lessor's and the processor's.
    world.work().await;
    assert_eq!(world.read(id).await.lifecycle(), Lifecycle::LeaseActive);
    assert_eq!(keys_of(&world, id).await.last(), Some(&None));

    let target = Lifecycle::ReturnPending;
    is_quiet(&world, MoveCheckout { id, target }).await;
    assert_eq!(keys_of(&world, id).await.last(), Some(&own), "moved");

    let (called_off, _) = world.try_order("grace@example.com", |_| {}).await.unwrap();
    let cancel = CancelCheckout {
        id: called_off.id,
        reason: None,
    };
    is_quiet(&world, cancel.clone()).await;
    is_quiet(&world, cancel).await;
    assert_eq!(keys_of(&world, called_off.id).await, [own]);
}

#[tokio::test]
async fn of_payments_that_are_tried_again() {
    let world = World::new().await;
    let lease = world.order("ada@example.com").await;
    let id = lease.id;
    is_refused(&world, RetryPayments { id, method: None }).await;
    let lease = world.advance(&lease, Lifecycle::LeaseActive).await;
    is_refused(&world, RetryPayments { id, method: None }).await;
    let mut known = lease.recurring.method.clone().unwrap().id;
    let own = Origin::customer(lease.customer_id);
    // The key, then the customer on the page.
    for (origin, method) in [(world.origin.clone(), "pm_8"), (own, "pm_9")] {
        let mut named = card();
        named.id = method.to_owned();
        let is_key = origin == world.origin;
        let (done, lines) = watched(&world, &origin, async move |uow, ctx| {
            if is_key {
                let method = Some(named);
                return RetryPayments { id, method }.run(uow, ctx).await.map(drop);
            }
            let mut lease = uow.checkouts().lock(id).await?.unwrap();
            let (ids, now, origin) = (ctx.ids, ctx.now, ctx.origin);
            billing::try_again(uow, ids, now, origin, &mut lease, Some(named)).await
        })
        .await;
        done.unwrap();
        let expected = format!(
            "checkout.payments_retried {id} sandbox: [recurringPaymentMethodId={known}] -> \
             [recurringPaymentMethodId={method}]"
        );
        assert_eq!(lines, [expected]);
        known = method.to_owned();
    }
}
