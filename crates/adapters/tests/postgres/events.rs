//! What happened, as the database keeps it.

use lessor_adapters::postgres::Heard;
use lessor_domain::events::{Contents, EventSubject, EventType, NewEvent};

use super::leasing::somebody;
use super::support::{Shop, run};

/// A word that is in what is shown of a customer.
const WORD: &str = "zanzibarfalke";

async fn kept(shop: &Shop, change: impl FnOnce(&mut NewEvent)) -> NewEvent {
    let mut event = NewEvent {
        id: shop.make.id(),
        organization_id: shop.organization.id,
        mode: lessor_domain::access::Mode::Sandbox,
        event_type: EventType::ProductUpdated,
        subject: EventSubject::Product(shop.make.id()),
        created_at: shop.make.tick(),
        request_id: None,
        customer: None,
        contents: Some(Contents {
            object: format!("{{\"name\":\"{WORD}\"}}"),
            previous: Some("{}".to_owned()),
        }),
    };
    change(&mut event);
    shop.run(async |uow| uow.events().append(std::slice::from_ref(&event)).await)
        .await
        .unwrap();
    event
}

#[tokio::test]
async fn nobody_rewrites_what_happened() {
    let shop = Shop::open().await;
    let event = kept(&shop, |_| {}).await;
    let scope = event.scope();
    shop.run(async |uow| uow.events().number(scope, 9).await)
        .await
        .unwrap();
    kept(&shop, |_| {}).await;
    for (acting, refusals) in [
        ("", "integrity_constraint_violation"),
        (
            "set role lessor_app; ",
            "insufficient_privilege or integrity_constraint_violation",
        ),
    ] {
        for change in [
            "update events set object = ''{}''",
            "update events set event_type = ''product.deleted''",
            "update events set sealed = null",
            "update events set sequence = sequence + 1",
            "delete from events",
            "truncate events",
            "update unnumbered_events set object = ''{}''",
            "update unnumbered_events set written = default",
            "delete from unnumbered_events",
            "truncate unnumbered_events",
        ] {
            // Fails unless the change is refused. Nobody else's rows are hidden from the owner.
            let organization = shop.organization.id;
            let sql = format!(
                "{acting}set lessor.organization = '{organization}'; do $$ begin
                    execute '{change}';
                    raise exception using errcode = 'raise_exception';
                exception when {refusals} then null;
                end $$"
            );
            shop.test.execute(&sql).await;
        }
    }
    let mut view = shop.view().await;
    let all = lessor_domain::ports::EventFilter::default();
    let events = view.events().list(scope, &all, 0, 9).await.unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].event, event);
}

#[tokio::test]
async fn what_is_shown_of_a_person_is_not_in_the_table() {
    let shop = Shop::open().await;
    let customer = somebody(&shop).await;
    let sealed = kept(&shop, |event| {
        event.event_type = EventType::CustomerUpdated;
        event.subject = EventSubject::Customer(customer.id);
        event.customer = Some(customer.id);
    })
    .await;
    kept(&shop, |_| {}).await;
    let rows = "select row_to_json(e)::text || coalesce(encode(e.sealed, 'escape'), '') from unnumbered_events e \
        order by written";
    let rows = shop.test.query(rows).await;
    let lies_open: Vec<bool> = rows.iter().map(|row| row.contains(WORD)).collect();
    assert_eq!(lies_open, [false, true]);
    // The database refuses a row where it would.
    let refused = shop
        .test
        .query("select count(*) from pg_constraint where conname like '%events_person_is_sealed_check'")
        .await;
    assert_eq!(
        refused,
        ["3"],
        "of audit events, and of events with and without numbers"
    );
    let scope = sealed.scope();
    run(shop.database(), shop.reach(), async |uow| {
        uow.events().number(scope, 9).await
    })
    .await
    .unwrap();
    let mut view = shop.view().await;
    let found = view.events().get(scope, sealed.id).await.unwrap();
    assert_eq!(found.map(|found| found.event), Some(sealed));
}

/// Who listens hears of a feed once it is numbered, and of nothing before.
#[tokio::test(flavor = "multi_thread")]
async fn who_listens_hears_of_what_is_numbered() {
    let shop = Shop::open().await;
    let database = shop.database().clone();
    assert!(database.can_listen());
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let listening = tokio::spawn(async move {
        let hear = |said| sender.send(said).unwrap_or_default();
        database.listen(None, hear).await
    });
    let begun = Some(Heard::Nothing);
    assert_eq!(heard.recv().await, begun, "it begins to listen");
    let event = kept(&shop, |_| {}).await;
    let scope = event.scope();
    for _ in 0..2 {
        shop.run(async |uow| uow.events().number(scope, 9).await)
            .await
            .unwrap();
    }
    assert_eq!(heard.recv().await, Some(Heard::Feed(scope)));
    kept(&shop, |event| {
        event.mode = lessor_domain::access::Mode::Live;
    })
    .await;
    let live = lessor_domain::ports::Scope {
        mode: lessor_domain::access::Mode::Live,
        ..scope
    };
    shop.run(async |uow| uow.events().number(live, 9).await)
        .await
        .unwrap();
    // The second numbering of the first feed had nothing to tell.
    assert_eq!(heard.recv().await, Some(Heard::Feed(live)));
    listening.abort();
}

#[tokio::test]
async fn it_is_known_since_when_events_wait_for_their_numbers() {
    let shop = Shop::open().await;
    let database = shop.database();
    assert_eq!(database.unnumbered_since().await.unwrap(), None);
    let first = kept(&shop, |_| {}).await;
    kept(&shop, |_| {}).await;
    let since = database.unnumbered_since().await.unwrap();
    assert_eq!(since, Some(first.created_at));
    let scope = first.scope();
    shop.run(async |uow| uow.events().number(scope, 9).await)
        .await
        .unwrap();
    assert_eq!(database.unnumbered_since().await.unwrap(), None);
}
