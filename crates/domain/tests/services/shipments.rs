//! Shipping with a tracking number, and what carriers report in any order.

use chrono::TimeDelta;
use lessor_domain::checkout::{Checkout, Lifecycle, Tracking};
use lessor_domain::ids::CheckoutItemPubId;
use lessor_domain::ports::Clock;
use lessor_domain::quantity::Quantity;
use lessor_domain::services::shipments::{FulfillCheckout, Fulfillment, report};
use lessor_domain::services::{Error, UseCase as _};
use lessor_domain::shipments::{
    Carrier, CarrierReport, EventOrigin, TrackingEvent, TrackingNumber, TrackingStatus,
};

use crate::world::World;

const UPS: &str = "1Z999AA10123456784";

async fn ship(world: &World, checkout: &Checkout, number: Option<&str>) -> Result<Checkout, Error> {
    let mut uow = world.begin().await;
    let input = Fulfillment {
        tracking_number: number.map(|number| TrackingNumber::parse(number).unwrap()),
        ..Fulfillment::default()
    };
    let shipped = FulfillCheckout {
        id: checkout.id,
        fulfillment: input,
    }
    .run(uow.as_mut(), &world.ctx())
    .await?;
    uow.commit().await?;
    Ok(shipped)
}

async fn shipped(world: &World) -> Checkout {
    let order = world.order("ada@example.com").await;
    let order = world.advance(&order, Lifecycle::OrderConfirmed).await;
    ship(world, &order, Some(UPS)).await.unwrap()
}

async fn tell(
    world: &World,
    checkout: &Checkout,
    status: TrackingStatus,
    minutes: i64,
) -> Checkout {
    let reported = CarrierReport {
        at: checkout.shipment.shipped_at.unwrap() + TimeDelta::minutes(minutes),
        status,
        description: None,
        location: None,
        signed_by: None,
        estimated_delivery: None,
    };
    let mut uow = world.begin().await;
    let after = report(
        uow.as_mut(),
        world.ids.as_ref(),
        world.clock.now(),
        checkout.id,
        reported,
        EventOrigin::Webhook,
    )
    .await
    .unwrap();
    uow.commit().await.unwrap();
    after
}

#[tokio::test]
async fn billing_starts_with_the_delivery_and_once() {
    let world = World::new().await;
    let lease = shipped(&world).await;
    world.work().await;
    assert_eq!(world.read(lease.id).await.lifecycle(), Lifecycle::Shipped);
    assert_eq!(
        world.calls("create_subscription"),
        0,
        "none before delivery"
    );
    tell(&world, &lease, TrackingStatus::InTransit, 10).await;
    for _ in 0..3 {
        tell(&world, &lease, TrackingStatus::Delivered, 20).await;
    }
    tell(&world, &lease, TrackingStatus::Delivered, 25).await;
    world.work().await;
    let lease = world.read(lease.id).await;
    assert_eq!(lease.lifecycle(), Lifecycle::LeaseActive);
    assert_eq!(world.calls("create_subscription"), 1);
    assert!(lease.shipment.delivered_at.is_some());
}

/// Each of several has a serial number of its own, by its item.
#[tokio::test]
async fn each_of_several_has_a_serial_number_of_its_own() {
    let world = World::new().await;
    let three = Quantity::new(3).unwrap();
    let made = world.try_order("ada@example.com", |input| input.quantity = three);
    let order = made.await.unwrap().0;
    let order = world.advance(&order, Lifecycle::OrderConfirmed).await;
    let ids: Vec<_> = order.items.iter().map(|item| item.id).collect();
    let fulfill = async |serials: &[(CheckoutItemPubId, &str)]| {
        let serials = serials
            .iter()
            .map(|(id, serial)| (*id, serial.parse().unwrap()));
        let fulfillment = Fulfillment {
            serial_numbers: serials.collect(),
            ..Fulfillment::default()
        };
        let mut uow = world.begin().await;
        let id = order.id;
        let fulfilled = FulfillCheckout { id, fulfillment }
            .run(uow.as_mut(), &world.ctx())
            .await?;
        uow.commit().await?;
        Ok::<Checkout, Error>(fulfilled)
    };
    let twice = fulfill(&[(ids[0], "SN-1"), (ids[1], "SN-2"), (ids[2], "SN-1")]).await;
    let expected = format!("serialNumbers.{}", ids[2]);
    assert!(
        matches!(&twice, Err(Error::Invalid { param, .. }) if *param == expected),
        "{twice:?}"
    );
    let foreign: CheckoutItemPubId = world.fixtures.id();
    let four = [
        (ids[0], "SN-1"),
        (ids[1], "SN-2"),
        (ids[2], "SN-3"),
        (foreign, "SN-4"),
    ];
    let unknown = fulfill(&four).await;
    let expected = format!("serialNumbers.{foreign}");
    assert!(
        matches!(&unknown, Err(Error::Invalid { param, .. }) if *param == expected),
        "{unknown:?}"
    );
    let lease = fulfill(&four[..3]).await.unwrap();
    let serials: Vec<_> = lease
        .items
        .iter()
        .map(|item| item.serial_number.as_ref().map(ToString::to_string))
        .collect();
    let expected = ["SN-1", "SN-2", "SN-3"].map(|serial| Some(serial.to_owned()));
    assert_eq!(serials, expected);
    world.work().await;
    let lease = world.read(lease.id).await;
    assert_eq!(lease.lifecycle(), Lifecycle::LeaseActive);
    assert_eq!(world.calls("create_subscription"), 1, "one for all of them");
    let quote = lease.quote.unwrap();
    assert_eq!(quote.one_of(three).unwrap().times(three), Ok(quote));
}

/// The two clocks need not agree: what the carrier scanned may seem older than the shipment.
#[tokio::test]
async fn the_carriers_word_counts_whatever_the_clocks_say() {
    let world = World::new().await;
    let lease = shipped(&world).await;
    let failed = tell(&world, &lease, TrackingStatus::Failure, -30).await;
    assert_eq!(failed.lifecycle(), Lifecycle::FulfillmentException);
    assert_eq!(failed.shipment.status, Some(TrackingStatus::Failure));
    let resumed = tell(&world, &lease, TrackingStatus::InTransit, -20).await;
    assert_eq!(resumed.lifecycle(), Lifecycle::Shipped);
    // An older scan that comes late says nothing new.
    let late = tell(&world, &lease, TrackingStatus::PreTransit, -40).await;
    assert_eq!(late.shipment.status, Some(TrackingStatus::InTransit));
}

/// Carriers may be quicker than the organization.
#[tokio::test]
async fn what_was_reported_before_the_number_was_given_counts() {
    let world = World::new().await;
    let order = world.order("ada@example.com").await;
    let order = world.advance(&order, Lifecycle::OrderConfirmed).await;
    let event = TrackingEvent {
        reported: CarrierReport {
            at: world.clock.now() - TimeDelta::hours(1),
            status: TrackingStatus::OutForDelivery,
            description: None,
            location: None,
            signed_by: None,
            estimated_delivery: None,
        },
        origin: EventOrigin::Webhook,
        received_at: world.clock.now(),
    };
    let tracking = Tracking {
        number: TrackingNumber::parse(UPS).unwrap(),
        carrier: Carrier::Ups,
    };
    let mut uow = world.begin_for_server().await;
    uow.shipments()
        .keep_unclaimed(&tracking, &event)
        .await
        .unwrap();
    uow.commit().await.unwrap();
    let lease = ship(&world, &order, Some(UPS)).await.unwrap();
    assert_eq!(lease.shipment.status, Some(TrackingStatus::OutForDelivery));
}

#[tokio::test]
async fn every_order_of_a_shipments_reports_ends_alike() {
    let reports = [
        (TrackingStatus::InTransit, 10),
        (TrackingStatus::Failure, 20),
        (TrackingStatus::OutForDelivery, 30),
        (TrackingStatus::Delivered, 40),
    ];
    let mut orders = vec![Vec::new()];
    for report in reports {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<(TrackingStatus, i64)>| {
                (0..=order.len()).map(move |place| {
                    let mut longer = order.clone();
                    longer.insert(place, report);
                    longer
                })
            })
            .collect();
    }
    assert_eq!(orders.len(), 24);
    for order in orders {
        let world = World::new().await;
        let lease = shipped(&world).await;
        for (status, minutes) in &order {
            tell(&world, &lease, *status, *minutes).await;
        }
        world.work().await;
        let lease = world.read(lease.id).await;
        assert_eq!(lease.lifecycle(), Lifecycle::LeaseActive, "{order:?}");
        assert_eq!(
            lease.shipment.status,
            Some(TrackingStatus::Delivered),
            "{order:?}"
        );
        assert_eq!(world.calls("create_subscription"), 1, "{order:?}");
    }
}

#[tokio::test]
async fn a_failed_delivery_is_an_exception_that_movement_ends() {
    let world = World::new().await;
    let lease = shipped(&world).await;
    assert_eq!(
        tell(&world, &lease, TrackingStatus::ReturnToSender, 10)
            .await
            .lifecycle(),
        Lifecycle::FulfillmentException
    );
    assert_eq!(
        tell(&world, &lease, TrackingStatus::InTransit, 5)
            .await
            .lifecycle(),
        Lifecycle::FulfillmentException,
        "an older report"
    );
    assert_eq!(
        tell(&world, &lease, TrackingStatus::InTransit, 20)
            .await
            .lifecycle(),
        Lifecycle::Shipped
    );
}

#[tokio::test]
async fn fulfilling_again_is_the_same_or_refused() {
    let world = World::new().await;
    let lease = shipped(&world).await;
    assert_eq!(
        ship(&world, &lease, Some(UPS)).await.unwrap().version,
        lease.version
    );
    for other in [Some("1Z879E930346834440"), None] {
        let refused = ship(&world, &lease, other).await;
        assert!(matches!(refused, Err(Error::Rule { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn fulfilling_too_early_names_what_is_missing() {
    let world = World::new().await;
    let cases = [
        (
            Lifecycle::Created,
            vec![
                "identity verification",
                "qualification",
                "deposit",
                "document signing",
            ],
        ),
        (
            Lifecycle::QualificationPending,
            vec!["qualification", "deposit", "document signing"],
        ),
        (
            Lifecycle::DepositPending,
            vec!["deposit", "document signing"],
        ),
        (Lifecycle::DocumentsPending, vec!["document signing"]),
    ];
    for (index, (state, missing)) in cases.into_iter().enumerate() {
        let mut order = world.order(&format!("c{index}@example.com")).await;
        if state != Lifecycle::Created {
            order = world.advance(&order, state).await;
        }
        let refused = ship(&world, &order, None).await;
        let Err(Error::Rule { message }) = refused else {
            panic!("{refused:?}")
        };
        let named: Vec<&str> = [
            "identity verification",
            "qualification",
            "deposit",
            "document signing",
        ]
        .into_iter()
        .filter(|step| message.contains(step))
        .collect();
        assert_eq!(named, missing, "{state}: {message}");
    }
}
