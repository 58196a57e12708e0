//! Who is told of events, and what becomes of each when they answer and when they do not.

use std::sync::Arc;

use chrono::TimeDelta;
use lessor_domain::access::{Mode, Permission, Permissions};
use lessor_domain::events::{Contents, EventSubject, EventType, NewEvent};
use lessor_domain::ids::{CheckoutPubId, EventPubId};
use lessor_domain::ports::{EventFilter, IdGenerator as _, Page, Start};
use lessor_domain::secret::Secret;
use lessor_domain::services::checkouts::scope_of;
use lessor_domain::services::deliveries::{ListDeliveries, RedeliverEvent, ReplayEvents};
use lessor_domain::services::events::{TellingDatabase, number};
use lessor_domain::services::webhook_endpoints::{
    CreateWebhookEndpoint, DeleteWebhookEndpoint, GetWebhookEndpoint, RollWebhookEndpoint,
    TestWebhookEndpoint, UpdateWebhookEndpoint, WebhookEndpointChanges,
};
use lessor_domain::services::{Error, UseCase};
use lessor_domain::testing::{FakeRecords, FakeWebhookSender, SentMessage, webhook_answer};
use lessor_domain::webhooks::{
    Delivery, DeliveryStatus, DisabledReason, MAX_ATTEMPTS, WebhookEndpoint, WebhookEndpointStatus,
};
use lessor_domain::workers::Round;
use lessor_domain::workers::couriers::{
    Courier, DELIVERY_LEASE, Delivered, PER_ENDPOINT, SLOW_AFTER,
};

use crate::world::World;

const HOOK: &str = "https://shop.example.com/hook";
const OTHER: &str = "https://other.example.com/hook";

/// An organization that is told of what happens.
struct Post {
    world: World,
    sender: Arc<FakeWebhookSender>,
    courier: Courier,
}

impl Post {
    async fn open() -> Self {
        let mut world = World::new().await;
        world.stores = Arc::new(TellingDatabase::new(
            world.stores.clone(),
            world.clock.clone(),
            world.ids.clone(),
            Arc::new(FakeRecords),
            Arc::new(()),
        ));
        let sender = Arc::new(FakeWebhookSender::default());
        let courier = Courier {
            database: world.stores.clone(),
            clock: world.clock.clone(),
            ids: world.ids.clone(),
            entropy: world.entropy.clone(),
            records: Arc::new(FakeRecords),
            sender: sender.clone(),
            lease: DELIVERY_LEASE,
            per_endpoint: PER_ENDPOINT,
            slow_after: SLOW_AFTER,
        };
        let post = Self {
            world,
            sender,
            courier,
        };
        // What the world is made of is nobody's affair.
        post.number().await;
        post
    }

    async fn run<U: UseCase>(&self, use_case: U) -> Result<U::Output, Error> {
        let mut uow = self.world.begin().await;
        let done = use_case.run(uow.as_mut(), &self.world.ctx()).await?;
        uow.commit().await?;
        Ok(done)
    }

    async fn endpoint(&self, url: &str, types: &[&str]) -> WebhookEndpoint {
        let create = CreateWebhookEndpoint {
            url: url.parse().unwrap(),
            types: types.iter().map(|text| text.parse().unwrap()).collect(),
            description: None,
            secret: Secret::new("whsec_first".to_owned()),
        };
        self.run(create).await.unwrap()
    }

    async fn number(&self) {
        let scope = scope_of(&self.world.access);
        let (ids, clock) = (self.world.ids.as_ref(), self.world.clock.as_ref());
        number(self.world.stores.as_ref(), ids, clock, scope)
            .await
            .unwrap();
    }

    /// Something happens to the checkout, and is numbered.
    async fn happens(&self, checkout: CheckoutPubId) -> EventPubId {
        let event = NewEvent {
            id: EventPubId::from_uuid(self.world.ids.next()),
            organization_id: self.world.organization.id,
            mode: Mode::Sandbox,
            event_type: EventType::CheckoutUpdated,
            subject: EventSubject::Checkout(checkout),
            created_at: self.world.clock.advance(TimeDelta::milliseconds(1)),
            request_id: None,
            customer: None,
            contents: Some(Contents {
                object: "{}".to_owned(),
                previous: None,
            }),
        };
        let mut uow = self.world.begin().await;
        uow.events()
            .append(std::slice::from_ref(&event))
            .await
            .unwrap();
        uow.commit().await.unwrap();
        self.number().await;
        event.id
    }

    /// Delivers what is due, until nothing is. Gives the ids of what was sent, in order.
    async fn deliver(&self) -> Vec<String> {
        loop {
            let taken = self.courier.take(&mut Round::default(), 100).await.unwrap();
            if taken.is_empty() {
                let sent = self.sender.sent();
                return sent.into_iter().map(|sent| sent.id).collect();
            }
            for delivery in taken {
                self.courier.deliver(delivery).await.unwrap();
            }
        }
    }

    async fn deliveries(&self, endpoint: &WebhookEndpoint) -> Vec<Delivery> {
        let list = ListDeliveries {
            endpoint: endpoint.id,
            page: Page {
                start: Start::Offset(0),
                limit: 100,
            },
        };
        self.run(list).await.unwrap().items
    }

    async fn read(&self, endpoint: &WebhookEndpoint) -> WebhookEndpoint {
        self.run(GetWebhookEndpoint { id: endpoint.id })
            .await
            .unwrap()
    }

    async fn set(&self, endpoint: &WebhookEndpoint, status: WebhookEndpointStatus) {
        let changes = WebhookEndpointChanges {
            status: Some(status),
            ..WebhookEndpointChanges::default()
        };
        let id = endpoint.id;
        self.run(UpdateWebhookEndpoint { id, changes })
            .await
            .unwrap();
    }

    fn later(&self, time: TimeDelta) {
        self.world.clock.advance(time);
    }

    fn checkout(&self) -> CheckoutPubId {
        CheckoutPubId::from_uuid(self.world.ids.next())
    }

    async fn types_told(&self) -> Vec<EventType> {
        self.number().await;
        let scope = scope_of(&self.world.access);
        let mut view = self.world.view().await;
        let listed = view
            .events()
            .list(scope, &EventFilter::default(), 0, 1_000)
            .await;
        let listed = listed.unwrap().into_iter();
        listed.map(|event| event.event.event_type).collect()
    }
}

fn ids(events: &[EventPubId]) -> Vec<String> {
    events.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn whoever_listens_is_told_once() {
    let post = Post::open().await;
    let all = post.endpoint(HOOK, &["*"]).await;
    post.endpoint(OTHER, &["payment.*"]).await;
    let event = post.happens(post.checkout()).await;
    // Whoever else numbers finds nothing, and makes nothing.
    post.number().await;
    assert_eq!(post.deliver().await, ids(&[event]));
    assert_eq!(post.deliver().await, Vec::<String>::new());
    let [delivery] = post.deliveries(&all).await.try_into().unwrap();
    assert_eq!(
        (delivery.status, delivery.attempts),
        (DeliveryStatus::Succeeded, 1)
    );
    assert_eq!(delivery.last.response_status, Some(200));
}

#[tokio::test]
async fn what_is_not_acknowledged_is_tried_eleven_times() {
    let post = Post::open().await;
    let endpoint = post.endpoint(HOOK, &["*"]).await;
    post.sender.answers(HOOK, 500, 20);
    let event = post.happens(post.checkout()).await;
    let begun = post.world.ctx().now;
    let mut attempts = 0;
    while post.deliveries(&endpoint).await[0].status == DeliveryStatus::Pending {
        attempts += post.deliver().await.len();
        post.later(TimeDelta::seconds(1));
        let next = post.deliveries(&endpoint).await[0].next_attempt_at;
        if let Some(next) = next {
            // An endpoint that fails rests besides, a minute at the most.
            post.world.clock.set(next + TimeDelta::minutes(1));
        }
    }
    assert_eq!(attempts, MAX_ATTEMPTS as usize);
    let took = post.world.ctx().now - begun;
    assert!(
        took > TimeDelta::hours(60) && took < TimeDelta::hours(92),
        "{took}"
    );
    let [delivery] = post.deliveries(&endpoint).await.try_into().unwrap();
    assert_eq!(delivery.status, DeliveryStatus::Failed);
    assert_eq!(
        delivery.last.error.as_deref(),
        Some("the endpoint answered 500")
    );
    assert!(post.read(&endpoint).await.is_enabled());
    // By hand it goes out again.
    let redeliver = RedeliverEvent {
        id: event,
        endpoint: Some(endpoint.id),
    };
    assert_eq!(post.run(redeliver).await.unwrap(), 1);
    post.later(TimeDelta::minutes(2));
    assert_eq!(post.deliver().await, ids(&[event]));
}

#[tokio::test]
async fn a_checkout_keeps_its_order_until_something_fails() {
    let post = Post::open().await;
    post.endpoint(HOOK, &["*"]).await;
    let (one, other) = (post.checkout(), post.checkout());
    let first = post.happens(one).await;
    let second = post.happens(one).await;
    let elsewhere = post.happens(other).await;
    let taken = post.courier.take(&mut Round::default(), 100).await.unwrap();
    let taken: Vec<EventPubId> = taken.iter().map(|it| it.new.event_id).collect();
    assert_eq!(taken, [first, elsewhere], "the second waits for the first");
    // The worker died over them.
    post.later(TimeDelta::seconds(31));
    post.sender.answers(HOOK, 503, 1);
    assert_eq!(post.deliver().await, ids(&[first, elsewhere, second]));
    post.later(TimeDelta::seconds(7));
    assert_eq!(post.deliver().await, ids(&[first]));
}

#[tokio::test]
async fn what_was_under_way_when_a_worker_died_is_sent_again() {
    let post = Post::open().await;
    let endpoint = post.endpoint(HOOK, &["*"]).await;
    let event = post.happens(post.checkout()).await;
    let [taken] = post
        .courier
        .take(&mut Round::default(), 1)
        .await
        .unwrap()
        .try_into()
        .unwrap();
    assert_eq!(post.deliver().await, Vec::<String>::new());
    post.later(TimeDelta::seconds(31));
    assert_eq!(post.deliver().await, ids(&[event]));
    // The other was only slow, and says nothing any more.
    let late = post.courier.deliver(taken).await.unwrap();
    assert_eq!(late, Delivered::Moot);
    let [delivery] = post.deliveries(&endpoint).await.try_into().unwrap();
    assert_eq!(delivery.attempts, 1);
    assert_eq!(post.sender.sent().len(), 1, "the endpoint heard it twice");
}

#[tokio::test]
async fn a_round_that_was_left_keeps_nobody_waiting() {
    let post = Post::open().await;
    post.endpoint(HOOK, &["checkout.*"]).await;
    let mut round = Round::default();
    for _ in 0..3 {
        let event = post.happens(post.checkout()).await;
        let [taken] = post
            .courier
            .take(&mut round, 1)
            .await
            .unwrap()
            .try_into()
            .unwrap();
        assert_eq!(taken.new.event_id, event);
        post.courier.deliver(taken).await.unwrap();
        // Whoever was served last may have nothing more, and is not all there is.
        post.happens(post.checkout()).await;
        let rest = post.courier.take(&mut round, 10).await.unwrap();
        assert_eq!(rest.len(), 1);
        post.courier
            .deliver(rest.into_iter().next().unwrap())
            .await
            .unwrap();
        assert!(post.courier.take(&mut round, 10).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn who_is_gone_is_disabled_and_others_are_told() {
    let post = Post::open().await;
    let gone = post.endpoint(HOOK, &["checkout.*"]).await;
    post.endpoint(OTHER, &["webhook_endpoint.*"]).await;
    post.sender.answers(HOOK, 410, 1);
    let (first, second) = (
        post.happens(post.checkout()).await,
        post.happens(post.checkout()).await,
    );
    // One at a time, so that the other waits when it is over.
    let [taken] = post
        .courier
        .take(&mut Round::default(), 1)
        .await
        .unwrap()
        .try_into()
        .unwrap();
    assert_eq!(taken.new.event_id, first);
    let became = post.courier.deliver(taken).await.unwrap();
    assert_eq!(became, Delivered::Disabled(DisabledReason::Gone));
    let read = post.read(&gone).await;
    assert_eq!(read.status, WebhookEndpointStatus::Disabled);
    assert_eq!(read.disabled_reason, Some(DisabledReason::Gone));
    for delivery in post.deliveries(&gone).await {
        assert_eq!(delivery.status, DeliveryStatus::Failed, "{delivery:?}");
        let is_second = delivery.new.event_id == second;
        assert_eq!(delivery.attempts, u32::from(!is_second));
    }
    post.sender.sent();
    post.number().await;
    let told = post.types_told().await;
    assert_eq!(told.last(), Some(&EventType::WebhookEndpointDisabled));
    let [sent]: [SentMessage; 1] = {
        post.deliver_quietly().await;
        post.sender.sent().try_into().unwrap()
    };
    assert_eq!(sent.url, OTHER);
    // Nothing that happens meanwhile is kept for it; a replay brings it.
    let meanwhile = post.happens(post.checkout()).await;
    assert_eq!(post.deliver().await, Vec::<String>::new());
    post.set(&gone, WebhookEndpointStatus::Enabled).await;
    assert_eq!(post.deliver().await, Vec::<String>::new());
    let replay = ReplayEvents {
        endpoint: gone.id,
        from: gone.created_at,
        to: None,
        types: None,
        only_failed: true,
    };
    assert_eq!(post.run(replay.clone()).await.unwrap(), 3);
    assert_eq!(post.deliver().await, ids(&[first, second, meanwhile]));
    assert_eq!(post.run(replay).await.unwrap(), 0);
}

impl Post {
    async fn deliver_quietly(&self) {
        for delivery in self.courier.take(&mut Round::default(), 100).await.unwrap() {
            self.courier.deliver(delivery).await.unwrap();
        }
    }
}

#[tokio::test]
async fn five_days_of_failures_disable() {
    let post = Post::open().await;
    let endpoint = post.endpoint(HOOK, &["checkout.*"]).await;
    post.sender.answers(HOOK, 500, 10_000);
    let begun = post.world.ctx().now;
    let checkout = post.checkout();
    for hours in 0..120 {
        post.happens(checkout).await;
        post.deliver().await;
        assert!(post.read(&endpoint).await.is_enabled(), "after {hours} h");
        let next = begun + TimeDelta::hours(hours + 1);
        post.world.clock.set(next);
    }
    post.later(TimeDelta::minutes(2));
    post.happens(checkout).await;
    post.deliver().await;
    let read = post.read(&endpoint).await;
    assert_eq!(read.disabled_reason, Some(DisabledReason::Failing));
    assert!(
        post.deliveries(&endpoint)
            .await
            .iter()
            .all(|it| it.status == DeliveryStatus::Failed)
    );
    let told = post.types_told().await;
    let disabled = EventType::WebhookEndpointDisabled;
    assert_eq!(told.iter().filter(|it| **it == disabled).count(), 1);
}

#[tokio::test]
async fn what_its_organization_disables_is_no_event() {
    let post = Post::open().await;
    let endpoint = post.endpoint(HOOK, &["*"]).await;
    post.sender.answers(HOOK, 500, 1);
    post.happens(post.checkout()).await;
    post.deliver().await;
    post.set(&endpoint, WebhookEndpointStatus::Disabled).await;
    let [delivery] = post.deliveries(&endpoint).await.try_into().unwrap();
    assert_eq!(delivery.status, DeliveryStatus::Failed);
    assert_eq!(
        delivery.last.error.as_deref(),
        Some("the endpoint was disabled")
    );
    let told = post.types_told().await;
    assert!(!told.contains(&EventType::WebhookEndpointDisabled));
    let refused = post.run(TestWebhookEndpoint { id: endpoint.id }).await;
    assert!(matches!(refused, Err(Error::Rule { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_dead_endpoint_costs_single_attempts() {
    let post = Post::open().await;
    post.endpoint(HOOK, &["checkout.*"]).await;
    post.endpoint(OTHER, &["payment.*"]).await;
    post.sender.answers(HOOK, 500, 10_000);
    for _ in 0..200 {
        post.happens(post.checkout()).await;
    }
    // As many as there is room for fail at once, and then it rests.
    let first = post.deliver().await.len();
    assert!(first <= PER_ENDPOINT as usize, "{first}");
    let mut attempts = 0;
    for _ in 0..60 {
        post.later(TimeDelta::seconds(10));
        let sent = post.deliver().await.len();
        assert!(sent <= 1, "{sent} at once");
        attempts += sent;
    }
    assert!(attempts <= 20, "{attempts} in ten minutes");
    // It comes back, and is told of all of them.
    post.later(TimeDelta::days(2));
    let alive = FakeWebhookSender::default();
    let courier = Courier {
        sender: Arc::new(alive),
        ..post.courier.clone()
    };
    let mut taken = 0;
    loop {
        let deliveries = courier.take(&mut Round::default(), 100).await.unwrap();
        if deliveries.is_empty() {
            break;
        }
        taken += deliveries.len();
        for delivery in deliveries {
            courier.deliver(delivery).await.unwrap();
        }
    }
    assert_eq!(taken, 200);
}

#[tokio::test]
async fn messages_bear_what_is_known_then() {
    let post = Post::open().await;
    let endpoint = post.endpoint(HOOK, &["*"]).await;
    let roll = RollWebhookEndpoint {
        id: endpoint.id,
        secret: Secret::new("whsec_second".to_owned()),
        overlap: TimeDelta::hours(24),
    };
    post.run(roll).await.unwrap();
    post.run(TestWebhookEndpoint { id: endpoint.id })
        .await
        .unwrap();
    post.deliver_quietly().await;
    let [sent] = post.sender.sent().try_into().unwrap();
    assert_eq!(sent.secrets, ["whsec_second", "whsec_first"]);
    post.later(TimeDelta::hours(25));
    post.run(TestWebhookEndpoint { id: endpoint.id })
        .await
        .unwrap();
    post.deliver_quietly().await;
    let [sent] = post.sender.sent().try_into().unwrap();
    assert_eq!(sent.secrets, ["whsec_second"]);
    assert_eq!(post.types_told().await.len(), 0, "a test is in no feed");
}

#[tokio::test]
async fn retry_after_is_the_least_pause() {
    let post = Post::open().await;
    let endpoint = post.endpoint(HOOK, &["*"]).await;
    let busy = webhook_answer(429, Some(TimeDelta::hours(3)));
    post.sender.then(HOOK, busy);
    let event = post.happens(post.checkout()).await;
    post.deliver().await;
    let [delivery] = post.deliveries(&endpoint).await.try_into().unwrap();
    let pause = delivery.next_attempt_at.unwrap() - delivery.updated_at;
    assert_eq!(pause, TimeDelta::hours(3));
    post.later(TimeDelta::minutes(179));
    assert_eq!(post.deliver().await, Vec::<String>::new());
    post.later(TimeDelta::minutes(1));
    assert_eq!(post.deliver().await, ids(&[event]));
}

#[tokio::test]
async fn what_is_gone_is_not_told() {
    let post = Post::open().await;
    let (deleted, kept) = (
        post.endpoint(HOOK, &["*"]).await,
        post.endpoint(OTHER, &["*"]).await,
    );
    post.happens(post.checkout()).await;
    let taken = post.courier.take(&mut Round::default(), 100).await.unwrap();
    post.run(DeleteWebhookEndpoint { id: deleted.id })
        .await
        .unwrap();
    let mut uow = post.world.begin().await;
    let late = post.world.ctx().now + TimeDelta::days(1);
    uow.events().purge(late, 1_000).await.unwrap();
    uow.commit().await.unwrap();
    let mut became = Vec::new();
    for delivery in taken {
        became.push(post.courier.deliver(delivery).await.unwrap());
    }
    became.sort_by_key(|it| *it == Delivered::Failed);
    assert_eq!(became, [Delivered::Moot, Delivered::Failed]);
    assert_eq!(post.sender.sent(), []);
    let [delivery] = post.deliveries(&kept).await.try_into().unwrap();
    assert_eq!(delivery.attempts, 0, "none was made");
}

#[tokio::test]
async fn who_may_not_is_refused_after_what_is_not_there() {
    let mut post = Post::open().await;
    let endpoint = post.endpoint(HOOK, &["*"]).await;
    post.world.access.permissions = Permissions::all()
        .iter()
        .filter(|permission| *permission != Permission::WebhookWrite)
        .collect();
    let unknown = post.world.fixtures.id();
    for (id, is_there) in [(endpoint.id, true), (unknown, false)] {
        let refused = post.run(DeleteWebhookEndpoint { id }).await;
        match refused {
            Err(Error::Forbidden(_)) => assert!(is_there),
            Err(Error::NotFound { .. }) => assert!(!is_there),
            other => panic!("{other:?}"),
        }
    }
    assert!(post.read(&endpoint).await.is_enabled());
}
