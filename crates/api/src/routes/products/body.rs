//! Products as requests have them.

use lessor_domain::ids::ProductPubId;
use lessor_domain::services::catalog as service;
use lessor_domain::text::Name;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::fields::{
    DecimalText, Int, List, Patch, Prose, RawObject, Reference, Text, WebUrl,
};
use crate::wire::{
    self, BulkItem, BulkUpdate, MetadataChanges, MetadataInput, ProductSource, ProductStatus,
    ProductType, organization, parse, parse_some, patch, reference,
};

/// Something that a product can be chosen in, such as size.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(title = "OptionDefinitionInput")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OptionDefinitionInput {
    /// Its id, unique within the product; one is made when it is left out.
    id: Option<Text<255>>,
    /// Its name, unique within the product in any case.
    #[schema(example = "Size")]
    name: Text<255>,
    /// Where it stands among the options; its place in the list when it is left out.
    position: Option<Int<0, 2_147_483_647>>,
    /// What can be chosen, unique within the option in any case.
    #[schema(example = json!(["S", "M"]))]
    values: List<Text<255>, 250, 1>,
}

fn options(given: List<OptionDefinitionInput, 10>) -> Result<Vec<service::OptionInput>, ApiError> {
    given
        .into_iter()
        .enumerate()
        .map(|(index, option)| {
            let at = |member: &str| format!("options[{index}].{member}");
            let values = option.values.into_vec();
            let values = values.iter().enumerate().map(|(place, value)| {
                parse::<Name>(&format!("options[{index}].values[{place}]"), value.as_str())
            });
            Ok(service::OptionInput {
                id: option.id.map(Text::into_string),
                name: parse(&at("name"), option.name.as_str())?,
                position: option
                    .position
                    .map(|position| i32::try_from(position.get()))
                    .transpose()
                    .map_err(|error| wire::invalid(&at("position"), error))?,
                values: values.collect::<Result<_, _>>()?,
            })
        })
        .collect()
}

/// A new product.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CreateProduct)]
pub struct CreateProductBody {
    /// What it is called.
    #[schema(example = "Road bike")]
    name: Text<255>,
    /// What it is.
    #[schema(example = "A light bike for the road.")]
    description: Prose<10_000>,
    /// What its variants differ in.
    options: List<OptionDefinitionInput, 10>,
    /// The organization that it is of: the API key's own, by public id or number.
    #[schema(example = "org_0Qh3vYxkPL0fJ5nTt0sJ2b")]
    organization_id: Reference,
    /// Its base price; what is leased has a price of its own.
    #[schema(example = "1299.00")]
    price: DecimalText,
    /// Where its data come from.
    product_source: ProductSource,
    /// Whether it can be leased on its own.
    product_type: ProductType,
    /// Discount in percent, 0 to 100; the organization's when it is left out.
    #[schema(example = "12.5")]
    discount_percentage: Option<DecimalText>,
    /// The caller's own id of it, unique among the organization's products.
    external_id: Option<Text<255>>,
    /// Its category, by public id or number.
    product_category_id: Option<Reference>,
    /// Its stock keeping unit.
    sku: Option<Text<255>>,
    /// What you keep beside it: up to 50 keys of 40 characters, each with a text of up to 500.
    metadata: Option<MetadataInput>,
}

impl CreateProductBody {
    pub(super) fn parse(self) -> Result<service::CreateProduct, ApiError> {
        Ok(service::CreateProduct {
            name: parse("name", self.name.as_str())?,
            description: parse("description", self.description.as_str())?,
            options: options(self.options)?,
            price: parse("price", self.price.as_str())?,
            source: self.product_source.into(),
            product_type: self.product_type.into(),
            discount: parse_some("discountPercentage", self.discount_percentage)?,
            external_id: parse_some("externalId", self.external_id)?,
            category: self
                .product_category_id
                .map(|category| reference("productCategoryId", &category))
                .transpose()?,
            sku: parse_some("sku", self.sku)?,
            metadata: wire::metadata(self.metadata)?,
            // Last: it may be a refusal of another kind.
            organization: organization("organizationId", &self.organization_id)?,
        })
    }
}

/// What is to change in a product.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = UpdateProduct)]
pub struct UpdateProductBody {
    /// What it is called.
    #[schema(nullable = false, example = "Road bike")]
    name: Option<Text<255>>,
    /// What it is.
    #[schema(nullable = false)]
    description: Option<Prose<10_000>>,
    /// Discount in percent, 0 to 100; `null`: the organization's.
    #[serde(default)]
    discount_percentage: Patch<DecimalText>,
    /// Whether new checkouts wait.
    #[schema(nullable = false)]
    is_waitlisted: Option<bool>,
    /// Address of its main image.
    #[serde(default)]
    main_product_image: Patch<WebUrl>,
    /// What its variants differ in; its variants must still fit.
    #[schema(nullable = false)]
    options: Option<List<OptionDefinitionInput, 10>>,
    /// Its base price.
    #[schema(nullable = false, example = "1299.00")]
    price: Option<DecimalText>,
    /// Its category, by public id or number.
    #[serde(default)]
    product_category_id: Patch<Reference>,
    /// Whether it can be leased on its own.
    #[schema(nullable = false)]
    product_type: Option<ProductType>,
    /// Its stock keeping unit.
    #[serde(default)]
    sku: Patch<Text<255>>,
    /// Whether it is offered.
    #[schema(nullable = false)]
    status: Option<ProductStatus>,
    /// `true` is the status `active`, `false` is `inactive`.
    #[schema(nullable = false)]
    is_active: Option<bool>,
    /// Whether updates from its source are refused.
    #[schema(nullable = false)]
    ignore_upstream_updates: Option<bool>,
    /// Where this update comes from; by hand when it is left out.
    #[schema(nullable = false)]
    product_source: Option<ProductSource>,
    /// What you keep beside it: keys that are named are set, or taken away by `null`; the others stay.
    /// `null`: all are taken away.
    #[serde(default)]
    metadata: Patch<MetadataChanges>,
}

impl BulkUpdate for UpdateProductBody {
    type Id = ProductPubId;
}

impl UpdateProductBody {
    pub(super) fn parse(self) -> Result<service::ProductChanges, ApiError> {
        Ok(service::ProductChanges {
            name: parse_some("name", self.name)?,
            description: parse_some("description", self.description)?,
            options: self.options.map(options).transpose()?,
            price: parse_some("price", self.price)?,
            product_type: self.product_type.map(Into::into),
            status: self.status.map(Into::into),
            is_active: self.is_active,
            is_waitlisted: self.is_waitlisted,
            ignore_upstream_updates: self.ignore_upstream_updates,
            discount: patch("discountPercentage", self.discount_percentage, |text| {
                text.as_str().parse()
            })?,
            main_image: patch("mainProductImage", self.main_product_image, |url| {
                url.as_str().parse()
            })?,
            category: match self.product_category_id {
                Patch::Absent => lessor_domain::services::Patch::Keep,
                Patch::Null => lessor_domain::services::Patch::Clear,
                Patch::Value(category) => {
                    lessor_domain::services::Patch::Set(reference("productCategoryId", &category)?)
                }
            },
            sku: patch("sku", self.sku, |text| text.as_str().parse())?,
            source: self.product_source.map(Into::into),
            metadata: wire::metadata_patch(self.metadata)?,
        })
    }
}

/// Updates of several products.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = BulkUpdateProducts)]
pub struct BulkUpdateProductsBody {
    /// The updates, each the `id` of a product and what is to change in it.
    #[schema(value_type = Vec<BulkItem<UpdateProductBody>>, min_items = 1, max_items = 100)]
    pub(super) updates: List<RawObject, 100, 1>,
}
