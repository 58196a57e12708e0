//! The deposit: doubt, refusal, renewal, lapse, void and refund.

use chrono::TimeDelta;
use lessor_domain::checkout::{AttentionReason, Lifecycle};
use lessor_domain::ledger::{Authorization, HoldState, Thing};
use lessor_domain::money::{Currency, Money};
use lessor_domain::ports::{Clock, JobFilter, VoidResult};
use lessor_domain::services::UseCase as _;
use lessor_domain::services::checkouts::CancelCheckout;
use lessor_domain::testing::Reply;

use crate::world::World;

fn authorization(world: &World, id: &str) -> Authorization {
    Authorization {
        payment_intent_id: id.to_owned(),
        checkout: None,
        amount: Money::from_minor(12_990, Currency::USD),
        state: HoldState::Held,
        expires_at: world.clock.now() + TimeDelta::days(7),
        charge_id: None,
        method: None,
    }
}

async fn cancel(world: &World, id: lessor_domain::ids::CheckoutPubId) {
    let mut uow = world.begin().await;
    CancelCheckout {
        id,
        reason: Some("changed my mind".parse().unwrap()),
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_under_the_same_key() {
    let world = World::new().await;
    let order = world.order("ada@example.com").await;
    world.advance(&order, Lifecycle::DepositProcessing).await;
    world
        .providers
        .processor
        .deposits
        .then(Reply::Lost(authorization(&world, "pi_1")));
    let sandbox = world.sandbox();
    assert!(
        sandbox
            .advance(
                &world.ctx(),
                order.id,
                Lifecycle::RecurringPaymentMethodPending
            )
            .await
            .is_err()
    );
    assert_eq!(
        world.read(order.id).await.lifecycle(),
        Lifecycle::DepositProcessing
    );
    let jobs = world
        .begin()
        .await
        .jobs()
        .list(&JobFilter::default(), 100)
        .await
        .unwrap();
    let said: Vec<_> = jobs.into_iter().filter_map(|job| job.last_error).collect();
    assert_eq!(
        said,
        ["the provider could not be reached: the answer was lost"],
        "who looks after the job queue reads what it came of"
    );
    world.clock.advance(TimeDelta::minutes(1));
    world.work().await;
    let after = world.read(order.id).await;
    assert_eq!(after.lifecycle(), Lifecycle::RecurringPaymentMethodPending);
    assert_eq!(after.deposit.payment_intent_id(), Some("pi_1"));
    let keys: Vec<_> = world
        .providers
        .processor
        .calls()
        .into_iter()
        .filter(|call| call.method == "authorize_deposit")
        .map(|call| call.idempotency_key)
        .collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys.first(), keys.last());
}

#[tokio::test]
async fn a_declined_deposit_can_be_tried_again() {
    let world = World::new().await;
    let order = world.order("ada@example.com").await;
    world
        .providers
        .processor
        .deposits
        .then(Reply::Refused("card_declined"));
    let failed = world.advance(&order, Lifecycle::OrderConfirmed).await;
    assert_eq!(failed.lifecycle(), Lifecycle::DepositFailed);
    assert!(
        failed.quote.is_none(),
        "a price that nobody paid follows the catalog"
    );
    assert!(failed.progress().needs_attention() && failed.progress().can_go_back);
    let confirmed = world.advance(&order, Lifecycle::OrderConfirmed).await;
    assert_eq!(confirmed.lifecycle(), Lifecycle::OrderConfirmed);
    assert!(confirmed.recurring.last_failure.is_none());
}

#[tokio::test]
async fn a_cancel_voids_what_is_authorized_and_refunds_what_is_captured() {
    let world = World::new().await;
    let authorized = world.order("a@example.com").await;
    world
        .advance(&authorized, Lifecycle::DocumentsPending)
        .await;
    cancel(&world, authorized.id).await;
    world.work().await;
    assert_eq!((world.calls("void_deposit"), world.calls("refund")), (1, 0));

    let captured = world.order("b@example.com").await;
    world.advance(&captured, Lifecycle::OrderConfirmed).await;
    cancel(&world, captured.id).await;
    world.work().await;
    assert_eq!((world.calls("void_deposit"), world.calls("refund")), (1, 1));
    world.assert_idle().await;
}

#[tokio::test]
async fn a_capture_that_overtook_the_cancel_is_refunded() {
    let world = World::new().await;
    let order = world.order("a@example.com").await;
    world.advance(&order, Lifecycle::DocumentsPending).await;
    let capture = lessor_domain::ports::Capture {
        invoice_id: "in_1".to_owned(),
        at: world.clock.now(),
    };
    world
        .providers
        .processor
        .voids
        .then(Reply::Done(VoidResult::AlreadyCaptured(capture)));
    cancel(&world, order.id).await;
    world.work().await;
    assert_eq!(world.calls("refund"), 1);
}

#[tokio::test]
async fn a_cancel_while_the_answer_is_lost_finds_and_voids_the_authorization() {
    let world = World::new().await;
    let order = world.order("a@example.com").await;
    world.advance(&order, Lifecycle::DepositProcessing).await;
    world
        .providers
        .processor
        .deposits
        .then(Reply::Lost(authorization(&world, "pi_lost")));
    let _ = world
        .sandbox()
        .advance(
            &world.ctx(),
            order.id,
            Lifecycle::RecurringPaymentMethodPending,
        )
        .await;
    cancel(&world, order.id).await;
    world.clock.advance(TimeDelta::minutes(1));
    world.work().await;
    let after = world.read(order.id).await;
    assert_eq!(after.lifecycle(), Lifecycle::Cancelled);
    assert_eq!(world.calls("void_deposit"), 1);
    assert_eq!(world.holds(order.id).await, [HoldState::Released]);
    world.assert_idle().await;
}

#[tokio::test]
async fn an_authorization_is_renewed_before_it_lapses() {
    let world = World::new().await;
    let order = world.order("a@example.com").await;
    let before = world.advance(&order, Lifecycle::DocumentsPending).await;
    world
        .clock
        .advance(TimeDelta::days(6) + TimeDelta::hours(1));
    world
        .providers
        .processor
        .deposits
        .then(Reply::Done(authorization(&world, "pi_2")));
    assert_eq!(world.housekeeper().run_once().await.unwrap().renewals, 1);
    assert_eq!(
        world.housekeeper().run_once().await.unwrap().renewals,
        0,
        "one renewal at a time"
    );
    world.work().await;
    let after = world.read(order.id).await;
    assert_ne!(
        after.deposit.payment_intent_id(),
        before.deposit.payment_intent_id()
    );
    assert!(after.deposit.hold().unwrap().expires_at > before.deposit.hold().unwrap().expires_at);
    assert_eq!(after.lifecycle(), Lifecycle::DocumentsPending);
    assert_eq!(
        world.calls("void_deposit"),
        1,
        "the old authorization is let go"
    );
}

#[tokio::test]
async fn an_authorization_that_lapsed_is_asked_for_anew() {
    let world = World::new().await;
    world.set_stock(1).await;
    let order = world.order("a@example.com").await;
    let held = world.advance(&order, Lifecycle::DocumentsPending).await;
    assert_eq!(world.stock().await, Some(0));
    world.clock.advance(TimeDelta::days(8));
    assert_eq!(world.housekeeper().run_once().await.unwrap().checks, 1);
    world.work().await;
    let after = world.read(order.id).await;
    assert_eq!(
        after.lifecycle(),
        Lifecycle::DocumentsPending,
        "the clock alone decides nothing"
    );
    let intent = held.deposit.payment_intent_id().unwrap();
    world
        .providers
        .processor
        .becomes(intent, HoldState::Released);
    world.clock.advance(TimeDelta::hours(1));
    world.work().await;
    let after = world.read(order.id).await;
    assert_eq!(after.lifecycle(), Lifecycle::DepositPending);
    assert!(after.deposit.payment_intent_id().is_none() && after.quote.is_none());
    assert!(after.needs(AttentionReason::DepositLapsed));
    assert_eq!(world.stock().await, Some(1));
    assert_eq!(world.holds(order.id).await, [HoldState::Released]);
}

#[tokio::test]
async fn a_capture_in_doubt_when_the_hold_ends_is_a_capture() {
    let world = World::new().await;
    let order = world.order("a@example.com").await;
    world.advance(&order, Lifecycle::DocumentsPending).await;
    let capture = lessor_domain::ports::Capture {
        invoice_id: "in_1".to_owned(),
        at: world.clock.now(),
    };
    let processor = &world.providers.processor;
    processor.captures.then(Reply::Lost(capture));
    let _ = world
        .sandbox()
        .advance(&world.ctx(), order.id, Lifecycle::OrderConfirmed)
        .await;
    world.clock.advance(TimeDelta::days(8));
    world.housekeeper().run_once().await.unwrap();
    world.work().await;
    let after = world.read(order.id).await;
    assert_eq!(after.lifecycle(), Lifecycle::OrderConfirmed);
    assert_eq!(world.holds(order.id).await, [HoldState::Captured]);
    assert_eq!(
        world.calls("authorize_deposit"),
        1,
        "nobody pays a deposit twice"
    );
}

#[tokio::test]
async fn a_bank_that_declines_a_renewal_is_not_asked_every_minute() {
    for (code, tries) in [("insufficient_funds", 2), ("stolen_card", 1)] {
        let world = World::new().await;
        let order = world.order("a@example.com").await;
        world.advance(&order, Lifecycle::DocumentsPending).await;
        world
            .clock
            .advance(TimeDelta::days(6) + TimeDelta::minutes(1));
        for _ in 0..5 {
            world
                .providers
                .processor
                .deposits
                .then(Reply::Refused(code));
        }
        for _ in 0..10 {
            world.housekeeper().run_once().await.unwrap();
            world.work().await;
            world.clock.advance(TimeDelta::hours(2));
        }
        let renewals = world.calls("authorize_deposit") - 1;
        assert_eq!(renewals, tries, "{code}");
        let after = world.read(order.id).await;
        assert!(after.needs(AttentionReason::DepositFailed));
        assert_eq!(after.lifecycle(), Lifecycle::DocumentsPending);
    }
}

#[tokio::test]
async fn a_renewal_in_doubt_is_let_go_when_the_checkout_ends() {
    let world = World::new().await;
    let order = world.order("a@example.com").await;
    world.advance(&order, Lifecycle::DocumentsPending).await;
    world
        .clock
        .advance(TimeDelta::days(6) + TimeDelta::hours(1));
    let renewed = authorization(&world, "pi_2");
    let processor = &world.providers.processor;
    processor.deposits.then(Reply::Lost(renewed));
    world.housekeeper().run_once().await.unwrap();
    world.work().await;
    cancel(&world, order.id).await;
    world.clock.advance(TimeDelta::minutes(1));
    world.work().await;
    world.assert_idle().await;
    let holds = world.holds(order.id).await;
    assert_eq!(holds, [HoldState::Released, HoldState::Released]);
}

#[tokio::test]
async fn what_was_bought_stays_paid_when_the_goods_come_back_and_nothing_is_refunded_twice() {
    let world = World::new().await;
    let order = world.order("a@example.com").await;
    world.advance(&order, Lifecycle::Returned).await;
    world.work().await;
    let rows = world.rows(order.id).await;
    let refunds: Vec<_> = rows
        .iter()
        .filter(|row| matches!(row.thing, Thing::Refund { .. }))
        .collect();
    let after = world.read(order.id).await;
    let deposit = after.quote.unwrap().deposit;
    assert_eq!(refunds.len(), 1);
    assert_eq!(refunds.first().map(|row| row.amount), Some(deposit));
    world
        .ask(order.id, lessor_domain::checkout::Effect::RefundDeposit)
        .await;
    world.work().await;
    assert_eq!(world.calls("refund"), 1, "what is paid back is not owed");
}

#[tokio::test]
async fn untouched_checkouts_expire_and_let_go() {
    let world = World::new().await;
    world.set_stock(1).await;
    let order = world.order("a@example.com").await;
    world
        .advance(&order, Lifecycle::RecurringPaymentMethodPending)
        .await;
    world.clock.advance(TimeDelta::days(31));
    world.housekeeper().run_once().await.unwrap();
    world.work().await;
    let after = world.read(order.id).await;
    assert_eq!(after.lifecycle(), Lifecycle::Expired);
    assert_eq!(world.stock().await, Some(1));
    world.assert_idle().await;
}
