//! Variants and their stock.

use super::full;
use super::shop::{Shop, after, first, must, must_be_missing, must_be_stale, must_conflict};
use crate::access::Mode;
use crate::catalog::{
    Inventory, Product, ProductStatus, ProductVariant, Stock, StockTaken, VariantFilter,
};
use crate::checkout::PurchaseItem;
use crate::ids::ProductVariantPubId;
use crate::ports::{Database, StoreError, UniqueField, VariantSelection};
use crate::quantity::Quantity;
use crate::testing::metadata;
use crate::time::Span;

/// The store of variants.
///
/// # Panics
/// With the clause that is broken.
pub async fn variants(database: &dyn Database) {
    let shop = Shop::open(database).await;
    variants_are_kept_as_they_are(&shop).await;
    what_is_unique_is_unique_among_live_variants(&shop).await;
    many_are_kept_together_or_none(&shop).await;
    variants_are_found(&shop).await;
    lists_are_in_order(&shop).await;
    stock_is_taken_and_returned(&shop).await;
    stock_is_counted_by_mode(&shop).await;
    stock_is_promised_once_under_a_race(&shop).await;
    several_are_taken_together(&shop).await;
    several_are_promised_once_under_a_race(&shop).await;
    variants_are_deleted(&shop).await;
}

/// A variant whose every member says something.
async fn full_variant(shop: &Shop<'_>, product: &Product) -> ProductVariant {
    let builder = shop
        .make
        .variant(product)
        .price("999999999.99")
        .external_id("gid://shop/Variant/1")
        .stock(2_147_483_647)
        .with(|it| {
            it.discount = Some(full::parsed("100"));
            it.images = vec![
                full::parsed("https://img.example.com/b.jpg"),
                full::parsed("https://img.example.com/a.jpg"),
            ];
            it.is_waitlisted = true;
            it.product_year = Some(2026);
            it.metadata = metadata(&[("shelf", "12")]);
        });
    shop.variant(builder).await
}

async fn variants_are_kept_as_they_are(shop: &Shop<'_>) {
    let neighbour = shop.neighbour().await;
    let product = full::product(shop).await;
    let plain = shop.any_variant().await;
    let mut full = full_variant(shop, &product).await;
    for variant in [&plain, &full] {
        let (found, foreign) = shop
            .seen("variants.get: reads", async |view| {
                let store = view.variants();
                Ok((
                    store.get(shop.organization.id, variant.id).await?,
                    store.get(neighbour.organization.id, variant.id).await?,
                ))
            })
            .await;
        assert_eq!(
            found.as_ref(),
            Some(variant),
            "variants.get: as it was kept"
        );
        assert_eq!(foreign, None, "variants.get: not another organization's");
    }
    let mut stale = full.clone();
    full.stock.sandbox = Inventory::Untracked;
    full.discount = None;
    full.images.clear();
    full.product_year = None;
    full.updated_at = shop.make.tick();
    shop.done("variants.update: writes", async |uow| {
        uow.variants().update(&mut full).await
    })
    .await;
    let locked = shop
        .done("variants.lock: locks", async |uow| {
            let shared = uow
                .variants()
                .lock_shared(shop.organization.id, full.id)
                .await?;
            let locked = uow.variants().lock(shop.organization.id, full.id).await?;
            assert_eq!(shared, locked, "variants.lock_shared: reads the same");
            let clause = "variants.hold_offer: is what each store has";
            let id = shop.organization.id;
            let product = uow.products().get(id, full.product_id).await?;
            let own = uow.lease_terms().list_with_organization(id).await?;
            let offer = uow.variants().hold_offer(id, full.id, full.product_id);
            let offer = offer.await?.map(|offer| {
                let own = (offer.organization, offer.terms);
                ((offer.variant, offer.product), own)
            });
            assert_eq!(offer, locked.clone().zip(product).zip(own), "{clause}");
            let of_another = shop.make.id();
            let none = uow.variants().hold_offer(id, full.id, of_another).await?;
            assert_eq!(none, None, "{clause}");
            Ok(locked)
        })
        .await;
    assert_eq!(
        locked.as_ref(),
        Some(&full),
        "variants.update: what is stored is what the caller has then, version included"
    );
    let refused = shop
        .run(async |uow| uow.variants().update(&mut stale).await)
        .await;
    must_be_stale(refused, "variants.update: an older version");
    let mut unknown = shop.make.variant(&product).choose("Size", "L").build();
    let refused = shop
        .run(async |uow| uow.variants().update(&mut unknown).await)
        .await;
    must_be_missing(refused, "variants.update: an unknown one");
}

async fn what_is_unique_is_unique_among_live_variants(shop: &Shop<'_>) {
    let neighbour = shop.neighbour().await;
    let elsewhere = neighbour.anything().await;
    let product = shop.anything().await;
    let other = shop.anything().await;
    let insert = async |variant: ProductVariant| {
        shop.run(async |uow| uow.variants().insert(&variant).await)
            .await
    };
    let named = |product: &Product, size: &str| {
        shop.make
            .variant(product)
            .sku("UNIQUE-1")
            .choose("Size", size)
    };
    let mut one = shop.variant(named(&product, "S").external_id("u-1")).await;
    must_conflict(
        insert(named(&other, "S").build()).await,
        UniqueField::Sku,
        "variants.insert: the sku of a live variant of the organization",
    );
    must_conflict(
        insert(shop.make.variant(&other).external_id("u-1").build()).await,
        UniqueField::ExternalId,
        "variants.insert: the external id of a live variant of the organization",
    );
    must_conflict(
        insert(shop.make.variant(&product).choose("Size", "S").build()).await,
        UniqueField::Combination,
        "variants.insert: the combination of a live variant of the product",
    );
    // Another organization may have sku and external id.
    neighbour
        .variant(named(&elsewhere, "S").external_id("u-1"))
        .await;
    must(
        insert(
            shop.make
                .variant(&product)
                .choose("Size", "S")
                .with(|it| it.product_year = Some(2027))
                .build(),
        )
        .await,
        "variants.insert: another model year may have the combination",
    );
    must_conflict(
        insert(
            shop.make
                .variant(&product)
                .choose("Size", "S")
                .with(|it| it.product_year = Some(2027))
                .build(),
        )
        .await,
        UniqueField::Combination,
        "variants.insert: the combination and model year of a live variant",
    );
    let mut medium = shop
        .variant(shop.make.variant(&product).choose("Size", "M"))
        .await;
    for (field, change) in [
        (
            UniqueField::Sku,
            (|it: &mut ProductVariant, one: &ProductVariant| it.sku = one.sku.clone())
                as fn(&mut ProductVariant, &ProductVariant),
        ),
        (UniqueField::ExternalId, |it, one| {
            it.external_id = one.external_id.clone();
        }),
        (UniqueField::Combination, |it, one| {
            it.options = one.options.clone();
        }),
    ] {
        let mut copy = medium.clone();
        change(&mut copy, &one);
        must_conflict(
            shop.run(async |uow| uow.variants().update(&mut copy).await)
                .await,
            field,
            "variants.update: what another live variant has",
        );
    }
    one.status = ProductStatus::Archived;
    shop.done("variants.update: archives", async |uow| {
        uow.variants().update(&mut one).await
    })
    .await;
    medium.sku = one.sku.clone();
    medium.external_id = one.external_id.clone();
    medium.options = one.options.clone();
    shop.done(
        "variants.update: an archived variant frees sku, external id and combination",
        async |uow| uow.variants().update(&mut medium).await,
    )
    .await;
}

async fn many_are_kept_together_or_none(shop: &Shop<'_>) {
    let make = &shop.make;
    let organization = shop.organization.id;
    let product = shop.anything().await;
    let numbered = |number: usize| {
        make.variant(&product)
            .sku(&format!("MANY-{number}"))
            .choose("Size", &format!("size {number}"))
    };
    // More than one statement may hold.
    let many: Vec<ProductVariant> = (0..600).map(|number| numbered(number).build()).collect();
    shop.done("variants.insert_all: keeps them", async |uow| {
        uow.variants().insert_all(&[]).await?;
        uow.variants().insert_all(&many).await
    })
    .await;
    let kept = async || {
        shop.seen("variants.of_products: reads", async |view| {
            view.variants()
                .of_products(organization, &[product.id])
                .await
        })
        .await
    };
    assert_eq!(
        kept().await,
        many,
        "variants.insert_all: all are as they were given"
    );
    for (taken, field) in [
        (numbered(2_000).sku("MANY-1").build(), UniqueField::Sku),
        (
            numbered(7).sku("MANY-2001").build(),
            UniqueField::Combination,
        ),
    ] {
        let some = [numbered(3_000).build(), taken];
        must_conflict(
            shop.run(async |uow| uow.variants().insert_all(&some).await)
                .await,
            field,
            "variants.insert_all: what one of them must not have",
        );
    }
    assert_eq!(
        kept().await.len(),
        many.len(),
        "variants.insert_all: none is kept where one is refused"
    );
}

async fn variants_are_found(shop: &Shop<'_>) {
    let make = &shop.make;
    let organization = shop.organization.id;
    let neighbour = shop.neighbour().await;
    let product = shop.anything().await;
    let archived = |sku: &str| {
        make.variant(&product)
            .sku(sku)
            .external_id("f-1")
            .status(ProductStatus::Archived)
    };
    let old = shop.variant(archived("FOUND-1")).await;
    let find = async |organization| {
        shop.seen("variants.find_by_sku: reads", async |view| {
            let (sku, id) = (full::parsed("FOUND-1"), full::parsed("f-1"));
            let store = view.variants();
            let by_sku = store.find_by_sku(organization, &sku).await?;
            let by_external = store.find_by_external_id(organization, &id).await?;
            Ok((
                by_sku.map(|variant| variant.id),
                by_external.map(|variant| variant.id),
            ))
        })
        .await
    };
    assert_eq!(
        find(organization).await,
        (None, None),
        "variants.find_by_sku, variants.find_by_external_id: no archived one"
    );
    let live = shop
        .variant(make.variant(&product).sku("FOUND-1").external_id("f-1"))
        .await;
    assert_eq!(
        find(organization).await,
        (Some(live.id), Some(live.id)),
        "variants.find_by_sku, find_by_external_id: the live one"
    );
    assert_eq!(
        find(neighbour.organization.id).await,
        (None, None),
        "variants.find_by_sku, find_by_external_id: within the organization"
    );
    let unknown = make.id::<ProductVariantPubId>();
    let selected = async |selection: VariantSelection| {
        shop.seen("variants.with_products: reads", async |view| {
            let found = view
                .variants()
                .with_products(organization, &selection)
                .await?;
            Ok(found)
        })
        .await
    };
    let ids = vec![live.id, unknown, old.id];
    let both = |variant: &ProductVariant| (variant.clone(), product.clone());
    assert_eq!(
        selected(VariantSelection::Ids(ids.clone())).await,
        [both(&live)],
        "variants.with_products: those that there are and that are not archived, with their product"
    );
    assert_eq!(
        selected(VariantSelection::IdsWithArchived(ids)).await,
        [both(&old), both(&live)],
        "variants.with_products: those that there are, archived or not, oldest first"
    );
    let foreign = shop
        .seen("variants.with_products: reads", async |view| {
            let own = VariantSelection::Ids(vec![live.id]);
            view.variants()
                .with_products(neighbour.organization.id, &own)
                .await
        })
        .await;
    assert_eq!(
        foreign,
        [],
        "variants.with_products: within the organization"
    );
}

async fn lists_are_in_order(shop: &Shop<'_>) {
    let make = &shop.make;
    let organization = shop.organization.id;
    let (one, two) = (shop.anything().await, shop.anything().await);
    let mut of_one = Vec::new();
    let mut of_two = Vec::new();
    for size in ["S", "M", "L"] {
        of_two.push(shop.variant(make.variant(&two).choose("Size", size)).await);
        let labelled = make.variant(&one).choose("Size", size).with(|it| {
            it.metadata = metadata(&[("size", size), ("season", "2027")]);
        });
        of_one.push(shop.variant(labelled).await);
    }
    shop.variant(make.variant(&one).status(ProductStatus::Archived))
        .await;
    let mut paged: Vec<ProductVariant> = Vec::new();
    let mut page = first(2);
    loop {
        let part = shop
            .seen("variants.list: reads", async |view| {
                view.variants()
                    .list(organization, one.id, &VariantFilter::default(), page)
                    .await
            })
            .await;
        let Some(last) = part.last() else { break };
        page = after(last.id.as_uuid(), 2);
        paged.extend(part);
    }
    let newest_first: Vec<ProductVariant> = of_one.iter().rev().cloned().collect();
    assert_eq!(
        paged, newest_first,
        "variants.list: the product's that are not archived, newest first, pages neither skip nor repeat"
    );
    let [oldest, middle, newest] = of_one.as_slice() else {
        panic!("the suite made three variants");
    };
    let between = Span::new(Some(oldest.created_at), Some(newest.created_at));
    let since = Span::new(Some(middle.updated_at), None);
    let none = VariantFilter::default;
    for (what, filter, expected) in [
        (
            "when they were made, the bounds left out",
            VariantFilter {
                created: between,
                ..none()
            },
            vec![middle],
        ),
        (
            "when they last changed",
            VariantFilter {
                updated: since,
                ..none()
            },
            vec![newest],
        ),
        (
            "both",
            VariantFilter {
                created: between,
                updated: since,
                ..none()
            },
            vec![],
        ),
        (
            "metadata",
            VariantFilter {
                metadata: metadata(&[("season", "2027"), ("size", "M")]),
                ..none()
            },
            vec![middle],
        ),
    ] {
        let found = shop
            .seen("variants.list: reads", async |view| {
                view.variants()
                    .list(organization, one.id, &filter, first(100))
                    .await
            })
            .await;
        assert_eq!(
            found.iter().collect::<Vec<_>>(),
            expected,
            "variants.list: filtered by {what}"
        );
    }
    let grouped = shop
        .seen("variants.of_products: reads", async |view| {
            view.variants()
                .of_products(organization, &[two.id, one.id])
                .await
        })
        .await;
    let expected = |first: &[ProductVariant], second: &[ProductVariant]| {
        first.iter().chain(second).cloned().collect::<Vec<_>>()
    };
    assert!(
        grouped == expected(&of_one, &of_two) || grouped == expected(&of_two, &of_one),
        "variants.of_products: those that are not archived, product by product, oldest first"
    );
    let of_both = async |most: u32| {
        let products = vec![two.id, one.id];
        let both = VariantSelection::OfProducts { products, most };
        shop.seen("variants.with_products: reads", async |view| {
            view.variants().with_products(organization, &both).await
        })
        .await
    };
    let with_products = of_both(100).await;
    let product_of = |variant: &ProductVariant| match variant.product_id {
        id if id == one.id => one.clone(),
        _ => two.clone(),
    };
    assert_eq!(
        with_products,
        grouped
            .iter()
            .map(|variant| (variant.clone(), product_of(variant)))
            .collect::<Vec<_>>(),
        "variants.with_products: the same, each with its product"
    );
    assert_eq!(
        of_both(4).await,
        with_products.iter().take(4).cloned().collect::<Vec<_>>(),
        "variants.with_products: of products, at most as many as are asked for"
    );
}

async fn stock(shop: &Shop<'_>, id: ProductVariantPubId) -> Stock {
    match shop
        .seen("variants.get: reads", async |view| {
            view.variants().get(shop.organization.id, id).await
        })
        .await
    {
        Some(variant) => variant.stock,
        None => panic!("variants.get: finds what was committed"),
    }
}

async fn stock_is_taken_and_returned(shop: &Shop<'_>) {
    let product = shop.anything().await;
    let mut tracked = shop.variant(shop.make.variant(&product).stock(1)).await;
    let untracked = shop
        .variant(shop.make.variant(&product).choose("Size", "L"))
        .await;
    let take = async |id, mode| {
        shop.run(async |uow| uow.variants().take_stock(id, mode, Quantity::ONE).await)
            .await
    };
    for (id, expected, clause) in [
        (tracked.id, StockTaken::Taken, "takes the last one"),
        (tracked.id, StockTaken::NoneLeft, "finds none left"),
        (untracked.id, StockTaken::Untracked, "never runs out"),
    ] {
        let taken = take(id, Mode::Sandbox).await;
        let taken = must(taken, "variants.take_stock: answers");
        assert_eq!(taken, expected, "variants.take_stock: {clause}");
    }
    assert_eq!(
        stock(shop, tracked.id).await,
        Stock {
            live: Inventory::Tracked(1),
            sandbox: Inventory::Tracked(0),
        },
        "variants.take_stock: takes one of the mode, and none below zero"
    );
    let refused = shop
        .run(async |uow| uow.variants().update(&mut tracked).await)
        .await;
    must_be_stale(
        refused,
        "variants.update: a copy from before stock was taken cannot put it back",
    );
    shop.done("variants.return_stock: puts one back", async |uow| {
        let store = uow.variants();
        store
            .return_stock(tracked.id, Mode::Sandbox, Quantity::ONE)
            .await?;
        store
            .return_stock(untracked.id, Mode::Sandbox, Quantity::ONE)
            .await
    })
    .await;
    assert_eq!(
        (
            stock(shop, tracked.id).await,
            stock(shop, untracked.id).await
        ),
        (
            Stock::both(Inventory::Tracked(1)),
            Stock::both(Inventory::Untracked)
        ),
        "variants.return_stock: puts one back where stock is tracked"
    );
    must_be_missing(
        take(shop.make.id(), Mode::Sandbox).await,
        "variants.take_stock: of an unknown variant",
    );
}

async fn stock_is_counted_by_mode(shop: &Shop<'_>) {
    for (mode, other) in [(Mode::Live, Mode::Sandbox), (Mode::Sandbox, Mode::Live)] {
        let product = shop.anything().await;
        let variant = shop.make.variant(&product).stock(1);
        let mut variant = shop.variant(variant).await;
        // In one mode it is not tracked, in the other it runs out.
        *variant.stock.of_mut(mode) = Inventory::Untracked;
        shop.done("variants.update: writes", async |uow| {
            uow.variants().update(&mut variant).await
        })
        .await;
        let taken = shop
            .done("variants.take_stock: answers", async |uow| {
                let store = uow.variants();
                Ok([
                    store.take_stock(variant.id, mode, Quantity::ONE).await?,
                    store.take_stock(variant.id, other, Quantity::ONE).await?,
                    store.take_stock(variant.id, other, Quantity::ONE).await?,
                    store.take_stock(variant.id, mode, Quantity::ONE).await?,
                ])
            })
            .await;
        assert_eq!(
            taken,
            [
                StockTaken::Untracked,
                StockTaken::Taken,
                StockTaken::NoneLeft,
                StockTaken::Untracked
            ],
            "variants.take_stock: what is taken in {other} mode leaves that of {mode} mode"
        );
        shop.done("variants.return_stock: puts one back", async |uow| {
            uow.variants()
                .return_stock(variant.id, mode, Quantity::ONE)
                .await
        })
        .await;
        let left = stock(shop, variant.id).await;
        assert_eq!(
            (left.of(mode), left.of(other)),
            (Inventory::Untracked, Inventory::Tracked(0)),
            "variants.return_stock: what is put back in {mode} mode is not there in {other} mode"
        );
    }
}

async fn stock_is_promised_once_under_a_race(shop: &Shop<'_>) {
    let product = shop.anything().await;
    let variant = shop.variant(shop.make.variant(&product).stock(3)).await;
    let taken = futures_util::future::join_all((0..8).map(|_| async {
        loop {
            let taken = shop
                .run(async |uow| {
                    uow.variants()
                        .take_stock(variant.id, Mode::Live, Quantity::ONE)
                        .await
                })
                .await;
            match taken {
                Err(StoreError::Contended) => {}
                taken => return must(taken, "variants.take_stock: answers"),
            }
        }
    }))
    .await;
    let promised = taken
        .iter()
        .filter(|taken| **taken == StockTaken::Taken)
        .count();
    assert_eq!(
        (promised, stock(shop, variant.id).await.live),
        (3, Inventory::Tracked(0)),
        "variants.take_stock: under a race as many are promised as there are"
    );
}

fn several(number: u32) -> Quantity {
    match Quantity::new(number) {
        Ok(quantity) => quantity,
        Err(error) => panic!("{number}: {error}"),
    }
}

async fn several_are_taken_together(shop: &Shop<'_>) {
    let product = shop.anything().await;
    let variant = shop.variant(shop.make.variant(&product).stock(5)).await;
    let untracked = shop
        .variant(shop.make.variant(&product).choose("Size", "L"))
        .await;
    let found = shop
        .done("variants.take_stock: answers", async |uow| {
            let store = uow.variants();
            let (mode, most) = (Mode::Sandbox, Quantity::MAX);
            let mut found = Vec::new();
            for number in [3, 3, 2, 1] {
                found.push(store.take_stock(variant.id, mode, several(number)).await?);
            }
            found.push(store.take_stock(untracked.id, mode, most).await?);
            store.return_stock(untracked.id, mode, most).await?;
            Ok(found)
        })
        .await;
    assert_eq!(
        found,
        [
            StockTaken::Taken,
            StockTaken::NoneLeft,
            StockTaken::Taken,
            StockTaken::NoneLeft,
            StockTaken::Untracked,
        ],
        "variants.take_stock: takes so many together, or none of them"
    );
    assert_eq!(
        stock(shop, variant.id).await,
        Stock {
            live: Inventory::Tracked(5),
            sandbox: Inventory::Tracked(0),
        },
        "variants.take_stock: takes as many as were asked for, of the mode"
    );
    shop.done("variants.return_stock: puts back", async |uow| {
        uow.variants()
            .return_stock(variant.id, Mode::Sandbox, several(3))
            .await
    })
    .await;
    assert_eq!(
        stock(shop, variant.id).await.sandbox,
        Inventory::Tracked(3),
        "variants.return_stock: puts so many back"
    );
}

/// Two who want three each of five.
async fn several_are_promised_once_under_a_race(shop: &Shop<'_>) {
    let product = shop.anything().await;
    let variant = shop.variant(shop.make.variant(&product).stock(5)).await;
    let taken = futures_util::future::join_all((0..2).map(|_| async {
        loop {
            let taken = shop
                .run(async |uow| {
                    uow.variants()
                        .take_stock(variant.id, Mode::Live, several(3))
                        .await
                })
                .await;
            match taken {
                Err(StoreError::Contended) => {}
                taken => return must(taken, "variants.take_stock: answers"),
            }
        }
    }))
    .await;
    let promised = taken.iter().filter(|taken| **taken == StockTaken::Taken);
    assert_eq!(
        (promised.count(), stock(shop, variant.id).await.live),
        (1, Inventory::Tracked(2)),
        "variants.take_stock: of two who want three of five, one gets them"
    );
}

async fn variants_are_deleted(shop: &Shop<'_>) {
    let (idle, bought) = (shop.any_variant().await, shop.any_variant().await);
    let leased = shop
        .any_checkout(|checkout| {
            checkout.with(|it| {
                it.purchase_items = vec![PurchaseItem {
                    name: bought.name.clone(),
                    amount: bought.price,
                    quantity: 1,
                    variant_id: Some(bought.id),
                }];
            })
        })
        .await;
    let found = shop
        .seen("variants.has_checkout_items: reads", async |view| {
            let store = view.variants();
            Ok([
                store.has_checkout_items(leased.variant_id).await?,
                store.has_checkout_items(bought.id).await?,
                store.has_checkout_items(idle.id).await?,
            ])
        })
        .await;
    assert_eq!(
        found,
        [true, true, false],
        "variants.has_checkout_items: of a variant that was leased, or bought along, and of no other"
    );
    let found = shop
        .seen("products.has_checkout_items: reads", async |view| {
            let store = view.products();
            Ok([
                store.has_checkout_items(bought.product_id).await?,
                store.has_checkout_items(idle.product_id).await?,
            ])
        })
        .await;
    assert_eq!(
        found,
        [true, false],
        "products.has_checkout_items: of a product that was bought along, and of no other"
    );
    let delete = async || {
        shop.run(async |uow| uow.variants().delete(idle.id).await)
            .await
    };
    must(delete().await, "variants.delete: deletes");
    must_be_missing(delete().await, "variants.delete: what is gone already");
}
