//! The checkout: all that it knows, and that nobody but its own methods changes it.

use std::ops::Deref;

use super::parts::Attention;
use super::parts::{
    Acceptance, AttentionReason, Billing, CheckoutAddress, CheckoutItem, ChosenTerm, Deposit,
    InsuranceStatus, LeaseDates, MilestoneTimes, PurchaseItem, Recurring, Redirects, Return,
    Shipment, Waitlist, WayOut,
};
use super::state::{Lifecycle, State};
use crate::access::Mode;
use crate::address::Address;
use crate::customer::Profile;
use crate::ids::{
    CheckoutPubId, CustomerPubId, OrganizationId, PickupLocationId, ProductPubId,
    ProductVariantPubId, UserId,
};
use crate::metadata::Metadata;
use crate::money::{Money, MoneyError};
use crate::pricing::Quote;
use crate::quantity::Quantity;
use crate::text::{ExternalId, Line};
use crate::time::Timestamp;

/// Why checkouts were called off whose customer was erased: it tells of no person, and stays.
pub const CANCELLED_BY_ERASURE: &str = "the customer was erased";

/// All that a [`Checkout`](super::Checkout) knows. A checkout is read as one and changed by its
/// own methods alone; a store takes one apart into its tables and puts it together again with
/// [`Checkout::restore`](super::Checkout::restore).
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct Snapshot {
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
    /// The leased things, one for each unit.
    pub items: Vec<CheckoutItem>,
    /// For how long, once it is chosen.
    pub term: Option<ChosenTerm>,
    /// The price of all items together, frozen when the deposit is submitted; before, it follows the
    /// catalog.
    pub quote: Option<Quote>,
    /// That the customer accepted term and price, once they did.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub accepted: Option<Acceptance>,
    /// What is bought along.
    pub purchase_items: Vec<PurchaseItem>,
    /// The caller's order id, unique per organization and mode.
    pub external_order_id: Option<ExternalId>,
    /// Where the browser goes.
    pub redirects: Redirects,
    /// The customer's name and address as this checkout gave them, by its page or by whoever made it:
    /// what its page may show of the customer, and change. What an older record holds is none of its
    /// affair.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub given_profile: Option<Profile>,
    /// The billing address.
    pub billing: CheckoutAddress,
    /// The shipping address.
    pub shipping: CheckoutAddress,
    /// Where the goods are picked up, instead of being shipped.
    pub pickup_location_id: Option<PickupLocationId>,
    /// Where it stands.
    pub state: State,
    pub insurance: InsuranceStatus,
    /// When a verification session was asked for that is not open yet.
    pub identity_requested_at: Option<Timestamp>,
    /// The processor's id of the method that the customer named to pay the deposit.
    pub deposit_method_id: Option<String>,
    /// When the deposit was last submitted: the processor may hold something since.
    pub deposit_submitted_at: Option<Timestamp>,
    pub deposit: Deposit,
    /// When the capture was asked for that is not answered yet.
    pub capture_requested_at: Option<Timestamp>,
    /// Whether as many units of the variant's stock as it leases are kept for it.
    pub holds_stock: bool,
    /// The id of the lease document that is to be signed, or was.
    pub lease_document_id: Option<String>,
    /// When the customer signed.
    pub signed_at: Option<Timestamp>,
    /// The recurring payments.
    pub recurring: Recurring,
    /// The way of the goods.
    pub shipment: Shipment,
    /// The way back.
    #[cfg_attr(feature = "serde", serde(rename = "return"))]
    pub return_: Return,
    /// What it waits for or waited for.
    pub waitlist: Option<Waitlist>,
    /// The lease's first and last day.
    pub lease: LeaseDates,
    /// When the milestones were reached.
    pub milestones: MilestoneTimes,
    /// Why it was called off.
    pub cancel_reason: Option<Line>,
    /// What the caller keeps beside it.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Metadata::is_empty")
    )]
    pub metadata: Metadata,
    /// What the page's token is derived from; a new one revokes the page's URL.
    pub page_nonce: [u8; 16],
    /// Why a person must look at it, in the order of the reasons.
    pub attention: Vec<Attention>,
    /// When the customer last did something: one that they leave alone expires.
    pub acted_at: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Counts the writes; a write of another version is refused.
    pub version: i64,
}

impl Snapshot {
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

    /// How many of the variant are leased.
    #[must_use]
    pub fn quantity(&self) -> Quantity {
        // No checkout that is opened or read has fewer or more items than can be leased.
        Quantity::of_list(&self.items).unwrap_or(Quantity::ONE)
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

    /// How it turned out for the customer's browser, once it did.
    #[must_use]
    pub const fn way_out(&self) -> Option<WayOut> {
        match self.lifecycle() {
            Lifecycle::Cancelled => Some(WayOut::Cancel),
            Lifecycle::Expired | Lifecycle::IdentityFailed | Lifecycle::QualificationFailed => {
                Some(WayOut::Failure)
            }
            state if state.is_confirmed() => Some(WayOut::Success),
            _ => None,
        }
    }

    /// Whether the customer, on the page, chooses between lease terms: until the lease is accepted.
    #[must_use]
    pub fn offers_terms(&self) -> bool {
        let state = self.lifecycle();
        let is_accepted = state.rank() >= Lifecycle::DepositPending.rank();
        let is_before = state.is_waitlisted() || !is_accepted;
        is_before && !state.is_ended() && self.quote.is_none() && self.deposit == Deposit::Open
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

    /// The same without what tells of the customer's person: addresses, what people wrote, who signed
    /// for the goods and what pays. What was ordered, when and for how much tells of nobody.
    #[must_use]
    pub fn without_person(&self) -> Self {
        let mut rest = self.clone();
        rest.redirects = Redirects::default();
        rest.given_profile = None;
        rest.billing = CheckoutAddress::default();
        rest.shipping = CheckoutAddress::default();
        rest.deposit_method_id = None;
        rest.recurring.method = None;
        rest.recurring.last_failure = None;
        rest.shipment.signed_by = None;
        rest.return_.reason = None;
        rest.return_.notes = None;
        rest.metadata = Metadata::default();
        if let Some(waitlist) = &mut rest.waitlist {
            waitlist.address = None;
        }
        if rest
            .cancel_reason
            .as_ref()
            .is_some_and(|reason| reason.as_str() != CANCELLED_BY_ERASURE)
        {
            rest.cancel_reason = None;
        }
        // Which work was refused is said before the processor's own words.
        for attention in &mut rest.attention {
            if attention.reason == AttentionReason::ProcessorRefused
                && let Some((work, _)) = attention
                    .detail
                    .as_deref()
                    .unwrap_or_default()
                    .split_once(": ")
            {
                attention.detail = Some(work.to_owned());
            }
        }
        rest
    }

    /// Whether the recurring payments have a failure that was not made good, or one
    /// that the customer's bank contests.
    #[must_use]
    pub const fn has_failed_payments(&self) -> bool {
        self.recurring.failure_count > 0 || self.recurring.dispute_id.is_some()
    }

    /// Whether its parts fit each other.
    ///
    /// # Errors
    /// [`Unfit`], which no checkout that was changed by its own methods alone ever is.
    fn check(&self) -> Result<(), Unfit> {
        let state = self.lifecycle();
        if Quantity::of_list(&self.items).is_err() {
            return Err(Unfit::new("items", state, "from 1 to 50 are leased"));
        }
        let waits_for = self.waitlist.as_ref().map(|waitlist| waitlist.reason);
        let needed = state.waits_for();
        if needed.is_some() && waits_for != needed {
            return Err(Unfit::new(
                "waitlist",
                state,
                "says nothing of what it waits for",
            ));
        }
        if self.holds_stock && !state.may_hold_stock() {
            return Err(Unfit::new("holds_stock", state, "no unit is held here"));
        }
        if state.is_confirmed() && !self.deposit.is_settled() {
            return Err(Unfit::new(
                "deposit",
                state,
                "is neither captured nor waived",
            ));
        }
        if state == Lifecycle::Shipped && self.shipment.shipped_at.is_none() {
            return Err(Unfit::new("shipped_at", state, "is missing"));
        }
        if state.is_leased() {
            if self.quote.is_none() {
                return Err(Unfit::new("quote", state, "a lease runs at a frozen price"));
            }
            if self.recurring.billing == Billing::NotRequested {
                return Err(Unfit::new("billing", state, "nobody has asked for it"));
            }
            if self.lease.start.is_none() {
                return Err(Unfit::new("lease", state, "its first day is missing"));
            }
        }
        Ok(())
    }
}

/// What is stored does not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{part} of a checkout that is {state}: {problem}")]
pub struct Unfit {
    /// The part that does not fit.
    pub part: &'static str,
    /// Where the checkout stands.
    pub state: Lifecycle,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl Unfit {
    const fn new(part: &'static str, state: Lifecycle, problem: &'static str) -> Self {
        Self {
            part,
            state,
            problem,
        }
    }
}

/// A customer's intent to lease one variant for one term.
///
/// It is read as its [`Snapshot`] and changed by its methods alone:
///
/// ```compile_fail
/// fn hand_over(checkout: &mut lessor_domain::checkout::Checkout) {
///     checkout.holds_stock = false;
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Snapshot", into = "Snapshot"))]
pub struct Checkout(pub(super) Snapshot);

impl Deref for Checkout {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.0
    }
}

impl Checkout {
    /// The checkout as a store kept it.
    ///
    /// # Errors
    /// [`Unfit`] when the parts contradict each other, as they do in no checkout that was changed
    /// by its own methods alone.
    pub fn restore(snapshot: Snapshot) -> Result<Self, Unfit> {
        snapshot.check()?;
        Ok(Self(snapshot))
    }

    /// The checkout, to be taken apart.
    #[must_use]
    pub fn into_snapshot(self) -> Snapshot {
        self.0
    }

    /// What the caller keeps beside it, from now on.
    pub fn annotate(&mut self, metadata: Metadata, at: Timestamp) {
        self.0.metadata = metadata;
        self.0.changed(at);
    }

    /// Gives its page another address: who has the old one is not let in any more.
    pub fn relink(&mut self, page_nonce: [u8; 16], at: Timestamp) {
        self.0.page_nonce = page_nonce;
        self.0.changed(at);
    }

    /// Keeps the customer's name and address as its page gives them. False when they are kept already.
    pub fn keep_given_profile(&mut self, profile: Profile, at: Timestamp) -> bool {
        let is_news = self.0.given_profile.as_ref() != Some(&profile);
        if is_news {
            self.0.given_profile = Some(profile);
            self.0.changed(at);
        }
        is_news
    }

    /// Takes away [what tells of the customer's person](Snapshot::without_person), once the checkout has
    /// ended. False when nothing was left to take, or while it goes on.
    pub fn forget_person(&mut self, at: Timestamp) -> bool {
        if !self.lifecycle().is_ended() {
            return false;
        }
        let mut rest = self.0.without_person();
        rest.review(at);
        if rest == self.0 {
            return false;
        }
        rest.updated_at = at;
        self.0 = rest;
        true
    }

    /// What a store calls when it has written the checkout: the version that it has there.
    pub const fn is_stored_as(&mut self, version: i64) {
        self.0.version = version;
    }
}

impl TryFrom<Snapshot> for Checkout {
    type Error = Unfit;

    fn try_from(snapshot: Snapshot) -> Result<Self, Unfit> {
        Self::restore(snapshot)
    }
}

impl From<Checkout> for Snapshot {
    fn from(checkout: Checkout) -> Self {
        checkout.0
    }
}
