//! Products.

use std::cmp::Ordering;

use async_trait::async_trait;

use super::Memory;
use super::paging::{directed, page};
use super::tables::{Owned, check_version, count_up};
use super::variants::sold_in;
use crate::catalog::{Product, ProductStatus};
use crate::ids::{OrganizationId, ProductPubId};
use crate::ports::{
    Page, ProductFilter, ProductPage, ProductSort, ProductStore, Reach, SortOrder, StoreError,
    UniqueField,
};
use crate::text::SearchTerm;

/// Refuses an external id that another of the organization's live products has.
fn check_unique(state: &Owned, product: &Product) -> Result<(), StoreError> {
    let live = |product: &Product| product.status != ProductStatus::Archived;
    let taken = live(product)
        && product.external_id.is_some()
        && state.products.values().any(|other| {
            other.id != product.id
                && live(other)
                && other.organization_id == product.organization_id
                && other.external_id == product.external_id
        });
    if taken {
        Err(StoreError::Conflict(UniqueField::ExternalId))
    } else {
        Ok(())
    }
}

fn one_of<T: PartialEq>(wanted: &[T], value: Option<&T>) -> bool {
    wanted.is_empty() || value.is_some_and(|value| wanted.contains(value))
}

/// Whether the term is in the product's own texts or in a live variant's.
fn is_found(state: &Owned, term: &SearchTerm, product: &Product) -> bool {
    let term = term.folded();
    product.searchable().contains(&term)
        || state.variants.values().any(|variant| {
            variant.product_id == product.id
                && variant.status != ProductStatus::Archived
                && variant.searchable().contains(&term)
        })
}

fn shows(state: &Owned, filter: &ProductFilter, product: &Product) -> bool {
    let status = if filter.statuses.is_empty() {
        product.status != ProductStatus::Archived
    } else {
        filter.statuses.contains(&product.status)
    };
    status
        && one_of(&filter.types, Some(&product.product_type))
        && filter
            .is_waitlisted
            .is_none_or(|wanted| wanted == product.is_waitlisted)
        && one_of(&filter.external_ids, product.external_id.as_ref())
        && one_of(&filter.categories, product.category_id.as_ref())
        && one_of(&filter.skus, product.sku.as_ref())
        && filter.created.holds(product.created_at)
        && filter.updated.holds(product.updated_at)
        && product.metadata.has_all(&filter.metadata)
        && filter
            .search
            .as_ref()
            .is_none_or(|term| is_found(state, term, product))
}

fn compare(a: &Product, b: &Product, sort: ProductSort, order: SortOrder) -> Ordering {
    let (a_id, b_id) = (a.id.as_uuid(), b.id.as_uuid());
    match sort {
        ProductSort::CreatedAt => directed(&(a.created_at, a_id), &(b.created_at, b_id), order),
        ProductSort::UpdatedAt => directed(&(a.updated_at, a_id), &(b.updated_at, b_id), order),
        ProductSort::Name => directed(&(&a.name, a_id), &(&b.name, b_id), order),
    }
}

fn find(state: &Owned, organization: OrganizationId, id: ProductPubId) -> Option<Product> {
    state
        .products
        .get(&id)
        .filter(|product| product.organization_id == organization)
        .cloned()
}

#[async_trait]
impl ProductStore for Memory {
    async fn insert(&mut self, product: &Product) -> Result<(), StoreError> {
        let state = self.change_of(product.organization_id)?;
        check_unique(state, product)?;
        state.recatalog();
        state.products.insert(product.id, product.clone());
        Ok(())
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError> {
        Ok(find(&self.own(), organization, id))
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        sort: ProductSort,
        order: SortOrder,
        wanted: Page,
    ) -> Result<Vec<Product>, StoreError> {
        let state = self.own();
        let own = state
            .products
            .values()
            .filter(|product| product.organization_id == organization);
        let products = page(
            own,
            |product| product.id.as_uuid(),
            |product| shows(&state, filter, product),
            |a, b| compare(a, b, sort, order),
            wanted,
        );
        Ok(products.into_iter().cloned().collect())
    }

    async fn list_with_revision(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        sort: ProductSort,
        order: SortOrder,
        wanted: Page,
    ) -> Result<ProductPage, StoreError> {
        let revision = self.revision(organization).await?;
        let products = ProductStore::list(self, organization, filter, sort, order, wanted).await?;
        Ok(ProductPage { products, revision })
    }

    async fn revision(&mut self, organization: OrganizationId) -> Result<i64, StoreError> {
        Ok(match self.reach {
            Reach::Organization(id) if id == organization => self.own().catalog_revision,
            Reach::Organization(_) | Reach::Server => 0,
        })
    }

    async fn count(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        let state = self.own();
        let shown = state.products.values().filter(|product| {
            product.organization_id == organization && shows(&state, filter, product)
        });
        Ok(u64::try_from(shown.count()).unwrap_or(u64::MAX).min(most))
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError> {
        Ok(find(&*self.lock_own()?, organization, id))
    }

    async fn lock_shared(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError> {
        Ok(find(&*self.lock_own()?, organization, id))
    }

    async fn update(&mut self, product: &mut Product) -> Result<(), StoreError> {
        let state = self.change_own()?;
        let stored = state.products.get(&product.id);
        check_version(stored, product)?;
        let reprices = stored.is_some_and(|stored| {
            let sold_as = |it: &Product| (it.discount, it.status, it.review.status);
            sold_as(stored) != sold_as(product)
        });
        check_unique(state, product)?;
        if reprices {
            state.reprice();
        }
        state.recatalog();
        count_up(product);
        state.products.insert(product.id, product.clone());
        Ok(())
    }

    async fn delete(&mut self, id: ProductPubId) -> Result<(), StoreError> {
        let state = self.change_own()?;
        state
            .products
            .remove(&id)
            .ok_or(StoreError::Missing("product"))?;
        state.reprice();
        state.recatalog();
        state.variants.retain(|_, variant| variant.product_id != id);
        state
            .lease_terms
            .retain(|_, term| term.product_id != Some(id));
        Ok(())
    }

    async fn has_checkout_items(&mut self, id: ProductPubId) -> Result<bool, StoreError> {
        let state = self.own();
        let of_product = |variant| {
            state
                .variants
                .get(&variant)
                .is_some_and(|variant| variant.product_id == id)
        };
        Ok(state
            .checkouts
            .values()
            .any(|row| sold_in(&row.checkout).any(of_product)))
    }
}
