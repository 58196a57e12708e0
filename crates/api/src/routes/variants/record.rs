//! Variants as answers have them.

use std::collections::BTreeMap;

use lessor_domain::access::{Access, Mode};
use lessor_domain::catalog;
use lessor_domain::ids::OrganizationPubId;
use lessor_domain::services::pricing::PricedVariant;
use serde::Serialize;
use utoipa::ToSchema;

use super::prices::{PricingEntry, entries};
use crate::wire::{
    self, BulkError, DateTimeText, DecimalString, MoneyText, OrganizationId, ProductId,
    ProductStatus, VariantId,
};

/// What became of the updates of several variants.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BulkUpdatedProductVariants {
    /// How many were made.
    succeeded: usize,
    /// How many were not.
    failed: usize,
    /// The variants that were updated, in order.
    results: Vec<ProductVariantRecord>,
    /// Why the others were not, in order.
    errors: Vec<BulkError>,
}

impl From<(Vec<ProductVariantRecord>, Vec<BulkError>)> for BulkUpdatedProductVariants {
    fn from((results, errors): (Vec<ProductVariantRecord>, Vec<BulkError>)) -> Self {
        Self {
            succeeded: results.len(),
            failed: errors.len(),
            results,
            errors,
        }
    }
}

/// What a variant chooses of one option.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OptionSelection {
    /// The option's name.
    #[schema(example = "Size")]
    name: String,
    /// The value.
    #[schema(example = "M")]
    value: String,
}

/// A product variant.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProductVariant)]
pub struct ProductVariantRecord {
    /// Its public id.
    id: VariantId,
    /// What it is called.
    name: String,
    /// What it is.
    description: String,
    /// What it chose of each option.
    options: Vec<OptionSelection>,
    /// Its price, the list price of its leases.
    price: MoneyText,
    /// Addresses of images.
    product_images: Vec<String>,
    /// Its stock keeping unit.
    sku: String,
    /// Whether it is offered.
    status: ProductStatus,
    /// Whether new checkouts wait.
    is_waitlisted: bool,
    /// Its id at the payment processor.
    processor_id: String,
    /// When it was made.
    created_at: DateTimeText,
    /// When it last changed.
    updated_at: DateTimeText,
    /// What the organization keeps beside it, if anything.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    /// The public id of the organization that it is of. In answers to create, read and delete.
    #[serde(skip_serializing_if = "Option::is_none")]
    organization_id: Option<OrganizationId>,
    /// Its product. In answers to create, read, delete and the bulk read.
    #[serde(skip_serializing_if = "Option::is_none")]
    product_id: Option<ProductId>,
    /// Its prices by months. In answers to the bulk reads and the list of a product's variants.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, PricingEntry>>)]
    pricing: Option<BTreeMap<u16, PricingEntry>>,
    /// Its discount in percent; absent: the product's.
    #[serde(skip_serializing_if = "Option::is_none")]
    discount_percentage: Option<DecimalString>,
    /// The caller's own id of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<String>,
    /// How many are free to promise in the key's mode; absent: they are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    inventory_quantity: Option<u32>,
    /// Its model year.
    #[serde(skip_serializing_if = "Option::is_none")]
    product_year: Option<i32>,
}

impl ProductVariantRecord {
    /// The variant without what only some answers have, with the stock of the mode.
    #[must_use]
    pub fn new(variant: &catalog::ProductVariant, mode: Mode) -> Self {
        let selection = |selection: &catalog::OptionSelection| OptionSelection {
            name: selection.name.to_string(),
            value: selection.value.to_string(),
        };
        Self {
            id: variant.id.into(),
            name: variant.name.to_string(),
            description: variant.description.to_string(),
            options: variant.options.iter().map(selection).collect(),
            price: variant.price.into(),
            product_images: variant.images.iter().map(ToString::to_string).collect(),
            sku: variant.sku.to_string(),
            status: variant.status.into(),
            is_waitlisted: variant.is_waitlisted,
            processor_id: variant.processor_id(),
            created_at: variant.created_at.into(),
            updated_at: variant.updated_at.into(),
            metadata: wire::metadata_record(&variant.metadata),
            organization_id: None,
            product_id: None,
            pricing: None,
            discount_percentage: variant.discount.map(Into::into),
            external_id: variant.external_id.as_ref().map(ToString::to_string),
            inventory_quantity: variant.stock.of(mode).quantity(),
            product_year: variant.product_year,
        }
    }

    /// The variant with its organization, the caller's own, and its product.
    #[must_use]
    pub fn owned(variant: &catalog::ProductVariant, access: &Access) -> Self {
        Self::of(variant, access.organization_pub_id, access.mode)
    }

    /// The variant with its organization and its product, and the stock of the mode.
    #[must_use]
    pub fn of(
        variant: &catalog::ProductVariant,
        organization: OrganizationPubId,
        mode: Mode,
    ) -> Self {
        Self {
            organization_id: Some(organization.into()),
            product_id: Some(variant.product_id.into()),
            ..Self::new(variant, mode)
        }
    }

    /// The variant with its prices and its product.
    #[must_use]
    pub fn priced_with_product(priced: &PricedVariant, mode: Mode) -> Self {
        Self {
            product_id: Some(priced.variant.product_id.into()),
            ..Self::priced(priced, mode)
        }
    }

    /// The variant with its prices.
    #[must_use]
    pub fn priced(priced: &PricedVariant, mode: Mode) -> Self {
        Self {
            pricing: Some(entries(&priced.prices)),
            ..Self::new(&priced.variant, mode)
        }
    }
}
