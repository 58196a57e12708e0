//! The store of products, of a unit of work that tells.

use async_trait::async_trait;

use crate::catalog::Product;
use crate::ids::{OrganizationId, ProductPubId};
use crate::ports::{
    Page, ProductFilter, ProductPage, ProductSort, ProductStore, SortOrder, StoreError,
};
use crate::services::events::work::TellingWork;

#[async_trait]
impl ProductStore for TellingWork {
    async fn insert(&mut self, product: &Product) -> Result<(), StoreError> {
        self.inner.products().insert(product).await?;
        self.seen
            .write_product(product.id, None, Some(product.clone()));
        Ok(())
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError> {
        let found = self.inner.products().get(organization, id).await?;
        if let Some(found) = &found {
            self.seen.products.note(found.id, found);
        }
        Ok(found)
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        sort: ProductSort,
        order: SortOrder,
        page: Page,
    ) -> Result<Vec<Product>, StoreError> {
        self.inner
            .products()
            .list(organization, filter, sort, order, page)
            .await
    }

    async fn list_with_revision(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        sort: ProductSort,
        order: SortOrder,
        page: Page,
    ) -> Result<ProductPage, StoreError> {
        self.inner
            .products()
            .list_with_revision(organization, filter, sort, order, page)
            .await
    }

    async fn revision(&mut self, organization: OrganizationId) -> Result<i64, StoreError> {
        self.inner.products().revision(organization).await
    }

    async fn count(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        self.inner
            .products()
            .count(organization, filter, most)
            .await
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError> {
        let found = self.inner.products().lock(organization, id).await?;
        if let Some(found) = &found {
            self.seen.products.note(found.id, found);
        }
        Ok(found)
    }

    async fn lock_shared(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError> {
        let found = self.inner.products().lock_shared(organization, id).await?;
        if let Some(found) = &found {
            self.seen.products.note(found.id, found);
        }
        Ok(found)
    }

    async fn update(&mut self, product: &mut Product) -> Result<(), StoreError> {
        let before = match self.seen.products.take(product.id, product.version) {
            Some(before) => Some(before),
            None if self.seen.products.is_written(product.id) => None,
            None => {
                self.inner
                    .products()
                    .get(product.organization_id, product.id)
                    .await?
            }
        };
        self.inner.products().update(product).await?;
        self.seen
            .write_product(product.id, before, Some(product.clone()));
        Ok(())
    }

    async fn delete(&mut self, id: ProductPubId) -> Result<(), StoreError> {
        let Some(organization) = self.organization else {
            return self.inner.products().delete(id).await;
        };
        // What is of the product goes with it.
        let product = self.inner.products().get(organization, id).await?;
        let variants = self.inner.variants().of_product(organization, id).await?;
        let terms = self.inner.lease_terms().list(organization).await?;
        self.inner.products().delete(id).await?;
        for variant in variants {
            self.seen.write_variant(variant.id, Some(variant), None);
        }
        for term in terms.into_iter().filter(|term| term.product_id == Some(id)) {
            self.seen.write_term(term.id, Some(term), None);
        }
        self.seen.write_product(id, product, None);
        Ok(())
    }

    async fn has_checkout_items(&mut self, id: ProductPubId) -> Result<bool, StoreError> {
        self.inner.products().has_checkout_items(id).await
    }
}
