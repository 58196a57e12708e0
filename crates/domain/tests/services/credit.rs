//! Who decides about credit, what holds, and what falls when the person changes.

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::checkout::{AttentionReason, Checkout, Deposit, Effect, Lifecycle};
use lessor_domain::credit::{
    AdverseReason, CreditDecision, CreditPolicy, CreditRules, DECISIONS_HOLD, QualificationSource,
};
use lessor_domain::customer::{CreditStatus, Customer, IdentityStatus};
use lessor_domain::endpoint::Endpoint;
use lessor_domain::ids::OrganizationRef;
use lessor_domain::ledger::HoldState;
use lessor_domain::ports::{Clock as _, CreditAnswer, Doubt};
use lessor_domain::secret::Secret;
use lessor_domain::services::credit::set_policy;
use lessor_domain::services::customers::{CustomerChanges, UpdateCustomer};
use lessor_domain::services::journey::Journey;
use lessor_domain::services::qualifications::QualifyCheckout;
use lessor_domain::services::{Error, Patch, UseCase as _};
use lessor_domain::testing::FakeDialingPlan;

use crate::world::World;

pub(crate) async fn decide_by(world: &World, policy: CreditPolicy) {
    let mut uow = world.begin().await;
    uow.credit_policies()
        .put(
            world.organization.id,
            Mode::Sandbox,
            &policy,
            world.clock.now(),
        )
        .await
        .unwrap();
    uow.commit().await.unwrap();
}

fn endpoint() -> CreditPolicy {
    CreditPolicy::Http(Endpoint {
        url: "https://decide.example.com/".parse().unwrap(),
        secret: Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
    })
}

pub(crate) fn decision(checkout: &Checkout, decision: CreditDecision) -> QualifyCheckout {
    QualifyCheckout {
        id: checkout.id,
        decision,
        reasons: Vec::new(),
        reference: None,
        expires_at: None,
        holds_for: DECISIONS_HOLD,
    }
}

async fn qualify(world: &World, asked: QualifyCheckout) -> Result<Checkout, Error> {
    let mut uow = world.begin().await;
    let decided = asked.run(uow.as_mut(), &world.ctx()).await?;
    uow.commit().await?;
    Ok(decided)
}

async fn customer(world: &World, checkout: &Checkout) -> Customer {
    let mut view = world.view().await;
    let found = view.customers().get(checkout.customer_id).await;
    found.unwrap().unwrap()
}

async fn change(world: &World, checkout: &Checkout, changes: CustomerChanges) {
    let id = checkout.customer_id;
    let mut uow = world.begin().await;
    let update = UpdateCustomer { id, changes };
    update.run(uow.as_mut(), &world.ctx()).await.unwrap();
    uow.commit().await.unwrap();
}

fn another_name() -> CustomerChanges {
    CustomerChanges {
        first_name: Patch::Set("Mallory".parse().unwrap()),
        ..CustomerChanges::default()
    }
}

fn another_street() -> CustomerChanges {
    CustomerChanges {
        address1: Patch::Set("2 Market St".parse().unwrap()),
        ..CustomerChanges::default()
    }
}

/// The sandbox plays the checkout as far as it comes: a person decides.
pub(crate) async fn waiting(world: &World, email: &str) -> Checkout {
    let order = world.order(email).await;
    let stands = world
        .advance(&order, Lifecycle::ShippingAddressPending)
        .await;
    assert_eq!(stands.lifecycle(), Lifecycle::QualificationPending);
    stands
}

#[tokio::test]
async fn a_person_decides_once() {
    let world = World::new().await;
    decide_by(&world, CreditPolicy::Manual).await;
    let order = waiting(&world, "ada@example.com").await;
    assert!(order.needs(AttentionReason::QualificationRequired));
    world.assert_idle().await;

    let approved = decision(&order, CreditDecision::Approved);
    let qualified = qualify(&world, approved.clone()).await.unwrap();
    assert_eq!(qualified.lifecycle(), Lifecycle::ShippingAddressPending);
    assert!(!qualified.needs(AttentionReason::QualificationRequired));
    let known = customer(&world, &order).await.screening;
    assert_eq!(known.credit, CreditStatus::Passed);
    assert_eq!(known.credit_at, Some(qualified.updated_at));
    let again = qualify(&world, approved).await.unwrap();
    assert_eq!(again, qualified);
    let other = qualify(&world, decision(&order, CreditDecision::Declined)).await;
    assert!(matches!(other, Err(Error::Rule { .. })), "{other:?}");
    let made = world
        .view()
        .await
        .qualifications()
        .latest(&[order.id])
        .await
        .unwrap();
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].source, QualificationSource::Organization);
    assert_eq!(made[0].key, Some(world.access.key_id));
    assert!(made[0].amount.is_some() && made[0].expires_at.is_some());
}

#[tokio::test]
async fn a_refusal_ends_its_checkout_alone() {
    let world = World::new().await;
    decide_by(&world, CreditPolicy::Manual).await;
    let order = waiting(&world, "ada@example.com").await;
    let declined = QualifyCheckout {
        reasons: vec![AdverseReason::IncomeInsufficient],
        ..decision(&order, CreditDecision::Declined)
    };
    let refused = qualify(&world, declined.clone()).await.unwrap();
    assert_eq!(refused.lifecycle(), Lifecycle::QualificationFailed);
    assert_eq!(qualify(&world, declined).await.unwrap(), refused);
    let next = waiting(&world, "ada@example.com").await;
    assert_ne!(next.id, order.id);
}

#[tokio::test]
async fn what_is_no_decision_is_refused() {
    let world = World::new().await;
    decide_by(&world, CreditPolicy::Manual).await;
    let order = world.order("ada@example.com").await;
    let early = qualify(&world, decision(&order, CreditDecision::Approved)).await;
    assert!(matches!(early, Err(Error::Rule { .. })), "{early:?}");
    let order = world.advance(&order, Lifecycle::QualificationPending).await;
    let of = |made: CreditDecision| decision(&order, made);
    let (approved, declined) = (CreditDecision::Approved, CreditDecision::Declined);
    let other = AdverseReason::Other;
    for (asked, member) in [
        (
            QualifyCheckout {
                reasons: vec![other],
                ..of(approved)
            },
            "reasons",
        ),
        (
            QualifyCheckout {
                reasons: vec![other, other],
                ..of(declined)
            },
            "reasons",
        ),
        (
            QualifyCheckout {
                reasons: AdverseReason::ALL[..5].to_vec(),
                ..of(declined)
            },
            "reasons",
        ),
        (
            QualifyCheckout {
                expires_at: Some(world.clock.now()),
                ..of(approved)
            },
            "expiresAt",
        ),
    ] {
        let refused = qualify(&world, asked).await;
        assert!(
            matches!(&refused, Err(Error::Invalid { param, .. }) if param == member),
            "{member}: {refused:?}"
        );
    }
    let mut uow = world.begin_for_server().await;
    let live = set_policy(
        uow.as_mut(),
        world.ids.as_ref(),
        world.clock.now(),
        &world.operator(),
        OrganizationRef::Number(world.organization.id),
        Mode::Live,
        CreditPolicy::Simulated,
    )
    .await;
    assert!(matches!(live, Err(Error::Invalid { .. })), "{live:?}");
}

#[tokio::test]
async fn nobody_decides_or_limits_do() {
    let rules = |most| {
        CreditPolicy::Rules(CreditRules {
            max_open_leases: Some(most),
            ..CreditRules::default()
        })
    };
    let next = Lifecycle::ShippingAddressPending;
    for (policy, state) in [
        (CreditPolicy::None, next),
        (rules(1), next),
        (rules(0), Lifecycle::QualificationPending),
        (
            CreditPolicy::Rules(CreditRules::default()),
            Lifecycle::QualificationPending,
        ),
    ] {
        let world = World::new().await;
        decide_by(&world, policy.clone()).await;
        let order = world.order("ada@example.com").await;
        let stands = world.advance(&order, next).await;
        assert_eq!(stands.lifecycle(), state, "{policy:?}");
        let waits = state != next;
        let needs = stands.needs(AttentionReason::QualificationRequired);
        assert_eq!(needs, waits, "{policy:?}");
    }
}

#[tokio::test]
async fn an_endpoint_decides_at_once_or_later() {
    let world = World::new().await;
    decide_by(&world, endpoint()).await;
    let desk = &world.providers.desk;
    let order = world.order("ada@example.com").await;
    let passed = world
        .advance(&order, Lifecycle::ShippingAddressPending)
        .await;
    assert_eq!(passed.lifecycle(), Lifecycle::ShippingAddressPending);
    desk.will_answer(Ok(CreditAnswer::Pending));
    let later = waiting(&world, "bob@example.com").await;
    assert!(!later.needs(AttentionReason::QualificationRequired));
    world.assert_idle().await;
    desk.will_answer(Ok(CreditAnswer::Decided {
        decision: CreditDecision::Declined,
        reasons: vec![AdverseReason::NoCreditFile],
        reference: None,
    }));
    let order = world.order("eve@example.com").await;
    let refused = world
        .advance(&order, Lifecycle::ShippingAddressPending)
        .await;
    assert_eq!(refused.lifecycle(), Lifecycle::QualificationFailed);
    assert_eq!(desk.asked().len(), 3);
}

#[tokio::test]
async fn an_endpoint_that_does_not_answer_leaves_it_to_a_person() {
    let world = World::new().await;
    decide_by(&world, endpoint()).await;
    let desk = &world.providers.desk;
    for _ in 0..11 {
        desk.will_answer(Err(Doubt::failed("it is down")));
    }
    let order = world.order("ada@example.com").await;
    world.advance(&order, Lifecycle::QualificationPending).await;
    world.ask(order.id, Effect::CheckCredit).await;
    let mut uow = world.begin().await;
    let subject = lessor_domain::ports::JobSubject::Checkout(order.id);
    uow.jobs()
        .release(subject, world.clock.now())
        .await
        .unwrap();
    uow.commit().await.unwrap();
    for _ in 0..11 {
        world.work().await;
        world.clock.advance(TimeDelta::hours(30));
    }
    assert!(desk.asked().len() >= 11, "{}", desk.asked().len());
    let order = world.read(order.id).await;
    let stands = order.lifecycle() == Lifecycle::QualificationPending;
    // What is asked once more is answered.
    assert!(!stands || order.needs(AttentionReason::QualificationRequired));
}

#[tokio::test]
async fn another_person_is_checked_again_and_keeps_the_deposit() {
    for (changes, back) in [
        (another_name(), Lifecycle::IdentityRequired),
        (another_street(), Lifecycle::QualificationPending),
    ] {
        let world = World::new().await;
        world.set_stock(1).await;
        let order = world.order("ada@example.com").await;
        let signing = world.advance(&order, Lifecycle::DocumentsPending).await;
        let deposit = signing.deposit.clone();
        assert!(matches!(deposit, Deposit::Authorized { .. }));
        change(&world, &order, changes).await;
        let checked = world.read(order.id).await;
        assert_eq!(checked.lifecycle(), back);
        assert_eq!(checked.deposit, deposit);
        assert!(checked.holds_stock && checked.signed_at.is_none());
        assert_eq!(checked.lease_document_id, None);
        let known = customer(&world, &order).await.screening;
        assert_eq!(known.credit, CreditStatus::Unknown);
        let is_verified = known.identity == IdentityStatus::Verified;
        assert_eq!(is_verified, back == Lifecycle::QualificationPending);
        assert_eq!(known.verification_session_id.is_some(), is_verified);
        let lease = world.advance(&order, Lifecycle::OrderConfirmed).await;
        assert_eq!(lease.lifecycle(), Lifecycle::OrderConfirmed);
        assert_eq!(world.holds(order.id).await, [HoldState::Captured]);
        assert_eq!(world.calls("authorize_deposit"), 1);
        assert_eq!(world.stock().await, Some(0));
        world.assert_idle().await;
    }
}

#[tokio::test]
async fn a_refusal_lets_the_deposit_go() {
    let world = World::new().await;
    world.set_stock(1).await;
    let order = world.order("ada@example.com").await;
    world.advance(&order, Lifecycle::DocumentsPending).await;
    decide_by(&world, CreditPolicy::Manual).await;
    change(&world, &order, another_street()).await;
    world.work().await;
    let declined = decision(&order, CreditDecision::Declined);
    qualify(&world, declined).await.unwrap();
    world.assert_idle().await;
    assert_eq!(world.holds(order.id).await, [HoldState::Released]);
    assert_eq!(world.stock().await, Some(1));
}

#[tokio::test]
async fn the_same_again_and_the_phone_change_nothing() {
    let world = World::new().await;
    let order = world.order("ada@example.com").await;
    let before = world.advance(&order, Lifecycle::LeaseReviewPending).await;
    let known = customer(&world, &order).await;
    let same = CustomerChanges {
        first_name: known
            .profile
            .first_name
            .clone()
            .map_or(Patch::Keep, Patch::Set),
        phone: Patch::Set("+14155550199".parse().unwrap()),
        ..CustomerChanges::default()
    };
    change(&world, &order, same).await;
    assert_eq!(world.read(order.id).await, before);
    assert_eq!(customer(&world, &order).await.screening, known.screening);
}

/// Verified as one, a step back, saved as another: the order is not confirmed in that name.
#[tokio::test]
async fn whoever_is_saved_on_the_page_is_verified_again() {
    let world = World::new().await;
    let order = world.order("ada@example.com").await;
    let mut checkout = world
        .advance(&order, Lifecycle::ShippingAddressPending)
        .await;
    let origin = lessor_domain::audit::Origin::customer(order.customer_id);
    let journey = Journey::new(world.clock.now(), world.ids.as_ref(), &origin);
    let mut profile = customer(&world, &order).await.profile;
    profile.first_name = "Mallory".parse().ok();
    let mut uow = world.begin().await;
    checkout = uow.checkouts().lock(checkout.id).await.unwrap().unwrap();
    journey.go_back(uow.as_mut(), &mut checkout).await.unwrap();
    assert_eq!(checkout.lifecycle(), Lifecycle::ProfilePending);
    journey
        .give_profile(uow.as_mut(), &FakeDialingPlan, &mut checkout, profile)
        .await
        .unwrap();
    uow.commit().await.unwrap();
    let checked = world.read(order.id).await;
    assert_eq!(checked.lifecycle(), Lifecycle::IdentityRequired);
    let known = customer(&world, &order).await.screening;
    assert_eq!(known.identity, IdentityStatus::None);
    assert_eq!(known.credit, CreditStatus::Unknown);
}
