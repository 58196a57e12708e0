//! The deposit: doubt, refusal, renewal, lapse, void and refund.

use chrono::TimeDelta;
use lessor_domain::checkout::Lifecycle;
use lessor_domain::ports::{Authorization, Clock, JobFilter, Voided};
use lessor_domain::services::checkouts::cancel_checkout;
use lessor_domain::testing::Reply;

use crate::world::World;

fn authorization(world: &World, id: &str) -> Authorization {
    Authorization {
        payment_intent_id: id.to_owned(),
        expires_at: world.clock.now() + TimeDelta::days(7),
        method: None,
    }
}

async fn cancel(world: &World, id: lessor_domain::ids::CheckoutPubId) {
    let mut uow = world.begin().await;
    cancel_checkout(
        uow.as_mut(),
        &world.ctx(),
        id,
        Some("changed my mind".parse().unwrap()),
    )
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
        .outbox()
        .list(&JobFilter::default(), 100)
        .await
        .unwrap();
    let said: Vec<_> = jobs.into_iter().filter_map(|job| job.last_error).collect();
    assert_eq!(
        said,
        ["the provider could not be reached: the answer was lost"],
        "who looks after the outbox reads what it came of"
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
    assert!(failed.progress().needs_attention && failed.progress().can_go_back);
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
    assert_eq!(
        (world.calls("void_deposit"), world.calls("refund_deposit")),
        (1, 0)
    );

    let captured = world.order("b@example.com").await;
    world.advance(&captured, Lifecycle::OrderConfirmed).await;
    cancel(&world, captured.id).await;
    world.work().await;
    assert_eq!(
        (world.calls("void_deposit"), world.calls("refund_deposit")),
        (1, 1)
    );
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
        .then(Reply::Done(Voided::AlreadyCaptured(capture)));
    cancel(&world, order.id).await;
    world.work().await;
    assert_eq!(world.calls("refund_deposit"), 1);
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
    assert_eq!(after.deposit.payment_intent_id(), Some("pi_lost"));
    assert_eq!(world.calls("void_deposit"), 1);
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
    world.advance(&order, Lifecycle::DocumentsPending).await;
    assert_eq!(world.stock().await, Some(0));
    world.clock.advance(TimeDelta::days(8));
    assert_eq!(world.housekeeper().run_once().await.unwrap().lapsed, 1);
    let after = world.read(order.id).await;
    assert_eq!(after.lifecycle(), Lifecycle::DepositPending);
    assert!(after.deposit.payment_intent_id().is_none() && after.quote.is_none());
    assert_eq!(world.stock().await, Some(1));
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
