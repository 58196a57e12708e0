//! What happened to records, for whoever follows them.
//!
//! An event says that a record is there, changed or gone, and shows it as its GET answered at that
//! moment. It is written with the change, in the same unit of work, and gets its number afterwards:
//! 1, 2, 3 … for each organization and mode, so that who reads on from a number misses nothing.
//!
//! What *moves* a checkout is another thing: [`checkout::Event`](crate::checkout::Event).

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::access::Mode;
use crate::ids::{
    CheckoutPubId, CustomerPubId, EventPubId, IdError, LeaseTermPubId, OrganizationId,
    ProductPubId, ProductVariantPubId, WebhookEndpointPubId,
};
use crate::names::{UnknownName, named_enum};
use crate::ports::Scope;
use crate::time::Timestamp;

named_enum! {
    /// What an event says. Several that happened at once are told in this order.
    pub enum EventType {
        ProductCreated = "product.created",
        /// It changed, in a way that has no name of its own.
        ProductUpdated = "product.updated",
        ProductArchived = "product.archived",
        ProductDeleted = "product.deleted",
        ProductVariantCreated = "product_variant.created",
        /// It changed, in a way that has no name of its own.
        ProductVariantUpdated = "product_variant.updated",
        ProductVariantArchived = "product_variant.archived",
        ProductVariantDeleted = "product_variant.deleted",
        /// The last unit of the mode's stock is taken.
        ProductVariantOutOfStock = "product_variant.out_of_stock",
        /// There is stock again in the mode, or it is not counted any more.
        ProductVariantBackInStock = "product_variant.back_in_stock",
        CustomerCreated = "customer.created",
        /// They changed, in a way that has no name of its own.
        CustomerUpdated = "customer.updated",
        CustomerIdentityVerified = "customer.identity_verified",
        CustomerIdentityFailed = "customer.identity_failed",
        LeaseTermCreated = "lease_term.created",
        LeaseTermUpdated = "lease_term.updated",
        LeaseTermDeleted = "lease_term.deleted",
        CheckoutCreated = "checkout.created",
        /// It changed, in a way that has no name of its own.
        CheckoutUpdated = "checkout.updated",
        CheckoutWaitlisted = "checkout.waitlisted",
        /// It waits no more.
        CheckoutPromoted = "checkout.promoted",
        /// A person has to decide about the customer's credit.
        CheckoutQualificationRequired = "checkout.qualification_required",
        CheckoutQualified = "checkout.qualified",
        CheckoutDeclined = "checkout.declined",
        CheckoutDepositAuthorized = "checkout.deposit_authorized",
        /// The deposit could not be authorized, or not be taken.
        CheckoutDepositFailed = "checkout.deposit_failed",
        /// It is taken.
        CheckoutDepositPaid = "checkout.deposit_paid",
        /// What was held of it is let go, or has lapsed.
        CheckoutDepositReleased = "checkout.deposit_released",
        /// What was taken of it is paid back.
        CheckoutDepositRefunded = "checkout.deposit_refunded",
        /// The lease can be signed.
        CheckoutDocumentsReady = "checkout.documents_ready",
        CheckoutDocumentsSigned = "checkout.documents_signed",
        CheckoutOrderConfirmed = "checkout.order_confirmed",
        /// The organization said that the goods are on their way.
        CheckoutFulfilled = "checkout.fulfilled",
        /// They are, with a tracking number.
        CheckoutShipped = "checkout.shipped",
        CheckoutDelivered = "checkout.delivered",
        CheckoutFulfillmentException = "checkout.fulfillment_exception",
        /// The lease is active.
        CheckoutCompleted = "checkout.completed",
        CheckoutReturnInitiated = "checkout.return_initiated",
        CheckoutReturned = "checkout.returned",
        CheckoutCancelled = "checkout.cancelled",
        CheckoutExpired = "checkout.expired",
        /// A person must look at it, and nobody had to before.
        CheckoutNeedsAttention = "checkout.needs_attention",
        /// A monthly payment was made.
        PaymentSucceeded = "payment.succeeded",
        /// A try to take a monthly payment failed.
        PaymentFailed = "payment.failed",
        /// A monthly payment is paid back.
        PaymentRefunded = "payment.refunded",
        /// The customer's bank contests a payment.
        PaymentDisputed = "payment.disputed",
        /// It is told of nothing any more, because of how it answered.
        WebhookEndpointDisabled = "webhook_endpoint.disabled",
    }
}

impl EventType {
    /// The part of the name before the dot.
    #[must_use]
    pub fn family(self) -> &'static str {
        let name = self.as_str();
        name.split_once('.').map_or(name, |(family, _)| family)
    }

    /// The kind of record that it is about: that of its family, and a checkout for a payment.
    #[must_use]
    pub fn subject(self) -> EventSubjectKind {
        self.family().parse().unwrap_or(EventSubjectKind::Checkout)
    }
}

/// Event types as callers choose them: `checkout.created`, `checkout.*` or `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventPattern {
    All,
    /// Those of a [family](EventType::family).
    Family(&'static str),
    One(EventType),
}

impl EventPattern {
    /// Whether it means the type.
    #[must_use]
    pub fn means(self, event_type: EventType) -> bool {
        match self {
            Self::All => true,
            Self::Family(family) => event_type.family() == family,
            Self::One(one) => one == event_type,
        }
    }

    /// The types that any of these mean, in their order; none where all are meant.
    #[must_use]
    pub fn types(patterns: &[Self]) -> Vec<EventType> {
        let all = EventType::ALL.iter().copied();
        let meant: Vec<EventType> = all
            .filter(|known| patterns.iter().any(|pattern| pattern.means(*known)))
            .collect();
        if meant.len() == EventType::ALL.len() {
            Vec::new()
        } else {
            meant
        }
    }
}

impl fmt::Display for EventPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Family(family) => write!(f, "{family}.*"),
            Self::One(one) => one.fmt(f),
        }
    }
}

impl FromStr for EventPattern {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        if text == "*" {
            return Ok(Self::All);
        }
        let family = text.strip_suffix(".*").and_then(|family| {
            let mut families = EventType::ALL.iter().map(|known| known.family());
            families.find(|known| *known == family)
        });
        match family {
            Some(family) => Ok(Self::Family(family)),
            None => text
                .parse()
                .map(Self::One)
                .map_err(|UnknownName { allowed }| UnknownName {
                    allowed: format!(
                        "*, product.*, product_variant.*, customer.*, lease_term.*, checkout.*, payment.*, webhook_endpoint.*, {allowed}"
                    ),
                }),
        }
    }
}

named_enum! {
    /// What kind of record an event is about.
    pub enum EventSubjectKind {
        Product = "product",
        ProductVariant = "product_variant",
        Customer = "customer",
        LeaseTerm = "lease_term",
        Checkout = "checkout",
        WebhookEndpoint = "webhook_endpoint",
    }
}

/// The record that an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventSubject {
    Product(ProductPubId),
    ProductVariant(ProductVariantPubId),
    Customer(CustomerPubId),
    LeaseTerm(LeaseTermPubId),
    Checkout(CheckoutPubId),
    WebhookEndpoint(WebhookEndpointPubId),
}

impl EventSubject {
    /// What kind of record it is.
    #[must_use]
    pub const fn kind(self) -> EventSubjectKind {
        match self {
            Self::Product(_) => EventSubjectKind::Product,
            Self::ProductVariant(_) => EventSubjectKind::ProductVariant,
            Self::Customer(_) => EventSubjectKind::Customer,
            Self::LeaseTerm(_) => EventSubjectKind::LeaseTerm,
            Self::Checkout(_) => EventSubjectKind::Checkout,
            Self::WebhookEndpoint(_) => EventSubjectKind::WebhookEndpoint,
        }
    }

    /// Its id as stores keep it.
    #[must_use]
    pub const fn as_uuid(self) -> Uuid {
        match self {
            Self::Product(id) => id.as_uuid(),
            Self::ProductVariant(id) => id.as_uuid(),
            Self::Customer(id) => id.as_uuid(),
            Self::LeaseTerm(id) => id.as_uuid(),
            Self::Checkout(id) => id.as_uuid(),
            Self::WebhookEndpoint(id) => id.as_uuid(),
        }
    }

    /// The record of this kind and id.
    #[must_use]
    pub const fn from_parts(kind: EventSubjectKind, id: Uuid) -> Self {
        match kind {
            EventSubjectKind::Product => Self::Product(ProductPubId::from_uuid(id)),
            EventSubjectKind::ProductVariant => {
                Self::ProductVariant(ProductVariantPubId::from_uuid(id))
            }
            EventSubjectKind::Customer => Self::Customer(CustomerPubId::from_uuid(id)),
            EventSubjectKind::LeaseTerm => Self::LeaseTerm(LeaseTermPubId::from_uuid(id)),
            EventSubjectKind::Checkout => Self::Checkout(CheckoutPubId::from_uuid(id)),
            EventSubjectKind::WebhookEndpoint => {
                Self::WebhookEndpoint(WebhookEndpointPubId::from_uuid(id))
            }
        }
    }
}

impl fmt::Display for EventSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Product(id) => id.fmt(f),
            Self::ProductVariant(id) => id.fmt(f),
            Self::Customer(id) => id.fmt(f),
            Self::LeaseTerm(id) => id.fmt(f),
            Self::Checkout(id) => id.fmt(f),
            Self::WebhookEndpoint(id) => id.fmt(f),
        }
    }
}

/// A text is the id of nothing that events are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be the id of a product, variant, customer, lease term, checkout or webhook endpoint: prod_…, pvar_…, usr_…, term_…, chk_… or whe_…"
)]
pub struct NoSubject;

impl From<IdError> for NoSubject {
    fn from(_: IdError) -> Self {
        Self
    }
}

impl FromStr for EventSubject {
    type Err = NoSubject;

    fn from_str(text: &str) -> Result<Self, NoSubject> {
        let (prefix, _) = text.split_once('_').ok_or(NoSubject)?;
        match prefix {
            "prod" => Ok(Self::Product(text.parse()?)),
            "pvar" => Ok(Self::ProductVariant(text.parse()?)),
            "usr" => Ok(Self::Customer(text.parse()?)),
            "term" => Ok(Self::LeaseTerm(text.parse()?)),
            "chk" => Ok(Self::Checkout(text.parse()?)),
            "whe" => Ok(Self::WebhookEndpoint(text.parse()?)),
            _ => Err(NoSubject),
        }
    }
}

/// A record as JSON, and where its members stand in it, which whoever wrote it knows and nobody has to read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordText {
    /// The object.
    pub json: String,
    /// Its members, in the order in which they stand there.
    pub members: Vec<MemberPlace>,
}

/// Where a member stands in the text of a record, by bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberPlace {
    /// Where its name begins.
    pub start: usize,
    /// Where its value begins.
    pub value: usize,
    /// Where its value ends.
    pub end: usize,
}

impl RecordText {
    /// An object of one member, whose name and value are written so.
    #[must_use]
    pub fn of_one(name: &str, value: &str) -> Self {
        let json = format!("{{{name}:{value}}}");
        let end = json.len().saturating_sub(1);
        let member = MemberPlace {
            start: 1,
            value: end.saturating_sub(value.len()),
            end,
        };
        Self {
            json,
            members: vec![member],
        }
    }

    fn part(&self, start: usize, end: usize) -> &str {
        self.json.get(start..end).unwrap_or_default()
    }

    /// Its members that differ from what is now, as they are here, as JSON. What had no value is left out. None where
    /// nothing differs.
    ///
    /// ```
    /// use lessor_domain::events::RecordText;
    ///
    /// let before = RecordText::of_one(r#""status""#, r#""inactive""#);
    /// let now = RecordText::of_one(r#""status""#, r#""active""#);
    /// assert_eq!(before.previous(&now).as_deref(), Some(r#"{"status":"inactive"}"#));
    /// assert_eq!(now.previous(&now), None);
    /// ```
    #[must_use]
    pub fn previous(&self, now: &Self) -> Option<String> {
        let mut differing = Vec::new();
        let mut shared = 0_usize;
        // Records of a kind have their members in one order: the next is most likely the next.
        let mut next = 0;
        for member in &self.members {
            let name = self.part(member.start, member.value);
            let has_name = |place: &usize| {
                let other = now.members.get(*place);
                other.is_some_and(|other| now.part(other.start, other.value) == name)
            };
            let found = (next..now.members.len()).chain(0..next).find(has_name);
            if let Some(place) = found {
                shared = shared.saturating_add(1);
                next = place.saturating_add(1);
            }
            let other = found.and_then(|place| now.members.get(place));
            let value = self.part(member.value, member.end);
            if other.is_none_or(|other| now.part(other.value, other.end) != value) {
                differing.push(self.part(member.start, member.end));
            }
        }
        let has_new = shared < now.members.len();
        (has_new || !differing.is_empty()).then(|| format!("{{{}}}", differing.join(",")))
    }
}

/// The record that an event shows, as JSON that nobody writes anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The record as its GET answered at that moment; of one that is gone as it was last.
    pub object: String,
    /// The old values of the members that changed; none for what is new or gone.
    pub previous: Option<String>,
}

/// An event that has no number yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    pub id: EventPubId,
    pub organization_id: OrganizationId,
    /// In whose feed it is: of what both modes share each has an event of its own.
    pub mode: Mode,
    pub event_type: EventType,
    pub subject: EventSubject,
    /// When it happened.
    pub created_at: Timestamp,
    /// The request that it happened by; none for what came of it later.
    pub request_id: Option<String>,
    /// Whose personal data the record has.
    pub customer: Option<CustomerPubId>,
    /// None once that customer was erased.
    pub contents: Option<Contents>,
}

impl NewEvent {
    /// Whose feed it is in.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        Scope {
            organization_id: self.organization_id,
            mode: self.mode,
        }
    }
}

/// An event in its feed, without what it shows: as much as says who is told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventHead {
    /// Its place in the feed, from 1.
    pub sequence: u64,
    pub id: EventPubId,
    pub event_type: EventType,
    pub subject: EventSubject,
    /// When it happened.
    pub created_at: Timestamp,
}

/// An event in the feed of its organization and mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedEvent {
    /// Its place in the feed, from 1.
    pub sequence: u64,
    /// What it says.
    pub event: NewEvent,
}

impl NumberedEvent {
    /// As much of it as says who is told.
    #[must_use]
    pub const fn head(&self) -> EventHead {
        EventHead {
            sequence: self.sequence,
            id: self.event.id,
            event_type: self.event.event_type,
            subject: self.event.subject,
            created_at: self.event.created_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_of_a_family_and_about_a_kind_of_record() {
        for known in EventType::ALL {
            let kind = known.subject();
            let family = known.family();
            assert!(kind.as_str() == family || family == "payment", "{known}");
        }
    }

    #[test]
    fn patterns_mean_types() {
        let parse = |text: &str| text.parse::<EventPattern>();
        assert_eq!(parse("*"), Ok(EventPattern::All));
        assert_eq!(parse("checkout.*"), Ok(EventPattern::Family("checkout")));
        assert_eq!(
            parse("payment.failed"),
            Ok(EventPattern::One(EventType::PaymentFailed))
        );
        for text in ["*", "checkout.*", "payment.failed", "webhook_endpoint.*"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        for unknown in [
            "",
            "checkout",
            "webhook_endpoint.test",
            "checkout.",
            "shop.*",
            ".*",
            "checkout.created.*",
        ] {
            assert!(parse(unknown).is_err(), "{unknown}");
        }
        let types = EventPattern::types(&[
            parse("payment.*").unwrap(),
            parse("product.created").unwrap(),
        ]);
        assert_eq!(types.first(), Some(&EventType::ProductCreated));
        assert_eq!(types.len(), 5);
        assert_eq!(EventPattern::types(&[EventPattern::All]), []);
    }

    #[test]
    fn a_subject_is_found_by_its_id() {
        let uuid = Uuid::from_u128(7);
        for kind in EventSubjectKind::ALL.iter().copied() {
            let subject = EventSubject::from_parts(kind, uuid);
            assert_eq!(subject.kind(), kind);
            assert_eq!(subject.as_uuid(), uuid);
            assert_eq!(subject.to_string().parse(), Ok(subject));
        }
        assert_eq!("key_1".parse::<EventSubject>(), Err(NoSubject));
        assert_eq!("nothing".parse::<EventSubject>(), Err(NoSubject));
    }
}
