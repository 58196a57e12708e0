//! What the answers of several resources are made of.

use std::borrow::Cow;
use std::fmt::Display;

use chrono::SecondsFormat;
use lessor_domain::address::Address;
use lessor_domain::ids::{
    CheckoutItemPubId, CheckoutPubId, LeaseTermPubId, OrganizationPubId, ProductPubId,
    ProductVariantPubId, UserPubId,
};
use lessor_domain::money::Money;
use lessor_domain::percentage::Percentage;
use lessor_domain::pricing::Quote;
use lessor_domain::time::{Day, Timestamp};
use serde::{Serialize, Serializer};
use utoipa::__dev::ComposeSchema;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};

use crate::fields::{Id, inline};

/// `prod_…`.
pub type ProductId = Id<ProductPubId>;
/// `pvar_…`.
pub type VariantId = Id<ProductVariantPubId>;
/// `chk_…`.
pub type CheckoutId = Id<CheckoutPubId>;
/// `chkitem_…`.
pub type CheckoutItemId = Id<CheckoutItemPubId>;
/// `usr_…`.
pub type UserPublicId = Id<UserPubId>;
/// `org_…`.
pub type OrganizationPublicId = Id<OrganizationPubId>;
/// `term_…`.
pub type LeaseTermPublicId = Id<LeaseTermPubId>;

/// Defines a value that is written as a string and described in the document.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident($of:ty) = |$value:ident| $text:expr, $schema:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(pub $of);

        impl From<$of> for $name {
            fn from(value: $of) -> Self {
                Self(value)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $value = &self.0;
                serializer.collect_str(&$text)
            }
        }

        impl ComposeSchema for $name {
            fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
                let schema: ObjectBuilder = $schema;
                schema.schema_type(Type::String).extensions(Some(inline())).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
        }
    )*};
}

fn instant(at: &Timestamp) -> impl Display {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

texts! {
    /// An instant, RFC 3339 in UTC with milliseconds.
    At(Timestamp) = |at| instant(at),
        ObjectBuilder::new().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    /// A day, UTC, `2026-11-20`.
    OnDay(Day) = |day| day.format("%Y-%m-%d"),
        ObjectBuilder::new().format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)));
    /// An amount of money with the digits of its currency, `"1299.00"`.
    MoneyText(Money) = |money| money,
        ObjectBuilder::new().pattern(Some(r"^-?[0-9]+(\.[0-9]+)?$"));
    /// A percentage without trailing zeros, `"12.5"`.
    PercentText(Percentage) = |percentage| percentage,
        ObjectBuilder::new().pattern(Some(r"^[0-9]+(\.[0-9]+)?$"));
}

/// What a lease costs for one term.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PricingEntry {
    /// The lease term.
    pub lease_term_id: LeaseTermPublicId,
    /// Its months.
    pub term_in_months: u16,
    /// Currency of every amount, ISO 4217.
    pub currency: String,
    /// List price.
    pub msrp: MoneyText,
    /// Discount in percent of the list price, `"0"` without one.
    pub discount_percentage: PercentText,
    /// List price less discount.
    pub capitalized_cost: MoneyText,
    /// Value at the end of the term.
    pub residual_value: MoneyText,
    /// Capitalized cost less residual value.
    pub depreciation: MoneyText,
    /// What the payments exceed the depreciation by.
    pub rent_charge: MoneyText,
    /// Base payment a month.
    pub monthly_payment: MoneyText,
    /// Insurance a month.
    pub insurance: MoneyText,
    /// Base payment and insurance.
    pub total_monthly_payment: MoneyText,
    /// Deposit in percent of the list price.
    pub deposit_percentage: PercentText,
    /// Refundable deposit.
    pub deposit: MoneyText,
    /// Deposit and first total monthly payment.
    pub total_due_at_signing: MoneyText,
    /// Total monthly payment times the months.
    pub total_of_payments: MoneyText,
}

impl PricingEntry {
    /// The quote for a lease term.
    #[must_use]
    pub fn new(term: LeaseTermPubId, quote: &Quote) -> Self {
        Self {
            lease_term_id: Id(term),
            term_in_months: quote.term.get(),
            currency: quote.currency.code().to_owned(),
            msrp: quote.msrp.into(),
            discount_percentage: quote.discount.into(),
            capitalized_cost: quote.capitalized_cost.into(),
            residual_value: quote.residual_value.into(),
            depreciation: quote.depreciation.into(),
            rent_charge: quote.rent_charge.into(),
            monthly_payment: quote.monthly_payment.into(),
            insurance: quote.insurance.into(),
            total_monthly_payment: quote.total_monthly_payment.into(),
            deposit_percentage: quote.deposit_percentage.into(),
            deposit: quote.deposit.into(),
            total_due_at_signing: quote.total_due_at_signing.into(),
            total_of_payments: quote.total_of_payments.into(),
        }
    }
}

/// A postal address.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Address)]
#[serde(rename_all = "camelCase")]
pub struct AddressRecord {
    /// Given name of who receives there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Family name of who receives there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Company.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    /// Street and number.
    pub address1: String,
    /// Second line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address2: Option<String>,
    /// City.
    pub city: String,
    /// State or province.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Postal code.
    pub zip: String,
    /// Country, ISO 3166-1 alpha-2.
    pub country: String,
    /// Phone number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
}

impl From<&Address> for AddressRecord {
    fn from(address: &Address) -> Self {
        let text =
            |line: &Option<lessor_domain::text::Line>| line.as_ref().map(ToString::to_string);
        Self {
            first_name: text(&address.first_name),
            last_name: text(&address.last_name),
            company: text(&address.company),
            address1: address.address1.to_string(),
            address2: text(&address.address2),
            city: address.city.to_string(),
            state: text(&address.state),
            zip: address.zip.to_string(),
            country: address.country.to_string(),
            phone: text(&address.phone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    #[test]
    fn instants_have_milliseconds_and_a_z() {
        let at: Timestamp = DateTime::parse_from_rfc3339("2026-11-20T10:14:00.0004+01:00")
            .unwrap()
            .into();
        assert_eq!(
            serde_json::to_value(At(at)).unwrap(),
            "2026-11-20T09:14:00.000Z"
        );
        assert_eq!(
            serde_json::to_value(OnDay(at.date_naive())).unwrap(),
            "2026-11-20"
        );
    }
}
