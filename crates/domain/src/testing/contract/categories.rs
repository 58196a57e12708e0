//! Product categories.

use super::shop::{Shop, after, first, must, must_conflict};
use crate::ids::IdRef;
use crate::ports::{Database, NewCategory, UniqueField};

/// The store of product categories.
///
/// # Panics
/// With the clause that is broken.
pub async fn categories(database: &dyn Database) {
    let shop = Shop::open(database).await;
    let neighbour = shop.neighbour().await;
    let new = |organization_id, name: &str| NewCategory {
        id: shop.make.id(),
        organization_id,
        name: match name.parse() {
            Ok(name) => name,
            Err(error) => panic!("{name} is a name: {error}"),
        },
        created_at: shop.make.tick(),
    };
    let insert = async |new: NewCategory| {
        shop.run(async |uow| uow.categories().insert(&new).await)
            .await
    };
    let mut kept = Vec::new();
    for name in ["Bikes", "Éclairage", "Helmets"] {
        let category = insert(new(shop.organization.id, name)).await;
        kept.push(must(category, "categories.insert: keeps a category"));
    }
    must_conflict(
        insert(new(shop.organization.id, "éCLAIRAGE")).await,
        UniqueField::Name,
        "categories.insert: a name of the organization's in any case",
    );
    let elsewhere = new(neighbour.organization.id, "Bikes");
    neighbour
        .done(
            "categories.insert: another organization may have the name",
            async |uow| uow.categories().insert(&elsewhere).await,
        )
        .await;
    kept.reverse();
    let organization = shop.organization.id;
    let (all, count) = shop
        .seen("categories.list: reads", async |view| {
            Ok((
                view.categories().list(organization, first(10)).await?,
                view.categories().count(organization).await?,
            ))
        })
        .await;
    assert_eq!(
        all, kept,
        "categories.list: the organization's, newest first"
    );
    assert_eq!(count, 3, "categories.count: counts the organization's");
    let mut paged = Vec::new();
    let mut page = first(2);
    loop {
        let part = shop
            .seen("categories.list: reads a page", async |view| {
                view.categories().list(organization, page).await
            })
            .await;
        let Some(last) = part.last() else { break };
        page = after(last.id.as_uuid(), 2);
        paged.extend(part);
    }
    assert_eq!(
        paged, kept,
        "categories.list: pages neither skip nor repeat"
    );
    for category in &kept {
        let found = shop
            .seen("categories.find: reads", async |view| {
                let store = view.categories();
                Ok([
                    store.find(organization, IdRef::Public(category.id)).await?,
                    store
                        .find(organization, IdRef::Number(category.category_id))
                        .await?,
                    store
                        .find(
                            neighbour.organization.id,
                            IdRef::Number(category.category_id),
                        )
                        .await?,
                ])
            })
            .await;
        assert_eq!(
            found,
            [Some(category.clone()), Some(category.clone()), None],
            "categories.find: by either id, within the organization"
        );
    }
}
