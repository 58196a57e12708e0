//! Records with sensible values, to be changed where a test cares.
#![expect(
    clippy::expect_used,
    reason = "values written down here are good, and a test stops where its own are not"
)]

use chrono::TimeDelta;

use super::{ManualClock, SequenceIds};
use crate::access::{ApiKey, KeyHash, Mode, Permission, Permissions};
use crate::address::Address;
use crate::catalog::{
    Inventory, OptionDefinition, OptionSelection, Product, ProductSource, ProductStatus,
    ProductType, ProductVariant, Review, ReviewStatus,
};
use crate::checkout::{
    Checkout, CheckoutAddress, CheckoutItem, ChosenTerm, Deposit, InsuranceStatus, LeaseDates,
    Lifecycle, MilestoneTimes, Phase, Recurring, RecurringPaymentStatus, Redirects, Return,
    Shipment, State, Waitlist, WaitlistReason,
};
use crate::customer::{CreditStatus, Customer, IdentityStatus, Profile, Screening};
use crate::ids::{
    ApiKeyPubId, CheckoutItemPubId, CheckoutPubId, LeaseTermId, LeaseTermPubId, OftakePartnerId,
    OrganizationId, OrganizationPubId, ProductPubId, ProductVariantPubId, PublicId, UserId,
    UserPubId,
};
use crate::lease_term::{LeaseTerm, LeaseTermStatus};
use crate::money::{Currency, Money};
use crate::organization::{Organization, ServiceArea};
use crate::percentage::{Percentage, TermMonths};
use crate::ports::{IdGenerator, NewCustomer, NewLeaseTerm, NewOrganization};
use crate::pricing::{Rate, RateCard};
use crate::text::{Description, Email, ExternalId, Line, Name, Sku};
use crate::time::{Timestamp, add_months};

/// Makes records: ids follow from the seed, and each record is a millisecond
/// younger than the one before it.
///
/// ```
/// use lessor_domain::testing::Fixtures;
///
/// let make = Fixtures::default();
/// let organization = make.organization().build();
/// let product = make.product(&organization).name("Road bike").build();
/// let variant = make.variant(&product).price("1299.00").stock(3).build();
/// assert_eq!(variant.organization_id, organization.id);
/// assert!(variant.inventory.has_stock());
/// ```
#[derive(Debug, Default)]
pub struct Fixtures {
    ids: SequenceIds,
    clock: ManualClock,
}

fn text<T: std::str::FromStr<Err = crate::text::TextError>>(text: &str) -> T {
    text.parse().expect("a text of the kind")
}

impl Fixtures {
    /// Records whose ids follow from the seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self {
            ids: SequenceIds::seeded(seed),
            clock: ManualClock::default(),
        }
    }

    /// The identifiers that the records get.
    #[must_use]
    pub const fn ids(&self) -> &SequenceIds {
        &self.ids
    }

    /// The clock that says when the records are made.
    #[must_use]
    pub const fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// A new public id.
    #[must_use]
    pub fn id<I: PublicId>(&self) -> I {
        I::from_uuid(self.ids.next())
    }

    /// A time later than any before.
    pub fn tick(&self) -> Timestamp {
        self.clock.advance(TimeDelta::milliseconds(1))
    }

    fn number(&self) -> i64 {
        // Large, so that it is none of a store's own.
        let [.., a, b, c, d] = *self.ids.next().as_bytes();
        i64::from(u32::from_be_bytes([a, b, c, d])).saturating_add(1 << 40)
    }

    /// An organization in the United States that serves everywhere, in US dollars.
    pub fn organization(&self) -> OrganizationBuilder {
        let at = self.tick();
        OrganizationBuilder(Organization {
            id: OrganizationId::new(self.number()).expect("a positive number"),
            pub_id: self.id::<OrganizationPubId>(),
            name: text("Northwind Cycles"),
            currency: Currency::USD,
            discount: Percentage::ZERO,
            service_area: ServiceArea::default(),
            requires_product_review: false,
            oftake_partner_id: OftakePartnerId::new(1).expect("a positive number"),
            created_at: at,
            updated_at: at,
            version: 1,
        })
    }

    /// A customer of the organization with a complete profile and an e-mail address
    /// of their own, not screened.
    pub fn customer(&self, organization: &Organization) -> CustomerBuilder {
        let at = self.tick();
        let id = self.id::<UserPubId>();
        CustomerBuilder(Customer {
            id,
            user_id: UserId::new(self.number()).expect("a positive number"),
            organization_id: organization.id,
            email: text(&format!("ada.{}@example.com", id.as_uuid().simple())),
            profile: Profile {
                first_name: Some(text("Ada")),
                last_name: Some(text("Lovelace")),
                address1: Some(text("1 Market St")),
                address2: None,
                city: Some(text("San Francisco")),
                state: Some(text("CA")),
                zip: Some(text("94105")),
                country: Some(crate::address::Country::US),
                phone: Some(text("+14155550100")),
            },
            live: Screening::default(),
            sandbox: Screening::default(),
            created_at: at,
            updated_at: at,
            version: 1,
        })
    }

    /// An active, approved product with one option, `Size` of `S`, `M` or `L`.
    pub fn product(&self, organization: &Organization) -> ProductBuilder {
        let at = self.tick();
        ProductBuilder(Product {
            id: self.id::<ProductPubId>(),
            organization_id: organization.id,
            name: text("Road bike"),
            description: text::<Description>("Carbon frame, 12 gears"),
            options: vec![OptionDefinition {
                id: "size".to_owned(),
                name: text("Size"),
                position: 0,
                values: ["S", "M", "L"].map(text).to_vec(),
            }],
            price: Money::parse("1299.00", organization.currency).expect("an amount"),
            discount: None,
            source: ProductSource::Manual,
            product_type: ProductType::Leasable,
            review: Review {
                status: ReviewStatus::Approved,
                notes: None,
                reviewed_at: None,
                reviewed_by: None,
            },
            status: ProductStatus::Active,
            is_waitlisted: false,
            ignore_upstream_updates: false,
            external_id: None,
            sku: None,
            main_image: None,
            category_id: None,
            created_at: at,
            updated_at: at,
            version: 1,
        })
    }

    /// An active variant of the product at its price, of the first value of each
    /// option, with a sku of its own and untracked stock.
    pub fn variant(&self, product: &Product) -> VariantBuilder {
        let at = self.tick();
        let id = self.id::<ProductVariantPubId>();
        VariantBuilder(ProductVariant {
            id,
            product_id: product.id,
            organization_id: product.organization_id,
            name: product.name.clone(),
            description: product.description.clone(),
            options: product
                .options
                .iter()
                .filter_map(|option| {
                    Some(OptionSelection {
                        name: option.name.clone(),
                        value: option.values.first()?.clone(),
                    })
                })
                .collect(),
            price: product.price,
            discount: None,
            images: Vec::new(),
            sku: text(&format!("SKU-{}", id.as_uuid().simple())),
            external_id: None,
            status: ProductStatus::Active,
            is_waitlisted: false,
            inventory: Inventory::Untracked,
            product_year: None,
            created_at: at,
            updated_at: at,
            version: 1,
        })
    }

    /// The organization's active term of 12 months: money factor 0.0025, residual
    /// value 60 %, deposit 10 %, insurance 6 % a year.
    pub fn lease_term(&self, organization: &Organization) -> LeaseTermBuilder {
        let at = self.tick();
        LeaseTermBuilder(LeaseTerm {
            id: self.id::<LeaseTermPubId>(),
            lease_term_id: LeaseTermId::new(self.number()).expect("a positive number"),
            organization_id: organization.id,
            product_id: None,
            card: RateCard {
                term: TermMonths::new(12).expect("months"),
                rate: Rate::MoneyFactor("0.0025".parse().expect("a factor")),
                residual: "60".parse().expect("a percentage"),
                deposit: "10".parse().expect("a percentage"),
                insurance: "6".parse().expect("a percentage"),
            },
            status: LeaseTermStatus::Active,
            created_at: at,
            updated_at: at,
            version: 1,
        })
    }

    /// A new sandbox checkout of one variant, without a term.
    pub fn checkout(&self, customer: &Customer, variant: &ProductVariant) -> CheckoutBuilder {
        let at = self.tick();
        let nonce = self.ids.next().into_bytes();
        CheckoutBuilder(Checkout {
            id: self.id::<CheckoutPubId>(),
            organization_id: variant.organization_id,
            mode: Mode::Sandbox,
            customer_id: customer.id,
            user_id: customer.user_id,
            product_id: variant.product_id,
            variant_id: variant.id,
            items: vec![CheckoutItem {
                id: self.id::<CheckoutItemPubId>(),
                variant_id: variant.id,
                sku: variant.sku.clone(),
                name: variant.name.clone(),
                serial_number: None,
            }],
            term: None,
            quote: None,
            purchase_items: Vec::new(),
            external_order_id: None,
            redirects: Redirects::default(),
            billing: CheckoutAddress::default(),
            shipping: CheckoutAddress::default(),
            pickup_location_id: None,
            state: State::new(Lifecycle::Created),
            insurance: InsuranceStatus::Pending,
            deposit: Deposit::default(),
            holds_stock: false,
            lease_document_id: None,
            signed_at: None,
            recurring: Recurring::default(),
            shipment: Shipment::default(),
            return_: Return::default(),
            waitlist: None,
            lease: LeaseDates::default(),
            milestones: MilestoneTimes::default(),
            cancel_reason: None,
            page_nonce: nonce,
            created_at: at,
            updated_at: at,
            version: 1,
        })
    }

    /// A sandbox key with every permission that acts as the user.
    pub fn api_key(&self, user: &Customer) -> ApiKeyBuilder {
        let at = self.tick();
        let id = self.id::<ApiKeyPubId>();
        let [first, second] = [self.ids.next(), self.ids.next()].map(uuid::Uuid::into_bytes);
        let mut hash = [0; 32];
        for (byte, chance) in hash.iter_mut().zip(first.into_iter().chain(second)) {
            *byte = chance;
        }
        ApiKeyBuilder(ApiKey {
            id,
            organization_id: user.organization_id,
            user_id: user.user_id,
            mode: Mode::Sandbox,
            permissions: Permissions::all(),
            name: None,
            hash: KeyHash(hash),
            hint: "a1B2".to_owned(),
            created_at: at,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        })
    }

    /// An address in San Francisco.
    #[must_use]
    pub fn address(&self) -> Address {
        Address {
            first_name: Some(text("Ada")),
            last_name: Some(text("Lovelace")),
            company: None,
            address1: text("1 Market St"),
            address2: None,
            city: text("San Francisco"),
            state: Some(text("CA")),
            zip: text("94105"),
            country: crate::address::Country::US,
            phone: None,
        }
    }
}

const fn waitlist(reason: WaitlistReason) -> Waitlist {
    Waitlist {
        reason,
        address: None,
        reason_code: None,
    }
}

macro_rules! builders {
    ($($(#[$doc:meta])* $name:ident($entity:ident);)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone)]
        #[must_use = "a builder makes nothing until it is built"]
        pub struct $name($entity);

        impl $name {
            /// Changes whatever no other method does.
            pub fn with(mut self, change: impl FnOnce(&mut $entity)) -> Self {
                change(&mut self.0);
                self
            }

            /// The record.
            #[must_use]
            pub fn build(self) -> $entity {
                self.0
            }
        }
    )*};
}

builders! {
    /// Builds an [`Organization`].
    OrganizationBuilder(Organization);
    /// Builds a [`Customer`].
    CustomerBuilder(Customer);
    /// Builds a [`Product`].
    ProductBuilder(Product);
    /// Builds a [`ProductVariant`].
    VariantBuilder(ProductVariant);
    /// Builds a [`LeaseTerm`].
    LeaseTermBuilder(LeaseTerm);
    /// Builds a [`Checkout`].
    CheckoutBuilder(Checkout);
    /// Builds an [`ApiKey`].
    ApiKeyBuilder(ApiKey);
}

impl OrganizationBuilder {
    /// Sets the name.
    pub fn name(self, name: &str) -> Self {
        self.with(|it| it.name = text::<Name>(name))
    }

    /// Sets the currency, such as `EUR`.
    pub fn currency(self, code: &str) -> Self {
        self.with(|it| it.currency = code.parse().expect("a currency"))
    }

    /// Sets the service area, such as `US,CA`.
    pub fn serves(self, area: &str) -> Self {
        self.with(|it| it.service_area = area.parse().expect("a service area"))
    }

    /// What a store is given to keep: it gives the number itself.
    #[must_use]
    pub fn new_record(self) -> NewOrganization {
        let it = self.0;
        NewOrganization {
            pub_id: it.pub_id,
            name: it.name,
            currency: it.currency,
            discount: it.discount,
            service_area: it.service_area,
            requires_product_review: it.requires_product_review,
            oftake_partner_id: it.oftake_partner_id,
            created_at: it.created_at,
        }
    }
}

impl CustomerBuilder {
    /// Sets the e-mail address.
    pub fn email(self, email: &str) -> Self {
        self.with(|it| it.email = text::<Email>(email))
    }

    /// Leaves name and address empty.
    pub fn without_profile(self) -> Self {
        self.with(|it| it.profile = Profile::default())
    }

    /// Verified and creditworthy in the mode.
    pub fn screened(self, mode: Mode) -> Self {
        self.with(|it| {
            let screening = it.screening_mut(mode);
            screening.identity = IdentityStatus::Verified;
            screening.credit = CreditStatus::Passed;
        })
    }

    /// What a store is given to keep: it gives the number itself.
    #[must_use]
    pub fn new_record(self) -> NewCustomer {
        let it = self.0;
        NewCustomer {
            id: it.id,
            organization_id: it.organization_id,
            email: it.email,
            profile: it.profile,
            created_at: it.created_at,
        }
    }
}

impl ProductBuilder {
    /// Sets the name.
    pub fn name(self, name: &str) -> Self {
        self.with(|it| it.name = text::<Name>(name))
    }

    /// Sets the external id.
    pub fn external_id(self, id: &str) -> Self {
        self.with(|it| it.external_id = Some(text::<ExternalId>(id)))
    }

    /// Sets the stock keeping unit.
    pub fn sku(self, sku: &str) -> Self {
        self.with(|it| it.sku = Some(text::<Sku>(sku)))
    }

    /// Sets the status.
    pub fn status(self, status: ProductStatus) -> Self {
        self.with(|it| it.status = status)
    }

    /// An add-on instead of something to lease.
    pub fn add_on(self) -> Self {
        self.with(|it| it.product_type = ProductType::AddOn)
    }
}

impl VariantBuilder {
    /// Sets the price, in the product's currency.
    pub fn price(self, amount: &str) -> Self {
        self.with(|it| it.price = Money::parse(amount, it.price.currency()).expect("an amount"))
    }

    /// Sets the stock keeping unit.
    pub fn sku(self, sku: &str) -> Self {
        self.with(|it| it.sku = text::<Sku>(sku))
    }

    /// Sets the external id.
    pub fn external_id(self, id: &str) -> Self {
        self.with(|it| it.external_id = Some(text::<ExternalId>(id)))
    }

    /// Chooses a value of an option, in place of the one chosen before.
    pub fn choose(self, option: &str, value: &str) -> Self {
        let chosen = OptionSelection {
            name: text(option),
            value: text(value),
        };
        self.with(|it| {
            it.options.retain(|other| other.name != chosen.name);
            it.options.push(chosen);
        })
    }

    /// So many are free to promise.
    pub fn stock(self, quantity: u32) -> Self {
        self.with(|it| it.inventory = Inventory::Tracked(quantity))
    }

    /// Sets the status.
    pub fn status(self, status: ProductStatus) -> Self {
        self.with(|it| it.status = status)
    }
}

impl LeaseTermBuilder {
    /// Sets the months, 1 to 120.
    pub fn months(self, months: u16) -> Self {
        self.with(|it| it.card.term = TermMonths::new(months).expect("1 to 120 months"))
    }

    /// A term of one product.
    pub fn of_product(self, product: &Product) -> Self {
        self.with(|it| it.product_id = Some(product.id))
    }

    /// Not offered.
    pub fn inactive(self) -> Self {
        self.with(|it| it.status = LeaseTermStatus::Inactive)
    }

    /// What a store is given to keep: it gives the number itself.
    #[must_use]
    pub fn new_record(self) -> NewLeaseTerm {
        let it = self.0;
        NewLeaseTerm {
            id: it.id,
            organization_id: it.organization_id,
            product_id: it.product_id,
            card: it.card,
            status: it.status,
            created_at: it.created_at,
        }
    }
}

impl CheckoutBuilder {
    /// In live mode instead of sandbox.
    pub fn live(self) -> Self {
        self.with(|it| it.mode = Mode::Live)
    }

    /// Chooses the term.
    pub fn term(self, term: &LeaseTerm) -> Self {
        self.with(|it| {
            it.term = Some(ChosenTerm {
                id: term.id,
                lease_term_id: term.lease_term_id,
                months: term.card.term,
            });
        })
    }

    /// Ships to the address.
    pub fn ships_to(self, address: Address) -> Self {
        self.with(|it| it.shipping.address = Some(address))
    }

    /// Sets the caller's order id.
    pub fn order(self, id: &str) -> Self {
        self.with(|it| it.external_order_id = Some(text::<ExternalId>(id)))
    }

    /// Stands in the state, with the least that a checkout there has: a reason to
    /// wait, an authorized or captured deposit, a shipment, a subscription.
    pub fn at(self, lifecycle: Lifecycle) -> Self {
        self.with(|it| {
            it.state = State::new(lifecycle);
            let made = it.created_at;
            let id = it.id.as_uuid().simple();
            match lifecycle {
                Lifecycle::WaitlistedAfterProfile | Lifecycle::WaitlistedAfterDeposit => {
                    it.waitlist = Some(waitlist(WaitlistReason::Inventory));
                }
                Lifecycle::WaitlistedLocation => {
                    it.waitlist = Some(waitlist(WaitlistReason::Location));
                }
                _ => {}
            }
            let is_authorized = matches!(
                lifecycle,
                Lifecycle::WaitlistedAfterDeposit
                    | Lifecycle::RecurringPaymentMethodPending
                    | Lifecycle::DocumentsPending
                    | Lifecycle::CaptureFailed
            );
            if is_authorized || lifecycle.is_confirmed() {
                it.deposit.payment_intent_id = Some(format!("pi_{id}"));
                it.deposit.preauth_expires_at = made.checked_add_signed(TimeDelta::days(7));
            }
            if lifecycle.is_confirmed() {
                it.signed_at = Some(made);
                it.deposit.invoice_id = Some(format!("in_{id}"));
                it.deposit.captured_at = Some(made);
                it.milestones.confirmed_at = Some(made);
                it.insurance = InsuranceStatus::Approved;
            }
            let is_leased = matches!(lifecycle.phase(), Phase::Active | Phase::Return);
            if lifecycle == Lifecycle::Shipped || is_leased {
                it.shipment.shipped_at = Some(made);
            }
            if is_leased {
                it.recurring.requested_at = Some(made);
                it.recurring.status = RecurringPaymentStatus::Active;
                it.recurring.subscription_id = Some(format!("sub_{id}"));
                it.milestones.active_at = Some(made);
                let start = made.date_naive();
                it.lease.start = Some(start);
                it.lease.end = it
                    .term
                    .and_then(|term| add_months(start, u32::from(term.months.get())));
            }
        })
    }

    /// Called off for the reason.
    pub fn cancelled(self, reason: &str) -> Self {
        self.at(Lifecycle::Cancelled)
            .with(|it| it.cancel_reason = Some(text::<Line>(reason)))
    }
}

impl ApiKeyBuilder {
    /// A live key.
    pub fn live(self) -> Self {
        self.with(|it| it.mode = Mode::Live)
    }

    /// With these permissions only.
    pub fn permissions(self, permissions: &[Permission]) -> Self {
        self.with(|it| it.permissions = permissions.iter().copied().collect())
    }

    /// Valid until then.
    pub fn expires_at(self, at: Timestamp) -> Self {
        self.with(|it| it.expires_at = Some(at))
    }
}
