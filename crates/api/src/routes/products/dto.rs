//! Products as requests and answers have them.

use std::collections::BTreeMap;

use lessor_domain::catalog;
use lessor_domain::ids::{ProductCategoryId, UserId};
use lessor_domain::services::catalog as service;
use lessor_domain::text::Name;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::request::fields::{
    DecimalText, Int, List, Patch, Prose, RawObject, Reference, Text, WebUrl,
};
use crate::wire::{
    self, BulkError, BulkItem, DateTimeText, DecimalString, MetadataChanges, MetadataInput,
    MoneyText, ProductSource, ProductStatus, ProductType, ReviewStatus, organization, parse,
    parse_some, patch, reference,
};

/// Something that a product can be chosen in, such as size.
#[derive(Clone, Debug, Deserialize, ToSchema)]
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
pub struct CreateProduct {
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

impl CreateProduct {
    pub(super) fn into_input(self) -> Result<service::CreateProduct, ApiError> {
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
pub struct UpdateProduct {
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

impl UpdateProduct {
    pub(super) fn into_update(self) -> Result<service::UpdateProduct, ApiError> {
        Ok(service::UpdateProduct {
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
pub struct BulkUpdateProducts {
    /// The updates, each the `id` of a product and what is to change in it.
    #[schema(value_type = Vec<BulkItem<UpdateProduct>>, min_items = 1, max_items = 100)]
    pub(super) updates: List<RawObject, 100, 1>,
}

/// What became of the updates of several products.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BulkUpdatedProducts {
    /// How many were made.
    succeeded: usize,
    /// How many were not.
    failed: usize,
    /// The products that were updated, in order.
    results: Vec<ProductRecord>,
    /// Why the others were not, in order.
    errors: Vec<BulkError>,
}

impl From<(Vec<ProductRecord>, Vec<BulkError>)> for BulkUpdatedProducts {
    fn from((results, errors): (Vec<ProductRecord>, Vec<BulkError>)) -> Self {
        Self {
            succeeded: results.len(),
            failed: errors.len(),
            results,
            errors,
        }
    }
}

/// Something that a product can be chosen in.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OptionDefinition {
    /// Its id, unique within the product.
    id: String,
    /// Its name.
    #[schema(example = "Size")]
    name: String,
    /// Where it stands among the options.
    position: i32,
    /// What can be chosen.
    #[schema(example = json!(["S", "M"]))]
    values: Vec<String>,
}

/// A product.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Product)]
pub struct ProductRecord {
    /// Its public id.
    #[schema(
        example = "prod_01JQ2m4hTzKpV7wXy8bDcE",
        pattern = "^prod_[0-9A-Za-z]{22}$"
    )]
    id: String,
    /// What it is called.
    name: String,
    /// What it is.
    description: String,
    /// What its variants differ in.
    options: Vec<OptionDefinition>,
    /// The number of the organization that it is of.
    organization_id: i64,
    /// Its base price.
    price: MoneyText,
    /// Where its data come from.
    product_source: ProductSource,
    /// Whether it can be leased on its own.
    product_type: ProductType,
    /// What its review said.
    review_status: ReviewStatus,
    /// Whether it is offered.
    status: ProductStatus,
    /// Whether new checkouts wait.
    is_waitlisted: bool,
    /// Whether updates from its source are refused.
    ignore_upstream_updates: bool,
    /// Its id at the payment processor.
    processor_id: String,
    /// When it was made.
    created_at: DateTimeText,
    /// When it last changed.
    updated_at: DateTimeText,
    /// What the organization keeps beside it, if anything.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    /// Its discount in percent; absent: the organization's.
    #[serde(skip_serializing_if = "Option::is_none")]
    discount_percentage: Option<DecimalString>,
    /// The caller's own id of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<String>,
    /// Address of its main image.
    #[serde(skip_serializing_if = "Option::is_none")]
    main_product_image: Option<String>,
    /// The number of its category.
    #[serde(skip_serializing_if = "Option::is_none")]
    product_category_id: Option<i64>,
    /// What the reviewer noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    review_notes: Option<String>,
    /// When it was reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reviewed_at: Option<DateTimeText>,
    /// The number of the user who reviewed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reviewed_by: Option<i64>,
    /// Its stock keeping unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    sku: Option<String>,
}

impl From<&catalog::Product> for ProductRecord {
    fn from(product: &catalog::Product) -> Self {
        let review = &product.review;
        Self {
            id: product.id.to_string(),
            name: product.name.to_string(),
            description: product.description.to_string(),
            options: product.options.iter().map(Into::into).collect(),
            organization_id: product.organization_id.get(),
            price: product.price.into(),
            product_source: product.source.into(),
            product_type: product.product_type.into(),
            review_status: review.status.into(),
            status: product.status.into(),
            is_waitlisted: product.is_waitlisted,
            ignore_upstream_updates: product.ignore_upstream_updates,
            processor_id: product.processor_id(),
            created_at: product.created_at.into(),
            updated_at: product.updated_at.into(),
            metadata: wire::metadata_record(&product.metadata),
            discount_percentage: product.discount.map(Into::into),
            external_id: product.external_id.as_ref().map(ToString::to_string),
            main_product_image: product.main_image.as_ref().map(ToString::to_string),
            product_category_id: product.category_id.map(ProductCategoryId::get),
            review_notes: review.notes.as_ref().map(ToString::to_string),
            reviewed_at: review.reviewed_at.map(Into::into),
            reviewed_by: review.reviewed_by.map(UserId::get),
            sku: product.sku.as_ref().map(ToString::to_string),
        }
    }
}

impl From<&catalog::OptionDefinition> for OptionDefinition {
    fn from(option: &catalog::OptionDefinition) -> Self {
        Self {
            id: option.id.clone(),
            name: option.name.to_string(),
            position: option.position,
            values: option.values.iter().map(ToString::to_string).collect(),
        }
    }
}
