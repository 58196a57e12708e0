//! Organizations, the lessors, and where they serve.

use std::fmt;
use std::str::FromStr;

mod face;

pub use face::{Color, ColorError, Face};

use crate::address::{Address, Country};
use crate::ids::{OftakePartnerId, OrganizationId, OrganizationPubId, PickupLocationId};
use crate::money::Currency;
use crate::names::named_enum;
use crate::percentage::Percentage;
use crate::text::{Line, Name};
use crate::time::Timestamp;

/// An organization that leases products to customers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Organization {
    /// Its number.
    pub id: OrganizationId,
    /// Its public id.
    pub pub_id: OrganizationPubId,
    pub name: Name,
    /// The one currency that it prices in.
    pub currency: Currency,
    /// The discount of products that have none of their own.
    pub discount: Percentage,
    /// Where it delivers; empty means everywhere.
    pub service_area: ServiceArea,
    /// Whether new products wait for a review.
    pub requires_product_review: bool,
    /// Its financing partner.
    pub oftake_partner_id: OftakePartnerId,
    /// How it shows itself to customers.
    pub face: Face,
    /// Whether its sandbox keys write catalog and lease terms, as its operator says; none: until it has
    /// a live key.
    pub sandbox_writes_catalog: Option<bool>,
    /// When its first live key of any kind was made. It stays, whatever becomes of the key.
    pub first_live_key_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Counts the writes; a write of another version is refused.
    pub version: i64,
}

impl Organization {
    /// The name that customers know.
    #[must_use]
    pub fn shown_name(&self) -> &Name {
        self.face.display_name.as_ref().unwrap_or(&self.name)
    }

    /// Whether its sandbox keys write catalog and lease terms now.
    #[must_use]
    pub const fn lets_sandbox_write_catalog(&self) -> bool {
        lets_sandbox_write_catalog(self.sandbox_writes_catalog, self.first_live_key_at)
    }
}

/// Whether sandbox keys write the catalog of an organization whose operator says this, and whose first
/// live key was made then.
#[must_use]
pub const fn lets_sandbox_write_catalog(
    said: Option<bool>,
    first_live_key_at: Option<Timestamp>,
) -> bool {
    match said {
        Some(said) => said,
        // What live leases are made of is not for a test to change.
        None => first_live_key_at.is_none(),
    }
}

/// A place where customers of an organization pick their goods up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickupLocation {
    /// Its number.
    pub id: PickupLocationId,
    pub organization_id: OrganizationId,
    pub name: Name,
    /// Where it is.
    pub address: Address,
    /// Whether customers may choose it.
    pub active: bool,
}

/// One entry of a service area.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Region {
    /// A whole country, `US`.
    Country(Country),
    /// A state of a country, `US-CA`.
    State(Country, String),
    /// The postal codes that begin so, `US:941*`.
    ZipPrefix(Country, String),
}

/// Why a text is no service area.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{entry:?} is no part of a service area: use a country (US), a state of it (US-CA) or a zip prefix (US:941*)"
)]
pub struct ServiceAreaError {
    /// The entry at fault.
    pub entry: String,
}

impl FromStr for Region {
    type Err = ServiceAreaError;
    fn from_str(text: &str) -> Result<Self, ServiceAreaError> {
        let refused = || ServiceAreaError {
            entry: text.to_owned(),
        };
        let country = |code: &str| code.parse::<Country>().map_err(|_| refused());
        if let Some((code, zip)) = text.split_once(':') {
            let prefix = zip.strip_suffix('*').unwrap_or(zip).to_ascii_uppercase();
            let fits = !prefix.is_empty()
                && prefix
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == ' ');
            return if fits {
                Ok(Self::ZipPrefix(country(code)?, prefix))
            } else {
                Err(refused())
            };
        }
        if let Some((code, state)) = text.split_once('-') {
            let country = country(code)?;
            let state = Line::parse(state).map_err(|_| refused())?;
            let known = rust_iso3166::iso3166_2::from_code(&format!(
                "{country}-{}",
                state.as_str().to_ascii_uppercase()
            ));
            return match known {
                Some(_) => Ok(Self::State(country, state.as_str().to_ascii_uppercase())),
                None => Err(refused()),
            };
        }
        country(text).map(Self::Country)
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Country(country) => write!(f, "{country}"),
            Self::State(country, state) => write!(f, "{country}-{state}"),
            Self::ZipPrefix(country, prefix) => write!(f, "{country}:{prefix}*"),
        }
    }
}

impl Region {
    const fn country(&self) -> Country {
        match self {
            Self::Country(country) | Self::State(country, _) | Self::ZipPrefix(country, _) => {
                *country
            }
        }
    }
}

/// Where an organization delivers: the union of its entries, everywhere when
/// there are none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct ServiceArea(Vec<Region>);

named_enum! {
    /// The coarsest level at which no entry of a service area fits an address, by the code that
    /// callers see.
    pub enum NotServed {
        /// No entry names the country.
        Country = "country_not_served",
        /// Entries name the country, none the state.
        State = "state_not_served",
        /// Entries name the country by postal codes, none this one.
        Zip = "zip_not_served",
    }
}

impl ServiceArea {
    /// The area of these entries.
    #[must_use]
    pub const fn new(regions: Vec<Region>) -> Self {
        Self(regions)
    }

    /// The entries.
    #[must_use]
    pub fn regions(&self) -> &[Region] {
        &self.0
    }

    /// Whether the address is served.
    ///
    /// # Errors
    /// [`NotServed`], the coarsest level at which no entry fits.
    pub fn serves(&self, address: &Address) -> Result<(), NotServed> {
        let state = address.state.as_ref().map(Line::as_str).unwrap_or_default();
        self.fits(address.country, Some(state), Some(address.zip.as_str()))
    }

    /// Whether an address may be served of which no more is known: what is not known may fit.
    ///
    /// # Errors
    /// [`NotServed`], the coarsest level at which no entry fits.
    pub fn may_serve(
        &self,
        country: Country,
        state: Option<&Line>,
        zip: Option<&Line>,
    ) -> Result<(), NotServed> {
        self.fits(country, state.map(Line::as_str), zip.map(Line::as_str))
    }

    fn fits(
        &self,
        country: Country,
        state: Option<&str>,
        zip: Option<&str>,
    ) -> Result<(), NotServed> {
        if self.0.is_empty() {
            return Ok(());
        }
        let here: Vec<&Region> = self
            .0
            .iter()
            .filter(|region| region.country() == country)
            .collect();
        if here.is_empty() {
            return Err(NotServed::Country);
        }
        let compact = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
        let zip = zip.map(compact);
        let fits = |region: &&Region| match region {
            Region::Country(_) => true,
            Region::State(_, code) => state.is_none_or(|state| code.eq_ignore_ascii_case(state)),
            Region::ZipPrefix(_, prefix) => zip
                .as_ref()
                .is_none_or(|zip| zip.starts_with(&compact(prefix))),
        };
        if here.iter().any(fits) {
            return Ok(());
        }
        // Postal codes are finer than states: where any are listed the zip is what fails.
        if here
            .iter()
            .any(|region| matches!(region, Region::ZipPrefix(..)))
        {
            Err(NotServed::Zip)
        } else {
            Err(NotServed::State)
        }
    }
}

impl FromStr for ServiceArea {
    type Err = ServiceAreaError;
    fn from_str(text: &str) -> Result<Self, ServiceAreaError> {
        text.split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl fmt::Display for ServiceArea {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, region) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{region}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(country: &str, state: Option<&str>, zip: &str) -> Address {
        let line = |text: &str| Line::parse(text).unwrap();
        Address {
            first_name: None,
            last_name: None,
            company: None,
            address1: line("1 Main St"),
            address2: None,
            city: line("Town"),
            state: state.map(line),
            zip: line(zip),
            country: country.parse().unwrap(),
            phone: None,
        }
    }

    #[test]
    fn the_coarsest_level_that_fails_is_named() {
        let cases = [
            ("", address("DE", None, "10115"), Ok(())),
            (
                "US,CA",
                address("DE", None, "10115"),
                Err(NotServed::Country),
            ),
            ("US,CA", address("US", Some("NY"), "10001"), Ok(())),
            (
                "US-CA",
                address("US", Some("NY"), "10001"),
                Err(NotServed::State),
            ),
            ("US-CA", address("US", Some("CA"), "94105"), Ok(())),
            ("US:941*", address("US", Some("CA"), "94105"), Ok(())),
            (
                "US:941*",
                address("US", Some("CA"), "90001"),
                Err(NotServed::Zip),
            ),
            (
                "US-NY,US:941*",
                address("US", Some("CA"), "90001"),
                Err(NotServed::Zip),
            ),
            ("US-NY,US:941*", address("US", Some("NY"), "10001"), Ok(())),
        ];
        for (area, address, expected) in cases {
            assert_eq!(
                area.parse::<ServiceArea>().unwrap().serves(&address),
                expected,
                "{area} {address:?}"
            );
        }
    }

    #[test]
    fn the_catalog_is_the_sandboxs_too_until_there_is_a_live_key() {
        let some_time = Some(Timestamp::UNIX_EPOCH);
        for (said, first_live_key_at, expected) in [
            (None, None, true),
            (None, some_time, false),
            (Some(true), None, true),
            (Some(true), some_time, true),
            (Some(false), None, false),
            (Some(false), some_time, false),
        ] {
            assert_eq!(
                lets_sandbox_write_catalog(said, first_live_key_at),
                expected,
                "{said:?} {first_live_key_at:?}"
            );
        }
    }

    #[test]
    fn areas_round_trip_and_refuse_nonsense() {
        for good in ["US,CA", "US-CA,US:941*", ""] {
            assert_eq!(good.parse::<ServiceArea>().unwrap().to_string(), good);
        }
        for bad in ["XX", "US-ZZ", "US:", "US:9!*"] {
            assert!(bad.parse::<ServiceArea>().is_err(), "{bad}");
        }
    }
}
