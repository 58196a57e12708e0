//! Who is told of events.

use chrono::TimeDelta;

use super::shop::{Shop, must_be_missing, must_be_stale};
use crate::access::Mode;
use crate::ids::WebhookEndpointPubId;
use crate::ports::{Database, Scope};
use crate::secret::Secret;
use crate::webhooks::{
    DisabledReason, FormerSecret, Listener, MAX_ENDPOINTS, WebhookEndpoint, WebhookEndpointStatus,
};

/// The store of who is told of events.
///
/// # Panics
/// With the clause that is broken.
pub async fn webhook_endpoints(database: &dyn Database) {
    endpoints_are_kept_as_they_are(&Shop::open(database).await).await;
    endpoints_change_by_their_version(&Shop::open(database).await).await;
    modes_are_apart(&Shop::open(database).await).await;
    there_are_sixteen_at_the_most(&Shop::open(database).await).await;
}

/// Keeps an endpoint of the organization's sandbox.
pub(super) async fn endpoint(
    shop: &Shop<'_>,
    change: impl FnOnce(&mut WebhookEndpoint),
) -> WebhookEndpoint {
    let mut endpoint = shop.make.webhook_endpoint(&shop.organization);
    change(&mut endpoint);
    let is_kept = insert(shop, &endpoint).await;
    assert!(is_kept, "webhook_endpoints.insert: keeps an endpoint");
    endpoint
}

async fn insert(shop: &Shop<'_>, endpoint: &WebhookEndpoint) -> bool {
    shop.done("webhook_endpoints.insert: answers", async |uow| {
        uow.webhook_endpoints().insert(endpoint).await
    })
    .await
}

async fn get(shop: &Shop<'_>, scope: Scope, id: WebhookEndpointPubId) -> Option<WebhookEndpoint> {
    shop.seen("webhook_endpoints.get: reads", async |view| {
        view.webhook_endpoints().get(scope, id).await
    })
    .await
}

async fn list(shop: &Shop<'_>, scope: Scope) -> Vec<WebhookEndpoint> {
    shop.seen("webhook_endpoints.list: reads", async |view| {
        view.webhook_endpoints().list(scope).await
    })
    .await
}

async fn lock(shop: &Shop<'_>, id: WebhookEndpointPubId) -> Option<WebhookEndpoint> {
    let scope = shop.sandbox();
    shop.done("webhook_endpoints.lock: reads", async |uow| {
        uow.webhook_endpoints().lock(scope, id).await
    })
    .await
}

async fn listeners(shop: &Shop<'_>, scope: Scope) -> Vec<Listener> {
    shop.done("webhook_endpoints.hold_listeners: reads", async |uow| {
        uow.webhook_endpoints().hold_listeners(scope).await
    })
    .await
}

fn ids(endpoints: &[WebhookEndpoint]) -> Vec<WebhookEndpointPubId> {
    endpoints.iter().map(|endpoint| endpoint.id).collect()
}

async fn endpoints_are_kept_as_they_are(shop: &Shop<'_>) {
    let scope = shop.sandbox();
    assert_eq!(
        (
            list(shop, scope).await,
            get(shop, scope, shop.make.id()).await
        ),
        (Vec::new(), None),
        "webhook_endpoints.list: none where none was kept"
    );
    let plain = endpoint(shop, |_| {}).await;
    let full = endpoint(shop, |it| {
        it.url = super::full::parsed("https://shop.example.com:8443/in?a=b%20c");
        it.types = ["checkout.*", "payment.failed", "*"]
            .map(super::full::parsed)
            .to_vec();
        it.description = Some(super::full::parsed("Lager „Süd“ '; drop table x; --"));
        it.status = WebhookEndpointStatus::Disabled;
        it.disabled_reason = Some(DisabledReason::Failing);
        it.former_secret = Some(FormerSecret {
            secret: Secret::new("whsec_before".to_owned()),
            until: it
                .created_at
                .checked_add_signed(TimeDelta::hours(24))
                .unwrap_or_default(),
        });
        it.updated_at = shop.make.tick();
    })
    .await;
    for kept in [&plain, &full] {
        assert_eq!(
            get(shop, scope, kept.id).await.as_ref(),
            Some(kept),
            "webhook_endpoints.get: as it was kept, its secrets too"
        );
        assert_eq!(
            lock(shop, kept.id).await.as_ref(),
            Some(kept),
            "webhook_endpoints.lock: as it was kept"
        );
    }
    assert_eq!(
        list(shop, scope).await,
        [full, plain.clone()],
        "webhook_endpoints.list: all of them, newest first"
    );
    let listener = Listener {
        endpoint_id: plain.id,
        types: plain.types,
    };
    assert_eq!(
        listeners(shop, scope).await,
        [listener],
        "webhook_endpoints.hold_listeners: those that are enabled"
    );
}

async fn endpoints_change_by_their_version(shop: &Shop<'_>) {
    let read = endpoint(shop, |it| {
        it.description = Some(super::full::parsed("Till"));
    })
    .await;
    let mut changed = WebhookEndpoint {
        url: super::full::parsed("https://other.example.com/"),
        types: vec![super::full::parsed("product.created")],
        description: None,
        status: WebhookEndpointStatus::Disabled,
        disabled_reason: Some(DisabledReason::Gone),
        secret: Secret::new("whsec_another".to_owned()),
        former_secret: Some(FormerSecret {
            secret: read.secret.clone(),
            until: read.created_at,
        }),
        updated_at: shop.make.tick(),
        ..read.clone()
    };
    shop.done("webhook_endpoints.update: writes", async |uow| {
        uow.webhook_endpoints().update(&mut changed).await
    })
    .await;
    assert_eq!(changed.version, read.version.saturating_add(1));
    assert_eq!(
        get(shop, shop.sandbox(), read.id).await,
        Some(changed.clone()),
        "webhook_endpoints.update: every member is written"
    );
    let mut old = read.clone();
    let refused = shop
        .run(async |uow| uow.webhook_endpoints().update(&mut old).await)
        .await;
    must_be_stale(
        refused,
        "webhook_endpoints.update: what somebody else wrote stays",
    );
    changed.former_secret = None;
    shop.done("webhook_endpoints.update: writes", async |uow| {
        uow.webhook_endpoints().update(&mut changed).await
    })
    .await;
    assert_eq!(
        get(shop, shop.sandbox(), read.id).await,
        Some(changed.clone()),
        "webhook_endpoints.update: takes a secret away"
    );
    let delete = async || {
        shop.done("webhook_endpoints.delete: answers", async |uow| {
            let scope = shop.sandbox();
            uow.webhook_endpoints().delete(scope, read.id).await
        })
        .await
    };
    let clause = "webhook_endpoints.delete: tells whether there was one";
    assert_eq!([delete().await, delete().await], [true, false], "{clause}");
    assert_eq!(list(shop, shop.sandbox()).await, []);
    let refused = shop
        .run(async |uow| uow.webhook_endpoints().update(&mut changed).await)
        .await;
    must_be_missing(refused, "webhook_endpoints.update: what is gone is missing");
}

async fn modes_are_apart(shop: &Shop<'_>) {
    let sandbox = endpoint(shop, |_| {}).await;
    let live = endpoint(shop, |it| it.mode = Mode::Live).await;
    assert_eq!(
        (
            ids(&list(shop, shop.sandbox()).await),
            ids(&list(shop, shop.live()).await)
        ),
        (vec![sandbox.id], vec![live.id]),
        "webhook_endpoints.list: those of the mode"
    );
    assert_eq!(
        get(shop, shop.sandbox(), live.id).await,
        None,
        "webhook_endpoints.get: none of the other mode"
    );
    assert_eq!(
        listeners(shop, shop.live()).await.len(),
        1,
        "webhook_endpoints.hold_listeners: those of the mode"
    );
    let deleted = shop
        .done("webhook_endpoints.delete: answers", async |uow| {
            uow.webhook_endpoints()
                .delete(shop.sandbox(), live.id)
                .await
        })
        .await;
    assert!(!deleted, "webhook_endpoints.delete: none of the other mode");
}

async fn there_are_sixteen_at_the_most(shop: &Shop<'_>) {
    let mut first = None;
    for _ in 0..MAX_ENDPOINTS {
        let kept = endpoint(shop, |it| {
            it.status = WebhookEndpointStatus::Disabled;
        })
        .await;
        first.get_or_insert(kept.id);
    }
    let clause = "webhook_endpoints.insert: no more than sixteen of a mode";
    let more = shop.make.webhook_endpoint(&shop.organization);
    assert!(!insert(shop, &more).await, "{clause}");
    assert_eq!(list(shop, shop.sandbox()).await.len(), MAX_ENDPOINTS);
    let live = WebhookEndpoint {
        mode: Mode::Live,
        ..shop.make.webhook_endpoint(&shop.organization)
    };
    assert!(insert(shop, &live).await, "{clause}");
    let Some(first) = first else {
        panic!("sixteen were kept")
    };
    shop.done("webhook_endpoints.delete: answers", async |uow| {
        uow.webhook_endpoints().delete(shop.sandbox(), first).await
    })
    .await;
    assert!(
        insert(shop, &more).await,
        "{clause}, and one for one that is gone"
    );
}
