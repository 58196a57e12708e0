//! What a checkout and its states tell: progress, milestones, sums, names and drawings.

use lessor_domain::checkout::{
    Actor, Checkout, EventKind, Lifecycle, MilestoneName, Phase, PurchaseItem, State, arrows, dot,
    mermaid,
};
use lessor_domain::money::{Currency, Money};
use lessor_domain::testing::{Fixtures, altered};

fn checkout(at: Lifecycle) -> (Fixtures, Checkout) {
    let make = Fixtures::default();
    let organization = make.organization().build();
    let customer = make.customer(&organization).build();
    let product = make.product(&organization).build();
    let variant = make.variant(&product).build();
    let checkout = make.checkout(&customer, &variant).at(at).build();
    (make, checkout)
}

/// The states of which something is true, by their names.
fn those(is: impl Fn(Lifecycle) -> bool) -> Vec<&'static str> {
    Lifecycle::ALL
        .iter()
        .filter(|state| is(**state))
        .map(|state| state.as_str())
        .collect()
}

#[test]
fn states_are_of_the_kinds_that_they_are_said_to_be() {
    assert_eq!(
        those(Lifecycle::is_ended),
        [
            "returned",
            "cancelled",
            "expired",
            "identityFailed",
            "qualificationFailed"
        ]
    );
    assert_eq!(
        those(Lifecycle::is_waitlisted),
        [
            "waitlistedAfterProfile",
            "waitlistedAfterDeposit",
            "waitlistedLocation"
        ]
    );
    assert_eq!(
        those(Lifecycle::is_failed),
        [
            "depositFailed",
            "captureFailed",
            "fulfillmentException",
            "identityFailed",
            "qualificationFailed"
        ]
    );
    let after = |state: Lifecycle| {
        matches!(
            state.phase(),
            Phase::Fulfillment | Phase::Active | Phase::Return
        )
    };
    assert_eq!(those(Lifecycle::is_confirmed), those(after));
    let labels: Vec<&str> = Phase::ALL.iter().map(|phase| phase.label()).collect();
    assert_eq!(
        labels,
        [
            "Application",
            "Payment",
            "Documents",
            "Fulfillment",
            "Active lease",
            "Return",
            "Waitlist",
            "Closed"
        ]
    );
}

#[test]
fn ranks_follow_the_way_and_states_aside_share_a_place() {
    for (place, state) in Lifecycle::HAPPY_PATH.iter().enumerate() {
        assert_eq!(state.rank().map(usize::from), Some(place), "{state}");
    }
    for (aside, of) in [
        (
            Lifecycle::PickupLocationPending,
            Lifecycle::ShippingAddressPending,
        ),
        (Lifecycle::DepositFailed, Lifecycle::DepositPending),
        (Lifecycle::CaptureFailed, Lifecycle::DocumentsPending),
        (Lifecycle::AddendumsPending, Lifecycle::OrderConfirmed),
        (Lifecycle::FulfillmentException, Lifecycle::OrderConfirmed),
    ] {
        assert_eq!(aside.rank(), of.rank(), "{aside}");
    }
    assert_eq!(
        those(|state| state.rank().is_none()),
        those(|state| matches!(state.phase(), Phase::Waitlist | Phase::Closed))
    );
}

#[test]
fn progress_in_every_state() {
    let told = |is: fn(&lessor_domain::checkout::Progress) -> bool| {
        those(|state| is(&checkout(state).1.progress()))
    };
    assert_eq!(
        told(lessor_domain::checkout::Progress::needs_attention),
        [
            "depositFailed",
            "captureFailed",
            "addendumsPending",
            "fulfillmentException"
        ]
    );
    assert_eq!(
        told(|progress| progress.can_go_back),
        [
            "shippingAddressPending",
            "pickupLocationPending",
            "leaseReviewPending",
            "depositPending",
            "depositFailed"
        ]
    );
    assert_eq!(
        told(|progress| progress.is_terminal),
        those(Lifecycle::is_ended)
    );
    assert_eq!(
        told(|progress| progress.is_failed),
        those(Lifecycle::is_failed)
    );
    assert_eq!(
        told(|progress| progress.is_waitlisted),
        those(Lifecycle::is_waitlisted)
    );
    assert_eq!(
        told(|progress| progress.milestones.is_some()),
        those(Lifecycle::is_confirmed)
    );
    assert_eq!(
        told(|progress| progress.percentage == 100),
        ["leaseActive", "returnPending", "returned"]
    );
    assert_eq!(
        told(|progress| progress.percentage == 0),
        ["created", "cancelled", "expired"]
    );
    let progress = checkout(Lifecycle::Shipped).1.progress();
    assert_eq!((progress.percentage, progress.total_steps), (94, 9));
    assert_eq!(progress.phase, Phase::Fulfillment);
    assert_eq!(progress.lifecycle, Lifecycle::Shipped);
}

#[test]
fn who_ends_or_fails_keeps_how_far_they_had_come() {
    let (_, order) = checkout(Lifecycle::OrderConfirmed);
    for (state, before, percentage) in [
        (Lifecycle::Cancelled, Lifecycle::DepositPending, 56),
        (Lifecycle::Expired, Lifecycle::LeaseReviewPending, 48),
        (Lifecycle::FulfillmentException, Lifecycle::Shipped, 94),
        (
            Lifecycle::FulfillmentException,
            Lifecycle::OrderConfirmed,
            88,
        ),
        // Others are where they are, wherever they come from.
        (Lifecycle::DepositPending, Lifecycle::DocumentsPending, 56),
    ] {
        let order = altered(&order, |it| it.state = State::restore(state, Some(before)));
        assert_eq!(order.lifecycle(), state);
        assert_eq!(order.previous_lifecycle(), Some(before));
        assert_eq!(
            order.progress().percentage,
            percentage,
            "{state} from {before}"
        );
    }
    assert_eq!(
        State::new(Lifecycle::Created),
        State::restore(Lifecycle::Created, None)
    );
}

#[test]
fn milestones_are_told_with_their_times() {
    let (make, mut lease) = checkout(Lifecycle::LeaseActive);
    let times: Vec<_> = (0..6).map(|_| make.tick()).collect();
    lease = altered(&lease, |it| {
        it.milestones.confirmed_at = Some(times[0]);
        it.shipment.shipped_at = Some(times[1]);
        it.shipment.delivered_at = None;
        it.milestones.active_at = Some(times[3]);
    });
    let told = |lease: &Checkout| -> Vec<_> {
        lease
            .progress()
            .milestones
            .unwrap()
            .iter()
            .map(|milestone| (milestone.name, milestone.completed_at))
            .collect()
    };
    let mut expected = vec![
        (MilestoneName::OrderConfirmed, Some(times[0])),
        (MilestoneName::Shipped, Some(times[1])),
        (MilestoneName::Delivered, None),
        (MilestoneName::LeaseActive, Some(times[3])),
    ];
    assert_eq!(told(&lease), expected);
    lease = altered(&lease, |it| {
        it.state = State::new(Lifecycle::Returned);
        it.shipment.delivered_at = Some(times[2]);
        it.return_.initiated_at = Some(times[4]);
        it.return_.completed_at = Some(times[5]);
    });
    expected[2].1 = Some(times[2]);
    expected.push((MilestoneName::ReturnPending, Some(times[4])));
    expected.push((MilestoneName::Returned, Some(times[5])));
    assert_eq!(told(&lease), expected);
    let labels: Vec<&str> = MilestoneName::ALL.iter().map(|name| name.label()).collect();
    assert_eq!(
        labels,
        [
            "Order confirmed",
            "Shipped",
            "Delivered",
            "Lease active",
            "Return started",
            "Returned"
        ]
    );
}

#[test]
fn failed_and_contested_payments_need_attention() {
    let (_, mut lease) = checkout(Lifecycle::LeaseActive);
    assert!(!lease.has_failed_payments() && !lease.progress().needs_attention());
    lease = altered(&lease, |it| it.recurring.failure_count = 1);
    assert!(lease.has_failed_payments() && lease.progress().needs_attention());
    lease = altered(&lease, |it| {
        it.recurring.dispute_id = Some("dp_1".to_owned());
    });
    assert!(lease.has_failed_payments());
    lease = altered(&lease, |it| it.recurring.failure_count = 0);
    assert!(lease.has_failed_payments() && lease.progress().needs_attention());
}

#[test]
fn the_address_that_decides_is_shipping_then_profile_then_billing() {
    let (make, mut order) = checkout(Lifecycle::Created);
    let address = |city: &str| {
        let mut address = make.address();
        address.city = city.parse().unwrap();
        address
    };
    let (shipping, profile, billing) = (address("Oakland"), address("Fresno"), address("Chico"));
    assert_eq!(order.served_address(None), None);
    order = altered(&order, |it| it.billing.address = Some(billing.clone()));
    assert_eq!(order.served_address(None), Some(&billing));
    assert_eq!(order.served_address(Some(&profile)), Some(&profile));
    order = altered(&order, |it| it.shipping.address = Some(shipping.clone()));
    assert_eq!(order.served_address(Some(&profile)), Some(&shipping));
}

#[test]
fn purchase_items_are_summed() {
    let (_, mut order) = checkout(Lifecycle::Created);
    let usd = |minor| Money::from_minor(minor, Currency::USD);
    let item = |minor, quantity| PurchaseItem {
        name: "Helmet".parse().unwrap(),
        amount: usd(minor),
        quantity,
        variant_id: None,
    };
    assert_eq!(order.purchase_total(usd(0)), Ok(usd(0)));
    order = altered(&order, |it| {
        it.purchase_items = vec![item(1_999, 2), item(500, 3)];
    });
    assert_eq!(order.purchase_total(usd(0)), Ok(usd(5_498)));
    assert_eq!(item(1_999, 2).total(), Ok(usd(3_998)));
    order = altered(&order, |it| it.purchase_items.push(item(i64::MAX, 1)));
    assert!(order.purchase_total(usd(0)).is_err());
}

#[test]
fn ways_to_a_state_are_those_that_the_actor_has() {
    let (_, order) = checkout(Lifecycle::OrderConfirmed);
    let ways = |target, actor| order.ways_to(target, actor).collect::<Vec<_>>();
    assert_eq!(
        ways(Lifecycle::Cancelled, Actor::Operator),
        [EventKind::Cancelled]
    );
    assert_eq!(ways(Lifecycle::Cancelled, Actor::Provider), []);
    assert_eq!(
        ways(Lifecycle::Shipped, Actor::Operator),
        [EventKind::Fulfilled]
    );
    assert_eq!(ways(Lifecycle::OrderConfirmed, Actor::Operator), []);
    let (_, failed) = checkout(Lifecycle::FulfillmentException);
    let ways: Vec<_> = failed
        .ways_to(Lifecycle::Shipped, Actor::Provider)
        .collect();
    assert_eq!(ways, [EventKind::ShipmentResumed, EventKind::Delivered]);
}

/// Both drawings have every state once, in its phase, and every arrow between two states but
/// cancel and expiry, which nearly every state has.
#[test]
fn the_drawings_show_the_same_lifecycle() {
    let (mermaid, dot) = (mermaid(), dot());
    assert!(dot.starts_with("digraph lifecycle {\n") && dot.ends_with("}\n"));
    assert_eq!(
        dot.matches('{').count(),
        dot.matches('}').count(),
        "what is opened is closed"
    );
    for phase in Phase::ALL {
        let (_, cluster) = dot
            .split_once(&format!(
                "subgraph cluster_{phase} {{\n        label=\"{}\";\n",
                phase.label()
            ))
            .unwrap();
        let (cluster, _) = cluster.split_once('}').unwrap();
        let (_, composite) = mermaid
            .split_once(&format!(
                "    state \"{}\" as phase_{phase} {{\n",
                phase.label()
            ))
            .unwrap();
        let (composite, _) = composite.split_once('}').unwrap();
        let of_phase = those(|state| state.phase() == *phase);
        let drawn = |text: &str| -> Vec<String> {
            text.split_whitespace()
                .map(|word| word.trim_end_matches(';').to_owned())
                .collect()
        };
        assert_eq!(drawn(cluster), of_phase);
        assert_eq!(drawn(composite), of_phase);
    }
    let mut drawn = 0;
    for arrow in arrows() {
        let (from, event, to) = (arrow.from, arrow.event, arrow.to);
        let left_out = from == to || matches!(event, EventKind::Cancelled | EventKind::Expired);
        drawn += usize::from(!left_out);
        let in_dot = dot.contains(&format!("    {from} -> {to} [label=\"{event}\"];\n"));
        let in_mermaid = mermaid.contains(&format!("    {from} --> {to}: {event}\n"));
        assert_eq!((in_dot, in_mermaid), (!left_out, !left_out), "{arrow:?}");
    }
    assert_eq!(dot.matches(" -> ").count(), drawn);
}
