//! Identifiers: public ids that callers see, numbers that rows carry.
//!
//! A public id is a prefix, an underscore and a UUIDv7 in 22 base-62 digits, so
//! that ids sort by the time they were made and cannot be guessed.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// The digits of base 62, which ids and keys are written in. They stand in the order of
/// ASCII, so that texts of one length sort as their numbers do.
pub const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Digits that 128 bits take in base 62.
const DIGITS: usize = 22;

/// Why a text is no identifier of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The prefix is missing or belongs to another kind of record.
    #[error("must be an id of the form {prefix}_<id>")]
    WrongPrefix {
        /// The prefix that the kind has.
        prefix: &'static str,
    },
    /// What follows the prefix is not 22 base-62 digits of a 128-bit number.
    #[error(
        "is not a well-formed {prefix}_ id: {prefix}_ is followed by 22 characters of [0-9A-Za-z]"
    )]
    Malformed {
        /// The prefix that the kind has.
        prefix: &'static str,
    },
    /// A number that is not positive.
    #[error("must be a positive 64-bit integer")]
    NotPositive,
}

fn encode(mut value: u128) -> [u8; DIGITS] {
    /// As many digits as a number of 64 bits holds, and how many numbers they tell apart: to divide by that is all that is
    /// done with 128 bits, which takes ten times as long as with 64.
    const PART: usize = 10;
    const NUMBERS: u128 = 62_u128.pow(10);
    let mut digits = [b'0'; DIGITS];
    for part in digits.rchunks_mut(PART) {
        let rest = value.checked_rem(NUMBERS).unwrap_or_default();
        value = value.checked_div(NUMBERS).unwrap_or_default();
        let mut rest = u64::try_from(rest).unwrap_or_default();
        for slot in part.iter_mut().rev() {
            let digit = usize::try_from(rest % 62).unwrap_or_default();
            rest /= 62;
            *slot = BASE62.get(digit).copied().unwrap_or(b'0');
        }
    }
    digits
}

fn decode(text: &str) -> Option<u128> {
    if text.len() != DIGITS {
        return None;
    }
    text.bytes().try_fold(0_u128, |value, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte.checked_sub(b'0')?,
            b'A'..=b'Z' => byte.checked_sub(b'A')?.checked_add(10)?,
            b'a'..=b'z' => byte.checked_sub(b'a')?.checked_add(36)?,
            _ => return None,
        };
        value.checked_mul(62)?.checked_add(u128::from(digit))
    })
}

/// What every public id can do, whatever it names.
pub trait PublicId:
    Copy + Eq + fmt::Display + FromStr<Err = IdError> + Send + Sync + 'static
{
    /// The text before the underscore.
    const PREFIX: &'static str;
    /// The id of these 128 bits.
    fn from_uuid(uuid: Uuid) -> Self;
    /// The 128 bits behind the id.
    fn as_uuid(&self) -> Uuid;
}

macro_rules! public_ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The text before the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// The id of these 128 bits.
            #[must_use]
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The 128 bits behind the id.
            #[must_use]
            pub const fn as_uuid(&self) -> Uuid {
                self.0
            }
        }

        impl PublicId for $name {
            const PREFIX: &'static str = $prefix;
            fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }
            fn as_uuid(&self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!($prefix, "_"))?;
                f.write_str(std::str::from_utf8(&encode(self.0.as_u128())).map_err(|_| fmt::Error)?)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                let digits = text
                    .strip_prefix(concat!($prefix, "_"))
                    .ok_or(IdError::WrongPrefix { prefix: $prefix })?;
                decode(digits)
                    .map(|value| Self(Uuid::from_u128(value)))
                    .ok_or(IdError::Malformed { prefix: $prefix })
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

public_ids! {
    /// A product, `prod_…`.
    ProductPubId = "prod";
    /// A product variant, `pvar_…`.
    ProductVariantPubId = "pvar";
    /// A checkout, `chk_…`.
    CheckoutPubId = "chk";
    /// One leased thing within a checkout, `chkitem_…`.
    CheckoutItemPubId = "chkitem";
    /// A user, who is also the customer, `usr_…`.
    UserPubId = "usr";
    /// An organization, the lessor, `org_…`.
    OrganizationPubId = "org";
    /// A product category, `cat_…`.
    ProductCategoryPubId = "cat";
    /// A lease term, `term_…`.
    LeaseTermPubId = "term";
    /// An API key's record (never its secret), `key_…`.
    ApiKeyPubId = "key";
    /// Something that the audit tells of, `aud_…`.
    AuditEventPubId = "aud";
    /// The document of an agreement, `doc_…`.
    AgreementPubId = "doc";
    /// Something that happened to a record, `evt_…`.
    EventPubId = "evt";
    /// A URL that is told of events, `whe_…`.
    WebhookEndpointPubId = "whe";
    /// An event on its way to such a URL, `del_…`.
    DeliveryPubId = "del";
    /// A mail, `mail_…`.
    MailPubId = "mail";
}

/// A customer and its user are one to one: the customer's id is the user's.
pub type CustomerPubId = UserPubId;

macro_rules! numeric_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(try_from = "i64", into = "i64"))]
        pub struct $name(i64);

        impl $name {
            /// The id of this number, 1 to 2⁶³ − 1.
            ///
            /// # Errors
            /// [`IdError::NotPositive`] when the number is below 1.
            pub const fn new(number: i64) -> Result<Self, IdError> {
                if number < 1 {
                    return Err(IdError::NotPositive);
                }
                Ok(Self(number))
            }

            /// The number.
            #[must_use]
            pub const fn get(self) -> i64 {
                self.0
            }
        }

        impl TryFrom<i64> for $name {
            type Error = IdError;
            fn try_from(number: i64) -> Result<Self, IdError> {
                Self::new(number)
            }
        }

        impl From<$name> for i64 {
            fn from(id: $name) -> i64 {
                id.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                text.parse().map_err(|_| IdError::NotPositive).and_then(Self::new)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

numeric_ids! {
    /// An organization's number.
    OrganizationId;
    /// A user's number.
    UserId;
    /// A lease term's number.
    LeaseTermId;
    /// A product category's number.
    ProductCategoryId;
    /// A financing partner's number.
    OftakePartnerId;
    /// A pickup location's number.
    PickupLocationId;
}

/// A reference that a caller makes either by public id or by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdRef<P, N> {
    /// By public id.
    Public(P),
    /// By number.
    Number(N),
}

impl<P, N> FromStr for IdRef<P, N>
where
    P: FromStr<Err = IdError>,
    N: FromStr<Err = IdError>,
{
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse().map(Self::Number)
        } else {
            text.parse().map(Self::Public)
        }
    }
}

/// An organization by either of its ids.
pub type OrganizationRef = IdRef<OrganizationPubId, OrganizationId>;
/// A lease term by either of its ids.
pub type LeaseTermRef = IdRef<LeaseTermPubId, LeaseTermId>;
/// A product category by either of its ids.
pub type ProductCategoryRef = IdRef<ProductCategoryPubId, ProductCategoryId>;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_and_back(value: u128) {
            let id = CheckoutPubId::from_uuid(Uuid::from_u128(value));
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }

        #[test]
        fn texts_sort_as_the_numbers_do(a: u128, b: u128) {
            let text = |value| ProductPubId::from_uuid(Uuid::from_u128(value)).to_string();
            prop_assert_eq!(text(a).cmp(&text(b)), a.cmp(&b));
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,40}") {
            if let Ok(id) = text.parse::<ProductPubId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }

    #[test]
    fn foreign_prefixes_and_overflows_are_refused() {
        let id = ProductPubId::from_uuid(Uuid::from_u128(7)).to_string();
        assert_eq!(
            id.parse::<CheckoutPubId>(),
            Err(IdError::WrongPrefix { prefix: "chk" })
        );
        assert_eq!(
            "chk_zzzzzzzzzzzzzzzzzzzzzz".parse::<CheckoutPubId>(),
            Err(IdError::Malformed { prefix: "chk" })
        );
        assert_eq!(
            "chk_".parse::<CheckoutPubId>(),
            Err(IdError::Malformed { prefix: "chk" })
        );
        assert_eq!(UserId::new(0), Err(IdError::NotPositive));
        assert_eq!(
            "12".parse::<LeaseTermRef>(),
            Ok(IdRef::Number(LeaseTermId(12)))
        );
        assert!("x12".parse::<LeaseTermRef>().is_err());
    }
}
