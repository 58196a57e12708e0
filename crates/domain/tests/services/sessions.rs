//! Customers on the processor's and the verifier's own pages: sent there, back from there, gone for
//! good, and there twice.

use std::sync::atomic::Ordering;

use chrono::TimeDelta;
use lessor_domain::audit::Origin;
use lessor_domain::checkout::{Checkout, Effect, Lifecycle};
use lessor_domain::customer::IdentityStatus;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{Entry, HoldState, HostedSession, SessionPurpose, SessionState};
use lessor_domain::ports::{Clock, IdentityResult};
use lessor_domain::services::checkouts::CancelCheckout;
use lessor_domain::services::journey::Journey;
use lessor_domain::services::{Error, UseCase as _, sessions};
use lessor_domain::testing::Reply;
use lessor_domain::workers::jobs::WayBack;

use crate::world::World;

const DEPOSIT: SessionPurpose = SessionPurpose::Deposit;
const METHOD: SessionPurpose = SessionPurpose::Method;
const RETURN: &str = "https://lessor.test/c/secret/return";

fn back() -> WayBack {
    WayBack {
        done: RETURN.to_owned(),
        left: format!("{RETURN}?left=1"),
    }
}

/// A world whose processor has pages.
async fn world() -> World {
    let world = World::new().await;
    let has_pages = &world.providers.processor.has_pages;
    has_pages.store(true, Ordering::Relaxed);
    world
}

/// The customer asks for the page where the deposit is paid; what they are not allowed fails.
async fn begin(world: &World, id: CheckoutPubId) -> Result<bool, Error> {
    let mut uow = world.begin().await;
    let mut checkout = uow.checkouts().lock(id).await?.unwrap();
    let origin = Origin::customer(checkout.customer_id);
    let journey = Journey::new(world.clock.now(), world.ids.as_ref(), &origin);
    let begun = journey.begin_deposit(uow.as_mut(), &mut checkout).await?;
    uow.commit().await?;
    Ok(begun)
}

/// The same for a card.
async fn begin_card(world: &World, id: CheckoutPubId) -> Result<(), Error> {
    let mut uow = world.begin().await;
    let checkout = uow.checkouts().lock(id).await?.unwrap();
    let origin = Origin::customer(checkout.customer_id);
    let journey = Journey::new(world.clock.now(), world.ids.as_ref(), &origin);
    journey.begin_method(uow.as_mut(), &checkout).await?;
    Ok(uow.commit().await?)
}

async fn open(world: &World, checkout: &Checkout, purpose: SessionPurpose) -> Option<String> {
    let opened = world
        .runner()
        .open_session(checkout, purpose, &back())
        .await;
    opened.unwrap()
}

/// A checkout whose customer was sent to pay the deposit.
async fn paying(world: &World, email: &str) -> Checkout {
    let order = world.order(email).await;
    let order = world.advance(&order, Lifecycle::DepositPending).await;
    assert!(begin(world, order.id).await.unwrap());
    assert!(open(world, &order, DEPOSIT).await.is_some());
    world.read(order.id).await
}

fn session_of(world: &World, id: CheckoutPubId) -> HostedSession {
    let sessions = world.providers.processor.sessions_of(id);
    sessions.last().cloned().unwrap()
}

async fn states(world: &World, id: CheckoutPubId) -> Vec<SessionState> {
    let rows = world.rows(id).await;
    let sessions = rows.iter().filter_map(Entry::session);
    sessions.map(|(_, state)| state).collect()
}

async fn come_back(world: &World, checkout: &Checkout) -> Checkout {
    world.runner().customer_is_back(checkout).await.unwrap();
    world.work().await;
    world.read(checkout.id).await
}

#[tokio::test]
async fn a_deposit_that_is_paid_on_the_processors_page_is_held_with_its_card_and_a_unit() {
    let world = world().await;
    world.set_stock(1).await;
    let order = paying(&world, "ada@example.com").await;
    assert_eq!(order.lifecycle(), Lifecycle::DepositProcessing);
    assert!(order.quote.is_some(), "what is paid is what was shown");
    assert_eq!(states(&world, order.id).await, [SessionState::Open]);
    let [row] = &*world.rows(order.id).await else {
        panic!("one session")
    };
    let deposit = order.quote.unwrap().deposit;
    assert_eq!(row.amount, deposit);
    world.work().await;
    assert_eq!(world.calls("authorize_deposit"), 0, "nobody pays for them");
    // Back too early: nothing came of it yet.
    let early = come_back(&world, &order).await;
    assert_eq!(early.lifecycle(), Lifecycle::DepositProcessing);
    let session = session_of(&world, order.id);
    assert!(
        world
            .providers
            .processor
            .complete(&session.id, world.clock.now())
    );
    for _ in 0..2 {
        let paid = come_back(&world, &order).await;
        assert_eq!(paid.lifecycle(), Lifecycle::RecurringPaymentMethodPending);
        let card = paid.recurring.method.as_ref().unwrap();
        assert_eq!(card.id, format!("pm_{}", session.id));
        assert_eq!(world.holds(order.id).await, [HoldState::Held]);
        assert_eq!(world.stock().await, Some(0), "taken once");
    }
    assert_eq!(states(&world, order.id).await, [SessionState::Completed]);
    let confirmed = world.advance(&order, Lifecycle::OrderConfirmed).await;
    assert_eq!(confirmed.lifecycle(), Lifecycle::OrderConfirmed);
    world.assert_idle().await;
}

#[tokio::test]
async fn whoever_is_last_waits_with_the_deposit_that_they_paid() {
    let world = world().await;
    world.set_stock(1).await;
    let first = paying(&world, "first@example.com").await;
    let last = paying(&world, "last@example.com").await;
    for (order, state) in [
        (&first, Lifecycle::RecurringPaymentMethodPending),
        (&last, Lifecycle::WaitlistedAfterDeposit),
    ] {
        let session = session_of(&world, order.id);
        world
            .providers
            .processor
            .complete(&session.id, world.clock.now());
        let now = come_back(&world, order).await;
        assert_eq!(now.lifecycle(), state);
    }
}

#[tokio::test]
async fn two_tabs_lead_to_the_same_page_and_a_lost_answer_too() {
    let world = world().await;
    let order = world.order("ada@example.com").await;
    let order = world.advance(&order, Lifecycle::DepositPending).await;
    world.providers.processor.sessions.then(Reply::Unreachable);
    begin(&world, order.id).await.unwrap();
    let runner = world.runner();
    let lost = runner.open_session(&order, DEPOSIT, &back()).await;
    assert!(matches!(lost, Err(Error::Provider(_))), "{lost:?}");
    let now = world.read(order.id).await;
    assert_eq!(now.lifecycle(), Lifecycle::DepositProcessing);
    let mut urls = Vec::new();
    for _ in 0..2 {
        assert!(begin(&world, order.id).await.unwrap());
        urls.push(open(&world, &order, DEPOSIT).await.unwrap());
    }
    urls.dedup();
    assert_eq!(urls.len(), 1, "{urls:?}");
    let processor = &world.providers.processor;
    assert_eq!(processor.sessions_of(order.id).len(), 1);
    let calls = processor.calls();
    let mut keys: Vec<_> = calls
        .iter()
        .filter(|call| call.method == "open_session")
        .map(|call| &call.idempotency_key)
        .collect();
    assert_eq!(keys.len(), 2, "asked again, then known");
    keys.dedup();
    assert_eq!(keys.len(), 1, "under one key");
}

#[tokio::test]
async fn a_page_that_is_left_is_closed_first_and_the_next_one_is_another() {
    let world = world().await;
    let order = paying(&world, "ada@example.com").await;
    let first = session_of(&world, order.id);
    let runner = world.runner();
    runner.leave_sessions(&order, DEPOSIT).await.unwrap();
    let left = world.read(order.id).await;
    assert_eq!(left.lifecycle(), Lifecycle::DepositPending);
    assert!(left.quote.is_none() && left.progress().can_go_back);
    let processor = &world.providers.processor;
    assert!(
        !processor.complete(&first.id, world.clock.now()),
        "nobody pays in another tab"
    );
    runner.leave_sessions(&order, DEPOSIT).await.unwrap();
    assert_eq!(world.calls("expire_session"), 1, "once is enough");
    begin(&world, order.id).await.unwrap();
    open(&world, &order, DEPOSIT).await.unwrap();
    let second = session_of(&world, order.id);
    assert_ne!(first.id, second.id);
    processor.complete(&second.id, world.clock.now());
    let paid = come_back(&world, &order).await;
    assert_eq!(paid.lifecycle(), Lifecycle::RecurringPaymentMethodPending);
}

#[tokio::test]
async fn who_pays_before_the_page_is_closed_has_paid() {
    let world = world().await;
    let order = paying(&world, "ada@example.com").await;
    let session = session_of(&world, order.id);
    world
        .providers
        .processor
        .complete(&session.id, world.clock.now());
    let runner = world.runner();
    runner.leave_sessions(&order, DEPOSIT).await.unwrap();
    let paid = world.read(order.id).await;
    assert_eq!(paid.lifecycle(), Lifecycle::RecurringPaymentMethodPending);
}

#[tokio::test]
async fn a_page_whose_time_is_over_leads_back_to_the_deposit() {
    let world = world().await;
    let order = paying(&world, "ada@example.com").await;
    let session = session_of(&world, order.id);
    world.providers.processor.lapse(&session.id);
    // Whoever asks: the message has it asked by a job, the customer by coming back or going on.
    world.ask(order.id, Effect::CheckSessions).await;
    world.work().await;
    let over = world.read(order.id).await;
    assert_eq!(over.lifecycle(), Lifecycle::DepositPending);
    assert_eq!(states(&world, order.id).await, [SessionState::Expired]);
    let order = paying(&world, "grace@example.com").await;
    let session = session_of(&world, order.id);
    world.providers.processor.lapse(&session.id);
    assert_eq!(open(&world, &order, DEPOSIT).await, None);
    let over = world.read(order.id).await;
    assert_eq!(over.lifecycle(), Lifecycle::DepositPending);
    world.assert_idle().await;
}

#[tokio::test]
async fn one_that_was_never_opened_is_given_up_when_it_can_be_opened_no_more() {
    let world = world().await;
    let order = world.order("ada@example.com").await;
    let order = world.advance(&order, Lifecycle::DepositPending).await;
    begin(&world, order.id).await.unwrap();
    assert_eq!(states(&world, order.id).await, [SessionState::Asked]);
    world.clock.advance(TimeDelta::hours(2));
    begin(&world, order.id).await.unwrap();
    let expected = [SessionState::Expired, SessionState::Asked];
    assert_eq!(states(&world, order.id).await, expected);
    open(&world, &order, DEPOSIT).await.unwrap();
    // Left without ever having been opened.
    let other = world.order("grace@example.com").await;
    let other = world.advance(&other, Lifecycle::DepositPending).await;
    begin(&world, other.id).await.unwrap();
    let runner = world.runner();
    runner.leave_sessions(&other, DEPOSIT).await.unwrap();
    let left = world.read(other.id).await;
    assert_eq!(left.lifecycle(), Lifecycle::DepositPending);
}

#[tokio::test]
async fn what_is_called_off_is_paid_by_nobody() {
    let world = world().await;
    for pays_first in [false, true] {
        let email = format!("{pays_first}@example.com");
        let order = paying(&world, &email).await;
        let session = session_of(&world, order.id);
        let processor = &world.providers.processor;
        if pays_first {
            processor.complete(&session.id, world.clock.now());
        }
        let mut uow = world.begin().await;
        let cancel = CancelCheckout {
            id: order.id,
            reason: None,
        };
        cancel.run(uow.as_mut(), &world.ctx()).await.unwrap();
        uow.commit().await.unwrap();
        world.work().await;
        assert!(!processor.complete(&session.id, world.clock.now()));
        let holds = world.holds(order.id).await;
        let expected: &[HoldState] = if pays_first {
            &[HoldState::Released]
        } else {
            &[]
        };
        assert_eq!(holds, expected, "what was paid is let go of");
        let rows = world.rows(order.id).await;
        assert!(!rows.iter().any(|row| row.is_open_session(DEPOSIT)));
    }
    world.assert_idle().await;
}

#[tokio::test]
async fn a_processor_that_opens_no_page_has_declined_the_deposit() {
    let world = world().await;
    let order = world.order("ada@example.com").await;
    let order = world.advance(&order, Lifecycle::DepositPending).await;
    begin(&world, order.id).await.unwrap();
    world
        .providers
        .processor
        .sessions
        .then(Reply::Refused("amount_too_small"));
    assert_eq!(open(&world, &order, DEPOSIT).await, None);
    let failed = world.read(order.id).await;
    assert_eq!(failed.lifecycle(), Lifecycle::DepositFailed);
    assert!(failed.recurring.last_failure.is_some());
    // Another try is another page.
    assert!(begin(&world, order.id).await.unwrap());
    assert!(open(&world, &order, DEPOSIT).await.is_some());
}

#[tokio::test]
async fn a_deposit_that_could_not_be_charged_is_held_on_another_card() {
    let world = world().await;
    let order = paying(&world, "ada@example.com").await;
    let first = session_of(&world, order.id);
    let processor = &world.providers.processor;
    processor.complete(&first.id, world.clock.now());
    come_back(&world, &order).await;
    processor.captures.then(Reply::Refused("card_declined"));
    let failed = world.advance(&order, Lifecycle::OrderConfirmed).await;
    assert_eq!(failed.lifecycle(), Lifecycle::CaptureFailed);
    assert!(begin(&world, order.id).await.unwrap());
    open(&world, &order, DEPOSIT).await.unwrap();
    let second = session_of(&world, order.id);
    assert_ne!(first.id, second.id);
    processor.complete(&second.id, world.clock.now());
    let charged = come_back(&world, &order).await;
    assert_eq!(charged.lifecycle(), Lifecycle::OrderConfirmed);
    let intent = format!("pi_{}", second.id);
    assert_eq!(charged.deposit.payment_intent_id(), Some(intent.as_str()));
    let expected = [HoldState::Released, HoldState::Captured];
    assert_eq!(
        world.holds(order.id).await,
        expected,
        "the old one is let go"
    );
    world.assert_idle().await;
}

#[tokio::test]
async fn a_card_that_is_left_pays_from_then_on() {
    let world = world().await;
    let order = paying(&world, "ada@example.com").await;
    let processor = &world.providers.processor;
    let paid_on = session_of(&world, order.id);
    assert!(begin_card(&world, order.id).await.is_err(), "not yet");
    processor.complete(&paid_on.id, world.clock.now());
    come_back(&world, &order).await;
    let mut ids = Vec::new();
    for state in [
        Lifecycle::DocumentsPending,
        Lifecycle::OrderConfirmed,
        Lifecycle::LeaseActive,
    ] {
        begin_card(&world, order.id).await.unwrap();
        open(&world, &order, METHOD).await.unwrap();
        let sessions = processor.sessions_of(order.id);
        let is_new = |session: &&HostedSession| session.state == SessionState::Open;
        let session = sessions.iter().find(is_new).cloned().unwrap();
        processor.complete(&session.id, world.clock.now());
        come_back(&world, &order).await;
        let now = world.read(order.id).await;
        let method = now.recurring.method.as_ref().unwrap();
        assert_eq!(method.id, format!("pm_{}", session.id));
        ids.push(method.id.clone());
        // A first card is what was asked for.
        if now.lifecycle() != state {
            world.advance(&now, state).await;
        }
        let now = world.read(order.id).await;
        assert_eq!(now.lifecycle(), state);
        assert!(sessions::takes_a_card(&now));
    }
    // Of the running lease the subscription is told.
    begin_card(&world, order.id).await.unwrap();
    open(&world, &order, METHOD).await.unwrap();
    let sessions = processor.sessions_of(order.id);
    let is_open = |session: &&HostedSession| session.state == SessionState::Open;
    let session = sessions.iter().find(is_open).unwrap();
    let asked = world.calls("pay_invoices");
    processor.complete(&session.id, world.clock.now());
    come_back(&world, &order).await;
    assert_eq!(world.calls("pay_invoices"), asked + 1);
    ids.dedup();
    assert_eq!(ids.len(), 3, "another each time: {ids:?}");
}

#[tokio::test]
async fn an_identity_is_proven_on_the_verifiers_page_in_as_many_rounds_as_it_takes() {
    let world = world().await;
    let order = world.order("ada@example.com").await;
    let order = world.advance(&order, Lifecycle::IdentityRequired).await;
    let (runner, verifier) = (world.runner(), &world.providers.identity);
    let start = async || runner.open_identity(&order, RETURN).await.unwrap();
    let session = async || {
        let mut view = world.view().await;
        let customer = view.customers().get(order.customer_id).await.unwrap();
        customer.unwrap().screening
    };
    // The answer is lost: the same one is opened.
    verifier.sessions.then(Reply::Unreachable);
    let lost = runner.open_identity(&order, RETURN).await;
    assert!(matches!(lost, Err(Error::Provider(_))), "{lost:?}");
    assert!(start().await.is_some());
    let first = session().await.verification_session_id.unwrap();
    let now = world.read(order.id).await;
    assert_eq!(now.lifecycle(), Lifecycle::IdentityVerifying);
    // Two tabs, and coming back with nothing done.
    verifier.decide(&first, IdentityResult::AwaitingCustomer);
    assert!(start().await.unwrap().contains(&first));
    let now = come_back(&world, &order).await;
    assert_eq!(now.lifecycle(), Lifecycle::IdentityVerifying);
    // Given up, and begun anew.
    verifier.decide(&first, IdentityResult::Abandoned);
    let now = come_back(&world, &order).await;
    assert_eq!(now.lifecycle(), Lifecycle::IdentityRequired);
    assert_eq!(session().await.identity, IdentityStatus::None);
    assert!(start().await.is_some());
    let second = session().await.verification_session_id.unwrap();
    assert_ne!(first, second);
    // One that can no longer be used is replaced when the customer goes on with it.
    verifier.decide(&second, IdentityResult::Abandoned);
    assert!(start().await.is_some());
    let third = session().await.verification_session_id.unwrap();
    assert_ne!(second, third);
    verifier.decide(&third, IdentityResult::Processing);
    let now = come_back(&world, &order).await;
    assert_eq!(now.lifecycle(), Lifecycle::IdentityProcessing);
    assert_eq!(start().await, None, "there is nothing to do but wait");
    verifier.decide(&third, IdentityResult::Verified);
    let now = come_back(&world, &order).await;
    assert!(now.lifecycle() > Lifecycle::IdentityProcessing);
    assert_eq!(session().await.identity, IdentityStatus::Verified);
    assert_eq!(start().await, None);
}

#[tokio::test]
async fn who_is_somebody_else_is_refused_when_they_come_back() {
    let world = world().await;
    let order = world.order("ada@example.com").await;
    let order = world.advance(&order, Lifecycle::IdentityRequired).await;
    let runner = world.runner();
    runner.open_identity(&order, RETURN).await.unwrap();
    let mut view = world.view().await;
    let customer = view.customers().get(order.customer_id).await.unwrap();
    let session = customer.unwrap().screening.verification_session_id.unwrap();
    drop(view);
    world
        .providers
        .identity
        .decide(&session, IdentityResult::Refused);
    let refused = come_back(&world, &order).await;
    assert_eq!(refused.lifecycle(), Lifecycle::IdentityFailed);
    let again = runner.open_identity(&order, RETURN).await;
    assert!(matches!(again, Err(Error::Rule { .. })), "{again:?}");
}
