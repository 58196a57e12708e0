//! Messages of providers.

use super::shop::Shop;
use crate::access::Mode;
use crate::ports::{Database, IdGenerator, InboxMessage};

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
    let source = format!("suite-{}", shop.make.ids().next().simple());
    let earlier = shop.make.tick();
    let message = |id: &str, received_at| InboxMessage {
        source: source.clone(),
        id: id.to_owned(),
        mode: Mode::Live,
        body: vec![b'{', 0xff, b'}'],
        received_at,
    };
    let second = message("evt_2", shop.make.tick());
    let first = message("evt_1", earlier);
    let insert = async |message: &InboxMessage| {
        shop.done("inbox.insert: keeps a message", async |uow| {
            uow.inbox().insert(message).await
        })
        .await
    };
    for new in [&second, &first] {
        assert!(insert(new).await, "inbox.insert: an unknown message is new");
    }
    let mut repeated = first.clone();
    repeated.body = b"{}".to_vec();
    assert!(
        !insert(&repeated).await,
        "inbox.insert: of a source and id there is one message"
    );
    let elsewhere = InboxMessage {
        source: format!("{source}-too"),
        ..first.clone()
    };
    assert!(
        insert(&elsewhere).await,
        "inbox.insert: another source's id is another message"
    );
    let ours = async |limit| {
        let found = shop
            .done("inbox.lock_unhandled: locks", async |uow| {
                uow.inbox().lock_unhandled(limit).await
            })
            .await;
        assert!(
            found.len() <= usize::try_from(limit).unwrap_or(usize::MAX),
            "inbox.lock_unhandled: so many at the most"
        );
        found
            .into_iter()
            .filter(|message| message.source == source)
            .collect::<Vec<_>>()
    };
    ours(1).await;
    assert_eq!(
        ours(MANY).await,
        [first.clone(), second.clone()],
        "inbox.lock_unhandled: as the first came, oldest first"
    );
    let one = async |id: &str| {
        shop.done("inbox.lock_one: locks", async |uow| {
            uow.inbox().lock_one(&source, id).await
        })
        .await
    };
    assert_eq!(
        (one("evt_2").await, one("evt_3").await),
        (Some(second.clone()), None),
        "inbox.lock_one: by source and id"
    );
    let mark = async |id: &str, problem| {
        let at = shop.make.tick();
        shop.done("inbox.mark_handled: writes", async |uow| {
            uow.inbox().mark_handled(&source, id, at, problem).await
        })
        .await;
    };
    mark("evt_1", None).await;
    assert_eq!(
        (ours(MANY).await, one("evt_1").await),
        (vec![second], None),
        "inbox.mark_handled: a handled message is not handed out again"
    );
    assert!(
        !insert(&first).await,
        "inbox.insert: a handled message is still known"
    );
    mark("evt_2", Some("nobody knows the checkout")).await;
    assert_eq!(
        ours(MANY).await,
        [],
        "inbox.mark_handled: nor one that could not be handled"
    );
}
