//! What callers keep beside records.

use std::collections::BTreeMap;

use lessor_domain::access::Permissions;
use lessor_domain::checkout::Lifecycle;
use lessor_domain::metadata::{Metadata, MetadataPatch};
use lessor_domain::ports::{CustomerFilter, Database as _};
use lessor_domain::services::checkouts::{Annotate, CancelCheckout};
use lessor_domain::services::customers::{
    CustomerChanges, GetCustomer, ListCustomers, UpdateCustomer,
};
use lessor_domain::services::organizations::{CreateOrganization, create_organization};
use lessor_domain::services::products::{ProductChanges, UpdateProduct};
use lessor_domain::services::variants::{UpdateVariant, VariantChanges};
use lessor_domain::services::{Context, Error, UseCase as _};
use lessor_domain::testing::metadata;

use crate::world::World;

fn merge(changes: &[(&str, Option<&str>)]) -> MetadataPatch {
    let changes = changes.iter().map(|(key, value)| {
        let value = value.map(|value| value.parse().unwrap());
        (key.parse().unwrap(), value)
    });
    MetadataPatch::Merge(changes.collect())
}

/// More keys than a record keeps.
fn too_many() -> MetadataPatch {
    let keys: BTreeMap<_, _> = (0..=Metadata::MAX_KEYS)
        .map(|number| (format!("key {number}").parse().unwrap(), "1".parse().ok()))
        .collect();
    MetadataPatch::Merge(keys)
}

fn param_of<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Invalid { param, .. }) => param,
        other => panic!("no parameter is at fault: {other:?}"),
    }
}

#[tokio::test]
async fn keys_that_are_not_named_stay() {
    let world = World::new().await;
    let mut uow = world.begin().await;
    let mut kept = Metadata::default();
    for (update, expected) in [
        (
            merge(&[("line", Some("gravel")), ("season", Some("2027"))]),
            metadata(&[("line", "gravel"), ("season", "2027")]),
        ),
        (
            merge(&[("season", Some("2028")), ("shelf", Some("7"))]),
            metadata(&[("line", "gravel"), ("season", "2028"), ("shelf", "7")]),
        ),
        (
            merge(&[("season", None), ("never", None)]),
            metadata(&[("line", "gravel"), ("shelf", "7")]),
        ),
        (
            MetadataPatch::Keep,
            metadata(&[("line", "gravel"), ("shelf", "7")]),
        ),
        (MetadataPatch::Clear, Metadata::default()),
    ] {
        let product = ProductChanges {
            metadata: update.clone(),
            ..ProductChanges::default()
        };
        let product = UpdateProduct {
            id: world.product.id,
            changes: product,
        }
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
        assert_eq!(product.metadata, expected);
        let variant = VariantChanges {
            metadata: update.clone(),
            ..VariantChanges::default()
        };
        let variant = UpdateVariant {
            id: world.variant.id,
            changes: variant,
        }
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
        assert_eq!(variant.metadata, expected);
        kept.merge(update).unwrap();
        assert_eq!(kept, expected);
    }
    let update = ProductChanges {
        metadata: too_many(),
        ..ProductChanges::default()
    };
    let refused = UpdateProduct {
        id: world.product.id,
        changes: update,
    }
    .run(uow.as_mut(), &world.ctx())
    .await;
    assert_eq!(param_of(refused), "metadata");
}

#[tokio::test]
async fn a_checkout_is_annotated_in_whatever_state_it_is() {
    let world = World::new().await;
    let (made, _) = world
        .try_order("ada@example.com", |input| {
            input.metadata = metadata(&[("channel", "web")]);
        })
        .await
        .unwrap();
    assert_eq!(made.metadata, metadata(&[("channel", "web")]));
    let (again, is_new) = world
        .try_order("ada@example.com", |input| {
            input.metadata = metadata(&[("channel", "phone")]);
        })
        .await
        .unwrap();
    assert_eq!((again, is_new), (made.clone(), false), "it stays as it is");
    let mut uow = world.begin().await;
    let ended = CancelCheckout {
        id: made.id,
        reason: None,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
    world.clock.advance(chrono::TimeDelta::seconds(1));
    let mut uow = world.begin().await;
    let update = merge(&[("refund", Some("none"))]);
    let annotated = Annotate {
        id: made.id,
        changes: update.clone(),
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    assert_eq!(annotated.lifecycle(), Lifecycle::Cancelled);
    assert_eq!(
        annotated.metadata,
        metadata(&[("channel", "web"), ("refund", "none")])
    );
    assert!(annotated.updated_at > ended.updated_at);
    // The same again changes nothing.
    let same = Annotate {
        id: made.id,
        changes: update,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    assert_eq!(same, annotated);
    let refused = Annotate {
        id: made.id,
        changes: too_many(),
    }
    .run(uow.as_mut(), &world.ctx())
    .await;
    assert_eq!(param_of(refused), "metadata");
    uow.commit().await.unwrap();
    assert_eq!(world.read(made.id).await, annotated);
}

/// Whatever another organization asks for, and even with a key whose user they are, a customer of this
/// one is not there.
#[tokio::test]
async fn a_customer_is_their_organizations_alone() {
    let world = World::new().await;
    let checkout = world.order("ada@example.com").await;
    let noted = CustomerChanges {
        metadata: merge(&[("tier", Some("gold"))]),
        ..CustomerChanges::default()
    };
    let mut uow = world.begin().await;
    let ada = UpdateCustomer {
        id: checkout.customer_id,
        changes: noted.clone(),
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    assert_eq!(ada.metadata, metadata(&[("tier", "gold")]));
    uow.commit().await.unwrap();
    let mut uow = world.begin_for_server().await;
    let elsewhere = create_organization(
        uow.as_mut(),
        world.ids.as_ref(),
        world.ctx().now,
        &world.operator(),
        CreateOrganization {
            name: "Elsewhere".parse().unwrap(),
            currency: "USD".parse().unwrap(),
            discount: "0".parse().unwrap(),
            service_area: "US".parse().unwrap(),
            requires_product_review: false,
            oftake_partner_id: None,
        },
    )
    .await
    .unwrap();
    let key = world
        .fixtures
        .api_key(&ada)
        .with(|key| key.organization_id = elsewhere.id)
        .build();
    uow.keys().insert(&key).await.unwrap();
    let mut access = world.access.clone();
    access.organization_id = elsewhere.id;
    access.organization_pub_id = elsewhere.pub_id;
    access.user_id = ada.user_id;
    access.user_pub_id = ada.id;
    access.permissions = Permissions::all();
    let ctx = Context {
        access: &access,
        ..world.ctx()
    };
    let seen = GetCustomer { id: ada.id }.run(uow.as_mut(), &ctx).await;
    assert!(matches!(seen, Err(Error::NotFound { .. })), "{seen:?}");
    let changed = UpdateCustomer {
        id: ada.id,
        changes: noted,
    }
    .run(uow.as_mut(), &ctx)
    .await;
    assert!(
        matches!(changed, Err(Error::NotFound { .. })),
        "{changed:?}"
    );
    uow.commit().await.unwrap();
    let page = lessor_domain::ports::Page {
        start: lessor_domain::ports::Start::Offset(0),
        limit: 10,
    };
    let mut view = world.view().await;
    let staff = view.customers().get(world.access.user_pub_id).await;
    let staff = staff.unwrap().unwrap();
    let gold = CustomerFilter {
        metadata: metadata(&[("tier", "gold")]),
        ..CustomerFilter::default()
    };
    for (filter, expected) in [
        (CustomerFilter::default(), vec![ada.clone(), staff]),
        (gold, vec![ada.clone()]),
    ] {
        let list = ListCustomers {
            filter,
            page,
            is_long: false,
        };
        let mut view = world.database.read(elsewhere.id.into()).await.unwrap();
        let listed = list.clone().run(view.as_mut(), &ctx).await.unwrap();
        assert_eq!((listed.items, listed.total), (Vec::new(), Some(0)));
        let mut view = world.view().await;
        let own = list.run(view.as_mut(), &world.ctx()).await.unwrap();
        let total = u64::try_from(expected.len()).ok();
        assert_eq!((own.items, own.total), (expected, total));
    }
    access.permissions = std::iter::empty().collect();
    let ctx = Context {
        access: &access,
        ..world.ctx()
    };
    let filter = CustomerFilter::default();
    let mut view = world.database.read(elsewhere.id.into()).await.unwrap();
    let refused = ListCustomers {
        filter,
        page,
        is_long: false,
    }
    .run(view.as_mut(), &ctx)
    .await;
    assert!(matches!(refused, Err(Error::Forbidden(_))));
}
