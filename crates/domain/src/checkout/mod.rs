//! The checkout: a customer's way to a lease.
//!
//! [`Checkout::apply`] is the whole of it: given a checkout, something that
//! happened and the circumstances, it changes the checkout and returns the moves
//! it made and the [`Effect`]s that somebody has to carry out. It reads no clock,
//! calls nobody and stores nothing. Which moves there are is one table,
//! [`transition`].

mod apply;
mod diagram;
mod effect;
mod event;
mod parts;
mod progress;
mod state;
mod transitions;

pub use apply::{Applied, Circumstances, Facts, Outcome, Transition, TransitionError};
pub use diagram::{dot, markdown_table, mermaid};
pub use effect::Effect;
pub use event::{Actor, Event, EventKind, Refusal, StockTaken};
pub use parts::{
    CheckoutAddress, CheckoutItem, ChosenTerm, Deposit, FrozenQuote, InsuranceStatus, LeaseDates,
    MilestoneTimes, PaymentFailure, PaymentMethod, PurchaseItem, Recurring, RecurringPaymentStatus,
    Redirects, Return, Shipment, Tracking, Waitlist, WaitlistReason,
};
pub use progress::{Milestone, MilestoneName, Progress, STEPS};
pub use state::{Lifecycle, Phase};
pub use transitions::{Arrow, Move, arrows, arrows_from, moves_of, transition};

use crate::access::Mode;
use crate::address::Address;
use crate::ids::{
    CheckoutPubId, CustomerPubId, OrganizationId, PickupLocationId, ProductPubId,
    ProductVariantPubId, UserId,
};
use crate::money::{Money, MoneyError};
use crate::text::{ExternalId, Line};
use crate::time::Timestamp;

/// The lifecycle of a checkout: it moves by [`Checkout::apply`] alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    lifecycle: Lifecycle,
    previous: Option<Lifecycle>,
}

impl State {
    /// The state of a new checkout.
    #[must_use]
    pub const fn new(lifecycle: Lifecycle) -> Self {
        Self {
            lifecycle,
            previous: None,
        }
    }

    /// The state as a store kept it.
    #[must_use]
    pub const fn restore(lifecycle: Lifecycle, previous: Option<Lifecycle>) -> Self {
        Self {
            lifecycle,
            previous,
        }
    }
}

/// A customer's intent to lease one variant for one term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// Its id.
    pub id: CheckoutPubId,
    /// The lessor.
    pub organization_id: OrganizationId,
    /// Live or sandbox.
    pub mode: Mode,
    /// The lessee.
    pub customer_id: CustomerPubId,
    /// The lessee's number.
    pub user_id: UserId,
    /// The product of the variant.
    pub product_id: ProductPubId,
    /// What is leased.
    pub variant_id: ProductVariantPubId,
    /// The leased things.
    pub items: Vec<CheckoutItem>,
    /// For how long, once it is chosen.
    pub term: Option<ChosenTerm>,
    /// The price, once it is frozen; before, it follows the catalog.
    pub quote: Option<FrozenQuote>,
    /// What is bought along.
    pub purchase_items: Vec<PurchaseItem>,
    /// The caller's order id, unique per organization and mode.
    pub external_order_id: Option<ExternalId>,
    /// Where the browser goes.
    pub redirects: Redirects,
    /// The billing address.
    pub billing: CheckoutAddress,
    /// The shipping address.
    pub shipping: CheckoutAddress,
    /// Where the goods are picked up, instead of being shipped.
    pub pickup_location_id: Option<PickupLocationId>,
    /// Where it stands.
    pub state: State,
    /// The insurance.
    pub insurance: InsuranceStatus,
    /// The deposit.
    pub deposit: Deposit,
    /// Whether a unit of the variant's stock is kept for it.
    pub holds_stock: bool,
    /// The signer's id of the lease document.
    pub lease_document_id: Option<String>,
    /// When the customer signed.
    pub signed_at: Option<Timestamp>,
    /// The recurring payments.
    pub recurring: Recurring,
    /// The way of the goods.
    pub shipment: Shipment,
    /// The way back.
    pub return_: Return,
    /// What it waits for or waited for.
    pub waitlist: Option<Waitlist>,
    /// The lease's first and last day.
    pub lease: LeaseDates,
    /// When the milestones were reached.
    pub milestones: MilestoneTimes,
    /// Why it was called off.
    pub cancel_reason: Option<Line>,
    /// What the page's token is derived from; a new one revokes the page's URL.
    pub page_nonce: [u8; 16],
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Counts the writes; a write of another version is refused.
    pub version: i64,
}

impl Checkout {
    /// Where the checkout stands.
    #[must_use]
    pub const fn lifecycle(&self) -> Lifecycle {
        self.state.lifecycle
    }

    /// Where it stood before its last move.
    #[must_use]
    pub const fn previous_lifecycle(&self) -> Option<Lifecycle> {
        self.state.previous
    }

    /// The address that decides whether the organization serves the customer:
    /// shipping, else the profile's, else billing.
    #[must_use]
    pub fn served_address<'a>(&'a self, profile: Option<&'a Address>) -> Option<&'a Address> {
        self.shipping
            .address
            .as_ref()
            .or(profile)
            .or(self.billing.address.as_ref())
    }

    /// What the purchase items cost together.
    ///
    /// # Errors
    /// [`MoneyError`] when it is more than can be counted.
    pub fn purchase_total(&self, zero: Money) -> Result<Money, MoneyError> {
        self.purchase_items
            .iter()
            .try_fold(zero, |sum, item| sum.checked_add(item.total()?))
    }

    /// Whether the recurring payments have a failure that was not made good, or one
    /// that the customer's bank contests.
    #[must_use]
    pub const fn has_failed_payments(&self) -> bool {
        self.recurring.failure_count > 0 || self.recurring.dispute_id.is_some()
    }
}
