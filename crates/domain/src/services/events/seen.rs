//! What a unit of work has read and written, as far as anybody is told of it.

use std::collections::BTreeMap;

use super::names::Booked;
use crate::access::Mode;
use crate::catalog::{Inventory, Product, ProductVariant};
use crate::checkout::{Checkout, Transition};
use crate::credit::Qualification;
use crate::customer::Customer;
use crate::ids::{
    CheckoutPubId, CustomerPubId, LeaseTermPubId, OrganizationId, ProductPubId,
    ProductVariantPubId, WebhookEndpointPubId,
};
use crate::lease_term::LeaseTerm;
use crate::ledger::Entry;
use crate::organization::Organization;
use crate::ports::Surroundings;
use crate::services::checkouts::Rates;
use crate::webhooks::WebhookEndpoint;

/// Something whose writes are counted.
pub(super) trait Counted: Clone {
    fn version(&self) -> i64;
}

macro_rules! counted {
    ($($entity:ident,)*) => {$(
        impl Counted for $entity {
            fn version(&self) -> i64 {
                self.version
            }
        }
    )*};
}

counted! { Product, ProductVariant, Customer, LeaseTerm, Checkout, WebhookEndpoint, }

/// A record that was written.
#[derive(Debug)]
pub(super) struct Written<E> {
    /// The how many-th of all records it was.
    pub(super) turn: usize,
    /// As it was before the unit of work; none for one that was not there.
    pub(super) before: Option<E>,
    /// As it was written last; none for one that is gone.
    pub(super) after: Option<E>,
}

/// Those of a kind. A map makes room for ten neighbours of whatever it keeps, and a unit of work mostly keeps one.
pub(super) type AllWritten<I, E> = BTreeMap<I, Box<Written<E>>>;

/// The records of a kind.
#[derive(Debug)]
pub(super) struct Kept<I, E> {
    read: BTreeMap<I, Box<E>>,
    written: AllWritten<I, E>,
}

impl<I, E> Default for Kept<I, E> {
    fn default() -> Self {
        Self {
            read: BTreeMap::new(),
            written: BTreeMap::new(),
        }
    }
}

impl<I: Ord + Copy, E: Counted> Kept<I, E> {
    /// It was read, or locked.
    pub(super) fn note(&mut self, id: I, entity: &E) {
        if !self.written.contains_key(&id) {
            self.read.insert(id, Box::new(entity.clone()));
        }
    }

    pub(super) fn is_written(&self, id: I) -> bool {
        self.written.contains_key(&id)
    }

    /// What was read of it, for one who is about to write it. A write of this version succeeds only where that is what
    /// is stored, so that it is what was there before.
    pub(super) fn take(&mut self, id: I, version: i64) -> Option<E> {
        let read = self.read.remove(&id).map(|read| *read);
        read.filter(|read| read.version() == version)
    }

    /// What is stored of it, as far as the unit of work knows: as it was written last, else as it was read.
    pub(super) fn known(&self, id: I) -> Option<&E> {
        match self.written.get(&id) {
            Some(written) => written.after.as_ref(),
            None => self.read.get(&id).map(Box::as_ref),
        }
    }

    fn write(&mut self, turn: usize, id: I, before: Option<E>, after: Option<E>) {
        self.read.remove(&id);
        match self.written.get_mut(&id) {
            Some(written) => written.after = after,
            None => {
                self.written.insert(
                    id,
                    Box::new(Written {
                        turn,
                        before,
                        after,
                    }),
                );
            }
        }
    }

    pub(super) fn into_written(self) -> AllWritten<I, E> {
        self.written
    }
}

/// What became of a variant's stock in a mode: how many were put back, less those that were taken.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StockMoved {
    pub(super) live: i64,
    pub(super) sandbox: i64,
}

impl StockMoved {
    const fn of_mut(&mut self, mode: Mode) -> &mut i64 {
        match mode {
            Mode::Live => &mut self.live,
            Mode::Sandbox => &mut self.sandbox,
        }
    }

    /// The variant as it was before its stock moved.
    pub(super) fn undone(self, mut variant: ProductVariant) -> ProductVariant {
        for (mode, moved) in [(Mode::Live, self.live), (Mode::Sandbox, self.sandbox)] {
            if let Inventory::Tracked(quantity) = variant.stock.of(mode) {
                let before = i64::from(quantity).saturating_sub(moved);
                let before = u32::try_from(before).unwrap_or_default();
                *variant.stock.of_mut(mode) = Inventory::Tracked(before);
            }
        }
        variant
    }
}

/// All of it, of one organization.
#[derive(Debug, Default)]
pub(super) struct Seen {
    turns: usize,
    pub(super) organization: Option<Organization>,
    pub(super) products: Kept<ProductPubId, Product>,
    pub(super) variants: Kept<ProductVariantPubId, ProductVariant>,
    pub(super) stock: BTreeMap<ProductVariantPubId, (usize, StockMoved)>,
    pub(super) customers: Kept<CustomerPubId, Customer>,
    pub(super) terms: Kept<LeaseTermPubId, LeaseTerm>,
    pub(super) endpoints: Kept<WebhookEndpointPubId, WebhookEndpoint>,
    pub(super) checkouts: Kept<CheckoutPubId, Checkout>,
    pub(super) moves: BTreeMap<CheckoutPubId, Vec<Transition>>,
    pub(super) booked: BTreeMap<CheckoutPubId, (usize, Vec<Booked>)>,
    /// What is known of things at the processor, by their ids.
    pub(super) rows: BTreeMap<String, Option<Entry>>,
    /// What counted of the checkout's credit before that was written.
    pub(super) decided: BTreeMap<CheckoutPubId, (usize, Option<Qualification>)>,
    /// What was decided last, where it was read or cannot be otherwise.
    pub(super) latest: BTreeMap<CheckoutPubId, Option<Qualification>>,
    /// What open checkouts were priced by, until something of the catalog was written.
    pub(super) rates: Option<Rates>,
    /// Whether something was written past these stores, so that what was read is not to be read from here.
    pub(super) is_outdated: bool,
}

macro_rules! writes {
    ($($write:ident to $kept:ident of $entity:ident by $id:ident $(and $forget:ident)?;)*) => {$(
        pub(super) fn $write(
            &mut self,
            id: $id,
            before: Option<$entity>,
            after: Option<$entity>,
        ) {
            $(self.$forget = None;)?
            let turn = self.turn();
            self.$kept.write(turn, id, before, after);
        }
    )*};
}

impl Seen {
    fn turn(&mut self) -> usize {
        self.turns = self.turns.saturating_add(1);
        self.turns
    }

    writes! {
        write_product to products of Product by ProductPubId and rates;
        write_customer to customers of Customer by CustomerPubId;
        write_term to terms of LeaseTerm by LeaseTermPubId and rates;
        write_checkout to checkouts of Checkout by CheckoutPubId;
        write_endpoint to endpoints of WebhookEndpoint by WebhookEndpointPubId;
    }

    /// The variant was written. What was read of it may have shown what the work took of its stock.
    pub(super) fn write_variant(
        &mut self,
        id: ProductVariantPubId,
        before: Option<ProductVariant>,
        after: Option<ProductVariant>,
    ) {
        let moved = self.stock.get(&id).map(|(_, moved)| *moved);
        let before = match moved {
            Some(moved) => before.map(|before| moved.undone(before)),
            None => before,
        };
        self.rates = None;
        let turn = self.turn();
        self.variants.write(turn, id, before, after);
    }

    /// The organization, where it was read.
    pub(super) fn organization(&self, id: OrganizationId) -> Option<&Organization> {
        let known = self.organization.as_ref();
        known.filter(|known| known.id == id && !self.is_outdated)
    }

    /// The customer, where it was read.
    pub(super) fn customer(&self, id: CustomerPubId) -> Option<&Customer> {
        let known = self.customers.known(id);
        known.filter(|_| !self.is_outdated)
    }

    /// The checkout, where it was read.
    pub(super) fn checkout(&self, id: CheckoutPubId) -> Option<&Checkout> {
        let known = self.checkouts.known(id);
        known.filter(|_| !self.is_outdated)
    }

    /// What was decided last of these, where it was read of each.
    pub(super) fn decisions(&self, checkouts: &[CheckoutPubId]) -> Option<Vec<Qualification>> {
        let decided = checkouts.iter().map(|id| self.latest.get(id));
        let decided: Option<Vec<_>> = decided.collect();
        let decided = decided.filter(|_| !self.is_outdated)?;
        Some(decided.into_iter().flatten().cloned().collect())
    }

    /// What prices are made of but for variants, where it was read.
    pub(super) fn terms(&self, id: OrganizationId) -> Option<(Organization, Vec<LeaseTerm>)> {
        let rates = self.rates.as_ref();
        let rates = rates.filter(|rates| rates.organization.id == id && !self.is_outdated)?;
        Some((rates.organization.clone(), rates.terms.clone()))
    }

    /// The variants with their products, where both were read.
    pub(super) fn leased(
        &self,
        variants: &[ProductVariantPubId],
    ) -> Option<Vec<(ProductVariant, Product)>> {
        if self.is_outdated {
            return None;
        }
        let leased = |id: &ProductVariantPubId| {
            // How many there are changes with what is taken of them.
            if self.stock.contains_key(id) {
                return None;
            }
            let rates = self.rates.as_ref();
            let priced = rates.and_then(|rates| rates.variants.get(id));
            let read = || {
                let variant = self.variants.known(*id)?;
                let product = self.products.known(variant.product_id)?;
                Some((variant.clone(), product.clone()))
            };
            priced.cloned().or_else(read)
        };
        variants.iter().map(leased).collect()
    }

    /// What the checkouts are shown with, where all of it was read.
    pub(super) fn surroundings(
        &self,
        organization: OrganizationId,
        checkouts: &[CheckoutPubId],
        variants: &[ProductVariantPubId],
    ) -> Option<Surroundings> {
        let (organization, terms) = self.terms(organization)?;
        Some(Surroundings {
            organization,
            terms,
            variants: self.leased(variants)?,
            decided: self.decisions(checkouts)?,
        })
    }

    /// These were decided last of the checkouts, and nothing of the others.
    pub(super) fn read_decisions(
        &mut self,
        checkouts: &[CheckoutPubId],
        decided: &[Qualification],
    ) {
        for id in checkouts {
            let its = decided.iter().find(|it| it.checkout == *id);
            self.latest.insert(*id, its.cloned());
        }
    }

    /// Something was priced by these terms of the organization.
    pub(super) fn read_terms(&mut self, organization: &Organization, terms: &[LeaseTerm]) {
        self.rates = Some(Rates {
            organization: organization.clone(),
            terms: terms.to_vec(),
            variants: BTreeMap::new(),
        });
    }

    /// Something was priced as these are.
    pub(super) fn read_leased(&mut self, leased: &[(ProductVariant, Product)]) {
        if let Some(rates) = &mut self.rates {
            let leased = leased.iter().map(|one| (one.0.id, one.clone()));
            rates.variants.extend(leased);
        }
    }

    /// So many of the variant were put back, or taken.
    pub(super) fn move_stock(&mut self, id: ProductVariantPubId, mode: Mode, units: i64) {
        let turn = self.turn();
        let (_, moved) = self
            .stock
            .entry(id)
            .or_insert((turn, StockMoved::default()));
        let moved = moved.of_mut(mode);
        *moved = moved.saturating_add(units);
    }

    /// The checkout made these moves.
    pub(super) fn moved(&mut self, id: CheckoutPubId, transitions: &[Transition]) {
        self.moves
            .entry(id)
            .or_default()
            .extend_from_slice(transitions);
    }

    /// A row of the checkout's ledger was written.
    pub(super) fn book(&mut self, id: CheckoutPubId, row: Booked) {
        let turn = self.turn();
        let (_, rows) = self.booked.entry(id).or_insert((turn, Vec::new()));
        match rows.iter_mut().find(|known| known.after.id == row.after.id) {
            Some(known) => known.after = row.after,
            None => rows.push(row),
        }
    }

    /// Something is decided about the checkout's credit; before, this counted.
    pub(super) fn decide(&mut self, id: CheckoutPubId, before: Option<Qualification>) {
        let turn = self.turn();
        self.decided.entry(id).or_insert((turn, before));
        self.latest.remove(&id);
    }

    /// Whether nobody has to be told of anything.
    pub(super) fn is_quiet(&self) -> bool {
        self.turns == 0
    }
}
