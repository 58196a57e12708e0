//! Variants as requests have them, in bodies and in the query of their list.

use lessor_domain::catalog::{self, Inventory, MAX_IMAGES, VariantFilter};
use lessor_domain::ids::{ProductPubId, ProductVariantPubId};
use lessor_domain::ports::{Page, Start};
use lessor_domain::services::variants::{CreateVariant, ListVariants, VariantChanges};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::{List, Parsed, PathId, Plain, RawObject, Whole, given};
use crate::wire::{
    self, Amount, BulkItem, BulkUpdate, Description, ExternalId, MetadataChanges, MetadataInput,
    Name, Percentage, ProductLookup, ProductStatus, Quantity, Sku, Time, Url, VariantId, Year,
    invalid,
};

/// What is not found where a product is named.
const PRODUCT: &str = "product";

/// What a variant chooses.
type Selections = List<OptionSelectionInput, 10>;
/// Addresses of images.
type Images = List<Url, { MAX_IMAGES }>;
/// An update of a bulk request.
type BulkUpdateProductVariant = BulkItem<UpdateProductVariantBody>;
/// Updates that are read one by one.
type BulkUpdates = List<RawObject, 100, 1>;

/// What a variant chooses of one option.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(title = "OptionSelectionInput")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OptionSelectionInput {
    /// The option's name.
    #[schema(example = "Size")]
    name: Name,
    /// One of its values.
    #[schema(example = "M")]
    value: Name,
}

impl Plain for OptionSelectionInput {
    type Plain = catalog::OptionSelection;

    fn plain(self) -> catalog::OptionSelection {
        catalog::OptionSelection {
            name: self.name.plain(),
            value: self.value.plain(),
        }
    }
}

/// The stock of this number.
///
/// # Errors
/// 400 about `inventoryQuantity`.
pub(in crate::routes) fn inventory(quantity: Option<Quantity>) -> Result<Inventory, ApiError> {
    Inventory::from_quantity(quantity.plain().map(Whole::get))
        .map_err(|error| invalid("inventoryQuantity", error))
}

/// A new product variant.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CreateProductVariant)]
pub struct CreateProductVariantBody {
    /// Its product.
    product_id: ProductLookup,
    /// What it is called.
    #[schema(example = "Road bike, M")]
    name: Name,
    /// What it is.
    description: Description,
    /// Its price, the list price of its leases.
    #[schema(example = "1299.00")]
    price: Amount,
    /// Its stock keeping unit, unique among the organization's variants that are not archived.
    #[schema(example = "BIKE-M")]
    sku: Sku,
    /// One value of each option of the product.
    options: Selections,
    /// Addresses of images.
    product_images: Images,
    /// Discount in percent, 0 to 100; the product's when it is left out.
    discount_percentage: Option<Percentage>,
    /// The caller's own id of it, unique among the organization's variants.
    external_id: Option<ExternalId>,
    /// How many are free to promise, in each mode; left out, `null` or −1: they are not counted.
    inventory_quantity: Option<Quantity>,
    /// Its model year.
    product_year: Option<Year>,
    /// What you keep beside it: up to 50 keys of 40 characters, each with a text of up to 500.
    metadata: Option<MetadataInput>,
}

impl CreateProductVariantBody {
    /// The command that the body gives.
    ///
    /// # Errors
    /// 400 for a stock that cannot be, 404 for a product that cannot exist.
    pub(super) fn command(self) -> Result<CreateVariant, ApiError> {
        Ok(CreateVariant {
            name: self.name.plain(),
            description: self.description.plain(),
            price: self.price.plain(),
            sku: self.sku.plain(),
            options: self.options.plain(),
            images: self.product_images.plain(),
            discount: self.discount_percentage.plain(),
            external_id: self.external_id.plain(),
            inventory: inventory(self.inventory_quantity)?,
            product_year: self.product_year.plain().map(Whole::get),
            metadata: wire::metadata(self.metadata)?,
            product_id: wire::product(&self.product_id)?,
        })
    }
}

/// What is to change in a product variant.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = UpdateProductVariant)]
pub struct UpdateProductVariantBody {
    /// What it is called.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    name: Option<Name>,
    /// What it is.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    description: Option<Description>,
    /// Its price, the list price of its leases.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, example = "1299.00")]
    price: Option<Amount>,
    /// Its stock keeping unit.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    sku: Option<Sku>,
    /// One value of each option of the product.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    options: Option<Selections>,
    /// Addresses of images.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    product_images: Option<Images>,
    /// Discount in percent, 0 to 100; `null`: the product's.
    #[serde(default, with = "serde_with::rust::double_option")]
    discount_percentage: Option<Option<Percentage>>,
    /// Whether it is offered.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    status: Option<ProductStatus>,
    /// `true` is the status `active`, `false` is `inactive`.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    is_active: Option<bool>,
    /// Whether new checkouts wait.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    is_waitlisted: Option<bool>,
    /// How many are free to promise in the key's mode; `null` or −1: they are not counted.
    #[serde(default, with = "serde_with::rust::double_option")]
    inventory_quantity: Option<Option<Quantity>>,
    /// What you keep beside it: keys that are named are set, or taken away by `null`; the others stay.
    /// `null`: all are taken away.
    #[serde(default, with = "serde_with::rust::double_option")]
    metadata: Option<Option<MetadataChanges>>,
}

impl BulkUpdate for UpdateProductVariantBody {
    type Id = ProductVariantPubId;
}

impl UpdateProductVariantBody {
    /// What the body changes.
    ///
    /// # Errors
    /// 400 for a stock that cannot be.
    pub(super) fn changes(self) -> Result<VariantChanges, ApiError> {
        Ok(VariantChanges {
            name: self.name.plain(),
            description: self.description.plain(),
            price: self.price.plain(),
            sku: self.sku.plain(),
            options: self.options.plain(),
            images: self.product_images.plain(),
            discount: self.discount_percentage.plain().into(),
            status: self.status.plain(),
            is_active: self.is_active,
            is_waitlisted: self.is_waitlisted,
            inventory: self.inventory_quantity.map(inventory).transpose()?,
            metadata: wire::metadata_patch(self.metadata),
        })
    }
}

/// Updates of several variants.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = BulkUpdateProductVariants)]
pub struct BulkUpdateProductVariantsBody {
    /// The updates, each the `id` of a variant and what is to change in it.
    #[schema(value_type = Vec<BulkUpdateProductVariant>, min_items = 1, max_items = 100)]
    pub(super) updates: BulkUpdates,
}

/// How many variants a page has.
type VariantLimit = Parsed<Whole<u32, 1, 250>>;

/// Which variants of a product to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListVariantsOfProductQuery {
    /// How many to answer; 250 when nothing is said.
    #[param(inline)]
    limit: Option<VariantLimit>,
    /// The id of the variant that the page comes after.
    #[param(inline)]
    starting_after: Option<VariantId>,
    /// Made after this time, which does not belong to it.
    #[param(inline)]
    created_after: Option<Time>,
    /// Made before this time, which does not belong to it.
    #[param(inline)]
    created_before: Option<Time>,
    /// Last changed after this time, which does not belong to it.
    #[param(inline)]
    updated_after: Option<Time>,
    /// Last changed before this time, which does not belong to it.
    #[param(inline)]
    updated_before: Option<Time>,
    /// With this value of a key of metadata, `metadata[key]=value`; with all of several.
    #[param(inline, style = DeepObject, explode)]
    metadata: Option<MetadataInput>,
}

impl ListVariantsOfProductQuery {
    /// The list that the query asks for of the product.
    ///
    /// # Errors
    /// 400 for metadata that cannot be, 404 for a product that cannot exist.
    pub(super) fn command(self, product: PathId<ProductPubId>) -> Result<ListVariants, ApiError> {
        const MOST: u32 = 250;
        let after = self.starting_after.plain();
        Ok(ListVariants {
            filter: VariantFilter {
                created: wire::span(self.created_after, self.created_before),
                updated: wire::span(self.updated_after, self.updated_before),
                metadata: wire::metadata(self.metadata)?,
            },
            page: Page {
                start: after.map_or(Start::Offset(0), |id| Start::After(id.as_uuid())),
                limit: self.limit.plain().map_or(MOST, Whole::get),
            },
            product: product.of(PRODUCT)?,
        })
    }
}
