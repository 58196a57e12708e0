//! Variants as requests and answers have them.

use std::collections::BTreeMap;

use lessor_domain::access::Access;
use lessor_domain::catalog::{self, Inventory, MAX_IMAGES};
use lessor_domain::services::pricing::PriceTable;
use lessor_domain::services::variants as service;
use lessor_domain::text::Url;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::prices::{PricingEntry, entries};
use crate::http::error::ApiError;
use crate::request::fields::{DecimalText, Int, List, Patch, Prose, RawObject, Text, WebUrl};
use crate::wire::{
    self, BulkError, BulkItem, DateTimeText, DecimalString, MetadataChanges, MetadataInput,
    MoneyText, ProductStatus, existing, invalid, parse, parse_some, patch,
};

/// What a variant chooses of one option.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OptionSelectionInput {
    /// The option's name.
    #[schema(example = "Size")]
    name: Text<255>,
    /// One of its values.
    #[schema(example = "M")]
    value: Text<255>,
}

fn options(
    given: List<OptionSelectionInput, 10>,
) -> Result<Vec<catalog::OptionSelection>, ApiError> {
    given
        .into_iter()
        .enumerate()
        .map(|(index, selection)| {
            Ok(catalog::OptionSelection {
                name: parse(&format!("options[{index}].name"), selection.name.as_str())?,
                value: parse(&format!("options[{index}].value"), selection.value.as_str())?,
            })
        })
        .collect()
}

fn images(given: &List<WebUrl, { MAX_IMAGES }>) -> Result<Vec<Url>, ApiError> {
    let urls = given.as_slice().iter().enumerate();
    urls.map(|(index, url)| parse(&format!("productImages[{index}]"), url.as_str()))
        .collect()
}

fn inventory(quantity: Option<i64>) -> Result<Inventory, ApiError> {
    Inventory::from_quantity(quantity).map_err(|error| invalid("inventoryQuantity", error))
}

/// A stock: −1 stands for none that is counted.
type Quantity = Int<-1, 2_147_483_647>;

/// A new product variant.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateProductVariant {
    /// Its product.
    #[schema(example = "prod_01JQ2m4hTzKpV7wXy8bDcE")]
    product_id: Text<64>,
    /// What it is called.
    #[schema(example = "Road bike, M")]
    name: Text<255>,
    /// What it is.
    description: Prose<10_000>,
    /// Its price, the list price of its leases.
    #[schema(example = "1299.00")]
    price: DecimalText,
    /// Its stock keeping unit, unique among the organization's variants that are not archived.
    #[schema(example = "BIKE-M")]
    sku: Text<255>,
    /// One value of each option of the product.
    options: List<OptionSelectionInput, 10>,
    /// Addresses of images.
    product_images: List<WebUrl, { MAX_IMAGES }>,
    /// Discount in percent, 0 to 100; the product's when it is left out.
    discount_percentage: Option<DecimalText>,
    /// The caller's own id of it, unique among the organization's variants.
    external_id: Option<Text<255>>,
    /// How many are free to promise; left out, `null` or −1: they are not counted.
    inventory_quantity: Option<Quantity>,
    /// Its model year.
    product_year: Option<Int<1, 9999>>,
    /// What you keep beside it: up to 50 keys of 40 characters, each with a text of up to 500.
    metadata: Option<MetadataInput>,
}

impl CreateProductVariant {
    pub(super) fn into_input(self) -> Result<service::CreateVariant, ApiError> {
        let year = self.product_year.map(|year| i32::try_from(year.get()));
        Ok(service::CreateVariant {
            name: parse("name", self.name.as_str())?,
            description: parse("description", self.description.as_str())?,
            price: parse("price", self.price.as_str())?,
            sku: parse("sku", self.sku.as_str())?,
            options: options(self.options)?,
            images: images(&self.product_images)?,
            discount: parse_some("discountPercentage", self.discount_percentage)?,
            external_id: parse_some("externalId", self.external_id)?,
            inventory: inventory(self.inventory_quantity.map(Int::get))?,
            product_year: year
                .transpose()
                .map_err(|error| invalid("productYear", error))?,
            metadata: wire::metadata(self.metadata)?,
            product_id: existing("productId", "product", self.product_id.as_str())?,
        })
    }
}

/// What is to change in a product variant.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateProductVariant {
    /// What it is called.
    #[schema(nullable = false)]
    name: Option<Text<255>>,
    /// What it is.
    #[schema(nullable = false)]
    description: Option<Prose<10_000>>,
    /// Its price, the list price of its leases.
    #[schema(nullable = false, example = "1299.00")]
    price: Option<DecimalText>,
    /// Its stock keeping unit.
    #[schema(nullable = false)]
    sku: Option<Text<255>>,
    /// One value of each option of the product.
    #[schema(nullable = false)]
    options: Option<List<OptionSelectionInput, 10>>,
    /// Addresses of images.
    #[schema(nullable = false)]
    product_images: Option<List<WebUrl, { MAX_IMAGES }>>,
    /// Discount in percent, 0 to 100; `null`: the product's.
    #[serde(default)]
    discount_percentage: Patch<DecimalText>,
    /// Whether it is offered.
    #[schema(nullable = false)]
    status: Option<ProductStatus>,
    /// `true` is the status `active`, `false` is `inactive`.
    #[schema(nullable = false)]
    is_active: Option<bool>,
    /// Whether new checkouts wait.
    #[schema(nullable = false)]
    is_waitlisted: Option<bool>,
    /// How many are free to promise; `null` or −1: they are not counted.
    #[serde(default)]
    inventory_quantity: Patch<Quantity>,
    /// What you keep beside it: keys that are named are set, or taken away by `null`; the others stay.
    /// `null`: all are taken away.
    #[serde(default)]
    metadata: Patch<MetadataChanges>,
}

impl UpdateProductVariant {
    pub(super) fn into_update(self) -> Result<service::UpdateVariant, ApiError> {
        let inventory = match self.inventory_quantity {
            Patch::Absent => None,
            Patch::Null => Some(Inventory::Untracked),
            Patch::Value(quantity) => Some(inventory(Some(quantity.get()))?),
        };
        Ok(service::UpdateVariant {
            name: parse_some("name", self.name)?,
            description: parse_some("description", self.description)?,
            price: parse_some("price", self.price)?,
            sku: parse_some("sku", self.sku)?,
            options: self.options.map(options).transpose()?,
            images: self.product_images.as_ref().map(images).transpose()?,
            discount: patch("discountPercentage", self.discount_percentage, |text| {
                text.as_str().parse()
            })?,
            status: self.status.map(Into::into),
            is_active: self.is_active,
            is_waitlisted: self.is_waitlisted,
            inventory,
            metadata: wire::metadata_patch(self.metadata)?,
        })
    }
}

/// Updates of several variants.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BulkUpdateProductVariants {
    /// The updates, each the `id` of a variant and what is to change in it.
    #[schema(value_type = Vec<BulkItem<UpdateProductVariant>>, min_items = 1, max_items = 100)]
    pub(super) updates: List<RawObject, 100, 1>,
}

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
    #[schema(
        example = "pvar_01JQ2m5yZs3Rk9TqWn6FgH",
        pattern = "^pvar_[0-9A-Za-z]{22}$"
    )]
    id: String,
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
    organization_id: Option<String>,
    /// Its product. In answers to create, read, delete and the bulk read.
    #[serde(skip_serializing_if = "Option::is_none")]
    product_id: Option<String>,
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
    /// How many are free to promise; absent: they are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    inventory_quantity: Option<u32>,
    /// Its model year.
    #[serde(skip_serializing_if = "Option::is_none")]
    product_year: Option<i32>,
}

impl ProductVariantRecord {
    /// The variant without what only some answers have.
    #[must_use]
    pub fn new(variant: &catalog::ProductVariant) -> Self {
        let selection = |selection: &catalog::OptionSelection| OptionSelection {
            name: selection.name.to_string(),
            value: selection.value.to_string(),
        };
        Self {
            id: variant.id.to_string(),
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
            inventory_quantity: variant.inventory.quantity(),
            product_year: variant.product_year,
        }
    }

    /// The variant with its organization, the caller's own, and its product.
    #[must_use]
    pub fn owned(variant: &catalog::ProductVariant, access: &Access) -> Self {
        Self {
            organization_id: Some(access.organization_pub_id.to_string()),
            ..Self::new(variant).with_product(variant)
        }
    }

    /// The record with its product.
    #[must_use]
    pub fn with_product(self, variant: &catalog::ProductVariant) -> Self {
        Self {
            product_id: Some(variant.product_id.to_string()),
            ..self
        }
    }

    /// The record with its prices.
    #[must_use]
    pub fn with_pricing(self, prices: &PriceTable) -> Self {
        Self {
            pricing: Some(entries(prices)),
            ..self
        }
    }
}
