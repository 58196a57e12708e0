//! The store of variants, of a unit of work that tells.

use async_trait::async_trait;

use crate::access::Mode;
use crate::catalog::{Product, ProductVariant, StockTaken, VariantFilter};
use crate::ids::{OrganizationId, ProductPubId, ProductVariantPubId};
use crate::ports::{Offer, Page, StoreError, VariantSelection, VariantStore};
use crate::quantity::Quantity;
use crate::services::events::work::TellingWork;
use crate::text::{ExternalId, Sku};

#[async_trait]
impl VariantStore for TellingWork {
    async fn insert(&mut self, variant: &ProductVariant) -> Result<(), StoreError> {
        self.inner.variants().insert(variant).await?;
        self.seen
            .write_variant(variant.id, None, Some(variant.clone()));
        Ok(())
    }

    async fn insert_all(&mut self, variants: &[ProductVariant]) -> Result<(), StoreError> {
        self.inner.variants().insert_all(variants).await?;
        for variant in variants {
            self.seen
                .write_variant(variant.id, None, Some(variant.clone()));
        }
        Ok(())
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        let found = self.inner.variants().get(organization, id).await?;
        if let Some(found) = &found {
            self.seen.variants.note(found.id, found);
        }
        Ok(found)
    }

    async fn find_by_sku(
        &mut self,
        organization: OrganizationId,
        sku: &Sku,
    ) -> Result<Option<ProductVariant>, StoreError> {
        self.inner.variants().find_by_sku(organization, sku).await
    }

    async fn find_by_external_id(
        &mut self,
        organization: OrganizationId,
        id: &ExternalId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        self.inner
            .variants()
            .find_by_external_id(organization, id)
            .await
    }

    async fn with_products(
        &mut self,
        organization: OrganizationId,
        selected: &VariantSelection,
    ) -> Result<Vec<(ProductVariant, Product)>, StoreError> {
        if let VariantSelection::IdsWithArchived(ids) = selected
            && let Some(known) = self.seen.leased(ids)
        {
            self.seen.read_leased(&known);
            return Ok(known);
        }
        let found = self
            .inner
            .variants()
            .with_products(organization, selected)
            .await?;
        if matches!(selected, VariantSelection::IdsWithArchived(_)) {
            self.seen.read_leased(&found);
        }
        Ok(found)
    }

    async fn of_products(
        &mut self,
        organization: OrganizationId,
        products: &[ProductPubId],
    ) -> Result<Vec<ProductVariant>, StoreError> {
        self.inner
            .variants()
            .of_products(organization, products)
            .await
    }

    async fn of_product(
        &mut self,
        organization: OrganizationId,
        product: ProductPubId,
    ) -> Result<Vec<ProductVariant>, StoreError> {
        self.inner
            .variants()
            .of_product(organization, product)
            .await
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        product: ProductPubId,
        filter: &VariantFilter,
        page: Page,
    ) -> Result<Vec<ProductVariant>, StoreError> {
        self.inner
            .variants()
            .list(organization, product, filter, page)
            .await
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        let found = self.inner.variants().lock(organization, id).await?;
        if let Some(found) = &found {
            self.seen.variants.note(found.id, found);
        }
        Ok(found)
    }

    async fn lock_shared(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        let found = self.inner.variants().lock_shared(organization, id).await?;
        if let Some(found) = &found {
            self.seen.variants.note(found.id, found);
        }
        Ok(found)
    }

    async fn hold_offer(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
        product: ProductPubId,
    ) -> Result<Option<Offer>, StoreError> {
        let variants = self.inner.variants();
        let found = variants.hold_offer(organization, id, product).await?;
        if let Some(offer) = &found {
            self.seen.variants.note(offer.variant.id, &offer.variant);
            self.seen.products.note(offer.product.id, &offer.product);
            self.note_organization(Some(&offer.organization));
            self.seen.read_terms(&offer.organization, &offer.terms);
        }
        Ok(found)
    }

    async fn update(&mut self, variant: &mut ProductVariant) -> Result<(), StoreError> {
        let before = match self.seen.variants.take(variant.id, variant.version) {
            Some(before) => Some(before),
            None if self.seen.variants.is_written(variant.id) => None,
            None => {
                self.inner
                    .variants()
                    .get(variant.organization_id, variant.id)
                    .await?
            }
        };
        self.inner.variants().update(variant).await?;
        self.seen
            .write_variant(variant.id, before, Some(variant.clone()));
        Ok(())
    }

    async fn delete(&mut self, id: ProductVariantPubId) -> Result<(), StoreError> {
        let before = match self.organization {
            Some(organization) => self.inner.variants().get(organization, id).await?,
            None => None,
        };
        self.inner.variants().delete(id).await?;
        self.seen.write_variant(id, before, None);
        Ok(())
    }

    async fn has_checkout_items(&mut self, id: ProductVariantPubId) -> Result<bool, StoreError> {
        self.inner.variants().has_checkout_items(id).await
    }

    async fn take_stock(
        &mut self,
        id: ProductVariantPubId,
        mode: Mode,
        quantity: Quantity,
    ) -> Result<StockTaken, StoreError> {
        let taken = self.inner.variants().take_stock(id, mode, quantity).await?;
        if taken == StockTaken::Taken {
            let units = i64::from(quantity.get());
            self.seen.move_stock(id, mode, units.saturating_neg());
        }
        Ok(taken)
    }

    async fn return_stock(
        &mut self,
        id: ProductVariantPubId,
        mode: Mode,
        quantity: Quantity,
    ) -> Result<(), StoreError> {
        self.inner
            .variants()
            .return_stock(id, mode, quantity)
            .await?;
        self.seen.move_stock(id, mode, i64::from(quantity.get()));
        Ok(())
    }
}
