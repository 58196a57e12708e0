//! Products as requests have them.

use lessor_domain::ids::ProductPubId;
use lessor_domain::services::catalog::{CreateProduct, OptionInput, ProductChanges};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::{List, Plain, RawObject, Whole, given};
use crate::wire::{
    self, Amount, BulkItem, BulkUpdate, CategoryRef, Description, ExternalId, Line,
    MetadataChanges, MetadataInput, Name, OrganizationRef, Percentage, Position, ProductSource,
    ProductStatus, ProductType, Sku, Url,
};

/// What can be chosen of an option.
type OptionValues = List<Name, 250, 1>;
/// What the variants of a product differ in.
type Options = List<OptionDefinitionInput, 10>;
/// An update of a bulk request.
type BulkUpdateProduct = BulkItem<UpdateProductBody>;

/// Something that a product can be chosen in, such as size.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(title = "OptionDefinitionInput")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OptionDefinitionInput {
    /// Its id, unique within the product; one is made when it is left out.
    id: Option<Line>,
    /// Its name, unique within the product in any case.
    #[schema(example = "Size")]
    name: Name,
    /// Where it stands among the options; its place in the list when it is left out.
    position: Option<Position>,
    /// What can be chosen, unique within the option in any case.
    #[schema(example = json!(["S", "M"]))]
    values: OptionValues,
}

impl Plain for OptionDefinitionInput {
    type Plain = OptionInput;

    fn plain(self) -> OptionInput {
        OptionInput {
            id: self.id.plain().map(String::from),
            name: self.name.plain(),
            position: self.position.plain().map(Whole::get),
            values: self.values.plain(),
        }
    }
}

/// A new product.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CreateProduct)]
pub struct CreateProductBody {
    /// What it is called.
    #[schema(example = "Road bike")]
    name: Name,
    /// What it is.
    #[schema(example = "A light bike for the road.")]
    description: Description,
    /// What its variants differ in.
    options: Options,
    /// The organization that it is of: the API key's own, by public id or number.
    #[schema(example = "org_0Qh3vYxkPL0fJ5nTt0sJ2b")]
    organization_id: OrganizationRef,
    /// Its base price; what is leased has a price of its own.
    #[schema(example = "1299.00")]
    price: Amount,
    /// Where its data come from.
    product_source: ProductSource,
    /// Whether it can be leased on its own.
    product_type: ProductType,
    /// Discount in percent, 0 to 100; the organization's when it is left out.
    #[schema(example = "12.5")]
    discount_percentage: Option<Percentage>,
    /// The caller's own id of it, unique among the organization's products.
    external_id: Option<ExternalId>,
    /// Its category, by public id or number.
    product_category_id: Option<CategoryRef>,
    /// Its stock keeping unit.
    sku: Option<Sku>,
    /// What you keep beside it: up to 50 keys of 40 characters, each with a text of up to 500.
    metadata: Option<MetadataInput>,
}

impl CreateProductBody {
    /// The command that the body gives.
    ///
    /// # Errors
    /// 403 for another organization.
    pub(super) fn command(self) -> Result<CreateProduct, ApiError> {
        Ok(CreateProduct {
            name: self.name.plain(),
            description: self.description.plain(),
            options: self.options.plain(),
            price: self.price.plain(),
            source: self.product_source.plain(),
            product_type: self.product_type.plain(),
            discount: self.discount_percentage.plain(),
            external_id: self.external_id.plain(),
            category: self.product_category_id.plain(),
            sku: self.sku.plain(),
            metadata: wire::metadata(self.metadata)?,
            organization: wire::organization(&self.organization_id)?,
        })
    }
}

/// What is to change in a product.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = UpdateProduct)]
pub struct UpdateProductBody {
    /// What it is called.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, example = "Road bike")]
    name: Option<Name>,
    /// What it is.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    description: Option<Description>,
    /// Discount in percent, 0 to 100; `null`: the organization's.
    #[serde(default, with = "serde_with::rust::double_option")]
    discount_percentage: Option<Option<Percentage>>,
    /// Whether new checkouts wait.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    is_waitlisted: Option<bool>,
    /// Address of its main image.
    #[serde(default, with = "serde_with::rust::double_option")]
    main_product_image: Option<Option<Url>>,
    /// What its variants differ in; its variants must still fit.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    options: Option<Options>,
    /// Its base price.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, example = "1299.00")]
    price: Option<Amount>,
    /// Its category, by public id or number.
    #[serde(default, with = "serde_with::rust::double_option")]
    product_category_id: Option<Option<CategoryRef>>,
    /// Whether it can be leased on its own.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    product_type: Option<ProductType>,
    /// Its stock keeping unit.
    #[serde(default, with = "serde_with::rust::double_option")]
    sku: Option<Option<Sku>>,
    /// Whether it is offered.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    status: Option<ProductStatus>,
    /// `true` is the status `active`, `false` is `inactive`.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    is_active: Option<bool>,
    /// Whether updates from its source are refused.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    ignore_upstream_updates: Option<bool>,
    /// Where this update comes from; by hand when it is left out.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    product_source: Option<ProductSource>,
    /// What you keep beside it: keys that are named are set, or taken away by `null`; the others stay.
    /// `null`: all are taken away.
    #[serde(default, with = "serde_with::rust::double_option")]
    metadata: Option<Option<MetadataChanges>>,
}

impl BulkUpdate for UpdateProductBody {
    type Id = ProductPubId;
}

impl From<UpdateProductBody> for ProductChanges {
    fn from(body: UpdateProductBody) -> Self {
        Self {
            name: body.name.plain(),
            description: body.description.plain(),
            options: body.options.plain(),
            price: body.price.plain(),
            product_type: body.product_type.plain(),
            status: body.status.plain(),
            is_active: body.is_active,
            is_waitlisted: body.is_waitlisted,
            ignore_upstream_updates: body.ignore_upstream_updates,
            discount: body.discount_percentage.plain().into(),
            main_image: body.main_product_image.plain().into(),
            category: body.product_category_id.plain().into(),
            sku: body.sku.plain().into(),
            source: body.product_source.plain(),
            metadata: wire::metadata_patch(body.metadata),
        }
    }
}

/// Updates that are read one by one.
type BulkUpdates = List<RawObject, 100, 1>;

/// Updates of several products.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = BulkUpdateProducts)]
pub struct BulkUpdateProductsBody {
    /// The updates, each the `id` of a product and what is to change in it.
    #[schema(value_type = Vec<BulkUpdateProduct>, min_items = 1, max_items = 100)]
    pub(super) updates: BulkUpdates,
}
