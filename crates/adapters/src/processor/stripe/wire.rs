//! The processor's objects, as far as Lessor reads them.
//!
//! Everything that is not needed is optional, and enumerations keep values that
//! nobody here knows: the processor adds both at any time.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// An enumeration that keeps what it does not know.
macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(super) enum $name {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
            /// A value that was not known when this was written.
            Unknown(String),
        }

        impl $name {
            /// The value on the wire.
            pub(super) fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Unknown(text) => text,
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Ok(match text.as_str() {
                    $($text => Self::$variant,)*
                    _ => Self::Unknown(text),
                })
            }
        }
    };
}

open_enum! {
    /// How far a payment is.
    IntentStatus {
        RequiresPaymentMethod = "requires_payment_method",
        RequiresConfirmation = "requires_confirmation",
        RequiresAction = "requires_action",
        Processing = "processing",
        RequiresCapture = "requires_capture",
        Canceled = "canceled",
        Succeeded = "succeeded",
    }
}

open_enum! {
    /// How far a refund is.
    RefundStatus {
        Pending = "pending",
        RequiresAction = "requires_action",
        Succeeded = "succeeded",
        Failed = "failed",
        Canceled = "canceled",
    }
}

open_enum! {
    /// How far a subscription is.
    SubscriptionStatus {
        Incomplete = "incomplete",
        IncompleteExpired = "incomplete_expired",
        Trialing = "trialing",
        Active = "active",
        PastDue = "past_due",
        Canceled = "canceled",
        Unpaid = "unpaid",
        Paused = "paused",
    }
}

open_enum! {
    /// How far an identity verification is.
    SessionStatus {
        RequiresInput = "requires_input",
        Processing = "processing",
        Verified = "verified",
        Canceled = "canceled",
    }
}

/// Pairs that we put on an object.
pub(super) type Metadata = BTreeMap<String, String>;

/// A page of a list.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Page<T> {
    /// The objects, newest first.
    pub(super) data: Vec<T>,
    /// Whether there are more.
    #[serde(default)]
    pub(super) has_more: bool,
}

/// An object that is there in full only when it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expandable<T> {
    Id(String),
    Object(Box<T>),
}

impl<T> Expandable<T> {
    /// The object, when it is there in full.
    pub(super) fn object(&self) -> Option<&T> {
        match self {
            Self::Id(_) => None,
            Self::Object(object) => Some(object),
        }
    }
}

// Written by hand so that errors keep their path, which an untagged enum loses.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Expandable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdOrObject<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for IdOrObject<T> {
            type Value = Expandable<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an id or an object")
            }

            fn visit_str<E: de::Error>(self, id: &str) -> Result<Self::Value, E> {
                Ok(Expandable::Id(id.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
                    .map(|object| Expandable::Object(Box::new(object)))
            }
        }

        deserializer.deserialize_any(IdOrObject(PhantomData))
    }
}

/// An object of which only the id is needed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Reference {
    pub(super) id: String,
}

/// An object that has an id.
pub(super) trait Identified {
    fn id(&self) -> &str;
}

macro_rules! identified {
    ($($object:ty),* $(,)?) => {
        $(impl $crate::processor::stripe::wire::Identified for $object {
            fn id(&self) -> &str {
                &self.id
            }
        })*
    };
}

identified! { Price, Reference, VerificationSession }
pub(super) use {identified, open_enum};

impl<T: Identified> Expandable<T> {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Id(id) => id,
            Self::Object(object) => object.id(),
        }
    }
}

/// A customer.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Customer {
    pub(super) id: String,
    /// The e-mail address.
    #[serde(default)]
    pub(super) email: Option<String>,
    /// The full name.
    #[serde(default)]
    pub(super) name: Option<String>,
    /// The phone number.
    #[serde(default)]
    pub(super) phone: Option<String>,
    /// Our ids.
    #[serde(default)]
    pub(super) metadata: Metadata,
}

/// A recurring price.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Price {
    pub(super) id: String,
    /// In the processor's minor units.
    #[serde(default)]
    pub(super) unit_amount: Option<i64>,
    /// Lower case.
    pub(super) currency: String,
    /// How it recurs.
    #[serde(default)]
    pub(super) recurring: Option<Recurring>,
    /// Our name of it: one active price has it.
    #[serde(default)]
    pub(super) lookup_key: Option<String>,
    /// Our ids.
    #[serde(default)]
    pub(super) metadata: Metadata,
}

/// How a price recurs.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Recurring {
    /// Such as `month`.
    pub(super) interval: String,
    /// How many of them.
    #[serde(default)]
    pub(super) interval_count: Option<u32>,
}

/// An identity verification.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct VerificationSession {
    pub(super) id: String,
    /// How far it is.
    pub(super) status: SessionStatus,
    /// The processor's page where the customer goes on.
    #[serde(default)]
    pub(super) url: Option<String>,
    /// Why the last try failed.
    #[serde(default)]
    pub(super) last_error: Option<SessionError>,
    /// Our ids.
    #[serde(default)]
    pub(super) metadata: Metadata,
}

/// Why a verification failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct SessionError {
    /// Such as `document_expired`.
    #[serde(default)]
    pub(super) code: Option<String>,
}
