//! Products as answers have them.

use std::collections::BTreeMap;

use lessor_domain::catalog;
use lessor_domain::ids::{ProductCategoryId, UserId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::{
    self, BulkError, DateTimeText, DecimalString, MoneyText, ProductId, ProductSource,
    ProductStatus, ProductType, ReviewStatus,
};

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
    id: ProductId,
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
            id: product.id.into(),
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
