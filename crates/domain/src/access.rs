//! Who acts: API keys, modes and permissions.

use std::fmt;
use std::str::FromStr;

use crate::ids::{ApiKeyPubId, OrganizationId, OrganizationPubId, UserId, UserPubId};
use crate::names::named_enum;
use crate::text::Name;
use crate::time::Timestamp;

pub use crate::names::UnknownName;

/// Whether money and goods are real.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum Mode {
    /// Real money, real goods.
    Live,
    /// Simulated, for trying out and for tests.
    Sandbox,
}

impl Mode {
    /// Both modes.
    pub const ALL: [Self; 2] = [Self::Live, Self::Sandbox];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Sandbox => "sandbox",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "live" => Ok(Self::Live),
            "sandbox" => Ok(Self::Sandbox),
            _ => Err(UnknownName {
                allowed: "live, sandbox".to_owned(),
            }),
        }
    }
}

named_enum! {
    /// Whom a key may be shown to.
    pub enum KeyKind {
        /// Its holder alone: it does what its permissions say.
        Secret = "secret",
        /// Everybody, in the pages of a shop: it has no permissions, and looks at what a shop window
        /// shows ([`Access::require_to_look`]).
        Publishable = "publishable",
    }
}

macro_rules! permissions {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What a key may do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Permission {
            $($(#[$doc])* $name,)*
        }

        impl Permission {
            /// Every permission.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }

        impl FromStr for Permission {
            type Err = UnknownName;
            fn from_str(text: &str) -> Result<Self, UnknownName> {
                match text {
                    $(stringify!($name) => Ok(Self::$name),)*
                    _ => Err(UnknownName {
                        allowed: Self::ALL.iter().map(|known| known.as_str()).collect::<Vec<_>>().join(", "),
                    }),
                }
            }
        }
    };
}

permissions! {
    /// Read products and categories.
    ProductRead,
    /// Create and update products and categories.
    ProductWrite,
    ProductDelete,
    /// Read variants and their prices.
    ProductVariantRead,
    /// Create and update variants.
    ProductVariantWrite,
    ProductVariantDelete,
    CustomerRead,
    /// Update customers.
    CustomerWrite,
    /// Read checkouts and their tracking.
    CheckoutRead,
    /// Create checkouts for the key's own user, and move checkouts.
    CheckoutWrite,
    /// Create checkouts for other customers.
    CheckoutCreateWithCustomer,
    CheckoutCancel,
    /// Decide about the credit of customers.
    CheckoutQualify,
    /// Tell who signed a lease, where the organization has them signed elsewhere.
    CheckoutSign,
    /// Fulfill checkouts and give tracking.
    CheckoutFulfill,
    LeaseTermRead,
    /// Create, update and delete lease terms.
    LeaseTermWrite,
    /// Read who did what.
    AuditRead,
    /// Read what happened to records, and who is told of it.
    EventRead,
    /// Say who is told of events, and have them told again.
    WebhookWrite,
    /// Export and erase customers.
    CustomerErase,
    /// Read the organization's own settings.
    OrganizationRead,
    /// Change how the organization shows itself, and where it delivers.
    OrganizationWrite,
}

impl Permission {
    /// Whether it changes what both modes lease by: the catalog, categories included, lease terms, and
    /// the organization's face and area.
    #[must_use]
    pub const fn writes_catalog(self) -> bool {
        match self {
            Self::ProductWrite
            | Self::ProductDelete
            | Self::ProductVariantWrite
            | Self::ProductVariantDelete
            | Self::LeaseTermWrite
            | Self::OrganizationWrite => true,
            Self::ProductRead
            | Self::ProductVariantRead
            | Self::CustomerRead
            | Self::CustomerWrite
            | Self::CheckoutRead
            | Self::CheckoutWrite
            | Self::CheckoutCreateWithCustomer
            | Self::CheckoutCancel
            | Self::CheckoutQualify
            | Self::CheckoutSign
            | Self::CheckoutFulfill
            | Self::LeaseTermRead
            | Self::AuditRead
            | Self::EventRead
            | Self::WebhookWrite
            | Self::CustomerErase
            | Self::OrganizationRead => false,
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Permissions(u32);

impl Permissions {
    /// Every permission.
    #[must_use]
    pub fn all() -> Self {
        Permission::ALL.iter().copied().collect()
    }

    const fn bit(permission: Permission) -> u32 {
        1_u32.wrapping_shl(permission as u32)
    }

    /// Whether the set holds the permission.
    #[must_use]
    pub const fn contains(self, permission: Permission) -> bool {
        self.0 & Self::bit(permission) != 0
    }

    /// The permissions of the set, in the order of [`Permission::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL
            .iter()
            .copied()
            .filter(move |permission| self.contains(*permission))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(
            permissions
                .into_iter()
                .fold(0, |set, permission| set | Self::bit(permission)),
        )
    }
}

impl FromStr for Permissions {
    type Err = UnknownName;
    /// `all`, or names separated by commas.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        if text.trim() == "all" {
            return Ok(Self::all());
        }
        text.split(',').map(|name| name.trim().parse()).collect()
    }
}

/// The SHA-256 of a key's secret text: all that is kept of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(pub [u8; 32]);

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(…)")
    }
}

/// An API key's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: ApiKeyPubId,
    /// The organization that it acts for.
    pub organization_id: OrganizationId,
    /// The user that it acts as.
    pub user_id: UserId,
    /// Whom it may be shown to.
    pub kind: KeyKind,
    /// Live or sandbox.
    pub mode: Mode,
    /// What it may do; none when it is publishable.
    pub permissions: Permissions,
    /// A name for people.
    pub name: Option<Name>,
    /// Hash of its secret.
    pub hash: KeyHash,
    /// The secret's last four characters, by which people tell keys apart.
    pub hint: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends, if ever.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute, where that was looked up.
    pub last_used_at: Option<Timestamp>,
}

impl ApiKey {
    /// Whether the key opens anything at this time.
    #[must_use]
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none_or(|at| at > now) && self.expires_at.is_none_or(|at| at > now)
    }
}

/// Who a request acts for: what a valid key says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub key_id: ApiKeyPubId,
    /// The key's name for people.
    pub key_name: Option<Name>,
    /// Its organization's number.
    pub organization_id: OrganizationId,
    /// Its organization's public id.
    pub organization_pub_id: OrganizationPubId,
    /// Its user's number.
    pub user_id: UserId,
    /// Its user's public id.
    pub user_pub_id: UserPubId,
    /// Whom the key may be shown to.
    pub kind: KeyKind,
    /// Live or sandbox.
    pub mode: Mode,
    /// What it may do.
    pub permissions: Permissions,
    /// Whether sandbox keys of its organization write catalog and lease terms.
    pub sandbox_writes_catalog: bool,
}

/// Why a key may not do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It lacks the permission.
    #[error("the API key lacks the permission {0}")]
    Permission(Permission),
    /// It is a sandbox key, and live keys alone write the organization's catalog.
    #[error(
        "catalog, lease terms and the organization's settings are written with live keys only, since the organization has one or its operator \
         wants it so: use a live key, or `lessor org update --sandbox-writes-catalog on`"
    )]
    LiveCatalog,
}

impl Access {
    /// Whether the key may do what takes the permission: it has it, and the catalog is its mode's to
    /// write where the permission writes it.
    ///
    /// # Errors
    /// [`Denied`] when it may not.
    pub const fn require(&self, permission: Permission) -> Result<(), Denied> {
        let is_writer = matches!(self.mode, Mode::Live) || self.sandbox_writes_catalog;
        match self.require_permission(permission) {
            Ok(()) if permission.writes_catalog() && !is_writer => Err(Denied::LiveCatalog),
            asked => asked,
        }
    }

    /// Whether the key has the permission, whoever writes the catalog: for what takes a permission of
    /// the catalog, and changes nothing that both modes share. A publishable key has none.
    ///
    /// # Errors
    /// [`Denied::Permission`] when it has not.
    pub const fn require_permission(&self, permission: Permission) -> Result<(), Denied> {
        if matches!(self.kind, KeyKind::Secret) && self.permissions.contains(permission) {
            Ok(())
        } else {
            Err(Denied::Permission(permission))
        }
    }

    /// Whether the key is shown the addresses of checkout pages with their tokens: whoever has one acts
    /// as the customer, which is more than reading.
    #[must_use]
    pub fn has_links(&self) -> bool {
        [
            Permission::CheckoutWrite,
            Permission::CheckoutCreateWithCustomer,
        ]
        .into_iter()
        .any(|permission| self.require_permission(permission).is_ok())
    }

    /// Whether the key may look at one thing that it names: with the permission, or as a publishable
    /// key, which is then to be shown no more than a shop window shows.
    ///
    /// # Errors
    /// [`Denied`] when it may not.
    pub const fn require_to_look(&self, permission: Permission) -> Result<(), Denied> {
        match self.kind {
            KeyKind::Publishable => Ok(()),
            KeyKind::Secret => self.require(permission),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_permissions() {
        let set: Permissions = "ProductRead, CheckoutFulfill".parse().unwrap();
        assert!(set.contains(Permission::ProductRead));
        assert!(!set.contains(Permission::ProductWrite));
        assert_eq!(
            set.iter().collect::<Vec<_>>(),
            [Permission::ProductRead, Permission::CheckoutFulfill]
        );
        assert_eq!("all".parse(), Ok(Permissions::all()));
        assert_eq!(Permissions::all().iter().count(), Permission::ALL.len());
        assert!("ProductRead,Nope".parse::<Permissions>().is_err());
        assert!("".parse::<Permissions>().is_err());
    }
}
