//! From the order to the lease, the return and every refusal.

use lessor_domain::access::Mode;
use lessor_domain::checkout::{Actor, InsuranceStatus, Lifecycle, RecurringPaymentStatus};
use lessor_domain::customer::{CreditStatus, IdentityStatus, Profile, Screening};
use lessor_domain::ids::IdRef;
use lessor_domain::ports::Clock as _;
use lessor_domain::services::checkouts::{CancelCheckout, ChooseTerm, MoveCheckout};
use lessor_domain::services::organizations::{UpdateOrganization, update_organization};
use lessor_domain::services::{Error, UseCase as _};
use lessor_domain::testing::Reply;
use lessor_domain::time::add_months;

use crate::world::World;

#[tokio::test]
async fn every_state_of_the_way_can_be_asked_for_and_stays() {
    for target in Lifecycle::HAPPY_PATH
        .iter()
        .copied()
        .filter(|state| *state != Lifecycle::Created)
    {
        let world = World::new().await;
        let order = world.order("ada@example.com").await;
        let there = world.advance(&order, target).await;
        // The shipping address is not known: no step is passed through.
        assert_eq!(there.lifecycle(), target);
        world.work().await;
        assert_eq!(
            world.read(order.id).await.lifecycle(),
            target,
            "a worker moved it on"
        );
    }
}

#[tokio::test]
async fn a_lease_without_tracking_runs_at_once_with_one_subscription() {
    let world = World::new().await;
    let order = world.order("ada@example.com").await;
    let lease = world.advance(&order, Lifecycle::LeaseActive).await;
    assert_eq!(
        lease.recurring.billing.status(),
        RecurringPaymentStatus::Active
    );
    assert_eq!(lease.insurance, InsuranceStatus::Approved);
    assert_eq!(world.calls("create_subscription"), 1);
    let start = lease.lease.start.unwrap();
    assert_eq!(lease.lease.end, add_months(start, 12));
    assert!(lease.deposit.captured_at().is_some() && lease.deposit.invoice_id().is_some());
    assert!(
        lease.recurring.billing.subscription_id().is_some() && lease.lease_document_id.is_some()
    );
    let progress = lease.progress();
    assert_eq!((progress.percentage, progress.is_terminal), (100, false));
    world.work().await;
    world.assert_idle().await;

    let mut view = world.view().await;
    let history = view.checkouts().history(order.id).await.unwrap();
    assert_eq!(history.first().unwrap().transition.from, Lifecycle::Created);
    assert_eq!(
        history.last().unwrap().transition.to,
        Lifecycle::LeaseActive
    );
    assert!(
        history
            .windows(2)
            .all(|pair| pair[0].transition.to == pair[1].transition.from)
    );
    assert_eq!(history.last().unwrap().transition.actor, Actor::Provider);
}

#[tokio::test]
async fn a_second_lease_of_a_known_customer_passes_identity_and_is_asked_about_credit() {
    let world = World::new().await;
    let first = world.order("ada@example.com").await;
    world.advance(&first, Lifecycle::LeaseActive).await;
    let (second, new) = world
        .try_order("ADA@example.com", |input| {
            input.term = Some("24".parse().unwrap());
        })
        .await
        .unwrap();
    assert!(new);
    assert_eq!(second.customer_id, first.customer_id);
    let second = world.advance(&second, Lifecycle::IdentityRequired).await;
    assert_eq!(second.lifecycle(), Lifecycle::QualificationPending);
    let customer = world
        .view()
        .await
        .customers()
        .get(first.customer_id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(customer.screening.identity, IdentityStatus::Verified);
    assert_eq!(customer.screening.credit, CreditStatus::Passed);
}

#[tokio::test]
async fn what_the_sandbox_found_out_opens_no_live_lease() {
    let mut world = World::new().await;
    let played = world.order("ada@example.com").await;
    world.advance(&played, Lifecycle::LeaseActive).await;
    world.access.mode = Mode::Live;
    let (real, new) = world.try_order("Ada@example.com", |_| {}).await.unwrap();
    assert!(new);
    assert_eq!(real.mode, Mode::Live);
    assert_ne!(real.customer_id, played.customer_id);
    let mut view = world.view().await;
    let customer = view.customers().get(real.customer_id).await.unwrap();
    let customer = customer.unwrap();
    assert_eq!(customer.mode, Mode::Live);
    assert_eq!(customer.screening, Screening::default());
}

#[tokio::test]
async fn the_same_order_again_is_the_same_checkout_until_it_has_ended() {
    let world = World::new().await;
    let first = world.order("ada@example.com").await;
    let (again, new) = world.try_order("Ada@Example.com", |_| {}).await.unwrap();
    assert_eq!((again.id, new), (first.id, false));
    let mut uow = world.begin().await;
    CancelCheckout {
        id: first.id,
        reason: None,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
    let (third, new) = world.try_order("ada@example.com", |_| {}).await.unwrap();
    assert!(new && third.id != first.id);
}

#[tokio::test]
async fn another_term_can_be_chosen_before_the_deposit_only() {
    let world = World::new().await;
    let order = world.order("ada@example.com").await;
    let terms = world
        .view()
        .await
        .lease_terms()
        .list(world.organization.id)
        .await
        .unwrap();
    let two_years = terms
        .iter()
        .find(|term| term.card.term.get() == 24)
        .unwrap();
    let choose = async |world: &World| {
        let mut uow = world.begin().await;
        let chosen = ChooseTerm {
            id: order.id,
            term: IdRef::Public(two_years.id),
        }
        .run(uow.as_mut(), &world.ctx())
        .await;
        uow.commit().await.unwrap();
        chosen
    };
    assert_eq!(choose(&world).await.unwrap().term.unwrap().months.get(), 24);
    let lease = world
        .advance(&order, Lifecycle::RecurringPaymentMethodPending)
        .await;
    assert_eq!(lease.quote.unwrap().term.get(), 24);
    let one_year = terms
        .iter()
        .find(|term| term.card.term.get() == 12)
        .unwrap();
    let mut uow = world.begin().await;
    let refused = ChooseTerm {
        id: order.id,
        term: IdRef::Number(one_year.lease_term_id),
    }
    .run(uow.as_mut(), &world.ctx())
    .await;
    assert!(matches!(refused, Err(Error::Rule { .. })), "{refused:?}");
}

#[tokio::test]
async fn refusals_lead_where_the_table_says() {
    let world = World::new().await;
    let order = world.order("ada@example.com").await;
    world
        .providers
        .credit
        .checks
        .then(Reply::Refused("score_too_low"));
    let failed = world.advance(&order, Lifecycle::OrderConfirmed).await;
    assert_eq!(failed.lifecycle(), Lifecycle::QualificationFailed);
    assert!(failed.progress().is_terminal && failed.progress().is_failed);
    assert_eq!(world.calls("authorize_deposit"), 0);
    world.assert_idle().await;
}

#[tokio::test]
async fn returned_goods_end_the_subscription_and_give_the_deposit_back() {
    let world = World::new().await;
    let order = world.order("ada@example.com").await;
    let returned = world.advance(&order, Lifecycle::Returned).await;
    assert_eq!(
        returned.recurring.billing.status(),
        RecurringPaymentStatus::Cancelled
    );
    assert!(returned.return_.initiated_at.is_some() && returned.return_.completed_at.is_some());
    assert_eq!(
        (world.calls("cancel_subscription"), world.calls("refund")),
        (1, 1)
    );
    world.assert_idle().await;
}

#[tokio::test]
async fn a_called_off_return_leaves_the_lease_as_it_was() {
    let world = World::new().await;
    let order = world.order("ada@example.com").await;
    world.advance(&order, Lifecycle::ReturnPending).await;
    let mut uow = world.begin().await;
    let lease = MoveCheckout {
        id: order.id,
        target: Lifecycle::LeaseActive,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
    assert_eq!(lease.lifecycle(), Lifecycle::LeaseActive);
    assert!(lease.return_.cancelled_at.is_some());
    world.work().await;
    assert_eq!(world.calls("create_subscription"), 1);
}

#[tokio::test]
async fn operators_are_told_what_is_possible() {
    let world = World::new().await;
    let order = world.order("ada@example.com").await;
    let mut uow = world.begin().await;
    let refused = MoveCheckout {
        id: order.id,
        target: Lifecycle::LeaseActive,
    }
    .run(uow.as_mut(), &world.ctx())
    .await;
    let Err(Error::Rule { message }) = refused else {
        panic!("{refused:?}")
    };
    assert!(message.contains("cancelled"), "{message}");
}

/// Played steps are the page's own: who has said nothing is given a name and a place to live, where
/// the organization serves them and in the country that they have named.
#[tokio::test]
async fn who_has_no_profile_gets_the_sandboxs() {
    for (country, area, zip) in [
        (None, "US", "94105"),
        (None, "US-TX,DE", "78701"),
        (Some("DE"), "US,DE", "10115"),
        (Some("CA"), "", "M5H 2N2"),
    ] {
        let world = World::new().await;
        let mut uow = world.begin_for_server().await;
        let update = UpdateOrganization {
            service_area: Some(area.parse().unwrap()),
            ..UpdateOrganization::default()
        };
        let organization = IdRef::Public(world.organization.pub_id);
        let now = world.clock.now();
        let (ids, operator) = (world.ids.as_ref(), world.operator());
        update_organization(uow.as_mut(), ids, now, &operator, organization, update)
            .await
            .unwrap();
        uow.commit().await.unwrap();
        let (order, _) = world
            .try_order("a@example.com", |input| {
                let customer = input.customer.as_mut().unwrap();
                customer.profile = Profile::default();
                customer.profile.country = country.map(|country| country.parse().unwrap());
            })
            .await
            .unwrap();
        let order = world.advance(&order, Lifecycle::LeaseReviewPending).await;
        let mut view = world.begin().await;
        let customer = view.customers().get(order.customer_id).await.unwrap();
        let profile = customer.unwrap().profile;
        assert!(profile.is_complete());
        assert_eq!(profile.zip.as_ref().unwrap().as_str(), zip);
        let shipped_to = order.shipping.address.as_ref().unwrap();
        assert_eq!(shipped_to.zip.as_str(), zip);
    }
}

/// A place that nobody of the sandbox's lives in is the caller's to name.
#[tokio::test]
async fn who_lives_nowhere_that_is_known_is_asked_for_an_address() {
    let world = World::new().await;
    let mut uow = world.begin_for_server().await;
    let everywhere = UpdateOrganization {
        service_area: Some("".parse().unwrap()),
        ..UpdateOrganization::default()
    };
    let organization = IdRef::Public(world.organization.pub_id);
    let now = world.clock.now();
    update_organization(
        uow.as_mut(),
        world.ids.as_ref(),
        now,
        &world.operator(),
        organization,
        everywhere,
    )
    .await
    .unwrap();
    uow.commit().await.unwrap();
    let (order, _) = world
        .try_order("a@example.com", |input| {
            let customer = input.customer.as_mut().unwrap();
            customer.profile = Profile::default();
            customer.profile.country = "JP".parse().ok();
        })
        .await
        .unwrap();
    let refused = world
        .sandbox()
        .advance(&world.ctx(), order.id, Lifecycle::LeaseReviewPending)
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("profile"), "{refused}");
    let after = world.read(order.id).await;
    assert_eq!(after.lifecycle(), Lifecycle::ProfilePending);
}
