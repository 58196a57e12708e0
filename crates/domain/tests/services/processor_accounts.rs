//! Organizations' own accounts at the payment processor: what setting one does, and whose word is taken.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use lessor_domain::access::Mode;
use lessor_domain::audit::AuditViewer;
use lessor_domain::checkout::{Checkout, Effect, Lifecycle};
use lessor_domain::ids::{IdRef, OrganizationId};
use lessor_domain::ledger::{Authorization, Entry, HoldState, SubscriptionState, Thing};
use lessor_domain::money::{Currency, Money};
use lessor_domain::ports::{
    AuditFilter, Clock as _, Doubt, InboxMessage, JobFilter, JobSubject, MockPaymentProcessor,
    NewOrganization, OurIds, Page, PaymentProcessor, ProcessorAccounts, ProcessorEvent,
    ProcessorFact, Scope, Start, WalkPage,
};
use lessor_domain::secret::Secret;
use lessor_domain::services::payments::{self, Findings};
use lessor_domain::services::processor_accounts::{
    AccountSet, SetAccount, push_catalog, remove_account, set_account, show_accounts,
};
use lessor_domain::services::{Concern, Error};
use lessor_domain::workers::reconcile::Reconciler;

use crate::world::World;

fn account(world: &World, key: &str) -> SetAccount {
    SetAccount {
        organization: IdRef::Public(world.organization.pub_id),
        mode: Mode::Sandbox,
        key: Secret::new(key.to_owned()),
        webhook_secrets: vec![Secret::new(format!("whsec_of_{key}"))],
        is_other_account: false,
        force: false,
    }
}

async fn set(world: &World, wanted: SetAccount) -> Result<AccountSet, Error> {
    let mut uow = world.begin_for_server().await;
    let (ids, now) = (world.ids.as_ref(), world.clock.now());
    let done = set_account(uow.as_mut(), ids, now, &world.operator(), wanted).await?;
    uow.commit().await.unwrap();
    Ok(done)
}

async fn remove(world: &World, force: bool) -> Result<usize, Error> {
    let mut uow = world.begin_for_server().await;
    let (ids, now) = (world.ids.as_ref(), world.clock.now());
    let which = (IdRef::Public(world.organization.pub_id), Mode::Sandbox);
    let done = remove_account(uow.as_mut(), ids, now, &world.operator(), which, force).await?;
    uow.commit().await.unwrap();
    Ok(done.1)
}

/// A checkout that rests on what is at the processor.
async fn resting(world: &World) -> Checkout {
    let order = world.order("ada@example.com").await;
    let resting = world.advance(&order, Lifecycle::DocumentsPending).await;
    assert_eq!(world.holds(resting.id).await, [HoldState::Held]);
    resting
}

async fn processor_id(world: &World, checkout: &Checkout) -> Option<String> {
    let mut view = world.view().await;
    let customer = view.customers().get(checkout.customer_id).await.unwrap();
    customer.unwrap().screening.processor_id
}

fn rule(error: Result<impl std::fmt::Debug, Error>) -> String {
    match error {
        Err(Error::Rule { message }) => message,
        other => panic!("a rule forbids it, but: {other:?}"),
    }
}

#[tokio::test]
async fn an_account_is_set_rolled_shown_and_removed() {
    let world = World::new().await;
    let first = set(&world, account(&world, "sk_test_first")).await.unwrap();
    assert!(first.moved);
    let made = first.account.created_at;
    world.clock.advance(chrono::TimeDelta::days(1));
    let rolled = set(&world, account(&world, "sk_test_rolled"))
        .await
        .unwrap();
    assert!(!rolled.moved, "a new key of the same account");
    assert_eq!(
        (rolled.account.created_at, rolled.account.updated_at),
        (made, world.clock.now())
    );
    let mut view = world.begin_for_server().await;
    let named = IdRef::Public(world.organization.pub_id);
    let (_, shown) = show_accounts(view.as_mut(), named).await.unwrap();
    drop(view);
    assert_eq!(shown, [rolled.account]);
    assert_eq!(shown[0].key_hint, "lled");
    // A secret opens one mode only.
    let same = SetAccount {
        mode: Mode::Live,
        ..account(&world, "sk_test_rolled")
    };
    let refused = set(&world, same).await;
    assert!(
        matches!(&refused, Err(Error::Invalid { param, .. }) if param == "webhookSecrets"),
        "{refused:?}"
    );
    assert_eq!(remove(&world, false).await.unwrap(), 0);
    let gone = remove(&world, false).await;
    assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");

    // Each is told of, without a secret.
    let mut view = world.view().await;
    let page = Page {
        start: Start::Offset(0),
        limit: 100,
    };
    let (viewer, filter) = (AuditViewer::Live, AuditFilter::default());
    let listed = view
        .audit()
        .list(world.organization.id, viewer, &filter, page)
        .await
        .unwrap();
    let told: Vec<_> = listed
        .iter()
        .filter(|event| event.action.as_str().starts_with("processor_account."))
        .map(|event| {
            let members = event.change.after.entries();
            let hint = event.change.after.get("keyHint");
            assert!(!format!("{members:?}").contains("sk_test"), "{members:?}");
            (event.action.as_str(), hint.map(str::to_owned))
        })
        .collect();
    assert_eq!(
        told,
        [
            ("processor_account.removed", None),
            ("processor_account.set", Some("lled".to_owned())),
            ("processor_account.set", Some("irst".to_owned())),
        ]
    );
}

#[tokio::test]
async fn nobody_moves_while_checkouts_rest_on_the_former_account_unless_they_insist() {
    let world = World::new().await;
    let order = resting(&world).await;
    assert!(processor_id(&world, &order).await.is_some());
    let said = rule(set(&world, account(&world, "sk_test_first")).await);
    assert!(said.contains(&order.id.to_string()), "{said}");
    assert!(processor_id(&world, &order).await.is_some());

    let insisting = SetAccount {
        force: true,
        ..account(&world, "sk_test_first")
    };
    let done = set(&world, insisting).await.unwrap();
    assert_eq!((done.left_behind, done.forgotten), (1, 1));
    // The other account knows nobody.
    assert_eq!(processor_id(&world, &order).await, None);

    // The same account with another key is no move; another account is one, and so is none.
    let rolled = set(&world, account(&world, "sk_test_rolled")).await;
    assert!(!rolled.unwrap().moved);
    let other = SetAccount {
        is_other_account: true,
        ..account(&world, "sk_test_other")
    };
    rule(set(&world, other).await);
    rule(remove(&world, false).await);
    assert_eq!(remove(&world, true).await.unwrap(), 1);
}

#[tokio::test]
async fn the_catalog_is_told_to_a_new_account() {
    let world = World::new().await;
    world.work().await;
    let pending = async || {
        let mut view = world.view().await;
        let jobs = view.jobs().list(&JobFilter::default(), 100).await.unwrap();
        let of = jobs.iter().map(|job| (job.new.effect, job.new.subject));
        of.collect::<Vec<_>>()
    };
    assert_eq!(pending().await, []);
    let mut after = None;
    loop {
        let mut uow = world.begin().await;
        let (ids, now) = (world.ids.as_ref(), world.clock.now());
        let organization = world.organization.id;
        after = push_catalog(uow.as_mut(), ids, now, organization, after)
            .await
            .unwrap();
        uow.commit().await.unwrap();
        if after.is_none() {
            break;
        }
    }
    assert_eq!(
        pending().await,
        [
            (Effect::PushProduct, JobSubject::Product(world.product.id)),
            (Effect::PushVariant, JobSubject::Variant(world.variant.id)),
        ]
    );
}

/// Another organization of the installation.
async fn neighbour(world: &World) -> OrganizationId {
    let mut uow = world.begin_for_server().await;
    let new: NewOrganization = world.fixtures.organization().new_record();
    let made = uow.organizations().insert(&new).await.unwrap();
    uow.commit().await.unwrap();
    made.id
}

/// What becomes of the news that the checkout's hold was let go, told by the account.
async fn tell(
    world: &World,
    checkout: &Checkout,
    own_account_of: Option<OrganizationId>,
) -> Concern {
    let hold = checkout.deposit.open_hold().unwrap().clone();
    let event = ProcessorEvent {
        id: "evt_1".to_owned(),
        at: world.clock.now(),
        mode: Mode::Sandbox,
        about: OurIds {
            checkout: Some(checkout.id),
            ..OurIds::default()
        },
        fact: ProcessorFact::Deposit(Authorization {
            payment_intent_id: hold.payment_intent_id.clone(),
            charge_id: None,
            checkout: Some(checkout.id),
            state: HoldState::Released,
            amount: Money::from_minor(1, Currency::USD),
            expires_at: hold.expires_at,
            method: None,
        }),
    };
    let mut uow = world.begin_for_server().await;
    let (ids, now) = (world.ids.as_ref(), world.clock.now());
    let asked = Findings::default();
    let handled = payments::handle(uow.as_mut(), ids, now, &event, asked, own_account_of).await;
    let handled = handled.unwrap();
    uow.commit().await.unwrap();
    handled
}

#[tokio::test]
async fn an_account_tells_of_its_own_organization_alone() {
    let world = World::new().await;
    let order = resting(&world).await;
    let neighbour = neighbour(&world).await;
    // Without an account of its own the organization's affairs are told by the shared one.
    assert_eq!(
        tell(&world, &order, Some(neighbour)).await,
        Concern::Nothing
    );
    let insisting = SetAccount {
        force: true,
        ..account(&world, "sk_test_first")
    };
    set(&world, insisting).await.unwrap();
    // And with one by that alone, be the message as well signed as it may.
    for teller in [None, Some(neighbour)] {
        assert_eq!(tell(&world, &order, teller).await, Concern::Nothing);
        assert_eq!(world.holds(order.id).await, [HoldState::Held]);
        assert_eq!(world.read(order.id).await, order);
    }
    let own = Some(world.organization.id);
    assert_eq!(tell(&world, &order, own).await, Concern::Checkout(order.id));
    assert_eq!(world.holds(order.id).await, [HoldState::Released]);
}

#[tokio::test]
async fn an_account_of_the_other_mode_changes_nothing_of_this_one() {
    let world = World::new().await;
    let order = resting(&world).await;
    let live = SetAccount {
        mode: Mode::Live,
        ..account(&world, "sk_live_first")
    };
    set(&world, live).await.unwrap();
    assert!(processor_id(&world, &order).await.is_some());
    assert_eq!(
        tell(&world, &order, None).await,
        Concern::Checkout(order.id)
    );
}

/// Own accounts by the organization.
struct Accounts(HashMap<OrganizationId, Arc<MockPaymentProcessor>>);

#[async_trait]
impl ProcessorAccounts for Accounts {
    async fn of(&self, scope: Scope) -> Result<Option<Arc<dyn PaymentProcessor>>, Doubt> {
        let own = self.0.get(&scope.organization_id);
        Ok(own.map(|own| Arc::clone(own) as Arc<dyn PaymentProcessor>))
    }
}

fn message(id: &str, world: &World) -> InboxMessage {
    InboxMessage {
        source: "processor".to_owned(),
        id: id.to_owned(),
        mode: Mode::Sandbox,
        organization_id: None,
        body: b"{}".to_vec(),
        received_at: world.clock.now(),
    }
}

/// A processor that has one message, and else nothing; or that cannot be asked.
fn walked(message: Option<InboxMessage>) -> Arc<MockPaymentProcessor> {
    let mut own = MockPaymentProcessor::new();
    own.expect_walk_messages().returning(move |_, _, after| {
        let Some(message) = message.clone() else {
            return Err(Doubt::failed("the key is withdrawn"));
        };
        let items = match after {
            None => vec![message],
            Some(_) => Vec::new(),
        };
        Ok(WalkPage { items, next: None })
    });
    own.expect_walk_subscriptions()
        .returning(|_, _| Ok(WalkPage::nothing()));
    own.expect_walk_invoices()
        .returning(|_, _, _| Ok(WalkPage::nothing()));
    own.expect_walk_deposits()
        .returning(|_, _, _| Ok(WalkPage::nothing()));
    own.expect_walk_refunds()
        .returning(|_, _, _| Ok(WalkPage::nothing()));
    own.expect_walk_disputes()
        .returning(|_, _, _| Ok(WalkPage::nothing()));
    own.expect_subscription().returning(|_, _| Ok(None));
    Arc::new(own)
}

fn reconciler(world: &World, own: Arc<MockPaymentProcessor>) -> Reconciler {
    let mut reconciler = world.engine().reconciler();
    let accounts = HashMap::from([(world.organization.id, own)]);
    reconciler.providers.accounts = Some(Arc::new(Accounts(accounts)));
    reconciler
}

#[tokio::test]
async fn a_comparison_walks_every_account_and_is_kept_from_none_by_another() {
    let world = World::new().await;
    set(&world, account(&world, "sk_test_first")).await.unwrap();
    let own = walked(Some(message("evt_own", &world)));
    let report = reconciler(&world, own).run(Mode::Sandbox, true).await;
    let report = report.unwrap();
    assert_eq!((report.messages, report.failures.len()), (1, 0));
    let source = InboxMessage::processor_source(Some(world.organization.id));
    let mut uow = world.begin_for_server().await;
    let kept = uow.inbox().lock_one(&source, "evt_own").await.unwrap();
    drop(uow);
    assert_eq!(
        kept.and_then(|kept| kept.organization_id),
        Some(world.organization.id)
    );
    // Of the other mode there is no account of its own.
    let none = reconciler(&world, Arc::new(MockPaymentProcessor::new()));
    let report = none.run(Mode::Live, true).await.unwrap();
    assert_eq!(report.messages, 0);
    // One that cannot be asked is told of, and the shared one is compared.
    let broken = reconciler(&world, walked(None));
    let report = broken.run(Mode::Sandbox, true).await.unwrap();
    let [failure] = report.failures.as_slice() else {
        panic!("{report:?}");
    };
    assert!(
        failure.problem.contains("organization") && failure.problem.contains("withdrawn"),
        "{failure:?}"
    );
}

/// A lease that the shared account bills is no affair of the organization's own, and is not lost there.
#[tokio::test]
async fn a_lease_is_compared_with_the_account_that_bills_it_alone() {
    let world = World::new().await;
    let order = resting(&world).await;
    let lease = world.advance(&order, Lifecycle::LeaseActive).await;
    let rows = world.rows(lease.id).await;
    let is_billed = |row: &Entry| {
        matches!(
            row.thing,
            Thing::Subscription {
                state: SubscriptionState::Active,
                ..
            }
        )
    };
    assert!(rows.iter().any(is_billed), "{rows:?}");
    let insisting = SetAccount {
        force: true,
        ..account(&world, "sk_test_first")
    };
    set(&world, insisting).await.unwrap();
    // At its own account there is nothing of it: that is found, once, and by that walk.
    let own = walked(Some(message("evt_own", &world)));
    let report = reconciler(&world, own).run(Mode::Sandbox, false).await;
    let report = report.unwrap();
    let found: Vec<_> = report
        .findings
        .iter()
        .map(|found| (found.checkout, found.difference.name()))
        .collect();
    assert!(found.contains(&(lease.id, "lost")), "{found:?}");
    let lost = found.iter().filter(|(_, name)| *name == "lost").count();
    assert_eq!(lost, 1, "{found:?}");
}
