//! Carriers and their tracking numbers.

use std::fmt;

use crate::names::named_enum;

named_enum! {
    /// A carrier whose shipments can be tracked.
    pub enum Carrier {
        /// United Parcel Service.
        Ups = "ups",
        /// Federal Express.
        Fedex = "fedex",
    }
}

/// Why a text is no tracking number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 4 to 64 letters and digits; spaces and hyphens between them are ignored")]
pub struct TrackingNumberError;

/// A tracking number: 4 to 64 letters and digits, upper case, without spaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct TrackingNumber(String);

impl TrackingNumber {
    /// The number, normalized.
    ///
    /// # Errors
    /// [`TrackingNumberError`] when something but letters, digits, spaces and
    /// hyphens is in it, or when it is too short or too long.
    pub fn parse(text: &str) -> Result<Self, TrackingNumberError> {
        if text.len() > 256 {
            return Err(TrackingNumberError);
        }
        let number: String = text
            .chars()
            .filter(|c| !c.is_whitespace() && *c != '-')
            .map(|c| c.to_ascii_uppercase())
            .collect();
        let fits = (4..=64).contains(&number.len())
            && number.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if fits {
            Ok(Self(number))
        } else {
            Err(TrackingNumberError)
        }
    }

    /// The number.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for TrackingNumber {
    type Err = TrackingNumberError;
    fn from_str(text: &str) -> Result<Self, TrackingNumberError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for TrackingNumber {
    type Error = TrackingNumberError;
    fn try_from(text: String) -> Result<Self, TrackingNumberError> {
        Self::parse(&text)
    }
}

impl From<TrackingNumber> for String {
    fn from(number: TrackingNumber) -> Self {
        number.0
    }
}

impl fmt::Display for TrackingNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why no carrier could be told from a tracking number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CarrierError {
    /// It has the form of none.
    #[error("is of no known carrier's form (ups, fedex): name the carrier")]
    None,
    /// It has the form of several, which may be ones that Lessor does not track.
    #[error("could be of more than one carrier: name the carrier")]
    Ambiguous,
}
