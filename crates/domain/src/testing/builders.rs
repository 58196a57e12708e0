//! What the records of [`Fixtures`](super::Fixtures) can be changed by.
#![expect(
    clippy::expect_used,
    reason = "a test stops where the values that it gives are not of their kind"
)]

use chrono::TimeDelta;

use crate::access::{ApiKey, KeyKind, Mode, Permission, Permissions};
use crate::address::Address;
use crate::catalog::{
    Inventory, OptionSelection, Product, ProductStatus, ProductType, ProductVariant, Stock,
};
use crate::checkout::{
    Billing, Checkout, CheckoutItem, ChosenTerm, Deposit, Hold, InsuranceStatus, Lifecycle,
    Snapshot, Standing, State, Waitlist,
};
use crate::customer::{CreditStatus, Customer, IdentityStatus, Profile};
use crate::ids::CheckoutItemPubId;
use crate::lease_term::{LeaseTerm, LeaseTermStatus};
use crate::metadata::Metadata;
use crate::money::Money;
use crate::organization::Organization;
use crate::percentage::{Percentage, TermMonths};
use crate::ports::{NewCustomer, NewLeaseTerm, NewOrganization};
use crate::pricing::{Quote, Rate, RateCard, quote};
use crate::quantity::Quantity;
use crate::text::{Email, ExternalId, Line, Name, Sku};
use crate::time::{Timestamp, add_months};

pub(super) fn text<T: std::str::FromStr<Err = crate::text::TextError>>(text: &str) -> T {
    text.parse().expect("a text of the kind")
}

/// These metadata.
///
/// # Panics
/// When a key or value is none.
#[must_use]
pub fn metadata(entries: &[(&str, &str)]) -> Metadata {
    let entries = entries.iter().map(|(key, value)| (text(key), text(value)));
    Metadata::new(entries.collect()).expect("as many as a record keeps")
}

macro_rules! builders {
    ($($(#[$doc:meta])* $name:ident($entity:ident);)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone)]
        #[must_use = "a builder makes nothing until it is built"]
        pub struct $name(pub(super) $entity);

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

    /// Of live mode.
    pub fn live(self) -> Self {
        self.mode(Mode::Live)
    }

    /// Of the mode.
    pub fn mode(self, mode: Mode) -> Self {
        self.with(|it| it.mode = mode)
    }

    /// Leaves name and address empty.
    pub fn without_profile(self) -> Self {
        self.with(|it| it.profile = Profile::default())
    }

    /// Verified and creditworthy.
    pub fn screened(self) -> Self {
        self.with(|it| {
            it.screening.identity = IdentityStatus::Verified;
            it.screening.credit = CreditStatus::Passed;
        })
    }

    /// What a store is given to keep: it gives the number itself.
    #[must_use]
    pub fn new_record(self) -> NewCustomer {
        let it = self.0;
        NewCustomer {
            id: it.id,
            organization_id: it.organization_id,
            mode: it.mode,
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

    /// So many are free to promise, in each mode.
    pub fn stock(self, quantity: u32) -> Self {
        self.with(|it| it.stock = Stock::both(Inventory::Tracked(quantity)))
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

/// Builds a [`Checkout`] that may stand where no test has led it.
#[derive(Debug, Clone)]
#[must_use = "a builder makes nothing until it is built"]
pub struct CheckoutBuilder {
    snapshot: Snapshot,
    /// What the variant costs.
    price: Money,
}

impl CheckoutBuilder {
    pub(super) const fn new(snapshot: Snapshot, price: Money) -> Self {
        Self { snapshot, price }
    }

    /// Changes whatever no other method does.
    pub fn with(mut self, change: impl FnOnce(&mut Snapshot)) -> Self {
        change(&mut self.snapshot);
        self
    }

    /// The record.
    #[must_use]
    pub fn build(self) -> Checkout {
        Checkout::restore(self.snapshot).expect("parts of a checkout that fit")
    }

    /// Chooses the term.
    pub fn term(self, term: &LeaseTerm) -> Self {
        self.with(|it| {
            it.term = Some(ChosenTerm::from(term));
        })
    }

    /// Leases so many of the variant; said before [`at`](Self::at), whose price it changes.
    pub fn quantity(self, quantity: u32) -> Self {
        self.with(|it| {
            let quantity = Quantity::new(quantity).expect("a quantity");
            it.items.truncate(1);
            let Some(one) = it.items.first().cloned() else {
                return;
            };
            // Beside the ids that the fixtures make.
            it.items.extend((1..quantity.get()).map(|number| {
                let id = one.id.as_uuid().as_u128() ^ (u128::from(number) << 100);
                CheckoutItem {
                    id: CheckoutItemPubId::from_uuid(uuid::Uuid::from_u128(id)),
                    ..one.clone()
                }
            }));
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
        let price = self.price;
        self.with(|it| {
            it.state = State::new(lifecycle);
            let made = it.created_at;
            let id = it.id.as_uuid().simple();
            if let Some(reason) = lifecycle.waits_for() {
                it.waitlist = Some(Waitlist {
                    reason,
                    ..Waitlist::for_stock()
                });
            }
            let ends_at = made.checked_add_signed(TimeDelta::days(7)).unwrap_or(made);
            let hold = Hold::new(format!("pi_{id}"), ends_at);
            if lifecycle.is_confirmed() {
                it.signed_at = Some(made);
                it.deposit = Deposit::Captured {
                    hold,
                    invoice_id: format!("in_{id}"),
                    at: made,
                };
                it.milestones.confirmed_at = Some(made);
                it.insurance = InsuranceStatus::Approved;
            } else if lifecycle.rank() >= Lifecycle::RecurringPaymentMethodPending.rank()
                || lifecycle == Lifecycle::WaitlistedAfterDeposit
            {
                it.deposit = Deposit::Authorized { hold };
            }
            let is_submitted =
                it.deposit != Deposit::Open || lifecycle == Lifecycle::DepositProcessing;
            if is_submitted && it.quote.is_none() {
                let one = quoted(price, it.term.map(|term| term.months));
                it.quote = Some(one.times(it.quantity()).expect("a price that is counted"));
            }
            if lifecycle == Lifecycle::Shipped || lifecycle.is_leased() {
                it.shipment.shipped_at = Some(made);
                it.shipment.heard_at = Some(made);
            }
            if lifecycle.is_leased() {
                it.recurring.billing = Billing::Active {
                    requested_at: made,
                    subscription_id: format!("sub_{id}"),
                    standing: Standing::Good,
                };
                it.milestones.active_at = Some(made);
                let start = made.date_naive();
                it.lease.start = Some(start);
                it.lease.end = it
                    .term
                    .and_then(|term| add_months(start, u32::from(term.months.get())));
            }
            it.review(made);
        })
    }

    /// Called off for the reason.
    pub fn cancelled(self, reason: &str) -> Self {
        self.at(Lifecycle::Cancelled)
            .with(|it| it.cancel_reason = Some(text::<Line>(reason)))
    }
}

/// The checkout with something about it changed, as no event would.
///
/// # Panics
/// When the parts do not fit each other any more.
pub fn altered(checkout: &Checkout, change: impl FnOnce(&mut Snapshot)) -> Checkout {
    let mut snapshot = checkout.clone().into_snapshot();
    change(&mut snapshot);
    snapshot.review(checkout.updated_at);
    Checkout::restore(snapshot).expect("parts of a checkout that fit")
}

/// A price that was frozen: by a money factor of 0.0025, to a residual value of 60 %, with a
/// deposit of 10 % and insurance of 6 % a year.
pub(super) fn quoted(price: Money, months: Option<TermMonths>) -> Quote {
    let card = RateCard {
        term: months.unwrap_or_else(|| TermMonths::new(12).expect("months")),
        rate: Rate::MoneyFactor("0.0025".parse().expect("a factor")),
        residual: "60".parse().expect("a percentage"),
        deposit: "10".parse().expect("a percentage"),
        insurance: "6".parse().expect("a percentage"),
    };
    quote(price, Percentage::ZERO, &card).expect("a price that can be leased")
}

impl ApiKeyBuilder {
    /// A publishable key, which has no permissions.
    pub fn publishable(self) -> Self {
        self.with(|it| {
            it.kind = KeyKind::Publishable;
            it.permissions = Permissions::default();
        })
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
