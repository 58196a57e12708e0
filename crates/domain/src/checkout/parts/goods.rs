//! What a checkout carries from its beginning on.

use crate::address::Address;
use crate::ids::{CheckoutItemPubId, LeaseTermId, LeaseTermPubId, ProductVariantPubId};
use crate::lease_term::LeaseTerm;
use crate::money::{Money, MoneyError};
use crate::names::named_enum;
use crate::percentage::TermMonths;
use crate::text::{Line, Name, RedirectUrl, Sku};
use crate::time::Timestamp;

named_enum! {
    /// The insurance of the leased goods.
    pub enum InsuranceStatus {
        /// Not decided.
        Pending = "pending",
        /// Insured.
        Approved = "approved",
        /// Refused by an operator.
        Denied = "denied",
    }
}

/// The lease term that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct ChosenTerm {
    /// Its public id.
    pub id: LeaseTermPubId,
    /// Its number.
    pub lease_term_id: LeaseTermId,
    pub months: TermMonths,
}

impl From<&LeaseTerm> for ChosenTerm {
    fn from(term: &LeaseTerm) -> Self {
        Self {
            id: term.id,
            lease_term_id: term.lease_term_id,
            months: term.card.term,
        }
    }
}

/// The customer's word, on the page, that they lease for the term and price that it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Acceptance {
    /// When they said so last.
    pub at: Timestamp,
    /// Which version of the [text](crate::agreement::ACCEPTANCE_TEXT) about it they read.
    pub version: String,
}

/// One leased thing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct CheckoutItem {
    pub id: CheckoutItemPubId,
    pub variant_id: ProductVariantPubId,
    /// The variant's stock keeping unit when it was ordered.
    pub sku: Sku,
    /// The variant's name when it was ordered.
    pub name: Name,
    /// The serial number of the goods that were shipped.
    pub serial_number: Option<Line>,
}

/// Something bought along with the lease, paid with the deposit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct PurchaseItem {
    /// What it is.
    pub name: Name,
    /// Price of one.
    pub amount: Money,
    /// How many, 1 to 1,000.
    pub quantity: u32,
    /// The add-on variant, if it is one of the catalog.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub variant_id: Option<ProductVariantPubId>,
}

impl PurchaseItem {
    /// Most purchase items of a checkout.
    pub const MAX: usize = 50;
    /// Most of one.
    pub const MAX_QUANTITY: u32 = 1_000;

    /// Price of all of them.
    ///
    /// # Errors
    /// [`MoneyError`] when it is more than can be counted.
    pub fn total(&self) -> Result<Money, MoneyError> {
        self.amount.checked_mul(self.quantity)
    }
}

/// Where the customer's browser goes from the checkout page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, rename_all = "camelCase"))]
pub struct Redirects {
    /// After the confirmation.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub success: Option<RedirectUrl>,
    /// After a cancel.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub cancel: Option<RedirectUrl>,
    /// After a failure.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub failure: Option<RedirectUrl>,
}

named_enum! {
    /// How a checkout turned out for the customer's browser: where it is sent then.
    pub enum WayOut {
        /// The order is confirmed.
        Success = "success",
        /// It was called off.
        Cancel = "cancel",
        /// It expired or was refused.
        Failure = "failure",
    }
}

impl Redirects {
    /// The address of the way out.
    #[must_use]
    pub const fn of(&self, way: WayOut) -> Option<&RedirectUrl> {
        match way {
            WayOut::Success => self.success.as_ref(),
            WayOut::Cancel => self.cancel.as_ref(),
            WayOut::Failure => self.failure.as_ref(),
        }
    }

    /// The addresses that there are.
    pub fn all(&self) -> impl Iterator<Item = &RedirectUrl> {
        [&self.success, &self.cancel, &self.failure]
            .into_iter()
            .flatten()
    }
}

/// An address of a checkout.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct CheckoutAddress {
    /// The address, when it is known.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub address: Option<Address>,
    /// Whether the organization gave it, so that the customer cannot change it.
    pub locked: bool,
}

impl CheckoutAddress {
    /// As it is given with a new checkout: what the organization gives is locked.
    #[must_use]
    pub const fn given(address: Option<Address>) -> Self {
        Self {
            locked: address.is_some(),
            address,
        }
    }
}

/// When the milestones after the confirmation were reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct MilestoneTimes {
    /// The order was confirmed.
    pub confirmed_at: Option<Timestamp>,
    /// The lease became active.
    pub active_at: Option<Timestamp>,
}
