//! The statements about what an organization leases, and where and for how long.

use super::Inquiry;
use crate::access::Mode;
use crate::catalog::{Product, VariantFilter};
use crate::ids::IdRef;
use crate::ports::{
    NewCategory, NewPickupLocation, ProductFilter, ProductSort, SortOrder, VariantSelection,
};
use crate::quantity::Quantity;
use crate::testing::contract::full::parsed;
use crate::testing::contract::shop::first;

pub(super) async fn ask(inquiry: &mut Inquiry<'_, '_>) {
    pricing_revisions(inquiry).await;
    pickup_locations(inquiry).await;
    categories(inquiry).await;
    products(inquiry).await;
    variants(inquiry).await;
    variants_in_stock(inquiry).await;
    lease_terms(inquiry).await;
}

async fn pricing_revisions(inquiry: &mut Inquiry<'_, '_>) {
    let id = inquiry.estate.shop.organization.id;
    inquiry
        .sees("organizations.pricing_revision", async |uow| {
            uow.organizations().pricing_revision(id).await
        })
        .await;
}

async fn pickup_locations(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let id = estate.shop.organization.id;
    let new = NewPickupLocation {
        organization_id: id,
        name: parsed("Stray"),
        address: estate.shop.make.address(),
    };
    inquiry
        .keeps("pickup_locations.insert", async |uow| {
            uow.pickup_locations().insert(&new).await
        })
        .await;
    inquiry
        .sees("pickup_locations.get", async |uow| {
            uow.pickup_locations().get(id, estate.pickup.id).await
        })
        .await;
    inquiry
        .sees("pickup_locations.list", async |uow| {
            uow.pickup_locations().list(id).await
        })
        .await;
    let mut changed = estate.pickup.clone();
    changed.active = false;
    for owner in [None, inquiry.thief()] {
        changed.organization_id = owner.unwrap_or(id);
        inquiry
            .changes("pickup_locations.update", async |uow| {
                uow.pickup_locations().update(&changed).await
            })
            .await;
    }
}

async fn categories(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let id = estate.shop.organization.id;
    let new = NewCategory {
        id: estate.shop.make.id(),
        organization_id: id,
        name: parsed("Stray"),
        created_at: estate.shop.make.tick(),
    };
    inquiry
        .keeps("categories.insert", async |uow| {
            uow.categories().insert(&new).await
        })
        .await;
    for category in [
        IdRef::Public(estate.category.id),
        IdRef::Number(estate.category.category_id),
    ] {
        inquiry
            .sees("categories.find", async |uow| {
                uow.categories().find(id, category).await
            })
            .await;
    }
    inquiry
        .sees("categories.list", async |uow| {
            uow.categories().list(id, first(9)).await
        })
        .await;
    inquiry
        .sees("categories.count", async |uow| {
            uow.categories().count(id).await
        })
        .await;
}

async fn products(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let id = estate.shop.organization.id;
    let product = estate.product.id;
    let new = estate.shop.make.product(&estate.shop.organization).build();
    inquiry
        .keeps("products.insert", async |uow| {
            uow.products().insert(&new).await
        })
        .await;
    inquiry
        .sees("products.get", async |uow| {
            uow.products().get(id, product).await
        })
        .await;
    let filter = ProductFilter::default();
    let (sort, order) = (ProductSort::CreatedAt, SortOrder::Ascending);
    inquiry
        .sees("products.list", async |uow| {
            let products = uow.products();
            products.list(id, &filter, sort, order, first(9)).await
        })
        .await;
    inquiry
        .sees("products.list_with_revision", async |uow| {
            let products = uow.products();
            let page = products.list_with_revision(id, &filter, sort, order, first(9));
            page.await
        })
        .await;
    inquiry
        .sees("products.revision", async |uow| {
            uow.products().revision(id).await
        })
        .await;
    inquiry
        .sees("products.count", async |uow| {
            uow.products().count(id, &filter, u64::MAX).await
        })
        .await;
    inquiry
        .sees("products.lock", async |uow| {
            uow.products().lock(id, product).await
        })
        .await;
    inquiry
        .sees("products.lock_shared", async |uow| {
            uow.products().lock_shared(id, product).await
        })
        .await;
    for owner in [None, inquiry.thief()] {
        let mut changed = estate.product.clone();
        changed.name = parsed("Changed");
        changed.organization_id = owner.unwrap_or(id);
        inquiry
            .changes("products.update", async |uow| {
                uow.products().update(&mut changed).await
            })
            .await;
    }
    inquiry
        .changes("products.delete", async |uow| {
            uow.products().delete(estate.idle_variant.product_id).await
        })
        .await;
    inquiry
        .sees("products.has_checkout_items", async |uow| {
            uow.products().has_checkout_items(product).await
        })
        .await;
}

async fn variants(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let id = estate.shop.organization.id;
    let (product, variant) = (&estate.product, &estate.variant);
    let new = |product: &Product| {
        estate
            .shop
            .make
            .variant(product)
            .choose("Size", "L")
            .build()
    };
    // In the owner's name, and of the owner's product in one's own.
    for owner in [None, inquiry.thief()] {
        let new = new(&Product {
            organization_id: owner.unwrap_or(id),
            ..product.clone()
        });
        inquiry
            .keeps("variants.insert", async |uow| {
                uow.variants().insert(&new).await
            })
            .await;
        inquiry
            .keeps("variants.insert_all", async |uow| {
                uow.variants().insert_all(std::slice::from_ref(&new)).await
            })
            .await;
    }
    inquiry
        .sees("variants.get", async |uow| {
            uow.variants().get(id, variant.id).await
        })
        .await;
    inquiry
        .sees("variants.find_by_sku", async |uow| {
            uow.variants().find_by_sku(id, &variant.sku).await
        })
        .await;
    let external_id = parsed("estate");
    inquiry
        .sees("variants.find_by_external_id", async |uow| {
            uow.variants().find_by_external_id(id, &external_id).await
        })
        .await;
    for selected in [
        VariantSelection::Ids(vec![variant.id]),
        VariantSelection::IdsWithArchived(vec![variant.id]),
        VariantSelection::OfProducts {
            products: vec![product.id],
            most: 9,
        },
    ] {
        inquiry
            .sees("variants.with_products", async |uow| {
                uow.variants().with_products(id, &selected).await
            })
            .await;
    }
    inquiry
        .sees("variants.of_products", async |uow| {
            uow.variants().of_products(id, &[product.id]).await
        })
        .await;
    inquiry
        .sees("variants.of_product", async |uow| {
            uow.variants().of_product(id, product.id).await
        })
        .await;
    let filter = VariantFilter::default();
    inquiry
        .sees("variants.list", async |uow| {
            let variants = uow.variants();
            variants.list(id, product.id, &filter, first(9)).await
        })
        .await;
}

async fn variants_in_stock(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let id = estate.shop.organization.id;
    let variant = estate.variant.id;
    inquiry
        .sees("variants.lock", async |uow| {
            uow.variants().lock(id, variant).await
        })
        .await;
    inquiry
        .sees("variants.lock_shared", async |uow| {
            uow.variants().lock_shared(id, variant).await
        })
        .await;
    let product = estate.variant.product_id;
    inquiry
        .sees("variants.hold_offer", async |uow| {
            let offer = uow.variants().hold_offer(id, variant, product).await?;
            Ok(offer.map(|offer| offer.variant))
        })
        .await;
    for owner in [None, inquiry.thief()] {
        let mut changed = estate.variant.clone();
        changed.name = parsed("Changed");
        changed.organization_id = owner.unwrap_or(id);
        inquiry
            .changes("variants.update", async |uow| {
                uow.variants().update(&mut changed).await
            })
            .await;
    }
    inquiry
        .changes("variants.delete", async |uow| {
            uow.variants().delete(estate.idle_variant.id).await
        })
        .await;
    inquiry
        .sees("variants.has_checkout_items", async |uow| {
            uow.variants().has_checkout_items(variant).await
        })
        .await;
    inquiry
        .changes("variants.take_stock", async |uow| {
            uow.variants()
                .take_stock(variant, Mode::Sandbox, Quantity::ONE)
                .await
        })
        .await;
    inquiry
        .changes("variants.return_stock", async |uow| {
            uow.variants()
                .return_stock(variant, Mode::Sandbox, Quantity::ONE)
                .await
        })
        .await;
}

async fn lease_terms(inquiry: &mut Inquiry<'_, '_>) {
    let estate = inquiry.estate;
    let id = estate.shop.organization.id;
    let new = estate.shop.make.lease_term(&estate.shop.organization);
    let new = new.months(99).new_record();
    inquiry
        .keeps("lease_terms.insert", async |uow| {
            uow.lease_terms().insert(&new).await
        })
        .await;
    for term in [
        IdRef::Public(estate.term.id),
        IdRef::Number(estate.term.lease_term_id),
    ] {
        inquiry
            .sees("lease_terms.find", async |uow| {
                uow.lease_terms().find(id, term).await
            })
            .await;
    }
    inquiry
        .sees("lease_terms.list", async |uow| {
            uow.lease_terms().list(id).await
        })
        .await;
    inquiry
        .sees("lease_terms.list_with_organization", async |uow| {
            let found = uow.lease_terms().list_with_organization(id).await?;
            // The organization itself is nobody's.
            Ok(found.map(|(_, terms)| terms).unwrap_or_default())
        })
        .await;
    inquiry
        .sees("lease_terms.lock", async |uow| {
            uow.lease_terms().lock(id, estate.term.id).await
        })
        .await;
    for owner in [None, inquiry.thief()] {
        let mut changed = estate.term.clone();
        changed.updated_at = estate.shop.make.tick();
        changed.organization_id = owner.unwrap_or(id);
        inquiry
            .changes("lease_terms.update", async |uow| {
                uow.lease_terms().update(&mut changed).await
            })
            .await;
    }
    inquiry
        .changes("lease_terms.delete", async |uow| {
            uow.lease_terms().delete(estate.idle_term.id).await
        })
        .await;
}
