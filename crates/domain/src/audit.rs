//! Who did what: the events of the audit.
//!
//! Each tells who did something to a record, from where, and what of it changed. They are only ever
//! added. What a checkout goes through is its own history, whose transitions name the key
//! ([`Circumstances::key`](crate::checkout::Circumstances)); what leaves no transition is an event here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::access::{Access, Mode};
use crate::ids::{
    ApiKeyPubId, AuditEventPubId, CheckoutPubId, CustomerPubId, EventPubId, LeaseTermPubId,
    OrganizationId, OrganizationPubId, PickupLocationId, ProductCategoryPubId, ProductPubId,
    ProductVariantPubId, WebhookEndpointPubId,
};
use crate::names::named_enum;
use crate::text::{Name, SearchTerm, TextError};
use crate::time::Timestamp;

named_enum! {
    /// What kind of somebody did something.
    pub enum AuditActorKind {
        /// An API key.
        Key = "key",
        /// The operator, at the command line.
        Cli = "cli",
        /// The customer, on the checkout page.
        Customer = "customer",
        /// A verifier or a credit checker.
        Provider = "provider",
        /// Lessor itself.
        System = "system",
    }
}

/// What the ids of users of the system begin with.
const CLI_PREFIX: &str = "cli:";
/// The id of Lessor itself.
const SYSTEM_ID: &str = "lessor";

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditActor {
    /// An API key.
    Key {
        id: ApiKeyPubId,
        /// Its name for people, as it was then.
        name: Option<Name>,
    },
    /// The operator, at the command line.
    Cli {
        /// The system's user.
        user: String,
    },
    /// The customer, on the checkout page.
    Customer { id: CustomerPubId },
    /// A verifier or a credit checker.
    Provider {
        /// By what name it is known here.
        name: String,
    },
    /// Lessor itself: time, stock, what is known already.
    System,
}

/// What is stored of an actor fits no actor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{id:?} is not the id of an actor of the kind {kind}")]
pub struct UnknownActor {
    /// The kind that it is said to be.
    pub kind: AuditActorKind,
    /// Its id.
    pub id: String,
}

impl AuditActor {
    /// What kind of somebody it is.
    #[must_use]
    pub const fn kind(&self) -> AuditActorKind {
        match self {
            Self::Key { .. } => AuditActorKind::Key,
            Self::Cli { .. } => AuditActorKind::Cli,
            Self::Customer { .. } => AuditActorKind::Customer,
            Self::Provider { .. } => AuditActorKind::Provider,
            Self::System => AuditActorKind::System,
        }
    }

    /// Its id: that of the key or of the customer, `cli:` and the system's user, the provider's name,
    /// or `lessor`.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Key { id, .. } => id.to_string(),
            Self::Cli { user } => format!("{CLI_PREFIX}{user}"),
            Self::Customer { id } => id.to_string(),
            Self::Provider { name } => name.clone(),
            Self::System => SYSTEM_ID.to_owned(),
        }
    }

    /// Its name for people, where it has one.
    #[must_use]
    pub const fn name(&self) -> Option<&Name> {
        match self {
            Self::Key { name, .. } => name.as_ref(),
            Self::Cli { .. } | Self::Customer { .. } | Self::Provider { .. } | Self::System => None,
        }
    }

    /// The actor of this kind, id and name, as a store kept them.
    ///
    /// # Errors
    /// [`UnknownActor`] of an id that no actor of the kind has.
    pub fn from_parts(
        kind: AuditActorKind,
        id: &str,
        name: Option<Name>,
    ) -> Result<Self, UnknownActor> {
        let actor = match kind {
            AuditActorKind::Key => id.parse().ok().map(|id| Self::Key { id, name }),
            AuditActorKind::Cli => id.strip_prefix(CLI_PREFIX).map(|user| Self::Cli {
                user: user.to_owned(),
            }),
            AuditActorKind::Customer => id.parse().ok().map(|id| Self::Customer { id }),
            AuditActorKind::Provider => Some(Self::Provider {
                name: id.to_owned(),
            }),
            AuditActorKind::System => (id == SYSTEM_ID).then_some(Self::System),
        };
        actor.ok_or_else(|| UnknownActor {
            kind,
            id: id.to_owned(),
        })
    }
}

/// Who does something and from where: what every audit event of a piece of work begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Who.
    pub actor: AuditActor,
    /// The request that asked for it.
    pub request_id: Option<String>,
    /// The address that the request came from.
    pub address: Option<IpAddr>,
}

impl Origin {
    /// Lessor itself.
    pub const SYSTEM: Self = Self {
        actor: AuditActor::System,
        request_id: None,
        address: None,
    };

    const fn new(actor: AuditActor) -> Self {
        Self {
            actor,
            request_id: None,
            address: None,
        }
    }

    /// The key, wherever it is used.
    #[must_use]
    pub fn of_key(access: &Access) -> Self {
        Self::new(AuditActor::Key {
            id: access.key_id,
            name: access.key_name.clone(),
        })
    }

    /// The customer, wherever they are.
    #[must_use]
    pub const fn customer(id: CustomerPubId) -> Self {
        Self::new(AuditActor::Customer { id })
    }

    /// The operator, as this user of the system.
    #[must_use]
    pub fn cli(user: impl Into<String>) -> Self {
        Self::new(AuditActor::Cli { user: user.into() })
    }

    /// The verifier or credit checker of this name.
    #[must_use]
    pub fn provider(name: impl Into<String>) -> Self {
        Self::new(AuditActor::Provider { name: name.into() })
    }
}

named_enum! {
    /// Which part of an organization something was done to: who may see it.
    pub enum AuditArea {
        /// What is of live mode alone: its customers, checkouts, stock and keys.
        Live = "live",
        /// What is of the sandbox alone.
        Sandbox = "sandbox",
        /// What both modes lease by: categories, products, variants, lease terms.
        Catalog = "catalog",
        /// The organization itself and its settings.
        Organization = "organization",
    }
}

impl From<Mode> for AuditArea {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Live => Self::Live,
            Mode::Sandbox => Self::Sandbox,
        }
    }
}

named_enum! {
    /// What was done.
    pub enum AuditAction {
        /// An API key was made.
        KeyCreated = "key.created",
        /// An API key was revoked.
        KeyRevoked = "key.revoked",
        /// An API key was replaced by another, and ends.
        KeyRolled = "key.rolled",
        /// The organization was made.
        OrganizationCreated = "organization.created",
        /// The organization's settings were changed.
        OrganizationUpdated = "organization.updated",
        /// The organization was given an account of its own at the payment processor, or another key.
        ProcessorAccountSet = "processor_account.set",
        /// The organization's own account at the payment processor was removed.
        ProcessorAccountRemoved = "processor_account.removed",
        /// How the organization decides about credit was set.
        OrganizationCreditSet = "organization.credit_set",
        /// Where the organization has its agreements signed was set.
        OrganizationSignerSet = "organization.signer_set",
        /// A pickup location was added.
        PickupLocationCreated = "pickup_location.created",
        /// A pickup location was changed, or switched on or off.
        PickupLocationUpdated = "pickup_location.updated",
        /// A product category was made.
        CategoryCreated = "category.created",
        /// A product was made.
        ProductCreated = "product.created",
        /// A product was changed.
        ProductUpdated = "product.updated",
        /// A product was deleted, and its variants with it.
        ProductDeleted = "product.deleted",
        /// A product was let through by a review, or was not.
        ProductReviewed = "product.reviewed",
        /// A variant was made.
        VariantCreated = "variant.created",
        /// A variant was changed: its price is part of it.
        VariantUpdated = "variant.updated",
        /// A variant was deleted.
        VariantDeleted = "variant.deleted",
        /// A variant's stock of a mode was set.
        VariantStockSet = "variant.stock_set",
        /// A lease term was made.
        LeaseTermCreated = "lease_term.created",
        /// A lease term was changed, or is not offered any more.
        LeaseTermUpdated = "lease_term.updated",
        /// A lease term was deleted.
        LeaseTermDeleted = "lease_term.deleted",
        /// A customer was made.
        CustomerCreated = "customer.created",
        /// A customer's profile or metadata were changed.
        CustomerUpdated = "customer.updated",
        /// A verifier or a credit checker decided about a customer.
        CustomerScreened = "customer.screened",
        /// What was known of the customer's person was taken away.
        CustomerErased = "customer.erased",
        /// A checkout was made.
        CheckoutCreated = "checkout.created",
        /// A checkout was changed without a move: its lease term, its insurance, its metadata.
        CheckoutUpdated = "checkout.updated",
        /// A checkout's page was given another address.
        CheckoutRelinked = "checkout.relinked",
        /// The number of a checkout's shipment was given or changed.
        CheckoutTrackingSet = "checkout.tracking_set",
        /// A sandbox checkout's carrier was played.
        CheckoutTrackingPlayed = "checkout.tracking_played",
        /// The payments of a lease that had failed were tried again.
        CheckoutPaymentsRetried = "checkout.payments_retried",
        /// A webhook endpoint was made.
        WebhookEndpointCreated = "webhook_endpoint.created",
        /// A webhook endpoint was changed, or switched on or off.
        WebhookEndpointUpdated = "webhook_endpoint.updated",
        /// A webhook endpoint was deleted, and what was known of its deliveries with it.
        WebhookEndpointDeleted = "webhook_endpoint.deleted",
        /// A webhook endpoint was given another secret.
        WebhookEndpointRolled = "webhook_endpoint.rolled",
        /// A webhook endpoint was switched off because of how it answers.
        WebhookEndpointDisabled = "webhook_endpoint.disabled",
        /// A webhook endpoint was sent a message to try it out.
        WebhookEndpointTested = "webhook_endpoint.tested",
        /// Events were sent to a webhook endpoint again.
        WebhookEndpointReplayed = "webhook_endpoint.replayed",
        /// An event was sent again.
        EventRedelivered = "event.redelivered",
    }
}

impl AuditAction {
    /// Whether it is nothing but a change: where nothing differs, nothing was done.
    #[must_use]
    pub const fn is_change(self) -> bool {
        match self {
            Self::OrganizationUpdated
            | Self::PickupLocationUpdated
            | Self::ProductUpdated
            | Self::ProductReviewed
            | Self::VariantUpdated
            | Self::VariantStockSet
            | Self::LeaseTermUpdated
            | Self::CustomerUpdated
            | Self::CustomerScreened
            | Self::CheckoutUpdated
            | Self::CheckoutTrackingSet
            | Self::WebhookEndpointUpdated => true,
            Self::KeyCreated
            | Self::KeyRevoked
            | Self::KeyRolled
            | Self::OrganizationCreated
            | Self::ProcessorAccountSet
            | Self::ProcessorAccountRemoved
            | Self::OrganizationCreditSet
            | Self::OrganizationSignerSet
            | Self::PickupLocationCreated
            | Self::CategoryCreated
            | Self::ProductCreated
            | Self::ProductDeleted
            | Self::VariantCreated
            | Self::VariantDeleted
            | Self::LeaseTermCreated
            | Self::LeaseTermDeleted
            | Self::CustomerCreated
            | Self::CustomerErased
            | Self::CheckoutCreated
            | Self::CheckoutRelinked
            | Self::CheckoutTrackingPlayed
            | Self::CheckoutPaymentsRetried
            | Self::WebhookEndpointCreated
            | Self::WebhookEndpointDeleted
            | Self::WebhookEndpointRolled
            | Self::WebhookEndpointDisabled
            | Self::WebhookEndpointTested
            | Self::WebhookEndpointReplayed
            | Self::EventRedelivered => false,
        }
    }
}

/// What something was done to, by the id that callers know: `prod_…`, `key_…`, `usr_…`; a pickup
/// location by its number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuditSubject(String);

impl AuditSubject {
    /// The most characters that it may have.
    pub const MAX: usize = SearchTerm::MAX;

    /// The subject that a caller looks for. Whether there is one of the id, nobody asks.
    ///
    /// # Errors
    /// [`TextError`] when it is empty, longer than [`Self::MAX`] characters, or holds characters that
    /// are not seen.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        SearchTerm::parse(text).map(|term| Self(term.into()))
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AuditSubject {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        Self::parse(text)
    }
}

impl fmt::Display for AuditSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! subjects {
    ($($id:ty),* $(,)?) => {$(
        impl From<$id> for AuditSubject {
            fn from(id: $id) -> Self {
                Self(id.to_string())
            }
        }
    )*};
}

subjects!(
    ApiKeyPubId,
    CheckoutPubId,
    CustomerPubId,
    EventPubId,
    LeaseTermPubId,
    OrganizationPubId,
    PickupLocationId,
    ProductCategoryPubId,
    ProductPubId,
    ProductVariantPubId,
    WebhookEndpointPubId,
);

/// Members of a record by their names on the wire, with their values as text: as callers are shown
/// them, money as a decimal, instants in the form of RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct AuditMembers(BTreeMap<String, String>);

impl AuditMembers {
    /// No members.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Sets the member; what it was before is forgotten.
    pub fn set(&mut self, name: &str, value: impl fmt::Display) -> &mut Self {
        self.0.insert(name.to_owned(), value.to_string());
        self
    }

    /// Sets the member where there is a value. Without one it is left as it is.
    pub fn set_if(&mut self, name: &str, value: Option<impl fmt::Display>) -> &mut Self {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }

    /// The value of the member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The members, by name.
    #[must_use]
    pub const fn entries(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<BTreeMap<String, String>> for AuditMembers {
    fn from(entries: BTreeMap<String, String>) -> Self {
        Self(entries)
    }
}

impl From<AuditMembers> for BTreeMap<String, String> {
    fn from(members: AuditMembers) -> Self {
        members.0
    }
}

/// What was before and what is after: of each no more than differs.
///
/// ```
/// use lessor_domain::audit::{AuditChange, AuditMembers};
///
/// let mut before = AuditMembers::new();
/// before.set("name", "Road bike").set("status", "draft");
/// let mut after = before.clone();
/// after.set("status", "active").set("sku", "RB-1");
///
/// let change = AuditChange::between(before, after);
/// assert_eq!(change.before.entries().len(), 1);
/// assert_eq!(change.before.get("status"), Some("draft"));
/// assert_eq!(change.after.get("status"), Some("active"));
/// assert_eq!(change.after.get("sku"), Some("RB-1"));
/// assert_eq!(change.after.get("name"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct AuditChange {
    /// What was.
    pub before: AuditMembers,
    /// What is.
    pub after: AuditMembers,
}

impl AuditChange {
    /// Nothing that could be told.
    pub const NONE: Self = Self {
        before: AuditMembers::new(),
        after: AuditMembers::new(),
    };

    /// A new record.
    #[must_use]
    pub const fn created(after: AuditMembers) -> Self {
        Self {
            before: AuditMembers::new(),
            after,
        }
    }

    /// A record that is gone.
    #[must_use]
    pub const fn deleted(before: AuditMembers) -> Self {
        Self {
            before,
            after: AuditMembers::new(),
        }
    }

    /// What differs.
    #[must_use]
    pub fn between(before: AuditMembers, after: AuditMembers) -> Self {
        let AuditMembers(mut before) = before;
        let AuditMembers(mut after) = after;
        let same: BTreeSet<String> = before
            .iter()
            .filter(|(name, value)| after.get(*name) == Some(*value))
            .map(|(name, _)| name.clone())
            .collect();
        before.retain(|name, _| !same.contains(name));
        after.retain(|name, _| !same.contains(name));
        Self {
            before: AuditMembers(before),
            after: AuditMembers(after),
        }
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }
}

/// Something that somebody did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    pub id: AuditEventPubId,
    /// Whose affair it is.
    pub organization_id: OrganizationId,
    /// Which part of it.
    pub area: AuditArea,
    /// When.
    pub at: Timestamp,
    /// Who did it and from where.
    pub origin: Origin,
    /// What was done.
    pub action: AuditAction,
    /// What it was done to.
    pub subject: AuditSubject,
    /// What differs since.
    pub change: AuditChange,
    /// Whose personal data the change is, and the [address](Self::has_personal_address) if the customer
    /// themself did it. They are kept sealed, and are gone when the customer is erased.
    pub customer: Option<CustomerPubId>,
}

impl AuditEvent {
    /// Whether the address that it came from is sealed with the change: it is the customer's own. That
    /// of a key, who changed a customer, is nobody's personal data.
    #[must_use]
    pub const fn has_personal_address(&self) -> bool {
        self.customer.is_some() && matches!(self.origin.actor, AuditActor::Customer { .. })
    }

    /// The event as it is left when the customer is erased.
    #[must_use]
    pub fn without_personal_data(mut self) -> Self {
        if self.has_personal_address() {
            self.origin.address = None;
        }
        if self.customer.is_some() {
            self.change = AuditChange::NONE;
        }
        self
    }
}

/// Who looks at an organization's audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditViewer {
    /// A live key, or the operator: sees everything.
    Live,
    /// A sandbox key: sees the sandbox and the catalog, and nothing that the command line did.
    Sandbox,
}

impl AuditViewer {
    /// The areas that it sees.
    #[must_use]
    pub const fn areas(self) -> &'static [AuditArea] {
        match self {
            Self::Live => AuditArea::ALL,
            Self::Sandbox => &[AuditArea::Sandbox, AuditArea::Catalog],
        }
    }

    /// The actors whose doings it sees.
    #[must_use]
    pub const fn actors(self) -> &'static [AuditActorKind] {
        match self {
            Self::Live => AuditActorKind::ALL,
            Self::Sandbox => &[
                AuditActorKind::Key,
                AuditActorKind::Customer,
                AuditActorKind::Provider,
                AuditActorKind::System,
            ],
        }
    }

    /// Whether it sees the event.
    #[must_use]
    pub fn shows(self, event: &AuditEvent) -> bool {
        self.areas().contains(&event.area) && self.actors().contains(&event.origin.actor.kind())
    }
}

impl From<Mode> for AuditViewer {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Live => Self::Live,
            Mode::Sandbox => Self::Sandbox,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_map;
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn key() -> AuditActor {
        AuditActor::Key {
            id: ApiKeyPubId::from_uuid(Uuid::from_u128(7)),
            name: Some(Name::parse("shop").unwrap()),
        }
    }

    fn customer() -> CustomerPubId {
        CustomerPubId::from_uuid(Uuid::from_u128(8))
    }

    fn cli() -> AuditActor {
        Origin::cli("ada").actor
    }

    fn event(area: AuditArea, actor: AuditActor) -> AuditEvent {
        let mut after = AuditMembers::new();
        after.set("firstName", "Ada");
        AuditEvent {
            id: AuditEventPubId::from_uuid(Uuid::from_u128(9)),
            organization_id: OrganizationId::new(1).unwrap(),
            area,
            at: Timestamp::UNIX_EPOCH,
            origin: Origin {
                address: Some("192.0.2.1".parse().unwrap()),
                ..Origin::new(actor)
            },
            action: AuditAction::CustomerUpdated,
            subject: customer().into(),
            change: AuditChange::created(after),
            customer: None,
        }
    }

    #[test]
    fn actors_are_made_of_their_parts_again() {
        let provider = Origin::provider("simulated").actor;
        let actors = [
            key(),
            cli(),
            Origin::cli("").actor,
            Origin::customer(customer()).actor,
            provider,
            AuditActor::System,
        ];
        for actor in actors {
            let (kind, id, name) = (actor.kind(), actor.id(), actor.name().cloned());
            assert_eq!(AuditActor::from_parts(kind, &id, name), Ok(actor));
        }
        assert_eq!(cli().id(), "cli:ada");
        assert_eq!(AuditActor::System.id(), "lessor");
        for (kind, id) in [
            (AuditActorKind::Key, "cli:ada"),
            (AuditActorKind::Key, "usr_0000000000000000000007"),
            (AuditActorKind::Cli, "ada"),
            (AuditActorKind::Customer, "lessor"),
            (AuditActorKind::System, ""),
        ] {
            let unknown = AuditActor::from_parts(kind, id, None).unwrap_err();
            assert_eq!((unknown.kind, unknown.id.as_str()), (kind, id));
        }
    }

    #[test]
    fn subjects_are_ids_that_people_can_look_for() {
        let product = ProductPubId::from_uuid(Uuid::from_u128(1));
        let subject = AuditSubject::from(product);
        assert_eq!(subject.as_str(), product.to_string());
        assert_eq!(AuditSubject::parse(subject.as_str()), Ok(subject));
        let location = PickupLocationId::new(12).unwrap();
        assert_eq!(AuditSubject::from(location).as_str(), "12");
        assert!(AuditSubject::parse(&"x".repeat(AuditSubject::MAX)).is_ok());
        for text in ["", " ", "a\u{0}", "a\u{200B}b", &"x".repeat(101)] {
            assert!(AuditSubject::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_sandbox_key_sees_its_mode_and_the_catalog_and_no_command_line() {
        for &area in AuditArea::ALL {
            for actor in [key(), cli(), AuditActor::System] {
                let is_cli = actor.kind() == AuditActorKind::Cli;
                let seen = event(area, actor);
                assert!(AuditViewer::Live.shows(&seen), "{seen:?}");
                let is_shared = matches!(area, AuditArea::Sandbox | AuditArea::Catalog);
                let shows = AuditViewer::Sandbox.shows(&seen);
                assert_eq!(shows, is_shared && !is_cli, "{seen:?}");
            }
        }
        let unseen = |kind: &&AuditActorKind| !AuditViewer::Sandbox.actors().contains(kind);
        let unseen: Vec<_> = AuditActorKind::ALL.iter().filter(unseen).collect();
        assert_eq!(unseen, [&AuditActorKind::Cli]);
    }

    #[test]
    fn what_is_personal_goes_and_the_rest_stays() {
        let by_customer = |actor| AuditEvent {
            customer: Some(customer()),
            ..event(AuditArea::Live, actor)
        };
        let own = by_customer(Origin::customer(customer()).actor);
        let left = own.clone().without_personal_data();
        assert_eq!(
            (&left.change, left.origin.address),
            (&AuditChange::NONE, None)
        );
        assert_eq!((left.id, &left.subject), (own.id, &own.subject));
        // A key's address is not the customer's.
        let keys = by_customer(key());
        let left = keys.clone().without_personal_data();
        assert!(left.change.is_empty());
        assert_eq!(left.origin, keys.origin);
        let nobodys = event(AuditArea::Catalog, key());
        assert_eq!(nobodys.clone().without_personal_data(), nobodys);
    }

    #[test]
    fn members_that_are_missing_are_not_set() {
        let mut members = AuditMembers::new();
        members.set("a", 1).set_if("b", None::<u8>);
        members.set_if("c", Some("x")).set("a", 2);
        assert_eq!(members.entries().len(), 2);
        assert_eq!(members.get("a"), Some("2"));
        assert_eq!(members.get("b"), None);
        assert_eq!(members.get("c"), Some("x"));
    }

    fn some_members() -> impl Strategy<Value = AuditMembers> {
        btree_map("[a-e]", "[xy]", 0..5).prop_map(AuditMembers::from)
    }

    proptest! {
        /// What a change tells, done to what was before, gives what is after; and it tells no more.
        #[test]
        fn a_change_is_what_differs(before in some_members(), after in some_members()) {
            let change = AuditChange::between(before.clone(), after.clone());
            prop_assert_eq!(change.is_empty(), before == after);
            let mut made = before.entries().clone();
            made.retain(|name, _| change.before.get(name).is_none());
            made.extend(change.after.entries().clone());
            prop_assert_eq!(&made, after.entries());
            for (name, value) in change.before.entries() {
                prop_assert_eq!(before.get(name), Some(value.as_str()));
                prop_assert_ne!(after.get(name), Some(value.as_str()));
            }
            let nothing = AuditMembers::new();
            let created = AuditChange::created(after.clone());
            prop_assert_eq!(created, AuditChange::between(nothing.clone(), after));
            let deleted = AuditChange::deleted(before.clone());
            prop_assert_eq!(deleted, AuditChange::between(before, nothing));
        }
    }
}
