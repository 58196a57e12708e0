//! What a shop window shows: what anybody may know of products and variants.
//!
//! Of what is not for everybody an optional member is as if it had none: an external id, metadata, how
//! many are left, the category, what a reviewer noted.

use super::{Inventory, Product, ProductStatus, ProductVariant, Review, ReviewStatus, Stock};
use crate::metadata::Metadata;

impl Product {
    /// Whether a shop window shows it: it is active and its review approved it. One that makes those
    /// who come wait is shown.
    #[must_use]
    pub const fn is_in_window(&self) -> bool {
        matches!(self.status, ProductStatus::Active)
            && matches!(self.review.status, ReviewStatus::Approved)
    }

    /// What a shop window tells of it; nothing when it is not shown.
    #[must_use]
    pub fn in_window(self) -> Option<Self> {
        self.is_in_window().then(|| Self {
            review: Review {
                status: self.review.status,
                notes: None,
                reviewed_at: None,
                reviewed_by: None,
            },
            external_id: None,
            category_id: None,
            metadata: Metadata::default(),
            ..self
        })
    }
}

impl ProductVariant {
    /// What a shop window tells of it; nothing when it or its product is not shown.
    #[must_use]
    pub fn in_window(self, product: &Product) -> Option<Self> {
        let is_shown = product.is_in_window() && matches!(self.status, ProductStatus::Active);
        is_shown.then(|| Self {
            external_id: None,
            stock: Stock::both(Inventory::Untracked),
            metadata: Metadata::default(),
            ..self
        })
    }
}
