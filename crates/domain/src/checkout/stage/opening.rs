//! From the first visit to the accepted lease: what the customer says and chooses.

use crate::access::Mode;
use crate::address::Address;
use crate::agreement::ACCEPTANCE_VERSION;
use crate::catalog::ProductVariant;
use crate::checkout::event::{Actor, Event};
use crate::checkout::parts::{
    Acceptance, CheckoutAddress, CheckoutItem, ChosenTerm, Deposit, InsuranceStatus, LeaseDates,
    MilestoneTimes, PurchaseItem, Recurring, Redirects, Return, Shipment, Waitlist,
};
use crate::checkout::rule::{Move, rules};
use crate::checkout::snapshot::{Checkout, Snapshot};
use crate::checkout::state::{Lifecycle, State};
use crate::checkout::step::{Facts, Obstacle, Ruling, Step, Told};
use crate::customer::{Customer, Profile};
use crate::ids::{
    CheckoutItemPubId, CheckoutPubId, CustomerPubId, LeaseTermPubId, OrganizationId,
    PickupLocationId, ProductPubId, ProductVariantPubId, UserId,
};
use crate::metadata::Metadata;
use crate::organization::NotServed;
use crate::quantity::Quantity;
use crate::text::ExternalId;
use crate::time::Timestamp;

rules! {
    Opened by Customer {
        go    Created => ProfilePending;
        // Opening the page again, at any step, changes nothing.
        done  ProfilePending..=ReturnPending | WaitlistedAfterProfile..=WaitlistedLocation;
        never Returned | Cancelled..=QualificationFailed;
    }
    ProfileCompleted by Customer | System {
        go    Created | ProfilePending => IdentityRequired;
        done  IdentityRequired..=ReturnPending;
        never Returned..=QualificationFailed;
    }
    AddressNotServed by Customer | System {
        go    Created | ProfilePending => WaitlistedLocation;
        done  WaitlistedLocation;
        never IdentityRequired..=WaitlistedAfterDeposit | Cancelled..=QualificationFailed;
    }
    PickupChosen by Customer | System {
        go    ShippingAddressPending => PickupLocationPending;
        done  PickupLocationPending;
        never Created..=QualificationPending | LeaseReviewPending..=QualificationFailed;
    }
    ShippingChosen by Customer {
        go    PickupLocationPending => ShippingAddressPending;
        done  ShippingAddressPending;
        never Created..=QualificationPending | LeaseReviewPending..=QualificationFailed;
    }
    ShippingAddressGiven by Customer | System {
        go    ShippingAddressPending => LeaseReviewPending;
        same  LeaseReviewPending;
        never Created..=QualificationPending | PickupLocationPending
            | DepositPending..=QualificationFailed;
    }
    PickupLocationGiven by Customer | System {
        go    PickupLocationPending => LeaseReviewPending;
        same  LeaseReviewPending;
        never Created..=ShippingAddressPending | DepositPending..=QualificationFailed;
    }
    LeaseAccepted by Customer | System {
        go    LeaseReviewPending => DepositPending;
        done  DepositPending..=ReturnPending;
        never Created..=PickupLocationPending | Returned..=QualificationFailed;
    }
    SteppedBackToProfile by Customer | Operator {
        go    ShippingAddressPending | PickupLocationPending => ProfilePending;
        done  ProfilePending;
        never Created | IdentityRequired..=QualificationPending
            | LeaseReviewPending..=QualificationFailed;
    }
    SteppedBackToAddress by Customer | Operator {
        go    LeaseReviewPending => ShippingAddressPending;
        done  ShippingAddressPending;
        never Created..=QualificationPending | PickupLocationPending
            | DepositPending..=QualificationFailed;
    }
    SteppedBackToPickup by Customer | Operator {
        go    LeaseReviewPending => PickupLocationPending;
        done  PickupLocationPending;
        never Created..=ShippingAddressPending | DepositPending..=QualificationFailed;
    }
    SteppedBackToReview by Customer | Operator {
        go    DepositPending | DepositFailed => LeaseReviewPending;
        done  LeaseReviewPending;
        never Created..=PickupLocationPending | DepositProcessing
            | RecurringPaymentMethodPending..=QualificationFailed;
    }
}

/// A checkout that is to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCheckout {
    pub id: CheckoutPubId,
    /// The lessor.
    pub organization_id: OrganizationId,
    /// Live or sandbox, as the lessee is.
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
    /// For how long; the customer may choose later.
    pub term: Option<ChosenTerm>,
    /// What is bought along.
    pub purchase_items: Vec<PurchaseItem>,
    /// The caller's order id.
    pub external_order_id: Option<ExternalId>,
    /// Where the browser goes.
    pub redirects: Redirects,
    /// The customer's name and address as whoever makes the checkout gives them.
    pub given_profile: Option<Profile>,
    /// The billing address, which the customer cannot change when it is given.
    pub billing_address: Option<Address>,
    /// The shipping address, which the customer cannot change when it is given.
    pub shipping_address: Option<Address>,
    /// What the caller keeps beside it.
    pub metadata: Metadata,
    /// What the page's token is derived from.
    pub page_nonce: [u8; 16],
}

impl NewCheckout {
    /// The customer leases one of the variant, and nothing else is said.
    #[must_use]
    pub fn of(
        id: CheckoutPubId,
        item_id: CheckoutItemPubId,
        customer: &Customer,
        variant: &ProductVariant,
        page_nonce: [u8; 16],
    ) -> Self {
        Self {
            id,
            organization_id: variant.organization_id,
            mode: customer.mode,
            customer_id: customer.id,
            user_id: customer.user_id,
            product_id: variant.product_id,
            variant_id: variant.id,
            items: vec![CheckoutItem {
                id: item_id,
                variant_id: variant.id,
                sku: variant.sku.clone(),
                name: variant.name.clone(),
                serial_number: None,
            }],
            term: None,
            purchase_items: Vec::new(),
            external_order_id: None,
            redirects: Redirects::default(),
            given_profile: None,
            billing_address: None,
            shipping_address: None,
            metadata: Metadata::default(),
            page_nonce,
        }
    }

    /// The same with so many of the variant instead of one, whose ids the function makes.
    #[must_use]
    pub fn times(
        mut self,
        quantity: Quantity,
        mut next: impl FnMut() -> CheckoutItemPubId,
    ) -> Self {
        let Some(one) = self.items.first().cloned() else {
            return self;
        };
        let rest = (1..quantity.get()).map(|_| CheckoutItem {
            id: next(),
            ..one.clone()
        });
        self.items.extend(rest);
        self
    }
}

/// Where a checkout begins.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "made once for each checkout")]
pub enum Opening {
    /// At the beginning.
    Ready,
    /// On the waitlist, for stock or for the product to be offered.
    OutOfStock,
    /// On the waitlist, for the organization to serve the address.
    NotServed {
        /// The address, when all of it is known.
        address: Option<Address>,
        /// Why it is not served.
        code: NotServed,
    },
}

impl Checkout {
    /// Begins a checkout.
    ///
    /// ```
    /// use chrono::DateTime;
    /// use lessor_domain::catalog::ProductVariant;
    /// use lessor_domain::checkout::{
    ///     Actor, Checkout, Circumstances, Event, Facts, Lifecycle, NewCheckout, Opening,
    /// };
    /// use lessor_domain::customer::Customer;
    /// use lessor_domain::ids::{CheckoutItemPubId, CheckoutPubId};
    /// use uuid::Uuid;
    ///
    /// fn order(customer: &Customer, bike: &ProductVariant) -> Result<Checkout, Box<dyn std::error::Error>> {
    ///     let at = DateTime::UNIX_EPOCH;
    ///     let id = CheckoutPubId::from_uuid(Uuid::from_u128(1));
    ///     let item = CheckoutItemPubId::from_uuid(Uuid::from_u128(2));
    ///     let new = NewCheckout::of(id, item, customer, bike, [7; 16]);
    ///     let mut checkout = Checkout::open(new, Opening::Ready, at);
    ///     checkout.apply(Event::Opened, &Circumstances::new(at, Actor::Customer), &Facts::NONE)?;
    ///     assert_eq!(checkout.lifecycle(), Lifecycle::ProfilePending);
    ///     Ok(checkout)
    /// }
    /// ```
    #[must_use]
    pub fn open(new: NewCheckout, opening: Opening, at: Timestamp) -> Self {
        let (lifecycle, waitlist) = match opening {
            Opening::Ready => (Lifecycle::Created, None),
            Opening::OutOfStock => (
                Lifecycle::WaitlistedAfterProfile,
                Some(Waitlist::for_stock()),
            ),
            Opening::NotServed { address, code } => (
                Lifecycle::WaitlistedLocation,
                Some(Waitlist::for_service(address, code)),
            ),
        };
        Self(Snapshot {
            id: new.id,
            organization_id: new.organization_id,
            mode: new.mode,
            customer_id: new.customer_id,
            user_id: new.user_id,
            product_id: new.product_id,
            variant_id: new.variant_id,
            items: new.items,
            term: new.term,
            quote: None,
            accepted: None,
            purchase_items: new.purchase_items,
            external_order_id: new.external_order_id,
            redirects: new.redirects,
            given_profile: new.given_profile,
            billing: CheckoutAddress::given(new.billing_address),
            shipping: CheckoutAddress::given(new.shipping_address),
            pickup_location_id: None,
            state: State::new(lifecycle),
            insurance: InsuranceStatus::Pending,
            identity_requested_at: None,
            deposit_method_id: None,
            deposit_submitted_at: None,
            deposit: Deposit::Open,
            capture_requested_at: None,
            holds_stock: false,
            lease_document_id: None,
            signed_at: None,
            recurring: Recurring::default(),
            shipment: Shipment::default(),
            return_: Return::default(),
            waitlist,
            lease: LeaseDates::default(),
            milestones: MilestoneTimes::default(),
            cancel_reason: None,
            metadata: new.metadata,
            page_nonce: new.page_nonce,
            attention: Vec::new(),
            acted_at: at,
            created_at: at,
            updated_at: at,
            version: 1,
        })
    }

    /// Whether it is the checkout of this customer for the variant and term. Who names no term
    /// names no other one.
    #[must_use]
    pub fn is_for(
        &self,
        customer: CustomerPubId,
        variant: ProductVariantPubId,
        term: Option<LeaseTermPubId>,
    ) -> bool {
        let is_of_the_term =
            term.is_none_or(|term| self.term.is_some_and(|chosen| chosen.id == term));
        self.customer_id == customer && self.variant_id == variant && is_of_the_term
    }

    /// Whether the customer may order another unit beside this one: once it is a lease, by an
    /// order of its own.
    #[must_use]
    pub fn admits_another(&self, order: Option<&ExternalId>) -> bool {
        let state = self.lifecycle();
        let is_another = order.is_some() && order != self.external_order_id.as_ref();
        state.is_ended() || state.is_leased() && is_another
    }

    /// Whether another lease term can still be chosen: nothing of the deposit has begun.
    #[must_use]
    pub fn takes_a_term(&self) -> bool {
        let state = self.lifecycle();
        let before_the_deposit =
            state.is_waitlisted() || state.rank() < Lifecycle::DepositProcessing.rank();
        self.deposit == Deposit::Open
            && self.quote.is_none()
            && before_the_deposit
            && !state.is_ended()
    }

    /// Chooses the lease term. False when it is the chosen one already.
    ///
    /// # Errors
    /// [`Obstacle::GivenOtherwise`] once the deposit has begun, see
    /// [`takes_a_term`](Self::takes_a_term).
    pub fn choose_term(&mut self, term: ChosenTerm, at: Timestamp) -> Result<bool, Obstacle> {
        if self.term == Some(term) {
            return Ok(false);
        }
        if !self.takes_a_term() {
            return Err(Obstacle::GivenOtherwise);
        }
        self.0.term = Some(term);
        self.0.acted_at = at;
        self.0.changed(at);
        Ok(true)
    }
}

pub(super) fn known(checkout: &Snapshot, facts: &Facts) -> Option<Event> {
    match (
        checkout.lifecycle(),
        checkout.pickup_location_id,
        &checkout.shipping.address,
    ) {
        (Lifecycle::ProfilePending, _, _) if facts.profile_complete => {
            Some(Event::ProfileCompleted)
        }
        (Lifecycle::ShippingAddressPending, Some(_), _) => Some(Event::PickupChosen),
        (Lifecycle::ShippingAddressPending, None, Some(address)) => {
            Some(Event::ShippingAddressGiven {
                address: address.clone(),
            })
        }
        (Lifecycle::PickupLocationPending, Some(location), _) => {
            Some(Event::PickupLocationGiven { location })
        }
        _ => None,
    }
}

pub(in crate::checkout) fn address_not_served(
    checkout: &mut Snapshot,
    _: &mut Step<'_>,
    address: Option<Address>,
    code: NotServed,
) -> Ruling {
    checkout.waitlist = Some(Waitlist::for_service(address, code));
    Ok(Told::News)
}

pub(in crate::checkout) const fn shipping_chosen(
    checkout: &mut Snapshot,
    _: &mut Step<'_>,
) -> Ruling {
    checkout.pickup_location_id = None;
    Ok(Told::News)
}

pub(in crate::checkout) fn shipping_address_given(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    address: Address,
) -> Ruling {
    if step.outcome == Move::IfSame {
        let is_same = checkout.pickup_location_id.is_none()
            && checkout.shipping.address.as_ref() == Some(&address);
        return known_if(is_same);
    }
    checkout.shipping.address = Some(address);
    checkout.pickup_location_id = None;
    Ok(Told::News)
}

pub(in crate::checkout) fn pickup_location_given(
    checkout: &mut Snapshot,
    step: &mut Step<'_>,
    location: PickupLocationId,
) -> Ruling {
    if step.outcome == Move::IfSame {
        return known_if(checkout.pickup_location_id == Some(location));
    }
    checkout.pickup_location_id = Some(location);
    Ok(Told::News)
}

const fn known_if(is_same: bool) -> Ruling {
    if is_same {
        Ok(Told::Known)
    } else {
        Err(Obstacle::GivenOtherwise)
    }
}

/// Whose checkout goes this way again by itself accepted it before.
pub(in crate::checkout) fn lease_accepted(checkout: &mut Snapshot, step: &mut Step<'_>) -> Ruling {
    if checkout.term.is_none() {
        return Err(Obstacle::NoTerm);
    }
    if step.by.actor == Actor::Customer {
        checkout.accepted = Some(Acceptance {
            at: step.by.at,
            version: ACCEPTANCE_VERSION.to_owned(),
        });
    }
    Ok(Told::News)
}

pub(in crate::checkout) const fn back_to_address(
    checkout: &mut Snapshot,
    _: &mut Step<'_>,
) -> Ruling {
    if checkout.pickup_location_id.is_some() {
        return Err(Obstacle::PickedUp);
    }
    Ok(Told::News)
}

pub(in crate::checkout) const fn back_to_pickup(
    checkout: &mut Snapshot,
    _: &mut Step<'_>,
) -> Ruling {
    if checkout.pickup_location_id.is_none() {
        return Err(Obstacle::ShippedToAddress);
    }
    Ok(Told::News)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::checkout::stage::tests::{DETAILS, Story, TO_DEPOSIT};
    use crate::checkout::step::Circumstances;

    use crate::customer::{CreditStatus, IdentityStatus};

    #[test]
    fn what_is_known_is_passed_through() {
        let mut story = Story::new();
        let address = story.make.address();
        story.alter(|it| it.shipping.address = Some(address));
        let known = Facts {
            profile_complete: true,
            identity: IdentityStatus::Verified,
            credit: CreditStatus::Passed,
        };
        let applied = story.try_event(Event::Opened, &known).unwrap();
        assert_eq!(story.checkout.lifecycle(), Lifecycle::LeaseReviewPending);
        let path: Vec<_> = applied
            .transitions
            .iter()
            .map(|step| (step.to, step.actor))
            .collect();
        assert_eq!(
            path,
            [
                (Lifecycle::ProfilePending, Actor::Customer),
                (Lifecycle::IdentityRequired, Actor::System),
                (Lifecycle::QualificationPending, Actor::System),
                (Lifecycle::ShippingAddressPending, Actor::System),
                (Lifecycle::LeaseReviewPending, Actor::System),
            ]
        );
        assert_eq!(
            applied.effects,
            [],
            "a check that passed before is not asked for again"
        );
    }

    #[test]
    fn who_accepts_is_kept_with_the_time_and_the_text() {
        let mut story = Story::new();
        story.walk(&TO_DEPOSIT[..8], DETAILS);
        assert_eq!(story.checkout.accepted, None);
        let at = story.make.tick();
        let by = |at, actor| Circumstances::new(at, actor);
        let accept = |story: &mut Story, by| {
            let facts = Facts::NONE;
            story.checkout.apply(Event::LeaseAccepted, &by, &facts)
        };
        accept(&mut story, by(at, Actor::Customer)).unwrap();
        let word = Acceptance {
            at,
            version: ACCEPTANCE_VERSION.to_owned(),
        };
        assert_eq!(story.checkout.accepted, Some(word.clone()));
        // Said again later, it is what was said later; what passes by itself says nothing.
        story.tell(Event::SteppedBackToReview);
        let later = story.make.tick();
        accept(&mut story, by(later, Actor::System)).unwrap();
        assert_eq!(story.checkout.accepted, Some(word.clone()));
        story.tell(Event::SteppedBackToReview);
        accept(&mut story, by(later, Actor::Customer)).unwrap();
        assert_eq!(
            story.checkout.accepted.as_ref().map(|it| it.at),
            Some(later)
        );
    }

    #[test]
    fn several_have_ids_of_their_own() {
        let make = crate::testing::Fixtures::default();
        let organization = make.organization().build();
        let customer = make.customer(&organization).build();
        let variant = make.variant(&make.product(&organization).build()).build();
        let of = |number| {
            NewCheckout::of(make.id(), make.id(), &customer, &variant, [7; 16])
                .times(Quantity::new(number).unwrap(), || make.id())
        };
        for number in [1, 2, 50] {
            let checkout = Checkout::open(of(number), Opening::Ready, make.tick());
            assert_eq!(checkout.quantity().get(), number);
            let ids: std::collections::BTreeSet<_> =
                checkout.items.iter().map(|item| item.id).collect();
            assert_eq!(ids.len(), checkout.items.len());
            assert!(Checkout::restore(checkout.into_snapshot()).is_ok());
        }
        let mut none = Checkout::open(of(1), Opening::Ready, make.tick()).into_snapshot();
        none.items.clear();
        assert!(Checkout::restore(none).is_err(), "nothing is no lease");
    }

    #[test]
    fn a_step_back_is_not_passed_through_again() {
        let mut story = Story::new();
        story.walk(&TO_DEPOSIT[..8], DETAILS);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::LeaseReviewPending);
        let known = Facts {
            profile_complete: true,
            ..Facts::NONE
        };
        story
            .try_event(Event::SteppedBackToAddress, &known)
            .unwrap();
        assert_eq!(
            story.checkout.lifecycle(),
            Lifecycle::ShippingAddressPending
        );
        story
            .try_event(Event::SteppedBackToProfile, &known)
            .unwrap();
        assert_eq!(story.checkout.lifecycle(), Lifecycle::ProfilePending);
    }

    #[test]
    fn no_term_no_deposit() {
        let mut story = Story::new();
        story.alter(|it| it.term = None);
        story.walk(&TO_DEPOSIT[..8], DETAILS);
        let refused = story
            .try_event(Event::LeaseAccepted, &Facts::NONE)
            .unwrap_err();
        assert!(
            refused.contains("a lease term is to be chosen first"),
            "{refused}"
        );
    }

    #[test]
    fn who_is_not_served_waits_before_anything_is_checked() {
        let address = Story::new().make.address();
        for opened in [false, true] {
            let mut story = Story::new();
            if opened {
                story.tell(Event::Opened);
            }
            let event = || Event::AddressNotServed {
                address: Some(address.clone()),
                code: NotServed::State,
            };
            let applied = story.tell(event());
            assert_eq!(story.checkout.lifecycle(), Lifecycle::WaitlistedLocation);
            assert_eq!(applied.effects, [], "nobody is asked anything");
            assert_eq!(
                story.checkout.waitlist,
                Some(Waitlist::for_service(
                    Some(address.clone()),
                    NotServed::State
                ))
            );
            let again = story.tell(event());
            assert_eq!(again.outcome, crate::checkout::Outcome::AlreadyApplied);
        }
    }

    #[test]
    fn nothing_is_passed_through_that_is_not_known() {
        let mut story = Story::new();
        story.tell(Event::Opened);
        assert_eq!(story.checkout.lifecycle(), Lifecycle::ProfilePending);
    }

    #[test]
    fn a_known_pickup_location_is_passed_through() {
        let mut story = Story::new();
        story.alter(|it| it.pickup_location_id = PickupLocationId::new(7).ok());
        story.walk(&TO_DEPOSIT[..6], DETAILS);
        let applied = story.tell(Event::Qualified);
        let path: Vec<_> = applied.transitions.iter().map(|step| step.to).collect();
        assert_eq!(
            path,
            [
                Lifecycle::ShippingAddressPending,
                Lifecycle::PickupLocationPending,
                Lifecycle::LeaseReviewPending
            ]
        );
        assert_eq!(
            story.checkout.pickup_location_id.map(PickupLocationId::get),
            Some(7)
        );
    }
}
