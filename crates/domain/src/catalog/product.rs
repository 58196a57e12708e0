//! Products, the containers of variants.

use super::OptionDefinition;
use crate::ids::{OrganizationId, ProductCategoryId, ProductCategoryPubId, ProductPubId, UserId};
use crate::metadata::Metadata;
use crate::money::Money;
use crate::names::named_enum;
use crate::percentage::Percentage;
use crate::text::{self, Description, ExternalId, Name, Notes, Sku, Url};
use crate::time::Timestamp;

named_enum! {
    /// Where a product's data come from.
    pub enum ProductSource {
        /// Entered by hand or through the API.
        Manual = "manual",
        /// Shopify.
        Shopify = "shopify",
        /// WooCommerce.
        Woocommerce = "woocommerce",
        /// BigCommerce.
        Bigcommerce = "bigcommerce",
    }
}

named_enum! {
    /// Whether a product can be leased on its own.
    pub enum ProductType {
        /// Can be leased.
        Leasable = "leasable",
        /// Comes along with a leased product, as a purchase item.
        AddOn = "add-on",
    }
}

named_enum! {
    /// Whether a product or variant is offered.
    pub enum ProductStatus {
        /// Offered.
        Active = "active",
        /// Not offered for now.
        Inactive = "inactive",
        /// Not offered any more, kept for history.
        Archived = "archived",
    }
}

named_enum! {
    /// What the review of a product said.
    pub enum ReviewStatus {
        /// Not reviewed.
        Pending = "pending",
        /// May be leased.
        Approved = "approved",
        /// May not be leased.
        Rejected = "rejected",
        /// May be leased once what the notes say is changed.
        ChangesRequested = "changesRequested",
    }
}

/// The review of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// What it said.
    pub status: ReviewStatus,
    /// What the reviewer noted.
    pub notes: Option<Notes>,
    /// When.
    pub reviewed_at: Option<Timestamp>,
    /// Who.
    pub reviewed_by: Option<UserId>,
}

/// A product: a container of variants with the options that they combine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    pub id: ProductPubId,
    /// Whose it is.
    pub organization_id: OrganizationId,
    pub name: Name,
    /// What it is.
    pub description: Description,
    /// What it can be chosen in.
    pub options: Vec<OptionDefinition>,
    /// Its base price; what is leased has a price of its own.
    pub price: Money,
    /// Its discount; none means the organization's.
    pub discount: Option<Percentage>,
    /// Where its data come from.
    pub source: ProductSource,
    /// Whether it can be leased.
    pub product_type: ProductType,
    pub review: Review,
    /// Whether it is offered.
    pub status: ProductStatus,
    /// Whether new checkouts wait.
    pub is_waitlisted: bool,
    /// Whether updates from its source are refused.
    pub ignore_upstream_updates: bool,
    /// The caller's own id of it.
    pub external_id: Option<ExternalId>,
    /// Its stock keeping unit.
    pub sku: Option<Sku>,
    pub main_image: Option<Url>,
    pub category_id: Option<ProductCategoryId>,
    /// What the caller keeps beside it.
    pub metadata: Metadata,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Counts the writes; a write of another version is refused.
    pub version: i64,
}

impl Product {
    /// The id of the product at the payment processor: chosen by us, so that it
    /// is known before the processor is.
    #[must_use]
    pub fn processor_id(&self) -> String {
        self.id.to_string()
    }

    /// What the product is found by, besides its variants: its name, sku and external id, a line
    /// each, folded as a [`SearchTerm`](text::SearchTerm) is. No term spans two lines.
    #[must_use]
    pub fn searchable(&self) -> String {
        let sku = self.sku.as_ref().map(Sku::as_str);
        let external_id = self.external_id.as_ref().map(ExternalId::as_str);
        let lines = [Some(self.name.as_str()), sku, external_id];
        let folded: Vec<String> = lines.into_iter().flatten().map(text::folded).collect();
        folded.join("\n")
    }
}

/// A product category of an organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Category {
    /// Its public id.
    pub id: ProductCategoryPubId,
    /// Its number.
    pub category_id: ProductCategoryId,
    /// Whose it is.
    pub organization_id: OrganizationId,
    /// Its name, unique within the organization in any case.
    pub name: Name,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}
