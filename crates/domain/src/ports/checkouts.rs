//! The store of checkouts.

use async_trait::async_trait;

use super::{Page, SortOrder, StoreError};
use crate::access::Mode;
use crate::catalog::{Product, ProductVariant};
use crate::checkout::{Checkout, Lifecycle, Tracking, Transition, WaitlistReason, WayOut};
use crate::credit::Qualification;
use crate::ids::{
    CheckoutPubId, CustomerPubId, LeaseTermPubId, OrganizationId, ProductVariantPubId,
};
use crate::lease_term::LeaseTerm;
use crate::metadata::Metadata;
use crate::names::named_enum;
use crate::organization::Organization;
use crate::text::ExternalId;
use crate::time::{Day, Span, Timestamp};

/// Whose checkouts or customers, and of which mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scope {
    pub organization_id: OrganizationId,
    /// Live or sandbox.
    pub mode: Mode,
}

impl From<&Checkout> for Scope {
    fn from(checkout: &Checkout) -> Self {
        Self {
            organization_id: checkout.organization_id,
            mode: checkout.mode,
        }
    }
}

/// What became of a new checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InsertedCheckout {
    /// It was kept.
    New,
    /// There is one for the same order, or one of the customer for the variant and term that is
    /// no lease yet.
    Existing(Box<Checkout>),
}

/// What the address of a checkout's page says: the page's nonce, and what speaks for whoever has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageToken {
    /// It was derived under a key at hand: nobody else could have named the nonce with it.
    Proven {
        /// The page's nonce.
        nonce: [u8; 16],
    },
    /// Nothing at hand proves it: it opens the page if it is one of those that are kept.
    Unproven {
        /// The page's nonce.
        nonce: [u8; 16],
        /// The token's SHA-256.
        hash: [u8; 32],
    },
}

/// Which checkouts a list shows; what is empty filters nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CheckoutFilter {
    /// This one.
    pub id: Option<CheckoutPubId>,
    /// Of this customer.
    pub customer: Option<CustomerPubId>,
    /// In these states.
    pub lifecycles: Vec<Lifecycle>,
    /// Waiting for this.
    pub waitlist_reason: Option<WaitlistReason>,
    /// Of this order.
    pub external_order_id: Option<ExternalId>,
    /// Those that a person must look at, or those that nobody must.
    pub needs_attention: Option<bool>,
    /// Made within.
    pub created: Span,
    /// Last changed within.
    pub updated: Span,
    /// With all of these metadata.
    pub metadata: Metadata,
}

named_enum! {
    /// What checkouts are sorted by; ties go by id.
    #[derive(Default)]
    pub enum CheckoutSort {
        /// When they were made.
        #[default]
        CreatedAt = "createdAt",
        /// When they last changed.
        UpdatedAt = "updatedAt",
        /// The names of their states.
        Lifecycle = "lifecycle",
        /// The caller's order ids; those without one last.
        ExternalOrderId = "externalOrderId",
        /// When their leases began; those without one last.
        LeaseStartDate = "leaseStartDate",
    }
}

/// What checkouts of an organization are shown with.
#[derive(Debug, Clone, PartialEq)]
pub struct Surroundings {
    /// Whose they are.
    pub organization: Organization,
    /// Its terms, as [`LeaseTermStore::list`](super::LeaseTermStore::list) gives them.
    pub terms: Vec<LeaseTerm>,
    /// The variants that were asked for, archived or not, with their products.
    pub variants: Vec<(ProductVariant, Product)>,
    /// The latest decision for each of the checkouts that has one, as
    /// [`QualificationStore::latest`](super::QualificationStore::latest) gives them.
    pub decided: Vec<Qualification>,
}

/// A transition with its place in the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The number in the checkout's history, from 1.
    pub sequence: i64,
    pub transition: Transition,
}

/// Checkouts.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait CheckoutStore: Send {
    /// Keeps a new checkout with its items, unless there is one of the same order, customer,
    /// variant and term, in whatever state, or one of the same mode, customer, variant and term
    /// that has not ended and is no lease yet: under any race there is one. Its page opens to the tokens of these
    /// SHA-256, as after [`set_page_tokens`](Self::set_page_tokens).
    ///
    /// # Errors
    /// [`StoreError::Conflict`] of the external order id that another wish has.
    async fn insert(
        &mut self,
        checkout: &Checkout,
        page_tokens: &[[u8; 32]],
    ) -> Result<InsertedCheckout, StoreError>;
    /// The checkout of this id.
    async fn get(&mut self, id: CheckoutPubId) -> Result<Option<Checkout>, StoreError>;
    /// The checkout of this id, and what it is shown with but for what it leases: all of it is asked for at once.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is the checkout, and no such organization.
    async fn get_with_surroundings(
        &mut self,
        organization: OrganizationId,
        id: CheckoutPubId,
    ) -> Result<Option<(Checkout, Surroundings)>, StoreError>;
    /// What the checkouts are shown with, and these variants: all that is asked for of several at once.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such organization.
    async fn surroundings(
        &mut self,
        organization: OrganizationId,
        checkouts: &[CheckoutPubId],
        variants: &[ProductVariantPubId],
    ) -> Result<Surroundings, StoreError>;
    /// The checkout whose page the token opens.
    async fn find_by_page_token(
        &mut self,
        token: &PageToken,
    ) -> Result<Option<Checkout>, StoreError>;
    /// Says which tokens open the checkout's page without a proof, by their SHA-256: no others do
    /// from then on.
    async fn set_page_tokens(
        &mut self,
        id: CheckoutPubId,
        hashes: &[[u8; 32]],
    ) -> Result<(), StoreError>;
    /// Ends the address that the checkout's page has now: its tokens are known as ended from then on. Whoever
    /// calls it gives the page another nonce by an update in the same unit of work. Again for the same
    /// address it changes nothing.
    async fn end_page(&mut self, id: CheckoutPubId, at: Timestamp) -> Result<(), StoreError>;
    /// Notes that the customer's browser is sent to where the way out leads. False when that is where
    /// it was sent last.
    async fn note_way_out(&mut self, id: CheckoutPubId, way: WayOut) -> Result<bool, StoreError>;
    /// Where the customer's browser was sent last.
    async fn last_way_out(&mut self, id: CheckoutPubId) -> Result<Option<WayOut>, StoreError>;
    /// The customer's checkout of the variant and term that has not ended: the one that is no
    /// lease yet, else the newest lease.
    async fn find_open(
        &mut self,
        scope: Scope,
        customer: CustomerPubId,
        variant: ProductVariantPubId,
        term: Option<LeaseTermPubId>,
    ) -> Result<Option<Checkout>, StoreError>;
    /// The organization's checkout of this order in the mode.
    async fn find_by_external_order(
        &mut self,
        scope: Scope,
        id: &ExternalId,
    ) -> Result<Option<Checkout>, StoreError>;
    /// The checkouts with this tracking number that were not ended, newest first.
    async fn find_by_tracking(
        &mut self,
        tracking: &Tracking,
    ) -> Result<Vec<CheckoutPubId>, StoreError>;
    /// The customer's checkouts in these states, oldest first.
    async fn of_customer(
        &mut self,
        mode: Mode,
        customer: CustomerPubId,
        states: &[Lifecycle],
    ) -> Result<Vec<CheckoutPubId>, StoreError>;
    /// A page of the checkouts of the scope.
    async fn list(
        &mut self,
        scope: Scope,
        filter: &CheckoutFilter,
        sort: CheckoutSort,
        order: SortOrder,
        page: Page,
    ) -> Result<Vec<Checkout>, StoreError>;
    /// How many checkouts the filter shows, counted up to `most`.
    async fn count(
        &mut self,
        scope: Scope,
        filter: &CheckoutFilter,
        most: u64,
    ) -> Result<u64, StoreError>;
    /// How many checkouts of the scope there are in each state that any is in, in the order of the states.
    async fn count_by_state(&mut self, scope: Scope) -> Result<Vec<(Lifecycle, u64)>, StoreError>;
    /// The checkout, locked until the end of the unit of work.
    async fn lock(&mut self, id: CheckoutPubId) -> Result<Option<Checkout>, StoreError>;
    /// Writes the checkout and its items if its version is still the stored one,
    /// and counts the version up.
    ///
    /// # Errors
    /// [`StoreError::Stale`], [`StoreError::Missing`],
    /// [`StoreError::Conflict`] of the open checkout (another term was chosen that
    /// the customer has a running checkout for) or the external order id.
    async fn update(&mut self, checkout: &mut Checkout) -> Result<(), StoreError>;
    /// Adds transitions to the checkout's history.
    async fn record(
        &mut self,
        id: CheckoutPubId,
        transitions: &[Transition],
    ) -> Result<(), StoreError>;
    /// The checkout's history, oldest first.
    async fn history(&mut self, id: CheckoutPubId) -> Result<Vec<HistoryEntry>, StoreError>;
    /// Up to so many of the mode's checkouts that wait for the variant's stock, locked,
    /// those with a deposit first, then in the order in which they began to wait.
    async fn lock_waiting_for_stock(
        &mut self,
        variant: ProductVariantPubId,
        mode: Mode,
        limit: u32,
    ) -> Result<Vec<Checkout>, StoreError>;
    /// The first of the mode's checkouts that wait for the variant's stock, as it stands; not locked.
    async fn first_waiting_for_stock(
        &mut self,
        variant: ProductVariantPubId,
        mode: Mode,
    ) -> Result<Option<Checkout>, StoreError>;
    /// Up to so many of the organization's checkouts that wait for their location,
    /// after the given one, in the order in which they began to wait.
    async fn waiting_for_location(
        &mut self,
        organization: OrganizationId,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError>;
    /// Which in the line the checkout is, from 1: of the mode's checkouts that wait for the variant's stock,
    /// in the order of [`lock_waiting_for_stock`](Self::lock_waiting_for_stock), or of those of its
    /// organization and mode that wait for their location. None while it waits for nothing.
    async fn place_in_line(&mut self, id: CheckoutPubId) -> Result<Option<u64>, StoreError>;
    /// Checkouts in states that [expire](Lifecycle::expires), and not signed, whose customer last did
    /// something before the time, longest ago first.
    async fn untouched_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError>;
    /// Running checkouts with an authorized, not captured deposit that lapses before the time, after
    /// the given one, by id.
    async fn lapsing_before(
        &mut self,
        before: Timestamp,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError>;
    /// Active leases whose last day is before the day and whose months are all paid, earliest first.
    async fn leases_ended_before(
        &mut self,
        day: Day,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError>;
    /// Checkouts that have not ended, whose subscription was asked for before the time and is not
    /// there, and of which [nobody was told](crate::checkout::AttentionReason::NotBilled); longest ago first.
    async fn unbilled_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError>;
    /// Tracked shipments under way of which the carrier said nothing since the time, and of which
    /// [nobody was told](crate::checkout::AttentionReason::DeliveryOverdue); longest ago first.
    async fn silent_since(
        &mut self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError>;
    /// Up to so many checkouts of the mode whose subscription was asked for, after
    /// the given one, by id.
    async fn billed(
        &mut self,
        mode: Mode,
        after: Option<CheckoutPubId>,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError>;
    /// Tracked shipments that are under way and not delivered, those in an exception
    /// too: those asked for longest ago first, those never asked for before all.
    /// Calling this is asking: the answered ones move to the end of the round.
    async fn under_way(&mut self, limit: u32) -> Result<Vec<CheckoutPubId>, StoreError>;
}
