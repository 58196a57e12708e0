//! The values of the domain as requests and answers have them: how each is read, what the reference says
//! of it, and its name here. The names hide type parameters, which the document's generator would follow
//! into the domain.

use std::borrow::Cow;

use chrono::TimeDelta;
use lessor_adapters::processor::standard_webhooks::SharedSecret;
use lessor_domain::access::Mode;
use lessor_domain::address::Country as CountryCode;
use lessor_domain::ids::IdRef;
use lessor_domain::money::Amount as Money;
use lessor_domain::percentage::{self, TermMonths};
use lessor_domain::secret::Secret;
use lessor_domain::services::lease_terms::Method;
use lessor_domain::services::webhook_endpoints::LONGEST_OVERLAP;
use lessor_domain::shipments::TrackingNumber as ShipmentNumber;
use lessor_domain::time::{Day, Timestamp};
use lessor_domain::{
    agreement, audit, catalog, checkout, credit, customer, events, ids, lease_term, ledger, mail,
    organization, ports, shipments, text, webhooks,
};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, Schema, SchemaFormat};

use crate::request::{Described, Form, Lookup, Parsed, Whole, schemas};

/// Declares values: the name here, the type of the domain, and what the reference says of it.
macro_rules! values {
    ($($(#[$doc:meta])* $name:ident = $of:ty $(as $form:expr)? => { $schema:expr })*) => {$(
        $(#[$doc])*
        pub type $name = Parsed<$of>;

        impl Described for $of {
            $(const FORM: Form = $form;)?

            fn read(text: &str) -> Result<Self, String> {
                text.parse().map_err(|error: <Self as std::str::FromStr>::Err| error.to_string())
            }

            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn schema() -> RefOr<Schema> {
                $schema.into()
            }
        }
    )*};
}

values! {
    /// A name or title.
    Name = text::Name => { schemas::text(text::Name::MAX) }
    /// A description, in several lines.
    Description = text::Description => { schemas::text(text::Description::MAX) }
    /// A stock keeping unit.
    Sku = text::Sku => { schemas::text(text::Sku::MAX) }
    /// An id from the caller's own system.
    ExternalId = text::ExternalId => { schemas::text(text::ExternalId::MAX) }
    /// One line.
    Line = text::Line => { schemas::text(text::Line::MAX) }
    /// What a carrier says of an event.
    EventText = text::EventText => { schemas::text(text::EventText::MAX) }
    /// An organization's own terms in Markdown.
    AgreementText = text::AgreementText => { schemas::text(text::AgreementText::MAX) }
    /// A SHA-256 in hexadecimal.
    Sha256 = agreement::Sha256 => {
        schemas::text(64).min_length(Some(64)).pattern(Some("^[0-9A-Fa-f]{64}$"))
    }
    /// What something was done to, as audit events name it.
    AuditSubject = audit::AuditSubject => { schemas::text(audit::AuditSubject::MAX) }
    /// What an event is about.
    EventSubject = events::EventSubject => {
        schemas::text(27).pattern(Some("^(prod|pvar|usr|term|chk|whe)_[0-9A-Za-z]{22}$"))
    }
    /// A type of events, or several: `checkout.created`, `checkout.*`, `*`.
    EventTypes = events::EventPattern => {
        schemas::text(64).pattern(Some(r"^(\*|[a-z_]+\.(\*|[a-z_]+))$"))
    }
    /// What is looked for in texts.
    SearchTerm = text::SearchTerm => { schemas::text(text::SearchTerm::MAX) }
    /// A key of metadata.
    MetadataKey = text::MetadataKey => { schemas::text(text::MetadataKey::MAX) }
    /// A value of metadata.
    MetadataValue = text::MetadataValue => { schemas::text(text::MetadataValue::MAX) }
    /// An e-mail address.
    Email = text::Email => {
        schemas::text(text::Email::MAX).format(Some(SchemaFormat::KnownFormat(KnownFormat::Email)))
    }
    /// An absolute address of the web.
    Url = text::Url => {
        schemas::text(text::Url::MAX)
            .format(Some(SchemaFormat::Custom("uri".to_owned())))
            .pattern(Some("^https?://"))
    }
    /// Where a browser is sent; `{CHECKOUT_ID}` behind the host stands for the checkout's id.
    RedirectUrl = text::RedirectUrl => {
        schemas::text(text::RedirectUrl::MAX).pattern(Some("^https?://"))
    }
    /// A color, `#rrggbb`.
    Color = organization::Color => {
        schemas::text(7).min_length(Some(7)).pattern(Some("^#[0-9A-Fa-f]{6}$"))
    }
    /// A country, a state or postal codes of one: `US`, `US-CA`, `US:941*`.
    Region = organization::Region => { schemas::text(255) }
    /// A country of ISO 3166-1, by its two letters in any case.
    Country = CountryCode => { schemas::text(2).min_length(Some(2)).pattern(Some("^[A-Za-z]{2}$")) }
    /// A carrier's number of a shipment.
    TrackingNumber = ShipmentNumber => { schemas::text(255) }
    /// The length of a lease in months.
    Term = TermMonths as Form::Integer => {
        schemas::integer(i64::from(TermMonths::MIN.get()), i64::from(TermMonths::MAX.get()))
    }
}

/// Declares decimal numbers, which are read exactly.
macro_rules! decimals {
    ($($(#[$doc:meta])* $name:ident = $of:ty;)*) => {$(
        $(#[$doc])*
        pub type $name = Parsed<$of>;

        impl Described for $of {
            const FORM: Form = Form::Scalar("a decimal number");

            fn read(text: &str) -> Result<Self, String> {
                // A number's exponent is written out before.
                if text.contains(['e', 'E']) {
                    return Err("must be a decimal number, such as 12.50".to_owned());
                }
                text.parse().map_err(|error: <Self as std::str::FromStr>::Err| error.to_string())
            }

            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn schema() -> RefOr<Schema> {
                schemas::decimal().into()
            }
        }
    )*};
}

decimals! {
    /// An amount of money.
    Amount = Money;
    /// A percentage.
    Percentage = percentage::Percentage;
    /// A money factor.
    MoneyFactor = percentage::MoneyFactor;
    /// An annual rate in percent.
    AnnualRate = percentage::AnnualRate;
}

macro_rules! public_ids {
    ($($(#[$doc:meta])* $name:ident = $of:ty;)*) => {
        values! { $($(#[$doc])* $name = $of => { schemas::id::<$of>() })* }
    };
}

public_ids! {
    /// `prod_…`.
    ProductId = ids::ProductPubId;
    /// `cat_…`.
    CategoryId = ids::ProductCategoryPubId;
    /// `term_…`.
    TermId = ids::LeaseTermPubId;
    /// `pvar_…`.
    VariantId = ids::ProductVariantPubId;
    /// `chk_…`.
    CheckoutId = ids::CheckoutPubId;
    /// `chkitem_…`.
    CheckoutItemId = ids::CheckoutItemPubId;
    /// `usr_…`.
    UserId = ids::UserPubId;
    /// `org_…`.
    OrganizationId = ids::OrganizationPubId;
    /// `key_…`.
    KeyId = ids::ApiKeyPubId;
    /// `aud_…`.
    AuditEventId = ids::AuditEventPubId;
    /// `doc_…`.
    DocumentId = ids::AgreementPubId;
    /// `evt_…`.
    EventId = ids::EventPubId;
    /// `whe_…`.
    WebhookEndpointId = ids::WebhookEndpointPubId;
    /// `del_…`.
    DeliveryId = ids::DeliveryPubId;
}

/// The id of a webhook endpoint that may exist or not.
pub type WebhookEndpointLookup = Parsed<Lookup<ids::WebhookEndpointPubId>>;
/// The id of a product that may exist or not.
pub type ProductLookup = Parsed<Lookup<ids::ProductPubId>>;
/// The id of a variant that may exist or not.
pub type VariantLookup = Parsed<Lookup<ids::ProductVariantPubId>>;
/// The id of a checkout that may exist or not.
pub type CheckoutLookup = Parsed<Lookup<ids::CheckoutPubId>>;
/// The id of a customer that may exist or not.
pub type UserLookup = Parsed<Lookup<ids::UserPubId>>;
/// An organization by either of its ids, which may exist or not.
pub type OrganizationRef = Parsed<Lookup<ids::OrganizationRef>>;
/// A category by either of its ids.
pub type CategoryRef = Parsed<ids::ProductCategoryRef>;
/// A lease term by either of its ids.
pub type TermRef = Parsed<ids::LeaseTermRef>;

impl<P, N> Described for IdRef<P, N>
where
    Self: std::str::FromStr<Err = ids::IdError>,
{
    const FORM: Form = Form::Scalar("a public id or a number");

    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|error: ids::IdError| error.to_string())
    }

    fn name() -> Cow<'static, str> {
        "IdOrNumber".into()
    }

    fn schema() -> RefOr<Schema> {
        schemas::id_or_number().into()
    }
}

/// The length of a lease in months, which may come as a string of digits too.
pub type TermOrText = Parsed<OrText<TermMonths>>;

/// A whole number that may come as a string of digits too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrText<T>(pub T);

impl Described for OrText<TermMonths> {
    const FORM: Form = Form::Scalar("an integer");

    fn read(text: &str) -> Result<Self, String> {
        TermMonths::read(text).map(Self)
    }

    fn name() -> Cow<'static, str> {
        "TermOrText".into()
    }

    fn schema() -> RefOr<Schema> {
        let (least, most) = (TermMonths::MIN.get(), TermMonths::MAX.get());
        schemas::integer_or_text(i64::from(least), i64::from(most)).into()
    }
}

/// How many are free to promise; −1 stands for none that is counted.
pub type Quantity = Parsed<Whole<i64, -1, { i32::MAX as i64 }>>;
/// How long a request is held, in seconds.
pub type WaitSeconds = Parsed<Whole<u64, 0, 30>>;
/// A model year.
pub type Year = Parsed<Whole<i32, 1, 9999>>;
/// A place in a list, from 0.
pub type Position = Parsed<Whole<i32, 0, { i32::MAX as i64 }>>;

/// A time, RFC 3339 with any offset.
pub type Time = Parsed<Timestamp>;

impl Described for Timestamp {
    fn read(text: &str) -> Result<Self, String> {
        // More fractions of a second than any clock has.
        const MAX_LENGTH: usize = 64;
        let at = chrono::DateTime::parse_from_rfc3339(text).ok();
        at.filter(|_| text.len() <= MAX_LENGTH)
            .map(|at| at.to_utc())
            .ok_or_else(|| {
                "must be a time in RFC 3339, such as 2026-11-20T09:14:00Z (in a query, + is written %2B)"
                    .to_owned()
            })
    }

    fn name() -> Cow<'static, str> {
        "Time".into()
    }

    fn schema() -> RefOr<Schema> {
        schemas::text(64)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .examples([serde_json::json!("2026-11-20T09:14:00Z")])
            .into()
    }
}

/// What requests are signed with, `whsec_…` of 24 to 64 bytes in Base64.
pub type SigningSecret = Parsed<WebhookSecret>;

/// A secret of Standard Webhooks, as its owner gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSecret(Secret);

impl From<WebhookSecret> for Secret {
    fn from(given: WebhookSecret) -> Self {
        given.0
    }
}

impl Described for WebhookSecret {
    fn read(text: &str) -> Result<Self, String> {
        let read = text.parse::<SharedSecret>();
        read.map(|_| Self(Secret::new(text.to_owned())))
            .map_err(|refused| refused.to_string())
    }

    fn name() -> Cow<'static, str> {
        "SigningSecret".into()
    }

    fn schema() -> RefOr<Schema> {
        schemas::text(128)
            .pattern(Some("^whsec_[0-9A-Za-z+/]+=*$"))
            .into()
    }
}

/// How long two secrets sign at a time.
pub type SecretOverlap = Parsed<Overlap>;

/// A time such as `24h`, from nothing to a week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap(TimeDelta);

impl Overlap {
    /// What it is unless something else is said.
    pub const USUAL: Self = Self(TimeDelta::hours(24));

    /// The time.
    #[must_use]
    pub const fn get(self) -> TimeDelta {
        self.0
    }
}

impl Described for Overlap {
    fn read(text: &str) -> Result<Self, String> {
        let read = || {
            let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let number: i64 = number.parse().ok().filter(|_| is_number)?;
            let time = match unit {
                "s" => TimeDelta::try_seconds(number),
                "m" => TimeDelta::try_minutes(number),
                "h" => TimeDelta::try_hours(number),
                "d" => TimeDelta::try_days(number),
                _ => None,
            };
            time.filter(|time| *time <= LONGEST_OVERLAP).map(Self)
        };
        read().ok_or_else(|| {
            "must be a time from 0s to 7d: a number and s, m, h or d, such as 24h".to_owned()
        })
    }

    fn name() -> Cow<'static, str> {
        "SecretOverlap".into()
    }

    fn schema() -> RefOr<Schema> {
        schemas::text(16)
            .pattern(Some("^[0-9]+[smhd]$"))
            .examples([serde_json::json!("24h")])
            .into()
    }
}

/// The day on which somebody was born.
pub type BirthDate = Parsed<Day>;

impl Described for Day {
    fn read(text: &str) -> Result<Self, String> {
        Self::parse_from_str(text, "%Y-%m-%d")
            .ok()
            // The parser takes signs, and fewer digits.
            .filter(|day| day.to_string() == text)
            .ok_or_else(|| "must be a day, such as 1990-05-31".to_owned())
    }

    fn name() -> Cow<'static, str> {
        "BirthDate".into()
    }

    fn schema() -> RefOr<Schema> {
        schemas::text(10)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)))
            .examples([serde_json::json!("1990-05-31")])
            .into()
    }
}

/// Declares enumerations: the name here, the type of the domain, which has the names of its values, and
/// what the reference calls and says of it.
macro_rules! enumerations {
    ($($(#[doc = $about:literal])* $name:ident = $of:ty as $title:literal;)*) => {$(
        $(#[doc = $about])*
        pub type $name = Parsed<$of>;

        impl Described for $of {
            fn read(text: &str) -> Result<Self, String> {
                text.parse().map_err(|error: <Self as std::str::FromStr>::Err| error.to_string())
            }

            fn name() -> Cow<'static, str> {
                $title.into()
            }

            fn schema() -> RefOr<Schema> {
                let names = <$of>::ALL.iter().map(|value| value.as_str());
                utoipa::openapi::schema::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .description(Some(concat!($($about),*).trim_start()))
                    .enum_values(Some(names))
                    .into()
            }
        }
    )*};
}

enumerations! {
    /// Where a product's data come from.
    ProductSource = catalog::ProductSource as "ProductSource";
    /// Whether a product can be leased on its own.
    ProductType = catalog::ProductType as "ProductType";
    /// Whether a product or variant is offered.
    ProductStatus = catalog::ProductStatus as "ProductStatus";
    /// What the review of a product said.
    ReviewStatus = catalog::ReviewStatus as "ReviewStatus";
    /// What products are sorted by.
    ProductSort = ports::ProductSort as "ProductSort";
    /// Whether a lease term is offered.
    LeaseTermStatus = lease_term::LeaseTermStatus as "LeaseTermStatus";
    /// How the rent charge of a term is computed.
    LeaseTermMethod = Method as "LeaseTermMethod";
    /// Which way a list runs.
    SortOrder = ports::SortOrder as "SortOrder";
    /// What checkouts are sorted by.
    CheckoutSort = ports::CheckoutSort as "CheckoutSortBy";
    /// Where a checkout stands.
    Lifecycle = checkout::Lifecycle as "CheckoutLifecycle";
    /// The part of the way that a state belongs to.
    Phase = checkout::Phase as "CheckoutPhase";
    /// A milestone after the confirmation.
    Milestone = checkout::MilestoneName as "MilestoneName";
    /// The insurance of the leased goods.
    InsuranceStatus = checkout::InsuranceStatus as "InsuranceStatus";
    /// The recurring subscription.
    RecurringPaymentStatus = checkout::RecurringPaymentStatus as "RecurringPaymentStatus";
    /// Why a person must look at a checkout.
    AttentionReason = checkout::AttentionReason as "AttentionReason";
    /// When the first monthly payment is taken.
    FirstPaymentDue = checkout::FirstPaymentDue as "FirstPaymentDue";
    /// What a checkout waits for.
    WaitlistReason = checkout::WaitlistReason as "WaitlistReason";
    /// A carrier whose shipments can be tracked.
    Carrier = shipments::Carrier as "Carrier";
    /// Where a shipment is.
    TrackingStatus = shipments::TrackingStatus as "TrackingStatus";
    /// Whether money and goods are real.
    Environment = Mode as "Environment";
    /// How an organization decides about credit.
    CreditKind = credit::CreditKind as "CreditKind";
    /// Where an organization has its agreements signed.
    SignerKind = agreement::SignerKind as "SignerKind";
    /// What was done with an agreement.
    AgreementEventKind = agreement::AgreementEventKind as "AgreementEventKind";
    /// What the credit check said.
    CreditStatus = customer::CreditStatus as "CreditStatus";
    /// Whether the organization leases to the customer.
    CreditDecision = credit::CreditDecision as "CreditDecision";
    /// Why credit was refused.
    AdverseReason = credit::AdverseReason as "AdverseReason";
    /// Who or what decided about credit.
    QualificationSource = credit::QualificationSource as "QualificationSource";
    /// What was made at the payment processor.
    PaymentKind = ledger::EntryKind as "PaymentKind";
    /// Who moved a checkout.
    CheckoutActor = checkout::Actor as "CheckoutActor";
    /// What kind of actor did something.
    AuditActorKind = audit::AuditActorKind as "AuditActorType";
    /// What an event says.
    EventType = events::EventType as "EventType";
    /// What kind of record an event is about.
    EventSubjectType = events::EventSubjectKind as "EventSubjectType";
    /// Whether a webhook endpoint is told of what happens.
    WebhookEndpointStatus = webhooks::WebhookEndpointStatus as "WebhookEndpointStatus";
    /// Why Lessor disabled a webhook endpoint by itself: it answered 410, or every attempt of five days failed.
    DisabledReason = webhooks::DisabledReason as "WebhookEndpointDisabledReason";
    /// What became of a delivery.
    DeliveryStatus = webhooks::DeliveryStatus as "DeliveryStatus";
    /// What became of a mail after it was sent.
    MailReportType = mail::MailReport as "MailReportType";
    /// What was done.
    AuditAction = audit::AuditAction as "AuditAction";
    /// How far the identity verification is.
    IdentityStatus = customer::IdentityStatus as "IdentityVerificationStatus";
}
