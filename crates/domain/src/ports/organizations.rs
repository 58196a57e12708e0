//! Stores of organizations and their pickup locations.

use async_trait::async_trait;

use super::StoreError;
use crate::address::Address;
use crate::ids::{
    OftakePartnerId, OrganizationId, OrganizationPubId, OrganizationRef, PickupLocationId,
};
use crate::money::Currency;
use crate::organization::{Organization, PickupLocation, ServiceArea};
use crate::percentage::Percentage;
use crate::text::Name;
use crate::time::Timestamp;

/// An organization that has no number yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrganization {
    /// See [`Organization::pub_id`].
    pub pub_id: OrganizationPubId,
    /// See [`Organization::name`].
    pub name: Name,
    /// See [`Organization::currency`].
    pub currency: Currency,
    /// See [`Organization::discount`].
    pub discount: Percentage,
    /// See [`Organization::service_area`].
    pub service_area: ServiceArea,
    /// See [`Organization::requires_product_review`].
    pub requires_product_review: bool,
    /// See [`Organization::oftake_partner_id`].
    pub oftake_partner_id: OftakePartnerId,
    /// See [`Organization::created_at`].
    pub created_at: Timestamp,
}

/// Organizations.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait OrganizationStore: Send {
    /// Keeps a new organization, and gives it a number.
    async fn insert(&mut self, new: &NewOrganization) -> Result<Organization, StoreError>;
    /// The organization of this number.
    async fn get(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError>;
    /// The organization of this id or number.
    async fn find(&mut self, id: OrganizationRef) -> Result<Option<Organization>, StoreError>;
    /// Every organization, oldest first.
    async fn list(&mut self) -> Result<Vec<Organization>, StoreError>;
    /// The organization, locked until the end of the unit of work.
    async fn lock(&mut self, id: OrganizationId) -> Result<Option<Organization>, StoreError>;
    /// Writes the organization if its version is still the stored one, and counts
    /// the version up.
    ///
    /// # Errors
    /// [`StoreError::Stale`], [`StoreError::Missing`].
    async fn update(&mut self, organization: &mut Organization) -> Result<(), StoreError>;
    /// Counts the committed changes of whatever the organization's prices are made
    /// of: its discount, its products' discounts and states, its variants' prices,
    /// discounts, options, states and identifiers, its lease terms. Stock does not
    /// count. Zero before the first.
    ///
    /// Prices that are read after the revision are at least as new as it: kept
    /// under it, they are out of date exactly when it has moved on.
    async fn pricing_revision(&mut self, organization: OrganizationId) -> Result<i64, StoreError>;
}

/// A pickup location that has no number yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPickupLocation {
    /// See [`PickupLocation::organization_id`].
    pub organization_id: OrganizationId,
    /// See [`PickupLocation::name`].
    pub name: Name,
    /// See [`PickupLocation::address`].
    pub address: Address,
}

/// Pickup locations.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait PickupLocationStore: Send {
    /// Keeps a new pickup location, and gives it a number.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] of [`UniqueField::Name`](super::UniqueField::Name)
    /// when the organization has an active one of the name.
    async fn insert(&mut self, new: &NewPickupLocation) -> Result<PickupLocation, StoreError>;
    /// The organization's pickup location of this number.
    async fn get(
        &mut self,
        organization: OrganizationId,
        id: PickupLocationId,
    ) -> Result<Option<PickupLocation>, StoreError>;
    /// The organization's pickup locations, oldest first.
    async fn list(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Vec<PickupLocation>, StoreError>;
    /// Writes the location.
    ///
    /// # Errors
    /// [`StoreError::Missing`].
    async fn update(&mut self, location: &PickupLocation) -> Result<(), StoreError>;
}
