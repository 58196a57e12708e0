//! What a checkout waits for.

use crate::address::Address;
use crate::names::named_enum;
use crate::organization::NotServed;

named_enum! {
    /// What a checkout waits for.
    pub enum WaitlistReason {
        /// Stock, or the product to be offered.
        Inventory = "inventory",
        /// The organization to serve the address.
        Location = "location",
    }
}

/// What a checkout waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Waitlist {
    /// Stock or location.
    pub reason: WaitlistReason,
    /// The address that is not served, when all of it is known: a country may be enough to wait.
    pub address: Option<Address>,
    /// Why it is not served.
    pub reason_code: Option<NotServed>,
}

impl Waitlist {
    /// For stock, or for the product to be offered.
    #[must_use]
    pub const fn for_stock() -> Self {
        Self {
            reason: WaitlistReason::Inventory,
            address: None,
            reason_code: None,
        }
    }

    /// For the organization to serve the address.
    #[must_use]
    pub const fn for_service(address: Option<Address>, code: NotServed) -> Self {
        Self {
            reason: WaitlistReason::Location,
            address,
            reason_code: Some(code),
        }
    }
}
