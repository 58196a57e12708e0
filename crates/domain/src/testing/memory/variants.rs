//! Variants and their stock.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::Memory;
use super::paging::{directed, page};
use super::tables::{Owned, check_version, count_up};
use crate::access::Mode;
use crate::catalog::{
    Inventory, Product, ProductStatus, ProductVariant, StockTaken, VariantFilter,
    folded_combination, is_same_combination,
};
use crate::checkout::Checkout;
use crate::ids::{OrganizationId, ProductPubId, ProductVariantPubId};
use crate::ports::{
    LeaseTermStore, Offer, Page, ProductStore, SortOrder, StoreError, UniqueField,
    VariantSelection, VariantStore,
};
use crate::quantity::Quantity;
use crate::text::{ExternalId, Sku};

/// What the checkout leases and what was bought along with it.
pub(super) fn sold_in(checkout: &Checkout) -> impl Iterator<Item = ProductVariantPubId> + '_ {
    let leased = checkout.items.iter().map(|item| item.variant_id);
    let bought = checkout.purchase_items.iter();
    leased.chain(bought.filter_map(|item| item.variant_id))
}

fn is_live(variant: &ProductVariant) -> bool {
    variant.status != ProductStatus::Archived
}

/// Refuses what another live variant has: its sku or external id within the
/// organization, its combination and year within the product.
fn check_unique(state: &Owned, variant: &ProductVariant) -> Result<(), StoreError> {
    if !is_live(variant) {
        return Ok(());
    }
    let others = || {
        state
            .variants
            .values()
            .filter(|other| other.id != variant.id && is_live(other))
    };
    let in_organization =
        || others().filter(|other| other.organization_id == variant.organization_id);
    if in_organization().any(|other| other.sku == variant.sku) {
        return Err(StoreError::Conflict(UniqueField::Sku));
    }
    if variant.external_id.is_some()
        && in_organization().any(|other| other.external_id == variant.external_id)
    {
        return Err(StoreError::Conflict(UniqueField::ExternalId));
    }
    let same = others().any(|other| {
        other.product_id == variant.product_id
            && other.product_year == variant.product_year
            && is_same_combination(&other.options, &variant.options)
    });
    if same {
        return Err(StoreError::Conflict(UniqueField::Combination));
    }
    Ok(())
}

/// What prices, and look-ups of prices, depend on.
fn sold_as(variant: &ProductVariant) -> impl PartialEq {
    let it = variant.clone();
    (
        it.price,
        it.discount,
        it.options,
        it.status,
        it.sku,
        it.external_id,
    )
}

fn find(
    state: &Owned,
    organization: OrganizationId,
    id: ProductVariantPubId,
) -> Option<ProductVariant> {
    state
        .variants
        .get(&id)
        .filter(|variant| variant.organization_id == organization)
        .cloned()
}

/// A combination in one case, each option with its value.
type Folded = Vec<(String, String)>;

/// What live variants have that no other may have: [`check_unique`] for many at once, who would
/// otherwise be compared each with each.
#[derive(Default)]
struct Taken {
    skus: BTreeSet<(OrganizationId, Sku)>,
    external_ids: BTreeSet<(OrganizationId, ExternalId)>,
    combinations: BTreeSet<(ProductPubId, Option<i32>, Folded)>,
}

impl Taken {
    fn take(&mut self, variant: &ProductVariant) -> Result<(), StoreError> {
        let organization = variant.organization_id;
        if !is_live(variant) {
            return Ok(());
        }
        if !self.skus.insert((organization, variant.sku.clone())) {
            return Err(StoreError::Conflict(UniqueField::Sku));
        }
        if let Some(id) = &variant.external_id
            && !self.external_ids.insert((organization, id.clone()))
        {
            return Err(StoreError::Conflict(UniqueField::ExternalId));
        }
        let combination = folded_combination(&variant.options);
        let key = (variant.product_id, variant.product_year, combination);
        if !self.combinations.insert(key) {
            return Err(StoreError::Conflict(UniqueField::Combination));
        }
        Ok(())
    }
}

fn insert(state: &mut Owned, variant: &ProductVariant) -> Result<(), StoreError> {
    if !state.products.contains_key(&variant.product_id) {
        return Err(StoreError::Missing("product"));
    }
    state.reprice();
    state.recatalog();
    state.variants.insert(variant.id, variant.clone());
    Ok(())
}

#[async_trait]
impl VariantStore for Memory {
    async fn insert(&mut self, variant: &ProductVariant) -> Result<(), StoreError> {
        let state = self.change_of(variant.organization_id)?;
        check_unique(state, variant)?;
        insert(state, variant)
    }

    async fn insert_all(&mut self, variants: &[ProductVariant]) -> Result<(), StoreError> {
        let mut taken = Taken::default();
        for known in self.own().variants.values() {
            taken.take(known)?;
        }
        for variant in variants {
            taken.take(variant)?;
            insert(self.change_of(variant.organization_id)?, variant)?;
        }
        Ok(())
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        Ok(find(&self.own(), organization, id))
    }

    async fn find_by_sku(
        &mut self,
        organization: OrganizationId,
        sku: &Sku,
    ) -> Result<Option<ProductVariant>, StoreError> {
        let state = self.own();
        Ok(state
            .variants
            .values()
            .find(|variant| {
                variant.organization_id == organization && variant.sku == *sku && is_live(variant)
            })
            .cloned())
    }

    async fn find_by_external_id(
        &mut self,
        organization: OrganizationId,
        id: &ExternalId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        let state = self.own();
        Ok(state
            .variants
            .values()
            .find(|variant| {
                variant.organization_id == organization
                    && is_live(variant)
                    && variant.external_id.as_ref() == Some(id)
            })
            .cloned())
    }

    async fn with_products(
        &mut self,
        organization: OrganizationId,
        selected: &VariantSelection,
    ) -> Result<Vec<(ProductVariant, Product)>, StoreError> {
        let state = self.own();
        let mut found = state
            .variants
            .values()
            .filter(|variant| variant.organization_id == organization)
            .filter(|variant| match selected {
                VariantSelection::Ids(ids) => is_live(variant) && ids.contains(&variant.id),
                VariantSelection::IdsWithArchived(ids) => ids.contains(&variant.id),
                VariantSelection::OfProducts { products, .. } => {
                    is_live(variant) && products.contains(&variant.product_id)
                }
            })
            .map(|variant| {
                let product = state.products.get(&variant.product_id);
                let product = product.ok_or(StoreError::Missing("product"))?;
                Ok((variant.clone(), product.clone()))
            })
            .collect::<Result<Vec<_>, StoreError>>()?;
        found.sort_by_key(|(variant, _)| (variant.product_id, variant.created_at, variant.id));
        if let VariantSelection::OfProducts { most, .. } = selected {
            found.truncate(usize::try_from(*most).unwrap_or(usize::MAX));
        }
        Ok(found)
    }

    async fn of_products(
        &mut self,
        organization: OrganizationId,
        products: &[ProductPubId],
    ) -> Result<Vec<ProductVariant>, StoreError> {
        let mut variants: Vec<_> = self
            .own()
            .variants
            .values()
            .filter(|variant| {
                variant.organization_id == organization
                    && is_live(variant)
                    && products.contains(&variant.product_id)
            })
            .cloned()
            .collect();
        variants.sort_by_key(|variant| (variant.product_id, variant.created_at, variant.id));
        Ok(variants)
    }

    async fn of_product(
        &mut self,
        organization: OrganizationId,
        product: ProductPubId,
    ) -> Result<Vec<ProductVariant>, StoreError> {
        let state = self.own();
        let mut variants: Vec<_> = state
            .variants
            .values()
            .filter(|variant| {
                variant.organization_id == organization && variant.product_id == product
            })
            .cloned()
            .collect();
        variants.sort_by_key(|variant| (variant.created_at, variant.id));
        Ok(variants)
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        product: ProductPubId,
        filter: &VariantFilter,
        wanted: Page,
    ) -> Result<Vec<ProductVariant>, StoreError> {
        let key = |variant: &ProductVariant| (variant.created_at, variant.id.as_uuid());
        Ok(page(
            self.own().variants.values().cloned(),
            |variant| variant.id.as_uuid(),
            |variant| {
                variant.organization_id == organization
                    && variant.product_id == product
                    && filter.shows(variant)
            },
            |a, b| directed(&key(a), &key(b), SortOrder::Descending),
            wanted,
        ))
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        Ok(find(&*self.lock_own()?, organization, id))
    }

    async fn lock_shared(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        Ok(find(&*self.lock_own()?, organization, id))
    }

    async fn hold_offer(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
        product: ProductPubId,
    ) -> Result<Option<Offer>, StoreError> {
        let product = ProductStore::lock_shared(self, organization, product).await?;
        let variant = VariantStore::lock_shared(self, organization, id).await?;
        let own = LeaseTermStore::list_with_organization(self, organization).await?;
        let both = product.zip(variant);
        let both = both.filter(|(product, variant)| variant.product_id == product.id);
        let offer = |((product, variant), (organization, terms))| Offer {
            variant,
            product,
            organization,
            terms,
        };
        Ok(both.zip(own).map(offer))
    }

    async fn update(&mut self, variant: &mut ProductVariant) -> Result<(), StoreError> {
        let state = self.change_own()?;
        let stored = state.variants.get(&variant.id);
        check_version(stored, variant)?;
        let reprices = stored.is_some_and(|stored| sold_as(stored) != sold_as(variant));
        let found_by = |it: &ProductVariant| (it.sku.clone(), it.status);
        let is_found_anew = stored.is_some_and(|stored| found_by(stored) != found_by(variant));
        check_unique(state, variant)?;
        if is_found_anew {
            state.recatalog();
        }
        if reprices {
            state.reprice();
        }
        count_up(variant);
        state.variants.insert(variant.id, variant.clone());
        Ok(())
    }

    async fn delete(&mut self, id: ProductVariantPubId) -> Result<(), StoreError> {
        let state = self.change_own()?;
        state
            .variants
            .remove(&id)
            .ok_or(StoreError::Missing("variant"))?;
        state.reprice();
        state.recatalog();
        Ok(())
    }

    async fn has_checkout_items(&mut self, id: ProductVariantPubId) -> Result<bool, StoreError> {
        let state = self.own();
        Ok(state
            .checkouts
            .values()
            .any(|row| sold_in(&row.checkout).any(|sold| sold == id)))
    }

    async fn take_stock(
        &mut self,
        id: ProductVariantPubId,
        mode: Mode,
        wanted: Quantity,
    ) -> Result<StockTaken, StoreError> {
        let variant = self
            .change_own()?
            .variants
            .get_mut(&id)
            .ok_or(StoreError::Missing("variant"))?;
        match variant.stock.of(mode) {
            Inventory::Untracked => Ok(StockTaken::Untracked),
            Inventory::Tracked(quantity) => match quantity.checked_sub(wanted.get()) {
                None => Ok(StockTaken::NoneLeft),
                Some(left) => {
                    *variant.stock.of_mut(mode) = Inventory::Tracked(left);
                    count_up(variant);
                    Ok(StockTaken::Taken)
                }
            },
        }
    }

    async fn return_stock(
        &mut self,
        id: ProductVariantPubId,
        mode: Mode,
        returned: Quantity,
    ) -> Result<(), StoreError> {
        let variant = self
            .change_own()?
            .variants
            .get_mut(&id)
            .ok_or(StoreError::Missing("variant"))?;
        if let Inventory::Tracked(quantity) = variant.stock.of(mode) {
            let free = quantity.saturating_add(returned.get());
            *variant.stock.of_mut(mode) = Inventory::Tracked(free);
            count_up(variant);
        }
        Ok(())
    }
}
