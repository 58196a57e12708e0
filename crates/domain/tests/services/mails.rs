//! Which change is told to whom by mail, and what becomes of each mail.

use std::sync::Arc;

use chrono::{Days, TimeDelta};
use lessor_domain::checkout::Lifecycle;
use lessor_domain::credit::{CreditDecision, CreditPolicy};
use lessor_domain::mail::{Mail, MailKind, MailModes, MailState, Posted, SuppressionReason};
use lessor_domain::ports::{Clock as _, MailFilter};
use lessor_domain::secret::Secret;
use lessor_domain::services::checkouts::{CancelCheckout, scope_of};
use lessor_domain::services::events::{TellingDatabase, number};
use lessor_domain::services::webhook_endpoints::CreateWebhookEndpoint;
use lessor_domain::services::{Error, UseCase, mails};
use lessor_domain::testing::{
    FakeMailSender, FakeMailWriter, FakeRecords, FakeWebhookSender, SentMail,
};
use lessor_domain::workers::Round;
use lessor_domain::workers::couriers::{Courier, DELIVERY_LEASE, PER_ENDPOINT, SLOW_AFTER};
use lessor_domain::workers::mailers::{Endings, MAIL_LEASE, Mailed, Mailer};

use crate::credit::{decide_by, decision, waiting};
use crate::world::World;

const ADA: &str = "ada@example.com";
const TESTS: &str = "tests@lessor.example";
const BOTH: MailModes = MailModes {
    live: true,
    sandbox: true,
};

/// A world that mails.
struct Post {
    world: World,
    sender: Arc<FakeMailSender>,
    mailer: Mailer,
}

impl Post {
    async fn open(modes: MailModes) -> Self {
        let mut world = World::new().await;
        let telling = TellingDatabase::new(
            world.stores.clone(),
            world.clock.clone(),
            world.ids.clone(),
            Arc::new(FakeRecords),
            Arc::new(()),
        );
        world.stores = Arc::new(telling.with_mail(modes));
        let sender = Arc::new(FakeMailSender::default());
        let mailer = Mailer {
            database: world.stores.clone(),
            clock: world.clock.clone(),
            entropy: world.entropy.clone(),
            writer: Arc::new(FakeMailWriter),
            sender: sender.clone(),
            sandbox_to: TESTS.parse().ok(),
            lease: MAIL_LEASE,
        };
        Self {
            world,
            sender,
            mailer,
        }
    }

    async fn run<U: UseCase>(&self, use_case: U) -> Result<U::Output, Error> {
        let mut uow = self.world.begin().await;
        let done = use_case.run(uow.as_mut(), &self.world.ctx()).await?;
        uow.commit().await?;
        Ok(done)
    }

    /// The organization wants to be told there.
    async fn tell_organization_at(&self, address: &str) {
        let mut uow = self.world.begin().await;
        let id = self.world.organization.id;
        let mut organization = uow.organizations().lock(id).await.unwrap().unwrap();
        organization.face.notify_email = address.parse().ok();
        uow.organizations().update(&mut organization).await.unwrap();
        uow.commit().await.unwrap();
    }

    /// Sends what is due, once. Gives what was sent and what became of each.
    async fn send(&self) -> (Vec<SentMail>, Vec<Mailed>) {
        let mut became = Vec::new();
        for mail in self.mailer.take(&mut Round::default(), 100).await.unwrap() {
            became.push(self.mailer.send(mail).await.unwrap());
        }
        (self.sender.sent(), became)
    }

    async fn sent(&self) -> Vec<String> {
        let (sent, _) = self.send().await;
        sent.into_iter().map(|sent| sent.subject).collect()
    }

    /// Oldest first.
    async fn mails(&self) -> Vec<Mail> {
        let mut view = self.world.view().await;
        let mut found = view
            .mails()
            .list(&MailFilter::default(), 100)
            .await
            .unwrap();
        found.reverse();
        found
    }
}

#[tokio::test]
async fn a_lease_is_told_step_by_step_and_each_step_once() {
    let post = Post::open(BOTH).await;
    let checkout = post.world.order(ADA).await;
    let (sent, _) = post.send().await;
    let [link] = sent.as_slice() else {
        panic!("the link alone: {sent:?}")
    };
    assert_eq!(
        (link.subject.as_str(), link.to.as_str()),
        ("checkoutLink", TESTS)
    );
    // Asked for again it is the same checkout.
    post.world.order(ADA).await;
    assert_eq!(post.sent().await, Vec::<String>::new());

    post.world
        .advance(&checkout, Lifecycle::DocumentsPending)
        .await;
    post.world.work().await;
    assert_eq!(post.sent().await, ["agreementReady"]);
    post.world
        .advance(&checkout, Lifecycle::OrderConfirmed)
        .await;
    let (sent, _) = post.send().await;
    let signed = sent.iter().find(|sent| sent.subject == "agreementSigned");
    assert_eq!(signed.unwrap().attachments.len(), 1, "{sent:?}");
    post.world.advance(&checkout, Lifecycle::LeaseActive).await;
    let rest = post.sent().await;
    assert!(
        rest.len() <= 1 && rest.iter().all(|kind| kind == "shipped"),
        "{rest:?}"
    );
    let (sent, _) = post.send().await;
    assert_eq!(sent, []);
}

#[tokio::test]
async fn without_mail_nothing_is_queued() {
    let live_alone = MailModes {
        live: true,
        sandbox: false,
    };
    for modes in [MailModes::default(), live_alone] {
        let post = Post::open(modes).await;
        let checkout = post.world.order(ADA).await;
        post.world.advance(&checkout, Lifecycle::LeaseActive).await;
        assert_eq!(post.mails().await, []);
    }
}

#[tokio::test]
async fn what_is_not_so_any_more_is_not_sent() {
    let post = Post::open(BOTH).await;
    let checkout = post.world.order(ADA).await;
    let cancel = CancelCheckout {
        id: checkout.id,
        reason: None,
    };
    post.run(cancel).await.unwrap();
    let (sent, became) = post.send().await;
    assert_eq!(sent, []);
    assert_eq!(became, [Mailed::Ended(MailState::Skipped)]);
}

#[tokio::test]
async fn without_a_place_for_mails_of_the_sandbox_none_leave() {
    let mut post = Post::open(BOTH).await;
    post.mailer.sandbox_to = None;
    post.world.order(ADA).await;
    let (sent, became) = post.send().await;
    assert_eq!(sent, []);
    assert_eq!(became, [Mailed::Ended(MailState::Skipped)]);
}

#[tokio::test]
async fn what_cannot_be_sent_now_is_sent_later() {
    let post = Post::open(BOTH).await;
    post.world.order(ADA).await;
    post.sender.then(Posted::Later("451".to_owned()));
    post.sender.then(Posted::Trouble("535".to_owned()));
    let (first, became) = post.send().await;
    assert!(
        matches!(became.as_slice(), [Mailed::Later(_)]),
        "{became:?}"
    );
    assert_eq!(
        post.sent().await,
        Vec::<String>::new(),
        "not before its time"
    );
    post.world.clock.advance(TimeDelta::minutes(1));
    let (_, became) = post.send().await;
    assert!(
        matches!(became.as_slice(), [Mailed::Trouble(_)]),
        "{became:?}"
    );
    post.world.clock.advance(TimeDelta::minutes(5));
    let (last, became) = post.send().await;
    assert_eq!(became, [Mailed::Ended(MailState::Sent)]);
    assert_eq!(first[0].id, last[0].id, "the same mail");
}

#[tokio::test]
async fn who_is_not_there_is_sent_nothing_more() {
    let post = Post::open(BOTH).await;
    post.world.order(ADA).await;
    post.sender
        .then(Posted::NoSuchMailbox("550 5.1.1".to_owned()));
    let (_, became) = post.send().await;
    assert_eq!(became, [Mailed::Ended(MailState::Bounced)]);
    post.world.order("eve@example.com").await;
    let (sent, became) = post.send().await;
    assert_eq!(sent, []);
    assert_eq!(became, [Mailed::Ended(MailState::Suppressed)]);
    let mut uow = post.world.begin().await;
    assert!(
        uow.mails()
            .unsuppress(&TESTS.parse().unwrap())
            .await
            .unwrap()
    );
    uow.commit().await.unwrap();
    post.world.order("joe@example.com").await;
    assert_eq!(post.sent().await, ["checkoutLink"]);
}

#[tokio::test]
async fn a_report_ends_what_is_sent_there() {
    let post = Post::open(BOTH).await;
    post.world.order(ADA).await;
    let (sent, _) = post.send().await;
    let now = post.world.clock.now();
    let report = async |id| {
        let mut uow = post.world.begin_for_server().await;
        let reason = SuppressionReason::Complaint;
        let owner = mails::report(uow.as_mut(), id, reason, now).await.unwrap();
        uow.commit().await.unwrap();
        owner
    };
    assert_eq!(report(post.world.fixtures.id()).await, None);
    assert_eq!(report(sent[0].id).await, Some(post.world.organization.id));
    assert_eq!(post.mails().await[0].state, MailState::Complained);
    post.world.order("eve@example.com").await;
    let (_, became) = post.send().await;
    assert_eq!(became, [Mailed::Ended(MailState::Suppressed)]);
}

#[tokio::test]
async fn the_link_is_mailed_again_to_its_customer_alone_and_not_often() {
    let post = Post::open(BOTH).await;
    let checkout = post.world.order(ADA).await;
    post.send().await;
    let ask = async |id, address: &str, modes| {
        let mut uow = post.world.begin_for_server().await;
        let (ids, now) = (post.world.ids.as_ref(), post.world.clock.now());
        let address = address.parse().unwrap();
        mails::ask_for_link(uow.as_mut(), ids, modes, id, &address, now)
            .await
            .unwrap();
        uow.commit().await.unwrap();
    };
    ask(post.world.fixtures.id(), ADA, BOTH).await;
    ask(checkout.id, "eve@example.com", BOTH).await;
    ask(checkout.id, ADA, MailModes::default()).await;
    assert_eq!(post.sent().await, Vec::<String>::new());
    ask(checkout.id, "Ada@Example.com", BOTH).await;
    ask(checkout.id, ADA, BOTH).await;
    assert_eq!(post.sent().await, ["linkAgain"]);
    post.world.clock.advance(TimeDelta::minutes(15));
    ask(checkout.id, ADA, BOTH).await;
    assert_eq!(post.sent().await, ["linkAgain"]);
}

#[tokio::test]
async fn an_end_is_told_once() {
    let post = Post::open(BOTH).await;
    let checkout = post.world.order(ADA).await;
    let lease = post.world.advance(&checkout, Lifecycle::LeaseActive).await;
    post.send().await;
    let endings = Endings {
        database: post.world.stores.clone(),
        clock: post.world.clock.clone(),
        ids: post.world.ids.clone(),
        modes: BOTH,
        soon: TimeDelta::days(30),
    };
    assert_eq!(endings.run().await.unwrap(), 0, "a year is long");
    let last = lease.lease.end.unwrap();
    let near = last.checked_sub_days(Days::new(30)).unwrap();
    let today = post.world.clock.now().date_naive();
    let away = near.signed_duration_since(today);
    post.world.clock.advance(away);
    assert_eq!(endings.run().await.unwrap(), 1);
    assert_eq!(endings.run().await.unwrap(), 0);
    assert_eq!(post.sent().await, ["leaseEndsSoon"]);
    post.world.clock.advance(TimeDelta::days(1));
    assert_eq!(endings.run().await.unwrap(), 0);
}

#[tokio::test]
async fn an_organization_is_told_of_what_it_must_see_to() {
    let post = Post::open(BOTH).await;
    decide_by(&post.world, CreditPolicy::Manual).await;
    waiting(&post.world, ADA).await;
    let nowhere = post.sent().await;
    assert!(
        !nowhere.contains(&"needsAttention".to_owned()),
        "{nowhere:?}"
    );
    post.tell_organization_at("desk@bikes.example").await;
    waiting(&post.world, "eve@example.com").await;
    assert_eq!(post.sent().await, ["checkoutLink", "needsAttention"]);
    // Somebody was faster than the mail.
    let order = waiting(&post.world, "joe@example.com").await;
    post.run(decision(&order, CreditDecision::Approved))
        .await
        .unwrap();
    assert_eq!(post.sent().await, ["checkoutLink"]);
    let mails = post.mails().await;
    let skipped = mails
        .iter()
        .find(|mail| mail.state == MailState::Skipped)
        .unwrap();
    assert_eq!(skipped.new.kind, MailKind::NeedsAttention);
}

#[tokio::test]
async fn an_organization_is_told_of_an_endpoint_that_is_gone() {
    let post = Post::open(BOTH).await;
    post.tell_organization_at("desk@bikes.example").await;
    let url = "https://shop.example.com/hook";
    let create = CreateWebhookEndpoint {
        url: url.parse().unwrap(),
        types: vec!["*".parse().unwrap()],
        description: None,
        secret: Secret::new("whsec_first".to_owned()),
    };
    post.run(create).await.unwrap();
    post.world.order(ADA).await;
    let scope = scope_of(&post.world.access);
    let (ids, clock) = (post.world.ids.as_ref(), post.world.clock.as_ref());
    number(post.world.stores.as_ref(), ids, clock, scope)
        .await
        .unwrap();
    let hooks = Arc::new(FakeWebhookSender::default());
    hooks.answers(url, 410, 1);
    let courier = Courier {
        database: post.world.stores.clone(),
        clock: post.world.clock.clone(),
        ids: post.world.ids.clone(),
        entropy: post.world.entropy.clone(),
        records: Arc::new(FakeRecords),
        sender: hooks,
        lease: DELIVERY_LEASE,
        per_endpoint: PER_ENDPOINT,
        slow_after: SLOW_AFTER,
    };
    for delivery in courier.take(&mut Round::default(), 1).await.unwrap() {
        courier.deliver(delivery).await.unwrap();
    }
    assert_eq!(post.sent().await, ["checkoutLink", "endpointDisabled"]);
}
