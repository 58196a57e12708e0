//! Variants: what customers lease.

use super::{OptionSelection, Product, ProductStatus, ProductType};
use crate::access::Mode;
use crate::ids::{OrganizationId, ProductPubId, ProductVariantPubId};
use crate::metadata::Metadata;
use crate::money::Money;
use crate::names::named_enum;
use crate::percentage::Percentage;
use crate::quantity::Quantity;
use crate::text::{self, Description, ExternalId, Name, Sku, Url};
use crate::time::{Span, Timestamp};

/// Why a number is no inventory quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an integer from 0 to 2147483647, or -1 or null to switch inventory tracking off")]
pub struct InventoryError;

/// How many of a variant are still free to promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Inventory {
    /// Not tracked: never runs out.
    Untracked,
    /// So many.
    Tracked(u32),
}

impl Inventory {
    /// From the number of the API: `-1` and nothing switch tracking off.
    ///
    /// # Errors
    /// [`InventoryError`] on other negatives and on more than 2³¹ − 1.
    pub fn from_quantity(quantity: Option<i64>) -> Result<Self, InventoryError> {
        match quantity {
            None | Some(-1) => Ok(Self::Untracked),
            Some(quantity) => u32::try_from(quantity)
                .ok()
                .filter(|quantity| i32::try_from(*quantity).is_ok())
                .map(Self::Tracked)
                .ok_or(InventoryError),
        }
    }

    /// The number of the API: nothing when tracking is off.
    #[must_use]
    pub const fn quantity(self) -> Option<u32> {
        match self {
            Self::Untracked => None,
            Self::Tracked(quantity) => Some(quantity),
        }
    }

    /// Whether one can be promised.
    #[must_use]
    pub const fn has_stock(self) -> bool {
        self.covers(Quantity::ONE)
    }

    /// Whether so many can be promised together.
    #[must_use]
    pub const fn covers(self, quantity: Quantity) -> bool {
        match self {
            Self::Untracked => true,
            Self::Tracked(free) => free >= quantity.get(),
        }
    }
}

/// What is free to promise in each mode: a sandbox checkout takes nothing that somebody pays for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stock {
    /// For live checkouts.
    pub live: Inventory,
    /// For sandbox checkouts.
    pub sandbox: Inventory,
}

impl Stock {
    /// The same in both modes.
    #[must_use]
    pub const fn both(inventory: Inventory) -> Self {
        Self {
            live: inventory,
            sandbox: inventory,
        }
    }

    /// That of a mode.
    #[must_use]
    pub const fn of(self, mode: Mode) -> Inventory {
        match mode {
            Mode::Live => self.live,
            Mode::Sandbox => self.sandbox,
        }
    }

    /// That of a mode, to write.
    pub const fn of_mut(&mut self, mode: Mode) -> &mut Inventory {
        match mode {
            Mode::Live => &mut self.live,
            Mode::Sandbox => &mut self.sandbox,
        }
    }
}

named_enum! {
    /// What became of an attempt to take one unit of stock.
    pub enum StockTaken {
        /// A unit was taken; it comes back on cancel and expiry.
        Taken = "taken",
        /// The variant's stock is not tracked.
        Untracked = "untracked",
        /// None was left.
        NoneLeft = "noneLeft",
    }
}

/// One concrete combination of a product's option values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductVariant {
    pub id: ProductVariantPubId,
    pub product_id: ProductPubId,
    /// Whose it is.
    pub organization_id: OrganizationId,
    pub name: Name,
    /// What it is.
    pub description: Description,
    /// What it chose of each option of its product.
    pub options: Vec<OptionSelection>,
    /// Its price, the MSRP of its leases.
    pub price: Money,
    /// Its discount; none means the product's.
    pub discount: Option<Percentage>,
    pub images: Vec<Url>,
    /// Its stock keeping unit, unique among the organization's variants that are
    /// not archived.
    pub sku: Sku,
    /// The caller's own id of it.
    pub external_id: Option<ExternalId>,
    /// Whether it is offered.
    pub status: ProductStatus,
    /// Whether new checkouts wait.
    pub is_waitlisted: bool,
    /// What is free to promise, by mode.
    pub stock: Stock,
    /// Its model year.
    pub product_year: Option<i32>,
    /// What the caller keeps beside it.
    pub metadata: Metadata,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Counts the writes; a write of another version is refused.
    pub version: i64,
}

/// What every new variant says for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVariant {
    /// Its id.
    pub id: ProductVariantPubId,
    /// Its name.
    pub name: Name,
    /// What it chose of each option of its product.
    pub options: Vec<OptionSelection>,
    /// Its price.
    pub price: Money,
    /// Its stock keeping unit.
    pub sku: Sku,
}

impl ProductVariant {
    /// An active variant of the product, made now: described as the product is, with untracked
    /// stock and without anything that a variant may do without.
    #[must_use]
    pub fn new(product: &Product, new: NewVariant, now: Timestamp) -> Self {
        Self {
            id: new.id,
            product_id: product.id,
            organization_id: product.organization_id,
            name: new.name,
            description: product.description.clone(),
            options: new.options,
            price: new.price,
            discount: None,
            images: Vec::new(),
            sku: new.sku,
            external_id: None,
            status: ProductStatus::Active,
            is_waitlisted: false,
            stock: Stock::both(Inventory::Untracked),
            product_year: None,
            metadata: Metadata::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    /// The id of the variant at the payment processor: chosen by us, so that it
    /// is known before the processor is.
    #[must_use]
    pub fn processor_id(&self) -> String {
        self.id.to_string()
    }

    /// What its product is found by on its account: its sku, folded as a
    /// [`SearchTerm`](text::SearchTerm) is.
    #[must_use]
    pub fn searchable(&self) -> String {
        text::folded(self.sku.as_str())
    }

    /// The discount in force: the variant's, else the product's, else the organization's.
    #[must_use]
    pub fn effective_discount(&self, product: &Product, organization: Percentage) -> Percentage {
        self.discount.or(product.discount).unwrap_or(organization)
    }
}

/// Which of a product's variants a list shows, of those that are not archived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VariantFilter {
    /// Made within.
    pub created: Span,
    /// Last changed within.
    pub updated: Span,
    /// With all of these metadata.
    pub metadata: Metadata,
}

impl VariantFilter {
    /// Whether a list shows the variant.
    #[must_use]
    pub fn shows(&self, variant: &ProductVariant) -> bool {
        variant.status != ProductStatus::Archived
            && self.created.holds(variant.created_at)
            && self.updated.holds(variant.updated_at)
            && variant.metadata.has_all(&self.metadata)
    }
}

/// Why something cannot be leased at all, waiting or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// An add-on comes along with a leased product.
    #[error("is an add-on: it cannot be leased on its own, only come along as a purchase item")]
    AddOn,
    /// Archived for good.
    #[error("is archived and cannot be leased any more")]
    Archived,
}

/// Whether a new checkout goes ahead or waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// Goes ahead.
    Available,
    /// Waits.
    Waitlisted,
}

/// Whether the organization offers the variant: both are active and approved, and neither makes
/// those who come wait. Whether there is stock is another question.
#[must_use]
pub const fn is_offered(product: &Product, variant: &ProductVariant) -> bool {
    is_product_offered(product)
        && matches!(variant.status, ProductStatus::Active)
        && !variant.is_waitlisted
}

/// The part of [`is_offered`] that the product decides.
#[must_use]
pub const fn is_product_offered(product: &Product) -> bool {
    product.is_in_window() && !product.is_waitlisted
}

/// Whether so many of the variant can be leased now, in the mode.
///
/// # Errors
/// [`Unavailable`] when it cannot be leased at all.
pub const fn availability(
    product: &Product,
    variant: &ProductVariant,
    mode: Mode,
    quantity: Quantity,
) -> Result<Availability, Unavailable> {
    if matches!(product.product_type, ProductType::AddOn) {
        return Err(Unavailable::AddOn);
    }
    if matches!(product.status, ProductStatus::Archived)
        || matches!(variant.status, ProductStatus::Archived)
    {
        return Err(Unavailable::Archived);
    }
    if is_offered(product, variant) && variant.stock.of(mode).covers(quantity) {
        Ok(Availability::Available)
    } else {
        Ok(Availability::Waitlisted)
    }
}
