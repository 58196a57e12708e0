//! Lease terms: the rate card that an organization offers for a number of months.

use crate::ids::{LeaseTermId, LeaseTermPubId, OrganizationId, ProductPubId};
use crate::names::named_enum;
use crate::pricing::RateCard;
use crate::time::Timestamp;

named_enum! {
    /// Whether a term is offered.
    pub enum LeaseTermStatus {
        /// Offered.
        Active = "active",
        /// Kept for the leases that have it, not offered.
        Inactive = "inactive",
    }
}

/// A lease term of an organization, or of one product of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseTerm {
    /// Its public id.
    pub id: LeaseTermPubId,
    /// Its number.
    pub lease_term_id: LeaseTermId,
    /// Whose it is.
    pub organization_id: OrganizationId,
    /// The product that it is for; none means all products without terms of their own.
    pub product_id: Option<ProductPubId>,
    /// Months, method, rate and percentages.
    pub card: RateCard,
    /// Whether it is offered.
    pub status: LeaseTermStatus,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Counts the writes; a write of another version is refused.
    pub version: i64,
}

/// The most active terms of one owner, which is the organization or one of its products.
pub const MAX_ACTIVE: usize = 24;

/// The terms that a product is offered for: its own active ones, else those of
/// the organization; shortest first.
#[must_use]
pub fn offered<'a>(terms: &'a [LeaseTerm], product: ProductPubId) -> Vec<&'a LeaseTerm> {
    let active = |owner: Option<ProductPubId>| {
        let mut found: Vec<&'a LeaseTerm> = terms
            .iter()
            .filter(|term| term.status == LeaseTermStatus::Active && term.product_id == owner)
            .collect();
        found.sort_by_key(|term| term.card.term);
        found
    };
    let own = active(Some(product));
    // A product whose own terms are all inactive is offered for none of them, and
    // still not for the organization's: it was taken out of the common offer.
    if own.is_empty() && !terms.iter().any(|term| term.product_id == Some(product)) {
        active(None)
    } else {
        own
    }
}
