//! Variants as requests have them.

use lessor_domain::catalog::{self, Inventory, MAX_IMAGES};
use lessor_domain::ids::ProductVariantPubId;
use lessor_domain::services::variants as service;
use lessor_domain::text::Url;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::fields::{DecimalText, Int, List, Patch, Prose, RawObject, Text, WebUrl};
use crate::wire::records::ProductId;
use crate::wire::{
    self, BulkItem, BulkUpdate, MetadataChanges, MetadataInput, ProductStatus, existing, invalid,
    parse, parse_some, patch,
};

/// What a variant chooses of one option.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(title = "OptionSelectionInput")]
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
#[schema(as = CreateProductVariant)]
pub struct CreateProductVariantBody {
    /// Its product.
    #[schema(value_type = ProductId, example = "prod_01JQ2m4hTzKpV7wXy8bDcE")]
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

impl CreateProductVariantBody {
    pub(super) fn parse(self) -> Result<service::CreateVariant, ApiError> {
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
#[schema(as = UpdateProductVariant)]
pub struct UpdateProductVariantBody {
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

impl BulkUpdate for UpdateProductVariantBody {
    type Id = ProductVariantPubId;
}

impl UpdateProductVariantBody {
    pub(super) fn parse(self) -> Result<service::VariantChanges, ApiError> {
        let inventory = match self.inventory_quantity {
            Patch::Absent => None,
            Patch::Null => Some(Inventory::Untracked),
            Patch::Value(quantity) => Some(inventory(Some(quantity.get()))?),
        };
        Ok(service::VariantChanges {
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
#[schema(as = BulkUpdateProductVariants)]
pub struct BulkUpdateProductVariantsBody {
    /// The updates, each the `id` of a variant and what is to change in it.
    #[schema(value_type = Vec<BulkItem<UpdateProductVariantBody>>, min_items = 1, max_items = 100)]
    pub(super) updates: List<RawObject, 100, 1>,
}
