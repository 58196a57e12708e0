//! A log of what happened, kept as JSON, leads to the same checkout again.

use chrono::TimeDelta;
use lessor_domain::checkout::{
    Applied, Checkout, Circumstances, Event, EventKind, Facts, Lifecycle, Outcome,
};
use lessor_domain::testing::{Details, Fixtures, altered, event};
use serde_json::{Value, json};

const WAY: &[EventKind] = &[
    EventKind::Opened,
    EventKind::ProfileCompleted,
    EventKind::IdentityRequested,
    EventKind::IdentityStarted,
    EventKind::IdentitySubmitted,
    EventKind::IdentityVerified,
    EventKind::Qualified,
    EventKind::ShippingAddressGiven,
    EventKind::LeaseAccepted,
    EventKind::DepositSubmitted,
    EventKind::DepositAuthorized,
    EventKind::PaymentMethodSaved,
    EventKind::DocumentsSigned,
    EventKind::DepositCaptured,
    EventKind::Fulfilled,
    EventKind::Delivered,
    EventKind::SubscriptionStarted,
    EventKind::ReturnInitiated,
    EventKind::ReturnCompleted,
];

fn beginning() -> (Fixtures, Checkout) {
    let make = Fixtures::default();
    let organization = make.organization().build();
    let customer = make.customer(&organization).build();
    let product = make.product(&organization).build();
    let variant = make.variant(&product).build();
    let term = make.lease_term(&organization).build();
    let checkout = make.checkout(&customer, &variant).term(&term).build();
    (make, checkout)
}

#[test]
fn a_checkout_is_stored_and_replayed() {
    let (make, new) = beginning();
    let mut lease = new.clone();
    let mut log: Vec<Value> = Vec::new();
    for kind in WAY {
        let at = make.clock().advance(TimeDelta::minutes(1));
        let details = Details {
            tracked: true,
            reusable: false,
            number: 1,
        };
        let event = event(*kind, details, &lease, &make, at);
        let by = Circumstances::new(at, kind.actors()[0]);
        log.push(json!({ "event": event, "by": by, "facts": Facts::NONE }));
        let applied = lease.apply(event, &by, &Facts::NONE).unwrap();
        let kept = serde_json::to_value(&applied).unwrap();
        assert_eq!(serde_json::from_value::<Applied>(kept).unwrap(), applied);
        let kept = serde_json::to_string(&lease).unwrap();
        assert_eq!(serde_json::from_str::<Checkout>(&kept).unwrap(), lease);
    }
    assert_eq!(lease.lifecycle(), Lifecycle::Returned);

    let mut replayed: Checkout =
        serde_json::from_value(serde_json::to_value(&new).unwrap()).unwrap();
    for entry in &log {
        let event: Event = serde_json::from_value(entry["event"].clone()).unwrap();
        let by: Circumstances = serde_json::from_value(entry["by"].clone()).unwrap();
        let facts: Facts = serde_json::from_value(entry["facts"].clone()).unwrap();
        for expected in [Outcome::Applied, Outcome::AlreadyApplied] {
            let applied = replayed.apply(event.clone(), &by, &facts).unwrap();
            assert_eq!(applied.outcome, expected, "{event:?}");
        }
    }
    assert_eq!(replayed, lease);
}

#[test]
fn what_does_not_fit_together_is_no_checkout() {
    let (make, _) = beginning();
    let organization = make.organization().build();
    let customer = make.customer(&organization).build();
    let variant = make.variant(&make.product(&organization).build()).build();
    let lease = make
        .checkout(&customer, &variant)
        .at(Lifecycle::LeaseActive)
        .build();
    let lease = altered(&lease, |it| it.cancel_reason = None);
    let good = serde_json::to_value(&lease).unwrap();
    assert!(serde_json::from_value::<Checkout>(good.clone()).is_ok());
    for (member, value) in [
        ("quote", Value::Null),
        ("deposit", json!({ "state": "open" })),
        ("lease", json!({ "start": null, "end": null })),
    ] {
        let mut bad = good.clone();
        bad[member] = value;
        let refused = serde_json::from_value::<Checkout>(bad).unwrap_err();
        assert!(
            refused.to_string().contains("leaseActive"),
            "{member}: {refused}"
        );
    }
    let mut bad = good;
    bad["recurring"]["billing"] = json!({ "state": "notRequested" });
    assert!(serde_json::from_value::<Checkout>(bad).is_err());
}
