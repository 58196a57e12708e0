//! Messages of providers.

use chrono::TimeDelta;

use super::shop::{Shop, must_be_missing};
use crate::access::Mode;
use crate::ports::{Database, IdGenerator, InboxMessage, InboxRecord, InboxState};
use crate::time::Timestamp;

/// More than any suite makes.
const MANY: u32 = 10_000;

/// The store of messages. That several workers take different messages is a clause
/// of [`concurrent_units`](super::concurrent_units).
///
/// # Panics
/// With the clause that is broken.
pub async fn inbox(database: &dyn Database) {
    let _turn = super::QUEUES.lock().await;
    let shop = Shop::open(database).await;
    messages_are_kept_once(&shop).await;
    messages_are_handled(&shop).await;
    messages_are_postponed(&shop).await;
    failed_messages_are_kept_and_requeued(&shop).await;
    unknown_messages_are_missing(&shop).await;
}

/// The messages of a source of its own, whose ids nobody else has.
struct Source<'s, 'd> {
    shop: &'s Shop<'d>,
    name: String,
}

impl<'s, 'd> Source<'s, 'd> {
    fn of(shop: &'s Shop<'d>) -> Self {
        Self {
            shop,
            name: format!("suite-{}", shop.make.ids().next().simple()),
        }
    }

    /// A message that came now.
    fn message(&self, name: &str) -> InboxMessage {
        InboxMessage {
            source: self.name.clone(),
            id: format!("{name}-{}", self.name),
            mode: Mode::Live,
            organization_id: None,
            body: vec![b'{', 0xff, b'}'],
            received_at: self.shop.make.tick(),
        }
    }

    async fn insert(&self, message: &InboxMessage) -> bool {
        self.shop
            .done_for_server("inbox.insert: keeps a message", async |uow| {
                uow.inbox().insert(message).await
            })
            .await
    }

    /// Messages that came one after another, and are kept in another order.
    async fn three(&self) -> [InboxMessage; 3] {
        let messages = ["evt_3", "evt_1", "evt_2"].map(|name| self.message(name));
        for message in messages.iter().rev() {
            assert!(
                self.insert(message).await,
                "inbox.insert: an unknown message is new"
            );
        }
        messages
    }

    /// Those of the source among so many that are due.
    async fn due(&self, now: Timestamp, limit: u32) -> Vec<InboxMessage> {
        let found = self
            .shop
            .done_for_server("inbox.lock_waiting: locks", async |uow| {
                uow.inbox().lock_waiting(now, limit).await
            })
            .await;
        assert!(
            found.len() <= usize::try_from(limit).unwrap_or(usize::MAX),
            "inbox.lock_waiting: so many at the most"
        );
        found
            .into_iter()
            .filter(|message| message.source == self.name)
            .collect()
    }

    async fn one(&self, id: &str) -> Option<InboxMessage> {
        self.shop
            .done_for_server("inbox.lock_one: locks", async |uow| {
                uow.inbox().lock_one(&self.name, id).await
            })
            .await
    }

    async fn handle(&self, message: &InboxMessage) {
        let at = self.shop.make.tick();
        self.shop
            .done_for_server("inbox.mark_handled: writes", async |uow| {
                uow.inbox().mark_handled(&self.name, &message.id, at).await
            })
            .await;
    }

    async fn fail(&self, message: &InboxMessage, problem: &str) {
        let at = self.shop.make.tick();
        self.shop
            .done_for_server("inbox.mark_failed: writes", async |uow| {
                let inbox = uow.inbox();
                inbox
                    .mark_failed(&self.name, &message.id, at, problem)
                    .await
            })
            .await;
    }

    async fn postpone(&self, message: &InboxMessage, until: Timestamp) {
        self.shop
            .done_for_server("inbox.postpone: writes", async |uow| {
                uow.inbox().postpone(&self.name, &message.id, until).await
            })
            .await;
    }

    async fn requeue(&self, id: Option<&str>, now: Timestamp) -> u64 {
        self.shop
            .done_for_server("inbox.requeue: writes", async |uow| {
                uow.inbox().requeue(id, now).await
            })
            .await
    }

    /// What people see of the source's messages in the state.
    async fn list(&self, state: InboxState) -> Vec<InboxRecord> {
        let found = self
            .shop
            .seen_by_server("inbox.list: reads", async |view| {
                view.inbox().list(state, MANY).await
            })
            .await;
        found
            .into_iter()
            .filter(|record| record.source == self.name)
            .collect()
    }
}

fn record(message: &InboxMessage, state: InboxState, problem: Option<&str>) -> InboxRecord {
    InboxRecord {
        source: message.source.clone(),
        id: message.id.clone(),
        mode: message.mode,
        received_at: message.received_at,
        state,
        problem: problem.map(str::to_owned),
    }
}

fn later(at: Timestamp) -> Timestamp {
    at.checked_add_signed(TimeDelta::hours(1)).unwrap_or(at)
}

async fn messages_are_kept_once(shop: &Shop<'_>) {
    let source = Source::of(shop);
    let [first, second, third] = source.three().await;
    let repeated = InboxMessage {
        body: b"{}".to_vec(),
        ..first.clone()
    };
    assert!(
        !source.insert(&repeated).await,
        "inbox.insert: of a source and id there is one message"
    );
    let elsewhere = InboxMessage {
        source: format!("{}-too", source.name),
        organization_id: Some(shop.organization.id),
        ..first.clone()
    };
    assert!(
        source.insert(&elsewhere).await,
        "inbox.insert: another source's id is another message"
    );
    let found = shop
        .done_for_server("inbox.lock_one: reads", async |uow| {
            uow.inbox().lock_one(&elsewhere.source, &elsewhere.id).await
        })
        .await;
    assert_eq!(
        found,
        Some(elsewhere.clone()),
        "inbox.lock_one: with whose own account sent it"
    );
    let now = third.received_at;
    source.due(now, 1).await;
    let early = source.due(second.received_at, MANY).await;
    assert_eq!(
        early,
        [first.clone(), second.clone()],
        "inbox.lock_waiting: as the first came, oldest first, and not before its time"
    );
    assert_eq!(
        source.due(now, MANY).await,
        [first, second.clone(), third],
        "inbox.lock_waiting: all that are due"
    );
    assert_eq!(
        (source.one(&second.id).await, source.one("evt_4").await),
        (Some(second), None),
        "inbox.lock_one: by source and id"
    );
}

async fn messages_are_handled(shop: &Shop<'_>) {
    let source = Source::of(shop);
    let [first, second, third] = source.three().await;
    let now = third.received_at;
    source.handle(&second).await;
    assert_eq!(
        (source.due(now, MANY).await, source.one(&second.id).await),
        (vec![first.clone(), third.clone()], None),
        "inbox.mark_handled: a handled message is not handed out again"
    );
    assert!(
        !source.insert(&second).await,
        "inbox.insert: a handled message is still known"
    );
    assert_eq!(
        (
            source.list(InboxState::Handled).await,
            source.list(InboxState::Waiting).await
        ),
        (
            vec![record(&second, InboxState::Handled, None)],
            [&first, &third]
                .map(|message| record(message, InboxState::Waiting, None))
                .to_vec()
        ),
        "inbox.list: those in the state, oldest first"
    );
    assert_eq!(
        source.requeue(Some(&second.id), now).await,
        0,
        "inbox.requeue: not what was handled"
    );
}

async fn messages_are_postponed(shop: &Shop<'_>) {
    let source = Source::of(shop);
    let [first, second, third] = source.three().await;
    let now = third.received_at;
    source.postpone(&first, later(now)).await;
    assert_eq!(
        source.due(now, MANY).await,
        [second.clone(), third.clone()],
        "inbox.postpone: a postponed message does not stand in front of others"
    );
    assert_eq!(
        source.one(&first.id).await.as_ref(),
        Some(&first),
        "inbox.lock_one: due or not"
    );
    assert_eq!(
        source.due(later(now), MANY).await,
        [first.clone(), second.clone(), third.clone()],
        "inbox.postpone: until the time"
    );
    assert_eq!(
        source.requeue(Some(&first.id), now).await,
        1,
        "inbox.requeue: tells how many"
    );
    assert_eq!(
        source.due(now, MANY).await,
        [first, second, third],
        "inbox.requeue: a postponed message is due now"
    );
}

async fn failed_messages_are_kept_and_requeued(shop: &Shop<'_>) {
    let backlog = async || {
        shop.seen_by_server("inbox.backlog: reads", async |view| {
            view.inbox().backlog().await
        })
        .await
    };
    let before = backlog().await;
    let source = Source::of(shop);
    let [first, second, third] = source.three().await;
    let now = third.received_at;
    source.fail(&first, "nobody knows the checkout").await;
    source.fail(&second, "it is no JSON").await;
    assert_eq!(
        (
            source.due(later(now), MANY).await,
            source.one(&first.id).await
        ),
        (vec![third.clone()], None),
        "inbox.mark_failed: a message that could not be handled is not handed out again"
    );
    assert!(
        !source.insert(&first).await,
        "inbox.insert: a failed message is still known"
    );
    assert_eq!(
        source.list(InboxState::Failed).await,
        [
            record(
                &first,
                InboxState::Failed,
                Some("nobody knows the checkout")
            ),
            record(&second, InboxState::Failed, Some("it is no JSON")),
        ],
        "inbox.list: what failed, and why, oldest first"
    );
    let one = shop
        .seen_by_server("inbox.list: reads", async |view| {
            view.inbox().list(InboxState::Failed, 1).await
        })
        .await;
    assert_eq!(one.len(), 1, "inbox.list: so many at the most");
    let (waiting, failed) = before;
    assert_eq!(
        backlog().await,
        (waiting.saturating_add(1), failed.saturating_add(2)),
        "inbox.backlog: how many wait, and how many failed"
    );
    assert_eq!(
        source.requeue(Some(&first.id), now).await,
        1,
        "inbox.requeue: tells how many"
    );
    assert_eq!(
        (source.due(now, MANY).await, source.one(&first.id).await),
        (vec![first.clone(), third.clone()], Some(first.clone())),
        "inbox.requeue: the one of the id, and not the others"
    );
    assert_eq!(
        source.list(InboxState::Waiting).await,
        [
            record(
                &first,
                InboxState::Waiting,
                Some("nobody knows the checkout")
            ),
            record(&third, InboxState::Waiting, None),
        ],
        "inbox.requeue: keeps why it was not handled the last time"
    );
    source.handle(&first).await;
    assert_eq!(
        source.list(InboxState::Handled).await,
        [record(&first, InboxState::Handled, None)],
        "inbox.mark_handled: what was handled in the end has no problem"
    );
    source.postpone(&third, later(now)).await;
    assert!(
        source.requeue(None, now).await >= 2,
        "inbox.requeue: tells how many"
    );
    assert_eq!(
        source.due(now, MANY).await,
        [second, third],
        "inbox.requeue: without an id, whatever failed or waits, and nothing that was handled"
    );
}

async fn unknown_messages_are_missing(shop: &Shop<'_>) {
    let at = shop.make.tick();
    must_be_missing(
        shop.run_for_server(async |uow| uow.inbox().mark_handled("nobody", "evt_1", at).await)
            .await,
        "inbox.mark_handled: an unknown one",
    );
    must_be_missing(
        shop.run_for_server(async |uow| uow.inbox().mark_failed("nobody", "evt_1", at, "no").await)
            .await,
        "inbox.mark_failed: an unknown one",
    );
    must_be_missing(
        shop.run_for_server(async |uow| uow.inbox().postpone("nobody", "evt_1", at).await)
            .await,
        "inbox.postpone: an unknown one",
    );
}
