//! Products.

use super::full;
use super::shop::{Shop, after, first, must, must_be_missing, must_be_stale, must_conflict};
use crate::catalog::{Product, ProductStatus, ProductType};
use crate::ids::IdRef;
use crate::ports::{Database, Page, ProductFilter, ProductSort, SortOrder, Start, UniqueField};
use crate::testing::metadata;
use crate::time::Span;

/// The store of products.
///
/// # Panics
/// With the clause that is broken.
pub async fn products(database: &dyn Database) {
    let shop = Shop::open(database).await;
    products_are_kept_as_they_are(&shop).await;
    external_ids_are_unique_among_live_products(&shop).await;
    deleting_takes_along_what_belongs_to_the_product(&shop).await;
    checkout_items_are_found(&shop).await;
    let shop = Shop::open(database).await;
    lists_are_filtered(&shop).await;
    let shop = Shop::open(database).await;
    lists_are_sorted_and_paged(&shop).await;
    let shop = Shop::open(database).await;
    lists_are_searched(&shop).await;
}

async fn products_are_kept_as_they_are(shop: &Shop<'_>) {
    let neighbour = shop.neighbour().await;
    let plain = shop.anything().await;
    let mut full = full::product(shop).await;
    for product in [&plain, &full] {
        let (found, foreign) = shop
            .seen("products.get: reads", async |view| {
                let store = view.products();
                Ok((
                    store.get(shop.organization.id, product.id).await?,
                    store.get(neighbour.organization.id, product.id).await?,
                ))
            })
            .await;
        assert_eq!(
            found.as_ref(),
            Some(product),
            "products.get: as it was kept"
        );
        assert_eq!(foreign, None, "products.get: not another organization's");
    }
    let stale = full.clone();
    full.discount = None;
    full.options.clear();
    full.external_id = None;
    full.updated_at = shop.make.tick();
    shop.done("products.update: writes", async |uow| {
        uow.products().update(&mut full).await
    })
    .await;
    let locked = shop
        .done("products.lock: locks", async |uow| {
            let shared = uow
                .products()
                .lock_shared(shop.organization.id, full.id)
                .await?;
            let locked = uow.products().lock(shop.organization.id, full.id).await?;
            assert_eq!(shared, locked, "products.lock_shared: reads the same");
            Ok(locked)
        })
        .await;
    assert_eq!(
        locked.as_ref(),
        Some(&full),
        "products.update: what is stored is what the caller has then, version included"
    );
    let mut stale = stale;
    let refused = shop
        .run(async |uow| uow.products().update(&mut stale).await)
        .await;
    must_be_stale(refused, "products.update: an older version");
    let mut unknown = shop.make.product(&shop.organization).build();
    let refused = shop
        .run(async |uow| uow.products().update(&mut unknown).await)
        .await;
    must_be_missing(refused, "products.update: an unknown one");
}

async fn external_ids_are_unique_among_live_products(shop: &Shop<'_>) {
    let neighbour = shop.neighbour().await;
    let named = |organization| shop.make.product(organization).external_id("ext-1");
    let insert = async |product: Product| {
        shop.run(async |uow| uow.products().insert(&product).await)
            .await
    };
    let mut first = shop.product(named(&shop.organization)).await;
    must_conflict(
        insert(named(&shop.organization).build()).await,
        UniqueField::ExternalId,
        "products.insert: the external id of a live product",
    );
    // Another organization may have the external id.
    neighbour.product(named(&neighbour.organization)).await;
    let mut other = shop.anything().await;
    other.external_id = first.external_id.clone();
    must_conflict(
        shop.run(async |uow| uow.products().update(&mut other).await)
            .await,
        UniqueField::ExternalId,
        "products.update: the external id of a live product",
    );
    shop.done(
        "products.update: a product keeps its external id",
        async |uow| uow.products().update(&mut first).await,
    )
    .await;
    first.status = ProductStatus::Archived;
    shop.done("products.update: archives", async |uow| {
        uow.products().update(&mut first).await
    })
    .await;
    must(
        insert(named(&shop.organization).build()).await,
        "products.insert: an archived product frees its external id",
    );
}

async fn deleting_takes_along_what_belongs_to_the_product(shop: &Shop<'_>) {
    let product = shop.anything().await;
    let variant = shop.variant(shop.make.variant(&product)).await;
    let own = shop
        .term(
            shop.make
                .lease_term(&shop.organization)
                .of_product(&product),
        )
        .await;
    let bystander = shop.any_variant().await;
    shop.done("products.delete: deletes", async |uow| {
        uow.products().delete(product.id).await
    })
    .await;
    let organization = shop.organization.id;
    let (product_left, variant_left, term_left, bystander_left) = shop
        .seen("products.get: reads", async |view| {
            Ok((
                view.products().get(organization, product.id).await?,
                view.variants().get(organization, variant.id).await?,
                view.lease_terms()
                    .find(organization, IdRef::Public(own.id))
                    .await?,
                view.variants().get(organization, bystander.id).await?,
            ))
        })
        .await;
    assert_eq!(product_left, None, "products.delete: the product is gone");
    assert_eq!(variant_left, None, "products.delete: its variants are gone");
    assert_eq!(
        term_left, None,
        "products.delete: its own lease terms are gone"
    );
    assert_eq!(
        bystander_left,
        Some(bystander),
        "products.delete: other products' variants stay"
    );
    let refused = shop
        .run(async |uow| uow.products().delete(product.id).await)
        .await;
    must_be_missing(refused, "products.delete: what is gone already");
}

async fn checkout_items_are_found(shop: &Shop<'_>) {
    let leased = shop.any_checkout(|checkout| checkout).await;
    let idle = shop.any_variant().await;
    let found = shop
        .seen("products.has_checkout_items: reads", async |view| {
            let store = view.products();
            Ok([
                store.has_checkout_items(leased.product_id).await?,
                store.has_checkout_items(idle.product_id).await?,
            ])
        })
        .await;
    assert_eq!(
        found,
        [true, false],
        "products.has_checkout_items: of a product that was checked out, and of no other"
    );
}

async fn lists_are_filtered(shop: &Shop<'_>) {
    let make = &shop.make;
    let category = full::category(shop).await;
    let build = || make.product(&shop.organization);
    let long_ago = make.tick();
    let bike = shop
        .product(build().sku("BIKE-1").external_id("x-1").with(|it| {
            it.category_id = Some(category.category_id);
            it.metadata = metadata(&[("season", "2027")]);
            let a_day = chrono::TimeDelta::days(1);
            it.updated_at = it.created_at.checked_add_signed(a_day).unwrap_or(long_ago);
        }))
        .await;
    let helmet = shop
        .product(build().add_on().with(|it| {
            it.updated_at = long_ago;
            it.metadata = metadata(&[("season", "2027"), ("größe", "%")]);
        }))
        .await;
    let paused = shop
        .product(
            build()
                .status(ProductStatus::Inactive)
                .with(|it| it.is_waitlisted = true),
        )
        .await;
    let gone = shop
        .product(build().status(ProductStatus::Archived).sku("BIKE-0"))
        .await;
    let none = ProductFilter::default;
    let parsed = |text: &str| match text.parse() {
        Ok(sku) => sku,
        Err(error) => panic!("{text} is a sku: {error}"),
    };
    let cases: [(&str, ProductFilter, &[&Product]); 14] = [
        (
            "nothing, archived ones left out",
            none(),
            &[&bike, &helmet, &paused],
        ),
        (
            "states, archived ones on demand",
            ProductFilter {
                statuses: vec![ProductStatus::Archived, ProductStatus::Inactive],
                ..none()
            },
            &[&paused, &gone],
        ),
        (
            "types",
            ProductFilter {
                types: vec![ProductType::AddOn],
                ..none()
            },
            &[&helmet],
        ),
        (
            "waitlisted",
            ProductFilter {
                is_waitlisted: Some(true),
                ..none()
            },
            &[&paused],
        ),
        (
            "external ids",
            ProductFilter {
                external_ids: bike.external_id.clone().into_iter().collect(),
                ..none()
            },
            &[&bike],
        ),
        (
            "categories",
            ProductFilter {
                categories: vec![category.category_id],
                ..none()
            },
            &[&bike],
        ),
        (
            "skus, each of a list",
            ProductFilter {
                skus: vec![parsed("BIKE-1"), parsed("BIKE-0")],
                ..none()
            },
            &[&bike],
        ),
        (
            "when they were made, the bounds left out",
            ProductFilter {
                created: Span::new(Some(bike.created_at), Some(paused.created_at)),
                ..none()
            },
            &[&helmet],
        ),
        (
            "when they last changed",
            ProductFilter {
                updated: Span::new(Some(bike.created_at), None),
                ..none()
            },
            &[&bike, &paused],
        ),
        (
            "an end alone",
            ProductFilter {
                created: Span::new(None, Some(helmet.created_at)),
                ..none()
            },
            &[&bike],
        ),
        (
            "a key of metadata",
            ProductFilter {
                metadata: metadata(&[("season", "2027")]),
                ..none()
            },
            &[&bike, &helmet],
        ),
        (
            "several keys",
            ProductFilter {
                metadata: metadata(&[("season", "2027"), ("größe", "%")]),
                ..none()
            },
            &[&helmet],
        ),
        (
            "a key with another value",
            ProductFilter {
                metadata: metadata(&[("season", "202")]),
                ..none()
            },
            &[],
        ),
        (
            "several at once",
            ProductFilter {
                types: vec![ProductType::AddOn],
                skus: vec![parsed("BIKE-1")],
                ..none()
            },
            &[],
        ),
    ];
    for (what, filter, expected) in cases {
        let (found, count) = shop
            .seen("products.list: reads", async |view| {
                let store = view.products();
                let organization = shop.organization.id;
                let (sort, order) = (ProductSort::CreatedAt, SortOrder::Ascending);
                let found = store
                    .list(organization, &filter, sort, order, first(100))
                    .await?;
                let count = store.count(organization, &filter, u64::MAX).await?;
                let one = store.count(organization, &filter, 1).await?;
                assert_eq!(one, count.min(1), "products.count: up to so many");
                Ok((found, count))
            })
            .await;
        assert_eq!(
            found.iter().collect::<Vec<_>>(),
            expected,
            "products.list: filtered by {what}"
        );
        assert_eq!(
            usize::try_from(count),
            Ok(expected.len()),
            "products.count: filtered by {what}"
        );
    }
}

async fn lists_are_sorted_and_paged(shop: &Shop<'_>) {
    let make = &shop.make;
    let same_time = make.tick();
    let mut kept = Vec::new();
    // Names and last changes run against the order of their making; two were made at one time.
    for (index, name) in ["echo", "delta", "charlie", "bravo", "alpha"]
        .into_iter()
        .enumerate()
    {
        let late = chrono::TimeDelta::seconds(i64::try_from(index).unwrap_or(0));
        let builder = make.product(&shop.organization).name(name).with(|it| {
            if index < 2 {
                it.created_at = same_time;
            }
            it.updated_at = same_time.checked_sub_signed(late).unwrap_or(same_time);
        });
        kept.push(shop.product(builder).await);
    }
    let ids = |products: &[Product]| products.iter().map(|p| p.id).collect::<Vec<_>>();
    let oldest_first = ids(&kept);
    let newest_first: Vec<_> = oldest_first.iter().rev().copied().collect();
    let organization = shop.organization.id;
    let list = async |sort, order, page: Page| {
        let found = shop
            .seen("products.list: reads", async |view| {
                view.products()
                    .list(organization, &ProductFilter::default(), sort, order, page)
                    .await
            })
            .await;
        ids(&found)
    };
    for (sort, ascending, descending) in [
        (ProductSort::CreatedAt, &oldest_first, &newest_first),
        (ProductSort::UpdatedAt, &newest_first, &oldest_first),
        (ProductSort::Name, &newest_first, &oldest_first),
    ] {
        for (order, expected) in [
            (SortOrder::Ascending, ascending),
            (SortOrder::Descending, descending),
        ] {
            let all = list(sort, order, first(100)).await;
            assert_eq!(
                &all, expected,
                "products.list: sorted by {sort:?}, {order:?}, ties by id in the same direction"
            );
            let mut offset = Vec::new();
            for start in [0, 2, 4] {
                let page = Page {
                    start: Start::Offset(start),
                    limit: 2,
                };
                offset.extend(list(sort, order, page).await);
            }
            assert_eq!(&offset, expected, "products.list: pages by offset");
            let mut keyed = list(sort, order, first(2)).await;
            while let Some(last) = keyed.last() {
                let next = list(sort, order, after(last.as_uuid(), 2)).await;
                if next.is_empty() {
                    break;
                }
                keyed.extend(next);
            }
            assert_eq!(
                &keyed, expected,
                "products.list: pages by key, sorted by {sort:?}, {order:?}"
            );
        }
    }

    let Some(mut middle) = kept.get(2).cloned() else {
        panic!("the suite made five products");
    };
    middle.status = ProductStatus::Archived;
    shop.done("products.update: archives", async |uow| {
        uow.products().update(&mut middle).await
    })
    .await;
    let rest = list(
        ProductSort::CreatedAt,
        SortOrder::Descending,
        after(middle.id.as_uuid(), 100),
    )
    .await;
    assert_eq!(
        rest.as_slice(),
        newest_first.get(3..).unwrap_or_default(),
        "products.list: a record that the filter hides by now still marks where to go on"
    );
}

async fn lists_are_searched(shop: &Shop<'_>) {
    let make = &shop.make;
    let build = |name: &str| make.product(&shop.organization).name(name);
    let bike = shop.product(build("Rennrad Ärmel 50%").sku("RR_01")).await;
    let helmet = shop
        .product(build("Helm Größe L").external_id("gid://Shop/7\\x"))
        .await;
    let plain = shop.product(build("Trailer")).await;
    let gone = shop
        .product(build("Rennrad alt").status(ProductStatus::Archived))
        .await;
    for builder in [
        make.variant(&plain).sku("TR-äöü-1").choose("Size", "S"),
        make.variant(&plain).sku("TR-2").choose("Size", "M"),
        make.variant(&plain)
            .sku("OLD-9")
            .choose("Size", "L")
            .status(ProductStatus::Archived),
    ] {
        shop.variant(builder).await;
    }
    let next_door = shop.neighbour().await;
    let foreign = next_door.make.product(&next_door.organization);
    next_door.product(foreign.name("Rennrad")).await;
    let cases: &[(&str, &[&Product])] = &[
        ("rennrad", &[&bike]),
        ("RENNRAD ärm", &[&bike]),
        ("ÄRMEL", &[&bike]),
        // A letter with a sign of its own, and one of full width.
        ("a\u{308}rmel", &[&bike]),
        ("ｒennrad", &[&bike]),
        ("nnr", &[&bike]),
        ("50%", &[&bike]),
        ("%", &[&bike]),
        ("5%0", &[]),
        ("rr_01", &[&bike]),
        ("_", &[&bike]),
        ("r__01", &[]),
        ("ren%rad", &[]),
        ("\\", &[&helmet]),
        ("\\x", &[&helmet]),
        ("/7\\X", &[&helmet]),
        ("gid://shop", &[&helmet]),
        ("größe l", &[&helmet]),
        // Two texts of one product are not one.
        ("50%rr", &[]),
        ("tr-ÄÖÜ", &[&plain]),
        ("tr-", &[&plain]),
        ("old-9", &[]),
        ("gr", &[&helmet]),
        ("l", &[&bike, &helmet, &plain]),
        ("nothing of the kind", &[]),
    ];
    let search = async |filter: ProductFilter| {
        shop.seen("products.list: reads", async |view| {
            let store = view.products();
            let organization = shop.organization.id;
            let (sort, order) = (ProductSort::CreatedAt, SortOrder::Ascending);
            let found = store
                .list(organization, &filter, sort, order, first(100))
                .await?;
            let count = store.count(organization, &filter, u64::MAX).await?;
            Ok((found, count))
        })
        .await
    };
    let of_term = |term: &str| ProductFilter {
        search: Some(full::parsed(term)),
        ..ProductFilter::default()
    };
    for (term, expected) in cases {
        let (found, count) = search(of_term(term)).await;
        assert_eq!(
            found.iter().collect::<Vec<_>>(),
            *expected,
            "products.list: searched for {term:?} in any case, each character as it is"
        );
        assert_eq!(
            usize::try_from(count),
            Ok(expected.len()),
            "products.count: searched for {term:?}"
        );
    }
    let (found, _) = search(ProductFilter {
        statuses: vec![ProductStatus::Archived],
        ..of_term("rennrad")
    })
    .await;
    assert_eq!(found, [gone], "products.list: searched with another filter");
    let mut renamed = bike;
    renamed.name = full::parsed("Gravel");
    shop.done("products.update: writes", async |uow| {
        uow.products().update(&mut renamed).await
    })
    .await;
    for (term, expected) in [("rennrad", vec![]), ("gravel", vec![renamed])] {
        let (found, _) = search(of_term(term)).await;
        assert_eq!(
            found, expected,
            "products.update: a product is found by what it is called then"
        );
    }
}
