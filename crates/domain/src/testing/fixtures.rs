//! Records with sensible values, to be changed where a test cares.
#![expect(
    clippy::expect_used,
    reason = "values written down here are good, and a test stops where its own are not"
)]

use chrono::TimeDelta;

use super::builders::{
    ApiKeyBuilder, CheckoutBuilder, CustomerBuilder, LeaseTermBuilder, OrganizationBuilder,
    ProductBuilder, VariantBuilder, text,
};
use super::{ManualClock, SequenceIds};
use crate::access::{ApiKey, KeyHash, KeyKind, Mode, Permissions};
use crate::address::Address;
use crate::catalog::{
    NewVariant, OptionDefinition, OptionSelection, Product, ProductSource, ProductStatus,
    ProductType, ProductVariant, Review, ReviewStatus,
};
use crate::checkout::{Checkout, NewCheckout, Opening};
use crate::customer::{Customer, Profile, Screening};
use crate::events::EventPattern;
use crate::ids::{
    ApiKeyPubId, CheckoutItemPubId, CheckoutPubId, LeaseTermId, LeaseTermPubId, OftakePartnerId,
    OrganizationId, OrganizationPubId, ProductPubId, ProductVariantPubId, PublicId, UserId,
    UserPubId, WebhookEndpointPubId,
};
use crate::lease_term::{LeaseTerm, LeaseTermStatus};
use crate::metadata::Metadata;
use crate::money::{Currency, Money};
use crate::organization::{Face, Organization, ServiceArea};
use crate::percentage::{Percentage, TermMonths};
use crate::ports::IdGenerator;
use crate::pricing::{Rate, RateCard};
use crate::secret::Secret;
use crate::text::Description;
use crate::time::Timestamp;
use crate::webhooks::{WebhookEndpoint, WebhookEndpointStatus};

/// The number of the first organization that a [`MemoryDatabase`](super::MemoryDatabase) keeps,
/// when nothing was kept before it: for tests that have one alone.
#[must_use]
pub fn first_organization_id() -> OrganizationId {
    OrganizationId::new(1).expect("a positive number")
}

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
/// assert!(variant.stock.sandbox.has_stock());
/// ```
#[derive(Debug, Default)]
pub struct Fixtures {
    ids: SequenceIds,
    clock: ManualClock,
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
            face: Face::default(),
            sandbox_writes_catalog: None,
            first_live_key_at: None,
            created_at: at,
            updated_at: at,
            version: 1,
        })
    }

    /// A sandbox customer of the organization with a complete profile and an e-mail address
    /// of their own, not screened.
    pub fn customer(&self, organization: &Organization) -> CustomerBuilder {
        let at = self.tick();
        let id = self.id::<UserPubId>();
        CustomerBuilder(Customer {
            id,
            user_id: UserId::new(self.number()).expect("a positive number"),
            organization_id: organization.id,
            mode: Mode::Sandbox,
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
                birth_date: None,
            },
            screening: Screening::default(),
            metadata: Metadata::default(),
            created_at: at,
            updated_at: at,
            erased_at: None,
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
            metadata: Metadata::default(),
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
        let new = NewVariant {
            id,
            name: product.name.clone(),
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
            sku: text(&format!("SKU-{}", id.as_uuid().simple())),
        };
        VariantBuilder(ProductVariant::new(product, new, at))
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

    /// A new checkout of one variant in the customer's mode, without a term.
    pub fn checkout(&self, customer: &Customer, variant: &ProductVariant) -> CheckoutBuilder {
        let at = self.tick();
        let new = NewCheckout::of(
            self.id::<CheckoutPubId>(),
            self.id::<CheckoutItemPubId>(),
            customer,
            variant,
            self.ids.next().into_bytes(),
        );
        let snapshot = Checkout::open(new, Opening::Ready, at).into_snapshot();
        CheckoutBuilder::new(snapshot, variant.price)
    }

    /// A key of the user's mode with every permission that acts as the user.
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
            kind: KeyKind::Secret,
            mode: user.mode,
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

    /// An endpoint of the organization's sandbox that is told of everything.
    #[must_use]
    pub fn webhook_endpoint(&self, organization: &Organization) -> WebhookEndpoint {
        let at = self.tick();
        let id = self.id::<WebhookEndpointPubId>();
        WebhookEndpoint {
            id,
            organization_id: organization.id,
            mode: Mode::Sandbox,
            url: text("https://shop.example.com/webhooks"),
            types: vec![EventPattern::All],
            description: None,
            status: WebhookEndpointStatus::Enabled,
            disabled_reason: None,
            secret: Secret::new(format!("whsec_{}", id.as_uuid().simple())),
            former_secret: None,
            created_at: at,
            updated_at: at,
            version: 1,
        }
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
